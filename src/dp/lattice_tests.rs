//! Lattices against every path, one by one.

use std::collections::BTreeMap;
use std::sync::Arc as Shared;

use super::super::oracle::{Case, cases, near};
use super::super::{segments, viterbi};
use super::*;
use crate::symbols::StateId;

/// A way through a lattice, or a path: symbol, word and time of each segment.
type Said = Vec<(SymbolId, Option<WordId>, usize, usize)>;

/// The best score of each segmentation.
type Scores = BTreeMap<Said, f64>;

/// All ways through `lattice`.
fn ways(lattice: &Lattice) -> Scores {
    let mut scores = Scores::new();
    let mut open: Vec<(usize, Said, f64)> = vec![(0, vec![], 0.0)];
    while let Some((node, said, score)) = open.pop() {
        if node + 1 == lattice.nodes.len() {
            let best = scores.entry(said).or_insert(f64::NEG_INFINITY);
            *best = best.max(score);
            continue;
        }
        let first = lattice.arcs.partition_point(|arc| arc.from < node);
        for arc in lattice.arcs[first..].iter().take_while(|arc| arc.from == node) {
            let mut said = said.clone();
            said.push((arc.symbol, arc.word, lattice.nodes[arc.from], lattice.nodes[arc.to]));
            open.push((arc.to, said, score + arc.score()));
        }
    }
    scores
}

fn of_paths(case: &Case, paths: &[(f64, Vec<StateId>)]) -> Scores {
    let mut scores = Scores::new();
    for (score, states) in paths {
        let spans = segments(&case.graph, states);
        let said = spans.iter().map(|span| (span.symbol, span.word, span.start, span.end)).collect();
        let best = scores.entry(said).or_insert(f64::NEG_INFINITY);
        *best = best.max(*score);
    }
    scores
}

fn lattice(case: &Case, beam: f32) -> Result<Lattice> {
    let plan = Shared::new(case.plan.clone());
    Ok(Recording::new(&plan, &case.emissions, BeamOptions::EXACT)?.lattice(beam))
}

#[test]
fn without_a_beam_a_lattice_has_every_path() {
    cases(|case, paths| match lattice(case, f32::INFINITY) {
        Err(_) => assert!(paths.is_empty()),
        Ok(lattice) => {
            assert!(!paths.is_empty());
            let (found, expected) = (ways(&lattice), of_paths(case, paths));
            assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
            for (a, b) in found.values().zip(expected.values()) {
                assert!(near(*a, *b, 1e-6), "{a} {b}");
            }
            let best = found.values().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!(near(best, viterbi(&case.plan, &case.emissions).unwrap().score, 1e-6));
        }
    });
}

#[test]
fn the_acoustic_scores_of_the_best_way_are_the_emissions_of_the_best_path() {
    cases(|case, _| {
        let (Ok(path), Ok(lattice)) = (viterbi(&case.plan, &case.emissions), lattice(case, f32::INFINITY)) else {
            return;
        };
        let cell =
            |(frame, state): (usize, &StateId)| case.emissions.frame(frame)[case.graph.state(*state).pdf.index()];
        let emissions: f64 = path.states.iter().enumerate().map(cell).map(f64::from).sum();
        // Forward with the better of two ways: what it scores, and the acoustic part of it.
        let mut best = vec![(f64::NEG_INFINITY, 0.0); lattice.nodes.len()];
        best[0] = (0.0, 0.0);
        for arc in &lattice.arcs {
            let (score, acoustic) = best[arc.from];
            if score + arc.score() > best[arc.to].0 {
                best[arc.to] = (score + arc.score(), acoustic + arc.acoustic);
            }
        }
        let (score, acoustic) = best[lattice.nodes.len() - 1];
        assert!(near(score, path.score, 1e-6) && near(acoustic, emissions, 1e-6), "{acoustic} {emissions}");
    });
}

#[test]
fn a_beam_keeps_what_is_within_and_nothing_that_is_far() {
    let mut smaller = 0;
    cases(|case, paths| {
        let beam = 1.5;
        let Ok(lattice) = lattice(case, beam) else { return };
        let (found, expected) = (ways(&lattice), of_paths(case, paths));
        let best = expected.values().copied().fold(f64::NEG_INFINITY, f64::max);
        let rounding = 1e-6
            * (1.0
                + case
                    .emissions
                    .matrix()
                    .as_slice()
                    .iter()
                    .filter(|s| s.is_finite())
                    .map(|s| f64::from(s.abs()))
                    .sum::<f64>());
        let within = expected.iter().filter(|(_, score)| **score > best - f64::from(beam) + rounding);
        within.for_each(|(said, score)| assert!(found.get(said).is_some_and(|found| near(*found, *score, 1e-6))));
        // Every arc is on a way within the beam.
        for arc in &lattice.arcs {
            let own = (arc.symbol, arc.word, lattice.nodes[arc.from], lattice.nodes[arc.to]);
            let through = found.iter().filter(|(said, _)| said.contains(&own)).map(|(_, score)| *score);
            assert!(through.fold(f64::NEG_INFINITY, f64::max) >= best - f64::from(beam) - rounding);
        }
        assert!(lattice.nodes.is_sorted() && lattice.arcs.iter().all(|arc| arc.from < arc.to));
    });
    cases(|case, _| {
        if let (Ok(all), Ok(few)) = (lattice(case, f32::INFINITY), lattice(case, 1.5)) {
            assert!(few.arcs.len() <= all.arcs.len());
        }
    });
    for seed in 0..50 {
        let case = Case::new(&mut crate::random::Random::new(seed), 2.0, 0, super::super::rows::Layout::Sparse);
        if let (Ok(all), Ok(few)) = (lattice(&case, f32::INFINITY), lattice(&case, 1.5)) {
            smaller += usize::from(few.arcs.len() < all.arcs.len());
        }
    }
    assert!(smaller > 10, "{smaller}");
}
