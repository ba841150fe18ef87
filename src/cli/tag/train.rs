//! `senone tag train`: tagged sequences to a tagger.

use std::path::{Path, PathBuf};

use clap::Args;
use senone::data::{ColumnFile, Layout, Sequence};
use senone::graph::GraphSpec;
use senone::tagging::{Learner, TagEvent, TagSet, TagSettings, TagSplit, TagTask, Template, train};
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

    /// Settings of the learners, in TOML (docs/tagging.md lists them)
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Tagged sequences to choose the best epoch by
    #[arg(long, value_name = "FILE")]
    development: Option<PathBuf>,

    /// The number that all randomness comes from [default: that of the settings, 0]
    #[arg(long)]
    seed: Option<u64>,

    /// Learn from the first N sequences only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,

    /// Say nothing but what was left out or fell short
    #[arg(long, short)]
    quiet: bool,
}

fn learner(name: &str) -> std::result::Result<Learner, String> {
    name.parse().map_err(|error: Error| error.to_string())
}

/// Trains, telling how it goes.
pub fn run(args: &TrainArgs) -> Result<Outcome> {
    check_output(args)?;
    let mut settings = args.settings.as_deref().map_or_else(|| Ok(TagSettings::default()), TagSettings::read)?;
    settings.seed = args.seed.unwrap_or(settings.seed);
    let template = args.template.as_deref().map_or_else(|| Ok(Template::default()), Template::read)?;
    let development_path = args.development.as_deref();
    if args.training == Path::new("-") && development_path == Some(Path::new("-")) {
        return Err(Error::Other("TRAIN and --development are both -, standard input: name a file for one".into()));
    }
    let (mut training, mut bad) = sequences(&args.training)?;
    training.truncate(args.first.map_or(usize::MAX, |first| first.try_into().unwrap_or(usize::MAX)));
    let (development, mut bad_others) = development_path.map_or_else(|| Ok((Vec::new(), 0)), sequences)?;
    let tags = match &args.graph {
        Some(path) => TagSet::restricted(GraphSpec::read(path)?)?,
        None => TagSet::of(&training)?,
    };
    let task = TagTask { training: &training, development: &development, tags, template };
    let trained = train(args.learner, task, &settings, &mut |event| {
        match event {
            TagEvent::LeftOut { set: TagSplit::Training, .. } => bad += 1,
            TagEvent::LeftOut { set: TagSplit::Development, .. } => bad_others += 1,
            _ => {}
        }
        if !args.quiet || matches!(event, TagEvent::LeftOut { .. } | TagEvent::Warning(_)) {
            say(&event);
        }
    });
    say_left_out(bad, &args.training);
    development_path.into_iter().for_each(|path| say_left_out(bad_others, path));
    trained?.write(&args.output)?;
    if !args.quiet {
        say(format_args!("{}: written", args.output.display()));
    }
    Ok(Outcome::Complete)
}

/// Whether the tagger can be written where it shall be, told before training costs time.
fn check_output(args: &TrainArgs) -> Result<()> {
    let output = &args.output;
    let inputs = [
        Some(&args.training),
        args.template.as_ref(),
        args.graph.as_ref(),
        args.settings.as_ref(),
        args.development.as_ref(),
    ];
    let place = std::fs::canonicalize(output).ok();
    let is_output = |input: &&PathBuf| place.is_some() && std::fs::canonicalize(input).ok() == place;
    if let Some(input) = inputs.into_iter().flatten().find(is_output) {
        return Err(Error::Other(format!(
            "{}: both read and written to, as --output: name another file",
            input.display()
        )));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() && !output.is_dir() {
        true => Ok(()),
        false if output.is_dir() => {
            Err(Error::Other(format!("{}: a folder, expected the name of a file to write", output.display())))
        }
        false => {
            Err(Error::Other(format!("{}: cannot write: there is no folder {}", output.display(), folder.display())))
        }
    }
}

/// The good sequences of a file, and how many bad ones were told.
fn sequences(path: &Path) -> Result<(Vec<Sequence>, usize)> {
    let file = ColumnFile::collect(path, open(path)?, Layout::Tagged)?;
    file.faults.iter().for_each(|fault| say(format_args!("left out: {fault}")));
    Ok((file.sequences, file.faults.len()))
}

/// How many sequences nothing was learnt from, if any.
fn say_left_out(count: usize, path: &Path) {
    match count {
        0 => {}
        1 => say(format_args!("{}: 1 sequence was left out", path.display())),
        _ => say(format_args!("{}: {count} sequences were left out", path.display())),
    }
}
