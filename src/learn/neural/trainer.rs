//! Epochs: batches, their gradients, steps, and what to tell of them.

use rayon::prelude::*;

use super::batches::{BatchSize, Shard, batches, is_usable};
use super::loss::{BatchLoss, LossOptions, Tally};
use super::sequence::{SequenceGoal, SequenceJudge, TransitionTraining};
use super::{EpochReport, Example, LeftOut, TrainerConfig, checkpoint};
use crate::graph::Weights;
use crate::network::optimiser::{AdamW, StepOptions};
use crate::network::{Acoustic, Network};
use crate::random::Random;
use crate::{Error, Result};

/// A network on its way.
#[derive(Debug)]
pub struct Trainer {
    pub(super) config: TrainerConfig,
    pub(super) network: Network,
    pub(super) goal: Option<SequenceGoal>,
    /// Those of the network, then the transition weights, if they learn.
    pub(super) parameters: Vec<Vec<f32>>,
    pub(super) optimiser: AdamW,
    /// Sum of the parameters after each of the last epochs.
    pub(super) sum: Vec<Vec<f32>>,
    pub(super) epochs: usize,
    random: Random,
}

/// Parts of a batch whose gradients are computed apart: more threads than this are of no use.
pub(super) const SHARDS: usize = 4;

/// Utterances whose lengths differ by less than this many frames count as equally long.
const LENGTH_STEP: usize = 50;

/// Batches in a row whose loss is not finite before training gives up.
const MOST_SKIPPED: usize = 5;

/// The gradient of a batch, and what was learnt about it.
#[derive(Default)]
struct BatchGradient {
    by_parameter: Vec<Vec<f32>>,
    tally: Tally,
    left_out: Vec<LeftOut>,
}

impl Trainer {
    /// Starts from `network`, towards frames that say their targets; `seed` decides order, augmentation and dropout.
    ///
    /// # Errors
    /// As [`TrainerConfig::check`].
    pub fn new(network: Network, config: TrainerConfig, seed: u64) -> Result<Self> {
        config.check()?;
        let parameters: Vec<Vec<f32>> = network.parts().into_iter().map(|(_, _, values)| values).collect();
        let trainer = Self {
            config,
            network,
            goal: None,
            optimiser: AdamW::new(&parameters),
            sum: zeros(&parameters),
            parameters,
            epochs: 0,
            random: Random::new(seed),
        };
        Ok(trainer)
    }

    /// The same towards `goal`.
    ///
    /// # Errors
    /// As [`SequenceGoal::check`]; [`Error::PdfCount`] when its graph is not the network's.
    pub fn towards(mut self, goal: SequenceGoal) -> Result<Self> {
        goal.check()?;
        if self.network.pdfs() != goal.graph.pdfs() {
            return Err(Error::PdfCount { network: self.network.pdfs(), graph: goal.graph.pdfs() });
        }
        if goal.transitions == TransitionTraining::Joint {
            self.parameters.push(goal.weights.0.clone());
            self.optimiser = AdamW::new(&self.parameters);
            self.sum = zeros(&self.parameters);
        }
        self.goal = Some(goal);
        Ok(self)
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
        parts.iter_mut().zip(self.best_parameters()).for_each(|((_, _, values), best)| *values = best);
        Network::load(self.network.config(), (self.network.input_dim(), self.network.pdfs()), parts)
    }

    /// The transition weights that go with [`Trainer::network`]; `None` without a goal for sequences.
    pub fn weights(&self) -> Option<Weights> {
        self.goal.as_ref().map(|goal| match goal.transitions {
            TransitionTraining::Fixed => goal.weights.clone(),
            TransitionTraining::Joint => Weights(self.best_parameters().pop().unwrap_or_default()),
        })
    }

    fn best_parameters(&self) -> Vec<Vec<f32>> {
        let averaged = self.config.average_last.min(self.config.epochs);
        if !self.is_done() || averaged < 2 {
            return self.parameters.clone();
        }
        let mean = |sum: &Vec<f32>| sum.iter().map(|sum| sum / averaged as f32).collect();
        self.sum.iter().map(mean).collect()
    }

    /// The transition weights of the moment.
    fn weights_now(&self, goal: &SequenceGoal) -> Weights {
        match (goal.transitions, self.parameters.last()) {
            (TransitionTraining::Joint, Some(weights)) => Weights(weights.clone()),
            _ => goal.weights.clone(),
        }
    }

    /// One pass over `training`, then a look at `development`.
    ///
    /// # Errors
    /// [`Error::Diverged`] when several batches in a row have a loss that is not finite; [`Error::Shape`] for examples that do
    /// not fit the network.
    pub fn epoch(&mut self, training: &[Example<'_>], development: &[Example<'_>]) -> Result<EpochReport> {
        self.check(training)?;
        self.check(development)?;
        let (tally, mut left_out) = self.learn(training)?;
        self.epochs += 1;
        self.remember();
        let (held_out, also) = self.measure(development)?;
        left_out.extend(also);
        Ok(EpochReport {
            epoch: self.epochs,
            of: self.config.epochs,
            loss: tally.mean_loss(),
            accuracy: tally.accuracy(),
            development_loss: held_out.mean_loss(),
            development_accuracy: held_out.accuracy(),
            left_out,
        })
    }

    /// A step for every batch; also what was left out.
    fn learn(&mut self, training: &[Example<'_>]) -> Result<(Tally, Vec<LeftOut>)> {
        let mut random = self.random.fork(self.epochs as u64);
        let usable = training.iter().enumerate().filter(|(_, example)| is_usable(example));
        let lengths = usable.map(|(index, example)| (index, example.frames.rows()));
        let size = BatchSize { frames: self.config.batch_frames, length_step: LENGTH_STEP };
        let plan = batches(lengths, size, &mut random);
        let unusable = training.iter().filter(|example| !is_usable(example));
        let reason = || "it has no frame, or one that is not a number".to_owned();
        let name = |example: &Example<'_>| LeftOut { utterances: example.answer.name.clone(), reason: reason() };
        let mut left_out: Vec<LeftOut> = unusable.map(name).collect();
        let (mut tally, mut in_a_row) = (Tally::default(), 0);
        for (index, batch) in plan.iter().enumerate() {
            let found = self.gradient(batch, training, (&random, index as u64))?;
            if found.tally.loss.is_finite() && found.by_parameter.iter().flatten().all(|value| value.is_finite()) {
                in_a_row = 0;
                tally.add(found.tally);
                left_out.extend(found.left_out);
                let progress = (self.epochs as f64 + index as f64 / plan.len() as f64) / self.config.epochs as f64;
                self.step(found.by_parameter, progress)?;
                continue;
            }
            in_a_row += 1;
            let names: Vec<&str> = batch.iter().map(|&example| training[example].answer.name.as_str()).collect();
            let utterances = names.join(" ");
            if in_a_row >= MOST_SKIPPED {
                return Err(Error::Diverged { epoch: self.epochs + 1, utterances, loss: found.tally.loss });
            }
            left_out.push(LeftOut { utterances, reason: "the loss of their batch is not finite".into() });
        }
        Ok((tally, left_out))
    }

    /// A step against `gradient`.
    fn step(&mut self, mut gradient: Vec<Vec<f32>>, progress: f64) -> Result<()> {
        self.network.settle(&mut self.parameters, &mut gradient);
        self.optimiser.step(&mut self.parameters, &gradient, self.config.step_at(progress));
        self.tell_network()
    }

    /// Gives the network its parameters.
    fn tell_network(&mut self) -> Result<()> {
        let joint = self.goal.as_ref().is_some_and(|goal| goal.transitions == TransitionTraining::Joint);
        let own = self.parameters.len() - usize::from(joint);
        self.network.set(&self.parameters[..own])
    }

    fn check(&self, examples: &[Example<'_>]) -> Result<()> {
        for example in examples {
            let (expected, found) = (self.network.rows_out(example.frames.rows()), example.answer.targets.len());
            if expected != found {
                return Err(Error::Shape { what: "targets of an utterance", expected, found });
            }
        }
        Ok(())
    }

    /// Calls `with` the judge of sequences under the weights of the moment, if there is one.
    fn judged<T>(&self, with: impl FnOnce(Option<&SequenceJudge<'_>>) -> Result<T>) -> Result<T> {
        match &self.goal {
            None => with(None),
            Some(goal) => with(Some(&goal.laid_out(&self.weights_now(goal))?)),
        }
    }

    /// The gradient of the mean loss over all rows of a batch, shards summed in order. What is drawn depends on the `number` of
    /// the batch alone.
    fn gradient(
        &self,
        batch: &[usize],
        training: &[Example<'_>],
        (random, number): (&Random, u64),
    ) -> Result<BatchGradient> {
        let (changes, drops) = (random.fork(number), random.fork(!number));
        let shards = Shard::draw(batch, training, (&self.config.augment, self.network.subsampling()), &changes);
        let rows = shards.iter().map(Shard::rows).sum::<usize>().max(1);
        let each = self.judged(|sequences| {
            let options = LossOptions { sequences, label_smoothing: self.config.label_smoothing, rows };
            let one = |(index, shard): (usize, &Shard)| self.shard(shard, options, &drops.fork(index as u64));
            shards.par_iter().enumerate().map(one).collect::<Result<Vec<_>>>()
        })?;
        let mut total = BatchGradient { by_parameter: zeros(&self.parameters), ..BatchGradient::default() };
        for part in each {
            total.by_parameter.par_iter_mut().zip(part.by_parameter).for_each(|(total, part)| {
                total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
            });
            total.tally.add(part.tally);
            total.left_out.extend(part.left_out);
        }
        Ok(total)
    }

    fn shard(&self, shard: &Shard, options: LossOptions<'_>, dropout: &Random) -> Result<BatchGradient> {
        let mut loss = BatchLoss::new(&shard.answers, options);
        let mut by_parameter = self.network.gradient(&shard.utterances, &mut loss, Some(dropout))?;
        // Dropped by `zip` where they do not learn.
        by_parameter.push(loss.transitions.iter().map(|&d| d as f32).collect());
        Ok(BatchGradient { by_parameter, tally: loss.tally, left_out: loss.left_out })
    }

    /// Adds the parameters to the sum, when this is one of the last epochs.
    fn remember(&mut self) {
        if self.epochs + self.config.average_last > self.config.epochs {
            for (sum, values) in self.sum.iter_mut().zip(&self.parameters) {
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    /// Loss and accuracy without dropout, augmentation or smoothing.
    fn measure(&self, examples: &[Example<'_>]) -> Result<(Tally, Vec<LeftOut>)> {
        let each: Vec<(Tally, Vec<LeftOut>)> = self.judged(|sequences| {
            let options = LossOptions { sequences, label_smoothing: 0.0, rows: 1 };
            let one = |example: &Example<'_>| {
                let mut loss = BatchLoss::new(std::slice::from_ref(&example.answer), options);
                let mut scores = self.network.log_posteriors(example.frames)?.0;
                crate::network::Criterion::differentiate(&mut loss, &mut scores)?;
                Ok((loss.tally, loss.left_out))
            };
            examples.par_iter().map(one).collect()
        })?;
        let (mut total, mut left_out) = (Tally::default(), Vec::new());
        for (tally, also) in each {
            total.add(tally);
            left_out.extend(also);
        }
        Ok((total, left_out))
    }

    /// Everything that [`Trainer::resume`] needs, as bytes.
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
        self.tell_network()
    }
}

pub(super) fn zeros(parameters: &[Vec<f32>]) -> Vec<Vec<f32>> {
    parameters.iter().map(|values| vec![0.0; values.len()]).collect()
}

impl TrainerConfig {
    /// The step at `progress`, 0 to 1: a linear warm-up, then a cosine down to nothing.
    pub(super) fn step_at(&self, progress: f64) -> StepOptions {
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
