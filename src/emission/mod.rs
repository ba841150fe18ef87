//! Local scores, whatever they come from: a network's log-posteriors made into scaled likelihoods, Gaussian mixtures, or
//! linear functions of features.
//!
//! Frames come in, an `[T x P]` matrix of natural-log scores goes to the search, which knows nothing else of acoustics.

mod gmm;
mod hybrid;
mod linear;
mod posteriors;
mod scorer;

pub use gmm::{DiagonalMixtures, MixtureAccumulator, MixtureParts, MixtureUpdate, SplitTarget};
pub use hybrid::{HybridScales, Priors, hybrid, scaled};
pub use linear::SparseFrames;
pub use posteriors::PosteriorKind;
pub use scorer::{FrameScorer, Scorer, SparseScorer};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emissions_are_never_nan_or_plus_infinity() {
        assert!(Emissions::new(Matrix::from_vec(1, 2, vec![f32::NEG_INFINITY, 0.0]).unwrap()).is_ok());
        for bad in [f32::NAN, f32::INFINITY] {
            let found = Emissions::new(Matrix::from_vec(2, 1, vec![0.0, bad]).unwrap());
            assert!(matches!(found, Err(Error::NotFinite { frame: 1, .. })));
        }
    }
}
