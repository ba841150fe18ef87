//! A frame of samples -> its power or magnitude spectrum, and its log energy.
//!
//! The order is Kaldi's: dither, mean removed, energy, pre-emphasis, taper, zeros up to the transform's size, transform.
//! The spectrum of `N` real samples comes from one complex transform of `N / 2` points.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::config::{FeatureConfig, Window};
use super::mel::floored_ln;
use crate::random::Random;

/// Where the energy of a frame is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EnergyPoint {
    /// Before pre-emphasis and taper.
    Raw,
    /// After them.
    Tapered,
}

/// Turns frames into spectra; all buffers are allocated once.
pub(super) struct Spectrum {
    dither: f32,
    random: Random,
    remove_dc_offset: bool,
    preemphasis: f32,
    taper: Vec<f32>,
    energy: Option<EnergyPoint>,
    energy_floor: f32,
    use_power: bool,
    fft: Arc<dyn Fft<f32>>,
    /// The tapered frame, padded with zeros: `[N]`.
    tapered: Vec<f32>,
    /// Samples `2n` and `2n + 1` as one complex number: `[N / 2]`.
    packed: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    /// `-i exp(-2 pi i k / N)` for `k` in `0..=N / 4`.
    twiddles: Vec<Complex<f32>>,
    /// The spectrum, `[N / 2]`: bin `k` is at `k / N` of the sample rate. Half the sample rate is left out, as in Kaldi.
    bins: Vec<f32>,
}

impl Spectrum {
    /// Buffers and transform for a checked `config`.
    pub(super) fn new(config: &FeatureConfig) -> Self {
        let size = config.fft_samples();
        let fft = FftPlanner::new().plan_fft_forward(size / 2);
        let point = if config.raw_energy { EnergyPoint::Raw } else { EnergyPoint::Tapered };
        Self {
            dither: config.dither,
            random: Random::new(config.dither_seed.into()),
            remove_dc_offset: config.remove_dc_offset,
            preemphasis: config.preemphasis,
            taper: taper(config.window, config.length_samples()),
            energy: config.use_energy.then_some(point),
            energy_floor: config.energy_floor.max(f32::EPSILON),
            use_power: config.use_power,
            tapered: vec![0.0; size],
            packed: vec![Complex::default(); size / 2],
            scratch: vec![Complex::default(); fft.get_inplace_scratch_len()],
            twiddles: (0..=size / 4).map(|k| twiddle(k, size)).collect(),
            bins: vec![0.0; size / 2],
            fft,
        }
    }

    /// The spectrum of `frame` (spoilt on the way), and its log energy when the configuration asks for it.
    pub(super) fn compute(&mut self, frame: &mut [f32]) -> (&[f32], Option<f32>) {
        if self.dither > 0.0 {
            frame.iter_mut().for_each(|sample| *sample += self.dither * self.random.normal());
        }
        if self.remove_dc_offset {
            let mean = (sum(frame) / frame.len() as f64) as f32;
            frame.iter_mut().for_each(|sample| *sample -= mean);
        }
        self.emphasise_and_taper(frame);
        let energy = self.energy.map(|point| match point {
            EnergyPoint::Raw => self.log_energy(frame),
            EnergyPoint::Tapered => self.log_energy(&self.tapered),
        });
        self.transform();
        if !self.use_power {
            self.bins.iter_mut().for_each(|bin| *bin = bin.sqrt());
        }
        (&self.bins, energy)
    }

    /// `y[i] = taper[i] (x[i] - c x[i - 1])`, with `x[-1] = x[0]`.
    fn emphasise_and_taper(&mut self, frame: &[f32]) {
        let c = self.preemphasis;
        self.tapered[0] = self.taper[0] * (frame[0] - c * frame[0]);
        let neighbours = frame[1..].iter().zip(frame);
        for ((out, weight), (now, before)) in self.tapered[1..].iter_mut().zip(&self.taper[1..]).zip(neighbours) {
            *out = weight * (now - c * before);
        }
    }

    fn log_energy(&self, samples: &[f32]) -> f32 {
        floored_ln(sum_of_squares(samples) as f32, self.energy_floor)
    }

    /// Fills `bins` with `|X[k]|^2`, `X` the transform of the `N` real samples `x`, by way of `Z`, that of the `M = N / 2`
    /// complex numbers `x[2n] + i x[2n + 1]`:
    ///
    /// ```text
    /// E = Z[k] + conj Z[M - k],  T = -i exp(-2 pi i k / N) (Z[k] - conj Z[M - k])
    /// X[k] = (E + T) / 2,  X[M - k] = conj(E - T) / 2
    /// ```
    fn transform(&mut self) {
        for (packed, pair) in self.packed.iter_mut().zip(self.tapered.chunks_exact(2)) {
            *packed = Complex::new(pair[0], pair[1]);
        }
        self.fft.process_with_scratch(&mut self.packed, &mut self.scratch);
        let half = self.packed.len();
        let first = self.packed[0].re + self.packed[0].im;
        self.bins[0] = first * first;
        for k in 1..=half / 2 {
            let (near, far) = (self.packed[k], self.packed[half - k].conj());
            let (even, odd) = (near + far, self.twiddles[k] * (near - far));
            self.bins[k] = 0.25 * (even + odd).norm_sqr();
            self.bins[half - k] = 0.25 * (even - odd).norm_sqr();
        }
    }
}

/// `-i exp(-2 pi i k / size)`.
fn twiddle(k: usize, size: usize) -> Complex<f32> {
    let angle = -2.0 * PI * k as f64 / size as f64;
    Complex::new(angle.sin() as f32, -angle.cos() as f32)
}

fn taper(window: Window, length: usize) -> Vec<f32> {
    let cosine = |i: usize| (2.0 * PI * i as f64 / (length - 1) as f64).cos();
    let weight = |i: usize| match window {
        Window::Povey => (0.5 - 0.5 * cosine(i)).powf(0.85),
        Window::Hamming => 0.54 - 0.46 * cosine(i),
        Window::Hanning => 0.5 - 0.5 * cosine(i),
        Window::Rectangular => 1.0,
    };
    (0..length).map(|i| weight(i) as f32).collect()
}

/// Four partial sums, so that the additions need not wait for one another.
fn sum(values: &[f32]) -> f64 {
    accumulate(values, f64::from)
}

fn sum_of_squares(values: &[f32]) -> f64 {
    accumulate(values, |value| f64::from(value) * f64::from(value))
}

fn accumulate(values: &[f32], term: impl Fn(f32) -> f64) -> f64 {
    let chunks = values.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|&value| term(value)).sum();
    let mut lanes = [0.0; 4];
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += term(value);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `|X[k]|^2` by the definition of the transform.
    fn power_by_definition(samples: &[f32], size: usize, k: usize) -> f64 {
        let angle = |n: usize| -2.0 * PI * (k * n % size) as f64 / size as f64;
        let re: f64 = samples.iter().enumerate().map(|(n, &x)| f64::from(x) * angle(n).cos()).sum();
        let im: f64 = samples.iter().enumerate().map(|(n, &x)| f64::from(x) * angle(n).sin()).sum();
        re * re + im * im
    }

    #[test]
    fn bins_are_those_of_the_definition_for_even_and_odd_halves() {
        for (length_ms, round_to_power_of_two) in
            [(25.0, true), (24.0, false), (26.0, false), (2.0, false), (6.0, true)]
        {
            let config = FeatureConfig {
                sample_rate_hz: 1000,
                length_ms,
                round_to_power_of_two,
                remove_dc_offset: false,
                preemphasis: 0.0,
                window: Window::Rectangular,
                ..FeatureConfig::default()
            };
            let frame: Vec<f32> = (0..config.length_samples()).map(|n| ((n * n * 7 + 3) % 23) as f32 - 11.0).collect();
            let mut spectrum = Spectrum::new(&config);
            let (bins, _) = spectrum.compute(&mut frame.clone());
            assert_eq!(bins.len(), config.fft_samples() / 2);
            for (k, &bin) in bins.iter().enumerate() {
                let expected = power_by_definition(&frame, config.fft_samples(), k);
                assert!((f64::from(bin) - expected).abs() < 1e-4 * (1.0 + expected), "bin {k}: {bin}, not {expected}");
            }
        }
    }

    #[test]
    fn energy_has_its_floor() {
        let config = FeatureConfig { use_energy: true, ..FeatureConfig::default() };
        let energy = Spectrum::new(&config).compute(&mut [0.0; 400]).1;
        assert_eq!(energy, Some(f32::EPSILON.ln()));
        let config = FeatureConfig { energy_floor: 1.0, ..config };
        assert_eq!(Spectrum::new(&config).compute(&mut [0.0; 400]).1, Some(0.0));
    }

    #[test]
    fn energy_is_taken_where_asked() {
        let frame: Vec<f32> = (0..400).map(|n| (n as f32 * 0.3).sin() * 100.0).collect();
        let config = FeatureConfig { use_energy: true, remove_dc_offset: false, ..FeatureConfig::default() };
        let raw = Spectrum::new(&config).compute(&mut frame.clone()).1.unwrap();
        assert!((raw - (200.0f32 * 10_000.0).ln()).abs() < 0.01, "{raw}");
        let tapered =
            Spectrum::new(&FeatureConfig { raw_energy: false, ..config.clone() }).compute(&mut frame.clone()).1;
        let plain = FeatureConfig { raw_energy: false, preemphasis: 0.0, window: Window::Rectangular, ..config };
        assert!(tapered.unwrap() < raw - 0.5);
        assert_eq!(Spectrum::new(&plain).compute(&mut frame.clone()).1, Some(raw));
    }
}
