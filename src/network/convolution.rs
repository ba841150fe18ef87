//! Convolution over time and bands (LeCun et al. 1998; over speech, Abdel-Hamid et al. 2014; without pooling, Springenberg et
//! al. 2015): each output band is an affine layer on the neighbouring bands of neighbouring rows, all with the same weights.
//!
//! Bands lie side by side in a row and their channels side by side in them, so what an output band sees in one row is one
//! stretch of memory: the product runs on views of x, and nothing is copied.

use std::ops::Range;

use super::gemm::{View, ViewMut, multiply_add};
use super::init::{First, Spec};
use super::layers::{Part, Product, Rows};
use super::splice::{Segments, Splice};

/// y\[t, f\] = b + sum_{i, j} x\[t + i, f * stride + j - before\] W\[i, j\]; beyond the bands x is zero.
///
/// x is `[rows x bands * channels]`, W `[span * kernel_bands * channels x filters]`, y `[rows_out x bands_out * filters]`.
#[derive(Debug, Clone)]
pub(super) struct Convolution {
    name: String,
    splice: Splice,
    shape: Shape,
    /// Places of b and W among the parameters.
    places: [usize; 2],
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

    /// The bands of x that band `f` of y sees, and the place of the first among the kernel's.
    fn seen(self, f: usize) -> (Range<usize>, usize) {
        let (start, before) = (f * self.band_stride, (self.kernel_bands - 1) / 2);
        let first = start.saturating_sub(before);
        let end = (start + self.kernel_bands - before).min(self.bands);
        (first..end, first + before - start)
    }
}

/// One product of a convolution, as places of first values and numbers of values.
struct Tap {
    /// Where in x, in W and in y.
    at: (usize, usize, usize),
    /// Rows of y.
    rows: usize,
    /// Values seen of a row of x.
    seen: usize,
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
    fn weights(&self) -> usize {
        self.splice.count() * self.shape.kernel_bands * self.shape.channels
    }

    /// The products that make up y: one for each utterance, band of y and row of the kernel.
    fn taps(&self, segments: &Segments) -> Vec<Tap> {
        let shape @ Shape { channels, filters, kernel_bands, .. } = self.shape;
        let after = segments.after(&self.splice);
        let mut taps = Vec::new();
        for ((first, _), (out_first, rows)) in segments.iter().zip(after.iter()).filter(|(_, out)| out.1 > 0) {
            for f in 0..shape.bands_out() {
                let (bands, place) = shape.seen(f);
                taps.extend(self.splice.singles().map(|single| {
                    let x = (first + single.offset) * shape.inputs() + bands.start * channels;
                    let weight = (single.place * kernel_bands + place) * channels * filters;
                    let y = out_first * shape.outputs() + f * filters;
                    Tap { at: (x, weight, y), rows, seen: bands.len() * channels }
                }));
            }
        }
        taps
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
        let ([bias, weight], shape) = (self.places, self.shape);
        let (filters, segments) = (shape.filters, x.segments.after(&self.splice));
        let mut y = values[bias].repeat(segments.rows() * shape.bands_out());
        for Tap { at, rows, seen } in self.taps(&x.segments) {
            let x = View::new(&x.values[at.0..], (rows, seen), shape.inputs());
            let weight = View::new(&values[weight][at.1..], (seen, filters), filters);
            multiply_add(ViewMut::new(&mut y[at.2..], (rows, filters), shape.outputs()), x, weight);
        }
        Rows { values: y, segments }
    }

    fn differentiate(&self, x: &Rows, gradient: &[f32], sums: &mut [&mut [f32]]) {
        let ([bias, weight], shape) = (self.places, self.shape);
        let filters = shape.filters;
        for Tap { at, rows, seen } in self.taps(&x.segments) {
            let x = View::new(&x.values[at.0..], (rows, seen), shape.inputs());
            let gradient = View::new(&gradient[at.2..], (rows, filters), shape.outputs());
            let sum = ViewMut::new(&mut sums[weight][at.1..], (seen, filters), filters);
            multiply_add(sum, x.transposed(), gradient);
        }
        for band in gradient.chunks_exact(filters) {
            sums[bias].iter_mut().zip(band).for_each(|(sum, value)| *sum += value);
        }
    }

    fn back(&self, values: &[&[f32]], (segments, gradient): (&Segments, &[f32]), sum: &mut [f32]) {
        let (weight, shape) = (values[self.places[1]], self.shape);
        let filters = shape.filters;
        for Tap { at, rows, seen } in self.taps(segments) {
            let gradient = View::new(&gradient[at.2..], (rows, filters), shape.outputs());
            let weight = View::new(&weight[at.1..], (seen, filters), filters);
            let sum = ViewMut::new(&mut sum[at.0..], (rows, seen), shape.inputs());
            multiply_add(sum, gradient, weight.transposed());
        }
    }
}
