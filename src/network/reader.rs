//! One direction of a recurrent layer: long short-term memory (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al.
//! 2000; with projection, Sak et al. 2014), forward and backward through time (Werbos 1990).
//!
//! ```text
//! z[t] = x[t] W + r[t-1] U + b      h[t], c[t] = cells(z[t], c[t-1])      r[t] = h[t] P, or h[t] without projection
//! ```
//!
//! The product for all inputs is one, before the recursion; the gradient by the weights is one product, after it. In between,
//! the utterances of a batch run side by side, so that each step's product is a matrix product. All that is kept lies in the
//! order of time (`timeline`), so that a step's rows are neighbours and nothing is copied.

use std::ops::Range;

use super::buffers::Buffer;
use super::cells::{Advance, Retreat};
use super::connection::Connection;
use super::gemm::{Packed, Start, View, ViewMut, multiply, multiply_add, vectorised};
use super::init::{First, Spec};
use super::layers::{Part, Rows};
use super::timeline::{Direction, Step, Timeline};

/// One direction of a recurrent layer of H cells, whose output r has R columns.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) direction: Direction,
    /// W and U are one matrix `[inputs + R x 4 H]`, its last R rows being U; columns are the gates i, f, g, o.
    pub(super) gates: Connection,
    pub(super) projection: Option<Projection>,
}

/// The weights P `[H x R]` from the cells' output to the layer's, which are fewer.
#[derive(Debug, Clone)]
pub(super) struct Projection {
    pub(super) name: String,
    pub(super) cells: usize,
    pub(super) outputs: usize,
    pub(super) place: [usize; 1],
}

impl Part for Projection {
    fn specs(&self) -> Vec<Spec> {
        let first = First::Normal { deviation: 1.0 / (self.cells as f32).sqrt() };
        vec![Spec { name: self.name.clone(), shape: vec![self.cells, self.outputs], first }]
    }

    fn places(&mut self) -> &mut [usize] {
        &mut self.place
    }
}

/// What a stream of rows has left in a layer: the output and the cells after the last row, empty before the first.
#[derive(Debug, Clone, Default)]
pub(super) struct Carry {
    /// `[lanes x R]`.
    output: Vec<f32>,
    /// `[lanes x H]`.
    cells: Vec<f32>,
}

/// What the backward of one direction needs of its forward, in the order of time.
pub(super) struct Unrolled {
    /// The gates i, f, g, o `[rows x 4 H]`.
    gates: Buffer,
    /// The cells c `[rows x H]`.
    cells: Buffer,
}

/// What a reader reads, and where it writes.
#[derive(Clone, Copy)]
pub(super) struct Read<'a> {
    pub(super) x: &'a Rows,
    pub(super) timeline: &'a Timeline,
    /// Where in the layer's output that of each row begins, in the order of time.
    pub(super) firsts: &'a [usize],
}

/// What back-propagation through time finds, in the order of time.
struct Gradients {
    /// dL/dz `[rows x 4 H]`.
    by_z: Buffer,
    /// dL/dr `[rows x R]`.
    by_r: Buffer,
    /// h `[rows x H]`, once more.
    h: Buffer,
}

impl Reader {
    pub(super) fn parts_mut(&mut self) -> Vec<&mut dyn Part> {
        let projection = self.projection.iter_mut().map(|projection| projection as &mut dyn Part);
        std::iter::once(&mut self.gates as &mut dyn Part).chain(projection).collect()
    }

    /// H.
    fn cells(&self) -> usize {
        self.gates.outputs / 4
    }

    /// R.
    pub(super) fn outputs(&self) -> usize {
        self.projection.as_ref().map_or(self.cells(), |projection| projection.outputs)
    }

    /// U `[R x 4 H]`.
    fn feedback<'a>(&self, values: &[&'a [f32]]) -> View<'a> {
        let wide = self.gates.outputs;
        View::new(self.gates.feedback(values), (self.outputs(), wide), wide)
    }

    /// P `[H x R]`.
    fn projection<'a>(&self, values: &[&'a [f32]]) -> Option<View<'a>> {
        let projection = self.projection.as_ref()?;
        let (cells, outputs) = (projection.cells, projection.outputs);
        Some(View::new(values[projection.place[0]], (cells, outputs), outputs))
    }

    /// Writes r of every row of x to y; goes on from `carry`.
    pub(super) fn forward(
        &self,
        values: &[&[f32]],
        Read { x, timeline, firsts }: Read<'_>,
        (carry, y): (&mut Carry, &mut [f32]),
    ) -> Unrolled {
        let ([bias, weight], steps) = (self.gates.places, timeline.steps(self.direction));
        let affine = self.gates.on(&x.segments).in_order(timeline.rows());
        let gates = affine.forward(&x.values, values[weight], values[bias]);
        let unrolled = self.unroll(values, (gates, &steps), (carry, y, firsts));
        if let Some(Step { now, .. }) = steps.last() {
            let (h, r) = (self.cells(), self.outputs());
            carry.cells = unrolled.cells[now.start * h..now.end * h].to_vec();
            carry.output = firsts[now.clone()].iter().flat_map(|&first| &y[first..first + r]).copied().collect();
        }
        unrolled
    }

    /// The recursion over time, from z = x W + b: z[t] += r[t-1] U, what [`Advance`] does, r[t] = h[t] P.
    fn unroll(
        &self,
        values: &[&[f32]],
        (mut gates, steps): (Buffer, &[Step]),
        (carry, y, firsts): (&Carry, &mut [f32], &[usize]),
    ) -> Unrolled {
        let (h, r, wide) = (self.cells(), self.outputs(), self.gates.outputs);
        let feedback = Repeated::new(self.feedback(values), steps);
        let projection = self.projection(values).map(|weight| Repeated::new(weight, steps));
        let mut cells = Buffer::any(gates.len() / 4);
        let (mut hidden, zeros) = (vec![0.0; most_lanes(steps) * h], vec![0.0; r]);
        let places: Vec<usize> = (0..most_lanes(steps)).map(|lane| lane * h).collect();
        for (number, Step { now, past }) in steps.iter().enumerate() {
            let z = &mut gates[now.start * wide..now.end * wide];
            let (before, state) = cells_at(&mut cells, (past, now), h);
            if number > 0 || carry.output.is_empty() {
                feedback.multiply((z, wide), Start::Output, View::listed(y, &firsts[past.clone()], r));
                state[..before.len()].copy_from_slice(before);
                state[before.len()..].fill(0.0);
            } else {
                feedback.multiply((z, wide), Start::Output, View::new(&carry.output, (now.len(), r), r));
                state.copy_from_slice(&carry.cells);
            }
            let firsts = &firsts[now.clone()];
            let output = if projection.is_some() { (&mut hidden[..], &places[..]) } else { (&mut *y, firsts) };
            vectorised(Advance { width: h, gates: z, cells: state, output });
            if let Some(projection) = &projection {
                let hidden = View::new(&hidden, (now.len(), h), h);
                projection.multiply_into(ViewMut::listed(y, firsts, r), Start::Row(&zeros), hidden);
            }
        }
        Unrolled { gates, cells }
    }

    /// Adds the gradients by W, U, b and P to `sums` and, if `by_x` is given, that by x to it, from that by the output.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        Read { x, timeline, firsts }: Read<'_>,
        (unrolled, by_y): (Unrolled, &[f32]),
        (sums, by_x): (&mut [&mut [f32]], Option<&mut [f32]>),
    ) {
        let ([bias, weight], steps) = (self.gates.places, timeline.steps(self.direction));
        let Gradients { by_z, by_r, h } = self.roll_back(values, (unrolled, &steps), (by_y, firsts));
        let affine = self.gates.on(&x.segments).in_order(timeline.rows());
        affine.weight_gradient(&x.values, &by_z, sums[weight]);
        affine.bias_gradient(&by_z, sums[bias]);
        let output = self.project_back(values, (h, &by_r), sums);
        self.feedback_gradient(&steps, (&output, &by_z), self.gates.feedback_sum(sums));
        if let Some(by_x) = by_x {
            affine.input_gradient(values[weight], &by_z, by_x);
        }
    }

    /// Back-propagation through time: dr[t] = dy[t] + dz[t+1] U', dh[t] = dr[t] P', then what [`Retreat`] does.
    fn roll_back(
        &self,
        values: &[&[f32]],
        (Unrolled { mut gates, mut cells }, steps): (Unrolled, &[Step]),
        (by_y, firsts): (&[f32], &[usize]),
    ) -> Gradients {
        let (h, r, wide, lanes) = (self.cells(), self.outputs(), self.gates.outputs, most_lanes(steps));
        let feedback = Packed::new(self.feedback(values).transposed(), lanes);
        let projection = self.projection(values).map(|weight| Packed::new(weight.transposed(), lanes));
        let (mut by_h, mut by_c) = (vec![0.0; lanes * h], vec![0.0; lanes * h]);
        let (mut by_r, mut output) = (Buffer::any(firsts.len() * r), Buffer::any(cells.len()));
        let (zeros, mut spare) = (vec![0.0; h], vec![0.0; 2 * h]);
        let mut later = Step { now: 0..0, past: 0..0 };
        for step in steps.iter().rev() {
            let Step { now, past } = step;
            let by_r = &mut by_r[now.start * r..now.end * r];
            for (by_r, &first) in by_r.chunks_exact_mut(r).zip(&firsts[now.clone()]) {
                by_r.copy_from_slice(&by_y[first..first + r]);
            }
            let follow = later.past.len();
            let by_later = View::new(&gates[later.now.start * wide..], (follow, wide), wide);
            feedback.multiply(ViewMut::new(by_r, (follow, r), r), Start::Output, by_later);
            if let Some(projection) = &projection {
                let by_h = ViewMut::new(&mut by_h, (now.len(), h), h);
                projection.multiply(by_h, Start::Row(&zeros), View::new(by_r, (now.len(), r), r));
            }
            let (past, cells) = cells_at(&mut cells, (past, now), h);
            vectorised(Retreat {
                width: h,
                gates: &mut gates[now.start * wide..now.end * wide],
                cells,
                past,
                by_output: if projection.is_some() { &by_h } else { by_r },
                by_cells: &mut by_c,
                output: &mut output[now.start * h..now.end * h],
                zeros: &zeros,
                spare: &mut spare,
            });
            later = step.clone();
        }
        Gradients { by_z: gates, by_r, h: output }
    }

    /// r, from h; adds dL/dP = sum over rows of h' dL/dr.
    fn project_back(&self, values: &[&[f32]], (h, by_r): (Buffer, &[f32]), sums: &mut [&mut [f32]]) -> Buffer {
        let (Some(weight), Some(projection)) = (self.projection(values), &self.projection) else { return h };
        let (cells, outputs) = (projection.cells, projection.outputs);
        let rows = h.len() / cells;
        let hidden = View::new(&h, (rows, cells), cells);
        let sum = ViewMut::new(sums[projection.place[0]], (cells, outputs), outputs);
        multiply_add(sum, hidden.transposed(), View::new(by_r, (rows, outputs), outputs));
        let mut r = Buffer::any(rows * outputs);
        multiply(ViewMut::new(&mut r, (rows, outputs), outputs), Start::Row(&vec![0.0; outputs]), (hidden, weight));
        r
    }

    /// dL/dU = sum over rows of r[t-1]' dL/dz[t], added to `sum`.
    fn feedback_gradient(&self, steps: &[Step], (output, by_z): (&[f32], &[f32]), sum: &mut [f32]) {
        let (r, wide) = (self.outputs(), self.gates.outputs);
        let before: Vec<usize> = steps.iter().flat_map(|step| step.past.clone()).map(|place| place * r).collect();
        let after = steps.iter().flat_map(|step| step.now.clone().take(step.past.len()));
        let after: Vec<usize> = after.map(|place| place * wide).collect();
        let before = View::listed(output, &before, r).transposed();
        multiply_add(ViewMut::new(sum, (r, wide), wide), before, View::listed(by_z, &after, wide));
    }
}

/// Rows of the step that has most.
fn most_lanes(steps: &[Step]) -> usize {
    steps.iter().map(|step| step.now.len()).max().unwrap_or(0)
}

/// c at the `past` places, and at those of `now` to change: neither begins before the other ends.
fn cells_at<'a>(
    cells: &'a mut [f32],
    (past, now): (&Range<usize>, &Range<usize>),
    width: usize,
) -> (&'a [f32], &'a mut [f32]) {
    let (count, lanes) = (past.len() * width, now.len() * width);
    if past.start < now.start {
        let (low, high) = cells.split_at_mut(now.start * width);
        (&low[past.start * width..][..count], &mut high[..lanes])
    } else {
        let (low, high) = cells.split_at_mut(now.end * width);
        let past = if count == 0 { &[] } else { &high[(past.start - now.end) * width..][..count] };
        (past, &mut low[now.start * width..])
    }
}

/// Weights that every step multiplies by.
enum Repeated<'a> {
    Plain(View<'a>),
    Packed(Packed),
}

impl<'a> Repeated<'a> {
    /// Steps from which on it is worth while to bring weights into the order in which they are read.
    const LONG: usize = 8;

    fn new(weight: View<'a>, steps: &[Step]) -> Self {
        if steps.len() < Self::LONG {
            Self::Plain(weight)
        } else {
            Self::Packed(Packed::new(weight, most_lanes(steps)))
        }
    }

    /// out = start + a W, in the first rows of `cols` columns of `out`, for as many as `a` has.
    fn multiply(&self, (out, cols): (&mut [f32], usize), start: Start<'_>, a: View<'_>) {
        self.multiply_into(ViewMut::new(out, (a.rows(), cols), cols), start, a);
    }

    /// out = start + a W.
    fn multiply_into(&self, out: ViewMut<'_>, start: Start<'_>, a: View<'_>) {
        match self {
            Self::Plain(weight) => multiply(out, start, (a, *weight)),
            Self::Packed(weight) => weight.multiply(out, start, a),
        }
    }
}
