//! Weights the other way round, as gradients by inputs need them: brought into order when they are first asked for, and again
//! in the same place when they change, not by every part of every batch.

use std::sync::RwLock;

use rayon::prelude::*;

use super::affine::Turned;

/// The turned weights among a network's parameters, by their place; none where nobody has asked yet.
#[derive(Debug, Default)]
pub(super) struct TurnedWeights(Vec<RwLock<Option<Turned>>>);

impl TurnedWeights {
    /// For so many parameters.
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| RwLock::default()).collect())
    }

    /// Gives `f` those of the parameter at `place`, which `make` turns if nobody has yet.
    fn with<R>(&self, place: usize, make: impl FnOnce() -> Turned, f: impl FnOnce(&Turned) -> R) -> R {
        let whole = "a thread that was turning weights has panicked";
        if let Some(turned) = &*self.0[place].read().expect(whole) {
            return f(turned);
        }
        self.0[place].write().expect(whole).get_or_insert_with(make);
        f(self.0[place].read().expect(whole).as_ref().expect("they were just turned"))
    }

    /// Follows the parameters to other `values`.
    pub(super) fn follow(&self, values: &[Vec<f32>]) {
        self.0.par_iter().zip(values).for_each(|(turned, values)| {
            if let Some(turned) = &mut *turned.write().expect("no thread that turns weights panics") {
                turned.fill(values);
            }
        });
    }
}

/// A network's parameters as its backward reads them.
pub(super) struct Weights<'a> {
    /// The values of each.
    pub(super) values: Vec<&'a [f32]>,
    /// Those among them that have been turned.
    pub(super) turned: &'a TurnedWeights,
}

impl Weights<'_> {
    /// Gives `f` the parameter at `place` turned; `make` does it.
    pub(super) fn with_turned<R>(
        &self,
        place: usize,
        make: impl FnOnce(&[f32]) -> Turned,
        f: impl FnOnce(&Turned) -> R,
    ) -> R {
        self.turned.with(place, || make(self.values[place]), f)
    }
}

#[cfg(test)]
mod tests {
    use crate::Result;
    use crate::matrix::Matrix;
    use crate::network::{Criterion, Network, NetworkConfig, TdnnConfig};
    use crate::random::Random;

    /// Half the sum of the squares of all scores.
    struct Squares;

    impl Criterion for Squares {
        fn differentiate(&mut self, _scores: &mut Matrix) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_gradient_is_that_of_the_parameters_of_now() {
        let config = TdnnConfig { width: 24, bottleneck: 9, dilations: vec![1, 2], ..TdnnConfig::default() };
        let drawn = |seed| Network::new(&NetworkConfig::Tdnn(config.clone()), (5, 4), &Random::new(seed)).unwrap();
        let frames = [Matrix::from_vec(40, 5, (0..200).map(|place| (place as f32).sin()).collect()).unwrap()];
        let gradient = |network: &Network| network.gradient(&frames, &mut Squares, None).unwrap();
        let (mut network, other) = (drawn(1), drawn(2));
        let (first, expected) = (gradient(&network), gradient(&other));
        assert_ne!(first, expected);
        network.reuse(first);
        let values: Vec<Vec<f32>> = other.parts().into_iter().map(|part| part.2).collect();
        network.set(&values).unwrap();
        assert_eq!(gradient(&network), expected);
    }
}
