//! Long short-term memory (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al. 2000), forward and backward through
//! time on plain slices.
//!
//! The product for all inputs of a layer is one, before the recursion; the gradient by the weights is one product, after it.
//! In between, the utterances of a batch run side by side, so that each step's product is a matrix product.

use std::ops::Range;

use super::connection::Connection;
use super::gemm::{View, ViewMut, multiply_add};
use super::kernels::{sigmoid, tanh};
use super::layers::{Product, Rows};
use super::splice::Segments;

/// Which way a recurrent layer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the first row to the last.
    Forward,
    /// From the last row to the first.
    Backward,
}

impl Direction {
    /// As parameters are called by it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

/// An LSTM layer of one or two directions, whose outputs lie side by side.
#[derive(Debug, Clone)]
pub(super) struct Recurrent {
    /// Cells of each direction, H.
    pub(super) cells: usize,
    /// W is `[inputs + H x 4 H]`, its last H rows being for the layer's own last output; columns are the gates i, f, g, o.
    pub(super) directions: Vec<(Direction, Connection)>,
}

/// What a stream of rows has left in a layer: the output and the cells after the last row, empty before the first.
#[derive(Debug, Clone, Default)]
pub(super) struct Carry {
    /// `[lanes x H]`.
    output: Vec<f32>,
    /// `[lanes x H]`.
    cells: Vec<f32>,
}

/// What the backward of one direction needs of its forward.
pub(super) struct Unrolled {
    /// The gates i, f, g, o `[rows x 4 H]`.
    gates: Vec<f32>,
    /// The cells c `[rows x H]`.
    cells: Vec<f32>,
}

impl Recurrent {
    /// Columns of the output.
    pub(super) fn outputs(&self) -> usize {
        self.cells * self.directions.len()
    }

    /// The columns of direction number `place`.
    fn columns(&self, place: usize) -> Columns {
        Columns { first: place * self.cells, count: self.cells, of: self.outputs() }
    }

    /// Whether a row's output depends on the rows after it.
    pub(super) fn reads_backward(&self) -> bool {
        self.directions.iter().any(|(direction, _)| *direction == Direction::Backward)
    }

    /// The outputs of all rows of x, going on from `carry`.
    pub(super) fn forward(&self, values: &[&[f32]], x: &Rows, carry: &mut Carry) -> (Rows, Vec<Unrolled>) {
        let mut y = Rows::default();
        let mut all = Vec::new();
        for (place, (direction, connection)) in self.directions.iter().enumerate() {
            let Rows { values: gates, segments } = connection.forward(values, x);
            if place == 0 {
                y = Rows { values: vec![0.0; segments.rows() * self.outputs()], segments };
            }
            let mut start = Carry::default();
            let carry = if *direction == Direction::Forward { &mut *carry } else { &mut start };
            let lanes = Lanes::new(&y.segments, *direction);
            let out = (&mut y.values[..], self.columns(place));
            all.push(self.unroll(connection.feedback(values), (gates, &lanes), (carry, out)));
        }
        (y, all)
    }

    /// The recursion over time, from z = x W + b:
    ///
    /// ```text
    /// z[t] += h[t-1] U      i, f, g, o = sigmoid(z_i), sigmoid(z_f), tanh(z_g), sigmoid(z_o)
    /// c[t] = f c[t-1] + i g      h[t] = o tanh(c[t])
    /// ```
    fn unroll(
        &self,
        feedback: &[f32],
        (mut gates, lanes): (Vec<f32>, &Lanes),
        (carry, (y, columns)): (&mut Carry, (&mut [f32], Columns)),
    ) -> Unrolled {
        let (h, wide) = (self.cells, 4 * self.cells);
        let weight = View::new(feedback, (h, wide), wide);
        let mut cells = vec![0.0; gates.len() / 4];
        let mut z = vec![0.0; lanes.count() * wide];
        if carry.output.is_empty() {
            *carry = Carry { output: vec![0.0; lanes.count() * h], cells: vec![0.0; lanes.count() * h] };
        }
        for step in 0..lanes.steps() {
            let active = lanes.active(step);
            for (lane, z) in z.chunks_exact_mut(wide).enumerate().take(active) {
                z.copy_from_slice(row(&gates, lanes.row(lane, step), wide));
            }
            let before = View::new(&carry.output, (active, h), h);
            multiply_add(ViewMut::new(&mut z, (active, wide), wide), before, weight);
            for (lane, z) in z.chunks_exact_mut(wide).enumerate().take(active) {
                let at = lanes.row(lane, step);
                let (state, output) = (row_mut(&mut carry.cells, lane, h), row_mut(&mut carry.output, lane, h));
                advance(z, state, output);
                row_mut(&mut gates, at, wide).copy_from_slice(z);
                row_mut(&mut cells, at, h).copy_from_slice(state);
                y[columns.at(at)].copy_from_slice(output);
            }
        }
        Unrolled { gates, cells }
    }

    /// Adds the gradients by W and b to `sums` and, if `by_x` is given, that by x to it, from the gradient by the output.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (x, all, gradient): (&Rows, Vec<Unrolled>, &[f32]),
        (sums, mut by_x): (&mut [&mut [f32]], Option<&mut [f32]>),
    ) {
        for (place, ((direction, connection), unrolled)) in self.directions.iter().zip(all).enumerate() {
            let lanes = Lanes::new(&x.segments.after(&connection.splice), *direction);
            let by_y = (gradient, self.columns(place));
            let (by_z, before) = self.roll_back(connection.feedback(values), (unrolled, &lanes), by_y);
            connection.differentiate(x, &by_z, sums);
            connection.differentiate_feedback(&before, &by_z, sums);
            if let Some(by_x) = by_x.as_deref_mut() {
                connection.back(values, (&x.segments, &by_z), by_x);
            }
        }
    }

    /// dL/dz `[rows x 4 H]`, and h[t-1] `[rows x H]`: back-propagation through time (Werbos 1990).
    ///
    /// ```text
    /// dh[t] += dz[t+1] U'      dc[t] = f[t+1] dc[t+1] + dh[t] o (1 - tanh(c[t])^2)
    /// dz_i = dc g i (1 - i)   dz_f = dc c[t-1] f (1 - f)   dz_g = dc i (1 - g^2)   dz_o = dh tanh(c[t]) o (1 - o)
    /// ```
    fn roll_back(
        &self,
        feedback: &[f32],
        (Unrolled { mut gates, cells }, lanes): (Unrolled, &Lanes),
        (by_y, columns): (&[f32], Columns),
    ) -> (Vec<f32>, Vec<f32>) {
        let (h, wide) = (self.cells, 4 * self.cells);
        let turned = transposed(feedback, wide);
        let weight = View::new(&turned, (wide, h), h);
        let mut before = vec![0.0; cells.len()];
        let mut z = vec![0.0; lanes.count() * wide];
        let (mut by_h, mut by_c) = (vec![0.0; lanes.count() * h], vec![0.0; lanes.count() * h]);
        let zeros = vec![0.0; h];
        for step in (0..lanes.steps()).rev() {
            let active = lanes.active(step);
            for (lane, z) in z.chunks_exact_mut(wide).enumerate().take(active) {
                let at = lanes.row(lane, step);
                let by_h = row_mut(&mut by_h, lane, h);
                by_h.iter_mut().zip(&by_y[columns.at(at)]).for_each(|(sum, value)| *sum += value);
                let last = if step == 0 { &zeros } else { row(&cells, lanes.row(lane, step - 1), h) };
                let states = States { now: row(&cells, at, h), before: last };
                let gates = row_mut(&mut gates, at, wide);
                if step + 1 < lanes.rows(lane) {
                    states.output(gates, row_mut(&mut before, lanes.row(lane, step + 1), h));
                }
                states.retreat(gates, by_h, row_mut(&mut by_c, lane, h));
                z.copy_from_slice(gates);
            }
            by_h[..active * h].fill(0.0);
            multiply_add(ViewMut::new(&mut by_h, (active, h), h), View::new(&z, (active, wide), wide), weight);
        }
        (gates, before)
    }
}

/// One step of one utterance, in place: `z` becomes the gates, `c` the new cells, `h` the new output.
fn advance(z: &mut [f32], c: &mut [f32], h: &mut [f32]) {
    let n = c.len();
    let (sigmoids, rest) = z.split_at_mut(2 * n);
    let (g, o) = rest.split_at_mut(n);
    sigmoids.iter_mut().for_each(|z| *z = sigmoid(*z));
    g.iter_mut().for_each(|z| *z = tanh(*z));
    o.iter_mut().for_each(|z| *z = sigmoid(*z));
    let (i, f) = sigmoids.split_at(n);
    for at in 0..n {
        c[at] = f[at] * c[at] + i[at] * g[at];
    }
    for at in 0..n {
        h[at] = o[at] * tanh(c[at]);
    }
}

/// The cells at one row of one utterance.
struct States<'a> {
    /// c[t].
    now: &'a [f32],
    /// c[t-1].
    before: &'a [f32],
}

impl States<'_> {
    /// h[t], the same as in the forward.
    fn output(&self, gates: &[f32], h: &mut [f32]) {
        let o = &gates[3 * h.len()..];
        h.iter_mut().zip(o).zip(self.now).for_each(|((h, o), &c)| *h = o * tanh(c));
    }

    /// The backward of [`advance`], in place: `gates` become dL/dz, `by_c`, dL/dc by what follows, that by what went before.
    fn retreat(&self, gates: &mut [f32], by_h: &[f32], by_c: &mut [f32]) {
        let n = by_h.len();
        let (i, rest) = gates.split_at_mut(n);
        let (f, rest) = rest.split_at_mut(n);
        let (g, o) = rest.split_at_mut(n);
        let (now, before, by_c) = (&self.now[..n], &self.before[..n], &mut by_c[..n]);
        for at in 0..n {
            let top = tanh(now[at]);
            let by_cell = by_c[at] + by_h[at] * o[at] * (1.0 - top * top);
            let (input, forget, candidate) = (i[at], f[at], g[at]);
            i[at] = by_cell * candidate * input * (1.0 - input);
            f[at] = by_cell * before[at] * forget * (1.0 - forget);
            g[at] = by_cell * input * (1.0 - candidate * candidate);
            o[at] = by_h[at] * top * o[at] * (1.0 - o[at]);
            by_c[at] = by_cell * forget;
        }
    }
}

/// The utterances of a batch side by side, the longest first, so that those that still have a row at a step come first.
struct Lanes {
    /// First row and number of rows of each.
    lanes: Vec<(usize, usize)>,
    direction: Direction,
}

impl Lanes {
    fn new(segments: &Segments, direction: Direction) -> Self {
        let mut lanes: Vec<(usize, usize)> = segments.iter().filter(|lane| lane.1 > 0).collect();
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.1));
        Self { lanes, direction }
    }

    fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Rows of a lane.
    fn rows(&self, lane: usize) -> usize {
        self.lanes[lane].1
    }

    /// Steps until all have ended.
    fn steps(&self) -> usize {
        self.lanes.first().map_or(0, |lane| lane.1)
    }

    /// How many have a row at this step.
    fn active(&self, step: usize) -> usize {
        self.lanes.partition_point(|lane| lane.1 > step)
    }

    /// The row that a lane is at.
    fn row(&self, lane: usize, step: usize) -> usize {
        let (first, rows) = self.lanes[lane];
        match self.direction {
            Direction::Forward => first + step,
            Direction::Backward => first + rows - 1 - step,
        }
    }
}

/// Neighbouring columns of a matrix.
#[derive(Debug, Clone, Copy)]
struct Columns {
    first: usize,
    count: usize,
    /// All columns of the matrix.
    of: usize,
}

impl Columns {
    /// Where their values of a row lie.
    fn at(self, row: usize) -> Range<usize> {
        let first = row * self.of + self.first;
        first..first + self.count
    }
}

fn row(values: &[f32], row: usize, cols: usize) -> &[f32] {
    &values[row * cols..(row + 1) * cols]
}

fn row_mut(values: &mut [f32], row: usize, cols: usize) -> &mut [f32] {
    &mut values[row * cols..(row + 1) * cols]
}

/// A matrix of `cols` columns turned, in tiles that stay in the nearest cache.
fn transposed(values: &[f32], cols: usize) -> Vec<f32> {
    const TILE: usize = 16;
    let rows = values.len() / cols;
    let mut turned = vec![0.0; values.len()];
    for first in (0..rows).step_by(TILE) {
        for col in 0..cols {
            for row in first..rows.min(first + TILE) {
                turned[col * rows + row] = values[row * cols + col];
            }
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::splice::Splice;
    use crate::random::Random;

    fn draw(seed: u64, count: usize) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.normal()).collect()
    }

    /// A layer of so many cells on 2 inputs.
    fn layer(cells: usize, directions: &[Direction]) -> Recurrent {
        let connection = |(place, &direction): (usize, &Direction)| {
            let mut connection = Connection::gates(direction.name().into(), Splice::none(), (2, cells));
            connection.places = [2 * place, 2 * place + 1];
            (direction, connection)
        };
        Recurrent { cells, directions: directions.iter().enumerate().map(connection).collect() }
    }

    /// One utterance by the formulas, number by number in f64; `x` in the order of reading.
    fn by_the_formulas(x: &[&[f32]], bias: &[f32], weight: &[f32]) -> Vec<[f64; 3]> {
        let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
        let (mut h, mut c) = ([0.0f64; 3], [0.0f64; 3]);
        let mut all = Vec::new();
        for x in x {
            let seen: Vec<f64> = x.iter().map(|&x| f64::from(x)).chain(h).collect();
            let z = |column: usize| {
                let terms = seen.iter().enumerate().map(|(row, seen)| seen * f64::from(weight[row * 12 + column]));
                f64::from(bias[column]) + terms.sum::<f64>()
            };
            for cell in 0..3 {
                c[cell] = sigmoid(z(3 + cell)) * c[cell] + sigmoid(z(cell)) * z(6 + cell).tanh();
                h[cell] = sigmoid(z(9 + cell)) * c[cell].tanh();
            }
            all.push(h);
        }
        all
    }

    #[test]
    fn utterances_of_any_lengths_follow_the_formulas_in_both_directions() {
        let layer = layer(3, &[Direction::Forward, Direction::Backward]);
        let parameters: Vec<Vec<f32>> = (0..4).map(|place| draw(place, if place % 2 == 0 { 12 } else { 60 })).collect();
        let values: Vec<&[f32]> = parameters.iter().map(Vec::as_slice).collect();
        let lengths = [4, 0, 7, 1, 7, 2];
        let x = Rows { values: draw(9, 21 * 2), segments: Segments::new(lengths) };
        let (y, _) = layer.forward(&values, &x, &mut Carry::default());
        assert_eq!(y.values.len(), 21 * 6);
        for (first, rows) in x.segments.iter() {
            let mut seen: Vec<&[f32]> = (first..first + rows).map(|row| &x.values[row * 2..][..2]).collect();
            let forward = by_the_formulas(&seen, values[0], values[1]);
            seen.reverse();
            let mut backward = by_the_formulas(&seen, values[2], values[3]);
            backward.reverse();
            for at in 0..rows {
                let expected = forward[at].iter().chain(&backward[at]);
                let found = &y.values[(first + at) * 6..][..6];
                assert!(found.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6), "{first} {at}");
            }
        }
    }

    /// By PyTorch 2.15: `l = torch.nn.LSTM(2, 2, bidirectional=True)`, `weight_ih_l0` and `weight_hh_l0` being the rows of the
    /// weight below, turned, `bias_ih_l0` the bias, `bias_hh_l0` zero; `y, _ = l(x)`; `y.sum().backward()`.
    #[test]
    fn the_numbers_of_pytorch_come_out() {
        let layer = layer(2, &[Direction::Forward, Direction::Backward]);
        let bias: Vec<f32> = (0..8).map(|column| (column as f32 - 3.0) / 10.0).collect();
        let weight = |part: usize| -> Vec<f32> {
            let cell = |at: usize| ((at / 8 * 7 + at % 8 * 3 + part) % 11) as f32;
            (0..32).map(|at| (cell(at) - 5.0) / 5.0).collect()
        };
        let values: [&[f32]; 4] = [&bias, &weight(0), &bias, &weight(1)];
        let x = Rows { values: vec![1.0, -2.0, 0.5, 0.25, -1.5, 3.0], segments: Segments::new([3]) };
        let (y, unrolled) = layer.forward(&values, &x, &mut Carry::default());
        let near = |found: &[f32], expected: &[f32]| {
            let all = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(all && found.len() == expected.len(), "{found:?} {expected:?}");
        };
        near(&y.values[..4], &[-0.0849833, 0.048654, 0.2350908, 0.1226677]);
        near(&y.values[4..8], &[-0.0632853, -0.0362411, 0.2810946, 0.0058048]);
        near(&y.values[8..], &[0.1234874, -0.2837332, 0.1696458, -0.0486528]);

        let (mut sums, gradient, mut by_x) = ([[0.0; 32]; 4], vec![1.0; 12], vec![0.0; 6]);
        let mut places: Vec<&mut [f32]> = sums.iter_mut().zip(&values).map(|(sum, v)| &mut sum[..v.len()]).collect();
        layer.backward(&values, (&x, unrolled, &gradient), (&mut places, Some(&mut by_x)));
        near(&by_x, &[0.0717222, -0.0164551, -0.3021095, -0.2064478, -0.0641818, -0.0404253]);
        let first = [-0.1301074, 0.0455648, -0.0078369, 0.0076581, 0.1284904, 0.1479459, -0.1852805, 0.2680462];
        let last = [-0.0016249, -0.0014890, -0.0008491, 0.0005821, 0.0115264, 0.0144377, -0.0052633, 0.0059709];
        near(&sums[1][..8], &first);
        near(&sums[1][24..], &last);
        let bias = [-0.0028581, -0.0233814, 0.280151, -0.0072102, 0.3635532, 0.2434608, 0.3388495, 0.102479];
        near(&sums[2][..8], &bias);
    }

    #[test]
    fn a_carry_goes_on_where_a_block_ended() {
        let layer = layer(3, &[Direction::Forward]);
        let (bias, weight) = (draw(1, 12), draw(2, 60));
        let values: [&[f32]; 2] = [&bias, &weight];
        let read = |x: &[f32], carry: &mut Carry| {
            let x = Rows { values: x.to_vec(), segments: Segments::new([x.len() / 2]) };
            layer.forward(&values, &x, carry).0.values
        };
        let x = draw(3, 18);
        let whole = read(&x, &mut Carry::default());
        let mut carry = Carry::default();
        let parts = [&x[..2], &x[2..2], &x[2..12], &x[12..]].map(|x| read(x, &mut carry)).concat();
        assert!(parts.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-6) && parts.len() == whole.len());
        assert!((read(&x[12..], &mut Carry::default())[0] - whole[18]).abs() > 1e-3, "the test would see no carry");
    }

    #[test]
    fn turning_moves_every_cell() {
        let values: Vec<f32> = (0..21 * 34).map(|value| value as f32).collect();
        let turned = transposed(&values, 34);
        assert!((0..21).all(|row| (0..34).all(|col| turned[col * 21 + row] == values[row * 34 + col])));
    }
}
