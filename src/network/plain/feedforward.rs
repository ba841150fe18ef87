//! Layers without memory, in operations that candle can differentiate.

use candle_core::{DType, Result, Tensor};

use super::Plain;
use super::layout::{Layout, spliced};
use crate::network::connection::Connection;
use crate::network::convolution::Convolution;
use crate::network::hidden::Block;
use crate::network::kernels::{Mask, RENORM_FLOOR};
use crate::network::layers::Layer;
use crate::network::normalise::{HiddenNorm, Norm};
use crate::network::splice::Splice;

/// One layer over all rows of a batch.
pub(super) struct Forward<'a> {
    plain: &'a Plain<'a>,
    /// Of the layer's output.
    layout: &'a Layout,
    mask: Option<&'a Mask>,
    /// Place of each running statistic, and what it is above the one observed.
    pub(super) statistics: Vec<(usize, Tensor)>,
}

impl<'a> Forward<'a> {
    /// For a layer whose output lies so and is dropped by that mask.
    pub(super) fn new(plain: &'a Plain<'a>, (layout, mask): (&'a Layout, Option<&'a Mask>)) -> Self {
        Self { plain, layout, mask, statistics: Vec::new() }
    }

    /// The output of the layer, which is not a recurrent one.
    pub(super) fn layer(&mut self, layer: &Layer, x: &Tensor) -> Result<Tensor> {
        match layer {
            Layer::Hidden(hidden) => {
                let product = self.affine(&hidden.product, x)?;
                self.hidden(&hidden.norm, &product)
            }
            Layer::Convolution(hidden) => {
                let product = self.convolved(&hidden.product, x)?;
                self.hidden(&hidden.norm, &product)
            }
            Layer::Block(block) => self.block(block, x),
            Layer::Output(connection) => self.affine(connection, x),
            Layer::Recurrent(_) => candle_core::bail!("a recurrent layer is no feed-forward one"),
        }
    }

    fn parameter(&self, place: usize) -> &Tensor {
        self.plain.parameters[place].as_tensor()
    }

    /// splice(x) W + b.
    fn affine(&self, connection: &Connection, x: &Tensor) -> Result<Tensor> {
        self.product(connection.places, &spliced(x, 0, &connection.splice)?)
    }

    /// x W + b.
    fn product(&self, [bias, weight]: [usize; 2], x: &Tensor) -> Result<Tensor> {
        x.matmul(self.parameter(weight))?.broadcast_add(self.parameter(bias))
    }

    /// x + hidden(x) W + b, x without the rows at both ends that `hidden` has used up.
    fn block(&mut self, block: &Block, x: &Tensor) -> Result<Tensor> {
        let inner = self.affine(&block.narrow.product, x)?;
        let inner = self.hidden(&block.narrow.norm, &inner)?;
        x.narrow(0, block.dilation, self.layout.rows())? + self.affine(&block.wide, &inner)?
    }

    /// x * W + b, as one product over all rows and bands.
    fn convolved(&self, convolution: &Convolution, x: &Tensor) -> Result<Tensor> {
        let shape = convolution.shape;
        let (rows, bands) = (self.layout.rows(), shape.bands_out());
        let before = (shape.kernel_bands - 1) / 2;
        let after = ((bands - 1) * shape.band_stride + shape.kernel_bands).saturating_sub(before + shape.bands);
        let planes = x.reshape(((), shape.bands, shape.channels))?.pad_with_zeros(1, before, after)?;
        let planes = spliced(&planes, 1, &Splice::window(shape.kernel_bands, shape.band_stride))?;
        let seen = (0..convolution.splice.count()).map(|frame| planes.narrow(0, frame, rows));
        let seen = Tensor::cat(&seen.collect::<Result<Vec<_>>>()?, 2)?;
        let seen = seen.reshape((rows * bands, convolution.weights()))?;
        self.product(convolution.places, &seen)?.reshape((rows, shape.outputs()))
    }

    /// norm(relu(x)), then dropout.
    fn hidden(&mut self, norm: &Norm, x: &Tensor) -> Result<Tensor> {
        // candle's own rectifier makes 0 of NaN: a network gone astray would not show it.
        let z = (x * x.gt(0f32)?.to_dtype(DType::F32)?)?;
        let y = self.normalised(norm, z)?;
        match self.mask {
            Some(mask) => y * self.plain.mask(mask, (self.layout, norm.cols))?,
            None => Ok(y),
        }
    }

    fn normalised(&mut self, norm: &Norm, z: Tensor) -> Result<Tensor> {
        match norm.kind {
            HiddenNorm::None => Ok(z),
            HiddenNorm::Rms => z.broadcast_div(&deviation(&z.sqr()?.mean_keepdim(1)?)?),
            HiddenNorm::Layer => {
                let z = z.broadcast_sub(&z.mean_keepdim(1)?)?;
                let variance = z.sqr()?.mean_keepdim(1)?;
                self.scaled(norm, &z.broadcast_div(&deviation(&variance)?)?)
            }
            HiddenNorm::Batch => {
                let share = self.share()?;
                let mean = share.matmul(&z)?;
                let z = z.broadcast_sub(&mean)?;
                let variance = share.matmul(&z.sqr()?)?;
                self.observe(norm, [&mean, &variance])?;
                self.scaled(norm, &z.broadcast_div(&deviation(&variance)?)?)
            }
        }
    }

    /// gain n + shift.
    fn scaled(&self, norm: &Norm, n: &Tensor) -> Result<Tensor> {
        n.broadcast_mul(self.parameter(norm.places[0]))?.broadcast_add(self.parameter(norm.places[1]))
    }

    /// What each row counts in a mean over the utterances' rows `[1 x rows]`.
    fn share(&self) -> Result<Tensor> {
        let rows = self.layout.segments().rows();
        let shares = vec![1.0 / rows as f32; rows];
        self.layout.upload(&shares, self.plain.device)?.reshape((1, ()))
    }

    /// Keeps what the running statistics are above those observed `[1 x cols]`.
    fn observe(&mut self, norm: &Norm, observed: [&Tensor; 2]) -> Result<()> {
        for (&place, observed) in norm.places[2..].iter().zip(observed) {
            let above = self.parameter(place).detach() - observed.detach().flatten_all()?;
            self.statistics.push((place, above?));
        }
        Ok(())
    }
}

fn deviation(variance: &Tensor) -> Result<Tensor> {
    (variance + f64::from(RENORM_FLOOR))?.sqrt()
}
