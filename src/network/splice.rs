//! Which rows of its input an affine layer sees, and where the utterances of a batch lie.
//!
//! A batch is one long matrix: utterances one after another, each padded at both ends with copies of its edge frames. Layers
//! are "valid" convolutions inside each stretch, so an utterance never sees its neighbours and every output row counts.

use std::sync::Arc;

/// Output row `t` sees the input rows `t * stride + offset`, side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    /// Ascending, from 0.
    offsets: Vec<usize>,
    stride: usize,
}

impl Splice {
    /// Only the row itself.
    pub(super) fn none() -> Self {
        Self { offsets: vec![0], stride: 1 }
    }

    /// `count` neighbouring rows, every `stride` rows.
    pub(super) fn window(count: usize, stride: usize) -> Self {
        Self { offsets: (0..count).collect(), stride }
    }

    /// The row `dilation` rows ago, the row itself, and the row `dilation` rows on.
    pub(super) fn triple(dilation: usize) -> Self {
        Self { offsets: vec![0, dilation, 2 * dilation], stride: 1 }
    }

    /// Number of rows side by side.
    pub(super) fn count(&self) -> usize {
        self.offsets.len()
    }

    /// Input rows from one output row to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Distance of the last row seen from the first.
    pub(super) fn span(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }

    /// Output rows that `rows` input rows give.
    pub(super) fn rows_out(&self, rows: usize) -> usize {
        rows.checked_sub(self.span() + 1).map_or(0, |rest| rest / self.stride + 1)
    }

    /// The offsets one by one, each as (place among the offsets, offset, 1).
    pub(super) fn singles(&self) -> impl Iterator<Item = Run> {
        self.offsets.iter().enumerate().map(|(place, &offset)| Run { place, offset, count: 1 })
    }

    /// The offsets as runs that no two output rows share a row of: all of them in one where they can be.
    pub(super) fn parts_apart(&self) -> Vec<Run> {
        if self.stride > self.span() { self.runs() } else { self.singles().collect() }
    }

    /// The offsets as runs of neighbours: a run is one plain matrix with overlapping rows.
    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for single in self.singles() {
            match runs.last_mut() {
                Some(run) if run.offset + run.count == single.offset => run.count += 1,
                _ => runs.push(single),
            }
        }
        runs
    }
}

/// `count` neighbouring offsets from `offset` on, the first being number `place` of its splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) place: usize,
    pub(super) offset: usize,
    pub(super) count: usize,
}

/// Rows of each utterance of a batch, in the order in which they are laid one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Segments(Arc<[usize]>);

impl Segments {
    /// Utterances of so many rows.
    pub(super) fn new(rows: impl IntoIterator<Item = usize>) -> Self {
        Self(rows.into_iter().collect())
    }

    /// All rows.
    pub(super) fn rows(&self) -> usize {
        self.0.iter().sum()
    }

    /// What a layer that splices so leaves of them.
    pub(super) fn after(&self, splice: &Splice) -> Self {
        Self::new(self.0.iter().map(|&rows| splice.rows_out(rows)))
    }

    /// First row and number of rows of each utterance.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().scan(0, |start, &rows| {
            let first = *start;
            *start += rows;
            Some((first, rows))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_offsets_are_one_run() {
        assert_eq!(Splice::window(5, 1).runs(), [Run { place: 0, offset: 0, count: 5 }]);
        assert_eq!(Splice::triple(1).runs().len(), 1);
        let apart = Splice::triple(2).runs();
        assert_eq!(
            apart.iter().map(|run| (run.place, run.offset, run.count)).collect::<Vec<_>>(),
            [(0, 0, 1), (1, 2, 1), (2, 4, 1)]
        );
    }

    #[test]
    fn windows_that_share_no_row_stay_whole() {
        let count = |splice: Splice| splice.parts_apart().len();
        assert_eq!((count(Splice::none()), count(Splice::window(3, 3)), count(Splice::window(2, 3))), (1, 1, 1));
        assert_eq!((count(Splice::window(3, 2)), count(Splice::triple(1))), (3, 3));
    }

    #[test]
    fn output_rows_are_those_that_see_whole_splices() {
        assert_eq!(
            (0..9).map(|rows| Splice::window(3, 3).rows_out(rows)).collect::<Vec<_>>(),
            [0, 0, 0, 1, 1, 1, 2, 2, 2]
        );
        assert_eq!(Splice::triple(2).rows_out(4), 0);
        assert_eq!(Splice::triple(2).rows_out(7), 3);
        let segments = Segments::new([7, 5]).after(&Splice::triple(2));
        assert_eq!(segments.iter().collect::<Vec<_>>(), [(0, 3), (3, 1)]);
        assert_eq!(segments.rows(), 4);
    }
}
