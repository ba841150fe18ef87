//! ELAN's annotation file (EAF 3.0): one utterance, a tier for each, times in milliseconds.
//!
//! Neither author nor recording is named, and the date is the beginning of 1970, so that the same result has the same bytes;
//! ELAN asks for the recording when the file is opened.

use std::io;

use super::Milliseconds;
use crate::alignment::{Alignment, Segment};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="1970-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>
    <TIME_ORDER>
"#;
const TAIL: &str = r#"    <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="default-lt" TIME_ALIGNABLE="true"/>
</ANNOTATION_DOCUMENT>
"#;

/// Writes `alignment`: annotation n lies between time slots 2n - 1 and 2n.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    let times = alignment.tiers.iter().flat_map(|tier| &tier.segments).flat_map(|one| [one.start, one.end]);
    for (samples, slot) in times.zip(1..) {
        let time = Milliseconds::of(alignment, samples).0;
        writeln!(out, r#"        <TIME_SLOT TIME_SLOT_ID="ts{slot}" TIME_VALUE="{time}"/>"#)?;
    }
    writeln!(out, "    </TIME_ORDER>")?;
    let mut number = 0;
    for tier in &alignment.tiers {
        writeln!(out, r#"    <TIER LINGUISTIC_TYPE_REF="default-lt" TIER_ID="{}">"#, escaped(&tier.name))?;
        for segment in &tier.segments {
            number += 1;
            write_annotation(segment, number, out)?;
        }
        writeln!(out, "    </TIER>")?;
    }
    out.write_all(TAIL.as_bytes())
}

fn write_annotation(segment: &Segment, number: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let (first, last, label) = (2 * number - 1, 2 * number, escaped(&segment.label));
    writeln!(out, "        <ANNOTATION>")?;
    writeln!(
        out,
        r#"            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a{number}" TIME_SLOT_REF1="ts{first}" TIME_SLOT_REF2="ts{last}">"#
    )?;
    writeln!(out, "                <ANNOTATION_VALUE>{label}</ANNOTATION_VALUE>")?;
    writeln!(out, "            </ALIGNABLE_ANNOTATION>\n        </ANNOTATION>")
}

/// `text` within XML 1.0, which has no control characters but white space: U+FFFD stands for them.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\t' | '\n' | '\r' => " ".to_owned(),
        _ if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => "\u{fffd}".to_owned(),
        _ => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;

    #[test]
    fn annotations_refer_to_their_times() {
        let text = written(|out| write(&greeting(), out));
        assert_eq!(text.matches("<TIME_SLOT ").count(), 10);
        assert!(text.contains(r#"<TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="210"/>"#));
        assert!(text.contains(r#"ANNOTATION_ID="a5" TIME_SLOT_REF1="ts9" TIME_SLOT_REF2="ts10">"#));
        assert!(text.contains(r#"<TIME_SLOT TIME_SLOT_ID="ts9" TIME_VALUE="100"/>"#));
        assert!(text.ends_with("</ANNOTATION_DOCUMENT>\n"));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a<b & \"c\"\u{1}\n"), "a&lt;b &amp; &quot;c&quot;\u{fffd} ");
    }
}
