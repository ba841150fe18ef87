//! Convolution over time and bands (LeCun et al. 1998; over speech, Abdel-Hamid et al. 2014; without pooling, Springenberg et
//! al. 2015): each output band is an affine layer on the neighbouring bands of neighbouring rows, all with the same weights.
//!
//! Bands lie side by side in a row and their channels side by side in them, so what an output band sees in one row is one
//! stretch of memory: products run on lists of such stretches, and nothing is copied.

use std::ops::Range;

use super::buffers::Buffer;
use super::gemm::{Start, View, ViewMut, multiply, multiply_add};
use super::init::{First, Spec};
use super::layers::{Part, Product, Rows};
use super::splice::{Segments, Splice};

/// y\[t, f\] = b + sum_{i, j} x\[t + i, f * stride + j - before\] W\[i, j\]; beyond the bands x is zero.
///
/// x is `[rows x bands * channels]`, W `[span * kernel_bands * channels x filters]`, y `[rows_out x bands_out * filters]`.
#[derive(Debug, Clone)]
pub(super) struct Convolution {
    name: String,
    pub(super) splice: Splice,
    pub(super) shape: Shape,
    /// Places of b and W among the parameters.
    pub(super) places: [usize; 2],
}

/// What a convolution sees of a row, and what it makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bands of x.
    pub(super) bands: usize,
    /// Values in a band of x.
    pub(super) channels: usize,
    /// Values in a band of y.
    pub(super) filters: usize,
    /// Bands of x that a band of y sees.
    pub(super) kernel_bands: usize,
    /// Bands of x from one band of y to the next.
    pub(super) band_stride: usize,
}

impl Shape {
    /// Bands of y.
    pub(super) fn bands_out(self) -> usize {
        self.bands.div_ceil(self.band_stride)
    }

    /// Values in a row of y.
    pub(super) fn outputs(self) -> usize {
        self.bands_out() * self.filters
    }

    fn inputs(self) -> usize {
        self.bands * self.channels
    }

    /// The first band of x that band `f` of y sees, and the kernel's bands that see one.
    fn seen(self, f: usize) -> (usize, Range<usize>) {
        let (middle, before) = (f * self.band_stride, (self.kernel_bands - 1) / 2);
        let first = middle.saturating_sub(before);
        (first, first + before - middle..self.kernel_bands.min(self.bands + before - middle))
    }
}

/// The output bands that see as much of the kernel: all but those at the edges.
struct Group {
    /// The kernel's bands that they see.
    kernel: Range<usize>,
    /// Where in x what they see of the first row begins, for each row and band.
    x: Vec<usize>,
    /// Where in y they begin likewise.
    y: Vec<usize>,
}

impl Convolution {
    /// A convolution over `rows` neighbouring rows.
    pub(super) fn new(name: String, rows: usize, shape: Shape) -> Self {
        Self { name, splice: Splice::window(rows, 1), shape, places: [0; 2] }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Rows of W.
    pub(super) fn weights(&self) -> usize {
        self.splice.count() * self.shape.kernel_bands * self.shape.channels
    }

    /// All rows and bands of y.
    fn groups(&self, segments: &Segments) -> Vec<Group> {
        let (shape, after) = (self.shape, segments.after(&self.splice));
        let utterances = segments.iter().zip(after.iter());
        let rows: Vec<(usize, usize)> =
            utterances.flat_map(|(x, y)| (0..y.1).map(move |t| (x.0 + t, y.0 + t))).collect();
        let mut groups: Vec<Group> = Vec::new();
        for f in (0..shape.bands_out()).filter(|_| !rows.is_empty()) {
            let (first, kernel) = shape.seen(f);
            if groups.last().is_none_or(|group| group.kernel != kernel) {
                groups.push(Group { kernel, x: Vec::new(), y: Vec::new() });
            }
            let group = groups.last_mut().expect("one was added");
            group.x.extend(rows.iter().map(|row| row.0 * shape.inputs() + first * shape.channels));
            group.y.extend(rows.iter().map(|row| row.1 * shape.outputs() + f * shape.filters));
        }
        groups
    }

    /// Where in W the weights of that row and band of the kernel begin.
    fn weight_at(&self, row: usize, band: usize) -> usize {
        (row * self.shape.kernel_bands + band) * self.shape.channels * self.shape.filters
    }
}

impl Part for Convolution {
    fn specs(&self) -> Vec<Spec> {
        let (name, filters) = (&self.name, self.shape.filters);
        let first = First::Normal { deviation: (2.0 / self.weights() as f32).sqrt() };
        vec![
            Spec { name: format!("{name}.bias"), shape: vec![filters], first: First::Zeros },
            Spec { name: format!("{name}.weight"), shape: vec![self.weights(), filters], first },
        ]
    }

    fn places(&mut self) -> &mut [usize] {
        &mut self.places
    }
}

impl Product for Convolution {
    fn splice(&self) -> &Splice {
        &self.splice
    }

    fn forward(&self, values: &[&[f32]], x: &Rows) -> Rows {
        let ([bias, weight], Shape { channels, filters, .. }) = (self.places, self.shape);
        let segments = x.segments.after(&self.splice);
        let mut y = Buffer::any(segments.rows() * self.shape.outputs());
        for Group { kernel, x: seen, y: made } in self.groups(&x.segments) {
            let cols = kernel.len() * channels;
            for row in 0..self.splice.count() {
                let x = View::listed(&x.values[row * self.shape.inputs()..], &seen, cols);
                let weight = View::new(&values[weight][self.weight_at(row, kernel.start)..], (cols, filters), filters);
                let start = if row == 0 { Start::Row(values[bias]) } else { Start::Output };
                multiply(ViewMut::listed(&mut y, &made, filters), start, (x, weight));
            }
        }
        Rows { values: y, segments }
    }

    fn differentiate(&self, x: &Rows, gradient: &[f32], sums: &mut [&mut [f32]]) {
        let ([bias, weight], Shape { channels, filters, .. }) = (self.places, self.shape);
        for Group { kernel, x: seen, y: made } in self.groups(&x.segments) {
            let cols = kernel.len() * channels;
            for row in 0..self.splice.count() {
                let x = View::listed(&x.values[row * self.shape.inputs()..], &seen, cols);
                let sum = &mut sums[weight][self.weight_at(row, kernel.start)..];
                let gradient = View::listed(gradient, &made, filters);
                multiply_add(ViewMut::new(sum, (cols, filters), filters), x.transposed(), gradient);
            }
        }
        for band in gradient.chunks_exact(filters) {
            sums[bias].iter_mut().zip(band).for_each(|(sum, value)| *sum += value);
        }
    }

    fn back(&self, values: &[&[f32]], (segments, gradient): (&Segments, &[f32]), sum: &mut [f32]) {
        let (weight, Shape { channels, filters, .. }) = (values[self.places[1]], self.shape);
        for Group { kernel, x: seen, y: made } in self.groups(segments) {
            for (row, band) in (0..self.splice.count()).flat_map(|row| kernel.clone().map(move |band| (row, band))) {
                // What two bands of y see overlaps, a single band of the kernel does not.
                let at = row * self.shape.inputs() + (band - kernel.start) * channels;
                let weight = View::new(&weight[self.weight_at(row, band)..], (channels, filters), filters);
                let sum = ViewMut::listed(&mut sum[at..], &seen, channels);
                multiply_add(sum, View::listed(gradient, &made, filters), weight.transposed());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::kernels::tests::{check_slope, draw};

    const SHAPE: Shape = Shape { bands: 7, channels: 2, filters: 3, kernel_bands: 3, band_stride: 2 };

    fn shapes() -> [(usize, Shape); 5] {
        let one = Shape { bands: 5, channels: 1, kernel_bands: 4, band_stride: 1, ..SHAPE };
        let wide = Shape { bands: 3, kernel_bands: 9, band_stride: 2, ..SHAPE };
        [
            (3, SHAPE),
            (2, one),
            (1, wide),
            (3, Shape { kernel_bands: 1, band_stride: 3, ..SHAPE }),
            (1, Shape { bands: 1, ..SHAPE }),
        ]
    }

    fn convolution((rows, shape): (usize, Shape)) -> Convolution {
        Convolution { places: [0, 1], ..Convolution::new("c".into(), rows, shape) }
    }

    /// y by the formula, cell by cell.
    fn slow((kernel_rows, shape): (usize, Shape), x: &Rows, (bias, weight): (&[f32], &[f32])) -> Vec<f32> {
        let Shape { bands, channels, filters, kernel_bands, band_stride } = shape;
        let before = (kernel_bands - 1) / 2;
        let mut y = Vec::new();
        for (first, rows) in x.segments.iter() {
            for (t, f) in
                (0..(rows + 1).saturating_sub(kernel_rows)).flat_map(|t| (0..shape.bands_out()).map(move |f| (t, f)))
            {
                for filter in 0..filters {
                    let mut sum = f64::from(bias[filter]);
                    for (i, j) in (0..kernel_rows).flat_map(|i| (0..kernel_bands).map(move |j| (i, j))) {
                        let Some(band) = (f * band_stride + j).checked_sub(before).filter(|&band| band < bands) else {
                            continue;
                        };
                        for channel in 0..channels {
                            let x = x.values[((first + t + i) * bands + band) * channels + channel];
                            let weight = weight[((i * kernel_bands + j) * channels + channel) * filters + filter];
                            sum += f64::from(x) * f64::from(weight);
                        }
                    }
                    y.push(sum as f32);
                }
            }
        }
        y
    }

    #[test]
    fn a_convolution_is_its_formula() {
        for (seed, shape) in (1..).zip(shapes()) {
            let convolution = convolution(shape);
            let x = Rows { values: draw(seed, 14 * shape.1.inputs()).into(), segments: Segments::new([6, 0, 2, 1, 5]) };
            let (bias, weight) = (draw(9, 3), draw(8, convolution.weights() * 3));
            let y = convolution.forward(&[&bias, &weight], &x);
            assert_eq!(y.values.len(), y.segments.rows() * shape.1.outputs());
            let expected = slow(shape, &x, (&bias, &weight));
            assert_eq!(y.values.len(), expected.len());
            assert!(y.values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4), "{shape:?}");
        }
    }

    #[test]
    fn gradients_of_convolutions_are_slopes() {
        for (seed, shape) in (1..).zip(shapes()) {
            let convolution = convolution(shape);
            let rows = |values: &[f32]| Rows { values: values.to_vec().into(), segments: Segments::new([4, 2]) };
            let (x, bias, weight) = (draw(seed, 6 * shape.1.inputs()), draw(9, 3), draw(8, convolution.weights() * 3));
            let y = |x: &[f32], bias: &[f32], weight: &[f32]| {
                convolution.forward(&[bias, weight], &rows(x)).values.into_vec()
            };
            let c = draw(7, y(&x, &bias, &weight).len());
            let (mut by_x, mut by_bias, mut by_weight) = (vec![0.0; x.len()], vec![0.0; 3], vec![0.0; weight.len()]);
            convolution.differentiate(&rows(&x), &c, &mut [&mut by_bias, &mut by_weight]);
            convolution.back(&[&bias, &weight], (&rows(&x).segments, &c), &mut by_x);
            check_slope(&x, &by_x, |x| y(x, &bias, &weight), &c);
            check_slope(&bias, &by_bias, |bias| y(&x, bias, &weight), &c);
            check_slope(&weight, &by_weight, |weight| y(&x, &bias, weight), &c);
        }
    }
}
