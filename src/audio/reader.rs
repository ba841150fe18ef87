//! A recording that is read block by block, as it arrives or as it lies in a file.
//!
//! WAV and raw samples are never held whole, nor are files of FLAC, Ogg, MP3 and AIFF; what else there is (those in a pipe, SPHERE,
//! ADPCM, integers of which some bits don't count), is read to its end before the first block is handed out.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::container::Packets;
use super::resample::Resampling;
use super::sniff::{self, Kind};
use super::wav_stream::{Opened, WavStream};
use super::{AudioOptions, Notice, Reasoned, Recording, Stretch, check_rate, decode};
use crate::{Error, Result};

/// Samples handed on at a time of a recording that is held whole.
const BLOCK: usize = 1 << 15;
/// Bytes at the begin of a file that tell its kind.
const HEAD_BYTES: u64 = 256;

/// Hands out the samples of a recording, one channel of them, at the rate asked for.
pub struct Reader {
    name: PathBuf,
    source: Source,
    resampling: Option<Resampling>,
    /// Rate of the file, and of the samples handed out, Hz.
    rates: (u32, u32),
    is_silent: bool,
    notices: Vec<Notice>,
    /// Which part is handed out, if not all.
    stretch: Option<Stretch>,
    /// Samples at the rate asked for so far, those that were not handed out included.
    heard: usize,
}

enum Source {
    Arriving(Box<WavStream>),
    Packets(Box<Packets<'static>>),
    Held { samples: Vec<f32>, given: usize, notices: Vec<Notice> },
    Ended,
}

/// Bytes that are read one after another.
pub type Bytes = Box<dyn Read + Send>;

impl Reader {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// As [`read`](super::read()).
    pub fn open(path: &Path, options: &AudioOptions) -> Result<Self> {
        options.check()?;
        let refuse = |reason| Error::Audio { path: path.to_owned(), reason };
        let unread = |cause| Error::io("read", path, cause);
        let mut file = File::open(path).map_err(unread)?;
        let Some(kind) = packed_kind(path, &mut file).map_err(unread)? else {
            return Self::new(path, Box::new(file), options);
        };
        let packets = Packets::open(file, kind, options.channel).map_err(refuse)?;
        let rate = packets.sample_rate();
        Self::of(path, (Source::Packets(Box::new(packets)), rate), options).map_err(refuse)
    }

    /// Opens what arrives in a pipe, on standard input say; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`read`](super::read()).
    pub fn new(name: &Path, input: Bytes, options: &AudioOptions) -> Result<Self> {
        options.check()?;
        let refuse = |reason| Error::Audio { path: name.to_owned(), reason };
        let (source, rate) = match WavStream::open(input, options.channel) {
            Err(cause) => return Err(Error::io("read", name, cause)),
            Ok(Opened::Stream(stream)) => {
                let rate = stream.sample_rate();
                (Source::Arriving(stream), rate)
            }
            Ok(Opened::Other { mut seen, mut rest }) => {
                rest.read_to_end(&mut seen).map_err(|cause| Error::io("read", name, cause))?;
                drop(rest);
                let Recording { samples, sample_rate, notices } =
                    decode(name, &seen, options.channel).map_err(refuse)?;
                (Source::Held { samples, given: 0, notices }, sample_rate)
            }
        };
        Self::of(name, (source, rate), options).map_err(refuse)
    }

    /// Opens samples without a header: 16-bit little-endian integers of one channel, `rate_hz` of them a second.
    ///
    /// # Errors
    /// [`Error::Audio`] when the rate is out of range.
    pub fn raw(name: &Path, input: Bytes, (rate_hz, options): (u32, &AudioOptions)) -> Result<Self> {
        options.check()?;
        let refuse = |reason| Error::Audio { path: name.to_owned(), reason };
        let stream = check_rate(rate_hz).and_then(|()| WavStream::raw(input, rate_hz)).map_err(refuse)?;
        Self::of(name, (Source::Arriving(Box::new(stream)), rate_hz), options).map_err(refuse)
    }

    /// Hands out `stretch` alone; the rest is read for what there is to be said of the recording.
    pub fn within(self, stretch: Option<Stretch>) -> Self {
        Self { stretch, ..self }
    }

    fn of(name: &Path, (source, rate): (Source, u32), options: &AudioOptions) -> Reasoned<Self> {
        let (rates, resampling) = ((rate, options.sample_rate_hz), Resampling::between(rate, options.sample_rate_hz)?);
        let (name, notices) = (name.to_owned(), vec![]);
        Ok(Self { name, source, resampling, rates, is_silent: true, notices, stretch: None, heard: 0 })
    }

    /// Whether samples come out while others are still to be read.
    pub fn is_arriving(&self) -> bool {
        matches!(self.source, Source::Arriving(_) | Source::Packets(_))
    }

    /// The next samples, -1 to 1, perhaps none; nothing once all have been handed out.
    ///
    /// # Errors
    /// [`Error::Audio`] as [`read`](super::read()).
    pub fn next_block(&mut self) -> Result<Option<Vec<f32>>> {
        let block = self.next().and_then(|block| self.part(block));
        block.map_err(|reason| Error::Audio { path: self.name.clone(), reason })
    }

    /// What of `block` is within the stretch; at the end, whether there was one.
    fn part(&mut self, block: Option<Vec<f32>>) -> Reasoned<Option<Vec<f32>>> {
        let Some(stretch) = self.stretch else { return Ok(block) };
        match block {
            Some(samples) => {
                let part = stretch.part(&samples, (self.heard, self.rates.1)).to_vec();
                self.heard += samples.len();
                Ok(Some(part))
            }
            None => stretch.check_within(self.heard, self.rates.1).map(|()| None),
        }
    }

    /// What was decided on the way; all of it is known after the last block.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn next(&mut self) -> Reasoned<Option<Vec<f32>>> {
        let block = match &mut self.source {
            Source::Ended => return Ok(None),
            Source::Arriving(stream) => stream.next_block()?,
            Source::Packets(packets) => packets.next_block()?,
            Source::Held { samples, given, .. } => {
                let next = &samples[*given..samples.len().min(*given + BLOCK)];
                *given += next.len();
                (!next.is_empty()).then(|| next.to_vec())
            }
        };
        let Some(samples) = block else { return self.end() };
        self.is_silent &= samples.iter().all(|&sample| sample == 0.0);
        match &mut self.resampling {
            Some(resampling) => resampling.push(&samples).map(Some),
            None => Ok(Some(samples)),
        }
    }

    /// The samples that the resampler still has, and the notices.
    fn end(&mut self) -> Reasoned<Option<Vec<f32>>> {
        let (count, notices) = match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Arriving(stream) => stream.finish(),
            Source::Packets(packets) => packets.finish(),
            Source::Held { samples, notices, .. } => (samples.len(), notices),
            Source::Ended => return Ok(None),
        };
        if count == 0 {
            return Err("no samples: there is a header, but no audio after it".to_owned());
        }
        self.notices = notices;
        if self.is_silent {
            self.notices.push(Notice::Silent);
        }
        let Some(resampling) = self.resampling.take() else { return Ok(None) };
        self.notices.push(Notice::Resampled { from_hz: self.rates.0, to_hz: self.rates.1 });
        resampling.finish().map(Some)
    }
}

/// The kind of a file that symphonia reads packet by packet, and it can be gone back in.
fn packed_kind(path: &Path, file: &mut File) -> io::Result<Option<Kind>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    file.rewind()?;
    let kind = sniff::kind(path, &head).ok();
    Ok(kind.filter(|kind| matches!(kind, Kind::Flac | Kind::Ogg | Kind::Mp3 | Kind::Aiff)))
}
