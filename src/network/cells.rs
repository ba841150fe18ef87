//! What the cells of an LSTM layer do at one step, forward and backward: loops over neighbouring cells, without branches, which
//! the compiler turns into each processor's vectors.

use super::gemm::{Loop, fused};

/// One step of some lanes, from z, in place:
///
/// ```text
/// i, f, g, o = sigmoid(z_i), sigmoid(z_f), tanh(z_g), sigmoid(z_o)
/// c[t] = f c[t-1] + i g      h[t] = o tanh(c[t])
/// ```
pub(super) struct Advance<'a> {
    /// Cells of a lane, H.
    pub(super) width: usize,
    /// z `[lanes x 4 H]`, which become the gates i, f, g, o.
    pub(super) gates: &'a mut [f32],
    /// c[t-1], which become c[t] `[lanes x H]`.
    pub(super) cells: &'a mut [f32],
    /// Where h[t] goes: that of each lane begins at its place.
    pub(super) output: (&'a mut [f32], &'a [usize]),
}

impl Loop for Advance<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (output, firsts) = self.output;
        let lanes = self.gates.chunks_exact_mut(4 * self.width).zip(self.cells.chunks_exact_mut(self.width));
        for ((gates, cells), &first) in lanes.zip(firsts) {
            advance::<FUSED>(gates, cells, &mut output[first..first + self.width]);
        }
    }
}

// No loop here or below writes one part of the gates and reads another: the compiler would not know that they are apart, and
// would take one value at a time.

#[inline(always)]
fn advance<const FUSED: bool>(gates: &mut [f32], c: &mut [f32], h: &mut [f32]) {
    let n = c.len();
    gates[..2 * n].iter_mut().for_each(|z| *z = sigmoid::<FUSED>(*z));
    gates[2 * n..3 * n].iter_mut().for_each(|z| *z = tanh::<FUSED>(*z));
    gates[3 * n..].iter_mut().for_each(|z| *z = sigmoid::<FUSED>(*z));
    let (i, f, g, o) = (&gates[..n], &gates[n..2 * n], &gates[2 * n..3 * n], &gates[3 * n..4 * n]);
    for at in 0..n {
        c[at] = fused::<FUSED>(f[at], c[at], i[at] * g[at]);
    }
    for ((h, &o), &c) in h.iter_mut().zip(o).zip(&*c) {
        *h = o * tanh::<FUSED>(c);
    }
}

/// The backward of [`Advance`] (back-propagation through time, Werbos 1990), in place:
///
/// ```text
/// dc[t] = f[t+1] dc[t+1] + dh o (1 - tanh(c)^2)      dz_o = dh tanh(c) o (1 - o)
/// dz_i = dc g i (1 - i)      dz_f = dc c[t-1] f (1 - f)      dz_g = dc i (1 - g^2)
/// ```
pub(super) struct Retreat<'a> {
    /// Cells of a lane, H.
    pub(super) width: usize,
    /// The gates i, f, g, o `[lanes x 4 H]`, which become dL/dz.
    pub(super) gates: &'a mut [f32],
    /// c[t] `[lanes x H]`.
    pub(super) cells: &'a [f32],
    /// c[t-1] of those lanes, the first ones, that do not begin here.
    pub(super) past: &'a [f32],
    /// dL/dh `[lanes x H]`.
    pub(super) by_output: &'a [f32],
    /// dL/dc by what follows, which becomes f dL/dc `[lanes x H]`.
    pub(super) by_cells: &'a mut [f32],
    /// Takes h[t] `[lanes x H]`, the same as in the forward.
    pub(super) output: &'a mut [f32],
    /// H zeros.
    pub(super) zeros: &'a [f32],
    /// Room for 2 H values.
    pub(super) spare: &'a mut [f32],
}

impl Loop for Retreat<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.width;
        let past = self.past.chunks_exact(width).chain(std::iter::repeat(self.zeros));
        let states = self.cells.chunks_exact(width).zip(past).zip(self.by_output.chunks_exact(width));
        let changed = self.gates.chunks_exact_mut(4 * width).zip(self.by_cells.chunks_exact_mut(width));
        for (((cells, past), by_output), ((gates, by_cells), output)) in
            states.zip(changed.zip(self.output.chunks_exact_mut(width)))
        {
            retreat::<FUSED>(gates, [cells, past, by_output], (by_cells, output, self.spare));
        }
    }
}

#[inline(always)]
fn retreat<const FUSED: bool>(
    gates: &mut [f32],
    [cells, past, by_h]: [&[f32]; 3],
    (by_c, h, spare): (&mut [f32], &mut [f32], &mut [f32]),
) {
    let n = cells.len();
    let (past, by_h, by_c, h) = (&past[..n], &by_h[..n], &mut by_c[..n], &mut h[..n]);
    let (old_i, old_g) = spare[..2 * n].split_at_mut(n);
    old_i.copy_from_slice(&gates[..n]);
    old_g.copy_from_slice(&gates[2 * n..3 * n]);

    let o = &mut gates[3 * n..4 * n];
    for at in 0..n {
        let top = tanh::<FUSED>(cells[at]);
        h[at] = o[at] * top;
        by_c[at] = fused::<FUSED>(by_h[at] * o[at], 1.0 - top * top, by_c[at]);
    }
    for at in 0..n {
        o[at] = by_h[at] * h[at] * (1.0 - o[at]);
    }
    let g = &mut gates[2 * n..3 * n];
    for at in 0..n {
        g[at] = by_c[at] * old_i[at] * (1.0 - g[at] * g[at]);
    }
    let i = &mut gates[..n];
    for at in 0..n {
        i[at] = by_c[at] * old_g[at] * (i[at] * (1.0 - i[at]));
    }
    let f = &mut gates[n..2 * n];
    for at in 0..n {
        let (by_cell, forget) = (by_c[at], f[at]);
        f[at] = by_cell * past[at] * (forget * (1.0 - forget));
        by_c[at] = by_cell * forget;
    }
}

/// 1 / (1 + exp(-x)), to a few units in the last place.
#[inline(always)]
fn sigmoid<const FUSED: bool>(x: f32) -> f32 {
    1.0 / (2.0 + exp_minus_one::<FUSED>(-x))
}

/// The hyperbolic tangent, to a few units in the last place: (e - 1) / (e + 1), e = exp(2 x).
#[inline(always)]
fn tanh<const FUSED: bool>(x: f32) -> f32 {
    let e = exp_minus_one::<FUSED>(2.0 * x);
    e / (2.0 + e)
}

/// exp(x) - 1 for x cut to plus or minus 64. NaN stays.
///
/// With x = n ln 2 + r, |r| <= ln 2 / 2, it is 2^n (exp(r) - 1) + (2^n - 1): exact near zero, where exp(x) itself is not.
#[inline(always)]
fn exp_minus_one<const FUSED: bool>(x: f32) -> f32 {
    /// Added and taken away again, it rounds to a whole number, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    /// ln 2 in two parts, the first with few bits so that n times it is exact.
    const LN_2: (f32, f32) = (355.0 / 512.0, -2.121_944_4e-4);
    let x = x.clamp(-64.0, 64.0);
    let shifted = fused::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fused::<FUSED>(-n, LN_2.1, fused::<FUSED>(-n, LN_2.0, x));
    // The exponential series to r^7 / 7!: what is left out is under 1e-8 of it.
    let mut sum = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0] {
        sum = fused::<FUSED>(sum, r, factor);
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    fused::<FUSED>(power, sum * r, power - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::gemm::vectorised;
    use crate::network::kernels::tests::draw;

    fn check_sigmoid_and_tanh<const FUSED: bool>() {
        let points = (-4000..=4000).flat_map(|step| [step as f32 * 5e-3, step as f32 * 1e-6, step as f32]);
        for x in points {
            let wide = f64::from(x);
            let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() <= 4e-7 * expected.abs() + 1e-27;
            let (sigmoid, tanh) = (sigmoid::<FUSED>(x), tanh::<FUSED>(x));
            assert!(near(sigmoid, 1.0 / (1.0 + (-wide).exp())), "{x}: {sigmoid}");
            assert!(near(tanh, wide.tanh()), "{x}: {tanh}");
        }
        let (sigmoid, tanh, infinite) = (sigmoid::<FUSED>, tanh::<FUSED>, f32::INFINITY);
        assert_eq!([sigmoid(infinite), tanh(infinite), tanh(-infinite)], [1.0, 1.0, -1.0]);
        assert!(sigmoid(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && sigmoid(-infinite) < 1e-27);
    }

    #[test]
    fn sigmoid_and_tanh_are_exact_to_a_few_units_in_the_last_place() {
        check_sigmoid_and_tanh::<true>();
        check_sigmoid_and_tanh::<false>();
    }

    /// Gates, cells and outputs after a step of two lanes, and what a step back makes of them.
    fn step_and_back(width: usize, run: impl Fn(Advance<'_>), back: impl Fn(Retreat<'_>)) -> Vec<f32> {
        let (mut gates, mut cells) = (draw(1, 8 * width), draw(2, 2 * width));
        let (past, by_output, zeros) = (draw(3, width), draw(4, 2 * width), vec![0.0; width]);
        let (mut y, mut by_cells) = (vec![0.0; 2 * width + 3], draw(5, 2 * width));
        let (mut output, mut spare) = (vec![0.0; 2 * width], vec![0.0; 2 * width]);
        run(Advance { width, gates: &mut gates, cells: &mut cells, output: (&mut y, &[width + 3, 0]) });
        let mut all = [&gates[..], &cells, &y].concat();
        back(Retreat {
            width,
            gates: &mut gates,
            cells: &cells,
            past: &past,
            by_output: &by_output,
            by_cells: &mut by_cells,
            output: &mut output,
            zeros: &zeros,
            spare: &mut spare,
        });
        assert!((0..width).all(|at| (output[at] - y[width + 3 + at]).abs() < 1e-6), "the same output once more");
        all.extend([gates, by_cells].concat());
        all
    }

    #[test]
    fn every_processor_does_the_same() {
        for width in [1, 7, 16, 33, 320] {
            let plain = step_and_back(width, |step| step.run::<false>(), |step| step.run::<false>());
            let fast = step_and_back(width, |step| vectorised(step), |step| vectorised(step));
            assert!(plain.iter().zip(&fast).all(|(a, b)| (a - b).abs() < 2e-6), "{width}");
            assert!(plain.iter().all(|value| value.is_finite()));
        }
    }
}
