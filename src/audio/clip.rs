//! What an utterance is of a recording: all of it or a stretch, all channels or one.

use std::ops::Range;
use std::path::PathBuf;

use rayon::prelude::*;

use super::{Audio, AudioOptions, Channel, read};
use crate::{Error, Result};

/// How far beyond the end of its recording a stretch may end; what is missing is left out. Segmentations often round up, and
/// Kaldi's `extract-segments` allows as much.
const OVERSHOOT_SECONDS: f64 = 0.5;

/// A part of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    /// The recording, as the program finds it.
    pub path: PathBuf,
    /// Which channel of it.
    pub channel: Channel,
    /// Which part of its time; `None` is all.
    pub stretch: Option<Stretch>,
}

/// From when to when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Seconds from the recording's begin, 0 or more.
    pub start_seconds: f64,
    /// Seconds from the recording's begin, above `start_seconds`; `None` is the recording's end.
    pub end_seconds: Option<f64>,
}

impl Stretch {
    /// Whether both times are in range; the error is a reason.
    ///
    /// # Errors
    /// When the start is below 0 or no number, or the end is not after it.
    pub fn check(&self) -> std::result::Result<(), String> {
        let Self { start_seconds: start, end_seconds: end } = *self;
        let ends_later = end.is_none_or(|end| end.is_finite() && end > start);
        match start.is_finite() && start >= 0.0 && ends_later {
            true => Ok(()),
            false => Err(format!(
                "a stretch from {start} to {} s: expected a start of at least 0 and an end after it",
                end.map_or("the end".into(), |end| end.to_string())
            )),
        }
    }

    /// Where the stretch begins and ends, in samples of a recording of `rate_hz` that goes on for ever.
    fn range(&self, rate_hz: u32) -> Range<usize> {
        let sample = |seconds: f64| (seconds * f64::from(rate_hz)).round() as usize;
        sample(self.start_seconds)..self.end_seconds.map_or(usize::MAX, sample)
    }

    /// The part of the stretch that lies within the samples that come after `before` others.
    pub(super) fn part<'a>(&self, samples: &'a [f32], (before, rate_hz): (usize, u32)) -> &'a [f32] {
        let Range { start, end } = self.range(rate_hz);
        let [start, end] = [start, end].map(|at| at.saturating_sub(before).min(samples.len()));
        &samples[start..end.max(start)]
    }

    /// Whether a recording of so many `samples` has the stretch; the error is a reason.
    pub(super) fn check_within(&self, samples: usize, rate_hz: u32) -> std::result::Result<(), String> {
        let seconds = samples as f64 / f64::from(rate_hz);
        let end_seconds = self.end_seconds.unwrap_or(seconds);
        let Range { start, end } = self.range(rate_hz);
        if start < end.min(samples) && end_seconds <= seconds + OVERSHOOT_SECONDS {
            return Ok(());
        }
        let from = self.start_seconds;
        Err(format!("a stretch from {from} to {end_seconds} s, expected within the {seconds:.3} s that are there"))
    }
}

impl Clip {
    /// All of `path`, its channels mixed.
    pub fn whole(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), channel: Channel::Mix, stretch: None }
    }

    /// Whether `other` is of the same recording and channel, so that one reading serves both.
    pub fn shares_recording(&self, other: &Self) -> bool {
        self.path == other.path && self.channel == other.channel
    }

    /// Reads the recording and cuts the stretch out.
    ///
    /// # Errors
    /// As [`read`] and [`Clip::cut`].
    pub fn read(&self, sample_rate_hz: u32) -> Result<Audio> {
        let mut audio = self.read_recording(sample_rate_hz)?;
        if self.stretch.is_some() {
            audio.samples = self.cut(&audio)?.to_vec();
        }
        Ok(audio)
    }

    /// Reads the channel from begin to end; [`Clip::cut`] then takes the stretch of every clip that shares it.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read_recording(&self, sample_rate_hz: u32) -> Result<Audio> {
        read(&self.path, &AudioOptions { sample_rate_hz, channel: self.channel })
    }

    /// The samples of the stretch within `recording`.
    ///
    /// # Errors
    /// [`Error::Audio`] when the stretch begins after the recording's end, or ends more than half a second after it.
    pub fn cut<'a>(&self, recording: &'a Audio) -> Result<&'a [f32]> {
        let Some(stretch) = self.stretch else { return Ok(&recording.samples) };
        let Audio { samples, sample_rate, .. } = recording;
        let refuse = |reason| Error::Audio { path: self.path.clone(), reason };
        stretch.check_within(samples.len(), *sample_rate).map_err(refuse)?;
        Ok(stretch.part(samples, (0, *sample_rate)))
    }
}

/// Reads `clips` in parallel and calls `with` for each, its index first; the results are in the order of the clips.
/// Neighbours that are stretches of one recording share its reading.
pub fn read_clips<T: Send>(
    clips: &[&Clip],
    sample_rate_hz: u32,
    with: impl Fn(usize, Result<Audio>) -> T + Sync,
) -> Vec<T> {
    let mut first = 0;
    let mut groups = Vec::new();
    for group in clips.chunk_by(|clip, next| clip.shares_recording(next)) {
        groups.push((first, group));
        first += group.len();
    }
    let of_group = |&(first, group): &(usize, &[&Clip])| -> Vec<T> {
        let recording = match group {
            [_] => None,
            clips => clips[0].read_recording(sample_rate_hz).ok(), // if it fails, each clip says so below
        };
        let one = |clip: &Clip| match &recording {
            Some(all) => {
                clip.cut(all).map(|samples| Audio { samples: samples.to_vec(), notices: all.notices.clone(), ..*all })
            }
            None => clip.read(sample_rate_hz),
        };
        group.iter().zip(first..).map(|(clip, index)| with(index, one(clip))).collect()
    };
    groups.par_iter().map(of_group).collect::<Vec<_>>().into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(start_seconds: f64, end_seconds: Option<f64>) -> std::result::Result<Vec<f32>, String> {
        let audio = Audio { samples: (0..20).map(|i| i as f32 / 100.0).collect(), sample_rate: 10, notices: vec![] };
        let clip = Clip { stretch: Some(Stretch { start_seconds, end_seconds }), ..Clip::whole("a.wav") };
        clip.cut(&audio).map(|samples| samples.iter().map(|sample| sample * 100.0).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_stretch_is_cut_at_the_nearest_samples() {
        assert_eq!(cut(0.5, Some(0.84)).unwrap(), [5.0, 6.0, 7.0]);
        assert_eq!(cut(1.8, None).unwrap(), [18.0, 19.0]);
        assert_eq!(cut(1.9, Some(2.4)).unwrap(), [19.0], "half a second more than there is");
    }

    #[test]
    fn a_stretch_that_is_not_there_is_refused() {
        let reason = |start| format!("a.wav: a stretch from {start} to");
        for (start, end) in [(1.0, Some(2.6)), (2.0, None), (2.0, Some(2.3)), (1.0, Some(1.04))] {
            assert!(cut(start, end).unwrap_err().starts_with(&reason(start)), "{start} {end:?}");
        }
    }

    /// A stretch that is read block by block is the one that is cut out, and so is what is said where it is not there.
    #[test]
    fn stretches_are_cut_out_of_blocks_as_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        let samples: Vec<f32> = (0..200_000).map(|at| (at as f32 * 0.01).sin()).collect();
        std::fs::write(&path, crate::audio::wav_bytes(&samples, 11_025).unwrap()).unwrap();
        for (start_seconds, end_seconds) in
            [(0.0, Some(0.5)), (3.01, Some(9.123)), (17.9, None), (18.0, Some(18.6)), (18.0, Some(19.0)), (30.0, None)]
        {
            let stretch = Some(Stretch { start_seconds, end_seconds });
            let whole = Clip { stretch, ..Clip::whole(&path) }.read(16_000);
            let options = AudioOptions { sample_rate_hz: 16_000, channel: Channel::Mix };
            let mut reader = crate::audio::Reader::open(&path, &options).unwrap().within(stretch);
            let mut found = Ok(vec![]);
            while let (Ok(samples), Some(block)) = (&mut found, reader.next_block().transpose()) {
                match block {
                    Ok(block) => samples.extend(block),
                    Err(error) => found = Err(error.to_string()),
                }
            }
            assert_eq!(found, whole.map(|audio| audio.samples).map_err(|error| error.to_string()));
        }
    }

    /// Clips of a recording that is there, and of one that is not, one by one and together.
    #[test]
    fn clips_are_read_together_as_they_are_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        let spec = hound::WavSpec {
            channels: 2,
            sample_rate: 8000,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut writer = hound::WavWriter::create(&path, spec).unwrap();
        (0..16_000_i16).for_each(|sample| writer.write_sample(sample).unwrap());
        writer.finalize().unwrap();
        let stretch = |start_seconds| Some(Stretch { start_seconds, end_seconds: Some(start_seconds + 0.25) });
        let clip = |channel, stretch| Clip { channel, stretch, ..Clip::whole(&path) };
        let mut clips = vec![Clip::whole(folder.path().join("none.wav")); 2];
        for channel in [Channel::Mix, Channel::Only(1), Channel::Only(2)] {
            clips.extend([stretch(0.0), stretch(0.5), None, stretch(3.0)].map(|stretch| clip(channel, stretch)));
        }
        let text = |audio: Result<Audio>| audio.map_err(|error| error.to_string());
        let together = read_clips(&clips.iter().collect::<Vec<_>>(), 16_000, |index, audio| (index, text(audio)));
        let apart: Vec<_> = clips.iter().map(|clip| text(clip.read(16_000))).enumerate().collect();
        assert_eq!(together, apart);
        assert_eq!(apart.iter().filter(|(_, audio)| audio.is_ok()).count(), 6);
    }

    #[test]
    fn times_are_checked() {
        let check = |start_seconds, end_seconds| Stretch { start_seconds, end_seconds }.check();
        assert!(check(0.0, None).is_ok() && check(1.0, Some(1.1)).is_ok());
        for (start, end) in [(-1.0, None), (f64::NAN, None), (1.0, Some(1.0)), (0.0, Some(f64::INFINITY))] {
            assert!(check(start, end).unwrap_err().contains("expected a start of at least 0"));
        }
    }
}
