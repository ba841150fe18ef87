//! Changes of the frames that a network should not mind: speed, and masks over time and frequency (SpecAugment, Park et al.
//! 2019).

use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// Which changes are drawn; all of them off is the plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AugmentConfig {
    /// Speeds drawn from, each as likely as another; 1 leaves the frames as they are.
    pub speeds: Vec<f32>,
    /// Masks over neighbouring feature dimensions, in each utterance.
    pub frequency_masks: usize,
    /// Widest of them, in dimensions.
    pub frequency_mask_dims: usize,
    /// Masks over neighbouring frames for each 150 frames of an utterance; at least one where this is not 0.
    pub time_masks: usize,
    /// Widest of them, in frames; never more than a fifth of the utterance.
    pub time_mask_frames: usize,
}

impl Default for AugmentConfig {
    fn default() -> Self {
        Self {
            speeds: vec![0.9, 1.0, 1.1],
            frequency_masks: 2,
            frequency_mask_dims: 8,
            time_masks: 1,
            time_mask_frames: 20,
        }
    }
}

/// Frames that one time mask is drawn for.
const FRAMES_PER_MASK: usize = 150;

impl AugmentConfig {
    /// No change at all.
    pub fn none() -> Self {
        Self { speeds: vec![1.0], frequency_masks: 0, time_masks: 0, ..Self::default() }
    }

    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming key and value.
    pub fn check(&self) -> Result<()> {
        if self.speeds.is_empty() || self.speeds.iter().any(|speed| !(0.5..=2.0).contains(speed)) {
            let value = format!("{:?}", self.speeds);
            return Err(Error::Setting { key: "speeds", value, expected: "one or more numbers from 0.5 to 2" });
        }
        Ok(())
    }

    /// A changed copy of `frames` `[T x D]` and of the `targets` of its output rows, `subsampling` frames each.
    pub(super) fn apply(
        &self,
        (frames, targets): (&Matrix, &[u32]),
        subsampling: usize,
        random: &mut Random,
    ) -> (Matrix, Vec<u32>) {
        let speed = self.speeds[random.below(self.speeds.len())];
        let (mut frames, targets) = match speed {
            1.0 => (frames.clone(), targets.to_vec()),
            _ => change_speed((frames, targets), subsampling, speed),
        };
        for _ in 0..self.frequency_masks {
            let (first, last) = stretch(frames.cols(), self.frequency_mask_dims, random);
            (0..frames.rows()).for_each(|row| frames.row_mut(row)[first..last].fill(0.0));
        }
        let widest = self.time_mask_frames.min(frames.rows() / 5);
        for _ in 0..self.time_masks * (frames.rows() / FRAMES_PER_MASK).max(1) {
            let (first, last) = stretch(frames.rows(), widest, random);
            (first..last).for_each(|row| frames.row_mut(row).fill(0.0));
        }
        (frames, targets)
    }
}

/// A random stretch of at most `widest` of `length` places.
fn stretch(length: usize, widest: usize, random: &mut Random) -> (usize, usize) {
    let width = random.below(widest.min(length) + 1);
    let first = random.below(length - width + 1);
    (first, first + width)
}

/// Frame t of the result is the frame at `speed * t` of `frames`, between its neighbours; targets follow.
fn change_speed((frames, targets): (&Matrix, &[u32]), subsampling: usize, speed: f32) -> (Matrix, Vec<u32>) {
    let rows = ((frames.rows() as f32 / speed) as usize).max(1);
    let last = frames.rows() - 1;
    let mut changed = Matrix::zeros(rows, frames.cols());
    for row in 0..rows {
        let place = row as f32 * speed;
        let (before, share) = ((place as usize).min(last), place.fract());
        let (left, right) = (frames.row(before), frames.row((before + 1).min(last)));
        let cells = changed.row_mut(row).iter_mut().zip(left.iter().zip(right));
        cells.for_each(|(cell, (left, right))| *cell = left + share * (right - left));
    }
    let target = |row: usize| {
        let middle = (row as f32 + 0.5) * subsampling as f32 * speed;
        targets[(middle as usize / subsampling).min(targets.len() - 1)]
    };
    (changed, (0..rows.div_ceil(subsampling)).map(target).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rows: usize) -> Matrix {
        Matrix::from_vec(rows, 1, (0..rows).map(|row| 1.0 + row as f32).collect()).unwrap()
    }

    #[test]
    fn half_speed_doubles_frames_and_targets() {
        let (frames, targets) = change_speed((&ramp(4), &[7, 8]), 2, 0.5);
        assert_eq!(frames.as_slice(), [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.0]);
        assert_eq!(targets, [7, 7, 8, 8]);
    }

    #[test]
    fn masks_are_no_wider_than_asked_and_targets_stay() {
        let config = AugmentConfig { speeds: vec![1.0], frequency_masks: 0, time_mask_frames: 5, ..Default::default() };
        let mut widest = 0;
        for seed in 0..50 {
            let (frames, targets) = config.apply((&ramp(100), &[3; 100]), 1, &mut Random::new(seed));
            let masked = frames.as_slice().iter().filter(|&&value| value == 0.0).count();
            assert!(masked <= 5);
            widest = widest.max(masked);
            assert_eq!(targets, [3; 100]);
        }
        assert_eq!(widest, 5);
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        let (frames, targets) = AugmentConfig::none().apply((&ramp(9), &[1, 2, 3]), 3, &mut Random::new(1));
        assert_eq!((frames, targets), (ramp(9), vec![1, 2, 3]));
    }
}
