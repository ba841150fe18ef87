//! Gradients to steps: AdamW (Loshchilov & Hutter 2019) with gradient clipping, its whole state open so that a run can stop
//! and go on to the very same parameters.

use rayon::prelude::*;

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

/// The moments of every parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct AdamW {
    /// Running means of the gradient, by parameter.
    pub first: Vec<Vec<f32>>,
    /// Running means of its square.
    pub second: Vec<Vec<f32>>,
    /// Steps done.
    pub steps: u64,
}

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.98;
const EPSILON: f32 = 1e-8;

/// What all values share in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    options: StepOptions,
    /// What clipping leaves of the gradient.
    scale: f32,
    /// 1 - b1^t and 1 - b2^t.
    corrections: [f32; 2],
}

impl Update {
    /// Moves `values` against `gradient`, all of the same length:
    ///
    /// ```text
    /// m = b1 m + (1 - b1) g      v = b2 v + (1 - b2) g^2
    /// w = w - rate * (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay * w)
    /// ```
    pub fn apply(&self, values: &mut [f32], gradient: &[f32], (first, second): (&mut [f32], &mut [f32])) {
        let Self { options, scale, corrections: [correct_1, correct_2] } = *self;
        let cells = values.iter_mut().zip(gradient).zip(first.iter_mut().zip(second));
        for ((w, &g), (m, v)) in cells {
            let g = g * scale;
            *m = BETA_1 * *m + (1.0 - BETA_1) * g;
            *v = BETA_2 * *v + (1.0 - BETA_2) * g * g;
            let direction = (*m / correct_1) / ((*v / correct_2).sqrt() + EPSILON);
            *w -= options.learning_rate * (direction + options.weight_decay * *w);
        }
    }
}

impl AdamW {
    /// No moments yet, for parameters as long as `parameters`.
    pub fn new(parameters: &[Vec<f32>]) -> Self {
        let zeros = || parameters.iter().map(|values| vec![0.0; values.len()]).collect();
        Self { first: zeros(), second: zeros(), steps: 0 }
    }

    /// One step against `gradient`; returns the norm that the gradient had.
    pub fn step(&mut self, parameters: &mut [Vec<f32>], gradient: &[Vec<f32>], options: StepOptions) -> f64 {
        let norm = norm(gradient);
        self.step_of_norm(parameters, gradient, (norm, options));
        norm
    }

    /// One step against `gradient`, which is all or part of one of that `norm`. The rest of it, whose moments are kept
    /// elsewhere, moves by the [`Update`] that is returned.
    pub fn step_of_norm(
        &mut self,
        parameters: &mut [Vec<f32>],
        gradient: &[Vec<f32>],
        (norm, options): (f64, StepOptions),
    ) -> Update {
        self.steps += 1;
        let scale = if norm > f64::from(options.clip) { (f64::from(options.clip) / norm) as f32 } else { 1.0 };
        let correct = |beta: f32| (1.0 - f64::from(beta).powf(self.steps as f64)) as f32;
        let update = Update { options, scale, corrections: [correct(BETA_1), correct(BETA_2)] };
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

    #[test]
    fn a_bowl_is_descended_to_its_bottom() {
        let mut at = vec![vec![3.0f32, -2.0], vec![5.0]];
        let mut adam = AdamW::new(&at);
        for _ in 0..2000 {
            let gradient: Vec<Vec<f32>> =
                at.iter().map(|values| values.iter().map(|w| 2.0 * (w - 1.0)).collect()).collect();
            adam.step(&mut at, &gradient, StepOptions { learning_rate: 0.01, weight_decay: 0.0, clip: 1e9 });
        }
        assert!(at.iter().flatten().all(|w| (w - 1.0).abs() < 1e-3), "{at:?}");
    }

    #[test]
    fn the_first_step_is_the_learning_rate_and_decay() {
        let mut at = vec![vec![2.0f32]];
        let options = StepOptions { learning_rate: 0.1, weight_decay: 0.5, clip: 1e9 };
        AdamW::new(&at).step(&mut at, &[vec![7.0]], options);
        assert!((at[0][0] - (2.0 - 0.1 * (1.0 + 0.5 * 2.0))).abs() < 1e-5, "{at:?}");
    }

    #[test]
    fn a_long_gradient_is_shortened() {
        let mut adam = AdamW::new(&[vec![0.0, 0.0]]);
        let options = StepOptions { learning_rate: 0.0, weight_decay: 0.0, clip: 1.0 };
        let norm = adam.step(&mut [vec![0.0, 0.0]], &[vec![3.0, 4.0]], options);
        assert_eq!(norm, 5.0);
        assert!((adam.first[0][0] - 0.1 * 0.6).abs() < 1e-6 && (adam.first[0][1] - 0.1 * 0.8).abs() < 1e-6);
    }
}
