//! Features against outside numbers: `tests/data/golden`, see the README there.

use std::path::{Path, PathBuf};

use senone::features::{FeatureConfig, FeatureKind, PitchConfig, Window, extract};
use senone::formats::npy;
use senone::matrix::Matrix;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn samples() -> Vec<f32> {
    let mut reader = hound::WavReader::open(data("sense-and-sensibility.wav")).unwrap();
    reader.samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32_768.0).collect()
}

fn golden(name: &str) -> Matrix {
    npy::read(&data("golden").join(format!("{name}.npy"))).unwrap()
}

fn largest(found: &Matrix, expected: &Matrix, difference: impl Fn(f32, f32) -> f32) -> f32 {
    assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()));
    let pairs = found.as_slice().iter().zip(expected.as_slice());
    pairs.map(|(&found, &expected)| difference(found, expected)).fold(0.0, f32::max)
}

/// Every value within 2e-3.
#[track_caller]
fn assert_near(name: &str, found: &Matrix) {
    let difference = largest(found, &golden(name), |found, expected| (found - expected).abs());
    assert!(difference < 2e-3, "{name}: largest difference {difference}");
}

#[track_caller]
fn assert_golden(name: &str, config: &FeatureConfig) {
    assert_near(name, &extract(config, &samples()).unwrap());
}

fn fbank(mel_bins: usize) -> FeatureConfig {
    FeatureConfig { mel_bins, snip_edges: true, ..FeatureConfig::default() }
}

fn mfcc() -> FeatureConfig {
    FeatureConfig { kind: FeatureKind::Mfcc, snip_edges: true, use_energy: true, ..FeatureConfig::default() }
}

#[test]
fn fbank_equals_kaldi() {
    assert_golden("fbank_23", &fbank(23));
    assert_golden("fbank_40", &fbank(40));
    assert_golden("fbank_80", &fbank(80));
    assert_golden("fbank_80_nosnip", &FeatureConfig { snip_edges: false, ..fbank(80) });
    assert_golden("fbank_80_energy", &FeatureConfig { use_energy: true, ..fbank(80) });
    assert_golden("fbank_80_hamming", &FeatureConfig { window: Window::Hamming, ..fbank(80) });
    assert_golden("fbank_80_high-400", &FeatureConfig { high_hz: -400.0, ..fbank(80) });
}

/// Relative: these values reach 860 thousand, where neighbouring `f32` are 0.06 apart, and the reference itself is up to
/// 3.4e-4 of its value away from the same computation in `f64`.
#[test]
fn linear_magnitudes_equal_kaldi() {
    let config = FeatureConfig { use_log: false, use_power: false, ..fbank(80) };
    let found = extract(&config, &samples()).unwrap();
    let name = "fbank_80_linear_mag";
    let difference = largest(&found, &golden(name), |found, expected| (found / expected - 1.0).abs());
    assert!(difference < 1e-3, "{name}: largest relative difference {difference}");
}

#[test]
fn mfcc_equals_kaldi() {
    assert_golden("mfcc_13", &mfcc());
    assert_golden("mfcc_13_noenergy", &FeatureConfig { use_energy: false, ..mfcc() });
    assert_golden("mfcc_13_nosnip", &FeatureConfig { snip_edges: false, ..mfcc() });
    assert_golden("mfcc_13_nolifter", &FeatureConfig { cepstral_lifter: 0.0, ..mfcc() });
    let hires = FeatureConfig { mel_bins: 40, cepstra: 40, use_energy: false, high_hz: -400.0, ..mfcc() };
    assert_golden("mfcc_40_hires", &hires);
}

#[test]
fn deltas_equal_torchaudio() {
    let frames = extract(&FeatureConfig { deltas: 1, ..mfcc() }, &samples()).unwrap();
    let deltas = frames.iter_rows().flat_map(|row| row[13..].to_vec()).collect();
    assert_near("mfcc_13_delta", &Matrix::from_vec(frames.rows(), 13, deltas).unwrap());
}

/// Two trackers never agree on every frame: what is asked for is little less than what was found (`golden/README.md`).
#[test]
fn pitch_agrees_with_praat() {
    let pitch = Some(PitchConfig { mean_frames: 0, ..PitchConfig::default() });
    let found = extract(&FeatureConfig { pitch, ..FeatureConfig::default() }, &samples()).unwrap();
    let praat = golden("f0_praat");
    assert_eq!(found.rows(), praat.rows());
    let rows = || found.iter_rows().map(|row| (row[23].exp(), row[24])).zip(praat.as_slice());
    let alike = rows().filter(|((_, voicing), hz)| (*voicing > 0.5) == (**hz > 0.0)).count();
    let both = rows().filter(|((_, voicing), hz)| *voicing > 0.5 && **hz > 0.0);
    let mut errors: Vec<f32> = both.map(|((hz, _), praat_hz)| (hz / praat_hz - 1.0).abs()).collect();
    errors.sort_by(f32::total_cmp);
    let (median, gross) = (errors[errors.len() / 2], errors.iter().filter(|&&error| error > 0.2).count());
    let what = format!("{alike} of {}, {} voiced, median {median}, {gross} gross", praat.rows(), errors.len());
    assert!(alike * 100 >= 82 * praat.rows() && errors.len() >= 140 && median < 0.005 && gross == 0, "{what}");
}
