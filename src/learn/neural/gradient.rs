//! The gradient of a batch: that of its parts, summed in their order.

use rayon::prelude::*;

use super::LeftOut;
use super::average::add;
use super::embedding::VectorGradient;
use super::loss::{BatchLoss, Tally};
use crate::Result;
use crate::parallel::in_order;

/// The gradient of a batch, or of a part of it, and what was learnt about it.
#[derive(Debug, Default)]
pub(super) struct BatchGradient {
    /// By the parameters, then by the transition weights, none where they do not learn.
    pub(super) by_parameter: Vec<Vec<f32>>,
    /// By the vectors of features, where there are any.
    pub(super) by_vector: VectorGradient,
    pub(super) tally: Tally,
    pub(super) left_out: Vec<LeftOut>,
    /// Utterances whose own loss is not a number.
    pub(super) astray: Vec<String>,
}

impl BatchGradient {
    /// What `loss` says with the gradient by the network's parameters.
    pub(super) fn new(loss: BatchLoss<'_>, mut by_parameter: Vec<Vec<f32>>) -> Self {
        let BatchLoss { tally, transitions, left_out, astray, .. } = loss;
        by_parameter.push(transitions.iter().map(|&d| d as f32).collect());
        Self { by_parameter, tally, left_out, astray, ..Self::default() }
    }

    /// The sum of what `one` finds for each of `parts`.
    pub(super) fn of_parts<P: Sync>(parts: &[P], one: impl Fn(usize, &P) -> Result<Self> + Sync) -> Result<Self> {
        let mut each = in_order(parts.par_iter().enumerate().map(|(place, part)| one(place, part)))?;
        let by_vector: Vec<VectorGradient> = each.iter_mut().map(|part| std::mem::take(&mut part.by_vector)).collect();
        let sum = |mut sum: Self, part: Self| {
            add(&mut sum.by_parameter, &part.by_parameter);
            sum.tally.add(part.tally);
            sum.left_out.extend(part.left_out);
            sum.astray.extend(part.astray);
            sum
        };
        let sum = each.into_iter().reduce(sum).unwrap_or_default();
        Ok(Self { by_vector: VectorGradient::sum(&by_vector), ..sum })
    }

    /// Whether the loss and every part of the gradient are numbers.
    pub(super) fn is_finite(&self) -> bool {
        let vectors = self.by_vector.values().iter();
        self.tally.loss.is_finite() && self.by_parameter.iter().flatten().chain(vectors).all(|value| value.is_finite())
    }

    /// The utterances to blame when it is not finite: those whose loss is no number, else `all` of the batch.
    pub(super) fn blamed<'a>(&self, all: impl Iterator<Item = &'a str>) -> String {
        match self.astray.as_slice() {
            [] => all.collect::<Vec<_>>().join(" "),
            some => some.join(" "),
        }
    }
}
