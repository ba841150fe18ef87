//! Affine layers over spliced rows, forward and backward, as products on the rows where they lie.

use super::buffers::Buffer;
use super::gemm::{Start, View, ViewMut, multiply, multiply_add};
use super::splice::{Segments, Splice};

/// An affine layer over spliced rows: y\[t\] = b + sum_k x\[t * stride + offset_k\] W_k.
///
/// x is `[rows x inputs]`, W `[count * inputs x outputs]` (W_k are its rows `k * inputs ..`), y `[rows_out x outputs]`.
#[derive(Debug, Clone)]
pub(super) struct Affine<'a> {
    splice: &'a Splice,
    inputs: usize,
    outputs: usize,
    /// For each row of y, where in x the first row that it sees begins.
    firsts: Vec<usize>,
}

impl<'a> Affine<'a> {
    /// The layer over all rows of some utterances.
    pub(super) fn new(splice: &'a Splice, segments: &Segments, (inputs, outputs): (usize, usize)) -> Self {
        let rows = segments.iter().flat_map(|(first, rows)| {
            (0..splice.rows_out(rows)).map(move |row| (first + row * splice.stride()) * inputs)
        });
        Self { splice, inputs, outputs, firsts: rows.collect() }
    }

    /// The same with the rows of y in this order.
    pub(super) fn in_order(self, rows: &[usize]) -> Self {
        Self { firsts: rows.iter().map(|&row| self.firsts[row]).collect(), ..self }
    }

    /// y, from x, W and b.
    pub(super) fn forward(&self, x: &[f32], weight: &[f32], bias: &[f32]) -> Buffer {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let mut y = Buffer::any(self.firsts.len() * outputs);
        if y.is_empty() {
            return y;
        }
        for run in self.splice.runs() {
            let cols = run.count * inputs;
            let seen = View::listed(&x[run.offset * inputs..], &self.firsts, cols);
            let weight = View::new(&weight[run.place * inputs * outputs..], (cols, outputs), outputs);
            let start = if run.place == 0 { Start::Row(bias) } else { Start::Output };
            multiply(ViewMut::new(&mut y, (self.firsts.len(), outputs), outputs), start, (seen, weight));
        }
        y
    }

    /// dL/dW = sum over rows of splice(x)' dL/dy, added to `sum`.
    pub(super) fn weight_gradient(&self, x: &[f32], gradient: &[f32], sum: &mut [f32]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        if self.firsts.is_empty() {
            return;
        }
        for run in self.splice.runs() {
            let cols = run.count * inputs;
            let seen = View::listed(&x[run.offset * inputs..], &self.firsts, cols);
            let out = ViewMut::new(&mut sum[run.place * inputs * outputs..], (cols, outputs), outputs);
            multiply_add(out, seen.transposed(), View::new(gradient, (self.firsts.len(), outputs), outputs));
        }
    }

    /// dL/db = sum over rows of dL/dy, added to `sum`.
    pub(super) fn bias_gradient(&self, gradient: &[f32], sum: &mut [f32]) {
        for row in gradient.chunks_exact(self.outputs) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
    }

    /// dL/dx, added to `sum`: each row of dL/dy W_k' at the row that offset k saw.
    pub(super) fn input_gradient(&self, weight: &[f32], gradient: &[f32], sum: &mut [f32]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        if self.firsts.is_empty() {
            return;
        }
        for run in self.splice.parts_apart() {
            let cols = run.count * inputs;
            let weight = View::new(&weight[run.place * inputs * outputs..], (cols, outputs), outputs);
            let out = ViewMut::listed(&mut sum[run.offset * inputs..], &self.firsts, cols);
            multiply_add(out, View::new(gradient, (self.firsts.len(), outputs), outputs), weight.transposed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::kernels::tests::{check_slope, draw};

    #[test]
    fn gradients_of_spliced_affine_layers_are_slopes() {
        let splices =
            [Splice::none(), Splice::window(3, 1), Splice::window(3, 3), Splice::triple(1), Splice::triple(2)];
        for (splice, rows) in splices.iter().flat_map(|splice| [(splice, [9, 2, 7]), (splice, [9, 3, 6])]) {
            let segments = Segments::new(rows);
            let affine = Affine::new(splice, &segments, (3, 4));
            let out = segments.after(splice).rows() * 4;
            let (x, bias, c) = (draw(1, 18 * 3), draw(3, 4), draw(4, out));
            let weight = draw(2, splice.count() * 3 * 4);
            let (mut by_x, mut by_weight, mut by_bias) = (vec![0.0; x.len()], vec![0.0; weight.len()], vec![0.0; 4]);
            affine.input_gradient(&weight, &c, &mut by_x);
            check_slope(&x, &by_x, |x| affine.forward(x, &weight, &bias).into_vec(), &c);
            affine.weight_gradient(&x, &c, &mut by_weight);
            check_slope(&weight, &by_weight, |weight| affine.forward(&x, weight, &bias).into_vec(), &c);
            affine.bias_gradient(&c, &mut by_bias);
            check_slope(&bias, &by_bias, |bias| affine.forward(&x, &weight, bias).into_vec(), &c);
        }
    }

    #[test]
    fn an_affine_layer_is_its_formula() {
        let (splice, segments) = (Splice::triple(2), Segments::new([6, 5]));
        let affine = Affine::new(&splice, &segments, (2, 3));
        let (x, weight, bias) = (draw(1, 22), draw(2, 18), draw(3, 3));
        let y = affine.forward(&x, &weight, &bias);
        assert_eq!(y.len(), 3 * 3);
        for (row, first) in [(0, 0), (1, 1), (2, 6)] {
            for out in 0..3 {
                let terms = (0..3).flat_map(|k| (0..2).map(move |i| (k, i)));
                let sum: f32 = terms.map(|(k, i)| x[(first + 2 * k) * 2 + i] * weight[(k * 2 + i) * 3 + out]).sum();
                assert!((y[row * 3 + out] - sum - bias[out]).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn rows_come_in_any_order() {
        let (splice, segments) = (Splice::window(2, 1), Segments::new([4, 3]));
        let (x, weight, bias) = (draw(1, 14), draw(2, 12), draw(3, 3));
        let forward = |affine: Affine<'_>| affine.forward(&x, &weight, &bias).into_vec();
        let plain = forward(Affine::new(&splice, &segments, (2, 3)));
        let sorted = forward(Affine::new(&splice, &segments, (2, 3)).in_order(&[4, 0, 2, 1, 3]));
        let expected: Vec<f32> = [4, 0, 2, 1, 3].iter().flat_map(|row| plain[row * 3..][..3].to_vec()).collect();
        assert_eq!(sorted, expected);
    }
}
