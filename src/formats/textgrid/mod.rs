//! Praat's TextGrid: one file is one utterance, one interval tier is one tier. There are a long text form and a short one, of the
//! same values without their names; [`read()`] takes both.

mod read;

use std::io;

pub use read::{TimedTier, read};

use crate::alignment::{Alignment, Segment, Tier};

/// Writes `alignment`. What no segment of a tier covers becomes an interval without text, so that every tier reaches from 0
/// to the end of the audio, as Praat demands.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let samples = last_sample(alignment);
    let xmax = alignment.seconds(samples);
    writeln!(out, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n")?;
    writeln!(out, "xmin = 0 \nxmax = {xmax} \ntiers? <exists> \nsize = {} \nitem []: ", alignment.tiers.len())?;
    for (index, tier) in alignment.tiers.iter().enumerate() {
        writeln!(out, "    item [{}]:", index + 1)?;
        writeln!(out, "        class = \"IntervalTier\" \n        name = {} ", quoted(&tier.name))?;
        writeln!(out, "        xmin = 0 \n        xmax = {xmax} ")?;
        write_intervals(alignment, &intervals(tier, samples), out)?;
    }
    Ok(())
}

/// Writes `alignment` in the short form, otherwise as [`write()`] does.
///
/// # Errors
/// What `out` refuses.
pub fn write_short(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let samples = last_sample(alignment);
    let xmax = alignment.seconds(samples);
    writeln!(out, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n")?;
    writeln!(out, "0\n{xmax}\n<exists>\n{}", alignment.tiers.len())?;
    for tier in &alignment.tiers {
        let intervals = intervals(tier, samples);
        writeln!(out, "\"IntervalTier\"\n{}\n0\n{xmax}\n{}", quoted(&tier.name), intervals.len())?;
        for interval in &intervals {
            let (xmin, xmax) = (alignment.seconds(interval.start), alignment.seconds(interval.end));
            writeln!(out, "{xmin}\n{xmax}\n{}", quoted(&interval.label))?;
        }
    }
    Ok(())
}

/// Where the audio ends, or the last segment if that is later.
fn last_sample(alignment: &Alignment) -> u64 {
    let ends = alignment.tiers.iter().flat_map(|tier| &tier.segments).map(|segment| segment.end);
    ends.fold(alignment.samples, u64::max)
}

fn write_intervals(alignment: &Alignment, intervals: &[Segment], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "        intervals: size = {} ", intervals.len())?;
    for (index, interval) in intervals.iter().enumerate() {
        let (xmin, xmax) = (alignment.seconds(interval.start), alignment.seconds(interval.end));
        writeln!(out, "        intervals [{}]:", index + 1)?;
        writeln!(out, "            xmin = {xmin} \n            xmax = {xmax} ")?;
        writeln!(out, "            text = {} ", quoted(&interval.label))?;
    }
    Ok(())
}

/// The segments of `tier` and what lies between them, from 0 to `samples`.
fn intervals(tier: &Tier, samples: u64) -> Vec<Segment> {
    let blank = |start, end| Segment { label: String::new(), start, end, confidence: None };
    let mut intervals = Vec::new();
    let mut covered = 0;
    for segment in &tier.segments {
        if segment.start > covered {
            intervals.push(blank(covered, segment.start));
        }
        intervals.push(segment.clone());
        covered = segment.end;
    }
    if covered < samples {
        intervals.push(blank(covered, samples));
    }
    intervals
}

/// Praat doubles quotes within quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, tier, written};
    use super::*;

    #[test]
    fn gaps_become_intervals_without_text() {
        let gaps = tier("words", &[("a", 10, 20), ("b", 20, 30), ("c", 40, 50)]);
        let spans: Vec<_> = intervals(&gaps, 60).into_iter().map(|i| (i.label, i.start, i.end)).collect();
        let expected = [("", 0, 10), ("a", 10, 20), ("b", 20, 30), ("", 30, 40), ("c", 40, 50), ("", 50, 60)]
            .map(|(label, s, e)| (label.to_owned(), s, e));
        assert_eq!(spans, expected);
        assert_eq!(intervals(&tier("empty", &[]), 60).len(), 1);
    }

    #[test]
    fn the_long_form_is_written_as_praat_writes_it() {
        let mut alignment = greeting();
        alignment.tiers[0].segments[1].label = "say \"hi\"".to_owned();
        let text = written(|out| write(&alignment, out));
        assert!(text.starts_with(
            "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0 \nxmax = 10.5 \ntiers? <exists> \nsize = 2 \n\
             item []: \n    item [1]:\n        class = \"IntervalTier\" \n        name = \"phones\" \n        xmin = 0 \n        \
             xmax = 10.5 \n        intervals: size = 4 \n        intervals [1]:\n            xmin = 0 \n            xmax = 0.1 \n            \
             text = \"SIL\" \n"
        ));
        assert!(text.contains("text = \"say \"\"hi\"\"\" \n"));
    }
}
