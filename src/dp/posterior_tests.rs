//! Posteriors against the sum over every path, one by one.

use std::collections::BTreeMap;
use std::sync::Arc as Shared;

use super::super::oracle::{cases, log_sum, random_emissions, score};
use super::super::{PlanOptions, SegmentSpan, segments};
use super::{BeamOptions, Emissions, ForwardBackward, FramePosteriors, Plan, PosteriorOptions, Result};
use super::{symbol_posterior, word_posterior};
use crate::graph::{Arc, Boundary, Graph, GraphBuilder, State};
use crate::random::Random;
use crate::symbols::{PdfId, StateId, SymbolId, TransitionId, WordId};

const EVERYTHING: PosteriorOptions =
    PosteriorOptions { search: BeamOptions::EXACT, beam: f32::INFINITY, scale: 1.0, window: 1000, overlap: 0 };

fn posteriors(plan: &Plan, emissions: &Emissions, options: PosteriorOptions) -> Result<Vec<FramePosteriors>> {
    let mut sums = ForwardBackward::new(&Shared::new(plan.clone()), options);
    let mut frames = sums.push(emissions)?;
    frames.extend(sums.finish()?);
    Ok(frames)
}

/// Shares of what `keys` gives of a path, over all `paths`.
fn shares(paths: &[(f64, Vec<StateId>)], scale: f64, keys: impl Fn(&[StateId]) -> Vec<u32>) -> BTreeMap<u32, f64> {
    let log_z = log_sum(paths.iter().map(|(score, _)| scale * score));
    let mut shares = BTreeMap::new();
    for (score, states) in paths {
        for key in keys(states) {
            *shares.entry(key).or_default() += (scale * score - log_z).exp();
        }
    }
    shares
}

fn assert_near(found: &[(u32, f32)], expected: &BTreeMap<u32, f64>, tolerance: f64) {
    let found: BTreeMap<u32, f64> = found.iter().map(|&(key, share)| (key, f64::from(share))).collect();
    for key in found.keys().chain(expected.keys()) {
        let [a, b] = [&found, expected].map(|shares| shares.get(key).copied().unwrap_or(0.0));
        assert!((a - b).abs() < tolerance, "{key}: {found:?} {expected:?}");
    }
}

#[test]
fn posteriors_are_those_of_all_paths() {
    for scale in [1.0, 0.3] {
        cases(|case, paths| {
            let found = posteriors(&case.plan, &case.emissions, PosteriorOptions { scale, ..EVERYTHING });
            if paths.is_empty() {
                assert!(found.is_err());
                return;
            }
            let found = found.unwrap();
            assert_eq!(found.len(), case.emissions.frames());
            let cells = case.emissions.matrix().as_slice().iter().filter(|score| score.is_finite());
            // Scores of a thousand are rounded as f32.
            let tolerance = if cells.fold(0.0, |a: f32, b| a.max(b.abs())) > 10.0 { 1e-2 } else { 1e-5 };
            for (frame, posteriors) in found.iter().enumerate() {
                let said = |states: &[StateId]| vec![case.graph.state(states[frame]).symbol.0];
                let symbols = shares(paths, f64::from(scale), said);
                let symbol = |&(symbol, share): &(SymbolId, f32)| (symbol.0, share);
                assert_near(&posteriors.symbols.iter().map(symbol).collect::<Vec<_>>(), &symbols, tolerance);
                let ended = |states: &[StateId]| {
                    let ends = segments(&case.graph, states).into_iter().filter(|span| span.end == frame + 1);
                    ends.filter_map(|span| span.word).map(|word| word.0).collect()
                };
                let word = |&(word, share): &(WordId, f32)| (word.0, share);
                let words = shares(paths, f64::from(scale), ended);
                assert_near(&posteriors.word_ends.iter().map(word).collect::<Vec<_>>(), &words, tolerance);
                let total: f32 = posteriors.symbols.iter().map(|(_, share)| share).sum();
                assert!((total - 1.0).abs() < 1e-5, "{total}");
            }
        });
    }
}

/// A graph of four states that leads from everywhere to everywhere, and so forgets what was long ago.
fn open_graph(random: &mut Random) -> Graph {
    let mut builder = GraphBuilder::new(Shared::new(["a", "b", "c"].into_iter().collect()), 3, 0);
    let fixed = |random: &mut Random| score(random, 1.0);
    for number in 0..4u32 {
        let (pdf, symbol) = (PdfId(number % 3), SymbolId(number % 3));
        builder.state(State { pdf, symbol, entry: true, restarts: number == 3, word: Some(WordId(number)) });
    }
    for state in (0..4).map(StateId) {
        for to in (0..4).map(StateId) {
            builder.arc(state, Arc { to, transition: TransitionId::NONE, fixed: fixed(random) });
        }
        builder.start(Boundary { state, transition: TransitionId::NONE, fixed: fixed(random) });
        builder.end(Boundary { state, transition: TransitionId::NONE, fixed: fixed(random) });
    }
    builder.build().unwrap()
}

#[test]
fn windows_change_nothing_that_their_overlap_does_not_reach() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let graph = Shared::new(open_graph(&mut random));
        let plan = Plan::new(&graph, &Default::default(), &PlanOptions::default()).unwrap();
        let emissions = random_emissions((120, 3), &mut random, 2.0, 0);
        let whole = posteriors(&plan, &emissions, EVERYTHING).unwrap();
        let options = PosteriorOptions { window: 7, overlap: 40, ..EVERYTHING };
        let windows = posteriors(&plan, &emissions, options).unwrap();
        assert_eq!(windows.len(), whole.len());
        for (a, b) in windows.iter().zip(&whole) {
            let shares = b.symbols.iter().map(|&(symbol, share)| (symbol.0, f64::from(share))).collect();
            assert_near(&a.symbols.iter().map(|&(s, share)| (s.0, share)).collect::<Vec<_>>(), &shares, 1e-5);
            let ends = b.word_ends.iter().map(|&(word, share)| (word.0, f64::from(share))).collect();
            assert_near(&a.word_ends.iter().map(|&(w, share)| (w.0, share)).collect::<Vec<_>>(), &ends, 1e-5);
        }
        // A frame is settled as soon as its window and the overlap are there.
        let mut sums = ForwardBackward::new(&Shared::new(plan.clone()), options);
        let rows = |range| Emissions::new(emissions.matrix().slice_rows(range)).unwrap();
        assert_eq!(sums.push(&rows(0..46)).unwrap().len(), 0);
        assert_eq!(sums.push(&rows(46..47)).unwrap().len(), 7);
        assert_eq!(sums.push(&rows(47..80)).unwrap().len(), 28);
    }
}

#[test]
fn a_segment_is_as_probable_as_its_symbol_on_average_and_a_word_as_its_ends() {
    let frame = |share: f32, end: f32| FramePosteriors {
        symbols: vec![(SymbolId(1), share), (SymbolId(2), 1.0 - share)],
        word_ends: vec![(WordId(4), end)],
    };
    let frames = [frame(0.1, 0.1), frame(0.8, 0.0), frame(0.6, 0.2), frame(0.4, 0.3), frame(0.0, 0.4), frame(0.0, 0.5)];
    let span = |symbol, start, end| SegmentSpan { symbol: SymbolId(symbol), word: None, start, end };
    assert!((symbol_posterior(&frames, &span(1, 1, 4)) - 0.6).abs() < 1e-6);
    assert!((symbol_posterior(&frames, &span(2, 0, 1)) - 0.9).abs() < 1e-6);
    assert_eq!(symbol_posterior(&frames, &span(3, 0, 6)), 0.0);
    // From frame 2 to before frame 5: 0.2, 0.3 and 0.4.
    assert!((word_posterior(&frames, WordId(4), 1..4) - 0.9).abs() < 1e-6);
    // Frames 2 to 5 have more than one end, which is as sure as can be.
    assert_eq!(word_posterior(&frames, WordId(4), 0..4), 1.0);
    assert_eq!(word_posterior(&frames, WordId(5), 0..4), 0.0);
}
