//! A table with tabs between its columns, a row a segment, of all tiers: for spreadsheets, R and pandas.

use std::io;

use super::{Milliseconds, one_line};
use crate::alignment::Alignment;

/// The columns; times are seconds, the confidence is empty where it was not computed.
pub(super) const HEADER: &str = "utterance\ttier\tstart\tend\tlabel\tconfidence\n";

/// Writes the rows of `alignment`, tier by tier.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let utterance = one_line(&alignment.utterance);
    for tier in &alignment.tiers {
        for segment in &tier.segments {
            let [start, end] = [segment.start, segment.end].map(|samples| Milliseconds::of(alignment, samples));
            let confidence = segment.confidence.map_or_else(String::new, |value| format!("{value:.3}"));
            let (tier, label) = (one_line(&tier.name), one_line(&segment.label));
            writeln!(out, "{utterance}\t{tier}\t{start}\t{end}\t{label}\t{confidence}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;

    #[test]
    fn a_row_is_a_segment_of_any_tier() {
        let mut alignment = greeting();
        alignment.tiers[0].segments[1].confidence = Some(0.75);
        let text = written(|out| write(&alignment, out));
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[1], "a-1\tphones\t0.100\t0.210\tHH\t0.750");
        assert_eq!(rows[4], "a-1\twords\t0.100\t0.500\thi\t");
        assert!(rows.iter().all(|row| row.split('\t').count() == HEADER.split('\t').count()));
    }
}
