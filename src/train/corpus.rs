//! Manifests to examples: audio read once, two kinds of features, the words that are said.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;

use super::config::TrainConfig;
use super::sets;
use super::store::{self, Again, Heard, Role, Source};
use super::{Event, Origin, Progress};
use crate::align::{Transcriber, Words};
use crate::data::manifest::Utterance;
use crate::features::{FeatureConfig, Moments, Normalisation, normalise};
use crate::graph::lexicon::Lexicon;
use crate::matrix::Matrix;
use crate::parallel::in_order;
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
    /// The recording, where training changes it.
    pub again: Option<Again>,
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

impl Wanted {
    fn source(&self, role: Role) -> Source<'_> {
        Source { name: &self.utterance.name, clip: &self.utterance.audio, role }
    }
}

impl Corpus {
    /// Reads everything that `config` names, normalised as for the model that training starts from, if there is one. Utterances that cannot be used are reported through `progress` and left out.
    /// The development utterances are listed in `work/development.tsv`.
    ///
    /// # Errors
    /// When a corpus or the lexicon cannot be read, nothing is left to learn from, no word known, or nothing to stop by what is to stop early.
    pub fn load(
        config: &TrainConfig,
        origin: Option<Origin<'_>>,
        work: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Self> {
        let lexicon = config.lexicon.as_deref().map(Lexicon::read).transpose()?;
        let (training, development) = sets::split(config, progress)?;
        sets::write(&work.join(DEVELOPMENT), &development)?;
        let mut transcriber = Transcriber::new(lexicon.as_ref(), config.filler.as_deref().unwrap_or_default());
        let training = transcribe(training, &mut transcriber, progress);
        let development = transcribe(development, &mut transcriber, progress);
        if !transcriber.unknown().is_empty() {
            progress(Event::UnknownWords(transcriber.unknown().clone()));
        }
        if !training.is_empty() {
            config.check_known(training.iter().map(|wanted| &wanted.words))?;
        }
        config.check_patience(development.iter().map(|wanted| &wanted.words))?;
        let wanted = [(training, Role::Training), (development, Role::Development)];
        let (sets, moments) = read_all((config, origin), (wanted, work), progress)?;
        let [mut training, mut development] = sets;
        if training.is_empty() {
            return Err(Error::Other("no utterance is left to learn from: see the reasons above".into()));
        }
        // Again: the recordings of those that are known may be what cannot be read.
        config.check_known(training.iter().map(|example| &example.words))?;
        config.check_patience(development.iter().map(|example| &example.words))?;
        let has_gaussian = training.iter().any(|example| example.gmm_frames.rows() > 0);
        let gmm = gmm_features(config, origin).filter(|_| has_gaussian);
        let gmm = gmm.map(|config| Normaliser::new(config, &training));
        for set in [&mut training, &mut development] {
            gmm.iter().try_for_each(|gmm| gmm.apply(set))?;
        }
        let seconds = |set: &[Example]| {
            set.iter().map(|example| example.samples as f64).sum::<f64>() / f64::from(config.features.sample_rate_hz)
        };
        progress(Event::Loaded {
            utterances: training.len(),
            hours: seconds(&training) / 3600.0,
            development: development.len(),
        });
        Ok(Self { training, development, moments })
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

/// Features of the Gaussian model, which nobody needs who trains on a whole model.
fn gmm_features<'a>(config: &'a TrainConfig, origin: Option<Origin<'_>>) -> Option<&'a FeatureConfig> {
    config.gmm.as_ref().filter(|_| origin.and_then(Origin::whole).is_none()).map(|gmm| &gmm.features)
}

/// The sets with their features, and the moments of the network's; what cannot be read is reported.
fn read_all(
    run: store::Run<'_>,
    (wanted, work): ([(Vec<Wanted>, Role); 2], &Path),
    progress: &mut Progress<'_>,
) -> Result<([Vec<Example>; 2], Moments)> {
    let sources: Vec<Source<'_>> =
        wanted.iter().flat_map(|(set, role)| set.iter().map(|one| one.source(*role))).collect();
    let (heard, moments) = store::hear(run, (&sources, work), progress)?;
    let mut heard = heard.into_iter();
    let sets = wanted.map(|(set, _)| {
        let mut examples = Vec::new();
        for (Wanted { utterance, words }, heard) in set.into_iter().zip(&mut heard) {
            let Utterance { name, speaker, .. } = utterance;
            match heard {
                Ok(Heard { frames, gmm_frames, samples, again }) => {
                    examples.push(Example { name, speaker, words, gmm_frames, frames, samples, again });
                }
                Err(error) => progress(Event::Skipped { utterance: name, reason: error.to_string() }),
            }
        }
        examples
    });
    Ok((sets, moments))
}

/// The moments that the Gaussian model's features are normalised with.
struct Normaliser {
    config: FeatureConfig,
    all: Moments,
}

impl Normaliser {
    fn new(config: &FeatureConfig, training: &[Example]) -> Self {
        let mut all = Moments::new(config.dim());
        training.iter().for_each(|example| all.accumulate(&example.gmm_frames));
        Self { config: config.clone(), all }
    }

    /// Normalises the frames of a whole set, whose speakers are its own.
    fn apply(&self, set: &mut [Example]) -> Result<()> {
        let mut speakers: BTreeMap<String, Moments> = BTreeMap::new();
        if self.config.normalisation == Normalisation::Speaker {
            for example in set.iter() {
                let moments = speakers.entry(example.speaker.clone());
                moments.or_insert_with(|| Moments::new(self.config.dim())).accumulate(&example.gmm_frames);
            }
        }
        let one = |example: &mut Example| {
            let moments = speakers.get(&example.speaker).unwrap_or(&self.all);
            normalise(&self.config, &mut example.gmm_frames, Some(moments))
        };
        in_order(set.par_iter_mut().map(one)).map(drop)
    }
}
