//! Conditional random fields: the parameters under which the right answers are most probable, found by gradients.
//!
//! In: a [`Problem`] and a start. Out: its parameters theta, starts, ends and transitions among them. What is made small is
//! the sum over examples of a [`Goal`], plus a penalty that keeps parameters small (Lafferty et al. 2001):
//!
//! ```text
//! L(theta) = sum_i loss(x_i, y_i) + l2 * |theta|^2          dL = expected counts - right counts + 2 * l2 * theta
//! ```
//!
//! [`BatchConfig`] takes the whole sum at each step, [`StochasticConfig`] one example.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::criterion::{Criterion, Objective};
use super::lbfgs::{Lbfgs, LbfgsConfig, Stop};
use super::problem::{Example, Problem};
use crate::dp::Plan;
use crate::emission::Scorer;
use crate::error::require;
use crate::random::Random;
use crate::{Error, Result};

/// What a CRF makes large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// log P(y given x): convex, the usual choice.
    #[default]
    LogLikelihood,
    /// P(y given x) itself: an example that is hopelessly wrong weighs little; best begun where the other ended.
    Posterior,
}

impl Goal {
    /// The loss that falls as the goal rises.
    pub fn criterion(self) -> Criterion {
        match self {
            Self::LogLikelihood => Criterion::LogLikelihood,
            Self::Posterior => Criterion::Posterior,
        }
    }
}

/// Training by L-BFGS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchConfig {
    /// What is made large.
    pub goal: Goal,
    /// Weight of the penalty, 0 or more: CRFsuite's `c2`.
    pub l2: f64,
    /// When to stop.
    pub lbfgs: LbfgsConfig,
}

impl Default for BatchConfig {
    fn default() -> Self {
        Self { goal: Goal::LogLikelihood, l2: 1.0, lbfgs: LbfgsConfig::default() }
    }
}

/// Training by stochastic gradient descent: one example at a time, in random order.
///
/// The step of example i is `rate * d loss(x_i, y_i)`, with `rate = learning_rate / (1 + decay * epochs so far)`, parts of
/// an epoch included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StochasticConfig {
    /// What is made large.
    pub goal: Goal,
    /// Weight of the penalty, 0 or more, as in [`BatchConfig`]: each example has its share of it.
    pub l2: f64,
    /// Passes over the examples, at least 1.
    pub epochs: usize,
    /// The first rate, above 0.
    pub learning_rate: f64,
    /// The first rate of transitions, starts and ends, above 0; that of the others when not given.
    pub transition_learning_rate: Option<f64>,
    /// How fast rates fall, 0 or more.
    pub decay: f64,
    /// What the order of the examples comes from; whoever reads settings gives it.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for StochasticConfig {
    fn default() -> Self {
        Self {
            goal: Goal::LogLikelihood,
            l2: 1.0,
            epochs: 30,
            learning_rate: 0.2,
            transition_learning_rate: None,
            decay: 1.0,
            seed: 0,
        }
    }
}

/// How far training has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Iterations of L-BFGS, or epochs, done.
    pub iteration: usize,
    /// The objective, penalty included: at this point (L-BFGS), or as it was met example by example (stochastic).
    pub loss: f64,
    /// The length of the gradient; none in stochastic training, which never has the whole of it.
    pub gradient_norm: Option<f64>,
    /// Passes over the examples so far.
    pub passes: usize,
    /// The transition weights, those of starts and ends among them.
    pub transitions: Spread,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: loss {:.3}", self.iteration, self.loss)?;
        if let Some(norm) = self.gradient_norm {
            write!(f, ", gradient {norm:.3}")?;
        }
        write!(f, ", transitions {}", self.transitions)
    }
}

/// How far apart numbers lie.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The standard deviation around their mean.
    pub deviation: f64,
}

impl Spread {
    /// That of `values`; zeros when there are none.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            deviation: variance.sqrt(),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} to {:.2}, deviation {:.2}", self.min, self.max, self.deviation)
    }
}

/// What training leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The objective there, penalty included.
    pub loss: f64,
    /// Iterations of L-BFGS, or epochs.
    pub iterations: usize,
    /// Why it ended.
    pub stop: Stop,
}

impl BatchConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the first that is not.
    pub fn check(&self) -> Result<()> {
        check_penalty(self.l2)?;
        self.lbfgs.check()
    }

    /// Trains from `theta`; `report` hears of every iteration.
    ///
    /// # Errors
    /// As [`BatchConfig::check`] and [`Problem::objective`]; [`Error::Shape`] when `theta` has not the problem's parameters.
    pub fn train<S: Scorer>(
        &self,
        problem: &Problem<'_, S>,
        theta: Vec<f64>,
        report: &mut dyn FnMut(&Progress),
    ) -> Result<Trained> {
        self.check()?;
        check_start(problem, &theta)?;
        let objective = |theta: &[f64], gradient: &mut [f64]| {
            let loss = problem.objective(theta, self.goal.criterion(), gradient)?;
            gradient.iter_mut().zip(theta).for_each(|(slope, weight)| *slope += 2.0 * self.l2 * weight);
            Ok(loss + penalty(self.l2, theta))
        };
        let search = Lbfgs::new(self.lbfgs.clone(), theta, objective).map_err(|error| in_epoch(1, error))?;
        let mut search = search.with_scale(self.scale(problem));
        let stop = loop {
            let iteration = search.iterations() + 1;
            if let Some(stop) = search.step(objective).map_err(|error| in_epoch(iteration, error))? {
                break stop;
            }
            let point = search.point();
            report(&Progress {
                iteration: search.iterations(),
                loss: point.loss,
                gradient_norm: Some(point.gradient_norm()),
                passes: search.evaluations(),
                transitions: spread(problem, &point.theta),
            });
        };
        let iterations = search.iterations();
        let point = search.into_point();
        Ok(Trained { theta: point.theta, loss: point.loss, iterations, stop })
    }
}

/// How far a parameter may move, at first: the less, the more it is used. Measured on tagging tasks, the square root takes fewer
/// iterations than the uses themselves, and half of those without a scale.
const POWER_OF_USES: f64 = -0.5;

impl BatchConfig {
    fn scale<S: Scorer>(&self, problem: &Problem<'_, S>) -> Vec<f64> {
        // What is not used, and not kept small, has no slope: it does not move, whatever its scale.
        problem.uses().iter().map(|uses| (uses + 2.0 * self.l2).max(f64::EPSILON).powf(POWER_OF_USES)).collect()
    }
}

/// The penalty is taken in this many steps an epoch: each moves all parameters, also those that an example does not use.
const PENALTY_STEPS: usize = 100;

impl StochasticConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the first that is not.
    pub fn check(&self) -> Result<()> {
        let above_zero = |value: f64| value.is_finite() && value > 0.0;
        let rate = self.transition_learning_rate.unwrap_or(self.learning_rate);
        check_penalty(self.l2)?;
        require(self.epochs > 0, "epochs", self.epochs, "at least 1")?;
        require(above_zero(self.learning_rate), "learning_rate", self.learning_rate, "a number above 0")?;
        require(above_zero(rate), "transition_learning_rate", rate, "a number above 0")?;
        require(self.decay.is_finite() && self.decay >= 0.0, "decay", self.decay, "a number, 0 or more")
    }

    /// Trains from `theta`; `report` hears of every epoch. The same seed gives the same parameters.
    ///
    /// # Errors
    /// As [`StochasticConfig::check`] and [`Problem::of_example`]; [`Error::Shape`] when `theta` has not the problem's
    /// parameters; [`Error::Diverged`] naming epoch and example when the loss or a parameter is no longer a finite number.
    pub fn train<S: Scorer>(
        &self,
        problem: &Problem<'_, S>,
        theta: Vec<f64>,
        report: &mut dyn FnMut(&Progress),
    ) -> Result<Trained> {
        self.check()?;
        check_start(problem, &theta)?;
        let random = Random::new(self.seed);
        let mut order: Vec<usize> = (0..problem.examples.len()).collect();
        let plan = problem.plan(&theta)?;
        let mut descent = Descent { config: self, problem, theta, plan };
        for epoch in 1..=self.epochs {
            random.fork(epoch as u64).shuffle(&mut order);
            let loss = descent.epoch(epoch, &order)? + penalty(self.l2, &descent.theta);
            let transitions = spread(problem, &descent.theta);
            report(&Progress { iteration: epoch, loss, gradient_norm: None, passes: epoch, transitions });
        }
        let theta = descent.theta;
        let loss = problem.objective(&theta, self.goal.criterion(), &mut vec![0.0; theta.len()])?;
        let loss = loss + penalty(self.l2, &theta);
        Ok(Trained { theta, loss, iterations: self.epochs, stop: Stop::Iterations })
    }
}

/// Stochastic training under way.
struct Descent<'a, S: Scorer> {
    config: &'a StochasticConfig,
    problem: &'a Problem<'a, S>,
    theta: Vec<f64>,
    /// The problem's graph, with the transition weights of the last step.
    plan: Plan,
}

impl<S: Scorer> Descent<'_, S> {
    /// A step for each example; gives the sum of the losses before each step.
    fn epoch(&mut self, epoch: usize, order: &[usize]) -> Result<f64> {
        let block = order.len().div_ceil(PENALTY_STEPS).max(1);
        let mut total = 0.0;
        for (number, examples) in order.chunks(block).enumerate() {
            let passed = (epoch - 1) as f64 + (number * block) as f64 / order.len() as f64;
            let rates = self.rates(passed);
            for &index in examples {
                total += self.step(epoch, &self.problem.examples[index], rates)?;
            }
            self.shrink(rates, examples.len() as f64 / order.len() as f64);
        }
        Ok(total)
    }

    /// Rates of the scorer's parameters and of the transitions, after `passed` epochs.
    fn rates(&self, passed: f64) -> [f64; 2] {
        let StochasticConfig { learning_rate, transition_learning_rate, decay, .. } = *self.config;
        [learning_rate, transition_learning_rate.unwrap_or(learning_rate)].map(|rate| rate / (1.0 + decay * passed))
    }

    fn step(&mut self, epoch: usize, example: &Example<S::Input>, rates: [f64; 2]) -> Result<f64> {
        let objective = self.objective(example).map_err(|error| in_epoch(epoch, error))?;
        let (theta, emissions) = (&mut self.theta, self.problem.scorer.parameters());
        self.problem.differentiate(&example.input, &objective.gradient, |parameter, slope| {
            theta[parameter] -= rates[usize::from(parameter >= emissions)] * slope;
        });
        Ok(objective.loss)
    }

    fn objective(&mut self, example: &Example<S::Input>) -> Result<Objective> {
        self.plan.reweigh(&self.problem.weights(&self.theta)).map_err(|_| Error::Diverged {
            epoch: 0,
            utterances: format!("the examples before {}", example.name),
            loss: f64::INFINITY,
        })?;
        self.problem.of_example((&self.plan, &self.theta), example, self.config.goal.criterion())
    }

    /// The penalty's share: theta <- theta - rate * 2 * l2 * share * theta, with the new theta on the right, so that no rate is
    /// too high.
    fn shrink(&mut self, rates: [f64; 2], share: f64) {
        let (emissions, transitions) = self.theta.split_at_mut(self.problem.scorer.parameters());
        for (weights, rate) in [emissions, transitions].into_iter().zip(rates) {
            let factor = 1.0 / (1.0 + rate * 2.0 * self.config.l2 * share);
            weights.iter_mut().for_each(|weight| *weight *= factor);
        }
    }
}

/// Says in which epoch it was that training went astray.
pub(super) fn in_epoch(epoch: usize, error: Error) -> Error {
    match error {
        Error::Diverged { utterances, loss, .. } => Error::Diverged { epoch, utterances, loss },
        other => other,
    }
}

fn check_penalty(l2: f64) -> Result<()> {
    require(l2.is_finite() && l2 >= 0.0, "l2", l2, "a number, 0 or more")
}

fn check_start<S: Scorer>(problem: &Problem<'_, S>, theta: &[f64]) -> Result<()> {
    match theta.len() == problem.parameters() {
        true => Ok(()),
        false => Err(Error::Shape { what: "parameters", expected: problem.parameters(), found: theta.len() }),
    }
}

fn penalty(l2: f64, theta: &[f64]) -> f64 {
    l2 * theta.iter().map(|weight| weight * weight).sum::<f64>()
}

fn spread<S: Scorer>(problem: &Problem<'_, S>, theta: &[f64]) -> Spread {
    Spread::of(&theta[problem.scorer.parameters()..])
}

#[cfg(test)]
mod tests;
