//! NIST SPHERE, the format of TIMIT and of the LDC: a text header of 1024 bytes or a multiple, then the samples.
//!
//! ```text
//! NIST_1A
//!    1024
//! channel_count -i 1
//! sample_rate -i 16000
//! sample_n_bytes -i 2
//! sample_byte_format -s2 01
//! sample_coding -s3 pcm
//! sample_count -i 46797
//! end_head
//! ```
//!
//! PCM of 8 and 16 bits in either byte order, mu-law and A-law are read; Shorten and other codings are refused by name.

use std::collections::BTreeMap;

use super::g711;
use super::mixer::Mixer;
use super::{Channel, Notice, Reasoned, Recording, check_rate};

/// Samples handed on at a time.
const BLOCK: usize = 8192;

/// Decodes a file that begins with `NIST_1A`.
///
/// # Errors
/// When the header is damaged, or its coding is not read.
pub(super) fn decode(bytes: &[u8], channel: Channel) -> Reasoned<Recording> {
    let header = Header::parse(bytes)?;
    let (format, size) = (header.format()?, header.bytes_per_sample()?);
    let channels = header.count("channel_count", Some(1))?;
    let sample_rate = header.count("sample_rate", None)?;
    let sample_rate = u32::try_from(sample_rate).unwrap_or(u32::MAX);
    check_rate(sample_rate)?;
    let frame = channels.checked_mul(size).filter(|&frame| frame > 0);
    let frame = frame.ok_or("no channels, or more than fit into a frame: the header is damaged")?;
    let data = &bytes[header.size..];
    let promised = header.fields.get("sample_count").map(|_| header.count("sample_count", None)).transpose()?;
    let there = data.len() / frame;
    let frames = promised.map_or(there, |promised| promised.min(there));
    let mut mixer = Mixer::new(channels, channel, format.full_scale())?;
    mixer.reserve(frames);
    for block in data[..frames * frame].chunks(BLOCK * frame) {
        let samples: Vec<f32> = block.chunks_exact(size).map(|sample| format.value(sample)).collect();
        mixer.push(&samples)?;
    }
    let (samples, mut notices) = mixer.finish();
    if promised.is_some_and(|promised| promised > frames) {
        let seconds = |frames: usize| frames as f64 / f64::from(sample_rate);
        let cut = Notice::CutOff { promised_seconds: promised.map(seconds), found_seconds: seconds(frames) };
        notices.insert(0, cut);
    }
    Ok(Recording { samples, sample_rate, notices })
}

/// The fields of the header, and how many bytes it takes.
struct Header<'a> {
    size: usize,
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Header<'a> {
    /// A line is a name, a type (`-i`, `-r`, `-sN`) and a value; `end_head` is the last.
    fn parse(bytes: &'a [u8]) -> Reasoned<Self> {
        let damaged = |what: &str| format!("a SPHERE file {what}: the file is damaged");
        let second = bytes.get(8..16).and_then(|line| std::str::from_utf8(line).ok());
        let size = second.and_then(|line| line.trim().parse().ok()).filter(|&size: &usize| size >= 16);
        let size = size.ok_or_else(|| damaged("without the size of its header"))?;
        let text = bytes.get(16..size).ok_or_else(|| damaged("that ends within its header"))?;
        let end =
            text.windows(8).position(|window| window == b"end_head").ok_or_else(|| damaged("without end_head"))?;
        let text = std::str::from_utf8(&text[..end]).map_err(|_| damaged("whose header is not text"))?;
        let mut fields = BTreeMap::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(';')) {
            let mut parts = line.splitn(3, ' ');
            let [Some(name), Some(kind), Some(value)] = [parts.next(), parts.next(), parts.next()] else {
                return Err(damaged(&format!("with the line '{line}' in its header")));
            };
            if !kind.starts_with('-') {
                return Err(damaged(&format!("with the type '{kind}' in its header")));
            }
            fields.insert(name, value.trim());
        }
        Ok(Self { size, fields })
    }

    fn count(&self, name: &str, default: Option<usize>) -> Reasoned<usize> {
        match self.fields.get(name) {
            Some(value) => {
                value.parse().map_err(|_| format!("{name} is {value} in the SPHERE header, expected a number"))
            }
            None => default.ok_or_else(|| format!("no {name} in the SPHERE header: the file is damaged")),
        }
    }

    fn bytes_per_sample(&self) -> Reasoned<usize> {
        match self.coding() {
            "pcm" => self.count("sample_n_bytes", None),
            _ => self.count("sample_n_bytes", Some(1)),
        }
    }

    /// Codings have further words where the samples are packed: `pcm,embedded-shorten-v2.00`.
    fn coding(&self) -> &'a str {
        self.fields.get("sample_coding").copied().unwrap_or("pcm")
    }

    fn format(&self) -> Reasoned<Format> {
        let order = self.fields.get("sample_byte_format").copied();
        match (self.coding().to_lowercase().as_str(), self.bytes_per_sample()?, order) {
            ("pcm", 1, _) => Ok(Format::Bits8),
            ("pcm", 2, Some("01")) => Ok(Format::Little),
            ("pcm", 2, Some("10")) => Ok(Format::Big),
            ("ulaw" | "mu-law", 1, _) => Ok(Format::MuLaw),
            ("alaw" | "a-law", 1, _) => Ok(Format::ALaw),
            ("pcm", 2, order) => {
                let order = order.unwrap_or("missing");
                Err(format!("SPHERE with sample_byte_format {order}, expected 01 (low byte first) or 10"))
            }
            (coding, size, _) => Err(format!(
                "SPHERE with samples of {size} bytes coded as {coding}, expected pcm of 1 or 2 bytes, ulaw or alaw: convert it, \
                 with sph2pipe -f wav for example"
            )),
        }
    }
}

/// How a sample is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    /// Eight bits, signed.
    Bits8,
    /// Sixteen bits, the low byte first.
    Little,
    /// Sixteen bits, the high byte first.
    Big,
    MuLaw,
    ALaw,
}

impl Format {
    /// The sample, -1 to 1.
    fn value(self, bytes: &[u8]) -> f32 {
        let value = match (self, bytes) {
            (Self::Bits8, &[byte, ..]) => i16::from(byte as i8) << 8,
            (Self::Little, &[low, high, ..]) => i16::from_le_bytes([low, high]),
            (Self::Big, &[high, low, ..]) => i16::from_be_bytes([high, low]),
            (Self::MuLaw, &[byte, ..]) => g711::mu_law(byte),
            (Self::ALaw, &[byte, ..]) => g711::a_law(byte),
            _ => 0,
        };
        f32::from(value) / 32768.0
    }

    /// The magnitude that no sample goes beyond.
    fn full_scale(self) -> f32 {
        match self {
            Self::Bits8 => 127.0 / 128.0,
            Self::Little | Self::Big => 32767.0 / 32768.0,
            Self::MuLaw => g711::MU_LAW_FULL_SCALE,
            Self::ALaw => g711::A_LAW_FULL_SCALE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these header lines and samples.
    fn file(fields: &str, samples: &[u8]) -> Vec<u8> {
        let mut bytes = format!("NIST_1A\n   1024\n{fields}\nend_head\n").into_bytes();
        bytes.resize(1024, b' ');
        [&bytes, samples].concat()
    }

    const PCM: &str = "channel_count -i 1\nsample_rate -i 8000\nsample_n_bytes -i 2\nsample_byte_format -s2 01\n\
        sample_coding -s3 pcm\nsample_count -i 3";

    fn samples(fields: &str, bytes: &[u8], channel: Channel) -> Vec<i32> {
        let recording = decode(&file(fields, bytes), channel).unwrap();
        recording.samples.iter().map(|sample| (sample * 32768.0) as i32).collect()
    }

    #[test]
    fn pcm_is_read_in_either_byte_order() {
        let values = [0i16, -32768, 12_345];
        let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let big: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        let expected = values.map(i32::from);
        assert_eq!(samples(PCM, &little, Channel::Mix), expected);
        assert_eq!(samples(&PCM.replace("s2 01", "s2 10"), &big, Channel::Mix), expected);
        let bits8 = PCM.replace("n_bytes -i 2", "n_bytes -i 1");
        assert_eq!(samples(&bits8, &[0, 127, 0x80], Channel::Mix), [0, 127 << 8, -32768]);
    }

    #[test]
    fn channels_are_interleaved() {
        let stereo = PCM.replace("channel_count -i 1", "channel_count -i 2").replace("count -i 3", "count -i 2");
        let bytes: Vec<u8> = [1i16, 10, 2, 20].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(samples(&stereo, &bytes, Channel::Only(1)), [10, 20]);
        assert_eq!(samples(&stereo, &bytes, Channel::Only(0)), [1, 2]);
    }

    #[test]
    fn telephone_codes_are_expanded() {
        let coded = |coding: &str| PCM.replace("n_bytes -i 2", "n_bytes -i 1").replace("-s3 pcm", coding);
        assert_eq!(samples(&coded("-s4 ulaw"), &[0xFF, 0x80, 0x00], Channel::Mix), [0, 32_124, -32_124]);
        assert_eq!(samples(&coded("-s4 alaw"), &[0xD5, 0xAA, 0x2A], Channel::Mix), [8, 32_256, -32_256]);
    }

    #[test]
    fn a_file_that_is_cut_off_says_so() {
        let recording = decode(&file(PCM, &[1, 0, 2, 0, 3]), Channel::Mix).unwrap();
        let cut = Notice::CutOff { promised_seconds: Some(3.0 / 8000.0), found_seconds: 2.0 / 8000.0 };
        assert_eq!((recording.samples.len(), recording.notices), (2, vec![cut]));
        assert_eq!(samples(PCM, &[1, 0, 2, 0, 3, 0, 9, 9], Channel::Mix), [1, 2, 3], "no more than is promised");
    }

    #[test]
    fn what_is_not_read_is_refused_by_name() {
        let reason = |fields: &str| decode(&file(fields, &[0; 64]), Channel::Mix).err().unwrap();
        let shorten = PCM.replace("-s3 pcm", "-s26 pcm,embedded-shorten-v2.00");
        assert!(
            reason(&shorten).contains("coded as pcm,embedded-shorten-v2.00, expected pcm of 1 or 2"),
            "{}",
            reason(&shorten)
        );
        assert!(reason(&PCM.replace("n_bytes -i 2", "n_bytes -i 4")).contains("samples of 4 bytes coded as pcm"));
        assert!(reason(&PCM.replace("s2 01", "s4 1032")).contains("sample_byte_format 1032"));
        assert!(reason(&PCM.replace("sample_rate -i 8000\n", "")).starts_with("no sample_rate in the SPHERE header"));
        assert!(reason(&PCM.replace("sample_rate -i 8000", "sample_rate")).contains("with the line 'sample_rate'"));
        assert!(decode(b"NIST_1A\n   1024\n", Channel::Mix).err().unwrap().contains("ends within its header"));
    }

    #[test]
    fn no_prefix_of_a_file_panics() {
        let whole = file(PCM, &[1, 0, 2, 0, 3, 0]);
        for length in 0..whole.len() {
            if let Ok(recording) = decode(&whole[..length], Channel::Mix) {
                assert!(length >= 1024 && recording.samples.len() <= 3);
            }
        }
    }
}
