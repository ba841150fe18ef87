//! Means of a network's parameters over a run, which do better than those of its last step.
//!
//! In: the parameters after each step and each epoch. Out: the mean of those after the last epochs, or one that moves with the
//! steps (Polyak & Juditsky 1992):
//!
//! ```text
//! a = d a + (1 - d) w      d = min(decay, (1 + n) / (10 + n)), n the steps before
//! ```
//!
//! d rises with the steps, so that the parameters of the start are soon forgotten.

use rayon::prelude::*;

use super::TrainerConfig;

/// A mean on its way.
#[derive(Debug)]
pub(super) struct Average {
    kind: Kind,
    /// The sum over the last epochs, or the moving mean; empty where nothing is averaged.
    pub(super) values: Vec<Vec<f32>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    None,
    /// Over the epochs after `first`, of which there are `count`.
    Last {
        first: usize,
        count: usize,
    },
    Moving {
        decay: f32,
    },
}

impl Average {
    /// Of a run that begins with `parameters`.
    pub(super) fn new(config: &TrainerConfig, parameters: &[Vec<f32>]) -> Self {
        let count = config.average_last;
        match config.ema_decay {
            decay if decay > 0.0 => Self { kind: Kind::Moving { decay }, values: parameters.to_vec() },
            _ if count > 1 => {
                Self { kind: Kind::Last { first: config.epochs - count, count }, values: zeros(parameters) }
            }
            _ => Self { kind: Kind::None, values: Vec::new() },
        }
    }

    /// Takes the `parameters` in after a step, before which there were that many others.
    pub(super) fn after_step(&mut self, parameters: &[Vec<f32>], before: u64) {
        let Kind::Moving { decay } = self.kind else { return };
        let soon = (1.0 + before as f64) / (10.0 + before as f64);
        let stays = decay.min(soon as f32);
        self.values.par_iter_mut().zip(parameters).for_each(|(mean, values)| {
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean = stays * *mean + (1.0 - stays) * value);
        });
    }

    /// Takes the `parameters` in after that many epochs.
    pub(super) fn after_epoch(&mut self, parameters: &[Vec<f32>], epochs: usize) {
        if matches!(self.kind, Kind::Last { first, .. } if epochs > first) {
            add(&mut self.values, parameters);
        }
    }

    /// The mean after that many epochs; the `parameters` as they are where there is none, or not yet.
    pub(super) fn of(&self, parameters: &[Vec<f32>], epochs: usize) -> Vec<Vec<f32>> {
        match self.kind {
            Kind::Moving { .. } => self.values.clone(),
            Kind::Last { first, count } if epochs >= first + count => {
                self.values.iter().map(|sum| sum.iter().map(|sum| sum / count as f32).collect()).collect()
            }
            _ => parameters.to_vec(),
        }
    }
}

/// As many zeros as there are `parameters`.
pub(super) fn zeros(parameters: &[Vec<f32>]) -> Vec<Vec<f32>> {
    parameters.iter().map(|values| vec![0.0; values.len()]).collect()
}

/// Adds `parts` to `sums`, tensor by tensor.
pub(super) fn add(sums: &mut [Vec<f32>], parts: &[Vec<f32>]) {
    sums.par_iter_mut().zip(parts).for_each(|(sums, parts)| {
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average(average_last: usize, ema_decay: f32) -> Average {
        Average::new(&TrainerConfig { epochs: 3, average_last, ema_decay, ..Default::default() }, &[vec![8.0]])
    }

    #[test]
    fn a_moving_average_is_the_weighted_sum_of_all_steps() {
        let (decay, values) = (0.5f32, [1.0f32, 2.0, -4.0, 0.0, 3.0, 7.0, 7.0, 5.0, 1.0, 2.0, 9.0, 6.0]);
        let mut moving = average(1, decay);
        values.iter().zip(0..).for_each(|(value, before)| moving.after_step(&[vec![*value]], before));
        // 0.1, 2/11, 0.25, ... until 0.5 at the eighth step.
        let stays: Vec<f64> =
            (0..values.len()).map(|n| (f64::from(n as u32 + 1) / f64::from(n as u32 + 10)).min(0.5)).collect();
        assert!(stays[7] < 0.5 && stays[8] == 0.5);
        let after = |step: usize| stays[step..].iter().product::<f64>();
        let steps = values.iter().enumerate().map(|(n, value)| after(n + 1) * (1.0 - stays[n]) * f64::from(*value));
        let expected = after(0) * 8.0 + steps.sum::<f64>();
        let found = moving.of(&[vec![f32::NAN]], 1)[0][0];
        assert!((f64::from(found) - expected).abs() < 1e-5, "{found}, expected {expected}");
    }

    #[test]
    fn the_last_epochs_are_averaged_when_all_are_done() {
        let mut last = average(2, 0.0);
        for (epochs, value) in [(1, 100.0), (2, 1.0), (3, 4.0)] {
            last.after_step(&[vec![1e9]], 7);
            last.after_epoch(&[vec![value]], epochs);
            assert_eq!(last.of(&[vec![value]], epochs)[0][0], if epochs == 3 { 2.5 } else { value });
        }
        let none = average(1, 0.0);
        assert!(none.values.is_empty() && none.of(&[vec![3.0]], 3) == [vec![3.0]]);
    }
}
