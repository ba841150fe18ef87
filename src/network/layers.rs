//! The layers that networks are made of, and a [`Plan`] of them run from frames to scores.

use std::collections::BTreeMap;

use candle_core::{Result, Tensor};

use super::kernels::{Affine, Mask};
use super::ops::{AffineOp, Bypass, Dropout, Input, ReluRenorm};
use super::splice::{Segments, Splice};
use crate::random::Random;

/// Columns of what comes in and of what goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dims {
    pub(super) input: usize,
    pub(super) pdfs: usize,
}

/// One layer, with the name that its parameters have.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    /// relu_renorm(splice(x) W + b).
    Hidden { name: String, splice: Splice, inputs: usize, outputs: usize },
    /// x + relu_renorm(splice(x) W + b) W' + b', the splice being {-dilation, 0, dilation}; one of `depth` such blocks.
    Block { name: String, dilation: usize, width: usize, bottleneck: usize, depth: usize },
    /// x W + b.
    Output { inputs: usize, outputs: usize },
}

/// A parameter tensor before it has values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    /// Standard deviation of the first values; 0 for biases.
    pub(super) deviation: f32,
}

/// W and b of an affine layer.
fn affine_specs(name: &str, (inputs, outputs): (usize, usize), deviation: f32) -> [Spec; 2] {
    [
        Spec { name: format!("{name}.bias"), shape: vec![outputs], deviation: 0.0 },
        Spec { name: format!("{name}.weight"), shape: vec![inputs, outputs], deviation },
    ]
}

impl Layer {
    /// The parameters of the layer.
    pub(super) fn specs(&self) -> Vec<Spec> {
        // He et al. 2015: what passes a rectifier keeps its variance when weights have the variance 2 / inputs.
        let rectified = |inputs: usize| (2.0 / inputs as f32).sqrt();
        match self {
            Self::Hidden { name, splice, inputs, outputs } => {
                let inputs = splice.count() * inputs;
                affine_specs(name, (inputs, *outputs), rectified(inputs)).into()
            }
            Self::Block { name, width, bottleneck, depth, .. } => {
                // What `depth` blocks add together has about the variance of what they are added to.
                let last = 1.0 / ((bottleneck * depth) as f32).sqrt();
                let narrow = affine_specs(&format!("{name}.narrow"), (3 * width, *bottleneck), rectified(3 * width));
                let wide = affine_specs(&format!("{name}.wide"), (*bottleneck, *width), last);
                narrow.into_iter().chain(wide).collect()
            }
            Self::Output { inputs, outputs } => {
                affine_specs("output", (*inputs, *outputs), 1.0 / (*inputs as f32).sqrt()).into()
            }
        }
    }

    /// The input rows that an output row sees.
    pub(super) fn splice(&self) -> Splice {
        match self {
            Self::Hidden { splice, .. } => splice.clone(),
            Self::Block { dilation, .. } => Splice::triple(*dilation),
            Self::Output { .. } => Splice::none(),
        }
    }
}

/// Layers in order, and how much they see.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) layers: Vec<Layer>,
    /// Input frames before the first of those that an output row stands for.
    pub(super) left: usize,
    /// Share of the hidden values dropped in training.
    pub(super) dropout: f32,
}

/// Rows as they pass through the layers.
struct Rows<'a> {
    tensors: &'a BTreeMap<String, Tensor>,
    x: Tensor,
    segments: Segments,
    input: Input,
}

impl Plan {
    /// All parameters, by name.
    pub(super) fn specs(&self) -> Vec<Spec> {
        let mut specs: Vec<Spec> = self.layers.iter().flat_map(Layer::specs).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs
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

    /// The scores before log-softmax, `[rows x pdfs]`, of the padded frames of utterances laid one after another. With
    /// `dropout`, hidden values are dropped at random.
    pub(super) fn forward(
        &self,
        tensors: &BTreeMap<String, Tensor>,
        (frames, segments): (Tensor, Segments),
        dropout: Option<&Random>,
    ) -> Result<Tensor> {
        let mut rows = Rows { tensors, x: frames, segments, input: Input::Features };
        for (index, layer) in self.layers.iter().enumerate() {
            let random = dropout.filter(|_| self.dropout > 0.0).map(|random| random.fork(index as u64));
            let mask = random.map(|random| Mask::new(self.dropout, random));
            rows = rows.pass(layer, mask)?;
        }
        Ok(rows.x)
    }
}

impl Rows<'_> {
    fn pass(self, layer: &Layer, mask: Option<Mask>) -> Result<Self> {
        match layer {
            Layer::Hidden { name, splice, .. } => self.affine(name, splice)?.rectified(mask),
            Layer::Output { .. } => self.affine("output", &Splice::none()),
            Layer::Block { name, dilation, .. } => {
                let bypass = Bypass { segments: self.segments.clone(), margin: *dilation };
                let x = self.x.clone();
                let inner = self.affine(&format!("{name}.narrow"), &Splice::triple(*dilation))?.rectified(mask)?;
                let inner = inner.affine(&format!("{name}.wide"), &Splice::none())?;
                Ok(Self { x: inner.x.apply_op2(&x, bypass)?, ..inner })
            }
        }
    }

    /// splice(x) W + b.
    fn affine(self, name: &str, splice: &Splice) -> Result<Self> {
        let get = |part: &str| {
            let name = format!("{name}.{part}");
            self.tensors.get(&name).ok_or_else(|| candle_core::Error::Msg(format!("there is no parameter {name}")))
        };
        let (weight, bias) = (get("weight")?, get("bias")?);
        let affine = Affine {
            splice: splice.clone(),
            segments: self.segments.clone(),
            inputs: self.x.dim(1)?,
            outputs: bias.dim(0)?,
        };
        let op = AffineOp { affine, input: self.input };
        let x = self.x.apply_op3(weight, bias, op)?;
        Ok(Self { x, segments: self.segments.after(splice), input: Input::Hidden, ..self })
    }

    fn rectified(self, mask: Option<Mask>) -> Result<Self> {
        let x = self.x.apply_op1(ReluRenorm)?;
        let x = match mask {
            Some(mask) => x.apply_op1(Dropout(mask))?,
            None => x,
        };
        Ok(Self { x, ..self })
    }
}
