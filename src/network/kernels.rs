//! The layers' arithmetic on plain slices, forward and backward: no tensors, no threads.

use super::buffers::Buffer;
use super::gemm::{Loop, fused, vectorised};
use super::splice::Segments;
use crate::random::Random;

/// Keeps the RMS of a frame of zeros from being zero.
pub(super) const RENORM_FLOOR: f32 = 1e-5;

/// Rectify and renormalise each row of `cols` values: z = max(x, 0), y = z / r, r = sqrt(mean(z^2) + floor).
///
/// Kaldi's relu-renorm layer: the frame's energy stays in bounds without statistics of the batch.
pub(super) fn relu_renorm(x: &[f32], cols: usize) -> Buffer {
    let mut y = Buffer::any(x.len());
    vectorised(Renorm { x, y: &mut y, cols });
    y
}

struct Renorm<'a> {
    x: &'a [f32],
    y: &'a mut [f32],
    cols: usize,
}

impl Loop for Renorm<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (x, y) in self.x.chunks_exact(self.cols).zip(self.y.chunks_exact_mut(self.cols)) {
            let scale = 1.0 / rms::<FUSED>(x);
            y.iter_mut().zip(x).for_each(|(y, &x)| *y = rectify(x) * scale);
        }
    }
}

/// Its backward: dL/dx = (g - y mean(g y)) / r where x > 0, else 0; from x and g = dL/dy, in place of g.
pub(super) fn relu_renorm_gradient(x: &[f32], gradient: &mut [f32], cols: usize) {
    vectorised(RenormGradient { x, gradient, cols });
}

struct RenormGradient<'a> {
    x: &'a [f32],
    gradient: &'a mut [f32],
    cols: usize,
}

impl Loop for RenormGradient<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (x, gradient) in self.x.chunks_exact(self.cols).zip(self.gradient.chunks_exact_mut(self.cols)) {
            let scale = 1.0 / rms::<FUSED>(x);
            let shift = rectified_dot::<FUSED>(x, gradient) * scale * scale / self.cols as f32;
            gradient.iter_mut().zip(x).for_each(|(g, &x)| *g = if x > 0.0 { (*g - x * shift) * scale } else { 0.0 });
        }
    }
}

/// max(x, 0), but NaN stays NaN: a network gone astray must show it.
#[inline(always)]
pub(super) fn rectify(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// sqrt(mean(max(x, 0)^2) + floor).
#[inline(always)]
fn rms<const FUSED: bool>(row: &[f32]) -> f32 {
    (rectified_dot::<FUSED>(row, row) / row.len() as f32 + RENORM_FLOOR).sqrt()
}

/// sum_i max(a_i, 0) b_i, in interleaved parts that fit the processor's registers.
#[inline(always)]
fn rectified_dot<const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    const PARTS: usize = 32;
    let mut parts = [0.0f32; PARTS];
    let (a_parts, b_parts) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
    let rest: f32 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(&a, b)| rectify(a) * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for part in 0..PARTS {
            parts[part] = fused::<FUSED>(rectify(a[part]), b[part], parts[part]);
        }
    }
    parts.iter().sum::<f32>() + rest
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
pub(super) mod tests {
    use super::*;

    pub(in crate::network) fn draw(seed: u64, count: usize) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.normal()).collect()
    }

    /// Compares `gradient` with the slope of sum_i c_i f(x)_i, by differences, at `x`.
    pub(in crate::network) fn check_slope(x: &[f32], gradient: &[f32], f: impl Fn(&[f32]) -> Vec<f32>, c: &[f32]) {
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
    fn the_gradient_of_relu_renorm_is_its_slope() {
        // Away from zero, where the rectifier has no slope.
        let x: Vec<f32> = draw(5, 66).into_iter().map(|x| x + 0.1 * x.signum()).collect();
        let c = draw(6, 66);
        let mut gradient = c.clone();
        relu_renorm_gradient(&x, &mut gradient, 22);
        check_slope(&x, &gradient, |x| relu_renorm(x, 22).into_vec(), &c);
    }

    #[test]
    fn renormalised_frames_have_an_rms_of_one() {
        let y = relu_renorm(&draw(7, 3 * 50), 50);
        for row in y.chunks(50) {
            assert!((row.iter().map(|y| y * y).sum::<f32>() / 50.0 - 1.0).abs() < 1e-3);
            assert!(row.iter().all(|&y| y >= 0.0));
        }
        assert_eq!(relu_renorm(&[-1.0, -2.0], 2)[..], [0.0, 0.0]);
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
