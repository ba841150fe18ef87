//! Rectifier and normalisation of hidden layers, forward and backward.

use serde::{Deserialize, Serialize};

use super::buffers::Buffer;
use super::gemm::{Loop, fused, vectorised};
use super::init::{First, Spec};
use super::kernels::{self, RENORM_FLOOR, rectify};
use super::layers::{Part, Pass};

/// What a hidden layer's rectified values z are divided by.
///
/// Only `batch` looks at other rows, and only in training: what an utterance scores never depends on those beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HiddenNorm {
    /// Nothing: y = z.
    None,
    /// The root mean square of the row: y = z / sqrt(mean(z^2) + floor), Kaldi's relu-renorm layer. No parameters.
    #[default]
    Rms,
    /// The deviation of the row around its mean (Ba et al. 2016): y = gain (z - mean) / sqrt(variance + floor) + shift.
    Layer,
    /// The same with mean and variance of each column (Ioffe & Szegedy 2015): in training those of the rows that a gradient is
    /// computed on, which move running ones; in decoding the running ones, so that the layer is an affine map.
    Batch,
}

/// Share of the way that running statistics go, for each gradient, to those observed.
pub(super) const STATISTICS_RATE: f32 = 0.03;

/// The normalisation of a layer.
#[derive(Debug, Clone)]
pub(super) struct Norm {
    name: String,
    pub(super) cols: usize,
    pub(super) kind: HiddenNorm,
    /// Places of gain, shift, mean and variance among the parameters, as far as there are such.
    pub(super) places: Vec<usize>,
}

/// Mean and variance of each column.
pub(super) struct Moments {
    mean: Vec<f32>,
    variance: Vec<f32>,
}

impl Norm {
    /// For the layer of that name, whose rows have `cols` values.
    pub(super) fn new(name: &str, cols: usize, kind: HiddenNorm) -> Self {
        let mut norm = Self { name: name.to_owned(), cols, kind, places: Vec::new() };
        norm.places = vec![0; norm.specs().len()];
        norm
    }

    /// What normalises the columns, where they are normalised: none for no rows in training.
    pub(super) fn moments(&self, values: &[&[f32]], x: &[f32], pass: &Pass<'_>) -> Option<Moments> {
        match (self.kind, pass) {
            (HiddenNorm::Batch, Pass::Infer(_)) => {
                let [mean, variance] = [2, 3].map(|place| values[self.places[place]].to_vec());
                Some(Moments { mean, variance })
            }
            (HiddenNorm::Batch, Pass::Train(_)) if !x.is_empty() => Some(Moments::of(x, self.cols)),
            _ => None,
        }
    }

    /// norm(relu(x)) of rows of x.
    pub(super) fn forward(&self, values: &[&[f32]], x: &[f32], moments: Option<&Moments>) -> Buffer {
        match (self.kind, moments) {
            (HiddenNorm::Rms, _) => kernels::relu_renorm(x, self.cols),
            (HiddenNorm::Layer, _) => {
                let (gain, shift) = (values[self.places[0]], values[self.places[1]]);
                let mut y = Buffer::any(x.len());
                for (x, y) in x.chunks_exact(self.cols).zip(y.chunks_exact_mut(self.cols)) {
                    standardise(x, y);
                    y.iter_mut().zip(gain.iter().zip(shift)).for_each(|(y, (gain, shift))| *y = *y * gain + shift);
                }
                y
            }
            (HiddenNorm::Batch, Some(moments)) => {
                let (gain, shift) = (values[self.places[0]], values[self.places[1]]);
                let scale: Vec<f32> = gain.iter().zip(moments.scales()).map(|(gain, scale)| gain * scale).collect();
                let offset = shift.iter().zip(scale.iter().zip(&moments.mean));
                let offset: Vec<f32> = offset.map(|(shift, (scale, mean))| shift - scale * mean).collect();
                let mut y = Buffer::any(x.len());
                for (x, y) in x.chunks_exact(self.cols).zip(y.chunks_exact_mut(self.cols)) {
                    let affine = x.iter().zip(scale.iter().zip(&offset));
                    y.iter_mut().zip(affine).for_each(|(y, (&x, (scale, offset)))| *y = rectify(x) * scale + offset);
                }
                y
            }
            (HiddenNorm::None | HiddenNorm::Batch, _) => x.iter().map(|&x| rectify(x)).collect::<Vec<f32>>().into(),
        }
    }

    /// Makes of dL/dy dL/dx, in place, and adds the gradients by the parameters to `sums`; for a running statistic, what it is
    /// above the one observed.
    pub(super) fn backward(
        &self,
        values: &[&[f32]],
        (x, moments, gradient): (&[f32], Option<&Moments>, &mut [f32]),
        sums: &mut [&mut [f32]],
    ) {
        match (self.kind, moments) {
            (HiddenNorm::Rms, _) => return kernels::relu_renorm_gradient(x, gradient, self.cols),
            (HiddenNorm::Layer, _) => self.layer_backward(values, (x, gradient), sums),
            (HiddenNorm::Batch, Some(moments)) => return self.batch_backward(values, (x, moments, gradient), sums),
            (HiddenNorm::None | HiddenNorm::Batch, _) => {}
        }
        gradient.iter_mut().zip(x).filter(|(_, x)| **x <= 0.0).for_each(|(g, _)| *g = 0.0);
    }

    /// With n the row without gain and shift and d = gain g: dL/dz = (d - mean(d) - n mean(d n)) / deviation.
    fn layer_backward(&self, values: &[&[f32]], (x, gradient): (&[f32], &mut [f32]), sums: &mut [&mut [f32]]) {
        let gain = values[self.places[0]];
        let mut n = vec![0.0; self.cols];
        for (x, g) in x.chunks_exact(self.cols).zip(gradient.chunks_exact_mut(self.cols)) {
            let scale = standardise(x, &mut n);
            sums[self.places[0]].iter_mut().zip(g.iter().zip(&n)).for_each(|(sum, (g, n))| *sum += g * n);
            sums[self.places[1]].iter_mut().zip(&*g).for_each(|(sum, g)| *sum += g);
            g.iter_mut().zip(gain).for_each(|(g, gain)| *g *= gain);
            let (mean, along) = (mean(g), mean_product(g, &n));
            g.iter_mut().zip(&n).for_each(|(g, n)| *g = (*g - mean - n * along) * scale);
        }
    }

    /// The same by columns: dL/dz = gain (g - mean(g) - n mean(g n)) / deviation, and dL/dx that or 0.
    fn batch_backward(
        &self,
        values: &[&[f32]],
        (x, moments, gradient): (&[f32], &Moments, &mut [f32]),
        sums: &mut [&mut [f32]],
    ) {
        let (cols, rows, scales) = (self.cols, (x.len() / self.cols) as f64, moments.scales());
        let (mut plain, mut along) = (vec![0.0f64; cols], vec![0.0f64; cols]);
        let (mean, scales) = (&moments.mean[..], &scales[..]);
        vectorised(ColumnSums { x, gradient, mean, scales, sums: (&mut plain, &mut along) });
        let column = |at: usize| {
            let (mean_plain, mean_along) = ((plain[at] / rows) as f32, (along[at] / rows) as f32 * scales[at]);
            [1.0, -mean_along, mean[at] * mean_along - mean_plain]
                .map(|factor| factor * values[self.places[0]][at] * scales[at])
        };
        let columns: Vec<[f32; 3]> = (0..cols).map(column).collect();
        let [by_gradient, by_z, offset] = [0, 1, 2].map(|part| columns.iter().map(|column| column[part]).collect());
        vectorised(ColumnGradient { x, gradient, by_gradient, by_z, offset });
        for (place, found) in self.places.iter().zip([along, plain]) {
            sums[*place].iter_mut().zip(found).for_each(|(sum, found)| *sum += found as f32);
        }
        for (&place, observed) in self.places[2..].iter().zip([&moments.mean, &moments.variance]) {
            let above = values[place].iter().zip(observed).map(|(running, observed)| running - observed);
            sums[place].iter_mut().zip(above).for_each(|(sum, above)| *sum += above);
        }
    }
}

impl Part for Norm {
    fn specs(&self) -> Vec<Spec> {
        let spec = |(part, first): (&str, First)| Spec {
            name: format!("{}.{part}", self.name),
            shape: vec![self.cols],
            first,
        };
        let learnt = [("gain", First::Ones), ("shift", First::Zeros)];
        let running = [("mean", First::Statistic(0.0)), ("variance", First::Statistic(1.0))];
        match self.kind {
            HiddenNorm::None | HiddenNorm::Rms => Vec::new(),
            HiddenNorm::Layer => learnt.into_iter().map(spec).collect(),
            HiddenNorm::Batch => learnt.into_iter().chain(running).map(spec).collect(),
        }
    }

    fn places(&mut self) -> &mut [usize] {
        &mut self.places
    }
}

/// Adds g and g n to the sums of the columns, n being z without mean and deviation.
struct ColumnSums<'a> {
    x: &'a [f32],
    gradient: &'a [f32],
    mean: &'a [f32],
    scales: &'a [f32],
    sums: (&'a mut [f64], &'a mut [f64]),
}

impl Loop for ColumnSums<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let ((plain, along), cols) = (self.sums, self.mean.len());
        for (x, g) in self.x.chunks_exact(cols).zip(self.gradient.chunks_exact(cols)) {
            plain.iter_mut().zip(g).for_each(|(sum, &g)| *sum += f64::from(g));
            let n =
                x.iter().zip(self.mean.iter().zip(self.scales)).map(|(&x, (mean, scale))| (rectify(x) - mean) * scale);
            along.iter_mut().zip(g).zip(n).for_each(|((sum, g), n)| *sum += f64::from(g * n));
        }
    }
}

/// g = by_gradient g + by_z z + offset, or 0 where x is not above it.
struct ColumnGradient<'a> {
    x: &'a [f32],
    gradient: &'a mut [f32],
    by_gradient: Vec<f32>,
    by_z: Vec<f32>,
    offset: Vec<f32>,
}

impl Loop for ColumnGradient<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let cols = self.offset.len();
        for (x, g) in self.x.chunks_exact(cols).zip(self.gradient.chunks_exact_mut(cols)) {
            let columns = self.by_gradient.iter().zip(&self.by_z).zip(&self.offset);
            for ((g, &x), ((by_gradient, by_z), offset)) in g.iter_mut().zip(x).zip(columns) {
                let value = fused::<FUSED>(*g, *by_gradient, fused::<FUSED>(x, *by_z, *offset));
                *g = if x <= 0.0 { 0.0 } else { value };
            }
        }
    }
}

impl Moments {
    /// Those of max(x, 0), over rows of `cols` values.
    fn of(x: &[f32], cols: usize) -> Self {
        let rows = (x.len() / cols) as f64;
        let (mut mean, mut variance) = (vec![0.0f64; cols], vec![0.0f64; cols]);
        for row in x.chunks_exact(cols) {
            mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(rectify(x)));
        }
        mean.iter_mut().for_each(|sum| *sum /= rows);
        for row in x.chunks_exact(cols) {
            let cells = variance.iter_mut().zip(row.iter().zip(&mean));
            cells.for_each(|(sum, (&x, mean))| *sum += (f64::from(rectify(x)) - mean).powi(2));
        }
        let narrow = |values: Vec<f64>, by: f64| values.into_iter().map(|value| (value / by) as f32).collect();
        Self { mean: narrow(mean, 1.0), variance: narrow(variance, rows) }
    }

    /// One by the deviation.
    fn scales(&self) -> Vec<f32> {
        self.variance.iter().map(|variance| 1.0 / (variance + RENORM_FLOOR).sqrt()).collect()
    }
}

/// n = (z - mean(z)) / deviation of a row, z = max(x, 0); gives one by the deviation.
fn standardise(x: &[f32], n: &mut [f32]) -> f32 {
    n.iter_mut().zip(x).for_each(|(n, &x)| *n = rectify(x));
    let middle = mean(n);
    n.iter_mut().for_each(|n| *n -= middle);
    let scale = 1.0 / (mean_product(n, n) + RENORM_FLOOR).sqrt();
    n.iter_mut().for_each(|n| *n *= scale);
    scale
}

fn mean(values: &[f32]) -> f32 {
    let (parts, rest) = values.as_chunks::<PARTS>();
    let mut sums = [0.0f32; PARTS];
    parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value));
    (sums.iter().sum::<f32>() + rest.iter().sum::<f32>()) / values.len() as f32
}

fn mean_product(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<PARTS>(), b.as_chunks::<PARTS>());
    let mut sums = [0.0f32; PARTS];
    for (a, b) in a.iter().zip(b) {
        (0..PARTS).for_each(|part| sums[part] += a[part] * b[part]);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums.iter().sum::<f32>() + rest) / (a.len() * PARTS + a_rest.len()) as f32
}

/// Sums run in so many interleaved parts, which fit the processor's registers.
const PARTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::kernels::tests::draw;

    #[test]
    fn standardised_rows_have_a_mean_of_zero_and_a_variance_of_one() {
        for cols in [3, 16, 50] {
            let (x, mut n) = (draw(cols as u64, cols), vec![0.0; cols]);
            let scale = standardise(&x, &mut n);
            assert!(mean(&n).abs() < 1e-5 && (mean_product(&n, &n) - 1.0).abs() < 1e-3, "{n:?}");
            let z = |at: usize| rectify(x[at]);
            assert!((0..cols).all(|at| ((n[at] - n[0]) / scale - (z(at) - z(0))).abs() < 1e-4));
        }
        let mut n = [0.0; 2];
        standardise(&[f32::NAN, 1.0], &mut n);
        assert!(n[1].is_nan());
    }

    #[test]
    fn moments_are_those_of_the_rectified_columns() {
        let moments = Moments::of(&[1.0, -1.0, 3.0, 4.0, 5.0, 0.0], 2);
        assert_eq!(moments.mean, [3.0, 4.0 / 3.0]);
        assert!((moments.variance[0] - 8.0 / 3.0).abs() < 1e-6 && (moments.variance[1] - 32.0 / 9.0).abs() < 1e-6);
    }

    #[test]
    fn a_gradient_without_rows_moves_no_statistic() {
        let norm = Norm { places: vec![0, 1, 2, 3], ..Norm::new("n", 2, HiddenNorm::Batch) };
        let (values, mut sums) = ([[2.0f32; 2]; 4], [[0.0f32; 2]; 4]);
        let values: Vec<&[f32]> = values.iter().map(|values| &values[..]).collect();
        let moments = norm.moments(&values, &[], &Pass::Train(None));
        assert!(moments.is_none() && norm.forward(&values, &[], None).is_empty());
        let mut sums: Vec<&mut [f32]> = sums.iter_mut().map(|sums| &mut sums[..]).collect();
        norm.backward(&values, (&[], None, &mut []), &mut sums);
        assert!(sums.iter().all(|sums| sums.iter().all(|&sum| sum == 0.0)));
    }
}
