//! The inner loops of Gaussian scoring, written so that the compiler turns them into vector instructions: many frames stand
//! side by side, and one Gaussian passes over them.

/// Frames scored together: four vector registers of the oldest x86-64.
pub(super) const LANES: usize = 16;

/// Up to [`LANES`] frames, transposed: row d holds dimension d of each.
pub(super) struct Block(Vec<[f32; LANES]>);

impl Block {
    pub(super) fn new(dim: usize) -> Self {
        Self(vec![[0.0; LANES]; dim])
    }

    /// Takes frames, row after row; lanes beyond them keep what they had.
    pub(super) fn load(&mut self, rows: &[f32]) {
        for (lane, row) in rows.chunks_exact(self.0.len()).enumerate() {
            for (column, value) in self.0.iter_mut().zip(row) {
                column[lane] = *value;
            }
        }
    }

    /// c + sum_d s_d (x_d - m_d)^2 for every frame.
    #[inline]
    pub(super) fn gaussian(&self, constant: f32, mean: &[f32], scale: &[f32]) -> [f32; LANES] {
        let mut sums = [constant; LANES];
        for ((column, &mean), &scale) in self.0.iter().zip(mean).zip(scale) {
            for (sum, x) in sums.iter_mut().zip(column) {
                let off = x - mean;
                *sum += off * off * scale;
            }
        }
        sums
    }
}

/// sum_d s_d (x_d - m_d)^2 of one frame, in eight partial sums.
pub(super) fn distance(frame: &[f32], mean: &[f32], scale: &[f32]) -> f32 {
    const WIDE: usize = 8;
    let term = |x: f32, mean: f32, scale: f32| (x - mean) * (x - mean) * scale;
    let (frames, means, scales) = (frame.chunks_exact(WIDE), mean.chunks_exact(WIDE), scale.chunks_exact(WIDE));
    let rest = frames.remainder().iter().zip(means.remainder()).zip(scales.remainder());
    let rest: f32 = rest.map(|((&x, &m), &s)| term(x, m, s)).sum();
    let mut sums = [0.0; WIDE];
    for ((x, m), s) in frames.zip(means).zip(scales) {
        (0..WIDE).for_each(|lane| sums[lane] += term(x[lane], m[lane], s[lane]));
    }
    sums.iter().sum::<f32>() + rest
}

/// log sum_g exp(s_g), lane by lane; `components` holds the rows s_g, at least one.
pub(super) fn log_sum_exp(components: &[[f32; LANES]]) -> [f32; LANES] {
    let mut best = [f32::NEG_INFINITY; LANES];
    for row in components {
        best.iter_mut().zip(row).for_each(|(best, value)| *best = best.max(*value));
    }
    let mut sums = [0.0; LANES];
    for row in components {
        sums.iter_mut().zip(row).zip(&best).for_each(|((sum, value), best)| *sum += exp(value - best));
    }
    sums.iter_mut().zip(&best).for_each(|(sum, best)| *sum = best + sum.ln());
    sums
}

/// exp(x) for x from minus infinity to 0, within 3e-7 of its value; below -87 it stays at about 1e-38.
///
/// 2^k times the Taylor series of exp on [-ln(2)/2, ln(2)/2]. Adding 1.5 * 2^23 rounds to a whole number, which then lies in
/// the low bits: no branch and no conversion, so a loop over it becomes vector instructions.
#[inline]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let scaled = (x * std::f32::consts::LOG2_E).max(-126.0);
    let rounded = scaled + ROUND;
    let r = (scaled - (rounded - ROUND)) * std::f32::consts::LN_2;
    let series = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0));
    let series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * series)));
    series * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_library() {
        for step in 0..=8700 {
            let x = -(step as f32) / 100.0;
            let (found, expected) = (exp(x), f64::from(x).exp());
            assert!(((f64::from(found) - expected) / expected).abs() < 1e-5, "{x} {found} {expected}");
            assert!((f64::from(found) - expected).abs() < 3e-7, "{x}");
        }
        assert!(exp(f32::NEG_INFINITY) < 2e-38);
    }

    #[test]
    fn log_sum_exp_of_impossible_is_impossible() {
        let rows = [[f32::NEG_INFINITY; LANES], [f32::NEG_INFINITY; LANES]];
        assert_eq!(log_sum_exp(&rows), rows[0]);
        let rows = [[f32::NEG_INFINITY; LANES], [-1000.0; LANES]];
        assert!((log_sum_exp(&rows)[3] + 1000.0).abs() < 1e-3);
    }

    #[test]
    fn one_frame_scores_as_it_does_in_a_block() {
        let dim = 11;
        let frame: Vec<f32> = (0..dim).map(|d| d as f32 * 0.3 - 1.0).collect();
        let mean: Vec<f32> = (0..dim).map(|d| 1.0 - d as f32 * 0.1).collect();
        let scale: Vec<f32> = (0..dim).map(|d| -0.5 / (0.5 + d as f32)).collect();
        let mut block = Block::new(dim);
        block.load(&frame.repeat(3));
        let expected: f32 = (0..dim).map(|d| scale[d] * (frame[d] - mean[d]).powi(2)).sum();
        assert!((distance(&frame, &mean, &scale) - expected).abs() < 1e-4);
        assert!((block.gaussian(2.0, &mean, &scale)[2] - 2.0 - expected).abs() < 1e-4);
    }
}
