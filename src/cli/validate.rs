//! `senone validate`: what is wrong with manifests.

use std::path::PathBuf;

use clap::Args;
use senone::Result;
use senone::data::manifest::Manifest;
use senone::data::validate::{ValidationOptions, validate};
use senone::graph::lexicon::Lexicon;

use super::{Outcome, print};

/// `senone validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Manifests (.tsv)
    #[arg(required = true, value_name = "MANIFEST")]
    manifests: Vec<PathBuf>,
    /// Pronunciations, to find unknown words
    #[arg(long, value_name = "FILE")]
    lexicon: Option<PathBuf>,
}

/// Prints the report; the exit status says whether all is well.
pub fn run(args: &ValidateArgs) -> Result<Outcome> {
    let manifests = args.manifests.iter().map(|path| Manifest::read(path)).collect::<Result<Vec<_>>>()?;
    let lexicon = args.lexicon.as_deref().map(Lexicon::read).transpose()?;
    let report = validate(&manifests, lexicon.as_ref(), &ValidationOptions::default());
    print(&format!("{report}\n"))?;
    Ok(if report.is_clean() { Outcome::Complete } else { Outcome::Partial })
}
