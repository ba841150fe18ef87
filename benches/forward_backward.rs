//! Frames per second of what training needs (log Z and its gradient) and of the best path, on a full graph of S tags.
//!
//! `cargo bench --no-default-features --bench forward_backward`; the column "items/s" counts frames. One thread.
//! `crf_peers.py` measures the same with pytorch-crf.

use std::sync::Arc as Shared;

use divan::Bencher;
use divan::counter::ItemsCount;
use senone::dp::{LogSum, Plan, PlanOptions, counts, forward, viterbi};
use senone::emission::Emissions;
use senone::graph::{Arc, Boundary, Graph, GraphBuilder, State, Weights};
use senone::matrix::Matrix;
use senone::random::Random;
use senone::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId};

const SEQUENCES: usize = 16;
const FRAMES: usize = 300;

fn main() {
    divan::main();
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

    fn bench<T>(&self, bencher: Bencher, run: impl Fn(&Plan, &Emissions) -> T + Sync) {
        let frames: usize = self.sequences.iter().map(Emissions::frames).sum();
        bencher
            .counter(ItemsCount::new(frames))
            .bench_local(|| self.sequences.iter().map(|sequence| run(&self.plan, sequence)).collect::<Vec<T>>());
    }
}

#[divan::bench(args = [48, 144])]
fn log_z(bencher: Bencher, states: usize) {
    let problem = Problem::new(states, (SEQUENCES, FRAMES));
    problem.bench(bencher, |plan, emissions| forward::<LogSum>(plan, emissions).expect("a path").total());
}

#[divan::bench(args = [48, 144])]
fn log_z_and_gradient(bencher: Bencher, states: usize) {
    let problem = Problem::new(states, (SEQUENCES, FRAMES));
    problem.bench(bencher, |plan, emissions| counts(plan, emissions).expect("a path"));
}

#[divan::bench(args = [48, 144, 420])]
fn best_path(bencher: Bencher, states: usize) {
    let problem = Problem::new(states, (1, 3000));
    problem.bench(bencher, |plan, emissions| viterbi(plan, emissions).expect("a path"));
}

/// What an online learner does with a sentence of 15 words and 17 tags.
mod sentence {
    use super::*;

    const SHAPE: (usize, usize) = (1, 15);

    #[divan::bench]
    fn best_path(bencher: Bencher) {
        Problem::new(17, SHAPE).bench(bencher, |plan, emissions| viterbi(plan, emissions).expect("a path"));
    }

    #[divan::bench]
    fn log_z_and_gradient(bencher: Bencher) {
        Problem::new(17, SHAPE).bench(bencher, |plan, emissions| counts(plan, emissions).expect("a path"));
    }

    #[divan::bench]
    fn new_plan(bencher: Bencher) {
        let graph = Shared::new(tags(17));
        let weights = weights(&graph, &mut Random::new(2));
        bencher.bench_local(|| Plan::new(&graph, &weights, &PlanOptions::default()).expect("fitting weights"));
    }

    #[divan::bench]
    fn new_weights(bencher: Bencher) {
        let Problem { mut plan, sequences } = Problem::new(17, SHAPE);
        viterbi(&plan, &sequences[0]).expect("a path");
        let weights = weights(plan.graph(), &mut Random::new(2));
        bencher.bench_local(|| plan.reweigh(&weights).expect("fitting weights"));
    }
}
