//! The structured support vector machine to its optimum, with a certificate of how far off it is at most.
//!
//! In: a [`Problem`]. Out: the parameters that make small
//!
//! ```text
//! primal(theta) = lambda / 2 |theta|^2 + 1/n sum_i max_y' (cost(y_i, y') + F(x_i, y') - F(x_i, y_i))
//! ```
//!
//! (margin rescaling: Taskar et al. 2003; Tsochantaridis et al. 2005). Each labelling y' of example i bounds its maximum from
//! below by a plane, offset + psi . theta with psi = Phi(x, y') - Phi(x, y), and so does each mixture of such planes. Shares a_iy
//! that sum to one for each example make one bound of the primal out of them all, the dual:
//!
//! ```text
//! dual(a) = sum_iy a_iy offset_iy / n - lambda / 2 |theta(a)|^2,      theta(a) = -1/lambda sum_iy a_iy psi_iy / n
//! ```
//!
//! | solver | shares | a round |
//! |---|---|---|
//! | [`CuttingPlanes`] | the same for all examples: planes are means over all of them | a plane more, then the quadratic programme over all of them |
//! | [`FrankWolfe`] | of each example's own | one example at a time, a plane more and the quadratic programme over its own |
//!
//! Both stop when primal - dual is small enough. [`Online`](super::online::Online) goes down the same primal without a bound.

mod cutting_planes;
mod frank_wolfe;
mod quadratic;
mod sparse;
mod violation;
mod working_set;

pub use cutting_planes::CuttingPlanes;
pub use frank_wolfe::FrankWolfe;

use super::criterion::HammingCost;
use super::online::check_margin;
use super::problem::Problem;
use crate::Result;
use crate::emission::Scorer;
use crate::error::require;
use violation::Violations;

/// What to solve, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginConfig {
    /// What a wrong frame should cost.
    pub cost: HammingCost,
    /// Weight of the norm, above 0. The C of other programs, C sum_i hinge_i + 1/2 |theta|^2, is 1 / (lambda n).
    pub lambda: f64,
    /// Solved when primal - dual is at most this share of the primal, 0 or more ...
    pub relative_gap: f64,
    /// ... or at most this, 0 or more.
    pub absolute_gap: f64,
}

impl Default for MarginConfig {
    fn default() -> Self {
        Self { cost: HammingCost::default(), lambda: 1e-2, relative_gap: 1e-3, absolute_gap: 1e-6 }
    }
}

impl MarginConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) names the first that is not.
    pub fn check(&self) -> Result<()> {
        let (relative, absolute) = (self.relative_gap, self.absolute_gap);
        check_margin(self.lambda, self.cost)?;
        require((0.0..1.0).contains(&relative), "relative_gap", relative, "a number from 0, below 1")?;
        require(absolute.is_finite() && absolute >= 0.0, "absolute_gap", absolute, "a number, 0 or more")
    }

    /// The gap that is small enough for a primal of `primal`.
    fn enough(&self, primal: f64) -> f64 {
        self.absolute_gap.max(self.relative_gap * primal)
    }
}

/// Where a solver stands: the optimum lies between `dual` and `primal`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginReport {
    /// One-based.
    pub round: usize,
    /// The objective at the parameters.
    pub primal: f64,
    /// What no parameters can go below.
    pub dual: f64,
    /// Whether the gap is as small as was asked for.
    pub is_solved: bool,
}

impl MarginReport {
    /// primal - dual.
    pub fn gap(&self) -> f64 {
        self.primal - self.dual
    }
}

/// A solver of the primal, round by round.
pub trait MarginSolver {
    /// One more round.
    ///
    /// # Errors
    /// As [`Problem::of_example`], with [`Error::Diverged`](crate::Error::Diverged) for scores that are no numbers.
    fn round(&mut self) -> Result<MarginReport>;

    /// The parameters that the last report tells of; zeros before the first.
    fn parameters(&self) -> Vec<f64>;
}

/// Rounds until the gap is small enough, `most` at most. Each is handed to `report`.
///
/// # Errors
/// As [`MarginSolver::round`]; a `most` of 0 is refused.
pub fn solve(
    solver: &mut impl MarginSolver,
    most: usize,
    mut report: impl FnMut(&MarginReport),
) -> Result<MarginReport> {
    require(most > 0, "rounds", most, "a whole number from 1")?;
    loop {
        let found = solver.round()?;
        report(&found);
        if found.is_solved || found.round >= most {
            return Ok(found);
        }
    }
}

/// The objective at `theta`.
///
/// # Errors
/// As [`MarginConfig::check`] and [`MarginSolver::round`].
pub fn primal<S: Scorer>(problem: &Problem<'_, S>, config: &MarginConfig, theta: &[f64]) -> Result<f64> {
    let (plane, _) = Violations::new(problem, *config)?.plane(theta)?;
    Ok(norm(config.lambda, theta) + plane.at(theta))
}

/// lambda / 2 |theta|^2
fn norm(lambda: f64, theta: &[f64]) -> f64 {
    0.5 * lambda * theta.iter().map(|value| value * value).sum::<f64>()
}

#[cfg(test)]
mod tests;
