//! Networks: frames a second of processor time, forward (decoding) and with backward and step (training), on one thread, and
//! the memory that it takes. `benches/network.py` runs the same in PyTorch and ONNX Runtime beside it.
//!
//! `cargo bench --bench network [CASE] [RUNS]` prints a line for each case: name, frames/s (median of the runs, after one that
//! does not count), and megabytes of peak memory above what the process had before (Linux only; else 0). Peak memory is that
//! of the first case only, so ask for one case at a time.

#![allow(clippy::print_stdout, reason = "a bench reports there")]

use std::time::Instant;

use senone::Result;
use senone::matrix::Matrix;
use senone::network::optimiser::{Optimiser, OptimiserConfig, StepOptions};
use senone::network::{HiddenNorm, Loss, LstmConfig, Network, NetworkConfig, TdnnConfig};
use senone::random::Random;

struct Case {
    name: &'static str,
    shape: Shape,
    bands: usize,
    pdfs: usize,
    /// Utterances, and frames of each.
    size: (usize, usize),
    work: Work,
}

const fn wide(name: &'static str, shape: Shape, (utterances, work): (usize, Work)) -> Case {
    Case { name, shape, bands: 80, pdfs: 144, size: (utterances, 500), work }
}

const CASES: [Case; 7] = [
    wide("bilstm_train", Shape::Bilstm, (8, Work::Gradient)),
    wide("bilstm_forward_1", Shape::Bilstm, (1, Work::Forward)),
    wide("bilstm_forward_8", Shape::Bilstm, (8, Work::Forward)),
    wide("tdnn_train", Shape::Tdnn, (8, Work::Gradient)),
    wide("tdnn_forward_1", Shape::Tdnn, (1, Work::Forward)),
    wide("tdnn_forward_8", Shape::Tdnn, (8, Work::Forward)),
    Case { name: "shipped_train", shape: Shape::Shipped, bands: 40, pdfs: 41, size: (12, 420), work: Work::Step },
];

#[derive(Clone, Copy)]
enum Shape {
    /// 4 layers of 320 cells in each direction.
    Bilstm,
    /// 7 plain layers of 512 that each splice 3 rows and normalise by batch, dilations 1, 1, 2, 2, 3, 3, 3.
    Tdnn,
    /// As in `models/en`.
    Shipped,
}

#[derive(Clone, Copy)]
enum Work {
    Forward,
    Gradient,
    /// The gradient in the trainer's shards of three utterances, then a step of Adam.
    Step,
}

impl Shape {
    fn config(self) -> NetworkConfig {
        match self {
            Self::Bilstm => {
                let config =
                    LstmConfig { layers: 4, width: 320, subsampling: 1, dropout: 0.0, ..LstmConfig::default() };
                NetworkConfig::Bilstm(config)
            }
            Self::Tdnn => NetworkConfig::Tdnn(TdnnConfig {
                input_context_frames: 1,
                input_width: 0,
                width: 512,
                bottleneck: 0,
                dilations: vec![1, 2, 2, 3, 3, 3],
                subsampling: 1,
                normalisation: HiddenNorm::Batch,
                dropout: 0.0,
                ..TdnnConfig::default()
            }),
            Self::Shipped => NetworkConfig::Tdnn(TdnnConfig {
                input_context_frames: 2,
                input_width: 192,
                width: 384,
                bottleneck: 160,
                dilations: vec![1, 1, 1, 2, 2, 2, 3, 3],
                subsampling: 3,
                dropout: 0.15,
                ..TdnnConfig::default()
            }),
        }
    }
}

fn main() {
    // cargo adds flags of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = arguments.first().map_or("", String::as_str);
    let runs: usize = arguments.get(1).map_or(5, |runs| runs.parse().expect("RUNS is a number"));
    for Case { name, shape, bands, pdfs, size, work } in CASES.into_iter().filter(|case| case.name.contains(wanted)) {
        let before = memory("VmRSS:");
        let (network, utterances) = (network(shape, (bands, pdfs)), utterances(size, bands));
        let seconds = run(network, &utterances, (work, runs)).expect("networks run");
        let frames = size.0 * size.1;
        println!("{name} {:.0} {:.0}", frames as f64 / seconds, memory("VmHWM:") - before);
    }
}

fn network(shape: Shape, dims: (usize, usize)) -> Network {
    Network::new(&shape.config(), dims, &Random::new(1)).expect("the settings are legal")
}

fn utterances((count, frames): (usize, usize), bands: usize) -> Vec<Matrix> {
    let mut random = Random::new(2);
    let mut draw = |_| Matrix::from_vec(frames, bands, (0..frames * bands).map(|_| random.normal()).collect());
    (0..count).map(&mut draw).collect::<Result<_>>().expect("counts agree")
}

/// Seconds of one piece of work.
fn run(mut network: Network, utterances: &[Matrix], (work, runs): (Work, usize)) -> Result<f64> {
    let (random, loss) =
        (Random::new(3), CrossEntropy { rows: network.rows_out(utterances[0].rows()) * utterances.len() });
    let mut values: Vec<Vec<f32>> = network.parts().into_iter().map(|part| part.2).collect();
    let mut adam = Optimiser::new(OptimiserConfig::default(), &values);
    let options = StepOptions { learning_rate: 1e-4, weight_decay: 0.01, clip: 5.0 };
    let mut seconds = Vec::new();
    for _ in 0..=runs {
        let start = processor_seconds();
        match work {
            Work::Forward => drop(std::hint::black_box(network.log_posteriors_of(utterances)?)),
            Work::Gradient => drop(std::hint::black_box(network.gradient(utterances, &mut { loss }, None)?)),
            Work::Step => {
                let mut sum: Vec<Vec<f32>> = values.iter().map(|values| vec![0.0; values.len()]).collect();
                for shard in utterances.chunks(3) {
                    let gradient = network.gradient(shard, &mut { loss }, Some(&random))?;
                    for (sum, part) in sum.iter_mut().zip(&gradient) {
                        sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
                    }
                }
                adam.step(&mut values, &sum, options);
                network.set(&values)?;
            }
        }
        seconds.push(processor_seconds() - start);
    }
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

/// The mean of minus the log-posterior of some pdf at each row.
#[derive(Clone, Copy)]
struct CrossEntropy {
    rows: usize,
}

impl Loss for CrossEntropy {
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
        let (pdfs, rows) = (scores.cols(), self.rows as f32);
        for (at, row) in scores.as_mut_slice().chunks_exact_mut(pdfs).enumerate() {
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter_mut().for_each(|score| *score = (*score - top).exp());
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|score| *score /= sum * rows);
            row[at * 7 % pdfs] -= 1.0 / rows;
        }
        Ok(())
    }
}

/// Processor time of this thread, where the system tells it (Linux); else the time since the first call.
fn processor_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |count| count * 1e-9)
}

/// Megabytes that the process has or had (Linux only).
fn memory(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
