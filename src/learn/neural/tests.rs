use super::*;
use crate::network::optimiser::{OptimiserConfig, SgdConfig};
use crate::network::{Device, Directions, HiddenNorm, MlpConfig, Network, NetworkConfig, StackConfig, TdnnConfig};
use crate::random::Random;
use crate::{Error, Result};

const PDFS: usize = 3;

/// Frames whose target is their largest dimension, with noise.
fn data(seed: u64) -> Vec<(String, Matrix, Vec<u32>)> {
    let mut random = Random::new(seed);
    (0..12)
        .map(|utterance| {
            let targets: Vec<u32> = (0..20 + utterance).map(|_| random.below(PDFS) as u32).collect();
            let mut frames = Matrix::zeros(targets.len() * 3, PDFS);
            for row in 0..frames.rows() {
                for dim in 0..PDFS {
                    let mean = if dim == targets[row / 3] as usize { 2.0 } else { 0.0 };
                    frames.row_mut(row)[dim] = mean + 0.3 * random.normal();
                }
            }
            (format!("u{utterance}"), frames, targets)
        })
        .collect()
}

fn examples(data: &[(String, Matrix, Vec<u32>)]) -> Vec<Example<'_>> {
    let answer =
        |name: &String, targets: &Vec<u32>| Answer { name: name.clone(), targets: targets.clone(), transcript: None };
    data.iter()
        .map(|(name, frames, targets)| Example { frames, recording: None, answer: answer(name, targets) })
        .collect()
}

fn network() -> Network {
    network_with(HiddenNorm::Batch)
}

fn network_with(normalisation: HiddenNorm) -> Network {
    let config = TdnnConfig {
        input_width: 8,
        width: 12,
        bottleneck: 6,
        dilations: vec![1],
        normalisation,
        dropout: 0.1,
        ..TdnnConfig::default()
    };
    Network::new(&NetworkConfig::Tdnn(config), (PDFS, PDFS), &Random::new(5)).unwrap()
}

fn config() -> TrainerConfig {
    // Masks are narrow, since frames have few dimensions.
    let augment = AugmentConfig { frequency_mask_dims: 1, ..AugmentConfig::default() };
    let default = TrainerConfig { augment, ..TrainerConfig::default() };
    TrainerConfig { epochs: 4, batch_frames: 200, learning_rate: 1e-2, average_last: 2, ..default }
}

/// Settings that between them use everything that a run has.
fn configs() -> [TrainerConfig; 3] {
    let sgd = OptimiserConfig::Sgd(SgdConfig { momentum: 0.8 });
    let moving = TrainerConfig { average_last: 1, ema_decay: 0.9, patience: 2, ..config() };
    [config(), TrainerConfig { decay: Decay::Linear, ..moving.clone() }, TrainerConfig { optimiser: sgd, ..moving }]
}

/// Errors that get no better after the second epoch.
const ERRORS: [f64; 6] = [30.0, 20.0, 25.0, 20.0, 10.0, 5.0];

fn go_on(trainer: &mut Trainer, epochs: usize) {
    let data = data(1);
    for _ in 0..epochs {
        trainer.epoch(&examples(&data), &[]).unwrap();
        trainer.judge(ERRORS[trainer.epochs_done() - 1]);
    }
}

fn trained_by(config: TrainerConfig, threads: usize, epochs: usize) -> Trainer {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut trainer = Trainer::new(network(), config, 9).unwrap();
        go_on(&mut trainer, epochs);
        trainer
    })
}

fn trained(threads: usize, epochs: usize) -> Trainer {
    trained_by(config(), threads, epochs)
}

#[test]
fn what_can_be_learnt_is_learnt() {
    let (data, held_out) = (data(1), data(2));
    let mut trainer = Trainer::new(network(), TrainerConfig { epochs: 12, ..config() }, 9).unwrap();
    let reports: Vec<EpochReport> =
        (0..12).map(|_| trainer.epoch(&examples(&data), &examples(&held_out)).unwrap()).collect();
    assert!(reports[11].development_accuracy > 0.95, "{reports:?}");
    assert!(reports[11].development_loss < reports[0].development_loss);
    assert!(trainer.is_done());
}

#[test]
fn any_device_makes_the_same_network() {
    let recurrent = StackConfig { layers: 1, width: 6, projection: 4, directions: Directions::Both };
    let shape = TdnnConfig {
        input_width: 8,
        width: 12,
        bottleneck: 6,
        dilations: vec![1],
        dropout: 0.0,
        ..TdnnConfig::default()
    };
    let sgd = OptimiserConfig::Sgd(SgdConfig { momentum: 0.8 });
    for (recurrent, optimiser) in [(None, sgd), (Some(recurrent), OptimiserConfig::default())] {
        let shape = NetworkConfig::Tdnn(TdnnConfig { recurrent, ..shape.clone() });
        let trained = |device: Device| {
            let network = Network::new(&shape, (PDFS, PDFS), &Random::new(5)).unwrap();
            let mut trainer = Trainer::new(network, TrainerConfig { optimiser, ..config() }, 9).unwrap().on(&device);
            go_on(&mut trainer, 2);
            trainer.network().unwrap().parts()
        };
        for ((name, _, expected), (_, _, found)) in trained(Device::cpu()).iter().zip(trained(Device::plain())) {
            let largest = expected.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            let near = expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-3 * largest);
            assert!(near && expected.len() == found.len(), "{name}: {expected:?} {found:?}");
        }
    }
}

#[test]
fn a_device_learns_with_dropout_and_batch_normalisation() {
    let (data, held_out) = (data(1), data(2));
    let config = TrainerConfig { epochs: 12, ..config() };
    let mut trainer = Trainer::new(network(), config, 9).unwrap().on(&Device::plain());
    let reports = (0..12).map(|_| trainer.epoch(&examples(&data), &examples(&held_out)).unwrap());
    let last = reports.last().unwrap();
    assert!(last.development_accuracy > 0.95, "{last:?}");
}

#[test]
fn every_parameter_moves() {
    let before: Vec<_> = network().parts();
    let after = trained(1, 1).network().unwrap().parts();
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(before.2, after.2, "{}", before.0);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for config in configs() {
        let one = trained_by(config.clone(), 1, 2).checkpoint().unwrap();
        for threads in [2, 3] {
            assert!(one == trained_by(config.clone(), threads, 2).checkpoint().unwrap(), "{threads}: {config:?}");
        }
    }
}

#[test]
fn a_resumed_run_ends_where_an_uninterrupted_one_does() {
    for config in configs() {
        let whole = trained_by(config.clone(), 2, 4);
        for stopped in 1..4 {
            let bytes = trained_by(config.clone(), 2, stopped).checkpoint().unwrap();
            let mut resumed = Trainer::new(network(), config.clone(), 9).unwrap();
            resumed.resume(&bytes).unwrap();
            assert_eq!(resumed.epochs_done(), stopped);
            assert!(resumed.checkpoint().unwrap() == bytes, "{config:?}");
            go_on(&mut resumed, 4 - stopped);
            assert!(resumed.checkpoint().unwrap() == whole.checkpoint().unwrap(), "{stopped}: {config:?}");
            let made = |trainer: Trainer| trainer.finish().unwrap().0.parts();
            assert_eq!(made(resumed), made(trained_by(config.clone(), 2, 4)));
        }
    }
}

#[test]
fn early_stopping_keeps_the_best_epoch() {
    let run = |patience: usize| {
        let config = TrainerConfig { epochs: 6, average_last: 1, patience, ..config() };
        let mut trainer = Trainer::new(network(), config, 9).unwrap();
        let mut after = Vec::new();
        while !trainer.is_done() {
            go_on(&mut trainer, 1);
            after.push(trainer.network().unwrap().parts());
        }
        (after, trainer.best_epoch(), trainer.finish().unwrap().0.parts())
    };
    let (after, best, made) = run(2);
    assert_eq!((after.len(), best), (4, Some((2, 20.0)))); // the same error again is no improvement
    assert!(made == after[1] && made != after[3]);
    let (after, best, made) = run(3);
    assert_eq!((after.len(), best), (6, Some((6, 5.0))));
    assert!(made == after[5]);
    let (after, best, made) = run(0);
    assert!(after.len() == 6 && best.is_none() && made == after[5]);
}

#[test]
fn with_a_moving_average_it_is_what_is_measured_and_made() {
    let (data, held_out) = (data(1), data(2));
    let loss_of = |config: TrainerConfig| {
        let mut trainer = Trainer::new(network(), config, 9).unwrap();
        let loss = trainer.epoch(&examples(&data), &examples(&held_out)).unwrap().development_loss;
        (loss, trainer)
    };
    let plain = TrainerConfig { average_last: 1, ..config() };
    let (plain_loss, plain_trainer) = loss_of(plain.clone());
    let (loss, trainer) = loss_of(TrainerConfig { ema_decay: 0.9, ..plain });
    assert_eq!(trainer.parameters, plain_trainer.parameters, "the steps are the same");
    assert_ne!(loss, plain_loss);
    let (mut sum, mut rows) = (0.0, 0);
    let averaged = trainer.network().unwrap();
    for (_, frames, targets) in &held_out {
        let scores = averaged.log_posteriors(frames).unwrap().0;
        sum -= targets.iter().zip(scores.iter_rows()).map(|(&t, row)| f64::from(row[t as usize])).sum::<f64>();
        rows += targets.len();
    }
    assert!((loss - sum / rows as f64).abs() < 1e-5, "{loss}, by hand {}", sum / rows as f64);
    assert_eq!(averaged.parts(), trainer.finish().unwrap().0.parts());
}

#[test]
fn another_runs_checkpoint_is_refused() {
    let bytes = trained(1, 1).checkpoint().unwrap();
    let mut other = Trainer::new(network(), TrainerConfig { epochs: 5, ..config() }, 9).unwrap();
    assert!(other.resume(&bytes).unwrap_err().to_string().contains("other settings"));
    let mut seeded = Trainer::new(network(), config(), 10).unwrap();
    assert!(seeded.resume(&bytes).unwrap_err().to_string().contains("other settings"));
    assert_eq!(seeded.checkpoint().unwrap(), Trainer::new(network(), config(), 10).unwrap().checkpoint().unwrap());
}

#[test]
fn a_checkpoint_that_is_cut_or_longer_or_lacks_a_tensor_is_to_be_removed() {
    let whole = trained(1, 1).checkpoint().unwrap();
    let at = |name: &str| whole.windows(name.len()).position(|bytes| bytes == name.as_bytes()).unwrap();
    let mut renamed = whole.clone();
    renamed[at("first.0000")] = b'g';
    let longer = [&whole[..], &[0]].concat();
    for bytes in [&[][..], &whole[..5], &whole[..40], &whole[..whole.len() - 1], &longer, &renamed] {
        let told = Trainer::new(network(), config(), 9).unwrap().resume(bytes).unwrap_err().to_string();
        assert!(told.starts_with("the checkpoint is broken ("), "{told}");
        assert!(told.ends_with("): remove it, and the stage is done again"), "{told}");
    }
}

#[test]
fn frames_without_a_number_are_skipped_and_named() {
    let mut data = data(1);
    data[0].1.row_mut(3)[0] = f32::NAN;
    // A mask could hide it.
    let config = TrainerConfig { augment: AugmentConfig::none(), ..config() };
    let mut trainer = Trainer::new(network(), config, 9).unwrap();
    match trainer.epoch(&examples(&data), &[]) {
        Ok(report) => assert!(report.left_out.iter().any(|left| left.utterances.contains("u0")), "{report:?}"),
        Err(error) => panic!("{error}"),
    }
    assert!(trainer.network().is_ok());
}

#[test]
fn losses_that_are_no_numbers_skip_a_batch_or_stop_and_name_their_utterances() {
    let mut data = data(1);
    data[4].1.as_mut_slice().fill(3e38); // finite, but no sum of such values is
    let run = |not_finite: NotFinite, batch_frames: usize| {
        let config = TrainerConfig { augment: AugmentConfig::none(), not_finite, batch_frames, ..config() };
        // Batch statistics would spread what is no number over a whole shard.
        Trainer::new(network_with(HiddenNorm::Rms), config, 9).unwrap().epoch(&examples(&data), &[])
    };
    let report = run(NotFinite::Skip, 200).unwrap();
    assert_eq!(report.left_out.len(), 1, "{report:?}");
    assert_eq!(report.left_out[0].utterances, "u4");
    assert!(report.left_out[0].reason.contains("is not a number: a batch of"), "{report:?}");
    for (not_finite, batch_frames) in [(NotFinite::Stop, 200), (NotFinite::Skip, 1_000_000)] {
        match run(not_finite, batch_frames) {
            Err(Error::Diverged { epoch: 1, utterances, loss }) => {
                assert!(utterances == "u4" && !loss.is_finite(), "{utterances} {loss}");
            }
            other => panic!("{not_finite:?}: {other:?}"),
        }
    }
}

#[test]
fn parameters_that_no_model_holds_end_the_training() {
    let data = data(1);
    for (learning_rate, average_last) in [(1e30, 1), (1e8, 1), (1e30, 2)] {
        // One batch: no later loss tells.
        let config = TrainerConfig { learning_rate, average_last, batch_frames: 1_000_000, ..config() };
        let found = Trainer::new(network(), config, 9).unwrap().epoch(&examples(&data), &[]);
        let told = found.unwrap_err().to_string();
        assert!(told.starts_with("training diverged in epoch 1: loss "), "{told}");
        assert!(told.contains("a parameter is too large for a model; lower the learning rate"), "{told}");
    }
}

#[test]
fn frames_without_a_number_stop_where_that_is_asked() {
    let mut data = data(1);
    data[7].1.row_mut(0)[1] = f32::NAN;
    let config = TrainerConfig { not_finite: NotFinite::Stop, ..config() };
    let found = Trainer::new(network(), config.clone(), 9).unwrap().epoch(&examples(&data), &[]);
    assert!(matches!(&found, Err(Error::Diverged { utterances, .. }) if utterances == "u7"), "{found:?}");
    let nothing = Trainer::new(network(), config, 9).unwrap().epoch(&[], &[]).unwrap_err().to_string();
    assert_eq!(nothing, "no utterance to learn from has frames that are all numbers");
}

#[test]
fn targets_that_do_not_fit_are_refused() {
    let data = data(1);
    let mut wrong = examples(&data);
    wrong[2].answer.targets.pop();
    assert!(matches!(trainer_epoch(&wrong), Err(Error::Shape { .. })));
}

fn trainer_epoch(examples: &[Example<'_>]) -> Result<EpochReport> {
    Trainer::new(network(), config(), 9)?.epoch(examples, &[])
}

#[test]
fn an_mlp_learns_too() {
    let shape = MlpConfig {
        left_frames: 1,
        right_frames: 1,
        widths: vec![16],
        subsampling: 3,
        dropout: 0.0,
        ..MlpConfig::default()
    };
    let network = Network::new(&NetworkConfig::Mlp(shape), (PDFS, PDFS), &Random::new(5)).unwrap();
    let data = data(1);
    let mut trainer = Trainer::new(network, config(), 9).unwrap();
    let first = trainer.epoch(&examples(&data), &[]).unwrap().loss;
    let last = (0..3).map(|_| trainer.epoch(&examples(&data), &[]).unwrap().loss).last().unwrap();
    assert!(last < first);
}
