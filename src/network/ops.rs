//! The layers as candle operations with a backward written by hand.
//!
//! candle's own normalisation layers silently stop gradients, its convolutions train slowly and its matrix products choose
//! their threads by the environment; these do none of that. They run on the CPU.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Storage, Tensor};

use super::kernels::{self, Affine, Mask};
use super::splice::Segments;

/// [`Affine`] of x, W and b.
pub(super) struct AffineOp {
    pub(super) affine: Affine,
    pub(super) input: Input,
}

/// What the first argument of an affine layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The features: nobody asks for their gradient.
    Features,
    /// The output of a layer.
    Hidden,
}

impl CustomOp3 for AffineOp {
    fn name(&self) -> &'static str {
        "spliced-affine"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight, bias) = (slice(x, x_layout)?, slice(weight, weight_layout)?, slice(bias, bias_layout)?);
        Ok(matrix(self.affine.forward(x, weight, bias), self.affine.outputs))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        _y: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        with_values(&gradient.contiguous()?, |gradient| {
            let for_weight = with_values(x, |x| Ok(self.affine.weight_gradient(x, gradient)))?;
            let for_bias = self.affine.bias_gradient(gradient);
            let for_x = match self.input {
                Input::Features => None,
                Input::Hidden => {
                    let values = with_values(weight, |weight| Ok(self.affine.input_gradient(weight, gradient)))?;
                    Some(like(x, values)?)
                }
            };
            Ok((for_x, Some(like(weight, for_weight)?), Some(like(bias, for_bias)?)))
        })
    }
}

/// [`kernels::relu_renorm`] of each row.
pub(super) struct ReluRenorm;

impl CustomOp1 for ReluRenorm {
    fn name(&self) -> &'static str {
        "relu-renorm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let cols = layout.dims()[1];
        Ok(matrix(kernels::relu_renorm(slice(x, layout)?, cols), cols))
    }

    fn bwd(&self, x: &Tensor, _y: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let cols = x.dim(1)?;
        let values = with_values(x, |x| {
            with_values(&gradient.contiguous()?, |gradient| Ok(kernels::relu_renorm_gradient(x, gradient, cols)))
        })?;
        like(x, values).map(Some)
    }
}

/// Drops values by a [`Mask`].
pub(super) struct Dropout(pub(super) Mask);

impl CustomOp1 for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok(matrix(self.0.apply(slice(x, layout)?), layout.dims()[1]))
    }

    fn bwd(&self, x: &Tensor, _y: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let values = with_values(&gradient.contiguous()?, |gradient| Ok(self.0.apply(gradient)))?;
        like(x, values).map(Some)
    }
}

/// The bypass of a block: y = f(x) + x, where x loses `margin` rows at both ends of each utterance.
pub(super) struct Bypass {
    /// Rows of the utterances in x.
    pub(super) segments: Segments,
    pub(super) margin: usize,
}

impl CustomOp2 for Bypass {
    fn name(&self) -> &'static str {
        "bypass"
    }

    fn cpu_fwd(
        &self,
        inner: &CpuStorage,
        inner_layout: &Layout,
        x: &CpuStorage,
        x_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let cols = x_layout.dims()[1];
        let mut y = slice(inner, inner_layout)?.to_vec();
        kernels::add_cropped(&mut y, slice(x, x_layout)?, (&self.segments, self.margin, cols));
        Ok(matrix(y, cols))
    }

    fn bwd(
        &self,
        _inner: &Tensor,
        x: &Tensor,
        _y: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let layout = (&self.segments, self.margin, x.dim(1)?);
        let for_x = with_values(&gradient.contiguous()?, |gradient| Ok(kernels::uncrop(gradient, layout)))?;
        Ok((Some(gradient.clone()), Some(like(x, for_x)?)))
    }
}

/// A loss whose value and gradient were computed outside: back-propagates the gradient that it is given.
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
        like(x, self.gradient.clone()).map(Some)
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
        None => candle_core::bail!("a tensor that is not contiguous came to a layer that needs it so"),
    }
}

fn matrix(values: Vec<f32>, cols: usize) -> (CpuStorage, Shape) {
    let shape = Shape::from((values.len() / cols, cols));
    (CpuStorage::F32(values), shape)
}

/// A tensor of these values, of the shape of `tensor`.
fn like(tensor: &Tensor, values: Vec<f32>) -> Result<Tensor> {
    Tensor::from_vec(values, tensor.shape(), tensor.device())
}
