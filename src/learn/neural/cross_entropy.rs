//! Frame cross-entropy: the loss that makes a network's outputs posteriors.

use crate::matrix::Matrix;
use crate::network::Criterion;
use crate::{Error, Result};

/// A target that counts for nothing.
pub const IGNORED: u32 = u32::MAX;

/// How well scores fit targets, over any number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fit {
    /// Rows with a target.
    pub rows: usize,
    /// Sum of their losses, natural log.
    pub loss: f64,
    /// Rows whose best pdf is the target.
    pub correct: usize,
}

impl Fit {
    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, loss: self.loss + other.loss, correct: self.correct + other.correct }
    }

    /// Mean loss of a row; NaN without rows.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.rows as f64
    }

    /// Share of the rows whose best pdf is the target; NaN without rows.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.rows as f64
    }
}

/// L = sum over rows of -sum_p q\[p\] log softmax(x)\[p\]; q gives the target 1 - smoothing and shares smoothing among all pdfs.
pub(super) struct CrossEntropy<'a> {
    /// One a row, or [`IGNORED`].
    pub(super) targets: &'a [u32],
    pub(super) smoothing: f32,
    /// What has been seen.
    pub(super) fit: Fit,
}

impl Criterion for CrossEntropy<'_> {
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
        if scores.rows() != self.targets.len() {
            let (expected, found) = (scores.rows(), self.targets.len());
            return Err(Error::Shape { what: "targets of the rows", expected, found });
        }
        for (row, &target) in self.targets.iter().enumerate() {
            self.row(scores.row_mut(row), target);
        }
        Ok(())
    }
}

impl CrossEntropy<'_> {
    /// dL/dx = softmax(x) - q, in place of x.
    fn row(&mut self, x: &mut [f32], target: u32) {
        if target == IGNORED {
            return x.fill(0.0);
        }
        let target = target as usize;
        let top = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let at_target = x[target] - top;
        let mean = x.iter().map(|&x| f64::from(x - top)).sum::<f64>() / x.len() as f64;
        x.iter_mut().for_each(|x| *x = (*x - top).exp());
        let total: f64 = x.iter().map(|&x| f64::from(x)).sum();
        let smoothing = f64::from(self.smoothing);
        self.fit.rows += 1;
        self.fit.loss += total.ln() - (1.0 - smoothing) * f64::from(at_target) - smoothing * mean;
        self.fit.correct += usize::from(at_target == 0.0);
        let (scale, share) = ((1.0 / total) as f32, self.smoothing / x.len() as f32);
        x.iter_mut().for_each(|x| *x = *x * scale - share);
        x[target] -= 1.0 - self.smoothing;
    }
}

/// The fit of log-posteriors `[T x P]` to `targets`, T of them.
pub(super) fn fit(log_posteriors: &Matrix, targets: &[u32]) -> Fit {
    let mut fit = Fit::default();
    for (row, &target) in log_posteriors.iter_rows().zip(targets).filter(|(_, target)| **target != IGNORED) {
        let at_target = row[target as usize];
        fit.rows += 1;
        fit.loss -= f64::from(at_target);
        fit.correct += usize::from(row.iter().all(|&value| value <= at_target));
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let scores = [1.0f32, -0.5, 2.0, 0.3, 0.0, 0.0, -3.0, 4.0, 9.0, 9.0, 9.0, 9.0];
        let targets = [2, 0, IGNORED];
        for smoothing in [0.0, 0.1] {
            let run = |scores: &[f32]| {
                let mut matrix = Matrix::from_vec(3, 4, scores.to_vec()).unwrap();
                let mut criterion = CrossEntropy { targets: &targets, smoothing, fit: Fit::default() };
                criterion.differentiate(&mut matrix).unwrap();
                (criterion.fit, matrix)
            };
            let (fit, gradient) = run(&scores);
            assert_eq!((fit.rows, fit.correct), (2, 1));
            for index in 0..scores.len() {
                let shifted = |by: f32| {
                    let mut scores = scores;
                    scores[index] += by;
                    run(&scores).0.loss
                };
                let slope = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
                assert!((slope - f64::from(gradient.as_slice()[index])).abs() < 1e-4, "{index}");
            }
        }
    }

    #[test]
    fn losses_before_and_after_log_softmax_agree() {
        let mut scores = Matrix::from_vec(2, 3, vec![0.0, 1.0, 2.0, 5.0, 5.0, 5.0]).unwrap();
        let mut criterion = CrossEntropy { targets: &[2, 1], smoothing: 0.0, fit: Fit::default() };
        let log_posterior = |x: f64| x - (1.0 + 1f64.exp() + 2f64.exp()).ln();
        let third = (1.0f64 / 3.0).ln() as f32;
        let values = [0.0, 1.0, 2.0].map(|x| log_posterior(x) as f32);
        let known = Matrix::from_vec(2, 3, values.into_iter().chain([third; 3]).collect()).unwrap();
        criterion.differentiate(&mut scores).unwrap();
        let fit = fit(&known, &[2, 1]);
        assert_eq!((fit.rows, fit.correct), (criterion.fit.rows, criterion.fit.correct));
        assert!((fit.loss - criterion.fit.loss).abs() < 1e-6);
    }

    #[test]
    fn a_score_that_is_not_a_number_makes_the_loss_so() {
        let mut scores = Matrix::from_vec(1, 2, vec![f32::NAN, 1.0]).unwrap();
        let mut criterion = CrossEntropy { targets: &[1], smoothing: 0.0, fit: Fit::default() };
        criterion.differentiate(&mut scores).unwrap();
        assert!(criterion.fit.loss.is_nan());
    }
}
