//! First values of a network's parameters: normal numbers from the one seeded generator, in the order of the names.

use super::layers::Spec;
use crate::random::Random;

/// Values for `specs`. A tensor's values depend on the seed and its place among the names only.
pub(super) fn draw(specs: &[Spec], random: &Random) -> Vec<Vec<f32>> {
    let values = |(index, spec): (usize, &Spec)| {
        let mut random = random.fork(index as u64);
        let count = spec.shape.iter().product();
        if spec.deviation == 0.0 {
            return vec![0.0; count];
        }
        (0..count).map(|_| spec.deviation * random.normal()).collect()
    };
    specs.iter().enumerate().map(values).collect()
}
