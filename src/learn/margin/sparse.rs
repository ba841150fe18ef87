//! Vectors by parameter that are mostly zero.

/// The values that are not zero and the parameters that they belong to, in any order, each once.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sparse {
    parameters: Vec<u32>,
    values: Vec<f64>,
}

impl Sparse {
    /// The values of `dense` that are not zero.
    pub fn of(dense: &[f64]) -> Self {
        dense.iter().enumerate().map(|(parameter, &value)| (parameter as u32, value)).collect()
    }

    /// Parameters and values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.parameters.iter().zip(&self.values).map(|(&parameter, &value)| (parameter as usize, value))
    }

    /// The scalar product with `dense`.
    pub fn dot(&self, dense: &[f64]) -> f64 {
        // Four running sums: the processor need not wait for one before it begins the next.
        let mut sums = [0.0; 4];
        let (parameters, values) = (self.parameters.chunks_exact(4), self.values.chunks_exact(4));
        let rest = parameters.remainder().iter().zip(values.remainder());
        let rest: f64 = rest.map(|(&parameter, value)| value * dense[parameter as usize]).sum();
        for (parameters, values) in parameters.zip(values) {
            for lane in 0..4 {
                sums[lane] += values[lane] * dense[parameters[lane] as usize];
            }
        }
        rest + sums.iter().sum::<f64>()
    }

    /// Adds `factor` times this to `dense`.
    pub fn add_to(&self, dense: &mut [f64], factor: f64) {
        self.iter().for_each(|(parameter, value)| dense[parameter] += factor * value);
    }
}

impl FromIterator<(u32, f64)> for Sparse {
    /// Leaves zeros out.
    fn from_iter<I: IntoIterator<Item = (u32, f64)>>(cells: I) -> Self {
        let mut sparse = Self::default();
        for (parameter, value) in cells.into_iter().filter(|(_, value)| *value != 0.0) {
            sparse.parameters.push(parameter);
            sparse.values.push(value);
        }
        sparse
    }
}

/// A sum of sparse vectors, at the price of what they touch.
#[derive(Debug)]
pub(super) struct Gather {
    sums: Vec<f64>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
}

impl Gather {
    /// All zero.
    pub fn new(parameters: usize) -> Self {
        Self { sums: vec![0.0; parameters], is_touched: vec![false; parameters], touched: Vec::new() }
    }

    /// Adds to one parameter.
    pub fn add(&mut self, parameter: usize, amount: f64) {
        if !std::mem::replace(&mut self.is_touched[parameter], true) {
            self.touched.push(parameter as u32);
        }
        self.sums[parameter] += amount;
    }

    /// The sum.
    pub fn dense(&self) -> &[f64] {
        &self.sums
    }

    /// What of the sum is not zero.
    pub fn sparse(&self) -> Sparse {
        self.touched.iter().map(|&parameter| (parameter, self.sums[parameter as usize])).collect()
    }

    /// Makes the sum zero.
    pub fn clear(&mut self) {
        for parameter in self.touched.drain(..) {
            self.sums[parameter as usize] = 0.0;
            self.is_touched[parameter as usize] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_gathered_and_forgotten() {
        let mut gather = Gather::new(4);
        [(3, 1.0), (1, 2.0), (3, -1.0), (1, 0.5)].into_iter().for_each(|(at, amount)| gather.add(at, amount));
        let sum = gather.sparse();
        assert_eq!(sum, Sparse::of(&[0.0, 2.5, 0.0, 0.0]));
        assert_eq!(gather.dense(), [0.0, 2.5, 0.0, 0.0]);
        gather.clear();
        assert_eq!((gather.sparse(), gather.dense()), (Sparse::default(), [0.0; 4].as_slice()));
        let mut dense = [1.0; 4];
        sum.add_to(&mut dense, 2.0);
        assert_eq!(dense, [1.0, 6.0, 1.0, 1.0]);
        assert_eq!(sum.dot(&dense), 15.0);
    }

    #[test]
    fn products_take_every_value() {
        for length in 0..20 {
            let values: Vec<f64> = (0..length).map(f64::from).collect();
            assert_eq!(Sparse::of(&values).dot(&values), values.iter().map(|value| value * value).sum::<f64>());
        }
    }
}
