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

use super::criterion::{Criterion, HammingCost, Objective, Right};
use super::iterate::Iterate;
use super::problem::{Example, Problem};
use crate::dp::Plan;
use crate::emission::{Emissions, Scorer};
use crate::error::require;
use crate::graph::Weights;
use crate::random::Random;
use crate::{Error, Result};

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
    theta: Iterate,
    plan: Plan,
    steps: usize,
    epochs: usize,
}

impl<'a, S: Scorer> Online<'a, S> {
    /// Starts from parameters that are all zero. The examples are such as [`leave_out`](super::problem::leave_out) leaves.
    ///
    /// # Errors
    /// As [`OnlineConfig::check`]; [`Error::Other`] when there are no examples.
    pub fn new(problem: &'a Problem<'a, S>, config: OnlineConfig) -> Result<Self> {
        config.check()?;
        check_examples(problem)?;
        let theta = Iterate::new(problem.parameters());
        let plan = problem.plan(theta.direction())?;
        Ok(Self { problem, config, theta, plan, steps: 0, epochs: 0 })
    }

    /// The parameters so far, the last or the mean.
    pub fn parameters(&self) -> Vec<f64> {
        match self.config.averaging {
            Averaging::Last => self.theta.last(),
            Averaging::Mean => self.theta.mean(),
        }
    }

    /// One pass over the sequences in random order.
    ///
    /// # Errors
    /// [`Error::Diverged`] naming the sequence when a score is too large to be a number.
    pub fn epoch(&mut self) -> Result<OnlineReport> {
        let problem = self.problem;
        let sequences = problem.examples.len();
        let mut order: Vec<usize> = (0..sequences).collect();
        Random::new(self.config.seed).fork(self.epochs as u64).shuffle(&mut order);
        self.epochs += 1;
        let mut report =
            OnlineReport { epoch: self.epochs, loss: 0.0, wrong_frames: 0, frames: 0, wrong_sequences: 0, sequences };
        for example in order.into_iter().map(|place| &problem.examples[place]) {
            let objective = self.learn(example).map_err(|error| self.of_sequence(example, error))?;
            let wrong = self.wrong_frames(example, &objective);
            report.loss += objective.loss / sequences as f64;
            report.wrong_frames += wrong;
            report.frames += example.path.len();
            report.wrong_sequences += usize::from(wrong > 0);
        }
        Ok(report)
    }

    /// One step; loss and rival of before.
    fn learn(&mut self, example: &Example<S::Input>) -> Result<Objective> {
        let objective = self.objective(example)?;
        self.step(example, &objective)?;
        Ok(objective)
    }

    /// Loss and rival of one example under the parameters of now.
    fn objective(&self, example: &Example<S::Input>) -> Result<Objective> {
        let criterion = match self.config.learner {
            OnlineLearner::Perceptron => Criterion::Perceptron,
            OnlineLearner::Margin { cost, .. } => Criterion::Margin(cost),
        };
        let emissions = self.problem.emissions(self.theta.direction(), &example.input)?;
        criterion.objective(&self.plan, Right::Path(&example.path), &scaled(emissions, self.theta.scale())?)
    }

    fn of_sequence(&self, example: &Example<S::Input>, error: Error) -> Error {
        let name = &example.name;
        match error {
            Error::NotFinite { .. } => {
                Error::Diverged { epoch: self.epochs, utterances: name.clone(), loss: f64::INFINITY }
            }
            other => Error::Other(format!("{name}: {other}")),
        }
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
                let inverse = (self.problem.examples.len() + self.steps) as f64;
                // theta - step * lambda * theta
                self.theta.shrink(1.0 - 1.0 / inverse);
                (1.0 / (lambda * inverse), self.steps as f64)
            }
        };
        let theta = &mut self.theta;
        let mut has_moved = theta.scale() != 1.0;
        self.problem.differentiate(&example.input, &objective.gradient, |parameter, d| {
            has_moved = true;
            theta.add(parameter, -step * d);
        });
        theta.count(weight);
        if has_moved { self.lay_out() } else { Ok(()) }
    }

    /// The plan under the transition weights of now.
    fn lay_out(&mut self) -> Result<()> {
        let (scale, direction) = (self.theta.scale(), self.theta.direction());
        let weights = direction[self.problem.scorer.parameters()..].iter();
        self.plan.reweigh(&Weights(weights.map(|weight| (scale * weight) as f32).collect()))
    }
}

/// Whether there is something to learn from.
pub(super) fn check_examples<S: Scorer>(problem: &Problem<'_, S>) -> Result<()> {
    match problem.examples.is_empty() {
        true => Err(Error::Other("there is no sequence to learn from".into())),
        false => Ok(()),
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
