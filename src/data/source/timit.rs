//! TIMIT (Garofolo et al. 1993): `TRAIN` and `TEST`, in each `DR1` to `DR8`, a folder for each speaker, and for each sentence
//! its audio, phones (`.PHN`) and words (`.WRD`, `.TXT`). Names come in either case.
//!
//! The two sentences that all speakers read (SA1, SA2) are left out, as everybody does: they would give the same phones in the
//! same contexts to training and test. The 61 phones of the files become the 48 that Lee & Hon (1989) train on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::files::{self, ends_with, folder_name, stem};
use super::super::manifest::{Place, Utterance};
use super::{one_line, one_part};
use crate::audio::Clip;
use crate::{Error, Result};

/// The phones to train on.
const PHONES: [&str; 48] = [
    "aa", "ae", "ah", "ao", "aw", "ax", "ay", "b", "ch", "cl", "d", "dh", "dx", "eh", "el", "en", "epi", "er", "ey",
    "f", "g", "hh", "ih", "ix", "iy", "jh", "k", "l", "m", "n", "ng", "ow", "oy", "p", "r", "s", "sh", "sil", "t",
    "th", "uh", "uw", "v", "vcl", "w", "y", "z", "zh",
];

/// The other phones of the files (Lee & Hon 1989, table I); the glottal stop is left out.
const FOLDED: [(&str, &str); 16] = [
    ("ax-h", "ax"),
    ("axr", "er"),
    ("bcl", "vcl"),
    ("dcl", "vcl"),
    ("gcl", "vcl"),
    ("pcl", "cl"),
    ("tcl", "cl"),
    ("kcl", "cl"),
    ("em", "m"),
    ("eng", "ng"),
    ("hv", "hh"),
    ("nx", "n"),
    ("ux", "uw"),
    ("h#", "sil"),
    ("pau", "sil"),
    ("q", ""),
];

/// Whether the file at `path` holds phones of TIMIT.
pub(super) fn is_phones(path: &Path) -> bool {
    ends_with(path, ".phn")
}

/// Reads a part of the corpus.
pub(super) fn read(part: &Path) -> Result<Vec<Utterance>> {
    let all = files::files(part, |path| is_phones(path) || is_audio(path), "sentences")?;
    one_part(part, &all)?;
    let kept = all.iter().filter(|path| is_phones(path) && !stem(path).to_uppercase().starts_with("SA"));
    let audio = all.iter().filter(|path| is_audio(path)).map(|path| (path.with_extension(""), path)).collect();
    kept.map(|phones| sentence(phones, &audio)).collect()
}

fn is_audio(path: &Path) -> bool {
    ends_with(path, ".wav") || ends_with(path, ".flac")
}

/// `audio` is by its path without the extension.
fn sentence(phones: &Path, audio: &BTreeMap<PathBuf, &PathBuf>) -> Result<Utterance> {
    let speaker = folder_name(phones).to_uppercase();
    let place = Place { path: phones.to_owned(), line: 1 };
    let audio = audio.get(&phones.with_extension("")).copied();
    let audio = audio.ok_or_else(|| place.error("no audio of the same name is beside it: expected a .WAV"))?;
    let name = format!("{speaker}_{}", stem(phones).to_uppercase());
    let phones = rows(phones)?.iter().filter_map(|row| phone(row, phones).transpose()).collect::<Result<Vec<_>>>()?;
    let words = words(&place.path)?;
    Ok(Utterance { name, speaker, audio: Clip::whole(audio), seconds: None, words, phones: Some(phones), place })
}

/// A line `start end label`, times in samples.
struct Row {
    label: String,
    line: usize,
}

fn rows(path: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (text, line) in files::read_text(path)?.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let is_time = |field: &str| field.parse::<u64>().is_ok();
        match fields[..] {
            [start, end, label] if is_time(start) && is_time(end) => rows.push(Row { label: label.to_owned(), line }),
            _ => {
                let reason = format!("'{text}': expected `start end label`, times in samples");
                return Err(Error::TextFile { path: path.to_owned(), line, reason });
            }
        }
    }
    Ok(rows)
}

/// The phone of the 48 that a row says, `None` for the glottal stop.
fn phone(row: &Row, path: &Path) -> Result<Option<String>> {
    let label = row.label.to_lowercase();
    if PHONES.contains(&&*label) {
        return Ok(Some(label));
    }
    match FOLDED.iter().find(|(from, _)| *from == label) {
        Some((_, to)) => Ok(Some((*to).to_owned()).filter(|to| !to.is_empty())),
        None => {
            let reason = format!("'{}' is no phone of TIMIT", row.label);
            Err(Error::TextFile { path: path.to_owned(), line: row.line, reason })
        }
    }
}

/// The words of the file `.WRD`, else those of `.TXT`, which come after two times.
fn words(phones: &Path) -> Result<Option<String>> {
    let beside = |endings: [&str; 2]| {
        endings.into_iter().map(|ending| phones.with_extension(ending)).find(|path| path.is_file())
    };
    if let Some(path) = beside(["WRD", "wrd"]) {
        let words: Vec<String> = rows(&path)?.into_iter().map(|row| row.label).collect();
        return Ok(one_line(&words.join(" ")));
    }
    let Some(path) = beside(["TXT", "txt"]) else { return Ok(None) };
    let text = files::read_text(&path)?;
    let words: Vec<&str> = text.split_whitespace().skip_while(|word| word.parse::<u64>().is_ok()).collect();
    Ok(one_line(&words.join(" ")))
}
