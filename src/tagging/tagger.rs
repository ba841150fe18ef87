//! A trained tagger: a sequence of tokens in, its best legal tags or the probability of each tag out.
//!
//! Scores of tags come from linear weights or from a network; from there on it is the graph, the weights of its transitions and
//! [`dp`](crate::dp), as for speech.

use std::sync::Arc;

use super::learner::Learner;
#[cfg(feature = "neural")]
use super::neural::NetworkScores;
use super::{FeatureMap, TagSet};
use crate::data::Sequence;
use crate::dp::{Plan, PlanOptions, counts, viterbi};
use crate::emission::{Emissions, Scorer, SparseFrames, SparseScorer};
use crate::graph::Weights;
use crate::matrix::Matrix;
use crate::{Error, Result};

/// Where the scores of tags and transitions come from.
#[derive(Debug)]
pub enum Scores {
    /// Weights of features, then of transitions.
    Linear {
        /// Which feature scores which tags.
        scorer: SparseScorer,
        /// Its parameters, then the weights of the graph's transitions.
        theta: Vec<f64>,
    },
    /// A network over embedded features.
    #[cfg(feature = "neural")]
    Network(Box<NetworkScores>),
}

impl Scores {
    /// Features that the scores are of.
    fn features(&self) -> usize {
        match self {
            Self::Linear { scorer, .. } => scorer.features(),
            #[cfg(feature = "neural")]
            Self::Network(network) => network.features(),
        }
    }

    /// Whether they are scores of `tags`.
    fn check(&self, tags: &TagSet) -> Result<()> {
        let (pdfs, transitions) = (tags.spec().pdfs(), tags.spec().transitions());
        match self {
            Self::Linear { scorer, theta } => {
                fits("tags of the tagger's scores", pdfs, scorer.pdfs())?;
                fits("weights of the tagger", scorer.parameters() + transitions, theta.len())
            }
            #[cfg(feature = "neural")]
            Self::Network(network) => fits("weights of the tagger", transitions, network.transitions().0.len()),
        }
    }

    fn transitions(&self) -> Weights {
        match self {
            Self::Linear { scorer, theta } => {
                Weights(theta[scorer.parameters()..].iter().map(|&weight| weight as f32).collect())
            }
            #[cfg(feature = "neural")]
            Self::Network(network) => network.transitions().clone(),
        }
    }

    /// Adds `amounts`, one a transition, to the transition weights.
    pub(super) fn shift(&mut self, amounts: Vec<f32>) {
        match self {
            Self::Linear { scorer, theta } => {
                let weights = &mut theta[scorer.parameters()..];
                weights.iter_mut().zip(amounts).for_each(|(weight, amount)| *weight += f64::from(amount));
            }
            #[cfg(feature = "neural")]
            Self::Network(network) => network.shift(&amounts),
        }
    }

    fn emissions(&self, frames: &SparseFrames) -> Result<Emissions> {
        match self {
            Self::Linear { scorer, theta } => scorer.emissions(&theta[..scorer.parameters()], frames),
            #[cfg(feature = "neural")]
            Self::Network(network) => network.emissions(frames),
        }
    }
}

/// A trained tagger.
#[derive(Debug)]
pub struct Tagger {
    pub(super) learner: Learner,
    pub(super) features: FeatureMap,
    pub(super) tags: TagSet,
    pub(super) scores: Scores,
    plan: Plan,
}

impl Tagger {
    /// Puts a tagger together from its parts.
    ///
    /// # Errors
    /// [`Error::Shape`] when the parts are not of each other.
    pub fn new(learner: Learner, (features, tags): (FeatureMap, TagSet), scores: Scores) -> Result<Self> {
        fits("features of the tagger's scores", features.names().len(), scores.features())?;
        scores.check(&tags)?;
        let graph = Arc::new(tags.spec().compile()?);
        let plan = Plan::new(&graph, &scores.transitions(), &PlanOptions::default())?;
        Ok(Self { learner, features, tags, scores, plan })
    }

    /// What it was trained by.
    pub fn learner(&self) -> Learner {
        self.learner
    }

    /// The names of the tags, in the order of [`Tagger::marginals`].
    pub fn tags(&self) -> &[String] {
        self.tags.names()
    }

    /// The best legal tags of `sequence`, one a token.
    ///
    /// # Errors
    /// [`Error::TextFile`] naming the sequence when the graph has no tagging of this length, all of them are impossible, or a
    /// feature is not a number.
    pub fn predict(&self, sequence: &Sequence) -> Result<Vec<&str>> {
        let named = |error: Error| named(sequence, error);
        let path = viterbi(&self.plan, &self.emissions(sequence)?).map_err(named)?;
        let graph = self.plan.graph();
        Ok(path.states.iter().map(|&state| graph.symbols().name(graph.state(state).symbol)).collect())
    }

    /// P(tag | sequence) of every token, `[T x tags]`, each row summing to 1: over all legal taggings, weighed by exp(F(x, y)).
    /// Of a perceptron or a support vector machine that is a score between 0 and 1, but not trained to be a probability.
    ///
    /// # Errors
    /// As [`Tagger::predict`].
    pub fn marginals(&self, sequence: &Sequence) -> Result<Matrix> {
        let (_, counts) = counts(&self.plan, &self.emissions(sequence)?).map_err(|error| named(sequence, error))?;
        Ok(counts.occupancy)
    }

    fn emissions(&self, sequence: &Sequence) -> Result<Emissions> {
        self.scores.emissions(&self.features.frames(sequence)?).map_err(|error| named(sequence, error))
    }
}

/// Whether parts are of each other.
fn fits(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// Says which sequence it was.
fn named(sequence: &Sequence, error: Error) -> Error {
    match error {
        Error::TextFile { .. } | Error::Io { .. } => error,
        Error::Impossible { frame } => {
            sequence.fault(frame, "no tagging is possible: here the last one that was left scores minus infinity")
        }
        other => sequence.fault(0, other.to_string()),
    }
}
