//! `senone validate`: what is wrong with corpora.

use std::path::PathBuf;

use clap::Args;
use senone::Result;
use senone::data::validate::{ValidationOptions, validate};
use senone::graph::lexicon::Lexicon;

use super::{Outcome, print, read_corpus};

/// `senone validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Manifests (.tsv), or corpora of another layout: folders with transcripts beside the audio, Kaldi data folders,
    /// LibriSpeech, TIMIT, THCHS-30, AISHELL-1
    #[arg(required = true, value_name = "CORPUS")]
    corpora: Vec<PathBuf>,
    /// Pronunciations, to find unknown words; `pinyin` finds what is no pinyin
    #[arg(long, value_name = "FILE")]
    lexicon: Option<PathBuf>,
}

/// Prints the report; the exit status says whether all is well.
pub fn run(args: &ValidateArgs) -> Result<Outcome> {
    let manifests = args.corpora.iter().map(|path| read_corpus(path)).collect::<Result<Vec<_>>>()?;
    let lexicon = args.lexicon.as_deref().map(Lexicon::read).transpose()?;
    let report = validate(&manifests, lexicon.as_ref(), &ValidationOptions::default());
    print(&format!("{report}\n"))?;
    Ok(if report.is_clean() { Outcome::Complete } else { Outcome::Partial })
}
