//! Manifests to examples: audio read once, two kinds of features, the words that are said.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;

use super::config::TrainConfig;
use super::sets;
use super::transcripts::{Transcriber, Words};
use super::{Event, Progress};
use crate::audio::{Audio, read_clips};
use crate::bundle::Bundle;
use crate::data::manifest::Utterance;
use crate::features::{FeatureConfig, Moments, Normalisation, extract, normalise};
use crate::graph::lexicon::Lexicon;
use crate::matrix::Matrix;
use crate::{Error, Result};

/// Name of the list of development utterances in the work folder.
pub const DEVELOPMENT: &str = "development.tsv";

/// One utterance, ready for training.
#[derive(Debug)]
pub struct Example {
    /// Its name.
    pub name: String,
    /// Who speaks.
    pub speaker: String,
    /// What is said: pronunciations of each word.
    pub words: Words,
    /// Features of the Gaussian model, normalised, `[T x D]`; emptied when its alignment is made.
    pub gmm_frames: Matrix,
    /// Features of the network, normalised, `[T x D]`.
    pub frames: Matrix,
    /// Length of the audio in samples.
    pub samples: u64,
}

/// What training and tuning see.
#[derive(Debug)]
pub struct Corpus {
    /// Utterances to learn from.
    pub training: Vec<Example>,
    /// Utterances of other speakers, to tune on.
    pub development: Vec<Example>,
    /// Mean and variance of the network's features over `training`, or those of the model that it starts from.
    pub moments: Moments,
}

impl Corpus {
    /// All utterances, those to learn from first.
    pub fn examples(&self) -> impl Iterator<Item = &Example> {
        self.training.iter().chain(&self.development)
    }
}

/// An utterance of a manifest with its words, before its audio is read.
struct Wanted {
    utterance: Utterance,
    words: Words,
}

impl Corpus {
    /// Reads everything that `config` names, normalised as for the model that training starts from, if there is one. Utterances that cannot be used are reported through `progress` and left out.
    /// The development utterances are listed in `work/development.tsv`.
    ///
    /// # Errors
    /// When a corpus or the lexicon cannot be read, or nothing is left to learn from.
    pub fn load(
        config: &TrainConfig,
        start: Option<&Bundle>,
        work: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Self> {
        let lexicon = config.lexicon.as_deref().map(Lexicon::read).transpose()?;
        let (training, development) = sets::split(config)?;
        sets::write(&work.join(DEVELOPMENT), &development)?;
        let mut transcriber = Transcriber::new(lexicon.as_ref(), config.filler.as_deref().unwrap_or_default());
        let training = transcribe(training, &mut transcriber, progress);
        let development = transcribe(development, &mut transcriber, progress);
        if !transcriber.unknown().is_empty() {
            progress(Event::UnknownWords(transcriber.unknown().clone()));
        }
        let mut training = read_all((config, start), training, progress);
        let mut development = read_all((config, start), development, progress);
        if training.is_empty() {
            return Err(Error::Other("no utterance is left to learn from: see the reasons above".into()));
        }
        let net = match start {
            Some(bundle) => Normaliser { config: config.features.clone(), all: bundle.moments.clone() },
            None => Normaliser::new(&config.features, &training, |example| &example.frames),
        };
        let gmm = gmm_features(config, start);
        let gmm = gmm.map(|config| Normaliser::new(config, &training, |example| &example.gmm_frames));
        for set in [&mut training, &mut development] {
            gmm.iter().try_for_each(|gmm| gmm.apply(set, |example| &mut example.gmm_frames))?;
            net.apply(set, |example| &mut example.frames)?;
        }
        let seconds = |set: &[Example]| {
            set.iter().map(|example| example.samples as f64).sum::<f64>() / f64::from(config.features.sample_rate_hz)
        };
        progress(Event::Loaded {
            utterances: training.len(),
            hours: seconds(&training) / 3600.0,
            development: development.len(),
        });
        Ok(Self { training, development, moments: net.all })
    }
}

fn transcribe(
    utterances: Vec<Utterance>,
    transcriber: &mut Transcriber<'_>,
    progress: &mut Progress<'_>,
) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for utterance in utterances {
        match transcriber.words(&utterance) {
            Ok(words) => wanted.push(Wanted { utterance, words }),
            Err(error) => progress(Event::Skipped { utterance: utterance.name, reason: error.to_string() }),
        }
    }
    wanted
}

/// Features of the Gaussian model, which nobody needs who starts from a model.
fn gmm_features<'a>(config: &'a TrainConfig, start: Option<&Bundle>) -> Option<&'a FeatureConfig> {
    config.gmm.as_ref().filter(|_| start.is_none()).map(|gmm| &gmm.features)
}

fn read_all(run: (&TrainConfig, Option<&Bundle>), wanted: Vec<Wanted>, progress: &mut Progress<'_>) -> Vec<Example> {
    progress(Event::Reading { utterances: wanted.len() });
    let clips: Vec<_> = wanted.iter().map(|one| &one.utterance.audio).collect();
    let features = read_clips(&clips, run.0.features.sample_rate_hz, |_, audio| Features::of(run, &audio?));
    let mut examples = Vec::new();
    for (Wanted { utterance, words }, features) in wanted.into_iter().zip(features) {
        match features {
            Ok(Features { gmm_frames, frames, samples }) => {
                let Utterance { name, speaker, .. } = utterance;
                examples.push(Example { name, speaker, words, gmm_frames, frames, samples });
            }
            Err(error) => progress(Event::Skipped { utterance: utterance.name, reason: error.to_string() }),
        }
    }
    examples
}

/// What is learnt from of a recording.
struct Features {
    gmm_frames: Matrix,
    frames: Matrix,
    samples: u64,
}

impl Features {
    fn of((config, start): (&TrainConfig, Option<&Bundle>), audio: &Audio) -> Result<Self> {
        let samples = &audio.samples;
        let frames = features(&config.features, samples)?;
        let gmm_frames = gmm_features(config, start).map_or(Ok(Matrix::default()), |gmm| features(gmm, samples))?;
        Ok(Self { gmm_frames, frames, samples: samples.len() as u64 })
    }
}

fn features(config: &FeatureConfig, samples: &[f32]) -> Result<Matrix> {
    let frames = extract(config, samples)?;
    match frames.first_not_finite() {
        Some(frame) => Err(Error::NotFinite { what: "features", frame }),
        None if frames.rows() == 0 => Err(Error::Other(format!("only {} samples: less than one frame", samples.len()))),
        None => Ok(frames),
    }
}

/// The moments that a kind of features is normalised with.
struct Normaliser {
    config: FeatureConfig,
    all: Moments,
}

impl Normaliser {
    fn new(config: &FeatureConfig, training: &[Example], frames: impl Fn(&Example) -> &Matrix) -> Self {
        let mut all = Moments::new(config.dim());
        training.iter().for_each(|example| all.accumulate(frames(example)));
        Self { config: config.clone(), all }
    }

    /// Normalises the frames of a whole set, whose speakers are its own.
    fn apply(&self, set: &mut [Example], frames: impl Fn(&mut Example) -> &mut Matrix + Sync) -> Result<()> {
        let mut speakers: BTreeMap<String, Moments> = BTreeMap::new();
        if self.config.normalisation == Normalisation::Speaker {
            for example in set.iter_mut() {
                let speaker = example.speaker.clone();
                speakers.entry(speaker).or_insert_with(|| Moments::new(self.config.dim())).accumulate(frames(example));
            }
        }
        set.par_iter_mut().try_for_each(|example| {
            let moments = speakers.get(&example.speaker).unwrap_or(&self.all);
            normalise(&self.config, frames(example), Some(moments))
        })
    }
}
