//! A recording that is read block by block, as it arrives or as it lies in a file.
//!
//! WAV of integers and 32-bit floats and raw samples are never held whole; what else there is, is read to its end before the first
//! block is handed out.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::resample::Resampling;
use super::wav_stream::{Opened, WavStream};
use super::{Audio, AudioOptions, Notice, Reasoned, Recording, check_rate, decode};
use crate::{Error, Result};

/// Samples handed on at a time of a recording that is held whole.
const BLOCK: usize = 1 << 15;

/// Hands out the samples of a recording, one channel of them, at the rate asked for.
pub struct Reader {
    name: PathBuf,
    source: Source,
    resampling: Option<Resampling>,
    /// Rate of the file, and of the samples handed out, Hz.
    rates: (u32, u32),
    is_silent: bool,
    notices: Vec<Notice>,
}

enum Source {
    Arriving(Box<WavStream>),
    Held { samples: Vec<f32>, given: usize, notices: Vec<Notice> },
    Ended,
}

/// Bytes that are read one after another.
pub type Bytes = Box<dyn Read + Send>;

impl Reader {
    /// Opens a recording, a file or what arrives on standard input; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`read`](super::read()).
    pub fn new(name: &Path, input: Bytes, options: &AudioOptions) -> Result<Self> {
        options.check()?;
        let refuse = |reason| Error::Audio { path: name.to_owned(), reason };
        match WavStream::open(input, options.channel).map_err(|cause| Error::io("read", name, cause))? {
            Opened::Stream(stream) => Self::of((name, Source::Arriving(stream)), options).map_err(refuse),
            Opened::Other { mut seen, mut rest } => {
                rest.read_to_end(&mut seen).map_err(|cause| Error::io("read", name, cause))?;
                drop(rest);
                let recording = decode(name, &seen, options.channel).map_err(refuse)?;
                Self::held((name, recording), options).map_err(refuse)
            }
        }
    }

    /// Opens samples without a header: 16-bit little-endian integers of one channel, `rate_hz` of them a second.
    ///
    /// # Errors
    /// [`Error::Audio`] when the rate is out of range.
    pub fn raw(name: &Path, input: Bytes, (rate_hz, options): (u32, &AudioOptions)) -> Result<Self> {
        options.check()?;
        let refuse = |reason| Error::Audio { path: name.to_owned(), reason };
        let stream = check_rate(rate_hz).and_then(|()| WavStream::raw(input, rate_hz)).map_err(refuse)?;
        Self::of((name, Source::Arriving(Box::new(stream))), options).map_err(refuse)
    }

    /// Hands out what was read before.
    pub fn of_audio(name: &Path, audio: Audio) -> Self {
        let Audio { samples, sample_rate, notices } = audio;
        let source = Source::Held { samples, given: 0, notices };
        let rates = (sample_rate, sample_rate);
        Self { name: name.to_owned(), source, resampling: None, rates, is_silent: false, notices: vec![] }
    }

    fn held((name, recording): (&Path, Recording), options: &AudioOptions) -> Reasoned<Self> {
        let Recording { samples, sample_rate, notices } = recording;
        let resampling = Resampling::between(sample_rate, options.sample_rate_hz)?;
        let (source, rates) = (Source::Held { samples, given: 0, notices }, (sample_rate, options.sample_rate_hz));
        Ok(Self { name: name.to_owned(), source, resampling, rates, is_silent: true, notices: vec![] })
    }

    fn of((name, source): (&Path, Source), options: &AudioOptions) -> Reasoned<Self> {
        let rate = match &source {
            Source::Arriving(stream) => stream.sample_rate(),
            _ => options.sample_rate_hz,
        };
        let (rates, resampling) = ((rate, options.sample_rate_hz), Resampling::between(rate, options.sample_rate_hz)?);
        Ok(Self { name: name.to_owned(), source, resampling, rates, is_silent: true, notices: vec![] })
    }

    /// Whether samples come out while others are still to be read.
    pub fn is_arriving(&self) -> bool {
        matches!(self.source, Source::Arriving(_))
    }

    /// The next samples, -1 to 1, perhaps none; nothing once all have been handed out.
    ///
    /// # Errors
    /// [`Error::Audio`] as [`read`](super::read()).
    pub fn next_block(&mut self) -> Result<Option<Vec<f32>>> {
        self.next().map_err(|reason| Error::Audio { path: self.name.clone(), reason })
    }

    /// What was decided on the way; all of it is known after the last block.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn next(&mut self) -> Reasoned<Option<Vec<f32>>> {
        let block = match &mut self.source {
            Source::Ended => return Ok(None),
            Source::Arriving(stream) => stream.next_block()?,
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
