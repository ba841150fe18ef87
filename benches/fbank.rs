//! Seconds per hour of audio for fbank-80 and MFCC-13, one thread. `benches/README.md` says how to run the peers beside it.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use senone::features::{FeatureConfig, FeatureKind, extract};

/// Speech per run.
const SECONDS: usize = 600;
/// Timed runs, after one that is not timed.
const RUNS: usize = 9;

fn main() {
    let samples = speech();
    let fbank = FeatureConfig { mel_bins: 80, snip_edges: true, ..FeatureConfig::default() };
    let mfcc =
        FeatureConfig { kind: FeatureKind::Mfcc, use_energy: true, snip_edges: true, ..FeatureConfig::default() };
    report("senone fbank-80", &fbank, &samples);
    report("senone mfcc-13", &mfcc, &samples);
}

/// The sample file, repeated.
fn speech() -> Vec<f32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sense-and-sensibility.wav");
    let mut reader = hound::WavReader::open(path).expect("the sample file opens");
    let samples = reader.samples::<i16>().map(|sample| f32::from(sample.expect("the sample file is whole")) / 32_768.0);
    let samples: Vec<f32> = samples.collect();
    samples.iter().copied().cycle().take(SECONDS * 16_000).collect()
}

fn report(name: &str, config: &FeatureConfig, samples: &[f32]) {
    let run = || {
        let start = Instant::now();
        black_box(extract(config, black_box(samples)).expect("the configuration is right"));
        start.elapsed().as_secs_f64() * 3600.0 / SECONDS as f64
    };
    run();
    let mut seconds: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    seconds.sort_by(f64::total_cmp);
    let (best, median) = (seconds[0], seconds[RUNS / 2]);
    #[allow(clippy::print_stdout, reason = "a bench reports there")]
    {
        println!("{name:<36} median {median:7.3} s per hour of audio, best {best:7.3}");
    }
}
