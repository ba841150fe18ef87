//! THCHS-30 (Wang & Zhang 2015): in `train`, `dev` and `test` for each `NAME.wav` a `NAME.wav.trn` that names the transcript,
//! `../data/NAME.wav.trn`; there, line 1 is words, line 2 toned pinyin, line 3 initials and finals. The speaker is what is before `_`.

use std::path::{Path, PathBuf};

use super::super::files::{self, ends_with, stem};
use super::super::manifest::{Place, Utterance};
use super::{one_line, one_part};
use crate::audio::Clip;
use crate::{Error, Result};

/// Whether the file at `path` is a transcript, or names one.
pub(super) fn is_transcript(path: &Path) -> bool {
    ends_with(path, ".wav.trn")
}

/// Reads a part of the corpus.
pub(super) fn read(part: &Path) -> Result<Vec<Utterance>> {
    let all = files::files(part, is_transcript, ".wav.trn files")?;
    one_part(part, &all)?;
    all.iter().map(|transcript| utterance(transcript)).collect()
}

fn utterance(listed: &Path) -> Result<Utterance> {
    let audio = listed.with_extension("");
    if !audio.is_file() {
        let reason = format!("no {} is beside it", audio.file_name().unwrap_or_default().to_string_lossy());
        return Err(Place { path: listed.to_owned(), line: 1 }.error(reason));
    }
    let (path, text) = transcript(listed)?;
    let lines: Vec<&str> = text.lines().collect();
    let [words, _, phones, ..] = lines[..] else {
        let reason = format!("{} lines: expected words, pinyin, and initials and finals", lines.len());
        return Err(Error::TextFile { path, line: lines.len().max(1), reason });
    };
    let name = stem(&audio);
    let speaker = name.split('_').next().unwrap_or(&name).to_owned();
    let phones = Some(phones.split_whitespace().map(spelled).collect());
    let (audio, place) = (Clip::whole(audio), Place { path, line: 3 });
    Ok(Utterance { name, speaker, audio, seconds: None, words: one_line(words), phones, place })
}

/// `phone` as the lexicons spell it: the vowel of ri, where a transcript has `iz` for it, is that of zhi.
fn spelled(phone: &str) -> String {
    phone.strip_prefix("iz").map_or_else(|| phone.to_owned(), |tone| format!("ix{tone}"))
}

/// The transcript that is at `listed`, or that the one line there names.
fn transcript(listed: &Path) -> Result<(PathBuf, String)> {
    let text = files::read_text(listed)?;
    let pointed = text.trim();
    match ends_with(Path::new(pointed), ".trn") && !pointed.contains('\n') {
        false => Ok((listed.to_owned(), text)),
        true => {
            let path = listed.parent().unwrap_or(Path::new("")).join(pointed);
            let missing = || Place { path: listed.to_owned(), line: 1 }.error(format!("{pointed} is not there"));
            if path.is_file() { files::read_text(&path).map(|text| (path, text)) } else { Err(missing()) }
        }
    }
}
