//! N-best lists against every path, one by one.

use std::collections::BTreeMap;
use std::sync::Arc as Shared;

use super::super::oracle::{Case, cases, near};
use super::super::{BeamOptions, Recording, SegmentSpan, segments};
use super::*;
use crate::symbols::StateId;

/// The best score of each sequence of what `label` gives of segments, best first.
fn by_enumeration(
    case: &Case,
    paths: &[(f64, Vec<StateId>)],
    label: impl Fn(&SegmentSpan) -> Option<u32>,
) -> Vec<(f64, Vec<u32>)> {
    let mut best: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
    for (score, states) in paths {
        let labels = segments(&case.graph, states).iter().filter_map(&label).collect();
        let known = best.entry(labels).or_insert(f64::NEG_INFINITY);
        *known = known.max(*score);
    }
    let mut all: Vec<(f64, Vec<u32>)> = best.into_iter().map(|(labels, score)| (score, labels)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

fn check(case: &Case, expected: &[(f64, Vec<u32>)], label: impl Fn(&LatticeArc) -> Option<u32>) {
    let recording = Recording::new(&Shared::new(case.plan.clone()), &case.emissions, BeamOptions::EXACT).unwrap();
    let lattice = recording.lattice(f32::INFINITY);
    for count in [1, 2, 5, usize::MAX] {
        let found = nbest(&lattice, count, &label);
        assert_eq!(found.len(), expected.len().min(count));
        for (found, (score, _)) in found.iter().zip(expected) {
            assert!(near(found.score, *score, 1e-6), "{} {score}", found.score);
            let own = expected.iter().find(|(_, labels)| *labels == found.labels).unwrap();
            assert!(near(own.0, found.score, 1e-6), "{found:?} {own:?}");
        }
        let mut distinct: Vec<&Vec<u32>> = found.iter().map(|one| &one.labels).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), found.len());
    }
}

#[test]
fn the_best_sequences_of_symbols_are_those_of_all_paths() {
    cases(|case, paths| {
        if !paths.is_empty() {
            check(case, &by_enumeration(case, paths, |span| Some(span.symbol.0)), |arc| Some(arc.symbol.0));
        }
    });
}

#[test]
fn the_best_sequences_of_words_are_those_of_all_paths() {
    cases(|case, paths| {
        if !paths.is_empty() {
            let expected = by_enumeration(case, paths, |span| span.word.map(|word| word.0));
            check(case, &expected, |arc| arc.word.map(|word| word.0));
        }
    });
}

#[test]
fn an_empty_lattice_has_no_sequence() {
    assert!(nbest(&Lattice::default(), 3, |arc| Some(arc.symbol)).is_empty());
}
