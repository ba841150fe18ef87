//! Memory along a sequence: what was said so far weighs or forbids what may follow.
//!
//! An n-gram remembers the last symbols, an exclusive rule which of two groups has occurred, a grammar where in its rule the
//! sequence stands. One function multiplies a net by any of them: every segment once for each state of memory after it.

use std::collections::BTreeMap;

use super::lattice::{Lattice, Link, MOST_ARCS, Segment, too_large};
use super::ngram::{HistoryId, Ngram};
use crate::Result;
use crate::error::require;

/// What must be remembered of a sequence to know how it may go on.
pub(super) trait Memory {
    /// What is remembered.
    type State: Copy + Ord;

    /// What is remembered before the first segment.
    fn start(&self) -> Self::State;

    /// Calls `go` with the score (natural log) and the state after it of each way to say `segment` after `state`. A way that scores
    /// minus infinity is none.
    fn after(&self, state: Self::State, segment: &Segment, go: impl FnMut(f32, Self::State));

    /// The score of ending in `state`, natural log; minus infinity where a sequence may not end.
    fn end(&self, state: Self::State) -> f32;
}

/// A net by states of memory: all of its segments are reached from a start, but not all lead to an end.
pub(super) struct Remembered {
    pub net: Lattice,
    /// The segment of the plain net that each of `net` is.
    pub plain: Vec<usize>,
}

impl Lattice {
    /// The same sequences, as far as `memory` allows them and with its scores.
    ///
    /// # Errors
    /// [`crate::Error::Other`] when there would be more than 50 million links.
    pub(super) fn remembered<M: Memory>(&self, memory: &M) -> Result<Remembered> {
        let mut product =
            Product { plain: self, memory, places: BTreeMap::new(), open: vec![], net: Lattice::default() };
        product.expand()?;
        Ok(Remembered { plain: product.open.into_iter().map(|(_, segment)| segment).collect(), net: product.net })
    }

    /// The same sequences, weighed by an n-gram over their symbols and the factor on its scores. `None` when all sequences have
    /// probability 0.
    ///
    /// # Errors
    /// As [`Lattice::remembered`]; [`crate::Error::Setting`] when the factor is negative or not finite.
    pub(super) fn weighed(&self, (ngram, scale): (&Ngram, f32)) -> Result<Option<Lattice>> {
        require(scale.is_finite() && scale >= 0.0, "scale of the n-gram", scale, "a finite number of 0 or more")?;
        Ok(self.remembered(&Histories { ngram, scale })?.net.trimmed())
    }
}

/// A product, as far as it is laid out.
struct Product<'a, M: Memory> {
    plain: &'a Lattice,
    memory: &'a M,
    /// The new segment of a plain one and the state after it.
    places: BTreeMap<(M::State, usize), usize>,
    /// The same, by new segment.
    open: Vec<(M::State, usize)>,
    net: Lattice,
}

impl<M: Memory> Product<'_, M> {
    /// Breadth first from the starts: segments are numbered as they are met.
    fn expand(&mut self) -> Result<()> {
        let mut onward = vec![vec![]; self.plain.segments.len()];
        self.plain.links.iter().for_each(|link| onward[link.from].push((link.to, link.fixed)));
        let ends: BTreeMap<usize, f32> = self.plain.ends.iter().copied().collect();
        for &(segment, fixed) in &self.plain.starts {
            self.enter(self.memory.start(), segment, |net, to, score| net.starts.push((to, fixed + score)));
        }
        let mut from = 0;
        while let Some(&(state, segment)) = self.open.get(from) {
            let end = self.memory.end(state);
            if let (Some(fixed), true) = (ends.get(&segment), end.is_finite()) {
                self.net.ends.push((from, fixed + end));
            }
            for &(to, fixed) in &onward[segment] {
                self.enter(state, to, |net, to, score| net.links.push(Link { from, to, fixed: fixed + score }));
            }
            if self.net.links.len() > MOST_ARCS {
                return Err(too_large(self.net.links.len()));
            }
            from += 1;
        }
        Ok(())
    }

    /// Takes each step into the places of `segment` said after `state`, with what memory adds.
    fn enter(&mut self, state: M::State, segment: usize, mut step: impl FnMut(&mut Lattice, usize, f32)) {
        let Self { plain, memory, places, open, net } = self;
        let said = plain.segments[segment];
        memory.after(state, &said, |score, after| {
            if score.is_finite() {
                let place = *places.entry((after, segment)).or_insert_with(|| {
                    open.push((after, segment));
                    net.segment(said)
                });
                step(net, place, score);
            }
        });
    }
}

/// An n-gram and the factor on its scores. A symbol that it does not know leaves the history as it is and scores nothing.
struct Histories<'a> {
    ngram: &'a Ngram,
    scale: f32,
}

impl Memory for Histories<'_> {
    type State = HistoryId;

    fn start(&self) -> HistoryId {
        self.ngram.start()
    }

    fn after(&self, history: HistoryId, segment: &Segment, mut go: impl FnMut(f32, HistoryId)) {
        match self.ngram.knows(segment.symbol) {
            true => {
                let score = self.scale * self.ngram.score(history, segment.symbol);
                go(score, self.ngram.next(history, segment.symbol));
            }
            false => go(0.0, history),
        }
    }

    fn end(&self, history: HistoryId) -> f32 {
        self.scale * self.ngram.end(history)
    }
}
