//! Many things at once, with an outcome that does not depend on the number of threads.

use rayon::prelude::*;

use crate::Result;

/// Parts that the work on a batch or a whole set is cut into, and summed in their order. More threads than this help only where
/// each utterance is worked on by itself.
pub(crate) const SHARDS: usize = 4;

/// The values of `results`, in their order; of several errors the first in that order, where rayon's own `collect` gives any.
///
/// # Errors
/// That one.
pub(crate) fn in_order<T: Send>(results: impl ParallelIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let all: Vec<Result<T>> = results.collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn values_are_in_order_and_so_is_the_first_error() {
        let doubled = in_order((0..500).into_par_iter().map(|item| Ok(2 * item))).unwrap();
        assert!(doubled.into_iter().eq((0..500).map(|item| 2 * item)));
        let faulty = |item: usize| match item % 100 {
            77 => Err(Error::Other(item.to_string())),
            _ => Ok(()),
        };
        for _ in 0..50 {
            assert_eq!(in_order((0..500).into_par_iter().map(faulty)).unwrap_err().to_string(), "77");
        }
    }
}
