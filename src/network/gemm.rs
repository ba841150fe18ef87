//! Matrix products on strided views: what the layers run on, in front of the `gemm` crate.
//!
//! Each product runs on the calling thread only, so its bits depend on nothing but its operands. Views may overlap in memory
//! (a spliced matrix is the plain one with a smaller row stride), so splicing copies nothing.

use gemm::Parallelism;

/// A `[rows x cols]` matrix to read: cell (r, c) is `data[r * row_stride + c * col_stride]`.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> View<'a> {
    /// `rows` rows of `cols` neighbouring values of `data`; each begins `row_stride` values after the one before it.
    ///
    /// # Panics
    /// When `data` is too short.
    pub(super) fn new(data: &'a [f32], (rows, cols): (usize, usize), row_stride: usize) -> Self {
        assert!(holds(data.len(), rows, cols, row_stride), "a view must lie inside its data");
        Self { data, rows, cols, row_stride, col_stride: 1 }
    }

    /// Rows as columns, nothing moved.
    pub(super) fn transposed(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }
}

/// A `[rows x cols]` matrix to write, whose rows do not overlap.
pub(super) struct ViewMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

impl<'a> ViewMut<'a> {
    /// `rows` rows of `cols` neighbouring values of `data`; each begins `row_stride` values after the one before it.
    ///
    /// # Panics
    /// When `data` is too short or rows would overlap.
    pub(super) fn new(data: &'a mut [f32], (rows, cols): (usize, usize), row_stride: usize) -> Self {
        assert!(holds(data.len(), rows, cols, row_stride), "a view must lie inside its data");
        assert!(row_stride >= cols, "rows that are written must not overlap");
        Self { data, rows, cols, row_stride }
    }
}

/// Whether the last cell of such a matrix is among `len` values.
fn holds(len: usize, rows: usize, cols: usize, row_stride: usize) -> bool {
    rows == 0 || cols == 0 || (rows - 1) * row_stride + cols <= len
}

/// out += a b.
///
/// # Panics
/// When the shapes do not fit.
#[allow(unsafe_code)] // One of the three files that may; see the SAFETY line.
pub(super) fn multiply_add(out: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    assert!(a.cols == b.rows && out.rows == a.rows && out.cols == b.cols, "shapes of a product must fit");
    // SAFETY: the constructors of the views checked that every cell lies inside its slice (transposing keeps the set of cells),
    // that the cells of `out` are distinct, and the shapes were compared above; `out` is borrowed mutably, so it shares no
    // memory with `a` and `b`. `gemm` reads and writes these cells only, and picks its kernel by the processor it runs on.
    unsafe {
        gemm::gemm(
            out.rows,
            out.cols,
            a.cols,
            out.data.as_mut_ptr(),
            1,
            out.row_stride as isize,
            true,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn draw(random: &mut Random, count: usize) -> Vec<f32> {
        (0..count).map(|_| random.normal()).collect()
    }

    /// sum_k a[i, k] b[k, j], cell by cell.
    fn slow(before: &[f32], a: View<'_>, b: View<'_>) -> Vec<f32> {
        let cell = |m: View<'_>, r: usize, c: usize| f64::from(m.data[r * m.row_stride + c * m.col_stride]);
        (0..a.rows * b.cols)
            .map(|at| {
                let (row, col) = (at / b.cols, at % b.cols);
                let sum: f64 = (0..a.cols).map(|k| cell(a, row, k) * cell(b, k, col)).sum();
                (f64::from(before[at]) + sum) as f32
            })
            .collect()
    }

    #[test]
    fn products_of_any_layout_equal_the_sum_of_cells() {
        let mut random = Random::new(1);
        for (m, n, k) in [(1, 1, 1), (1, 9, 5), (7, 1, 3), (5, 6, 2), (33, 40, 65), (130, 17, 300), (3, 200, 64)] {
            let (a, b) = (draw(&mut random, m * k), draw(&mut random, n * k));
            let straight = (View::new(&a, (m, k), k), View::new(&b, (k, n), n));
            let turned = (View::new(&a, (k, m), m).transposed(), View::new(&b, (n, k), k).transposed());
            let overlapping = View::new(&a[..(m - 1) + k], (m, k), 1);
            for (left, right) in
                [straight, turned, (straight.0, turned.1), (turned.0, straight.1), (overlapping, straight.1)]
            {
                let start = draw(&mut random, m * n);
                let mut out = start.clone();
                multiply_add(ViewMut::new(&mut out, (m, n), n), left, right);
                for (found, expected) in out.iter().zip(slow(&start, left, right)) {
                    assert!((found - expected).abs() < 1e-4, "{m} {n} {k}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "inside its data")]
    fn a_view_beyond_its_data_is_refused() {
        View::new(&[0.0; 11], (3, 4), 4);
    }

    #[test]
    #[should_panic(expected = "must not overlap")]
    fn overlapping_rows_are_not_written() {
        ViewMut::new(&mut [0.0; 12], (3, 4), 3);
    }
}
