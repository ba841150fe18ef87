//! What to decode or align: files, folders, manifests, standard input.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use senone::audio::{self, Audio, AudioOptions, Bytes, Channel, Clip, Reader};
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

    /// Opens the recording to be read block by block; `channel` takes the place of the one that a manifest names.
    pub fn open(&self, sample_rate_hz: u32, channel: Option<Channel>) -> Result<Reader> {
        let channel = channel.unwrap_or(self.audio.channel);
        let options = AudioOptions { sample_rate_hz, channel };
        let reader = match self.is_stdin() {
            true => Reader::new(self.path(), self.bytes()?, &options),
            false => Reader::open(self.path(), &options),
        };
        Ok(reader?.within(self.audio.stretch))
    }

    /// Opens samples without a header, `raw_hz` of them a second.
    pub fn open_raw(&self, (raw_hz, sample_rate_hz): (u32, u32)) -> Result<Reader> {
        let options = AudioOptions { sample_rate_hz, channel: Channel::Mix };
        Reader::raw(self.path(), self.bytes()?, (raw_hz, &options))
    }

    fn bytes(&self) -> Result<Bytes> {
        match self.is_stdin() {
            true => Ok(Box::new(std::io::stdin())),
            false => {
                let file = std::fs::File::open(self.path());
                Ok(Box::new(file.map_err(|source| Error::io("read", self.path(), source))?))
            }
        }
    }

    /// The recording as an utterance of which nothing is known but the audio.
    pub fn utterance(&self) -> Utterance {
        Utterance::bare(&self.utterance, self.audio.clone())
    }

    /// The file and, where it has a name of its own, the utterance: what is told of it begins with this.
    pub fn place(&self) -> String {
        let path = self.path().display();
        match self.is_stdin() || self.path().file_stem().is_some_and(|stem| stem.to_string_lossy() == self.utterance) {
            true => path.to_string(),
            false => format!("{path}: {}", self.utterance),
        }
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

/// Refuses an output file that would replace what lies beside its own recording, which may be its transcript; `output` is where the
/// utterance's output goes, if that is a file.
pub fn check_beside<'a>(
    inputs: impl IntoIterator<Item = &'a Input>,
    output: impl Fn(&str) -> Option<PathBuf>,
) -> Result<()> {
    let folder = |path: &Path| path.parent().and_then(|parent| parent.join(".").canonicalize().ok());
    for input in inputs.into_iter().filter(|input| !input.is_stdin()) {
        let Some(file) = output(&input.utterance).filter(|file| file.exists()) else { continue };
        if folder(&file).is_some_and(|own| folder(input.path()) == Some(own)) {
            return Err(Error::Other(format!(
                "{}: lies beside the recording {} and would be replaced: name another folder, or remove it first",
                file.display(),
                input.path().display()
            )));
        }
    }
    Ok(())
}

/// Refuses a file to be written, `option` names it, that is one of the files that are read, or a folder, or in no folder.
pub fn check_table(path: &Path, option: &str, mut read: impl Iterator<Item = PathBuf>) -> Result<()> {
    let wrong = |reason: &str| Err(Error::Other(format!("{option} {}: {reason}", path.display())));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return wrong("is a folder, expected the name of a file to write");
    }
    if !folder.is_dir() {
        return wrong("its folder does not exist: make it first");
    }
    let is_same = |other: PathBuf| path.canonicalize().is_ok_and(|own| other.canonicalize().is_ok_and(|it| it == own));
    match read.any(is_same) {
        true => wrong("is one of the files that are read and would be replaced: name another"),
        false => Ok(()),
    }
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
