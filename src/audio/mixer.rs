//! Blocks of interleaved samples to one channel, watching the levels on the way.

use super::{Channel, Notice, Reasoned};

/// More samples than this, 37 hours at 16 kHz, are not read in one piece.
const MOST_SAMPLES: usize = 1 << 31;
/// A larger share of samples at full scale than this is called clipped.
const CLIPPED_SHARE: f64 = 0.001;

/// Takes blocks of interleaved samples and keeps one channel.
pub(super) struct Mixer {
    channels: usize,
    channel: Channel,
    samples: Vec<f32>,
    /// Samples that were taken before those.
    taken: usize,
    levels: Levels,
}

/// What is watched of every sample that is used.
struct Levels {
    /// Magnitude that the file's encoding cannot go beyond.
    full_scale: f32,
    at_full_scale: u64,
    used: u64,
    peak: f32,
    finite: bool,
}

impl Levels {
    /// Counts `sample` and brings it into -1 to 1.
    #[inline]
    fn admit(&mut self, sample: f32) -> f32 {
        let magnitude = sample.abs();
        self.finite &= sample.is_finite();
        self.at_full_scale += u64::from(magnitude >= self.full_scale);
        self.used += 1;
        self.peak = self.peak.max(magnitude);
        sample.clamp(-1.0, 1.0)
    }
}

impl Mixer {
    /// A mixer for `channels` interleaved channels, whose encoding ends at the magnitude `full_scale`.
    ///
    /// # Errors
    /// When there is no channel, or not the one asked for.
    pub(super) fn new(channels: usize, channel: Channel, full_scale: f32) -> Reasoned<Self> {
        match channel {
            _ if channels == 0 => return Err("no channels, expected at least one: the header is damaged".to_owned()),
            Channel::Only(index) if index >= channels => {
                return Err(format!("no channel {}: the file has {channels}", index.saturating_add(1)));
            }
            _ => {}
        }
        let levels = Levels { full_scale, at_full_scale: 0, used: 0, peak: 0.0, finite: true };
        Ok(Self { channels, channel, samples: Vec::new(), taken: 0, levels })
    }

    /// Makes room for `frames` samples, which the caller knows to be there.
    pub(super) fn reserve(&mut self, frames: usize) {
        self.samples.reserve_exact(frames.min(MOST_SAMPLES));
    }

    /// Number of interleaved channels.
    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// Samples of one channel so far.
    pub(super) fn frames(&self) -> usize {
        self.taken + self.samples.len()
    }

    /// Samples that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.samples.len()
    }

    /// Takes the samples that are there; more may follow.
    pub(super) fn take(&mut self) -> Vec<f32> {
        self.taken += self.samples.len();
        std::mem::take(&mut self.samples)
    }

    /// Adds a block of whole frames.
    ///
    /// # Errors
    /// When a sample is not a finite number, or there are too many.
    pub(super) fn push(&mut self, block: &[f32]) -> Reasoned<()> {
        let before = self.samples.len();
        let Self { channels, samples, levels, .. } = self;
        match self.channel {
            Channel::Only(index) => {
                samples.extend(block.iter().skip(index).step_by(*channels).map(|&sample| levels.admit(sample)));
            }
            Channel::Mix if *channels == 1 => samples.extend(block.iter().map(|&sample| levels.admit(sample))),
            Channel::Mix => samples.extend(block.chunks_exact(*channels).map(|frame| {
                let sum: f32 = frame.iter().map(|&sample| levels.admit(sample)).sum();
                sum / *channels as f32
            })),
        }
        if !self.levels.finite {
            let bad = self.samples[before..].iter().position(|sample| !sample.is_finite()).unwrap_or_default();
            return Err(format!("sample {} is not a finite number: the file is damaged", self.taken + before + bad));
        }
        self.check_length()
    }

    /// Adds `frames` of silence.
    ///
    /// # Errors
    /// When there are too many samples.
    pub(super) fn push_silence(&mut self, frames: usize) -> Reasoned<()> {
        self.samples.resize(self.samples.len() + frames, 0.0);
        self.check_length()
    }

    fn check_length(&self) -> Reasoned<()> {
        if self.samples.len() <= MOST_SAMPLES {
            return Ok(());
        }
        Err(format!("more than {MOST_SAMPLES} samples: split the recording"))
    }

    /// The samples of one channel, and what is to be said about channels and levels.
    pub(super) fn finish(self) -> (Vec<f32>, Vec<Notice>) {
        let channels = self.channels;
        let mut notices = Vec::new();
        match self.channel {
            _ if channels == 1 => {}
            Channel::Mix => notices.push(Notice::Mixed { channels }),
            Channel::Only(channel) => notices.push(Notice::ChannelTaken { channel, channels }),
        }
        let share = self.levels.at_full_scale as f64 / self.levels.used.max(1) as f64;
        if share > CLIPPED_SHARE {
            notices.push(Notice::Clipped { share, peak: self.levels.peak });
        }
        (self.samples, notices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(channel: Channel, block: &[f32]) -> (Vec<f32>, Vec<Notice>) {
        let mut mixer = Mixer::new(2, channel, 1.0).unwrap();
        mixer.push(block).unwrap();
        mixer.finish()
    }

    #[test]
    fn channels_are_averaged_or_one_is_taken() {
        let block = [0.5, -0.25, 0.0, 1.0];
        assert_eq!(mixed(Channel::Mix, &block).0, [0.125, 0.5]);
        assert_eq!(mixed(Channel::Only(1), &block).0, [-0.25, 1.0]);
    }

    #[test]
    fn a_missing_channel_is_told_as_people_count() {
        let reason = Mixer::new(2, Channel::Only(2), 1.0).err().unwrap();
        assert_eq!(reason, "no channel 3: the file has 2");
        assert!(Mixer::new(0, Channel::Mix, 1.0).is_err());
    }

    #[test]
    fn what_is_out_of_range_is_cut_and_told() {
        let (samples, notices) = mixed(Channel::Only(0), &[2.5, 0.0, -3.0, 0.0]);
        assert_eq!(samples, [1.0, -1.0]);
        assert!(notices.contains(&Notice::Clipped { share: 1.0, peak: 3.0 }), "{notices:?}");
    }

    #[test]
    fn the_levels_of_a_channel_not_taken_do_not_matter() {
        let (_, notices) = mixed(Channel::Only(0), &[0.0, f32::NAN, 0.0, 5.0]);
        assert_eq!(notices, [Notice::ChannelTaken { channel: 0, channels: 2 }]);
    }

    #[test]
    fn a_sample_that_is_no_number_is_named() {
        let mut mixer = Mixer::new(1, Channel::Mix, 1.0).unwrap();
        mixer.push(&[0.0; 10]).unwrap();
        assert!(mixer.push(&[0.0, f32::NAN]).unwrap_err().starts_with("sample 11 "));
    }
}
