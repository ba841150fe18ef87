//! Recurrent networks of long short-term memory: one direction, which can stream (Hochreiter & Schmidhuber 1997), or two
//! (Graves & Schmidhuber 2005), which sees whole utterances.

use serde::{Deserialize, Serialize};

use super::config::{LAYERS, SUBSAMPLING, WIDTH, WIDTH_OR_NONE, check_dropout, within};
use super::connection::Connection;
use super::layers::{Dims, Layer};
use super::plan::Plan;
use super::reader::{Projection, Reader};
use super::recurrent::{Direction, Recurrent};
use super::splice::Splice;
use crate::Result;

/// LSTM layers, then log-softmax. The kind of network says whether they read in one direction or in both.
///
/// Its tensors are, for layer 01 and on and direction `forward` (and `backward`), `lstm01.forward.weight`
/// `[inputs + width x 4 width]`, whose last `width` rows are for the layer's own last output, and `lstm01.forward.bias`
/// `[4 width]`. Columns are the gates in the order i, f, g, o, each `width` wide. With a `projection` (Sak et al. 2014) what a
/// layer and its own next step get is its output times `lstm01.forward.projection` `[width x projection]`, and W has
/// `inputs + projection` rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LstmConfig {
    /// Number of layers.
    pub layers: usize,
    /// Cells of each layer and direction.
    pub width: usize,
    /// Values to which each direction's output is projected, fewer than `width`; 0 for none.
    pub projection: usize,
    /// Feature frames in an output row: the first layer sees so many side by side.
    pub subsampling: usize,
    /// Share of the layers' outputs dropped in training.
    pub dropout: f32,
}

impl Default for LstmConfig {
    fn default() -> Self {
        Self { layers: 3, width: 256, projection: 0, subsampling: 1, dropout: 0.1 }
    }
}

impl LstmConfig {
    pub(super) fn check(&self) -> Result<()> {
        within("layers", self.layers, LAYERS)?;
        within("width", self.width, WIDTH)?;
        within("projection", self.projection, WIDTH_OR_NONE)?;
        within("subsampling", self.subsampling, SUBSAMPLING)?;
        check_dropout(self.dropout)
    }

    /// The layers from input to output.
    pub(super) fn plan(&self, dims: Dims, directions: &[Direction]) -> Plan {
        let splice = Splice::window(self.subsampling, self.subsampling);
        let (mut layers, outputs) = self.recurrent(directions, (splice, dims.input));
        layers.push(Layer::Output(Connection::output(Splice::none(), (outputs, dims.pdfs))));
        Plan::new(layers, 0, self.dropout)
    }

    /// The recurrent layers, whose first splices rows of `inputs` values so, and the columns of their output.
    pub(super) fn recurrent(
        &self,
        directions: &[Direction],
        (mut splice, mut inputs): (Splice, usize),
    ) -> (Vec<Layer>, usize) {
        let mut layers = Vec::new();
        for number in 1..=self.layers {
            let reader = |&direction| {
                let name = format!("lstm{number:02}.{}", Direction::name(direction));
                self.reader(direction, name, (splice.clone(), inputs))
            };
            let recurrent = Recurrent::new(directions.iter().map(reader).collect());
            (splice, inputs) = (Splice::none(), recurrent.outputs());
            layers.push(Layer::Recurrent(recurrent));
        }
        (layers, inputs)
    }

    /// One direction of a layer of that name.
    fn reader(&self, direction: Direction, name: String, (splice, inputs): (Splice, usize)) -> Reader {
        let (cells, outputs) = (self.width, self.projection);
        let projection =
            (outputs > 0).then(|| Projection { name: format!("{name}.projection"), cells, outputs, place: [0] });
        let feedback = if outputs > 0 { outputs } else { cells };
        Reader { direction, gates: Connection::gates(name, splice, (inputs, cells, feedback)), projection }
    }
}
