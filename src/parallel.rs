//! Many things at once, with an outcome that does not depend on the number of threads.

use rayon::prelude::*;

use crate::Result;

/// What `one` makes of each of `items` and its place, in their order; of several errors the first in that order.
///
/// # Errors
/// Those of `one`.
pub(crate) fn try_map<T: Sync, R: Send>(items: &[T], one: impl Fn(usize, &T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let all: Vec<Result<R>> = items.par_iter().enumerate().map(|(place, item)| one(place, item)).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn results_are_in_order_and_so_is_the_first_error() {
        let items: Vec<usize> = (0..500).collect();
        assert_eq!(try_map(&items, |place, item| Ok(place + item)).unwrap()[..3], [0, 2, 4]);
        let faulty = |place: usize, _: &usize| match place % 100 {
            77 => Err(Error::Other(place.to_string())),
            _ => Ok(()),
        };
        (0..50).for_each(|_| assert_eq!(try_map(&items, faulty).unwrap_err().to_string(), "77"));
    }
}
