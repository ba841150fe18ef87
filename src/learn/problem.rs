//! A linear model and the examples that it learns from: the sum over examples of what [`Criterion`] says about each.
//!
//! In: a graph, a [`Scorer`] and labelled sequences. Out: loss and gradient by one vector of parameters, those of the scorer
//! first, then the weights of the graph's transitions, those of starts and ends among them:
//!
//! ```text
//! theta = (weight[f, k] for all pairs, w(transition) for all transitions)      F(x, y) = theta . Phi(x, y)
//! ```

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use super::criterion::{Criterion, Objective, Right};
use crate::dp::{Counts, Path, Plan, PlanOptions, labelled_path, path_counts, path_score, viterbi};
use crate::emission::{Emissions, Scorer};
use crate::graph::{Graph, Weights};
use crate::matrix::Matrix;
use crate::parallel::{SHARDS, in_order};
use crate::symbols::{PdfId, StateId};
use crate::{Error, Result};

/// A sequence and its right labelling.
#[derive(Debug, Clone)]
pub struct Example<X> {
    /// As messages call it.
    pub name: String,
    /// Its frames.
    pub input: X,
    /// The right path, a state for each frame.
    pub path: Vec<StateId>,
}

/// What a linear learner works on.
#[derive(Debug, Clone)]
pub struct Problem<'a, S: Scorer> {
    /// All legal paths.
    pub graph: &'a Arc<Graph>,
    /// Where local scores come from.
    pub scorer: &'a S,
    /// What to learn from.
    pub examples: &'a [Example<S::Input>],
}

impl<S: Scorer> Problem<'_, S> {
    /// Number of parameters: those of the scorer, then one for each transition.
    pub fn parameters(&self) -> usize {
        self.scorer.parameters() + self.graph.transitions()
    }

    /// The transition weights among `theta`.
    pub fn weights(&self, theta: &[f64]) -> Weights {
        Weights(theta[self.scorer.parameters()..].iter().map(|&weight| weight as f32).collect())
    }

    /// The graph laid out with the transition weights among `theta`.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&self, theta: &[f64]) -> Result<Plan> {
        Plan::new(self.graph, &self.weights(theta), &PlanOptions::default())
    }

    /// The emissions of `input` under `theta`.
    ///
    /// # Errors
    /// As [`Scorer::emissions`].
    pub fn emissions(&self, theta: &[f64], input: &S::Input) -> Result<Emissions> {
        self.scorer.emissions(&theta[..self.scorer.parameters()], input)
    }

    /// The best path of `input` under `theta`, whose transitions are laid out in `plan`.
    ///
    /// # Errors
    /// As [`viterbi`].
    pub fn predict(&self, plan: &Plan, theta: &[f64], input: &S::Input) -> Result<Path> {
        viterbi(plan, &self.emissions(theta, input)?)
    }

    /// Loss and gradient by scores of one example under `theta`, whose transitions are laid out in `plan`.
    ///
    /// # Errors
    /// As [`Criterion::objective`], with the name of the example; [`Error::Diverged`] (of epoch 0: which one it is, only the
    /// learner knows) when a score or the loss is not a finite number.
    pub fn of_example(
        &self,
        (plan, theta): (&Plan, &[f64]),
        example: &Example<S::Input>,
        criterion: Criterion,
    ) -> Result<Objective> {
        let diverged = |loss| Error::Diverged { epoch: 0, utterances: example.name.clone(), loss };
        let objective = self
            .emissions(theta, &example.input)
            .and_then(|emissions| criterion.objective(plan, Right::Path(&example.path), &emissions));
        match objective {
            Ok(objective) if objective.loss.is_finite() => Ok(objective),
            Ok(objective) => Err(diverged(objective.loss)),
            Err(Error::NotFinite { .. }) => Err(diverged(f64::INFINITY)),
            Err(error) => Err(Error::Other(format!("{}: {error}", example.name))),
        }
    }

    /// Calls `add(parameter, amount)` for what `counts` (or their differences) of `input` amount to: Phi(x, y) of a path's counts.
    pub fn differentiate(&self, input: &S::Input, counts: &Counts, mut add: impl FnMut(usize, f64)) {
        self.scorer.differentiate(input, &counts.occupancy, &mut add);
        let transitions = counts.transitions.iter().enumerate().filter(|(_, count)| **count != 0.0);
        transitions.for_each(|(transition, &count)| add(self.scorer.parameters() + transition, count));
    }

    /// Adds what [`Problem::differentiate`] tells to `sums`, by parameter.
    fn accumulate(&self, input: &S::Input, counts: &Counts, sums: &mut [f64]) {
        let (emissions, transitions) = sums.split_at_mut(self.scorer.parameters());
        self.scorer.accumulate(input, &counts.occupancy, emissions);
        transitions.iter_mut().zip(&counts.transitions).for_each(|(sum, count)| *sum += count);
    }

    /// The sum of the losses of all examples; their gradient is added to `gradient`.
    ///
    /// # Errors
    /// As [`Problem::of_example`].
    pub fn objective(&self, theta: &[f64], criterion: Criterion, gradient: &mut [f64]) -> Result<f64> {
        let plan = self.plan(theta)?;
        let size = self.examples.len().div_ceil(SHARDS).max(1);
        let shard = |examples: &[Example<S::Input>]| -> Result<(f64, Vec<f64>)> {
            let (mut loss, mut sum) = (0.0, vec![0.0; self.parameters()]);
            for example in examples {
                let of_example = self.of_example((&plan, theta), example, criterion)?;
                loss += of_example.loss;
                self.accumulate(&example.input, &of_example.gradient, &mut sum);
            }
            Ok((loss, sum))
        };
        let shards: Vec<(f64, Vec<f64>)> = in_order(self.examples.par_chunks(size).map(shard))?;
        let mut total = 0.0;
        for (loss, sum) in shards {
            total += loss;
            gradient.iter_mut().zip(sum).for_each(|(total, d)| *total += d);
        }
        Ok(total)
    }

    /// How much each parameter could be used: the sum over frames of its squared feature, whatever the label; for a transition the
    /// frames that fall to it, of which each label has all.
    ///
    /// The curvature of the log-likelihood, all paths being equally probable, is much the same share of it for all parameters.
    pub fn uses(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.scorer.parameters()];
        let mut frames = 0;
        for example in self.examples {
            let of_example = self.scorer.frames(&example.input);
            let every = Matrix::from_vec(of_example, self.scorer.pdfs(), vec![1.0; of_example * self.scorer.pdfs()]);
            let every = every.expect("a cell for each frame and pdf");
            self.scorer
                .differentiate(&example.input, &every, |parameter, feature| sums[parameter] += feature * feature);
            frames += of_example;
        }
        let of_transition = (frames * self.scorer.pdfs()) as f64 / self.graph.transitions().max(1) as f64;
        sums.resize(self.parameters(), of_transition);
        sums
    }

    /// How often each parameter is used on the right paths: all that an HMM by counts looks at.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn right_counts(&self) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; self.parameters()];
        let plan = self.plan(&sums)?;
        for example in self.examples {
            let counts = path_counts(&plan, &example.path);
            self.differentiate(&example.input, &counts, |parameter, count| sums[parameter] += count);
        }
        Ok(sums)
    }
}

/// An example that cannot be learnt from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// As messages call it.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is left out: {}", self.name, self.reason)
    }
}

/// Takes out of `examples` those that no learner can use: without frames, with a feature that is not a finite number or of
/// another dimension, or with a path that is not a legal one of their length.
///
/// # Errors
/// [`Error::Other`] naming the first when none is left; as [`Plan::new`].
pub fn leave_out<S: Scorer>(
    graph: &Arc<Graph>,
    scorer: &S,
    examples: &mut Vec<Example<S::Input>>,
) -> Result<Vec<LeftOut>> {
    let zeros = vec![0.0; scorer.parameters()];
    let plan = Plan::new(graph, &Weights(vec![0.0; graph.transitions()]), &PlanOptions::default())?;
    let mut left_out = Vec::new();
    examples.retain(|example| {
        let fault = match scorer.frames(&example.input) {
            0 => Some("it has no frames".to_owned()),
            // A feature that is not finite makes NaN of a weight of zero.
            _ => scorer
                .emissions(&zeros, &example.input)
                .and_then(|emissions| path_score(&plan, &emissions, &example.path))
                .err()
                .map(|error| match error {
                    Error::NotFinite { frame, .. } => Error::NotFinite { what: "features", frame }.to_string(),
                    other => other.to_string(),
                }),
        };
        left_out.extend(fault.iter().map(|reason| LeftOut { name: example.name.clone(), reason: reason.clone() }));
        fault.is_none()
    });
    match left_out.first() {
        Some(first) if examples.is_empty() => Err(Error::Other(format!("no example is left to learn from: {first}"))),
        _ => Ok(left_out),
    }
}

/// The path that reads the pdf of each label, to make an [`Example`] of; `plan` has finite weights, whatever they are.
///
/// # Errors
/// [`Error::Transcript`] naming the first label (one-based) that the graph does not permit after those before it.
pub fn path_of(plan: &Plan, labels: &[PdfId]) -> Result<Vec<StateId>> {
    labelled_path(plan, labels).map(|path| path.states).map_err(|error| match error {
        Error::Impossible { frame } => {
            let reason = format!("label {} may not stand where it does: the graph has no arc for it", frame + 1);
            Error::Transcript { reason }
        }
        other => other,
    })
}

#[cfg(test)]
pub(super) mod tests;
