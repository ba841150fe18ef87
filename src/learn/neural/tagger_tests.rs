//! The whole chain of vectors, dropout, network, criterion and transitions against slopes.

use std::sync::Arc;

use super::*;
use crate::learn::criterion::{CostUnit, Criterion, HammingCost};
use crate::learn::neural::AugmentConfig;
use crate::learn::toy::tags;
use crate::network::{LstmConfig, NetworkConfig, TdnnConfig};

const FEATURES: usize = 7;
const DIMS: usize = 3;

fn config() -> TaggerConfig {
    let steps = TrainerConfig { epochs: 8, batch_frames: 12, augment: AugmentConfig::none(), ..Default::default() };
    TaggerConfig { steps, dropout: 0.3, rare_dropout: 0.5 }
}

/// Three sequences; their second tokens have no features, the last feature is in none.
fn data() -> Vec<(SparseFrames, Answer)> {
    let mut random = Random::new(3);
    let sequence = |tokens: usize| {
        let mut frames = SparseFrames { first: vec![0], ids: Vec::new(), values: Vec::new() };
        for token in 0..tokens {
            for _ in 0..if token == 1 { 0 } else { 3 } {
                frames.ids.push(random.below(FEATURES - 1) as u32);
                frames.values.push(random.normal());
            }
            frames.first.push(frames.ids.len() as u32);
        }
        let targets = (0..tokens).map(|_| random.below(3) as u32).collect();
        (frames, Answer { name: format!("sequence of {tokens}"), targets, transcript: None })
    };
    [4, 1, 6].map(sequence).into()
}

fn tokens(data: &[(SparseFrames, Answer)]) -> Vec<Tokens<'_>> {
    data.iter().map(|(frames, answer)| Tokens { frames, answer: answer.clone() }).collect()
}

fn networks(dropout: f32) -> [NetworkConfig; 3] {
    let lstm = LstmConfig { layers: 2, width: 4, projection: 0, subsampling: 1, dropout };
    let tdnn = TdnnConfig {
        input_context_frames: 1,
        input_width: 5,
        width: 5,
        bottleneck: 3,
        dilations: vec![1],
        subsampling: 1,
        dropout,
        ..TdnnConfig::default()
    };
    [NetworkConfig::Lstm(lstm.clone()), NetworkConfig::Bilstm(lstm), NetworkConfig::Tdnn(tdnn)]
}

fn goal(criterion: Criterion) -> SequenceGoal {
    let (graph, mut random) = (tags(&["a", "b", "c"]), Random::new(8));
    let weights = Weights((0..graph.transitions()).map(|_| random.normal()).collect());
    SequenceGoal::joint(Arc::clone(&graph), weights, criterion).unwrap()
}

fn trainer(network: &NetworkConfig, goal: Option<SequenceGoal>) -> TaggerTrainer {
    // Those of an LSTM of one direction score no tag by themselves.
    let more = if network.kind() == "lstm" { 0 } else { 3 };
    let embedding = Embedding::new((FEATURES, DIMS + more), 1.0, &Random::new(1));
    let network = Network::new(network, (DIMS, 3), &Random::new(2)).unwrap();
    TaggerTrainer::new(EmbeddedNetwork::new(embedding, network).unwrap(), goal, (config(), 5)).unwrap()
}

fn goals() -> [Option<SequenceGoal>; 3] {
    let cost = HammingCost { per_frame: 0.7, unit: CostUnit::Frames };
    [None, Some(goal(Criterion::LogLikelihood)), Some(goal(Criterion::Margin(cost)))]
}

#[test]
fn gradients_are_slopes_by_every_parameter_transition_and_vector() {
    let (data, h) = (data(), 2e-3f32);
    let examples = tokens(&data);
    let examples: Vec<&Tokens<'_>> = examples.iter().collect();
    for (network, goal) in networks(0.3).iter().flat_map(|network| goals().map(|goal| (network, goal))) {
        let what = format!("{} {:?}", network.kind(), goal.as_ref().map(|goal| goal.criterion));
        let mut trainer = trainer(network, goal);
        let kept = trainer.kept(&tokens(&data));
        assert_eq!(kept[FEATURES - 1], 0.0);
        let gradient = |trainer: &TaggerTrainer| trainer.gradient(&examples, &kept, &Random::new(6)).unwrap();
        let BatchGradient { by_parameter, by_vector, .. } = gradient(&trainer);
        let mut all = by_parameter;
        let dims = trainer.model.embedding.dims();
        let mut by_table = vec![0.0; FEATURES * dims];
        for (feature, values) in by_vector.iter() {
            by_table[feature as usize * dims..][..dims].copy_from_slice(values);
        }
        assert!(by_table[(FEATURES - 1) * dims..].iter().all(|value| *value == 0.0));
        all.push(by_table);
        let table = all.len() - 1;
        let mut loss = |tensor: usize, index: usize, by: f32| {
            let place = |t: &mut TaggerTrainer, by: f32| {
                let tensor = if tensor == table { &mut t.model.embedding.values } else { &mut t.parameters[tensor] };
                let start = tensor[index];
                tensor[index] += by;
                t.model.network.set(&t.parameters[..table - 1]).unwrap();
                start
            };
            let start = place(&mut trainer, by);
            let found = gradient(&trainer).tally.mean_loss();
            let moved = place(&mut trainer, 0.0);
            place(&mut trainer, start - moved);
            found
        };
        let (mut checked, mut bends, mut moved) = (0, 0, 0);
        for (tensor, values) in all.iter().enumerate() {
            for (index, &found) in values.iter().enumerate() {
                let [low, middle, high] = [-h, 0.0, h].map(|by| loss(tensor, index, by));
                let (left, right) = ((middle - low) / f64::from(h), (high - middle) / f64::from(h));
                if (left - right).abs() > 4e-3 {
                    bends += 1; // A rectifier or the choice of a path bends in between.
                    continue;
                }
                checked += 1;
                moved += usize::from(found.abs() > 1e-3);
                let slope = (left + right) / 2.0;
                assert!((slope - f64::from(found)).abs() < 1.5e-3, "{what} {tensor} {index}: {slope}, found {found}");
            }
        }
        assert!(checked > 10 * bends && moved > 20, "{what}: {checked} checked, {bends} bends, {moved} not zero");
    }
}

#[test]
fn every_kind_lowers_its_loss() {
    let data = data();
    for (network, goal) in networks(0.0).iter().flat_map(|network| goals().map(|goal| (network, goal))) {
        let mut trainer = trainer(network, goal);
        trainer.config.steps.learning_rate = 0.05;
        (trainer.config.steps.epochs, trainer.config.dropout, trainer.config.rare_dropout) = (30, 0.0, 0.0);
        let start = trainer.model.embedding.clone();
        let losses: Vec<f64> = (0..30).map(|_| trainer.epoch(&tokens(&data)).unwrap().mean_loss()).collect();
        assert!(trainer.is_done() && losses[29] < 0.7 * losses[0], "{} {losses:?}", network.kind());
        let (model, _) = trainer.model().unwrap();
        assert_ne!(model.embedding, start);
        let last = (FEATURES - 1) * start.dims();
        assert_eq!(model.embedding.values()[last..], start.values()[last..], "it is in no sequence");
    }
}

#[test]
fn the_model_is_the_mean_of_the_last_epochs() {
    let data = data();
    let run = |average_last: usize| {
        let mut trainer = trainer(&networks(0.0)[1], Some(goal(Criterion::LogLikelihood)));
        trainer.config.steps.average_last = average_last;
        let mut after = Vec::new();
        for _ in 0..3 {
            trainer.epoch(&tokens(&data)).unwrap();
            let (model, weights) = trainer.model().unwrap();
            after.push([model.embedding.values().to_vec(), weights.0, model.network.parts()[0].2.clone()]);
        }
        after
    };
    let (each, mean) = (run(1), run(2));
    assert_eq!(each[0], mean[0]);
    for part in 0..3 {
        let halves = each[1][part].iter().zip(&each[2][part]).map(|(a, b)| (a + b) / 2.0);
        assert!(halves.zip(&mean[2][part]).all(|(expected, found)| (expected - found).abs() < 1e-6));
    }
}

#[test]
fn what_cannot_be_learnt_from_is_refused() {
    let mut data = data();
    data[0].0.ids[0] = FEATURES as u32;
    let found = trainer(&networks(0.0)[0], None).epoch(&tokens(&data));
    assert!(matches!(found, Err(Error::Shape { expected: 7, found: 8, .. })), "{found:?}");
    let mut huge = self::data();
    huge[0].0.values.iter_mut().for_each(|value| *value = 3e38);
    let found = trainer(&networks(0.0)[2], None).epoch(&tokens(&huge)).unwrap_err().to_string();
    assert!(found.contains("sequence of 4"), "{found}");
    let narrow = Embedding::new((2, DIMS + 1), 1.0, &Random::new(1));
    let network = Network::new(&networks(0.0)[0], (DIMS, 3), &Random::new(2)).unwrap();
    assert!(matches!(EmbeddedNetwork::new(narrow, network), Err(Error::Shape { expected: 3, found: 4, .. })));
    let wrong = TaggerConfig { rare_dropout: -1.0, ..config() };
    assert_eq!(wrong.check().unwrap_err().to_string(), "rare_dropout = -1: expected a number, 0 or more");
}

#[test]
fn rare_features_are_dropped_often_and_others_seldom() {
    let tokens = SparseFrames::new(vec![0, 2000], [0, 1].repeat(1000), vec![1.0; 2000]).unwrap();
    let left = thinned(&tokens, &[0.5, 0.9], &mut Random::new(1));
    let count = |feature: u32| left.ids.iter().filter(|id| **id == feature).count();
    assert!((450..550).contains(&count(0)) && (870..930).contains(&count(1)), "{} {}", count(0), count(1));
    assert_eq!(thinned(&tokens, &[1.0, 1.0], &mut Random::new(1)), tokens);
}

#[test]
fn scores_beside_the_network_are_added_to_its_own() {
    let data = data();
    let trainer = trainer(&networks(0.0)[1], None);
    let EmbeddedNetwork { embedding, network } = &trainer.model;
    let found = trainer.model.log_posteriors(&data[2].0).unwrap().0;
    let (input, direct) = split(embedding.embed(&data[2].0).unwrap(), DIMS);
    assert!(direct.row(0).iter().any(|value| *value != 0.0));
    let alone = network.log_posteriors(&input).unwrap().0;
    for (token, found) in found.iter_rows().enumerate() {
        let sums = alone.row(token).iter().zip(direct.row(token)).map(|(alone, direct)| alone + direct);
        let differences: Vec<f32> = sums.zip(found).map(|(sum, found)| sum - found).collect();
        assert!(differences.iter().all(|d| (d - differences[0]).abs() < 1e-5), "{differences:?}");
        assert!((found.iter().map(|log| log.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
    }
    assert_eq!(join(vec![input], direct.as_slice())[0], embedding.embed(&data[2].0).unwrap());
    let widened = Embedding::new((2, 2), 1.0, &Random::new(1)).widened(1);
    assert_eq!((widened.features(), widened.dims(), widened.values()[2], widened.values()[5]), (2, 3, 0.0, 0.0));
}
