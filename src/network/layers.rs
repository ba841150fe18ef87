//! The layers that networks are made of, forward and backward, and a [`Plan`] of them from frames to scores.
//!
//! Back-propagation is written by hand: each layer leaves what its backward needs in [`Saved`]. `operation` makes a candle
//! operation of the whole.

use super::kernels::{self, Affine, Mask};
use super::splice::{Segments, Splice};
use crate::random::Random;

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
    /// Standard deviation of the first weights.
    pub(super) deviation: f32,
    /// Places of b and W among the parameters.
    places: [usize; 2],
}

impl Connection {
    /// A connection of that name and those numbers of values in a row of x and of the output.
    pub(super) fn new(name: impl Into<String>, splice: Splice, (inputs, outputs): (usize, usize)) -> Self {
        // He et al. 2015: what passes a rectifier keeps its variance when weights have the variance 2 / inputs.
        let deviation = (2.0 / (splice.count() * inputs) as f32).sqrt();
        Self { name: name.into(), splice, inputs, outputs, deviation, places: [0; 2] }
    }

    /// The last connection, to scores, which nothing rectifies: they begin with about the variance of x.
    pub(super) fn output((inputs, outputs): (usize, usize)) -> Self {
        Self::new("output", Splice::none(), (inputs, outputs)).scaled(0.5f32.sqrt())
    }

    /// The same with smaller or larger first weights.
    pub(super) fn scaled(self, factor: f32) -> Self {
        Self { deviation: self.deviation * factor, ..self }
    }

    fn specs(&self) -> [Spec; 2] {
        let (name, deviation) = (&self.name, self.deviation);
        let shape = vec![self.splice.count() * self.inputs, self.outputs];
        [
            Spec { name: format!("{name}.bias"), shape: vec![self.outputs], deviation: 0.0 },
            Spec { name: format!("{name}.weight"), shape, deviation },
        ]
    }

    fn on<'a>(&'a self, segments: &'a Segments) -> Affine<'a> {
        Affine { splice: &self.splice, segments, inputs: self.inputs, outputs: self.outputs }
    }

    fn forward(&self, values: &[&[f32]], x: &Rows) -> Rows {
        let [bias, weight] = self.places;
        let y = self.on(&x.segments).forward(&x.values, values[weight], values[bias]);
        Rows { values: y, segments: x.segments.after(&self.splice) }
    }

    /// Adds the gradients by W and b.
    fn differentiate(&self, x: &Rows, gradient: &[f32], sums: &mut [Vec<f32>]) {
        let [bias, weight] = self.places;
        let affine = self.on(&x.segments);
        affine.weight_gradient(&x.values, gradient, &mut sums[weight]);
        affine.bias_gradient(gradient, &mut sums[bias]);
    }

    /// Adds the gradient by x to `sum`.
    fn back(&self, values: &[&[f32]], (segments, gradient): (&Segments, &[f32]), sum: &mut [f32]) {
        self.on(segments).input_gradient(values[self.places[1]], gradient, sum);
    }
}

/// One layer.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    /// relu_renorm(splice(x) W + b).
    Hidden(Connection),
    /// x + relu_renorm(splice(x) W + b) W' + b', the splice being {-dilation, 0, dilation}.
    Block { dilation: usize, narrow: Connection, wide: Connection },
    /// x W + b.
    Output(Connection),
}

/// A parameter tensor before it has values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    /// Standard deviation of the first values; 0 for biases.
    pub(super) deviation: f32,
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
}

impl Layer {
    fn connections_mut(&mut self) -> Vec<&mut Connection> {
        match self {
            Self::Hidden(connection) | Self::Output(connection) => vec![connection],
            Self::Block { narrow, wide, .. } => vec![narrow, wide],
        }
    }

    /// The input rows that an output row sees.
    fn splice(&self) -> &Splice {
        match self {
            Self::Hidden(connection) | Self::Output(connection) => &connection.splice,
            Self::Block { narrow, .. } => &narrow.splice,
        }
    }

    fn forward(&self, values: &[&[f32]], x: Rows, mask: Option<Mask>) -> (Rows, Saved) {
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
                (y, Saved { x, affine: affine.values, inner, mask })
            }
            Self::Output(connection) => (connection.forward(values, &x), Saved { x, ..Saved::default() }),
        }
    }

    /// Adds the gradients by the parameters to `sums` and gives the gradient by the input, unless that is unwanted.
    fn backward(
        &self,
        values: &[&[f32]],
        (saved, mut gradient): (Saved, Vec<f32>),
        (sums, by_input): (&mut [Vec<f32>], InputGradient),
    ) -> Vec<f32> {
        let Saved { x, affine, inner, mask } = saved;
        let mut by_x = vec![0.0; x.values.len()];
        let connection = match self {
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

/// Whether anybody asks for the gradient by a layer's input: not where that is the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputGradient {
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

/// Layers in order, and how much they see.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    layers: Vec<Layer>,
    specs: Vec<Spec>,
    /// Input frames before the first of those that an output row stands for.
    pub(super) left: usize,
    /// Share of the hidden values dropped in training.
    dropout: f32,
}

impl Plan {
    /// These layers, which see `left` frames before those that an output row stands for.
    pub(super) fn new(mut layers: Vec<Layer>, left: usize, dropout: f32) -> Self {
        let mut connections: Vec<&mut Connection> = layers.iter_mut().flat_map(Layer::connections_mut).collect();
        let mut specs: Vec<Spec> = connections.iter().flat_map(|connection| connection.specs()).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        let place =
            |name: &str| specs.iter().position(|spec| spec.name == name).expect("each name has its specification");
        for connection in &mut connections {
            connection.places = connection.specs().map(|spec| place(&spec.name));
        }
        Self { layers, specs, left, dropout }
    }

    /// All parameters, by name.
    pub(super) fn specs(&self) -> &[Spec] {
        &self.specs
    }

    /// Input frames from one output row to the next.
    pub(super) fn subsampling(&self) -> usize {
        self.layers.iter().map(|layer| layer.splice().stride()).product()
    }

    /// Distance of the last input frame that an output row sees from the first.
    pub(super) fn span(&self) -> usize {
        let spans = self.layers.iter().map(Layer::splice).scan(1, |step, splice| {
            let span = *step * splice.span();
            *step *= splice.stride();
            Some(span)
        });
        spans.sum()
    }

    /// The scores before log-softmax, `[rows x pdfs]`, of padded frames, with parameter `values` in the order of the specs.
    pub(super) fn infer(&self, values: &[&[f32]], frames: Rows) -> Rows {
        self.layers.iter().fold(frames, |x, layer| layer.forward(values, x, None).0)
    }

    /// The scores as of [`Plan::infer`], and what the backward needs. With `dropout`, hidden values are dropped at random.
    pub(super) fn forward(&self, values: &[&[f32]], frames: Rows, dropout: Option<&Random>) -> (Rows, Vec<Saved>) {
        let mut x = frames;
        let mut tape = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            let random = dropout.filter(|_| self.dropout > 0.0).map(|random| random.fork(index as u64));
            let mask = random.map(|random| Mask::new(self.dropout, random));
            let (y, saved) = layer.forward(values, x, mask);
            tape.push(saved);
            x = y;
        }
        (x, tape)
    }

    /// The gradients by every parameter, in the order of the specs, from the gradient by the scores.
    pub(super) fn backward(&self, values: &[&[f32]], tape: Vec<Saved>, gradient: Vec<f32>) -> Vec<Vec<f32>> {
        let mut sums: Vec<Vec<f32>> = values.iter().map(|values| vec![0.0; values.len()]).collect();
        let mut gradient = gradient;
        for (index, (layer, saved)) in self.layers.iter().zip(tape).enumerate().rev() {
            let by_input = if index == 0 { InputGradient::Unwanted } else { InputGradient::Wanted };
            gradient = layer.backward(values, (saved, gradient), (&mut sums, by_input));
        }
        sums
    }
}
