//! CTM, the time-marked conversation file of NIST's scoring tools: `utterance 1 start duration label [confidence]`, times
//! in seconds.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::Milliseconds;
use crate::alignment::Alignment;
use crate::{Error, Result};

/// One line of a CTM file.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedLabel {
    /// Phone or word.
    pub label: String,
    /// First instant, in seconds.
    pub start_seconds: f64,
    /// First instant after it, in seconds.
    pub end_seconds: f64,
    /// 0 to 1, where it is known.
    pub confidence: Option<f32>,
}

/// Labels in time order, by utterance.
pub type TimedLabels = BTreeMap<String, Vec<TimedLabel>>;

/// Writes the first tier of `alignment`: CTM knows no tiers. White space in names and labels becomes `_`.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let Some(tier) = alignment.tiers.first() else { return Ok(()) };
    let utterance = one_field(&alignment.utterance);
    for segment in &tier.segments {
        let start = Milliseconds::of(alignment, segment.start);
        // As a difference of rounded times: rows meet without gap or overlap.
        let duration = Milliseconds(Milliseconds::of(alignment, segment.end).0.saturating_sub(start.0));
        write!(out, "{utterance} 1 {start} {duration} {}", one_field(&segment.label))?;
        match segment.confidence {
            Some(confidence) => writeln!(out, " {confidence:.3}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

/// A name or label as a CTM has it: `_` for white space, for nothing at all, and before `;;`, which would begin a comment.
pub fn one_field(text: &str) -> String {
    match text {
        "" => "_".to_owned(),
        _ if text.starts_with(";;") => format!("_{}", text.replace(char::is_whitespace, "_")),
        _ => text.replace(char::is_whitespace, "_"),
    }
}

/// Reads a CTM file. Empty lines and lines that begin with `;;` are skipped.
///
/// # Errors
/// [`Error::Io`] when it cannot be read, [`Error::TextFile`] for a line that is not of five fields or more, whose times or
/// confidence are no numbers from 0 on, or that gives an utterance a second channel.
pub fn read(path: &Path) -> Result<TimedLabels> {
    let text = crate::input::text(path)?;
    parse(&text).map_err(|(line, reason)| Error::TextFile { path: path.to_owned(), line, reason })
}

fn parse(text: &str) -> std::result::Result<TimedLabels, (usize, String)> {
    let mut channels: BTreeMap<&str, &str> = BTreeMap::new();
    let mut labels = TimedLabels::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with(";;") {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let timed = parse_fields(&fields).map_err(|reason| (index + 1, reason))?;
        let (utterance, channel) = (fields[0], fields[1]);
        let first = *channels.entry(utterance).or_insert(channel);
        if first != channel {
            return Err((index + 1, format!("{utterance} on channel {channel} and on {first}, expected one channel")));
        }
        labels.entry(utterance.to_owned()).or_default().push(timed);
    }
    for row in labels.values_mut() {
        row.sort_by(|a, b| a.start_seconds.total_cmp(&b.start_seconds));
    }
    Ok(labels)
}

fn parse_fields(fields: &[&str]) -> std::result::Result<TimedLabel, String> {
    let [_, _, start, duration, label, rest @ ..] = fields else {
        return Err(format!("{} fields, expected `utterance channel start duration label`", fields.len()));
    };
    let start_seconds = number("start", start)?;
    let confidence = match rest.first() {
        None | Some(&"NA") => None,
        Some(text) => Some(number("confidence", text)? as f32),
    };
    Ok(TimedLabel {
        label: (*label).to_owned(),
        start_seconds,
        end_seconds: start_seconds + number("duration", duration)?,
        confidence,
    })
}

fn number(what: &str, text: &str) -> std::result::Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("a {what} of {text}, expected a number from 0 on"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;

    #[test]
    fn a_line_is_a_segment_of_the_first_tier() {
        let mut alignment = greeting();
        alignment.tiers[0].segments[1].confidence = Some(0.75);
        let text = written(|out| write(&alignment, out));
        let expected =
            "a-1 1 0.000 0.100 SIL\na-1 1 0.100 0.110 HH 0.750\na-1 1 0.210 0.290 AY\na-1 1 0.500 10.000 SIL\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn rows_meet_at_any_rate() {
        let mut alignment = greeting();
        alignment.sample_rate = 22_050;
        let rows = &parse(&written(|out| write(&alignment, out))).unwrap()["a-1"];
        for pair in rows.windows(2) {
            assert!((pair[0].end_seconds - pair[1].start_seconds).abs() < 1e-9, "{pair:?}");
        }
    }

    #[test]
    fn a_field_never_holds_a_space() {
        let mut alignment = greeting();
        alignment.utterance = "my file".to_owned();
        alignment.tiers[0].segments[0].label = String::new();
        let text = written(|out| write(&alignment, out));
        assert!(text.starts_with("my_file 1 0.000 0.100 _\n"), "{text}");
    }

    #[test]
    fn comments_order_and_further_fields_do_not_matter() {
        let labels = parse(";; made by hand\nb A 0.5 0.25 x NA\n\nb A 0 0.5 y 0.9 lex spk\n").unwrap();
        let row = &labels["b"];
        assert_eq!((row[0].label.as_str(), row[0].confidence), ("y", Some(0.9)));
        assert_eq!((row[1].start_seconds, row[1].end_seconds, row[1].confidence), (0.5, 0.75, None));
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, part) in [
            ("a 1 0.0 x y", "a duration of x"),
            ("a 1 -1 0 y", "a start of -1"),
            ("a 1 0 NaN y", "a duration of NaN"),
            ("a 1 0 1", "4 fields"),
            ("a 1 0 1 x y", "a confidence of y"),
        ] {
            let (line, reason) = parse(&format!("a 1 0 1 x\n{text}\n")).unwrap_err();
            assert!(line == 2 && reason.contains(part), "{line}: {reason}");
        }
        assert!(parse("a A 0 1 x\na B 0 1 x\n").unwrap_err().1.contains("channel B"));
    }
}
