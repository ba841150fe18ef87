//! Matrix products on strided views: what the layers run on.
//!
//! Each product runs on the calling thread only, so its bits depend on nothing but its operands. Lines of a view may overlap in
//! memory and lie in any order (a spliced matrix is the plain one with its rows longer), so splicing and sorting copy nothing.
//! `kernel` has the innermost loops, and nothing else here is unsafe.

mod kernel;

use std::cell::RefCell;
use std::ops::Range;

use super::buffers::Buffer;
use kernel::{Kernel, Tile};
pub(super) use kernel::{Loop, fused, vectorised};

/// Products over at most so many k at once: the rows of a tile then stay in the nearest cache.
const DEPTH: usize = 512;
/// Columns of b that are packed at once: with [`DEPTH`], a part of the second cache.
const COLS: usize = 288;

/// Where the lines of a view begin.
#[derive(Clone, Copy)]
enum Firsts<'a> {
    Every(usize),
    Listed(&'a [usize]),
}

impl Firsts<'_> {
    fn of(self, line: usize) -> usize {
        match self {
            Self::Every(stride) => line * stride,
            Self::Listed(firsts) => firsts[line],
        }
    }
}

/// A matrix to read: lines of neighbouring values, which are its rows, or turned its columns.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    data: &'a [f32],
    firsts: Firsts<'a>,
    lines: usize,
    length: usize,
    turned: bool,
}

impl<'a> View<'a> {
    /// `rows` rows of `cols` neighbouring values of `data`; each begins `row_stride` values after the one before it.
    ///
    /// # Panics
    /// When `data` is too short.
    pub(super) fn new(data: &'a [f32], (rows, cols): (usize, usize), row_stride: usize) -> Self {
        assert!(holds(data.len(), (rows, cols), row_stride), "a view must lie inside its data");
        Self { data, firsts: Firsts::Every(row_stride), lines: rows, length: cols, turned: false }
    }

    /// Rows of `cols` neighbouring values of `data`, which begin at `firsts`.
    ///
    /// # Panics
    /// When `data` is too short.
    pub(super) fn listed(data: &'a [f32], firsts: &'a [usize], cols: usize) -> Self {
        assert!(firsts.iter().all(|first| first + cols <= data.len()), "a view must lie inside its data");
        Self { data, firsts: Firsts::Listed(firsts), lines: firsts.len(), length: cols, turned: false }
    }

    /// Rows as columns, nothing moved.
    pub(super) fn transposed(self) -> Self {
        Self { turned: !self.turned, ..self }
    }

    pub(super) fn rows(&self) -> usize {
        if self.turned { self.length } else { self.lines }
    }

    pub(super) fn cols(&self) -> usize {
        if self.turned { self.lines } else { self.length }
    }

    /// Part of a line.
    fn line(&self, line: usize, part: &Range<usize>) -> &'a [f32] {
        &self.data[self.firsts.of(line)..][part.clone()]
    }
}

/// A `[rows x cols]` matrix to write, whose rows do not overlap.
pub(super) struct ViewMut<'a> {
    data: &'a mut [f32],
    firsts: Firsts<'a>,
    rows: usize,
    cols: usize,
}

impl<'a> ViewMut<'a> {
    /// `rows` rows of `cols` neighbouring values of `data`; each begins `row_stride` values after the one before it.
    ///
    /// # Panics
    /// When `data` is too short or rows would overlap.
    pub(super) fn new(data: &'a mut [f32], (rows, cols): (usize, usize), row_stride: usize) -> Self {
        assert!(holds(data.len(), (rows, cols), row_stride), "a view must lie inside its data");
        assert!(row_stride >= cols, "rows that are written must not overlap");
        Self { data, firsts: Firsts::Every(row_stride), rows, cols }
    }

    /// Rows of `cols` neighbouring values of `data`, which begin at `firsts`, all at different places.
    ///
    /// # Panics
    /// When `data` is too short.
    pub(super) fn listed(data: &'a mut [f32], firsts: &'a [usize], cols: usize) -> Self {
        assert!(firsts.iter().all(|first| first + cols <= data.len()), "a view must lie inside its data");
        Self { data, firsts: Firsts::Listed(firsts), rows: firsts.len(), cols }
    }

    fn row(&mut self, row: usize) -> &mut [f32] {
        &mut self.data[self.firsts.of(row)..][..self.cols]
    }
}

/// Whether the last cell of such a matrix is among `len` values.
fn holds(len: usize, (rows, cols): (usize, usize), row_stride: usize) -> bool {
    rows == 0 || cols == 0 || (rows - 1) * row_stride + cols <= len
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(super) enum Start<'a> {
    /// What the output is.
    Output,
    /// The same row for each of its rows; what the output was is forgotten.
    Row(&'a [f32]),
}

impl<'a> Start<'a> {
    /// That row from a column on.
    fn from(self, first: usize) -> Option<&'a [f32]> {
        match self {
            Self::Output => None,
            Self::Row(row) => Some(&row[first..]),
        }
    }

    /// Adds sums to this start, in the row of an output from column `first` on.
    fn add(self, sums: &[f32], (out, first): (&mut [f32], usize)) {
        if let Some(start) = self.from(first) {
            out.copy_from_slice(&start[..out.len()]);
        }
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
    }
}

/// out = start + a b.
///
/// # Panics
/// When the shapes do not fit.
pub(super) fn multiply(out: ViewMut<'_>, start: Start<'_>, (a, b): (View<'_>, View<'_>)) {
    assert!(a.cols() == b.rows() && out.cols == b.cols(), "shapes of a product must fit");
    Product { kernel: kernel::kernel(), a, b: Right::Plain(b) }.run(out, start);
}

/// out += a b.
///
/// # Panics
/// When the shapes do not fit.
pub(super) fn multiply_add(out: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    multiply(out, Start::Output, (a, b));
}

/// A right operand in the order in which kernels read it: for one that many small products share.
pub(super) struct Packed {
    values: Buffer,
    rows: usize,
    cols: usize,
    /// Columns of a panel.
    width: usize,
    /// Rows that products may have.
    most_rows: usize,
}

impl Packed {
    /// b in that order, for products with an `a` of at most `rows` rows.
    pub(super) fn new(b: View<'_>, rows: usize) -> Self {
        Self::by(kernel::kernel(), b, rows)
    }

    fn by(kernel: &Kernel, b: View<'_>, rows: usize) -> Self {
        // Where there are more rows than in a tile there may be any number.
        let most_rows = if rows < kernel.rows() { rows } else { usize::MAX };
        let (width, whole) = (kernel.cols(rows.clamp(1, kernel.rows())), b.cols().next_multiple_of(kernel.lanes));
        let mut values = Buffer::any(b.rows() * whole);
        for depth in even_blocks(b.rows(), DEPTH) {
            let block = &mut values[depth.start * whole..depth.end * whole];
            pack((b, &depth, &(0..b.cols())), (width, kernel.lanes), block);
        }
        Self { values, rows: b.rows(), cols: b.cols(), width, most_rows }
    }

    /// out = start + a b.
    ///
    /// # Panics
    /// When the shapes do not fit, or there are more rows than the packing was for.
    pub(super) fn multiply(&self, out: ViewMut<'_>, start: Start<'_>, a: View<'_>) {
        assert!(a.cols() == self.rows && out.cols == self.cols, "shapes of a product must fit");
        assert!(a.rows() <= self.most_rows, "a product must not have more rows than were announced");
        Product { kernel: kernel::kernel(), a, b: Right::Packed(self) }.run(out, start);
    }
}

/// The right operand of a product.
#[derive(Clone, Copy)]
enum Right<'a> {
    Plain(View<'a>),
    Packed(&'a Packed),
}

/// a b on some kernel.
struct Product<'a> {
    kernel: &'static Kernel,
    a: View<'a>,
    b: Right<'a>,
}

/// Buffers that the products of a thread share.
#[derive(Default)]
struct Scratch {
    /// A block of b, packed.
    b: Vec<f32>,
    /// Turned rows of a.
    a: Vec<f32>,
    /// A tile that reaches over the edge of the output.
    edge: Vec<f32>,
    /// Whether panels were read from the last to the first.
    reversed: bool,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Product<'_> {
    fn run(&self, mut out: ViewMut<'_>, start: Start<'_>) {
        if let (0, Start::Row(row)) = (self.a.cols(), start) {
            (0..out.rows).for_each(|at| out.row(at).copy_from_slice(row));
        }
        assert!(out.rows == self.a.rows(), "shapes of a product must fit");
        if out.rows == 0 || out.cols == 0 {
            return;
        }
        // A packed b is in order as a whole; of a plain one, a block at a time is brought into order.
        let size = if matches!(self.b, Right::Packed(_)) { out.cols } else { COLS };
        SCRATCH.with_borrow_mut(|scratch| {
            for depth in even_blocks(self.a.cols(), DEPTH) {
                let start = if depth.start == 0 { start } else { Start::Output };
                for cols in blocks(out.cols, size) {
                    self.block(&mut out, (start, &depth, &cols), scratch);
                }
            }
        });
    }

    /// The part of the product over some k, in some columns.
    fn block(
        &self,
        out: &mut ViewMut<'_>,
        (start, depth, cols): (Start<'_>, &Range<usize>, &Range<usize>),
        Scratch { a: turned, b: packed, edge, reversed }: &mut Scratch,
    ) {
        let (kernel, lanes) = (self.kernel, self.kernel.lanes);
        let panels = self.panels((depth, cols, out.rows), packed);
        let (mut a_rows, mut out_rows) = ([0; MOST_ROWS], [0; MOST_ROWS]);
        for rows in even_blocks(out.rows, kernel.rows()) {
            let count = rows.len();
            let (a, a_step) = self.rows((&rows, depth), &mut a_rows, turned);
            let a_rows = &a_rows[..count];
            *reversed = !*reversed;
            for panel in there_or_back(cols.len().div_ceil(panels.width), *reversed) {
                let first = cols.start + panel * panels.width;
                let width = panels.width.min(cols.end - first);
                let whole = width.next_multiple_of(lanes);
                let (b, b_step) = panels.of(first - cols.start, (depth.len(), whole));
                let tile = Tile { depth: depth.len(), a, a_rows, a_step, b, b_step, start: start.from(first) };
                if width == whole {
                    rows.clone().enumerate().for_each(|(at, row)| out_rows[at] = out.firsts.of(row) + first);
                    kernel.run(&tile, whole, (out.data, &out_rows[..count]));
                } else {
                    let sums = edge_sums(kernel, &tile, whole, edge);
                    let sums = rows.clone().zip(sums.chunks_exact(whole));
                    sums.for_each(|(row, sums)| start.add(sums, (&mut out.row(row)[first..first + width], first)));
                }
            }
        }
    }

    /// Where some rows of a begin, from the first k of `depth` on, in what is given back with the step from k to k.
    fn rows<'s>(
        &'s self,
        (rows, depth): (&Range<usize>, &Range<usize>),
        firsts: &mut [usize; MOST_ROWS],
        turned: &'s mut Vec<f32>,
    ) -> (&'s [f32], usize) {
        if !self.a.turned {
            for (place, row) in rows.clone().enumerate() {
                firsts[place] = self.a.firsts.of(row) + depth.start;
            }
            return (self.a.data, 1);
        }
        turned.resize(depth.len() * rows.len(), 0.0);
        if rows.len() == 8 {
            let lines = depth.clone().map(|k| self.a.line(k, rows).first_chunk().expect("eight values"));
            turned.as_chunks_mut::<8>().0.iter_mut().zip(lines).for_each(|(cells, line)| *cells = *line);
        } else {
            let cells = turned.chunks_exact_mut(rows.len());
            cells.zip(depth.clone()).for_each(|(cells, k)| cells.copy_from_slice(self.a.line(k, rows)));
        }
        (0..rows.len()).for_each(|place| firsts[place] = place);
        (turned, rows.len())
    }

    /// The columns `cols` of b over `depth`, in panels. Where only few rows read them they stay where they are.
    fn panels<'s>(
        &'s self,
        (depth, cols, rows): (&Range<usize>, &Range<usize>, usize),
        packed: &'s mut Vec<f32>,
    ) -> Panels<'s> {
        let lanes = self.kernel.lanes;
        let width = self.kernel.cols(even_blocks(rows, self.kernel.rows()).map(|rows| rows.len()).max().unwrap_or(1));
        match self.b {
            Right::Packed(b) => {
                let whole = b.cols.next_multiple_of(lanes);
                Panels { values: &b.values[depth.start * whole..], stride: None, width: b.width }
            }
            Right::Plain(View { data, firsts: Firsts::Every(stride), turned: false, .. })
                if rows <= self.kernel.rows() && cols.len().is_multiple_of(lanes) =>
            {
                Panels { values: &data[depth.start * stride + cols.start..], stride: Some(stride), width }
            }
            Right::Plain(b) => {
                packed.resize(depth.len() * cols.len().next_multiple_of(lanes), 0.0);
                pack((b, depth, cols), (width, lanes), packed);
                Panels { values: packed, stride: None, width }
            }
        }
    }
}

/// The sums of a tile that reaches over the edge of the output, `[rows x whole]`.
fn edge_sums<'e>(kernel: &Kernel, tile: &Tile<'_>, whole: usize, edge: &'e mut Vec<f32>) -> &'e [f32] {
    let firsts: [usize; MOST_ROWS] = std::array::from_fn(|row| row * whole);
    edge.clear();
    edge.resize(tile.a_rows.len() * whole, 0.0);
    kernel.run(&Tile { start: None, ..*tile }, whole, (edge, &firsts[..tile.a_rows.len()]));
    edge
}

/// More rows than any kernel has.
const MOST_ROWS: usize = 16;

/// A block of b.
struct Panels<'a> {
    values: &'a [f32],
    /// From row to row, where b lies as it was; else its panels lie one after another.
    stride: Option<usize>,
    /// Columns of a panel, of which the last may have fewer.
    width: usize,
}

impl Panels<'_> {
    /// The panel that begins at column `first` of the block and has `width` columns, and its row stride.
    fn of(&self, first: usize, (depth, width): (usize, usize)) -> (&[f32], usize) {
        match self.stride {
            None => (&self.values[first * depth..], width),
            Some(stride) => (&self.values[first..], stride),
        }
    }
}

/// `0..count`, or the same from its end on: what was read last is still in the caches when it comes first the next time.
fn there_or_back(count: usize, reversed: bool) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| if reversed { count - 1 - at } else { at })
}

/// The panels of part of b: for each its rows one after another, the last panel filled up with zeros.
fn pack(
    (b, depth, cols): (View<'_>, &Range<usize>, &Range<usize>),
    (width, lanes): (usize, usize),
    packed: &mut [f32],
) {
    let mut rest = packed;
    for first in cols.clone().step_by(width) {
        let panel = first..cols.end.min(first + width);
        let whole = panel.len().next_multiple_of(lanes);
        let cells;
        (cells, rest) = rest.split_at_mut(depth.len() * whole);
        if b.turned {
            pack_turned(b, (depth, &panel), (cells, whole));
        } else {
            cells.chunks_exact_mut(whole).zip(depth.clone()).for_each(|(cells, k)| copy(b.line(k, &panel), cells));
        }
    }
}

/// Copies a few values, and fills up with zeros.
fn copy(from: &[f32], to: &mut [f32]) {
    let ((from_blocks, from), (to_blocks, to)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
    let (whole, last) = to_blocks.split_at_mut(from_blocks.len());
    whole.iter_mut().zip(from_blocks).for_each(|(to, from)| *to = *from);
    for (at, to) in last.as_flattened_mut().iter_mut().chain(to).enumerate() {
        *to = from.get(at).copied().unwrap_or(0.0);
    }
}

/// One panel of a b whose columns are lines.
fn pack_turned(b: View<'_>, (depth, panel): (&Range<usize>, &Range<usize>), (cells, whole): (&mut [f32], usize)) {
    for place in panel.len()..whole {
        cells[place..].iter_mut().step_by(whole).for_each(|cell| *cell = 0.0);
    }
    for (place, col) in panel.clone().enumerate() {
        let column = cells[place..].iter_mut().step_by(whole);
        column.zip(b.line(col, depth)).for_each(|(cell, &value)| *cell = value);
    }
}

/// `0..count` in parts of `size`, the last one perhaps smaller.
fn blocks(count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(size).map(move |first| first..count.min(first + size))
}

/// `0..count` in as few parts of at most `size` as there can be, all of about one size.
fn even_blocks(count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = count.div_ceil(size);
    (0..parts).map(move |part| count * part / parts..count * (part + 1) / parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn draw(random: &mut Random, count: usize) -> Vec<f32> {
        (0..count).map(|_| random.normal()).collect()
    }

    /// sum_k a[i, k] b[k, j], cell by cell.
    fn slow(start: &[f32], a: View<'_>, b: View<'_>) -> Vec<f32> {
        let cell = |m: View<'_>, row: usize, col: usize| {
            let (line, at) = if m.turned { (col, row) } else { (row, col) };
            f64::from(m.line(line, &(at..at + 1))[0])
        };
        (0..a.rows() * b.cols())
            .map(|at| {
                let (row, col) = (at / b.cols(), at % b.cols());
                let sum: f64 = (0..a.cols()).map(|k| cell(a, row, k) * cell(b, k, col)).sum();
                (f64::from(start[at]) + sum) as f32
            })
            .collect()
    }

    const SHAPES: [(usize, usize, usize); 12] = [
        (1, 1, 1),
        (1, 9, 5),
        (7, 1, 3),
        (5, 6, 2),
        (33, 40, 65),
        (130, 17, 300),
        (3, 200, 64),
        (8, 96, 256),
        (9, 48, 257),
        (2, 400, 600),
        (20, 385, 7),
        (4, 64, 10),
    ];

    #[test]
    fn products_of_any_layout_equal_the_sum_of_cells_on_every_kernel() {
        let mut random = Random::new(1);
        for ((m, n, k), kernel) in SHAPES.into_iter().flat_map(|s| kernel::kernels().into_iter().map(move |k| (s, k))) {
            let (a, b) = (draw(&mut random, m * k), draw(&mut random, n * k));
            let firsts: Vec<usize> = (0..m).map(|row| (row * 7 + 3) % m * k).collect();
            let straight = (View::new(&a, (m, k), k), View::new(&b, (k, n), n));
            let turned = (View::new(&a, (k, m), m).transposed(), View::new(&b, (n, k), k).transposed());
            let overlapping = View::new(&a[..(m - 1) + k], (m, k), 1);
            let listed = View::listed(&a, &firsts, k);
            for (left, right) in [
                straight,
                turned,
                (straight.0, turned.1),
                (turned.0, straight.1),
                (overlapping, straight.1),
                (listed, straight.1),
            ] {
                let (before, bias) = (draw(&mut random, m * n), draw(&mut random, n));
                let packed = Packed::by(kernel, right, m);
                for (right_operand, start) in [Right::Plain(right), Right::Packed(&packed)]
                    .into_iter()
                    .flat_map(|right| [Start::Output, Start::Row(&bias)].map(|start| (right, start)))
                {
                    let mut out = before.clone();
                    let product = Product { kernel, a: left, b: right_operand };
                    product.run(ViewMut::new(&mut out, (m, n), n), start);
                    let start = if matches!(start, Start::Row(_)) { bias.repeat(m) } else { before.clone() };
                    for (found, expected) in out.iter().zip(slow(&start, left, right)) {
                        assert!((found - expected).abs() < 2e-4, "{m} {n} {k}: {found} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_whatever_is_beside_it_and_on_every_processor_that_fuses() {
        let mut random = Random::new(2);
        let (rows, cols, depth) = (21, 70, 300);
        let (a, b) = (draw(&mut random, rows * depth), draw(&mut random, depth * cols));
        let product = |kernel, rows: Range<usize>| {
            let mut out = vec![0.0; rows.len() * cols];
            let (a, count) = (&a[rows.start * depth..rows.end * depth], rows.len());
            let b = Right::Plain(View::new(&b, (depth, cols), cols));
            let product = Product { kernel, a: View::new(a, (count, depth), depth), b };
            product.run(ViewMut::new(&mut out, (count, cols), cols), Start::Output);
            out
        };
        let all = product(kernel::kernel(), 0..rows);
        for kernel in kernel::kernels().into_iter().filter(|kernel| kernel.fuses() == kernel::kernel().fuses()) {
            for first in 0..rows {
                for last in first + 1..=rows {
                    assert_eq!(product(kernel, first..last), all[first * cols..last * cols], "{first} {last}");
                }
            }
        }
    }

    #[test]
    fn rows_are_written_where_they_are_listed() {
        let (a, b) = ([1.0, 2.0, 3.0], [1.0, 10.0]);
        let mut out = [0.0; 7];
        let view = ViewMut::listed(&mut out, &[5, 0, 2], 2);
        multiply_add(view, View::new(&a, (3, 1), 1), View::new(&b, (1, 2), 2));
        assert_eq!(out, [2.0, 20.0, 3.0, 30.0, 0.0, 1.0, 10.0]);
    }

    #[test]
    fn nothing_to_sum_leaves_the_start() {
        let mut out = [7.0; 4];
        multiply_add(ViewMut::new(&mut out, (2, 2), 2), View::new(&[], (2, 0), 0), View::new(&[], (0, 2), 2));
        assert_eq!(out, [7.0; 4]);
        let (a, b) = (View::new(&[], (2, 0), 0), View::new(&[], (0, 2), 2));
        multiply(ViewMut::new(&mut out, (2, 2), 2), Start::Row(&[1.0, 2.0]), (a, b));
        assert_eq!(out, [1.0, 2.0, 1.0, 2.0]);
    }

    #[test]
    #[should_panic(expected = "inside its data")]
    fn a_view_beyond_its_data_is_refused() {
        View::new(&[0.0; 11], (3, 4), 4);
    }

    #[test]
    #[should_panic(expected = "inside its data")]
    fn a_listed_row_beyond_its_data_is_refused() {
        View::listed(&[0.0; 11], &[0, 8], 4);
    }

    #[test]
    #[should_panic(expected = "must not overlap")]
    fn overlapping_rows_are_not_written() {
        ViewMut::new(&mut [0.0; 12], (3, 4), 3);
    }

    #[test]
    #[should_panic(expected = "must fit")]
    fn shapes_that_do_not_fit_are_refused() {
        let mut out = [0.0; 12];
        multiply_add(
            ViewMut::new(&mut out, (3, 4), 4),
            View::new(&[0.0; 6], (3, 2), 2),
            View::new(&[0.0; 12], (3, 4), 4),
        );
    }
}
