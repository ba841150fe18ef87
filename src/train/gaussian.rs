//! The first alignment: a monophone Gaussian-mixture HMM by EM, from a flat start.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::alignments::Alignments;
use super::config::GmmStage;
use super::corpus::{Corpus, Example};
use super::transcripts::slots;
use super::{Event, Progress};
use crate::Result;
use crate::dp::SegmentSpan;
use crate::graph::{Graph, GraphSpec};
use crate::learn::gmm::{EmProgress, GmmExample, GmmTrainer};

/// Name of the file that this stage leaves.
pub(super) const ALIGNMENT: &str = "gmm.ctm";

/// Aligns training and development utterances with a model trained on the former; frees their features.
pub(super) fn alignments(
    stage: &GmmStage,
    (spec, corpus): (&GraphSpec, &mut Corpus),
    work: &Path,
    progress: &mut Progress<'_>,
) -> Result<Alignments> {
    let path = work.join(ALIGNMENT);
    let rate = stage.features.sample_rate_hz;
    let found = if path.exists() {
        progress(Event::Resumed("alignment by the Gaussian model".into()));
        Alignments::resumed(&path, rate, (corpus, progress))?
    } else {
        make(stage, spec, corpus, progress)?.stored(&path, rate)?
    };
    let all = corpus.training.iter_mut().chain(&mut corpus.development);
    all.for_each(|example| example.gmm_frames = Default::default());
    Ok(found)
}

/// Utterances with their transcript graphs; those that the graph does not admit are reported.
fn graphs<'a>(spec: &GraphSpec, examples: &'a [Example], progress: &mut Progress<'_>) -> Vec<GmmExample<'a>> {
    let graph = |example: &Example| spec.transcript_of(&slots(spec, &example.words)?).map(Arc::new);
    let made: Vec<Result<Arc<Graph>>> = examples.par_iter().map(graph).collect();
    let mut kept = Vec::new();
    for (example, graph) in examples.iter().zip(made) {
        match graph {
            Ok(graph) => kept.push(GmmExample { name: &example.name, frames: &example.gmm_frames, graph }),
            Err(error) => progress(Event::Skipped { utterance: example.name.clone(), reason: error.to_string() }),
        }
    }
    kept
}

fn make(stage: &GmmStage, spec: &GraphSpec, corpus: &Corpus, progress: &mut Progress<'_>) -> Result<Alignments> {
    let training = graphs(spec, &corpus.training, progress);
    let trainer = GmmTrainer::new(stage.training.clone(), spec)?;
    let trained = trainer.train(&training, &mut |em| {
        let EmProgress { iteration, of, log_likelihood, gaussians, .. } = *em;
        progress(Event::Em { iteration, of, log_likelihood, gaussians });
    })?;
    let skip = |progress: &mut Progress<'_>, name: &str, reason: String| {
        progress(Event::Skipped { utterance: name.to_owned(), reason });
    };
    trained.skipped.iter().for_each(|skipped| skip(progress, &skipped.name, skipped.reason.clone()));
    let mut found: BTreeMap<&str, Vec<SegmentSpan>> = BTreeMap::new();
    for (example, alignment) in training.iter().zip(trained.alignments) {
        found.extend(alignment.map(|alignment| (example.name, alignment.segments)));
    }
    let development = graphs(spec, &corpus.development, progress);
    let aligned: Vec<_> = development.par_iter().map(|example| trained.model.align(example)).collect();
    for (example, alignment) in development.iter().zip(aligned) {
        match alignment {
            Ok(alignment) => drop(found.insert(example.name, alignment.segments)),
            Err(error) => skip(progress, example.name, error.to_string()),
        }
    }
    let timing = stage.features.timing(1);
    let mut alignments = Alignments::default();
    for example in corpus.training.iter().chain(&corpus.development) {
        if let Some(spans) = found.get(&*example.name) {
            alignments.insert(&example.name, spans, (spec, timing, example.samples));
        }
    }
    Ok(alignments)
}
