//! Search on a beam: the recursion of [`forward`](super::forward) with the maximum, over the states worth following.
//!
//! [`Emissions`] come in block by block; when they end, the segments of the best path that was followed go out. The path is
//! legal at any beam, since only arcs are followed and only a final state may end it. With an endless beam it is the path
//! of [`viterbi`](super::viterbi).

mod commit;

use std::sync::Arc;

pub(super) use commit::Standing;

use super::plan::Plan;
use super::segments::SegmentSpan;
use super::semiring::{Frames, Max, Semiring};
use super::viterbi::giver;
use crate::emission::Emissions;
use crate::symbols::StateId;
use crate::{Error, Result};

/// What [`Search`] follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamOptions {
    /// States that score this much less than the best one in their frame are dropped; natural log, 0 or more.
    pub beam: f32,
    /// At most so many states are followed; 1 or more.
    pub max_active: usize,
}

impl BeamOptions {
    /// Nothing is dropped: exact search.
    pub const EXACT: BeamOptions = BeamOptions { beam: f32::INFINITY, max_active: usize::MAX };
}

impl Default for BeamOptions {
    /// A beam of 14 and 7,000 states.
    fn default() -> Self {
        Self { beam: 14.0, max_active: 7000 }
    }
}

/// A state that is followed.
#[derive(Debug, Clone, Copy)]
struct Token {
    state: StateId,
    /// Relative to the best token of its frame.
    score: f32,
    /// The [`Record`] of the segment that it is in.
    history: u32,
}

/// The best way found into a state: of those with the same score, the one from the lowest state.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    score: f32,
    /// Where it comes from; of no meaning in the first frame.
    from: StateId,
}

const NOBODY: Arrival = Arrival { score: f32::NEG_INFINITY, from: StateId(0) };

/// By ascending state, with the emission of the frame.
type Arrivals = Vec<(StateId, Arrival)>;

/// A segment that has begun.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// The record of the segment before; none for the first.
    previous: Option<u32>,
    /// The last state of the segment before; of no meaning for the first.
    left: StateId,
    /// The state in which it began.
    entered: StateId,
    /// The search frame in which it began.
    start: u32,
}

/// Token passing (Young, Russell and Thornton 1989) with a beam and a cap on the live states.
///
/// Memory is bounded by the live states and the segments of their histories, not by frames: a token points to a record that
/// is written only when a segment begins.
#[derive(Debug)]
pub struct Search {
    plan: Arc<Plan>,
    options: BeamOptions,
    frames: usize,
    /// By ascending state.
    tokens: Vec<Token>,
    /// Where the token of a live state is in `tokens`.
    place: Vec<u32>,
    /// By state; [`NOBODY`] between frames.
    arrivals: Vec<Arrival>,
    /// The states that somebody arrived at.
    reached: Vec<StateId>,
    records: Vec<Record>,
    compact_at: usize,
    /// By record; those that are marked have the value of `mark`.
    marks: Vec<u64>,
    mark: u64,
    /// The number of arcs that leave the tokens from which a frame is pulled and not pushed.
    dense_from: usize,
}

/// Records that are kept without looking whether they are still needed.
const FEW_RECORDS: usize = 1 << 16;

impl Search {
    /// A search that has seen no frame.
    pub fn new(plan: Arc<Plan>, options: BeamOptions) -> Self {
        Self {
            arrivals: vec![NOBODY; plan.graph().len()],
            place: vec![0; plan.graph().len()],
            dense_from: plan.graph().arc_count() / 4,
            plan,
            options,
            frames: 0,
            tokens: Vec::new(),
            reached: Vec::new(),
            records: Vec::new(),
            compact_at: FEW_RECORDS,
            marks: Vec::new(),
            mark: 0,
        }
    }

    /// Follows the paths through the next frames.
    ///
    /// # Errors
    /// [`Error::PdfCount`]; [`Error::BeamTooNarrow`] when every path was lost; [`Error::NoPath`] or [`Error::Impossible`]
    /// when there was none to lose.
    pub fn push(&mut self, emissions: &Emissions) -> Result<()> {
        self.plan.check(emissions)?;
        (0..emissions.frames()).try_for_each(|frame| self.step(emissions.frame(frame)))
    }

    /// The states that are followed, ascending, each with its score relative to the best of them.
    pub(super) fn live(&self) -> impl ExactSizeIterator<Item = (StateId, f32)> {
        self.tokens.iter().map(|token| (token.state, token.score))
    }

    /// Ends all paths and gives the segments of the best one that may end here.
    ///
    /// # Errors
    /// As [`Search::push`]: a path that may not end here is as good as lost.
    pub fn finish(&self) -> Result<Vec<SegmentSpan>> {
        let mut best: Option<(f32, Token)> = None;
        for end in &self.plan.finals {
            let Ok(found) = self.tokens.binary_search_by_key(&end.state, |token| token.state) else { continue };
            let score = self.tokens[found].score + end.score;
            if score > best.map_or(f32::NEG_INFINITY, |(best, _)| best) {
                best = Some((score, self.tokens[found]));
            }
        }
        match best {
            Some((_, token)) => Ok(self.trace(token)),
            None => Err(self.unfinished()),
        }
    }

    fn is_exact(&self) -> bool {
        self.options.beam == f32::INFINITY && self.options.max_active >= self.plan.graph().len()
    }

    /// Why no token is left in `frame`.
    fn lost(&self, frame: usize) -> Error {
        match self.is_exact() {
            _ if !self.plan.reaches(frame + 1) => self.plan.no_path(frame + 1, frame),
            true => Error::Impossible { frame },
            false => Error::BeamTooNarrow { frame, beam: self.options.beam },
        }
    }

    /// Why no token may end the path.
    fn unfinished(&self) -> Error {
        let frame = self.frames.saturating_sub(1);
        match self.plan.no_path(self.frames, frame) {
            Error::Impossible { .. } if !self.is_exact() => Error::BeamTooNarrow { frame, beam: self.options.beam },
            certain => certain,
        }
    }

    /// One frame of the recursion of [`forward`](super::forward): the tokens move on.
    pub(super) fn step(&mut self, emissions: &[f32]) -> Result<()> {
        let live_arcs = self.tokens.iter().map(|token| self.plan.outgoing.row(token.state.index()).len());
        let mut arrived = match self.frames {
            0 => self.begin(emissions),
            _ if live_arcs.sum::<usize>() < self.dense_from => self.push_along_arcs(emissions),
            _ => self.pull_along_arcs(emissions),
        };
        keep_best(&mut arrived, self.options.max_active);
        let Some(best) = arrived.iter().map(|(_, arrival)| arrival.score).reduce(f32::max) else {
            return Err(self.lost(self.frames));
        };
        let mut tokens = Vec::with_capacity(arrived.len());
        for (state, Arrival { score, from }) in arrived {
            tokens.push(Token { state, score: score - best, history: self.history(from, state) });
        }
        tokens.iter().enumerate().for_each(|(at, token)| self.place[token.state.index()] = at as u32);
        self.tokens = tokens;
        self.frames += 1;
        if self.records.len() > self.compact_at {
            self.compact();
        }
        Ok(())
    }

    /// The starts.
    fn begin(&self, emissions: &[f32]) -> Arrivals {
        let with_emission =
            self.plan.starts.iter().map(|start| (start.state, start.score + self.emission(emissions, start.state)));
        self.within_beam(with_emission.collect(), |_| StateId(0))
    }

    /// When few states are live: follows the arcs that leave them.
    ///
    /// The best score so far bounds from below what will survive, so most arcs are skipped after one comparison; the best
    /// token's arcs are looked at first to have a good bound at once (Kaldi's `next_cutoff`).
    fn push_along_arcs(&mut self, emissions: &[f32]) -> Arrivals {
        let Self { plan, tokens, arrivals, reached, options, .. } = self;
        let emission = |state: StateId| emissions[plan.pdfs[state.index()] as usize];
        let best = tokens.iter().filter(|token| token.score == 0.0).take(1);
        let bound = best.flat_map(|best| plan.outgoing.row(best.state.index())).map(|s| s.score + emission(s.state));
        // Never minus infinity: what scores that is not reached at all.
        let mut cutoff = bound.fold(f32::MIN, |cutoff, score| cutoff.max(score - options.beam));
        for token in &*tokens {
            for step in plan.outgoing.row(token.state.index()) {
                let score = token.score + step.score;
                let with_emission = score + emission(step.state);
                let arrival = &mut arrivals[step.state.index()];
                if with_emission >= cutoff && score > arrival.score {
                    if arrival.score == f32::NEG_INFINITY {
                        reached.push(step.state);
                    }
                    *arrival = Arrival { score, from: token.state };
                    cutoff = cutoff.max(with_emission - options.beam);
                }
            }
        }
        reached.sort_unstable();
        let arrived = reached.drain(..).map(|state| {
            let arrival = std::mem::replace(&mut arrivals[state.index()], NOBODY);
            (state, Arrival { score: arrival.score + emission(state), ..arrival })
        });
        let mut arrived: Arrivals = arrived.collect();
        arrived.retain(|(_, arrival)| arrival.score >= cutoff);
        arrived
    }

    /// When many states are live: for every state, joins the arcs that lead there.
    fn pull_along_arcs(&mut self, emissions: &[f32]) -> Arrivals {
        let mut scores = vec![f32::NEG_INFINITY; self.plan.graph().len()];
        self.tokens.iter().for_each(|token| scores[token.state.index()] = token.score);
        let mut joined = scores.clone();
        Max::step(&self.plan.incoming, Frames { previous: &scores, row: &mut joined, spare: &mut Vec::new() });
        let with_emission = joined.iter().zip(&self.plan.pdfs).map(|(score, &pdf)| score + emissions[pdf as usize]);
        let with_emission = with_emission.enumerate().map(|(state, score)| (StateId::from_index(state), score));
        self.within_beam(with_emission.collect(), |state| {
            giver(self.plan.incoming.row(state.index()), &scores, joined[state.index()])
        })
    }

    /// The states whose score is within the beam of the best, with what `from` says where they come from.
    fn within_beam(&self, scored: Vec<(StateId, f32)>, from: impl Fn(StateId) -> StateId) -> Arrivals {
        let best = scored.iter().map(|&(_, score)| score).fold(f32::NEG_INFINITY, f32::max);
        let cutoff = f32::MIN.max(best - self.options.beam);
        let kept = scored.into_iter().filter(|&(_, score)| score >= cutoff);
        kept.map(|(state, score)| (state, Arrival { score, from: from(state) })).collect()
    }

    fn emission(&self, emissions: &[f32], state: StateId) -> f32 {
        emissions[self.plan.pdfs[state.index()] as usize]
    }

    /// The record of the segment that `to` is in when it is entered from `from`: a new one where a segment begins.
    fn history(&mut self, from: StateId, to: StateId) -> u32 {
        let start = self.frames as u32;
        let before = (start > 0).then(|| self.tokens[self.place[from.index()] as usize].history);
        match before {
            Some(history) if !self.plan.graph().enters(from, to) => history,
            previous => {
                self.records.push(Record { previous, left: from, entered: to, start });
                (self.records.len() - 1) as u32
            }
        }
    }

    /// Forgets the records that no token descends from. A record stands behind those it points to.
    fn compact(&mut self) {
        let mut needed = vec![false; self.records.len()];
        self.tokens.iter().for_each(|token| needed[token.history as usize] = true);
        for (index, record) in self.records.iter().enumerate().rev() {
            if let (true, Some(previous)) = (needed[index], record.previous) {
                needed[previous as usize] = true;
            }
        }
        let mut moved = vec![0; self.records.len()];
        let mut kept = 0;
        for index in (0..self.records.len()).filter(|&index| needed[index]) {
            let record = self.records[index];
            self.records[kept] = Record { previous: record.previous.map(|at| moved[at as usize]), ..record };
            moved[index] = kept as u32;
            kept += 1;
        }
        self.records.truncate(kept);
        self.tokens.iter_mut().for_each(|token| token.history = moved[token.history as usize]);
        self.compact_at = FEW_RECORDS.max(2 * kept);
    }

    /// The segments of the path that ends with `token`.
    fn trace(&self, token: Token) -> Vec<SegmentSpan> {
        self.trace_back(token.history, token.state, self.frames)
    }

    /// The segments up to that of the record `history`, which ends before frame `end` in the state `last`.
    fn trace_back(&self, history: u32, mut last: StateId, mut end: usize) -> Vec<SegmentSpan> {
        let graph = self.plan.graph();
        let (mut spans, mut at) = (Vec::new(), Some(history));
        while let Some(index) = at {
            let record = self.records[index as usize];
            let (start, symbol) = (record.start as usize, graph.state(record.entered).symbol);
            spans.push(SegmentSpan { symbol, word: graph.word(last), start, end });
            (end, last, at) = (start, record.left, record.previous);
        }
        spans.reverse();
        spans
    }
}

/// Keeps the `most` best arrivals, of equals those in the lowest states, in their order.
fn keep_best(arrived: &mut Arrivals, most: usize) {
    if arrived.len() <= most {
        return;
    }
    let mut scores: Vec<f32> = arrived.iter().map(|(_, arrival)| arrival.score).collect();
    let (better, &mut threshold, _) = scores.select_nth_unstable_by(most, |a, b| b.total_cmp(a));
    let mut equals = better.iter().filter(|&&score| score == threshold).count();
    arrived.retain(|(_, arrival)| {
        let equal = arrival.score == threshold && equals > 0;
        equals -= usize::from(equal);
        equal || arrival.score > threshold
    });
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::super::oracle::{random_emissions, random_graph, random_weights, score};
    use super::super::{PlanOptions, search_widening, segments, viterbi};
    use super::*;
    use crate::matrix::Matrix;
    use crate::random::Random;

    pub(in crate::dp) fn random_plan(random: &mut Random) -> Arc<Plan> {
        let graph = Arc::new(random_graph(random));
        let weights = random_weights(&graph, random);
        Arc::new(Plan::new(&graph, &weights, &PlanOptions { insertion_penalty: score(random, 1.0) }).unwrap())
    }

    /// Whole numbers, so that many paths are equally good.
    fn tied(emissions: &Emissions) -> Emissions {
        let cells = emissions.matrix().as_slice().iter().map(|score| score.round()).collect();
        Emissions::new(Matrix::from_vec(emissions.frames(), emissions.pdfs(), cells).unwrap()).unwrap()
    }

    fn one_by_one(
        plan: &Arc<Plan>,
        emissions: &Emissions,
        options: BeamOptions,
        (compact, dense_from): (bool, Option<usize>),
    ) -> Result<Vec<SegmentSpan>> {
        let mut search = Search::new(plan.clone(), options);
        search.dense_from = dense_from.unwrap_or(search.dense_from);
        for frame in 0..emissions.frames() {
            if compact {
                search.compact_at = 0;
            }
            search.push(&Emissions::new(emissions.matrix().slice_rows(frame..frame + 1)).unwrap())?;
        }
        search.finish()
    }

    #[test]
    fn without_a_beam_it_is_viterbi() {
        let (mut found, mut refused) = (0, 0);
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let frames = random.below(40);
            let mut emissions = random_emissions((frames, 3), &mut random, 3.0, [0, 20][seed as usize % 2]);
            if seed % 3 == 0 {
                emissions = tied(&emissions);
            }
            match (viterbi(&plan, &emissions), search_widening(&plan, &emissions, BeamOptions::EXACT)) {
                (Ok(path), Ok((spans, retries))) => {
                    assert_eq!(spans, segments(plan.graph(), &path.states));
                    assert!(retries.is_empty());
                    found += 1;
                }
                (Err(exact), Err(search)) => {
                    assert_eq!(exact.to_string(), search.to_string());
                    refused += 1;
                }
                (exact, search) => panic!("{exact:?} {search:?}"),
            }
        }
        assert!(found > 500 && refused > 100, "{found} {refused}");
    }

    #[test]
    fn blocks_compaction_and_direction_change_nothing() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let emissions = random_emissions((60, 3), &mut random, 3.0, 0);
            let options = BeamOptions { beam: 2.0 + score(&mut random, 2.0), max_active: 1 + random.below(5) };
            let mut whole = Search::new(plan.clone(), options);
            let whole = whole.push(&emissions).and_then(|()| whole.finish());
            for way in [(false, None), (true, None), (false, Some(0)), (true, Some(usize::MAX))] {
                let blocks = one_by_one(&plan, &emissions, options, way);
                assert_eq!(format!("{whole:?}"), format!("{blocks:?}"));
            }
        }
    }

    #[test]
    fn compaction_keeps_what_the_tokens_need_and_no_more() {
        let (mut all, mut kept) = (0, 0);
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut search = Search::new(random_plan(&mut random), BeamOptions::EXACT);
            if search.push(&random_emissions((500, 3), &mut random, 3.0, 0)).is_err() {
                continue;
            }
            all += search.records.len();
            search.compact();
            kept += search.records.len();
            let lengths: Vec<usize> = search.tokens.iter().map(|&token| search.trace(token).len()).collect();
            assert!(search.records.len() >= *lengths.iter().max().unwrap());
            assert!(search.records.len() <= lengths.iter().sum());
        }
        assert!(0 < kept && 2 * kept < all, "{kept} of {all}");
    }

    /// The segmentations of all legal paths.
    pub(in crate::dp) fn legal(plan: &Plan, frames: usize) -> BTreeSet<String> {
        let paths = legal_paths(plan, frames);
        paths.iter().map(|path| format!("{:?}", segments(plan.graph(), path))).collect()
    }

    /// Every path of so many frames from a start to an end.
    pub(in crate::dp) fn legal_paths(plan: &Plan, frames: usize) -> Vec<Vec<StateId>> {
        let graph = plan.graph();
        let mut paths: Vec<Vec<StateId>> = graph.starts().iter().map(|start| vec![start.state]).collect();
        for _ in 1..frames {
            let longer = |path: &Vec<StateId>| {
                let (path, last) = (path.clone(), path[path.len() - 1]);
                graph.arcs(last).iter().map(move |arc| [&path[..], &[arc.to]].concat())
            };
            paths = paths.iter().flat_map(longer).collect();
        }
        let ends = |path: &Vec<StateId>| graph.finals().iter().any(|end| end.state == path[path.len() - 1]);
        paths.into_iter().filter(ends).collect()
    }

    #[test]
    fn what_is_found_is_legal_at_any_beam() {
        let mut found = 0;
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let plan = random_plan(&mut random);
            let frames = 1 + random.below(6);
            let legal = legal(&plan, frames);
            let emissions = random_emissions((frames, 3), &mut random, 3.0, 0);
            for beam in [0.0, 0.5, 2.0, f32::INFINITY] {
                for max_active in [1, 2, 10] {
                    let options = BeamOptions { beam, max_active };
                    let mut search = Search::new(plan.clone(), options);
                    match search.push(&emissions).and_then(|()| search.finish()) {
                        Ok(spans) => assert!(legal.contains(&format!("{spans:?}"))),
                        Err(Error::BeamTooNarrow { .. }) => {}
                        Err(_) => assert!(legal.is_empty()),
                    }
                    match search_widening(&plan, &emissions, options) {
                        Ok((spans, _)) => assert!(legal.contains(&format!("{spans:?}"))),
                        Err(_) => assert!(legal.is_empty()),
                    }
                    found += usize::from(!legal.is_empty());
                }
            }
        }
        assert!(found > 2000, "{found}");
    }

    #[test]
    fn the_cap_keeps_the_best_and_of_equals_the_lowest() {
        let arrivals = |scores: &[f32]| -> Arrivals {
            scores.iter().enumerate().map(|(s, &score)| (StateId(s as u32), Arrival { score, ..NOBODY })).collect()
        };
        let kept = |most: usize| {
            let mut all = arrivals(&[-1.0, 0.0, -1.0, -5.0, -1.0, -0.5]);
            keep_best(&mut all, most);
            all.iter().map(|(state, _)| state.0).collect::<Vec<_>>()
        };
        assert_eq!(kept(6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(kept(4), [0, 1, 2, 5]);
        assert_eq!(kept(2), [1, 5]);
        assert!(kept(0).is_empty());
    }
}
