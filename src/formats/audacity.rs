//! Label tracks of Audacity: `start`, `end` and label a line, between tabs, times in seconds.

use std::io;

use super::one_line;
use crate::alignment::Alignment;

/// Writes the first tier of `alignment`.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    for segment in alignment.tiers.iter().take(1).flat_map(|tier| &tier.segments) {
        let [start, end] = [segment.start, segment.end].map(|samples| alignment.seconds(samples));
        writeln!(out, "{start:.6}\t{end:.6}\t{}", one_line(&segment.label))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;

    #[test]
    fn a_line_is_a_label() {
        let mut alignment = greeting();
        alignment.tiers[0].segments[1].label = "a\tb\n".into();
        let text = written(|out| write(&alignment, out));
        assert_eq!(
            text,
            "0.000000\t0.100000\tSIL\n0.100000\t0.210000\ta b \n0.210000\t0.500000\tAY\n0.500000\t10.500000\tSIL\n"
        );
    }
}
