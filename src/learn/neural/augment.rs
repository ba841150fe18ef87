//! Training examples as each epoch sees them: faster or slower, with stretches of time and frequency masked.

use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// Spectral masking (SpecAugment, Park et al. 2019): masked values become 0, the mean of normalised features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MaskingConfig {
    /// Bands of columns masked in an utterance; 0 is none.
    pub frequency_masks: usize,
    /// Widest band, in columns.
    pub frequency_columns: usize,
    /// Frames for which there is one stretch of masked time; 0 is none at all.
    pub frames_per_time_mask: usize,
    /// Longest stretch of masked time.
    pub time_frames: usize,
}

impl Default for MaskingConfig {
    fn default() -> Self {
        Self { frequency_masks: 2, frequency_columns: 8, frames_per_time_mask: 150, time_frames: 20 }
    }
}

impl MaskingConfig {
    /// Masks `frames` as `random` draws.
    pub(super) fn apply(&self, frames: &mut Matrix, random: &mut Random) {
        let (rows, cols) = (frames.rows(), frames.cols());
        for _ in 0..self.frequency_masks {
            let band = draw_stretch(random, self.frequency_columns, cols);
            (0..rows).for_each(|row| frames.row_mut(row)[band.clone()].fill(0.0));
        }
        let masks = if self.frames_per_time_mask == 0 { 0 } else { rows.div_ceil(self.frames_per_time_mask) };
        for _ in 0..masks {
            let stretch = draw_stretch(random, self.time_frames, rows);
            frames.as_mut_slice()[stretch.start * cols..stretch.end * cols].fill(0.0);
        }
    }
}

/// A stretch of 0 to `longest` of `total` places, anywhere.
fn draw_stretch(random: &mut Random, longest: usize, total: usize) -> std::ops::Range<usize> {
    let length = random.below(longest + 1).min(total);
    let start = random.below(total - length + 1);
    start..start + length
}

/// Frames `[T x D]` spoken `speed` times as fast, `[round(T / speed) x D]`, by linear interpolation, and their `targets` (one
/// for `subsampling` frames) resampled alike.
pub(super) fn change_speed((frames, targets): (&Matrix, &[u32]), speed: f32, subsampling: usize) -> (Matrix, Vec<u32>) {
    let (speed, last) = (f64::from(speed), frames.rows().saturating_sub(1));
    let rows = if frames.rows() == 0 { 0 } else { ((frames.rows() as f64 / speed).round() as usize).max(1) };
    let mut faster = Matrix::zeros(rows, frames.cols());
    for row in 0..rows {
        // The middle of the new frame lies at (row + 1/2) speed of the old time.
        let position = ((row as f64 + 0.5) * speed - 0.5).clamp(0.0, last as f64);
        let before = position as usize;
        let (a, b) = (frames.row(before), frames.row((before + 1).min(last)));
        let share = (position - before as f64) as f32;
        faster.row_mut(row).iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a + share * (b - a));
    }
    let target = |row: usize| targets[(((row as f64 + 0.5) * speed) as usize).min(targets.len() - 1)];
    (faster, (0..rows.div_ceil(subsampling)).map(target).collect())
}

/// An [`Error::Setting`] unless every speed is near 1.
pub(super) fn check_speeds(speeds: &[f32]) -> Result<()> {
    let fine = !speeds.is_empty() && speeds.iter().all(|speed| (0.5..=2.0).contains(speed));
    if fine {
        return Ok(());
    }
    Err(Error::Setting { key: "speeds", value: format!("{speeds:?}"), expected: "one or more speeds from 0.5 to 2" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rows: usize) -> Matrix {
        Matrix::from_vec(rows, 2, (0..rows).flat_map(|row| [row as f32, 10.0]).collect()).unwrap()
    }

    #[test]
    fn a_changed_speed_keeps_frames_and_targets_together() {
        let frames = ramp(90);
        let targets: Vec<u32> = (0..30).collect();
        for (speed, rows) in [(0.9, 100usize), (1.0, 90), (1.1, 82)] {
            let (changed, moved) = change_speed((&frames, &targets), speed, 3);
            assert_eq!((changed.rows(), moved.len()), (rows, rows.div_ceil(3)));
            for (row, target) in moved.iter().enumerate() {
                // The middle frame of the row came from within half a row of the target's middle frame.
                let middle = changed.row((3 * row + 1).min(rows - 1))[0];
                assert!((middle - (3 * target + 1) as f32).abs() <= 1.5 + 1e-3, "{speed} {row}: {middle} {target}");
            }
        }
        assert_eq!(change_speed((&frames, &targets), 1.0, 3), (frames, targets));
    }

    #[test]
    fn tiny_utterances_stay_legal() {
        assert_eq!(change_speed((&ramp(1), &[7]), 1.1, 3), (ramp(1), vec![7]));
        assert_eq!(change_speed((&ramp(0), &[]), 0.9, 3), (ramp(0), vec![]));
    }

    #[test]
    fn masks_cover_what_they_may() {
        let config = MaskingConfig { frequency_masks: 1, frequency_columns: 3, ..MaskingConfig::default() };
        let (mut masked_columns, mut masked_rows) = (0, 0);
        for seed in 0..200 {
            let mut frames = Matrix::from_vec(100, 8, vec![1.0; 800]).unwrap();
            config.apply(&mut frames, &mut Random::new(seed));
            let columns = (0..8).filter(|&col| (0..100).all(|row| frames.row(row)[col] == 0.0)).count();
            let rows = frames.iter_rows().filter(|row| row.iter().all(|&value| value == 0.0)).count();
            assert!(columns <= 3 && rows <= 20);
            let masked = frames.as_slice().iter().filter(|&&value| value == 0.0).count();
            assert_eq!(masked, columns * 100 + rows * 8 - rows * columns);
            (masked_columns, masked_rows) = (masked_columns + columns, masked_rows + rows);
        }
        assert!(
            masked_columns.abs_diff(300) < 60 && masked_rows.abs_diff(2000) < 400,
            "{masked_columns} {masked_rows}"
        );
    }

    #[test]
    fn masking_can_be_turned_off_and_survives_tiny_matrices() {
        let off = MaskingConfig { frequency_masks: 0, frames_per_time_mask: 0, ..MaskingConfig::default() };
        let mut frames = ramp(300);
        off.apply(&mut frames, &mut Random::new(1));
        assert_eq!(frames, ramp(300));
        MaskingConfig::default().apply(&mut ramp(1), &mut Random::new(1));
    }
}
