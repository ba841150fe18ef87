//! Samples to those of another recording of the same speech: faster or slower, louder or softer, in noise, by telephone. What
//! training hears in place of what was recorded.

use std::f32::consts::TAU;

use super::Reasoned;
use super::resample::resample;
use crate::random::Random;

/// What is done to a recording, in this order.
#[derive(Debug, Clone)]
pub struct AudioChange {
    /// So many times as fast and as much higher in pitch, 0.5 to 2, by resampling; to a thousandth.
    pub speed: f32,
    /// Noise that is added.
    pub noise: Option<Noise>,
    /// The way to the listener.
    pub line: Line,
    /// Gain in dB, after which samples beyond full scale are clipped.
    pub gain_db: f32,
}

/// Noise whose spectrum falls evenly from 100 Hz on.
#[derive(Debug, Clone)]
pub struct Noise {
    /// Energy of the recording over that of the noise, in dB.
    pub snr_db: f32,
    /// Share of red noise in it, the rest being white: 0 to 1.
    pub red: f32,
    /// What its samples are drawn from.
    pub random: Random,
}

/// How a recording reaches the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Line {
    /// As it is.
    #[default]
    Direct,
    /// Through a telephone: above about 200 Hz and below 4000, in 8 bits of mu-law (ITU-T G.711).
    Telephone,
}

impl Default for AudioChange {
    fn default() -> Self {
        Self { speed: 1.0, noise: None, line: Line::Direct, gain_db: 0.0 }
    }
}

/// Samples a second on a telephone line.
const TELEPHONE_HZ: u32 = 8000;

/// Below this a telephone passes less and less.
const TELEPHONE_LOW_HZ: f32 = 200.0;

/// From here on red noise falls by 6 dB an octave.
const RED_HZ: f32 = 100.0;

impl AudioChange {
    /// The changed `samples` (-1 to 1) at `rate_hz`: about `samples.len() / speed` of them.
    ///
    /// # Errors
    /// When the sample rate cannot be converted.
    pub fn apply(&self, samples: &[f32], rate_hz: u32) -> crate::Result<Vec<f32>> {
        self.applied(samples, rate_hz).map_err(crate::Error::Other)
    }

    fn applied(&self, samples: &[f32], rate_hz: u32) -> Reasoned<Vec<f32>> {
        // A recording played so many times as fast is one whose samples were taken at as many times the rate.
        let mut samples = match (1000.0 * self.speed).round() as u32 {
            1000 => samples.to_vec(),
            thousandths => resample(samples, thousandths, 1000)?,
        };
        if let Some(noise) = &self.noise {
            noise.add(&mut samples, rate_hz);
        }
        if self.line == Line::Telephone {
            samples = telephone(&samples, rate_hz)?;
        }
        let gain = 10f32.powf(self.gain_db / 20.0);
        samples.iter_mut().for_each(|sample| *sample = (*sample * gain).clamp(-1.0, 1.0));
        Ok(samples)
    }
}

impl Noise {
    /// Adds `n` to the samples, scaled to `sum x^2 / sum n^2 = 10^(snr / 10)`; silence stays silent.
    fn add(&self, samples: &mut [f32], rate_hz: u32) {
        let mut random = self.random.clone();
        let keep = (-TAU * RED_HZ / rate_hz as f32).exp();
        // Of the same energy as the white noise that it is made of.
        let level = (1.0 - keep * keep).sqrt();
        let mut red = 0.0;
        let mut draw = || {
            let white = random.normal();
            red = keep * red + level * white;
            self.red * red + (1.0 - self.red) * white
        };
        let noise: Vec<f32> = samples.iter().map(|_| draw()).collect();
        let energy = |values: &[f32]| values.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let ratio = energy(samples) / energy(&noise).max(f64::MIN_POSITIVE);
        let scale = (ratio / 10f64.powf(f64::from(self.snr_db) / 10.0)).sqrt() as f32;
        samples.iter_mut().zip(noise).for_each(|(sample, noise)| *sample += scale * noise);
    }
}

/// To the telephone's rate and back, low frequencies and small steps being lost between.
fn telephone(samples: &[f32], rate_hz: u32) -> Reasoned<Vec<f32>> {
    let mut narrow = resample(samples, rate_hz, TELEPHONE_HZ)?;
    // A high-pass of one pole, y[n] = k y[n - 1] + (1 + k) / 2 (x[n] - x[n - 1]).
    let keep = (-TAU * TELEPHONE_LOW_HZ / TELEPHONE_HZ as f32).exp();
    let (mut passed, mut before) = (0.0, 0.0);
    for sample in &mut narrow {
        passed = keep * passed + 0.5 * (1.0 + keep) * (*sample - before);
        before = *sample;
        *sample = mu_law(passed);
    }
    let mut wide = resample(&narrow, TELEPHONE_HZ, rate_hz)?;
    wide.resize(samples.len(), 0.0);
    Ok(wide)
}

/// `x` rounded to one of 255 levels of `sign(x) ln(1 + 255 |x|) / ln 256`.
fn mu_law(x: f32) -> f32 {
    const MU: f32 = 255.0;
    let level = ((MU * x.abs().min(1.0)).ln_1p() / MU.ln_1p() * 127.0).round() / 127.0;
    ((level * MU.ln_1p()).exp_m1() / MU).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 16_000;

    fn sine(hz: f32, count: usize) -> Vec<f32> {
        (0..count).map(|n| 0.3 * (TAU * hz * n as f32 / RATE as f32).sin()).collect()
    }

    /// Energy of the samples in the middle of a recording at `hz`, by its Fourier sum.
    fn level(samples: &[f32], hz: f32) -> f32 {
        let inner = &samples[samples.len() / 4..3 * samples.len() / 4];
        let part = |phase: f32| {
            let wave = (0..inner.len()).map(|n| (TAU * hz * n as f32 / RATE as f32 + phase).cos());
            inner.iter().zip(wave).map(|(x, w)| x * w).sum::<f32>() / inner.len() as f32
        };
        2.0 * part(0.0).hypot(part(TAU / 4.0))
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        let samples = sine(440.0, 4000);
        assert_eq!(AudioChange::default().apply(&samples, RATE).unwrap(), samples);
    }

    #[test]
    fn faster_is_shorter_and_higher() {
        for speed in [0.9, 1.1] {
            let changed = AudioChange { speed, ..Default::default() }.apply(&sine(1000.0, 16_000), RATE).unwrap();
            assert_eq!(changed.len(), (16_000.0 / speed).round() as usize);
            assert!((level(&changed, 1000.0 * speed) - 0.3).abs() < 0.01 && level(&changed, 1000.0) < 0.01);
        }
    }

    #[test]
    fn noise_has_the_energy_asked_for_and_its_colour() {
        let energy = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>();
        let samples = sine(440.0, 16_000);
        let noise_of = |red: f32| {
            let noise = Noise { snr_db: 10.0, red, random: Random::new(3) };
            let change = AudioChange { noise: Some(noise), ..Default::default() };
            let changed = change.apply(&samples, RATE).unwrap();
            assert_eq!(changed, change.apply(&samples, RATE).unwrap());
            changed.iter().zip(&samples).map(|(a, b)| a - b).collect::<Vec<f32>>()
        };
        let steps = |x: &[f32]| x.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f32>();
        let (white, red) = (noise_of(0.0), noise_of(1.0));
        for noise in [&white, &red] {
            assert!((10.0 * (energy(&samples) / energy(noise)).log10() - 10.0).abs() < 0.2);
        }
        assert!(steps(&red) < 0.1 * steps(&white));
        let silent =
            AudioChange { noise: Some(Noise { snr_db: 10.0, red: 0.5, random: Random::new(1) }), ..Default::default() };
        assert_eq!(silent.apply(&[0.0; 100], RATE).unwrap(), [0.0; 100]);
    }

    #[test]
    fn a_telephone_passes_the_middle_of_speech() {
        let change = AudioChange { line: Line::Telephone, ..Default::default() };
        let passed = |hz: f32| level(&change.apply(&sine(hz, 16_001), RATE).unwrap(), hz) / 0.3;
        assert_eq!(change.apply(&sine(300.0, 16_001), RATE).unwrap().len(), 16_001);
        assert!(passed(50.0) < 0.3 && passed(1000.0) > 0.95 && passed(3000.0) > 0.95 && passed(5000.0) < 0.01);
        for x in [0.0, 0.001, -0.02, 0.5, -1.0] {
            assert!((mu_law(x) - x).abs() <= 0.03 * x.abs() + 1e-4, "{x} became {}", mu_law(x));
        }
    }

    #[test]
    fn louder_is_louder_up_to_full_scale() {
        let gained = |gain_db: f32| AudioChange { gain_db, ..Default::default() }.apply(&[0.1, -0.5], RATE).unwrap();
        assert!((gained(6.0206)[0] - 0.2).abs() < 1e-4);
        assert_eq!(gained(20.0)[1], -1.0);
    }
}
