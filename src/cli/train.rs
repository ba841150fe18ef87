//! `senone train`: recordings and their transcripts to a model.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use senone::bundle::Bundle;
use senone::formats::atomic::stage;
use senone::graph::lexicon::Lexicon;
use senone::network::Device;
use senone::train::{self, DEVELOPMENT, DraftRequest, Earlier, Origin, TrainConfig, Work};
use senone::{Error, Result};

use super::{Outcome, say, tune};

/// Train a model from recordings and their transcripts
///
/// CORPUS is a folder of audio with a .txt, .lab or .TextGrid beside each file, a Kaldi data folder, a LibriSpeech set, a part of
/// TIMIT, or a manifest (.tsv). Settings then follow from the data; they are written to train.toml in the work folder, to
/// change and train with. The model is tuned on a tenth of the speakers that is held out.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Corpora to learn from, or the settings of a run (train.toml)
    #[arg(required = true, value_name = "CORPUS|SETTINGS")]
    sources: Vec<PathBuf>,
    /// Pronunciations of the words [default: every token of a transcript is a phone]
    #[arg(long, value_name = "DICT")]
    lexicon: Option<PathBuf>,
    /// Corpus to tune on, in place of speakers held out; may be repeated
    #[arg(long, value_name = "CORPUS")]
    development: Vec<PathBuf>,
    /// Model to start from: its network makes the first alignment and is trained on. `built-in` is the English one
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Model whose hidden layers the network begins with, under an output layer for the phones of this run, which may be those of
    /// another language. Layers of another shape than the model's begin anew and are named. `built-in` is the English one
    #[arg(long, value_name = "MODEL", conflicts_with = "from")]
    hidden_from: Option<PathBuf>,
    /// The number that all randomness comes from [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder that the paths of the settings are relative to [default: the folder of the settings]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder for intermediate results and the log of training
    #[arg(long, value_name = "DIR", default_value = "work")]
    work: PathBuf,
    /// Go on from what a run that was stopped has left in the work folder
    #[arg(long)]
    resume: bool,
    /// What computes the network's gradients; cuda and metal need a senone built with the Cargo feature of that name
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceKind,
    /// Folder for the model
    #[arg(long, value_name = "DIR", default_value = "model")]
    output: PathBuf,
}

/// A [`Device`] by its name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DeviceKind {
    Cpu,
    Cuda,
    Metal,
}

impl DeviceKind {
    fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::cpu()),
            Self::Cuda => Device::cuda(),
            Self::Metal => Device::metal(),
        }
    }
}

/// Trains, telling how it goes.
pub fn run(args: &TrainArgs) -> Result<Outcome> {
    let device = args.device.open()?;
    let first = args.from.as_deref().or(args.hidden_from.as_deref()).map(open).transpose()?;
    let origin = first.as_ref().map(if args.from.is_some() { Origin::Model } else { Origin::HiddenLayers });
    let read = |settings| TrainConfig::read(settings, args.data.as_deref());
    let config = settings(args)?.map(read).transpose()?;
    make_folder(&args.output)?;
    let bundle = match &config {
        Some(config) => trained(config, origin, (args, &device))?,
        None => from_corpora(origin, (args, &device))?,
    };
    bundle.save(&args.output)?;
    say(format_args!("{}: written", args.output.display()));
    Ok(Outcome::Complete)
}

/// Makes the model's folder and tries to write a file there, which is dropped: better before training than after hours.
fn make_folder(output: &Path) -> Result<()> {
    if let Some(file) = output.ancestors().find(|place| place.exists()).filter(|place| !place.is_dir()) {
        return Err(Error::Other(format!("{}: a file, expected a folder for the model, as --output", file.display())));
    }
    std::fs::create_dir_all(output).map_err(|source| Error::io("create", output, source))?;
    stage(&output.join("bundle.toml"), |_| Ok(())).map(drop)
}

fn open(model: &Path) -> Result<Bundle> {
    if model == Path::new("built-in") { Bundle::builtin() } else { Bundle::open(model) }
}

/// The settings file, if one is named; what settings say is then not said by other arguments.
fn settings(args: &TrainArgs) -> Result<Option<&Path>> {
    let is_settings =
        |path: &&PathBuf| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let told = [
        ("--lexicon", args.lexicon.is_some()),
        ("--development", !args.development.is_empty()),
        ("--seed", args.seed.is_some()),
        ("a second CORPUS", args.sources.len() > 1),
    ];
    let other = |(what, _)| format!("{what} is for runs without settings: say it in the settings");
    match args.sources.iter().find(is_settings) {
        Some(path) => match told.into_iter().find(|(_, is_given)| *is_given) {
            Some(told) => Err(Error::Config { path: path.clone(), reason: other(told) }),
            None => Ok(Some(path)),
        },
        None if args.data.is_some() => {
            Err(Error::Other("--data is for runs with settings: write the whole paths".into()))
        }
        None => Ok(None),
    }
}

/// Drafts settings, trains by them, and tunes.
fn from_corpora(origin: Option<Origin<'_>>, (args, device): (&TrainArgs, &Device)) -> Result<Bundle> {
    let name = args.output.file_name().unwrap_or_default().to_string_lossy();
    let request = DraftRequest {
        corpora: &args.sources,
        development: &args.development,
        lexicon: args.lexicon.as_deref(),
        origin,
        name: &name,
        seed: args.seed.unwrap_or(1),
    };
    let path = train::draft(&request, &args.work)?;
    say(format_args!("{}: settings as the data suggest them", path.display()));
    let config = TrainConfig::read(&path, None)?;
    let bundle = trained(&config, origin, (args, device))?;
    if !config.has_development() {
        say("not tuned: too little data to hold any out");
        return Ok(bundle);
    }
    let lexicon = config.lexicon.as_deref().map(Lexicon::read).transpose()?;
    tune::tuned_if_enough(bundle, &args.work.join(DEVELOPMENT), lexicon.as_ref())
}

fn trained(config: &TrainConfig, origin: Option<Origin<'_>>, (args, device): (&TrainArgs, &Device)) -> Result<Bundle> {
    let clock = Instant::now();
    let earlier = if args.resume { Earlier::Resumed } else { Earlier::Refused };
    let work = Work { folder: &args.work, earlier, device };
    train::train(config, origin, work, &mut |event| say(event.at(clock.elapsed())))
}
