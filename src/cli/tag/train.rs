//! `senone tag train`: tagged sequences to a tagger.

use std::path::{Path, PathBuf};

use clap::Args;
use senone::data::{ColumnFile, Layout, Sequence};
use senone::graph::GraphSpec;
use senone::tagging::{Learner, TagEvent, TagSet, TagSettings, TagTask, Template, train};
use senone::{Error, Result};

use super::super::{Outcome, say};
use super::open;

/// `senone tag train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Tagged sequences; - is standard input
    #[arg(value_name = "TRAIN")]
    training: PathBuf,

    /// How to learn: hmm, crf, perceptron or svm on the template's features; lstm, bilstm or tdnn alone, or one of them under
    /// the first two or the last, as in bilstm-crf
    #[arg(long, value_parser = learner)]
    learner: Learner,

    /// Where to write the tagger
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,

    /// Which features a token has [default: the lower-cased token]
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// Which tag may follow which [default: every tag every tag]
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,

    /// Settings of the learners, in TOML
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Tagged sequences to choose the best epoch by
    #[arg(long, value_name = "FILE")]
    development: Option<PathBuf>,

    /// The number that all randomness comes from [default: that of the settings, 0]
    #[arg(long)]
    seed: Option<u64>,

    /// Learn from the first N sequences only
    #[arg(long, value_name = "N")]
    first: Option<usize>,

    /// Say nothing but what was left out
    #[arg(long, short)]
    quiet: bool,
}

fn learner(name: &str) -> std::result::Result<Learner, String> {
    name.parse().map_err(|error: Error| error.to_string())
}

/// Trains, telling how it goes.
pub fn run(args: &TrainArgs) -> Result<Outcome> {
    let mut settings = args.settings.as_deref().map_or_else(|| Ok(TagSettings::default()), TagSettings::read)?;
    settings.seed = args.seed.unwrap_or(settings.seed);
    let template = args.template.as_deref().map_or_else(|| Ok(Template::default()), Template::read)?;
    let mut training = sequences(&args.training)?;
    training.truncate(args.first.unwrap_or(usize::MAX));
    let development = args.development.as_deref().map_or_else(|| Ok(Vec::new()), sequences)?;
    let tags = match &args.graph {
        Some(path) => TagSet::restricted(GraphSpec::read(path)?)?,
        None => TagSet::of(&training)?,
    };
    let mut left_out = 0;
    let task = TagTask { training: &training, development: &development, tags, template };
    let tagger = train(args.learner, task, &settings, &mut |event| {
        let is_fault = matches!(event, TagEvent::LeftOut(_));
        left_out += usize::from(is_fault);
        if is_fault || !args.quiet {
            say(&event);
        }
    })?;
    tagger.write(&args.output)?;
    say_left_out(left_out, &args.training);
    if !args.quiet {
        say(format_args!("{}: written", args.output.display()));
    }
    Ok(Outcome::Complete)
}

/// The good sequences of a file; the bad ones are told.
fn sequences(path: &Path) -> Result<Vec<Sequence>> {
    let file = ColumnFile::collect(path, open(path)?, Layout::Tagged)?;
    file.faults.iter().for_each(|fault| say(format_args!("left out: {fault}")));
    say_left_out(file.faults.len(), path);
    Ok(file.sequences)
}

/// How many sequences nothing was learnt from, if any.
fn say_left_out(count: usize, path: &Path) {
    match count {
        0 => {}
        1 => say(format_args!("{}: 1 sequence was left out", path.display())),
        _ => say(format_args!("{}: {count} sequences were left out", path.display())),
    }
}
