//! `senone train`: recordings and their words to a model.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use senone::Result;
use senone::bundle::Bundle;
use senone::train::{self, TrainConfig};

use super::{Outcome, say};

/// `senone train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Settings of the run (train.toml)
    settings: PathBuf,
    /// Folder that manifests and lexicon are relative to [default: the folder of the settings]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Model to start from: its network is trained on and makes the first alignment, in place of [gmm]
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Folder for intermediate results; a run that was stopped goes on from there
    #[arg(long, value_name = "DIR", default_value = "work")]
    work: PathBuf,
    /// Folder for the model
    #[arg(long, value_name = "DIR", default_value = "model")]
    output: PathBuf,
}

/// Trains, telling how it goes.
pub fn run(args: &TrainArgs) -> Result<Outcome> {
    let config = TrainConfig::read(&args.settings, args.data.as_deref())?;
    let first = args.from.as_deref().map(Bundle::open).transpose()?;
    let clock = Instant::now();
    let bundle = train::train(&config, first.as_ref(), &args.work, &mut |event| {
        let seconds = clock.elapsed().as_secs();
        say(format_args!("[{:3}:{:02}] {event}", seconds / 60, seconds % 60));
    })?;
    bundle.save(&args.output)?;
    say(format_args!("{}: written", args.output.display()));
    Ok(Outcome::Complete)
}
