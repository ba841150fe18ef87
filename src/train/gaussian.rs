//! The first alignment: Gaussian-mixture HMMs by EM, monophones from a flat start, then tied states if asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::alignments::{Alignments, Placed};
use super::config::{GmmStage, TrainConfig};
use super::context::{self, contexts, statistics};
use super::corpus::{Corpus, Example};
use super::{Event, Progress, gaussian_error, work};
use crate::Result;
use crate::align::slots;
use crate::graph::{Graph, GraphSpec, Tree, Units};
use crate::learn::gmm::{EmProgress, GmmAlignment, GmmConfig, GmmExample, GmmModel, GmmTrainer, TrainedGmm};
use crate::learn::tree::{TreeConfig, grow};
use crate::symbols::{PdfId, SymbolId};

/// Name of the file that this stage leaves.
pub(super) const ALIGNMENT: &str = "gmm.ctm";

/// EM iterations before the first realignment with tied states: the monophones' alignment is better than that of one Gaussian.
const KEPT_ITERATIONS: usize = 4;

/// A Gaussian model and what it made of the training utterances.
pub(super) struct System<'a> {
    pub(super) spec: GraphSpec,
    pub(super) model: GmmModel,
    pub(super) alignments: BTreeMap<&'a str, GmmAlignment>,
}

/// Aligns training and development utterances with a model trained on the former, ties the states of the network's graph if
/// that is asked, and frees the features. `align` is the graph of the alignment, `network` the network's.
pub(super) fn alignments(
    (config, stage): (&TrainConfig, &GmmStage),
    (align, network, corpus): (&GraphSpec, &GraphSpec, &mut Corpus),
    folder: &Path,
    progress: &mut Progress<'_>,
) -> Result<(Alignments, Units)> {
    let path = folder.join(ALIGNMENT);
    let rate = stage.features.sample_rate_hz;
    let found = if path.exists() {
        progress(Event::Resumed("alignment by the Gaussian model".into()));
        Alignments::resumed(&path, rate, (corpus, progress))?
    } else {
        work::forget_from(ALIGNMENT, config, folder)?;
        make((config, stage), align, corpus, progress)?.stored(&path, rate)?
    };
    let units = match &config.context {
        None => Units::Monophone,
        Some(context) => {
            let grid = (&found, stage.features.timing(1));
            context::units(context, (network, corpus), grid, (folder, progress))?
        }
    };
    let all = corpus.training.iter_mut().chain(&mut corpus.development);
    all.for_each(|example| example.gmm_frames = Default::default());
    Ok((found, units))
}

/// Utterances with their transcript graphs; those that the graph does not admit are reported.
fn graphs<'a>(
    spec: &GraphSpec,
    examples: impl Iterator<Item = &'a Example>,
    progress: &mut Progress<'_>,
) -> Vec<GmmExample<'a>> {
    let examples: Vec<&Example> = examples.collect();
    let graph = |example: &&Example| spec.transcript_of(&slots(spec, &example.words)?).map(Arc::new);
    let made: Vec<Result<Arc<Graph>>> = examples.par_iter().map(graph).collect();
    let mut kept = Vec::new();
    for (example, graph) in examples.into_iter().zip(made) {
        match graph {
            Ok(graph) => kept.push(GmmExample { name: &example.name, frames: &example.gmm_frames, graph }),
            Err(error) => skip(progress, &example.name, error.to_string()),
        }
    }
    kept
}

fn skip(progress: &mut Progress<'_>, name: &str, reason: String) {
    progress(Event::Skipped { utterance: name.to_owned(), reason });
}

fn make(
    (config, stage): (&TrainConfig, &GmmStage),
    spec: &GraphSpec,
    corpus: &Corpus,
    progress: &mut Progress<'_>,
) -> Result<Alignments> {
    let mut system = monophones(stage, spec, corpus, progress)?;
    let ngram = gaussian_error::bigram(spec, &system)?;
    let tell = |system: &System<'_>, what: &str, progress: &mut Progress<'_>| match stage.report {
        true => gaussian_error::tell((system, what), (&ngram, config.filler.as_deref()), corpus, progress),
        false => Ok(()),
    };
    tell(&system, "monophones", progress)?;
    if let Some(context) = &config.context {
        system = tied((context, stage), &system, corpus, progress)?;
        tell(&system, context.kind.name(), progress)?;
    }
    everything(system, stage, corpus, progress)
}

fn monophones<'a>(
    stage: &GmmStage,
    spec: &GraphSpec,
    corpus: &'a Corpus,
    progress: &mut Progress<'_>,
) -> Result<System<'a>> {
    let training = graphs(spec, corpus.training.iter(), progress);
    let trainer = GmmTrainer::new(stage.training.clone(), spec)?;
    let trained = trainer.train(&training, &mut |em| tell_em(em, progress))?;
    Ok(System::new(spec.clone(), trained, &training, progress))
}

/// Tied states: the tree by the alignment of the `monophones`, then EM from that alignment, to as many Gaussians.
fn tied<'a>(
    (config, stage): (&TreeConfig, &GmmStage),
    monophones: &System<'a>,
    corpus: &'a Corpus,
    progress: &mut Progress<'_>,
) -> Result<System<'a>> {
    let tree = Arc::new(monophones.tree(config, corpus)?);
    progress(Event::Note(format!("{} tied states for the Gaussian model, by {}", tree.pdfs(), tree.kind().name())));
    let owner = |pdf: usize| tree.owner(PdfId::from_index(pdf));
    let parts_of: Vec<PdfId> = (0..tree.pdfs())
        .map(owner)
        .map(|(symbol, state)| monophones.spec.pdf(symbol, state, Default::default()))
        .collect();
    let spec = monophones.spec.clone().with_units(Units::Tied(tree.clone()))?;
    let aligned = corpus.training.iter().filter(|example| monophones.alignments.contains_key(&*example.name));
    let training = graphs(&spec, aligned, progress);
    let first: Vec<&[PdfId]> = training.iter().map(|example| &*monophones.alignments[example.name].pdfs).collect();
    let realign = stage.training.realign.iter().copied().filter(|&iteration| iteration > KEPT_ITERATIONS).collect();
    let trainer = GmmTrainer::new(GmmConfig { realign, ..stage.training.clone() }, &spec)?;
    let trained = trainer.train_from(&training, (&first, &parts_of), &mut |em| tell_em(em, progress))?;
    Ok(System::new(spec, trained, &training, progress))
}

fn tell_em(em: &EmProgress, progress: &mut Progress<'_>) {
    let EmProgress { iteration, of, log_likelihood, gaussians, .. } = *em;
    progress(Event::Em { iteration, of, log_likelihood, gaussians });
}

impl<'a> System<'a> {
    fn new(spec: GraphSpec, trained: TrainedGmm, training: &[GmmExample<'a>], progress: &mut Progress<'_>) -> Self {
        trained.skipped.iter().for_each(|skipped| skip(progress, &skipped.name, skipped.reason.clone()));
        let named = training.iter().zip(trained.alignments);
        let alignments = named.filter_map(|(example, alignment)| Some((example.name, alignment?))).collect();
        Self { spec, model: trained.model, alignments }
    }

    /// The tree of this monophone system's states.
    fn tree(&self, config: &TreeConfig, corpus: &Corpus) -> Result<Tree> {
        let aligned: Vec<(&Example, &GmmAlignment)> = (corpus.training.iter())
            .filter_map(|example| Some((example, self.alignments.get(&*example.name)?)))
            .collect();
        let tell = |example: &Example, alignment: &GmmAlignment| -> Result<Vec<Placed>> {
            let symbols: Vec<SymbolId> = alignment.segments.iter().map(|segment| segment.symbol).collect();
            let contexts = contexts(&symbols, &example.words, (&self.spec, Some(config.kind)))?;
            let mut states = Vec::with_capacity(alignment.pdfs.len());
            for (segment, context) in alignment.segments.iter().zip(contexts) {
                let first = self.spec.pdf(segment.symbol, 0, Default::default()).index();
                let state = |pdf: &PdfId| (segment.symbol, pdf.index() - first, context);
                states.extend(alignment.pdfs[segment.start..segment.end].iter().map(state));
            }
            Ok(states)
        };
        grow(config, &self.spec, &statistics(&aligned, tell)?)
    }
}

/// The alignments of `system`, and of the development utterances.
fn everything(
    system: System<'_>,
    stage: &GmmStage,
    corpus: &Corpus,
    progress: &mut Progress<'_>,
) -> Result<Alignments> {
    let System { spec, model, mut alignments } = system;
    let development = graphs(&spec, corpus.development.iter(), progress);
    let aligned: Vec<_> = development.par_iter().map(|example| model.align(example)).collect();
    for (example, alignment) in development.iter().zip(aligned) {
        match alignment {
            Ok(alignment) => drop(alignments.insert(example.name, alignment)),
            Err(error) => skip(progress, example.name, error.to_string()),
        }
    }
    let timing = stage.features.timing(1);
    let mut all = Alignments::default();
    for example in corpus.training.iter().chain(&corpus.development) {
        if let Some(alignment) = alignments.get(&*example.name) {
            all.insert(&example.name, &alignment.segments, (&spec, timing, example.samples));
        }
    }
    Ok(all)
}
