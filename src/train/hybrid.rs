//! The network: frame cross-entropy on an alignment, realignment with the network, and again; then, if asked, whole sequences;
//! then priors, transition weights and n-gram from the last alignment.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::alignments::{Alignments, targets, transition_counts};
use super::config::{Learner, NgramConfig, TrainConfig};
use super::corpus::{Corpus, Example};
use super::phones;
use super::sequences::PLAIN;
use super::tune::{Development, errors};
use super::{Event, Progress, Work, work};
use crate::Result;
use crate::align::align;
use crate::align::{are_known, slots};
use crate::bundle::{Bundle, Description, SearchSettings};
use crate::emission::{HybridScales, LogPosteriors, Priors, hybrid};
use crate::graph::ngram::Ngram;
use crate::graph::{GraphSpec, Weights};
use crate::learn::counting::TransitionRows;
use crate::learn::neural::{self, SequenceGoal, TrainerConfig};
use crate::metrics::EditCounts;
use crate::network::{Device, Network};
use crate::parallel::in_order;
use crate::random::Random;
use crate::symbols::PdfId;
use crate::timing::FrameTiming;

/// Smallest share of frames that a prior stands for.
pub(super) const PRIOR_FLOOR: f64 = 1e-5;

/// Scales of realignment: no n-gram competes, so the plain hybrid.
const ALIGNMENT_SCALES: HybridScales = HybridScales { acoustic_scale: 1.0, prior_scale: 1.0 };

/// Scales for the phone error that is shown during the passes; tuning comes after.
const WATCH: Scales = Scales { emissions: HybridScales { acoustic_scale: 0.6, prior_scale: 0.6 }, lm_scale: 1.0 };

/// Pruning for the phone error that is shown.
const WATCH_SEARCH: SearchSettings = SearchSettings {
    acoustic_scale: 1.0,
    prior_scale: 1.0,
    lm_scale: 1.0,
    insertion_penalty: 0.0,
    beam: 12.0,
    max_active: 3000,
};

/// What weighs how much in a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scales {
    pub(super) emissions: HybridScales,
    pub(super) lm_scale: f32,
}

impl Scales {
    fn of(self, settings: SearchSettings) -> SearchSettings {
        let HybridScales { acoustic_scale, prior_scale } = self.emissions;
        SearchSettings { acoustic_scale, prior_scale, lm_scale: self.lm_scale, ..settings }
    }
}

/// Whether the phone that stands for unknown words may come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filler {
    /// In alignment, where transcripts have it.
    Alive,
    /// In decoding: it would swallow what is unclear.
    Dead,
}

/// Everything that the passes share.
pub(super) struct Run<'a> {
    pub(super) config: &'a TrainConfig,
    pub(super) corpus: &'a Corpus,
    pub(super) work: &'a Path,
    pub(super) device: &'a Device,
    pub(super) spec: GraphSpec,
    pub(super) timing: FrameTiming,
    language: Language<'a>,
}

/// Where everything comes from but the network: n-gram, priors, transitions.
enum Language<'a> {
    /// The alignments of the corpora.
    Learnt(&'a NgramConfig),
    /// The model to start from.
    Kept(&'a Bundle),
}

/// A stretch of epochs towards one goal.
pub(super) struct Stage<'a> {
    /// As messages call it.
    pub(super) name: String,
    /// Name of its checkpoint in the work folder.
    pub(super) file: String,
    pub(super) training: &'a TrainerConfig,
    /// What sequences are to be; `None` for frames.
    pub(super) goal: Option<SequenceGoal>,
    /// The n-gram by which right answers score, where they are all alignments of the transcript.
    pub(super) transcripts: Option<Ngram>,
    pub(super) seed: u64,
    /// What its outcome is to be decoded with; `None` where only tuning can tell.
    pub(super) scales: Option<Scales>,
    /// Epochs of the stages after it.
    pub(super) epochs_after: usize,
}

/// What stages make and go on from.
pub(super) struct Model {
    pub(super) network: Network,
    /// Transition weights, where they were learnt with the network; else the alignment tells them.
    pub(super) weights: Option<Weights>,
    pub(super) scales: Option<Scales>,
}

/// What training begins with.
pub(super) enum Start<'a> {
    /// A new network and n-gram.
    Alignments {
        /// The first alignment of all utterances.
        first: Alignments,
        /// What the n-gram is to be.
        ngram: &'a NgramConfig,
        /// The model whose hidden layers the network begins with; else it knows nothing.
        hidden: Option<&'a Bundle>,
    },
    /// A model.
    Model(&'a Bundle),
}

/// Trains the network in as many stages as `config` asks for, and makes the bundle.
pub(super) fn train(
    config: &TrainConfig,
    (spec, corpus): (GraphSpec, &Corpus),
    (start, work): (Start<'_>, Work<'_>),
    progress: &mut Progress<'_>,
) -> Result<Bundle> {
    let timing = config.features.timing(config.network.subsampling() as u32);
    let language = match (&start, &config.ngram) {
        (Start::Alignments { ngram, .. }, _) => Language::Learnt(ngram),
        (Start::Model(_), Some(ngram)) => Language::Learnt(ngram),
        (Start::Model(bundle), None) => Language::Kept(bundle),
    };
    let run = Run { config, corpus, work: work.folder, device: work.device, spec, timing, language };
    let (network, mut alignments) = match start {
        Start::Alignments { first, hidden, .. } => {
            let dims = (config.features.dim(), run.spec.pdfs());
            let network = Network::new(&config.network, dims, &Random::new(config.seed))?;
            match hidden {
                Some(bundle) => (lent(network, bundle, progress)?, first),
                None => (network, first),
            }
        }
        Start::Model(bundle) => run.begin_with(bundle, progress)?,
    };
    let mut model = Model { network, weights: None, scales: None };
    for pass in 1..=config.pass.len() {
        model = run.stage(run.pass(pass, &alignments)?, model.network, &alignments, progress)?;
        if pass < config.pass.len() || config.sequence.is_some() {
            alignments = run.realign(pass, &model.network, &alignments, progress)?;
        }
    }
    if let Some(stage) = &config.sequence {
        model = run.stage(run.sequences(stage, &alignments)?, model.network, &alignments, progress)?;
    }
    let bundle = run.bundle(model, &alignments)?;
    let dead =
        bundle.priors.dead().map(|pdf| run.symbol_of(pdf)).filter(|name| Some(*name) != config.filler.as_deref());
    let dead: BTreeSet<&str> = dead.collect();
    if !dead.is_empty() {
        let names = dead.into_iter().collect::<Vec<_>>().join(", ");
        progress(Event::Note(format!("no frame of {names} in the training data: never recognised")));
    }
    Ok(bundle)
}

/// `network` with the hidden layers of `bundle`; those that begin anew are named.
fn lent(network: Network, bundle: &Bundle, progress: &mut Progress<'_>) -> Result<Network> {
    let (network, own) = network.with_hidden_layers_of(&bundle.network)?;
    if !own.is_empty() {
        let names = own.join(", ");
        progress(Event::Note(format!("begun anew, as the model to start from has none of this shape: {names}")));
    }
    Ok(network)
}

impl Run<'_> {
    /// The name of the symbol that `pdf` belongs to.
    fn symbol_of(&self, pdf: PdfId) -> &str {
        self.spec.symbols().name(self.spec.symbol_of(pdf))
    }

    /// The one-based `pass`.
    fn pass(&self, pass: usize, alignments: &Alignments) -> Result<Stage<'_>> {
        let after = self.config.pass[pass..].iter().chain(self.config.sequence.as_ref().map(|stage| &stage.training));
        let goal = self.config.learner.criterion().map(|criterion| self.joint_goal(criterion, alignments));
        Ok(Stage {
            name: format!("pass {pass}"),
            file: work::checkpoint_of(pass),
            training: &self.config.pass[pass - 1],
            goal: goal.transpose()?,
            transcripts: None,
            seed: self.config.seed + pass as u64,
            scales: (self.config.learner != Learner::Hybrid).then_some(PLAIN),
            epochs_after: after.map(|later| later.epochs).sum(),
        })
    }

    /// Frames with what they say; utterances without alignment were reported when it was made.
    pub(super) fn examples<'e>(
        &self,
        set: &'e [Example],
        (stage, alignments): (&Stage<'_>, &Alignments),
        progress: &mut Progress<'_>,
    ) -> Result<Vec<neural::Example<'e>>> {
        let mut examples = Vec::new();
        for example in set {
            let Some(tier) = alignments.get(&example.name) else { continue };
            let frames = example.frames.rows().div_ceil(self.timing.subsampling as usize);
            let pdfs = targets((tier, &example.words), &self.spec, (self.timing, frames))?;
            if pdfs.len() < frames {
                progress(Event::Skipped { utterance: example.name.clone(), reason: "its alignment is empty".into() });
                continue;
            }
            let targets = pdfs.iter().map(|pdf| pdf.0).collect();
            let answer = neural::Answer { name: example.name.clone(), targets, transcript: None };
            let recording = example.again.as_ref().map(|again| again as &dyn neural::Recording);
            examples.push(neural::Example { frames: &example.frames, recording, answer });
        }
        match &stage.transcripts {
            Some(ngram) => self.with_transcripts(examples, (set, ngram), progress),
            None => Ok(examples),
        }
    }

    /// Priors by the counts of target pdfs over the training utterances, `[P]`.
    pub(super) fn priors(&self, alignments: &Alignments, filler: Filler) -> Result<Priors> {
        let mut counts = vec![0.0; self.spec.pdfs()];
        let tiers = self.corpus.training.iter().filter_map(|example| Some((alignments.get(&example.name)?, example)));
        for (tier, example) in tiers {
            let frames = example.frames.rows().div_ceil(self.timing.subsampling as usize);
            let targets = targets((tier, &example.words), &self.spec, (self.timing, frames))?;
            targets.iter().for_each(|pdf| counts[pdf.index()] += 1.0);
        }
        // A pause that also stands for unknown words, as in AISHELL-1's lexicon, is a pause all the same.
        let named = self.config.filler.as_ref().and_then(|name| self.spec.symbols().get(name));
        let symbol = named.filter(|symbol| !self.spec.optional().contains(symbol));
        if let (Filler::Dead, Some(symbol)) = (filler, symbol) {
            self.spec.pdfs_of(symbol).for_each(|pdf| counts[pdf.index()] = 0.0);
        }
        Priors::from_counts(&counts, PRIOR_FLOOR)
    }

    /// Aligns all utterances with the network.
    fn realign(
        &self,
        pass: usize,
        network: &Network,
        alignments: &Alignments,
        progress: &mut Progress<'_>,
    ) -> Result<Alignments> {
        let path = self.work.join(work::alignment_after(pass));
        if path.exists() {
            progress(Event::Resumed(format!("realignment after pass {pass}")));
            return Alignments::resumed(&path, self.timing.sample_rate, (self.corpus, progress));
        }
        let (priors, weights) = (self.priors(alignments, Filler::Alive)?, self.transitions(alignments)?);
        let made = self.aligned(network, (&priors, &weights), progress)?;
        let made = made.stored(&path, self.timing.sample_rate)?;
        progress(Event::Note(format!("{} utterances aligned with the network", made.len())));
        Ok(made)
    }

    /// The best alignment of every utterance; those without one are reported.
    pub(super) fn aligned(
        &self,
        network: &Network,
        (priors, weights): (&Priors, &Weights),
        progress: &mut Progress<'_>,
    ) -> Result<Alignments> {
        let all: Vec<&Example> = self.corpus.training.iter().chain(&self.corpus.development).collect();
        let spans: Vec<_> = all
            .par_iter()
            .map(|example| {
                let emissions = hybrid(&log_posteriors(network, example)?, priors, ALIGNMENT_SCALES)?;
                align((&self.spec, weights), &slots(&self.spec, &example.words)?, &emissions)
            })
            .collect();
        let mut made = Alignments::default();
        for (example, spans) in all.iter().zip(spans) {
            match spans {
                Ok(spans) => made.insert(&example.name, &spans, (&self.spec, self.timing, example.samples)),
                Err(error) => progress(Event::Skipped { utterance: example.name.clone(), reason: error.to_string() }),
            }
        }
        Ok(made)
    }

    /// Weights of the graph file, with self-loops as long as the phones of the training utterances are.
    pub(super) fn transitions(&self, alignments: &Alignments) -> Result<Weights> {
        let tiers = self.corpus.training.iter().filter_map(|example| alignments.get(&example.name));
        let counts = transition_counts(tiers, &self.spec, self.timing)?;
        let weights = self.spec.initial_weights();
        TransitionRows::of(&self.spec).dwell(&counts, &weights)
    }

    /// The n-gram of the phones that the training utterances were aligned to, and of the texts.
    pub(super) fn ngram(&self, alignments: &Alignments, config: &NgramConfig) -> Result<Ngram> {
        let sequences = alignments.sequences(&self.spec, self.corpus.training.iter().map(|example| &*example.name))?;
        phones::ngram(&self.spec, (self.config.lexicon.as_deref(), config), &sequences)
    }

    /// The phone of unknown words as the model notes it: none where a pause takes their place, which is said between any words too.
    fn filler(&self) -> Option<String> {
        let is_pause =
            |name: &String| self.spec.symbols().get(name).is_some_and(|id| self.spec.optional().contains(&id));
        self.config.filler.clone().filter(|name| !is_pause(name))
    }

    fn bundle(&self, Model { network, weights, scales }: Model, alignments: &Alignments) -> Result<Bundle> {
        let TrainConfig { name, description, features, network: shape, .. } = self.config;
        let mut description = Description::new(name, description, features.clone(), shape.clone());
        description.filler = self.filler();
        description.search = scales.map_or(description.search, |scales| scales.of(description.search));
        let (graph, moments) = (self.spec.clone(), self.corpus.moments.clone());
        let (ngram, priors, transitions) = match self.language {
            Language::Learnt(config) => (
                self.ngram(alignments, config)?,
                self.priors(alignments, Filler::Dead)?,
                weights.map_or_else(|| self.transitions(alignments), Ok)?,
            ),
            Language::Kept(model) => {
                description.search = model.description.search;
                description.filler = description.filler.or_else(|| model.description.filler.clone());
                (model.ngram.clone(), model.priors.clone(), model.transitions.clone())
            }
        };
        Ok(Bundle { description, graph, ngram, priors, transitions, moments, network })
    }

    /// Phone error on the development set, percent, at settings that nobody has tuned yet.
    pub(super) fn phone_error(&self, model: Model, alignments: &Alignments) -> Result<Option<f64>> {
        let settings = match self.language {
            Language::Learnt(_) => model.scales.unwrap_or(WATCH).of(WATCH_SEARCH),
            Language::Kept(model) => model.description.search,
        };
        let bundle = Arc::new(self.bundle(model, alignments)?);
        // What was not aligned may be too short for any path; what has unknown words cannot be scored.
        let scored = |example: &&Example| {
            alignments.get(&example.name).is_some() && are_known(&example.words, self.config.filler.as_deref())
        };
        let set = self.corpus.development.par_iter().filter(scored).map(|example| {
            let posteriors = log_posteriors(&bundle.network, example)?;
            Ok(Development { name: example.name.clone(), posteriors, words: example.words.clone() })
        });
        let set = in_order(set)?;
        let percent = |counts: EditCounts| 100.0 * counts.rate();
        if set.is_empty() { Ok(None) } else { errors(&bundle, &set, settings).map(|counts| Some(percent(counts))) }
    }
}

pub(super) fn log_posteriors(network: &Network, example: &Example) -> Result<LogPosteriors> {
    network.log_posteriors(&example.frames)
}
