//! Label files of HTK: one utterance each, `start end label` a line, times in units of 100 ns; and its master label file, which
//! holds many, each after its name and before a full stop.

use std::io;
use std::path::Path;

use super::ctm::{TimedLabel, one_field};
use crate::alignment::Alignment;
use crate::{Error, Result};

/// Units of time in a second.
const UNITS_PER_SECOND: f64 = 1e7;

/// What a master label file begins with.
pub(super) const MLF_HEADER: &str = "#!MLF!#\n";

/// Writes the first tier of `alignment`. White space in labels becomes `_`.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let rate = u128::from(alignment.sample_rate.max(1));
    let units = |samples: u64| (u128::from(samples) * UNITS_PER_SECOND as u128 + rate / 2) / rate;
    for segment in alignment.tiers.iter().take(1).flat_map(|tier| &tier.segments) {
        writeln!(out, "{} {} {}", units(segment.start), units(segment.end), one_field(&segment.label))?;
    }
    Ok(())
}

/// Writes the first tier of `alignment` as it stands in a master label file.
///
/// # Errors
/// What `out` refuses.
pub fn write_entry(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "\"*/{}.lab\"", one_field(&alignment.utterance).replace(['/', '\\', '"'], "_"))?;
    write(alignment, out)?;
    writeln!(out, ".")
}

/// What a file called `.lab` holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Lines that begin with two times: labels of stretches, phones as a rule.
    Timed(Vec<TimedLabel>),
    /// Anything else: the words that are said, as the Montreal Forced Aligner takes them; or labels without times.
    Plain(String),
}

/// Reads the label file at `path`. It has times when its first line, empty ones aside, begins with two whole numbers and a label
/// follows; then every line must. What comes after the label, scores or a word, is not read.
///
/// # Errors
/// [`Error::Io`] when it cannot be read as UTF-8, [`Error::TextFile`] with the line where times are missing or go backwards.
pub fn read(path: &Path) -> Result<Labels> {
    let text = crate::input::text(path)?;
    parse(&text).map_err(|(line, reason)| Error::TextFile { path: path.to_owned(), line, reason })
}

fn parse(text: &str) -> std::result::Result<Labels, (usize, String)> {
    let lines = text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let mut timed: Vec<TimedLabel> = Vec::new();
    for (line, number) in lines {
        let wrong = |expected: &str| (number, format!("'{line}': expected {expected}"));
        match label(line) {
            Some(next) if next.end_seconds < next.start_seconds => {
                return Err(wrong("an end that is not before the start"));
            }
            Some(next) if timed.last().is_some_and(|last| next.start_seconds < last.start_seconds) => {
                return Err(wrong("times that do not go backwards"));
            }
            Some(next) => timed.push(next),
            None if timed.is_empty() => break,
            None => return Err(wrong("`start end label` as in the lines before, times in units of 100 ns")),
        }
    }
    match timed.is_empty() {
        true => Ok(Labels::Plain(text.split_whitespace().collect::<Vec<_>>().join(" "))),
        false => Ok(Labels::Timed(timed)),
    }
}

/// A line with times.
fn label(line: &str) -> Option<TimedLabel> {
    let mut fields = line.split_whitespace();
    let [start, end, label] = [fields.next()?, fields.next()?, fields.next()?];
    let seconds = |field: &str| Some(field.parse::<u64>().ok()? as f64 / UNITS_PER_SECOND);
    Some(TimedLabel {
        label: label.to_owned(),
        start_seconds: seconds(start)?,
        end_seconds: seconds(end)?,
        confidence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut alignment = greeting();
        alignment.sample_rate = 44_100;
        alignment.tiers[0].segments[1].label = "a b".into();
        let text = written(|out| write(&alignment, out));
        let Labels::Timed(labels) = parse(&text).unwrap() else { panic!() };
        let names: Vec<_> = labels.iter().map(|label| label.label.as_str()).collect();
        assert_eq!(names, ["SIL", "a_b", "AY", "SIL"]);
        for (label, segment) in labels.iter().zip(&alignment.tiers[0].segments) {
            assert!((label.start_seconds - alignment.seconds(segment.start)).abs() < 1e-7);
            assert!((label.end_seconds - alignment.seconds(segment.end)).abs() < 1e-7);
        }
    }

    #[test]
    fn a_master_file_names_each_utterance() {
        let text = MLF_HEADER.to_owned() + &written(|out| write_entry(&greeting(), out));
        let expected = "#!MLF!#\n\"*/a-1.lab\"\n0 1000000 SIL\n1000000 2100000 HH\n2100000 5000000 AY\n\
                        5000000 105000000 SIL\n.\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn times_are_in_units_of_100_ns() {
        let Labels::Timed(labels) = parse("0 1250000 sil -3.5\n\n1250000 3600000 ax -1.25 a\n").unwrap() else {
            panic!()
        };
        let found: Vec<_> = labels.iter().map(|l| (l.start_seconds, l.end_seconds, l.label.as_str())).collect();
        assert_eq!(found, [(0.0, 0.125, "sil"), (0.125, 0.36, "ax")]);
    }

    #[test]
    fn lines_without_times_are_words() {
        for text in ["\u{feff}one two\n three\n", "one two three"] {
            let text = text.trim_start_matches('\u{feff}');
            assert_eq!(parse(text).unwrap(), Labels::Plain("one two three".into()));
        }
        assert_eq!(parse("").unwrap(), Labels::Plain(String::new()));
        assert_eq!(parse("10 20\n").unwrap(), Labels::Plain("10 20".into()));
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error("0 10 a\nb\n").0, 2);
        assert_eq!(error("0 10 a\n\n20 15 b\n"), (3, "'20 15 b': expected an end that is not before the start".into()));
        assert_eq!(error("20 30 a\n0 20 b\n").0, 2);
    }
}
