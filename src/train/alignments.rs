//! Alignments as training keeps them: per utterance its phones with times, stored as CTM so that people can look at them.

use std::collections::BTreeMap;
use std::path::Path;

use super::context::contexts;
use super::corpus::Corpus;
use super::{Event, Progress};
use crate::align::Words;
use crate::alignment::{Alignment, Segment, Tier};
use crate::dp::SegmentSpan;
use crate::formats::ctm::{self, TimedLabel};
use crate::formats::{self, Format};
use crate::graph::{Context, ContextKind, GraphSpec, TransitionRole};
use crate::search::phone_tier;
use crate::symbols::{PdfId, SymbolId, TransitionId};
use crate::timing::FrameTiming;
use crate::{Error, Result};

/// Phones with times, by utterance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Alignments(BTreeMap<String, Tier>);

impl Alignments {
    /// Adds what search found in `utterance`, which has `samples` samples.
    /// Utterances go by their names in a CTM, without white space.
    pub fn insert(&mut self, utterance: &str, spans: &[SegmentSpan], grid: (&GraphSpec, FrameTiming, u64)) {
        let (spec, timing, samples) = grid;
        self.0.insert(ctm::one_field(utterance), phone_tier(spans, spec.symbols(), (timing, samples)));
    }

    /// The phones of `utterance`.
    pub fn get(&self, utterance: &str) -> Option<&Tier> {
        self.0.get(&ctm::one_field(utterance))
    }

    /// Number of utterances.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a CTM that [`Alignments::stored`] wrote.
    ///
    /// # Errors
    /// [`Error::TextFile`] naming the line.
    pub fn read(path: &Path, sample_rate: u32) -> Result<Self> {
        let samples = |seconds: f64| (seconds * f64::from(sample_rate)).round() as u64;
        let mut all = BTreeMap::new();
        for (utterance, rows) in ctm::read(path)? {
            let segment = |row: TimedLabel| Segment {
                label: row.label,
                start: samples(row.start_seconds),
                end: samples(row.end_seconds),
                confidence: None,
            };
            all.insert(utterance, Tier { name: "phones".into(), segments: rows.into_iter().map(segment).collect() });
        }
        Ok(Self(all))
    }

    /// Reads what an earlier run stored, and tells how many utterances it does not have: they are not learnt from.
    ///
    /// # Errors
    /// As [`Alignments::read`]; [`Error::Config`] naming an utterance that is not aligned from its beginning to its end.
    pub(super) fn resumed(
        path: &Path,
        sample_rate: u32,
        (corpus, progress): (&Corpus, &mut Progress<'_>),
    ) -> Result<Self> {
        let found = Self::read(path, sample_rate)?;
        corpus.examples().try_for_each(|example| found.check((&example.name, example.samples), (path, sample_rate)))?;
        let missing = corpus.examples().filter(|example| found.get(&example.name).is_none()).count();
        if missing > 0 {
            let (file, all) = (path.display(), corpus.examples().count());
            progress(Event::Note(format!("{file}: {missing} of {all} utterances are not in it and are left out")));
        }
        Ok(found)
    }

    /// Whether the phones of `utterance`, if it is here, follow one another from the first of its `samples` to the last, to the
    /// millisecond that a CTM tells.
    fn check(&self, (utterance, samples): (&str, u64), (path, sample_rate): (&Path, u32)) -> Result<()> {
        let segments = self.get(utterance).map_or(&[][..], |tier| &tier.segments);
        let ends = std::iter::once(0).chain(segments.iter().map(|segment| segment.end));
        let starts = segments.iter().map(|segment| segment.start).chain([samples]);
        let is_gap = |(end, start): &(u64, u64)| end.abs_diff(*start) > u64::from(sample_rate / 1000) + 1;
        match ends.zip(starts).find(is_gap).filter(|_| !segments.is_empty()) {
            None => Ok(()),
            Some((end, start)) => {
                let [end, start] = [end, start].map(|at| at as f64 / f64::from(sample_rate));
                let reason = format!(
                    "the phones of {utterance} leave off at {end:.3} s and go on, or its audio ends, at {start:.3} s: remove the \
                     file, and it will be made anew"
                );
                Err(Error::Config { path: path.to_owned(), reason })
            }
        }
    }

    /// Writes all utterances as one CTM, and takes them as it tells them: times rounded to milliseconds, so that a run that
    /// goes on from the file learns from the same.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn stored(self, path: &Path, sample_rate: u32) -> Result<Self> {
        formats::atomic::write(path, |file| {
            for (utterance, tier) in &self.0 {
                let samples = tier.segments.last().map_or(0, |last| last.end);
                let tiers = vec![tier.clone()];
                let alignment = Alignment {
                    utterance: utterance.clone(),
                    samples,
                    sample_rate,
                    tiers,
                    slots: vec![],
                    nbest: vec![],
                };
                formats::write(&alignment, Format::Ctm, file)?;
            }
            Ok(())
        })?;
        Self::read(path, sample_rate)
    }

    /// The phone sequences, silences included, of `utterances`: what the n-gram is estimated from.
    ///
    /// # Errors
    /// [`Error::Transcript`] naming a phone that `spec` lacks.
    pub fn sequences<'a>(
        &self,
        spec: &GraphSpec,
        utterances: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Vec<SymbolId>>> {
        let sequence = |tier: &Tier| tier.segments.iter().map(|segment| symbol(spec, &segment.label)).collect();
        utterances.filter_map(|name| self.get(name)).map(sequence).collect()
    }
}

/// How often each transition of `spec` was taken by `tiers`, whose frames are those of `timing`.
///
/// A phone of n frames took its self-loops `n - min_frames` times; its states share them evenly.
///
/// # Errors
/// [`Error::Transcript`] naming a phone that `spec` lacks.
pub fn transition_counts<'a>(
    tiers: impl Iterator<Item = &'a Tier>,
    spec: &GraphSpec,
    timing: FrameTiming,
) -> Result<Vec<f64>> {
    let (mut stays, mut passes) = (vec![0.0; spec.symbols().len()], vec![0.0; spec.symbols().len()]);
    let mut pairs: BTreeMap<(SymbolId, SymbolId), f64> = BTreeMap::new();
    let mut ends: BTreeMap<SymbolId, f64> = BTreeMap::new();
    for tier in tiers {
        let mut before = None;
        for segment in &tier.segments {
            let symbol = symbol(spec, &segment.label)?;
            let frames = (segment.end - segment.start) as f64 / timing.search_shift() as f64;
            let (least, states) = (spec.topology(symbol).min_frames() as f64, spec.topology(symbol).states() as f64);
            passes[symbol.index()] += 1.0;
            stays[symbol.index()] += (frames.round() - least).max(0.0) / states;
            if let Some(before) = before.replace(symbol) {
                *pairs.entry((before, symbol)).or_default() += 1.0;
            }
        }
        if let Some(last) = before {
            *ends.entry(last).or_default() += 1.0;
        }
    }
    let count = |id| match spec.transition_role(TransitionId::from_index(id)) {
        TransitionRole::SelfLoop { symbol, .. } => stays[symbol.index()],
        TransitionRole::Next { symbol, .. } => passes[symbol.index()],
        TransitionRole::Pair { from, to } => pairs.get(&(from, to)).copied().unwrap_or_default(),
        TransitionRole::End { symbol } => ends.get(&symbol).copied().unwrap_or_default(),
        TransitionRole::Start { .. } => 0.0,
    };
    Ok((0..spec.transitions()).map(count).collect())
}

fn symbol(spec: &GraphSpec, name: &str) -> Result<SymbolId> {
    let reason = || format!("the graph has no symbol {name:?}, which the alignment uses: the two graphs must agree");
    spec.symbols().get(name).ok_or_else(|| Error::Transcript { reason: reason() })
}

/// A state of a symbol, counted from 0, among its neighbours.
pub(super) type Placed = (SymbolId, usize, Context);

/// The state of every search frame, `[T]`: the phone at the frame's middle; a phone of several states is cut evenly. Its
/// neighbours are those that `kind` looks at.
///
/// # Errors
/// [`Error::Transcript`] naming a phone that `spec` lacks, and as [`contexts`].
pub(super) fn states(
    (tier, words): (&Tier, &Words),
    (spec, kind): (&GraphSpec, Option<ContextKind>),
    (timing, frames): (FrameTiming, usize),
) -> Result<Vec<Placed>> {
    let symbols = tier.segments.iter().map(|segment| symbol(spec, &segment.label)).collect::<Result<Vec<_>>>()?;
    let contexts = contexts(&symbols, words, (spec, kind))?;
    let mut states = Vec::with_capacity(frames);
    let mut current = 0;
    for frame in 0..frames {
        let middle = timing.start_sample(frame) + timing.search_shift() / 2;
        while current + 1 < symbols.len() && middle >= tier.segments[current].end {
            current += 1;
        }
        let (Some(segment), Some(&symbol)) = (tier.segments.get(current), symbols.get(current)) else { break };
        let count = spec.topology(symbol).states() as u64;
        let inside = middle.saturating_sub(segment.start) * count / (segment.end - segment.start).max(1);
        states.push((symbol, inside.min(count - 1) as usize, contexts[current]));
    }
    Ok(states)
}

/// The pdf of every search frame, `[T]`, of what was said in `words`; see [`Alignments`].
///
/// # Errors
/// [`Error::Transcript`] naming a phone that `spec` lacks, or when states are tied by words that the alignment does not say.
pub fn targets(said: (&Tier, &Words), spec: &GraphSpec, grid: (FrameTiming, usize)) -> Result<Vec<PdfId>> {
    let states = states(said, (spec, spec.units().kind()), grid)?;
    Ok(states.into_iter().map(|(symbol, state, context)| spec.pdf(symbol, state, context)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = r#"
format = 1
name = "two"
[classes]
all = ["a", "b"]
[boundary]
start = ["a"]
end = ["b"]
[[allow]]
from = "a"
to = "b"
[[allow]]
from = "b"
to = "a"
[topology.default]
states = 2
min_frames = 2
self_loop = 0.5
"#;

    fn timing() -> FrameTiming {
        FrameTiming { shift: 10, length: 25, sample_rate: 1000, subsampling: 1 }
    }

    fn tier(rows: &[(&str, u64, u64)]) -> Tier {
        let segment =
            |&(label, start, end): &(&str, u64, u64)| Segment { label: label.into(), start, end, confidence: None };
        Tier { name: "phones".into(), segments: rows.iter().map(segment).collect() }
    }

    #[test]
    fn each_frame_has_the_pdf_at_its_middle() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let tier = tier(&[("a", 0, 40), ("b", 40, 75)]);
        let found: Vec<u32> =
            targets((&tier, &vec![]), &spec, (timing(), 8)).unwrap().iter().map(|pdf| pdf.0).collect();
        assert_eq!(found, [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_phone_that_the_graph_lacks_is_named() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let error = targets((&tier(&[("zz", 0, 40)]), &vec![]), &spec, (timing(), 4)).unwrap_err();
        assert!(error.to_string().contains("\"zz\""), "{error}");
    }

    #[test]
    fn transitions_are_counted_by_frames_and_neighbours() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let tiers = [tier(&[("a", 0, 60), ("b", 60, 80)]), tier(&[("a", 0, 20), ("b", 20, 60)])];
        let counts = transition_counts(tiers.iter(), &spec, timing()).unwrap();
        let of = |wanted: TransitionRole| {
            let ids =
                (0..spec.transitions()).filter(|&id| spec.transition_role(TransitionId::from_index(id)) == wanted);
            ids.map(|id| counts[id]).sum::<f64>()
        };
        let [a, b] = [SymbolId(0), SymbolId(1)];
        assert_eq!(of(TransitionRole::SelfLoop { symbol: a, position: 0 }), 2.0);
        assert_eq!(of(TransitionRole::SelfLoop { symbol: b, position: 1 }), 1.0);
        assert_eq!(of(TransitionRole::Next { symbol: a, position: 0 }), 2.0);
        assert_eq!(of(TransitionRole::Pair { from: a, to: b }), 2.0);
        assert_eq!(of(TransitionRole::Pair { from: b, to: a }), 0.0);
        assert_eq!(of(TransitionRole::End { symbol: b }), 2.0);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.ctm");
        let tier = tier(&[("a", 0, 40), ("b", 40, 75)]);
        let alignments = Alignments(BTreeMap::from([("u1".to_owned(), tier.clone()), ("u2".to_owned(), tier)]));
        let stored = alignments.clone().stored(&path, 1000).unwrap();
        assert_eq!(stored, alignments);
        assert_eq!(Alignments::read(&path, 1000).unwrap(), alignments);
        assert!(stored.check(("u1", 75), (&path, 1000)).is_ok() && stored.check(("none", 75), (&path, 1000)).is_ok());
        let error = stored.check(("u2", 90), (&path, 1000)).unwrap_err().to_string();
        assert!(
            error.contains("the phones of u2 leave off at 0.075 s and go on, or its audio ends, at 0.090 s"),
            "{error}"
        );
    }
}
