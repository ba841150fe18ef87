//! The end of the journey: alignments out to files that people and other tools read, and back in where they are scored.
//!
//! | format | for | tiers | utterances in a file | times |
//! |---|---|---|---|---|
//! | text | people | the first, the others beside it | many | seconds, 3 decimals |
//! | CTM | sclite, Kaldi | the first | many | seconds, 3 decimals |
//! | TextGrid, long and short | Praat | all | one | seconds, exact |
//! | JSON | programs | all | many | seconds, exact |
//! | TSV | tables | all | many | seconds, 3 decimals |
//! | label file | HTK | the first | one | units of 100 ns |
//! | MLF | HTK | the first | many | units of 100 ns |
//! | EAF | ELAN | all | one | milliseconds |
//! | SRT | video players | the first | one | milliseconds |
//! | Audacity labels | Audacity | the first | one | seconds, 6 decimals |
//!
//! The best sequences of an utterance are written as text and as JSON, lattices by [`lattice`].
//! TextGrids, CTM and HTK's label files ([`lab`]) are also read; matrices of frames by [`npy`] (NumPy) and [`ark`] (Kaldi).

pub mod ark;
pub mod atomic;
pub mod audacity;
pub mod ctm;
pub mod eaf;
pub mod json;
pub mod lab;
pub mod lattice;
pub mod npy;
mod numbers;
pub mod srt;
pub mod text;
pub mod textgrid;
pub mod tsv;

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
    /// Praat's TextGrid in its long form: see [`textgrid`].
    TextGrid,
    /// Praat's TextGrid in its short form: see [`textgrid`].
    ShortTextGrid,
    /// One JSON object a line: see [`json`].
    Json,
    /// A row a segment: see [`tsv`].
    Tsv,
    /// HTK's label file: see [`lab`].
    Lab,
    /// HTK's master label file: see [`lab`].
    Mlf,
    /// ELAN's annotation file: see [`eaf`].
    Eaf,
    /// Subtitles: see [`srt`].
    Srt,
    /// Audacity's label track: see [`audacity`].
    Audacity,
}

/// How many utterances a file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// One.
    One,
    /// Any number, one after another.
    Many,
}

/// Which tiers of an utterance come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tiers {
    /// Rows of the first.
    First,
    /// All.
    All,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 11] = [
        Self::Text,
        Self::Ctm,
        Self::TextGrid,
        Self::ShortTextGrid,
        Self::Json,
        Self::Tsv,
        Self::Lab,
        Self::Mlf,
        Self::Eaf,
        Self::Srt,
        Self::Audacity,
    ];

    /// The ending of file names, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text | Self::Audacity => "txt",
            Self::TextGrid | Self::ShortTextGrid => "TextGrid",
            _ => self.name(),
        }
    }

    /// How many utterances a file takes.
    pub fn holds(self) -> Holds {
        match self {
            Self::Text | Self::Ctm | Self::Json | Self::Tsv | Self::Mlf => Holds::Many,
            Self::TextGrid | Self::ShortTextGrid | Self::Lab | Self::Eaf | Self::Srt | Self::Audacity => Holds::One,
        }
    }

    /// Which tiers come out, confidences and the like aside.
    pub fn tiers(self) -> Tiers {
        match self {
            Self::TextGrid | Self::ShortTextGrid | Self::Json | Self::Tsv | Self::Eaf => Tiers::All,
            Self::Text | Self::Ctm | Self::Lab | Self::Mlf | Self::Srt | Self::Audacity => Tiers::First,
        }
    }

    /// What a file begins with, before its first utterance.
    pub fn preamble(self) -> &'static str {
        match self {
            Self::Mlf => lab::MLF_HEADER,
            Self::Tsv => tsv::HEADER,
            _ => "",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Ctm => "ctm",
            Self::TextGrid => "textgrid",
            Self::ShortTextGrid => "textgrid-short",
            Self::Json => "json",
            Self::Tsv => "tsv",
            Self::Lab => "lab",
            Self::Mlf => "mlf",
            Self::Eaf => "eaf",
            Self::Srt => "srt",
            Self::Audacity => "audacity",
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
            expected: "text, ctm, textgrid, textgrid-short, json, tsv, lab, mlf, eaf, srt or audacity",
        })
    }
}

/// Writes `alignment` to `out`, without the [preamble](Format::preamble) of its file.
///
/// Where a file [holds](Format::holds) many, utterances may follow one another; [`text::write_heading`] puts a name before each in
/// text.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    match format {
        Format::Text => text::write(alignment, out),
        Format::Ctm => ctm::write(alignment, out),
        Format::TextGrid => textgrid::write(alignment, out),
        Format::ShortTextGrid => textgrid::write_short(alignment, out),
        Format::Json => json::write(alignment, out),
        Format::Tsv => tsv::write(alignment, out),
        Format::Lab => lab::write(alignment, out),
        Format::Mlf => lab::write_entry(alignment, out),
        Format::Eaf => eaf::write(alignment, out),
        Format::Srt => srt::write(alignment, out),
        Format::Audacity => audacity::write(alignment, out),
    }
}

/// Writes a whole file with one utterance.
///
/// # Errors
/// What `out` refuses.
pub fn write_file(alignment: &Alignment, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(format.preamble().as_bytes())?;
    write(alignment, format, out)
}

/// `text` in one line and, of a table, in one cell: a space for each tab, line break and other control character.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
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
            nbest: vec![],
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
        assert_eq!(
            error,
            "format = csv: expected text, ctm, textgrid, textgrid-short, json, tsv, lab, mlf, eaf, srt or audacity"
        );
    }

    #[test]
    fn milliseconds_are_rounded() {
        let mut alignment = greeting();
        alignment.sample_rate = 44_100;
        assert_eq!(Milliseconds::of(&alignment, 44_100 * 3 + 22).to_string(), "3.000");
        assert_eq!(Milliseconds::of(&alignment, 44_100 * 3 + 23).to_string(), "3.001");
    }
}
