//! The affine layer over spliced rows, with its weights: what hidden layers, gates and the output begin with.

use super::affine::Affine;
use super::init::{First, Spec};
use super::layers::{Part, Product, Rows};
use super::splice::{Segments, Splice};

/// Name of the last layer.
pub(super) const OUTPUT: &str = "output";

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

    /// The connection to the gates of an LSTM layer of so many `cells`, from x and from the `feedback` values of its own last
    /// output: they begin with about the variance of both. It forgets little at first (Gers et al. 2000; Jozefowicz et al. 2015).
    pub(super) fn gates(name: String, splice: Splice, (inputs, cells, feedback): (usize, usize, usize)) -> Self {
        let deviation = 1.0 / ((splice.count() * inputs + feedback) as f32).sqrt();
        let bias = First::ForgetOnes;
        Self { feedback, deviation, bias, ..Self::new(name, splice, (inputs, 4 * cells)) }
    }

    /// The last connection, to scores, which nothing rectifies: they begin with about the variance of x.
    pub(super) fn output(splice: Splice, (inputs, outputs): (usize, usize)) -> Self {
        Self::new(OUTPUT, splice, (inputs, outputs)).scaled(0.5f32.sqrt())
    }

    /// The same with smaller or larger first weights.
    pub(super) fn scaled(self, factor: f32) -> Self {
        Self { deviation: self.deviation * factor, ..self }
    }

    /// The sums over the rows of x.
    pub(super) fn on(&self, segments: &Segments) -> Affine<'_> {
        Affine::new(&self.splice, segments, (self.inputs, self.outputs))
    }
}

impl Part for Connection {
    fn specs(&self) -> Vec<Spec> {
        let (name, deviation) = (&self.name, self.deviation);
        let shape = vec![self.splice.count() * self.inputs + self.feedback, self.outputs];
        let first = if deviation == 0.0 { First::Zeros } else { First::Normal { deviation } };
        vec![
            Spec { name: format!("{name}.bias"), shape: vec![self.outputs], first: self.bias },
            Spec { name: format!("{name}.weight"), shape, first },
        ]
    }

    fn places(&mut self) -> &mut [usize] {
        &mut self.places
    }
}

impl Product for Connection {
    fn splice(&self) -> &Splice {
        &self.splice
    }

    fn forward(&self, values: &[&[f32]], x: &Rows) -> Rows {
        let [bias, weight] = self.places;
        let y = self.on(&x.segments).forward(&x.values, values[weight], values[bias]);
        Rows { values: y, segments: x.segments.after(&self.splice) }
    }

    fn differentiate(&self, x: &Rows, gradient: &[f32], sums: &mut [&mut [f32]]) {
        let [bias, weight] = self.places;
        let affine = self.on(&x.segments);
        affine.weight_gradient(&x.values, gradient, sums[weight]);
        affine.bias_gradient(gradient, sums[bias]);
    }

    fn back(&self, values: &[&[f32]], (segments, gradient): (&Segments, &[f32]), sum: &mut [f32]) {
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
