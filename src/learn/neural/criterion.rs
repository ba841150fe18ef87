//! Softmax cross-entropy of frames, and what is told about it.

use super::IGNORE;
use crate::matrix::Matrix;
use crate::network::Criterion;
use crate::{Error, Result};

/// Sums over rows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tally {
    /// Cross-entropy, natural log.
    pub(super) loss: f64,
    /// Rows whose best pdf is the target.
    pub(super) right: usize,
    /// Rows.
    pub(super) rows: usize,
}

impl Tally {
    /// Of `log_posteriors` `[T x P]` and their targets.
    pub(super) fn of(log_posteriors: &Matrix, targets: &[u32]) -> Self {
        let mut tally = Self::default();
        for (row, &target) in log_posteriors.iter_rows().zip(targets).filter(|(_, target)| **target != IGNORE) {
            tally.loss -= f64::from(row[target as usize]);
            tally.right += usize::from(best(row) == target as usize);
            tally.rows += 1;
        }
        tally
    }

    pub(super) fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.right += other.right;
        self.rows += other.rows;
    }

    pub(super) fn mean_loss(&self) -> f64 {
        self.loss / self.rows.max(1) as f64
    }

    pub(super) fn accuracy(&self) -> f64 {
        self.right as f64 / self.rows.max(1) as f64
    }
}

fn best(row: &[f32]) -> usize {
    row.iter().enumerate().fold(0, |best, (index, value)| if *value > row[best] { index } else { best })
}

/// The mean over rows of `-sum_k q_k log softmax(scores)_k`, with q the target smoothed over all pdfs.
pub(super) struct CrossEntropy<'a> {
    targets: &'a [u32],
    rows: usize,
    smoothing: f32,
    pub(super) tally: Tally,
}

impl<'a> CrossEntropy<'a> {
    /// Of `targets`, the gradient to be divided by `rows`.
    pub(super) fn new(targets: &'a [u32], rows: usize, smoothing: f32) -> Self {
        Self { targets, rows, smoothing, tally: Tally::default() }
    }

    /// Turns the scores of one row into their gradient: `(softmax - q) / rows`.
    fn row(&mut self, scores: &mut [f32], target: usize) {
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = scores.iter().map(|&score| f64::from((score - most).exp())).sum();
        let log_sum = sum.ln() as f32 + most;
        let even = self.smoothing / scores.len() as f32;
        let mean = scores.iter().map(|&score| f64::from(score)).sum::<f64>() / scores.len() as f64;
        let expected = f64::from(1.0 - self.smoothing) * f64::from(scores[target]) + f64::from(self.smoothing) * mean;
        self.tally.loss += f64::from(log_sum) - expected;
        self.tally.right += usize::from(best(scores) == target);
        self.tally.rows += 1;
        let share = 1.0 / self.rows as f32;
        for (pdf, score) in scores.iter_mut().enumerate() {
            let wanted = even + if pdf == target { 1.0 - self.smoothing } else { 0.0 };
            *score = share * ((*score - log_sum).exp() - wanted);
        }
    }
}

impl Criterion for CrossEntropy<'_> {
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
        if scores.rows() != self.targets.len() {
            let (expected, found) = (scores.rows(), self.targets.len());
            return Err(Error::Shape { what: "targets of a batch", expected, found });
        }
        for (row, &target) in self.targets.iter().enumerate() {
            match target {
                IGNORE => scores.row_mut(row).fill(0.0),
                target => self.row(scores.row_mut(row), target as usize),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let scores = vec![0.3, -1.2, 0.8, 2.0, 0.1, -0.4, 9.0, 9.0, 9.0];
        let targets = [2, 0, IGNORE];
        let loss = |scores: &[f32]| {
            let mut criterion = CrossEntropy::new(&targets, 2, 0.1);
            let mut matrix = Matrix::from_vec(3, 3, scores.to_vec()).unwrap();
            criterion.differentiate(&mut matrix).unwrap();
            (criterion.tally.loss / 2.0, matrix)
        };
        let (_, gradient) = loss(&scores);
        for index in 0..9 {
            let at = |step: f32| {
                let mut moved = scores.clone();
                moved[index] += step;
                loss(&moved).0
            };
            let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((slope - f64::from(gradient.as_slice()[index])).abs() < 1e-4, "{index}");
        }
    }
}
