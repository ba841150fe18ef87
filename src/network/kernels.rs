//! The layers' arithmetic on plain slices, forward and backward: no tensors, no threads.

use super::gemm::{View, ViewMut, multiply_add};
use super::splice::{Segments, Splice};
use crate::random::Random;

/// Keeps the RMS of a frame of zeros from being zero.
pub(super) const RENORM_FLOOR: f32 = 1e-5;

/// An affine layer over spliced rows: y\[t\] = b + sum_k x\[t * stride + offset_k\] W_k.
///
/// x is `[rows x inputs]`, W `[count * inputs x outputs]` (W_k are its rows `k * inputs ..`), y `[rows_out x outputs]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Affine<'a> {
    pub(super) splice: &'a Splice,
    /// Rows of the utterances in x.
    pub(super) segments: &'a Segments,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Affine<'_> {
    /// y, from x, W and b.
    pub(super) fn forward(&self, x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let mut y = bias.repeat(self.segments.after(self.splice).rows());
        for (first, rows, out_first, out_rows) in self.stretches() {
            let x = &x[first * inputs..(first + rows) * inputs];
            for run in self.splice.runs() {
                let shape = (out_rows, run.count * inputs);
                let seen = View::new(&x[run.offset * inputs..], shape, self.splice.stride() * inputs);
                let weight = View::new(&weight[run.place * inputs * outputs..], (shape.1, outputs), outputs);
                let out = ViewMut::new(&mut y[out_first * outputs..], (out_rows, outputs), outputs);
                multiply_add(out, seen, weight);
            }
        }
        y
    }

    /// dL/dW = sum over rows of splice(x)' dL/dy, added to `sum`.
    pub(super) fn weight_gradient(&self, x: &[f32], gradient: &[f32], sum: &mut [f32]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        for (first, rows, out_first, out_rows) in self.stretches() {
            let x = &x[first * inputs..(first + rows) * inputs];
            let gradient = View::new(&gradient[out_first * outputs..], (out_rows, outputs), outputs);
            for run in self.splice.runs() {
                let shape = (out_rows, run.count * inputs);
                let seen = View::new(&x[run.offset * inputs..], shape, self.splice.stride() * inputs);
                let out = ViewMut::new(&mut sum[run.place * inputs * outputs..], (shape.1, outputs), outputs);
                multiply_add(out, seen.transposed(), gradient);
            }
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
        for (first, rows, out_first, out_rows) in self.stretches() {
            let sum = &mut sum[first * inputs..(first + rows) * inputs];
            let gradient = View::new(&gradient[out_first * outputs..], (out_rows, outputs), outputs);
            for single in self.splice.singles() {
                let weight = View::new(&weight[single.place * inputs * outputs..], (inputs, outputs), outputs);
                let stride = self.splice.stride() * inputs;
                let out = ViewMut::new(&mut sum[single.offset * inputs..], (out_rows, inputs), stride);
                multiply_add(out, gradient, weight.transposed());
            }
        }
    }

    /// First row and rows of each utterance in x, then in y; utterances too short for one output are left out. Where no splice
    /// reaches over into the next utterance, all are one stretch: one large product is faster than many small ones.
    fn stretches(&self) -> Vec<(usize, usize, usize, usize)> {
        let after = self.segments.after(self.splice);
        let whole = (0, self.segments.rows(), 0, after.rows());
        if after.rows() > 0 && self.segments.iter().all(|(_, rows)| self.splice.tiles(rows)) {
            return vec![whole];
        }
        let pairs = self.segments.iter().zip(after.iter());
        let each = pairs.map(|((first, rows), (out_first, out_rows))| (first, rows, out_first, out_rows));
        each.filter(|stretch| stretch.3 > 0).collect()
    }
}

/// Rectify and renormalise each row of `cols` values: z = max(x, 0), y = z / r, r = sqrt(mean(z^2) + floor).
///
/// Kaldi's relu-renorm layer: the frame's energy stays in bounds without statistics of the batch.
pub(super) fn relu_renorm(x: &[f32], cols: usize) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks_exact(cols) {
        let scale = 1.0 / rms(row);
        y.extend(row.iter().map(|&value| rectify(value) * scale));
    }
    y
}

/// Its backward: dL/dx = (g - y mean(g y)) / r where x > 0, else 0; from x and g = dL/dy, in place of g.
pub(super) fn relu_renorm_gradient(x: &[f32], gradient: &mut [f32], cols: usize) {
    for (row, gradient) in x.chunks_exact(cols).zip(gradient.chunks_exact_mut(cols)) {
        let scale = 1.0 / rms(row);
        let inner = rectified_dot(row, gradient);
        let shift = inner * scale * scale / cols as f32;
        gradient.iter_mut().zip(row).for_each(|(g, &x)| *g = if x > 0.0 { (*g - x * shift) * scale } else { 0.0 });
    }
}

/// max(x, 0), but NaN stays NaN: a network gone astray must show it.
pub(super) fn rectify(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// sqrt(mean(max(x, 0)^2) + floor).
fn rms(row: &[f32]) -> f32 {
    (rectified_dot(row, row) / row.len() as f32 + RENORM_FLOOR).sqrt()
}

/// sum_i max(a_i, 0) b_i, in interleaved parts that fit the processor's registers.
fn rectified_dot(a: &[f32], b: &[f32]) -> f32 {
    const PARTS: usize = 16;
    let mut parts = [0.0f32; PARTS];
    let (a_parts, b_parts) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
    let rest: f32 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(&a, b)| rectify(a) * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for part in 0..PARTS {
            parts[part] += rectify(a[part]) * b[part];
        }
    }
    parts.iter().sum::<f32>() + rest
}

/// 1 / (1 + exp(-x)), to a few units in the last place.
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (2.0 + exp_minus_one(-x))
}

/// The hyperbolic tangent, to a few units in the last place: (e - 1) / (e + 1), e = exp(2 x).
pub(super) fn tanh(x: f32) -> f32 {
    let e = exp_minus_one(2.0 * x);
    e / (2.0 + e)
}

/// exp(x) - 1 for x cut to plus or minus 64, without branches, so that loops over it use the processor's vectors. NaN stays.
///
/// With x = n ln 2 + r, |r| <= ln 2 / 2, it is 2^n (exp(r) - 1) + (2^n - 1): exact near zero, where exp(x) itself is not.
#[inline(always)]
fn exp_minus_one(x: f32) -> f32 {
    /// Added and taken away again, it rounds to a whole number, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    /// ln 2 in two parts, the first with few bits so that n times it is exact.
    const LN_2: (f32, f32) = (355.0 / 512.0, -2.121_944_4e-4);
    let x = x.clamp(-64.0, 64.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2.0) - n * LN_2.1;
    // The exponential series to r^7 / 7!: what is left out is under 1e-8 of it.
    let mut sum = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0] {
        sum = sum * r + factor;
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    power * (sum * r) + (power - 1.0)
}

/// Adds to y the rows of `x` that stay when each utterance loses `margin` rows at both ends: y\[t\] += x\[t + margin\].
pub(super) fn add_cropped(y: &mut [f32], x: &[f32], (segments, margin, cols): (&Segments, usize, usize)) {
    let mut at = 0;
    for (first, rows) in cropped(segments, margin) {
        let source = &x[first * cols..(first + rows) * cols];
        y[at * cols..(at + rows) * cols].iter_mut().zip(source).for_each(|(y, x)| *y += x);
        at += rows;
    }
}

/// Its backward: adds the gradient by y to the gradient by x at the rows that stayed.
pub(super) fn add_uncropped(by_x: &mut [f32], gradient: &[f32], (segments, margin, cols): (&Segments, usize, usize)) {
    let mut at = 0;
    for (first, rows) in cropped(segments, margin) {
        let source = &gradient[at * cols..(at + rows) * cols];
        by_x[first * cols..(first + rows) * cols].iter_mut().zip(source).for_each(|(by_x, by_y)| *by_x += by_y);
        at += rows;
    }
}

/// First row and rows of what stays of each utterance.
fn cropped(segments: &Segments, margin: usize) -> impl Iterator<Item = (usize, usize)> {
    let long_enough = segments.iter().filter(move |(_, rows)| *rows > 2 * margin);
    long_enough.map(move |(first, rows)| (first + margin, rows - 2 * margin))
}

/// A dropout mask that is drawn again, the same, whenever it is applied (inverted scaling: what stays grows).
#[derive(Debug, Clone)]
pub(crate) struct Mask {
    /// Share of the values that become 0, in 256ths.
    dropped: u8,
    random: Random,
}

impl Mask {
    /// Drops the share `rate` in `[0, 1)`, rounded to 256ths.
    pub(crate) fn new(rate: f32, random: Random) -> Self {
        Self { dropped: (rate * 256.0).round().clamp(0.0, 255.0) as u8, random }
    }

    /// Applies the mask in place.
    pub(crate) fn apply(&self, values: &mut [f32]) {
        let kept = 256.0 / (256.0 - f32::from(self.dropped));
        let mut random = self.random.clone();
        for eight in values.chunks_mut(8) {
            let draws = random.next_u64().to_le_bytes();
            eight
                .iter_mut()
                .zip(draws)
                .for_each(|(value, draw)| *value *= if draw < self.dropped { 0.0 } else { kept });
        }
    }
}

/// Makes each row of `cols` scores log-probabilities: x - log sum exp x.
pub(crate) fn log_softmax(values: &mut [f32], cols: usize) {
    for row in values.chunks_exact_mut(cols) {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|value| f64::from((value - top).exp())).sum();
        let rest = sum.ln() as f32;
        row.iter_mut().for_each(|value| *value = (*value - top) - rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(seed: u64, count: usize) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.normal()).collect()
    }

    /// Compares `gradient` with the slope of sum_i c_i f(x)_i, by differences, at `x`.
    fn check_slope(x: &[f32], gradient: &[f32], f: impl Fn(&[f32]) -> Vec<f32>, c: &[f32]) {
        let loss = |x: &[f32]| -> f64 { f(x).iter().zip(c).map(|(y, c)| f64::from(*y) * f64::from(*c)).sum() };
        let h = 1e-2;
        for index in 0..x.len() {
            let shifted = |by: f32| {
                let mut x = x.to_vec();
                x[index] += by;
                loss(&x)
            };
            let slope = (shifted(h) - shifted(-h)) / f64::from(2.0 * h);
            let error = (slope - f64::from(gradient[index])).abs();
            assert!(error < 3e-3 * (1.0 + slope.abs()), "{index}: slope {slope}, gradient {}", gradient[index]);
        }
    }

    #[test]
    fn gradients_of_spliced_affine_layers_are_slopes() {
        let splices =
            [Splice::none(), Splice::window(3, 1), Splice::window(3, 3), Splice::triple(1), Splice::triple(2)];
        for (splice, rows) in splices.iter().flat_map(|splice| [(splice, [9, 2, 7]), (splice, [9, 3, 6])]) {
            let affine = Affine { splice, segments: &Segments::new(rows), inputs: 3, outputs: 4 };
            let out = affine.segments.after(affine.splice).rows() * 4;
            let (x, bias, c) = (draw(1, 18 * 3), draw(3, 4), draw(4, out));
            let weight = draw(2, affine.splice.count() * 3 * 4);
            let (mut by_x, mut by_weight, mut by_bias) = (vec![0.0; x.len()], vec![0.0; weight.len()], vec![0.0; 4]);
            affine.input_gradient(&weight, &c, &mut by_x);
            check_slope(&x, &by_x, |x| affine.forward(x, &weight, &bias), &c);
            affine.weight_gradient(&x, &c, &mut by_weight);
            check_slope(&weight, &by_weight, |weight| affine.forward(&x, weight, &bias), &c);
            affine.bias_gradient(&c, &mut by_bias);
            check_slope(&bias, &by_bias, |bias| affine.forward(&x, &weight, bias), &c);
        }
    }

    #[test]
    fn an_affine_layer_is_its_formula() {
        let affine = Affine { splice: &Splice::triple(2), segments: &Segments::new([6, 5]), inputs: 2, outputs: 3 };
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
    fn the_gradient_of_relu_renorm_is_its_slope() {
        // Away from zero, where the rectifier has no slope.
        let x: Vec<f32> = draw(5, 66).into_iter().map(|x| x + 0.1 * x.signum()).collect();
        let c = draw(6, 66);
        let mut gradient = c.clone();
        relu_renorm_gradient(&x, &mut gradient, 22);
        check_slope(&x, &gradient, |x| relu_renorm(x, 22), &c);
    }

    #[test]
    fn sigmoid_and_tanh_are_exact_to_a_few_units_in_the_last_place() {
        let points = (-4000..=4000).flat_map(|step| [step as f32 * 5e-3, step as f32 * 1e-6, step as f32]);
        for x in points {
            let wide = f64::from(x);
            let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() <= 4e-7 * expected.abs() + 1e-27;
            assert!(near(sigmoid(x), 1.0 / (1.0 + (-wide).exp())), "{x}: {}", sigmoid(x));
            assert!(near(tanh(x), wide.tanh()), "{x}: {}", tanh(x));
        }
        let infinite = f32::INFINITY;
        assert_eq!([sigmoid(infinite), tanh(infinite), tanh(-infinite)], [1.0, 1.0, -1.0]);
        assert!(sigmoid(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && sigmoid(-infinite) < 1e-27);
    }

    #[test]
    fn renormalised_frames_have_an_rms_of_one() {
        let y = relu_renorm(&draw(7, 3 * 50), 50);
        for row in y.chunks(50) {
            assert!((row.iter().map(|y| y * y).sum::<f32>() / 50.0 - 1.0).abs() < 1e-3);
            assert!(row.iter().all(|&y| y >= 0.0));
        }
        assert_eq!(relu_renorm(&[-1.0, -2.0], 2), [0.0, 0.0]);
        assert!(relu_renorm(&[f32::NAN, 1.0], 2)[0].is_nan());
    }

    #[test]
    fn cropping_keeps_each_utterances_middle() {
        let segments = Segments::new([4, 2, 3]);
        let x: Vec<f32> = (0..18).map(|value| value as f32).collect();
        let mut y = vec![100.0; 6];
        add_cropped(&mut y, &x, (&segments, 1, 2));
        assert_eq!(y, [102.0, 103.0, 104.0, 105.0, 114.0, 115.0]);
        let c = draw(8, 6);
        let f = |x: &[f32]| {
            let mut y = vec![0.0; 6];
            add_cropped(&mut y, x, (&segments, 1, 2));
            y
        };
        let mut by_x = vec![0.0; 18];
        add_uncropped(&mut by_x, &c, (&segments, 1, 2));
        check_slope(&x, &by_x, f, &c);
    }

    #[test]
    fn a_mask_drops_its_share_and_is_the_same_again() {
        let mask = Mask::new(0.25, Random::new(9));
        let (mut once, mut again) = (vec![1.0; 100_003], vec![1.0; 100_003]);
        mask.apply(&mut once);
        mask.apply(&mut again);
        assert_eq!(once, again);
        let dropped = once.iter().filter(|&&value| value == 0.0).count();
        assert!(dropped.abs_diff(25_000) < 700, "{dropped}");
        assert!(once.iter().all(|&value| value == 0.0 || (value - 4.0 / 3.0).abs() < 1e-6));
    }

    #[test]
    fn log_probabilities_sum_to_one() {
        let mut values = vec![1000.0, 1001.0, 999.0, -3.0, 0.0, 4.0];
        log_softmax(&mut values, 3);
        for row in values.chunks(3) {
            assert!((row.iter().map(|value| value.exp()).sum::<f32>() - 1.0).abs() < 1e-6);
        }
        assert!((values[1] - (1.0 / (1.0 + (-1f32).exp() + (-2f32).exp())).ln()).abs() < 1e-4);
    }
}
