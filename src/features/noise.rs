//! The noise of dithering: Gaussian, seeded, the same on every run.

use std::f64::consts::TAU;

/// SplitMix64 (Steele, Lea, Flood 2014) under the transform of Box and Muller (1958).
pub(super) struct Noise {
    state: u64,
    spare: Option<f32>,
}

impl Noise {
    /// A generator that starts at `seed`.
    pub(super) fn new(seed: u32) -> Self {
        Self { state: u64::from(seed), spare: None }
    }

    /// A draw of mean 0 and variance 1.
    pub(super) fn gaussian(&mut self) -> f32 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sine, cosine) = (TAU * self.uniform()).sin_cos();
        self.spare = Some((radius * sine) as f32);
        (radius * cosine) as f32
    }

    /// A draw from (0, 1].
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_moments_of_a_gaussian() {
        let mut noise = Noise::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| f64::from(noise.gaussian())).collect();
        let moment = |power: i32| draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / draws.len() as f64;
        assert!(moment(1).abs() < 0.02, "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.02, "{}", moment(2));
        assert!((moment(4) - 3.0).abs() < 0.1, "{}", moment(4));
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(Noise::new(5).gaussian(), Noise::new(5).gaussian());
        assert_ne!(Noise::new(5).gaussian(), Noise::new(6).gaussian());
    }
}
