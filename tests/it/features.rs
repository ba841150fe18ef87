//! Features against outside numbers: `tests/data/golden`, see the README there.

use std::fs;
use std::path::Path;

use senone::features::{FeatureConfig, FeatureKind, Window, extract};
use senone::matrix::Matrix;

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn samples() -> Vec<f32> {
    let mut reader = hound::WavReader::open(data("sense-and-sensibility.wav")).unwrap();
    reader.samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32_768.0).collect()
}

/// A version 1 `.npy` of little-endian f32 in C order with two dimensions.
fn golden(name: &str) -> Matrix {
    let bytes = fs::read(data("golden").join(format!("{name}.npy"))).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..start]).unwrap();
    assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
    let shape = header.split_once('(').unwrap().1.split_once(')').unwrap().0;
    let shape: Vec<usize> = shape.split(',').map(|size| size.trim().parse().unwrap()).collect();
    let values = bytes[start..].chunks_exact(4).map(|value| f32::from_le_bytes(value.try_into().unwrap()));
    Matrix::from_vec(shape[0], shape[1], values.collect()).unwrap()
}

fn largest_difference(found: &Matrix, expected: &Matrix) -> f32 {
    assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()));
    found.as_slice().iter().zip(expected.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[track_caller]
fn assert_golden(name: &str, config: &FeatureConfig) {
    let difference = largest_difference(&extract(config, &samples()).unwrap(), &golden(name));
    println!("{name}: largest difference {difference:.1e}");
    assert!(difference < 2e-3, "{name}: largest difference {difference}");
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

#[test]
fn linear_magnitudes_equal_kaldi() {
    let config = FeatureConfig { use_log: false, use_power: false, ..fbank(80) };
    assert_golden("fbank_80_linear_mag", &config);
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
    let deltas = Matrix::from_vec(frames.rows(), 13, deltas).unwrap();
    let difference = largest_difference(&deltas, &golden("mfcc_13_delta"));
    println!("mfcc_13_delta: largest difference {difference:.1e}");
    assert!(difference < 2e-3, "largest difference {difference}");
}
