//! Settings of one training pass.

use serde::{Deserialize, Serialize};

use super::AugmentConfig;
use crate::Result;
use crate::error::require;
use crate::network::optimiser::{OptimiserConfig, StepOptions};

/// How a network is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainerConfig {
    /// Passes over the data, at least 1.
    pub epochs: usize,
    /// Feature frames in a batch, about; an utterance is never cut.
    pub batch_frames: usize,
    /// By which rule gradients become steps.
    pub optimiser: OptimiserConfig,
    /// Largest learning rate of the schedule, above 0.
    pub learning_rate: f32,
    /// Share of the steps during which the learning rate rises, at least 0 and below 1.
    pub warm_up: f64,
    /// How it falls after that.
    pub decay: Decay,
    /// Share of `learning_rate` below which it never is, from 0 to 1.
    pub least_share: f64,
    /// Share of a parameter, times the learning rate, that is taken off at each step, at least 0 and below 1.
    pub weight_decay: f32,
    /// Largest norm of a batch's gradient, above 0; a longer one is scaled down to it.
    pub clip: f32,
    /// Share of the target's probability that is spread over all pdfs, at least 0 and below 1.
    pub label_smoothing: f32,
    /// The final parameters are the mean of those after this many last epochs, from 1 to all.
    pub average_last: usize,
    /// Share of a moving average of the parameters that stays at each step, at least 0 and below 1; 0 is no average. With one, it
    /// is what is measured, decoded and shipped. Either this or `average_last`.
    pub ema_decay: f32,
    /// Epochs in a row without a lower phone error on the development set after which the pass ends, the parameters of the best
    /// epoch being kept; 0 is never.
    pub patience: usize,
    /// What happens when a loss is not a number.
    pub not_finite: NotFinite,
    /// Changes of the frames, drawn anew each epoch.
    pub augment: AugmentConfig,
}

/// How the learning rate falls from its largest, d being the share of the steps after the warm-up that are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// By `(1 + cos(pi d)) / 2` (Loshchilov & Hutter 2017).
    #[default]
    Cosine,
    /// By `1 - d`.
    Linear,
    /// Not at all.
    Constant,
}

/// What to do about a batch whose loss or gradient is not a number; its utterances are named in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotFinite {
    /// It changes nothing; several in a row end the training.
    #[default]
    Skip,
    /// The first ends the training, and so does an utterance with a frame that is not a number.
    Stop,
}

impl Default for TrainerConfig {
    fn default() -> Self {
        Self {
            epochs: 10,
            batch_frames: 5000,
            optimiser: OptimiserConfig::default(),
            learning_rate: 2e-3,
            warm_up: 0.15,
            decay: Decay::default(),
            least_share: 0.01,
            weight_decay: 1e-2,
            clip: 5.0,
            label_smoothing: 0.0,
            average_last: 1,
            ema_decay: 0.0,
            patience: 0,
            not_finite: NotFinite::default(),
            augment: AugmentConfig::default(),
        }
    }
}

impl TrainerConfig {
    /// Whether every value is in its range, and none excludes another.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) naming key and value.
    pub fn check(&self) -> Result<()> {
        let count = |key, value: usize| require(value > 0, key, value, "at least 1");
        let above_zero = |key, value: f32| require(value.is_finite() && value > 0.0, key, value, "a number above 0");
        let share =
            |key, value: f64| require((0.0..1.0).contains(&value), key, value, "a share, at least 0 and below 1");
        count("epochs", self.epochs)?;
        count("batch_frames", self.batch_frames)?;
        count("average_last", self.average_last)?;
        self.optimiser.check()?;
        above_zero("learning_rate", self.learning_rate)?;
        above_zero("clip", self.clip)?;
        share("warm_up", self.warm_up)?;
        require((0.0..=1.0).contains(&self.least_share), "least_share", self.least_share, "a share from 0 to 1")?;
        for (key, value) in [("weight_decay", self.weight_decay), ("label_smoothing", self.label_smoothing)] {
            require((0.0..1.0).contains(&value), key, value, "a share, at least 0 and below 1")?;
        }
        require((0.0..1.0).contains(&self.ema_decay), "ema_decay", self.ema_decay, "a share, at least 0 and below 1")?;
        let (one, last) = (self.average_last == 1, self.average_last);
        require(last <= self.epochs, "average_last", last, "at most epochs: there are no more to average")?;
        let both = "1 with ema_decay: the parameters are averaged in one way or the other";
        require(one || self.ema_decay == 0.0, "average_last", last, both)?;
        let unknown =
            "1 with patience: which epochs are the last is not known then; ema_decay averages without knowing";
        require(one || self.patience == 0, "average_last", last, unknown)?;
        self.augment.check()
    }

    /// The step at `progress` p, from 0 to 1, w being the warm-up and l the least share:
    ///
    /// ```text
    /// rate = learning_rate * max(l, p < w ? p / w : decay((p - w) / (1 - w)))
    /// ```
    pub(super) fn step_at(&self, progress: f64) -> StepOptions {
        let done = (progress - self.warm_up) / (1.0 - self.warm_up);
        let share = match self.decay {
            _ if done < 0.0 => progress / self.warm_up,
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
            Decay::Linear => 1.0 - done,
            Decay::Constant => 1.0,
        };
        StepOptions {
            learning_rate: (f64::from(self.learning_rate) * share.max(self.least_share)) as f32,
            weight_decay: self.weight_decay,
            clip: self.clip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<TrainerConfig, String> {
        let config: TrainerConfig = crate::settings::parse(text)?;
        config.check().map(|()| config).map_err(|error| error.to_string())
    }

    #[test]
    fn each_schedule_rises_and_falls_as_it_says() {
        let rates = |text: &str| {
            let config = read(&format!("learning_rate = 1.0\nwarm_up = 0.2\n{text}")).unwrap();
            [0.0, 0.1, 0.2, 0.4, 0.6, 1.0].map(|progress| config.step_at(progress).learning_rate)
        };
        let cases = [
            ("", [0.01, 0.5, 1.0, 0.853_553_4, 0.5, 0.01]),
            ("decay = 'linear'\nleast_share = 0.0", [0.0, 0.5, 1.0, 0.75, 0.5, 0.0]),
            ("decay = 'linear'\nleast_share = 0.6", [0.6, 0.6, 1.0, 0.75, 0.6, 0.6]),
            ("decay = 'constant'", [0.01, 0.5, 1.0, 1.0, 1.0, 1.0]),
        ];
        for (text, expected) in cases {
            let found = rates(text);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{text}: {found:?}");
        }
        assert_eq!(read("warm_up = 0.0").unwrap().step_at(0.0).learning_rate, 2e-3);
    }

    #[test]
    fn values_out_of_range_and_pairs_that_exclude_each_other_are_named() {
        let cases = [
            ("epochs = 0", "epochs = 0: expected at least 1"),
            ("learning_rate = 0.0", "learning_rate = 0: expected a number above 0"),
            ("clip = inf", "clip = inf: expected a number above 0"),
            ("warm_up = 1.0", "warm_up = 1: expected a share, at least 0 and below 1"),
            ("least_share = 1.5", "least_share = 1.5: expected a share from 0 to 1"),
            ("weight_decay = nan", "weight_decay = NaN: expected a share, at least 0 and below 1"),
            ("ema_decay = 1.0", "ema_decay = 1: expected a share, at least 0 and below 1"),
            ("optimiser = { kind = 'sgd', momentum = 2.0 }", "momentum = 2: expected a share, at least 0 and below 1"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).unwrap_err(), expected);
        }
        let more = "average_last = 4: expected at most epochs: there are no more to average";
        assert_eq!(read("epochs = 3\naverage_last = 4").unwrap_err(), more);
        assert!(read("epochs = 3\naverage_last = 3").is_ok());
        let both = read("average_last = 3\nema_decay = 0.9").unwrap_err();
        assert!(both.starts_with("average_last = 3: expected 1 with ema_decay"), "{both}");
        let unknown = read("average_last = 3\npatience = 2").unwrap_err();
        assert!(unknown.starts_with("average_last = 3: expected 1 with patience"), "{unknown}");
        assert!(read("ema_decay = 0.9\npatience = 2\nnot_finite = 'stop'").is_ok());
        assert!(read("decay = 'step'").unwrap_err().contains("expected one of `cosine`, `linear`, `constant`"));
        assert!(read("pacience = 1").unwrap_err().contains("unknown field `pacience`"));
    }
}
