//! The network as one candle operation, whose backward is the layers' own.
//!
//! In: frames `[rows x D]` and all parameters `[N]`. Out: scores `[rows x P]`, on candle's tape, so that any loss written with
//! candle can stand on top. One operation and not one for each layer, and the gradient by the parameters goes around the tape:
//! candle adds up the gradients of each operation in a pool of its own, at the price of several copies.

use std::sync::{Arc, Mutex};

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Storage, Tensor};

use super::layers::{InputGradient, Rows, Saved};
use super::params::cut;
use super::plan::Plan;
use super::splice::Segments;
use crate::random::Random;

/// Layers over the frames of some utterances. By the frames it is differentiated only where they are a candle variable.
pub(super) struct NetworkOp {
    plan: Arc<Plan>,
    lengths: Vec<usize>,
    segments: Segments,
    dropout: Option<Random>,
    /// What the backward needs of the forward.
    tape: Mutex<Option<Vec<Saved>>>,
    by_parameters: ByParameters,
}

/// Takes the gradient by each parameter when the backward runs.
pub(super) type ByParameters = Arc<Mutex<Vec<Vec<f32>>>>;

impl NetworkOp {
    /// An operation over utterances of so many padded frames, whose parameters have these `lengths`. Hidden values are dropped
    /// as `dropout` draws them.
    pub(super) fn new(plan: &Arc<Plan>, (lengths, segments): (&[usize], Segments), dropout: Option<&Random>) -> Self {
        let (plan, lengths) = (Arc::clone(plan), lengths.to_vec());
        Self {
            plan,
            lengths,
            segments,
            dropout: dropout.cloned(),
            tape: Mutex::new(None),
            by_parameters: Arc::default(),
        }
    }

    /// Where the gradient by each parameter will be after the backward.
    pub(super) fn by_parameters(&self) -> ByParameters {
        Arc::clone(&self.by_parameters)
    }
}

impl CustomOp2 for NetworkOp {
    fn name(&self) -> &'static str {
        "network"
    }

    fn cpu_fwd(
        &self,
        frames: &CpuStorage,
        frames_layout: &Layout,
        parameters: &CpuStorage,
        parameters_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let rows = Rows { values: slice(frames, frames_layout)?.to_vec().into(), segments: self.segments.clone() };
        let parameters = cut(slice(parameters, parameters_layout)?, &self.lengths);
        let (scores, saved) = self.plan.forward(&parameters, rows, self.dropout.as_ref());
        *self.tape.lock().map_err(|_| poisoned())? = Some(saved);
        let shape = Shape::from((scores.segments.rows(), scores.values.len() / scores.segments.rows().max(1)));
        Ok((CpuStorage::F32(scores.values.into_vec()), shape))
    }

    fn bwd(
        &self,
        frames: &Tensor,
        parameters: &Tensor,
        _scores: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Some(saved) = self.tape.lock().map_err(|_| poisoned())?.take() else {
            candle_core::bail!("a network's backward runs once after its forward")
        };
        let gradient = with_values(&gradient.contiguous()?, |gradient| Ok(gradient.to_vec()))?;
        let wanted = if frames.is_variable() { InputGradient::Wanted } else { InputGradient::Unwanted };
        let mut sums: Vec<Vec<f32>> = self.lengths.iter().map(|&length| vec![0.0; length]).collect();
        let by_frames = with_values(parameters, |flat| {
            let (values, mut sums) =
                (cut(flat, &self.lengths), sums.iter_mut().map(|sum| &mut sum[..]).collect::<Vec<_>>());
            Ok(self.plan.backward(&values, (saved, gradient.into()), (&mut sums, wanted)).into_vec())
        })?;
        *self.by_parameters.lock().map_err(|_| poisoned())? = sums;
        let by_frames = match wanted {
            InputGradient::Wanted => Some(Tensor::from_vec(by_frames, frames.shape(), frames.device())?),
            InputGradient::Unwanted => None,
        };
        Ok((by_frames, None))
    }
}

fn poisoned() -> candle_core::Error {
    candle_core::Error::Msg("an earlier forward of this network did not end".into())
}

/// A loss whose gradient was computed outside: back-propagates the gradient that it is given.
pub(super) struct Surrogate {
    /// dL/dx, as many values as x has.
    pub(super) gradient: Vec<f32>,
}

impl CustomOp1 for Surrogate {
    fn name(&self) -> &'static str {
        "surrogate"
    }

    fn cpu_fwd(&self, _x: &CpuStorage, _layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(vec![0.0]), Shape::from(())))
    }

    fn bwd(&self, x: &Tensor, _y: &Tensor, _gradient: &Tensor) -> Result<Option<Tensor>> {
        Tensor::from_vec(self.gradient.clone(), x.shape(), x.device()).map(Some)
    }
}

/// The values of a contiguous tensor of `f32`, given to `f`.
pub(super) fn with_values<R>(tensor: &Tensor, f: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => f(slice(storage, layout)?),
        _ => candle_core::bail!("these layers run on the CPU"),
    }
}

fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&storage.as_slice::<f32>()?[start..end]),
        None => candle_core::bail!("a tensor that is not contiguous came to an operation that needs it so"),
    }
}
