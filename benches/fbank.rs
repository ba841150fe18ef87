//! Seconds per hour of audio for fbank-80, MFCC-13, and fbank-80 with pitch, one thread. `benches/README.md` says how to run the peers beside it.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use senone::features::{FeatureConfig, FeatureKind, PitchConfig, extract};

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
    let pitch = FeatureConfig { pitch: Some(PitchConfig::default()), ..fbank };
    report("senone fbank-80 and pitch", &pitch, &samples);
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
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        black_box(extract(config, black_box(samples)).expect("the configuration is right"));
        (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start)
    };
    run();
    let (wall, cpu): (Vec<f64>, Vec<f64>) = (0..RUNS).map(|_| run()).unzip();
    let (wall, cpu) = (median_per_hour(wall), median_per_hour(cpu));
    #[allow(clippy::print_stdout, reason = "a bench reports there")]
    {
        println!("{name:<28} median per hour of audio: cpu {cpu:7.3} s, wall {wall:7.3} s");
    }
}

fn median_per_hour(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[RUNS / 2] * 3600.0 / SECONDS as f64
}

/// Seconds this thread has been on a processor, as Linux counts them; NaN elsewhere. On a busy machine only this is fair.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |nanoseconds| nanoseconds * 1e-9)
}
