//! A network over embedded features, trained on sequences of tokens: the same losses, steps and schedule as for speech, and in
//! front of the network a table of vectors that learns with it.
//!
//! In: [`SparseFrames`] with their right tags. Out: an [`EmbeddedNetwork`] and, towards a [`SequenceGoal`], transition weights.
//! Where vectors have P more values than the network reads, those are scores of the tags by themselves: a linear model beside the
//! network (wide and deep, Cheng et al. 2016).
//!
//! ```text
//! (x[t], d[t]) = sum_f value[t, f] E[f]      score[t] = network(x)[t] + d[t]
//! ```

use std::collections::VecDeque;

use super::average::add;
use super::batches::{BatchSize, batches, deal};
use super::gradient::BatchGradient;
use super::loss::{BatchLoss, LossOptions, Tally};
use super::sequence::{SequenceGoal, SequenceJudge};
use super::{Answer, Embedding, TrainerConfig};
use crate::emission::{LogPosteriors, SparseFrames};
use crate::error::require;
use crate::graph::Weights;
use crate::matrix::Matrix;
use crate::network::optimiser::{Optimiser, norm};
use crate::network::{Acoustic, Loss, Mask, Network, log_softmax};
use crate::random::Random;
use crate::{Error, Result};

/// A table of vectors and the network that reads their sums.
#[derive(Debug)]
pub struct EmbeddedNetwork {
    /// Vectors of the features: what the network reads, then, it may be, a score of each tag.
    pub embedding: Embedding,
    /// From a token's vector to scores of the tags, one row a token.
    pub network: Network,
}

impl EmbeddedNetwork {
    /// Puts the two together.
    ///
    /// # Errors
    /// [`Error::Shape`] when the vectors fit the network neither with scores of the tags nor without, or it has not one output row
    /// a token.
    pub fn new(embedding: Embedding, network: Network) -> Result<Self> {
        let (dims, input, pdfs) = (embedding.dims(), network.input_dim(), network.pdfs());
        if dims != input && dims != input + pdfs {
            return Err(Error::Shape { what: "values of a feature's vector", expected: input, found: dims });
        }
        match network.subsampling() {
            1 => Ok(Self { embedding, network }),
            found => Err(Error::Shape { what: "tokens in an output row", expected: 1, found }),
        }
    }

    /// log P(tag | token and its neighbours), `[T x P]`.
    ///
    /// # Errors
    /// As [`Embedding::embed`] and [`Network::log_posteriors`].
    pub fn log_posteriors(&self, tokens: &SparseFrames) -> Result<LogPosteriors> {
        let (input, direct) = self.inputs(tokens)?;
        let mut posteriors = self.network.log_posteriors(&input)?;
        if direct.cols() > 0 {
            posteriors.0.as_mut_slice().iter_mut().zip(direct.as_slice()).for_each(|(score, direct)| *score += direct);
            log_softmax(posteriors.0.as_mut_slice(), direct.cols());
        }
        Ok(posteriors)
    }

    /// What the network reads `[T x D]`, and the tags' scores beside it, `[T x P]` or `[T x 0]`.
    fn inputs(&self, tokens: &SparseFrames) -> Result<(Matrix, Matrix)> {
        Ok(split(self.embedding.embed(tokens)?, self.network.input_dim()))
    }
}

/// The loss of a network's scores with others added to them.
struct Beside<'a> {
    loss: BatchLoss<'a>,
    /// The others, one sequence after another; then the gradient by them.
    direct: Vec<f32>,
}

impl Loss for Beside<'_> {
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
        let Self { loss, direct } = self;
        scores.as_mut_slice().iter_mut().zip(&*direct).for_each(|(score, direct)| *score += direct);
        loss.differentiate(scores)?;
        direct.iter_mut().zip(scores.as_slice()).for_each(|(direct, by_score)| *direct = *by_score);
        Ok(())
    }
}

/// How a network over embedded features is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct TaggerConfig {
    /// Epochs, batches (of tokens) and steps; nothing is augmented, and the first batch whose loss is not a number ends it. The
    /// parameters are at each time the mean of those after the last epochs, so `ema_decay` and `patience` must be 0.
    pub steps: TrainerConfig,
    /// Share of the values in front of the network that are dropped in training, 0 or more and below 1.
    pub dropout: f32,
    /// A, 0 or more: a feature that training has n times is dropped with probability A / (A + n) (Kiperwasser & Goldberg 2016),
    /// so that the network has met tokens that lack what is rare.
    pub rare_dropout: f32,
}

impl TaggerConfig {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming key and value.
    pub fn check(&self) -> Result<()> {
        let (dropout, rare) = (self.dropout, self.rare_dropout);
        require((0.0..0.95).contains(&dropout), "dropout", dropout, "a share from 0 to 0.95")?;
        require(rare.is_finite() && rare >= 0.0, "rare_dropout", rare, "a number, 0 or more")?;
        let (moving, patience) = (self.steps.ema_decay, self.steps.patience);
        require(moving == 0.0, "ema_decay", moving, "0 for taggers: average_last is what they average by")?;
        require(patience == 0, "patience", patience, "0 for taggers: whoever trains them keeps the best epoch")?;
        self.steps.check()
    }
}

/// A sequence to learn from.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    /// Features of its tokens, `[T x F]`.
    pub frames: &'a SparseFrames,
    /// The pdf of each.
    pub answer: Answer,
}

/// An [`EmbeddedNetwork`] on its way.
#[derive(Debug)]
pub struct TaggerTrainer {
    config: TaggerConfig,
    model: EmbeddedNetwork,
    goal: Option<SequenceGoal>,
    /// Those of the network, then the transition weights.
    parameters: Vec<Vec<f32>>,
    optimiser: Optimiser,
    /// The optimiser's state for the vectors.
    moments: [Vec<f32>; 2],
    /// Parameters and vectors after each of the last epochs.
    last: VecDeque<Vec<Vec<f32>>>,
    epochs: usize,
    random: Random,
}

/// Sentences whose lengths differ by less than this many tokens count as equally long.
const LENGTH_STEP: usize = 4;

impl TaggerTrainer {
    /// Starts from `model`; without a `goal` each token is judged by itself, with one the transition weights learn too, from those
    /// of the goal on. `seed` decides order and dropout.
    ///
    /// # Errors
    /// As [`TaggerConfig::check`] and [`SequenceGoal::check`].
    pub fn new(
        model: EmbeddedNetwork,
        goal: Option<SequenceGoal>,
        (config, seed): (TaggerConfig, u64),
    ) -> Result<Self> {
        config.check()?;
        goal.iter().try_for_each(SequenceGoal::check)?;
        let mut parameters: Vec<Vec<f32>> = model.network.parts().into_iter().map(|(_, _, values)| values).collect();
        parameters.push(goal.as_ref().map(|goal| goal.weights.0.clone()).unwrap_or_default());
        let still = vec![0.0; model.embedding.values().len()];
        Ok(Self {
            optimiser: Optimiser::new(config.steps.optimiser, &parameters),
            config,
            model,
            goal,
            parameters,
            moments: [still.clone(), still],
            last: VecDeque::new(),
            epochs: 0,
            random: Random::new(seed),
        })
    }

    /// One pass over `training`: the loss and what was right on the way, features being dropped.
    ///
    /// # Errors
    /// [`Error::Diverged`] when the loss or the gradient of a batch is not finite; [`Error::Shape`] for features without a vector.
    pub fn epoch(&mut self, training: &[Tokens<'_>]) -> Result<Tally> {
        let mut random = self.random.fork(self.epochs as u64);
        let lengths = training.iter().enumerate().map(|(index, tokens)| (index, tokens.frames.frames()));
        let size = BatchSize { frames: self.config.steps.batch_frames, length_step: LENGTH_STEP };
        let plan = batches(lengths.filter(|(_, tokens)| *tokens > 0), size, &mut random);
        let kept = self.kept(training);
        let mut tally = Tally::default();
        for (number, batch) in plan.iter().enumerate() {
            let examples: Vec<&Tokens<'_>> = batch.iter().map(|&index| &training[index]).collect();
            let gradient = self.gradient(&examples, &kept, &random.fork(number as u64))?;
            tally.add(gradient.tally);
            let progress = (self.epochs as f64 + number as f64 / plan.len() as f64) / self.config.steps.epochs as f64;
            self.step(gradient, (progress, &examples))?;
        }
        self.epochs += 1;
        self.remember();
        Ok(tally)
    }

    /// Whether all epochs are done.
    pub fn is_done(&self) -> bool {
        self.epochs >= self.config.steps.epochs
    }

    /// The mean of the model and its transition weights after the last epochs; no weights without a goal.
    ///
    /// # Errors
    /// [`Error::Network`] and [`Error::NotFinite`] when a parameter is not finite.
    pub fn model(&self) -> Result<(EmbeddedNetwork, Weights)> {
        let mut mean = self.mean();
        let embedding = Embedding::from_values(mean.pop().unwrap_or_default(), self.model.embedding.dims())?;
        let weights = Weights(mean.pop().unwrap_or_default());
        let network = &self.model.network;
        let mut parts = network.parts();
        parts.iter_mut().zip(mean).for_each(|((_, _, values), mean)| *values = mean);
        let network = Network::load(network.config(), (network.input_dim(), network.pdfs()), parts)?;
        Ok((EmbeddedNetwork { embedding, network }, weights))
    }

    /// Parameters, then vectors.
    fn now(&self) -> Vec<Vec<f32>> {
        self.parameters.iter().chain([&self.model.embedding.values]).cloned().collect()
    }

    fn mean(&self) -> Vec<Vec<f32>> {
        let mut epochs = self.last.iter();
        let Some(mut mean) = epochs.next().cloned() else { return self.now() };
        for more in epochs {
            add(&mut mean, more);
        }
        let share = 1.0 / self.last.len() as f32;
        mean.iter_mut().flatten().for_each(|value| *value *= share);
        mean
    }

    fn remember(&mut self) {
        self.last.push_back(self.now());
        if self.last.len() > self.config.steps.average_last {
            self.last.pop_front();
        }
    }

    /// The probability of each feature to be kept.
    fn kept(&self, training: &[Tokens<'_>]) -> Vec<f32> {
        let mut counts = vec![0.0f32; self.model.embedding.features()];
        let ids = training.iter().flat_map(|tokens| &tokens.frames.ids);
        ids.for_each(|&feature| {
            if let Some(count) = counts.get_mut(feature as usize) {
                *count += 1.0
            }
        });
        counts.iter().map(|count| count / (count + self.config.rare_dropout)).collect()
    }

    /// The gradient of the mean loss of a batch's tokens, shards summed in order.
    fn gradient(&self, examples: &[&Tokens<'_>], kept: &[f32], random: &Random) -> Result<BatchGradient> {
        let places: Vec<usize> = (0..examples.len()).collect();
        let shards = deal(&places, self.model.network.device().shards(), |place| examples[place].frames.frames());
        let rows = examples.iter().map(|tokens| tokens.frames.frames()).sum::<usize>().max(1);
        self.judged(|sequences| {
            let options = LossOptions { sequences, label_smoothing: self.config.steps.label_smoothing, rows };
            BatchGradient::of_parts(&shards, |number, shard| {
                let examples: Vec<&Tokens<'_>> = shard.iter().map(|&place| examples[place]).collect();
                self.shard(&examples, options, (kept, &random.fork(number as u64)))
            })
        })
    }

    /// Calls `with` the judge of sequences under the weights of the moment, if there is one.
    fn judged<T>(&self, with: impl FnOnce(Option<&SequenceJudge<'_>>) -> Result<T>) -> Result<T> {
        match (&self.goal, self.parameters.last()) {
            (Some(goal), Some(weights)) => with(Some(&goal.laid_out(&Weights(weights.clone()))?)),
            _ => with(None),
        }
    }

    fn shard(
        &self,
        examples: &[&Tokens<'_>],
        options: LossOptions<'_>,
        (kept, random): (&[f32], &Random),
    ) -> Result<BatchGradient> {
        let mut draws = random.fork(0);
        let thinned = |tokens: &&Tokens<'_>| thinned(tokens.frames, kept, &mut draws);
        let tokens: Vec<SparseFrames> = examples.iter().map(thinned).collect();
        let inputs = tokens.iter().map(|tokens| self.model.inputs(tokens)).collect::<Result<Vec<_>>>()?;
        let (mut frames, direct): (Vec<Matrix>, Vec<Matrix>) = inputs.into_iter().unzip();
        let masks: Vec<Mask> =
            (1..=frames.len()).map(|number| Mask::new(self.config.dropout, random.fork(number as u64))).collect();
        frames.iter_mut().zip(&masks).for_each(|(frames, mask)| mask.apply(frames.as_mut_slice()));
        let answers: Vec<Answer> = examples.iter().map(|tokens| tokens.answer.clone()).collect();
        let direct = direct.iter().flat_map(Matrix::as_slice).copied().collect();
        let mut beside = Beside { loss: BatchLoss::new(&answers, options), direct };
        let dropout = random.fork(u64::MAX);
        let (by_parameter, mut by_frames) =
            self.model.network.gradient_with_inputs(&frames, &mut beside, Some(&dropout))?;
        by_frames.iter_mut().zip(&masks).for_each(|(by_frames, mask)| mask.apply(by_frames.as_mut_slice()));
        let Beside { loss, direct } = beside;
        let by_frames = join(by_frames, &direct);
        let by_vector = self.model.embedding.differentiate(&tokens, &by_frames);
        Ok(BatchGradient { by_vector, ..BatchGradient::new(loss, by_parameter) })
    }

    /// A step against the `gradient` of `examples`; network, transitions and vectors are clipped as one.
    fn step(&mut self, mut gradient: BatchGradient, (progress, examples): (f64, &[&Tokens<'_>])) -> Result<()> {
        self.model.network.settle(&mut self.parameters, &mut gradient.by_parameter);
        let norm = norm(&gradient.by_parameter).hypot(norm(&[gradient.by_vector.values()]));
        if !(norm.is_finite() && gradient.tally.loss.is_finite()) {
            let utterances = gradient.blamed(examples.iter().map(|tokens| &*tokens.answer.name));
            let epoch = self.epochs + 1;
            return Err(Error::Diverged { epoch, utterances, loss: gradient.tally.loss });
        }
        let options = self.config.steps.step_at(progress);
        let update = self.optimiser.step_of_norm(&mut self.parameters, &gradient.by_parameter, (norm, options));
        self.model.embedding.step(&gradient.by_vector, &update, &mut self.moments);
        let own = self.parameters.len() - 1;
        self.model.network.set(&self.parameters[..own])
    }
}

/// The first `cols` columns, and the others.
fn split(frames: Matrix, cols: usize) -> (Matrix, Matrix) {
    if frames.cols() == cols {
        let rows = frames.rows();
        return (frames, Matrix::zeros(rows, 0));
    }
    let (mut left, mut right) = (Matrix::with_cols(cols), Matrix::with_cols(frames.cols() - cols));
    for row in frames.iter_rows() {
        left.push_row(&row[..cols]);
        right.push_row(&row[cols..]);
    }
    (left, right)
}

/// Each of `frames` with its part of `direct` at the right.
fn join(frames: Vec<Matrix>, direct: &[f32]) -> Vec<Matrix> {
    let rows: usize = frames.iter().map(Matrix::rows).sum();
    let cols = direct.len() / rows.max(1);
    if cols == 0 {
        return frames;
    }
    let mut direct = direct.chunks_exact(cols);
    let mut join = |frames: Matrix| {
        let mut joined = Matrix::with_cols(frames.cols() + cols);
        frames.iter_rows().zip(&mut direct).for_each(|(left, right)| joined.push_row(&[left, right].concat()));
        joined
    };
    frames.into_iter().map(&mut join).collect()
}

/// `tokens` without the features that `random` drops; `kept` is the probability of each to stay.
fn thinned(tokens: &SparseFrames, kept: &[f32], random: &mut Random) -> SparseFrames {
    let mut left = SparseFrames { first: vec![0], ids: Vec::new(), values: Vec::new() };
    for token in 0..tokens.frames() {
        let (ids, values) = tokens.frame(token);
        for (&feature, &value) in ids.iter().zip(values) {
            if kept.get(feature as usize).is_none_or(|&kept| random.uniform() < kept) {
                left.ids.push(feature);
                left.values.push(value);
            }
        }
        left.first.push(left.ids.len() as u32);
    }
    left
}

#[cfg(test)]
#[path = "tagger_tests.rs"]
mod tests;
