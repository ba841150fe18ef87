//! Emissions that are linear in parameters, and the way back: what a change of an emission means for each parameter.
//!
//! ```text
//! emission[t, k] = sum_f value[t, f] * weight[f, k]          d/d weight[f, k] = sum_t value[t, f] * d/d emission[t, k]
//! ```
//!
//! In: frames, [`SparseFrames`] of text or a dense [`Matrix`] of measurements, and parameters that a learner owns. Out:
//! [`Emissions`] `[T x P]`; and from derivatives, or from counts, by cell `[T x P]` those by parameter.

use super::Emissions;
use super::linear::SparseFrames;
use crate::matrix::Matrix;
use crate::symbols::PdfId;
use crate::{Error, Result};

/// Local scores with parameters that can be learnt.
pub trait Scorer: Sync {
    /// The frames of one sequence.
    type Input: Sync;

    /// Number of pdfs, P.
    fn pdfs(&self) -> usize;

    /// Number of parameters.
    fn parameters(&self) -> usize;

    /// The pdf that a parameter scores.
    fn pdf(&self, parameter: usize) -> PdfId;

    /// Number of frames, T.
    fn frames(&self, input: &Self::Input) -> usize;

    /// The emissions `[T x P]` of `input` under `parameters`.
    ///
    /// # Errors
    /// [`Error::Shape`] for frames of another dimension; [`Error::NotFinite`] when a score is NaN or plus infinity.
    fn emissions(&self, parameters: &[f64], input: &Self::Input) -> Result<Emissions>;

    /// Calls `add(parameter, amount)` for what the derivatives (or counts) `by_cell` `[T x P]` amount to; a parameter may come
    /// more than once, one that nothing touches does not come.
    fn differentiate(&self, input: &Self::Input, by_cell: &Matrix, add: impl FnMut(usize, f64));

    /// Adds what [`Scorer::differentiate`] tells to `sums`, by parameter: the faster way when most cells are not zero.
    fn accumulate(&self, input: &Self::Input, by_cell: &Matrix, sums: &mut [f64]) {
        self.differentiate(input, by_cell, |parameter, amount| sums[parameter] += amount);
    }
}

/// Weights for pairs of a sparse feature and a pdf, those pairs only that were listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseScorer {
    pdfs: usize,
    /// Where each feature's parameters begin, `[F + 1]`.
    first: Vec<u32>,
    /// The pdf of each parameter, ascending within a feature.
    pdf: Vec<u32>,
}

impl SparseScorer {
    /// A parameter for every pair of `features` features and `pdfs` pdfs: what a hidden Markov model needs, in which a pair that
    /// was never seen is impossible and not merely without a say.
    ///
    /// # Errors
    /// [`Error::Other`] when there would be more than 2^32 parameters.
    pub fn all(features: usize, pdfs: usize) -> Result<Self> {
        let total = features.saturating_mul(pdfs);
        check_count(total)?;
        let first = (0..=features as u32).map(|feature| feature * pdfs as u32).collect();
        let pdf = (0..total as u32).map(|parameter| parameter % pdfs as u32).collect();
        Ok(Self { pdfs, first, pdf })
    }

    /// A parameter for every pair that occurs in `examples`: frames, and the right pdf of each of them.
    ///
    /// # Errors
    /// As [`SparseScorer::all`]; [`Error::Shape`] for a feature from `features` or a label from `pdfs` on, and when there are
    /// more labels than frames.
    pub fn observed<'a>(
        examples: impl IntoIterator<Item = (&'a SparseFrames, &'a [PdfId])>,
        (features, pdfs): (usize, usize),
    ) -> Result<Self> {
        let mut pairs = vec![Vec::new(); features];
        for (frames, labels) in examples {
            below("labels of a sequence", labels.len(), frames.frames() + 1)?;
            for (frame, label) in labels.iter().enumerate() {
                below("pdfs of a linear scorer", label.index(), pdfs)?;
                for &feature in frames.frame(frame).0 {
                    below("features of a linear scorer", feature as usize, features)?;
                    let seen: &mut Vec<u32> = &mut pairs[feature as usize];
                    if let Err(place) = seen.binary_search(&label.0) {
                        seen.insert(place, label.0);
                    }
                }
            }
        }
        Self::of(pairs, pdfs)
    }

    /// A parameter for each of the pdfs of each feature, ascending.
    fn of(pairs: Vec<Vec<u32>>, pdfs: usize) -> Result<Self> {
        let total: usize = pairs.iter().map(Vec::len).sum();
        check_count(total)?;
        let mut first = Vec::with_capacity(pairs.len() + 1);
        first.push(0);
        let mut pdf = Vec::with_capacity(total);
        for row in pairs {
            pdf.extend(row);
            first.push(pdf.len() as u32);
        }
        Ok(Self { pdfs, first, pdf })
    }

    /// Takes the rows apart: where each feature's parameters begin `[F + 1]`, and the pdf of each parameter.
    pub fn parts(&self) -> (&[u32], &[u32]) {
        (&self.first, &self.pdf)
    }

    /// Takes what [`SparseScorer::parts`] gave.
    ///
    /// # Errors
    /// [`Error::Shape`] when the parts do not fit together or name a pdf from `pdfs` on.
    pub fn from_parts(first: Vec<u32>, pdf: Vec<u32>, pdfs: usize) -> Result<Self> {
        let shape = |what, expected, found| Err(Error::Shape { what, expected, found });
        if first.first() != Some(&0) || first.windows(2).any(|pair| pair[0] > pair[1]) {
            return shape("first parameter of a feature, ascending from", 0, first.first().map_or(0, |&f| f as usize));
        }
        let total = first.last().map_or(0, |&last| last as usize);
        if total != pdf.len() {
            return shape("parameters of all features", total, pdf.len());
        }
        match pdf.iter().find(|&&pdf| pdf as usize >= pdfs) {
            Some(&bad) => shape("pdfs of a linear scorer", pdfs, bad as usize + 1),
            None => Ok(Self { pdfs, first, pdf }),
        }
    }

    /// Number of features, F.
    pub fn features(&self) -> usize {
        self.first.len() - 1
    }

    /// Whether every pair of a feature and a pdf has a parameter.
    pub fn is_full(&self) -> bool {
        self.pdf.len() == self.features() * self.pdfs
    }

    fn row(&self, feature: u32) -> Option<std::ops::Range<usize>> {
        let end = *self.first.get(feature as usize + 1)? as usize;
        Some(self.first[feature as usize] as usize..end)
    }

    /// Adds the weights of one feature to the `sums` by pdf.
    fn add_row(&self, parameters: &[f64], (feature, value): (u32, f32), sums: &mut [f64]) -> Result<()> {
        let Some(row) = self.row(feature) else {
            let (expected, found) = (self.features(), feature as usize + 1);
            return Err(Error::Shape { what: "features of a linear scorer", expected, found });
        };
        // No share of a weight of minus infinity is nothing, and not NaN.
        if value == 0.0 {
            return Ok(());
        }
        let (pdfs, weights) = (&self.pdf[row.clone()], &parameters[row]);
        if weights.len() == sums.len() {
            // Every pdf, in order.
            sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += f64::from(value) * weight);
        } else {
            pdfs.iter().zip(weights).for_each(|(&pdf, weight)| sums[pdf as usize] += f64::from(value) * weight);
        }
        Ok(())
    }
}

impl Scorer for SparseScorer {
    type Input = SparseFrames;

    fn pdfs(&self) -> usize {
        self.pdfs
    }

    fn parameters(&self) -> usize {
        self.pdf.len()
    }

    fn pdf(&self, parameter: usize) -> PdfId {
        PdfId(self.pdf[parameter])
    }

    fn frames(&self, input: &SparseFrames) -> usize {
        input.frames()
    }

    fn emissions(&self, parameters: &[f64], input: &SparseFrames) -> Result<Emissions> {
        let mut scores = Matrix::zeros(input.frames(), self.pdfs);
        let mut sums = vec![0.0; self.pdfs];
        for frame in 0..input.frames() {
            sums.fill(0.0);
            let (features, values) = input.frame(frame);
            for pair in features.iter().copied().zip(values.iter().copied()) {
                self.add_row(parameters, pair, &mut sums)?;
            }
            scores.row_mut(frame).iter_mut().zip(&sums).for_each(|(score, sum)| *score = *sum as f32);
        }
        Emissions::new(scores)
    }

    fn differentiate(&self, input: &SparseFrames, by_cell: &Matrix, mut add: impl FnMut(usize, f64)) {
        for (frame, cells) in by_cell.iter_rows().enumerate() {
            if cells.iter().all(|&cell| cell == 0.0) {
                continue;
            }
            let (features, values) = input.frame(frame);
            for (&feature, &value) in features.iter().zip(values) {
                for parameter in self.row(feature).into_iter().flatten() {
                    let cell = cells[self.pdf[parameter] as usize];
                    if cell != 0.0 {
                        add(parameter, f64::from(value) * f64::from(cell));
                    }
                }
            }
        }
    }

    fn accumulate(&self, input: &SparseFrames, by_cell: &Matrix, sums: &mut [f64]) {
        let mut wide = vec![0.0; self.pdfs];
        for (frame, cells) in by_cell.iter_rows().enumerate() {
            wide.iter_mut().zip(cells).for_each(|(wide, &cell)| *wide = f64::from(cell));
            let (features, values) = input.frame(frame);
            for (&feature, &value) in features.iter().zip(values) {
                let Some(row) = self.row(feature) else { continue };
                let (pdfs, sums) = (&self.pdf[row.clone()], &mut sums[row]);
                if sums.len() == wide.len() {
                    sums.iter_mut().zip(&wide).for_each(|(sum, cell)| *sum += f64::from(value) * cell);
                } else {
                    sums.iter_mut().zip(pdfs).for_each(|(sum, &pdf)| *sum += f64::from(value) * wide[pdf as usize]);
                }
            }
        }
    }
}

/// Whether that many parameters can be numbered.
fn check_count(total: usize) -> Result<()> {
    match u32::try_from(total) {
        Ok(_) => Ok(()),
        Err(_) => {
            let reason = format!("{total} pairs of feature and tag are too many: leave rare features out");
            Err(Error::Other(reason))
        }
    }
}

/// Whether `found` is one of the numbers below `limit`.
fn below(what: &'static str, found: usize, limit: usize) -> Result<()> {
    if found < limit { Ok(()) } else { Err(Error::Shape { what, expected: limit, found: found + 1 }) }
}

/// Weights for every pair of a dimension and a pdf, and a bias for each pdf: `[(D + 1) x P]`, the biases last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameScorer {
    /// Dimensions of a frame, D.
    pub dims: usize,
    /// Number of pdfs, P.
    pub pdfs: usize,
}

impl Scorer for FrameScorer {
    type Input = Matrix;

    fn pdfs(&self) -> usize {
        self.pdfs
    }

    fn parameters(&self) -> usize {
        (self.dims + 1) * self.pdfs
    }

    fn pdf(&self, parameter: usize) -> PdfId {
        PdfId::from_index(parameter % self.pdfs)
    }

    fn frames(&self, input: &Matrix) -> usize {
        input.rows()
    }

    fn emissions(&self, parameters: &[f64], input: &Matrix) -> Result<Emissions> {
        if input.cols() != self.dims {
            return Err(Error::Shape { what: "dimensions of a frame", expected: self.dims, found: input.cols() });
        }
        let (weights, biases) = parameters.split_at(self.dims * self.pdfs);
        let mut scores = Matrix::zeros(input.rows(), self.pdfs);
        for (frame, values) in input.iter_rows().enumerate() {
            let mut sums = biases.to_vec();
            for (&value, row) in values.iter().zip(weights.chunks_exact(self.pdfs)) {
                sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(value) * weight);
            }
            scores.row_mut(frame).iter_mut().zip(&sums).for_each(|(score, sum)| *score = *sum as f32);
        }
        Emissions::new(scores)
    }

    fn differentiate(&self, input: &Matrix, by_cell: &Matrix, mut add: impl FnMut(usize, f64)) {
        for (values, cells) in input.iter_rows().zip(by_cell.iter_rows()) {
            for (pdf, &cell) in cells.iter().enumerate().filter(|(_, cell)| **cell != 0.0) {
                for (dim, &value) in values.iter().chain(&[1.0]).enumerate() {
                    add(dim * self.pdfs + pdf, f64::from(value) * f64::from(cell));
                }
            }
        }
    }

    fn accumulate(&self, input: &Matrix, by_cell: &Matrix, sums: &mut [f64]) {
        for (values, cells) in input.iter_rows().zip(by_cell.iter_rows()) {
            for (&value, row) in values.iter().chain(&[1.0]).zip(sums.chunks_exact_mut(self.pdfs)) {
                row.iter_mut().zip(cells).for_each(|(sum, &cell)| *sum += f64::from(value) * f64::from(cell));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn sparse() -> (SparseScorer, SparseFrames) {
        let frames = SparseFrames::new(vec![0, 2, 2, 5], vec![0, 3, 1, 2, 2], vec![1.0, 0.5, 2.0, -1.0, 1.5]).unwrap();
        let labels = [PdfId(1), PdfId(0), PdfId(2)];
        (SparseScorer::observed([(&frames, &labels[..])], (4, 3)).unwrap(), frames)
    }

    /// sum_{t, k} c[t, k] * emission[t, k] is linear in the parameters, with the slopes that `differentiate` gives.
    fn check<S: Scorer>(scorer: &S, input: &S::Input) {
        let mut random = Random::new(1);
        let mut draw = |count: usize| -> Vec<f32> { (0..count).map(|_| random.normal()).collect() };
        let parameters: Vec<f64> = draw(scorer.parameters()).into_iter().map(f64::from).collect();
        let (frames, pdfs) = (scorer.frames(input), scorer.pdfs());
        let cells = Matrix::from_vec(frames, pdfs, draw(frames * pdfs)).unwrap();
        let total = |parameters: &[f64]| -> f64 {
            let emissions = scorer.emissions(parameters, input).unwrap();
            let scores = emissions.matrix().as_slice().iter().zip(cells.as_slice());
            scores.map(|(score, cell)| f64::from(*score) * f64::from(*cell)).sum()
        };
        let mut gradient = vec![0.0; scorer.parameters()];
        scorer.differentiate(input, &cells, |parameter, amount| gradient[parameter] += amount);
        let mut sums = vec![1.0; scorer.parameters()];
        scorer.accumulate(input, &cells, &mut sums);
        let same = sums.iter().zip(&gradient).all(|(sum, slope)| (sum - 1.0 - slope).abs() < 1e-12);
        assert!(same, "{sums:?} {gradient:?}");
        for (parameter, slope) in gradient.iter().enumerate() {
            let mut moved = parameters.clone();
            moved[parameter] += 1.0;
            let difference = total(&moved) - total(&parameters);
            assert!((difference - slope).abs() < 1e-4, "parameter {parameter}: {difference} {slope}");
        }
    }

    #[test]
    fn derivatives_are_slopes() {
        let (scorer, frames) = sparse();
        check(&scorer, &frames);
        check(&SparseScorer::all(4, 3).unwrap(), &frames);
        let dense = Matrix::from_vec(3, 2, vec![0.5, -1.0, 2.0, 0.25, 0.0, 1.0]).unwrap();
        check(&FrameScorer { dims: 2, pdfs: 3 }, &dense);
    }

    #[test]
    fn only_observed_pairs_have_parameters() {
        let (scorer, _) = sparse();
        assert_eq!(scorer.parts(), ([0, 1, 2, 3, 4].as_slice(), [1, 2, 2, 1].as_slice()));
        assert_eq!(scorer.parameters(), 4);
        assert_eq!(scorer.pdf(3), PdfId(1));
        let again = SparseScorer::from_parts(vec![0, 1, 2, 3, 4], vec![1, 2, 2, 1], 3).unwrap();
        assert_eq!(again, scorer);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        assert!(SparseScorer::from_parts(vec![0, 2], vec![0], 3).is_err());
        assert!(SparseScorer::from_parts(vec![], vec![], 3).is_err());
        assert!(SparseScorer::from_parts(vec![0, 2, 1], vec![0], 3).is_err());
        assert!(SparseScorer::from_parts(vec![0, 1], vec![3], 3).is_err());
        assert!(FrameScorer { dims: 2, pdfs: 3 }.emissions(&[0.0; 9], &Matrix::zeros(1, 3)).is_err());
    }
}
