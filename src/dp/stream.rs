//! Search of what never need end: segments come out as soon as all paths that are followed agree on them.
//!
//! [`Emissions`] come in, block by block, and segments go out that nothing heard later can change; with those that
//! [`StreamSearch::finish`] gives, they are the best path that was followed. Only frames since the last agreement are kept. What comes
//! out does not depend on how the frames are cut into blocks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::beam::{BeamOptions, Search, Standing};
use super::plan::Plan;
use super::segments::SegmentSpan;
use super::widen::{BeamRetry, search_widening, wider};
use crate::emission::Emissions;
use crate::{Error, Result};

/// How a [`StreamSearch`] prunes, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamOptions {
    /// What is followed. Without a beam the search is exact, whatever that takes: it waits as long as it must.
    pub beam: BeamOptions,
    /// With a beam: when a path that is behind is given up before the beam drops it.
    pub patience: Patience,
    /// With a beam: paths that parted so many search frames ago are not waited for, those that have not the best one's past are
    /// dropped.
    pub delay_frames: usize,
}

/// What is far behind the best path and parted from it long ago hardly ever comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    /// Search frames since it parted.
    pub frames: usize,
    /// How far it is behind, as a share of the beam.
    pub margin: f32,
}

impl Patience {
    /// The beam alone decides.
    pub const ENDLESS: Patience = Patience { frames: usize::MAX, margin: f32::INFINITY };
}

impl StreamOptions {
    /// Options with `beam` and a delay of 500 search frames, 15 seconds at 30 ms each: seldom reached, and little to keep. Patience was
    /// chosen on the development speakers of `recipes/english`: with it their phone error is 26.58 %, without 26.50 %.
    pub fn new(beam: BeamOptions) -> Self {
        Self { beam, patience: Patience { frames: 12, margin: 2.0 / 3.0 }, delay_frames: 500 }
    }
}

/// A [`Search`] that commits as it goes, and that goes back to where it last committed when its beam loses every path.
#[derive(Debug)]
pub struct StreamSearch {
    plan: Arc<Plan>,
    options: StreamOptions,
    search: Search,
    /// Where a search with a wider beam begins.
    base: Standing,
    /// The emissions from there on; none for an exact search.
    kept: VecDeque<Vec<f32>>,
    /// How often the beam was made wider since it was as asked for, and up to which frame.
    widened: (usize, usize),
    retries: Vec<BeamRetry>,
}

impl StreamSearch {
    /// A search that has seen no frame.
    pub fn new(plan: Arc<Plan>, options: StreamOptions) -> Self {
        let search = Search::new(plan.clone(), options.beam);
        let (base, kept) = (Standing::default(), VecDeque::new());
        Self { plan, options, search, base, kept, widened: (0, 0), retries: vec![] }
    }

    /// Follows the paths through the next frames and gives the segments on which they have come to agree.
    ///
    /// # Errors
    /// [`Error::PdfCount`]; [`Error::NoPath`] and [`Error::Impossible`] when no beam is wide enough.
    pub fn push(&mut self, emissions: &Emissions) -> Result<Vec<SegmentSpan>> {
        self.plan.check(emissions)?;
        let mut agreed = Vec::new();
        for frame in 0..emissions.frames() {
            self.step(emissions.frame(frame))?;
            agreed.append(&mut self.commit());
        }
        Ok(agreed)
    }

    /// Ends all paths and gives the segments of the best one that may end here, those that came out before left out, and the
    /// beams that were too narrow.
    ///
    /// # Errors
    /// As [`StreamSearch::push`].
    pub fn finish(mut self) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
        loop {
            match self.search.finish() {
                Err(Error::BeamTooNarrow { frame, beam }) => self.widen(frame, beam)?,
                Err(other) => return Err(other),
                Ok(spans) => return Ok((spans, self.retries)),
            }
        }
    }

    fn step(&mut self, emissions: &[f32]) -> Result<()> {
        if !self.waits() {
            self.kept.push_back(emissions.to_vec());
        }
        match self.search.step(emissions) {
            Err(Error::BeamTooNarrow { frame, beam }) => self.widen(frame, beam),
            result => result,
        }
    }

    /// Whether it was asked to be exact: it never loses a path, nor gives one up.
    fn waits(&self) -> bool {
        self.options.beam.beam == f32::INFINITY && self.options.beam.max_active == usize::MAX
    }

    /// Searches again from where all was agreed, with wider and wider beams, the last of which lost every path in `frame`.
    fn widen(&mut self, mut frame: usize, mut beam: f32) -> Result<()> {
        loop {
            let options = wider(self.search.options(), self.widened.0);
            self.retries.push(BeamRetry { frame, beam, next: options });
            self.search.restore(&self.base, options);
            self.widened = (self.widened.0 + 1, self.base.frames + self.kept.len());
            match self.kept.iter().try_for_each(|emissions| self.search.step(emissions)) {
                Err(Error::BeamTooNarrow { frame: at, beam: tried }) => (frame, beam) = (at, tried),
                result => return result,
            }
        }
    }

    fn commit(&mut self) -> Vec<SegmentSpan> {
        if !self.waits() {
            // What a wider search has just won back may look as if it were far behind.
            if self.widened.0 == 0 {
                let Patience { frames, margin } = self.options.patience;
                self.search.settle(frames, margin * self.options.beam.beam);
            }
            self.search.settle(self.options.delay_frames, 0.0);
        }
        let agreed = self.search.commit();
        if self.waits() {
            return agreed.map_or(vec![], |agreed| agreed.spans);
        }
        match agreed.as_ref().map(|agreed| agreed.end) {
            Some(end) if end.frame >= self.base.frames => {
                let emissions = &self.kept[end.frame - self.base.frames];
                self.begin_at(self.search.entering(end, emissions));
            }
            // The base is later than that already, and has pasts that are ruled out now; or all are in a segment that goes on and on.
            end if end.is_some() || self.kept.len() > self.options.delay_frames => {
                let standing = self.search.standing();
                self.begin_at(standing);
            }
            _ => {}
        }
        agreed.map_or(vec![], |agreed| agreed.spans)
    }

    /// From now on, a wider search begins at `base`.
    fn begin_at(&mut self, base: Standing) {
        self.kept.drain(..base.frames - self.base.frames);
        self.base = base;
        if self.widened.0 > 0 && self.base.frames >= self.widened.1 {
            self.widened.0 = 0;
            self.search.set_options(self.options.beam);
        }
    }
}

/// A [`StreamSearch`] of a whole utterance: all its segments, and the beams that were too narrow. Where a beam has ruled out too early
/// what alone may end here, the search begins again, exactly.
///
/// # Errors
/// As [`StreamSearch::push`]; [`Error::NoPath`] tells of all frames.
pub fn search_streaming(
    plan: &Arc<Plan>,
    emissions: &Emissions,
    options: StreamOptions,
) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
    let mut search = StreamSearch::new(plan.clone(), options);
    let found = search.push(emissions).and_then(|agreed| {
        let (rest, retries) = search.finish()?;
        Ok(([agreed, rest].concat(), retries))
    });
    match found {
        Err(Error::Impossible { frame }) if options.beam != BeamOptions::EXACT && plan.admits(emissions.frames()) => {
            let (spans, _) = search_widening(plan, emissions, BeamOptions::EXACT)?;
            Ok((spans, vec![BeamRetry { frame, beam: options.beam.beam, next: BeamOptions::EXACT }]))
        }
        Err(Error::NoPath { frames: frame, .. } | Error::Impossible { frame }) => {
            Err(plan.no_path(emissions.frames(), frame))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::beam::tests::{legal, legal_paths, random_plan};
    use super::super::oracle::{random_emissions, score};
    use super::super::{path_score, segments, viterbi};
    use super::*;
    use crate::random::Random;

    /// Everything that comes out when so many frames go in at a time, and how much of it came before the end.
    fn in_blocks(
        plan: &Arc<Plan>,
        emissions: &Emissions,
        options: StreamOptions,
        block: usize,
    ) -> (Result<String>, usize) {
        let mut search = StreamSearch::new(plan.clone(), options);
        let mut agreed = vec![];
        for first in (0..emissions.frames()).step_by(block) {
            let rows = first..emissions.frames().min(first + block);
            match search.push(&Emissions::new(emissions.matrix().slice_rows(rows)).unwrap()) {
                Ok(mut spans) => agreed.append(&mut spans),
                Err(error) => return (Err(error), agreed.len()),
            }
        }
        let early = agreed.len();
        let all = search.finish().map(|(rest, retries)| format!("{:?} {retries:?}", [agreed, rest].concat()));
        (all, early)
    }

    #[test]
    fn what_is_agreed_on_and_the_rest_are_the_best_path_whatever_the_blocks() {
        let (mut found, mut early) = (0, 0);
        for seed in 0..600 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let emissions = random_emissions((1 + random.below(60), 3), &mut random, 3.0, [0, 20][seed as usize % 2]);
            let exact = viterbi(&plan, &emissions).map(|path| segments(plan.graph(), &path.states));
            for block in [1, 2, 3, 7, 100] {
                let options = StreamOptions { delay_frames: 0, ..StreamOptions::new(BeamOptions::EXACT) };
                let (all, count) = in_blocks(&plan, &emissions, options, block);
                match &exact {
                    Ok(spans) => assert_eq!(all.unwrap(), format!("{spans:?} []")),
                    Err(_) => assert!(all.is_err()),
                }
                (found, early) = (found + usize::from(exact.is_ok()), early + count);
            }
        }
        assert!(found > 500 && early > 500, "{found} {early}");
    }

    #[test]
    fn a_beam_finds_the_same_with_commits_as_without() {
        let mut found = 0;
        for seed in 0..600 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let emissions = random_emissions((60, 3), &mut random, 3.0, 0);
            let beam = BeamOptions { beam: 3.0 + score(&mut random, 2.0), max_active: 2 + random.below(5) };
            let Ok((spans, retries)) = search_widening(&plan, &emissions, beam) else { continue };
            if !retries.is_empty() {
                continue; // From the first frame on here, from the last commit there.
            }
            found += 1;
            let options = StreamOptions { beam, patience: Patience::ENDLESS, delay_frames: 100 };
            for block in [1, 5, 60] {
                assert_eq!(in_blocks(&plan, &emissions, options, block).0.unwrap(), format!("{spans:?} []"));
            }
        }
        assert!(found > 200, "{found}");
    }

    #[test]
    fn what_is_forced_is_legal_and_the_same_in_all_blocks() {
        let (mut found, mut retried) = (0, 0);
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let frames = 1 + random.below(7);
            let legal = legal(&plan, frames);
            let emissions = random_emissions((frames, 3), &mut random, 3.0, 0);
            for (beam, max_active) in [(0.0, 1), (0.5, 2), (2.0, 10), (50.0, 50)] {
                let patience = Patience { frames: 1 + random.below(3), margin: random.uniform() };
                let delay_frames = 1 + random.below(5);
                let options = StreamOptions { beam: BeamOptions { beam, max_active }, patience, delay_frames };
                let (whole, _) = in_blocks(&plan, &emissions, options, frames);
                for block in [1, 2, 3] {
                    assert_eq!(format!("{:?}", in_blocks(&plan, &emissions, options, block).0), format!("{whole:?}"));
                }
                let Ok((spans, retries)) = search_streaming(&plan, &emissions, options) else { continue };
                assert!(legal.contains(&format!("{spans:?}")), "{spans:?}");
                (found, retried) = (found + 1, retried + usize::from(!retries.is_empty()));
            }
        }
        assert!(found > 300 && retried > 20, "{found} {retried}");
    }

    /// The score of the best of all paths, one by one, that have these segments.
    fn score_of(spans: &[SegmentSpan], plan: &Plan, emissions: &Emissions) -> f64 {
        let paths = legal_paths(plan, emissions.frames());
        let alike = paths.iter().filter(|path| segments(plan.graph(), path) == spans);
        alike.map(|path| path_score(plan, emissions, path).unwrap()).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whatever the beam: something is found where the exact search finds something, it is a path and none better than the best; and
    /// the best one once the beam is wide.
    #[test]
    fn no_beam_finds_better_than_the_best_path_and_a_wide_one_finds_it() {
        let (mut best, mut worse, mut none) = (0, 0, 0);
        for seed in 0..1500 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let frames = 1 + random.below(7);
            let emissions = random_emissions((frames, 3), &mut random, 3.0, [0, 20][seed as usize % 2]);
            let beam = BeamOptions { beam: 4.0 * random.uniform(), max_active: 1 + random.below(4) };
            let narrow = StreamOptions { beam, patience: Patience { frames: 1, margin: 0.5 }, delay_frames: 2 };
            let patience = Patience { frames: usize::MAX, margin: 0.0 };
            let beam = BeamOptions { beam: 1e4, max_active: 1000 };
            let wide = StreamOptions { beam, patience, delay_frames: 1000 };
            let found = [narrow, wide].map(|options| search_streaming(&plan, &emissions, options));
            let Ok(exact) = viterbi(&plan, &emissions) else {
                assert!(found.iter().all(Result::is_err));
                none += 1;
                continue;
            };
            let [(narrow, _), (wide, retries)] = found.map(Result::unwrap);
            assert_eq!((wide, retries), (segments(plan.graph(), &exact.states), vec![]));
            let behind = exact.score - score_of(&narrow, &plan, &emissions);
            assert!(behind.is_finite() && behind > -1e-4, "{behind}");
            (best, worse) = if behind < 1e-4 { (best + 1, worse) } else { (best, worse + 1) };
        }
        assert!(best > 500 && worse > 50 && none > 50, "{best} {worse} {none}");
    }

    /// Whatever the beam: where there is a legal path, one is found.
    #[test]
    fn an_ending_that_was_ruled_out_is_found_again() {
        let (mut again, mut none) = (0, 0);
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let emissions = random_emissions((1 + random.below(12), 3), &mut random, 3.0, [0, 20][seed as usize % 2]);
            let beam = BeamOptions { beam: random.uniform(), max_active: 1 + random.below(3) };
            let options = StreamOptions { beam, patience: Patience { frames: 1, margin: 0.5 }, delay_frames: 2 };
            let found = search_streaming(&plan, &emissions, options);
            match viterbi(&plan, &emissions) {
                Err(_) => none += usize::from(found.is_err()),
                Ok(_) => {
                    let (spans, retries) = found.unwrap();
                    assert_eq!(spans.last().unwrap().end, emissions.frames());
                    let mut search = StreamSearch::new(plan.clone(), options);
                    let alone = search.push(&emissions).and_then(|_| search.finish());
                    again += usize::from(alone.is_err());
                    assert!(alone.is_ok() || retries.last().is_some_and(|last| last.next == BeamOptions::EXACT));
                }
            }
        }
        assert!(again > 5 && none > 20, "{again} {none}");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let beam = BeamOptions { beam: 30.0, max_active: 50 };
            let options = StreamOptions { delay_frames: 20, ..StreamOptions::new(beam) };
            let mut search = StreamSearch::new(plan, options);
            for _ in 0..40 {
                if search.push(&random_emissions((25, 3), &mut random, 1.0, 0)).is_err() {
                    break;
                }
                assert!(search.kept.len() <= 20 + 1, "{}", search.kept.len());
            }
        }
    }
}
