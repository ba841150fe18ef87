//! Layers in order, from padded frames to scores and back. `operation` makes a candle operation of the whole.

use super::buffers::Buffer;
use super::init::Spec;
use super::kernels::Mask;
use super::layers::{InputGradient, Layer, Part, Pass, Rows, Saved};
use super::recurrent::Carry;
use crate::random::Random;

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
        let mut parts: Vec<&mut dyn Part> = layers.iter_mut().flat_map(Layer::parts_mut).collect();
        let mut specs: Vec<Spec> = parts.iter().flat_map(|part| part.specs()).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        let place = |spec: &Spec| {
            specs.iter().position(|other| other.name == spec.name).expect("each name has its specification")
        };
        for part in &mut parts {
            let found: Vec<usize> = part.specs().iter().map(place).collect();
            part.places().copy_from_slice(&found);
        }
        Self { layers, specs, left, dropout }
    }

    /// In order.
    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// What `dropout` drops of layer number `index`.
    pub(super) fn mask(&self, index: usize, dropout: Option<&Random>) -> Option<Mask> {
        let random = dropout.filter(|_| self.dropout > 0.0)?.fork(index as u64);
        Some(Mask::new(self.dropout, random))
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

    /// Whether rows depend on all that came before them.
    pub(super) fn remembers(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, Layer::Recurrent(_)))
    }

    /// Whether rows depend on all that comes after them.
    pub(super) fn foresees(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, Layer::Recurrent(layer) if layer.reads_backward()))
    }

    /// What a stream carries through each layer before its first row.
    pub(super) fn carries(&self) -> Vec<Carry> {
        vec![Carry::default(); self.layers.len()]
    }

    /// The scores before log-softmax, `[rows x pdfs]`, of padded frames, with parameter `values` in the order of the specs.
    /// The frames go on from where those that left the `carries` ended.
    pub(super) fn infer(&self, values: &[&[f32]], frames: Rows, carries: &mut [Carry]) -> Rows {
        let layers = self.layers.iter().zip(carries);
        layers.fold(frames, |x, (layer, carry)| layer.forward(values, x, Pass::Infer(carry)).0)
    }

    /// The scores of whole utterances as of [`Plan::infer`], and what the backward needs. With `dropout`, hidden values are
    /// dropped at random.
    pub(super) fn forward(&self, values: &[&[f32]], frames: Rows, dropout: Option<&Random>) -> (Rows, Vec<Saved>) {
        let mut x = frames;
        let mut tape = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            let (y, saved) = layer.forward(values, x, Pass::Train(self.mask(index, dropout)));
            tape.push(saved);
            x = y;
        }
        (x, tape)
    }

    /// Adds the gradients by every parameter to `sums`, in the order of the specs, and gives that by the padded frames, if it is
    /// wanted, from the gradient by the scores.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (tape, gradient): (Vec<Saved>, Buffer),
        (sums, by_frames): (&mut [&mut [f32]], InputGradient),
    ) -> Buffer {
        let mut gradient = gradient;
        for (index, (layer, saved)) in self.layers.iter().zip(tape).enumerate().rev() {
            let by_input = if index == 0 { by_frames } else { InputGradient::Wanted };
            gradient = layer.backward(values, (saved, gradient), (sums, by_input));
        }
        gradient
    }
}
