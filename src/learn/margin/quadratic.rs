//! The quadratic programme over the planes: shares that sum to one and make the bound highest.
//!
//! ```text
//! max_a  b . a - 1/2 a' H a      with a >= 0, sum a = 1
//! ```
//!
//! By an active set (Wolfe 1976, with a linear term): solve on the planes in use as if shares could be negative, walk there until
//! the first share would be, drop that plane; when all are positive, take in the plane that promises most. The gap to the optimum,
//! max_j slope_j - a . slope with slope = b - H a, is known at every point.

use super::working_set::retain;

/// A programme that grows by a plane at a time; the shares of the last solution are where the next one starts.
#[derive(Debug, Default)]
pub(super) struct Programme {
    /// H, whole rows.
    products: Vec<Vec<f64>>,
    /// b.
    linear: Vec<f64>,
    /// a.
    shares: Vec<f64>,
}

/// A solution: how high the bound is, and how much higher the best one can be at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution {
    pub value: f64,
    pub gap: f64,
}

/// Added to the diagonal, relative to its mean: planes that depend on each other must not divide by zero.
const RIDGE: f64 = 1e-11;

impl Programme {
    /// Takes in a plane: its products with all planes before it and with itself, and its b. The first one gets the whole share.
    pub fn push(&mut self, products: Vec<f64>, linear: f64) {
        let (&own, others) = products.split_last().expect("a plane has a product with itself");
        self.products.iter_mut().zip(others).for_each(|(row, &product)| row.push(product));
        self.products.push(others.iter().copied().chain([own]).collect());
        self.linear.push(linear);
        self.shares.push(if others.is_empty() { 1.0 } else { 0.0 });
    }

    /// Forgets the planes that are not to be kept, none of which may have a share.
    pub fn retain(&mut self, keep: &[bool]) {
        retain(&mut self.products, keep);
        self.products.iter_mut().for_each(|row| retain(row, keep));
        retain(&mut self.linear, keep);
        retain(&mut self.shares, keep);
    }

    /// Another b.
    pub fn set_linear(&mut self, linear: Vec<f64>) {
        self.linear = linear;
    }

    /// a.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// H a
    pub fn loads(&self) -> Vec<f64> {
        let used = self.used();
        let load = |row: &Vec<f64>| used.iter().map(|&j| row[j] * self.shares[j]).sum();
        self.products.iter().map(load).collect()
    }

    fn used(&self) -> Vec<usize> {
        (0..self.shares.len()).filter(|&j| self.shares[j] > 0.0).collect()
    }

    /// The best shares, to a gap of `enough` or as near as rounding permits.
    pub fn solve(&mut self, enough: f64) -> Solution {
        let mut used = self.used();
        for _ in 0..10 * (self.shares.len() + 10) {
            let wanted = self.free_optimum(&used);
            if let Some(dropped) = self.walk(&used, &wanted) {
                used.remove(dropped);
                continue;
            }
            let (leader, solution) = self.look();
            // A leader that is in use already leads by rounding only.
            if solution.gap <= enough || used.contains(&leader) {
                return solution;
            }
            used.push(leader);
        }
        self.look().1
    }

    /// The plane with the steepest slope, and where the shares stand.
    fn look(&self) -> (usize, Solution) {
        // slope = b - H a
        let slopes: Vec<f64> = self.linear.iter().zip(self.loads()).map(|(b, load)| b - load).collect();
        let leader = (0..slopes.len()).fold(0, |best, j| if slopes[j] > slopes[best] { j } else { best });
        let mean = |values: &[f64]| values.iter().zip(&self.shares).map(|(value, share)| value * share).sum::<f64>();
        // b a - 1/2 a' H a = 1/2 (b a + a (b - H a))
        let value = 0.5 * (mean(&self.linear) + mean(&slopes));
        (leader, Solution { value, gap: slopes[leader] - mean(&slopes) })
    }

    /// Moves the shares towards those `wanted` until one of them is used up: its place among `used`, unless all arrive.
    fn walk(&mut self, used: &[usize], wanted: &[f64]) -> Option<usize> {
        let (mut step, mut first) = (1.0, None);
        for (place, (&j, &wanted)) in used.iter().zip(wanted).enumerate() {
            let share = self.shares[j];
            if wanted <= 0.0 && share / (share - wanted) < step {
                (step, first) = (share / (share - wanted), Some(place));
            }
        }
        for (&j, &wanted) in used.iter().zip(wanted) {
            self.shares[j] = (self.shares[j] + step * (wanted - self.shares[j])).max(0.0);
        }
        if let Some(place) = first {
            self.shares[used[place]] = 0.0;
        }
        let total: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share /= total);
        first
    }

    /// The optimum over the planes `used` if shares could be negative:
    ///
    /// ```text
    /// H a = b - v 1,  sum a = 1:      a = H^-1 b - v H^-1 1
    /// ```
    ///
    /// A constant on all of H changes nothing where shares sum to one, and makes H regular with the zero plane in it.
    fn free_optimum(&self, used: &[usize]) -> Vec<f64> {
        let diagonal = used.iter().map(|&j| self.products[j][j]).sum::<f64>() / used.len() as f64;
        let lift = if diagonal > 0.0 { diagonal } else { 1.0 };
        let row = |&i: &usize| {
            let cell = |&j: &usize| self.products[i][j] + lift + if i == j { RIDGE * lift } else { 0.0 };
            used.iter().map(cell).collect()
        };
        let factor = cholesky(used.iter().map(row).collect());
        let linear: Vec<f64> = used.iter().map(|&j| self.linear[j]).collect();
        let (of_linear, of_ones) = (substitute(&factor, linear), substitute(&factor, vec![1.0; used.len()]));
        let level = (of_linear.iter().sum::<f64>() - 1.0) / of_ones.iter().sum::<f64>();
        of_linear.iter().zip(of_ones).map(|(b, one)| b - level * one).collect()
    }
}

/// L of H = L L', in place of the lower triangle; a pivot that rounding made negative counts as nearly nothing.
fn cholesky(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for i in 0..rows.len() {
        let (done, rest) = rows.split_at_mut(i);
        let row = &mut rest[0];
        let least = row[i] * f64::EPSILON;
        for (j, other) in done.iter().enumerate() {
            let sum: f64 = row[..j].iter().zip(&other[..j]).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let sum: f64 = row[..i].iter().map(|value| value * value).sum();
        row[i] = (row[i] - sum).max(least).sqrt();
    }
    rows
}

/// x of L L' x = `right`.
fn substitute(factor: &[Vec<f64>], mut right: Vec<f64>) -> Vec<f64> {
    for i in 0..right.len() {
        let sum: f64 = factor[i][..i].iter().zip(&right).map(|(a, b)| a * b).sum();
        right[i] = (right[i] - sum) / factor[i][i];
    }
    for i in (0..right.len()).rev() {
        right[i] /= factor[i][i];
        let value = right[i];
        right[..i].iter_mut().zip(&factor[i]).for_each(|(right, a)| *right -= a * value);
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Planes in `dims` dimensions, some of them twice.
    fn random(planes: usize, dims: usize, seed: u64) -> Programme {
        let mut random = Random::new(seed);
        let mut vectors: Vec<Vec<f64>> = vec![vec![0.0; dims]];
        let mut programme = Programme::default();
        programme.push(vec![0.0], 0.0);
        for plane in 1..planes {
            let vector = match plane % 5 {
                0 => vectors[plane / 2].clone(),
                _ => (0..dims).map(|_| f64::from(random.normal())).collect(),
            };
            vectors.push(vector);
            let new = &vectors[plane];
            let products = vectors.iter().map(|other| other.iter().zip(new).map(|(a, b)| a * b).sum()).collect();
            programme.push(products, f64::from(random.uniform()));
        }
        programme
    }

    fn is_feasible(programme: &Programme) -> bool {
        let sum: f64 = programme.shares().iter().sum();
        programme.shares().iter().all(|&share| share >= 0.0) && (sum - 1.0).abs() < 1e-12
    }

    #[test]
    fn the_optimum_is_reached_however_planes_depend_on_each_other() {
        for seed in 0..40 {
            let mut programme = random(3 + seed as usize, 1 + seed as usize % 7, seed);
            let solution = programme.solve(1e-9);
            assert!(solution.gap <= 1e-9, "seed {seed}: {solution:?}");
            assert!(is_feasible(&programme));
            // No shares are better: the gap bounds what any other shares could gain.
            let mut draw = Random::new(seed);
            for _ in 0..100 {
                let mut other: Vec<f64> = programme.shares.iter().map(|_| -f64::from(draw.uniform()).ln()).collect();
                let total: f64 = other.iter().sum();
                other.iter_mut().for_each(|share| *share /= total);
                std::mem::swap(&mut programme.shares, &mut other);
                assert!(programme.look().1.value <= solution.value + 1e-9);
                std::mem::swap(&mut programme.shares, &mut other);
            }
        }
    }

    #[test]
    fn a_known_optimum() {
        // max b a - 1/2 a^2 over one share beside the zero plane: a = b below 1.
        let mut programme = Programme::default();
        programme.push(vec![0.0], 0.0);
        programme.push(vec![0.0, 1.0], 0.3);
        let solution = programme.solve(1e-12);
        assert!((programme.shares()[1] - 0.3).abs() < 1e-9 && (solution.value - 0.045).abs() < 1e-9);
        programme.push(vec![0.0, 0.0, 2.0], 9.0);
        programme.solve(1e-12);
        assert!((programme.shares()[2] - 1.0).abs() < 1e-9, "{:?}", programme.shares());
    }

    #[test]
    fn planes_that_are_not_in_use_are_forgotten_without_loss() {
        let mut programme = random(30, 4, 9);
        let before = programme.solve(1e-9);
        let keep: Vec<bool> = programme.shares().iter().map(|&share| share > 0.0).collect();
        programme.retain(&keep);
        assert_eq!(programme.shares().len(), keep.iter().filter(|keep| **keep).count());
        let after = programme.solve(1e-9);
        assert!((before.value - after.value).abs() < 1e-9);
    }
}
