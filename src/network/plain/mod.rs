//! Networks in candle's operations, for devices that the layers' own kernels do not run on: the same layers, the same numbers but
//! for rounding. On the processor they are what the kernels are tested against.
//!
//! In: a plan, the values of its parameters, the padded frames of a whole batch. Out: scores, and from the gradient by them that
//! by every parameter. All utterances run together (`layout`). candle differentiates one layer at a time, since it walks back
//! recursively: a network over a whole utterance could be too deep for the stack. Recurrent layers are differentiated by hand
//! (`recurrent`), which takes fewer and larger products.

mod feedforward;
mod layout;
mod recurrent;

use candle_core::{Device, Result, Tensor, Var};

use super::init::Spec;
use super::kernels::Mask;
use super::layers::{InputGradient, Layer, Rows};
use super::plan::Plan;
use crate::random::Random;
use feedforward::Forward;
use layout::Layout;
use recurrent::Unrolled;

/// A network with its parameters on a device.
pub(super) struct Plain<'a> {
    plan: &'a Plan,
    device: &'a Device,
    /// In the order of the specs.
    parameters: Vec<Var>,
}

/// Rows of a batch on a device.
struct Placed {
    /// `[rows x cols]`.
    values: Tensor,
    layout: Layout,
}

/// The scores of a batch, and what the backward needs.
pub(super) struct Tape {
    frames: Layout,
    scores: Placed,
    saved: Vec<Saved>,
}

/// What a layer's backward needs of its forward.
struct Saved {
    /// A variable where the gradient by it is wanted; else candle goes back no further than the first product.
    x: Tensor,
    /// What candle makes of x: the layer's output, or what a recurrent layer reads.
    y: Tensor,
    /// Place of each running statistic, and what it is above the one observed.
    statistics: Vec<(usize, Tensor)>,
    recurrent: Option<Unrolled>,
}

/// Gradients in the order of the specs, as far as they are known.
type Found = Vec<Option<Tensor>>;

impl<'a> Plain<'a> {
    /// The network of `plan` with these `values` of its parameters, in the order of its specs.
    pub(super) fn new(plan: &'a Plan, values: &[&[f32]], device: &'a Device) -> Result<Self> {
        let variable = |(spec, values): (&Spec, &&[f32])| Var::from_slice(values, spec.shape.as_slice(), device);
        let parameters = plan.specs().iter().zip(values).map(variable).collect::<Result<_>>()?;
        Ok(Self { plan, device, parameters })
    }

    /// The scores of whole utterances, which have a row at least. With `dropout`, hidden values are dropped: the same as by the
    /// kernels. The backward will give the gradient `by_frames`, if it is wanted.
    pub(super) fn forward(
        &self,
        frames: &Rows,
        (dropout, by_frames): (Option<&Random>, InputGradient),
    ) -> Result<Tape> {
        let layout = Layout::new(&frames.segments, self.plan.subsampling());
        let values = layout.upload(&frames.values, self.device)?;
        let mut tape = Tape { frames: layout.clone(), scores: Placed { values, layout }, saved: Vec::new() };
        for (index, layer) in self.plan.layers().iter().enumerate() {
            let mask = self.plan.mask(index, dropout);
            let by_x = if index == 0 { by_frames } else { InputGradient::Wanted };
            let (y, saved) = self.layer(layer, (&tape.scores, by_x), mask.as_ref())?;
            tape.scores = y;
            tape.saved.push(saved);
        }
        Ok(tape)
    }

    fn layer(
        &self,
        layer: &Layer,
        (x, by_x): (&Placed, InputGradient),
        mask: Option<&Mask>,
    ) -> Result<(Placed, Saved)> {
        let layout = x.layout.after(layer.splice());
        let x = match by_x {
            InputGradient::Wanted => Var::from_tensor(&x.values)?.into_inner(),
            InputGradient::Unwanted => x.values.clone(),
        };
        if let Layer::Recurrent(recurrent) = layer {
            let seen = layout::spliced(&x, 0, layer.splice())?;
            let (values, unrolled) = self.read(recurrent, (&seen.detach(), &layout), mask)?;
            let saved = Saved { x, y: seen, statistics: Vec::new(), recurrent: Some(unrolled) };
            return Ok((Placed { values, layout }, saved));
        }
        let mut forward = Forward::new(self, (&layout, mask));
        let y = forward.layer(layer, &x)?;
        let saved = Saved { x, y: y.clone(), statistics: forward.statistics, recurrent: None };
        Ok((Placed { values: y.detach(), layout }, saved))
    }

    /// The gradient by every parameter, in the order of the specs, and that by the padded frames, empty if it was not wanted, from
    /// that by the scores.
    pub(super) fn backward(&self, tape: Tape, gradient: &[f32]) -> Result<(Vec<Vec<f32>>, Vec<f32>)> {
        let mut found: Found = vec![None; self.parameters.len()];
        let mut gradient = Some(tape.scores.layout.upload(gradient, self.device)?);
        for (layer, saved) in self.plan.layers().iter().zip(tape.saved).rev() {
            let mut by_y = required(gradient)?;
            if let (Layer::Recurrent(recurrent), Some(unrolled)) = (layer, &saved.recurrent) {
                by_y = self.read_back(recurrent, (unrolled, &by_y), &mut found)?;
            }
            gradient = self.pull_back(saved, &by_y, &mut found)?;
        }
        let by_parameters = found.into_iter().map(|found| required(found)?.flatten_all()?.to_vec1());
        let by_frames = gradient.map_or(Ok(Vec::new()), |gradient| tape.frames.download(&gradient));
        Ok((by_parameters.collect::<Result<_>>()?, by_frames?))
    }

    /// The gradient by x, where that is a variable, from that by y, as candle finds it; those by parameters are kept.
    fn pull_back(&self, saved: Saved, gradient: &Tensor, found: &mut Found) -> Result<Option<Tensor>> {
        let mut gradients = (&saved.y * gradient)?.sum_all()?.backward()?;
        for (found, parameter) in found.iter_mut().zip(&self.parameters) {
            if let Some(gradient) = gradients.remove(parameter) {
                *found = Some(gradient);
            }
        }
        for (place, above) in saved.statistics {
            found[place] = Some(above);
        }
        Ok(gradients.remove(&saved.x))
    }

    /// What `mask` multiplies the rows of `cols` values by.
    fn mask(&self, mask: &Mask, (layout, cols): (&Layout, usize)) -> Result<Tensor> {
        let mut values = vec![1.0; layout.segments().rows() * cols];
        mask.apply(&mut values);
        layout.upload(&values, self.device)
    }
}

impl Tape {
    /// The scores `[rows x P]` of the utterances, one after another.
    pub(super) fn scores(&self) -> Result<Vec<f32>> {
        self.scores.layout.download(&self.scores.values)
    }
}

fn required(gradient: Option<Tensor>) -> Result<Tensor> {
    gradient.ok_or_else(|| candle_core::Error::Msg("a variable received no gradient".into()))
}
