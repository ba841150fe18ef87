//! The network by gradient descent on what [`BatchLoss`] says: frame cross-entropy (the case T = 1: right is the aligned pdf, wrong
//! is the softmax), or a criterion on whole sequences.
//!
//! In: frames with their right answers. Out: a trained network, a report after each epoch, and checkpoints from which a run goes
//! on to the very same parameters. A batch is cut into a fixed number of shards whose gradients are summed in order, so that the
//! result does not depend on the number of threads; a graphics processor takes it whole.

mod augment;
mod average;
mod batches;
mod checkpoint;
mod config;
mod embedding;
mod gradient;
mod loss;
mod sequence;
mod tagger;
mod trainer;

use std::sync::Arc;

pub use augment::{AugmentConfig, Change, Recording};
pub use config::{Decay, NotFinite, TrainerConfig};
pub use embedding::Embedding;
pub use loss::{BatchLoss, LossOptions, Tally};
pub use sequence::{SequenceGoal, SequenceJudge, TransitionTraining};
pub use tagger::{EmbeddedNetwork, TaggerConfig, TaggerTrainer, Tokens};
pub use trainer::Trainer;

use crate::graph::Graph;
use crate::matrix::Matrix;

/// One utterance to learn from.
#[derive(Debug, Clone)]
pub struct Example<'a> {
    /// Normalised frames `[T x D]`.
    pub frames: &'a Matrix,
    /// The recording, where augmentation may change it.
    pub recording: Option<&'a dyn Recording>,
    /// What they say.
    pub answer: Answer,
}

/// What is right for one utterance.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The utterance, as messages call it.
    pub name: String,
    /// The pdf of every output row, `[ceil(T / subsampling)]`.
    pub targets: Vec<u32>,
    /// Every right path, for sequences; `None` where it is the path that reads the targets.
    pub transcript: Option<Arc<Graph>>,
}

/// What an epoch did not learn from.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The utterance, or those of a whole batch.
    pub utterances: String,
    /// Why.
    pub reason: String,
}

/// What one epoch did.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochReport {
    /// One-based.
    pub epoch: usize,
    /// Epochs of the whole run.
    pub of: usize,
    /// Learning rate of its last step.
    pub learning_rate: f32,
    /// Mean loss of a frame, natural log, on the augmented training data; of sequences without the cross-entropy mixed in.
    pub loss: f64,
    /// Share of training frames whose best pdf is the target.
    pub accuracy: f64,
    /// Mean loss of a frame of the development set, under parameters averaged as the settings ask for.
    pub development_loss: f64,
    /// Share of its frames whose best pdf is the target.
    pub development_accuracy: f64,
    /// What changed nothing: utterances without frames or with values that are not numbers, right answers without a path,
    /// batches whose loss was not finite.
    pub left_out: Vec<LeftOut>,
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod sequence_tests;
