//! Voicing and log F0 of each frame -> the three columns.

use std::collections::VecDeque;

use super::COLUMNS;
use crate::features::framing::Input;
use crate::features::post::Deltas;
use crate::matrix::Matrix;

/// Takes the moving mean out of log F0 and appends its slope, block by block.
///
/// ```text
/// y[t] = x[t] - (sum over |s - t| <= reach of p[s] x[s]) / (sum over |s - t| <= reach of p[s])
/// ```
///
/// with `x` the log F0 and `p` the voicing, of the frames that there are; the slope is that of `Deltas`, of `x`.
pub(super) struct Contour {
    deltas: Deltas,
    /// Frames on either side; `None` leaves log F0 as it is.
    reach: Option<usize>,
    /// Voicing, log F0 and slope of the frames that a frame to come looks at.
    kept: VecDeque<[f32; COLUMNS]>,
    /// Which of them is the next to leave.
    next: usize,
}

impl Contour {
    /// A stage that takes out the mean of `mean_frames`, an odd number, or none when it is 0.
    pub(super) fn new(mean_frames: usize) -> Self {
        let reach = (mean_frames > 0).then_some(mean_frames / 2);
        Self { deltas: Deltas::new(2, 1), reach, kept: VecDeque::new(), next: 0 }
    }

    /// Takes in `frames` of voicing and log F0, `[T x 2]`; gives out the rows that can be finished, `[T' x 3]`: log F0 less its
    /// mean, voicing, slope.
    pub(super) fn push(&mut self, frames: &Matrix, input: Input) -> Matrix {
        let frames = self.deltas.push(frames, input);
        let mut out = Matrix::with_cols(COLUMNS);
        for row in frames.iter_rows() {
            self.kept.push_back([row[0], row[1], row[2]]);
            if self.kept.len() > self.next + self.reach.unwrap_or(0) {
                self.leave(&mut out);
            }
        }
        while input == Input::Ended && self.next < self.kept.len() {
            self.leave(&mut out);
        }
        out
    }

    /// Finishes the next row.
    fn leave(&mut self, out: &mut Matrix) {
        let reach = self.reach.unwrap_or(0);
        let [voicing, log_hz, slope] = self.kept[self.next];
        out.push_row(&[log_hz - self.reach.map_or(0.0, |_| self.mean()), voicing, slope]);
        self.next += 1;
        if self.next > reach {
            self.kept.pop_front();
            self.next -= 1;
        }
    }

    /// The mean around the next row; all that is kept is within reach of it, but for what came after its reach.
    fn mean(&self) -> f32 {
        let end = self.kept.len().min(self.next + self.reach.unwrap_or(0) + 1);
        let (mut sum, mut weight) = (0.0, 0.0);
        for &[voicing, log_hz, _] in self.kept.range(..end) {
            sum += f64::from(voicing) * f64::from(log_hz);
            weight += f64::from(voicing);
        }
        (sum / weight) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(count: usize) -> Matrix {
        let value =
            |n: usize| if n.is_multiple_of(2) { 0.05 + (n * 13 % 19) as f32 / 20.0 } else { 5.0 + (n * 7 % 11) as f32 };
        Matrix::from_vec(count, 2, (0..2 * count).map(value).collect()).unwrap()
    }

    #[test]
    fn rows_are_as_the_formula_says_for_any_block() {
        for (count, mean_frames) in [(0, 5), (1, 5), (2, 1), (4, 9), (30, 5), (30, 1), (30, 0), (9, 101)] {
            let frames = frames(count);
            let slopes = Deltas::new(2, 1).push(&frames, Input::Ended);
            for block in [1, 4, 100] {
                let mut contour = Contour::new(mean_frames);
                let mut rows = Matrix::with_cols(COLUMNS);
                for from in (0..count).step_by(block) {
                    rows.append(&contour.push(&frames.slice_rows(from..count.min(from + block)), Input::Continues));
                    assert!(contour.kept.len() <= mean_frames.max(1));
                }
                rows.append(&contour.push(&Matrix::with_cols(2), Input::Ended));
                assert_eq!(rows.rows(), count);
                for t in 0..count {
                    let near = t.saturating_sub(mean_frames / 2)..count.min(t + mean_frames / 2 + 1);
                    let weight: f32 = near.clone().map(|s| frames.row(s)[0]).sum();
                    let mean = near.map(|s| frames.row(s)[0] * frames.row(s)[1]).sum::<f32>() / weight;
                    let mean = if mean_frames == 0 { 0.0 } else { mean };
                    assert!((rows.row(t)[0] - (frames.row(t)[1] - mean)).abs() < 1e-4, "{count}, {mean_frames}, {t}");
                    assert_eq!(rows.row(t)[1..], [frames.row(t)[0], slopes.row(t)[2]]);
                }
            }
        }
    }
}
