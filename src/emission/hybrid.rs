//! From what a network believes to what a search can add up: scaled likelihoods.
//!
//! A network gives P(y | x). By Bayes P(x | y) = P(y | x) P(x) / P(y), and P(x) is the same for every y, so the
//! log-posterior less the log-prior stands for the log-likelihood. In: [`LogPosteriors`] and [`Priors`] `[P]`. Out:
//! [`Emissions`] `[T x P]`. Source: Bourlard and Morgan, "Connectionist Speech Recognition", 1994, section 7.

use super::{Emissions, LogPosteriors};
use crate::error::require;
use crate::matrix::Matrix;
use crate::symbols::PdfId;
use crate::{Error, Result};

/// log P(pdf) of every pdf, natural log, from an alignment's frame counts.
///
/// A pdf that no frame was aligned to is dead: its log-prior is minus infinity, and it is impossible in every frame. (The
/// formula alone would score it plus infinity, better than everything that was ever seen.)
#[derive(Debug, Clone, PartialEq)]
pub struct Priors(Vec<f32>);

impl Priors {
    /// Relative frequencies of `counts` `[P]` (frames per pdf). A probability below `floor` is raised to it, unless its
    /// count is zero: that pdf is dead. Probabilities are not normalised again after the floor.
    ///
    /// # Errors
    /// [`Error::Setting`] when `floor` is not in `0..1`; [`Error::Other`] when a count is negative or not finite, or none is
    /// positive.
    pub fn from_counts(counts: &[f64], floor: f64) -> Result<Self> {
        require((0.0..1.0).contains(&floor), "prior_floor", floor, "a probability, at least 0 and below 1")?;
        if let Some(pdf) = counts.iter().position(|count| !count.is_finite() || *count < 0.0) {
            let count = counts[pdf];
            return Err(Error::Other(format!("pdf {pdf} has a count of {count} frames: expected a number from 0 up")));
        }
        let total: f64 = counts.iter().sum();
        if total <= 0.0 {
            return Err(Error::Other("no pdf has a frame aligned to it: align some utterances first".into()));
        }
        let log = |&count: &f64| match count {
            0.0 => f32::NEG_INFINITY,
            _ => (count / total).max(floor).ln() as f32,
        };
        Ok(Self(counts.iter().map(log).collect()))
    }

    /// Takes log-priors `[P]` as [`Priors::log`] gave them.
    ///
    /// # Errors
    /// [`Error::Other`] when one is NaN, above 0, or all are minus infinity.
    pub fn from_log(log: Vec<f32>) -> Result<Self> {
        if let Some(pdf) = log.iter().position(|value| value.is_nan() || *value > 0.0) {
            let value = log[pdf];
            return Err(Error::Other(format!("the log-prior of pdf {pdf} is {value}: expected a number up to 0")));
        }
        if log.iter().all(|&value| value == f32::NEG_INFINITY) {
            return Err(Error::Other("the prior of every pdf is zero: at least one must have frames".into()));
        }
        Ok(Self(log))
    }

    /// Takes priors `[P]` as another toolkit left them: natural logs when a value is negative, else frame counts or
    /// probabilities, which are divided by their sum. A pdf of no count, or of log minus infinity, is dead.
    ///
    /// # Errors
    /// [`Error::Other`] as [`Priors::from_counts`] and [`Priors::from_log`], and when the probabilities that logs stand for do
    /// not sum to 1, give or take 0.05.
    pub fn from_values(values: &[f64]) -> Result<Self> {
        if !values.iter().any(|&value| value < 0.0) {
            return Self::from_counts(values, 0.0);
        }
        let priors = Self::from_log(values.iter().map(|&value| value as f32).collect())?;
        match values.iter().map(|value| value.exp()).sum::<f64>() {
            sum if (sum - 1.0).abs() > 0.05 => Err(Error::Other(format!(
                "log-priors whose probabilities sum to {sum:.4}: expected 1, are they natural logs?"
            ))),
            _ => Ok(priors),
        }
    }

    /// The same prior for each of `pdfs` pdfs: none is better known than another.
    ///
    /// # Errors
    /// [`Error::Other`] when there is no pdf.
    pub fn uniform(pdfs: usize) -> Result<Self> {
        Self::from_counts(&vec![1.0; pdfs], 0.0)
    }

    /// The log-priors `[P]`; [`f32::NEG_INFINITY`] marks a dead pdf.
    pub fn log(&self) -> &[f32] {
        &self.0
    }

    /// Number of pdfs, P.
    pub fn pdfs(&self) -> usize {
        self.0.len()
    }

    /// The pdfs without a single frame, ascending: none of them can be recognised.
    pub fn dead(&self) -> impl Iterator<Item = PdfId> {
        let dead = self.0.iter().enumerate().filter(|(_, log)| **log == f32::NEG_INFINITY);
        dead.map(|(pdf, _)| PdfId::from_index(pdf))
    }
}

/// How much posteriors and priors weigh in an emission.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HybridScales {
    /// Weight of the emissions against the graph's weights, above 0.
    pub acoustic_scale: f32,
    /// Share of the log-prior that is taken off, from 0 (posteriors as they are) up.
    pub prior_scale: f32,
}

impl Default for HybridScales {
    fn default() -> Self {
        Self { acoustic_scale: 1.0, prior_scale: 1.0 }
    }
}

impl HybridScales {
    /// Whether both are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] names the one that is not.
    pub fn check(&self) -> Result<()> {
        let Self { acoustic_scale, prior_scale } = *self;
        let (above_zero, from_zero) = (acoustic_scale > 0.0, prior_scale >= 0.0);
        require(acoustic_scale.is_finite() && above_zero, "acoustic_scale", acoustic_scale, "a number above 0")?;
        require(prior_scale.is_finite() && from_zero, "prior_scale", prior_scale, "a number from 0 up")
    }
}

/// Scaled likelihoods `[T x P]`:
///
/// ```text
/// emission[t, y] = acoustic_scale * (log P(y | x_t) - prior_scale * log P(y))
/// ```
///
/// and minus infinity where the prior of y is dead, whatever the scales.
///
/// # Errors
/// [`Error::PdfCount`] when the priors are of another number of pdfs; [`Error::Setting`] from [`HybridScales::check`];
/// [`Error::NotFinite`] when a posterior is NaN or plus infinity.
pub fn hybrid(posteriors: &LogPosteriors, priors: &Priors, scales: HybridScales) -> Result<Emissions> {
    scaled(&posteriors.0, priors, scales)
}

/// The same of `scores` `[T x P]` that are log-posteriors but for a number that a whole frame shares, as a network's logits are: it
/// changes all paths alike.
///
/// # Errors
/// As [`hybrid`].
pub fn scaled(scores: &Matrix, priors: &Priors, scales: HybridScales) -> Result<Emissions> {
    scales.check()?;
    if scores.cols() != priors.pdfs() {
        return Err(Error::PdfCount { network: scores.cols(), graph: priors.pdfs() });
    }
    let HybridScales { acoustic_scale, prior_scale } = scales;
    let mut emissions = Matrix::with_cols(priors.pdfs());
    let mut row = vec![0.0; priors.pdfs()];
    for frame in scores.iter_rows() {
        for ((emission, &score), &log_prior) in row.iter_mut().zip(frame).zip(priors.log()) {
            *emission = match log_prior {
                f32::NEG_INFINITY => f32::NEG_INFINITY,
                _ => acoustic_scale * (score - prior_scale * log_prior),
            };
        }
        emissions.push_row(&row);
    }
    Emissions::new(emissions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posteriors(rows: &[&[f32]]) -> LogPosteriors {
        let mut matrix = Matrix::with_cols(rows[0].len());
        rows.iter().for_each(|row| matrix.push_row(&row.iter().map(|p| p.ln()).collect::<Vec<_>>()));
        LogPosteriors(matrix)
    }

    #[test]
    fn emissions_are_the_formula() {
        let priors = Priors::from_counts(&[6.0, 2.0], 0.0).unwrap();
        let scales = HybridScales { acoustic_scale: 0.5, prior_scale: 0.8 };
        let emissions = hybrid(&posteriors(&[&[0.9, 0.1]]), &priors, scales).unwrap();
        let by_hand = [0.5 * (0.9f32.ln() - 0.8 * 0.75f32.ln()), 0.5 * (0.1f32.ln() - 0.8 * 0.25f32.ln())];
        for (score, expected) in emissions.frame(0).iter().zip(by_hand) {
            assert!((score - expected).abs() < 1e-6, "{score} {expected}");
        }
    }

    #[test]
    fn a_dead_pdf_is_impossible_in_every_frame_at_every_scale() {
        let priors = Priors::from_counts(&[3.0, 0.0, 1.0], 1e-3).unwrap();
        assert_eq!(priors.dead().collect::<Vec<_>>(), [PdfId(1)]);
        for prior_scale in [0.0, 0.3, 1.0, 2.0] {
            let scales = HybridScales { acoustic_scale: 0.1, prior_scale };
            let frames = posteriors(&[&[0.1, 0.8, 0.1], &[0.5, 0.0, 0.5]]);
            let emissions = hybrid(&frames, &priors, scales).unwrap();
            for frame in 0..2 {
                assert_eq!(emissions.frame(frame)[1], f32::NEG_INFINITY);
                assert!(emissions.frame(frame)[0].is_finite());
            }
        }
    }

    #[test]
    fn the_floor_lifts_rare_pdfs_but_not_dead_ones() {
        let priors = Priors::from_counts(&[999_999.0, 1.0, 0.0], 1e-4).unwrap();
        assert!((priors.log()[1] - 1e-4f32.ln()).abs() < 1e-5);
        assert_eq!(priors.log()[2], f32::NEG_INFINITY);
    }

    #[test]
    fn log_priors_survive_the_store() {
        let priors = Priors::from_counts(&[3.0, 0.0, 1.0], 0.0).unwrap();
        assert_eq!(Priors::from_log(priors.log().to_vec()).unwrap(), priors);
    }

    #[test]
    fn values_are_counts_probabilities_or_logs() {
        let priors = Priors::from_counts(&[6.0, 0.0, 2.0], 0.0).unwrap();
        for values in [[6.0, 0.0, 2.0], [0.75, 0.0, 0.25], [0.75f64.ln(), f64::NEG_INFINITY, 0.25f64.ln()]] {
            assert_eq!(Priors::from_values(&values).unwrap(), priors);
        }
        assert_eq!(Priors::from_values(&[5.0, 5.0]).unwrap(), Priors::uniform(2).unwrap());
        let refused = |values: &[f64]| Priors::from_values(values).unwrap_err().to_string();
        assert_eq!(
            refused(&[-0.125, -0.602]),
            "log-priors whose probabilities sum to 1.4302: expected 1, are they natural logs?"
        );
        assert_eq!(refused(&[-1.0, 2.0]), "the log-prior of pdf 1 is 2: expected a number up to 0");
        assert!(refused(&[1.0, f64::NAN]).starts_with("pdf 1 has a count of NaN"));
        assert!(Priors::from_values(&[0.0, 0.0]).is_err() && Priors::from_values(&[]).is_err());
    }

    #[test]
    fn counts_and_priors_that_make_no_sense_are_refused() {
        assert!(Priors::from_counts(&[1.0, -1.0], 0.0).is_err());
        assert!(Priors::from_counts(&[1.0, f64::NAN], 0.0).is_err());
        assert!(Priors::from_counts(&[0.0, 0.0], 0.0).is_err());
        assert!(Priors::from_counts(&[1.0], 1.0).is_err());
        assert!(Priors::from_log(vec![0.5]).is_err());
        assert!(Priors::from_log(vec![f32::NAN]).is_err());
        assert!(Priors::from_log(vec![f32::NEG_INFINITY]).is_err());
    }

    #[test]
    fn scales_out_of_range_are_named() {
        let found = HybridScales { acoustic_scale: 0.0, prior_scale: 1.0 }.check().unwrap_err().to_string();
        assert_eq!(found, "acoustic_scale = 0: expected a number above 0");
        assert!(HybridScales { acoustic_scale: 1.0, prior_scale: -0.1 }.check().is_err());
        assert!(HybridScales { acoustic_scale: f32::NAN, prior_scale: 1.0 }.check().is_err());
    }

    #[test]
    fn pdf_counts_must_agree() {
        let priors = Priors::from_counts(&[1.0, 1.0], 0.0).unwrap();
        let found = hybrid(&posteriors(&[&[0.2, 0.3, 0.5]]), &priors, HybridScales::default());
        assert!(matches!(found, Err(Error::PdfCount { network: 3, graph: 2 })));
    }
}
