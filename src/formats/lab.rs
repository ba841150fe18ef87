//! Label files of HTK: one utterance each, `start end label` a line, times in units of 100 ns; and its master label file, which
//! holds many, each after its name and before a full stop.

use std::collections::BTreeMap;
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

/// What a file called `.lab`, or an entry of a master label file, holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Lines that begin with two times: labels of stretches, phones as a rule.
    Timed(Vec<TimedLabel>),
    /// Anything else: the words that are said, as the Montreal Forced Aligner takes them; or labels without times.
    Plain(String),
}

impl Labels {
    /// The labels, or the words, in their order.
    pub fn into_names(self) -> Vec<String> {
        match self {
            Self::Timed(labels) => labels.into_iter().map(|timed| timed.label).collect(),
            Self::Plain(text) => text.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

/// A line of a file and its number, from 1 on.
type Line<'a> = (&'a str, usize);

/// The line that is wrong, and why.
type Wrong = (usize, String);

/// Reads the label file at `path`, or the entry called `name` if that is a master label file. It has times when its first line, empty
/// ones aside, begins with two numbers and a label follows; then every line must. What comes after the label, scores or a word, is not
/// read. Times are in units of 100 ns; where one has a point and all are below a hundredth of a second in these units, in seconds.
///
/// # Errors
/// [`Error::Io`] when it cannot be read as UTF-8, [`Error::TextFile`] with the line where times are missing or go backwards, where a
/// master label file is not one, and when it has no entry of this name.
pub fn read(path: &Path, name: &str) -> Result<Labels> {
    let text = crate::input::text(path)?;
    let read = match is_master(&text) {
        false => parse(&lines(&text)),
        true => parse_master(&text).and_then(|mut all| {
            all.remove(name).ok_or_else(|| (1, format!("no entry for '{name}': expected a line \"*/{name}.lab\"")))
        }),
    };
    read.map_err(|(line, reason)| Error::TextFile { path: path.to_owned(), line, reason })
}

/// Reads the master label file at `path`: its entries by name, without the folders before and the ending behind it.
///
/// # Errors
/// As [`read`].
pub fn read_master(path: &Path) -> Result<BTreeMap<String, Labels>> {
    let text = crate::input::text(path)?;
    parse_master(&text).map_err(|(line, reason)| Error::TextFile { path: path.to_owned(), line, reason })
}

/// The lines that are not empty.
fn lines(text: &str) -> Vec<Line<'_>> {
    text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()).collect()
}

fn is_master(text: &str) -> bool {
    lines(text).first().is_some_and(|(line, _)| line.trim() == MLF_HEADER.trim_end())
}

fn parse_master(text: &str) -> std::result::Result<BTreeMap<String, Labels>, Wrong> {
    if !is_master(text) {
        return Err((1, "no master label file: expected #!MLF!# in the first line".into()));
    }
    let lines = lines(text);
    let (mut entries, mut rest) = (BTreeMap::new(), &lines[1..]);
    while let [(line, number), after @ ..] = rest {
        let wrong = |reason: String| (*number, reason);
        let name = entry_name(line).ok_or_else(|| wrong(format!("'{line}': expected a name as \"*/name.lab\"")))?;
        let end = after.iter().position(|(line, _)| line.trim() == ".");
        let end = end.ok_or_else(|| {
            wrong(format!("'{name}' has no line with a full stop behind its last: the file was cut short"))
        })?;
        if entries.insert(name.to_owned(), parse(&after[..end])?).is_some() {
            return Err(wrong(format!("'{name}' is given twice: names must differ")));
        }
        rest = &after[end + 1..];
    }
    Ok(entries)
}

/// The name in the line before an entry: `a-1` of `"*/a-1.lab"`.
fn entry_name(line: &str) -> Option<&str> {
    let pattern = line.trim().strip_prefix('"')?.strip_suffix('"').filter(|pattern| !pattern.contains('"'))?;
    let file = pattern.rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('.').map_or(file, |(name, _)| name);
    (!name.is_empty()).then_some(name)
}

fn parse(lines: &[Line<'_>]) -> std::result::Result<Labels, Wrong> {
    let mut timed: Vec<TimedLabel> = Vec::new();
    for &(line, number) in lines {
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
    if timed.is_empty() {
        let words = lines.iter().flat_map(|(line, _)| line.split_whitespace());
        return Ok(Labels::Plain(words.collect::<Vec<_>>().join(" ")));
    }
    let units = units_per_second(lines, &timed);
    for label in &mut timed {
        label.start_seconds /= units;
        label.end_seconds /= units;
    }
    Ok(Labels::Timed(timed))
}

/// How many of the times' units, `timed` has them, a second is. No recording is a hundredth of a second long.
fn units_per_second(lines: &[Line<'_>], timed: &[TimedLabel]) -> f64 {
    let has_point = lines.iter().any(|(line, _)| line.split_whitespace().take(2).any(|time| time.contains('.')));
    let is_short = timed.iter().all(|label| label.end_seconds < UNITS_PER_SECOND / 100.0);
    if has_point && is_short { 1.0 } else { UNITS_PER_SECOND }
}

/// A line with times, which are as they are written.
fn label(line: &str) -> Option<TimedLabel> {
    let mut fields = line.split_whitespace();
    let [start, end, label] = [fields.next()?, fields.next()?, fields.next()?];
    let is_plain = |field: &str| field.chars().all(|c| c.is_ascii_digit() || c == '.');
    let time = |field: &str| field.parse::<f64>().ok().filter(|_| is_plain(field));
    Some(TimedLabel { label: label.to_owned(), start_seconds: time(start)?, end_seconds: time(end)?, confidence: None })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;

    fn parsed(text: &str) -> std::result::Result<Labels, Wrong> {
        parse(&lines(text))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut alignment = greeting();
        alignment.sample_rate = 44_100;
        alignment.tiers[0].segments[1].label = "a b".into();
        let text = written(|out| write(&alignment, out));
        let Labels::Timed(labels) = parsed(&text).unwrap() else { panic!() };
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
        let Labels::Timed(labels) = parsed("0 1250000 sil -3.5\n\n1250000 3600000 ax -1.25 a\n").unwrap() else {
            panic!()
        };
        let found: Vec<_> = labels.iter().map(|l| (l.start_seconds, l.end_seconds, l.label.as_str())).collect();
        assert_eq!(found, [(0.0, 0.125, "sil"), (0.125, 0.36, "ax")]);
    }

    #[test]
    fn lines_without_times_are_words() {
        for text in ["\u{feff}one two\n three\n", "one two three"] {
            let text = text.trim_start_matches('\u{feff}');
            assert_eq!(parsed(text).unwrap(), Labels::Plain("one two three".into()));
        }
        assert_eq!(parsed("").unwrap(), Labels::Plain(String::new()));
        assert_eq!(parsed("10 20\n").unwrap(), Labels::Plain("10 20".into()));
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| parsed(text).unwrap_err();
        assert_eq!(error("0 10 a\nb\n").0, 2);
        assert_eq!(error("0 10 a\n\n20 15 b\n"), (3, "'20 15 b': expected an end that is not before the start".into()));
        assert_eq!(error("20 30 a\n0 20 b\n").0, 2);
    }

    #[test]
    fn times_with_a_point_are_times() {
        let ends = |text: &str| match parsed(text).unwrap() {
            Labels::Timed(labels) => labels.iter().map(|label| label.end_seconds).collect::<Vec<_>>(),
            Labels::Plain(text) => panic!("{text} is read as words"),
        };
        assert_eq!(ends("0.0 1250000.0 sil\n1250000.0 3600000.5 ax\n"), [0.125, 0.36000005]);
        assert_eq!(ends("0.000 0.125 sil\n0.125 7200 ax\n"), [0.125, 7200.0]);
        assert_eq!(ends("0 50000 sil\n"), [0.005]);
        assert_eq!(parsed("1e5 2e5 ax").unwrap(), Labels::Plain("1e5 2e5 ax".into()));
    }

    #[test]
    fn a_master_file_is_read_by_name() {
        let mut other = greeting();
        other.utterance = "b.2".into();
        let entries = [greeting(), other].map(|one| written(|out| write_entry(&one, out))).concat();
        let text = format!("\u{feff}{MLF_HEADER}{entries}\"c.rec\"\none\ntwo\n.\n\"dir/d\"\n.\n");
        let mut read = parse_master(&text).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["a-1", "b.2", "c", "d"]);
        assert_eq!(read["a-1"], read["b.2"]);
        assert_eq!(read["d"], Labels::Plain(String::new()));
        assert_eq!(read.remove("a-1").unwrap().into_names(), ["SIL", "HH", "AY", "SIL"]);
        assert_eq!(read.remove("c").unwrap().into_names(), ["one", "two"]);
    }

    #[test]
    fn a_master_file_that_is_none_is_named_with_its_line() {
        let cases = [
            ("0 10 a\n", 1, "expected #!MLF!#"),
            ("#!MLF!#\n0 10 a\n.\n", 2, "'0 10 a': expected a name as \"*/name.lab\""),
            ("#!MLF!#\n\"*/a\" -> \"b\"\n.\n", 2, "expected a name"),
            ("#!MLF!#\n\"*/a.lab\"\n0 10 a\n", 2, "'a' has no line with a full stop"),
            ("#!MLF!#\n\"a.lab\"\n.\n\"x/a.rec\"\n.\n", 4, "'a' is given twice"),
            ("#!MLF!#\n\"a.lab\"\n0 10 a\nb\n.\n", 4, "'b': expected `start end label`"),
        ];
        for (text, line, part) in cases {
            let (found, reason) = parse_master(text).unwrap_err();
            assert!(found == line && reason.contains(part), "{found}: {reason}");
        }
    }
}
