//! Columns for people: `start end label`, in seconds. One row is one segment of the first tier; then follow its
//! confidence, when one was computed, and the labels of the other tiers on the row where they begin.
//!
//! ```text
//!  0.000   0.100  SIL
//!  0.100   0.210  HH   hi
//!  0.210   0.500  AY
//!  0.500  10.500  SIL
//! ```
//!
//! Where the best sequences were asked for, they come instead: rank, score (natural log), labels.

use std::io;

use super::Milliseconds;
use crate::alignment::{Alignment, Segment, Tier};

/// Writes the name of an utterance on a line of its own, for files that hold several.
///
/// # Errors
/// What `out` refuses.
pub fn write_heading(utterance: &str, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{utterance}:")
}

/// Writes the rows of `alignment`, or its best sequences where it has some.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    if !alignment.nbest.is_empty() {
        return write_nbest(alignment, out);
    }
    let Some(first) = alignment.tiers.first() else { return Ok(()) };
    let last = first.segments.iter().map(|segment| segment.end).max().unwrap_or_default();
    write_rows(alignment, Milliseconds::of(alignment, last).to_string().len(), out)
}

/// Writes the rows of `alignment`, which is a piece of a recording: times have columns wide enough for a day, whatever follows.
///
/// # Errors
/// What `out` refuses.
pub fn write_piece(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    write_rows(alignment, PIECE_TIME_WIDTH, out)
}

/// Characters of a time up to 99999.999 s.
const PIECE_TIME_WIDTH: usize = 9;

fn write_rows(alignment: &Alignment, time_width: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let Some((first, others)) = alignment.tiers.split_first() else { return Ok(()) };
    let seconds = |samples| Milliseconds::of(alignment, samples);
    let label_width = first.segments.iter().map(|segment| segment.label.chars().count()).max().unwrap_or_default();
    let known = first.segments.iter().any(|segment| segment.confidence.is_some());
    let mut begun = 0;
    for segment in &first.segments {
        let (start, end) = (seconds(segment.start), seconds(segment.end));
        let mut row = format!("{start:>time_width$}  {end:>time_width$}  {:<label_width$}", segment.label);
        if known {
            row += &segment.confidence.map_or_else(|| " ".repeat(7), |value| format!("  {value:.3}"));
        }
        for tier in others {
            row += "  ";
            row += &labels_begun(tier, begun, segment);
        }
        begun = segment.end;
        writeln!(out, "{}", row.trim_end())?;
    }
    Ok(())
}

/// A line a sequence: rank, score, labels.
fn write_nbest(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let width = alignment.nbest.len().to_string().len();
    for (guess, rank) in alignment.nbest.iter().zip(1..) {
        writeln!(out, "{rank:>width$}  {:.3}  {}", guess.score, guess.labels.join(" "))?;
    }
    Ok(())
}

/// The labels of `tier` that begin from sample `begun` on and before the end of `row`.
fn labels_begun(tier: &Tier, begun: u64, row: &Segment) -> String {
    let within = begun..row.end;
    let labels: Vec<&str> = tier
        .segments
        .iter()
        .filter(|segment| within.contains(&segment.start))
        .map(|segment| segment.label.as_str())
        .collect();
    labels.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;
    use crate::alignment::Guess;

    #[test]
    fn the_best_sequences_come_in_place_of_rows() {
        let guess = |score, labels: &str| Guess { score, labels: labels.split(' ').map(str::to_owned).collect() };
        let alignment = Alignment { nbest: vec![guess(-1.25, "hi you"), guess(-10.0, "high")], ..greeting() };
        assert_eq!(written(|out| write(&alignment, out)), "1  -1.250  hi you\n2  -10.000  high\n");
    }

    #[test]
    fn rows_are_aligned_and_words_stand_where_they_begin() {
        let text = written(|out| write(&greeting(), out));
        let expected = " 0.000   0.100  SIL\n 0.100   0.210  HH   hi\n 0.210   0.500  AY\n 0.500  10.500  SIL\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_known_confidence_has_a_column() {
        let mut alignment = greeting();
        alignment.tiers[0].segments[1].confidence = Some(0.5);
        let text = written(|out| write(&alignment, out));
        assert!(text.contains("HH   0.500  hi\n"), "{text}");
    }

    #[test]
    fn nothing_found_is_nothing_written() {
        let mut alignment = greeting();
        alignment.tiers.clear();
        assert_eq!(written(|out| write(&alignment, out)), "");
    }
}
