use super::*;
use crate::network::{HiddenNorm, MlpConfig, Network, NetworkConfig, TdnnConfig};
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
    data.iter().map(|(name, frames, targets)| Example { frames, answer: answer(name, targets) }).collect()
}

fn network() -> Network {
    let config = TdnnConfig {
        input_width: 8,
        width: 12,
        bottleneck: 6,
        dilations: vec![1],
        normalisation: HiddenNorm::Batch,
        dropout: 0.1,
        ..TdnnConfig::default()
    };
    Network::new(&NetworkConfig::Tdnn(config), (PDFS, PDFS), &Random::new(5)).unwrap()
}

fn config() -> TrainerConfig {
    TrainerConfig { epochs: 4, batch_frames: 200, learning_rate: 1e-2, average_last: 2, ..TrainerConfig::default() }
}

fn trained(threads: usize, epochs: usize) -> Trainer {
    let data = data(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut trainer = Trainer::new(network(), config(), 9).unwrap();
        (0..epochs).for_each(|_| drop(trainer.epoch(&examples(&data), &[]).unwrap()));
        trainer
    })
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
fn every_parameter_moves() {
    let before: Vec<_> = network().parts();
    let after = trained(1, 1).network().unwrap().parts();
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(before.2, after.2, "{}", before.0);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = trained(1, 2).parameters;
    assert_eq!(one, trained(3, 2).parameters);
}

#[test]
fn a_resumed_run_ends_where_an_uninterrupted_one_does() {
    let whole = trained(2, 4);
    let stopped = trained(2, 2).checkpoint().unwrap();
    let mut resumed = Trainer::new(network(), config(), 9).unwrap();
    resumed.resume(&stopped).unwrap();
    assert_eq!(resumed.epochs_done(), 2);
    let data = data(1);
    (0..2).for_each(|_| drop(resumed.epoch(&examples(&data), &[]).unwrap()));
    assert_eq!(resumed.parameters, whole.parameters);
    assert_eq!(resumed.network().unwrap().parts(), whole.network().unwrap().parts());
}

#[test]
fn another_runs_checkpoint_is_refused() {
    let bytes = trained(1, 1).checkpoint().unwrap();
    let mut other = Trainer::new(network(), TrainerConfig { epochs: 5, ..config() }, 9).unwrap();
    assert!(other.resume(&bytes).unwrap_err().to_string().contains("other settings"));
    assert!(other.resume(&bytes[..40]).unwrap_err().to_string().contains("broken"));
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
