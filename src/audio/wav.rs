//! WAV: RIFF, its big-endian twin RIFX, and RF64 for more than 4 GB.
//!
//! The chunks are walked here rather than by hound, which refuses or misreads much that is in real files: odd chunks
//! with their pad byte, sizes left open by a pipe, several data chunks, data before fmt, other lengths of fmt, 64-bit
//! floats, mu-law and A-law. Nothing is allocated on a header's word. The tests compare with what hound writes.

use std::ops::Range;

use super::mixer::Mixer;
use super::sniff::Kind;
use super::{Channel, Notice, Reasoned, Recording, check_rate, container};

/// Samples converted at a time.
const BLOCK: usize = 8192;
/// Sizes from here on that reach beyond the file are place holders of writers that could not go back: 0x7FFFF000,
/// 0x80000000, 0xFFFFFFFF, ...
const OPEN_SIZE: u64 = 0x7FFF_0000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// How a sample is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Integers of `bytes`, of whose bits `valid` count; one byte is unsigned.
    Integer {
        bytes: usize,
        valid: usize,
    },
    Float32,
    Float64,
    MuLaw,
    ALaw,
    /// Left to symphonia.
    Adpcm,
}

impl Encoding {
    fn bytes(self) -> usize {
        match self {
            Self::Integer { bytes, .. } => bytes,
            Self::Float32 => 4,
            Self::Float64 => 8,
            Self::MuLaw | Self::ALaw | Self::Adpcm => 1,
        }
    }

    /// The largest positive sample that it can hold.
    fn full_scale(self) -> f32 {
        match self {
            Self::Integer { bytes: 1, .. } => 127.0 / 128.0,
            Self::MuLaw => 32124.0 / 32768.0,
            Self::ALaw => 32256.0 / 32768.0,
            _ => 32767.0 / 32768.0,
        }
    }
}

/// What the fmt chunk says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    encoding: Encoding,
    channels: usize,
    sample_rate: u32,
}

/// Decodes a file that begins with RIFF, RIFX or RF64 and WAVE.
///
/// # Errors
/// When the fmt or the data chunk is missing, or their encoding is not known.
pub(super) fn decode(bytes: &[u8], channel: Channel) -> Reasoned<Recording> {
    let order = if bytes.starts_with(b"RIFX") { Order::Big } else { Order::Little };
    let chunks = Chunks::walk(bytes, order);
    let format = parse_format(chunks.format.ok_or("a WAV file without a fmt chunk: the file is damaged")?, order)?;
    if format.encoding == Encoding::Adpcm {
        return container::decode(bytes, Kind::Wave, channel);
    }
    if chunks.data.is_empty() {
        return Err("a WAV file without a data chunk: the file is cut off or damaged".to_owned());
    }
    check_rate(format.sample_rate)?;
    let mut mixer = Mixer::new(format.channels, channel, format.encoding.full_scale())?;
    for data in &chunks.data {
        push_samples(&bytes[data.clone()], &format, order, &mut mixer)?;
    }
    let frame = (format.encoding.bytes() * format.channels) as u64;
    let seconds = |frames: u64| frames as f64 / f64::from(format.sample_rate);
    let (promised, found) = (chunks.promised / frame, mixer.frames() as u64);
    let mut notices = Vec::new();
    if promised > found {
        notices.push(Notice::CutOff { promised_seconds: Some(seconds(promised)), found_seconds: seconds(found) });
    }
    let (samples, mixed) = mixer.finish();
    notices.extend(mixed);
    Ok(Recording { samples, sample_rate: format.sample_rate, notices })
}

/// Where things are in the file.
#[derive(Default)]
struct Chunks<'a> {
    format: Option<&'a [u8]>,
    data: Vec<Range<usize>>,
    /// Bytes of data that the headers promise.
    promised: u64,
}

impl<'a> Chunks<'a> {
    fn walk(bytes: &'a [u8], order: Order) -> Self {
        let mut chunks = Self::default();
        let mut long_size = None;
        let mut position = 12;
        while let Some(header) = bytes.get(position..position + 8) {
            let body = position + 8;
            let there = (bytes.len() - body) as u64;
            let mut size = u64::from(u32_at(header, 4, order));
            match &header[..4] {
                b"ds64" => long_size = bytes.get(body + 8..body + 16).map(|size| u64_le(size, 0)),
                b"fmt " => chunks.format = bytes.get(body..body + size.min(there) as usize),
                b"data" => {
                    size = data_size(size, long_size, there, header_is_open(bytes, body, order));
                    chunks.data.push(body..body + size.min(there) as usize);
                    chunks.promised = chunks.promised.saturating_add(size);
                }
                _ => {}
            }
            position = next_chunk(bytes, size.saturating_add(body as u64));
        }
        chunks
    }
}

/// Whether the size in the first header was never filled in: it ends no later than the header of the data, at `body`.
fn header_is_open(bytes: &[u8], body: usize, order: Order) -> bool {
    let size = u64::from(u32_at(bytes, 4, order));
    size + 8 <= body as u64 || size >= OPEN_SIZE
}

/// The true size of a data chunk of which `there` bytes are left in the file.
fn data_size(size: u64, long_size: Option<u64>, there: u64, open: bool) -> u64 {
    match long_size {
        Some(long_size) if size == u64::from(u32::MAX) && long_size > 0 => long_size,
        _ if size >= OPEN_SIZE && size > there => there,
        _ if size == 0 && open => there,
        _ => size,
    }
}

/// Chunks begin at even places; some writers forget the pad byte of an odd chunk, which shows when a known name is there.
fn next_chunk(bytes: &[u8], end: u64) -> usize {
    let end = usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len());
    let unpadded = [b"fmt ", b"data", b"LIST", b"fact"].iter().any(|name| bytes[end..].starts_with(*name));
    if end % 2 == 1 && !unpadded { end + 1 } else { end }
}

fn parse_format(chunk: &[u8], order: Order) -> Reasoned<Format> {
    if chunk.len() < 16 {
        return Err(format!("a fmt chunk of {} bytes, expected at least 16: the file is damaged", chunk.len()));
    }
    let (channels, bits) = (usize::from(u16_at(chunk, 2, order)), usize::from(u16_at(chunk, 14, order)));
    let align = usize::from(u16_at(chunk, 12, order));
    let mut tag = u16_at(chunk, 0, order);
    let mut valid = bits;
    if tag == 0xFFFE && chunk.len() >= 26 {
        // WAVEFORMATEXTENSIBLE: valid bits, and a GUID that begins with the tag.
        let said = usize::from(u16_at(chunk, 18, order));
        valid = if (1..=bits).contains(&said) { said } else { bits };
        tag = u16_at(chunk, 24, order);
    }
    let encoding = match (tag, bits) {
        (1, 1..=32) => Encoding::Integer { bytes: container_bytes(align, channels, bits), valid },
        (3, 32) => Encoding::Float32,
        (3, 64) => Encoding::Float64,
        (6, 8) => Encoding::ALaw,
        (7, 8) => Encoding::MuLaw,
        (2 | 0x11, _) => Encoding::Adpcm,
        _ => return Err(unsupported(tag, bits)),
    };
    Ok(Format { encoding, channels, sample_rate: u32_at(chunk, 4, order) })
}

/// Bytes of an integer sample: what the alignment of a frame says when it is possible, else as few as hold `bits`.
fn container_bytes(align: usize, channels: usize, bits: usize) -> usize {
    let least = bits.div_ceil(8);
    let said = align.checked_div(channels).filter(|said| said * channels == align);
    said.filter(|said| (least..=4).contains(said)).unwrap_or(least)
}

fn unsupported(tag: u16, bits: usize) -> String {
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

/// Converts `data`, block by block; an incomplete frame at its end is left out.
fn push_samples(data: &[u8], format: &Format, order: Order, mixer: &mut Mixer) -> Reasoned<()> {
    let frame = format.encoding.bytes() * format.channels;
    let frames = data.len() / frame;
    let data = &data[..frames * frame];
    let shift = match format.encoding {
        Encoding::Integer { bytes, valid } => missing_shift(data, bytes, valid, order),
        _ => 0,
    };
    mixer.reserve(frames);
    let mut block = Vec::with_capacity(BLOCK + format.channels);
    for piece in data.chunks(frame * (BLOCK / format.channels).max(1)) {
        block.clear();
        convert(piece, format.encoding, order, shift, &mut block);
        mixer.push(&block)?;
    }
    Ok(())
}

/// Bits by which integers must be moved up to fill their bytes.
///
/// Where fewer bits count than there are, they are the upper ones by the standard, and the rest is zero. Some writers put
/// them lowest: then the rest is in use, and every value fits into `valid` bits.
fn missing_shift(data: &[u8], bytes: usize, valid: usize, order: Order) -> u32 {
    let spare = (8 * bytes - valid) as u32;
    if spare == 0 || bytes == 1 {
        return 0;
    }
    let values = || data.chunks_exact(bytes).map(|sample| integer(sample, order) >> (32 - 8 * bytes));
    let low_in_use = values().any(|value| value as u32 & ((1 << spare) - 1) != 0);
    let fits = values().all(|value| (value << (32 - valid)) >> (32 - valid) == value);
    if low_in_use && fits { spare } else { 0 }
}

fn convert(data: &[u8], encoding: Encoding, order: Order, shift: u32, out: &mut Vec<f32>) {
    /// Scale of samples that fill 32 bits.
    const WHOLE: f32 = 1.0 / (1u32 << 31) as f32;
    match (encoding, order) {
        (Encoding::Integer { bytes: 1, .. }, _) => out.extend(data.iter().map(|&x| (f32::from(x) - 128.0) / 128.0)),
        (Encoding::Integer { bytes: 2, .. }, Order::Little) if shift == 0 => {
            out.extend(data.chunks_exact(2).map(|x| f32::from(i16::from_le_bytes([x[0], x[1]])) / 32768.0));
        }
        (Encoding::Integer { bytes, .. }, _) => {
            out.extend(data.chunks_exact(bytes).map(|x| (integer(x, order) << shift) as f32 * WHOLE));
        }
        (Encoding::Float32, _) => {
            out.extend(data.chunks_exact(4).map(|x| f32::from_bits(u32_at(x, 0, order))));
        }
        (Encoding::Float64, _) => out.extend(data.chunks_exact(8).map(|x| {
            let value = if order == Order::Little { u64_le(x, 0) } else { u64_le(x, 0).swap_bytes() };
            f64::from_bits(value) as f32
        })),
        (Encoding::MuLaw, _) => out.extend(data.iter().map(|&x| f32::from(mu_law(x)) / 32768.0)),
        (Encoding::ALaw, _) => out.extend(data.iter().map(|&x| f32::from(a_law(x)) / 32768.0)),
        (Encoding::Adpcm, _) => {}
    }
}

/// A signed integer of up to four bytes, in the upper bits of 32.
fn integer(sample: &[u8], order: Order) -> i32 {
    let place = |value: u32, (index, &byte): (usize, &u8)| value | u32::from(byte) << (24 - 8 * index);
    let value = match order {
        Order::Big => sample.iter().enumerate().fold(0, place),
        Order::Little => sample.iter().rev().enumerate().fold(0, place),
    };
    value as i32
}

/// ITU-T G.711 mu-law to 16 bits: sign, three bits of segment, four of interval, all inverted.
fn mu_law(byte: u8) -> i16 {
    let code = !byte;
    let magnitude = ((i16::from(code & 0x0F) << 3) + 0x84) << ((code >> 4) & 7);
    if code & 0x80 == 0 { magnitude - 0x84 } else { 0x84 - magnitude }
}

/// ITU-T G.711 A-law to 16 bits: as mu-law, but every second bit inverted, and segment 0 as fine as segment 1.
fn a_law(byte: u8) -> i16 {
    let code = byte ^ 0x55;
    let (segment, interval) = ((code >> 4) & 7, i16::from(code & 0x0F) << 4);
    let magnitude = if segment == 0 { interval + 8 } else { (interval + 0x108) << (segment - 1) };
    if code & 0x80 == 0 { -magnitude } else { magnitude }
}

fn u16_at(bytes: &[u8], at: usize, order: Order) -> u16 {
    let pair = [bytes[at], bytes[at + 1]];
    if order == Order::Little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
}

fn u32_at(bytes: &[u8], at: usize, order: Order) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if order == Order::Little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
}

fn u64_le(bytes: &[u8], at: usize) -> u64 {
    let (low, high) = (u32_at(bytes, at, Order::Little), u32_at(bytes, at + 4, Order::Little));
    u64::from(low) | u64::from(high) << 32
}
