//! What to decode or align: files, folders, manifests, standard input.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use senone::audio::{self, Audio, AudioOptions, Channel, Clip};
use senone::data::manifest::Utterance;
use senone::data::source::{self, Layout};
use senone::{Error, Result};

use super::read_corpus;

/// One recording to decode.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Name in the output: the manifest's, else the file's stem.
    pub utterance: String,
    /// Where it is heard; the path `-` is standard input.
    pub audio: Clip,
}

impl Input {
    /// Reads the recording; `channel` takes the place of the one that a manifest names.
    pub fn read(&self, sample_rate_hz: u32, channel: Option<Channel>) -> Result<Audio> {
        let path = self.path();
        if !self.is_stdin() {
            let channel = channel.unwrap_or(self.audio.channel);
            return Clip { channel, ..self.audio.clone() }.read(sample_rate_hz);
        }
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|source| Error::io("read", path, source))?;
        let options = AudioOptions { sample_rate_hz, channel: channel.unwrap_or_default() };
        audio::read_bytes(path, bytes, &options)
    }

    /// The recording as an utterance of which nothing is known but the audio.
    pub fn utterance(&self) -> Utterance {
        Utterance::bare(&self.utterance, self.audio.clone())
    }

    /// Whether it is read from standard input.
    pub fn is_stdin(&self) -> bool {
        self.path() == Path::new("-")
    }

    /// The file, or `-` for standard input.
    pub fn path(&self) -> &Path {
        &self.audio.path
    }
}

/// Every recording that `arguments` name, in their order; files of a folder by name. No transcript is asked for.
pub fn expand(arguments: &[PathBuf]) -> Result<Vec<Input>> {
    let input = |found| match found {
        Found::File(input) => input,
        Found::Line(line) => Input { utterance: line.name, audio: line.audio },
    };
    Ok(walk(arguments)?.into_iter().map(input).collect())
}

/// A recording, and what is said in it as far as that can be read.
pub type Transcribed = (Input, Result<Utterance>);

/// Every recording that `arguments` name with what is said in it; one whose transcript cannot be read does not keep the others back.
pub fn transcribed(arguments: &[PathBuf]) -> Result<Vec<Transcribed>> {
    let with_text = |found| match found {
        Found::File(input) => beside(input),
        Found::Line(line) => (Input { utterance: line.name.clone(), audio: line.audio.clone() }, Ok(line)),
    };
    Ok(walk(arguments)?.into_iter().map(with_text).collect())
}

/// What an argument, or something in it, is.
enum Found {
    /// A file by itself, whose transcript, if there is one, lies beside it.
    File(Input),
    /// An utterance of a corpus that says of each what it is.
    Line(Utterance),
}

/// All that `arguments` name, in their order; what corpora have to tell is said.
fn walk(arguments: &[PathBuf]) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for argument in arguments {
        let is_manifest = argument.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
        if argument.is_dir() && source::layout(argument)? == Layout::Folder {
            let found = source::recordings(argument)?.into_iter();
            all.extend(found.map(|(utterance, path)| Found::File(Input { utterance, audio: Clip::whole(path) })));
        } else if argument.is_dir() || is_manifest {
            all.extend(read_corpus(argument)?.utterances.into_iter().map(Found::Line));
        } else {
            all.push(Found::File(from_file(argument)));
        }
    }
    Ok(all)
}

/// `input` with the transcript that lies beside it.
fn beside(input: Input) -> Transcribed {
    let said = source::beside(&input.utterance, input.path());
    (input, said)
}

fn from_file(path: &Path) -> Input {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let utterance = if path == Path::new("-") { "stdin".to_owned() } else { stem.into_owned() };
    Input { utterance, audio: Clip::whole(path) }
}

/// Refuses inputs whose outputs would have one name; `output` makes it of the utterance's, where it matters.
pub fn check_names<'a>(
    inputs: impl IntoIterator<Item = &'a Input>,
    output: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    let mut seen: BTreeMap<String, &Path> = BTreeMap::new();
    for input in inputs {
        let Some(name) = output(&input.utterance) else { continue };
        if let Some(other) = seen.insert(name.clone(), input.path()) {
            return Err(Error::Other(format!(
                "{} and {} would both be written as {name}: take them in separate runs, or name them in a manifest",
                other.display(),
                input.path().display(),
            )));
        }
    }
    Ok(())
}
