//! Epochs: batches, their gradients, steps, and what to tell of them.

use rayon::prelude::*;

use super::average::Average;
use super::batches::{BatchSize, Shard, batches, is_usable};
use super::gradient::BatchGradient;
use super::loss::{BatchLoss, LossOptions, Tally};
use super::sequence::{SequenceGoal, SequenceJudge, TransitionTraining};
use super::{EpochReport, Example, LeftOut, NotFinite, TrainerConfig, checkpoint};
use crate::graph::Weights;
use crate::network::optimiser::Optimiser;
use crate::network::{Acoustic, Device, Network};
use crate::parallel::in_order;
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
    pub(super) optimiser: Optimiser,
    pub(super) average: Average,
    /// What the best epoch left, where early stopping asks for it.
    pub(super) best: Option<Best>,
    pub(super) epochs: usize,
    pub(super) random: Random,
}

/// An epoch, and how good it was.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Best {
    pub(super) epoch: usize,
    pub(super) error: f64,
    pub(super) parameters: Vec<Vec<f32>>,
}

/// Utterances whose lengths differ by less than this many frames count as equally long.
const LENGTH_STEP: usize = 50;

/// Batches in a row whose loss is not finite before training gives up.
const MOST_SKIPPED: usize = 5;

/// The largest value that a stored network holds: it is written in half precision.
const MOST: f32 = 65504.0;

/// What was learnt from in an epoch, and what not.
#[derive(Default)]
struct Pass {
    tally: Tally,
    left_out: Vec<LeftOut>,
    learning_rate: f32,
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
            optimiser: Optimiser::new(config.optimiser, &parameters),
            average: Average::new(&config, &parameters),
            config,
            network,
            goal: None,
            parameters,
            best: None,
            epochs: 0,
            random: Random::new(seed),
        };
        Ok(trainer)
    }

    /// The same with gradients computed by `device`.
    pub fn on(self, device: &Device) -> Self {
        Self { network: self.network.on(device), ..self }
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
            self.optimiser = Optimiser::new(self.config.optimiser, &self.parameters);
            self.average = Average::new(&self.config, &self.parameters);
        }
        self.goal = Some(goal);
        Ok(self)
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> usize {
        self.epochs
    }

    /// Whether all epochs are done, or as many in a row as `patience` says have brought nothing.
    pub fn is_done(&self) -> bool {
        let patience = self.config.patience;
        let in_vain = self.best.as_ref().map_or(0, |best| self.epochs - best.epoch);
        self.epochs >= self.config.epochs || (patience > 0 && in_vain >= patience)
    }

    /// The network after the epoch just done, its parameters averaged as the settings ask for: what that epoch is judged by.
    ///
    /// # Errors
    /// [`Error::Network`] when a parameter is not finite.
    pub fn network(&self) -> Result<Network> {
        self.network_of(self.averaged())
    }

    /// The transition weights that go with [`Trainer::network`]; `None` without a goal for sequences.
    pub fn weights(&self) -> Option<Weights> {
        self.weights_of(&self.averaged())
    }

    /// Takes the phone error of the epoch just done, on which early stopping decides.
    pub fn judge(&mut self, error: f64) {
        let improved = self.best.as_ref().is_none_or(|best| error < best.error);
        if self.config.patience > 0 && improved {
            self.best = Some(Best { epoch: self.epochs, error, parameters: self.averaged() });
        }
    }

    /// The epoch that [`Trainer::finish`] gives, with its error: the best one under early stopping.
    pub fn best_epoch(&self) -> Option<(usize, f64)> {
        self.best.as_ref().map(|best| (best.epoch, best.error))
    }

    /// What training has made, network and transition weights: those of the best epoch under early stopping, else of the last.
    ///
    /// # Errors
    /// As [`Trainer::network`].
    pub fn finish(self) -> Result<(Network, Option<Weights>)> {
        let parameters = self.best.as_ref().map_or_else(|| self.averaged(), |best| best.parameters.clone());
        let weights = self.weights_of(&parameters);
        Ok((self.network_of(parameters)?, weights))
    }

    fn averaged(&self) -> Vec<Vec<f32>> {
        self.average.of(&self.parameters, self.epochs)
    }

    fn network_of(&self, parameters: Vec<Vec<f32>>) -> Result<Network> {
        let mut parts = self.network.parts();
        parts.iter_mut().zip(parameters).for_each(|((_, _, values), new)| *values = new);
        Network::load(self.network.config(), (self.network.input_dim(), self.network.pdfs()), parts)
    }

    fn weights_of(&self, parameters: &[Vec<f32>]) -> Option<Weights> {
        let goal = self.goal.as_ref()?;
        match (goal.transitions, parameters.last()) {
            (TransitionTraining::Joint, Some(weights)) => Some(Weights(weights.clone())),
            _ => Some(goal.weights.clone()),
        }
    }

    /// One pass over `training`, then a look at `development` with what [`Trainer::network`] gives.
    ///
    /// # Errors
    /// [`Error::Diverged`] when the loss of a batch is not finite and the settings say `stop`, or that of several in a row or of
    /// all, or when a parameter ends beyond what a model can hold; [`Error::Shape`] for examples that do not fit the network; [`Error::Other`] when none can be learnt from.
    pub fn epoch(&mut self, training: &[Example<'_>], development: &[Example<'_>]) -> Result<EpochReport> {
        self.check(training)?;
        self.check(development)?;
        let Pass { tally, mut left_out, learning_rate } = self.learn(training)?;
        self.epochs += 1;
        self.average.after_epoch(&self.parameters, self.epochs);
        self.check_parameters(tally.mean_loss())?;
        let (held_out, also) = self.measure(development)?;
        left_out.extend(also);
        Ok(EpochReport {
            epoch: self.epochs,
            of: self.config.epochs,
            learning_rate,
            loss: tally.mean_loss(),
            accuracy: tally.accuracy(),
            development_loss: held_out.mean_loss(),
            development_accuracy: held_out.accuracy(),
            left_out,
        })
    }

    /// The places of what can be learnt from, in batches; the rest is told of.
    fn plan(&self, training: &[Example<'_>], random: &mut Random) -> Result<(Vec<Vec<usize>>, Pass)> {
        let usable = training.iter().enumerate().filter(|(_, example)| is_usable(example));
        let lengths = usable.map(|(index, example)| (index, example.frames.rows()));
        let size = BatchSize { frames: self.config.batch_frames, length_step: LENGTH_STEP };
        let plan = batches(lengths, size, random);
        if plan.is_empty() {
            return Err(Error::Other("no utterance to learn from has frames that are all numbers".into()));
        }
        let mut pass = Pass::default();
        for example in training.iter().filter(|example| !is_usable(example)) {
            let utterances = example.answer.name.clone();
            if self.config.not_finite == NotFinite::Stop && example.frames.rows() > 0 {
                return Err(Error::Diverged { epoch: self.epochs + 1, utterances, loss: f64::NAN });
            }
            pass.left_out.push(LeftOut { utterances, reason: "it has no frame, or one that is not a number".into() });
        }
        Ok((plan, pass))
    }

    /// A step for every batch.
    fn learn(&mut self, training: &[Example<'_>]) -> Result<Pass> {
        let mut random = self.random.fork(self.epochs as u64);
        let (plan, mut pass) = self.plan(training, &mut random)?;
        let (mut learnt, mut in_a_row) = (0, 0);
        for (index, batch) in plan.iter().enumerate() {
            let found = self.gradient(batch, training, (&random, index as u64))?;
            if found.is_finite() {
                (learnt, in_a_row) = (learnt + 1, 0);
                let progress = (self.epochs as f64 + index as f64 / plan.len() as f64) / self.config.epochs as f64;
                pass.learning_rate = self.step(found.by_parameter, progress)?;
                pass.tally.add(found.tally);
                pass.left_out.extend(found.left_out);
                continue;
            }
            in_a_row += 1;
            let utterances = found.blamed(batch.iter().map(|&example| &*training[example].answer.name));
            let nothing_learnt = learnt == 0 && index + 1 == plan.len();
            if self.config.not_finite == NotFinite::Stop || in_a_row >= MOST_SKIPPED || nothing_learnt {
                return Err(Error::Diverged { epoch: self.epochs + 1, utterances, loss: found.tally.loss });
            }
            let reason = format!("their loss or gradient is not a number: a batch of {} is skipped", batch.len());
            pass.left_out.push(LeftOut { utterances, reason });
        }
        Ok(pass)
    }

    /// A step against `gradient`; its learning rate.
    fn step(&mut self, mut gradient: Vec<Vec<f32>>, progress: f64) -> Result<f32> {
        let options = self.config.step_at(progress);
        self.network.settle(&mut self.parameters, &mut gradient);
        self.optimiser.step(&mut self.parameters, &gradient, options);
        self.average.after_step(&self.parameters, self.optimiser.steps - 1);
        self.tell_network()?;
        Ok(options.learning_rate)
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

    /// Whether a model can hold what the epoch just done, of that `loss`, has led to.
    fn check_parameters(&self, loss: f64) -> Result<()> {
        // Not a number is no larger than another.
        if self.averaged().iter().flatten().all(|value| value.abs() <= MOST) {
            return Ok(());
        }
        let utterances = "all utterances, and a parameter is too large for a model".into();
        Err(Error::Diverged { epoch: self.epochs, utterances, loss })
    }

    /// Calls `with` the judge of sequences under `weights`, if there is one.
    fn judged<T>(
        &self,
        weights: Option<&Weights>,
        with: impl FnOnce(Option<&SequenceJudge<'_>>) -> Result<T>,
    ) -> Result<T> {
        match (&self.goal, weights) {
            (Some(goal), Some(weights)) => with(Some(&goal.laid_out(weights)?)),
            _ => with(None),
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
        let shards = Shard::draw(batch, training, (&self.config.augment, &self.network), &changes)?;
        let rows = shards.iter().map(Shard::rows).sum::<usize>().max(1);
        self.judged(self.weights_of(&self.parameters).as_ref(), |sequences| {
            let options = LossOptions { sequences, label_smoothing: self.config.label_smoothing, rows };
            BatchGradient::of_parts(&shards, |index, shard| self.shard(shard, options, &drops.fork(index as u64)))
        })
    }

    fn shard(&self, shard: &Shard, options: LossOptions<'_>, dropout: &Random) -> Result<BatchGradient> {
        let mut loss = BatchLoss::new(&shard.answers, options);
        let by_parameter = self.network.gradient(&shard.utterances, &mut loss, Some(dropout))?;
        Ok(BatchGradient::new(loss, by_parameter))
    }

    /// Loss and accuracy of what [`Trainer::network`] gives, without dropout, augmentation or smoothing.
    fn measure(&self, examples: &[Example<'_>]) -> Result<(Tally, Vec<LeftOut>)> {
        let (network, weights) = (self.network()?, self.weights());
        let each = self.judged(weights.as_ref(), |sequences| {
            let options = LossOptions { sequences, label_smoothing: 0.0, rows: 1 };
            let one = |example: &Example<'_>| {
                let mut loss = BatchLoss::new(std::slice::from_ref(&example.answer), options);
                let mut scores = network.log_posteriors(example.frames)?.0;
                crate::network::Loss::differentiate(&mut loss, &mut scores)?;
                Ok((loss.tally, loss.left_out))
            };
            in_order(examples.par_iter().map(one))
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
