//! Gaussian-mixture HMMs trained by EM over transcript graphs: the monophone system from nothing but frames and transcripts, and
//! tied states from its alignment.
//!
//! In: per utterance its frames `[T x D]` and its transcript graph. Out: mixtures, self-loop probabilities, and an alignment of
//! every utterance, which is what a network is then trained on. The recipe is Kaldi's `train_mono.sh`: equal segments first,
//! then Viterbi training with ever more Gaussians; Baum-Welch (Baum et al. 1970) is the slower choice.

mod flat_start;
mod pass;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::counting::TransitionRows;
use crate::dp::{Plan, PlanOptions, SegmentSpan, segments, viterbi};
use crate::emission::{DiagonalMixtures, Emissions, MixtureUpdate, SplitTarget};
use crate::error::require;
use crate::graph::{Graph, GraphSpec, Weights};
use crate::matrix::Matrix;
use crate::parallel::in_order;
use crate::symbols::{PdfId, StateId, SymbolId};
use crate::{Error, Result};
use pass::{Assignment, Fate, Pass, Sums, of_utterance, used_pdfs};

/// How states are given their frames in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmKind {
    /// By the best path: fast, the usual choice.
    Viterbi,
    /// By all paths, in shares: never lowers the likelihood, several times slower.
    BaumWelch,
}

/// How a monophone system is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GmmConfig {
    /// Viterbi or Baum-Welch.
    pub em: EmKind,
    /// EM iterations after the flat start, from 1.
    pub iterations: usize,
    /// The iterations (one-based) that look for new best paths; the others use the last ones. Viterbi only.
    pub realign: Vec<usize>,
    /// Gaussians of all pdfs together at the end of splitting; every pdf has at least one.
    pub gaussians: usize,
    /// The last iteration that splits, before the last one of all; Gaussians grow evenly until then. 0 is never.
    pub last_split: usize,
    /// Pdfs get Gaussians in proportion to frames to this power, 0 to 1.
    pub occupancy_power: f64,
    /// Least frames of a Gaussian, above 0; less after the flat start (3, at most), so that rare phones get a shape at all.
    pub min_occupancy: f64,
    /// Least variance as a share of the variance of all frames, above 0 and below 1.
    pub variance_floor: f64,
}

impl Default for GmmConfig {
    fn default() -> Self {
        Self {
            em: EmKind::Viterbi,
            iterations: 24,
            realign: (1..=10).chain((12..=24).step_by(2)).collect(),
            gaussians: 1000,
            last_split: 18,
            occupancy_power: 0.25,
            min_occupancy: 10.0,
            variance_floor: 0.01,
        }
    }
}

impl GmmConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that is not.
    pub fn check(&self) -> Result<()> {
        let (power, floor) = (self.occupancy_power, self.variance_floor);
        let least = self.min_occupancy;
        require(self.iterations > 0, "iterations", self.iterations, "a whole number from 1")?;
        let gaussians = (1..=MOST_GAUSSIANS).contains(&self.gaussians);
        require(gaussians, "gaussians", self.gaussians, "a whole number from 1 to 1000000")?;
        let trained = self.last_split < self.iterations;
        require(trained, "last_split", self.last_split, "less than the iterations, so that the last split is trained")?;
        require((0.0..=1.0).contains(&power), "occupancy_power", power, "a number from 0 to 1")?;
        require(least.is_finite() && least > 0.0, "min_occupancy", least, "a number above 0")?;
        require(floor > 0.0 && floor < 1.0, "variance_floor", floor, "a number above 0 and below 1")
    }

    /// Gaussians wanted after `iteration`, when the flat start had `pdfs`.
    fn target(&self, iteration: usize, pdfs: usize) -> usize {
        pdfs + self.gaussians.saturating_sub(pdfs) * iteration / self.last_split.max(1)
    }
}

/// An utterance to train on.
#[derive(Debug, Clone)]
pub struct GmmExample<'a> {
    /// As messages call it.
    pub name: &'a str,
    /// Features `[T x D]`, one row per search frame.
    pub frames: &'a Matrix,
    /// Every alignment of its transcript.
    pub graph: Arc<Graph>,
}

/// A Gaussian-mixture HMM: local scores and transition weights.
#[derive(Debug, Clone, PartialEq)]
pub struct GmmModel {
    /// log p(frame | pdf).
    pub mixtures: DiagonalMixtures,
    /// By [`TransitionId`](crate::symbols::TransitionId).
    pub weights: Weights,
}

/// The best path of one utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct GmmAlignment {
    /// F(x, y), natural log.
    pub score: f64,
    /// The pdf of every frame, `[T]`.
    pub pdfs: Vec<PdfId>,
    /// Symbols with their frames.
    pub segments: Vec<SegmentSpan>,
}

/// How far training has come, after an iteration's E step.
#[derive(Debug, Clone, PartialEq)]
pub struct EmProgress {
    /// One-based.
    pub iteration: usize,
    /// Iterations in all.
    pub of: usize,
    /// Mean per frame, natural log: of log p(frame | pdf) along the paths (Viterbi), of log Z (Baum-Welch).
    pub log_likelihood: f64,
    /// Gaussians of the model that was measured.
    pub gaussians: usize,
    /// Utterances skipped so far.
    pub skipped: usize,
}

/// An utterance that could not be aligned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedUtterance {
    /// Its name.
    pub name: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// What training yields.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedGmm {
    /// The model.
    pub model: GmmModel,
    /// Alignment of each example under the final model, in their order; `None` for those skipped.
    pub alignments: Vec<Option<GmmAlignment>>,
    /// The utterances that were left out.
    pub skipped: Vec<SkippedUtterance>,
    /// Pdfs that no frame was aligned to; they still have the mean and variance of all frames.
    pub unseen: Vec<PdfId>,
}

impl GmmModel {
    /// log p(frame | pdf) `[T x P]`, minus infinity in the columns that the example's graph does not read.
    ///
    /// # Errors
    /// As [`DiagonalMixtures::emissions`].
    pub fn emissions(&self, example: &GmmExample<'_>) -> Result<Emissions> {
        self.mixtures.emissions_for(example.frames, &used_pdfs(&example.graph))
    }

    /// Forced alignment: the best path through the example's graph.
    ///
    /// # Errors
    /// [`Error::NoPath`] when there are too few frames, and as [`GmmModel::emissions`].
    pub fn align(&self, example: &GmmExample<'_>) -> Result<GmmAlignment> {
        let plan = Plan::new(&example.graph, &self.weights, &PlanOptions::default())?;
        let path = viterbi(&plan, &self.emissions(example)?)?;
        let pdf = |state: &StateId| example.graph.state(*state).pdf;
        let pdfs = path.states.iter().map(pdf).collect();
        Ok(GmmAlignment { score: path.score, pdfs, segments: segments(&example.graph, &path.states) })
    }
}

/// Trains a [`GmmModel`].
#[derive(Debug, Clone)]
pub struct GmmTrainer {
    config: GmmConfig,
    weights: Weights,
    rows: TransitionRows,
    silence: Vec<SymbolId>,
}

impl GmmTrainer {
    /// A trainer for the graph file `spec`. It begins with the file's weights, trains the self-loops among them, and in the
    /// flat start puts an optional symbol at both ends of an utterance, where the rules permit.
    ///
    /// # Errors
    /// As [`GmmConfig::check`].
    pub fn new(config: GmmConfig, spec: &GraphSpec) -> Result<Self> {
        config.check()?;
        let silence = spec.optional().to_vec();
        Ok(Self { config, weights: spec.initial_weights(), rows: TransitionRows::of(spec), silence })
    }

    /// Runs EM over `examples`, in the current rayon pool; the result does not depend on its number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`] when frames or graphs do not fit each other; [`Error::Other`] when no utterance can be aligned.
    pub fn train(&self, examples: &[GmmExample<'_>], progress: &mut dyn FnMut(&EmProgress)) -> Result<TrainedGmm> {
        let silence = &self.silence;
        let fates =
            fates(examples, |_, example| flat_start::equal_path(&example.graph, silence, example.frames.rows()))?;
        self.climb(examples, fates, progress)
    }

    /// Goes on from an alignment of the same utterances with other pdfs, of which the new ones are parts: tied states from
    /// monophones. `first` has the old pdf of every frame of each example, `parts_of` the old pdf of each new one, `[P]`. The new
    /// pdfs begin with one Gaussian each, and EM runs as in [`GmmTrainer::train`].
    ///
    /// # Errors
    /// As [`GmmTrainer::train`]; [`Error::Shape`] when `first` or `parts_of` is of other examples or pdfs.
    pub fn train_from(
        &self,
        examples: &[GmmExample<'_>],
        (first, parts_of): (&[&[PdfId]], &[PdfId]),
        progress: &mut dyn FnMut(&EmProgress),
    ) -> Result<TrainedGmm> {
        check_shape("first alignments", examples.len(), first.len())?;
        let fates = fates(examples, |index, example| {
            check_shape("old pdfs of new ones", example.graph.pdfs(), parts_of.len())?;
            same_path(example, &self.weights, (first[index], parts_of))
        })?;
        self.climb(examples, fates, progress)
    }

    fn climb(
        &self,
        examples: &[GmmExample<'_>],
        mut fates: Vec<Fate>,
        progress: &mut dyn FnMut(&EmProgress),
    ) -> Result<TrainedGmm> {
        let (mut model, floor) = self.first_model(examples, &mut fates)?;
        let mut occupancy = vec![];
        for iteration in 1..=self.config.iterations {
            let pass = Pass { model: &model, examples, assignment: self.assignment(iteration) };
            let sums = pass.collect(&mut fates)?;
            refuse_nothing(examples, &fates, sums.frames)?;
            progress(&EmProgress {
                iteration,
                of: self.config.iterations,
                log_likelihood: sums.log_likelihood / sums.frames as f64,
                gaussians: model.mixtures.gaussians(),
                skipped: fates.iter().filter(|fate| fate.is_err()).count(),
            });
            occupancy = sums.mixtures.pdf_occupancy();
            let mixtures = self.maximise(&sums, &floor, iteration)?;
            let weights = self.rows.dwell(&sums.transitions, &model.weights)?;
            model = GmmModel { mixtures, weights };
        }
        let unseen = (0..occupancy.len()).filter(|&pdf| occupancy[pdf] == 0.0).map(PdfId::from_index).collect();
        finish(model, examples, fates, unseen)
    }

    fn assignment(&self, iteration: usize) -> Assignment {
        match self.config.em {
            EmKind::BaumWelch => Assignment::Expected,
            EmKind::Viterbi if self.config.realign.contains(&iteration) => Assignment::Realigned,
            EmKind::Viterbi => Assignment::Kept,
        }
    }

    /// One Gaussian per pdf from the first paths, and the variance floor `[D]`.
    fn first_model(&self, examples: &[GmmExample<'_>], fates: &mut [Fate]) -> Result<(GmmModel, Vec<f32>)> {
        let (dim, pdfs) = examples.first().map_or((1, 1), |first| (first.frames.cols(), first.graph.pdfs()));
        let flat = |mean: &[f32], variance: &[f32]| {
            let mixtures = DiagonalMixtures::flat(pdfs, mean, variance)?;
            Ok::<_, Error>(GmmModel { mixtures, weights: self.weights.clone() })
        };
        let unit = flat(&vec![0.0; dim], &vec![1.0; dim])?;
        let sums = Pass { model: &unit, examples, assignment: Assignment::Kept }.collect(fates)?;
        refuse_nothing(examples, fates, sums.frames)?;
        let too_large = || Error::Other("the features of every frame are too large to train on: normalise them".into());
        let (mean, variance) = sums.mixtures.pooled().ok_or_else(too_large)?;
        let variance: Vec<f32> = variance.into_iter().map(|v| v.max(LEAST_VARIANCE)).collect();
        let variance_floor = variance.iter().map(|v| v * self.config.variance_floor as f32).collect();
        let global = flat(&mean, &variance)?;
        let sums = Pass { model: &global, examples, assignment: Assignment::Kept }.collect(fates)?;
        let update = MixtureUpdate { variance_floor, min_occupancy: self.config.min_occupancy.min(FLAT_OCCUPANCY) };
        let mixtures = sums.mixtures.update(&update)?;
        Ok((GmmModel { mixtures, weights: global.weights.clone() }, update.variance_floor))
    }

    /// The M step for the Gaussians, and the split that `iteration` is due.
    fn maximise(&self, sums: &Sums<'_>, floor: &[f32], iteration: usize) -> Result<DiagonalMixtures> {
        let config = &self.config;
        let update = MixtureUpdate { variance_floor: floor.to_vec(), min_occupancy: config.min_occupancy };
        let mixtures = sums.mixtures.update(&update)?;
        if iteration > config.last_split {
            return Ok(mixtures);
        }
        let target = SplitTarget {
            gaussians: config.target(iteration, mixtures.pdfs()),
            power: config.occupancy_power,
            min_occupancy: 2.0 * config.min_occupancy,
        };
        mixtures.split(&sums.mixtures.pdf_occupancy(), target)
    }
}

/// More Gaussians than any set of recordings can train.
const MOST_GAUSSIANS: usize = 1_000_000;

/// Least frames of a Gaussian after the flat start; with more, Kaldi's recipe warns, rare phones never align properly.
const FLAT_OCCUPANCY: f64 = 3.0;

/// Variance of a dimension that does not vary.
const LEAST_VARIANCE: f32 = 1e-6;

fn check_shape(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// The path by which each utterance begins, where it can have one.
fn fates(
    examples: &[GmmExample<'_>],
    path: impl Fn(usize, &GmmExample<'_>) -> Result<Vec<StateId>> + Sync,
) -> Result<Vec<Fate>> {
    use rayon::prelude::*;
    let (dim, pdfs) = examples.first().map_or((0, 0), |first| (first.frames.cols(), first.graph.pdfs()));
    let fate = |(index, example): (usize, &GmmExample<'_>)| {
        check_shape("dimensions of a frame", dim, example.frames.cols())?;
        check_shape("pdfs of a graph", pdfs, example.graph.pdfs())?;
        let path = match example.frames.first_not_finite() {
            Some(frame) => Err(Error::NotFinite { what: "features", frame }),
            None => path(index, example),
        };
        path.map(Ok).or_else(|error| of_utterance(error).map(Err))
    };
    in_order(examples.par_iter().enumerate().map(fate))
}

/// The best path of `example` on which every frame keeps its old pdf: a new pdf that is no part of it is impossible.
fn same_path(
    example: &GmmExample<'_>,
    weights: &Weights,
    (first, parts_of): (&[PdfId], &[PdfId]),
) -> Result<Vec<StateId>> {
    let row = |&old: &PdfId| parts_of.iter().map(move |&of| if of == old { 0.0 } else { f32::NEG_INFINITY });
    let scores = first.iter().flat_map(row).collect();
    let emissions = Emissions::new(Matrix::from_vec(first.len(), parts_of.len(), scores)?)?;
    Ok(viterbi(&Plan::new(&example.graph, weights, &PlanOptions::default())?, &emissions)?.states)
}

/// Refuses to train on nothing.
fn refuse_nothing(examples: &[GmmExample<'_>], fates: &[Fate], frames: usize) -> Result<()> {
    if frames > 0 {
        return Ok(());
    }
    let cause = examples.iter().zip(fates).find_map(|(example, fate)| Some((example.name, fate.as_ref().err()?)));
    Err(Error::Other(match cause {
        Some((name, reason)) => format!("none of {} utterances can be aligned; {name}: {reason}", examples.len()),
        None => "there is no utterance to train on".into(),
    }))
}

/// Aligns everything once more, under the final model.
fn finish(model: GmmModel, examples: &[GmmExample<'_>], fates: Vec<Fate>, unseen: Vec<PdfId>) -> Result<TrainedGmm> {
    use rayon::prelude::*;
    let align = |(example, fate): (&GmmExample<'_>, Fate)| match fate {
        Err(reason) => Ok(Err(reason)),
        Ok(_) => model.align(example).map(Ok).or_else(|error| of_utterance(error).map(Err)),
    };
    let aligned = in_order(examples.par_iter().zip(fates).map(align))?;
    let mut alignments = Vec::new();
    let mut skipped = Vec::new();
    for (example, outcome) in examples.iter().zip(aligned) {
        match outcome {
            Ok(alignment) => alignments.push(Some(alignment)),
            Err(reason) => {
                alignments.push(None);
                skipped.push(SkippedUtterance { name: example.name.to_owned(), reason });
            }
        }
    }
    Ok(TrainedGmm { model, alignments, skipped, unseen })
}

#[cfg(test)]
mod tests;
