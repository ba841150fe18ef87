//! What is done with frames after they are made: time derivatives and splicing.

use super::framing::Input;
use crate::matrix::Matrix;

/// Frames on either side that a delta looks at.
const REACH: usize = 2;

/// Appends the time derivative of the last `width` columns to each frame, block by block.
///
/// ```text
/// d[t] = (sum over i = 1..2 of i (x[t + i] - x[t - i])) / (2 (1^2 + 2^2))
/// ```
///
/// the regression of Furui (1986) as HTK has it, first and last frame repeated beyond the edges. It is what torchaudio's
/// `compute_deltas` does with its defaults; a second stage differentiates the first stage's output. (Kaldi's `add-deltas`
/// differs in the four outermost frames of order 2.) A frame leaves once the two after it are there.
pub(super) struct Deltas {
    width: usize,
    /// Frames that a frame to come still looks at: at most `2 * REACH` between calls, the first repeated in front.
    kept: Matrix,
}

impl Deltas {
    /// A stage for frames of `cols` columns, whose last `width` are differentiated: `cols + width` columns come out.
    pub(super) fn new(cols: usize, width: usize) -> Self {
        Self { width, kept: Matrix::with_cols(cols) }
    }

    /// Takes in `frames`, gives out those that can be finished.
    pub(super) fn push(&mut self, frames: &Matrix, input: Input) -> Matrix {
        for row in frames.iter_rows() {
            let copies = if self.kept.rows() == 0 { 1 + REACH } else { 1 };
            (0..copies).for_each(|_| self.kept.push_row(row));
        }
        if input == Input::Ended && self.kept.rows() > 0 {
            let last = self.kept.row(self.kept.rows() - 1).to_vec();
            (0..REACH).for_each(|_| self.kept.push_row(&last));
        }
        let ready = self.kept.rows().saturating_sub(2 * REACH);
        let out = self.with_deltas(ready);
        self.kept.drop_front(ready);
        out
    }

    /// The first `count` frames that have all neighbours, each with its delta.
    fn with_deltas(&self, count: usize) -> Matrix {
        let skip = self.kept.cols() - self.width;
        let mut out = Matrix::zeros(count, self.kept.cols() + self.width);
        for t in 0..count {
            let [two_before, before, now, after, two_after] = [0, 1, 2, 3, 4].map(|offset| self.kept.row(t + offset));
            let (copy, delta) = out.row_mut(t).split_at_mut(self.kept.cols());
            copy.copy_from_slice(now);
            for (value, column) in delta.iter_mut().zip(skip..) {
                let near = after[column] - before[column];
                *value = (near + 2.0 * (two_after[column] - two_before[column])) / 10.0;
            }
        }
        out
    }
}

/// Puts `left` frames before and `right` frames after each frame beside it: `[T x D]` becomes `[T x (left + 1 + right) D]`,
/// oldest first; the first and last frame repeat beyond the edges, as in Kaldi's `splice-feats`.
pub fn splice(frames: &Matrix, left: usize, right: usize) -> Matrix {
    let cols = frames.cols();
    let mut out = Matrix::zeros(frames.rows(), (left + 1 + right) * cols);
    for t in 0..frames.rows() {
        for (offset, part) in out.row_mut(t).chunks_exact_mut(cols.max(1)).enumerate() {
            let source = (t + offset).saturating_sub(left).min(frames.rows() - 1);
            part.copy_from_slice(frames.row(source));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f32]) -> Matrix {
        Matrix::from_vec(values.len(), 1, values.to_vec()).unwrap()
    }

    fn all_deltas(frames: &Matrix) -> Matrix {
        Deltas::new(frames.cols(), frames.cols()).push(frames, Input::Ended)
    }

    #[test]
    fn the_delta_of_a_line_is_its_slope_but_at_the_edges() {
        let deltas = all_deltas(&column(&[0.0, 3.0, 6.0, 9.0, 12.0, 15.0]));
        let slopes: Vec<f32> = deltas.iter_rows().map(|row| row[1]).collect();
        // Left edge: (3 - 0 + 2 (6 - 0)) / 10, then (6 - 0 + 2 (9 - 0)) / 10.
        assert_eq!(slopes, [1.5, 2.4, 3.0, 3.0, 2.4, 1.5]);
    }

    #[test]
    fn few_frames_or_none_are_no_trouble() {
        assert_eq!(all_deltas(&Matrix::with_cols(3)).rows(), 0);
        assert_eq!(all_deltas(&column(&[7.0])).as_slice(), [7.0, 0.0]);
        assert_eq!(all_deltas(&column(&[0.0, 10.0])).as_slice(), [0.0, 3.0, 10.0, 3.0]);
    }

    #[test]
    fn splicing_repeats_the_edges() {
        let spliced = splice(&column(&[1.0, 2.0, 3.0]), 1, 2);
        assert_eq!(spliced.as_slice(), [1., 1., 2., 3., 1., 2., 3., 3., 2., 3., 3., 3.]);
        assert_eq!(splice(&Matrix::with_cols(2), 3, 3).rows(), 0);
    }
}
