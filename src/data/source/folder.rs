//! A folder of recordings, each with its transcript in a file of the same name: `.txt`, `.TextGrid`, `.lab`, `.mlf` or
//! `.ctm`.
//!
//! The speaker is the folder that a file lies in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::files::{self, folder_name, stem};
use super::super::manifest::Utterance;
use super::one_line;
use crate::audio::{Clip, is_audio_name};
use crate::formats::ctm::{self, TimedLabel};
use crate::formats::lab::{self, Labels};
use crate::formats::textgrid::{self, TimedTier};
use crate::{Error, Result};

/// Labels that stand for a pause in files of aligned phones or words. They are left out: pauses are found anew.
const PAUSES: [&str; 8] = ["", "sil", "SIL", "sp", "<sil>", "<eps>", "<p:>", "#"];

/// Names of tiers of phones, in lower case: of people, the Montreal Forced Aligner (after the speaker and ` - `), WebMAUS.
const PHONE_TIERS: [&str; 6] = ["phones", "phone", "phonemes", "phoneme", "segments", "mau"];
/// Names of tiers of words.
const WORD_TIERS: [&str; 6] = ["words", "word", "ort-mau", "ort", "transcript", "utterances"];

/// The recordings below `folder` with their names: that of the file without its extension, and where two files are called the
/// same, that of every file with the folders that it lies in, `-` between them.
///
/// # Errors
/// As [`files::files`].
pub fn recordings(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let files = files::files(folder, is_audio_name, "audio files")?;
    let stems: BTreeSet<String> = files.iter().map(|file| stem(file)).collect();
    let long_name = |file: &Path| -> String {
        let below = file.strip_prefix(folder).unwrap_or(file).with_extension("");
        below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("-")
    };
    let is_clear = stems.len() == files.len();
    let named = |file: PathBuf| (if is_clear { stem(&file) } else { long_name(&file) }, file);
    Ok(files.into_iter().map(named).collect())
}

/// Reads the folder. A recording without transcript is an utterance without words.
pub(super) fn read(folder: &Path) -> Result<Vec<Utterance>> {
    recordings(folder)?.into_iter().map(|(name, path)| beside(&name, &path)).collect()
}

/// The recording at `path`, which is called `name`, with what the files beside it say: nothing, where there is none.
///
/// # Errors
/// [`Error::Io`] and [`Error::TextFile`] naming the file that cannot be read.
pub fn beside(name: &str, path: &Path) -> Result<Utterance> {
    let said = Said::beside(path)?;
    let mut utterance = Utterance::bare(name, Clip::whole(path));
    utterance.place.path = said.file.unwrap_or_else(|| path.to_owned());
    let folder = folder_name(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    if !folder.is_empty() {
        utterance.speaker = folder;
    }
    Ok(Utterance { words: said.words, phones: said.phones, ..utterance })
}

/// What the files beside a recording say.
#[derive(Debug, Default)]
struct Said {
    /// The first of them.
    file: Option<PathBuf>,
    words: Option<String>,
    phones: Option<Vec<String>>,
}

impl Said {
    /// A `.txt` is the first to say the words, a `.TextGrid` the phones; a `.ctm`, which may hold either, counts where nothing else
    /// says anything.
    fn beside(audio: &Path) -> Result<Self> {
        let mut said = Self::default();
        let found = |ending: &str| Some(audio.with_extension(ending)).filter(|path| path.is_file());
        if let Some(path) = found("txt") {
            said.words = one_line(&files::read_text(&path)?);
            said.file = Some(path);
        }
        if let Some(path) = found("TextGrid").or_else(|| found("textgrid")) {
            said.add_tiers(&path)?;
            said.file.get_or_insert(path);
        }
        for path in ["lab", "mlf"].into_iter().filter_map(found) {
            match lab::read(&path, &stem(audio))? {
                Labels::Timed(labels) => said.phones = said.phones.or_else(|| Some(names(&labels))),
                Labels::Plain(text) => said.words = said.words.or_else(|| one_line(&text)),
            }
            said.file.get_or_insert(path);
        }
        if let Some(path) = found("ctm").filter(|_| said.words.is_none() && said.phones.is_none()) {
            said.words = one_line(&ctm_names(&path, &stem(audio))?.join(" "));
            said.file.get_or_insert(path);
        }
        Ok(said)
    }

    fn add_tiers(&mut self, path: &Path) -> Result<()> {
        let tiers = textgrid::read(path)?;
        let of = |known: &[&str]| {
            let named: Vec<&TimedTier> = tiers.iter().filter(|tier| known.contains(&&*plain(&tier.name))).collect();
            (!named.is_empty()).then(|| in_order(&named))
        };
        let phones = of(&PHONE_TIERS);
        let only = || (tiers.len() == 1).then(|| in_order(&[&tiers[0]]));
        let words = of(&WORD_TIERS).or_else(|| only().filter(|_| phones.is_none()));
        if phones.is_none() && words.is_none() {
            let found: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
            let reason = format!("tiers called {found:?}: expected one called \"phones\" or \"words\"");
            return Err(Error::TextFile { path: path.to_owned(), line: 1, reason });
        }
        self.phones = phones;
        self.words = self.words.take().or_else(|| one_line(&words?.join(" ")));
        Ok(())
    }
}

/// The name of a tier without the speaker before it, in lower case.
fn plain(tier: &str) -> String {
    tier.rsplit(" - ").next().unwrap_or(tier).trim().to_lowercase()
}

/// The labels of tiers by their time: several speakers of one recording speak in turn.
fn in_order(tiers: &[&TimedTier]) -> Vec<String> {
    let mut labels: Vec<TimedLabel> = tiers.iter().flat_map(|tier| tier.labels.clone()).collect();
    labels.sort_by(|a, b| a.start_seconds.total_cmp(&b.start_seconds));
    names(&labels)
}

/// The labels of the utterance `name` of a CTM, or of the only one in it.
fn ctm_names(path: &Path, name: &str) -> Result<Vec<String>> {
    let rows = ctm::read(path)?;
    let only = rows.values().next().filter(|_| rows.len() == 1);
    let row = rows.get(&ctm::one_field(name)).or(only).ok_or_else(|| {
        let reason = format!("no line of '{name}': expected the name of the recording in the first column");
        Error::TextFile { path: path.to_owned(), line: 1, reason }
    })?;
    Ok(names(row))
}

/// The labels without pauses.
fn names(labels: &[TimedLabel]) -> Vec<String> {
    let label = |label: &TimedLabel| Some(label.label.trim()).filter(|name| !PAUSES.contains(name)).map(str::to_owned);
    labels.iter().filter_map(label).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn said(file: &str, text: &str) -> Result<(Option<String>, Option<Vec<String>>)> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(file), text).unwrap();
        beside("a", &folder.path().join("a.wav")).map(|found| (found.words, found.phones))
    }

    #[test]
    fn the_entry_of_the_recording_counts() {
        let master = "#!MLF!#\n\"*/b.lab\"\nx\n.\n\"*/a.lab\"\n0 5 sil\n5 9 AH\n.\n";
        for file in ["a.lab", "a.mlf"] {
            assert_eq!(said(file, master).unwrap(), (None, Some(vec!["AH".into()])), "{file}");
        }
        let error = said("a.mlf", &master.replace("a.lab", "c.lab")).unwrap_err().to_string();
        assert!(error.ends_with("a.mlf:1: no entry for 'a': expected a line \"*/a.lab\""), "{error}");
    }

    #[test]
    fn the_rows_of_the_recording_count() {
        let row = |name: &str, at: usize, word: &str| format!("{name} 1 {at} 1 {word}\n");
        let words = |text: &str| said("a.ctm", text).map(|(words, _)| words.unwrap());
        let other = row("z", 0, "z");
        let both = row("a", 1, "two") + &other + &row("a", 0, "one");
        assert_eq!((words(&both).unwrap(), words(&other).unwrap()), ("one two".into(), "z".into()));
        let error = words(&(other + &row("b", 0, "b"))).unwrap_err().to_string();
        assert!(
            error.ends_with("a.ctm:1: no line of 'a': expected the name of the recording in the first column"),
            "{error}"
        );
    }

    #[test]
    fn the_only_tier_is_of_words() {
        let grid = |name: &str| {
            let head = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n0 1 <exists> 1 \"IntervalTier\"";
            format!("{head} \"{name}\" 0 1 1 0 1 \"one two\"\n")
        };
        assert_eq!(said("a.TextGrid", &grid("anything")).unwrap(), (Some("one two".into()), None));
        assert_eq!(said("a.TextGrid", &grid("phones")).unwrap(), (None, Some(vec!["one two".into()])));
    }
}
