//! How probable each symbol is in each frame, by forward and backward over the states that a beam search follows.
//!
//! [`Emissions`] come in block by block; [`FramePosteriors`] go out, a window behind, so that memory does not grow with the
//! recording. The posterior of a decoded segment is the mean over its frames of the posterior of its symbol: the sum of all paths
//! that say the symbol there, whenever they begin and end it (Wessel, Schlüter, Macherey and Ney, "Confidence measures for large
//! vocabulary continuous speech recognition", 2001, section IV: frame-wise sums instead of those of arcs with equal times).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::beam::{BeamOptions, Search};
use super::live::{Column, Ending, LiveTrellis, Places, Step, column, keep_within, too_far_behind};
use super::plan::Plan;
use super::segments::SegmentSpan;
use crate::Result;
use crate::emission::Emissions;
use crate::symbols::{StateId, SymbolId, WordId};

/// How [`ForwardBackward`] sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PosteriorOptions {
    /// What is searched.
    pub search: BeamOptions,
    /// Paths that score this much less than the best are left out of sums; natural log, above 0.
    pub beam: f32,
    /// Weight of all scores in the sums; below 1 takes off what emissions of neighbouring frames say twice.
    pub scale: f32,
    /// Search frames that are summed at once.
    pub window: usize,
    /// Search frames after these that have their say before sums are final; 1 at least.
    pub overlap: usize,
}

/// What is said in one frame, as shares of all paths.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FramePosteriors {
    /// P(the frame is part of this symbol), ascending by symbol; the shares sum to 1.
    pub symbols: Vec<(SymbolId, f32)>,
    /// P(this word ends with the frame), ascending by word.
    pub word_ends: Vec<(WordId, f32)>,
}

/// Forward and backward, window by window.
#[derive(Debug)]
pub struct ForwardBackward {
    plan: Arc<Plan>,
    options: PosteriorOptions,
    search: Search,
    columns: Vec<Column>,
    /// The sums of all ways to the states of the first column, relative to the best way; empty at the start.
    carried: Vec<(StateId, f64)>,
    places: Places,
    keep: f32,
}

impl ForwardBackward {
    /// Sums over `plan` that have seen no frame.
    pub fn new(plan: &Arc<Plan>, options: PosteriorOptions) -> Self {
        let search = Search::new(plan.clone(), options.search);
        let options = PosteriorOptions { overlap: options.overlap.max(1), ..options };
        let keep = keep_within(plan, options.window.saturating_add(options.overlap));
        Self { search, options, columns: vec![], carried: vec![], places: Places::new(plan), plan: plan.clone(), keep }
    }

    /// Takes the next frames; gives the posteriors of those that are settled by now, in order.
    ///
    /// # Errors
    /// As [`Search::push`].
    pub fn push(&mut self, emissions: &Emissions) -> Result<Vec<FramePosteriors>> {
        self.plan.check(emissions)?;
        let mut settled = vec![];
        for frame in 0..emissions.frames() {
            let row = emissions.frame(frame);
            self.search.step(row)?;
            self.columns.push(column(&self.plan, &self.search, (row, self.keep)));
            if self.columns.len() >= self.options.window.max(1) + self.options.overlap {
                settled.extend(self.sum(Ending::Open)?);
            }
        }
        Ok(settled)
    }

    /// Ends the recording; gives the posteriors of the frames that are left.
    ///
    /// # Errors
    /// As [`Search::finish`].
    pub fn finish(mut self) -> Result<Vec<FramePosteriors>> {
        let search = std::mem::replace(&mut self.search, Search::new(self.plan.clone(), self.options.search));
        search.finish()?;
        self.sum(Ending::Final)
    }

    /// The posteriors of the first window, or of all frames at the end.
    fn sum(&mut self, ending: Ending) -> Result<Vec<FramePosteriors>> {
        let count = match ending {
            Ending::Open => self.options.window.max(1),
            Ending::Final => self.columns.len(),
        };
        let trellis = LiveTrellis::new(&self.plan, &self.columns, (ending, self.options.beam), &mut self.places);
        if !trellis.is_whole() {
            return Err(too_far_behind(self.keep));
        }
        let sums = Sums { plan: &self.plan, trellis: &trellis, scale: f64::from(self.options.scale) };
        let forward = sums.forward(&self.carried);
        let posteriors = sums.posteriors(&forward, (count, ending));
        if let (Some(cells), Some(ways)) = (trellis.columns.get(count), forward.get(count)) {
            self.carried = cells.iter().map(|cell| cell.state).zip(ways.iter().copied()).collect();
        }
        self.columns.drain(..count);
        Ok(posteriors)
    }
}

/// A live trellis to be summed over.
struct Sums<'a> {
    plan: &'a Plan,
    trellis: &'a LiveTrellis,
    scale: f64,
}

impl Sums<'_> {
    /// exp(-scale * loss): what a step weighs beside the best one to the same cell.
    fn weight(&self, step: &Step) -> f64 {
        (-self.scale * f64::from(step.loss)).exp()
    }

    /// All ways to each cell, relative to the best one to that cell and, but for a factor, all of its frame:
    ///
    /// ```text
    /// alpha[t, s] = sum_r alpha[t-1, r] * exp(-scale * loss(r -> s))
    /// ```
    fn forward(&self, carried: &[(StateId, f64)]) -> Vec<Vec<f64>> {
        let mut forward: Vec<Vec<f64>> = Vec::with_capacity(self.trellis.columns.len());
        for (frame, cells) in self.trellis.columns.iter().enumerate() {
            let mut ways = vec![0.0; cells.len()];
            match frame {
                0 => {
                    let known = |state| carried.binary_search_by_key(&state, |&(state, _)| state).ok();
                    ways.iter_mut()
                        .zip(cells)
                        .for_each(|(way, cell)| *way = known(cell.state).map_or(0.0, |at| carried[at].1));
                }
                _ => {
                    let before = &forward[frame - 1];
                    for step in &self.trellis.steps[frame - 1] {
                        ways[step.to as usize] += before[step.from as usize] * self.weight(step);
                    }
                }
            }
            normalise(&mut ways);
            forward.push(ways);
        }
        forward
    }

    /// The posteriors of the first `count` frames, by
    ///
    /// ```text
    /// beta[T-1, s] = exp(scale * through(s))
    /// beta[t, s]   = sum_r exp(-scale * loss(s -> r)) * beta[t+1, r]
    /// P(s at t)    = alpha[t, s] * beta[t, s] / sum of the same over s
    /// ```
    fn posteriors(&self, forward: &[Vec<f64>], (count, ending): (usize, Ending)) -> Vec<FramePosteriors> {
        let columns = &self.trellis.columns;
        let mut found = vec![];
        let mut beta: Vec<f64> = vec![];
        for frame in (0..columns.len()).rev() {
            let (alpha, cells) = (&forward[frame], &columns[frame]);
            let mut ends = Shares::default();
            let mut next = vec![0.0; cells.len()];
            match self.trellis.steps.get(frame) {
                None => {
                    for (at, cell) in cells.iter().enumerate() {
                        next[at] = (self.scale * f64::from(cell.through)).exp();
                        let word = self.plan.graph().word(cell.state).filter(|_| ending == Ending::Final);
                        word.into_iter().for_each(|word| ends.add(word.0, alpha[at] * next[at]));
                    }
                }
                Some(steps) => {
                    for step in steps {
                        let (from, to) = (step.from as usize, step.to as usize);
                        let onward = self.weight(step) * beta[to];
                        next[from] += onward;
                        let (left, entered) = (cells[from].state, columns[frame + 1][to].state);
                        if let Some(word) = self.plan.graph().word(left)
                            && self.plan.graph().enters(left, entered)
                        {
                            ends.add(word.0, alpha[from] * onward);
                        }
                    }
                }
            }
            if frame < count {
                let mut symbols = Shares::default();
                for (at, cell) in cells.iter().enumerate() {
                    symbols.add(self.plan.graph().state(cell.state).symbol.0, alpha[at] * next[at]);
                }
                let total = symbols.0.values().sum();
                let (symbols, word_ends) = (symbols.of(total, SymbolId), ends.of(total, WordId));
                found.push(FramePosteriors { symbols, word_ends });
            }
            normalise(&mut next);
            beta = next;
        }
        found.reverse();
        found
    }
}

/// Sums by number.
#[derive(Default)]
struct Shares(BTreeMap<u32, f64>);

impl Shares {
    fn add(&mut self, number: u32, sum: f64) {
        *self.0.entry(number).or_default() += sum;
    }

    /// The sums as shares of `total`.
    fn of<T>(self, total: f64, name: impl Fn(u32) -> T) -> Vec<(T, f32)> {
        let shares = self.0.into_iter().map(|(number, sum)| (name(number), (sum / total) as f32));
        shares.filter(|&(_, share)| share > 0.0).collect()
    }
}

/// Makes the largest of `ways` 1; all are, where none is possible, as at the start.
fn normalise(ways: &mut [f64]) {
    let largest = ways.iter().copied().fold(0.0, f64::max);
    match largest > 0.0 {
        true => ways.iter_mut().for_each(|way| *way /= largest),
        false => ways.fill(1.0),
    }
}

/// The posterior of a decoded segment, 0 to 1: the mean over its frames of the posterior of its symbol. `frames` are those of the
/// whole recording.
pub fn symbol_posterior(frames: &[FramePosteriors], span: &SegmentSpan) -> f32 {
    let share = |frame: &FramePosteriors| {
        let found = frame.symbols.binary_search_by_key(&span.symbol, |&(symbol, _)| symbol);
        found.map_or(0.0, |at| f64::from(frame.symbols[at].1))
    };
    let within = frames.get(span.start..span.end).unwrap_or_default();
    (within.iter().map(share).sum::<f64>() / within.len().max(1) as f64) as f32
}

/// The posterior of a decoded word, 0 to 1: how probable it is that the word ends about where it does, between its middle and half
/// its length after its end. `frames` are those of the whole recording, of which the word takes `span`.
pub fn word_posterior(frames: &[FramePosteriors], word: WordId, span: std::ops::Range<usize>) -> f32 {
    let half = span.len() / 2;
    let ends = span.start + half..(span.end + half).min(frames.len());
    let share = |frame: &FramePosteriors| {
        let found = frame.word_ends.binary_search_by_key(&word, |&(word, _)| word);
        found.map_or(0.0, |at| f64::from(frame.word_ends[at].1))
    };
    let sum: f64 = frames.get(ends).unwrap_or_default().iter().map(share).sum();
    sum.min(1.0) as f32
}

#[cfg(test)]
#[path = "posterior_tests.rs"]
mod tests;
