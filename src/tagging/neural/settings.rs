//! Settings of taggers over a network.

use serde::Deserialize;

use crate::Result;
use crate::error::require;
use crate::learn::criterion::HammingCost;
use crate::learn::neural::{AugmentConfig, TaggerConfig, TrainerConfig};
use crate::network::{LstmConfig, NetworkConfig, TdnnConfig};
use crate::tagging::Source;

/// Settings of all networks that tag; see [`Learner`](crate::tagging::Learner) for their kinds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NeuralSettings {
    /// Values of the vector that every feature has, from 1; the network reads the sum of those of a token's features.
    pub embedding: usize,
    /// Whether every feature also scores every tag by itself: a linear model beside the network.
    pub direct: bool,
    /// Layers of an LSTM, from 1.
    pub layers: usize,
    /// Cells of each of its layers and directions, from 1.
    pub width: usize,
    /// Shape of a time-delay network.
    pub tdnn: TdnnShape,
    /// Share of the values in front of the network and between its layers that are dropped in training.
    pub dropout: f32,
    /// A: a feature that training has n times is dropped there with probability A / (A + n); 0 or more.
    pub rare_dropout: f32,
    /// Passes over the sequences, from 1; with a development file the best of them is kept.
    pub epochs: usize,
    /// Tokens in a batch, about; a sequence is never cut.
    pub batch_tokens: usize,
    /// Largest learning rate; it rises to that at first, and falls to nothing until the last epoch.
    pub learning_rate: f32,
    /// Share of the steps during which it rises, 0 to 1.
    pub warm_up: f64,
    /// Share of a parameter, times the learning rate, that is taken off at each step.
    pub weight_decay: f32,
    /// Largest norm of a batch's gradient.
    pub clip: f32,
    /// Share of a tag's probability that is spread over all tags where each token is judged by itself, 0 to 1.
    pub label_smoothing: f32,
    /// The parameters are at each time the mean of those after this many last epochs, from 1.
    pub average_last: usize,
    /// What a wrong tag should cost, under a support vector machine.
    pub cost: HammingCost,
    /// Weight of the log-priors, under a hidden Markov model: 1 for all of P(tag), 0 for none.
    pub prior_scale: f32,
}

/// Shape of a time-delay network over tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TdnnShape {
    /// Tokens that the first layer sees before and after each token.
    pub context_tokens: usize,
    /// Units of a layer's output, from 1.
    pub width: usize,
    /// Units inside each later layer, from 1.
    pub bottleneck: usize,
    /// A layer for each: how many tokens back and on it looks.
    pub dilations: Vec<usize>,
}

impl Default for TdnnShape {
    fn default() -> Self {
        Self { context_tokens: 1, width: 128, bottleneck: 64, dilations: vec![1, 1, 2] }
    }
}

impl Default for NeuralSettings {
    fn default() -> Self {
        Self {
            embedding: 64,
            direct: true,
            layers: 1,
            width: 96,
            tdnn: TdnnShape::default(),
            dropout: 0.3,
            rare_dropout: 0.5,
            epochs: 15,
            batch_tokens: 1000,
            learning_rate: 4e-3,
            warm_up: 0.1,
            weight_decay: 0.0,
            clip: 1.0,
            label_smoothing: 0.0,
            average_last: 1,
            cost: HammingCost::default(),
            prior_scale: 1.0,
        }
    }
}

impl NeuralSettings {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) naming key and value.
    pub fn check(&self) -> Result<()> {
        let (embedding, cost, scale) = (self.embedding, self.cost.per_frame, self.prior_scale);
        require((1..=16384).contains(&embedding), "embedding", embedding, "a width from 1 to 16384")?;
        require(self.batch_tokens > 0, "batch_tokens", 0, "at least 1")?;
        require(cost.is_finite() && cost > 0.0, "cost of a frame", cost, "a number above 0")?;
        require(scale.is_finite() && scale >= 0.0, "prior_scale", scale, "a number, 0 or more")?;
        self.trainer().check()?;
        [Source::Lstm, Source::Tdnn].into_iter().filter_map(|source| self.network(source)).try_for_each(|c| c.check())
    }

    /// The network of that kind; none for linear weights.
    pub(super) fn network(&self, source: Source) -> Option<NetworkConfig> {
        let Self { layers, width, dropout, tdnn, .. } = self;
        let lstm = LstmConfig { layers: *layers, width: *width, projection: 0, subsampling: 1, dropout: *dropout };
        match source {
            Source::Linear => None,
            Source::Lstm => Some(NetworkConfig::Lstm(lstm)),
            Source::BiLstm => Some(NetworkConfig::Bilstm(lstm)),
            Source::Tdnn => Some(NetworkConfig::Tdnn(TdnnConfig {
                input_context_frames: tdnn.context_tokens,
                input_width: tdnn.width,
                width: tdnn.width,
                bottleneck: tdnn.bottleneck,
                dilations: tdnn.dilations.clone(),
                subsampling: 1,
                dropout: *dropout,
                ..TdnnConfig::default()
            })),
        }
    }

    pub(super) fn trainer(&self) -> TaggerConfig {
        let steps = TrainerConfig {
            epochs: self.epochs,
            batch_frames: self.batch_tokens,
            learning_rate: self.learning_rate,
            warm_up: self.warm_up,
            weight_decay: self.weight_decay,
            clip: self.clip,
            label_smoothing: self.label_smoothing,
            average_last: self.average_last,
            augment: AugmentConfig::none(),
            ..TrainerConfig::default()
        };
        TaggerConfig { steps, dropout: self.dropout, rare_dropout: self.rare_dropout }
    }
}
