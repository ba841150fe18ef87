//! Learning from one sequence at a time: the averaged perceptron, and the structured support vector machine by stochastic
//! sub-gradient. Decode, compare, add the difference; they differ in what is decoded, how long a step is and what shrinks.
//!
//! In: a [`Problem`]. Out: parameters, and a report after each epoch, so that the caller can watch a development set and keep
//! the best. With d = Phi(x, y') - Phi(x, y), the counts of the rival path minus those of the right one:
//!
//! | [`OnlineLearner`] | rival y' | update after sequence t of n a pass |
//! |---|---|---|
//! | [`Perceptron`](OnlineLearner::Perceptron) | best path | theta -= d |
//! | [`Margin`](OnlineLearner::Margin) | best path after the cost was added | theta -= step * (lambda * theta + d), step = 1 / (lambda * (n + t)) |

mod iterate;

use super::criterion::{Criterion, HammingCost, Objective, Right};
use super::problem::{Example, Problem};
use super::screening::{LeftOut, screen};
use crate::dp::{Plan, PlanOptions};
use crate::emission::{Emissions, Scorer};
use crate::error::require;
use crate::graph::Weights;
use crate::random::Random;
use crate::{Error, Result};
use iterate::Iterate;

/// What an online learner makes small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OnlineLearner {
    /// The number of mistakes: the structured perceptron (Collins 2002).
    Perceptron,
    /// The regularised hinge loss, whose minimum the solvers of [`margin`](super::margin) certify:
    ///
    /// ```text
    /// lambda / 2 |theta|^2 + 1/n sum_i max_y' (cost(y_i, y') + F(x_i, y') - F(x_i, y_i))
    /// ```
    ///
    /// The step is that of Pegasos (Shalev-Shwartz et al. 2007), begun one pass late: the first steps would otherwise be n times
    /// as long as those of the end of the first pass.
    Margin {
        /// What a wrong frame should cost.
        cost: HammingCost,
        /// Weight of the norm, above 0. The C of other programs, C sum_i hinge_i + 1/2 |theta|^2, is 1 / (lambda n).
        lambda: f64,
    },
}

/// Which parameters are the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Averaging {
    /// Those after the last step.
    Last,
    /// The mean of those after every step: of the perceptron all alike (Freund & Schapire 1999), of the margin learner step t
    /// weighs t (Lacoste-Julien et al. 2012; its early steps are far off).
    Mean,
}

/// Settings of an [`Online`] learner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnlineConfig {
    /// Perceptron or margin.
    pub learner: OnlineLearner,
    /// Last or mean.
    pub averaging: Averaging,
    /// Decides the order of the sequences, another one in each epoch.
    pub seed: u64,
}

impl OnlineConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that is not.
    pub fn check(&self) -> Result<()> {
        match self.learner {
            OnlineLearner::Perceptron => Ok(()),
            OnlineLearner::Margin { lambda, cost } => check_margin(lambda, cost),
        }
    }
}

/// Whether the two settings of the margin are in range.
pub(super) fn check_margin(lambda: f64, cost: HammingCost) -> Result<()> {
    require(lambda.is_finite() && lambda > 0.0, "lambda", lambda, "a number above 0")?;
    let per_frame = cost.per_frame;
    require(per_frame.is_finite() && per_frame > 0.0, "cost of a frame", per_frame, "a number above 0")
}

/// What one epoch met on its way, each sequence under the parameters of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct OnlineReport {
    /// One-based.
    pub epoch: usize,
    /// Mean loss of a sequence, without the norm.
    pub loss: f64,
    /// Frames in which the rival has another symbol than the right path.
    pub wrong_frames: usize,
    /// All frames.
    pub frames: usize,
    /// Sequences with such a frame. 0 for the perceptron: it has converged.
    pub wrong_sequences: usize,
    /// All sequences that are learnt from.
    pub sequences: usize,
}

/// An online learner on its way.
pub struct Online<'a, S: Scorer> {
    problem: &'a Problem<'a, S>,
    config: OnlineConfig,
    usable: Vec<usize>,
    left_out: Vec<LeftOut>,
    iterate: Iterate,
    plan: Plan,
    steps: usize,
    epochs: usize,
}

impl<'a, S: Scorer> Online<'a, S> {
    /// Starts from parameters that are all zero.
    ///
    /// # Errors
    /// As [`OnlineConfig::check`] and [`screen`].
    pub fn new(problem: &'a Problem<'a, S>, config: OnlineConfig) -> Result<Self> {
        config.check()?;
        let screened = screen(problem)?;
        let iterate = Iterate::new(problem.parameters());
        let plan = problem.plan(&iterate.last())?;
        let (usable, left_out) = (screened.usable, screened.left_out);
        Ok(Self { problem, config, usable, left_out, iterate, plan, steps: 0, epochs: 0 })
    }

    /// The examples that nothing is learnt from.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The parameters so far, the last or the mean.
    pub fn parameters(&self) -> Vec<f64> {
        match self.config.averaging {
            Averaging::Last => self.iterate.last(),
            Averaging::Mean => self.iterate.mean(),
        }
    }

    /// One pass over the sequences in random order.
    ///
    /// # Errors
    /// [`Error::Diverged`] naming the sequence when a score is too large to be a number.
    pub fn epoch(&mut self) -> Result<OnlineReport> {
        let mut order = self.usable.clone();
        Random::new(self.config.seed).fork(self.epochs as u64).shuffle(&mut order);
        self.epochs += 1;
        let (epoch, sequences) = (self.epochs, order.len());
        let mut report = OnlineReport { epoch, loss: 0.0, wrong_frames: 0, frames: 0, wrong_sequences: 0, sequences };
        let problem = self.problem;
        for place in order {
            let example = &problem.examples[place];
            let objective = self.look_at(example)?;
            let wrong = self.wrong_frames(example, &objective);
            report.loss += objective.loss / sequences as f64;
            report.wrong_frames += wrong;
            report.frames += example.path.len();
            report.wrong_sequences += usize::from(wrong > 0);
            self.step(example, &objective)?;
        }
        Ok(report)
    }

    /// Loss and rival of one example under the parameters of now.
    fn look_at(&self, example: &Example<S::Input>) -> Result<Objective> {
        let criterion = match self.config.learner {
            OnlineLearner::Perceptron => Criterion::Perceptron,
            OnlineLearner::Margin { cost, .. } => Criterion::Margin(cost),
        };
        let scale = self.iterate.scale();
        self.problem
            .emissions(self.iterate.direction(), &example.input)
            .and_then(|emissions| scaled(emissions, scale))
            .and_then(|emissions| criterion.objective(&self.plan, Right::Path(&example.path), &emissions))
            .map_err(|error| match error {
                Error::NotFinite { .. } => {
                    Error::Diverged { epoch: self.epochs, utterances: example.name.clone(), loss: f64::INFINITY }
                }
                other => other,
            })
    }

    fn wrong_frames(&self, example: &Example<S::Input>, objective: &Objective) -> usize {
        let symbol = |state| self.problem.graph.state(state).symbol;
        let rival = objective.rival.iter().flatten();
        rival.zip(&example.path).filter(|(rival, right)| symbol(**rival) != symbol(**right)).count()
    }

    /// Moves against the gradient, and counts where that leads to.
    fn step(&mut self, example: &Example<S::Input>, objective: &Objective) -> Result<()> {
        self.steps += 1;
        let (step, weight) = match self.config.learner {
            OnlineLearner::Perceptron => (1.0, 1.0),
            OnlineLearner::Margin { lambda, .. } => {
                let inverse = (self.usable.len() + self.steps) as f64;
                // theta - step * lambda * theta
                self.iterate.shrink(1.0 - 1.0 / inverse);
                (1.0 / (lambda * inverse), self.steps as f64)
            }
        };
        let iterate = &mut self.iterate;
        let mut moved = iterate.scale() != 1.0;
        self.problem.differentiate(&example.input, &objective.gradient, |parameter, d| {
            moved = true;
            iterate.add(parameter, -step * d);
        });
        iterate.count(weight);
        if moved {
            self.lay_out()?;
        }
        Ok(())
    }

    /// The plan under the transition weights of now.
    fn lay_out(&mut self) -> Result<()> {
        let (scale, direction) = (self.iterate.scale(), self.iterate.direction());
        let weights = &direction[self.problem.scorer.parameters()..];
        let weights = Weights(weights.iter().map(|weight| (scale * weight) as f32).collect());
        self.plan = Plan::new(self.problem.graph, &weights, &PlanOptions::default())?;
        Ok(())
    }
}

/// The emissions of `scale` times the parameters: they are linear.
fn scaled(emissions: Emissions, scale: f64) -> Result<Emissions> {
    if scale == 1.0 {
        return Ok(emissions);
    }
    let mut scores = emissions.matrix().clone();
    scores.as_mut_slice().iter_mut().for_each(|score| *score = (f64::from(*score) * scale) as f32);
    Emissions::new(scores)
}

#[cfg(test)]
mod tests;
