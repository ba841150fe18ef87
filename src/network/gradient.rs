//! The gradient of any criterion on a network's scores: forward, the criterion on plain numbers, backward.

use candle_core::{Device, Tensor};

use super::ops::{Surrogate, with_values};
use super::splice::Segments;
use super::{Network, refused};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// What training wants of the scores of a few utterances.
pub trait Criterion {
    /// Changes `scores` `[rows x pdfs]` (before log-softmax, utterances one after another) into the gradient of the loss by
    /// them.
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
        let scores = self.tracked_scores(utterances, dropout)?;
        let mut wanted = to_matrix(&scores)?;
        criterion.differentiate(&mut wanted)?;
        if wanted.rows() * wanted.cols() != scores.elem_count() {
            let (expected, found) = (scores.elem_count(), wanted.rows() * wanted.cols());
            return Err(Error::Shape { what: "values in the criterion's gradient", expected, found });
        }
        let loss = scores.apply_op1(Surrogate { gradient: wanted.into_vec() }).map_err(refused)?;
        drop(scores);
        let gradients = loss.backward().map_err(refused)?;
        let read = |(name, variable): (&String, &Tensor)| {
            let gradient =
                gradients.get(variable).ok_or_else(|| Error::Network(format!("{name} received no gradient")))?;
            with_values(gradient, |values| Ok(values.to_vec())).map_err(refused)
        };
        self.parameters.variables().iter().map(read).collect()
    }

    /// The scores of `utterances`, laid one after another, recorded for a backward pass.
    fn tracked_scores(&self, utterances: &[Matrix], dropout: Option<&Random>) -> Result<Tensor> {
        let mut frames = Matrix::with_cols(self.dims.input);
        let mut rows = Vec::with_capacity(utterances.len());
        for utterance in utterances {
            let padded = self.padded(utterance)?;
            rows.push(padded.rows());
            frames.append(&padded);
        }
        let shape = (frames.rows(), frames.cols());
        let x = Tensor::from_vec(frames.into_vec(), shape, &Device::Cpu).map_err(refused)?;
        self.plan.forward(&self.parameters.variables(), (x, Segments::new(rows)), dropout).map_err(refused)
    }
}

fn to_matrix(tensor: &Tensor) -> Result<Matrix> {
    let (rows, cols) = tensor.dims2().map_err(refused)?;
    let values = with_values(tensor, |values| Ok(values.to_vec())).map_err(refused)?;
    Matrix::from_vec(rows, cols, values)
}
