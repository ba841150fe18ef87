//! The one error type: each variant holds the facts and reads as one sentence that says what to do.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong, for every module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What was tried: "read", "create", "write", ...
        doing: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// Audio that cannot be used.
    #[error("{}: {reason}", path.display())]
    Audio {
        /// The file, or `-`.
        path: PathBuf,
        /// What was found, what was expected, what to do.
        reason: String,
    },
    /// A graph file that is not right.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    GraphFile {
        /// The file.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// One-based column, in characters.
        column: usize,
        /// What is wrong there and what is expected.
        reason: String,
    },
    /// A text file with one record a line (lexicon, ARPA, CTM, ...) that is not right.
    #[error("{}:{line}: {reason}", path.display())]
    TextFile {
        /// The file.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// What is wrong there and what is expected.
        reason: String,
    },
    /// A manifest with a bad line.
    #[error("{}:{line}: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// What is wrong there and what is expected.
        reason: String,
    },
    /// A file of settings with a key or a value that is not right.
    #[error("{}: {reason}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Key, value found, values allowed.
        reason: String,
    },
    /// A setting out of range.
    #[error("{key} = {value}: expected {expected}")]
    Setting {
        /// Name of the setting.
        key: &'static str,
        /// The value found.
        value: String,
        /// The values allowed.
        expected: &'static str,
    },
    /// A setting of one table of several.
    #[error("[{table}] {source}")]
    Table {
        /// The table as the file of settings calls it.
        table: &'static str,
        /// What is wrong in it.
        source: Box<Error>,
    },
    /// A bundle with a missing, broken or mismatched part.
    #[error("{}: {part}: {reason}", path.display())]
    Bundle {
        /// The bundle's folder, or "built-in model".
        path: PathBuf,
        /// The part.
        part: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// The acoustic model scores another number of pdfs than the graph uses.
    #[error("the acoustic model scores {network} pdfs but the graph uses {graph}: they must be trained for each other")]
    PdfCount {
        /// Pdfs of the network or of the mixtures.
        network: usize,
        /// Pdfs of the graph.
        graph: usize,
    },
    /// No legal path has this length.
    #[error("no legal path: {}", wrong_length(*frames, *need_at_least))]
    NoPath {
        /// Search frames available.
        frames: usize,
        /// Search frames of the shortest legal path.
        need_at_least: usize,
    },
    /// A recording shorter than one frame.
    #[error("only {samples} samples: at least {needed}, one frame, are needed")]
    TooShort {
        /// Samples at the model's rate.
        samples: u64,
        /// Samples of a frame.
        needed: u32,
    },
    /// Every legal path goes through a cell that scores minus infinity.
    #[error(
        "no legal path is possible: by search frame {frame} each has met a score of minus infinity, as a pdf without training \
         frames has"
    )]
    Impossible {
        /// The frame at which the last path died.
        frame: usize,
    },
    /// The beam lost every path.
    #[error("the beam of {beam} lost every path at search frame {frame}: widen it, or follow more active states")]
    BeamTooNarrow {
        /// The frame at which the last path died.
        frame: usize,
        /// Beam width, natural log.
        beam: f32,
    },
    /// A dimension that does not fit.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The right count.
        expected: usize,
        /// The count found.
        found: usize,
    },
    /// A number that is NaN or infinite where it must not be.
    #[error("{what}: a value in frame {frame} is not a finite number")]
    NotFinite {
        /// Features, emissions, ...
        what: &'static str,
        /// Zero-based frame.
        frame: usize,
    },
    /// A transcript that the graph does not admit.
    #[error("{reason}")]
    Transcript {
        /// The illegal pair, the unknown symbol or word.
        reason: String,
    },
    /// Training went astray.
    #[error(
        "training diverged in epoch {epoch}: loss {loss} on {utterances}; lower the learning rate or leave these utterances out"
    )]
    Diverged {
        /// One-based epoch.
        epoch: usize,
        /// The utterances of the batch.
        utterances: String,
        /// The loss seen.
        loss: f64,
    },
    /// One utterance of a file that holds several.
    #[error("{}: utterance {utterance}: {source}", path.display())]
    Utterance {
        /// The file, or `-`.
        path: PathBuf,
        /// The utterance's name.
        utterance: String,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// The network library refused.
    #[error("network: {0}")]
    Network(String),
    /// Anything else that a user must be told in one sentence.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// An [`Error::Io`] on `path`.
    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, source }
    }
}

/// Why no path of `frames` frames is legal.
fn wrong_length(frames: usize, need_at_least: usize) -> String {
    if frames < need_at_least {
        format!(
            "{frames} search frames given, the shortest legal sequence needs {need_at_least}: the audio is too short"
        )
    } else {
        format!(
            "none has exactly {frames} search frames, the shortest has {need_at_least}: a `self_loop` in the graph file lets a \
             symbol last longer"
        )
    }
}

/// One-based line, and column in characters, of byte `at` of `text`.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// An [`Error::Setting`] unless `holds`.
pub(crate) fn require(holds: bool, key: &'static str, value: impl Display, expected: &'static str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::Setting { key, value: value.to_string(), expected }),
    }
}

/// `checked`, with the name of the `table` that was checked.
pub(crate) fn in_table(table: &'static str, checked: Result<()>) -> Result<()> {
    checked.map_err(|error| Error::Table { table, source: Box::new(error) })
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_need_more_frames_or_be_unable_to_hold_so_many() {
        let told = |frames| Error::NoPath { frames, need_at_least: 6 }.to_string();
        assert_eq!(
            told(3),
            "no legal path: 3 search frames given, the shortest legal sequence needs 6: the audio is too short"
        );
        let long = "no legal path: none has exactly 9 search frames, the shortest has 6: a `self_loop` in the graph file lets \
                    a symbol last longer";
        assert_eq!(told(9), long);
    }
}
