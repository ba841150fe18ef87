//! `senone manifest`: a corpus of any layout as the one table that people and other programs read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use senone::data::Manifest;
use senone::{Error, Result};

use super::read_corpus;

/// `senone manifest`
#[derive(Debug, Args)]
pub struct ManifestArgs {
    /// Folders with transcripts beside the audio, Kaldi data folders, LibriSpeech sets, parts of TIMIT, THCHS-30 or AISHELL-1,
    /// manifests
    #[arg(required = true, value_name = "CORPUS")]
    corpora: Vec<PathBuf>,
    /// Keep only these speakers: a file with their names, white space between
    #[arg(long, value_name = "FILE")]
    speakers: Option<PathBuf>,
}

/// The table.
///
/// # Errors
/// Those of [`read_corpus`]; when a name is given twice, and when a speaker to keep is not in the corpora.
pub fn run(args: &ManifestArgs) -> Result<String> {
    let mut all = Manifest {
        path: args.corpora.first().cloned().unwrap_or_default(),
        utterances: Vec::new(),
        notices: Vec::new(),
    };
    for path in &args.corpora {
        all.utterances.extend(read_corpus(path)?.utterances);
    }
    all.check_names()?;
    if let Some(file) = &args.speakers {
        keep(&mut all, file)?;
    }
    all.to_tsv()
}

/// Keeps the utterances of the speakers whom `file` names.
fn keep(all: &mut Manifest, file: &Path) -> Result<()> {
    let text = senone::input::text(file)?;
    let wanted: BTreeSet<&str> = text.split_whitespace().collect();
    let there = all.speakers();
    if let Some(missing) = wanted.iter().find(|speaker| !there.contains(*speaker)) {
        let reason = format!("speaker {missing} is not in {}", all.path.display());
        return Err(Error::Config { path: file.to_owned(), reason });
    }
    all.utterances.retain(|utterance| wanted.contains(utterance.speaker.as_str()));
    Ok(())
}
