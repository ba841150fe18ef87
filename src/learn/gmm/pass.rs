//! The E step: one walk over all utterances that collects what the M step divides.
//!
//! Utterances are cut into shards whose number does not depend on the machine; each shard is summed in order by one thread,
//! and the shards are added up in order. So the bytes of the model do not depend on the number of threads.

use rayon::prelude::*;

use super::{GmmExample, GmmModel};
use crate::dp::{Plan, PlanOptions, counts, path_counts, viterbi};
use crate::emission::MixtureAccumulator;
use crate::graph::Graph;
use crate::symbols::{PdfId, StateId};
use crate::{Error, Result};

/// Parts of the data that are summed apart.
const SHARDS: usize = 32;

/// How an utterance's frames are given to states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assignment {
    /// By the path it has.
    Kept,
    /// By the best path under the model, kept from then on.
    Realigned,
    /// In shares, over all paths.
    Expected,
}

/// The state path of an utterance, or why it has none.
pub(super) type Fate = std::result::Result<Vec<StateId>, String>;

/// Sums of a shard or of all data.
pub(super) struct Sums<'a> {
    pub mixtures: MixtureAccumulator<'a>,
    /// Uses by transition.
    pub transitions: Vec<f64>,
    pub log_likelihood: f64,
    pub frames: usize,
}

impl<'a> Sums<'a> {
    fn new(model: &'a GmmModel) -> Self {
        let mixtures = MixtureAccumulator::new(&model.mixtures);
        Self { mixtures, transitions: vec![0.0; model.weights.0.len()], log_likelihood: 0.0, frames: 0 }
    }

    fn merge(&mut self, other: &Self) {
        self.mixtures.merge(&other.mixtures);
        self.count(&other.transitions);
        self.log_likelihood += other.log_likelihood;
        self.frames += other.frames;
    }

    fn count(&mut self, transitions: &[f64]) {
        self.transitions.iter_mut().zip(transitions).for_each(|(sum, count)| *sum += count);
    }
}

/// One E step.
pub(super) struct Pass<'a> {
    pub model: &'a GmmModel,
    pub examples: &'a [GmmExample<'a>],
    pub assignment: Assignment,
}

impl<'a> Pass<'a> {
    /// The sums over every utterance that has a path in `fates`; one that cannot be aligned loses its path for good.
    pub fn collect(&self, fates: &mut [Fate]) -> Result<Sums<'a>> {
        let size = self.examples.len().div_ceil(SHARDS).max(1);
        let shards = self.examples.par_chunks(size).zip(fates.par_chunks_mut(size));
        let shards: Vec<Result<Sums>> = shards.map(|(examples, fates)| self.collect_shard(examples, fates)).collect();
        let mut total = Sums::new(self.model);
        for shard in shards {
            total.merge(&shard?);
        }
        Ok(total)
    }

    fn collect_shard(&self, examples: &'a [GmmExample<'a>], fates: &mut [Fate]) -> Result<Sums<'a>> {
        let mut sums = Sums::new(self.model);
        for (example, fate) in examples.iter().zip(fates) {
            if let Ok(path) = fate
                && let Err(error) = Visit::new(self.model, example)?.add(path, self.assignment, &mut sums)
            {
                *fate = Err(of_utterance(error)?);
            }
        }
        Ok(sums)
    }
}

/// The reason to skip an utterance; an error that is not the utterance's own comes back as an error.
pub(super) fn of_utterance(error: Error) -> Result<String> {
    match error {
        Error::NoPath { .. } | Error::Impossible { .. } | Error::NotFinite { .. } | Error::Transcript { .. } => {
            Ok(error.to_string())
        }
        other => Err(other),
    }
}

/// One utterance in one pass.
struct Visit<'a> {
    model: &'a GmmModel,
    example: &'a GmmExample<'a>,
    plan: Plan,
}

impl<'a> Visit<'a> {
    fn new(model: &'a GmmModel, example: &'a GmmExample<'a>) -> Result<Self> {
        let plan = Plan::new(&example.graph, &model.weights, &PlanOptions::default())?;
        Ok(Self { model, example, plan })
    }

    fn add(&self, path: &mut Vec<StateId>, assignment: Assignment, sums: &mut Sums<'_>) -> Result<()> {
        match assignment {
            Assignment::Kept => self.add_path(path, sums),
            Assignment::Realigned => {
                *path = viterbi(&self.plan, &self.model.emissions(self.example)?)?.states;
                self.add_path(path, sums);
            }
            Assignment::Expected => self.add_expected(sums)?,
        }
        Ok(())
    }

    fn add_path(&self, path: &[StateId], sums: &mut Sums<'_>) {
        for (frame, &state) in self.example.frames.iter_rows().zip(path) {
            sums.log_likelihood += sums.mixtures.add(self.example.graph.state(state).pdf, frame, 1.0);
        }
        sums.count(&path_counts(&self.plan, path).transitions);
        sums.frames += path.len();
    }

    fn add_expected(&self, sums: &mut Sums<'_>) -> Result<()> {
        let (log_z, counts) = counts(&self.plan, &self.model.emissions(self.example)?)?;
        let pdfs = used_pdfs(&self.example.graph);
        for (frame, occupancy) in self.example.frames.iter_rows().zip(counts.occupancy.iter_rows()) {
            for &pdf in pdfs.iter().filter(|pdf| occupancy[pdf.index()] > 0.0) {
                sums.mixtures.add(pdf, frame, f64::from(occupancy[pdf.index()]));
            }
        }
        sums.count(&counts.transitions);
        sums.log_likelihood += log_z;
        sums.frames += self.example.frames.rows();
        Ok(())
    }
}

/// The pdfs that some state of `graph` emits, ascending.
pub(super) fn used_pdfs(graph: &Graph) -> Vec<PdfId> {
    let mut pdfs: Vec<PdfId> = graph.states().iter().map(|state| state.pdf).collect();
    pdfs.sort_unstable();
    pdfs.dedup();
    pdfs
}
