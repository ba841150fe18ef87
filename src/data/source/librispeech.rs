//! LibriSpeech (Panayotov et al. 2015): `SPEAKER/CHAPTER/SPEAKER-CHAPTER-NUMBER.flac`, the words of a chapter in
//! `SPEAKER-CHAPTER.trans.txt` beside them, a line an utterance.

use std::path::{Path, PathBuf};

use super::super::files::{self, ends_with, stem};
use super::super::manifest::{Place, Utterance};
use super::one_line;
use crate::audio::{Clip, is_audio_name};
use crate::{Error, Result};

/// Whether the file at `path` holds the words of a chapter.
pub(super) fn is_transcript(path: &Path) -> bool {
    ends_with(path, ".trans.txt")
}

/// Reads one set. Audio that no transcript names is an error, since a set is complete.
pub(super) fn read(set: &Path) -> Result<Vec<Utterance>> {
    let mut utterances = Vec::new();
    for transcript in files::files(set, is_transcript, ".trans.txt files")? {
        let depth = transcript.strip_prefix(set).map_or(0, |below| below.components().count());
        if depth > 3 {
            let first = transcript.strip_prefix(set).ok().and_then(|below| below.components().next());
            let first = first.map_or(Path::new(""), |part| Path::new(part.as_os_str()));
            return Err(Error::Other(format!(
                "{}: holds sets, {} for one: name the sets to use, so that training and test stay apart",
                set.display(),
                first.display()
            )));
        }
        chapter(&transcript, &mut utterances)?;
    }
    Ok(utterances)
}

fn chapter(transcript: &Path, utterances: &mut Vec<Utterance>) -> Result<()> {
    let folder = transcript.parent().unwrap_or(Path::new(""));
    let audio: Vec<PathBuf> = files::entries(folder)?.into_iter().filter(|path| is_audio_name(path)).collect();
    let before = utterances.len();
    for (line, number) in files::read_text(transcript)?.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let place = Place { path: transcript.to_owned(), line: number };
        let (name, words) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let Some(path) = audio.iter().find(|path| stem(path) == name) else {
            return Err(place.error(format!("no audio called {name} is beside it: expected {name}.flac")));
        };
        let speaker = name.split('-').next().unwrap_or(name).to_owned();
        let (name, audio) = (name.to_owned(), Clip::whole(path));
        utterances.push(Utterance { name, speaker, audio, seconds: None, words: one_line(words), phones: None, place });
    }
    let named = &utterances[before..];
    match audio.iter().find(|path| !named.iter().any(|utterance| utterance.audio.path == **path)) {
        Some(path) => {
            let reason = format!("no line for {}, which is beside it", path.display());
            Err(Place { path: transcript.to_owned(), line: 1 }.error(reason))
        }
        None => Ok(()),
    }
}
