//! The output of anyone's network, told by its values and made into [`LogPosteriors`].

use super::LogPosteriors;
use crate::matrix::Matrix;
use crate::{Error, Result};

/// What the cells of a network's output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PosteriorKind {
    /// log P(pdf | frame), natural, as after a log-softmax. Minus infinity is "impossible".
    Log,
    /// P(pdf | frame), 0 to 1, as after a softmax.
    Probability,
    /// log p(frame | pdf), natural, up to a constant: any values but NaN and plus infinity, which priors are no part of.
    Likelihood,
}

/// How far the sums of rows may be from 1 on average. A byte a cell, as Kaldi's compression leaves, has rounded logs that reach
/// down to -90 by up to 0.18, and thousands of small probabilities to 0.
const MEAN_TOLERANCE: f64 = 0.2;
/// How many times more or less than 1 a single row may sum to.
const ROW_FACTOR: f64 = 2.0;

impl PosteriorKind {
    /// The kind of `output` `[T x P]`: [`PosteriorKind::Probability`] when all cells lie in 0 to 1 and each row sums to 1,
    /// [`PosteriorKind::Log`] when the exponentials of each row do. Sums may be off by 0.2 on average and by a factor of 2
    /// in a single row. Likelihoods look like mistakes: they are never found.
    ///
    /// # Errors
    /// [`Error::Other`] when `output` is neither.
    pub fn of(output: &Matrix) -> Result<Self> {
        let widen = |(low, high): (f32, f32), &cell: &f32| (low.min(cell), high.max(cell));
        let (low, high) = output.as_slice().iter().fold((f32::INFINITY, f32::NEG_INFINITY), widen);
        let kind = if low >= 0.0 && high > 0.0 && high <= 1.0 { Self::Probability } else { Self::Log };
        let sums: Vec<f64> = output.iter_rows().map(|row| row.iter().map(|&cell| kind.posterior(cell)).sum()).collect();
        let mean_distance = sums.iter().map(|sum| (sum - 1.0).abs()).sum::<f64>() / sums.len() as f64;
        let off = |frame: usize| sums[frame].ln().abs();
        let worst = (0..sums.len()).rev().max_by(|&a, &b| off(a).total_cmp(&off(b)));
        match worst.filter(|&frame| mean_distance > MEAN_TOLERANCE || off(frame) > ROW_FACTOR.ln()) {
            None => Ok(kind),
            Some(frame) => Err(Error::Other(format!(
                "neither posteriors nor their natural logs: values lie from {low} to {high}, and {} of frame {frame} sum to \
                 {:.4}, not to 1: if that is as it should be, state the kind of posteriors",
                if kind == Self::Log { "the exponentials" } else { "those" },
                sums[frame],
            ))),
        }
    }

    /// The posterior that stands in `cell`.
    fn posterior(self, cell: f32) -> f64 {
        match self {
            Self::Probability => f64::from(cell),
            Self::Log | Self::Likelihood => f64::from(cell).exp(),
        }
    }
}

impl LogPosteriors {
    /// Takes the output `[T x P]` of a network, of the kind that is stated or else found by [`PosteriorKind::of`]. A
    /// probability of 0 has underflowed: it counts as the smallest positive normal number, log -87.3. What was stated is not
    /// checked for its sums, and likelihoods are taken as if they were log-posteriors.
    ///
    /// # Errors
    /// [`Error::Other`] when there is no cell, when a stated probability is not in 0 to 1, or as [`PosteriorKind::of`];
    /// [`Error::NotFinite`] when a cell is NaN or plus infinity.
    pub fn from_output(mut output: Matrix, kind: Option<PosteriorKind>) -> Result<Self> {
        if output.as_slice().is_empty() {
            return Err(Error::Other("the matrix is empty: expected a row of posteriors for each frame".into()));
        }
        let not_a_number = |row: &[f32]| row.iter().any(|&cell| cell.is_nan() || cell == f32::INFINITY);
        if let Some(frame) = output.iter_rows().position(not_a_number) {
            return Err(Error::NotFinite { what: "posteriors", frame });
        }
        let kind = kind.map_or_else(|| PosteriorKind::of(&output), Ok)?;
        if kind == PosteriorKind::Probability {
            if let Some(cell) = output.as_slice().iter().find(|cell| !(0.0..=1.0).contains(*cell)) {
                return Err(Error::Other(format!("a posterior of {cell}: expected probabilities, from 0 to 1")));
            }
            output.as_mut_slice().iter_mut().for_each(|cell| *cell = cell.max(f32::MIN_POSITIVE).ln());
        }
        Ok(Self(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f32]]) -> Matrix {
        let mut matrix = Matrix::with_cols(rows[0].len());
        rows.iter().for_each(|row| matrix.push_row(row));
        matrix
    }

    fn map(matrix: &Matrix, change: impl Fn(f32) -> f32) -> Matrix {
        let cells = matrix.as_slice().iter().map(|&cell| change(cell)).collect();
        Matrix::from_vec(matrix.rows(), matrix.cols(), cells).unwrap()
    }

    fn refused(output: Matrix, kind: Option<PosteriorKind>) -> String {
        LogPosteriors::from_output(output, kind).unwrap_err().to_string()
    }

    #[test]
    fn probabilities_and_their_logs_are_told_apart_and_become_the_same() {
        let probabilities = matrix(&[&[0.9, 0.1, 0.0], &[0.2, 0.3, 0.5]]);
        assert_eq!(PosteriorKind::of(&probabilities).unwrap(), PosteriorKind::Probability);
        let LogPosteriors(found) = LogPosteriors::from_output(probabilities.clone(), None).unwrap();
        assert_eq!(found.as_slice()[2], f32::MIN_POSITIVE.ln());
        assert_eq!(PosteriorKind::of(&found).unwrap(), PosteriorKind::Log);
        assert_eq!(LogPosteriors::from_output(found.clone(), None).unwrap().0, found);
        // Impossible, not underflowed.
        let impossible = map(&probabilities, f32::ln);
        assert_eq!(LogPosteriors::from_output(impossible.clone(), None).unwrap().0, impossible);
        // One pdf only: both kinds are constant.
        assert_eq!(PosteriorKind::of(&matrix(&[&[1.0]])).unwrap(), PosteriorKind::Probability);
        assert_eq!(PosteriorKind::of(&matrix(&[&[0.0]])).unwrap(), PosteriorKind::Log);
    }

    #[test]
    fn rounding_does_not_hide_the_kind() {
        let mut random = crate::random::Random::new(1);
        let mut logits = Matrix::zeros(50, 40);
        logits.as_mut_slice().iter_mut().for_each(|cell| *cell = 3.0 * random.normal());
        for row in 0..50 {
            let row = logits.row_mut(row);
            let total = row.iter().map(|cell| cell.exp()).sum::<f32>().ln();
            row.iter_mut().for_each(|cell| *cell -= total);
        }
        let step = 0.05;
        assert_eq!(PosteriorKind::of(&map(&logits, |log| (log / step).round() * step)).unwrap(), PosteriorKind::Log);
        let byte = map(&logits, |log| (log.exp() * 255.0).round() / 255.0);
        assert_eq!(PosteriorKind::of(&byte).unwrap(), PosteriorKind::Probability);
        // Another base is no rounding.
        for base in [2.0f32, 10.0] {
            assert!(PosteriorKind::of(&map(&logits, |log| log / base.ln())).is_err());
        }
    }

    #[test]
    fn what_is_neither_is_refused_unless_its_kind_is_stated() {
        let likelihoods = matrix(&[&[-1.0, -2.0], &[3.0, -4.5]]);
        assert_eq!(
            refused(likelihoods.clone(), None),
            "neither posteriors nor their natural logs: values lie from -4.5 to 3, and the exponentials of frame 1 sum to \
             20.0966, not to 1: if that is as it should be, state the kind of posteriors"
        );
        for kind in [PosteriorKind::Log, PosteriorKind::Likelihood] {
            assert_eq!(LogPosteriors::from_output(likelihoods.clone(), Some(kind)).unwrap().0, likelihoods);
        }
        // Rows of zeros, as padding leaves them.
        let padded = matrix(&[&[0.5, 0.5], &[0.0, 0.0]]);
        assert!(refused(padded, None).contains("and those of frame 1 sum to 0.0000"));
        let stated = Some(PosteriorKind::Probability);
        assert_eq!(refused(likelihoods, stated), "a posterior of -1: expected probabilities, from 0 to 1");
    }

    #[test]
    fn nothing_and_what_is_no_number_is_refused_whatever_was_stated() {
        let kinds = [PosteriorKind::Log, PosteriorKind::Probability, PosteriorKind::Likelihood].map(Some);
        for kind in kinds.into_iter().chain([None]) {
            assert!(refused(Matrix::zeros(0, 3), kind).starts_with("the matrix is empty"));
            assert!(refused(Matrix::zeros(3, 0), kind).starts_with("the matrix is empty"));
            for bad in [f32::NAN, f32::INFINITY] {
                let message = refused(matrix(&[&[0.5, 0.5], &[0.5, bad]]), kind);
                assert_eq!(message, "posteriors: a value in frame 1 is not a finite number");
            }
        }
    }
}
