//! `senone train`: recordings and their words to a model.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use senone::Result;
use senone::bundle::Bundle;
use senone::train::{self, Earlier, TrainConfig, Work};

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
    start: Option<PathBuf>,
    /// Folder for intermediate results and the log of training
    #[arg(long, value_name = "DIR", default_value = "work")]
    work: PathBuf,
    /// Go on from what a run that was stopped has left in the work folder
    #[arg(long)]
    resume: bool,
    /// Folder for the model
    #[arg(long, value_name = "DIR", default_value = "model")]
    output: PathBuf,
}

/// Trains, telling how it goes.
pub fn run(args: &TrainArgs) -> Result<Outcome> {
    let config = TrainConfig::read(&args.settings, args.data.as_deref())?;
    let first = args.start.as_deref().map(Bundle::open).transpose()?;
    let clock = Instant::now();
    let work = Work { folder: &args.work, earlier: if args.resume { Earlier::Resumed } else { Earlier::Refused } };
    let bundle = train::train(&config, first.as_ref(), work, &mut |event| say(event.at(clock.elapsed())))?;
    bundle.save(&args.output)?;
    say(format_args!("{}: written", args.output.display()));
    Ok(Outcome::Complete)
}
