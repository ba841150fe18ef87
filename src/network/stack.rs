//! Recurrent layers on time-delay layers: the TDNN-LSTM (Peddinti et al. 2018), which can stream, and the TDNN-BiLSTM.
//!
//! The time-delay layers below see the neighbourhood and bring frames to the rate of the output, so that the recursion, which
//! costs most, runs over fewer rows.

use serde::{Deserialize, Serialize};

use super::layers::Layer;
use super::lstm::LstmConfig;
use super::recurrent::Direction;
use super::splice::Splice;
use crate::Result;

/// The recurrent layers on top of a time-delay network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StackConfig {
    /// Number of layers.
    pub layers: usize,
    /// Cells of each layer and direction.
    pub width: usize,
    /// Values to which each direction's output is projected, fewer than `width`; 0 for none.
    pub projection: usize,
    /// Which ways they read.
    pub directions: Directions,
}

/// Which ways recurrent layers read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// From the first row to the last: the network streams.
    #[default]
    Forward,
    /// That way and back: rows are certain when the utterance has ended.
    Both,
}

impl Directions {
    fn all(self) -> &'static [Direction] {
        match self {
            Self::Forward => &[Direction::Forward],
            Self::Both => &[Direction::Forward, Direction::Backward],
        }
    }
}

impl Default for StackConfig {
    fn default() -> Self {
        Self { layers: 1, width: 256, projection: 0, directions: Directions::Forward }
    }
}

impl StackConfig {
    pub(super) fn check(&self) -> Result<()> {
        self.lstm().check()
    }

    /// The layers on rows of so many values, and the values in a row of their output.
    pub(super) fn layers(&self, inputs: usize) -> (Vec<Layer>, usize) {
        self.lstm().recurrent(self.directions.all(), (Splice::none(), inputs))
    }

    fn lstm(&self) -> LstmConfig {
        LstmConfig { layers: self.layers, width: self.width, projection: self.projection, subsampling: 1, dropout: 0.0 }
    }
}
