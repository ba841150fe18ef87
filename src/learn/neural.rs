//! Training a network by frame cross-entropy: the T = 1 case, one frame at a time, targets from a forced alignment.
//!
//! In: utterances with normalised frames `[T x D]` and the target pdf of each output row. Out: the network, epoch by epoch. A
//! batch is cut into a fixed number of shards that are differentiated in parallel and summed in order, so the parameters do
//! not depend on the number of threads; all randomness comes from the seed.

mod augment;
mod batches;
mod checkpoint;
mod cross_entropy;

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use augment::MaskingConfig;
use batches::Draw;
use cross_entropy::CrossEntropy;
pub use cross_entropy::{Fit, IGNORED};

use crate::matrix::Matrix;
use crate::network::{Acoustic, Method, Network, Optimiser, OptimiserConfig, norm, one_cycle};
use crate::random::Random;
use crate::{Error, Result};

/// Batches that an epoch may leave out because their loss or gradient is not finite.
const MAX_SKIPPED: usize = 3;

/// How a network is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainerConfig {
    /// Times that every utterance is seen.
    pub epochs: usize,
    /// Frames in a batch, at most, unless a single utterance has more.
    pub batch_frames: usize,
    /// Parts of a batch that can run at the same time. Changing it changes rounding, and so the result, a little.
    pub shards: usize,
    /// The rule by which gradients become steps.
    pub method: Method,
    /// Learning rate at its peak.
    pub learning_rate: f32,
    /// Share of training in which the learning rate rises; then it falls to nothing along a cosine.
    pub warmup: f32,
    /// Share of each weight that a step of rate 1 takes away.
    pub weight_decay: f32,
    /// Largest norm of a batch's gradient.
    pub clip_norm: f32,
    /// Share of the target's probability that is spread over all pdfs.
    pub label_smoothing: f32,
    /// Speeds, of which one is drawn for each utterance and epoch.
    pub speeds: Vec<f32>,
    /// Spectral masking.
    pub masking: MaskingConfig,
    /// Epochs, from the last back, whose parameters are averaged at the end; 1 takes the last as it is.
    pub average_last: usize,
}

impl Default for TrainerConfig {
    fn default() -> Self {
        Self {
            epochs: 12,
            batch_frames: 4000,
            shards: 4,
            method: Method::AdamW,
            learning_rate: 2e-3,
            warmup: 0.1,
            weight_decay: 0.01,
            clip_norm: 5.0,
            label_smoothing: 0.0,
            speeds: vec![0.9, 1.0, 1.1],
            masking: MaskingConfig::default(),
            average_last: 1,
        }
    }
}

impl TrainerConfig {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] that names key and value.
    pub fn check(&self) -> Result<()> {
        let setting = |fine: bool, key, value: String, expected| {
            if fine { Ok(()) } else { Err(Error::Setting { key, value, expected }) }
        };
        for (key, value) in [("epochs", self.epochs), ("batch_frames", self.batch_frames), ("shards", self.shards)] {
            setting(value > 0, key, value.to_string(), "at least 1")?;
        }
        for (key, value) in [("learning_rate", self.learning_rate), ("clip_norm", self.clip_norm)] {
            setting(value > 0.0 && value.is_finite(), key, value.to_string(), "a number above 0")?;
        }
        for (key, value) in [("warmup", self.warmup), ("label_smoothing", self.label_smoothing)] {
            setting((0.0..1.0).contains(&value), key, value.to_string(), "a share from 0 to below 1")?;
        }
        let decay = self.weight_decay;
        setting((0.0..=1.0).contains(&decay), "weight_decay", decay.to_string(), "a share from 0 to 1")?;
        let average = self.average_last;
        setting(
            (1..=self.epochs).contains(&average),
            "average_last",
            average.to_string(),
            "1 to the number of epochs",
        )?;
        augment::check_speeds(&self.speeds)
    }
}

/// An utterance to learn from.
#[derive(Debug, Clone)]
pub struct FrameExample<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Normalised feature frames, `[T x D]`.
    pub frames: &'a Matrix,
    /// The pdf of each output row, `ceil(T / subsampling)` of them, or [`IGNORED`].
    pub targets: Vec<u32>,
}

/// What an epoch came to.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochReport {
    /// Which, one-based.
    pub epoch: usize,
    /// Of how many.
    pub of: usize,
    /// Mean training loss of a row, natural log, while parameters changed, with dropout, masks and label smoothing.
    pub loss: f64,
    /// Share of training rows whose best pdf was the target.
    pub accuracy: f64,
    /// Mean loss of a row of the development set after the epoch, without any of these; NaN without such a set.
    pub development_loss: f64,
    /// Share of development rows whose best pdf is the target; NaN without such a set.
    pub development_accuracy: f64,
    /// Training frames a second.
    pub frames_per_second: f64,
    /// How long the remaining epochs will take.
    pub left: Duration,
    /// Batches left out for a loss that was not finite: the names of their utterances.
    pub skipped: Vec<String>,
}

/// Trains one network.
#[derive(Debug)]
pub struct FrameTrainer {
    config: TrainerConfig,
    seed: u64,
    network: Network,
    optimiser: Optimiser,
    /// Epochs done.
    epochs: usize,
    /// Mean of the parameters after the last `averaged` epochs; empty when there are none.
    average: Vec<Vec<f32>>,
    averaged: usize,
}

/// A batch's gradient of the mean loss, or the sum when it has no rows.
struct BatchGradient {
    fit: Fit,
    gradients: Vec<Vec<f32>>,
    norm: f64,
}

impl FrameTrainer {
    /// A trainer of `network`, as it is now.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range.
    pub fn new(network: Network, config: TrainerConfig, seed: u64) -> Result<Self> {
        config.check()?;
        let shapes: Vec<Vec<usize>> = network.parts().into_iter().map(|(_, shape, _)| shape).collect();
        let TrainerConfig { method, weight_decay, clip_norm, .. } = config;
        let optimiser = Optimiser::new(OptimiserConfig { method, weight_decay, clip_norm }, &shapes);
        Ok(Self { config, seed, network, optimiser, epochs: 0, average: Vec::new(), averaged: 0 })
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> usize {
        self.epochs
    }

    /// Whether all epochs are done.
    pub fn is_done(&self) -> bool {
        self.epochs >= self.config.epochs
    }

    /// The network as trained so far: the average over the last epochs where there is one.
    ///
    /// # Errors
    /// None that a trainer's own network gives.
    pub fn network(&self) -> Result<Network> {
        let mut parts = self.network.parts();
        for (part, average) in parts.iter_mut().zip(&self.average) {
            part.2.clone_from(average);
        }
        let dims = (self.network.input_dim(), self.network.pdfs());
        Network::load(self.network.config(), dims, parts)
    }

    /// Sees all of `training` once, in the caller's rayon pool, then measures on `development`.
    ///
    /// # Errors
    /// [`Error::Other`] names an utterance whose frames or targets do not fit the network, or whose features are not finite.
    /// [`Error::Diverged`] when too many batches have a loss that is not finite.
    pub fn epoch(&mut self, training: &[FrameExample<'_>], development: &[FrameExample<'_>]) -> Result<EpochReport> {
        training.iter().chain(development).try_for_each(|example| self.check(example))?;
        let clock = Instant::now();
        let random = Random::new(self.seed).fork(self.epochs as u64);
        let batches = batches::batches(training, (&self.config.speeds, self.config.batch_frames), &random);
        let (count, mut fit, mut skipped) = (batches.len(), Fit::default(), Vec::new());
        for (index, batch) in batches.into_iter().enumerate() {
            let progress = (self.epochs as f64 + index as f64 / count as f64) / self.config.epochs as f64;
            let names = || batch.iter().map(|draw| training[draw.example].name).collect::<Vec<_>>().join(" ");
            let random = random.fork(index as u64 + 1);
            let made = self.gradient(training, batch.clone(), &random)?;
            if made.fit.loss.is_finite() && made.norm.is_finite() {
                fit = fit.plus(made.fit);
                self.step(&made, progress);
                continue;
            }
            skipped.push(names());
            if skipped.len() > MAX_SKIPPED || skipped.len() == count {
                let (epoch, loss) = (self.epochs + 1, made.fit.mean_loss());
                return Err(Error::Diverged { epoch, utterances: names(), loss });
            }
        }
        self.epochs += 1;
        self.average();
        let seconds = clock.elapsed();
        let measured = evaluate(&self.network, development)?;
        let frames: usize = training.iter().map(|example| example.frames.rows()).sum();
        Ok(EpochReport {
            epoch: self.epochs,
            of: self.config.epochs,
            loss: fit.mean_loss(),
            accuracy: fit.accuracy(),
            development_loss: measured.mean_loss(),
            development_accuracy: measured.accuracy(),
            frames_per_second: frames as f64 / seconds.as_secs_f64(),
            left: clock.elapsed() * (self.config.epochs - self.epochs) as u32,
            skipped,
        })
    }

    /// The batch's gradient: shards in parallel, sums in the order of the shards.
    fn gradient(&self, examples: &[FrameExample<'_>], batch: Vec<Draw>, random: &Random) -> Result<BatchGradient> {
        let shards = batches::shards(batch, self.config.shards);
        let parts: Vec<(Fit, Vec<Vec<f32>>)> = shards
            .par_iter()
            .enumerate()
            .map(|(index, shard)| self.shard_gradient(examples, shard, (random, index as u64)))
            .collect::<Result<_>>()?;
        let fit = parts.iter().fold(Fit::default(), |sum, part| sum.plus(part.0));
        let scale = 1.0 / fit.rows.max(1) as f32;
        let mut parts = parts.into_iter().map(|part| part.1);
        let mut gradients = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.collect();
        gradients.par_iter_mut().enumerate().for_each(|(tensor, sum)| {
            for part in &others {
                sum.iter_mut().zip(&part[tensor]).for_each(|(sum, value)| *sum += value);
            }
            sum.iter_mut().for_each(|sum| *sum *= scale);
        });
        let norm = norm(&gradients);
        Ok(BatchGradient { fit, gradients, norm })
    }

    fn shard_gradient(
        &self,
        examples: &[FrameExample<'_>],
        shard: &[Draw],
        (random, index): (&Random, u64),
    ) -> Result<(Fit, Vec<Vec<f32>>)> {
        let masking = (&self.config.masking, self.network.subsampling());
        let masks = random.fork(0);
        let (frames, targets): (Vec<Matrix>, Vec<Vec<u32>>) =
            shard.iter().map(|draw| draw.make(examples, masking, &masks)).unzip();
        let (targets, smoothing) = (targets.concat(), self.config.label_smoothing);
        let mut criterion = CrossEntropy { targets: &targets, smoothing, fit: Fit::default() };
        let gradient = self.network.gradient(&frames, &mut criterion, Some(&random.fork(index + 1)))?;
        Ok((criterion.fit, gradient))
    }

    /// One step, when the share `progress` of training is done.
    fn step(&mut self, batch: &BatchGradient, progress: f64) {
        let rate = f64::from(self.config.learning_rate) * one_cycle(progress, f64::from(self.config.warmup));
        self.optimiser.step(self.network.values_mut(), (&batch.gradients, batch.norm), rate as f32);
    }

    /// Takes the parameters into the average of the last epochs.
    fn average(&mut self) {
        if self.config.average_last == 1 || self.epochs + self.config.average_last <= self.config.epochs {
            return;
        }
        self.averaged += 1;
        if self.averaged == 1 {
            self.average = self.network.values().to_vec();
        }
        let share = 1.0 / self.averaged as f32;
        for (mean, values) in self.average.iter_mut().zip(self.network.values()) {
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += share * (value - *mean));
        }
    }

    fn check(&self, example: &FrameExample<'_>) -> Result<()> {
        let FrameExample { name, frames, targets } = example;
        let (dim, pdfs, rows) = (self.network.input_dim(), self.network.pdfs(), self.network.rows_out(frames.rows()));
        let fault = if frames.cols() != dim {
            format!("{} values in a frame, the network expects {dim}", frames.cols())
        } else if targets.len() != rows {
            format!("{} targets for {rows} output rows", targets.len())
        } else if let Some(target) = targets.iter().find(|&&target| target != IGNORED && target as usize >= pdfs) {
            format!("a target is pdf {target}, the network scores {pdfs} pdfs")
        } else if let Some(frame) = frames.first_not_finite() {
            format!("a feature of frame {frame} is not a finite number")
        } else {
            return Ok(());
        };
        Err(Error::Other(format!("{name}: {fault}")))
    }

    /// What a checkpoint must agree with: settings, seed and network.
    fn settings(&self) -> String {
        let dims = (self.network.input_dim(), self.network.pdfs());
        format!("{:?} seed {} {:?} {dims:?}", self.config, self.seed, self.network.config())
    }
}

/// How well `network` fits the targets of `examples`, in the caller's rayon pool.
///
/// # Errors
/// As of [`Acoustic::step`].
pub fn evaluate(network: &Network, examples: &[FrameExample<'_>]) -> Result<Fit> {
    let fit = |example: &FrameExample<'_>| {
        Ok(cross_entropy::fit(&network.log_posteriors(example.frames)?.0, &example.targets))
    };
    let fits: Vec<Fit> = examples.par_iter().map(fit).collect::<Result<_>>()?;
    Ok(fits.into_iter().fold(Fit::default(), Fit::plus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{NetworkConfig, TdnnConfig};

    const DIM: usize = 6;
    const PDFS: usize = 4;

    fn network() -> Network {
        let config = TdnnConfig {
            input_width: 16,
            width: 16,
            bottleneck: 8,
            dilations: vec![1, 2],
            dropout: 0.1,
            ..TdnnConfig::default()
        };
        Network::new(&NetworkConfig::Tdnn(config), (DIM, PDFS), &Random::new(1)).unwrap()
    }

    fn config() -> TrainerConfig {
        let masking = MaskingConfig { frequency_columns: 1, time_frames: 6, ..MaskingConfig::default() };
        let learning_rate = 1e-2;
        TrainerConfig { epochs: 4, batch_frames: 300, learning_rate, average_last: 2, masking, ..Default::default() }
    }

    /// Utterances in which the pdf of a stretch of rows shows as a bump in its column.
    fn data(count: usize, seed: u64) -> Vec<(String, Matrix, Vec<u32>)> {
        let mut random = Random::new(seed);
        let mut utterance = |index: usize| {
            let rows = 10 + random.below(30);
            let targets: Vec<u32> = (0..rows).map(|_| random.below(PDFS) as u32).collect();
            let targets: Vec<u32> = (0..rows).map(|row| targets[row - row % 5]).collect();
            let mut frames = Matrix::zeros(3 * rows, DIM);
            for row in 0..3 * rows {
                frames.row_mut(row).iter_mut().for_each(|value| *value = 0.5 * random.normal());
                frames.row_mut(row)[targets[row / 3] as usize] += 2.0;
            }
            (format!("utterance-{index}"), frames, targets)
        };
        (0..count).map(&mut utterance).collect()
    }

    fn examples(data: &[(String, Matrix, Vec<u32>)]) -> Vec<FrameExample<'_>> {
        data.iter().map(|(name, frames, targets)| FrameExample { name, frames, targets: targets.clone() }).collect()
    }

    fn run(trainer: &mut FrameTrainer, data: &[(String, Matrix, Vec<u32>)], epochs: usize) -> EpochReport {
        let epoch = |_| trainer.epoch(&examples(data), &examples(&data[..3])).unwrap();
        (0..epochs).map(epoch).last().unwrap()
    }

    #[test]
    fn a_task_is_learnt_and_every_tensor_moves() {
        let data = data(40, 2);
        let start = network();
        let before = start.parts();
        let untrained = evaluate(&start, &examples(&data)).unwrap();
        let mut trainer = FrameTrainer::new(start, TrainerConfig { epochs: 12, ..config() }, 1).unwrap();
        let report = run(&mut trainer, &data, 12);
        assert!(trainer.is_done() && report.epoch == 12 && report.skipped.is_empty());
        let trained = evaluate(&trainer.network().unwrap(), &examples(&self::data(20, 3))).unwrap();
        assert!(untrained.accuracy() < 0.6 && trained.accuracy() > 0.9, "{untrained:?} {trained:?}");
        assert!(report.development_accuracy > 0.9 && report.loss.is_finite());
        for (before, after) in before.iter().zip(trainer.network.parts()) {
            let moved = before.2.iter().zip(&after.2).filter(|(a, b)| a != b).count();
            assert!(2 * moved > before.2.len(), "{} hardly moved", before.0);
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let data = data(12, 4);
        let checkpoint = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut trainer = FrameTrainer::new(network(), config(), 5).unwrap();
                run(&mut trainer, &data, 2);
                trainer.checkpoint().unwrap()
            })
        };
        let one = checkpoint(1);
        assert_eq!(one, checkpoint(3));
        assert_eq!(one, checkpoint(2));
    }

    #[test]
    fn resuming_is_as_if_nothing_had_happened() {
        let data = data(12, 6);
        let trainer = || FrameTrainer::new(network(), config(), 7).unwrap();
        let mut through = trainer();
        run(&mut through, &data, 4);
        for done in 0..4 {
            let mut first = trainer();
            (0..done).for_each(|_| drop(run(&mut first, &data, 1)));
            let mut second = trainer();
            second.resume(&first.checkpoint().unwrap()).unwrap();
            assert_eq!(second.epochs_done(), done);
            run(&mut second, &data, 4 - done);
            assert_eq!(second.checkpoint().unwrap(), through.checkpoint().unwrap(), "after {done} epochs");
        }
        assert_ne!(through.network().unwrap().parts(), through.network.parts(), "the average is not the last");
    }

    #[test]
    fn a_foreign_checkpoint_is_refused() {
        let trainer = FrameTrainer::new(network(), config(), 1).unwrap();
        let bytes = trainer.checkpoint().unwrap();
        let mut other = FrameTrainer::new(network(), TrainerConfig { epochs: 5, ..config() }, 1).unwrap();
        assert!(other.resume(&bytes).unwrap_err().to_string().contains("other settings"));
        let mut same = FrameTrainer::new(network(), config(), 1).unwrap();
        assert!(same.resume(&bytes[..bytes.len() / 2]).is_err());
        assert!(same.resume(b"junk").is_err());
        assert!(same.resume(&bytes).is_ok());
    }

    #[test]
    fn a_network_gone_astray_is_reported_with_the_utterances() {
        let data = data(12, 8);
        let mut trainer = FrameTrainer::new(network(), config(), 1).unwrap();
        trainer.network.values_mut()[0][0] = f32::NAN;
        let error = trainer.epoch(&examples(&data), &[]).unwrap_err();
        let Error::Diverged { epoch: 1, utterances, loss } = &error else { panic!("{error}") };
        assert!(utterances.contains("utterance-") && loss.is_nan());
    }

    #[test]
    fn a_few_bad_batches_are_left_out_by_name() {
        let mut data = data(12, 9);
        // So large that sums of them are infinite.
        data[5].1.as_mut_slice().fill(3e38);
        let config = TrainerConfig { speeds: vec![1.0], ..config() };
        let mut trainer = FrameTrainer::new(network(), config, 1).unwrap();
        let report = trainer.epoch(&examples(&data), &[]).unwrap();
        assert_eq!(report.skipped.len(), 1);
        assert!(report.skipped[0].split(' ').any(|name| name == "utterance-5"));
        assert!(report.loss.is_finite() && report.development_loss.is_nan());
    }

    #[test]
    fn examples_that_do_not_fit_are_named() {
        let data = data(2, 10);
        let mut trainer = FrameTrainer::new(network(), config(), 1).unwrap();
        let mut refused = |change: &dyn Fn(&mut FrameExample<'_>)| {
            let mut examples = examples(&data);
            change(&mut examples[1]);
            trainer.epoch(&examples, &[]).unwrap_err().to_string()
        };
        assert!(refused(&|example| example.targets.truncate(1)).starts_with("utterance-1: "));
        assert!(refused(&|example| example.targets[0] = 4).contains("a target is pdf 4, the network scores 4 pdfs"));
        let (narrow, mut bad) = (Matrix::zeros(3, 2), data[1].1.clone());
        bad.row_mut(7)[0] = f32::INFINITY;
        let fit = |frames: &Matrix| frames.rows().div_ceil(3);
        let mut examples = examples(&data);
        (examples[1].frames, examples[1].targets) = (&narrow, vec![0; fit(&narrow)]);
        assert!(trainer.epoch(&examples, &[]).unwrap_err().to_string().contains("2 values in a frame"));
        (examples[1].frames, examples[1].targets) = (&bad, vec![0; fit(&bad)]);
        assert!(trainer.epoch(&examples, &[]).unwrap_err().to_string().contains("frame 7"));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let refused = |config: TrainerConfig| config.check().unwrap_err().to_string();
        assert!(refused(TrainerConfig { shards: 0, ..config() }).starts_with("shards = 0"));
        assert!(refused(TrainerConfig { learning_rate: f32::NAN, ..config() }).starts_with("learning_rate"));
        assert!(refused(TrainerConfig { average_last: 5, ..config() }).starts_with("average_last = 5"));
        assert!(refused(TrainerConfig { speeds: vec![], ..config() }).starts_with("speeds"));
        assert!(TrainerConfig::default().check().is_ok());
    }
}
