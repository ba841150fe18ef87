//! The E step: one walk over all utterances that collects what the M step divides.
//!
//! Utterances are cut into shards whose number does not depend on the machine; each shard is summed in order by one thread,
//! and the shards are added up in order. So the bytes of the model do not depend on the number of threads.

use rayon::prelude::*;

use super::{GmmExample, GmmModel};
use crate::dp::{Plan, PlanOptions, counts, path_counts, viterbi};
use crate::emission::{Emissions, MixtureAccumulator};
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
pub(super) struct Sums {
    pub mixtures: MixtureAccumulator,
    /// Uses by transition.
    pub transitions: Vec<f64>,
    pub log_likelihood: f64,
    pub frames: usize,
}

impl Sums {
    fn new(model: &GmmModel) -> Self {
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

/// Runs `work` on every utterance that still has a path, in shards; an utterance on which it fails is skipped from then on.
pub(super) fn collect(
    model: &GmmModel,
    examples: &[GmmExample<'_>],
    fates: &mut [Fate],
    assignment: Assignment,
) -> Result<Sums> {
    let size = examples.len().div_ceil(SHARDS).max(1);
    let shards: Vec<Result<Sums>> = examples
        .par_chunks(size)
        .zip(fates.par_chunks_mut(size))
        .map(|(examples, fates)| {
            let mut sums = Sums::new(model);
            for (example, fate) in examples.iter().zip(fates) {
                visit(model, example, fate, assignment, &mut sums)?;
            }
            Ok(sums)
        })
        .collect();
    let mut total = Sums::new(model);
    for shard in shards {
        total.merge(&shard?);
    }
    Ok(total)
}

fn visit(
    model: &GmmModel,
    example: &GmmExample<'_>,
    fate: &mut Fate,
    assignment: Assignment,
    sums: &mut Sums,
) -> Result<()> {
    let Ok(path) = fate else { return Ok(()) };
    let plan = Plan::new(&example.graph, &model.weights, &PlanOptions::default())?;
    let done = match assignment {
        Assignment::Kept => Ok(()),
        Assignment::Realigned => model.emissions(example).and_then(|emissions| {
            *path = viterbi(&plan, &emissions)?.states;
            Ok(())
        }),
        Assignment::Expected => {
            model.emissions(example).and_then(|emissions| add_expected(model, example, &plan, &emissions, sums))
        }
    };
    match done {
        Ok(()) if assignment == Assignment::Expected => Ok(()),
        Ok(()) => {
            add_path(model, example, &plan, path, sums);
            Ok(())
        }
        Err(error) => {
            *fate = Err(of_utterance(error)?);
            Ok(())
        }
    }
}

/// The reason to skip an utterance; an error that is not the utterance's own comes back as an error.
pub(super) fn of_utterance(error: Error) -> Result<String> {
    match error {
        Error::NoPath { .. } | Error::Impossible { .. } | Error::NotFinite { .. } => Ok(error.to_string()),
        other => Err(other),
    }
}

fn add_path(model: &GmmModel, example: &GmmExample<'_>, plan: &Plan, path: &[StateId], sums: &mut Sums) {
    for (frame, &state) in example.frames.iter_rows().zip(path) {
        let pdf = example.graph.state(state).pdf;
        sums.log_likelihood += sums.mixtures.add(&model.mixtures, pdf, frame, 1.0);
    }
    sums.count(&path_counts(plan, path).transitions);
    sums.frames += path.len();
}

fn add_expected(
    model: &GmmModel,
    example: &GmmExample<'_>,
    plan: &Plan,
    emissions: &Emissions,
    sums: &mut Sums,
) -> Result<()> {
    let (log_z, counts) = counts(plan, emissions)?;
    let pdfs = used_pdfs(&example.graph);
    for (frame, occupancy) in example.frames.iter_rows().zip(counts.occupancy.iter_rows()) {
        for &pdf in pdfs.iter().filter(|pdf| occupancy[pdf.index()] > 0.0) {
            sums.mixtures.add(&model.mixtures, pdf, frame, f64::from(occupancy[pdf.index()]));
        }
    }
    sums.count(&counts.transitions);
    sums.log_likelihood += log_z;
    sums.frames += example.frames.rows();
    Ok(())
}

/// The pdfs that some state of `graph` emits, ascending.
pub(super) fn used_pdfs(graph: &Graph) -> Vec<PdfId> {
    let mut pdfs: Vec<PdfId> = graph.states().iter().map(|state| state.pdf).collect();
    pdfs.sort_unstable();
    pdfs.dedup();
    pdfs
}
