//! The end of the journey: alignments out to files that people and other tools read, and back in where they are scored.
//!
//! | format | for | tiers | times |
//! |---|---|---|---|
//! | text | people | the first, the others beside it | seconds, 3 decimals |
//! | CTM | sclite, Kaldi | the first | seconds, 3 decimals |
//! | TextGrid | Praat | all | seconds, exact |
//! | JSON | programs | all | seconds, exact |
//!
//! TextGrids and HTK's label files ([`lab`]) come in where a corpus has them; matrices of frames by [`npy`] (NumPy) and [`ark`] (Kaldi).

pub mod ark;
pub mod atomic;
pub mod ctm;
pub mod json;
pub mod lab;
pub mod npy;
mod numbers;
pub mod text;
pub mod textgrid;

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::Error;
use crate::alignment::Alignment;

/// How an alignment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Columns for people: see [`text`].
    #[default]
    Text,
    /// NIST's time-marked conversation file: see [`ctm`].
    Ctm,
    /// Praat's TextGrid: see [`textgrid`].
    TextGrid,
    /// One JSON object a line: see [`json`].
    Json,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Self::Text, Self::Ctm, Self::TextGrid, Self::Json];

    /// The ending of file names, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Ctm => "ctm",
            Self::TextGrid => "TextGrid",
            Self::Json => "json",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Ctm => "ctm",
            Self::TextGrid => "textgrid",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    /// The format called `text`, in any case.
    fn from_str(text: &str) -> Result<Self, Error> {
        let named = Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(text));
        named.ok_or_else(|| Error::Setting {
            key: "format",
            value: text.to_owned(),
            expected: "text, ctm, textgrid or json",
        })
    }
}

/// Writes `alignment` to `out`.
///
/// Text, CTM and JSON of several utterances may follow one another in one file ([`text::write_heading`] puts a name before
/// each); a TextGrid holds one.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    match format {
        Format::Text => text::write(alignment, out),
        Format::Ctm => ctm::write(alignment, out),
        Format::TextGrid => textgrid::write(alignment, out),
        Format::Json => json::write(alignment, out),
    }
}

/// A time in whole milliseconds, rounded: differences of these add up without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Milliseconds(u64);

impl Milliseconds {
    fn of(alignment: &Alignment, samples: u64) -> Self {
        let rate = u128::from(alignment.sample_rate.max(1));
        Self(((u128::from(samples) * 1000 + rate / 2) / rate) as u64)
    }
}

/// As seconds with three decimals.
impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:03}", self.0 / 1000, self.0 % 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alignment::{Segment, Tier};

    /// `(label, start, end)` in samples as a tier.
    pub(super) fn tier(name: &str, segments: &[(&str, u64, u64)]) -> Tier {
        let segment =
            |&(label, start, end): &(&str, u64, u64)| Segment { label: label.to_owned(), start, end, confidence: None };
        Tier { name: name.to_owned(), segments: segments.iter().map(segment).collect() }
    }

    /// "hi" in 10.5 s at 16 kHz.
    pub(super) fn greeting() -> Alignment {
        let phones =
            tier("phones", &[("SIL", 0, 1600), ("HH", 1600, 3360), ("AY", 3360, 8000), ("SIL", 8000, 168_000)]);
        let words = tier("words", &[("hi", 1600, 8000)]);
        Alignment {
            utterance: "a-1".to_owned(),
            samples: 168_000,
            sample_rate: 16_000,
            tiers: vec![phones, words],
            slots: vec![],
        }
    }

    pub(super) fn written(write: impl Fn(&mut dyn io::Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_of_formats_are_read_in_any_case() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            assert_eq!(format.to_string().to_uppercase().parse::<Format>().unwrap(), format);
        }
        let error = "csv".parse::<Format>().unwrap_err().to_string();
        assert_eq!(error, "format = csv: expected text, ctm, textgrid or json");
    }

    #[test]
    fn milliseconds_are_rounded() {
        let mut alignment = greeting();
        alignment.sample_rate = 44_100;
        assert_eq!(Milliseconds::of(&alignment, 44_100 * 3 + 22).to_string(), "3.000");
        assert_eq!(Milliseconds::of(&alignment, 44_100 * 3 + 23).to_string(), "3.001");
    }
}
