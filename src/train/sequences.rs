//! What whole sequences are to be: the hybrid's network sharpened on transcripts, or a learner that has nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::alignments::Alignments;
use super::config::SequenceStage;
use super::corpus::Example;
use super::hybrid::{Filler, Run, Scales, Stage};
use super::{Event, Progress};
use crate::Result;
use crate::align::slots;
use crate::emission::HybridScales;
use crate::graph::Graph;
use crate::graph::ngram::Ngram;
use crate::learn::criterion::Criterion;
use crate::learn::neural::{self, SequenceGoal, TransitionTraining};

/// Name of the checkpoint of sequence training.
pub(super) const SEQUENCES: &str = "sequence.safetensors";

/// How a model is decoded whose scores and transitions were learnt together: as they are.
pub(super) const PLAIN: Scales =
    Scales { emissions: HybridScales { acoustic_scale: 1.0, prior_scale: 0.0 }, lm_scale: 0.0 };

impl Run<'_> {
    /// Sequence training of a network that knows frames: only it learns, transitions are those of the alignment.
    pub(super) fn sequences<'s>(&self, stage: &'s SequenceStage, alignments: &Alignments) -> Result<Stage<'s>> {
        let ngram = self.ngram(alignments, &stage.ngram)?;
        let goal = SequenceGoal {
            graph: Arc::new(self.spec.compile_with(Some((&ngram, 1.0)))?),
            weights: self.transitions(alignments)?,
            transitions: TransitionTraining::Fixed,
            criterion: stage.criterion(),
            scales: stage.scales(),
            priors: self.priors(alignments, Filler::Alive)?,
            cross_entropy_share: stage.cross_entropy_share,
        };
        Ok(Stage {
            name: "sequence training".into(),
            file: SEQUENCES.into(),
            training: &stage.training,
            goal: Some(goal),
            transcripts: Some(ngram),
            seed: self.config.seed + self.config.pass.len() as u64 + 1,
            scales: Some(Scales { emissions: stage.scales(), lm_scale: 1.0 }),
            epochs_after: 0,
        })
    }

    /// The goal of a learner that sees sequences from the start: all paths of the graph file, transitions learning too.
    pub(super) fn joint_goal(&self, criterion: Criterion, alignments: &Alignments) -> Result<SequenceGoal> {
        let graph = Arc::new(self.spec.compile_with(None)?);
        SequenceGoal::joint(graph, self.transitions(alignments)?, criterion)
    }

    /// `examples` of `set` with the graphs of their transcripts, weighed by `ngram`; what has none is reported and left out.
    pub(super) fn with_transcripts<'e>(
        &self,
        examples: Vec<neural::Example<'e>>,
        (set, ngram): (&[Example], &Ngram),
        progress: &mut Progress<'_>,
    ) -> Result<Vec<neural::Example<'e>>> {
        let words: BTreeMap<&str, &Example> = set.iter().map(|example| (&*example.name, example)).collect();
        let graph = |example: &neural::Example<'_>| -> Result<Graph> {
            self.spec.transcript_with(&slots(&self.spec, &words[&*example.answer.name].words)?, (ngram, 1.0))
        };
        let graphs: Vec<Result<Graph>> = examples.par_iter().map(graph).collect();
        let mut kept = Vec::new();
        for (mut example, graph) in examples.into_iter().zip(graphs) {
            match graph {
                Ok(graph) => {
                    example.answer.transcript = Some(Arc::new(graph));
                    kept.push(example);
                }
                Err(error) => {
                    let utterance = example.answer.name;
                    progress(Event::Skipped { utterance, reason: error.to_string() });
                }
            }
        }
        Ok(kept)
    }
}
