//! Gradients to steps: AdamW (Loshchilov & Hutter 2019) or stochastic gradient descent with Nesterov's momentum, with gradient
//! clipping, the whole state open so that a run can stop and go on to the very same parameters.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::error::require;

/// By which rule gradients become steps: `{ kind = "adamw" }` or `{ kind = "sgd", momentum = 0.9 }`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OptimiserConfig {
    /// Every parameter by its own mean and deviation of the gradient; learning rates are about 1e-3.
    AdamW(AdamWConfig),
    /// All parameters alike; learning rates are some 10 to 100 times those of AdamW.
    Sgd(SgdConfig),
}

/// Settings of AdamW.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamWConfig {
    /// Share of the running mean of the gradient that stays at each step, at least 0 and below 1.
    pub beta_1: f32,
    /// The same of the mean of its square.
    pub beta_2: f32,
}

/// Settings of stochastic gradient descent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SgdConfig {
    /// Share of the velocity that stays at each step, at least 0 and below 1; 0 is plain descent.
    pub momentum: f32,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        Self { beta_1: 0.9, beta_2: 0.98 }
    }
}

impl Default for SgdConfig {
    fn default() -> Self {
        Self { momentum: 0.9 }
    }
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        Self::AdamW(AdamWConfig::default())
    }
}

impl OptimiserConfig {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) naming key and value.
    pub fn check(&self) -> Result<()> {
        let share =
            |key, value: f32| require((0.0..1.0).contains(&value), key, value, "a share, at least 0 and below 1");
        match *self {
            Self::AdamW(AdamWConfig { beta_1, beta_2 }) => share("beta_1", beta_1).and(share("beta_2", beta_2)),
            Self::Sgd(SgdConfig { momentum }) => share("momentum", momentum),
        }
    }
}

/// How large steps are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOptions {
    /// Learning rate of this step.
    pub learning_rate: f32,
    /// Share of a parameter, times the learning rate, that is taken off at each step.
    pub weight_decay: f32,
    /// Largest norm of the whole gradient; a larger one is scaled down to it.
    pub clip: f32,
}

/// An optimiser with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimiser {
    config: OptimiserConfig,
    /// Running means of the gradient, or velocities, by parameter.
    pub first: Vec<Vec<f32>>,
    /// Running means of the gradient's square; empty for each parameter where the rule has none.
    pub second: Vec<Vec<f32>>,
    /// Steps done.
    pub steps: u64,
}

const EPSILON: f32 = 1e-8;

/// What all values share in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    config: OptimiserConfig,
    options: StepOptions,
    /// What clipping leaves of the gradient.
    scale: f32,
    /// Steps done, this one included.
    steps: u64,
}

impl Update {
    /// Moves `values` against `gradient`; the state `first` is as long as they are, and so is `second` for AdamW. There
    ///
    /// ```text
    /// m = b1 m + (1 - b1) g      v = b2 v + (1 - b2) g^2
    /// w = w - rate * (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay * w)
    /// ```
    ///
    /// and for gradient descent, with Nesterov's momentum as Sutskever et al. (2013) put it,
    ///
    /// ```text
    /// m = mu m + g               w = w - rate * (g + mu m + decay * w)
    /// ```
    pub fn apply(&self, values: &mut [f32], gradient: &[f32], (first, second): (&mut [f32], &mut [f32])) {
        let Self { config, options: StepOptions { learning_rate, weight_decay, .. }, scale, steps } = *self;
        let cells = values.iter_mut().zip(gradient).zip(first);
        match config {
            OptimiserConfig::AdamW(AdamWConfig { beta_1, beta_2 }) => {
                let correct = |beta: f32| (1.0 - f64::from(beta).powf(steps as f64)) as f32;
                let (correct_1, correct_2) = (correct(beta_1), correct(beta_2));
                for (((w, &g), m), v) in cells.zip(second) {
                    let g = g * scale;
                    *m = beta_1 * *m + (1.0 - beta_1) * g;
                    *v = beta_2 * *v + (1.0 - beta_2) * g * g;
                    let direction = (*m / correct_1) / ((*v / correct_2).sqrt() + EPSILON);
                    *w -= learning_rate * (direction + weight_decay * *w);
                }
            }
            OptimiserConfig::Sgd(SgdConfig { momentum }) => {
                for ((w, &g), m) in cells {
                    let g = g * scale;
                    *m = momentum * *m + g;
                    *w -= learning_rate * (g + momentum * *m + weight_decay * *w);
                }
            }
        }
    }
}

impl Optimiser {
    /// No step done yet, for parameters as long as `parameters`.
    pub fn new(config: OptimiserConfig, parameters: &[Vec<f32>]) -> Self {
        let first: Vec<Vec<f32>> = parameters.iter().map(|values| vec![0.0; values.len()]).collect();
        let second = match config {
            OptimiserConfig::AdamW(_) => first.clone(),
            OptimiserConfig::Sgd(_) => vec![Vec::new(); first.len()],
        };
        Self { config, first, second, steps: 0 }
    }

    /// One step against `gradient`; returns the norm that the gradient had.
    pub fn step(&mut self, parameters: &mut [Vec<f32>], gradient: &[Vec<f32>], options: StepOptions) -> f64 {
        let norm = norm(gradient);
        self.step_of_norm(parameters, gradient, (norm, options));
        norm
    }

    /// One step against `gradient`, which is all or part of one of that `norm`. The rest of it, whose state is kept
    /// elsewhere, moves by the [`Update`] that is returned.
    pub fn step_of_norm(
        &mut self,
        parameters: &mut [Vec<f32>],
        gradient: &[Vec<f32>],
        (norm, options): (f64, StepOptions),
    ) -> Update {
        self.steps += 1;
        let scale = if norm > f64::from(options.clip) { (f64::from(options.clip) / norm) as f32 } else { 1.0 };
        let update = Update { config: self.config, options, scale, steps: self.steps };
        let moments = self.first.par_iter_mut().zip(&mut self.second);
        parameters
            .par_iter_mut()
            .zip(gradient)
            .zip(moments)
            .for_each(|((values, gradient), (first, second))| update.apply(values, gradient, (first, second)));
        update
    }
}

/// Euclidean norm of a whole gradient: tensors in parallel, then summed in order.
pub fn norm<T: AsRef<[f32]> + Sync>(gradient: &[T]) -> f64 {
    let square = |tensor: &T| tensor.as_ref().iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>();
    let squares: Vec<f64> = gradient.par_iter().map(square).collect();
    squares.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: StepOptions = StepOptions { learning_rate: 0.1, weight_decay: 0.0, clip: 1e9 };

    fn optimisers() -> [OptimiserConfig; 3] {
        let sgd = |momentum| OptimiserConfig::Sgd(SgdConfig { momentum });
        [OptimiserConfig::default(), sgd(0.0), sgd(0.9)]
    }

    #[test]
    fn a_bowl_is_descended_to_its_bottom() {
        for config in optimisers() {
            let mut at = vec![vec![3.0f32, -2.0], vec![5.0]];
            let mut optimiser = Optimiser::new(config, &at);
            for _ in 0..2000 {
                let gradient: Vec<Vec<f32>> =
                    at.iter().map(|values| values.iter().map(|w| 2.0 * (w - 1.0)).collect()).collect();
                optimiser.step(&mut at, &gradient, StepOptions { learning_rate: 0.01, ..PLAIN });
            }
            assert!(at.iter().flatten().all(|w| (w - 1.0).abs() < 1e-3), "{config:?}: {at:?}");
        }
    }

    /// Values after each of some steps from 2, in double precision as the formulas say.
    fn by_hand(config: OptimiserConfig, gradients: &[f64], decay: f64) -> Vec<f64> {
        let (mut w, mut m, mut v) = (2.0, 0.0, 0.0);
        let step = |(index, g): (usize, &f64)| {
            let t = index as i32 + 1;
            let direction = match config {
                OptimiserConfig::AdamW(AdamWConfig { beta_1, beta_2 }) => {
                    let (b1, b2) = (f64::from(beta_1), f64::from(beta_2));
                    m = b1 * m + (1.0 - b1) * g;
                    v = b2 * v + (1.0 - b2) * g * g;
                    m / (1.0 - b1.powi(t)) / (v / (1.0 - b2.powi(t))).sqrt()
                }
                OptimiserConfig::Sgd(SgdConfig { momentum }) => {
                    // As in the paper: a look ahead by the velocity, of which w here is the place looked at.
                    let velocity = m;
                    m = f64::from(momentum) * m - 0.1 * g;
                    -(m + f64::from(momentum) * (m - velocity)) / 0.1
                }
            };
            w -= 0.1 * (direction + decay * w);
            w
        };
        gradients.iter().enumerate().map(step).collect()
    }

    #[test]
    fn steps_are_those_of_the_formulas() {
        let gradients = [7.0, -1.0, 3.0, 0.5];
        for (config, decay) in optimisers().into_iter().flat_map(|config| [(config, 0.0), (config, 0.5)]) {
            let mut at = vec![vec![2.0f32]];
            let mut optimiser = Optimiser::new(config, &at);
            for (gradient, expected) in gradients.iter().zip(by_hand(config, &gradients, decay)) {
                let options = StepOptions { weight_decay: decay as f32, ..PLAIN };
                optimiser.step(&mut at, &[vec![*gradient as f32]], options);
                assert!((f64::from(at[0][0]) - expected).abs() < 1e-5, "{config:?}: {at:?}, expected {expected}");
            }
        }
    }

    #[test]
    fn momentum_in_closed_form() {
        // Under one gradient g the velocity is g (1 - mu^t) / (1 - mu), and a step is rate times g + mu m.
        let (mut at, config) = (vec![vec![0.0f32]], OptimiserConfig::Sgd(SgdConfig { momentum: 0.5 }));
        let mut optimiser = Optimiser::new(config, &at);
        let mut before = 0.0;
        for t in 1..=6 {
            optimiser.step(&mut at, &[vec![4.0]], PLAIN);
            let velocity = 4.0 * (1.0 - 0.5f32.powi(t)) / 0.5;
            assert!((optimiser.first[0][0] - velocity).abs() < 1e-5);
            assert!((before - at[0][0] - 0.1 * (4.0 + 0.5 * velocity)).abs() < 1e-5, "{t}");
            before = at[0][0];
        }
        assert!(optimiser.second[0].is_empty());
    }

    #[test]
    fn a_long_gradient_is_shortened() {
        for (config, share) in optimisers().into_iter().zip([0.1, 1.0, 1.0]) {
            let mut optimiser = Optimiser::new(config, &[vec![0.0, 0.0]]);
            let options = StepOptions { learning_rate: 0.0, weight_decay: 0.0, clip: 1.0 };
            let norm = optimiser.step(&mut [vec![0.0, 0.0]], &[vec![3.0, 4.0]], options);
            assert_eq!(norm, 5.0);
            let first = &optimiser.first[0];
            assert!((first[0] - share * 0.6).abs() < 1e-6 && (first[1] - share * 0.8).abs() < 1e-6, "{config:?}");
        }
    }

    #[test]
    fn settings_are_read_and_checked() {
        let read = |text: &str| crate::settings::parse::<Holder>(&format!("optimiser = {text}")).map(|h| h.optimiser);
        assert_eq!(read("{ kind = 'adamw' }").unwrap(), OptimiserConfig::default());
        let sgd = read("{ kind = 'sgd', momentum = 1.0 }").unwrap();
        let message = sgd.check().unwrap_err().to_string();
        assert_eq!(message, "momentum = 1: expected a share, at least 0 and below 1");
        assert!(read("{ kind = 'adamw', beta_2 = -0.1 }").unwrap().check().is_err());
        assert!(read("{ kind = 'sgd', beta_1 = 0.1 }").unwrap_err().contains("unknown field `beta_1`"));
        assert!(read("{ kind = 'adagrad' }").unwrap_err().contains("expected `adamw` or `sgd`"));
    }

    #[derive(Debug, Deserialize)]
    struct Holder {
        optimiser: OptimiserConfig,
    }
}
