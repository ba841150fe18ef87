//! The time-delay network (Waibel et al. 1989; Peddinti et al. 2015): layers that each splice a few rows and multiply. They are
//! plain, or narrow residual blocks in the manner of TDNN-F (Povey et al. 2018); most of them run at the rate of the output.

use serde::{Deserialize, Serialize};

use super::config::{FRAMES, SUBSAMPLING, WIDTH, WIDTH_OR_NONE, check_dropout, within};
use super::connection::Connection;
use super::front_end::FrontEndConfig;
use super::hidden::{Block, Hidden};
use super::layers::{Dims, Layer};
use super::normalise::HiddenNorm;
use super::plan::Plan;
use super::splice::Splice;
use super::stack::StackConfig;
use crate::Result;

/// One or two hidden layers that bring frames to the output's rate, then a layer or block for each dilation, then log-softmax.
///
/// With a `bottleneck`, a block is x + narrow(splice(x)) W' + b': a weight matrix `[3 width x width]` as the product of one to
/// few units and one back, which is TDNN-F's factorisation with the nonlinearity between the factors and without its
/// semi-orthogonal constraint. With `bottleneck = 0` each layer is the whole matrix, and no residual goes around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TdnnConfig {
    /// Frames that the first layer sees before and after each frame, or those that an output row stands for.
    pub input_context_frames: usize,
    /// Units of the first layer, which runs at the rate of the frames; 0 for none, so that the first runs at the rate of the
    /// output.
    pub input_width: usize,
    /// Units of every later layer's output.
    pub width: usize,
    /// Units inside each block; 0 for plain layers.
    pub bottleneck: usize,
    /// A block or plain layer for each: how many output rows back and on it looks.
    pub dilations: Vec<usize>,
    /// Feature frames in an output row.
    pub subsampling: usize,
    /// What the hidden layers are normalised by.
    pub normalisation: HiddenNorm,
    /// Share of the hidden values dropped in training.
    pub dropout: f32,
    /// Convolution over time and bands before the first layer.
    pub front_end: Option<FrontEndConfig>,
    /// Recurrent layers between the last layer and the output.
    pub recurrent: Option<StackConfig>,
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
            normalisation: HiddenNorm::Rms,
            dropout: 0.1,
            front_end: None,
            recurrent: None,
        }
    }
}

impl TdnnConfig {
    pub(super) fn check(&self) -> Result<()> {
        within("input_context_frames", self.input_context_frames, FRAMES)?;
        within("input_width", self.input_width, WIDTH_OR_NONE)?;
        within("width", self.width, WIDTH)?;
        within("bottleneck", self.bottleneck, WIDTH_OR_NONE)?;
        within("dilations", self.dilations.len(), (0..=100, "0 to 100 layers"))?;
        self.dilations.iter().try_for_each(|&rows| within("dilations", rows, (1..=30, "1 to 30 rows")))?;
        within("subsampling", self.subsampling, SUBSAMPLING)?;
        self.front_end.iter().try_for_each(FrontEndConfig::check)?;
        self.recurrent.iter().try_for_each(StackConfig::check)?;
        check_dropout(self.dropout)
    }

    /// The layers from input to output.
    pub(super) fn plan(&self, dims: Dims) -> Plan {
        let bands = (dims.input, self.normalisation);
        let (mut layers, inputs) =
            self.front_end.as_ref().map_or((Vec::new(), dims.input), |front_end| front_end.layers(bands));
        layers.extend(self.input_layers(inputs));
        layers.extend((0..self.dilations.len()).map(|index| self.dilated(index)));
        let (recurrent, outputs) =
            self.recurrent.as_ref().map_or((Vec::new(), self.width), |recurrent| recurrent.layers(self.width));
        layers.extend(recurrent);
        layers.push(Layer::Output(Connection::output(Splice::none(), (outputs, dims.pdfs))));
        let before = self.front_end.as_ref().map_or(0, FrontEndConfig::left_frames);
        let left = before + self.input_context_frames + self.subsampling * self.dilations.iter().sum::<usize>();
        Plan::new(layers, left, self.dropout)
    }

    /// From frames to the rate of the output.
    fn input_layers(&self, inputs: usize) -> Vec<Layer> {
        let (around, step) = (2 * self.input_context_frames, self.subsampling);
        let hidden = |name: &str, splice, shape| Layer::Hidden(Hidden::new(name, splice, (shape, self.normalisation)));
        if self.input_width == 0 {
            return vec![hidden("rows", Splice::window(around + step, step), (inputs, self.width))];
        }
        vec![
            hidden("frames", Splice::window(around + 1, 1), (inputs, self.input_width)),
            hidden("rows", Splice::window(step, step), (self.input_width, self.width)),
        ]
    }

    /// The layer or block of that dilation.
    fn dilated(&self, index: usize) -> Layer {
        let (dilation, width) = (self.dilations[index], self.width);
        let hidden = |name, units| Hidden::new(name, Splice::triple(dilation), ((width, units), self.normalisation));
        if self.bottleneck == 0 {
            return Layer::Hidden(hidden(format!("layer{:02}", index + 1), width));
        }
        let (narrow, wide) = (format!("block{:02}.narrow", index + 1), format!("block{:02}.wide", index + 1));
        // What all blocks add together begins with about the variance of what they are added to.
        let share = 1.0 / (2.0 * self.dilations.len() as f32).sqrt();
        let wide = Connection::new(wide, Splice::none(), (self.bottleneck, width)).scaled(share);
        Layer::Block(Block { dilation, narrow: hidden(narrow, self.bottleneck), wide })
    }
}
