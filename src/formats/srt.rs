//! Subtitles as SubRip has them: number, `hours:minutes:seconds,milliseconds --> ...`, text, and a blank line.

use std::fmt;
use std::io;

use super::{Milliseconds, one_line};
use crate::alignment::Alignment;

/// A time as a subtitle has it.
struct Clock(Milliseconds);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Milliseconds(all)) = *self;
        let (hours, minutes, seconds) = (all / 3_600_000, all / 60_000 % 60, all / 1000 % 60);
        write!(f, "{hours:02}:{minutes:02}:{seconds:02},{:03}", all % 1000)
    }
}

/// Writes a subtitle for each segment of the first tier of `alignment`.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let segments = alignment.tiers.iter().take(1).flat_map(|tier| &tier.segments);
    for (segment, number) in segments.zip(1..) {
        let [start, end] = [segment.start, segment.end].map(|samples| Clock(Milliseconds::of(alignment, samples)));
        writeln!(out, "{number}\n{start} --> {end}\n{}\n", one_line(&segment.label))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, tier, written};
    use super::*;

    #[test]
    fn a_segment_is_a_subtitle() {
        let mut alignment = greeting();
        alignment.tiers = vec![tier("words", &[("hi", 1600, 8000), ("there", 16_000 * 3_725, 16_000 * 3_725 + 16)])];
        let expected = "1\n00:00:00,100 --> 00:00:00,500\nhi\n\n2\n01:02:05,000 --> 01:02:05,001\nthere\n\n";
        assert_eq!(written(|out| write(&alignment, out)), expected);
    }
}
