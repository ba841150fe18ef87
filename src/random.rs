//! The one source of randomness: a seeded generator that is passed in.
//!
//! The same seed gives the same numbers on every machine and for any number of threads: work that runs in parallel takes a
//! [`Random::fork`] each, numbered by its place and not by its time.

use std::f64::consts::TAU;

/// The generator xoshiro256++ (Blackman & Vigna 2021, "Scrambled linear pseudorandom number generators"), its state filled
/// from the seed by SplitMix64 (Steele, Lea & Flood 2014). Not for secrets.
#[derive(Debug, Clone)]
pub struct Random {
    seed: u64,
    state: [u64; 4],
}

impl Random {
    /// A generator that starts from `seed`; every seed is as good as another.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        Self { seed, state: std::array::from_fn(|_| split_mix(&mut counter)) }
    }

    /// Stream number `stream` of this generator's seed: the same numbers wherever this generator stands by now.
    pub fn fork(&self, stream: u64) -> Self {
        let mut counter = stream;
        Self::new(self.seed.rotate_left(32) ^ split_mix(&mut counter))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `[0, 1)`: 24 random bits, as many as an `f32` holds.
    pub fn uniform(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// From the normal distribution of mean 0 and variance 1.
    pub fn normal(&mut self) -> f32 {
        // Box & Muller 1958: sqrt(-2 ln u) cos(2 pi v), u in (0, 1].
        let unit = |bits: u64| (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        let u = 1.0 - unit(self.next_u64());
        let v = unit(self.next_u64());
        ((-2.0 * u.ln()).sqrt() * (TAU * v).cos()) as f32
    }

    /// Uniform in `0..n`, without the bias of a remainder.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a number below 0 was asked for");
        // The high word of bits * n is the number; a low word under 2^64 mod n would be one draw too many for some numbers
        // (Lemire 2019). That is less than n, so that the division is rarely needed.
        let n = n as u64;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as usize;
            }
        }
    }

    /// Puts `items` into a random order, every order being equally likely (Fisher & Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The next number of SplitMix64.
fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*counter ^ (*counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the reference programs by Vigna, splitmix64.c from 0 and xoshiro256plusplus.c from state 1, 2, 3, 4.
    #[test]
    fn the_published_numbers_come_out() {
        let mut counter = 0;
        let mixed: Vec<u64> = (0..3).map(|_| split_mix(&mut counter)).collect();
        assert_eq!(mixed, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        let mut random = Random { seed: 0, state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
        assert_eq!(drawn, [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]);
    }

    #[test]
    fn uniform_and_normal_have_their_moments() {
        let mut random = Random::new(7);
        let n = 100_000;
        let uniform: Vec<f64> = (0..n).map(|_| f64::from(random.uniform())).collect();
        assert!(uniform.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = uniform.iter().sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        let normal: Vec<f64> = (0..n).map(|_| f64::from(random.normal())).collect();
        let moment = |power: i32| normal.iter().map(|x| x.powi(power)).sum::<f64>() / n as f64;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.03, "{} {}", moment(1), moment(2));
        assert!(moment(3).abs() < 0.06 && (moment(4) - 3.0).abs() < 0.15, "{} {}", moment(3), moment(4));
    }

    #[test]
    fn below_is_even() {
        let mut random = Random::new(1);
        let mut seen = [0usize; 7];
        (0..70_000).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 400), "{seen:?}");
    }

    #[test]
    fn shuffling_reaches_every_order_evenly() {
        let mut random = Random::new(2);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0usize) += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(seen.values().all(|count| count.abs_diff(1000) < 150), "{seen:?}");
    }

    #[test]
    fn forks_depend_on_seed_and_stream_only() {
        let mut random = Random::new(5);
        let early = random.fork(3).next_u64();
        random.next_u64();
        assert_eq!(random.fork(3).next_u64(), early);
        let mut others =
            vec![early, random.fork(2).next_u64(), random.fork(0).next_u64(), Random::new(6).fork(3).next_u64()];
        others.extend([Random::new(5).next_u64(), Random::new(3).next_u64(), Random::new(3).fork(5).next_u64()]);
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), 7);
    }
}
