//! The gradient of any criterion on a network's scores: forward, the criterion, backward.

use super::Network;
use super::layers::Rows;
use super::splice::Segments;
use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// What training wants of the scores of a few utterances.
pub trait Criterion {
    /// Changes `scores` `[rows x pdfs]` (before log-softmax, utterances one after another, [`Network::rows_out`] rows each)
    /// into the gradient of the loss by them.
    ///
    /// # Errors
    /// As the criterion has them.
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()>;
}

impl Network {
    /// The gradient of `criterion` by every parameter, in the order of [`Network::parts`], over `utterances` `[T x D]` each.
    /// Hidden values are dropped as `dropout` draws them. Runs on the calling thread.
    ///
    /// # Errors
    /// As of [`super::Acoustic::step`] and of the criterion.
    pub fn gradient(
        &self,
        utterances: &[Matrix],
        criterion: &mut impl Criterion,
        dropout: Option<&Random>,
    ) -> Result<Vec<Vec<f32>>> {
        let (scores, tape) = self.plan.forward(&self.values, self.laid_out(utterances)?, dropout);
        let rows = scores.segments.rows();
        let mut scores = Matrix::from_vec(rows, self.dims.pdfs, scores.values)?;
        criterion.differentiate(&mut scores)?;
        let (expected, found) = (rows * self.dims.pdfs, scores.rows() * scores.cols());
        if expected != found {
            return Err(Error::Shape { what: "values in the criterion's gradient", expected, found });
        }
        Ok(self.plan.backward(&self.values, tape, scores.into_vec()))
    }

    /// The padded frames of `utterances`, one after another.
    fn laid_out(&self, utterances: &[Matrix]) -> Result<Rows> {
        let padded: Vec<Matrix> = utterances.iter().map(|frames| self.padded(frames)).collect::<Result<_>>()?;
        let segments = Segments::new(padded.iter().map(Matrix::rows));
        let mut values = Vec::with_capacity(segments.rows() * self.dims.input);
        padded.iter().for_each(|frames| values.extend_from_slice(frames.as_slice()));
        Ok(Rows { values, segments })
    }
}
