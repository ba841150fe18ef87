//! What to decode: files, folders, manifests, standard input.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use senone::audio::{self, Audio, AudioOptions};
use senone::data::manifest::Manifest;
use senone::{Error, Result};

use super::folder;

/// One recording to decode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Name in the output: the manifest's, else the file's stem.
    pub utterance: String,
    /// The file, or `-` for standard input.
    pub path: PathBuf,
}

impl Input {
    /// Reads the recording.
    pub fn read(&self, options: &AudioOptions) -> Result<Audio> {
        if self.path != Path::new("-") {
            return audio::read(&self.path, options);
        }
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|source| Error::io("read", &self.path, source))?;
        audio::read_bytes(&self.path, bytes, options)
    }
}

/// Every recording that `arguments` name, in their order; files of a folder by name.
pub fn expand(arguments: &[PathBuf]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for argument in arguments {
        if argument.is_dir() {
            let files = folder::files(argument, audio::is_audio_name, "audio files")?;
            inputs.extend(files.iter().map(|file| from_file(file)));
        } else if argument.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv")) {
            let listed = Manifest::read(argument)?.utterances;
            inputs.extend(listed.into_iter().map(|line| Input { utterance: line.name, path: line.audio }));
        } else {
            inputs.push(from_file(argument));
        }
    }
    Ok(inputs)
}

fn from_file(path: &Path) -> Input {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let utterance = if path == Path::new("-") { "stdin".to_owned() } else { stem.into_owned() };
    Input { utterance, path: path.to_owned() }
}

/// Refuses inputs whose outputs would have one name; `output` makes it of the utterance's, where it matters.
pub fn check_names(inputs: &[Input], output: impl Fn(&str) -> Option<String>) -> Result<()> {
    let mut seen: BTreeMap<String, &Path> = BTreeMap::new();
    for input in inputs {
        let Some(name) = output(&input.utterance) else { continue };
        if let Some(other) = seen.insert(name.clone(), &input.path) {
            return Err(Error::Other(format!(
                "{} and {} would both be written as {name}: decode them in separate runs, or name them in a manifest",
                other.display(),
                input.path.display(),
            )));
        }
    }
    Ok(())
}
