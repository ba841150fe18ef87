//! Tests of the recursion against the sum and the maximum over every path, one by one.

use std::sync::Arc as Shared;

use super::rows::Layout;
use super::*;
use crate::Error;
use crate::emission::Emissions;
use crate::graph::{Arc, Boundary, Graph, GraphBuilder, State, Weights};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId, WordId};

/// Evenly in `-width..width`.
pub(super) fn score(random: &mut Random, width: f32) -> f32 {
    (random.uniform() * 2.0 - 1.0) * width
}

fn chance(random: &mut Random, percent: usize) -> bool {
    random.below(100) < percent
}

/// A random graph of 2 to 5 states over 3 pdfs, 3 symbols and 4 shared transitions; not every state can end or be reached.
pub(super) fn random_graph(random: &mut Random) -> Graph {
    let symbols: SymbolTable = ["a", "b", "c"].into_iter().collect();
    let mut builder = GraphBuilder::new(Shared::new(symbols), 3, 4);
    let states = 2 + random.below(4);
    for _ in 0..states {
        builder.state(State {
            pdf: PdfId(random.below(3) as u32),
            symbol: SymbolId(random.below(3) as u32),
            entry: chance(random, 60),
            restarts: chance(random, 30),
            word: chance(random, 30).then_some(WordId(random.below(5) as u32)),
        });
    }
    let weight = |random: &mut Random| {
        let transition = if chance(random, 70) { TransitionId(random.below(4) as u32) } else { TransitionId::NONE };
        (transition, score(random, 1.0))
    };
    for state in (0..states).map(StateId::from_index) {
        for to in (0..states).map(StateId::from_index) {
            if chance(random, 60) {
                let (transition, fixed) = weight(random);
                builder.arc(state, Arc { to, transition, fixed });
            }
        }
        let (transition, fixed) = weight(random);
        if state == StateId(0) || chance(random, 40) {
            builder.start(Boundary { state, transition, fixed });
        }
        let (transition, fixed) = weight(random);
        if state == StateId(1) || chance(random, 40) {
            builder.end(Boundary { state, transition, fixed });
        }
    }
    builder.build().unwrap()
}

pub(super) fn random_weights(graph: &Graph, random: &mut Random) -> Weights {
    Weights((0..graph.transitions()).map(|_| score(random, 1.0)).collect())
}

/// Emissions in `-width..width`, `dead` per cent of them minus infinity.
pub(super) fn random_emissions(shape: (usize, usize), random: &mut Random, width: f32, dead: usize) -> Emissions {
    let cells = (0..shape.0 * shape.1)
        .map(|_| if chance(random, dead) { f32::NEG_INFINITY } else { score(random, width) })
        .collect();
    Emissions::new(Matrix::from_vec(shape.0, shape.1, cells).unwrap()).unwrap()
}

/// One random problem.
pub(super) struct Case {
    pub graph: Shared<Graph>,
    weights: Weights,
    penalty: f32,
    pub plan: Plan,
    pub emissions: Emissions,
}

impl Case {
    pub(super) fn new(random: &mut Random, width: f32, dead: usize, layout: Layout) -> Self {
        let graph = Shared::new(random_graph(random));
        let weights = random_weights(&graph, random);
        let penalty = score(random, 1.0);
        let mut plan = Plan::new(&graph, &weights, &PlanOptions { insertion_penalty: penalty }).unwrap();
        plan.lay_out(layout);
        let frames = 1 + random.below(6);
        let emissions = random_emissions((frames, 3), random, width, dead);
        Self { graph, weights, penalty, plan, emissions }
    }

    /// Every path that can score more than minus infinity, with its score, from the definition alone.
    fn paths(&self) -> Vec<(f64, Vec<StateId>)> {
        let (graph, frames) = (&self.graph, self.emissions.frames());
        let mut paths = Vec::new();
        for code in 0..graph.len().pow(frames as u32) {
            let states: Vec<StateId> =
                (0..frames).map(|t| StateId::from_index(code / graph.len().pow(t as u32) % graph.len())).collect();
            if let Some(score) = self.score(&states).filter(|score| *score > f64::NEG_INFINITY) {
                paths.push((score, states));
            }
        }
        paths
    }

    fn score(&self, states: &[StateId]) -> Option<f64> {
        let graph = &self.graph;
        let weight = |transition, fixed: f32| f64::from(self.weights.get(transition)) + f64::from(fixed);
        let start = graph.starts().iter().find(|s| s.state == states[0])?;
        let end = graph.finals().iter().find(|s| s.state == *states.last().unwrap())?;
        let mut score =
            weight(start.transition, start.fixed) + f64::from(self.penalty) + weight(end.transition, end.fixed);
        for (t, &state) in states.iter().enumerate() {
            score += f64::from(self.emissions.frame(t)[graph.state(state).pdf.index()]);
        }
        for pair in states.windows(2) {
            let arc = graph.arcs(pair[0]).iter().find(|arc| arc.to == pair[1])?;
            let penalty = if graph.enters(pair[0], pair[1]) { self.penalty } else { 0.0 };
            score += weight(arc.transition, arc.fixed) + f64::from(penalty);
        }
        Some(score)
    }

    /// Occupancy `[T x P]` and uses of the transitions, averaged over `paths` by their probability.
    fn expected(&self, paths: &[(f64, Vec<StateId>)], log_z: f64) -> (Vec<f64>, Vec<f64>) {
        let graph = &self.graph;
        let mut occupancy = vec![0.0; self.emissions.frames() * 3];
        let mut transitions = vec![0.0; graph.transitions()];
        for (score, states) in paths {
            let p = (score - log_z).exp();
            let mut used = vec![graph.starts().iter().find(|s| s.state == states[0]).unwrap().transition];
            used.push(graph.finals().iter().find(|s| s.state == *states.last().unwrap()).unwrap().transition);
            used.extend(states.windows(2).map(|pair| graph.arc(pair[0], pair[1]).unwrap().transition));
            used.iter().filter(|t| t.is_some()).for_each(|t| transitions[t.index()] += p);
            states.iter().enumerate().for_each(|(t, s)| occupancy[t * 3 + graph.state(*s).pdf.index()] += p);
        }
        (occupancy, transitions)
    }
}

pub(super) fn log_sum(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + scores.map(|score| (score - largest).exp()).sum::<f64>().ln()
}

pub(super) fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// Runs `check` on random problems: gentle scores, scores of a thousand, and scores that are often minus infinity; each with
/// the arcs in rows and as a matrix.
pub(super) fn cases(check: impl Fn(&Case, &[(f64, Vec<StateId>)])) {
    let mut possible = 0;
    for (seed, layout) in (0..600).flat_map(|seed| [(seed, Layout::Sparse), (seed, Layout::Dense)]) {
        let (width, dead) = [(2.0, 0), (1000.0, 0), (2.0, 25)][seed % 3];
        let case = Case::new(&mut Random::new(seed as u64), width, dead, layout);
        let paths = case.paths();
        possible += usize::from(!paths.is_empty());
        check(&case, &paths);
    }
    assert!((600..1200).contains(&possible), "{possible} of 1200 problems have a path: too one-sided a test");
}

#[test]
fn viterbi_finds_the_best_of_all_paths() {
    cases(|case, paths| {
        let best = paths.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
        match viterbi(&case.plan, &case.emissions) {
            Err(_) => assert!(paths.is_empty()),
            Ok(path) => {
                assert!(near(path.score, best, 1e-6), "{} {best}", path.score);
                assert!(near(case.score(&path.states).unwrap(), path.score, 1e-6));
                // Cells are f32: rounded relative to the distances between paths, which can exceed the best score.
                let distance = case.emissions.matrix().as_slice().iter().filter(|s| s.is_finite());
                let rounding = 1e-6 * (1.0 + distance.map(|s| f64::from(s.abs())).sum::<f64>());
                let forward = forward::<Max>(&case.plan, &case.emissions).unwrap();
                assert!((forward.total() - best).abs() < rounding);
                let backward = backward::<Max>(&case.plan, &case.emissions).unwrap();
                assert!((backward.total() - best).abs() < rounding);
            }
        }
    });
}

#[test]
fn totals_are_the_sum_over_all_paths() {
    cases(|case, paths| {
        if paths.is_empty() {
            assert!(forward::<LogSum>(&case.plan, &case.emissions).is_err());
            assert!(backward::<LogSum>(&case.plan, &case.emissions).is_err());
            return;
        }
        let log_z = log_sum(paths.iter().map(|(score, _)| *score));
        let forward = forward::<LogSum>(&case.plan, &case.emissions).unwrap().total();
        let backward = backward::<LogSum>(&case.plan, &case.emissions).unwrap().total();
        // The oracle adds the parts of an arc in f64, the plan in f32.
        assert!(near(forward, log_z, 1e-6), "{forward} {log_z}");
        assert!(near(forward, backward, 1e-12), "{forward} {backward}");
    });
}

#[test]
fn expected_counts_are_those_of_all_paths() {
    cases(|case, paths| {
        if paths.is_empty() {
            assert!(counts(&case.plan, &case.emissions).is_err());
            return;
        }
        let log_z = log_sum(paths.iter().map(|(score, _)| *score));
        let (occupancy, transitions) = case.expected(paths, log_z);
        let (total, counts) = counts(&case.plan, &case.emissions).unwrap();
        assert!(near(total, log_z, 1e-6));
        for (cell, expected) in counts.occupancy.as_slice().iter().zip(&occupancy) {
            assert!(near(f64::from(*cell), *expected, 1e-5), "{cell} {expected}");
        }
        for (count, expected) in counts.transitions.iter().zip(&transitions) {
            assert!(near(*count, *expected, 1e-5), "{count} {expected}");
        }
        for row in counts.occupancy.iter_rows() {
            assert!(near(row.iter().map(|&cell| f64::from(cell)).sum(), 1.0, 1e-6));
        }
    });
}

#[test]
fn the_labelled_path_is_the_best_of_those_that_read_the_pdfs() {
    let mut random = Random::new(11);
    cases(|case, paths| {
        let graph = &case.graph;
        let pdfs: Vec<PdfId> = match paths.first() {
            Some((_, states)) => states.iter().map(|state| graph.state(*state).pdf).collect(),
            None => (0..case.emissions.frames()).map(|t| PdfId(t as u32 % 3)).collect(),
        };
        let acoustics = |states: &[StateId]| -> f64 {
            let cells = states.iter().enumerate().map(|(t, s)| case.emissions.frame(t)[graph.state(*s).pdf.index()]);
            cells.map(f64::from).sum()
        };
        let fitting =
            paths.iter().filter(|(_, states)| states.iter().zip(&pdfs).all(|(s, p)| graph.state(*s).pdf == *p));
        let best = fitting.map(|(score, states)| score - acoustics(states)).reduce(f64::max);
        match (labelled_path(&case.plan, &pdfs), best) {
            (Ok(found), Some(best)) => {
                // The oracle's difference of thousands leaves a rounding of f64 only.
                assert!(near(found.score, best, 1e-6), "{} {best}", found.score);
                assert!(found.states.iter().zip(&pdfs).all(|(s, p)| graph.state(*s).pdf == *p));
            }
            (found, best) => assert!(found.is_ok() || best.is_none(), "{found:?} {best:?}"),
        }
    });
    let graph = random_graph(&mut random);
    assert!(labelled_path(&plain(&Shared::new(graph)), &[PdfId(3)]).unwrap_err().to_string().contains("pdf 3"));
}

#[test]
fn a_label_that_no_arc_leads_to_is_named_by_its_frame() {
    // 0 -> 0, 0 -> 1, 1 -> 1: state 0 never follows state 1, and only state 1 ends.
    let mut builder = GraphBuilder::new(Shared::new(["a", "b"].into_iter().collect()), 2, 0);
    let boundary = |state| Boundary { state: StateId(state), transition: TransitionId::NONE, fixed: 0.0 };
    for id in 0..2 {
        builder.state(State { pdf: PdfId(id), symbol: SymbolId(id), entry: true, restarts: false, word: None });
    }
    for (from, to) in [(0, 0), (0, 1), (1, 1)] {
        builder.arc(StateId(from), Arc { to: StateId(to), transition: TransitionId::NONE, fixed: -0.5 });
    }
    builder.start(boundary(0));
    builder.end(boundary(1));
    let plan = plain(&Shared::new(builder.build().unwrap()));
    let labelled = |pdfs: &[u32]| labelled_path(&plan, &pdfs.iter().map(|&pdf| PdfId(pdf)).collect::<Vec<_>>());
    assert_eq!(labelled(&[0, 0, 1]).unwrap(), Path { score: -1.0, states: vec![StateId(0), StateId(0), StateId(1)] });
    assert!(matches!(labelled(&[0, 1, 1, 0, 1]), Err(Error::Impossible { frame: 3 })));
    assert!(matches!(labelled(&[1, 1]), Err(Error::Impossible { frame: 0 })));
    assert!(matches!(labelled(&[0, 0]), Err(Error::Impossible { frame: 1 })));
    assert!(matches!(labelled(&[0]), Err(Error::NoPath { frames: 1, need_at_least: 2 })));
    assert!(matches!(labelled(&[]), Err(Error::NoPath { frames: 0, .. })));
}

/// Whether `state` is wrong where `right` is right: no state of that symbol reads its pdf.
fn pays(graph: &Graph, state: StateId, right: SymbolId) -> bool {
    let pdf = graph.state(state).pdf;
    graph.states().iter().all(|other| other.pdf != pdf || other.symbol != right)
}

#[test]
fn the_costly_best_path_is_that_of_all_paths() {
    cases(|case, paths| {
        let frames = case.emissions.frames();
        let reference: Vec<SymbolId> = (0..frames).map(|t| SymbolId((t * t % 3) as u32)).collect();
        let costly = add_cost(&case.emissions, &reference, &case.graph, 1.5).unwrap();
        let hamming = |states: &[StateId]| {
            states.iter().zip(&reference).filter(|(state, right)| pays(&case.graph, **state, **right)).count()
        };
        let augmented = paths.iter().map(|(score, states)| score + 1.5 * hamming(states) as f64);
        match (viterbi(&case.plan, &costly), augmented.reduce(f64::max)) {
            (Ok(found), Some(best)) => assert!(near(found.score, best, 1e-6), "{} {best}", found.score),
            (found, best) => assert!(found.is_err() && best.is_none()),
        }
    });
}

#[test]
fn cost_is_free_inside_the_right_symbol_and_kept_from_the_impossible() {
    let mut builder = GraphBuilder::new(Shared::new(["a", "b"].into_iter().collect()), 3, 0);
    for (pdf, symbol) in [(0, 0), (1, 0), (2, 1)] {
        builder.state(State { pdf: PdfId(pdf), symbol: SymbolId(symbol), entry: true, restarts: false, word: None });
    }
    let graph = builder.build().unwrap();
    let scores = emissions(&[&[0.5, f32::NEG_INFINITY, -1.0], &[0.5, f32::NEG_INFINITY, -1.0]]);
    let costly = add_cost(&scores, &[SymbolId(0), SymbolId(1)], &graph, 2.0).unwrap();
    assert_eq!(costly.matrix().as_slice(), [0.5, f32::NEG_INFINITY, 1.0, 2.5, f32::NEG_INFINITY, -1.0]);
    assert!(matches!(add_cost(&scores, &[SymbolId(0)], &graph, 1.0), Err(Error::Shape { expected: 2, found: 1, .. })));
    for cost in [-1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(add_cost(&scores, &[SymbolId(0); 2], &graph, cost), Err(Error::Setting { .. })));
    }
    let narrow = emissions(&[&[0.0, 0.0]]);
    assert!(matches!(add_cost(&narrow, &[SymbolId(0)], &graph, 1.0), Err(Error::PdfCount { .. })));
}

#[test]
fn path_counts_are_those_of_the_path() {
    cases(|case, paths| {
        for (score, states) in paths {
            let (occupancy, transitions) = case.expected(&[(*score, states.clone())], *score);
            let counts = path_counts(&case.plan, states);
            assert!(counts.occupancy.as_slice().iter().zip(&occupancy).all(|(a, b)| f64::from(*a) == *b));
            assert_eq!(counts.transitions, transitions);
            assert!(near(path_score(&case.plan, &case.emissions, states).unwrap(), *score, 1e-6));
        }
    });
}

#[test]
fn the_reason_of_an_empty_search_is_found() {
    cases(|case, paths| {
        let frames = case.emissions.frames();
        match viterbi(&case.plan, &case.emissions) {
            Ok(_) => {}
            Err(Error::NoPath { frames: found, .. }) => {
                assert_eq!(found, frames);
                let flat = Emissions::new(Matrix::zeros(frames, 3)).unwrap();
                assert!(viterbi(&case.plan, &flat).is_err(), "the length is possible");
            }
            Err(Error::Impossible { frame }) => {
                assert!(frame < frames && paths.is_empty());
                let flat = Emissions::new(Matrix::zeros(frames, 3)).unwrap();
                assert!(viterbi(&case.plan, &flat).is_ok(), "the length is not possible");
            }
            Err(other) => assert!(case.graph.shortest_path_frames().is_none(), "{other}"),
        }
    });
}

/// Every state after every state; no weight but those of the arcs.
fn full_graph(weights: &[&[f32]]) -> Shared<Graph> {
    let names: Vec<String> = (0..weights.len()).map(|state| state.to_string()).collect();
    let mut builder = GraphBuilder::new(Shared::new(names.iter().collect()), weights.len(), 0);
    for (s, row) in weights.iter().enumerate() {
        let symbol = SymbolId::from_index(s);
        let pdf = PdfId::from_index(s);
        let state = builder.state(State { pdf, symbol, entry: true, restarts: false, word: None });
        for (to, &fixed) in row.iter().enumerate() {
            builder.arc(state, Arc { to: StateId::from_index(to), transition: TransitionId::NONE, fixed });
        }
        builder.start(Boundary { state, transition: TransitionId::NONE, fixed: 0.0 });
        builder.end(Boundary { state, transition: TransitionId::NONE, fixed: 0.0 });
    }
    Shared::new(builder.build().unwrap())
}

fn emissions(rows: &[&[f32]]) -> Emissions {
    Emissions::new(Matrix::from_vec(rows.len(), rows[0].len(), rows.concat()).unwrap()).unwrap()
}

fn plain(graph: &Shared<Graph>) -> Plan {
    let weights = Weights(vec![0.0; graph.transitions()]);
    Plan::new(graph, &weights, &PlanOptions::default()).unwrap()
}

#[test]
fn the_worked_example_comes_out() {
    let plan = plain(&full_graph(&[&[0.6, 0.4], &[0.1, 0.9]]));
    let scores = emissions(&[&[0.3, 0.7], &[0.6, 0.4], &[0.2, 0.8]]);
    let expected = [2.3, 2.7, 1.4, 2.8, 2.2, 2.6, 2.3, 3.7];
    for (code, expected) in expected.into_iter().enumerate() {
        let states: Vec<StateId> = (0..3).map(|t| StateId::from_index(code >> (2 - t) & 1)).collect();
        assert!(near(path_score(&plan, &scores, &states).unwrap(), expected, 1e-6));
    }
    let best = viterbi(&plan, &scores).unwrap();
    assert_eq!(best.states, [StateId(1); 3]);
    assert!(near(best.score, 3.7, 1e-6));
    assert!(near(counts(&plan, &scores).unwrap().0, 4.7729194074, 1e-7));
}

#[test]
fn of_equal_paths_the_lower_states_win() {
    let plan = plain(&full_graph(&[&[0.0; 3][..]; 3]));
    let path = viterbi(&plan, &emissions(&[&[0.0; 3][..]; 4])).unwrap();
    assert_eq!(path.states, [StateId(0); 4]);
}

#[test]
fn an_hour_long_utterance_keeps_its_precision() {
    // Each frame scores 1000 in state 0 and a little more on the arc that stays there.
    let plan = plain(&full_graph(&[&[0.5, 0.0], &[0.0, 0.0]]));
    let frames = 200_000;
    let scores = Emissions::new(Matrix::from_vec(frames, 2, vec![1000.0; frames * 2]).unwrap()).unwrap();
    let expected = 1000.0 * frames as f64 + 0.5 * (frames - 1) as f64;
    assert!(near(forward::<Max>(&plan, &scores).unwrap().total(), expected, 1e-12));
    let log_z = forward::<LogSum>(&plan, &scores).unwrap().total();
    // The larger eigenvalue of [[e^0.5, 1], [1, 1]] is the growth of Z per frame.
    let (a, d) = (0.5f64.exp(), 1.0);
    let growth = ((a + d + ((a - d) * (a - d) + 4.0f64).sqrt()) / 2.0).ln();
    assert!(near(log_z, (1000.0 + growth) * frames as f64, 1e-8), "{log_z}");
}

#[test]
fn a_graph_without_states_is_refused() {
    let graph = GraphBuilder::new(Shared::new(["a"].into_iter().collect()), 1, 0).build().unwrap();
    let plan = plain(&Shared::new(graph));
    assert!(viterbi(&plan, &emissions(&[&[0.0], &[0.0]])).is_err());
    assert!(counts(&plan, &emissions(&[&[0.0], &[0.0]])).is_err());
}

#[test]
fn no_frames_and_too_few_are_refused() {
    let mut builder = GraphBuilder::new(Shared::new(["a"].into_iter().collect()), 1, 0);
    let state = State { pdf: PdfId(0), symbol: SymbolId(0), entry: false, restarts: false, word: None };
    let (first, last) = (builder.state(state), builder.state(state));
    builder.arc(first, Arc { to: last, transition: TransitionId::NONE, fixed: 0.0 });
    builder.start(Boundary { state: first, transition: TransitionId::NONE, fixed: 0.0 });
    builder.end(Boundary { state: last, transition: TransitionId::NONE, fixed: 0.0 });
    let plan = plain(&Shared::new(builder.build().unwrap()));
    for frames in [0, 1, 3] {
        let flat = Emissions::new(Matrix::zeros(frames, 1)).unwrap();
        let error = viterbi(&plan, &flat).unwrap_err();
        assert!(matches!(error, Error::NoPath { frames: f, need_at_least: 2 } if f == frames), "{error}");
        assert!(counts(&plan, &flat).is_err());
    }
    assert!(viterbi(&plan, &Emissions::new(Matrix::zeros(2, 1)).unwrap()).is_ok());
    let dead = viterbi(&plan, &emissions(&[&[0.0], &[f32::NEG_INFINITY]])).unwrap_err();
    assert!(matches!(dead, Error::Impossible { frame: 1 }), "{dead}");
    let wrong = viterbi(&plan, &emissions(&[&[0.0, 0.0]])).unwrap_err();
    assert!(matches!(wrong, Error::PdfCount { network: 2, graph: 1 }), "{wrong}");
}

/// The largest weight and the largest emissions that are accepted: no sum of them overflows.
#[test]
fn the_largest_scores_are_still_numbers() {
    let plan = plain(&full_graph(&[&[1e30, 0.0], &[0.0, 1e30]]));
    let path = viterbi(&plan, &emissions(&[&[f32::MAX, 0.0][..]; 4])).unwrap();
    assert_eq!(path.states, [StateId(0); 4]);
    assert!(counts(&plan, &emissions(&[&[f32::MAX, f32::MIN][..]; 4])).unwrap().0.is_finite());
}

#[test]
fn the_slope_of_log_z_is_the_occupancy() {
    let mut random = Random::new(5);
    for _ in 0..50 {
        let case = Case::new(&mut random, 2.0, 0, Layout::Dense);
        let Ok((_, counts)) = counts(&case.plan, &case.emissions) else { continue };
        let log_z = |cell: usize, step: f32| {
            let mut scores = case.emissions.matrix().clone();
            scores.as_mut_slice()[cell] += step;
            forward::<LogSum>(&case.plan, &Emissions::new(scores).unwrap()).unwrap().total()
        };
        let step = 1.0 / 128.0;
        for (cell, occupancy) in counts.occupancy.as_slice().iter().enumerate() {
            let slope = (log_z(cell, step) - log_z(cell, -step)) / f64::from(2.0 * step);
            assert!((slope - f64::from(*occupancy)).abs() < 2e-5, "{slope} {occupancy}");
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let graph = Shared::new(random_graph(&mut Random::new(1)));
    let options = PlanOptions::default();
    assert!(matches!(Plan::new(&graph, &Weights(vec![0.0; 3]), &options), Err(Error::Shape { .. })));
    assert!(Plan::new(&graph, &Weights(vec![0.0, 0.0, f32::NAN, 0.0]), &options).is_err());
    for insertion_penalty in [f32::INFINITY, f32::NAN, 2e30] {
        let error = Plan::new(&graph, &Weights(vec![0.0; 4]), &PlanOptions { insertion_penalty }).unwrap_err();
        assert!(error.to_string().contains("a natural logarithm of 1e30 at most"), "{error}");
    }
}
