//! A table of verdicts: a line for each utterance, with tabs between columns.

use std::io;

use super::verdict::Verdict;

/// The first line.
const HEADER: &str = "utterance\tverdict\tseconds\twords\tunknown\tfit\tdetail";

/// What became of one utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub utterance: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Length of the recording, where it could be read.
    pub seconds: Option<f64>,
    /// Words of the transcript, or phones where it has only these; and how many have no pronunciation.
    pub words: Option<(usize, usize)>,
    /// How well its phones fit, see [`super::verdict::mean_ratio`].
    pub fit: Option<f64>,
}

/// Writes a heading and `rows`; what is not known is empty.
///
/// # Errors
/// What `out` refuses.
pub fn write(rows: &[Row], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", line(row)))
}

fn line(row: &Row) -> String {
    let count = |count: Option<usize>| count.map_or(String::new(), |count| count.to_string());
    let fields = [
        row.utterance.clone(),
        row.verdict.name().to_owned(),
        row.seconds.map_or(String::new(), |seconds| format!("{seconds:.3}")),
        count(row.words.map(|(words, _)| words)),
        count(row.words.map(|(_, unknown)| unknown)),
        row.fit.map_or(String::new(), |fit| format!("{fit:.3}")),
        row.verdict.detail(),
    ];
    fields.map(|text| field(&text)).join("\t")
}

/// `text` as a field of a table: on one line, and without tabs.
pub fn field(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_field_for_each_column() {
        let short = Verdict::TooShort { needed: 180, available: 66 };
        let aligned = Row {
            utterance: "a\tb".into(),
            verdict: Verdict::Aligned,
            seconds: Some(2.0),
            words: Some((5, 1)),
            fit: Some(-0.25),
        };
        let failed = Row { utterance: "c".into(), verdict: short, seconds: None, words: None, fit: None };
        let mut text = Vec::new();
        write(&[aligned, failed], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert!(lines.iter().all(|fields| fields.len() == lines[0].len()), "{text}");
        assert_eq!(lines[1], ["a b", "aligned", "2.000", "5", "1", "-0.250", ""]);
        let detail = "the transcript takes 180 search frames at least, the recording has 66";
        assert_eq!(lines[2], ["c", "too-short", "", "", "", "", detail]);
    }
}
