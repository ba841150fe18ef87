//! The rows of a batch in the order of time, so that what a recurrent layer does at one step lies side by side.

use std::ops::Range;

use super::splice::Segments;

/// Which way a recurrent layer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the first row to the last.
    Forward,
    /// From the last row to the first.
    Backward,
}

impl Direction {
    /// As parameters are called by it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

/// All rows of a batch by their time in their utterance, at each time the longest utterance first.
///
/// An utterance is then at the same place, its lane, at every time that it has: those that have ended are behind the others.
pub(super) struct Timeline {
    /// The row at each place.
    rows: Vec<usize>,
    /// The place at which each time begins, and at last the number of places.
    firsts: Vec<usize>,
}

/// One step of reading: the places of the rows read, and those of the rows that their lanes have read last. There may be
/// fewer of these, for lanes that begin; lanes that begin are the last ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) now: Range<usize>,
    pub(super) past: Range<usize>,
}

impl Timeline {
    pub(super) fn new(segments: &Segments) -> Self {
        let mut lanes: Vec<(usize, usize)> = segments.iter().filter(|lane| lane.1 > 0).collect();
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.1));
        let (mut rows, mut firsts) = (Vec::with_capacity(segments.rows()), vec![0]);
        for time in 0..lanes.first().map_or(0, |lane| lane.1) {
            rows.extend(lanes.iter().take_while(|lane| lane.1 > time).map(|lane| lane.0 + time));
            firsts.push(rows.len());
        }
        Self { rows, firsts }
    }

    /// The row at each place.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    fn at(&self, time: usize) -> Option<Range<usize>> {
        Some(self.firsts[time]..*self.firsts.get(time + 1)?)
    }

    /// The steps in the order of reading.
    pub(super) fn steps(&self, direction: Direction) -> Vec<Step> {
        let times = self.firsts.len() - 1;
        let step = |time: usize| {
            let now = self.firsts[time]..self.firsts[time + 1];
            let past = match direction {
                Direction::Forward if time == 0 => 0..0,
                Direction::Forward => self.firsts[time - 1]..self.firsts[time - 1] + now.len(),
                Direction::Backward => self.at(time + 1).unwrap_or(0..0),
            };
            Step { now, past }
        };
        match direction {
            Direction::Forward => (0..times).map(step).collect(),
            Direction::Backward => (0..times).rev().map(step).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_by_time_and_each_lane_finds_what_it_read_last() {
        let timeline = Timeline::new(&Segments::new([2, 0, 3, 1]));
        assert_eq!(timeline.rows(), [2, 0, 5, 3, 1, 4]);
        let step = |now, past| Step { now, past };
        assert_eq!(timeline.steps(Direction::Forward), [step(0..3, 0..0), step(3..5, 0..2), step(5..6, 3..4)]);
        assert_eq!(timeline.steps(Direction::Backward), [step(5..6, 0..0), step(3..5, 5..6), step(0..3, 3..5)]);
        let empty = Timeline::new(&Segments::new([0]));
        assert!(empty.steps(Direction::Forward).is_empty() && empty.steps(Direction::Backward).is_empty());
    }
}
