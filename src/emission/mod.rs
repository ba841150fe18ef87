//! Local scores, whatever they come from: a network's log-posteriors made into scaled likelihoods, or Gaussian mixtures.
//!
//! Frames come in, an `[T x P]` matrix of natural-log scores goes to the search, which knows nothing else of acoustics.

mod gmm;
mod hybrid;

pub use gmm::{DiagonalMixtures, MixtureAccumulator, MixtureParts, MixtureUpdate, SplitTarget};
pub use hybrid::{HybridScales, Priors, hybrid};

use crate::matrix::Matrix;
use crate::{Error, Result};

/// Scores of every pdf in every frame, `[T x P]`, natural log, higher is better. Minus infinity is "impossible";
/// NaN and plus infinity never occur.
#[derive(Debug, Clone, PartialEq)]
pub struct Emissions(Matrix);

impl Emissions {
    /// Takes `scores` `[T x P]`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] when a score is NaN or plus infinity.
    pub fn new(scores: Matrix) -> Result<Self> {
        let bad = scores.iter_rows().position(|row| row.iter().any(|&s| s.is_nan() || s == f32::INFINITY));
        match bad {
            Some(frame) => Err(Error::NotFinite { what: "emission scores", frame }),
            None => Ok(Self(scores)),
        }
    }

    /// Number of search frames, T.
    pub fn frames(&self) -> usize {
        self.0.rows()
    }

    /// Number of pdfs, P.
    pub fn pdfs(&self) -> usize {
        self.0.cols()
    }

    /// The scores of frame `frame`, by pdf.
    pub fn frame(&self, frame: usize) -> &[f32] {
        self.0.row(frame)
    }

    /// The whole matrix.
    pub fn matrix(&self) -> &Matrix {
        &self.0
    }
}

/// A network's output: log P(pdf | frame), `[T x P]`, natural log; each row sums to one in probability.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPosteriors(pub Matrix);

impl LogPosteriors {
    /// Largest distance of a row's sum of probabilities from one that [`LogPosteriors::check`] lets pass: ample for `f32`.
    pub const SUM_TOLERANCE: f64 = 1e-2;

    /// Whether every row is a distribution: no NaN, and probabilities that sum to one within [`Self::SUM_TOLERANCE`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] on a NaN or plus infinity, [`Error::Other`] when a row sums to something else than one.
    pub fn check(&self) -> Result<()> {
        for (frame, row) in self.0.iter_rows().enumerate() {
            if row.iter().any(|&value| value.is_nan() || value == f32::INFINITY) {
                return Err(Error::NotFinite { what: "log-posteriors", frame });
            }
            let sum: f64 = row.iter().map(|&value| f64::from(value).exp()).sum();
            if (sum - 1.0).abs() > Self::SUM_TOLERANCE {
                let reason =
                    format!("log-posteriors: the probabilities of frame {frame} sum to {sum:.4}, expected 1: ");
                return Err(Error::Other(reason + "the network's last step must be a log-softmax"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(probabilities: &[f32]) -> LogPosteriors {
        let log = probabilities.iter().map(|p| p.ln()).collect();
        LogPosteriors(Matrix::from_vec(probabilities.len() / 2, 2, log).unwrap())
    }

    #[test]
    fn rows_of_log_posteriors_sum_to_one() {
        assert!(rows(&[0.25, 0.75, 1.0, 0.0]).check().is_ok());
        let found = rows(&[0.5, 0.5, 0.5, 0.6]).check().unwrap_err().to_string();
        assert!(found.contains("frame 1 sum to 1.1000"), "{found}");
        assert!(matches!(rows(&[0.5, 0.5, f32::NAN, 0.5]).check(), Err(Error::NotFinite { frame: 1, .. })));
    }

    #[test]
    fn emissions_are_never_nan_or_plus_infinity() {
        assert!(Emissions::new(Matrix::from_vec(1, 2, vec![f32::NEG_INFINITY, 0.0]).unwrap()).is_ok());
        for bad in [f32::NAN, f32::INFINITY] {
            let found = Emissions::new(Matrix::from_vec(2, 1, vec![0.0, bad]).unwrap());
            assert!(matches!(found, Err(Error::NotFinite { frame: 1, .. })));
        }
    }
}
