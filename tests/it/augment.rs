//! `senone augment` as a user runs it.

use crate::util::Dir;

const RATE_HZ: u32 = 16_000;

fn corpus() -> Dir {
    let dir = Dir::new();
    let wave = |index: usize| 0.3 * (0.35 * index as f32).sin();
    dir.wav("a.wav", RATE_HZ, &(0..16_000).map(wave).collect::<Vec<_>>());
    dir.write("some.tsv", "utterance\tspeaker\taudio\twords\nu1\tann\ta.wav\tma\nu2\tbob\ta.wav\tsee\n");
    dir
}

fn samples(dir: &Dir, name: &str) -> Vec<f32> {
    let mut wav = hound::WavReader::open(dir.path(name)).unwrap();
    wav.samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32_768.0).collect()
}

#[test]
fn copies_have_the_noise_asked_for_and_their_manifest() {
    let dir = corpus();
    dir.senone("augment some.tsv --snr-db 10 --seed 3 --output noisy").ok();
    dir.senone("--threads 1 augment some.tsv --snr-db 10 --seed 3 --output again").ok();
    let plain = samples(&dir, "a.wav");
    let energy = |values: &[f32]| values.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>();
    let mut noises = Vec::new();
    for name in ["000000.wav", "000001.wav"] {
        let noisy = samples(&dir, &format!("noisy/{name}"));
        assert_eq!(noisy, samples(&dir, &format!("again/{name}")));
        let noise: Vec<f32> = noisy.iter().zip(&plain).map(|(noisy, plain)| noisy - plain).collect();
        let snr = 10.0 * (energy(&plain) / energy(&noise)).log10();
        assert!((snr - 10.0).abs() < 0.2, "{snr}");
        noises.push(noise);
    }
    assert_ne!(noises[0], noises[1]);
    let manifest = dir.read("noisy/manifest.tsv");
    assert!(manifest.contains("u2") && manifest.contains("bob") && manifest.contains("000001.wav"), "{manifest}");
    let faster = dir.senone("augment noisy/manifest.tsv --speed 1.25 --telephone --gain-db -6 --output fast");
    faster.ok();
    assert_eq!(samples(&dir, "fast/000000.wav").len(), 12_800);
}

#[test]
fn what_cannot_be_copied_is_named_and_the_rest_is_done() {
    let dir = corpus();
    let refused = |line: &str| dir.senone(line).refused();
    assert_eq!(refused("augment some.tsv --speed 3 --output x"), "speed = 3: expected a number from 0.5 to 2");
    assert_eq!(refused("augment some.tsv --snr-db 999 --output x"), "snr_db = 999: expected a number from -60 to 100");
    assert!(!dir.path("x").exists());
    dir.write("more.tsv", "utterance\taudio\twords\nu1\tnone.wav\tma\nu2\ta.wav\tsee\n");
    let ran = dir.senone("augment more.tsv --output x").run();
    assert!(ran.status == 1 && ran.stderr.contains("left out u1: none.wav: cannot read"), "{}", ran.stderr);
    assert_eq!(dir.list("x"), ["000001.wav", "manifest.tsv"]);
}
