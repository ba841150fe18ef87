//! The recursion: forwards or backwards in time, with the operation of a [`Semiring`].
//!
//! A [`Plan`] and [`Emissions`] `[T x P]` come in, a score for every frame and state `[T x S]` goes out.

use super::plan::Plan;
use super::rows::{Rows, Step};
use super::semiring::{Frames, Semiring};
use crate::emission::Emissions;
use crate::{Error, Result};

/// Scores of all partial paths, `[T x S]`, natural log.
///
/// A cell is held relative to its frame's best cell, so that `f32` stays exact however long the utterance is: its full
/// score is `frame(t)[s] + offset(t)`.
#[derive(Debug, Clone)]
pub struct Trellis<S: Semiring> {
    states: usize,
    cells: Vec<S::Score>,
    offsets: Vec<f64>,
    total: f64,
}

impl<S: Semiring> Trellis<S> {
    /// Cells that no path leads to.
    fn impossible(frames: usize, states: usize) -> Result<Self> {
        let count = frames.saturating_mul(states);
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).map_err(|_| {
            let reason = format!("a score for each of {states} states in each of {frames} search frames");
            Error::Other(reason + " does not fit into memory: search with a beam, or cut the recording")
        })?;
        cells.resize(count, S::Score::from(f32::NEG_INFINITY));
        Ok(Self { states, cells, offsets: vec![0.0; frames], total: f64::NEG_INFINITY })
    }

    /// Number of search frames, T.
    pub fn frames(&self) -> usize {
        self.offsets.len()
    }

    /// The cells of frame `frame` by state, relative to [`Trellis::offset`]: 0 or less.
    pub fn frame(&self, frame: usize) -> &[S::Score] {
        &self.cells[frame * self.states..(frame + 1) * self.states]
    }

    /// What the cells of frame `frame` are relative to.
    pub fn offset(&self, frame: usize) -> f64 {
        self.offsets[frame]
    }

    /// The join over all paths: the best score with [`Max`](super::Max), log Z with [`LogSum`](super::LogSum).
    pub fn total(&self) -> f64 {
        self.total
    }
}

/// Joins, for every frame t and state s, all ways to begin and come to s in t; the emission of t included.
///
/// ```text
/// alpha[0, s] = emission[0, s] + start(s)
/// alpha[t, s] = emission[t, s] + join_r (alpha[t-1, r] + arc(r -> s))
/// total       = join_s (alpha[T-1, s] + final(s))
/// ```
///
/// # Errors
/// [`Error::PdfCount`]; [`Error::NoPath`] when no path has this many frames; [`Error::Impossible`] when all of them meet a
/// score of minus infinity; [`Error::Other`] when the scores do not fit into memory.
pub fn forward<S: Semiring>(plan: &Plan, emissions: &Emissions) -> Result<Trellis<S>> {
    let way = Way { rows: &plan.incoming, first: &plan.starts, last: &plan.finals };
    sweep(plan, emissions, way, 0..emissions.frames())
}

/// Joins, for every frame t and state s, all ways to go on from s in t to the end; the emission of t included, so that
/// this is [`forward`] in a mirror.
///
/// ```text
/// beta[T-1, s] = emission[T-1, s] + final(s)
/// beta[t, s]   = emission[t, s] + join_r (beta[t+1, r] + arc(s -> r))
/// total        = join_s (beta[0, s] + start(s))
/// ```
///
/// # Errors
/// As [`forward`].
pub fn backward<S: Semiring>(plan: &Plan, emissions: &Emissions) -> Result<Trellis<S>> {
    let way = Way { rows: &plan.outgoing, first: &plan.finals, last: &plan.starts };
    sweep(plan, emissions, way, (0..emissions.frames()).rev())
}

/// One direction of time: the arcs that lead to a state, the edge to begin at and the edge to end at.
struct Way<'a> {
    rows: &'a Rows,
    first: &'a [Step],
    last: &'a [Step],
}

/// The recursion over the frames in `order`.
fn sweep<S: Semiring>(
    plan: &Plan,
    emissions: &Emissions,
    way: Way,
    order: impl Iterator<Item = usize>,
) -> Result<Trellis<S>> {
    plan.check(emissions)?;
    let (frames, states) = (emissions.frames(), plan.graph().len());
    let mut trellis = Trellis::<S>::impossible(frames, states)?;
    let mut spare = Vec::new();
    let mut before: Option<usize> = None;
    for frame in order {
        let (row, previous) = neighbours(&mut trellis.cells, states, frame, before);
        match previous {
            None => way.first.iter().for_each(|step| row[step.state.index()] = step.score.into()),
            Some(previous) => S::step(way.rows, Frames { previous, row: &mut *row, spare: &mut spare }),
        }
        let Some(best) = finish_frame::<S>(row, plan, emissions.frame(frame)) else {
            return Err(plan.no_path(frames, frame));
        };
        trellis.offsets[frame] = best.into() + before.map_or(0.0, |before| trellis.offsets[before]);
        before = Some(frame);
    }
    if let Some(end) = before {
        trellis.total = S::join(way.last, trellis.frame(end)).into() + trellis.offset(end);
    }
    if trellis.total == f64::NEG_INFINITY {
        return Err(plan.no_path(frames, before.unwrap_or(0)));
    }
    Ok(trellis)
}

/// The cells of `frame`, to fill, and those of the frame swept `before` it, to read.
fn neighbours<T>(cells: &mut [T], states: usize, frame: usize, before: Option<usize>) -> (&mut [T], Option<&[T]>) {
    let Some(before) = before else {
        return (&mut cells[frame * states..(frame + 1) * states], None);
    };
    let (low, high) = cells.split_at_mut(frame.max(before) * states);
    let lower = &mut low[frame.min(before) * states..];
    let upper = &mut high[..states];
    if frame > before { (upper, Some(lower)) } else { (lower, Some(upper)) }
}

/// Adds the emissions of a frame and makes the cells relative to the best of them; `None` when all are impossible.
fn finish_frame<S: Semiring>(row: &mut [S::Score], plan: &Plan, emissions: &[f32]) -> Option<S::Score> {
    if plan.own_pdfs {
        row.iter_mut().zip(emissions).for_each(|(cell, &emission)| *cell = *cell + emission.into());
    } else {
        row.iter_mut().zip(&plan.pdfs).for_each(|(cell, &pdf)| *cell = *cell + emissions[pdf as usize].into());
    }
    let impossible = S::Score::from(f32::NEG_INFINITY);
    let best = largest(row, impossible);
    if best == impossible {
        return None;
    }
    row.iter_mut().for_each(|cell| *cell = *cell - best);
    Some(best)
}

/// The largest of `values` and `lowest`.
pub(super) fn largest<T: Copy + PartialOrd>(values: &[T], lowest: T) -> T {
    let larger = |a: T, b: T| if b > a { b } else { a };
    // Eight running maxima, which the compiler makes into vectors.
    let mut best = [lowest; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        best.iter_mut().zip(chunk).for_each(|(best, &value)| *best = larger(*best, value));
    }
    best.iter_mut().zip(rest).for_each(|(best, &value)| *best = larger(*best, value));
    best.into_iter().fold(lowest, larger)
}
