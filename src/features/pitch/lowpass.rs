//! Samples -> what lies below 1 kHz of them, at 4 to 8 kHz: all that pitch needs.

use std::f64::consts::PI;

use crate::features::mel::dot;

/// Where the filter has fallen to half.
const CUTOFF_HZ: f64 = 1000.0;
/// Lowest rate that comes out, unless less comes in.
const RATE_HZ: u32 = 4000;
/// Zeros of the sine on either side of a sample.
const ZEROS: f64 = 4.0;
/// Samples are held within this, 30 thousand times full scale, so that no finite input overflows later.
const LARGEST: f32 = 3e4;

/// Filters and takes one sample in `step`, block by block; the first and the last sample go on for ever.
///
/// ```text
/// y[m] = sum over |n| <= N of h[n] x[m step + n],  h[n] = sinc(2 f n) (1 + cos(pi n / (N + 1))) / 2, scaled to sum 1
/// ```
pub(super) struct Lowpass {
    rate_hz: f64,
    step: usize,
    /// `h`, `[2 N + 1]`.
    taps: Vec<f32>,
    /// Samples that an output to come needs.
    kept: Vec<f32>,
    /// Samples to leave out of what comes, when the next output begins behind `kept`.
    skip: usize,
    last: Option<f32>,
}

impl Lowpass {
    /// A filter for audio of `sample_rate_hz`.
    pub(super) fn new(sample_rate_hz: u32) -> Self {
        let step = (sample_rate_hz / RATE_HZ).max(1) as usize;
        let rate = f64::from(sample_rate_hz);
        let reach = (ZEROS * rate / (2.0 * CUTOFF_HZ)).ceil() as i64;
        let tap = |n: i64| {
            let taper = 0.5 * (1.0 + (PI * n as f64 / (reach + 1) as f64).cos());
            sinc(2.0 * CUTOFF_HZ / rate * n as f64) * taper
        };
        let taps: Vec<f64> = (-reach..=reach).map(tap).collect();
        let sum: f64 = taps.iter().sum();
        Self {
            rate_hz: rate / step as f64,
            step,
            taps: taps.iter().map(|tap| (tap / sum) as f32).collect(),
            kept: Vec::new(),
            skip: 0,
            last: None,
        }
    }

    /// Samples per second that come out.
    pub(super) fn rate_hz(&self) -> f64 {
        self.rate_hz
    }

    /// Samples that come in for one that comes out.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// Takes in `samples`, puts what they finish at the end of `out`.
    pub(super) fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) {
        let Some(&last) = samples.last() else { return };
        if self.last.replace(last).is_none() {
            self.take(std::iter::repeat_n(samples[0], self.taps.len() / 2));
        }
        self.take(samples.iter().copied());
        self.filter(out);
    }

    /// The audio is over: puts what is left at the end of `out`.
    pub(super) fn finish(&mut self, out: &mut Vec<f32>) {
        if let Some(last) = self.last {
            self.take(std::iter::repeat_n(last, self.taps.len() / 2));
            self.filter(out);
        }
    }

    fn take(&mut self, samples: impl ExactSizeIterator<Item = f32>) {
        let skip = self.skip.min(samples.len());
        self.skip -= skip;
        self.kept.extend(samples.skip(skip).map(|sample| sample.clamp(-LARGEST, LARGEST)));
    }

    fn filter(&mut self, out: &mut Vec<f32>) {
        let windows = self.kept.windows(self.taps.len()).step_by(self.step);
        let count = windows.len();
        out.extend(windows.map(|window| dot(window, &self.taps)));
        let used = count * self.step;
        self.skip = used.saturating_sub(self.kept.len());
        self.kept.drain(..used.min(self.kept.len()));
    }
}

/// `sin(pi x) / (pi x)`.
pub(super) fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(rate_hz: u32, samples: &[f32], block: usize) -> Vec<f32> {
        let (mut lowpass, mut out) = (Lowpass::new(rate_hz), Vec::new());
        samples.chunks(block).for_each(|block| lowpass.push(block, &mut out));
        lowpass.finish(&mut out);
        out
    }

    #[test]
    fn samples_are_those_of_the_formula_for_any_block() {
        for rate_hz in [4000, 8000, 16_000, 44_100] {
            let lowpass = Lowpass::new(rate_hz);
            let (step, reach) = (lowpass.step as i64, (lowpass.taps.len() / 2) as i64);
            for count in [1usize, 2, 5, 37, 400] {
                let samples: Vec<f32> = (0..count).map(|n| ((n * n * 7 + 3) % 23) as f32 - 11.0).collect();
                let sample = |n: i64| f64::from(samples[n.clamp(0, count as i64 - 1) as usize]);
                let term = |m: i64, n: i64| f64::from(lowpass.taps[(n + reach) as usize]) * sample(m * step + n);
                let output = |m: i64| (-reach..=reach).map(|n| term(m, n)).sum::<f64>();
                let expected: Vec<f64> = (0..count.div_ceil(step as usize) as i64).map(output).collect();
                for block in [1, 3, 1000] {
                    let found = filtered(rate_hz, &samples, block);
                    assert_eq!(found.len(), expected.len(), "{rate_hz} Hz, {count} samples, blocks of {block}");
                    assert!(found.iter().zip(&expected).all(|(&y, e)| (f64::from(y) - e).abs() < 1e-4));
                    assert_eq!(found, filtered(rate_hz, &samples, count));
                }
            }
        }
    }

    #[test]
    fn low_tones_pass_and_high_ones_do_not() {
        let loudness = |rate_hz: u32, hz: f32| {
            let tone = |n: usize| (std::f32::consts::TAU * hz * n as f32 / rate_hz as f32).sin();
            let out = filtered(rate_hz, &(0..rate_hz as usize).map(tone).collect::<Vec<_>>(), 4096);
            let middle = &out[out.len() / 4..3 * out.len() / 4];
            (middle.iter().map(|y| y * y).sum::<f32>() / middle.len() as f32 * 2.0).sqrt()
        };
        for rate_hz in [8000, 16_000, 44_100] {
            assert!((loudness(rate_hz, 300.0) - 1.0).abs() < 0.01, "{}", loudness(rate_hz, 300.0));
            assert!(loudness(rate_hz, 2500.0) < 0.01 && loudness(rate_hz, 3500.0) < 0.01);
        }
    }
}
