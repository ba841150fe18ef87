//! Conversion of the sample rate, by rubato's FFT resampler: a linear-phase low-pass just below the lower of the two
//! Nyquist frequencies, its delay taken out, so that every sound stays at its time.

use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{Fft, FixedSync, Resampler};

use super::Reasoned;

/// Samples of the lower rate that the filter spans, at least: the longer, the narrower its transition band.
const LEAST_SPAN: usize = 1024;

/// `samples` at `from_hz` as `round(samples.len() * to_hz / from_hz)` samples at `to_hz`, but at least one.
///
/// # Errors
/// When rubato refuses.
pub(super) fn resample(samples: &[f32], from_hz: u32, to_hz: u32) -> Reasoned<Vec<f32>> {
    let mut resampling = Resampling::new(from_hz, to_hz)?;
    let mut output = resampling.push(samples)?;
    output.append(&mut resampling.finish()?);
    Ok(output)
}

/// Samples on their way to another rate.
pub(super) struct Resampling {
    resampler: Fft<f32>,
    from_hz: u32,
    to_hz: u32,
    /// What does not fill the filter yet.
    input: Vec<f32>,
    /// Samples of the filter's delay that are still to be dropped.
    delay: usize,
    taken: usize,
    given: usize,
}

impl Resampling {
    /// From `from_hz` to `to_hz`; nothing where they are the same.
    ///
    /// # Errors
    /// When rubato refuses.
    pub(super) fn between(from_hz: u32, to_hz: u32) -> Reasoned<Option<Self>> {
        (from_hz != to_hz).then(|| Self::new(from_hz, to_hz)).transpose()
    }

    fn new(from_hz: u32, to_hz: u32) -> Reasoned<Self> {
        let (from, to) = (from_hz as usize, to_hz as usize);
        let resampler = Fft::<f32>::new(from, to, span(from, to), 1, FixedSync::Both);
        let resampler = resampler.map_err(|cause| refused(&cause, (from_hz, to_hz)))?;
        let delay = resampler.output_delay();
        Ok(Self { resampler, from_hz, to_hz, input: Vec::new(), delay, taken: 0, given: 0 })
    }

    /// The samples that the next ones make certain; they come in pieces of the filter's length.
    ///
    /// # Errors
    /// When rubato refuses.
    pub(super) fn push(&mut self, samples: &[f32]) -> Reasoned<Vec<f32>> {
        self.taken += samples.len();
        self.input.extend_from_slice(samples);
        let (input, size) = (std::mem::take(&mut self.input), self.resampler.input_frames_next());
        let mut output = Vec::new();
        let pieces = input.chunks_exact(size);
        self.input = pieces.remainder().to_vec();
        for piece in pieces {
            self.process(piece, &mut output)?;
        }
        Ok(output)
    }

    /// The samples that are left.
    ///
    /// # Errors
    /// When rubato refuses.
    pub(super) fn finish(mut self) -> Reasoned<Vec<f32>> {
        let due = length(self.taken, self.from_hz, self.to_hz) - self.given;
        let (mut input, mut output) = (std::mem::take(&mut self.input), Vec::new());
        while output.len() < due {
            input.resize(self.resampler.input_frames_next(), 0.0);
            self.process(&input, &mut output)?;
            input.clear();
        }
        output.truncate(due);
        Ok(output)
    }

    fn process(&mut self, piece: &[f32], output: &mut Vec<f32>) -> Reasoned<()> {
        let refused = |cause: &dyn std::fmt::Display| refused(cause, (self.from_hz, self.to_hz));
        let mut made = vec![0.0; self.resampler.output_frames_next()];
        let count = made.len();
        let input = InterleavedSlice::new(piece, 1, piece.len()).map_err(|e| refused(&e))?;
        let mut into = InterleavedSlice::new_mut(&mut made, 1, count).map_err(|e| refused(&e))?;
        self.resampler.process_into_buffer(&input, &mut into, None).map_err(|e| refused(&e))?;
        let late = self.delay.min(count);
        self.delay -= late;
        self.given += count - late;
        // A step rings a little beyond full scale.
        output.extend(made[late..].iter().map(|sample| sample.clamp(-1.0, 1.0)));
        Ok(())
    }
}

fn refused(cause: &dyn std::fmt::Display, (from_hz, to_hz): (u32, u32)) -> String {
    format!("cannot resample {from_hz} Hz to {to_hz} Hz: {cause}")
}

/// Length of the filter in input samples: even on both sides, else its delay would be half a sample off.
fn span(from: usize, to: usize) -> usize {
    let divisor = greatest_common_divisor(from, to);
    let pair = 2 * from / divisor;
    let least = LEAST_SPAN * from / from.min(to);
    least.next_multiple_of(pair)
}

fn length(samples: usize, from_hz: u32, to_hz: u32) -> usize {
    let (from, to) = (u128::from(from_hz), u128::from(to_hz));
    let rounded = (samples as u128 * to + from / 2) / from;
    (rounded as usize).max(1)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    const PAIRS: [(u32, u32); 9] = [
        (8000, 16000),
        (11025, 16000),
        (16000, 8000),
        (22050, 16000),
        (32000, 16000),
        (44100, 16000),
        (48000, 16000),
        (96000, 16000),
        (44099, 16000),
    ];

    fn sine(frequency: f64, rate: u32, count: usize) -> Vec<f32> {
        (0..count).map(|n| (0.5 * (TAU * frequency * n as f64 / f64::from(rate)).sin()) as f32).collect()
    }

    #[test]
    fn a_click_stays_in_its_place() {
        for (from, to) in PAIRS {
            for at in [0.1, 0.5, 0.83] {
                let mut samples = vec![0.0; from as usize];
                let place = (at * f64::from(from)) as usize;
                samples[place] = 1.0;
                let output = resample(&samples, from, to).unwrap();
                let peak = (0..output.len()).max_by(|&a, &b| output[a].abs().total_cmp(&output[b].abs())).unwrap();
                let expected = place as f64 * f64::from(to) / f64::from(from);
                assert!((peak as f64 - expected).abs() <= 0.6, "{from} to {to}: {peak}, expected {expected}");
            }
        }
    }

    #[test]
    fn a_tone_keeps_its_level_and_phase() {
        for (from, to) in PAIRS {
            let output = resample(&sine(1000.0, from, from as usize), from, to).unwrap();
            let expected = sine(1000.0, to, to as usize);
            let inner = 1000..to as usize - 1000;
            let worst = inner.map(|n| (output[n] - expected[n]).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-4, "{from} to {to}: off by {worst}");
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_is_gone() {
        let output = resample(&sine(9000.0, 44100, 44100), 44100, 16000).unwrap();
        let worst = output[1000..15000].iter().fold(0.0f32, |worst, sample| worst.max(sample.abs()));
        assert!(worst < 1e-4, "an alias of {worst}");
        // ... and 7.6 kHz, which it can hold, is there.
        let output = resample(&sine(7600.0, 44100, 44100), 44100, 16000).unwrap();
        let worst = output[1000..15000].iter().fold(0.0f32, |worst, sample| worst.max(sample.abs()));
        assert!((worst - 0.5).abs() < 0.01, "a level of {worst}");
    }

    #[test]
    fn pieces_of_any_length_give_the_same() {
        for (from, to) in PAIRS {
            let samples = sine(700.0, from, from as usize / 3);
            let whole = resample(&samples, from, to).unwrap();
            for size in [1, 100, 4097] {
                let (mut resampling, mut output) = (Resampling::new(from, to).unwrap(), vec![]);
                samples.chunks(size).for_each(|piece| output.append(&mut resampling.push(piece).unwrap()));
                assert!(
                    output.len() > whole.len() / 2 || from == 44099,
                    "the filter of rates without a common divisor is long"
                );
                output.append(&mut resampling.finish().unwrap());
                assert!(output == whole, "{from} to {to}");
            }
        }
    }

    #[test]
    fn the_length_is_rounded() {
        for (from, to) in PAIRS {
            for count in [1, 2, 3, 100, 1023, 1024, 1025, 5001] {
                let expected = (count as f64 * f64::from(to) / f64::from(from)).round().max(1.0) as usize;
                assert_eq!(resample(&vec![0.1; count], from, to).unwrap().len(), expected, "{count}, {from} to {to}");
            }
        }
    }
}
