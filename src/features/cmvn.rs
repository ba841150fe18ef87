//! Mean and variance normalisation: frames come in, frames of about mean 0 and deviation 1 a column go out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::config::{FeatureConfig, Normalisation};
use crate::matrix::Matrix;
use crate::{Error, Result};

/// No column is scaled by a smaller variance than this: a constant column stays near 0.
const VARIANCE_FLOOR: f64 = 1e-8;

/// Sums over frames from which mean and deviation follow, column by column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moments {
    /// Frames counted.
    pub count: f64,
    /// Sum of the values, `[D]`.
    pub sum: Vec<f64>,
    /// Sum of the squared values, `[D]`.
    pub square: Vec<f64>,
}

impl Moments {
    /// No frames yet, of `dim` columns.
    pub fn new(dim: usize) -> Self {
        Self { count: 0.0, sum: vec![0.0; dim], square: vec![0.0; dim] }
    }

    /// Counts in all `frames`, `[T x D]`.
    ///
    /// # Panics
    /// When `frames` has another number of columns.
    pub fn accumulate(&mut self, frames: &Matrix) {
        frames.iter_rows().for_each(|frame| self.count_in(frame));
    }

    /// Counts in one `frame`, `[D]`.
    ///
    /// # Panics
    /// When it has another number of columns.
    pub fn count_in(&mut self, frame: &[f32]) {
        assert_eq!(frame.len(), self.sum.len(), "frames must have as many columns as the moments");
        self.count += 1.0;
        for ((sum, square), &value) in self.sum.iter_mut().zip(&mut self.square).zip(frame) {
            *sum += f64::from(value);
            *square += f64::from(value) * f64::from(value);
        }
    }

    /// Counts in what `other`, of as many columns, has counted.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.iter_mut().zip(&other.sum).for_each(|(sum, part)| *sum += part);
        self.square.iter_mut().zip(&other.square).for_each(|(sum, part)| *sum += part);
    }

    /// Mean of each column, `[D]`; 0 when no frame was counted.
    pub fn mean(&self) -> Vec<f64> {
        self.sum.iter().map(|sum| sum / self.count.max(1.0)).collect()
    }

    /// Standard deviation of each column, `[D]`; at least 1e-4.
    pub fn deviation(&self) -> Vec<f64> {
        let variance = |(mean, square): (f64, &f64)| square / self.count.max(1.0) - mean * mean;
        self.mean().into_iter().zip(&self.square).map(|pair| variance(pair).max(VARIANCE_FLOOR).sqrt()).collect()
    }

    /// Checks moments that may come from a file.
    fn check(&self, dim: usize) -> Result<()> {
        for found in [self.sum.len(), self.square.len()] {
            if found != dim {
                return Err(Error::Shape { what: "columns in the normalisation's moments", expected: dim, found });
            }
        }
        let counted = self.count.is_finite() && self.count >= 1.0;
        let usable = |value: &f64| (*value as f32).is_finite();
        if !counted
            || !self.mean().iter().chain(&self.deviation()).all(usable)
            || !self.square.iter().all(|x| x.is_finite())
        {
            let reason =
                "the normalisation's moments count no frame or hold a number that is not finite: make them anew";
            return Err(Error::Other(reason.into()));
        }
        Ok(())
    }
}

/// Normalises frames in order; what it gives does not depend on how they are cut into blocks.
pub(super) enum Normaliser {
    Identity,
    Fixed { mean: Vec<f32>, scale: Vec<f32> },
    Sliding(Sliding),
}

impl Normaliser {
    /// The normaliser of a checked `config`, for the kinds that look at no later frame; `moments` are the training set's (or,
    /// for [`Normalisation::Speaker`] and [`Normalisation::Utterance`], those that the frames to come will have).
    pub(super) fn new(config: &FeatureConfig, moments: Option<&Moments>) -> Result<Self> {
        if config.normalisation == Normalisation::None {
            return Ok(Self::Identity);
        }
        let Some(moments) = moments else {
            return Err(Error::Other(format!(
                "normalisation \"{}\" needs the mean and deviation of frames seen before, and none were given",
                name(config.normalisation)
            )));
        };
        moments.check(config.dim())?;
        let scale = moments.deviation().iter().map(|deviation| (1.0 / deviation) as f32).collect();
        Ok(match config.normalisation {
            Normalisation::Sliding { window_frames, prior_frames } => {
                let prior = moments.mean().iter().map(|mean| mean * prior_frames as f64).collect();
                Self::Sliding(Sliding::new(window_frames, prior_frames, prior, scale))
            }
            _ => Self::Fixed { mean: moments.mean().iter().map(|&mean| mean as f32).collect(), scale },
        })
    }

    /// Normalises the next `frames`.
    pub(super) fn apply(&mut self, frames: &mut Matrix) {
        for index in 0..frames.rows() {
            let row = frames.row_mut(index);
            match self {
                Self::Identity => return,
                Self::Fixed { mean, scale } => centre_and_scale(row, mean, scale),
                Self::Sliding(sliding) => sliding.apply(row),
            }
        }
    }
}

/// The causal window of [`Normalisation::Sliding`].
pub(super) struct Sliding {
    window_frames: usize,
    prior_frames: f64,
    /// The frames in the window.
    window: VecDeque<Vec<f32>>,
    /// Their sum and the prior's, `[D]`.
    sum: Vec<f64>,
    mean: Vec<f32>,
    scale: Vec<f32>,
}

impl Sliding {
    fn new(window_frames: usize, prior_frames: usize, prior: Vec<f64>, scale: Vec<f32>) -> Self {
        let mean = vec![0.0; prior.len()];
        Self { window_frames, prior_frames: prior_frames as f64, window: VecDeque::new(), sum: prior, mean, scale }
    }

    fn apply(&mut self, row: &mut [f32]) {
        let mut slot = Vec::new();
        if self.window.len() == self.window_frames {
            slot = self.window.pop_front().unwrap_or_default();
            self.sum.iter_mut().zip(&slot).for_each(|(sum, &value)| *sum -= f64::from(value));
        }
        slot.clear();
        slot.extend_from_slice(row);
        self.window.push_back(slot);
        let count = self.window.len() as f64 + self.prior_frames;
        for ((mean, sum), &value) in self.mean.iter_mut().zip(&mut self.sum).zip(&*row) {
            *sum += f64::from(value);
            *mean = (*sum / count) as f32;
        }
        centre_and_scale(row, &self.mean, &self.scale);
    }
}

fn centre_and_scale(row: &mut [f32], mean: &[f32], scale: &[f32]) {
    for ((value, mean), scale) in row.iter_mut().zip(mean).zip(scale) {
        *value = (*value - mean) * scale;
    }
}

/// Refuses the normalisations that need frames still to come.
pub(super) fn check_streams(normalisation: Normalisation) -> Result<()> {
    match normalisation {
        Normalisation::None | Normalisation::Global | Normalisation::Sliding { .. } => Ok(()),
        Normalisation::Utterance | Normalisation::Speaker => Err(Error::Other(format!(
            "normalisation \"{}\" needs all frames before the first can be given out and so cannot stream: extract whole \
             utterances and normalise them, or train with \"global\" or \"sliding\"",
            name(normalisation)
        ))),
    }
}

fn name(normalisation: Normalisation) -> &'static str {
    match normalisation {
        Normalisation::None => "none",
        Normalisation::Global => "global",
        Normalisation::Sliding { .. } => "sliding",
        Normalisation::Utterance => "utterance",
        Normalisation::Speaker => "speaker",
    }
}

/// Normalises the `frames` (`[T x D]`) of one whole utterance in place, as `config.normalisation` says.
///
/// `moments` are the training set's for [`Normalisation::Global`] and [`Normalisation::Sliding`] and the speaker's for
/// [`Normalisation::Speaker`]; the other kinds do not look at them.
///
/// # Errors
/// [`Error::Setting`] when `config` is not right; [`Error::Shape`] when `frames` or `moments` have not [`FeatureConfig::dim`]
/// columns; [`Error::Other`] when moments are needed and not given, or count no frame.
pub fn normalise(config: &FeatureConfig, frames: &mut Matrix, moments: Option<&Moments>) -> Result<()> {
    config.check()?;
    if frames.cols() != config.dim() {
        return Err(Error::Shape { what: "columns in the frames", expected: config.dim(), found: frames.cols() });
    }
    if config.normalisation != Normalisation::Utterance {
        Normaliser::new(config, moments)?.apply(frames);
    } else if frames.rows() > 0 {
        let mut own = Moments::new(frames.cols());
        own.accumulate(frames);
        Normaliser::new(config, Some(&own))?.apply(frames);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(normalisation: Normalisation) -> FeatureConfig {
        FeatureConfig { mel_bins: 3, normalisation, ..FeatureConfig::default() }
    }

    fn frames(count: usize) -> Matrix {
        let value = |index: usize| ((index * index * 31 + 17 * index) % 101) as f32 * 0.1 + (index % 3) as f32 * 20.0;
        Matrix::from_vec(count, 3, (0..3 * count).map(value).collect()).unwrap()
    }

    fn moments(frames: &Matrix) -> Moments {
        let mut moments = Moments::new(frames.cols());
        moments.accumulate(frames);
        moments
    }

    fn assert_standard(frames: &Matrix) {
        let moments = moments(frames);
        assert!(moments.mean().iter().all(|mean| mean.abs() < 1e-5), "{:?}", moments.mean());
        assert!(moments.deviation().iter().all(|dev| (dev - 1.0).abs() < 1e-5), "{:?}", moments.deviation());
    }

    #[test]
    fn moments_are_those_of_the_definition() {
        let all = frames(50);
        let mut counted = moments(&all.slice_rows(0..20));
        counted.accumulate(&all.slice_rows(20..50));
        let column: Vec<f64> = all.iter_rows().map(|row| f64::from(row[1])).collect();
        let mean = column.iter().sum::<f64>() / 50.0;
        let variance = column.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / 50.0;
        assert!((counted.mean()[1] - mean).abs() < 1e-9);
        assert!((counted.deviation()[1] - variance.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn utterance_global_and_speaker_give_mean_0_and_deviation_1_on_what_was_counted() {
        let mut own = frames(40);
        normalise(&config(Normalisation::Utterance), &mut own, None).unwrap();
        assert_standard(&own);
        for normalisation in [Normalisation::Global, Normalisation::Speaker] {
            let mut given = frames(40);
            normalise(&config(normalisation), &mut given, Some(&moments(&frames(40)))).unwrap();
            assert_eq!(given, own);
        }
    }

    #[test]
    fn sliding_is_as_its_formula_says() {
        let (window_frames, prior_frames) = (7, 3);
        let global = moments(&frames(100));
        let mut given = frames(30);
        let config = config(Normalisation::Sliding { window_frames, prior_frames });
        normalise(&config, &mut given, Some(&global)).unwrap();
        for t in 0..30 {
            let from = (t + 1usize).saturating_sub(window_frames);
            for column in 0..3 {
                let sum: f64 = (from..=t).map(|row| f64::from(frames(30).row(row)[column])).sum();
                let pseudo = prior_frames as f64;
                let mean = (sum + pseudo * global.mean()[column]) / ((t + 1 - from) as f64 + pseudo);
                let expected = (f64::from(frames(30).row(t)[column]) - mean) / global.deviation()[column];
                assert!((f64::from(given.row(t)[column]) - expected).abs() < 1e-5);
            }
        }
    }

    /// The window's sum is added to and taken from, frame by frame: after five hours it must still be that of its frames.
    #[test]
    fn sliding_does_not_drift_over_hours() {
        let (window_frames, prior_frames) = (300, 100);
        let global = moments(&frames(1000));
        let config = config(Normalisation::Sliding { window_frames, prior_frames });
        let mut normaliser = Normaliser::new(&config, Some(&global)).unwrap();
        (0..1800).for_each(|_| normaliser.apply(&mut frames(1000)));
        let mut last = frames(300);
        normaliser.apply(&mut last);
        let mut fresh = Normaliser::new(&config, Some(&global)).unwrap();
        let mut expected = frames(300);
        fresh.apply(&mut expected);
        let pairs = last.row(299).iter().zip(expected.row(299));
        assert!(pairs.clone().all(|(found, expected)| (found - expected).abs() < 1e-6), "{last:?}");
    }

    #[test]
    fn constant_and_single_frames_become_0() {
        let mut constant = Matrix::from_vec(4, 3, vec![-15.942_385; 12]).unwrap();
        normalise(&config(Normalisation::Utterance), &mut constant, None).unwrap();
        assert!(constant.as_slice().iter().all(|value| value.abs() < 0.05), "{constant:?}");
        let mut single = frames(1);
        normalise(&config(Normalisation::Utterance), &mut single, None).unwrap();
        assert_eq!(single.as_slice(), [0.0; 3]);
        let mut none = Matrix::with_cols(3);
        normalise(&config(Normalisation::Utterance), &mut none, None).unwrap();
    }

    #[test]
    fn missing_or_wrong_moments_are_refused() {
        let refused = |moments: Option<&Moments>| {
            normalise(&config(Normalisation::Global), &mut frames(2), moments).unwrap_err().to_string()
        };
        assert!(refused(None).contains("\"global\" needs"));
        assert!(refused(Some(&Moments::new(4))).contains("expected 3, found 4"));
        assert!(refused(Some(&Moments::new(3))).contains("count no frame"));
        let mut broken = moments(&frames(5));
        broken.square[2] = f64::NAN;
        assert!(refused(Some(&broken)).contains("not finite"));
    }
}
