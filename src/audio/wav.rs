//! WAV: integers and 32-bit floats through hound, ADPCM through symphonia, 64-bit floats, mu-law and A-law by themselves.
//!
//! Real files have sizes that a pipe left open, cut-off ends, odd chunks without their pad byte, several data chunks, data
//! before fmt, 24 bits in four bytes. Both libraries refuse such files or misread them without a word. So the chunks are
//! looked up here, and the libraries are given a clean file: a fmt chunk and one data chunk, with sizes that hold.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

use super::g711;
use super::mixer::Mixer;
use super::sniff::Kind;
use super::{Channel, Notice, Reasoned, Recording, check_rate, container};

/// Samples handed on at a time.
const BLOCK: usize = 8192;
/// Sizes from here on that reach beyond the file are place holders of writers that could not go back: 0x7FFFF000,
/// 0x80000000, 0xFFFFFFFF, ...
pub(super) const OPEN_SIZE: u64 = 0x7FFF_0000;

/// Decodes a file that begins with RIFF and WAVE.
///
/// # Errors
/// When the fmt or the data chunk is missing, or their encoding is not known.
pub(super) fn decode(bytes: &[u8], channel: Channel) -> Reasoned<Recording> {
    let chunks = Chunks::walk(bytes);
    let format = Format::parse(chunks.format.ok_or("a WAV file without a fmt chunk: the file is damaged")?)?;
    let data = match chunks.data[..] {
        [] => return Err("a WAV file without a data chunk: the file is cut off or damaged".to_owned()),
        [one] => Cow::Borrowed(one),
        _ => Cow::Owned(chunks.data.concat()),
    };
    check_rate(format.sample_rate)?;
    let whole = &data[..data.len() - data.len() % format.align];
    let header = header(&format.chunk, whole.len())?;
    let mut recording = match format.encoding {
        Encoding::Other => container::decode(&[&header, whole].concat(), Kind::Wave, channel)?,
        Encoding::Float64 | Encoding::MuLaw | Encoding::ALaw => by_blocks(&format, whole, channel)?,
        encoding => through_hound(|| WavReader::new(header.chain(whole)).map_err(refused), encoding, channel)?,
    };
    if chunks.promised > data.len() as u64 {
        let found_seconds = recording.samples.len() as f64 / f64::from(recording.sample_rate);
        let promised_seconds = Some(found_seconds * chunks.promised as f64 / whole.len() as f64);
        recording.notices.insert(0, Notice::CutOff { promised_seconds, found_seconds });
    }
    Ok(recording)
}

/// What is in the file.
#[derive(Default)]
struct Chunks<'a> {
    format: Option<&'a [u8]>,
    data: Vec<&'a [u8]>,
    /// Bytes of data that the headers promise.
    promised: u64,
}

impl<'a> Chunks<'a> {
    fn walk(bytes: &'a [u8]) -> Self {
        let mut chunks = Self::default();
        let mut position = 12;
        while let Some(header) = bytes.get(position..position + 8) {
            let rest = &bytes[position + 8..];
            let mut size = u64::from(u32_at(header, 4));
            if header.starts_with(b"data") {
                size = data_size(bytes, position);
                chunks.promised += size;
            }
            let body = &rest[..size.min(rest.len() as u64) as usize];
            match &header[..4] {
                b"fmt " => chunks.format = Some(body),
                b"data" => chunks.data.push(body),
                _ => {}
            }
            position = next_chunk(bytes, position + 8 + body.len());
        }
        chunks
    }
}

/// The true size of the data chunk at `position`.
fn data_size(bytes: &[u8], position: usize) -> u64 {
    let (file, size) = (u64::from(u32_at(bytes, 4)), u64::from(u32_at(bytes, position + 4)));
    let there = (bytes.len() - position - 8) as u64;
    match size {
        // Never filled in, as the file's own size shows.
        0 if file <= position as u64 || file >= OPEN_SIZE => there,
        OPEN_SIZE.. if size > there => there,
        _ => size,
    }
}

/// Chunks begin at even places; some writers forget the pad byte of an odd chunk, which shows when a known name is there.
pub(super) fn next_chunk(bytes: &[u8], end: usize) -> usize {
    if end % 2 == 1 && !is_known(&bytes[end..]) { end + 1 } else { end }
}

/// Whether `bytes` begin with the name of a chunk that is often there.
pub(super) fn is_known(bytes: &[u8]) -> bool {
    [b"fmt ", b"data", b"LIST", b"fact"].iter().any(|name| bytes.starts_with(*name))
}

/// How a sample is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Integers of that many bits, of which `valid` count.
    Integer {
        bits: u16,
        valid: u16,
    },
    Float32,
    Float64,
    MuLaw,
    ALaw,
    /// What is left to symphonia.
    Other,
}

impl Encoding {
    /// Whether a sample's bytes say all about it; other samples must be seen where fewer bits count than there are.
    pub(super) fn is_plain(self) -> bool {
        match self {
            Self::Integer { bits, valid } => bits == 8 || valid >= bits,
            Self::Float32 | Self::Float64 | Self::MuLaw | Self::ALaw => true,
            Self::Other => false,
        }
    }

    /// The magnitude that it cannot go beyond; for most, what 16 bits hold.
    pub(super) fn full_scale(self) -> f32 {
        match self {
            Self::Integer { bits: 8, .. } => 127.0 / 128.0,
            Self::MuLaw => g711::MU_LAW_FULL_SCALE,
            Self::ALaw => g711::A_LAW_FULL_SCALE,
            _ => 32767.0 / 32768.0,
        }
    }
}

/// What the fmt chunk says.
pub(super) struct Format {
    pub(super) encoding: Encoding,
    /// Bytes of a frame, or of a block of ADPCM; never 0.
    pub(super) align: usize,
    pub(super) sample_rate: u32,
    /// The chunk as the libraries take it.
    chunk: Vec<u8>,
}

impl Format {
    /// Interleaved channels.
    pub(super) fn channels(&self) -> usize {
        usize::from(u16_at(&self.chunk, 2))
    }

    pub(super) fn parse(chunk: &[u8]) -> Reasoned<Self> {
        if chunk.len() < 16 {
            return Err(format!("a fmt chunk of {} bytes, expected at least 16: the file is damaged", chunk.len()));
        }
        let (channels, align, bits) = (u16_at(chunk, 2), u16_at(chunk, 12), u16_at(chunk, 14));
        let (tag, valid) = tag_and_valid_bits(chunk);
        let sample_rate = u32_at(chunk, 4);
        let bytes = match (tag, bits) {
            (1, 1..=32) => container_bytes(align, channels, bits),
            (3, 32 | 64) | (6 | 7, 8) => bits / 8,
            (2 | 0x11, _) => {
                // ADPCM has an extension that matters.
                let (align, chunk) = (usize::from(align).max(1), chunk.to_vec());
                return Ok(Self { encoding: Encoding::Other, align, sample_rate, chunk });
            }
            _ => return Err(unsupported(tag, bits)),
        };
        let align = channels.checked_mul(bytes).filter(|&align| align > 0);
        let align = align.ok_or("no channels, or more than fit into a frame: the header is damaged")?;
        let encoding = match (tag, bytes) {
            (1, _) => Encoding::Integer { bits: 8 * bytes, valid },
            (3, 4) => Encoding::Float32,
            (3, 8) => Encoding::Float64,
            (7, 1) => Encoding::MuLaw,
            (6, 1) => Encoding::ALaw,
            _ => Encoding::Other,
        };
        let byte_rate = sample_rate.saturating_mul(u32::from(align)).to_le_bytes();
        let [tag, align_bytes, bits] = [tag, align, 8 * bytes].map(u16::to_le_bytes);
        // The extension of all but PCM: it is empty.
        let extension: &[u8] = if matches!(encoding, Encoding::Integer { .. }) { &[] } else { &[0, 0] };
        let chunk = [&tag, &chunk[2..8], &byte_rate, &align_bytes, &bits, extension].concat();
        Ok(Self { encoding, align: usize::from(align), sample_rate, chunk })
    }
}

/// In WAVEFORMATEXTENSIBLE the tag begins a GUID, and the bits that count are told apart from those that are there.
fn tag_and_valid_bits(chunk: &[u8]) -> (u16, u16) {
    let (tag, bits) = (u16_at(chunk, 0), u16_at(chunk, 14));
    if tag != 0xFFFE || chunk.len() < 26 {
        return (tag, bits);
    }
    let said = u16_at(chunk, 18);
    (u16_at(chunk, 24), if (1..=bits).contains(&said) { said } else { bits })
}

/// Bytes of an integer sample: what the alignment of a frame says when it is possible, else as few as hold `bits`.
fn container_bytes(align: u16, channels: u16, bits: u16) -> u16 {
    let least = bits.div_ceil(8);
    let said = align.checked_div(channels).filter(|said| said * channels == align);
    said.filter(|said| (least..=4).contains(said)).unwrap_or(least)
}

fn unsupported(tag: u16, bits: u16) -> String {
    let name = match tag {
        1 => "PCM",
        3 => "float",
        6 => "A-law",
        7 => "mu-law",
        0x31 => "GSM 6.10",
        0x50 | 0x55 => "MPEG",
        0xFFFE => "extensible",
        _ => "unknown",
    };
    format!(
        "a WAV file with {name} samples of {bits} bits (format tag 0x{tag:04X}), expected PCM of up to 32 bits, float of 32 \
         or 64, mu-law, A-law or ADPCM"
    )
}

/// All before the samples, in a file of one fmt chunk and `size` bytes of data.
fn header(format: &[u8], size: usize) -> Reasoned<Vec<u8>> {
    let file = u32::try_from(20 + format.len() + size);
    let file = file.map_err(|_| "a WAV file of more than 4 GB: split the recording")?;
    let [file, format_size, size] = [file, format.len() as u32, size as u32].map(u32::to_le_bytes);
    Ok([b"RIFF", &file[..], b"WAVEfmt ", &format_size, format, b"data", &size].concat())
}

/// A mono WAV of 16 bits that holds `samples` (-1 to 1; what is beyond is clipped).
///
/// # Errors
/// [`Error::Other`](crate::Error::Other) for more samples than a WAV can hold.
pub fn wav_bytes(samples: &[f32], sample_rate_hz: u32) -> crate::Result<Vec<u8>> {
    let format = SampleFormat::Int;
    let spec = WavSpec { channels: 1, sample_rate: sample_rate_hz, bits_per_sample: 16, sample_format: format };
    let write = || -> hound::Result<Vec<u8>> {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut bytes, spec)?;
        for sample in samples {
            writer.write_sample((sample * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16)?;
        }
        writer.finalize()?;
        Ok(bytes.into_inner())
    };
    write().map_err(|cause| crate::Error::Other(format!("cannot make a WAV of {} samples: {cause}", samples.len())))
}

/// Reads the samples of the clean file that `open` opens.
fn through_hound<R: Read>(
    open: impl Fn() -> Reasoned<WavReader<R>>,
    encoding: Encoding,
    channel: Channel,
) -> Reasoned<Recording> {
    let reader = open()?;
    let spec = reader.spec();
    let mut mixer = Mixer::new(usize::from(spec.channels), channel, encoding.full_scale())?;
    mixer.reserve(reader.duration() as usize);
    if let Encoding::Integer { bits, valid } = encoding {
        let low = bits > 8 && valid < bits && lies_low(open()?, bits, valid)?;
        let scale = 1.0 / (1u64 << (if low { valid } else { bits } - 1)) as f32;
        fill(&mut mixer, reader.into_samples::<i32>().map(|sample| Ok(sample? as f32 * scale)))?;
    } else {
        fill(&mut mixer, reader.into_samples())?;
    }
    let (samples, notices) = mixer.finish();
    Ok(Recording { samples, sample_rate: spec.sample_rate, notices })
}

/// Decodes whole frames of an encoding that hound lacks.
fn by_blocks(format: &Format, bytes: &[u8], channel: Channel) -> Reasoned<Recording> {
    let mut mixer = Mixer::new(format.channels(), channel, format.encoding.full_scale())?;
    mixer.reserve(bytes.len() / format.align);
    for bytes in bytes.chunks(BLOCK * format.align) {
        mixer.push(&block(format, bytes)?)?;
    }
    let (samples, notices) = mixer.finish();
    Ok(Recording { samples, sample_rate: format.sample_rate, notices })
}

/// The interleaved samples of whole frames of `bytes`, whose encoding is [plain](Encoding::is_plain).
pub(super) fn block(format: &Format, bytes: &[u8]) -> Reasoned<Vec<f32>> {
    let expanded = |expand: fn(u8) -> i16| bytes.iter().map(|&byte| f32::from(expand(byte)) / 32768.0).collect();
    match format.encoding {
        Encoding::MuLaw => Ok(expanded(g711::mu_law)),
        Encoding::ALaw => Ok(expanded(g711::a_law)),
        Encoding::Float64 => Ok(bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32).collect()),
        _ => block_by_hound(format, header(&format.chunk, bytes.len())?.chain(bytes)).map_err(refused),
    }
}

fn block_by_hound(format: &Format, clean: impl Read) -> hound::Result<Vec<f32>> {
    let reader = WavReader::new(clean)?;
    match format.encoding {
        Encoding::Integer { bits, .. } => {
            let scale = 1.0 / (1u64 << (bits - 1)) as f32;
            reader.into_samples::<i32>().map(|sample| Ok(sample? as f32 * scale)).collect()
        }
        _ => reader.into_samples().collect(),
    }
}

fn refused(cause: hound::Error) -> String {
    format!("cannot be decoded: {cause}")
}

/// Whether the bits that count are the lowest ones.
///
/// Where fewer bits count than there are, they are the upper ones by the standard, and the rest is zero. Some writers put
/// them lowest: then the rest is in use, and every value fits into `valid` bits.
fn lies_low(mut reader: WavReader<impl Read>, bits: u16, valid: u16) -> Reasoned<bool> {
    let mut rest_in_use = false;
    for sample in reader.samples::<i32>() {
        let sample = sample.map_err(refused)?;
        rest_in_use |= sample & ((1 << (bits - valid)) - 1) != 0;
        if !(-1..=0).contains(&(sample >> (valid - 1))) {
            return Ok(false);
        }
    }
    Ok(rest_in_use)
}

/// Gives `mixer` all samples, in blocks of whole frames.
fn fill(mixer: &mut Mixer, samples: impl Iterator<Item = hound::Result<f32>>) -> Reasoned<()> {
    let length = BLOCK.next_multiple_of(mixer.channels());
    let mut block = Vec::with_capacity(length);
    for sample in samples {
        block.push(sample.map_err(refused)?);
        if block.len() == length {
            mixer.push(&block)?;
            block.clear();
        }
    }
    mixer.push(&block)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}
