//! Test accuracy and CPU seconds of the structured learners on a chain of dense frames.
//!
//! `benches/dense_chain.py ARCHIVE.npz FOLDER`, then
//! `DENSE_CHAIN=FOLDER cargo bench --no-default-features --bench dense_chain [-- LEARNER]`. Settings are chosen by 3-fold
//! cross-validation on the training part; the seconds are those of training on all of it with them, all threads counted. The
//! support vector machine is trained by 20 epochs of sub-gradient steps, or to a duality gap of 1 %.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench reports there")]

use std::path::Path;
use std::sync::Arc;

use senone::dp::{Plan, PlanOptions};
use senone::emission::FrameScorer;
use senone::formats::npy;
use senone::graph::{Graph, GraphSpec, Weights};
use senone::learn::criterion::HammingCost;
use senone::learn::gradient::BatchConfig;
use senone::learn::margin::{CuttingPlanes, FrankWolfe, MarginConfig, MarginSolver, solve};
use senone::learn::online::{Averaging, Online, OnlineConfig, OnlineLearner};
use senone::learn::problem::{Example, Problem, path_of};
use senone::matrix::Matrix;
use senone::symbols::PdfId;
use senone::{Error, Result};

type Frames = Example<Matrix>;

/// Duality gap to stop at, as a share of the objective.
const GAP: f64 = 0.01;

fn main() -> Result<()> {
    let Ok(folder) = std::env::var("DENSE_CHAIN") else {
        println!("dense_chain: skipped, DENSE_CHAIN names no folder");
        return Ok(());
    };
    let chosen = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let data = Data::read(Path::new(&folder))?;
    println!("| learner | settings | test accuracy | CPU s |\n|---|---|---|---|");
    for learner in
        Learner::ALL.into_iter().filter(|learner| chosen.as_deref().is_none_or(|name| learner.name() == name))
    {
        let setting = data.choose(learner)?;
        let before = cpu_seconds();
        let theta = learner.train(&data.problem(&data.train), setting)?;
        let seconds = cpu_seconds() - before;
        let accuracy = 100.0 * data.accuracy(&theta, &data.test)?;
        println!("| {} | {} {setting} | {accuracy:.2} % | {seconds:.2} |", learner.name(), learner.knob());
    }
    Ok(())
}

/// Processor time of this process so far, user and system, in steps of 10 ms; 0 where there is no /proc.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[derive(Clone, Copy)]
enum Learner {
    Perceptron,
    Crf,
    SubGradient,
    CuttingPlanes,
    FrankWolfe,
}

impl Learner {
    const ALL: [Self; 5] = [Self::Perceptron, Self::Crf, Self::SubGradient, Self::CuttingPlanes, Self::FrankWolfe];

    fn name(self) -> &'static str {
        match self {
            Self::Perceptron => "perceptron",
            Self::Crf => "crf-l-bfgs",
            Self::SubGradient => "svm-sub-gradient",
            Self::CuttingPlanes => "svm-cutting-planes",
            Self::FrankWolfe => "svm-frank-wolfe",
        }
    }

    /// What is chosen.
    fn knob(self) -> &'static str {
        match self {
            Self::Perceptron => "epochs",
            Self::Crf => "l2",
            _ => "lambda",
        }
    }

    fn settings(self) -> &'static [f64] {
        match self {
            Self::Perceptron => &[5.0, 10.0, 20.0, 40.0],
            Self::Crf => &[10.0, 3.0, 1.0, 0.3, 0.1],
            _ => &[0.1, 0.03, 0.01, 0.003, 0.001],
        }
    }

    fn train(self, problem: &Problem<'_, FrameScorer>, setting: f64) -> Result<Vec<f64>> {
        let cost = HammingCost::default();
        let config = MarginConfig { cost, lambda: setting, relative_gap: GAP, ..MarginConfig::default() };
        let online = |learner, epochs| -> Result<Vec<f64>> {
            let mut online = Online::new(problem, OnlineConfig { learner, averaging: Averaging::Mean, seed: 1 })?;
            for _ in 0..epochs {
                online.epoch()?;
            }
            Ok(online.parameters())
        };
        match self {
            Self::Perceptron => online(OnlineLearner::Perceptron, setting as usize),
            Self::Crf => {
                let start = vec![0.0; problem.parameters()];
                let config = BatchConfig { l2: setting, ..BatchConfig::default() };
                Ok(config.train(problem, start, &mut |_| ())?.theta)
            }
            Self::SubGradient => online(OnlineLearner::Margin { cost, lambda: setting }, 20),
            Self::CuttingPlanes => solved(&mut CuttingPlanes::new(problem, config)?),
            Self::FrankWolfe => solved(&mut FrankWolfe::new(problem, config, 1)?),
        }
    }
}

/// The parameters at a gap of [`GAP`].
fn solved(solver: &mut impl MarginSolver) -> Result<Vec<f64>> {
    let last = solve(solver, 5000, |_| ())?;
    match last.is_solved {
        true => Ok(solver.parameters()),
        false => Err(Error::Other(format!("a gap of {} was left after {} rounds", last.gap(), last.round))),
    }
}

struct Data {
    graph: Arc<Graph>,
    scorer: FrameScorer,
    train: Vec<Frames>,
    test: Vec<Frames>,
}

impl Data {
    fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| npy::read(&folder.join(name));
        let (x, y, xt, yt) = (read("X.npy")?, read("Y.npy")?, read("Xt.npy")?, read("Yt.npy")?);
        let labels = y.as_slice().iter().fold(0.0f32, |a, &b| a.max(b)) as usize + 1;
        let graph = chain(labels)?;
        let weights = Weights(vec![0.0; graph.transitions()]);
        let plan = Plan::new(&graph, &weights, &PlanOptions::default())?;
        let scorer = FrameScorer { dims: x.cols(), pdfs: labels };
        let (train, test) = (examples(&plan, &x, &y)?, examples(&plan, &xt, &yt)?);
        Ok(Self { graph, scorer, train, test })
    }

    fn problem<'a>(&'a self, examples: &'a [Frames]) -> Problem<'a, FrameScorer> {
        Problem { graph: &self.graph, scorer: &self.scorer, examples }
    }

    /// The setting that is most accurate on the thirds of the training part that it was not trained on.
    fn choose(&self, learner: Learner) -> Result<f64> {
        let mut best = (0.0, learner.settings()[0]);
        for &setting in learner.settings() {
            let mut accuracy = 0.0;
            for fold in 0..3 {
                let part = |held_out: bool| -> Vec<Frames> {
                    let all = self.train.iter().enumerate();
                    all.filter(|(place, _)| (place % 3 == fold) == held_out)
                        .map(|(_, example)| example.clone())
                        .collect()
                };
                let theta = learner.train(&self.problem(&part(false)), setting)?;
                accuracy += self.accuracy(&theta, &part(true))? / 3.0;
            }
            eprintln!("{} {} {setting}: {:.2} % held out", learner.name(), learner.knob(), 100.0 * accuracy);
            if accuracy > best.0 {
                best = (accuracy, setting);
            }
        }
        Ok(best.1)
    }

    /// Share of the frames whose label is right.
    fn accuracy(&self, theta: &[f64], examples: &[Frames]) -> Result<f64> {
        let problem = self.problem(examples);
        let plan = problem.plan(theta)?;
        let (mut right, mut all) = (0, 0);
        for example in examples {
            let found = problem.predict(&plan, theta, &example.input)?;
            right += found.states.iter().zip(&example.path).filter(|(found, right)| found == right).count();
            all += example.path.len();
        }
        Ok(right as f64 / all as f64)
    }
}

/// Every label after every label.
fn chain(labels: usize) -> Result<Arc<Graph>> {
    let names: Vec<String> = (0..labels).map(|label| format!("\"label{label}\"")).collect();
    let text = format!(
        "format = 1\n[classes]\nall = [{}]\n[boundary]\nstart = [\"*\"]\nend = [\"*\"]\n[[allow]]\nfrom = \"*\"\nto = \"*\"\n\
         [topology.default]\nstates = 1\nmin_frames = 1\nself_loop = false\n",
        names.join(", ")
    );
    Ok(Arc::new(GraphSpec::parse(&text)?.compile()?))
}

fn examples(plan: &Plan, x: &Matrix, y: &Matrix) -> Result<Vec<Frames>> {
    let sequence = |(place, labels): (usize, &[f32])| {
        let labels: Vec<PdfId> = labels.iter().map(|&label| PdfId(label as u32)).collect();
        let input = x.slice_rows(place * y.cols()..(place + 1) * y.cols());
        Ok(Example { name: format!("sequence {place}"), input, path: path_of(plan, &labels)? })
    };
    y.iter_rows().enumerate().map(sequence).collect()
}
