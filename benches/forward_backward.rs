//! Frames per second of what training needs (log Z and its gradient) and of the best path, on a full graph of S tags, one
//! thread; then what an online learner does with one sentence. `benches/README.md` says how to run the peers beside it.
//!
//! `cargo bench --no-default-features --bench forward_backward [NAME]` runs the lines that hold NAME.

use std::hint::black_box;
use std::sync::Arc as Shared;
use std::time::Instant;

use senone::dp::{LogSum, Plan, PlanOptions, counts, forward, viterbi};
use senone::emission::Emissions;
use senone::graph::{Arc, Boundary, Graph, GraphBuilder, State, Weights};
use senone::matrix::Matrix;
use senone::random::Random;
use senone::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId};

/// Sequences and frames of each, as `crf_peers.py` takes them.
const BATCH: (usize, usize) = (16, 300);
const LONG: (usize, usize) = (1, 3000);
/// 15 words and 17 tags.
const SENTENCE: (usize, usize) = (1, 15);
const TAGS: usize = 17;

/// Timed runs, after one that is not timed.
const RUNS: usize = 9;
/// A run is repeated for so long: Linux counts processor time in steps of milliseconds.
const SECONDS: f64 = 0.2;

fn main() {
    let total = |plan: &Plan, emissions: &Emissions| forward::<LogSum>(plan, emissions).expect("a path").total();
    let gradient = |plan: &Plan, emissions: &Emissions| counts(plan, emissions).expect("a path");
    let best_path = |plan: &Plan, emissions: &Emissions| viterbi(plan, emissions).expect("a path");
    for states in [48, 144] {
        Problem::new(states, BATCH).report(&format!("log_z, {states}"), total);
        Problem::new(states, BATCH).report(&format!("log_z_and_gradient, {states}"), gradient);
    }
    for states in [48, 144, 420] {
        Problem::new(states, LONG).report(&format!("best_path, {states}"), best_path);
    }
    let mut sentence = Problem::new(TAGS, SENTENCE);
    sentence.report("sentence: log_z_and_gradient", gradient);
    sentence.report("sentence: best_path", best_path);
    let (graph, random) = (Shared::new(tags(TAGS)), &mut Random::new(2));
    let weights = weights(&graph, random);
    let new_plan = || drop(black_box(Plan::new(&graph, &weights, &PlanOptions::default()).expect("fitting weights")));
    report("sentence: a new plan (per second)", 1, new_plan);
    report("sentence: new weights (per second)", 1, || sentence.plan.reweigh(&weights).expect("fitting weights"));
}

/// Every tag after every tag, one state and one pdf each; every arc, start and end has a weight of its own.
fn tags(count: usize) -> Graph {
    let names: SymbolTable = (0..count).map(|tag| format!("t{tag}")).collect();
    let mut builder = GraphBuilder::new(Shared::new(names), count, count * (count + 2));
    let weight = |index: usize| TransitionId::from_index(index);
    for tag in 0..count {
        let (pdf, symbol) = (PdfId::from_index(tag), SymbolId::from_index(tag));
        let state = builder.state(State { pdf, symbol, entry: true, restarts: true, word: None });
        builder.start(Boundary { state, transition: weight(count * count + tag), fixed: 0.0 });
        builder.end(Boundary { state, transition: weight(count * count + count + tag), fixed: 0.0 });
        for next in 0..count {
            let arc = Arc { to: StateId::from_index(next), transition: weight(tag * count + next), fixed: 0.0 };
            builder.arc(state, arc);
        }
    }
    builder.build().expect("a legal graph")
}

fn weights(graph: &Graph, random: &mut Random) -> Weights {
    Weights((0..graph.transitions()).map(|_| random.normal()).collect())
}

struct Problem {
    plan: Plan,
    sequences: Vec<Emissions>,
}

impl Problem {
    fn new(states: usize, (sequences, frames): (usize, usize)) -> Self {
        let (graph, mut random) = (Shared::new(tags(states)), Random::new(1));
        let plan = Plan::new(&graph, &weights(&graph, &mut random), &PlanOptions::default()).expect("fitting weights");
        let mut draw = || {
            let cells = (0..frames * states).map(|_| random.normal()).collect();
            Emissions::new(Matrix::from_vec(frames, states, cells).expect("T x P values")).expect("finite scores")
        };
        Self { plan, sequences: (0..sequences).map(|_| draw()).collect() }
    }

    fn report<T>(&self, name: &str, run: impl Fn(&Plan, &Emissions) -> T) {
        let frames = self.sequences.iter().map(Emissions::frames).sum();
        let all = || self.sequences.iter().for_each(|sequence| drop(black_box(run(&self.plan, black_box(sequence)))));
        report(name, frames, all);
    }
}

/// Prints how many of `items`, which are dealt with by one call of `run`, are dealt with in a second.
fn report(name: &str, items: usize, mut run: impl FnMut()) {
    if !std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).all(|wanted| name.contains(&wanted)) {
        return;
    }
    let mut timed = |repeats: usize| {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        (0..repeats).for_each(|_| run());
        let done = (repeats * items) as f64;
        (done / start.elapsed().as_secs_f64(), done / (cpu_seconds() - cpu_start))
    };
    let repeats = (SECONDS * timed(1).0 / items as f64).ceil() as usize;
    timed(repeats);
    let (wall, cpu): (Vec<f64>, Vec<f64>) = (0..RUNS).map(|_| timed(repeats)).unzip();
    #[allow(clippy::print_stdout, reason = "a bench reports there")]
    {
        let (wall, cpu) = (sorted(wall), sorted(cpu));
        let (fastest, median) = (wall[RUNS - 1], wall[RUNS / 2]);
        println!("{name:<36} fastest {fastest:9.0}, median {median:9.0}, cpu {:9.0} frames/s", cpu[RUNS / 2]);
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Seconds this thread has been on a processor, as Linux counts them; NaN elsewhere. On a busy machine only this is fair.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |nanoseconds| nanoseconds * 1e-9)
}
