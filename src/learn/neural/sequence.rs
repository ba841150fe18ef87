//! Scores judged as whole sequences: what a [`Criterion`] says about all paths of a graph, led back to a network's scores.
//!
//! In: the scores `[T x P]` of one utterance and its right answer, which is every alignment of a transcript (maximum mutual
//! information, Bahl et al. 1986; on lattice-free graphs Povey et al. 2016) or the path that reads the target pdfs (a CRF under
//! a network). Out: the loss, its gradient by scores and by transition weights.

use std::sync::Arc;

use super::Answer;
use crate::dp::{Plan, PlanOptions};
use crate::emission::{HybridScales, Priors, scaled};
use crate::error::require;
use crate::graph::{Graph, Weights};
use crate::learn::criterion::{Criterion, Objective, Right};
use crate::learn::problem::path_of;
use crate::matrix::Matrix;
use crate::symbols::PdfId;
use crate::{Error, Result};

/// Whether the weights of the graph's transitions learn together with the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionTraining {
    /// They stay as they are.
    Fixed,
    /// They learn too.
    Joint,
}

/// What makes sequences of scores good.
#[derive(Debug, Clone)]
pub struct SequenceGoal {
    /// All legal paths, the wrong answers.
    pub graph: Arc<Graph>,
    /// The weights of the graph's transitions, and of the transcripts'; where they learn, the first ones.
    pub weights: Weights,
    /// Whether they learn.
    pub transitions: TransitionTraining,
    /// What is to be made small.
    pub criterion: Criterion,
    /// From scores to emissions.
    pub scales: HybridScales,
    /// Log-priors `[P]`; a dead pdf is impossible.
    pub priors: Priors,
    /// Share h of the frames' cross-entropy in the loss, 0 to 1: `(1 - h) sequence + h cross-entropy` (frame smoothing, Su et
    /// al. 2013), which keeps a network from learning the scores of one graph by heart.
    pub cross_entropy_share: f32,
}

impl SequenceGoal {
    /// `criterion` on scores that are emissions as they are, transitions learning too: a CRF, a perceptron or a support vector
    /// machine on top of a network.
    ///
    /// # Errors
    /// As [`Priors::from_log`]: a graph has at least one pdf.
    pub fn joint(graph: Arc<Graph>, weights: Weights, criterion: Criterion) -> Result<Self> {
        let priors = Priors::from_log(vec![0.0; graph.pdfs()])?;
        let (transitions, scales) = (TransitionTraining::Joint, HybridScales { acoustic_scale: 1.0, prior_scale: 0.0 });
        Ok(Self { graph, weights, transitions, criterion, scales, priors, cross_entropy_share: 0.0 })
    }

    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming key and value; [`Error::PdfCount`].
    pub fn check(&self) -> Result<()> {
        self.scales.check()?;
        if self.priors.pdfs() != self.graph.pdfs() {
            return Err(Error::PdfCount { network: self.priors.pdfs(), graph: self.graph.pdfs() });
        }
        let share = self.cross_entropy_share;
        require((0.0..1.0).contains(&share), "cross_entropy_share", share, "a share, at least 0 and below 1")
    }

    /// The goal with its graph laid out under `weights`: made once for each batch when they learn.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn laid_out<'a>(&'a self, weights: &'a Weights) -> Result<SequenceJudge<'a>> {
        Ok(SequenceJudge { goal: self, weights, full: Plan::new(&self.graph, weights, &PlanOptions::default())? })
    }
}

/// A [`SequenceGoal`] under the weights of the moment.
#[derive(Debug)]
pub struct SequenceJudge<'a> {
    pub(super) goal: &'a SequenceGoal,
    weights: &'a Weights,
    full: Plan,
}

impl SequenceJudge<'_> {
    /// Loss of one utterance, and its gradient by scores and by transition weights. `scores` `[T x P]` are logits or
    /// log-posteriors: a number added to a whole frame changes all paths alike, so nothing.
    ///
    /// ```text
    /// emission = acoustic_scale * (score - prior_scale * log prior)      d/d score = acoustic_scale * d/d emission
    /// ```
    ///
    /// # Errors
    /// [`Error::NoPath`], [`Error::Impossible`] or [`Error::Transcript`] when no right path has this many frames;
    /// [`Error::NotFinite`] for scores that are no numbers.
    pub fn objective(&self, scores: &Matrix, answer: &Answer) -> Result<Objective> {
        let emissions = scaled(scores, &self.goal.priors, self.goal.scales)?;
        let mut objective = match &answer.transcript {
            Some(graph) => {
                let plan = Plan::new(graph, self.weights, &PlanOptions::default())?;
                self.goal.criterion.objective(&self.full, Right::Graph(&plan), &emissions)?
            }
            None => {
                let pdfs: Vec<PdfId> = answer.targets.iter().copied().map(PdfId).collect();
                let path = path_of(&self.full, &pdfs)?;
                self.goal.criterion.objective(&self.full, Right::Path(&path), &emissions)?
            }
        };
        let scale = self.goal.scales.acoustic_scale;
        objective.gradient.occupancy.as_mut_slice().iter_mut().for_each(|cell| *cell *= scale);
        Ok(objective)
    }
}
