//! Long short-term memory layers, forward and backward: one or two readers (`reader`) over the rows in the order of time.

use super::buffers::Buffer;
use super::layers::{Part, Rows};
use super::reader::Read;
pub(super) use super::reader::{Carry, Reader, Unrolled};
use super::splice::Splice;
pub(super) use super::timeline::Direction;
use super::timeline::Timeline;

/// An LSTM layer of one or two directions, whose outputs lie side by side.
#[derive(Debug, Clone)]
pub(super) struct Recurrent {
    /// All with as many outputs and the same splice.
    readers: Vec<Reader>,
}

impl Recurrent {
    /// A layer of these readers, one or more, which have as many outputs and the same splice.
    pub(super) fn new(readers: Vec<Reader>) -> Self {
        Self { readers }
    }

    /// One for each direction.
    pub(super) fn readers(&self) -> &[Reader] {
        &self.readers
    }

    pub(super) fn parts_mut(&mut self) -> Vec<&mut dyn Part> {
        self.readers.iter_mut().flat_map(Reader::parts_mut).collect()
    }

    /// The input rows that z of a row sees.
    pub(super) fn splice(&self) -> &Splice {
        &self.readers[0].gates.splice
    }

    /// Columns of the output.
    pub(super) fn outputs(&self) -> usize {
        self.readers.iter().map(Reader::outputs).sum()
    }

    /// Whether a row's output depends on the rows after it.
    pub(super) fn reads_backward(&self) -> bool {
        self.readers.iter().any(|reader| reader.direction == Direction::Backward)
    }

    /// Where in y the output of reader number `place` begins, for each row in the order of time.
    fn firsts(&self, place: usize, timeline: &Timeline) -> Vec<usize> {
        let outputs = self.readers[place].outputs();
        timeline.rows().iter().map(|row| row * self.outputs() + place * outputs).collect()
    }

    /// The outputs of all rows of x, going on from `carry`.
    pub(super) fn forward(&self, values: &[&[f32]], x: &Rows, carry: &mut Carry) -> (Rows, Vec<Unrolled>) {
        let segments = x.segments.after(self.splice());
        let timeline = Timeline::new(&segments);
        let mut y = Buffer::any(segments.rows() * self.outputs());
        let mut all = Vec::new();
        for (place, reader) in self.readers.iter().enumerate() {
            let mut start = Carry::default();
            let carry = if reader.direction == Direction::Forward { &mut *carry } else { &mut start };
            let read = Read { x, timeline: &timeline, firsts: &self.firsts(place, &timeline) };
            all.push(reader.forward(values, read, (carry, &mut y)));
        }
        (Rows { values: y, segments }, all)
    }

    /// Adds the gradients by the parameters to `sums` and, if `by_x` is given, that by x to it, from the gradient by the output.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (x, all, gradient): (&Rows, Vec<Unrolled>, &[f32]),
        (sums, mut by_x): (&mut [&mut [f32]], Option<&mut [f32]>),
    ) {
        let timeline = Timeline::new(&x.segments.after(self.splice()));
        for (place, (reader, unrolled)) in self.readers.iter().zip(all).enumerate() {
            let read = Read { x, timeline: &timeline, firsts: &self.firsts(place, &timeline) };
            reader.backward(values, read, (unrolled, gradient), (sums, by_x.as_deref_mut()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::connection::Connection;
    use crate::network::splice::{Segments, Splice};
    use crate::random::Random;

    fn draw(seed: u64, count: usize) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.normal()).collect()
    }

    /// A layer of so many cells on 2 inputs.
    fn layer(cells: usize, directions: &[Direction]) -> Recurrent {
        let reader = |(place, &direction): (usize, &Direction)| {
            let mut gates = Connection::gates(direction.name().into(), Splice::none(), (2, cells, cells));
            gates.places = [2 * place, 2 * place + 1];
            Reader { direction, gates, projection: None }
        };
        Recurrent::new(directions.iter().enumerate().map(reader).collect())
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
