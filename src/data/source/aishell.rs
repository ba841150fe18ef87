//! AISHELL-1 (Bu et al. 2017): `wav/{train,dev,test}/SPEAKER/NAME.wav`, and the words of all in `transcript/aishell_transcript_v0.8.txt`.
//! Recordings that it does not list, of which there are some hundred, are left out and counted, as everybody does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::files::{self, folder_name, stem};
use super::super::manifest::{Place, Utterance};
use super::{one_line, one_part};
use crate::Result;
use crate::audio::{Clip, is_audio_name};

/// Where the corpus has its transcripts.
const TRANSCRIPT: &str = "transcript/aishell_transcript_v0.8.txt";

/// The transcripts of the corpus that `folder` is, or is a part of.
pub(super) fn transcript(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    // The root, wav, train, a speaker.
    folder.ancestors().take(4).map(|root| root.join(TRANSCRIPT)).find(|path| path.is_file())
}

/// Reads a part of the corpus, whose words are in the file `transcript`; how many recordings it does not list goes to `notices`.
pub(super) fn read(part: &Path, transcript: &Path, notices: &mut Vec<String>) -> Result<Vec<Utterance>> {
    let audio = files::files(part, is_audio_name, "audio files")?;
    one_part(part, &audio)?;
    let lines = lines(transcript)?;
    let said = |path: &PathBuf| lines.get(&stem(path)).map(|(words, place)| utterance(path, words, place));
    let utterances: Vec<Utterance> = audio.iter().filter_map(said).collect();
    if utterances.len() < audio.len() {
        let (path, missing, all) = (part.display(), audio.len() - utterances.len(), audio.len());
        let file = transcript.file_name().unwrap_or_default().to_string_lossy();
        notices.push(format!("{path}: {missing} of {all} recordings are not in {file} and are left out"));
    }
    match utterances.is_empty() {
        true => {
            let place = Place { path: transcript.to_owned(), line: 1 };
            Err(place.error(format!("no line for any recording below {}", part.display())))
        }
        false => Ok(utterances),
    }
}

fn utterance(path: &Path, words: &str, place: &Place) -> Utterance {
    Utterance {
        name: stem(path),
        speaker: folder_name(path),
        audio: Clip::whole(path),
        seconds: None,
        words: one_line(words),
        phones: None,
        place: place.clone(),
    }
}

/// The words of each utterance and their place, by its name.
fn lines(transcript: &Path) -> Result<BTreeMap<String, (String, Place)>> {
    let mut lines: BTreeMap<String, (String, Place)> = BTreeMap::new();
    for (text, line) in files::read_text(transcript)?.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty()) {
        let place = Place { path: transcript.to_owned(), line };
        let (name, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        if let Some((_, first)) = lines.get(name) {
            return Err(place.error(format!("{name} is in line {} already: names must differ", first.line)));
        }
        lines.insert(name.to_owned(), (words.to_owned(), place));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn recordings_without_a_line_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("data_aishell/wav/train");
        std::fs::create_dir_all(part.join("S0002")).unwrap();
        std::fs::create_dir_all(folder.path().join("data_aishell/transcript")).unwrap();
        for name in ["A1", "A2", "A3"] {
            std::fs::write(part.join(format!("S0002/{name}.wav")), "").unwrap();
        }
        let list =
            |lines: &str| std::fs::write(folder.path().join("data_aishell").join(super::TRANSCRIPT), lines).unwrap();
        list("A1 你 好\nA3 好\n");
        let corpus = read(&part).unwrap();
        assert_eq!(corpus.utterances.len(), 2);
        let reason = "1 of 3 recordings are not in aishell_transcript_v0.8.txt and are left out";
        assert_eq!(corpus.notices, [format!("{}: {reason}", part.display())]);
        list("A1 你 好\nA2 你\nA3 好\n");
        assert!(read(&part).unwrap().notices.is_empty());
    }
}
