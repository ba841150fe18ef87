//! Column files: one token a line, columns with tabs between, a blank line after each sequence.
//!
//! ```text
//! Empire   B-location
//! State    I-location
//! =        O
//!
//! # is a token like any other: there are no comments
//! ```
//!
//! A file on disk or standard input comes in; [`Sequence`]s go to tagging and scoring, one by one from a [`ColumnReader`] or
//! all from a [`ColumnFile`]. UTF-8 with or without a byte order mark, lines ended by `\n` or `\r\n`; a line of nothing but
//! spaces and tabs is blank. Every line has as many columns as the first. A sequence that breaks a rule is left out whole and
//! told of; the ones after it are read.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc as Shared;

use crate::{Error, Result};

/// What the columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The token first, and perhaps further columns: text to be tagged.
    Tokens,
    /// The token first, the tag last, so at least two columns: text to learn from.
    Tagged,
    /// The tag last, and perhaps nothing else: tags to be compared.
    Tags,
}

/// One sequence of a column file: at least one token. Its rows are the lines of the file as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    path: Shared<Path>,
    number: usize,
    first_line: usize,
    rows: Vec<String>,
}

impl Sequence {
    /// Its place among the sequences of the file, bad ones included, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The one-based line of token `token`, itself counted from 0.
    pub fn line(&self, token: usize) -> usize {
        self.first_line + token
    }

    /// The lines of the tokens, all columns with tabs between.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// Number of columns, at least 1.
    pub fn columns(&self) -> usize {
        self.rows[0].split('\t').count()
    }

    /// The fields of column `column`, counted from 0: 0 are the tokens. Empty where there is no such column.
    pub fn column(&self, column: usize) -> Vec<&str> {
        self.rows.iter().filter_map(|row| row.split('\t').nth(column)).collect()
    }

    /// The fields of the last column: the tags where there are tags.
    pub fn tags(&self) -> Vec<&str> {
        self.rows.iter().filter_map(|row| row.split('\t').next_back()).collect()
    }

    /// The error that token `token` is not right because of `reason`; it names file, line and sequence.
    pub fn fault(&self, token: usize, reason: impl AsRef<str>) -> Error {
        fault(&self.path, self.line(token), self.number, reason.as_ref())
    }
}

fn fault(path: &Path, line: usize, sequence: usize, reason: &str) -> Error {
    Error::TextFile { path: path.to_owned(), line, reason: format!("sequence {sequence}: {reason}") }
}

/// Reads sequences one by one; memory holds one of them.
///
/// Yields [`Error::TextFile`] with line and sequence for a sequence that is not UTF-8, has a line with another number of
/// columns than the first line, an empty token, or a tag that is empty or has white space around it. Reading can go on after
/// that, but not after [`Error::Io`].
#[derive(Debug)]
pub struct ColumnReader<R> {
    path: Shared<Path>,
    input: R,
    layout: Layout,
    /// Bytes of the line read last.
    line: Vec<u8>,
    line_number: usize,
    sequences: usize,
    /// Number of columns, and the line that it is known from.
    columns: Option<(usize, usize)>,
    failed: bool,
}

impl<R: BufRead> ColumnReader<R> {
    /// A reader of `input`; messages call it `path`.
    pub fn new(path: &Path, input: R, layout: Layout) -> Self {
        let (line, path) = (vec![], path.into());
        Self { path, input, layout, line, line_number: 0, sequences: 0, columns: None, failed: false }
    }

    /// Reads a line into `self.line`, without its end; false at the end of the file.
    fn read_line(&mut self) -> Result<bool> {
        self.line.clear();
        let read = self.input.read_until(b'\n', &mut self.line);
        if read.map_err(|source| Error::io("read", &self.path, source))? == 0 {
            return Ok(false);
        }
        self.line_number += 1;
        if self.line_number == 1 && self.line.starts_with("\u{feff}".as_bytes()) {
            self.line.drain(..3);
        }
        for end in *b"\n\r" {
            self.line.pop_if(|last| *last == end);
        }
        Ok(true)
    }

    /// The line read last as a row.
    fn row(&mut self) -> std::result::Result<String, String> {
        let not_utf8 = |bad: std::str::Utf8Error| format!("byte {} of the line is not UTF-8", bad.valid_up_to() + 1);
        let row = std::str::from_utf8(&self.line).map_err(not_utf8)?;
        let (found, last) = (row.split('\t').count(), row.split('\t').next_back().unwrap_or(row));
        if self.layout == Layout::Tagged && found < 2 {
            return Err("one column: expected the token first, the tag last, and a tab between".into());
        }
        let (expected, from) = *self.columns.get_or_insert((found, self.line_number));
        if found != expected {
            return Err(format!("{} here, but {} in line {from}: expected as many", columns(found), columns(expected)));
        }
        if self.layout != Layout::Tags && row.split('\t').next().is_none_or(|token| token.trim().is_empty()) {
            return Err("the token, in the first column, is empty".into());
        }
        if self.layout != Layout::Tokens && (last.is_empty() || last.trim() != last) {
            return Err(format!("the tag {last:?}, in the last column, is empty or has white space around it"));
        }
        Ok(row.to_owned())
    }

    /// The next sequence, none at the end of the file.
    fn sequence(&mut self) -> Result<Option<Sequence>> {
        let (mut rows, mut first_line, mut bad) = (vec![], None, None);
        while self.read_line()? {
            if self.line.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
                match first_line {
                    Some(_) => break,
                    None => continue,
                }
            }
            first_line = first_line.or(Some(self.line_number));
            match self.row() {
                Ok(row) if bad.is_none() => rows.push(row),
                Ok(_) => {}
                Err(reason) => bad = bad.or(Some((self.line_number, reason))),
            }
        }
        let Some(first_line) = first_line else { return Ok(None) };
        self.sequences += 1;
        let (path, number) = (self.path.clone(), self.sequences);
        match bad {
            Some((line, reason)) => Err(fault(&path, line, number, &reason)),
            None => Ok(Some(Sequence { path, number, first_line, rows })),
        }
    }
}

impl<R: BufRead> Iterator for ColumnReader<R> {
    type Item = Result<Sequence>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let sequence = self.sequence();
        self.failed = matches!(sequence, Err(Error::Io { .. }));
        sequence.transpose()
    }
}

fn columns(count: usize) -> String {
    if count == 1 { "1 column".into() } else { format!("{count} columns") }
}

/// All sequences of a column file.
#[derive(Debug)]
pub struct ColumnFile {
    /// The good sequences, at least one, in file order.
    pub sequences: Vec<Sequence>,
    /// Why the others were left out: an [`Error::TextFile`] for each, in file order.
    pub faults: Vec<Error>,
}

impl ColumnFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read; [`Error::TextFile`] when it has no sequence, or none without fault: then the first
    /// fault.
    pub fn read(path: &Path, layout: Layout) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::io("read", path, source))?;
        Self::collect(path, BufReader::new(file), layout)
    }

    /// Reads all of `input`; messages call it `path`.
    ///
    /// # Errors
    /// As [`ColumnFile::read`].
    pub fn collect(path: &Path, input: impl BufRead, layout: Layout) -> Result<Self> {
        let mut file = Self { sequences: vec![], faults: vec![] };
        for sequence in ColumnReader::new(path, input, layout) {
            match sequence {
                Ok(sequence) => file.sequences.push(sequence),
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(fault) => file.faults.push(fault),
            }
        }
        if !file.sequences.is_empty() {
            return Ok(file);
        }
        let reason = "the file has no sequence: expected one token a line, columns with tabs between";
        let empty = Error::TextFile { path: path.to_owned(), line: 1, reason: reason.into() };
        Err(file.faults.into_iter().next().unwrap_or(empty))
    }

    /// The sequences, if none was left out.
    ///
    /// # Errors
    /// The first fault.
    pub fn whole(self) -> Result<Vec<Sequence>> {
        self.faults.into_iter().next().map_or(Ok(self.sequences), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequences of `text` as their rows, or what is wrong with them.
    fn read(text: impl AsRef<[u8]>, layout: Layout) -> Vec<std::result::Result<Vec<String>, String>> {
        let reader = ColumnReader::new("t.tsv".as_ref(), text.as_ref(), layout);
        reader.map(|found| found.map(|found| found.rows).map_err(|error| error.to_string())).collect()
    }

    fn rows(rows: &[&str]) -> std::result::Result<Vec<String>, String> {
        Ok(rows.iter().map(|&row| row.to_owned()).collect())
    }

    #[test]
    fn blank_lines_part_sequences_however_lines_end() {
        let expected = [rows(&["a\tD", "# b\tN"]), rows(&["c\tV"])];
        for text in [
            "a\tD\n# b\tN\n\nc\tV\n",
            "a\tD\n# b\tN\n\nc\tV",
            "\u{feff}a\tD\r\n# b\tN\r\n\r\nc\tV\r\n",
            "\n \n\t\na\tD\n# b\tN\n\t\n\n\n  \t \nc\tV\n\n\n",
        ] {
            assert_eq!(read(text, Layout::Tagged), expected, "{text:?}");
        }
        for text in ["", "\n", "\u{feff}", " \n\n\t\t\n"] {
            assert_eq!(read(text, Layout::Tagged), [], "{text:?}");
        }
    }

    #[test]
    fn places_and_columns_are_known() {
        let text = "\na\tx\tD\nb\t\tN\n\nc\ty\tV\n";
        let found: Vec<Sequence> =
            ColumnReader::new("t.tsv".as_ref(), text.as_bytes(), Layout::Tagged).map(Result::unwrap).collect();
        assert_eq!(found[0].column(1), ["x", ""]);
        assert_eq!((found[0].tags(), found[0].column(0), found[0].columns()), (vec!["D", "N"], vec!["a", "b"], 3));
        assert_eq!(found[0].column(3), [""; 0]);
        assert_eq!((found[0].line(1), found[1].line(0), found[1].number()), (3, 5, 2));
        assert_eq!(found[1].fault(0, "no").to_string(), "t.tsv:5: sequence 2: no");
    }

    #[test]
    fn a_bad_sequence_is_left_out_whole_and_the_next_is_read() {
        let cases: [(&[u8], &str); 6] = [
            (b"c\tD\tx\nd\te\nf", "t.tsv:4: sequence 2: 3 columns here, but 2 columns in line 1: expected as many"),
            (
                b"c\tD\nd\n\tN",
                "t.tsv:5: sequence 2: one column: expected the token first, the tag last, and a tab between",
            ),
            (b" \tD", "t.tsv:4: sequence 2: the token, in the first column, is empty"),
            (b"c\t", "t.tsv:4: sequence 2: the tag \"\", in the last column, is empty or has white space around it"),
            (
                b"c\tD ",
                "t.tsv:4: sequence 2: the tag \"D \", in the last column, is empty or has white space around it",
            ),
            (b"c\tD\nd\xff\tN", "t.tsv:5: sequence 2: byte 2 of the line is not UTF-8"),
        ];
        for (bad, message) in cases {
            let text = [b"a\tD\nb\tN\n\n", bad, b"\n\ng\tV"].concat();
            let expected = [rows(&["a\tD", "b\tN"]), Err(message.to_owned()), rows(&["g\tV"])];
            assert_eq!(read(&text, Layout::Tagged), expected);
        }
    }

    #[test]
    fn layouts_differ_in_what_must_be_there() {
        assert_eq!(read("a\nb\n", Layout::Tokens), [rows(&["a", "b"])]);
        assert_eq!(read("a\t\nb\t c\n", Layout::Tokens), [rows(&["a\t", "b\t c"])]);
        assert_eq!(read("D\nN\n", Layout::Tags), [rows(&["D", "N"])]);
        assert_eq!(read("\tD\na\tN\n", Layout::Tags), [rows(&["\tD", "a\tN"])]);
        assert!(read("a\nb\n", Layout::Tagged)[0].is_err() && read("\tD\n", Layout::Tokens)[0].is_err());
        assert!(read("a\t\n", Layout::Tags)[0].is_err());
    }

    #[test]
    fn a_file_counts_what_it_leaves_out() {
        let collect = |text: &str| ColumnFile::collect("t.tsv".as_ref(), text.as_bytes(), Layout::Tagged);
        let file = collect("a\tD\n\nb\n\nc\tV\n\nd\tD\tx\n").unwrap();
        assert_eq!((file.sequences.len(), file.faults.len()), (2, 2));
        assert_eq!((file.sequences[1].number(), file.sequences[1].line(0)), (3, 5));
        assert!(file.whole().unwrap_err().to_string().starts_with("t.tsv:3: sequence 2: one column"));
        assert_eq!(collect("a\tD\nb\tN\n").unwrap().whole().unwrap().len(), 1);
        let message = |text| collect(text).unwrap_err().to_string();
        let empty = "t.tsv:1: the file has no sequence: expected one token a line, columns with tabs between";
        assert_eq!((message(""), message("\n\n")), (empty.to_owned(), empty.to_owned()));
        assert!(message("a D\nb N\n").starts_with("t.tsv:1: sequence 1: one column"));
    }

    /// Standard input that breaks after its first line.
    struct Broken(&'static [u8]);

    impl std::io::Read for Broken {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() { Err(std::io::Error::other("cable pulled")) } else { self.0.read(into) }
        }
    }

    #[test]
    fn nothing_is_read_after_a_failure_to_read() {
        let open = || BufReader::new(Broken(b"a\tD\n\nb\tN\n"));
        let mut reader = ColumnReader::new("-".as_ref(), open(), Layout::Tagged);
        assert!(reader.next().unwrap().is_ok());
        assert_eq!(reader.next().unwrap().unwrap_err().to_string(), "-: cannot read: cable pulled");
        assert!(reader.next().is_none());
        assert!(matches!(ColumnFile::collect("-".as_ref(), open(), Layout::Tagged), Err(Error::Io { .. })));
        assert!(matches!(ColumnFile::read("/nowhere.tsv".as_ref(), Layout::Tagged), Err(Error::Io { .. })));
    }
}
