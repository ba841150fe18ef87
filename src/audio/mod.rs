//! The start of the journey: the bytes of a recording in, mono samples at the model's rate out.
//!
//! WAV goes through hound, once what real files get wrong is put right; ADPCM, FLAC, Ogg Vorbis, MP3 and AIFF go through
//! symphonia; SPHERE, mu-law and A-law are read here. Channels are mixed or one is taken, rates are converted by rubato. Nothing is printed:
//! each decision that may matter to a result comes back as a [`Notice`].

mod change;
mod clip;
mod container;
mod g711;
mod mixer;
mod notice;
mod reader;
mod resample;
mod sniff;
mod sphere;
mod wav;
mod wav_stream;

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

pub use change::{AudioChange, Line, Noise};
pub use clip::{Clip, Stretch, read_clips};
pub use notice::Notice;
pub use reader::{Bytes, Reader};
pub use wav::wav_bytes;

use crate::{Error, Result};
use sniff::Kind;

/// Sample rates in Hz that a recording can have.
const RATES_HZ: RangeInclusive<u32> = 1_000..=768_000;

/// File name extensions of audio, in lower case.
const EXTENSIONS: [&str; 11] = ["wav", "wave", "flac", "ogg", "oga", "mp3", "aif", "aiff", "aifc", "sph", "nist"];

/// Which channel of a recording to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channel {
    /// The mean of all channels.
    #[default]
    Mix,
    /// One channel, counted from zero.
    Only(usize),
}

/// What the samples must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioOptions {
    /// Samples in a second that are returned, 1000 to 768000 Hz.
    pub sample_rate_hz: u32,
    /// The channel to return.
    pub channel: Channel,
}

impl Default for AudioOptions {
    fn default() -> Self {
        Self { sample_rate_hz: 16_000, channel: Channel::Mix }
    }
}

impl AudioOptions {
    /// # Errors
    /// [`Error::Setting`] when the rate is out of range.
    pub fn check(&self) -> Result<()> {
        if RATES_HZ.contains(&self.sample_rate_hz) {
            return Ok(());
        }
        let expected = "1000 to 768000";
        Err(Error::Setting { key: "sample_rate_hz", value: self.sample_rate_hz.to_string(), expected })
    }
}

/// A recording, ready for feature extraction.
#[derive(Debug, Clone, PartialEq)]
pub struct Audio {
    /// One channel, -1 to 1, never NaN, at least one sample.
    pub samples: Vec<f32>,
    /// Samples in a second: the rate that was asked for.
    pub sample_rate: u32,
    /// What was decided on the way, in the order in which it happened.
    pub notices: Vec<Notice>,
}

/// What a decoder hands over: one channel, at the file's own rate.
struct Recording {
    samples: Vec<f32>,
    sample_rate: u32,
    notices: Vec<Notice>,
}

/// The reason why a file cannot be used: the end of a sentence that begins with its name.
type Reasoned<T> = std::result::Result<T, String>;

/// Reads the recording at `path`. Its format is told from its content, not from its name.
///
/// # Errors
/// [`Error::Io`] when it cannot be read, [`Error::Audio`] when it is not audio, of an unknown or damaged format, without
/// samples, with samples that are no numbers, or without the channel asked for; [`Error::Setting`] for a rate out of range.
pub fn read(path: &Path, options: &AudioOptions) -> Result<Audio> {
    let bytes = fs::read(path).map_err(|cause| Error::io("read", path, cause))?;
    read_bytes(path, bytes, options)
}

/// Reads a recording that is in memory already, from standard input say; `name` stands for it in messages.
///
/// # Errors
/// As [`read`], but for [`Error::Io`].
pub fn read_bytes(name: &Path, bytes: Vec<u8>, options: &AudioOptions) -> Result<Audio> {
    options.check()?;
    let refuse = |reason| Error::Audio { path: name.to_owned(), reason };
    let recording = decode(name, &bytes, options.channel).map_err(refuse)?;
    drop(bytes);
    convert(recording, options.sample_rate_hz).map_err(refuse)
}

/// Whether the name of a file is that of audio, for walks through folders: by its extension, in any case.
///
/// Files that are named directly need no such name.
pub fn is_audio_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn decode(name: &Path, bytes: &[u8], channel: Channel) -> Reasoned<Recording> {
    match sniff::kind(name, bytes)? {
        Kind::Wave => wav::decode(bytes, channel),
        Kind::Sphere => sphere::decode(bytes, channel),
        other => container::decode(bytes, other, channel),
    }
}

/// Checks that there is something to hear, and brings the samples to `sample_rate`.
fn convert(recording: Recording, sample_rate: u32) -> Reasoned<Audio> {
    let Recording { mut samples, sample_rate: found_rate, mut notices } = recording;
    if samples.is_empty() {
        return Err("no samples: there is a header, but no audio after it".to_owned());
    }
    if samples.iter().all(|&sample| sample == 0.0) {
        notices.push(Notice::Silent);
    }
    if found_rate != sample_rate {
        samples = resample::resample(&samples, found_rate, sample_rate)?;
        notices.push(Notice::Resampled { from_hz: found_rate, to_hz: sample_rate });
    }
    Ok(Audio { samples, sample_rate, notices })
}

fn check_rate(sample_rate: u32) -> Reasoned<()> {
    if RATES_HZ.contains(&sample_rate) {
        return Ok(());
    }
    let (low, high) = (RATES_HZ.start(), RATES_HZ.end());
    Err(format!("a sample rate of {sample_rate} Hz, expected {low} to {high}: the header is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_audio_are_told_by_their_extension() {
        for name in ["a.wav", "b/A.WAV", "c.d.flac", "e.mp3", "f.ogg", "g.aiff"] {
            assert!(is_audio_name(Path::new(name)), "{name}");
        }
        for name in ["wav", "a.txt", "a.wav.txt", ".wav", "", "a.TextGrid"] {
            assert!(!is_audio_name(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn a_rate_out_of_range_is_refused_by_name() {
        let options = AudioOptions { sample_rate_hz: 0, channel: Channel::Mix };
        assert!(options.check().unwrap_err().to_string().starts_with("sample_rate_hz = 0"));
    }
}
