//! The network by frame cross-entropy: the case T = 1, right is the aligned pdf, wrong is the softmax.
//!
//! In: frames with a target pdf for each output row. Out: a trained network, a report after each epoch, and checkpoints from
//! which a run goes on to the very same parameters. A batch is cut into a fixed number of shards whose gradients are summed
//! in order, so that the result does not depend on the number of threads.

mod augment;
mod batches;
mod checkpoint;
mod config;
mod criterion;

use rayon::prelude::*;

pub use augment::AugmentConfig;
pub use config::TrainerConfig;

use crate::matrix::Matrix;
use crate::network::optimiser::{AdamW, StepOptions};
use crate::network::{Acoustic, Network};
use crate::random::Random;
use crate::{Error, Result};
use batches::{Shard, batches, is_usable};
use criterion::{CrossEntropy, Tally};

/// A target that is not to be learnt from.
pub const IGNORE: u32 = u32::MAX;

/// One utterance to learn from.
#[derive(Debug, Clone)]
pub struct FrameExample<'a> {
    /// As messages call it.
    pub name: &'a str,
    /// Normalised frames `[T x D]`.
    pub frames: &'a Matrix,
    /// Target pdf of every output row, `[ceil(T / subsampling)]`, or [`IGNORE`].
    pub targets: Vec<u32>,
}

/// What one epoch did.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochReport {
    /// One-based.
    pub epoch: usize,
    /// Epochs of the whole run.
    pub of: usize,
    /// Mean cross-entropy of a frame, natural log, on the augmented training data.
    pub loss: f64,
    /// Share of training frames whose best pdf is the target.
    pub accuracy: f64,
    /// Mean cross-entropy of a frame of the development set.
    pub development_loss: f64,
    /// Share of its frames whose best pdf is the target.
    pub development_accuracy: f64,
    /// Utterances without frames or with values that are not numbers, and batches whose loss was not finite, by the names of
    /// their utterances: they changed nothing.
    pub skipped: Vec<String>,
}

/// A network on its way.
#[derive(Debug)]
pub struct FrameTrainer {
    config: TrainerConfig,
    network: Network,
    parameters: Vec<Vec<f32>>,
    optimiser: AdamW,
    /// Sum of the parameters after each of the last epochs.
    sum: Vec<Vec<f32>>,
    epochs: usize,
    random: Random,
}

/// Parts of a batch whose gradients are computed apart: more threads than this are of no use.
const SHARDS: usize = 4;

/// Batches in a row whose loss is not finite before training gives up.
const MOST_SKIPPED: usize = 5;

impl FrameTrainer {
    /// Starts from `network`; `seed` decides order, augmentation and dropout.
    ///
    /// # Errors
    /// As [`TrainerConfig::check`].
    pub fn new(network: Network, config: TrainerConfig, seed: u64) -> Result<Self> {
        config.check()?;
        let parameters: Vec<Vec<f32>> = network.parts().into_iter().map(|(_, _, values)| values).collect();
        let optimiser = AdamW::new(&parameters);
        let sum = parameters.iter().map(|values| vec![0.0; values.len()]).collect();
        Ok(Self { config, network, parameters, optimiser, sum, epochs: 0, random: Random::new(seed) })
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> usize {
        self.epochs
    }

    /// Whether all epochs are done.
    pub fn is_done(&self) -> bool {
        self.epochs >= self.config.epochs
    }

    /// The network as it is, or, when all epochs are done, with the mean of the last epochs' parameters.
    ///
    /// # Errors
    /// [`Error::Network`] when a parameter is not finite.
    pub fn network(&self) -> Result<Network> {
        let mut parts = self.network.parts();
        let averaged = self.config.average_last.min(self.config.epochs);
        if self.is_done() && averaged > 1 {
            for ((_, _, values), sum) in parts.iter_mut().zip(&self.sum) {
                values.iter_mut().zip(sum).for_each(|(value, sum)| *value = sum / averaged as f32);
            }
        }
        Network::load(self.network.config(), (self.network.input_dim(), self.network.pdfs()), parts)
    }

    /// One pass over `training`, then a look at `development`.
    ///
    /// # Errors
    /// [`Error::Diverged`] when several batches in a row have a loss that is not finite; [`Error::Shape`] for examples that do
    /// not fit the network.
    pub fn epoch(&mut self, training: &[FrameExample<'_>], development: &[FrameExample<'_>]) -> Result<EpochReport> {
        self.check(training)?;
        self.check(development)?;
        let (tally, skipped) = self.learn(training)?;
        self.epochs += 1;
        self.remember();
        let held_out = self.measure(development)?;
        Ok(EpochReport {
            epoch: self.epochs,
            of: self.config.epochs,
            loss: tally.mean_loss(),
            accuracy: tally.accuracy(),
            development_loss: held_out.mean_loss(),
            development_accuracy: held_out.accuracy(),
            skipped,
        })
    }

    /// A step for every batch; also what was skipped, by the names of the utterances.
    fn learn(&mut self, training: &[FrameExample<'_>]) -> Result<(Tally, Vec<String>)> {
        let mut random = self.random.fork(self.epochs as u64);
        let plan = batches(training, self.config.batch_frames, &mut random);
        let unusable = training.iter().filter(|example| !is_usable(example));
        let mut skipped: Vec<String> = unusable.map(|example| example.name.to_owned()).collect();
        let (mut tally, mut in_a_row) = (Tally::default(), 0);
        for (index, batch) in plan.iter().enumerate() {
            let (gradient, of_batch) = self.gradient(batch, training, (&random, index as u64))?;
            if of_batch.loss.is_finite() && gradient.iter().flatten().all(|value| value.is_finite()) {
                in_a_row = 0;
                tally.add(of_batch);
                let progress = (self.epochs as f64 + index as f64 / plan.len() as f64) / self.config.epochs as f64;
                self.optimiser.step(&mut self.parameters, &gradient, self.config.step_at(progress));
                self.network.set(&self.parameters)?;
                continue;
            }
            in_a_row += 1;
            let names: Vec<&str> = batch.iter().map(|&example| training[example].name).collect();
            skipped.push(names.join(" "));
            if in_a_row >= MOST_SKIPPED {
                let (epoch, loss) = (self.epochs + 1, of_batch.loss);
                return Err(Error::Diverged { epoch, utterances: names.join(" "), loss });
            }
        }
        Ok((tally, skipped))
    }

    fn check(&self, examples: &[FrameExample<'_>]) -> Result<()> {
        for example in examples {
            let (expected, found) = (self.network.rows_out(example.frames.rows()), example.targets.len());
            if expected != found {
                return Err(Error::Shape { what: "targets of an utterance", expected, found });
            }
        }
        Ok(())
    }

    /// The gradient of the mean loss over all rows of a batch, shards summed in order. What is drawn depends on the `number` of
    /// the batch alone.
    fn gradient(
        &self,
        batch: &[usize],
        training: &[FrameExample<'_>],
        (random, number): (&Random, u64),
    ) -> Result<(Vec<Vec<f32>>, Tally)> {
        let (changes, drops) = (random.fork(number), random.fork(!number));
        let shards = Shard::draw(batch, training, (&self.config.augment, self.network.subsampling()), &changes);
        let rows: usize = shards.iter().map(Shard::rows).sum();
        let one = |(index, shard): (usize, &Shard)| {
            let mut criterion = CrossEntropy::new(&shard.targets, rows.max(1), self.config.label_smoothing);
            let dropout = drops.fork(index as u64);
            let gradient = self.network.gradient(&shard.utterances, &mut criterion, Some(&dropout))?;
            Ok((gradient, criterion.tally))
        };
        let each: Vec<(Vec<Vec<f32>>, Tally)> = shards.par_iter().enumerate().map(one).collect::<Result<_>>()?;
        let mut total: Vec<Vec<f32>> = self.parameters.iter().map(|values| vec![0.0; values.len()]).collect();
        let mut tally = Tally::default();
        for (gradient, part) in each {
            total.par_iter_mut().zip(gradient).for_each(|(total, part)| {
                total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
            });
            tally.add(part);
        }
        Ok((total, tally))
    }

    /// Adds the parameters to the sum, when this is one of the last epochs.
    fn remember(&mut self) {
        if self.epochs + self.config.average_last > self.config.epochs {
            for (sum, values) in self.sum.iter_mut().zip(&self.parameters) {
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    /// Loss and accuracy without dropout or augmentation.
    fn measure(&self, examples: &[FrameExample<'_>]) -> Result<Tally> {
        let each: Vec<Tally> = examples
            .par_iter()
            .map(|example| Ok(Tally::of(&self.network.log_posteriors(example.frames)?.0, &example.targets)))
            .collect::<Result<_>>()?;
        let mut total = Tally::default();
        each.into_iter().for_each(|part| total.add(part));
        Ok(total)
    }

    /// Everything that [`FrameTrainer::resume`] needs, as bytes.
    ///
    /// # Errors
    /// [`Error::Other`] when it cannot be laid out.
    pub fn checkpoint(&self) -> Result<Vec<u8>> {
        checkpoint::encode(self)
    }

    /// Goes on from a checkpoint of the same settings.
    ///
    /// # Errors
    /// [`Error::Other`] when the bytes are broken or of a run with other settings.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<()> {
        checkpoint::restore(self, bytes)?;
        self.network.set(&self.parameters)
    }
}

impl TrainerConfig {
    /// The step at `progress`, 0 to 1: a linear warm-up, then a cosine down to nothing.
    fn step_at(&self, progress: f64) -> StepOptions {
        let share = if progress < self.warm_up {
            progress / self.warm_up
        } else {
            let done = (progress - self.warm_up) / (1.0 - self.warm_up);
            0.5 * (1.0 + (std::f64::consts::PI * done).cos())
        };
        StepOptions {
            learning_rate: (f64::from(self.learning_rate) * share.max(0.01)) as f32,
            weight_decay: self.weight_decay,
            clip: self.clip,
        }
    }
}

#[cfg(test)]
mod tests;
