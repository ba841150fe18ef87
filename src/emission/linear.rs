//! Frames of named features: each token lists the few features that it has, out of very many.
//!
//! What the features of text are, a [`SparseFrames`] `[T x F]` in rows: token t has value v of feature f. The scores of a tag
//! are linear in them: `emission[t, y] = sum_f value[t, f] * weight[y, f]`.

use crate::{Error, Result};

/// One sequence of T tokens, each a list of (feature, value), in compressed rows: token t has the features
/// `ids[first[t]..first[t + 1]]` with the `values` of the same range.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseFrames {
    /// Where each token's features begin, then how many there are, `[T + 1]`.
    pub(crate) first: Vec<u32>,
    /// Features, zero-based, in any order; one that is listed twice for a token counts twice.
    pub(crate) ids: Vec<u32>,
    /// How much of each feature, finite: 1 for a feature that is there or not.
    pub(crate) values: Vec<f32>,
}

impl SparseFrames {
    /// Takes the rows: `first` `[T + 1]` ascends from 0 to the length of `ids`, which is that of `values`.
    ///
    /// # Errors
    /// [`Error::Shape`] when the lengths do not fit together, [`Error::NotFinite`] naming the token when a value is NaN or
    /// infinite.
    pub fn new(first: Vec<u32>, ids: Vec<u32>, values: Vec<f32>) -> Result<Self> {
        let shape = |what, expected, found| match found == expected {
            true => Ok(()),
            false => Err(Error::Shape { what, expected, found }),
        };
        shape("values of features", ids.len(), values.len())?;
        shape("where the first token's features begin", 0, first.first().map_or(1, |&start| start as usize))?;
        shape("features of all tokens", ids.len(), first.last().map_or(0, |&end| end as usize))?;
        if let Some(pair) = first.windows(2).find(|pair| pair[0] > pair[1]) {
            let (expected, found) = (pair[0] as usize, pair[1] as usize);
            return Err(Error::Shape { what: "where a token's features end", expected, found });
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(bad) => {
                let frame = first.partition_point(|&start| start as usize <= bad) - 1;
                Err(Error::NotFinite { what: "features", frame })
            }
            None => Ok(Self { first, ids, values }),
        }
    }

    /// Number of tokens, T.
    pub fn frames(&self) -> usize {
        self.first.len() - 1
    }

    /// The features of token `frame` and how much of each.
    ///
    /// # Panics
    /// When there is no such token.
    pub fn frame(&self, frame: usize) -> (&[u32], &[f32]) {
        let range = self.first[frame] as usize..self.first[frame + 1] as usize;
        (&self.ids[range.clone()], &self.values[range])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_own_features() {
        let frames = SparseFrames::new(vec![0, 2, 2, 3], vec![7, 1, 7], vec![1.0, 0.5, -2.0]).unwrap();
        assert_eq!(frames.frames(), 3);
        assert_eq!(frames.frame(0), ([7, 1].as_slice(), [1.0, 0.5].as_slice()));
        assert_eq!(frames.frame(1), ([].as_slice(), [].as_slice()));
        assert_eq!(frames.frame(2), ([7].as_slice(), [-2.0].as_slice()));
        assert_eq!(SparseFrames::new(vec![0], vec![], vec![]).unwrap().frames(), 0);
    }

    #[test]
    fn rows_that_do_not_fit_together_are_refused() {
        let new = |first: &[u32], values: &[f32]| SparseFrames::new(first.to_vec(), vec![3; 3], values.to_vec());
        assert!(new(&[0, 3], &[1.0; 3]).is_ok());
        for first in [&[][..], &[3], &[1, 3], &[0, 2], &[0, 4], &[0, 3, 2, 3]] {
            assert!(matches!(new(first, &[1.0; 3]), Err(Error::Shape { .. })), "{first:?}");
        }
        assert!(matches!(new(&[0, 3], &[1.0; 2]), Err(Error::Shape { expected: 3, found: 2, .. })));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let found = new(&[0, 0, 1, 1, 3], &[1.0, bad, 1.0]);
            assert!(matches!(found, Err(Error::NotFinite { frame: 3, .. })), "{bad}");
        }
    }
}
