//! Minimising a smooth function of many parameters: quasi-Newton steps with limited memory.
//!
//! In: a function that gives its value and gradient, and a start. Out: the parameters of a minimum. H approximates the inverse
//! of the curvature by the last m steps s_k = theta_{k+1} - theta_k and changes of the gradient y_k (Nocedal 1980; Nocedal &
//! Wright 2006, algorithm 7.4, with their notation):
//!
//! ```text
//! theta_{k+1} = theta_k - t H_k g_k      H_{k+1} = V' H_k V + rho s s',  V = 1 - rho y s',  rho = 1 / y's
//! ```
//!
//! where the oldest H is a diagonal: a guess of how far each parameter may move, compared with the others.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::error::require;

/// When to stop, and what to remember; the defaults are CRFsuite's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LbfgsConfig {
    /// Steps that are remembered, m, at least 1.
    pub memory: usize,
    /// Iterations at most.
    pub max_iterations: usize,
    /// Stops when the loss has fallen by less than this share of itself in the last [`period`](Self::period) iterations; 0 or
    /// more.
    pub delta: f64,
    /// Iterations to look back for `delta`, at least 1.
    pub period: usize,
    /// Stops when the gradient's norm is at most this times that of the parameters, or times 1; 0 or more.
    pub epsilon: f64,
}

impl Default for LbfgsConfig {
    fn default() -> Self {
        Self { memory: 6, max_iterations: 1000, delta: 1e-5, period: 10, epsilon: 1e-5 }
    }
}

impl LbfgsConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) naming the first that is not.
    pub fn check(&self) -> Result<()> {
        let share = |value: f64| (0.0..1.0).contains(&value);
        require(self.memory > 0, "memory", self.memory, "at least 1")?;
        require(self.max_iterations > 0, "max_iterations", self.max_iterations, "at least 1")?;
        require(self.period > 0, "period", self.period, "at least 1")?;
        require(share(self.delta), "delta", self.delta, "a number from 0 to 1")?;
        require(share(self.epsilon), "epsilon", self.epsilon, "a number from 0 to 1")
    }
}

/// A point, its value and its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The function's value there.
    pub loss: f64,
    /// Its derivatives there.
    pub gradient: Vec<f64>,
}

impl Point {
    /// The length of the gradient.
    pub fn gradient_norm(&self) -> f64 {
        norm(&self.gradient)
    }
}

/// Why minimising ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The gradient is small: a minimum.
    Gradient,
    /// The loss hardly falls any more.
    Delta,
    /// No step along the last direction lowers the loss: a minimum as far as rounding tells.
    Rounding,
    /// The iterations are used up.
    Iterations,
}

/// A minimisation under way. Deterministic.
#[derive(Debug, Clone)]
pub struct Lbfgs {
    config: LbfgsConfig,
    point: Point,
    evaluations: usize,
    /// The losses so far, that of the start first.
    losses: Vec<f64>,
    /// The diagonal of H before any step is known, up to a common factor.
    scale: Vec<f64>,
    /// The last steps, oldest first.
    memory: VecDeque<Pair>,
}

/// A step s and the change y of the gradient along it.
#[derive(Debug, Clone)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    /// 1 / y's
    rho: f64,
}

/// The function along a line: at `t` it has the value `loss` and the derivative `slope`.
#[derive(Debug, Clone, Copy)]
struct OnLine {
    t: f64,
    loss: f64,
    slope: f64,
}

/// A step must lower the loss by this share of what the slope promises.
const ENOUGH_DESCENT: f64 = 1e-4;
/// And go on until the slope is this share of what it was.
const FLATTER: f64 = 0.9;
/// A share of the loss that rounding may add.
const ROUNDING: f64 = 1e-9;
const MOST_TRIALS: usize = 20;

impl Lbfgs {
    /// Begins at `theta`. `function` fills in the gradient, which is zero before, and gives the value.
    ///
    /// # Errors
    /// As [`LbfgsConfig::check`]; those of `function`.
    pub fn new(
        config: LbfgsConfig,
        theta: Vec<f64>,
        function: impl FnOnce(&[f64], &mut [f64]) -> Result<f64>,
    ) -> Result<Self> {
        config.check()?;
        let mut gradient = vec![0.0; theta.len()];
        let loss = function(&theta, &mut gradient)?;
        let scale = vec![1.0; theta.len()];
        let point = Point { theta, loss, gradient };
        Ok(Self { config, point, evaluations: 1, losses: vec![loss], scale, memory: VecDeque::new() })
    }

    /// Takes for each parameter how far it may move, compared with the others, for the same slope: above 0, all 1 when not given.
    ///
    /// A guess that is right within a factor of ten saves many iterations when parameters differ by far more than that.
    ///
    /// # Panics
    /// When there is not one number for each parameter.
    pub fn with_scale(self, scale: Vec<f64>) -> Self {
        assert_eq!(scale.len(), self.point.theta.len(), "a scale for each parameter");
        Self { scale, ..self }
    }

    /// Where it stands.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Gives up where it stands.
    pub fn into_point(self) -> Point {
        self.point
    }

    /// Iterations done.
    pub fn iterations(&self) -> usize {
        self.losses.len() - 1
    }

    /// How often the function was evaluated.
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Whether and why there is nothing more to do here.
    pub fn stop(&self) -> Option<Stop> {
        let LbfgsConfig { max_iterations, delta, period, epsilon, .. } = self.config;
        if self.point.gradient_norm() <= epsilon * norm(&self.point.theta).max(1.0) {
            return Some(Stop::Gradient);
        }
        let before = self.iterations().checked_sub(period).map(|past| self.losses[past]);
        if before.is_some_and(|before| before - self.point.loss < delta * self.point.loss.abs()) {
            return Some(Stop::Delta);
        }
        (self.iterations() >= max_iterations).then_some(Stop::Iterations)
    }

    /// One iteration with the `function` of [`Lbfgs::new`]; gives why there is none any more, if so.
    ///
    /// # Errors
    /// Those of `function`.
    pub fn step(&mut self, function: impl FnMut(&[f64], &mut [f64]) -> Result<f64>) -> Result<Option<Stop>> {
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        let direction = self.direction();
        let Some(next) = self.line_search(&direction, function)? else { return Ok(Some(Stop::Rounding)) };
        self.remember(&next);
        self.losses.push(next.loss);
        self.point = next;
        Ok(None)
    }

    /// -H g by the two loops over the memory.
    fn direction(&self) -> Vec<f64> {
        let mut direction: Vec<f64> = self.point.gradient.iter().map(|g| -g).collect();
        let mut along = Vec::with_capacity(self.memory.len());
        for pair in self.memory.iter().rev() {
            let share = pair.rho * dot(&pair.s, &direction);
            add(&mut direction, -share, &pair.y);
            along.push(share);
        }
        let common = self.memory.back().map_or(1.0, |last| 1.0 / (last.rho * scaled_square(&last.y, &self.scale)));
        direction.iter_mut().zip(&self.scale).for_each(|(d, scale)| *d *= common * scale);
        for (pair, share) in self.memory.iter().zip(along.into_iter().rev()) {
            let share_now = pair.rho * dot(&pair.y, &direction);
            add(&mut direction, share - share_now, &pair.s);
        }
        direction
    }

    /// A point along `direction` that is lower, and flat enough to learn the curvature from (the conditions of Wolfe 1969); none
    /// when rounding hides it.
    fn line_search(
        &mut self,
        direction: &[f64],
        mut function: impl FnMut(&[f64], &mut [f64]) -> Result<f64>,
    ) -> Result<Option<Point>> {
        let start = OnLine { t: 0.0, loss: self.point.loss, slope: dot(&self.point.gradient, direction) };
        let (mut low, mut high) = (start, None);
        // The first step has length 1, measured in the scale.
        let mut t = if self.memory.is_empty() { 1.0 / (-start.slope).sqrt() } else { 1.0 };
        let mut next = Point { theta: self.point.theta.clone(), loss: 0.0, gradient: vec![0.0; direction.len()] };
        for _ in 0..MOST_TRIALS {
            next.theta.copy_from_slice(&self.point.theta);
            add(&mut next.theta, t, direction);
            next.gradient.fill(0.0);
            next.loss = function(&next.theta, &mut next.gradient)?;
            self.evaluations += 1;
            let trial = OnLine { t, loss: next.loss, slope: dot(&next.gradient, direction) };
            let promised = start.loss + ENOUGH_DESCENT * t * start.slope;
            if trial.loss > promised + ROUNDING * start.loss.abs() {
                high = Some(trial);
            } else if trial.slope < FLATTER * start.slope {
                low = trial;
            } else {
                return Ok(Some(next));
            }
            t = high.map_or_else(|| beyond(low, start), |high| between(low, high));
        }
        Ok(None)
    }

    fn remember(&mut self, next: &Point) {
        let difference = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        let (s, y) = (difference(&next.theta, &self.point.theta), difference(&next.gradient, &self.point.gradient));
        let curvature = dot(&y, &s);
        if curvature > 0.0 {
            if self.memory.len() == self.config.memory {
                self.memory.pop_front();
            }
            self.memory.push_back(Pair { s, y, rho: 1.0 / curvature });
        }
    }
}

/// Where the slope should be zero if it goes on as from `start` to `low`: 2 to 100 times as far.
fn beyond(low: OnLine, start: OnLine) -> f64 {
    let zero = low.t * start.slope / (start.slope - low.slope);
    if zero.is_finite() { zero.clamp(2.0 * low.t, 100.0 * low.t) } else { 2.0 * low.t }
}

/// The minimum between two points of the cubic that has their values and slopes (Nocedal & Wright 2006, eq. 3.59), not too near
/// to either.
fn between(low: OnLine, high: OnLine) -> f64 {
    let width = high.t - low.t;
    let a = low.slope + high.slope - 3.0 * (low.loss - high.loss) / (low.t - high.t);
    let b = (a * a - low.slope * high.slope).sqrt();
    let minimum = high.t - width * (high.slope + b - a) / (high.slope - low.slope + 2.0 * b);
    match minimum.is_finite() {
        true => minimum.clamp(low.t + 0.1 * width, high.t - 0.1 * width),
        false => low.t + 0.5 * width,
    }
}

/// to += factor * from
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// sum_i scale_i * vector_i^2
fn scaled_square(vector: &[f64], scale: &[f64]) -> f64 {
    vector.iter().zip(scale).map(|(value, scale)| scale * value * value).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// The sum of the products, in eight running sums: the processor need not wait for one before it begins the next.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let whole = a.len() / 8 * 8;
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a[whole..].iter().zip(&b[whole..]).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley (1960) in pairs of coordinates: its minimum is 0, at all ones.
    fn valley(theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut loss = 0.0;
        for (x, g) in theta.chunks_exact(2).zip(gradient.chunks_exact_mut(2)) {
            let bend = x[1] - x[0] * x[0];
            loss += 100.0 * bend * bend + (1.0 - x[0]).powi(2);
            g[0] -= 400.0 * x[0] * bend + 2.0 * (1.0 - x[0]);
            g[1] += 200.0 * bend;
        }
        Ok(loss)
    }

    fn run(config: LbfgsConfig, start: Vec<f64>) -> (Lbfgs, Stop, Vec<f64>) {
        let mut search = Lbfgs::new(config, start, valley).unwrap();
        let mut losses = vec![search.point().loss];
        loop {
            if let Some(stop) = search.step(valley).unwrap() {
                return (search, stop, losses);
            }
            losses.push(search.point().loss);
        }
    }

    const FINE: LbfgsConfig = LbfgsConfig { memory: 6, max_iterations: 1000, delta: 0.0, period: 10, epsilon: 1e-9 };

    #[test]
    fn the_valley_is_followed_to_its_end() {
        let (search, stop, losses) = run(FINE, [-1.2, 1.0].repeat(10));
        assert_eq!(stop, Stop::Gradient);
        assert!(search.point().theta.iter().all(|x| (x - 1.0).abs() < 1e-8), "{:?}", search.point());
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0]));
        assert!(search.iterations() < 60 && search.evaluations() < 80, "{search:?}");
    }

    #[test]
    fn a_scale_near_the_inverse_curvature_saves_steps() {
        let curvature = |at: usize| 10f64.powi(at as i32 % 5);
        let bowl = |theta: &[f64], gradient: &mut [f64]| {
            let mut loss = 0.0;
            for (at, (x, g)) in theta.iter().zip(gradient).enumerate() {
                let off = x - 1.0;
                loss += curvature(at) * (off.powi(2) + off.powi(4));
                *g += curvature(at) * (2.0 * off + 4.0 * off.powi(3));
            }
            Ok(loss)
        };
        let iterations = |scale: Vec<f64>| {
            let mut search = Lbfgs::new(FINE, vec![0.0; 50], bowl).unwrap().with_scale(scale);
            let first = search.point().loss;
            while search.point().loss > 1e-8 * first {
                assert_eq!(search.step(bowl).unwrap(), None);
            }
            search.iterations()
        };
        let mut random = crate::random::Random::new(1);
        let rough = (0..50).map(|at| f64::from(random.uniform() + 0.3) / curvature(at)).collect();
        let (plain, scaled) = (iterations(vec![1.0; 50]), iterations(rough));
        assert!(2 * scaled < plain, "{scaled} {plain}");
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let start = [-1.2, 1.0].repeat(10);
        let (search, stop, _) = run(LbfgsConfig { max_iterations: 5, ..FINE }, start.clone());
        assert_eq!((stop, search.iterations()), (Stop::Iterations, 5));
        let (search, stop, losses) = run(LbfgsConfig { delta: 0.5, period: 2, ..FINE }, start);
        let fallen = |at: usize| (losses[at - 2] - losses[at]) / losses[at];
        assert_eq!(stop, Stop::Delta);
        assert!(fallen(search.iterations()) < 0.5 && (2..search.iterations()).all(|at| fallen(at) >= 0.5));
        assert_eq!(run(FINE, vec![1.0; 4]).1, Stop::Gradient);
    }

    #[test]
    fn axes_of_very_different_curvature_are_no_obstacle() {
        let curvatures = [1.0, 10.0, 100.0, 1000.0];
        let parabola = |theta: &[f64], gradient: &mut [f64]| {
            gradient.iter_mut().zip(theta).zip(curvatures).for_each(|((g, x), c)| *g += c * (x - 3.0));
            Ok(theta.iter().zip(curvatures).map(|(x, c)| 0.5 * c * (x - 3.0).powi(2)).sum())
        };
        let mut search = Lbfgs::new(FINE, vec![0.0; 4], parabola).unwrap();
        while search.step(parabola).unwrap().is_none() {}
        assert!(search.point().theta.iter().all(|x| (x - 3.0).abs() < 1e-6), "{:?}", search.point());
        assert!(search.iterations() < 40, "{}", search.iterations());
    }

    #[test]
    fn a_function_that_lies_about_its_slope_ends_it() {
        let lie = |theta: &[f64], gradient: &mut [f64]| {
            gradient[0] = -1.0;
            Ok(theta[0])
        };
        let mut search = Lbfgs::new(FINE, vec![0.0], lie).unwrap();
        assert_eq!(search.step(lie).unwrap(), Some(Stop::Rounding));
        assert_eq!(search.point().theta, [0.0]);
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let bad = [
            (LbfgsConfig { memory: 0, ..FINE }, "memory"),
            (LbfgsConfig { max_iterations: 0, ..FINE }, "max_iterations"),
            (LbfgsConfig { period: 0, ..FINE }, "period"),
            (LbfgsConfig { delta: -1.0, ..FINE }, "delta"),
            (LbfgsConfig { epsilon: f64::NAN, ..FINE }, "epsilon"),
        ];
        for (config, key) in bad {
            assert!(config.check().unwrap_err().to_string().starts_with(key));
        }
    }

    #[test]
    fn sums_of_products_take_every_element() {
        for length in 0..20 {
            let a: Vec<f64> = (0..length).map(f64::from).collect();
            assert_eq!(dot(&a, &a), a.iter().map(|x| x * x).sum::<f64>());
        }
    }
}
