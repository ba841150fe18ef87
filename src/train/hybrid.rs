//! The network: frame cross-entropy on an alignment, realignment with the network, and again; then priors, transition
//! weights and n-gram from the last alignment.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::alignments::{Alignments, targets, transition_counts};
use super::config::{NgramConfig, TrainConfig};
use super::corpus::{Corpus, Example};
use super::transcripts::slots;
use super::tune::{Development, errors};
use super::{Event, Progress};
use crate::align::align;
use crate::bundle::{Bundle, Description, SearchSettings};
use crate::emission::{HybridScales, LogPosteriors, Priors, hybrid};
use crate::formats;
use crate::graph::ngram::{Ngram, NgramOptions};
use crate::graph::{GraphSpec, Weights};
use crate::learn::counting::TransitionRows;
use crate::learn::neural::{Answer, EpochReport, Example as NeuralExample, Trainer};
use crate::metrics::EditCounts;
use crate::network::Network;
use crate::random::Random;
use crate::symbols::{PdfId, SymbolId};
use crate::timing::FrameTiming;
use crate::{Error, Result};

/// Smallest share of frames that a prior stands for.
const PRIOR_FLOOR: f64 = 1e-5;

/// Scales of realignment: no n-gram competes, so the plain hybrid.
const ALIGNMENT_SCALES: HybridScales = HybridScales { acoustic_scale: 1.0, prior_scale: 1.0 };

/// Settings for the phone error that is shown during training; tuning comes after.
const WATCH: SearchSettings = SearchSettings {
    acoustic_scale: 0.6,
    prior_scale: 0.6,
    lm_scale: 1.0,
    insertion_penalty: 0.0,
    beam: 12.0,
    max_active: 3000,
};

/// Whether the phone that stands for unknown words may come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filler {
    /// In alignment, where transcripts have it.
    Alive,
    /// In decoding: it would swallow what is unclear.
    Dead,
}

/// Everything that the passes share.
struct Run<'a> {
    config: &'a TrainConfig,
    corpus: &'a Corpus,
    work: &'a Path,
    spec: GraphSpec,
    timing: FrameTiming,
}

/// Trains the network in as many passes as `config` asks for, starting from `first`, and makes the bundle.
pub(super) fn train(
    config: &TrainConfig,
    (spec, corpus): (GraphSpec, &Corpus),
    (first, work): (Alignments, &Path),
    progress: &mut Progress<'_>,
) -> Result<Bundle> {
    let timing = config.features.timing(config.network.subsampling() as u32);
    let run = Run { config, corpus, work, spec, timing };
    let mut alignments = first;
    let mut network =
        Network::new(&config.network, (config.features.dim(), run.spec.pdfs()), &Random::new(config.seed))?;
    for pass in 1..=config.pass.len() {
        network = run.pass(pass, network, &alignments, progress)?;
        if pass < config.pass.len() {
            alignments = run.realign(pass, &network, &alignments, progress)?;
        }
    }
    let bundle = run.bundle(network, &alignments)?;
    let dead = bundle.priors.dead().map(|pdf| run.symbol_of(pdf)).filter(|name| *name != config.filler);
    let dead: BTreeSet<&str> = dead.collect();
    if !dead.is_empty() {
        let names = dead.into_iter().collect::<Vec<_>>().join(", ");
        progress(Event::Note(format!("no frame of {names} in the training data: never recognised")));
    }
    Ok(bundle)
}

impl Run<'_> {
    /// The name of the symbol that `pdf` belongs to.
    fn symbol_of(&self, pdf: PdfId) -> &str {
        let owns = |symbol: &SymbolId| {
            let first = self.spec.pdf(*symbol, 0).index();
            (first..first + self.spec.topology(*symbol).states()).contains(&pdf.index())
        };
        self.spec.symbols().ids().find(owns).map_or("", |symbol| self.spec.symbols().name(symbol))
    }

    /// One pass: all its epochs, a checkpoint after each.
    fn pass(
        &self,
        pass: usize,
        start: Network,
        alignments: &Alignments,
        progress: &mut Progress<'_>,
    ) -> Result<Network> {
        let path = self.work.join(format!("pass-{pass}.safetensors"));
        let training = self.examples(&self.corpus.training, alignments, progress)?;
        let development = self.examples(&self.corpus.development, alignments, progress)?;
        let mut trainer = Trainer::new(start, self.config.pass[pass - 1].clone(), self.config.seed + pass as u64)?;
        if path.exists() {
            let bytes = std::fs::read(&path).map_err(|source| Error::io("read", &path, source))?;
            trainer.resume(&bytes).map_err(|error| Error::Config { path: path.clone(), reason: error.to_string() })?;
            progress(Event::Resumed(format!("pass {pass}, {} epochs", trainer.epochs_done())));
        } else {
            self.forget_after(pass)?;
        }
        while !trainer.is_done() {
            let start = Instant::now();
            let report = trainer.epoch(&training, &development)?;
            let bytes = trainer.checkpoint()?;
            formats::atomic::write(&path, |file| file.write_all(&bytes))?;
            report.left_out.iter().for_each(|left| {
                progress(Event::Note(format!("left out of this epoch: {}: {}", left.utterances, left.reason)))
            });
            let percent = self.phone_error(trainer.network()?, alignments)?;
            let later: usize = self.config.pass[pass..].iter().map(|later| later.epochs).sum();
            let left = start.elapsed().mul_f64((report.of - report.epoch + later) as f64);
            progress(epoch_event(pass, &report, (percent, left)));
        }
        trainer.network()
    }

    /// Removes what later stages made of an earlier run of `pass`.
    fn forget_after(&self, pass: usize) -> Result<()> {
        let later = (pass..=self.config.pass.len())
            .flat_map(|pass| [format!("pass-{pass}.ctm"), format!("pass-{}.safetensors", pass + 1)]);
        for path in later.map(|name| self.work.join(name)).filter(|path| path.exists()) {
            std::fs::remove_file(&path).map_err(|source| Error::io("remove", &path, source))?;
        }
        Ok(())
    }

    /// Frames with their targets; utterances without alignment were reported when it was made.
    fn examples<'e>(
        &self,
        set: &'e [Example],
        alignments: &Alignments,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<NeuralExample<'e>>> {
        let mut examples = Vec::new();
        for example in set {
            let Some(tier) = alignments.get(&example.name) else { continue };
            let frames = example.frames.rows().div_ceil(self.timing.subsampling as usize);
            let pdfs = targets(tier, &self.spec, self.timing, frames)?;
            if pdfs.len() < frames {
                progress(Event::Skipped { utterance: example.name.clone(), reason: "its alignment is empty".into() });
                continue;
            }
            let targets = pdfs.iter().map(|pdf| pdf.0).collect();
            let answer = Answer { name: example.name.clone(), targets, transcript: None };
            examples.push(NeuralExample { frames: &example.frames, answer });
        }
        Ok(examples)
    }

    /// Priors by the counts of target pdfs over the training utterances, `[P]`.
    fn priors(&self, alignments: &Alignments, filler: Filler) -> Result<Priors> {
        let mut counts = vec![0.0; self.spec.pdfs()];
        let tiers = self.corpus.training.iter().filter_map(|example| Some((alignments.get(&example.name)?, example)));
        for (tier, example) in tiers {
            let frames = example.frames.rows().div_ceil(self.timing.subsampling as usize);
            targets(tier, &self.spec, self.timing, frames)?.iter().for_each(|pdf| counts[pdf.index()] += 1.0);
        }
        if let (Filler::Dead, Some(symbol)) = (filler, self.spec.symbols().get(&self.config.filler)) {
            (0..self.spec.topology(symbol).states())
                .for_each(|state| counts[self.spec.pdf(symbol, state).index()] = 0.0);
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
        let path = self.work.join(format!("pass-{pass}.ctm"));
        if path.exists() {
            progress(Event::Resumed(format!("realignment after pass {pass}")));
            return Alignments::resumed(&path, self.timing.sample_rate, (self.corpus, progress));
        }
        let priors = self.priors(alignments, Filler::Alive)?;
        let weights = self.transitions(alignments)?;
        let all: Vec<&Example> = self.corpus.training.iter().chain(&self.corpus.development).collect();
        let spans: Vec<_> = all
            .par_iter()
            .map(|example| {
                let emissions = hybrid(&log_posteriors(network, example)?, &priors, ALIGNMENT_SCALES)?;
                align((&self.spec, &weights), &slots(&self.spec, &example.words)?, &emissions)
            })
            .collect();
        let mut made = Alignments::default();
        for (example, spans) in all.iter().zip(spans) {
            match spans {
                Ok(spans) => made.insert(&example.name, &spans, (&self.spec, self.timing, example.samples)),
                Err(error) => progress(Event::Skipped { utterance: example.name.clone(), reason: error.to_string() }),
            }
        }
        let made = made.stored(&path, self.timing.sample_rate)?;
        progress(Event::Note(format!("{} utterances aligned with the network", made.len())));
        Ok(made)
    }

    /// Weights of the graph file, with self-loops as long as the phones of the training utterances are.
    fn transitions(&self, alignments: &Alignments) -> Result<Weights> {
        let tiers = self.corpus.training.iter().filter_map(|example| alignments.get(&example.name));
        let counts = transition_counts(tiers, &self.spec, self.timing)?;
        let weights = self.spec.initial_weights();
        TransitionRows::of(&self.spec).dwell(&counts, &weights)
    }

    fn ngram(&self, alignments: &Alignments) -> Result<Ngram> {
        let sequences = alignments.sequences(&self.spec, self.corpus.training.iter().map(|example| &*example.name))?;
        let NgramConfig { order, min_history_count } = self.config.ngram;
        let options = NgramOptions { order, min_history_count };
        Ngram::estimate(&options, self.spec.symbols(), &sequences)
    }

    fn bundle(&self, network: Network, alignments: &Alignments) -> Result<Bundle> {
        let TrainConfig { name, description, features, network: shape, .. } = self.config;
        Ok(Bundle {
            description: Description::new(name, description, features.clone(), shape.clone()),
            graph: self.spec.clone(),
            ngram: self.ngram(alignments)?,
            priors: self.priors(alignments, Filler::Dead)?,
            transitions: self.transitions(alignments)?,
            moments: self.corpus.moments.clone(),
            network,
        })
    }

    /// Phone error on the development set, percent, at settings that nobody has tuned yet.
    fn phone_error(&self, network: Network, alignments: &Alignments) -> Result<Option<f64>> {
        let bundle = Arc::new(self.bundle(network, alignments)?);
        // What was not aligned may be too short for any path; what has unknown words cannot be scored.
        let scored = |example: &&Example| {
            let mut phones = example.words.iter().flatten().flatten();
            alignments.get(&example.name).is_some() && phones.all(|phone| *phone != self.config.filler)
        };
        let set = self.corpus.development.par_iter().filter(scored).map(|example| {
            let posteriors = log_posteriors(&bundle.network, example)?;
            Ok(Development { name: example.name.clone(), posteriors, words: example.words.clone() })
        });
        let set = set.collect::<Result<Vec<_>>>()?;
        let percent = |counts: EditCounts| 100.0 * counts.rate();
        if set.is_empty() { Ok(None) } else { errors(&bundle, &set, WATCH).map(|counts| Some(percent(counts))) }
    }
}

fn log_posteriors(network: &Network, example: &Example) -> Result<LogPosteriors> {
    network.log_posteriors(&example.frames)
}

fn epoch_event(pass: usize, report: &EpochReport, (phone_error_percent, left): (Option<f64>, Duration)) -> Event {
    Event::Epoch {
        pass,
        epoch: report.epoch,
        of: report.of,
        loss: report.loss,
        accuracy: report.accuracy,
        development_accuracy: report.development_accuracy,
        phone_error_percent,
        left,
    }
}
