//! What a search has decided already: the segments that every path that is followed has in common.
//!
//! Tokens descend from records as leaves do from the branches of a tree. Where one record stands below all of them, what came
//! before it is certain, and nothing that is heard later can change it.

use super::{BeamOptions, Record, Search, Token};
use crate::dp::SegmentSpan;
use crate::symbols::StateId;

/// What a search is following after some frame: enough to go on from there once more.
#[derive(Debug, Clone, Default)]
pub(in crate::dp) struct Standing {
    /// Frames that have been followed.
    pub frames: usize,
    tokens: Vec<Token>,
    records: Vec<Record>,
}

/// Segments on which all paths agree.
#[derive(Debug)]
pub(in crate::dp) struct Agreed {
    /// In time order; they follow those that were agreed on before.
    pub spans: Vec<SegmentSpan>,
    /// Where they end.
    pub end: Leaving,
}

/// A segment is left from this state, and the next one begins in this frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dp) struct Leaving {
    left: StateId,
    pub frame: usize,
}

impl Search {
    /// The segments that all paths have come to share since the last time, and that they all leave at the same time from the same
    /// state, whatever follows; none if there are none.
    pub(in crate::dp) fn commit(&mut self) -> Option<Agreed> {
        let common = self.common()?;
        let (last, end) = match self.leaving(common) {
            Some(end) => (common, end),
            None => {
                let Record { previous, left, start, .. } = self.records[common as usize];
                (previous?, Leaving { left, frame: start as usize })
            }
        };
        let spans = self.trace_back(last, end.left, end.frame);
        let after = self.records.iter_mut().zip(&self.marks);
        let after = after.filter(|(record, mark)| **mark == self.mark && record.previous == Some(last));
        after.for_each(|(record, _)| record.previous = None);
        Some(Agreed { spans, end })
    }

    /// How the segment `common`, which all paths share, is left, if all leave it alike.
    fn leaving(&self, common: u32) -> Option<Leaving> {
        if self.tokens.iter().any(|token| token.history == common) {
            return None;
        }
        let later = self.records.iter().zip(&self.marks).skip(common as usize + 1);
        let next = later.filter(|(record, mark)| **mark == self.mark && record.previous == Some(common));
        let mut ends = next.map(|(record, _)| Leaving { left: record.left, frame: record.start as usize });
        let first = ends.next()?;
        ends.all(|end| end == first).then_some(first)
    }

    /// Where a search stands that knows nothing but that a segment is left as `end` says; `emissions` are those of the frame in which
    /// the next one begins, which may be any.
    pub(in crate::dp) fn entering(&self, end: Leaving, emissions: &[f32]) -> Standing {
        let Leaving { left, frame } = end;
        let graph = self.plan.graph();
        let (mut tokens, mut records) = (vec![], vec![]);
        for step in self.plan.outgoing.row(left.index()) {
            let score = step.score + self.emission(emissions, step.state);
            if graph.enters(left, step.state) && score > f32::NEG_INFINITY {
                tokens.push(Token { state: step.state, score, history: records.len() as u32 });
                records.push(Record { previous: None, left, entered: step.state, start: frame as u32 });
            }
        }
        let best = tokens.iter().map(|token| token.score).fold(f32::NEG_INFINITY, f32::max);
        tokens.iter_mut().for_each(|token| token.score -= best);
        Standing { frames: frame + 1, tokens, records }
    }

    /// Drops the paths that parted from the best one more than `most` frames ago and are more than `margin` behind it, so that the
    /// others agree on what was before.
    pub(in crate::dp) fn settle(&mut self, most: usize, margin: f32) {
        let Some(latest) = self.frames.checked_sub(most) else { return };
        loop {
            let common = self.common();
            if common.is_some_and(|at| self.records[at as usize].start as usize >= latest) {
                return;
            }
            let branch = |token: &Token| self.branch(token.history, common, latest);
            let Some(best) = self.tokens.iter().find(|token| token.score == 0.0).map(branch) else { return };
            let kept = self.tokens.iter().filter(|token| token.score >= -margin || branch(token) == best);
            let kept: Vec<Token> = kept.copied().collect();
            if kept.len() == self.tokens.len() {
                return;
            }
            self.follow(kept);
        }
    }

    /// Where the search stands; the records that nothing needs are forgotten.
    pub(in crate::dp) fn standing(&mut self) -> Standing {
        self.compact();
        Standing { frames: self.frames, tokens: self.tokens.clone(), records: self.records.clone() }
    }

    /// Goes on from where it stood, with other `options`.
    pub(in crate::dp) fn restore(&mut self, standing: &Standing, options: BeamOptions) {
        self.options = options;
        self.frames = standing.frames;
        self.records.clone_from(&standing.records);
        self.compact_at = super::FEW_RECORDS;
        self.follow(standing.tokens.clone());
    }

    /// How it prunes.
    pub(in crate::dp) fn options(&self) -> BeamOptions {
        self.options
    }

    /// Prunes as `options` say from the next frame on.
    pub(in crate::dp) fn set_options(&mut self, options: BeamOptions) {
        self.options = options;
    }

    /// The last record from which every token descends.
    ///
    /// A record stands behind those it points to. So from the last one on, each is replaced by the one before it until one is left.
    fn common(&mut self) -> Option<u32> {
        self.marks.resize(self.records.len(), 0);
        self.mark += 1;
        let mut left = 0;
        for token in &self.tokens {
            left += usize::from(std::mem::replace(&mut self.marks[token.history as usize], self.mark) != self.mark);
        }
        for index in (0..self.records.len()).rev() {
            match self.records[index].previous {
                _ if self.marks[index] != self.mark => {}
                _ if left == 1 => return Some(index as u32),
                None => return None,
                Some(previous) => {
                    let known = std::mem::replace(&mut self.marks[previous as usize], self.mark) == self.mark;
                    left -= usize::from(known);
                }
            }
        }
        None
    }

    /// The first record after `common` on the way to `history`, if it began before frame `latest`.
    fn branch(&self, history: u32, common: Option<u32>, latest: usize) -> Option<u32> {
        let (mut branch, mut at) = (None, Some(history));
        while let Some(index) = at.filter(|_| at != common) {
            let record = self.records[index as usize];
            branch = ((record.start as usize) < latest).then_some(index);
            at = record.previous;
        }
        branch
    }

    fn follow(&mut self, tokens: Vec<Token>) {
        tokens.iter().enumerate().for_each(|(at, token)| self.place[token.state.index()] = at as u32);
        self.tokens = tokens;
    }
}
