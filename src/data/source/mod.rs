//! Corpora as they lie on people's disks: whatever the layout, a [`Manifest`] comes out.
//!
//! | layout | told by | phones | words |
//! |---|---|---|---|
//! | manifest | a file | its column | its column |
//! | Kaldi data folder | `wav.scp` in it | none | `text` |
//! | TIMIT | `.PHN` beside the audio | the 48 of Lee & Hon (1989) | `.WRD`, else `.TXT` |
//! | THCHS-30 | `.wav.trn` beside the audio | initials and toned finals | line 1 |
//! | AISHELL-1 | `transcript/aishell_transcript_v0.8.txt` in it or above | none | this file |
//! | LibriSpeech | `SPEAKER-CHAPTER.trans.txt` | none | these |
//! | folder | any other folder | the phone tier of a `.TextGrid`, or a `.lab` or `.mlf` with times | `.txt`, word tier or only tier, plain `.lab`, `.ctm` |

mod aishell;
mod folder;
mod kaldi;
mod librispeech;
mod pipe;
mod thchs30;
mod timit;

use std::path::{Path, PathBuf};

use super::files;
use super::manifest::Manifest;
use crate::{Error, Result};

pub use folder::{beside, recordings};

/// How a corpus is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A table of utterances, see [`Manifest::read`].
    Manifest,
    /// A data folder of Kaldi: `wav.scp`, and `text`, `utt2spk`, `segments` where there are such.
    Kaldi,
    /// TIMIT's training or test part, or some folder of it.
    Timit,
    /// A part of THCHS-30: its `train`, `dev` or `test`.
    Thchs30,
    /// A part of AISHELL-1: `wav/train`, `wav/dev` or `wav/test`.
    Aishell,
    /// One set of LibriSpeech: `SPEAKER/CHAPTER/SPEAKER-CHAPTER-NUMBER.flac`.
    LibriSpeech,
    /// A folder of recordings with their transcripts beside them.
    Folder,
}

/// The layout of the corpus at `path`.
///
/// # Errors
/// [`Error::Io`] when there is nothing, or a folder in it cannot be read.
pub fn layout(path: &Path) -> Result<Layout> {
    let found = std::fs::metadata(path).map_err(|source| Error::io("read", path, source))?;
    if !found.is_dir() {
        return Ok(Layout::Manifest);
    }
    if path.join(kaldi::RECORDINGS).is_file() {
        return Ok(Layout::Kaldi);
    }
    if aishell::transcript(path).is_some() {
        return Ok(Layout::Aishell);
    }
    let tells =
        |path: &Path| timit::is_phones(path) || librispeech::is_transcript(path) || thchs30::is_transcript(path);
    Ok(match files::first(path, tells)? {
        Some(found) if timit::is_phones(&found) => Layout::Timit,
        Some(found) if thchs30::is_transcript(&found) => Layout::Thchs30,
        Some(_) => Layout::LibriSpeech,
        None => Layout::Folder,
    })
}

/// Reads the corpus at `path`, whatever its layout. Recordings are not opened.
///
/// # Errors
/// As [`layout`] and [`Manifest::read`]; [`Error::Manifest`] and [`Error::TextFile`] naming file and line of what is wrong;
/// [`Error::Other`] for a folder without recordings, or one that holds training and test sets together.
pub fn read(path: &Path) -> Result<Manifest> {
    let mut notices = vec![];
    let utterances = match layout(path)? {
        Layout::Manifest => return Manifest::read(path),
        Layout::Kaldi => kaldi::read(path),
        Layout::Timit => timit::read(path),
        Layout::Thchs30 => thchs30::read(path),
        Layout::Aishell => aishell::read(path, &aishell::transcript(path).unwrap_or_default(), &mut notices),
        Layout::LibriSpeech => librispeech::read(path),
        Layout::Folder => folder::read(path),
    }?;
    let manifest = Manifest { path: path.to_owned(), utterances, notices };
    manifest.check_names()?;
    Ok(manifest)
}

/// Whether `files` are of one part of a corpus, not of training and test together.
fn one_part(corpus: &Path, files: &[PathBuf]) -> Result<()> {
    let is_of = |path: &PathBuf, part: &str| {
        let below = path.strip_prefix(corpus).unwrap_or(path);
        below.components().any(|folder| folder.as_os_str().eq_ignore_ascii_case(part))
    };
    let has = |part: &str| files.iter().any(|path| is_of(path, part));
    match has("train") && has("test") {
        true => Err(Error::Other(format!("{}: holds train and test: name one of them", corpus.display()))),
        false => Ok(()),
    }
}

/// The text of a transcript on one line, `None` when there is none.
fn one_line(text: &str) -> Option<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}
