//! A data folder of Kaldi: `wav.scp`, and `segments`, `text`, `utt2spk` where there are such; the names of utterances join them.
//!
//! Paths in `wav.scp` are relative to the folder that the program runs in, as for Kaldi, and where nothing is there, to the
//! data folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::files;
use super::super::manifest::{Place, Utterance};
use super::{one_line, pipe};
use crate::Result;
use crate::audio::{Channel, Clip, Stretch};

/// The file that makes a folder one of Kaldi.
pub(super) const RECORDINGS: &str = "wav.scp";

/// A line: a name and what belongs to it.
#[derive(Debug)]
struct Row {
    name: String,
    rest: String,
    place: Place,
}

/// Reads the folder, utterances in the order of `segments`, else of `wav.scp`.
pub(super) fn read(folder: &Path) -> Result<Vec<Utterance>> {
    let recordings = rows(folder, RECORDINGS)?.unwrap_or_default();
    let clips = recordings.iter().map(|row| recording(row, folder)).collect::<Result<Vec<_>>>()?;
    let (listed, utterances) = match rows(folder, "segments")? {
        None => (RECORDINGS, recordings.iter().zip(clips).map(|(row, clip)| bare(row, clip)).collect()),
        Some(segments) => {
            let clips = recordings.iter().map(|row| row.name.as_str()).zip(clips).collect();
            let cut = |row: &Row| segment(row, &clips).map(|clip| bare(row, clip));
            ("segments", segments.iter().map(cut).collect::<Result<Vec<_>>>()?)
        }
    };
    with_details(utterances, (folder, listed))
}

/// The lines of `folder/name`, `None` when there is no such file; a name that comes twice is an error.
fn rows(folder: &Path, name: &str) -> Result<Option<Vec<Row>>> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let (mut rows, mut lines) = (Vec::new(), BTreeMap::new());
    for (text, line) in files::read_text(&path)?.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty()) {
        let place = Place { path: path.clone(), line };
        let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        if let Some(first) = lines.insert(name.to_owned(), line) {
            return Err(place.error(format!("{name} is in line {first} already: names must differ")));
        }
        rows.push(Row { name: name.to_owned(), rest: rest.trim().to_owned(), place });
    }
    Ok(Some(rows))
}

/// What a line of `wav.scp` names.
fn recording(row: &Row, folder: &Path) -> Result<Clip> {
    let (path, channel) = pipe::source(&row.rest).map_err(|reason| row.place.error(reason))?;
    let beside = folder.join(&path);
    let path = if !path.exists() && beside.exists() { beside } else { path };
    Ok(Clip { path, channel, stretch: None })
}

/// A line of `segments`: recording, start, end, and where a recording has several, the channel from 0 on. An end of -1 is that of
/// the recording.
fn segment(row: &Row, recordings: &BTreeMap<&str, Clip>) -> Result<Clip> {
    let wrong = |reason: String| row.place.error(reason);
    let fields: Vec<&str> = row.rest.split_whitespace().collect();
    let ([recording, start, end] | [recording, start, end, _]) = fields[..] else {
        return Err(wrong(format!("'{}': expected `recording start end`, times in seconds", row.rest)));
    };
    let clip =
        recordings.get(recording).ok_or_else(|| wrong(format!("recording {recording} is not in {RECORDINGS}")))?;
    let seconds =
        |field: &str| field.parse::<f64>().map_err(|_| wrong(format!("'{field}': expected a time in seconds")));
    let (start_seconds, end_seconds) = (seconds(start)?, Some(seconds(end)?).filter(|&end| end != -1.0));
    let stretch = Stretch { start_seconds, end_seconds };
    stretch.check().map_err(wrong)?;
    let channel = match fields.get(3) {
        None => clip.channel,
        Some(field) => {
            Channel::Only(field.parse().map_err(|_| wrong(format!("channel '{field}': expected 0, 1, ...")))?)
        }
    };
    Ok(Clip { path: clip.path.clone(), channel, stretch: Some(stretch) })
}

/// An utterance of which nothing but the audio is known.
fn bare(row: &Row, audio: Clip) -> Utterance {
    let (name, place) = (row.name.clone(), row.place.clone());
    Utterance { speaker: name.clone(), name, audio, seconds: None, words: None, phones: None, place }
}

/// Adds what `text` and `utt2spk` say of the utterances that the file `listed` has.
fn with_details(mut utterances: Vec<Utterance>, (folder, listed): (&Path, &str)) -> Result<Vec<Utterance>> {
    let index: BTreeMap<String, usize> = utterances.iter().map(|one| one.name.clone()).zip(0..).collect();
    let find = |row: &Row| {
        let unknown =
            || row.place.error(format!("utterance {} is not in {listed}: leave it out or add it there", row.name));
        index.get(&row.name).copied().ok_or_else(unknown)
    };
    for row in rows(folder, "text")?.unwrap_or_default() {
        let utterance = &mut utterances[find(&row)?];
        utterance.words = one_line(&row.rest);
        utterance.place = row.place;
    }
    let speakers = rows(folder, "utt2spk")?.unwrap_or_default();
    for row in &speakers {
        let speaker = one_line(&row.rest).ok_or_else(|| row.place.error("no speaker after the utterance"))?;
        utterances[find(row)?].speaker = speaker;
    }
    let named: BTreeSet<&str> = speakers.iter().map(|row| row.name.as_str()).collect();
    match utterances.iter().find(|utterance| !named.is_empty() && !named.contains(&*utterance.name)) {
        Some(utterance) => Err(utterance.place.error(format!("utterance {} is not in utt2spk", utterance.name))),
        None => Ok(utterances),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    fn read_text(files: &[(&str, &str)]) -> std::result::Result<Vec<Utterance>, String> {
        let folder = folder(files);
        let path = format!("{}/", folder.path().display());
        read(folder.path()).map_err(|error| error.to_string().replace(&path, ""))
    }

    #[test]
    fn recordings_are_utterances() {
        let found = read_text(&[
            ("wav.scp", "a1 /x/a1.flac\nb1 sph2pipe -f wav -c 2 /x/b.sph |\nc1 c1.wav\n"),
            ("text", "b1 hello  there \na1\n"),
            ("utt2spk", "a1 a\nb1 b\nc1 c\n"),
            ("c1.wav", ""),
        ])
        .unwrap();
        let [a, b, c] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*a.name, &*a.speaker, &a.words, &a.audio), ("a1", "a", &None, &Clip::whole("/x/a1.flac")));
        assert_eq!((&*b.speaker, b.words.as_deref(), b.place.line), ("b", Some("hello there"), 1));
        assert_eq!(b.audio, Clip { channel: Channel::Only(1), ..Clip::whole("/x/b.sph") });
        assert!(c.audio.path.is_absolute() && c.audio.path.ends_with("c1.wav"), "{:?}", c.audio);
    }

    #[test]
    fn segments_are_stretches() {
        let found = read_text(&[
            ("wav.scp", "r cat /x/r.wav |\n"),
            ("segments", "r-1 r 0.5 1.25\nr-2 r 1.5 -1\nr-3 r 2 3 1\n"),
            ("text", "r-1 one\nr-2 two\nr-3 three\n"),
        ])
        .unwrap();
        let stretch = |start_seconds, end_seconds| Some(Stretch { start_seconds, end_seconds });
        let clips: Vec<_> = found.iter().map(|utterance| (utterance.audio.stretch, utterance.audio.channel)).collect();
        let expected = [
            (stretch(0.5, Some(1.25)), Channel::Mix),
            (stretch(1.5, None), Channel::Mix),
            (stretch(2.0, Some(3.0)), Channel::Only(1)),
        ];
        assert_eq!(clips, expected);
        assert!(found.iter().all(|utterance| utterance.speaker == utterance.name));
    }

    #[test]
    fn errors_name_the_line() {
        let scp = ("wav.scp", "r r.wav\ns s.wav\n");
        let cases: [(&[(&str, &str)], &str); 8] = [
            (&[("wav.scp", "r r.wav\nr s.wav\n")], "wav.scp:2: r is in line 1 already"),
            (&[("wav.scp", "r ffmpeg -i r.mp4 |\n")], "wav.scp:1: "),
            (&[scp, ("segments", "a r 1\n")], "segments:1: 'r 1': expected `recording start end`"),
            (&[scp, ("segments", "a q 1 2\n")], "segments:1: recording q is not in wav.scp"),
            (&[scp, ("segments", "a r 2 1\n")], "segments:1: a stretch from 2 to 1 s: expected"),
            (&[scp, ("segments", "a r 1 2\n"), ("text", "a one\nr two\n")], "text:2: utterance r is not in segments"),
            (&[scp, ("utt2spk", "r\n")], "utt2spk:1: no speaker after"),
            (&[scp, ("utt2spk", "r a\n")], "wav.scp:2: utterance s is not in utt2spk"),
        ];
        for (files, message) in cases {
            let found = read_text(files).unwrap_err();
            assert!(found.starts_with(message), "{found}");
        }
    }

    #[test]
    fn paths_are_those_of_the_current_folder_first() {
        let folder = folder(&[("wav.scp", "m Cargo.toml\n"), ("Cargo.toml", "")]);
        assert_eq!(read(folder.path()).unwrap()[0].audio.path, PathBuf::from("Cargo.toml"));
    }
}
