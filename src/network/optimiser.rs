//! Steps on parameters from gradients: AdamW or momentum, clipping, and the one-cycle learning rate.
//!
//! All state can be read and given back, so that training resumes exactly. Tensors are updated in parallel, each by itself.

use std::f64::consts::PI;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The rule by which a gradient becomes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Adam with decoupled weight decay (Loshchilov & Hutter 2019), moments averaged by 0.9 and 0.999.
    #[default]
    AdamW,
    /// Stochastic gradient descent with a momentum of 0.9.
    Momentum,
}

const MOMENTUM: f32 = 0.9;
const SQUARE_DECAY: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// How steps are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimiserConfig {
    /// The rule.
    pub method: Method,
    /// Share of each weight (biases excepted) that a step of rate 1 takes away.
    pub weight_decay: f32,
    /// Largest Euclidean norm of the whole gradient; longer ones are shortened to it.
    pub clip_norm: f32,
}

/// The running averages behind the steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OptimiserState {
    /// Steps made.
    pub steps: u64,
    /// Averaged gradients, tensor by tensor.
    pub first: Vec<Vec<f32>>,
    /// Averaged squares of gradients, tensor by tensor; empty for [`Method::Momentum`].
    pub second: Vec<Vec<f32>>,
}

/// Makes steps.
#[derive(Debug, Clone)]
pub struct Optimiser {
    config: OptimiserConfig,
    /// Which tensors decay.
    decays: Vec<bool>,
    state: OptimiserState,
}

impl Optimiser {
    /// An optimiser of tensors of these `shapes`; those of two dimensions and more are weights and decay.
    pub fn new(config: OptimiserConfig, shapes: &[Vec<usize>]) -> Self {
        let zeros = || -> Vec<Vec<f32>> { shapes.iter().map(|shape| vec![0.0; shape.iter().product()]).collect() };
        let second = if config.method == Method::AdamW { zeros() } else { Vec::new() };
        let decays = shapes.iter().map(|shape| shape.len() > 1).collect();
        Self { config, decays, state: OptimiserState { steps: 0, first: zeros(), second } }
    }

    /// The running averages.
    pub fn state(&self) -> &OptimiserState {
        &self.state
    }

    /// Goes on from `state`.
    ///
    /// # Errors
    /// [`Error::Shape`] when it belongs to other tensors.
    pub fn restore(&mut self, state: OptimiserState) -> Result<()> {
        let counts = |tensors: &[Vec<f32>]| tensors.iter().map(Vec::len).collect::<Vec<_>>();
        for (mine, theirs) in [(&self.state.first, &state.first), (&self.state.second, &state.second)] {
            if counts(mine) != counts(theirs) {
                let total = |tensors: &[Vec<f32>]| tensors.iter().map(Vec::len).sum();
                let (expected, found) = (total(mine), total(theirs));
                return Err(Error::Shape { what: "values in the optimiser's state", expected, found });
            }
        }
        self.state = state;
        Ok(())
    }

    /// Changes `values` by one step of learning rate `rate` against `gradients`; `norm` is the gradients' [`norm`].
    ///
    /// # Panics
    /// When the tensors are not those that the optimiser was made for.
    pub fn step(&mut self, values: Vec<&mut [f32]>, (gradients, norm): (&[Vec<f32>], f64), rate: f32) {
        let state = &mut self.state;
        state.steps += 1;
        assert!(
            values.len() == state.first.len() && gradients.len() == state.first.len(),
            "tensors must stay the same"
        );
        let scale = (f64::from(self.config.clip_norm) / norm).min(1.0) as f32;
        let decay = |decays: bool| if decays { 1.0 - rate * self.config.weight_decay } else { 1.0 };
        let tensors = values.into_par_iter().zip(gradients).zip(&self.decays).zip(&mut state.first);
        match self.config.method {
            Method::AdamW => {
                let bias = |decay: f32| 1.0 - f64::from(decay).powf(state.steps as f64) as f32;
                let (rate, second_bias) = (rate / bias(MOMENTUM), bias(SQUARE_DECAY));
                tensors.zip(&mut state.second).for_each(|((((values, gradient), &decays), first), second)| {
                    adam((values, gradient), (first, second), Adam { rate, scale, decay: decay(decays), second_bias });
                });
            }
            Method::Momentum => tensors.for_each(|(((values, gradient), &decays), first)| {
                let decay = decay(decays);
                for ((value, g), m) in values.iter_mut().zip(gradient).zip(first) {
                    // m <- mu m + g; w <- (1 - rate lambda) w - rate m.
                    *m = MOMENTUM * *m + scale * g;
                    *value = decay * *value - rate * *m;
                }
            }),
        }
    }
}

/// What one step of AdamW has in common for a tensor.
#[derive(Clone, Copy)]
struct Adam {
    /// Learning rate over the bias of the first moment.
    rate: f32,
    /// Factor on the gradient that clips it.
    scale: f32,
    /// Factor on the values.
    decay: f32,
    second_bias: f32,
}

/// m <- b1 m + (1 - b1) g; v <- b2 v + (1 - b2) g^2; w <- (1 - rate lambda) w - rate m^ / (sqrt(v^) + eps), ^ without bias.
fn adam((values, gradient): (&mut [f32], &[f32]), (first, second): (&mut [f32], &mut [f32]), step: Adam) {
    for (((value, g), m), v) in values.iter_mut().zip(gradient).zip(first).zip(second) {
        let g = step.scale * g;
        *m = MOMENTUM * *m + (1.0 - MOMENTUM) * g;
        *v = SQUARE_DECAY * *v + (1.0 - SQUARE_DECAY) * g * g;
        *value = step.decay * *value - step.rate * *m / ((*v / step.second_bias).sqrt() + EPSILON);
    }
}

/// The Euclidean norm of all gradients together.
pub fn norm(gradients: &[Vec<f32>]) -> f64 {
    let squares: Vec<f64> =
        gradients.par_iter().map(|tensor| tensor.iter().map(|&g| f64::from(g) * f64::from(g)).sum()).collect();
    squares.iter().sum::<f64>().sqrt()
}

/// The learning rate, as a share of its peak, when the share `progress` in 0..1 of training is done: up in a straight line
/// during the share `warmup`, then down to nothing along a cosine ("one cycle", Smith & Topin 2019).
pub fn one_cycle(progress: f64, warmup: f64) -> f64 {
    if progress < warmup { progress / warmup } else { 0.5 + 0.5 * (PI * (progress - warmup) / (1.0 - warmup)).cos() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: OptimiserConfig = OptimiserConfig { method: Method::AdamW, weight_decay: 0.0, clip_norm: 1e9 };

    fn step(optimiser: &mut Optimiser, values: &mut [Vec<f32>], gradients: &[Vec<f32>], rate: f32) {
        let values = values.iter_mut().map(Vec::as_mut_slice).collect();
        optimiser.step(values, (gradients, norm(gradients)), rate);
    }

    /// torch 2.9: `p = torch.tensor([1.0, -2.0]); o = torch.optim.AdamW([p], lr=0.1, weight_decay=0.5)`, gradients
    /// `[0.5, -1.0]`, then `[0.25, 2.0]`; worked through by the paper's algorithm 2.
    #[test]
    fn adamw_follows_its_paper() {
        let config = OptimiserConfig { weight_decay: 0.5, ..PLAIN };
        let mut optimiser = Optimiser::new(config, &[vec![2, 1]]);
        let mut values = vec![vec![1.0, -2.0]];
        let (mut m, mut v, mut w) = ([0.0f64; 2], [0.0f64; 2], [1.0f64, -2.0]);
        for (t, gradient) in [(1, [0.5, -1.0]), (2, [0.25, 2.0])] {
            step(&mut optimiser, &mut values, &[gradient.map(|g| g as f32).to_vec()], 0.1);
            for i in 0..2 {
                m[i] = 0.9 * m[i] + 0.1 * gradient[i];
                v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
                let (mean, square) = (m[i] / (1.0 - 0.9f64.powi(t)), v[i] / (1.0 - 0.999f64.powi(t)));
                w[i] -= 0.1 * (mean / (square.sqrt() + 1e-8) + 0.5 * w[i]);
                assert!((f64::from(values[0][i]) - w[i]).abs() < 1e-5, "{t} {i}: {} {}", values[0][i], w[i]);
            }
        }
    }

    #[test]
    fn every_method_finds_a_minimum() {
        for method in [Method::AdamW, Method::Momentum] {
            let mut optimiser = Optimiser::new(OptimiserConfig { method, ..PLAIN }, &[vec![1], vec![1]]);
            let mut values = vec![vec![5.0], vec![-3.0]];
            for index in 0..400 {
                // (w0 - 1)^2 + 4 (w1 - 2)^2
                let gradients = [vec![2.0 * (values[0][0] - 1.0)], vec![8.0 * (values[1][0] - 2.0)]];
                step(&mut optimiser, &mut values, &gradients, 0.1 * one_cycle(index as f64 / 400.0, 0.1) as f32);
            }
            assert!((values[0][0] - 1.0).abs() < 0.01 && (values[1][0] - 2.0).abs() < 0.01, "{method:?}: {values:?}");
        }
    }

    #[test]
    fn long_gradients_are_shortened_and_biases_do_not_decay() {
        let config = OptimiserConfig { method: Method::Momentum, weight_decay: 0.5, clip_norm: 1.0 };
        let mut optimiser = Optimiser::new(config, &[vec![1, 2], vec![1]]);
        let mut values = vec![vec![1.0, 1.0], vec![1.0]];
        step(&mut optimiser, &mut values, &[vec![3.0, 4.0], vec![0.0]], 0.1);
        assert!((values[0][0] - (0.95 - 0.1 * 0.6)).abs() < 1e-6 && (values[0][1] - (0.95 - 0.1 * 0.8)).abs() < 1e-6);
        assert_eq!(values[1], [1.0]);
    }

    #[test]
    fn a_state_of_other_tensors_is_refused() {
        let mut optimiser = Optimiser::new(PLAIN, &[vec![2]]);
        let state = optimiser.state().clone();
        assert!(optimiser.restore(state).is_ok());
        assert!(optimiser.restore(Optimiser::new(PLAIN, &[vec![3]]).state().clone()).is_err());
    }

    #[test]
    fn the_rate_rises_and_falls() {
        assert_eq!(one_cycle(0.0, 0.1), 0.0);
        assert!((one_cycle(0.05, 0.1) - 0.5).abs() < 1e-12 && (one_cycle(0.1, 0.1) - 1.0).abs() < 1e-12);
        assert!((one_cycle(0.55, 0.1) - 0.5).abs() < 1e-12 && one_cycle(1.0, 0.1).abs() < 1e-12);
        assert_eq!(one_cycle(0.0, 0.0), 1.0);
    }
}
