//! `senone tune`: scales and penalty of a model, chosen on development recordings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use senone::audio::{Audio, read_clips};
use senone::bundle::Bundle;
use senone::decode::posteriors;
use senone::emission::LogPosteriors;
use senone::graph::check;
use senone::graph::lexicon::Lexicon;
use senone::train::{Development, Held, Transcriber, fit_confidence, tune};
use senone::{Error, Result};

use super::{Outcome, read_corpus, say};

/// `senone tune`
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// The model's folder; its bundle.toml gets the settings found, and phones.arpa what --ngram names
    model: PathBuf,
    /// Development utterances, a manifest or a corpus of another layout: never the ones that the model is tested on
    #[arg(value_name = "CORPUS")]
    corpus: PathBuf,
    /// Pronunciations, for utterances without phones; without them every token of a transcript is a phone. `pinyin` drops the tones
    /// of phones, too
    #[arg(long, value_name = "FILE")]
    lexicon: Option<PathBuf>,
    /// Phone n-gram (ARPA) that becomes the model's
    #[arg(long, value_name = "FILE")]
    ngram: Option<PathBuf>,
    /// Hold the weight on log-priors at this; 0 is without priors
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior_scale: Option<f32>,
    /// Hold the weight on the phone n-gram at this; 0 is without it
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lm_scale: Option<f32>,
    /// Hold all settings of the search, and fit only the confidences
    #[arg(long, conflicts_with_all = ["ngram", "prior_scale", "lm_scale"])]
    only_confidence: bool,
}

/// Tunes and stores what was found.
pub fn run(args: &TuneArgs) -> Result<Outcome> {
    let held = Held { prior_scale: args.prior_scale, lm_scale: args.lm_scale };
    held.check()?;
    let bundle = Bundle::open(&args.model)?;
    let bundle = match &args.ngram {
        Some(path) => bundle.with_ngram(path)?,
        None => bundle,
    };
    let lexicon = args.lexicon.as_deref().map(Lexicon::read).transpose()?;
    let (bundle, set) = development(bundle, &args.corpus, lexicon.as_ref())?;
    let tuned = if args.only_confidence { confident(bundle, &set)? } else { tuned(bundle, &set, held)? };
    match args.ngram {
        Some(_) => tuned.save_search(&args.model)?,
        None => tuned.save_description(&args.model)?,
    }
    say(format_args!("{}: written", args.model.display()));
    Ok(Outcome::Complete)
}

/// Phones that settings are chosen on, at least; fewer say little of others.
const ENOUGH_PHONES: usize = 200;

/// `bundle` with the search settings that are best on `corpus`; with its own where that is too small to tell.
pub fn tuned_if_enough(bundle: Bundle, corpus: &Path, lexicon: Option<&Lexicon>) -> Result<Bundle> {
    let (bundle, set) = development(bundle, corpus, lexicon)?;
    let phones: usize = set.iter().flat_map(|utterance| &utterance.words).map(|word| word[0].len()).sum();
    if phones >= ENOUGH_PHONES {
        return tuned(bundle, &set, Held::default());
    }
    say(format_args!("not tuned: {phones} phones are held out, and {ENOUGH_PHONES} are needed"));
    Ok(bundle)
}

/// `bundle` with the search settings that are best on `set`, but for what is `held`.
fn tuned(bundle: Bundle, set: &[Development], held: Held) -> Result<Bundle> {
    let bundle = Arc::new(bundle);
    let tuned = tune(&bundle, set, held, &mut |event| say(event))?;
    let mut bundle = Arc::into_inner(bundle).ok_or_else(|| Error::Other("the model is still in use".into()))?;
    bundle.description.search = tuned.settings;
    bundle.description.scores.clear(); // they were of other settings
    say(format_args!("phone error {:.2} % on {} utterances", 100.0 * tuned.errors.rate(), set.len()));
    confident(bundle, set)
}

/// `bundle` with confidences that are right on `set`.
fn confident(bundle: Bundle, set: &[Development]) -> Result<Bundle> {
    let bundle = Arc::new(bundle);
    let fitted = fit_confidence(&bundle, set)?;
    let mut bundle = Arc::into_inner(bundle).ok_or_else(|| Error::Other("the model is still in use".into()))?;
    bundle.description.confidence = fitted.settings;
    fitted.calibration.iter().for_each(|calibration| say(calibration.to_string().trim_end()));
    Ok(bundle)
}

/// `bundle`, and what its network says of the utterances of `corpus`.
fn development(bundle: Bundle, corpus: &Path, lexicon: Option<&Lexicon>) -> Result<(Bundle, Vec<Development>)> {
    let mut transcriber = Transcriber::new(lexicon, "");
    let mut wanted = Vec::new();
    for utterance in read_corpus(corpus)?.utterances {
        let before = unknown_words(&transcriber);
        match transcriber.words(&utterance) {
            Ok(words) if unknown_words(&transcriber) == before => wanted.push((utterance, words)),
            Ok(_) => say(format_args!("senone: left out {}: it has a word that the lexicon lacks", utterance.name)),
            Err(error) => say(format_args!("senone: left out {}: {error}", utterance.name)),
        }
    }
    let shortest = check::report(&bundle.graph)?.shortest_frames;
    let clips: Vec<_> = wanted.iter().map(|(utterance, _)| &utterance.audio).collect();
    let rate = bundle.description.features.sample_rate_hz;
    let read = read_clips(&clips, rate, |_, audio| heard(&bundle, shortest, audio?));
    let mut set = Vec::new();
    for ((utterance, words), posteriors) in wanted.into_iter().zip(read) {
        match posteriors {
            Ok(posteriors) => set.push(Development { name: utterance.name, posteriors, words }),
            Err(error) => say(format_args!("senone: left out {}: {error}", utterance.name)),
        }
    }
    Ok((bundle, set))
}

/// Words met so far that the lexicon lacks, each as often as it was met.
fn unknown_words(transcriber: &Transcriber<'_>) -> usize {
    transcriber.unknown().values().sum()
}

/// What the network says of `audio`, which must have the `shortest` number of search frames that a path needs.
fn heard(bundle: &Bundle, shortest: usize, audio: Audio) -> Result<LogPosteriors> {
    let posteriors = posteriors(bundle, &audio.samples)?;
    match posteriors.0.rows() {
        frames if frames < shortest => Err(Error::NoPath { frames, need_at_least: shortest }),
        _ => Ok(posteriors),
    }
}
