//! What kind of file some bytes are, told by how they begin. Formats that cannot be read are refused by their name.

use std::path::Path;

use super::Reasoned;

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// RIFF of form WAVE.
    Wave,
    /// Native FLAC.
    Flac,
    /// Ogg with Vorbis or FLAC inside.
    Ogg,
    /// MPEG-1 or 2, layer 3, or an ID3 tag before it.
    Mp3,
    /// AIFF or AIFF-C.
    Aiff,
    /// NIST SPHERE.
    Sphere,
}

const READABLE: &str = "WAV, FLAC, Ogg Vorbis, MP3, AIFF or SPHERE";

/// The kind of `bytes`; `name` only decides between MP3 and unknown when an MP3 stream does not begin at the first byte.
///
/// # Errors
/// When the kind is unknown, or known and not supported.
pub(super) fn kind(name: &Path, bytes: &[u8]) -> Reasoned<Kind> {
    let form = bytes.get(8..12).unwrap_or_default();
    match bytes {
        [] => Err("the file is empty".to_owned()),
        [b'R', b'I', b'F', b'F', rest @ ..] if rest.len() < 8 => {
            Err(format!("cut off after {} bytes, within its header", bytes.len()))
        }
        [b'R', b'I', b'F', b'F', ..] => {
            if form == b"WAVE" {
                Ok(Kind::Wave)
            } else {
                unsupported("RIFF without WAVE (AVI, WebP, ...)")
            }
        }
        [b'f', b'L', b'a', b'C', ..] => Ok(Kind::Flac),
        [b'O', b'g', b'g', b'S', ..] => ogg(bytes),
        [b'F', b'O', b'R', b'M', ..] if form == b"AIFF" || form == b"AIFC" => Ok(Kind::Aiff),
        [b'N', b'I', b'S', b'T', b'_', b'1', b'A', ..] => Ok(Kind::Sphere),
        [b'I', b'D', b'3', ..] => Ok(Kind::Mp3),
        [0xFF, second, ..] if second & 0xE0 == 0xE0 => mpeg(*second),
        _ => match (unsupported_name(bytes), name.extension()) {
            (Some(format), _) => unsupported(format),
            (None, Some(extension)) if extension.eq_ignore_ascii_case("mp3") => Ok(Kind::Mp3),
            (None, _) => Err(unknown(bytes)),
        },
    }
}

fn unsupported<T>(format: &str) -> Reasoned<T> {
    Err(format!("{format} is not supported, expected {READABLE}: convert it, with ffmpeg or sox for example"))
}

/// The first packet of an Ogg stream names its codec.
fn ogg(bytes: &[u8]) -> Reasoned<Kind> {
    let head = &bytes[..bytes.len().min(128)];
    let holds = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    match () {
        () if holds(b"OpusHead") => unsupported("Ogg Opus"),
        () if holds(b"Speex   ") => unsupported("Ogg Speex"),
        () if holds(b"theora") => unsupported("Ogg Theora"),
        () => Ok(Kind::Ogg),
    }
}

/// `second` byte of an MPEG audio frame: three bits of synchronisation, two of version, two of layer.
fn mpeg(second: u8) -> Reasoned<Kind> {
    match (second >> 1) & 3 {
        0 => unsupported("AAC"),
        1 => Ok(Kind::Mp3),
        2 => unsupported("MPEG audio layer 2"),
        _ => unsupported("MPEG audio layer 1"),
    }
}

/// Formats that people have, and that are not read.
fn unsupported_name(bytes: &[u8]) -> Option<&'static str> {
    const NAMES: [(&[u8], &str); 16] = [
        (b"RIFX", "big-endian WAV (RIFX)"),
        (b"RF64", "WAV for more than 4 GB (RF64)"),
        (b"BW64", "WAV for more than 4 GB (BW64)"),
        (b".snd", "Sun AU"),
        (b"caff", "Core Audio (CAF)"),
        (b"\x1A\x45\xDF\xA3", "Matroska or WebM"),
        (b"#!AMR", "AMR"),
        (b"wvpk", "WavPack"),
        (b"MAC ", "Monkey's Audio"),
        (b"TTA1", "True Audio"),
        (b"\x30\x26\xB2\x75", "Windows Media (WMA)"),
        (b"Creative Voice File", "Creative Voice (VOC)"),
        (b"riff\x2E\x91", "Wave64"),
        (b"ajkg", "Shorten"),
        (b"\x1F\x8B", "a gzip archive"),
        (b"PK\x03\x04", "a zip archive"),
    ];
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some("MP4 (M4A)");
    }
    NAMES.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|&(_, name)| name)
}

fn unknown(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(256)];
    let text = std::str::from_utf8(head).map_or_else(|error| error.valid_up_to() + 4 > head.len(), |_| true)
        && !head.iter().any(|&byte| byte < 32 && !byte.is_ascii_whitespace());
    let found = if text { "text, not audio" } else { "an unknown format" };
    format!("{found}, expected {READABLE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(bytes: &[u8]) -> Reasoned<Kind> {
        kind(Path::new("a.wav"), bytes)
    }

    #[test]
    fn what_is_read_is_told_by_its_first_bytes() {
        assert_eq!(kind_of(b"RIFF\0\0\0\0WAVE"), Ok(Kind::Wave));
        assert_eq!(kind_of(b"fLaC"), Ok(Kind::Flac));
        assert_eq!(kind_of(b"NIST_1A\n   1024\n"), Ok(Kind::Sphere));
        assert_eq!(kind_of(b"FORM\0\0\0\0AIFC"), Ok(Kind::Aiff));
        assert_eq!(kind_of(&[0xFF, 0xFB, 0x90]), Ok(Kind::Mp3));
        assert_eq!(kind(Path::new("a.MP3"), &[0, 0, 0, 0]), Ok(Kind::Mp3));
    }

    #[test]
    fn what_is_not_read_is_refused_by_name() {
        for (bytes, name) in [
            (&b"RIFX\0\0\0\x24WAVEfmt "[..], "(RIFX)"),
            (b"RF64\xFF\xFF\xFF\xFFWAVEds64", "(RF64)"),
            (b"\0\0\0\x20ftypM4A ", "MP4"),
            (b"OggS\0\x02........................OpusHead", "Opus"),
            (b"RIFF\0\0\0\0AVI ", "RIFF without WAVE"),
            (&[0xFF, 0xF1, 0x50], "AAC"),
            (b"hello, this is no audio\n", "text, not audio"),
            ("文字不是声音".as_bytes(), "text, not audio"),
            (&[0, 1, 2, 3], "unknown format"),
            (b"", "empty"),
        ] {
            let reason = kind_of(bytes).unwrap_err();
            assert!(reason.contains(name), "{reason}");
        }
    }
}
