//! The multi-layer perceptron on spliced frames (Bourlard & Morgan 1994, "Connectionist Speech Recognition").

use serde::{Deserialize, Serialize};

use super::config::{FRAMES, SUBSAMPLING, WIDTH, check_dropout, within};
use super::connection::Connection;
use super::hidden::Hidden;
use super::layers::{Dims, Layer};
use super::normalise::HiddenNorm;
use super::plan::Plan;
use super::splice::Splice;
use crate::Result;

/// Spliced frames, hidden layers, log-softmax.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// Frames seen before those that an output row stands for.
    pub left_frames: usize,
    /// Frames seen after those that an output row stands for.
    pub right_frames: usize,
    /// Units of each hidden layer; none for a linear model on spliced frames.
    pub widths: Vec<usize>,
    /// Feature frames in an output row.
    pub subsampling: usize,
    /// What the hidden layers are normalised by.
    pub normalisation: HiddenNorm,
    /// Share of the hidden values dropped in training.
    pub dropout: f32,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self {
            left_frames: 7,
            right_frames: 7,
            widths: vec![512; 4],
            subsampling: 1,
            normalisation: HiddenNorm::Rms,
            dropout: 0.1,
        }
    }
}

impl MlpConfig {
    pub(super) fn check(&self) -> Result<()> {
        within("left_frames", self.left_frames, FRAMES)?;
        within("right_frames", self.right_frames, FRAMES)?;
        within("widths", self.widths.len(), (0..=100, "0 to 100 hidden layers"))?;
        self.widths.iter().try_for_each(|&width| within("widths", width, WIDTH))?;
        within("subsampling", self.subsampling, SUBSAMPLING)?;
        check_dropout(self.dropout)
    }

    /// The layers from input to output.
    pub(super) fn plan(&self, dims: Dims) -> Plan {
        let window = self.left_frames + self.subsampling + self.right_frames;
        let mut splice = Splice::window(window, self.subsampling);
        let mut inputs = dims.input;
        let mut layers = Vec::new();
        for (index, &outputs) in self.widths.iter().enumerate() {
            let name = format!("hidden{:02}", index + 1);
            layers.push(Layer::Hidden(Hidden::new(name, splice, ((inputs, outputs), self.normalisation))));
            (splice, inputs) = (Splice::none(), outputs);
        }
        let output = Connection::output(splice, (inputs, dims.pdfs));
        // Without hidden layers the best weights can be reached from anywhere: they begin as zeros, whatever the seed.
        let output = if self.widths.is_empty() { output.scaled(0.0) } else { output };
        layers.push(Layer::Output(output));
        Plan::new(layers, self.left_frames, self.dropout)
    }
}
