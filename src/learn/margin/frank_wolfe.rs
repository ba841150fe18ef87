//! Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013): the dual goes up by one example at a time, as
//! cheap as the perceptron and without a step to choose.
//!
//! An example's worst plane joins the planes that it has shares of, and its shares are made the best ones, those of all others
//! staying as they are. With one old plane, the mixture so far, that is the exact line search of the paper; with all of them no
//! old mistake lingers (fully corrective steps: Lacoste-Julien & Jaggi 2015), and shares can be made better without any search
//! (Shah, Kolmogorov & Lampert 2015).

use super::sparse::Gather;
use super::violation::Violations;
use super::working_set::{Plane, WorkingSet};
use super::{MarginConfig, MarginReport, MarginSolver, norm};
use crate::Result;
use crate::dp::Plan;
use crate::emission::Scorer;
use crate::learn::gradient::in_epoch;
use crate::learn::iterate::Iterate;
use crate::learn::problem::Problem;
use crate::random::Random;

/// Passes over the examples in a round, at most.
const PASSES: usize = 5;

/// Passes without a search after each of them.
const INNER_PASSES: usize = 4;

/// Precision of the shares of an example, as a part of its gap.
const PRECISION: f64 = 1e-3;

/// The Frank-Wolfe solver. A round is a few passes over the examples one by one, then a look at all of them, on all threads, for the
/// primal at the mean of the round's parameters. It keeps a few sparse vectors for each example.
pub struct FrankWolfe<'a, S: Scorer> {
    violations: Violations<'a, S>,
    seed: u64,
    /// Of each example, heights divided by n.
    sets: Vec<WorkingSet>,
    /// The offset of the mixture of all planes.
    offset: f64,
    theta: Iterate,
    plan: Plan,
    gather: Gather,
    passes: usize,
    rounds: usize,
}

impl<'a, S: Scorer> FrankWolfe<'a, S> {
    /// Starts from parameters that are all zero; `seed` decides the order of the examples.
    ///
    /// # Errors
    /// As [`MarginConfig::check`]; [`Error::Other`](crate::Error::Other) when there are no examples.
    pub fn new(problem: &'a Problem<'a, S>, config: MarginConfig, seed: u64) -> Result<Self> {
        let violations = Violations::new(problem, config)?;
        let sets = (0..violations.count()).map(|_| WorkingSet::new()).collect();
        let theta = Iterate::new(problem.parameters());
        let plan = problem.plan(theta.direction())?;
        let gather = Gather::new(problem.parameters());
        Ok(Self { violations, seed, sets, offset: 0.0, theta, plan, gather, passes: 0, rounds: 0 })
    }

    /// A search and a correction for every example, then corrections only; the sum of their gaps, each when its turn came.
    fn pass(&mut self) -> Result<f64> {
        let mut order: Vec<usize> = (0..self.sets.len()).collect();
        Random::new(self.seed).fork(self.passes as u64).shuffle(&mut order);
        self.passes += 1;
        let mut gap = 0.0;
        for &example in &order {
            let heights = self.search(example)?;
            gap += self.correct(example, heights);
            self.sets[example].forget(0);
            self.theta.count(1.0);
            self.lay_out()?;
        }
        for _ in 0..INNER_PASSES {
            for &example in &order {
                self.correct(example, self.sets[example].heights(self.theta.direction()));
            }
        }
        self.lay_out()?;
        Ok(gap)
    }

    fn lay_out(&mut self) -> Result<()> {
        self.plan.reweigh(&self.violations.problem.weights(self.theta.direction()))
    }

    /// Adds the worst plane of an example, if it is a new one; the heights of all its planes.
    fn search(&mut self, example: usize) -> Result<Vec<f64>> {
        let (violations, gather, theta) = (&self.violations, &mut self.gather, self.theta.direction());
        let n = violations.count() as f64;
        let found = &violations.problem.examples[example];
        let offset = violations.find((&self.plan, theta), found, |parameter, d| gather.add(parameter, d / n))? / n;
        let set = &mut self.sets[example];
        let plane = Plane { gradient: gather.sparse(), offset };
        let (height, mut heights) = (plane.at(theta), set.heights(theta));
        if heights.iter().all(|&known| known < height) {
            set.push(plane, gather.dense(), violations.config.lambda);
            heights.push(height);
        }
        gather.clear();
        Ok(heights)
    }

    /// Makes the shares of an example, whose planes have these `heights`, the best ones, and moves theta along; the gap before, how
    /// far its highest plane was above its mixture.
    fn correct(&mut self, example: usize, heights: Vec<f64>) -> f64 {
        let (set, lambda) = (&mut self.sets[example], self.violations.config.lambda);
        let before = set.shares().to_vec();
        let mixed: f64 = heights.iter().zip(&before).map(|(height, share)| height * share).sum();
        let gap = heights.iter().fold(mixed, |highest, &height| highest.max(height)) - mixed;
        if gap > 0.0 {
            set.mix_at(heights, PRECISION * gap);
            for ((plane, share), before) in set.iter().zip(before).filter(|((_, share), before)| share != before) {
                // theta = -1/lambda sum a psi
                self.offset += (share - before) * plane.offset;
                let step = (before - share) / lambda;
                plane.gradient.iter().for_each(|(parameter, value)| self.theta.add(parameter, step * value));
            }
        }
        gap
    }

    fn dual(&self) -> f64 {
        self.offset - norm(self.violations.config.lambda, self.theta.direction())
    }
}

impl<S: Scorer> MarginSolver for FrankWolfe<'_, S> {
    fn round(&mut self) -> Result<MarginReport> {
        self.rounds += 1;
        let config = self.violations.config;
        self.theta.forget();
        for _ in 0..PASSES {
            let gap = self.pass().map_err(|error| in_epoch(self.rounds, error))?;
            if gap <= config.enough(self.dual() + gap) {
                break;
            }
        }
        let theta = self.parameters();
        let (plane, _) = self.violations.plane(&theta).map_err(|error| in_epoch(self.rounds, error))?;
        // The mixture of all planes, whose gradient is -lambda times its theta, is below the hinge, whatever search rounds.
        let product: f64 = theta.iter().zip(self.theta.direction()).map(|(a, b)| a * b).sum();
        let height = plane.at(&theta).max(self.offset - config.lambda * product);
        let (primal, dual) = (norm(config.lambda, &theta) + height, self.dual());
        let is_solved = primal - dual <= config.enough(primal);
        Ok(MarginReport { round: self.rounds, primal, dual, is_solved })
    }

    fn parameters(&self) -> Vec<f64> {
        self.theta.mean()
    }
}
