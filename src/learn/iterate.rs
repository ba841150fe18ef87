//! Parameters that shrink and are averaged, each step at the price of what it touches.

/// theta_t = s_t v_t, and the weighted mean of theta_1 ... theta_t.
///
/// A shrunken theta is another s_t. For the mean, a change d of v in step j is missing from the terms before j:
///
/// ```text
/// sum_k weight_k s_k v_k = A_t v_t - u_t,      A_t = sum_k weight_k s_k,      u_t = sum_j A_{j-1} d_j
/// ```
///
/// (with s = 1 the usual lazy average of a perceptron; Daumé 2006).
#[derive(Debug, Clone)]
pub(super) struct Iterate {
    scale: f64,
    direction: Vec<f64>,
    missing: Vec<f64>,
    /// A_t.
    counted: f64,
    /// sum_k weight_k.
    weight: f64,
}

impl Iterate {
    /// All zero.
    pub fn new(parameters: usize) -> Self {
        let zeros = vec![0.0; parameters];
        Self { scale: 1.0, direction: zeros.clone(), missing: zeros, counted: 0.0, weight: 0.0 }
    }

    /// s_t.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// v_t.
    pub fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// Multiplies theta by `factor`, above 0.
    pub fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
    }

    /// Adds `amount` to one parameter of theta.
    pub fn add(&mut self, parameter: usize, amount: f64) {
        let d = amount / self.scale;
        self.direction[parameter] += d;
        self.missing[parameter] += self.counted * d;
    }

    /// Takes theta as it is into the mean, as much as `weight`.
    pub fn count(&mut self, weight: f64) {
        self.counted += weight * self.scale;
        self.weight += weight;
    }

    /// Begins the mean anew.
    pub fn forget(&mut self) {
        self.missing.fill(0.0);
        (self.counted, self.weight) = (0.0, 0.0);
    }

    /// theta_t.
    pub fn last(&self) -> Vec<f64> {
        self.direction.iter().map(|v| self.scale * v).collect()
    }

    /// The mean of what was counted; theta while nothing was.
    pub fn mean(&self) -> Vec<f64> {
        if self.weight == 0.0 {
            return self.last();
        }
        let cells = self.direction.iter().zip(&self.missing);
        cells.map(|(v, u)| (self.counted * v - u) / self.weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_lazy_mean_is_the_plain_one() {
        let mut random = Random::new(1);
        let mut iterate = Iterate::new(3);
        let (mut theta, mut sum, mut total) = ([0.0; 3], [0.0; 3], 0.0);
        for step in 1..200 {
            let factor = if random.uniform() < 0.5 { 1.0 } else { 0.9 + 0.1 * f64::from(random.uniform()) };
            iterate.shrink(factor);
            theta.iter_mut().for_each(|value| *value *= factor);
            for _ in 0..random.below(3) {
                let (parameter, amount) = (random.below(3), f64::from(random.normal()));
                iterate.add(parameter, amount);
                theta[parameter] += amount;
            }
            iterate.count(f64::from(step));
            sum.iter_mut().zip(theta).for_each(|(sum, value)| *sum += f64::from(step) * value);
            total += f64::from(step);
            let means = iterate.mean().into_iter().zip(sum);
            means.for_each(|(mean, sum)| assert!((mean - sum / total).abs() < 1e-9, "{mean} {}", sum / total));
            iterate.last().iter().zip(theta).for_each(|(last, value)| assert!((last - value).abs() < 1e-9));
        }
    }
}
