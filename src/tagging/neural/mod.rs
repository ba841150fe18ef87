//! Taggers over a network: alone, under a hidden Markov model, a CRF or a support vector machine.
//!
//! In: the sequences of a `Bench`, their features numbered. Out: [`NetworkScores`]. The network reads a vector a token, the sum of
//! those of its features; what is above it differs:
//!
//! | [`Method`] | trained to | emissions | transitions |
//! |---|---|---|---|
//! | softmax | say each tag | log P(tag) | 0 |
//! | hmm | say each tag | log P(tag) - log prior (Bourlard & Morgan 1994) | log of relative frequencies |
//! | crf | make the right sequence likely (Lample et al. 2016) | scores | trained with the network |
//! | svm | keep the others below by their cost | scores | trained with the network |

mod scores;
mod settings;

pub use scores::NetworkScores;
pub use settings::{NeuralSettings, TdnnShape};

use std::sync::Arc;

use rayon::prelude::*;

use super::learner::{Method, Source};
use super::tagger::Scores;
use super::training::{Bench, Best, TagEvent, Watch};
use crate::dp::{Plan, PlanOptions, path_counts, viterbi};
use crate::emission::{Priors, SparseFrames};
use crate::graph::Weights;
use crate::learn::counting::TransitionRows;
use crate::learn::criterion::Criterion;
use crate::learn::neural::{Answer, EmbeddedNetwork, Embedding, SequenceGoal, TaggerTrainer, Tokens};
use crate::learn::problem::Example;
use crate::network::Network;
use crate::parallel::in_order;
use crate::random::Random;
use crate::{Error, Result};

/// A network by `source`, judged by `method`, over that number of features; the best epoch on the development set, else the last.
pub(super) fn train(
    (source, method): (Source, Method),
    bench: &Bench<'_>,
    features: usize,
    watch: &mut Watch<'_>,
) -> Result<Scores> {
    let settings = &bench.settings.network;
    let goal = match method {
        Method::Crf => Some(goal(bench, Criterion::LogLikelihood)?),
        Method::Svm => Some(goal(bench, Criterion::Margin(settings.cost))?),
        _ => None,
    };
    let fixed = fixed(bench, method)?;
    let model = first_model(source, bench, features)?;
    let mut trainer = TaggerTrainer::new(model, goal, (settings.trainer(), bench.settings.seed))?;
    let tokens: Vec<Tokens<'_>> = bench.training.iter().map(|example| tokens(bench, example)).collect();
    let mut best = Best::default();
    for epoch in 1..=settings.epochs {
        let astray = |error| match error {
            Error::NotFinite { .. } | Error::Network(_) => {
                Error::Diverged { epoch, utterances: "all sequences".into(), loss: f64::NAN }
            }
            other => other,
        };
        let tally = trainer.epoch(&tokens).map_err(astray)?;
        let (model, learnt) = trainer.model().map_err(astray)?;
        let (weights, priors) = fixed.clone().unwrap_or((learnt, None));
        let scores = NetworkScores::new(model, weights, priors).map_err(astray)?;
        let development = accuracy(bench, &scores).map_err(astray)?;
        let (loss, right) = (tally.mean_loss(), 100.0 * tally.accuracy());
        let report = format!("{epoch}/{}: loss {loss:.4}, network alone {right:.2} %", settings.epochs);
        watch(TagEvent::Round { report, development });
        best.offer(development, Some(scores));
    }
    best.kept.map(|kept| Scores::Network(Box::new(kept))).ok_or_else(|| Error::Other("no epoch was asked for".into()))
}

/// A criterion over whole sequences; transitions begin with zeros.
fn goal(bench: &Bench<'_>, criterion: Criterion) -> Result<SequenceGoal> {
    SequenceGoal::joint(Arc::clone(bench.graph), Weights(vec![0.0; bench.graph.transitions()]), criterion)
}

/// Transition weights by counts, and what emissions are divided by: log-priors and their weight.
type Counted = (Weights, Option<(Priors, f32)>);

/// What is not learnt with the network.
fn fixed(bench: &Bench<'_>, method: Method) -> Result<Option<Counted>> {
    match method {
        Method::Softmax => Ok(Some((Weights(vec![0.0; bench.graph.transitions()]), None))),
        Method::Hmm => hidden_markov(bench).map(|(weights, priors)| Some((weights, Some(priors)))),
        _ => Ok(None),
    }
}

/// Transitions and priors by counts.
fn hidden_markov(bench: &Bench<'_>) -> Result<(Weights, (Priors, f32))> {
    let (mut transitions, mut tags) = (vec![0.0; bench.graph.transitions()], vec![0.0; bench.graph.pdfs()]);
    let neutral = Plan::new(bench.graph, &Weights(vec![0.0; bench.graph.transitions()]), &PlanOptions::default())?;
    for example in bench.training {
        let counts = path_counts(&neutral, &example.path);
        transitions.iter_mut().zip(counts.transitions).for_each(|(sum, count)| *sum += count);
        bench.labels(example).iter().for_each(|tag| tags[tag.index()] += 1.0);
    }
    let weights = TransitionRows::of(bench.tags.spec()).normalise(&transitions, bench.settings.hmm.smoothing)?;
    Ok((weights, (Priors::from_counts(&tags, 0.0)?, bench.settings.network.prior_scale)))
}

/// The model before training. The sum of a token's vectors begins with a variance of about 1.
fn first_model(source: Source, bench: &Bench<'_>, features: usize) -> Result<EmbeddedNetwork> {
    let settings = &bench.settings.network;
    let config = settings.network(source).ok_or_else(|| Error::Other(format!("{source:?} is no network")))?;
    let tokens: usize = bench.training.iter().map(|example| example.input.frames()).sum();
    let uses: usize = bench.training.iter().map(|example| example.input.ids.len()).sum();
    let deviation = (tokens.max(1) as f32 / uses.max(1) as f32).sqrt();
    let random = Random::new(bench.settings.seed);
    let embedding = Embedding::new((features, settings.embedding), deviation, &random.fork(0));
    let embedding = if settings.direct { embedding.widened(bench.graph.pdfs()) } else { embedding };
    let network = Network::new(&config, (settings.embedding, bench.graph.pdfs()), &random.fork(1))?;
    EmbeddedNetwork::new(embedding, network)
}

fn tokens<'a>(bench: &Bench<'_>, example: &'a Example<SparseFrames>) -> Tokens<'a> {
    let targets = bench.labels(example).iter().map(|tag| tag.0).collect();
    Tokens { frames: &example.input, answer: Answer { name: example.name.clone(), targets, transcript: None } }
}

/// Share of the development tokens that are tagged right; none without such a set.
fn accuracy(bench: &Bench<'_>, scores: &NetworkScores) -> Result<Option<f64>> {
    let plan = Plan::new(bench.graph, scores.transitions(), &PlanOptions::default())?;
    let right = |example: &Example<SparseFrames>| -> Result<usize> {
        let found = viterbi(&plan, &scores.emissions(&example.input)?)?;
        Ok(found.states.iter().zip(&example.path).filter(|(found, right)| found == right).count())
    };
    let each = in_order(bench.development.par_iter().map(right))?;
    let all: usize = bench.development.iter().map(|example| example.path.len()).sum();
    Ok((all > 0).then(|| each.iter().sum::<usize>() as f64 / all as f64))
}

#[cfg(test)]
mod tests;
