//! The time-delay network (Waibel et al. 1989; Peddinti et al. 2015), as narrow residual blocks in the manner of TDNN-F
//! (Povey et al. 2018): most of it runs at the rate of the output.

use serde::{Deserialize, Serialize};

use super::config::{FRAMES, SUBSAMPLING, WIDTH, check_dropout, within};
use super::layers::{Connection, Dims, Layer};
use super::plan::Plan;
use super::splice::Splice;
use crate::Result;

/// Two hidden layers that bring frames to the output's rate, then residual blocks, then log-softmax.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TdnnConfig {
    /// Frames that the first layer sees before and after each frame.
    pub input_context_frames: usize,
    /// Units of the first layer, which runs at the rate of the frames.
    pub input_width: usize,
    /// Units of every later layer's output.
    pub width: usize,
    /// Units inside each block.
    pub bottleneck: usize,
    /// A block for each: how many output rows back and on it looks.
    pub dilations: Vec<usize>,
    /// Feature frames in an output row.
    pub subsampling: usize,
    /// Share of the hidden values dropped in training.
    pub dropout: f32,
}

impl Default for TdnnConfig {
    fn default() -> Self {
        Self {
            input_context_frames: 2,
            input_width: 192,
            width: 384,
            bottleneck: 128,
            dilations: vec![1, 1, 2, 2, 3, 3],
            subsampling: 3,
            dropout: 0.1,
        }
    }
}

impl TdnnConfig {
    pub(super) fn check(&self) -> Result<()> {
        within("input_context_frames", self.input_context_frames, FRAMES)?;
        within("input_width", self.input_width, WIDTH)?;
        within("width", self.width, WIDTH)?;
        within("bottleneck", self.bottleneck, WIDTH)?;
        within("dilations", self.dilations.len(), (0..=100, "0 to 100 blocks"))?;
        self.dilations.iter().try_for_each(|&rows| within("dilations", rows, (1..=30, "1 to 30 rows")))?;
        within("subsampling", self.subsampling, SUBSAMPLING)?;
        check_dropout(self.dropout)
    }

    /// The layers from input to output.
    pub(super) fn plan(&self, dims: Dims) -> Plan {
        let first = Splice::window(2 * self.input_context_frames + 1, 1);
        let second = Splice::window(self.subsampling, self.subsampling);
        let mut layers = vec![
            Layer::Hidden(Connection::new("frames", first, (dims.input, self.input_width))),
            Layer::Hidden(Connection::new("rows", second, (self.input_width, self.width))),
        ];
        layers.extend((0..self.dilations.len()).map(|index| self.block(index)));
        layers.push(Layer::Output(Connection::output(Splice::none(), (self.width, dims.pdfs))));
        let left = self.input_context_frames + self.subsampling * self.dilations.iter().sum::<usize>();
        Plan::new(layers, left, self.dropout)
    }

    fn block(&self, index: usize) -> Layer {
        let dilation = self.dilations[index];
        let (narrow, wide) = (format!("block{:02}.narrow", index + 1), format!("block{:02}.wide", index + 1));
        // What all blocks add together begins with about the variance of what they are added to.
        let share = 1.0 / (2.0 * self.dilations.len() as f32).sqrt();
        Layer::Block {
            dilation,
            narrow: Connection::new(narrow, Splice::triple(dilation), (self.width, self.bottleneck)),
            wide: Connection::new(wide, Splice::none(), (self.bottleneck, self.width)).scaled(share),
        }
    }
}
