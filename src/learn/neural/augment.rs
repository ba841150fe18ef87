//! Changes that a network should not mind: of the recording (speed, loudness, noise, telephone), of the speaker's vocal tract, and
//! masks over time and frequency (SpecAugment, Park et al. 2019). All are drawn anew in each epoch.

use serde::{Deserialize, Serialize};

use crate::audio::{AudioChange, Line, Noise};
use crate::error::require;
use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// An utterance that can be heard as another recording of it.
pub trait Recording: Sync + std::fmt::Debug {
    /// The normalised frames `[T x D]` of the recording changed so.
    ///
    /// # Errors
    /// Those of audio and features.
    fn changed(&self, change: &Change) -> Result<Matrix>;
}

/// What is changed before features are taken.
#[derive(Debug, Clone)]
pub struct Change {
    /// The recording.
    pub audio: AudioChange,
    /// So many times as long is the speaker's vocal tract.
    pub warp: f32,
}

/// Which changes are drawn; all of them off is the plain data. Those of the recording are for examples that have one
/// ([`Recording`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AugmentConfig {
    /// Speeds drawn from, each as likely as another, 0.5 to 2.
    pub speeds: Vec<f32>,
    /// The vocal tract is longer or shorter by up to this share, 0 to 0.3 (vocal tract length perturbation, Jaitly & Hinton 2013).
    pub vocal_tract: f32,
    /// Louder or softer by up to so many dB, 0 to 40.
    pub gain_db: f32,
    /// Share of utterances that get noise, 0 to 1: white to red, evenly drawn.
    pub noise: f32,
    /// Least and greatest signal-to-noise ratio of these, in dB, -10 to 60.
    pub noise_snr_db: [f32; 2],
    /// Share of utterances heard by telephone (8 kHz, mu-law), 0 to 1.
    pub telephone: f32,
    /// Masks over neighbouring feature dimensions, in each utterance, 0 to 100.
    pub frequency_masks: usize,
    /// Widest of them, in dimensions, 0 to 10000.
    pub frequency_mask_dims: usize,
    /// Masks over neighbouring frames for each 150 frames of an utterance; at least one where this is not 0;
    /// 0 to 100.
    pub time_masks: usize,
    /// Widest of them, in frames, 0 to 10000; never more than a fifth of the utterance.
    pub time_mask_frames: usize,
}

impl Default for AugmentConfig {
    fn default() -> Self {
        Self {
            speeds: vec![0.9, 1.0, 1.1],
            vocal_tract: 0.1,
            gain_db: 0.0,
            noise: 0.0,
            noise_snr_db: [5.0, 30.0],
            telephone: 0.0,
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
        Self { speeds: vec![1.0], vocal_tract: 0.0, frequency_masks: 0, time_masks: 0, ..Self::default() }
    }

    /// Whether recordings are changed at all.
    pub fn changes_recordings(&self) -> bool {
        let amounts = [self.vocal_tract, self.gain_db, self.noise, self.telephone];
        self.speeds.iter().any(|&speed| speed != 1.0) || amounts.iter().any(|&amount| amount > 0.0)
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
        let share = "a share from 0 to 1";
        require((0.0..=0.3).contains(&self.vocal_tract), "vocal_tract", self.vocal_tract, "a share from 0 to 0.3")?;
        require((0.0..=40.0).contains(&self.gain_db), "gain_db", self.gain_db, "a number from 0 to 40")?;
        require((0.0..=1.0).contains(&self.noise), "noise", self.noise, share)?;
        require((0.0..=1.0).contains(&self.telephone), "telephone", self.telephone, share)?;
        for (key, masks) in [("frequency_masks", self.frequency_masks), ("time_masks", self.time_masks)] {
            require(masks <= 100, key, masks, "a number from 0 to 100")?;
        }
        let widths = [("frequency_mask_dims", self.frequency_mask_dims), ("time_mask_frames", self.time_mask_frames)];
        for (key, width) in widths {
            require(width <= 10_000, key, width, "a number from 0 to 10000")?;
        }
        let [low, high] = self.noise_snr_db;
        let is_range = (-10.0..=60.0).contains(&low) && (-10.0..=60.0).contains(&high) && low <= high;
        let expected = "two numbers from -10 to 60, the lower first";
        require(is_range, "noise_snr_db", format!("{:?}", self.noise_snr_db), expected)
    }

    /// A changed copy of an utterance's `frames` `[T x D]` and of the `targets` of its output rows, `subsampling` frames each.
    pub(super) fn apply(
        &self,
        (frames, recording, targets): (&Matrix, Option<&dyn Recording>, &[u32]),
        subsampling: usize,
        random: &mut Random,
    ) -> Result<(Matrix, Vec<u32>)> {
        let change = self.draw(random);
        let heard = match recording.filter(|_| self.changes_recordings()) {
            Some(recording) => Some(recording.changed(&change)?).filter(|frames| frames.rows() > 0),
            None => None,
        };
        let (mut frames, targets) = match heard {
            Some(heard) => {
                let targets = respaced(targets, heard.rows().div_ceil(subsampling), change.audio.speed);
                (heard, targets)
            }
            None => (frames.clone(), targets.to_vec()),
        };
        self.mask(&mut frames, random);
        Ok((frames, targets))
    }

    fn draw(&self, random: &mut Random) -> Change {
        let speed = self.speeds[random.below(self.speeds.len())];
        let mut around = |most: f32| most * (2.0 * random.uniform() - 1.0);
        let (warp, gain_db) = (1.0 + around(self.vocal_tract), around(self.gain_db));
        let [low, high] = self.noise_snr_db;
        let (is_noisy, is_by_telephone) = (random.uniform() < self.noise, random.uniform() < self.telephone);
        let (snr_db, red) = (low + (high - low) * random.uniform(), random.uniform());
        let noise = is_noisy.then(|| Noise { snr_db, red, random: random.fork(0) });
        let line = if is_by_telephone { Line::Telephone } else { Line::Direct };
        Change { audio: AudioChange { speed, noise, line, gain_db }, warp }
    }

    fn mask(&self, frames: &mut Matrix, random: &mut Random) {
        for _ in 0..self.frequency_masks {
            let (first, last) = stretch(frames.cols(), self.frequency_mask_dims, random);
            (0..frames.rows()).for_each(|row| frames.row_mut(row)[first..last].fill(0.0));
        }
        let widest = self.time_mask_frames.min(frames.rows() / 5);
        for _ in 0..self.time_masks * (frames.rows() / FRAMES_PER_MASK).max(1) {
            let (first, last) = stretch(frames.rows(), widest, random);
            (first..last).for_each(|row| frames.row_mut(row).fill(0.0));
        }
    }
}

/// A random stretch of at most `widest` of `length` places.
fn stretch(length: usize, widest: usize, random: &mut Random) -> (usize, usize) {
    let width = random.below(widest.min(length) + 1);
    let first = random.below(length - width + 1);
    (first, first + width)
}

/// The targets of `rows` rows of an utterance so many times as fast: that at the middle of each.
fn respaced(targets: &[u32], rows: usize, speed: f32) -> Vec<u32> {
    let place = |row: usize| ((row as f32 + 0.5) * speed) as usize;
    (0..rows).map(|row| targets[place(row).min(targets.len() - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rows: usize) -> Matrix {
        Matrix::from_vec(rows, 1, (0..rows).map(|row| 1.0 + row as f32).collect()).unwrap()
    }

    /// A recording of so many frames that tells how it was changed.
    #[derive(Debug)]
    struct Told(usize);

    impl Recording for Told {
        fn changed(&self, change: &Change) -> Result<Matrix> {
            let AudioChange { speed, noise, line, gain_db } = &change.audio;
            let snr_db = noise.as_ref().map_or(f32::NAN, |noise| noise.snr_db);
            let row = [change.warp, *speed, *gain_db, snr_db, f32::from(u8::from(*line == Line::Telephone))];
            let mut frames = Matrix::with_cols(row.len());
            (0..(self.0 as f32 / speed) as usize).for_each(|_| frames.push_row(&row));
            Ok(frames)
        }
    }

    fn heard(config: &AugmentConfig, seed: u64) -> (Matrix, Vec<u32>) {
        let targets: Vec<u32> = (0..20).collect();
        config.apply((&ramp(60), Some(&Told(60)), &targets), 3, &mut Random::new(seed)).unwrap()
    }

    #[test]
    fn changes_are_drawn_over_their_whole_range_and_not_beyond() {
        let config = AugmentConfig {
            vocal_tract: 0.2,
            gain_db: 6.0,
            noise: 0.5,
            noise_snr_db: [10.0, 20.0],
            telephone: 0.25,
            ..AugmentConfig::none()
        };
        let drawn: Vec<Vec<f32>> = (0..400).map(|seed| heard(&config, seed).0.row(0).to_vec()).collect();
        let range = |at: usize| {
            let values = || drawn.iter().map(|row| row[at]).filter(|value| !value.is_nan());
            (values().fold(f32::MAX, f32::min), values().fold(f32::MIN, f32::max))
        };
        let within = |at: usize, low: f32, high: f32| {
            let (least, most) = range(at);
            let near = 0.05 * (high - low);
            assert!(least >= low && least < low + near && most <= high && most > high - near, "{at}: {least} {most}");
        };
        within(0, 0.8, 1.2);
        within(2, -6.0, 6.0);
        within(3, 10.0, 20.0);
        let share = |is: fn(&Vec<f32>) -> bool| drawn.iter().filter(|row| is(row)).count() as f32 / 400.0;
        assert!((share(|row| !row[3].is_nan()) - 0.5).abs() < 0.1 && (share(|row| row[4] == 1.0) - 0.25).abs() < 0.1);
    }

    #[test]
    fn targets_follow_the_speed() {
        let at = |speed: f32| heard(&AugmentConfig { speeds: vec![speed], ..AugmentConfig::none() }, 1);
        let (half, double) = (at(0.5), at(2.0));
        assert_eq!((half.0.rows(), double.0.rows()), (120, 30));
        assert_eq!(half.1, (0..40).map(|row| row / 2).collect::<Vec<u32>>());
        assert_eq!(double.1, (0..10).map(|row| 2 * row + 1).collect::<Vec<u32>>());
    }

    #[test]
    fn masks_are_no_wider_than_asked_and_targets_stay() {
        let config = AugmentConfig { speeds: vec![1.0], frequency_masks: 0, time_mask_frames: 5, ..Default::default() };
        let mut widest = 0;
        for seed in 0..50 {
            let (frames, targets) = config.apply((&ramp(100), None, &[3; 100]), 1, &mut Random::new(seed)).unwrap();
            let masked = frames.as_slice().iter().filter(|&&value| value == 0.0).count();
            assert!(masked <= 5);
            widest = widest.max(masked);
            assert_eq!(targets, [3; 100]);
        }
        assert_eq!(widest, 5);
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        let (frames, targets) = heard(&AugmentConfig::none(), 1);
        assert_eq!((frames, targets), (ramp(60), (0..20).collect()));
        assert!(!AugmentConfig::none().changes_recordings());
    }

    #[test]
    fn values_out_of_range_are_named() {
        let refused = |config: AugmentConfig| config.check().unwrap_err().to_string();
        let none = AugmentConfig::none;
        assert!(refused(AugmentConfig { speeds: vec![], ..none() }).starts_with("speeds = []"));
        assert!(refused(AugmentConfig { vocal_tract: 0.4, ..none() }).starts_with("vocal_tract = 0.4"));
        assert!(refused(AugmentConfig { noise: -0.1, ..none() }).starts_with("noise = -0.1"));
        assert!(refused(AugmentConfig { telephone: f32::NAN, ..none() }).starts_with("telephone = NaN"));
        assert!(refused(AugmentConfig { gain_db: 50.0, ..none() }).starts_with("gain_db = 50"));
        let masks = refused(AugmentConfig { frequency_masks: 1_000_000, ..none() });
        assert_eq!(masks, "frequency_masks = 1000000: expected a number from 0 to 100");
        assert!(refused(AugmentConfig { time_masks: 101, ..none() }).starts_with("time_masks = 101"));
        assert!(refused(AugmentConfig { time_mask_frames: 20_000, ..none() }).starts_with("time_mask_frames = 20000"));
        assert!(refused(AugmentConfig { noise_snr_db: [9.0, 3.0], ..none() }).starts_with("noise_snr_db = [9.0, 3.0]"));
    }
}
