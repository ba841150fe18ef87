//! Cutting planes in one slack (Joachims, Finley & Yu 2009): the mean hinge is convex, so the largest of the planes found so far
//! is a model of it from below, which the quadratic programme minimises; each round adds a plane.

use super::violation::Violations;
use super::working_set::WorkingSet;
use super::{MarginConfig, MarginReport, MarginSolver, norm};
use crate::Result;
use crate::emission::Scorer;
use crate::learn::gradient::in_epoch;
use crate::learn::problem::Problem;

/// The next plane is tight this far on the way from the best theta so far to the minimum of the model.
///
/// At the minimum itself (a step of 1) planes zigzag around the optimum: several times as many are needed. Any step makes progress:
/// a plane that does not raise the model at its minimum shows that the primal at the plane is below the best one (Ben-Ameur & Neto
/// 2007; Franc & Sonnenburg 2008).
const STEP: f64 = 0.1;

/// Rounds after which a plane without a share is forgotten.
const PATIENCE: usize = 30;

/// Precision of the quadratic programme, as a share of the gap that is asked for.
const PRECISION: f64 = 0.01;

/// The cutting-plane solver. A round looks at every example once, on all threads; it keeps a vector for each plane.
pub struct CuttingPlanes<'a, S: Scorer> {
    violations: Violations<'a, S>,
    set: WorkingSet,
    /// Where the model is lowest.
    lowest: Vec<f64>,
    /// Where the primal is lowest, and how low.
    best: Vec<f64>,
    primal: f64,
    dual: f64,
    rounds: usize,
}

impl<'a, S: Scorer> CuttingPlanes<'a, S> {
    /// Starts from parameters that are all zero.
    ///
    /// # Errors
    /// As [`MarginConfig::check`]; [`Error::Other`](crate::Error::Other) when there are no examples.
    pub fn new(problem: &'a Problem<'a, S>, config: MarginConfig) -> Result<Self> {
        let violations = Violations::new(problem, config)?;
        let zeros = vec![0.0; problem.parameters()];
        let (set, lowest, best) = (WorkingSet::new(), zeros.clone(), zeros);
        Ok(Self { violations, set, lowest, best, primal: f64::INFINITY, dual: 0.0, rounds: 0 })
    }

    /// Adds the plane that is tight at `theta`, and remembers `theta` when it is the best.
    fn cut(&mut self, theta: Vec<f64>) -> Result<()> {
        let lambda = self.violations.config.lambda;
        let (plane, dense) = self.violations.plane(&theta)?;
        // What rounding may have hidden from the search, older planes still know.
        let height = self.set.heights(&theta).into_iter().fold(plane.at(&theta), f64::max);
        self.set.push(plane, &dense, lambda);
        let primal = norm(lambda, &theta) + height;
        if primal < self.primal {
            (self.primal, self.best) = (primal, theta);
        }
        Ok(())
    }

    /// The minimum of the model: theta = -1/lambda sum_j a_j gradient_j
    fn minimise(&mut self) {
        let config = self.violations.config;
        let solution = self.set.mix(PRECISION * config.enough(self.primal));
        self.dual = self.dual.max(solution.value);
        self.lowest.fill(0.0);
        for (plane, share) in self.set.iter().filter(|(_, share)| *share > 0.0) {
            plane.gradient.add_to(&mut self.lowest, -share / config.lambda);
        }
        self.set.forget(PATIENCE);
    }
}

impl<S: Scorer> MarginSolver for CuttingPlanes<'_, S> {
    fn round(&mut self) -> Result<MarginReport> {
        self.rounds += 1;
        let towards = |(best, lowest): (&f64, &f64)| best + STEP * (lowest - best);
        let theta = self.best.iter().zip(&self.lowest).map(towards).collect();
        self.cut(theta).map_err(|error| in_epoch(self.rounds, error))?;
        self.minimise();
        let is_solved = self.primal - self.dual <= self.violations.config.enough(self.primal);
        Ok(MarginReport { round: self.rounds, primal: self.primal, dual: self.dual, is_solved })
    }

    fn parameters(&self) -> Vec<f64> {
        self.best.clone()
    }
}
