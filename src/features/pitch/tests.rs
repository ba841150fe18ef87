//! Voices whose F0 is known: harmonics under formants, in clean audio, in noise, by telephone.

use std::f32::consts::TAU;

use super::*;
use crate::features::extract;
use crate::random::Random;

/// Columns of pitch alone, F0 as it is.
fn track(rate_hz: u32, samples: &[f32]) -> Vec<[f32; 3]> {
    let pitch = PitchConfig { mean_frames: 0, ..PitchConfig::default() };
    let config = FeatureConfig { sample_rate_hz: rate_hz, pitch: Some(pitch), ..FeatureConfig::default() };
    let frames = extract(&config, samples).unwrap();
    frames.iter_rows().map(|row| [row[23].exp(), row[24], row[25]]).collect()
}

/// What a formant at `formant_hz` leaves of `hz`.
fn resonance(hz: f32, formant_hz: f32) -> f32 {
    1.0 / (1.0 + ((hz - formant_hz) / 90.0).powi(2)).sqrt()
}

/// A vowel of two seconds between `low_hz` and `high_hz`, whose F0 is `f0(t)`, `t` from 0 to 1.
fn vowel(rate_hz: u32, (low_hz, high_hz): (f32, f32), f0: impl Fn(f32) -> f32) -> Vec<f32> {
    let mut phase = 0.0;
    let count = 2 * rate_hz as usize;
    let sample = |n: usize| {
        let hz = f0(n as f32 / count as f32);
        phase = (phase + TAU * hz / rate_hz as f32) % TAU;
        let harmonic = |k: usize| {
            let at = k as f32 * hz;
            let loudness = [550.0, 1250.0, 2500.0].map(|formant_hz| resonance(at, formant_hz)).iter().sum::<f32>();
            if at < low_hz || at > high_hz { 0.0 } else { loudness * (k as f32 * phase).sin() / k as f32 }
        };
        0.1 * (1..=(high_hz / hz) as usize).map(harmonic).sum::<f32>()
    };
    (0..count).map(sample).collect()
}

fn with_noise(mut samples: Vec<f32>, snr_db: f32) -> Vec<f32> {
    let mut random = Random::new(3);
    let power = samples.iter().map(|sample| sample * sample).sum::<f32>() / samples.len() as f32;
    let deviation = (power * 10f32.powf(-snr_db / 10.0)).sqrt();
    samples.iter_mut().for_each(|sample| *sample += deviation * random.normal());
    samples
}

const CONTOURS: [fn(f32) -> f32; 5] = [
    |t| 70.0 * (400.0f32 / 70.0).powf(t),
    |t| 400.0 * (70.0f32 / 400.0).powf(t),
    |t| 110.0 + 40.0 * (TAU * 2.0 * t).sin(),
    |t| 250.0 - 100.0 * (TAU * 2.0 * t).cos(),
    |_| 110.0,
];

/// Of the frames whose windows lie within: the median relative error, and the share that is off by more than a fifth.
fn errors(rate_hz: u32, samples: &[f32], f0: impl Fn(f32) -> f32) -> (f32, f32) {
    let found = track(rate_hz, samples);
    let count = found.len();
    let error = |t: usize| (found[t][0] / f0((t as f32 + 0.5) / count as f32) - 1.0).abs();
    let mut errors: Vec<f32> = (3..count - 3).map(error).collect();
    errors.sort_by(f32::total_cmp);
    let gross = errors.iter().filter(|&&error| error > 0.2).count();
    (errors[errors.len() / 2], gross as f32 / errors.len() as f32)
}

#[test]
fn known_f0_is_found() {
    for rate_hz in [8000, 16_000, 44_100] {
        for (number, f0) in CONTOURS.iter().enumerate() {
            let clean = vowel(rate_hz, (0.0, 3900.0), f0);
            let (median, gross) = errors(rate_hz, &clean, f0);
            assert!(median < 0.01 && gross == 0.0, "{rate_hz} Hz, contour {number}: {median}, {gross}");
            let (median, gross) = errors(rate_hz, &with_noise(clean, 10.0), f0);
            assert!(median < 0.015 && gross < 0.01, "{rate_hz} Hz, contour {number}, noise: {median}, {gross}");
            let (median, gross) = errors(rate_hz, &vowel(rate_hz, (300.0, 3400.0), f0), f0);
            assert!(median < 0.01 && gross < 0.01, "{rate_hz} Hz, contour {number}, telephone: {median}, {gross}");
        }
    }
}

#[test]
fn vowels_are_voiced_and_noise_is_not() {
    let mean = |found: &[[f32; 3]]| found.iter().map(|row| row[1]).sum::<f32>() / found.len() as f32;
    let clean = vowel(16_000, (0.0, 7900.0), |_| 120.0);
    let voiced = mean(&track(16_000, &clean));
    let unvoiced = mean(&track(16_000, &with_noise(clean, -60.0)));
    assert!(voiced > 0.98 && unvoiced < 0.1, "{voiced}, {unvoiced}");
}

#[test]
fn the_slope_is_that_of_log_f0() {
    let glide = vowel(16_000, (0.0, 7900.0), |t| 100.0 * 3f32.powf(t));
    let found = track(16_000, &glide);
    let slope = found[20..180].iter().map(|row| row[2]).sum::<f32>() / 160.0;
    assert!((slope - 3f32.ln() / 200.0).abs() < 1e-4, "{slope}");
}

#[test]
fn loudness_and_offset_do_not_matter() {
    let samples = with_noise(vowel(16_000, (0.0, 7900.0), CONTOURS[2]), 20.0);
    let found = track(16_000, &samples);
    let other: Vec<f32> = samples.iter().map(|sample| 0.1 * sample + 0.2).collect();
    for (one, other) in found.iter().zip(track(16_000, &other)) {
        assert!((one[0] / other[0] - 1.0).abs() < 0.006 && (one[1] - other[1]).abs() < 0.02, "{one:?}, {other:?}");
    }
}

#[test]
fn the_mean_that_is_taken_out_is_that_of_the_voice() {
    let pitch = Some(PitchConfig::default());
    let config = FeatureConfig { pitch, ..FeatureConfig::default() };
    let silence = vec![0.0; 8000];
    let speech = vowel(16_000, (0.0, 7900.0), |t| 100.0 * 2f32.powf(t));
    let frames = extract(&config, &[silence.clone(), speech, silence].concat()).unwrap();
    // In the middle of the glide, whose log is a line, its mean over as much before as after is its value there.
    let middle = frames.row(150)[23];
    assert!(middle.abs() < 0.01, "{middle}");
    assert!(frames.row(60)[23] < -0.1 && frames.row(240)[23] > 0.1);
}

#[test]
fn silence_and_too_little_audio_are_no_trouble() {
    let found = track(16_000, &[0.0; 16_000]);
    assert!(found.len() == 100 && found.iter().all(|row| (50.0..510.0).contains(&row[0]) && row[1] < 0.01));
    for count in [80, 83, 400, 700] {
        let found = track(16_000, &vec![0.25; count]);
        assert_eq!(found.len(), (count + 80) / 160);
        assert!(found.iter().flatten().all(|value| value.is_finite()));
    }
    assert!(track(16_000, &[0.1, -0.1, 0.1]).is_empty());
}

#[test]
fn memory_does_not_grow_with_the_audio() {
    let config = FeatureConfig { pitch: Some(PitchConfig::default()), ..FeatureConfig::default() };
    let mut pitch = Pitch::new(&config, &PitchConfig::default(), 1);
    let second = vowel(16_000, (0.0, 7900.0), CONTOURS[2]);
    let mut rows = 0;
    for number in 1..=20 {
        pitch.push(&second, 200 * number);
        rows += pitch.beside(&Matrix::zeros(200, 1)).rows();
        assert!(pitch.kept.len() <= pitch.correlator.span() + 40 && pitch.undecided.len() <= pitch.look_ahead);
        let late = 200 * number - rows;
        assert!(late <= 20 + 2 + 75 + 3 && pitch.waiting.rows() == late, "{late}");
    }
}
