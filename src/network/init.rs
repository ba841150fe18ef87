//! First values of a network's parameters: normal numbers from the one seeded generator, in the order of the names.

use super::layers::{First, Spec};
use crate::random::Random;

/// Values for `specs`. A tensor's values depend on the seed and its place among the names only.
pub(super) fn draw(specs: &[Spec], random: &Random) -> Vec<Vec<f32>> {
    let values = |(index, spec): (usize, &Spec)| {
        let mut random = random.fork(index as u64);
        let count = spec.shape.iter().product();
        match spec.first {
            First::Zeros => vec![0.0; count],
            First::ForgetOnes => (0..count).map(|at| if at * 4 / count == 1 { 1.0 } else { 0.0 }).collect(),
            First::Normal { deviation } => (0..count).map(|_| deviation * random.normal()).collect(),
        }
    };
    specs.iter().enumerate().map(values).collect()
}
