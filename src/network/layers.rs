//! The layers that networks are made of, forward and backward.
//!
//! Back-propagation is written by hand: each layer leaves what its backward needs in [`Saved`]. `plan` runs them one
//! after another; a file for each kind of layer has what it does.

use super::buffers::Buffer;
use super::connection::Connection;
use super::convolution::Convolution;
use super::hidden::{Activated, Block, Hidden};
use super::init::Spec;
use super::kernels::Mask;
use super::recurrent::{Carry, Recurrent, Unrolled};
use super::splice::{Segments, Splice};

/// Columns of what comes in and of what goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dims {
    pub(super) input: usize,
    pub(super) pdfs: usize,
}

/// Rows of the utterances of a batch, laid one after another.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) values: Buffer,
    pub(super) segments: Segments,
}

/// What has parameters.
pub(super) trait Part {
    /// Its parameters.
    fn specs(&self) -> Vec<Spec>;

    /// Their places among all parameters of the network, in the order of the specs; set when all are known.
    fn places(&mut self) -> &mut [usize];
}

/// Sums of products with weights, and a bias: what is linear in a layer.
pub(super) trait Product: Part {
    /// The input rows that an output row sees.
    fn splice(&self) -> &Splice;

    /// The output of all rows of x.
    fn forward(&self, values: &[&[f32]], x: &Rows) -> Rows;

    /// Adds the gradients by weights and bias to `sums`, from that by the output.
    fn differentiate(&self, x: &Rows, gradient: &[f32], sums: &mut [&mut [f32]]);

    /// Adds the gradient by x to `sum`, from that by the output; `segments` are those of x.
    fn back(&self, values: &[&[f32]], by_output: (&Segments, &[f32]), sum: &mut [f32]);
}

/// One layer.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    /// norm(relu(splice(x) W + b)).
    Hidden(Hidden<Connection>),
    /// norm(relu(x * W + b)), over time and bands.
    Convolution(Hidden<Convolution>),
    /// x + hidden(x) W + b.
    Block(Block),
    /// Long short-term memory.
    Recurrent(Recurrent),
    /// splice(x) W + b.
    Output(Connection),
}

/// What a forward is for.
pub(super) enum Pass<'a> {
    /// A gradient over whole utterances, some values of the output being dropped by the mask.
    Train(Option<Mask>),
    /// Scores alone, of rows that go on from where those that left the carry ended.
    Infer(&'a mut Carry),
}

impl Pass<'_> {
    /// Drops values of a layer's output.
    pub(super) fn drop(&self, values: &mut [f32]) {
        if let Self::Train(Some(mask)) = self {
            mask.apply(values);
        }
    }

    fn mask(self) -> Option<Mask> {
        match self {
            Self::Train(mask) => mask,
            Self::Infer(_) => None,
        }
    }
}

/// What a layer's backward needs of its forward.
#[derive(Default)]
pub(super) struct Saved {
    /// The layer's input.
    x: Rows,
    mask: Option<Mask>,
    /// Of a hidden layer.
    activated: Activated,
    /// The output of the hidden layer inside a block.
    inner: Rows,
    /// Each direction of a recurrent layer.
    unrolled: Vec<Unrolled>,
}

/// Whether anybody asks for the gradient by a layer's input: seldom where that is the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputGradient {
    Wanted,
    Unwanted,
}

impl Layer {
    pub(super) fn parts_mut(&mut self) -> Vec<&mut dyn Part> {
        match self {
            Self::Hidden(hidden) => hidden.parts_mut().into(),
            Self::Convolution(hidden) => hidden.parts_mut().into(),
            Self::Block(block) => block.parts_mut(),
            Self::Recurrent(recurrent) => recurrent.parts_mut(),
            Self::Output(connection) => vec![connection],
        }
    }

    /// The input rows that an output row sees.
    pub(super) fn splice(&self) -> &Splice {
        match self {
            Self::Hidden(hidden) => hidden.product.splice(),
            Self::Convolution(hidden) => hidden.product.splice(),
            Self::Block(block) => block.narrow.product.splice(),
            Self::Recurrent(recurrent) => recurrent.splice(),
            Self::Output(connection) => &connection.splice,
        }
    }

    /// The output of all rows of x.
    pub(super) fn forward(&self, values: &[&[f32]], x: Rows, mut pass: Pass<'_>) -> (Rows, Saved) {
        let mut saved = Saved::default();
        let y = match self {
            Self::Hidden(hidden) => hidden.forward(values, &x, (&pass, &mut saved.activated)),
            Self::Convolution(hidden) => hidden.forward(values, &x, (&pass, &mut saved.activated)),
            Self::Block(block) => {
                saved.inner = block.narrow.forward(values, &x, (&pass, &mut saved.activated));
                block.widened(values, &x, &saved.inner)
            }
            Self::Recurrent(recurrent) => {
                let mut start = Carry::default();
                let carry = if let Pass::Infer(carry) = &mut pass { carry } else { &mut start };
                let (mut y, unrolled) = recurrent.forward(values, &x, carry);
                pass.drop(&mut y.values);
                saved.unrolled = unrolled;
                y
            }
            Self::Output(connection) => return (connection.forward(values, &x), Saved { x, ..saved }),
        };
        (y, Saved { x, mask: pass.mask(), ..saved })
    }

    /// Adds the gradients by the parameters to `sums` and gives the gradient by the input, unless that is unwanted.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (saved, mut gradient): (Saved, Buffer),
        (sums, by_input): (&mut [&mut [f32]], InputGradient),
    ) -> Buffer {
        let Saved { x, mask, activated, inner, unrolled } = saved;
        let mut by_x = Buffer::zeros(x.values.len());
        if let Self::Block(block) = self {
            gradient = block.unwidened(values, (&x, &inner, &gradient), (sums, &mut by_x));
        }
        mask.iter().for_each(|mask| mask.apply(&mut gradient));
        let wanted = (by_input == InputGradient::Wanted).then_some(&mut by_x[..]);
        match self {
            Self::Hidden(hidden) => hidden.backward(values, (&x, &activated, gradient), (sums, wanted)),
            Self::Convolution(hidden) => hidden.backward(values, (&x, &activated, gradient), (sums, wanted)),
            Self::Block(block) => block.narrow.backward(values, (&x, &activated, gradient), (sums, wanted)),
            Self::Recurrent(recurrent) => recurrent.backward(values, (&x, unrolled, &gradient), (sums, wanted)),
            Self::Output(connection) => {
                connection.differentiate(&x, &gradient, sums);
                if let Some(by_x) = wanted {
                    connection.back(values, (&x.segments, &gradient), by_x);
                }
            }
        }
        by_x
    }
}
