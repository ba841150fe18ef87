//! Frames per second of exact and of beam search: on phone loops, one copy for each history, up to the size of a phone bigram with
//! contexts, and on the English phone graph.
//!
//! `cargo bench --no-default-features --bench viterbi`; the column "items/s" counts search frames, of `exact_arcs` arcs of all frames.

use std::path::Path;
use std::sync::Arc as Shared;

use divan::Bencher;
use divan::counter::ItemsCount;
use senone::dp::{BeamOptions, LogSum, Plan, PlanOptions, Search, SegmentSpan, counts, forward, viterbi};
use senone::emission::Emissions;
use senone::graph::{Arc, Boundary, Graph, GraphBuilder, GraphSpec, State, Weights};
use senone::matrix::Matrix;
use senone::random::Random;
use senone::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId};

const PHONES: usize = 40;
const FRAMES: usize = 300;
const LONG: usize = 3000;

fn main() {
    divan::main();
}

/// Every phone after every phone, once per history: `histories` copies of 40 phones, one state each.
///
/// One copy is a phone loop of 40 states and 1,600 arcs; 80 copies have 3,200 states and 131,200 arcs.
fn phone_loop(histories: usize) -> Graph {
    let names: SymbolTable = (0..PHONES).map(|phone| format!("p{phone}")).collect();
    let mut builder = GraphBuilder::new(Shared::new(names), PHONES, 0);
    let mut random = Random::new(1);
    let boundary = |state| Boundary { state, transition: TransitionId::NONE, fixed: 0.0 };
    let states = histories * PHONES;
    for index in 0..states {
        let phone = (index % PHONES) as u32;
        let state = State { pdf: PdfId(phone), symbol: SymbolId(phone), entry: true, restarts: false, word: None };
        let state = builder.state(state);
        builder.start(boundary(state));
        builder.end(boundary(state));
        let next = index * 7 % histories * PHONES;
        let mut targets: Vec<usize> = (next..next + PHONES).filter(|&target| target != index).collect();
        targets.push(index);
        for target in targets {
            let fixed = if target == index { -0.5 } else { -3.0 + random.normal() };
            builder.arc(state, Arc { to: StateId::from_index(target), transition: TransitionId::NONE, fixed });
        }
    }
    builder.build().expect("a legal graph")
}

/// Frames as a trained network scores them: one phone, which changes now and then, well above the others.
fn emissions() -> Emissions {
    let mut random = Random::new(2);
    let mut cells = Vec::with_capacity(FRAMES * PHONES);
    let mut phone = 0;
    for _ in 0..FRAMES {
        if random.uniform() < 0.3 {
            phone = random.below(PHONES);
        }
        cells.extend((0..PHONES).map(|other| random.normal() * 1.5 + if other == phone { 0.0 } else { -5.0 }));
    }
    Emissions::new(Matrix::from_vec(FRAMES, PHONES, cells).expect("T x P values")).expect("finite scores")
}

/// Normalised scores of no speech, as `benches/viterbi_kaldi.py` draws them: log-softmax of normal numbers times 2.
fn random_emissions(pdfs: usize) -> Emissions {
    let mut random = Random::new(3);
    let mut cells = Vec::with_capacity(LONG * pdfs);
    for _ in 0..LONG {
        let row: Vec<f32> = (0..pdfs).map(|_| 2.0 * random.normal()).collect();
        let total = row.iter().map(|score| score.exp()).sum::<f32>().ln();
        cells.extend(row.iter().map(|score| score - total));
    }
    Emissions::new(Matrix::from_vec(LONG, pdfs, cells).expect("T x P values")).expect("finite scores")
}

fn plan(histories: usize) -> Shared<Plan> {
    let graph = Shared::new(phone_loop(histories));
    Shared::new(Plan::new(&graph, &Weights::default(), &PlanOptions::default()).expect("no weights are needed"))
}

#[divan::bench(args = [1, 80])]
fn exact(bencher: Bencher, histories: usize) {
    let (plan, emissions) = (plan(histories), emissions());
    bencher.counter(ItemsCount::new(FRAMES)).bench(|| viterbi(&plan, &emissions).expect("a path"));
}

/// As `exact`, but counting arcs: the same from size to size, where the work grows with the arcs.
#[divan::bench(args = [10, 20, 40, 80])]
fn exact_arcs(bencher: Bencher, histories: usize) {
    let (plan, emissions) = (plan(histories), emissions());
    let arcs = plan.graph().arc_count() * FRAMES;
    bencher.counter(ItemsCount::new(arcs)).bench(|| viterbi(&plan, &emissions).expect("a path"));
}

/// The phone graph of `models/en`, exact and with a beam of 8, as `benches/viterbi_kaldi.py` searches it.
#[divan::bench(args = [f32::INFINITY, 8.0])]
fn english(bencher: Bencher, beam: f32) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/en/graph.toml");
    let spec = GraphSpec::read(&file).expect("the English graph");
    let graph = Shared::new(spec.compile().expect("a legal graph"));
    let plan = Shared::new(Plan::new(&graph, &spec.initial_weights(), &PlanOptions::default()).expect("its weights"));
    let emissions = random_emissions(graph.pdfs());
    let options = BeamOptions { beam, max_active: usize::MAX };
    bencher.counter(ItemsCount::new(LONG)).bench(|| match beam.is_finite() {
        true => searched(&plan, &emissions, options).len(),
        false => viterbi(&plan, &emissions).expect("a path").states.len(),
    });
}

#[divan::bench(args = [(1, 8.0), (80, 8.0), (80, 14.0), (80, f32::INFINITY)])]
fn beam(bencher: Bencher, (histories, beam): (usize, f32)) {
    let (plan, emissions) = (plan(histories), emissions());
    let options = BeamOptions { beam, max_active: usize::MAX };
    bencher.counter(ItemsCount::new(FRAMES)).bench(|| searched(&plan, &emissions, options));
}

fn searched(plan: &Shared<Plan>, emissions: &Emissions, options: BeamOptions) -> Vec<SegmentSpan> {
    let mut search = Search::new(plan.clone(), options);
    search.push(emissions).expect("live tokens");
    search.finish().expect("a path")
}

#[divan::bench(args = [1, 80])]
fn log_z(bencher: Bencher, histories: usize) {
    let (plan, emissions) = (plan(histories), emissions());
    bencher.counter(ItemsCount::new(FRAMES)).bench(|| forward::<LogSum>(&plan, &emissions).expect("a path").total());
}

#[divan::bench]
fn expected_counts(bencher: Bencher) {
    let (plan, emissions) = (plan(1), emissions());
    bencher.counter(ItemsCount::new(FRAMES)).bench(|| counts(&plan, &emissions).expect("a path"));
}
