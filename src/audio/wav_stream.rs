//! WAV as it arrives: chunk by chunk and, within the data, block by block, by the rules of [`wav`](super::wav) for damaged headers.

use std::io::{self, Read};

use super::mixer::Mixer;
use super::reader::Bytes;
use super::wav::{self, Format, OPEN_SIZE};
use super::{Channel, Notice, Reasoned, check_rate};

/// Bytes read at a time, at most.
const BLOCK_BYTES: usize = 1 << 16;
/// No header is searched farther for its data.
const MOST_HEADER: usize = 1 << 20;

/// What a recording turned out to be.
pub(super) enum Opened {
    /// One whose samples can be handed out as they come.
    Stream(Box<WavStream>),
    /// Another: what was read of it, and what was not.
    Other {
        /// The first bytes.
        seen: Vec<u8>,
        /// All others.
        rest: Bytes,
    },
}

/// The samples of one WAV on their way.
pub(super) struct WavStream {
    input: Bytes,
    format: Format,
    mixer: Mixer,
    /// Bytes read that are not a whole frame yet.
    bytes: Vec<u8>,
    /// Bytes of this data chunk that have not been read.
    left: u64,
    /// Bytes of data that the headers promise, those of chunks without an end left out, and that were there.
    promised: u64,
    found: u64,
    /// Whether the data goes on to the end of the file.
    is_open: bool,
    /// Whether there is no header, so that half a sample at the end is told.
    is_raw: bool,
}

impl WavStream {
    /// Reads to the first sample.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(super) fn open(mut input: Bytes, channel: Channel) -> io::Result<Opened> {
        let mut seen = Vec::new();
        let found = find_data(&mut input, &mut seen)?.and_then(|(format, position)| {
            let mixer = Mixer::new(format.channels(), channel, format.encoding.full_scale()).ok()?;
            check_rate(format.sample_rate).is_ok().then_some((format, mixer, position))
        });
        let Some((format, mixer, position)) = found else { return Ok(Opened::Other { seen, rest: input }) };
        let (file, size) = (u64::from(wav::u32_at(&seen, 4)), u64::from(wav::u32_at(&seen, position + 4)));
        let never_filled = size == 0 && (file <= position as u64 || file >= OPEN_SIZE);
        let size = if never_filled { u64::MAX } else { size };
        let mut stream =
            Self { input, format, mixer, bytes: vec![], left: 0, promised: 0, found: 0, is_open: false, is_raw: false };
        stream.begin_data(size);
        Ok(Opened::Stream(Box::new(stream)))
    }

    /// 16-bit little-endian integers of one channel from the first byte to the last.
    ///
    /// # Errors
    /// None but of damaged headers.
    pub(super) fn raw(input: Bytes, rate_hz: u32) -> Reasoned<Self> {
        let [rate, byte_rate] = [rate_hz, 2 * rate_hz].map(u32::to_le_bytes);
        let chunk = [&[1, 0, 1, 0][..], &rate, &byte_rate, &[2, 0, 16, 0]].concat();
        let format = Format::parse(&chunk)?;
        let mixer = Mixer::new(1, Channel::Mix, format.encoding.full_scale())?;
        let (left, promised, found) = (u64::MAX, 0, 0);
        Ok(Self { input, format, mixer, bytes: vec![], left, promised, found, is_open: true, is_raw: true })
    }

    pub(super) fn sample_rate(&self) -> u32 {
        self.format.sample_rate
    }

    /// The next samples as soon as some are there; nothing at the end.
    ///
    /// # Errors
    /// When the input cannot be read, or a sample is no number.
    pub(super) fn next_block(&mut self) -> Reasoned<Option<Vec<f32>>> {
        while self.left > 0 || self.next_data().map_err(unread)? {
            let before = self.bytes.len();
            let wanted = self.left.min(BLOCK_BYTES as u64) as usize;
            self.bytes.resize(before + wanted, 0);
            let count = read_some(&mut self.input, &mut self.bytes[before..]).map_err(unread)?;
            self.bytes.truncate(before + count);
            if count == 0 {
                return Ok(None);
            }
            self.found += count as u64;
            self.left -= count as u64;
            let whole = self.bytes.len() - self.bytes.len() % self.format.align;
            if whole > 0 {
                let samples = wav::block(&self.format, &self.bytes[..whole])?;
                self.bytes.drain(..whole);
                self.mixer.push(&samples)?;
                return Ok(Some(self.mixer.take()));
            }
        }
        Ok(None)
    }

    /// How many samples there were, and what is to be said about them.
    pub(super) fn finish(self) -> (usize, Vec<Notice>) {
        let count = self.mixer.frames();
        let (_, mut notices) = self.mixer.finish();
        let found_seconds = count as f64 / f64::from(self.format.sample_rate);
        let whole = self.found - self.found % self.format.align as u64;
        if !self.is_open && self.promised > self.found {
            let promised_seconds = Some(found_seconds * self.promised as f64 / whole as f64);
            notices.insert(0, Notice::CutOff { promised_seconds, found_seconds });
        }
        if self.is_raw && !self.bytes.is_empty() {
            notices.insert(0, Notice::HalfSample);
        }
        (count, notices)
    }

    fn begin_data(&mut self, size: u64) {
        self.left = size;
        // A place holder of a writer that could not go back promises nothing, unless all of it is there.
        self.is_open = size >= OPEN_SIZE;
        self.promised += size;
    }

    /// Goes to the next data chunk, if there is one.
    fn next_data(&mut self) -> io::Result<bool> {
        loop {
            let mut header = vec![];
            if self.is_raw || !fill(&mut self.input, &mut header, 8)? {
                return Ok(false);
            }
            // Chunks begin at even places; the pad byte of an odd one may be missing.
            if self.promised % 2 == 1 && !wav::is_known(&header) {
                header.remove(0);
                if !fill(&mut self.input, &mut header, 8)? {
                    return Ok(false);
                }
            }
            if self.is_open && !wav::is_known(&header) {
                // More came than the place holder could say.
                self.found += header.len() as u64;
                self.bytes.append(&mut header);
                self.left = u64::MAX;
                return Ok(true);
            }
            let size = u64::from(wav::u32_at(&header, 4));
            if header.starts_with(b"data") {
                self.begin_data(size);
                return Ok(true);
            }
            io::copy(&mut self.input.by_ref().take(size + size % 2), &mut io::sink())?;
        }
    }
}

/// Reads the chunks before the data: the format, and where the data chunk stands. Nothing for what cannot be read block by block.
fn find_data(input: &mut Bytes, seen: &mut Vec<u8>) -> io::Result<Option<(Format, usize)>> {
    let (mut position, mut format) = (12, None);
    if !fill(input, seen, position)? || !seen.starts_with(b"RIFF") || &seen[8..12] != b"WAVE" {
        return Ok(None);
    }
    loop {
        if position > MOST_HEADER || !fill(input, seen, position + 8)? {
            return Ok(None);
        }
        let size = wav::u32_at(seen, position + 4) as usize;
        if seen[position..].starts_with(b"data") {
            return Ok(format.zip(Some(position)));
        }
        let end = position + 8 + size;
        if end > MOST_HEADER || !fill(input, seen, end)? {
            return Ok(None);
        }
        if seen[position..].starts_with(b"fmt ") {
            format = Format::parse(&seen[position + 8..end]).ok().filter(|format| format.encoding.is_plain());
        }
        if end % 2 == 1 && !fill(input, seen, end + 4)? {
            return Ok(None);
        }
        position = wav::next_chunk(seen, end);
    }
}

/// Reads until `seen` has `length` bytes; whether it has.
fn fill(input: &mut Bytes, seen: &mut Vec<u8>, length: usize) -> io::Result<bool> {
    let missing = length.saturating_sub(seen.len()) as u64;
    input.by_ref().take(missing).read_to_end(seen)?;
    Ok(seen.len() >= length)
}

/// Reads what is there, at least a byte unless the end has come.
fn read_some(input: &mut Bytes, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn unread(cause: io::Error) -> String {
    format!("cannot be read: {cause}")
}
