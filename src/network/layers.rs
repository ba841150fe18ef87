//! The layers that networks are made of, forward and backward.
//!
//! Back-propagation is written by hand: each layer leaves what its backward needs in [`Saved`]. `plan` runs them one
//! after another.

use super::affine::Affine;
use super::kernels::{self, Mask};
use super::recurrent::{Carry, Recurrent, Unrolled};
use super::splice::{Segments, Splice};

/// Columns of what comes in and of what goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dims {
    pub(super) input: usize,
    pub(super) pdfs: usize,
}

/// The weights of splice(x) W + b.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) splice: Splice,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Rows of W after those for x: they are for the layer's own last output.
    feedback: usize,
    /// Standard deviation of the first weights.
    deviation: f32,
    /// The first bias.
    bias: First,
    /// Places of b and W among the parameters.
    pub(super) places: [usize; 2],
}

impl Connection {
    /// A connection of that name and those numbers of values in a row of x and of the output.
    pub(super) fn new(name: impl Into<String>, splice: Splice, (inputs, outputs): (usize, usize)) -> Self {
        // He et al. 2015: what passes a rectifier keeps its variance when weights have the variance 2 / inputs.
        let deviation = (2.0 / (splice.count() * inputs) as f32).sqrt();
        Self { name: name.into(), splice, inputs, outputs, feedback: 0, deviation, bias: First::Zeros, places: [0; 2] }
    }

    /// The connection to the gates of an LSTM layer of so many `cells`, from x and from its own last output: they begin with
    /// about the variance of both. It forgets little at first (Gers et al. 2000; Jozefowicz et al. 2015).
    pub(super) fn gates(name: String, splice: Splice, (inputs, cells): (usize, usize)) -> Self {
        let deviation = 1.0 / ((splice.count() * inputs + cells) as f32).sqrt();
        let bias = First::ForgetOnes;
        Self { feedback: cells, deviation, bias, ..Self::new(name, splice, (inputs, 4 * cells)) }
    }

    /// The last connection, to scores, which nothing rectifies: they begin with about the variance of x.
    pub(super) fn output(splice: Splice, (inputs, outputs): (usize, usize)) -> Self {
        Self::new("output", splice, (inputs, outputs)).scaled(0.5f32.sqrt())
    }

    /// The same with smaller or larger first weights.
    pub(super) fn scaled(self, factor: f32) -> Self {
        Self { deviation: self.deviation * factor, ..self }
    }

    pub(super) fn specs(&self) -> [Spec; 2] {
        let (name, deviation) = (&self.name, self.deviation);
        let shape = vec![self.splice.count() * self.inputs + self.feedback, self.outputs];
        let first = if deviation == 0.0 { First::Zeros } else { First::Normal { deviation } };
        [
            Spec { name: format!("{name}.bias"), shape: vec![self.outputs], first: self.bias },
            Spec { name: format!("{name}.weight"), shape, first },
        ]
    }

    /// The sums over the rows of x.
    pub(super) fn on(&self, segments: &Segments) -> Affine<'_> {
        Affine::new(&self.splice, segments, (self.inputs, self.outputs))
    }

    pub(super) fn forward(&self, values: &[&[f32]], x: &Rows) -> Rows {
        let [bias, weight] = self.places;
        let y = self.on(&x.segments).forward(&x.values, values[weight], values[bias]);
        Rows { values: y, segments: x.segments.after(&self.splice) }
    }

    /// Adds the gradients by W and b.
    pub(super) fn differentiate(&self, x: &Rows, gradient: &[f32], sums: &mut [&mut [f32]]) {
        let [bias, weight] = self.places;
        let affine = self.on(&x.segments);
        affine.weight_gradient(&x.values, gradient, sums[weight]);
        affine.bias_gradient(gradient, sums[bias]);
    }

    /// Adds the gradient by x to `sum`.
    pub(super) fn back(&self, values: &[&[f32]], (segments, gradient): (&Segments, &[f32]), sum: &mut [f32]) {
        self.on(segments).input_gradient(values[self.places[1]], gradient, sum);
    }
}

/// The part of W for the layer's own last output.
impl Connection {
    /// These rows `[feedback x outputs]`.
    pub(super) fn feedback<'a>(&self, values: &[&'a [f32]]) -> &'a [f32] {
        &values[self.places[1]][self.splice.count() * self.inputs * self.outputs..]
    }

    /// Where the gradient by these rows is summed.
    pub(super) fn feedback_sum<'a>(&self, sums: &'a mut [&mut [f32]]) -> &'a mut [f32] {
        &mut sums[self.places[1]][self.splice.count() * self.inputs * self.outputs..]
    }
}

/// One layer.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    /// relu_renorm(splice(x) W + b).
    Hidden(Connection),
    /// x + relu_renorm(splice(x) W + b) W' + b', the splice being {-dilation, 0, dilation}.
    Block { dilation: usize, narrow: Connection, wide: Connection },
    /// Long short-term memory.
    Recurrent(Recurrent),
    /// splice(x) W + b.
    Output(Connection),
}

/// A parameter tensor before it has values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) first: First,
}

/// The first values of a parameter tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum First {
    Zeros,
    /// Of the gates' bias: ones for the second quarter, the forget gates; else zeros.
    ForgetOnes,
    /// Normal numbers.
    Normal {
        deviation: f32,
    },
}

/// Rows of the utterances of a batch, laid one after another.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) values: Vec<f32>,
    pub(super) segments: Segments,
}

/// What a layer's backward needs of its forward.
#[derive(Default)]
pub(super) struct Saved {
    /// The layer's input.
    x: Rows,
    /// Before rectifying.
    affine: Vec<f32>,
    /// After rectifying and dropping, inside a block.
    inner: Rows,
    mask: Option<Mask>,
    /// Each direction of a recurrent layer.
    unrolled: Vec<Unrolled>,
}

impl Layer {
    pub(super) fn connections_mut(&mut self) -> Vec<&mut Connection> {
        match self {
            Self::Hidden(connection) | Self::Output(connection) => vec![connection],
            Self::Block { narrow, wide, .. } => vec![narrow, wide],
            Self::Recurrent(recurrent) => recurrent.directions.iter_mut().map(|(_, connection)| connection).collect(),
        }
    }

    /// The input rows that an output row sees.
    pub(super) fn splice(&self) -> &Splice {
        match self {
            Self::Hidden(connection) | Self::Output(connection) => &connection.splice,
            Self::Block { narrow, .. } => &narrow.splice,
            Self::Recurrent(recurrent) => &recurrent.directions[0].1.splice,
        }
    }

    /// The output of all rows of x, some values of it dropped by the `mask`; what came before x is in `carry`.
    pub(super) fn forward(
        &self,
        values: &[&[f32]],
        x: Rows,
        (mask, carry): (Option<Mask>, &mut Carry),
    ) -> (Rows, Saved) {
        match self {
            Self::Hidden(connection) => {
                let affine = connection.forward(values, &x);
                let y = rectified(&affine, connection.outputs, mask.as_ref());
                (y, Saved { x, affine: affine.values, mask, ..Saved::default() })
            }
            Self::Block { dilation, narrow, wide } => {
                let affine = narrow.forward(values, &x);
                let inner = rectified(&affine, narrow.outputs, mask.as_ref());
                let mut y = wide.forward(values, &inner);
                kernels::add_cropped(&mut y.values, &x.values, (&x.segments, *dilation, wide.outputs));
                (y, Saved { x, affine: affine.values, inner, mask, ..Saved::default() })
            }
            Self::Recurrent(recurrent) => {
                let (mut y, unrolled) = recurrent.forward(values, &x, carry);
                mask.iter().for_each(|mask| mask.apply(&mut y.values));
                (y, Saved { x, mask, unrolled, ..Saved::default() })
            }
            Self::Output(connection) => (connection.forward(values, &x), Saved { x, ..Saved::default() }),
        }
    }

    /// Adds the gradients by the parameters to `sums` and gives the gradient by the input, unless that is unwanted.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (saved, mut gradient): (Saved, Vec<f32>),
        (sums, by_input): (&mut [&mut [f32]], InputGradient),
    ) -> Vec<f32> {
        let Saved { x, affine, inner, mask, unrolled } = saved;
        let mut by_x = vec![0.0; x.values.len()];
        let connection = match self {
            Self::Recurrent(recurrent) => {
                mask.iter().for_each(|mask| mask.apply(&mut gradient));
                let by_x_wanted = (by_input == InputGradient::Wanted).then_some(&mut by_x[..]);
                recurrent.backward(values, (&x, unrolled, &gradient), (sums, by_x_wanted));
                return by_x;
            }
            Self::Output(connection) => connection,
            Self::Hidden(connection) => {
                unrectify(&affine, &mut gradient, (connection.outputs, mask.as_ref()));
                connection
            }
            Self::Block { dilation, narrow, wide } => {
                kernels::add_uncropped(&mut by_x, &gradient, (&x.segments, *dilation, wide.outputs));
                wide.differentiate(&inner, &gradient, sums);
                let mut by_inner = vec![0.0; inner.values.len()];
                wide.back(values, (&inner.segments, &gradient), &mut by_inner);
                gradient = by_inner;
                unrectify(&affine, &mut gradient, (narrow.outputs, mask.as_ref()));
                narrow
            }
        };
        connection.differentiate(&x, &gradient, sums);
        if by_input == InputGradient::Wanted {
            connection.back(values, (&x.segments, &gradient), &mut by_x);
        }
        by_x
    }
}

/// Whether anybody asks for the gradient by a layer's input: seldom where that is the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputGradient {
    Wanted,
    Unwanted,
}

/// relu_renorm of rows of `cols` values, then dropout.
fn rectified(x: &Rows, cols: usize, mask: Option<&Mask>) -> Rows {
    let mut values = kernels::relu_renorm(&x.values, cols);
    mask.iter().for_each(|mask| mask.apply(&mut values));
    Rows { values, segments: x.segments.clone() }
}

/// The backward of [`rectified`], in place.
fn unrectify(affine: &[f32], gradient: &mut [f32], (cols, mask): (usize, Option<&Mask>)) {
    mask.iter().for_each(|mask| mask.apply(gradient));
    kernels::relu_renorm_gradient(affine, gradient, cols);
}
