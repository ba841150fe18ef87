//! Corpora as they lie on people's disks: whatever the layout, a [`Manifest`] comes out.
//!
//! | layout | told by | phones | words |
//! |---|---|---|---|
//! | manifest | a file | its column | its column |
//! | Kaldi data folder | `wav.scp` in it | none | `text` |
//! | TIMIT | `.PHN` beside the audio | the 48 of Lee & Hon (1989) | `.WRD`, else `.TXT` |
//! | LibriSpeech | `SPEAKER-CHAPTER.trans.txt` | none | these |
//! | folder | any other folder | the phone tier of a `.TextGrid`, or a `.lab` with times | `.txt`, plain `.lab`, word tier |

mod folder;
mod kaldi;
mod librispeech;
mod pipe;
mod timit;

use std::path::Path;

use super::files;
use super::manifest::Manifest;
use crate::{Error, Result};

pub use folder::recordings;

/// How a corpus is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A table of utterances, see [`Manifest::read`].
    Manifest,
    /// A data folder of Kaldi: `wav.scp`, and `text`, `utt2spk`, `segments` where there are such.
    Kaldi,
    /// TIMIT's training or test part, or some folder of it.
    Timit,
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
    let tells = |path: &Path| timit::is_phones(path) || librispeech::is_transcript(path);
    Ok(match files::first(path, tells)? {
        Some(found) if timit::is_phones(&found) => Layout::Timit,
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
    let utterances = match layout(path)? {
        Layout::Manifest => return Manifest::read(path),
        Layout::Kaldi => kaldi::read(path),
        Layout::Timit => timit::read(path),
        Layout::LibriSpeech => librispeech::read(path),
        Layout::Folder => folder::read(path),
    }?;
    let manifest = Manifest { path: path.to_owned(), utterances };
    manifest.check_names()?;
    Ok(manifest)
}

/// The text of a transcript on one line, `None` when there is none.
fn one_line(text: &str) -> Option<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}
