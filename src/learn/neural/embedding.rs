//! Vectors of sparse features: what a network reads where frames are tokens of text.
//!
//! In: [`SparseFrames`] `[T x F]`. Out: dense frames `[T x D]`, the sum of the vectors of a token's features; on the way back, the
//! gradient by those few vectors that a batch has used.
//!
//! ```text
//! x[t] = sum_f value[t, f] E[f]      dL/dE[f] = sum_t value[t, f] dL/dx[t]
//! ```

use crate::emission::SparseFrames;
use crate::matrix::Matrix;
use crate::network::optimiser::Update;
use crate::random::Random;
use crate::{Error, Result};

/// A table of vectors, one for each feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// `[F x D]`, row by row.
    pub(super) values: Vec<f32>,
    dims: usize,
}

impl Embedding {
    /// Vectors of normal numbers of that standard `deviation`, for F features and D dimensions.
    pub fn new((features, dims): (usize, usize), deviation: f32, random: &Random) -> Self {
        let mut random = random.clone();
        let values = (0..features * dims).map(|_| deviation * random.normal()).collect();
        Self { values, dims }
    }

    /// The same with `more` values at the end of every vector, all zero.
    pub fn widened(self, more: usize) -> Self {
        let zeros = vec![0.0; more];
        let values =
            self.values.chunks_exact(self.dims).flat_map(|vector| vector.iter().chain(&zeros)).copied().collect();
        Self { values, dims: self.dims + more }
    }

    /// The table with these values, `[F x D]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when they are not whole vectors of D values, [`Error::NotFinite`] naming the feature of one that is not a
    /// number.
    pub fn from_values(values: Vec<f32>, dims: usize) -> Result<Self> {
        if dims == 0 || !values.len().is_multiple_of(dims) {
            return Err(Error::Shape { what: "values of whole vectors", expected: dims, found: values.len() });
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(place) => Err(Error::NotFinite { what: "vectors of features", frame: place / dims }),
            None => Ok(Self { values, dims }),
        }
    }

    /// Number of features, F.
    pub fn features(&self) -> usize {
        self.values.len() / self.dims
    }

    /// Values of a vector, D.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// All vectors, `[F x D]`.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    fn vector(&self, feature: u32) -> &[f32] {
        &self.values[feature as usize * self.dims..][..self.dims]
    }

    /// The frames of tokens, `[T x D]`; zeros for a token without features.
    ///
    /// # Errors
    /// [`Error::Shape`] for a feature that the table has no vector for.
    pub fn embed(&self, tokens: &SparseFrames) -> Result<Matrix> {
        if let Some(&feature) = tokens.ids.iter().find(|feature| **feature as usize >= self.features()) {
            let (expected, found) = (self.features(), feature as usize + 1);
            return Err(Error::Shape { what: "features", expected, found });
        }
        let mut frames = Matrix::zeros(tokens.frames(), self.dims);
        for token in 0..tokens.frames() {
            let (ids, values) = tokens.frame(token);
            for (&feature, value) in ids.iter().zip(values) {
                let cells = frames.row_mut(token).iter_mut().zip(self.vector(feature));
                cells.for_each(|(cell, weight)| *cell += value * weight);
            }
        }
        Ok(frames)
    }

    /// The gradient by the vectors of the features in `sequences`, from that by the frames of each.
    pub(super) fn differentiate(&self, sequences: &[SparseFrames], by_frames: &[Matrix]) -> VectorGradient {
        let mut uses = Vec::new();
        for (tokens, by_frames) in sequences.iter().zip(by_frames) {
            for token in 0..tokens.frames() {
                let (ids, values) = tokens.frame(token);
                uses.extend(ids.iter().zip(values).map(|(&feature, &value)| (feature, value, by_frames.row(token))));
            }
        }
        VectorGradient::collect(uses, self.dims)
    }

    /// Moves the vectors that `gradient` is by; so do only their own `moments` (lazy steps, as for any sparse table).
    pub(super) fn step(&mut self, gradient: &VectorGradient, update: &Update, moments: &mut [Vec<f32>; 2]) {
        let [first, second] = moments;
        for (feature, by_vector) in gradient.iter() {
            let place = feature as usize * self.dims..(feature as usize + 1) * self.dims;
            let moments = (&mut first[place.clone()], &mut second[place.clone()]);
            update.apply(&mut self.values[place], by_vector, moments);
        }
    }
}

/// A gradient by some of the vectors.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct VectorGradient {
    /// Which, ascending.
    features: Vec<u32>,
    /// One after another.
    values: Vec<f32>,
    dims: usize,
}

impl VectorGradient {
    /// Sums `factor * values` by feature, in the order in which they are given.
    fn collect(mut terms: Vec<(u32, f32, &[f32])>, dims: usize) -> Self {
        terms.sort_by_key(|term| term.0);
        let mut all = Self { dims, ..Self::default() };
        for (feature, factor, values) in terms {
            if all.features.last() != Some(&feature) {
                all.features.push(feature);
                all.values.resize(all.features.len() * dims, 0.0);
            }
            let start = all.values.len() - dims;
            all.values[start..].iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        }
        all
    }

    /// The sum of several, in their order.
    pub(super) fn sum(parts: &[Self]) -> Self {
        let dims = parts.first().map_or(1, |part| part.dims);
        let terms = parts.iter().flat_map(Self::iter).map(|(feature, values)| (feature, 1.0, values));
        Self::collect(terms.collect(), dims)
    }

    /// Features and the gradient by their vectors.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[f32])> {
        self.features.iter().copied().zip(self.values.chunks_exact(self.dims.max(1)))
    }

    /// All values.
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> SparseFrames {
        SparseFrames::new(vec![0, 2, 2, 4], vec![2, 0, 0, 0], vec![1.0, -0.5, 2.0, 1.0]).unwrap()
    }

    #[test]
    fn a_frame_is_the_sum_of_its_features_vectors() {
        let table = Embedding::from_values(vec![1.0, 2.0, 7.0, 7.0, 10.0, 20.0], 2).unwrap();
        let frames = table.embed(&tokens()).unwrap();
        assert_eq!(frames.as_slice(), [9.5, 19.0, 0.0, 0.0, 3.0, 6.0]);
        let beyond = SparseFrames::new(vec![0, 1], vec![3], vec![1.0]).unwrap();
        assert!(matches!(table.embed(&beyond), Err(Error::Shape { expected: 3, found: 4, .. })));
    }

    #[test]
    fn the_gradient_is_by_the_vectors_in_use_only() {
        let table = Embedding::new((4, 2), 1.0, &Random::new(1));
        let by_frames = Matrix::from_vec(3, 2, vec![1.0, 10.0, 100.0, 100.0, 2.0, 20.0]).unwrap();
        let gradient = table.differentiate(&[tokens()], std::slice::from_ref(&by_frames));
        let found: Vec<(u32, &[f32])> = gradient.iter().collect();
        assert_eq!(found, [(0, [5.5, 55.0].as_slice()), (2, [1.0, 10.0].as_slice())]);
        let twice = VectorGradient::sum(&[gradient.clone(), VectorGradient::default(), gradient.clone()]);
        assert_eq!(twice.features, [0, 2]);
        assert_eq!(twice.values, [11.0, 110.0, 2.0, 20.0]);
        let nothing = VectorGradient::sum(&[VectorGradient::default()]);
        assert_eq!((nothing.iter().count(), nothing.values()), (0, [].as_slice()));
    }

    #[test]
    fn tables_that_are_broken_are_refused() {
        assert!(matches!(Embedding::from_values(vec![0.0; 5], 2), Err(Error::Shape { .. })));
        assert!(Embedding::from_values(vec![0.0; 5], 0).is_err());
        let broken = Embedding::from_values(vec![0.0, 1.0, f32::NAN, 0.0], 2);
        assert!(matches!(broken, Err(Error::NotFinite { frame: 1, .. })));
        assert_eq!(Embedding::from_values(vec![], 2).unwrap().features(), 0);
    }
}
