//! Parameter tensors before they have values, and their first values: normal numbers from the one seeded generator, in the
//! order of the names.

use crate::random::Random;

/// A parameter tensor before it has values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) first: First,
}

impl Spec {
    /// Whether its values are what training has seen, and no gradient moves them.
    pub(super) fn is_statistic(&self) -> bool {
        matches!(self.first, First::Statistic(_))
    }
}

/// The first values of a parameter tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum First {
    Zeros,
    Ones,
    /// Of the gates' bias: ones for the second quarter, the forget gates; else zeros.
    ForgetOnes,
    /// Normal numbers.
    Normal {
        deviation: f32,
    },
    /// Of a running statistic: this value.
    Statistic(f32),
}

/// Values for `specs`. A tensor's values depend on the seed and its place among the names only.
pub(super) fn draw(specs: &[Spec], random: &Random) -> Vec<Vec<f32>> {
    let values = |(index, spec): (usize, &Spec)| {
        let mut random = random.fork(index as u64);
        let count = spec.shape.iter().product();
        match spec.first {
            First::Zeros => vec![0.0; count],
            First::Ones => vec![1.0; count],
            First::ForgetOnes => (0..count).map(|at| if at * 4 / count == 1 { 1.0 } else { 0.0 }).collect(),
            First::Normal { deviation } => (0..count).map(|_| deviation * random.normal()).collect(),
            First::Statistic(value) => vec![value; count],
        }
    };
    specs.iter().enumerate().map(values).collect()
}
