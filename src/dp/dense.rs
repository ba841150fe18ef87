//! The inner loops over numbers: what one frame of a full matrix of arcs costs is decided here.
//!
//! Each loop is written once, in plain Rust, and compiled twice: for any processor, and for AVX2 with FMA, which is taken
//! where the processor has both. Maxima are the same bit for bit; sums differ in the last bits, as rounding does.

use std::f64::consts::LOG2_E;

/// Columns whose sums are held in registers while the rows go by.
const PANEL: usize = 48;

/// Columns are filled up to a multiple of this: a whole number of vectors.
const LANES: usize = 8;

/// A square matrix `[S x S]`, cut into panels of [`PANEL`] columns; each panel lies row after row in memory.
#[derive(Debug, Clone)]
pub(super) struct Panels<T> {
    side: usize,
    cells: Vec<T>,
}

impl<T: Copy> Panels<T> {
    /// `side` rows and columns of `empty`; so are the columns that fill up the last panel.
    pub(super) fn new(side: usize, empty: T) -> Self {
        Self { side, cells: vec![empty; side * padded(side)] }
    }

    /// Puts each value into column `to`, at its row.
    pub(super) fn set_column(&mut self, to: usize, values: impl Iterator<Item = (usize, T)>) {
        let (first, width) = self.column(to);
        values.for_each(|(from, value)| self.cells[first + from * width] = value);
    }

    /// The cell of row `from` and column `to`.
    pub(super) fn at(&self, from: usize, to: usize) -> T {
        let (first, width) = self.column(to);
        self.cells[first + from * width]
    }

    /// Where column `to` begins in memory, and how far apart its cells are.
    fn column(&self, to: usize) -> (usize, usize) {
        let panel = to / PANEL * PANEL;
        (panel * self.side + to - panel, PANEL.min(padded(self.side) - panel))
    }

    /// Cells of one panel; the last one may have less.
    fn panel_len(&self) -> usize {
        (self.side * PANEL).max(1)
    }
}

/// `side` filled up to whole vectors.
pub(super) fn padded(side: usize) -> usize {
    side.next_multiple_of(LANES)
}

/// Calls `$kernel` with the width of a panel as a constant.
macro_rules! by_width {
    ($width:expr, $kernel:ident($($argument:expr),*)) => {
        match $width {
            8 => $kernel::<8, _>($($argument),*),
            16 => $kernel::<16, _>($($argument),*),
            24 => $kernel::<24, _>($($argument),*),
            32 => $kernel::<32, _>($($argument),*),
            40 => $kernel::<40, _>($($argument),*),
            _ => $kernel::<PANEL, _>($($argument),*),
        }
    };
}

/// `row[s] = fold over r of join(so far, previous[r], matrix[r, s])`, beginning with `empty`.
#[inline(always)]
fn fold_rows<T: Copy>(matrix: &Panels<T>, previous: &[T], row: &mut [T], (empty, join): (T, impl Fn(T, T, T) -> T)) {
    for (panel, row) in matrix.cells.chunks(matrix.panel_len()).zip(row.chunks_mut(PANEL)) {
        by_width!(panel.len() / matrix.side, fold_panel(panel, previous, row, (empty, &join)))
    }
}

#[inline(always)]
fn fold_panel<const WIDTH: usize, T: Copy>(
    panel: &[T],
    previous: &[T],
    row: &mut [T],
    (empty, join): (T, &impl Fn(T, T, T) -> T),
) {
    let mut folded = [empty; WIDTH];
    for (cells, &x) in panel.as_chunks::<WIDTH>().0.iter().zip(previous) {
        // A new array and not the old one changed: only so are maxima made into vectors.
        let mut next = [empty; WIDTH];
        for lane in 0..WIDTH {
            next[lane] = join(folded[lane], x, cells[lane]);
        }
        folded = next;
    }
    row.copy_from_slice(&folded[..row.len()]);
}

/// a * b + c, rounded once where the processor can.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn max_plus_loop<const FUSED: bool>(matrix: &Panels<f32>, previous: &[f32], row: &mut [f32]) {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    fold_rows(matrix, previous, row, (f32::NEG_INFINITY, |best, x, cell| larger(best, x + cell)));
}

#[inline(always)]
fn sum_product_loop<const FUSED: bool>(matrix: &Panels<f64>, previous: &[f64], row: &mut [f64]) {
    fold_rows(matrix, previous, row, (0.0, |sum, x, cell| multiply_add::<FUSED>(x, cell, sum)));
}

#[inline(always)]
fn add_products_loop<const FUSED: bool>(matrix: &mut Panels<f64>, left: &[f64], right: &[f64]) {
    let (side, stride, panel_len) = (matrix.side, padded(matrix.side), matrix.panel_len());
    for (panel, first) in matrix.cells.chunks_mut(panel_len).zip((0..).step_by(PANEL)) {
        let add = multiply_add::<FUSED>;
        by_width!(panel.len() / side, add_panel((panel, first), (left, right), stride, add))
    }
}

#[inline(always)]
fn add_panel<const WIDTH: usize, F: Fn(f64, f64, f64) -> f64>(
    (panel, first): (&mut [f64], usize),
    (left, right): (&[f64], &[f64]),
    stride: usize,
    add: F,
) {
    for (r, cells) in panel.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
        let mut sums = *cells;
        for (left, right) in left.chunks_exact(stride).zip(right.chunks_exact(stride)) {
            let (x, right) = (left[r], &right[first..first + WIDTH]);
            for (sum, &y) in sums.iter_mut().zip(right) {
                *sum = add(x, y, *sum);
            }
        }
        *cells = sums;
    }
}

/// ln 2 in two parts: a whole number of up to 11 bits times the first is exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// Under this the exponential function is taken as 0: it would be under 4e-308, where `f64` loses its digits.
const LOWEST: f64 = -708.0;

#[inline(always)]
fn exp_loop<const FUSED: bool>(values: &mut [f64]) {
    values.iter_mut().for_each(|x| *x = exp_of::<FUSED>(*x));
}

/// x = n ln 2 + r with |r| <= ln 2 / 2: exp(x) = 2^n sum_k r^k / k!; what follows r^12 is under 2e-16 of the sum.
#[inline(always)]
fn exp_of<const FUSED: bool>(x: f64) -> f64 {
    const FACTORIALS: [f64; 13] =
        [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0, 39916800.0, 479001600.0];
    // Added to n, it pushes the fraction out and leaves n in the lowest bits.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    let add = multiply_add::<FUSED>;
    let shifted = add(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = add(n, -LN_2[1], add(n, -LN_2[0], x));
    let sum = FACTORIALS.iter().rev().fold(0.0, |sum, factorial| add(sum, r, 1.0 / factorial));
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1f64.to_bits()));
    if x < LOWEST { 0.0 } else { sum * power }
}

#[inline(always)]
fn ln_loop<const FUSED: bool>(values: &mut [f64]) {
    values.iter_mut().for_each(|x| *x = ln_of::<FUSED>(*x));
}

/// x = 2^k m with m between sqrt(1/2) and sqrt(2), s = (m - 1) / (m + 1): ln(x) = k ln 2 + 2 s sum_j s^2j / (2j + 1); what
/// follows s^20 is under 1e-18 of the sum.
#[inline(always)]
fn ln_of<const FUSED: bool>(x: f64) -> f64 {
    const ODD: [f64; 11] = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0];
    const LEAST: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const FRACTION: u64 = (1 << 52) - 1;
    const WHOLE: f64 = (1u64 << 52) as f64;
    let add = multiply_add::<FUSED>;
    let above = x.to_bits().wrapping_add(1f64.to_bits() - LEAST);
    let k = f64::from_bits(WHOLE.to_bits() | above >> 52) - (WHOLE + 1023.0);
    let m = f64::from_bits((above & FRACTION) + LEAST);
    let s = (m - 1.0) / (m + 1.0);
    let sum = ODD.iter().rev().fold(0.0, |sum, odd| add(sum, s * s, 1.0 / odd));
    add(k, LN_2[0], add(k, LN_2[1], 2.0 * s * sum))
}

/// The function `$name`: the loop `$kernel` as it was compiled for the processor at hand.
macro_rules! compiled_twice {
    ($(#[$doc:meta])* $name:ident = $kernel:ident($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[allow(unsafe_code)] // One of the three files that may; see the SAFETY line.
        pub(super) fn $name($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($argument: $type),*) {
                    $kernel::<true>($($argument),*)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: all that `wide` assumes is that the processor has AVX2 and FMA, which was just asked.
                    return unsafe { wide($($argument),*) };
                }
            }
            $kernel::<false>($($argument),*)
        }
    };
}

compiled_twice!(
    /// `row[s] = max_r (previous[r] + matrix[r, s])`.
    max_plus = max_plus_loop(matrix: &Panels<f32>, previous: &[f32], row: &mut [f32])
);
compiled_twice!(
    /// `row[s] = sum_r previous[r] * matrix[r, s]`.
    sum_product = sum_product_loop(matrix: &Panels<f64>, previous: &[f64], row: &mut [f64])
);
compiled_twice!(
    /// `matrix[r, s] += sum_k left[k, r] * right[k, s]`; both sides `[K x padded(S)]`.
    add_products = add_products_loop(matrix: &mut Panels<f64>, left: &[f64], right: &[f64])
);
compiled_twice!(
    /// `values[i] = exp(values[i])` to 1e-15 of it, 0 under -708; no value may exceed 709.
    exp = exp_loop(values: &mut [f64])
);
compiled_twice!(
    /// `values[i] = ln(values[i])` to 1e-15 of it; less than -700 for 0 and for numbers so small that they have lost digits.
    ln = ln_loop(values: &mut [f64])
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn near(found: f64, expected: f64, tolerance: f64) -> bool {
        (found - expected).abs() <= tolerance * expected.abs()
    }

    #[test]
    fn exponentials_are_those_of_the_standard_library() {
        let mut random = Random::new(1);
        let mut values: Vec<f64> = (-7080..=7090).map(|tenth| f64::from(tenth) / 10.0).collect();
        values.extend((0..20_000).map(|_| f64::from(random.uniform() * 1417.0 - 708.0)));
        values.extend((0..20_000).map(|_| f64::from(random.normal())));
        values.extend((0..300).flat_map(|k| [2f64.powi(-k), -2f64.powi(-k)]));
        let (mut wide, mut plain) = (values.clone(), values.clone());
        exp(&mut wide);
        exp_loop::<false>(&mut plain);
        for ((&x, &wide), &plain) in values.iter().zip(&wide).zip(&plain) {
            assert!(near(wide, x.exp(), 1e-15) && near(plain, x.exp(), 1e-15), "{x} {wide} {plain} {}", x.exp());
        }
        let mut edges = [f64::NEG_INFINITY, -1e300, -1e30, -709.0, -708.1, 0.0, -0.0];
        exp(&mut edges);
        assert_eq!(edges, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        let mut random = Random::new(2);
        let mut values: Vec<f64> = (0..20_000).map(|_| f64::from(random.uniform() * 1417.0 - 707.0).exp()).collect();
        values.extend((0..20_000).map(|_| f64::from(random.uniform()) * 4.0 + 1e-9));
        values.extend((1..50).flat_map(|k| [1.0 + 2f64.powi(-k), 1.0 - 2f64.powi(-k)]));
        values.extend((-1000..1000).map(|k| 2f64.powi(k)));
        values.extend([1.0, f64::MIN_POSITIVE, f64::MAX]);
        let (mut wide, mut plain) = (values.clone(), values.clone());
        ln(&mut wide);
        ln_loop::<false>(&mut plain);
        for ((&x, &wide), &plain) in values.iter().zip(&wide).zip(&plain) {
            assert!(near(wide, x.ln(), 1e-15) && near(plain, x.ln(), 1e-15), "{x} {wide} {plain} {}", x.ln());
        }
        let mut tiny = [0.0, 5e-324, 1e-310];
        ln(&mut tiny);
        assert!(tiny.iter().all(|&x| x < -700.0), "{tiny:?}");
    }

    const SIDES: [usize; 14] = [0, 1, 2, 7, 8, 9, 16, 17, 23, 24, 25, 48, 71, 100];

    /// A random matrix, cell by cell and in panels; a third of the cells and of the row are `empty`.
    fn problem<T: Copy>(side: usize, random: &mut Random, empty: T, draw: fn(&mut Random) -> T) -> (Vec<T>, Panels<T>) {
        let cell = |random: &mut Random| if random.below(3) == 0 { empty } else { draw(random) };
        let cells: Vec<T> = (0..side * side).map(|_| cell(random)).collect();
        let mut panels = Panels::new(side, empty);
        (0..side).for_each(|to| panels.set_column(to, (0..side).map(|from| (from, cells[from * side + to]))));
        (cells, panels)
    }

    #[test]
    fn maxima_are_the_same_bit_for_bit() {
        let mut random = Random::new(3);
        for side in SIDES {
            // Few different numbers: many of the sums are equal.
            let draw = |random: &mut Random| random.below(4) as f32 * -0.7;
            let (cells, panels) = problem(side, &mut random, f32::NEG_INFINITY, draw);
            let previous: Vec<f32> = (0..side).map(|_| draw(&mut random)).collect();
            let (mut wide, mut plain) = (vec![9.0; side], vec![9.0; side]);
            max_plus(&panels, &previous, &mut wide);
            max_plus_loop::<false>(&panels, &previous, &mut plain);
            for to in 0..side {
                let best =
                    (0..side).map(|from| previous[from] + cells[from * side + to]).fold(f32::NEG_INFINITY, f32::max);
                assert_eq!([wide[to].to_bits(), plain[to].to_bits()], [best.to_bits(); 2]);
            }
        }
    }

    #[test]
    fn products_are_sums_over_cells() {
        let mut random = Random::new(4);
        let draw = |random: &mut Random| f64::from(random.uniform());
        for side in SIDES {
            let (cells, mut panels) = problem(side, &mut random, 0.0, draw);
            let previous: Vec<f64> = (0..side).map(|_| draw(&mut random)).collect();
            let (mut wide, mut plain) = (vec![9.0; side], vec![9.0; side]);
            sum_product(&panels, &previous, &mut wide);
            sum_product_loop::<false>(&panels, &previous, &mut plain);
            for to in 0..side {
                let sum = (0..side).map(|from| previous[from] * cells[from * side + to]).sum();
                assert!(near(wide[to], sum, 1e-14) && near(plain[to], sum, 1e-14), "{side} {to} {sum}");
            }
            let mut three_frames = || (0..3 * padded(side)).map(|_| draw(&mut random)).collect::<Vec<f64>>();
            let (left, right, mut also) = (three_frames(), three_frames(), panels.clone());
            add_products(&mut panels, &left, &right);
            add_products_loop::<false>(&mut also, &left, &right);
            let at = |side_of: &[f64], frame: usize, state: usize| side_of[frame * padded(side) + state];
            for (from, to) in (0..side).flat_map(|from| (0..side).map(move |to| (from, to))) {
                let sum = cells[from * side + to] + (0..3).map(|k| at(&left, k, from) * at(&right, k, to)).sum::<f64>();
                assert!(near(panels.at(from, to), sum, 1e-14) && near(also.at(from, to), sum, 1e-14));
            }
        }
    }
}
