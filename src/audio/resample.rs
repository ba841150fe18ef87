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
    let refused = |cause: &dyn std::fmt::Display| format!("cannot resample {from_hz} Hz to {to_hz} Hz: {cause}");
    let (from, to) = (from_hz as usize, to_hz as usize);
    let mut resampler = Fft::<f32>::new(from, to, span(from, to), 1, FixedSync::Both).map_err(|e| refused(&e))?;
    let input = InterleavedSlice::new(samples, 1, samples.len()).map_err(|e| refused(&e))?;
    let mut output = resampler.process_all(&input, samples.len(), None).map_err(|e| refused(&e))?.take_data();
    output.resize(length(samples.len(), from_hz, to_hz), 0.0);
    // A step rings a little beyond full scale.
    output.iter_mut().for_each(|sample| *sample = sample.clamp(-1.0, 1.0));
    Ok(output)
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
    fn the_length_is_rounded() {
        for (from, to) in PAIRS {
            for count in [1, 2, 3, 100, 1023, 1024, 1025, 5001] {
                let expected = (count as f64 * f64::from(to) / f64::from(from)).round().max(1.0) as usize;
                assert_eq!(resample(&vec![0.1; count], from, to).unwrap().len(), expected, "{count}, {from} to {to}");
            }
        }
    }
}
