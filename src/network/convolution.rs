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
    fn weights(&self) -> usize {
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
