//! Settings of one training pass.

use serde::{Deserialize, Serialize};

use super::AugmentConfig;
use crate::{Error, Result};

/// How a network is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainerConfig {
    /// Passes over the data, at least 1.
    pub epochs: usize,
    /// Feature frames in a batch, about; an utterance is never cut.
    pub batch_frames: usize,
    /// Largest learning rate of the schedule.
    pub learning_rate: f32,
    /// Share of the steps during which the learning rate rises, 0 to 1.
    pub warm_up: f64,
    /// Share of a parameter, times the learning rate, that is taken off at each step.
    pub weight_decay: f32,
    /// Largest norm of a batch's gradient.
    pub clip: f32,
    /// Share of the target's probability that is spread over all pdfs, 0 to 1.
    pub label_smoothing: f32,
    /// The final parameters are the mean of those after this many last epochs.
    pub average_last: usize,
    /// Changes of the frames, drawn anew each epoch.
    pub augment: AugmentConfig,
}

impl Default for TrainerConfig {
    fn default() -> Self {
        Self {
            epochs: 10,
            batch_frames: 5000,
            learning_rate: 2e-3,
            warm_up: 0.15,
            weight_decay: 1e-2,
            clip: 5.0,
            label_smoothing: 0.0,
            average_last: 1,
            augment: AugmentConfig::default(),
        }
    }
}

impl TrainerConfig {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming key and value.
    pub fn check(&self) -> Result<()> {
        let wrong = |key, value: String, expected| Err(Error::Setting { key, value, expected });
        let above_zero = |value: f32| value.is_finite() && value > 0.0;
        match self {
            c if c.epochs == 0 => wrong("epochs", "0".into(), "at least 1"),
            c if c.batch_frames == 0 => wrong("batch_frames", "0".into(), "at least 1"),
            c if c.average_last == 0 => wrong("average_last", "0".into(), "at least 1"),
            c if !above_zero(c.learning_rate) => {
                wrong("learning_rate", c.learning_rate.to_string(), "a number above 0")
            }
            c if !above_zero(c.clip) => wrong("clip", c.clip.to_string(), "a number above 0"),
            c if !(0.0..1.0).contains(&c.warm_up) => wrong("warm_up", c.warm_up.to_string(), "a share from 0 to 1"),
            c if !(0.0..1.0).contains(&c.weight_decay) => {
                wrong("weight_decay", c.weight_decay.to_string(), "a number from 0 to 1")
            }
            c if !(0.0..1.0).contains(&c.label_smoothing) => {
                wrong("label_smoothing", c.label_smoothing.to_string(), "a share from 0 to 1")
            }
            c => c.augment.check(),
        }
    }
}
