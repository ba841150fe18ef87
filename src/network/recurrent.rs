//! Long short-term memory (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al. 2000; with projection, Sak et al.
//! 2014), forward and backward through time on plain slices.
//!
//! The product for all inputs of a layer is one, before the recursion; the gradient by the weights is one product, after it.
//! In between, the utterances of a batch run side by side, so that each step's product is a matrix product. All that is kept
//! of a direction lies in the order of time (`timeline`), so that a step's rows are neighbours and nothing is copied.

use super::buffers::Buffer;
use super::cells::{Advance, Retreat};
use super::connection::Connection;
use super::gemm::{Packed, View, ViewMut, multiply_add, vectorised};
use super::layers::Rows;
pub(super) use super::timeline::Direction;
use super::timeline::{Step, Timeline};

/// An LSTM layer of one or two directions, whose outputs lie side by side.
#[derive(Debug, Clone)]
pub(super) struct Recurrent {
    /// Cells of each direction, H.
    pub(super) cells: usize,
    /// W is `[inputs + R x 4 H]`, its last R rows being for the layer's own last output; columns are the gates i, f, g, o.
    pub(super) directions: Vec<(Direction, Connection)>,
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

impl Recurrent {
    /// Columns of the output.
    pub(super) fn outputs(&self) -> usize {
        self.cells * self.directions.len()
    }

    /// Whether a row's output depends on the rows after it.
    pub(super) fn reads_backward(&self) -> bool {
        self.directions.iter().any(|(direction, _)| *direction == Direction::Backward)
    }

    /// Where in y the output of direction number `place` begins, for each row in the order of time.
    fn firsts(&self, place: usize, timeline: &Timeline) -> Vec<usize> {
        timeline.rows().iter().map(|row| row * self.outputs() + place * self.cells).collect()
    }

    /// The outputs of all rows of x, going on from `carry`.
    pub(super) fn forward(&self, values: &[&[f32]], x: &Rows, carry: &mut Carry) -> (Rows, Vec<Unrolled>) {
        let segments = x.segments.after(&self.directions[0].1.splice);
        let timeline = Timeline::new(&segments);
        let mut y = Buffer::any(segments.rows() * self.outputs());
        let mut all = Vec::new();
        for (place, (direction, connection)) in self.directions.iter().enumerate() {
            let [bias, weight] = connection.places.map(|place| values[place]);
            let gates = connection.on(&x.segments).in_order(timeline.rows()).forward(&x.values, weight, bias);
            let mut start = Carry::default();
            let carry = if *direction == Direction::Forward { &mut *carry } else { &mut start };
            let steps = timeline.steps(*direction);
            let firsts = self.firsts(place, &timeline);
            all.push(self.unroll(connection.feedback(values), (gates, &steps), (carry, &mut y, &firsts)));
        }
        (Rows { values: y, segments }, all)
    }

    /// The recursion over time, from z = x W + b: z[t] += h[t-1] U, then what [`Advance`] does.
    fn unroll(
        &self,
        feedback: &[f32],
        (mut gates, steps): (Buffer, &[Step]),
        (carry, y, firsts): (&mut Carry, &mut [f32], &[usize]),
    ) -> Unrolled {
        let (h, wide) = (self.cells, 4 * self.cells);
        let feedback = Feedback::new(View::new(feedback, (h, wide), wide), steps);
        let mut cells = Buffer::any(gates.len() / 4);
        for (number, Step { now, past }) in steps.iter().enumerate() {
            let here = &mut gates[now.start * wide..now.end * wide];
            let (before, state) = cells_at(&mut cells, (past, now), h);
            if number > 0 || carry.output.is_empty() {
                feedback.add(View::listed(y, &firsts[past.clone()], h), here);
                state[..before.len()].copy_from_slice(before);
                state[before.len()..].fill(0.0);
            } else {
                feedback.add(View::new(&carry.output, (now.len(), h), h), here);
                state.copy_from_slice(&carry.cells);
            }
            let output = (&mut *y, &firsts[now.clone()]);
            vectorised(Advance { width: h, gates: here, cells: state, output });
        }
        if let Some(Step { now, .. }) = steps.last() {
            carry.cells = cells[now.start * h..now.end * h].to_vec();
            carry.output = firsts[now.clone()].iter().flat_map(|&first| &y[first..first + h]).copied().collect();
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
        let timeline = Timeline::new(&x.segments.after(&self.directions[0].1.splice));
        for (place, ((direction, connection), unrolled)) in self.directions.iter().zip(all).enumerate() {
            let [bias, weight] = connection.places;
            let steps = timeline.steps(*direction);
            let by_y = (gradient, &self.firsts(place, &timeline)[..]);
            let (by_z, output) = self.roll_back(connection.feedback(values), (unrolled, &steps), by_y);
            let affine = connection.on(&x.segments).in_order(timeline.rows());
            affine.weight_gradient(&x.values, &by_z, sums[weight]);
            affine.bias_gradient(&by_z, sums[bias]);
            self.feedback_gradient(&steps, (&output, &by_z), connection.feedback_sum(sums));
            if let Some(by_x) = by_x.as_deref_mut() {
                affine.input_gradient(values[weight], &by_z, by_x);
            }
        }
    }

    /// dL/dz `[rows x 4 H]` and h `[rows x H]`: dh[t] = dy[t] + dz[t+1] U', then what [`Retreat`] does.
    fn roll_back(
        &self,
        feedback: &[f32],
        (Unrolled { mut gates, mut cells }, steps): (Unrolled, &[Step]),
        (by_y, firsts): (&[f32], &[usize]),
    ) -> (Buffer, Buffer) {
        let (h, wide) = (self.cells, 4 * self.cells);
        let lanes = steps.iter().map(|step| step.now.len()).max().unwrap_or(0);
        let feedback = Packed::new(View::new(feedback, (h, wide), wide).transposed(), lanes);
        let (mut by_h, mut by_c) = (vec![0.0; lanes * h], vec![0.0; lanes * h]);
        let (mut output, zeros, mut spare) = (Buffer::any(cells.len()), vec![0.0; h], vec![0.0; 2 * h]);
        let mut later = Step { now: 0..0, past: 0..0 };
        for step in steps.iter().rev() {
            let Step { now, past } = step;
            let by_h = &mut by_h[..now.len() * h];
            for (by_h, &first) in by_h.chunks_exact_mut(h).zip(&firsts[now.clone()]) {
                by_h.copy_from_slice(&by_y[first..first + h]);
            }
            let follow = later.past.len();
            let by_later = View::new(&gates[later.now.start * wide..], (follow, wide), wide);
            feedback.multiply_add(ViewMut::new(by_h, (follow, h), h), by_later);
            let (past, cells) = cells_at(&mut cells, (past, now), h);
            vectorised(Retreat {
                width: h,
                gates: &mut gates[now.start * wide..now.end * wide],
                cells,
                past,
                by_output: by_h,
                by_cells: &mut by_c[..now.len() * h],
                output: &mut output[now.start * h..now.end * h],
                zeros: &zeros,
                spare: &mut spare,
            });
            later = step.clone();
        }
        (gates, output)
    }

    /// dL/dU = sum over rows of h[t-1]' dL/dz[t], added to `sum`.
    fn feedback_gradient(&self, steps: &[Step], (output, by_z): (&[f32], &[f32]), sum: &mut [f32]) {
        let (h, wide) = (self.cells, 4 * self.cells);
        let before: Vec<usize> = steps.iter().flat_map(|step| step.past.clone()).map(|place| place * h).collect();
        let after = steps.iter().flat_map(|step| step.now.clone().take(step.past.len()));
        let after: Vec<usize> = after.map(|place| place * wide).collect();
        let before = View::listed(output, &before, h).transposed();
        multiply_add(ViewMut::new(sum, (h, wide), wide), before, View::listed(by_z, &after, wide));
    }
}

/// c at the `past` places, and at those of `now` to change: neither begins before the other ends.
fn cells_at<'a>(
    cells: &'a mut [f32],
    (past, now): (&std::ops::Range<usize>, &std::ops::Range<usize>),
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

/// The weights U of a layer's own last output.
enum Feedback<'a> {
    Plain(View<'a>),
    Packed(Packed),
}

impl<'a> Feedback<'a> {
    /// Steps from which on it is worth while to bring U into the order in which it is read.
    const LONG: usize = 8;

    fn new(weight: View<'a>, steps: &[Step]) -> Self {
        if steps.len() < Self::LONG {
            return Self::Plain(weight);
        }
        Self::Packed(Packed::new(weight, steps.iter().map(|step| step.now.len()).max().unwrap_or(0)))
    }

    /// Adds h U to the first rows of z, for as many as h has.
    fn add(&self, h: View<'_>, z: &mut [f32]) {
        match self {
            Self::Plain(weight) => {
                let wide = weight.cols();
                multiply_add(ViewMut::new(z, (h.rows(), wide), wide), h, *weight);
            }
            Self::Packed(weight) => {
                let wide = weight.cols();
                weight.multiply_add(ViewMut::new(z, (h.rows(), wide), wide), h);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::splice::{Segments, Splice};
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
        let x = Rows { values: draw(9, 21 * 2).into(), segments: Segments::new(lengths) };
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
        let x = Rows { values: vec![1.0, -2.0, 0.5, 0.25, -1.5, 3.0].into(), segments: Segments::new([3]) };
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
            let x = Rows { values: x.to_vec().into(), segments: Segments::new([x.len() / 2]) };
            layer.forward(&values, &x, carry).0.values.into_vec()
        };
        let x = draw(3, 18);
        let whole = read(&x, &mut Carry::default());
        let mut carry = Carry::default();
        let parts = [&x[..2], &x[2..2], &x[2..12], &x[12..]].map(|x| read(x, &mut carry)).concat();
        assert!(parts.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-6) && parts.len() == whole.len());
        assert!((read(&x[12..], &mut Carry::default())[0] - whole[18]).abs() > 1e-3, "the test would see no carry");
    }
}
