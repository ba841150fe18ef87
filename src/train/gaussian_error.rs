//! The phone error of a Gaussian model on the development set, so that monophones and tied states can be compared: a phone
//! bigram, scale and penalty chosen alike for each.

use rayon::prelude::*;

use super::corpus::{Corpus, Example};
use super::gaussian::System;
use super::tune::{Development, Move, descend, errors_with};
use super::{Event, Progress};
use crate::Result;
use crate::align::are_known;
use crate::emission::{LogPosteriors, Priors};
use crate::graph::GraphSpec;
use crate::graph::ngram::{Ngram, NgramOptions};
use crate::parallel::in_order;
use crate::search::{SearchModel, SearchSettings};

/// Where the descent begins. Frames count as if they were independent, so Gaussians weigh little; they have no priors.
const START: SearchSettings = SearchSettings {
    acoustic_scale: 0.15,
    prior_scale: 0.0,
    lm_scale: 1.0,
    insertion_penalty: 0.0,
    beam: 14.0,
    max_active: 3000,
};

/// What is chosen, and in which steps.
const MOVES: [Move; 2] = [
    |settings, step| settings.acoustic_scale *= (0.4 * step).exp(),
    |settings, step| settings.insertion_penalty += step,
];
const STEPS: [f32; 2] = [1.0, 0.5];

/// The bigram of the phones, pauses included, that the training utterances were aligned to.
///
/// # Errors
/// As [`Ngram::estimate`].
pub(super) fn bigram(spec: &GraphSpec, system: &System<'_>) -> Result<Ngram> {
    let sequence = |alignment: &crate::learn::gmm::GmmAlignment| alignment.segments.iter().map(|s| s.symbol).collect();
    let sequences: Vec<Vec<_>> = system.alignments.values().map(sequence).collect();
    Ngram::estimate(&NgramOptions { order: 2, ..NgramOptions::default() }, spec.symbols(), &sequences)
}

/// Tells the phone error of `system`, which messages call `what`. The `filler` is not recognised, and utterances with it are not
/// scored.
///
/// # Errors
/// Errors of decoding.
pub(super) fn tell(
    (system, what): (&System<'_>, &str),
    (ngram, filler): (&Ngram, Option<&str>),
    corpus: &Corpus,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let System { spec, model, .. } = system;
    let mut counts = vec![1.0; spec.pdfs()];
    let filler_symbol = filler.and_then(|filler| spec.symbols().get(filler));
    let dead = filler_symbol.into_iter().flat_map(|symbol| spec.pdfs_of(symbol));
    dead.for_each(|pdf| counts[pdf.index()] = 0.0);
    let priors = Priors::from_counts(&counts, 0.0)?;
    let shortest = spec.compile()?.shortest_path_frames().unwrap_or_default();
    let scored = |example: &&Example| are_known(&example.words, filler) && example.gmm_frames.rows() >= shortest;
    let set = corpus.development.par_iter().filter(scored).map(|example| {
        let posteriors = LogPosteriors(model.mixtures.emissions(&example.gmm_frames)?.matrix().clone());
        Ok(Development { name: example.name.clone(), posteriors, words: example.words.clone() })
    });
    let set = in_order(set)?;
    if set.is_empty() {
        progress(Event::Note(format!("Gaussian model, {what}: no development utterance to decode")));
        return Ok(());
    }
    let judge = |settings: SearchSettings| {
        let graph = spec.compile_with(Some((ngram, settings.lm_scale)))?;
        let model = SearchModel { graph, weights: model.weights.clone(), priors: priors.clone() };
        errors_with(spec, model, (&set, settings))
    };
    let tuned = descend(&judge, (START, &MOVES, &STEPS), &mut |_| {})?;
    progress(Event::Note(format!(
        "Gaussian model, {what}: phone error {:.2} % on {} development utterances, with {} pdfs, {} Gaussians, a bigram, acoustic \
         scale {:.3} and insertion penalty {:.1}",
        100.0 * tuned.errors.rate(),
        set.len(),
        spec.pdfs(),
        model.mixtures.gaussians(),
        tuned.settings.acoustic_scale,
        tuned.settings.insertion_penalty
    )));
    Ok(())
}
