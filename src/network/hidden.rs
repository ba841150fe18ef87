//! Hidden layers: a product, a rectifier, a normalisation; and the residual block around one.

use super::buffers::Buffer;
use super::connection::Connection;
use super::kernels;
use super::layers::{Part, Pass, Product, Rows};
use super::normalise::{HiddenNorm, Moments, Norm};
use super::splice::Splice;

/// norm(relu(product(x))), then dropout.
#[derive(Debug, Clone)]
pub(super) struct Hidden<P> {
    pub(super) product: P,
    pub(super) norm: Norm,
}

/// What the backward of a hidden layer needs besides its input.
#[derive(Default)]
pub(super) struct Activated {
    /// Before rectifying.
    product: Buffer,
    /// Of the columns, where they are what normalises.
    moments: Option<Moments>,
}

impl Hidden<Connection> {
    /// A layer of that name and those numbers of values in a row of x and of the output.
    pub(super) fn new(name: impl Into<String>, splice: Splice, (dims, norm): ((usize, usize), HiddenNorm)) -> Self {
        let product = Connection::new(name, splice, dims);
        let norm = Norm::new(&product.name, dims.1, norm);
        Self { product, norm }
    }
}

impl<P: Product> Hidden<P> {
    /// A layer whose product gives rows that `norm` takes.
    pub(super) fn of(product: P, norm: Norm) -> Self {
        Self { product, norm }
    }

    pub(super) fn parts_mut(&mut self) -> [&mut dyn Part; 2] {
        [&mut self.product, &mut self.norm]
    }

    pub(super) fn forward(&self, values: &[&[f32]], x: &Rows, (pass, activated): (&Pass<'_>, &mut Activated)) -> Rows {
        let Rows { values: product, segments } = self.product.forward(values, x);
        let moments = self.norm.moments(values, &product, pass);
        let mut y = self.norm.forward(values, &product, moments.as_ref());
        pass.drop(&mut y);
        *activated = Activated { product, moments };
        Rows { values: y, segments }
    }

    /// Adds the gradients by the parameters to `sums` and that by x to `by_x`, where it is wanted, from the gradient by what was
    /// not dropped.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (x, activated, mut gradient): (&Rows, &Activated, Buffer),
        (sums, by_x): (&mut [&mut [f32]], Option<&mut [f32]>),
    ) {
        let Activated { product, moments } = activated;
        self.norm.backward(values, (product, moments.as_ref(), &mut gradient), sums);
        self.product.differentiate(x, &gradient, sums);
        if let Some(by_x) = by_x {
            self.product.back(values, (&x.segments, &gradient), by_x);
        }
    }
}

/// x + narrow(x) W + b, the splice of `narrow` being {-dilation, 0, dilation}.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) dilation: usize,
    pub(super) narrow: Hidden<Connection>,
    pub(super) wide: Connection,
}

impl Block {
    pub(super) fn parts_mut(&mut self) -> Vec<&mut dyn Part> {
        let [product, norm] = self.narrow.parts_mut();
        vec![product, norm, &mut self.wide]
    }

    /// The output, from that of `narrow`.
    pub(super) fn widened(&self, values: &[&[f32]], x: &Rows, inner: &Rows) -> Rows {
        let mut y = self.wide.forward(values, inner);
        kernels::add_cropped(&mut y.values, &x.values, (&x.segments, self.dilation, self.wide.outputs));
        y
    }

    /// The gradient by `inner`, the output of `narrow`; those by x past `narrow` and by the parameters of `wide` are added.
    pub(super) fn unwidened(
        &self,
        values: &[&[f32]],
        (x, inner, gradient): (&Rows, &Rows, &[f32]),
        (sums, by_x): (&mut [&mut [f32]], &mut [f32]),
    ) -> Buffer {
        kernels::add_uncropped(by_x, gradient, (&x.segments, self.dilation, self.wide.outputs));
        self.wide.differentiate(inner, gradient, sums);
        let mut by_inner = Buffer::zeros(inner.values.len());
        self.wide.back(values, (&inner.segments, gradient), &mut by_inner);
        by_inner
    }
}
