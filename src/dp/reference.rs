//! Tests of the recursion on graphs too large to enumerate, against the plain recursion over arcs in the log domain, `f64`.

use std::sync::Arc as Shared;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::oracle::{random_emissions, score};
use super::rows::Layout;
use super::*;
use crate::emission::Emissions;
use crate::graph::{Arc, Boundary, Graph, GraphBuilder, State, Weights};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId};

const DEAD: f64 = f64::NEG_INFINITY;

/// A graph in which `percent` of the pairs of states are arcs; each pair, start and end has a weight, arc or not. Two states
/// share each pdf.
fn graph(states: usize, percent: usize, random: &mut Random) -> Shared<Graph> {
    let names: SymbolTable = (0..states).map(|state| state.to_string()).collect();
    let mut builder = GraphBuilder::new(Shared::new(names), states.div_ceil(2), states * (states + 2));
    let mut arc_here = |from: usize, to: usize| to == from + 1 || random.below(100) < percent;
    for from in 0..states {
        let (pdf, symbol) = (PdfId::from_index(from / 2), SymbolId::from_index(from));
        let state = builder.state(State { pdf, symbol, entry: true, restarts: true, word: None });
        let weight = |column: usize| TransitionId::from_index(from * (states + 2) + column);
        for to in (0..states).filter(|&to| arc_here(from, to)) {
            builder.arc(state, Arc { to: StateId::from_index(to), transition: weight(to), fixed: 0.0 });
        }
        builder.start(Boundary { state, transition: weight(states), fixed: 0.0 });
        builder.end(Boundary { state, transition: weight(states + 1), fixed: 0.0 });
    }
    Shared::new(builder.build().unwrap())
}

/// Weights in `-width..width`, `dead` per cent of them minus infinity.
fn weights(graph: &Graph, random: &mut Random, width: f32, dead: usize) -> Weights {
    let draw = |random: &mut Random| if random.below(100) < dead { f32::NEG_INFINITY } else { score(random, width) };
    Weights((0..graph.transitions()).map(|_| draw(random)).collect())
}

fn plan(graph: &Shared<Graph>, weights: &Weights, layout: Layout) -> Plan {
    let mut plan = Plan::new(graph, weights, &PlanOptions::default()).unwrap();
    plan.lay_out(layout);
    plan
}

fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(DEAD, f64::max);
    if largest == DEAD { DEAD } else { largest + terms.map(|term| (term - largest).exp()).sum::<f64>().ln() }
}

/// What one utterance comes to by the formulas, arc by arc.
struct Expected {
    log_z: f64,
    best: f64,
    occupancy: Vec<f64>,
    transitions: Vec<f64>,
}

/// alpha, and beta without the emission of its frame, `[T x S]`.
fn both_ways(graph: &Graph, weights: &Weights, emissions: &Emissions) -> [Vec<Vec<f64>>; 2] {
    let weight = |transition| f64::from(weights.get(transition));
    let emission = |t: usize, s: StateId| f64::from(emissions.frame(t)[graph.state(s).pdf.index()]);
    let states: Vec<StateId> = (0..graph.len()).map(StateId::from_index).collect();
    let mut alpha: Vec<Vec<f64>> = vec![graph.starts().iter().map(|start| weight(start.transition)).collect()];
    let mut beta: Vec<Vec<f64>> = vec![graph.finals().iter().map(|end| weight(end.transition)).collect()];
    alpha[0].iter_mut().zip(&states).for_each(|(cell, &s)| *cell += emission(0, s));
    for t in 1..emissions.frames() {
        let from = |at: &u32| {
            let source = graph.source(*at as usize);
            alpha[t - 1][source.index()] + weight(graph.all_arcs()[*at as usize].transition)
        };
        let next = states.iter().map(|&s| log_sum(graph.incoming(s).iter().map(from)) + emission(t, s));
        alpha.push(next.collect());
        let to = |arc: &Arc| {
            let after = emission(emissions.frames() - t, arc.to);
            weight(arc.transition) + after + beta[t - 1][arc.to.index()]
        };
        beta.push(states.iter().map(|&s| log_sum(graph.arcs(s).iter().map(to))).collect());
    }
    beta.reverse();
    [alpha, beta]
}

fn expected(graph: &Graph, weights: &Weights, emissions: &Emissions) -> Expected {
    let weight = |transition| f64::from(weights.get(transition));
    let [alpha, beta] = both_ways(graph, weights, emissions);
    let last = emissions.frames() - 1;
    let log_z = log_sum(alpha[last].iter().zip(&beta[last]).map(|(a, b)| a + b));
    let mut transitions = vec![0.0; graph.transitions()];
    let mut occupancy = vec![0.0; emissions.frames() * emissions.pdfs()];
    for t in 0..=last {
        for (s, state) in graph.states().iter().enumerate() {
            let gamma = (alpha[t][s] + beta[t][s] - log_z).exp();
            occupancy[t * emissions.pdfs() + state.pdf.index()] += gamma;
            if t == 0 {
                transitions[graph.starts()[s].transition.index()] += gamma;
            }
            if t == last {
                transitions[graph.finals()[s].transition.index()] += gamma;
            }
        }
        for (at, arc) in graph.all_arcs().iter().enumerate().filter(|_| t < last) {
            let after =
                f64::from(emissions.frame(t + 1)[graph.state(arc.to).pdf.index()]) + beta[t + 1][arc.to.index()];
            let xi = alpha[t][graph.source(at).index()] + weight(arc.transition) + after - log_z;
            transitions[arc.transition.index()] += xi.exp();
        }
    }
    Expected { log_z, best: best_score(graph, weights, emissions), occupancy, transitions }
}

fn best_score(graph: &Graph, weights: &Weights, emissions: &Emissions) -> f64 {
    let emission = |t: usize, s: usize| f64::from(emissions.frame(t)[graph.states()[s].pdf.index()]);
    let weight = |transition| f64::from(weights.get(transition));
    let mut cells: Vec<f64> =
        graph.starts().iter().enumerate().map(|(s, start)| weight(start.transition) + emission(0, s)).collect();
    for t in 1..emissions.frames() {
        let mut next = vec![DEAD; graph.len()];
        for (at, arc) in graph.all_arcs().iter().enumerate() {
            let cell = &mut next[arc.to.index()];
            *cell = cell.max(cells[graph.source(at).index()] + weight(arc.transition));
        }
        next.iter_mut().enumerate().for_each(|(s, cell)| *cell += emission(t, s));
        cells = next;
    }
    cells.iter().zip(graph.finals()).map(|(cell, end)| cell + weight(end.transition)).fold(DEAD, f64::max)
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// Problems that a width, a share of impossible scores and a share of arcs make: gentle ones, and those that underflow.
fn problems(check: impl Fn(&Shared<Graph>, &Weights, &Emissions)) {
    for (seed, &(width, dead)) in [(2.0, 0), (300.0, 0), (1000.0, 0), (1000.0, 20), (3000.0, 50)].iter().enumerate() {
        for (states, percent) in [(6, 100), (6, 10), (31, 100), (31, 30), (31, 3), (60, 90)] {
            let mut random = Random::new(seed as u64 * 100 + states as u64 + percent as u64);
            let graph = graph(states, percent, &mut random);
            let weights = weights(&graph, &mut random, width, dead);
            let emissions = random_emissions((40, graph.pdfs()), &mut random, width, dead / 2);
            check(&graph, &weights, &emissions);
        }
    }
}

#[test]
fn both_layouts_are_the_plain_recursion() {
    let solved = std::cell::Cell::new(0);
    problems(|graph, weights, emissions| {
        let expected = expected(graph, weights, emissions);
        for layout in [Layout::Sparse, Layout::Dense] {
            let plan = plan(graph, weights, layout);
            if expected.log_z == DEAD {
                assert!(counts(&plan, emissions).is_err() && viterbi(&plan, emissions).is_err());
                continue;
            }
            solved.set(solved.get() + 1);
            let (log_z, counts) = counts(&plan, emissions).unwrap();
            assert!(near(log_z, expected.log_z, 1e-12), "{log_z} {}", expected.log_z);
            assert!(near(backward::<LogSum>(&plan, emissions).unwrap().total(), expected.log_z, 1e-12));
            assert!(near(viterbi(&plan, emissions).unwrap().score, expected.best, 1e-6));
            for (&found, &expected) in counts.occupancy.as_slice().iter().zip(&expected.occupancy) {
                assert!(near(f64::from(found), expected, 1e-6), "{found} {expected}");
            }
            for (&found, &expected) in counts.transitions.iter().zip(&expected.transitions) {
                assert!(near(found, expected, 1e-8), "{found} {expected}");
            }
        }
    });
    assert!(solved.get() >= 48, "{} of 60 problems have a path", solved.get());
}

#[test]
fn maxima_are_the_same_in_both_layouts() {
    problems(|graph, weights, emissions| {
        // Whole numbers: many paths are equally good.
        let round = |&score: &f32| if score.is_finite() { (score % 3.0).round() } else { score };
        let whole = |scores: &[f32]| scores.iter().map(round).collect::<Vec<f32>>();
        let cells =
            Matrix::from_vec(emissions.frames(), emissions.pdfs(), whole(emissions.matrix().as_slice())).unwrap();
        let tied = (Weights(whole(&weights.0)), Emissions::new(cells).unwrap());
        for (weights, emissions) in [(weights, emissions), (&tied.0, &tied.1)] {
            let [sparse, dense] = [Layout::Sparse, Layout::Dense].map(|layout| plan(graph, weights, layout));
            let Ok(expected) = forward::<Max>(&sparse, emissions) else { continue };
            let found = forward::<Max>(&dense, emissions).unwrap();
            let bits =
                |trellis: &Trellis<Max>, frame| trellis.frame(frame).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!((0..emissions.frames()).all(|frame| bits(&found, frame) == bits(&expected, frame)));
            assert_eq!(viterbi(&dense, emissions).unwrap(), viterbi(&sparse, emissions).unwrap());
            assert_eq!(
                backward::<Max>(&dense, emissions).unwrap().total(),
                backward::<Max>(&sparse, emissions).unwrap().total()
            );
        }
    });
}

/// Every path scores -800 at least once: by the arc 0 -> 1, or by an emission of -1000. So the best alpha of the first frame
/// and the best beta of the second do not fit together, and the first factor of xi would be exp(800).
#[test]
fn counts_that_would_overflow_are_taken_arc_by_arc() {
    let graph = graph(4, 100, &mut Random::new(1));
    let mut weights = Weights(vec![-2000.0; graph.transitions()]);
    for (from, to, weight) in
        [(0, 0, 0.0), (0, 2, -800.0), (2, 2, 0.1), (0, 4, 0.0), (2, 4, 0.0), (0, 5, 0.0), (2, 5, 0.0)]
    {
        weights.0[from * 6 + to] = weight;
    }
    let cells = vec![0.0, -1000.0, -1000.0, 0.0, -1000.0, 0.0];
    let emissions = Emissions::new(Matrix::from_vec(3, 2, cells).unwrap()).unwrap();
    let expected = expected(&graph, &weights, &emissions).transitions;
    assert!(near(expected[2], 1.0, 1e-12), "0 -> 2 is the best way");
    for layout in [Layout::Sparse, Layout::Dense] {
        let (_, counts) = counts(&plan(&graph, &weights, layout), &emissions).unwrap();
        assert!(counts.transitions.iter().zip(&expected).all(|(a, b)| near(*a, *b, 1e-12)), "{counts:?} {expected:?}");
    }
}

#[test]
fn a_pair_without_arc_is_never_counted() {
    let mut random = Random::new(7);
    for percent in [5, 60] {
        let graph = graph(20, percent, &mut random);
        let mut weights = weights(&graph, &mut random, 2.0, 0);
        // A weight of minus infinity forbids too.
        let forbidden = graph.all_arcs()[3].transition;
        weights.0[forbidden.index()] = f32::NEG_INFINITY;
        let emissions = random_emissions((30, graph.pdfs()), &mut random, 2.0, 0);
        for layout in [Layout::Sparse, Layout::Dense] {
            let (_, counts) = counts(&plan(&graph, &weights, layout), &emissions).unwrap();
            let used = |from: usize, to: usize| counts.transitions[from * 22 + to];
            for (from, to) in (0..20).flat_map(|from| (0..20).map(move |to| (from, to))) {
                let arc = graph.arc(StateId::from_index(from), StateId::from_index(to));
                let legal = arc.is_some_and(|arc| arc.transition != forbidden);
                assert_eq!(used(from, to) > 0.0, legal, "{from} -> {to}");
            }
            let steps: f64 =
                (0..20).flat_map(|from| (0..20).map(move |to| (from, to))).map(|(from, to)| used(from, to)).sum();
            assert!(near(steps, 29.0, 1e-12), "{steps}");
        }
    }
}

#[test]
fn the_slope_of_log_z_is_the_use_of_each_weight() {
    let mut random = Random::new(8);
    let graph = graph(7, 50, &mut random);
    let weights = weights(&graph, &mut random, 2.0, 0);
    let emissions = random_emissions((9, graph.pdfs()), &mut random, 2.0, 0);
    for layout in [Layout::Sparse, Layout::Dense] {
        let mut plan = plan(&graph, &weights, layout);
        let (_, counts) = counts(&plan, &emissions).unwrap();
        for (index, count) in counts.transitions.iter().enumerate() {
            let step = 1.0 / 64.0;
            let mut log_z = |step: f32| {
                let mut moved = weights.clone();
                moved.0[index] += step;
                plan.reweigh(&moved).unwrap();
                forward::<LogSum>(&plan, &emissions).unwrap().total()
            };
            let slope = (log_z(step) - log_z(-step)) / f64::from(2.0 * step);
            assert!((slope - count).abs() < 1e-4, "{slope} {count}");
        }
    }
}

#[test]
fn new_weights_are_a_new_plan() {
    let mut random = Random::new(9);
    for (percent, layout) in [(100, Layout::Dense), (10, Layout::Sparse)] {
        let graph = graph(26, percent, &mut random);
        let emissions = random_emissions((12, graph.pdfs()), &mut random, 2.0, 0);
        let options = PlanOptions { insertion_penalty: -0.5 };
        let mut draw = || weights(&graph, &mut random, 2.0, 5);
        let mut plan = Plan::new(&graph, &draw(), &options).unwrap();
        plan.lay_out(layout);
        // Every table is made before the weights change.
        let all = |plan: &Plan| {
            let totals =
                [backward::<Max>(plan, &emissions).unwrap().total(), forward::<Max>(plan, &emissions).unwrap().total()];
            (viterbi(plan, &emissions).unwrap(), counts(plan, &emissions).unwrap(), totals)
        };
        let before = all(&plan);
        let mut wrong = draw();
        let last = graph.all_arcs()[graph.arc_count() - 1].transition;
        wrong.0[last.index()] = f32::NAN;
        assert!(plan.reweigh(&wrong).unwrap_err().to_string().contains("NaN"));
        assert!(plan.reweigh(&Weights(vec![0.0; 3])).is_err());
        assert_eq!(all(&plan), before, "a refused weight changes nothing");
        let other = draw();
        plan.reweigh(&other).unwrap();
        let mut fresh = Plan::new(&graph, &other, &options).unwrap();
        fresh.lay_out(layout);
        assert_eq!(all(&plan), all(&fresh));
        assert_ne!(all(&plan), before);
    }
}

#[test]
fn many_utterances_together_are_as_one_by_one() {
    let mut random = Random::new(10);
    for percent in [5, 100] {
        let graph = graph(19, percent, &mut random);
        let weights = weights(&graph, &mut random, 2.0, 0);
        let draw = |frames| random_emissions((frames, graph.pdfs()), &mut random, 2.0, 0);
        let utterances: Vec<Emissions> = (1..60).map(draw).collect();
        let run =
            |plan: &Plan, emissions: &Emissions| (counts(plan, emissions).unwrap(), viterbi(plan, emissions).unwrap());
        let alone = |emissions| run(&Plan::new(&graph, &weights, &PlanOptions::default()).unwrap(), emissions);
        let shared = Plan::new(&graph, &weights, &PlanOptions::default()).unwrap();
        let together: Vec<_> = utterances.par_iter().map(|emissions| run(&shared, emissions)).collect();
        assert_eq!(together, utterances.iter().map(alone).collect::<Vec<_>>());
    }
}

/// log Z by the plain recursion, relative to the best cell frame by frame; the parts are added up in steps of a thousand.
fn long_log_z(graph: &Graph, weights: &Weights, emissions: &Emissions) -> f64 {
    let weight = |transition| f64::from(weights.get(transition));
    let mut cells: Vec<f64> = graph.starts().iter().map(|start| weight(start.transition)).collect();
    let (mut total, mut part) = (0.0, 0.0);
    for t in 0..emissions.frames() {
        if t > 0 {
            let from = |at: &u32| {
                cells[graph.source(*at as usize).index()] + weight(graph.all_arcs()[*at as usize].transition)
            };
            let states = (0..graph.len()).map(StateId::from_index);
            cells = states.map(|s| log_sum(graph.incoming(s).iter().map(from))).collect();
        }
        let row = emissions.frame(t);
        cells.iter_mut().zip(graph.states()).for_each(|(cell, state)| *cell += f64::from(row[state.pdf.index()]));
        let best = cells.iter().copied().fold(DEAD, f64::max);
        cells.iter_mut().for_each(|cell| *cell -= best);
        part += best;
        if t % 1000 == 999 {
            total += std::mem::take(&mut part);
        }
    }
    total + part + log_sum(cells.iter().zip(graph.finals()).map(|(cell, end)| cell + weight(end.transition)))
}

#[test]
fn a_million_frames_keep_nine_digits() {
    let frames = 1_000_000;
    for (percent, layout) in [(100, Layout::Dense), (10, Layout::Sparse)] {
        let mut random = Random::new(11);
        let graph = graph(8, percent, &mut random);
        let weights = weights(&graph, &mut random, 3.0, 0);
        let emissions = random_emissions((frames, graph.pdfs()), &mut random, 5.0, 0);
        let plan = plan(&graph, &weights, layout);
        let (found, expected) =
            (forward::<LogSum>(&plan, &emissions).unwrap().total(), long_log_z(&graph, &weights, &emissions));
        assert!((found - expected).abs() < 1e-11 * expected.abs(), "{found} {expected}");
    }
}
