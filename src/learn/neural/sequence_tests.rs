//! The whole chain of network, emissions and criterion against slopes, and training towards sequences.

use super::*;
use crate::emission::{HybridScales, Priors};
use crate::graph::{GraphSpec, Weights};
use crate::learn::criterion::{CostUnit, Criterion, HammingCost};
use crate::network::{MlpConfig, Network, NetworkConfig};
use crate::random::Random;
use crate::symbols::SymbolId;

/// Four symbols of one state that dwell; a never follows b, and of the last there is no frame.
const GRAPH: &str = r#"
format = 1
optional = ["c"]
[classes]
all = ["a", "b", "c", "never"]
[boundary]
start = ["a", "c"]
end = ["*"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "b"
to = "a"
[topology.default]
states = 1
min_frames = 1
self_loop = 0.5
"#;

const ALL: [Criterion; 4] = [
    Criterion::LogLikelihood,
    Criterion::Posterior,
    Criterion::Perceptron,
    Criterion::Margin(HammingCost { per_frame: 0.7, unit: CostUnit::Frames }),
];

/// What every test needs: utterances of two dimensions, what is right, and a goal.
struct Case {
    spec: GraphSpec,
    utterances: Vec<Matrix>,
    answers: Vec<Answer>,
}

impl Case {
    fn new(lengths: &[usize]) -> Self {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let mut random = Random::new(3);
        let draw = |rows: usize, random: &mut Random| (0..rows * 2).map(|_| random.normal()).collect();
        let utterances =
            lengths.iter().map(|&rows| Matrix::from_vec(rows, 2, draw(rows, &mut random)).unwrap()).collect();
        let answer = |(index, rows): (usize, &usize)| Answer {
            name: format!("u{index}"),
            targets: (0..*rows).map(|row| [0, 1, 1, 2][(index + row) % 4]).collect(),
            transcript: None,
        };
        let mut case = Self { spec, utterances, answers: lengths.iter().enumerate().map(answer).collect() };
        // No sequence begins with b.
        case.answers.iter_mut().filter(|answer| answer.targets[0] == 1).for_each(|answer| answer.targets[0] = 0);
        case
    }

    /// The same with transcripts as right answers: the symbols of the targets, each for as long as one likes.
    fn with_transcripts(mut self) -> Self {
        for answer in &mut self.answers {
            let mut symbols: Vec<SymbolId> = answer.targets.iter().copied().map(SymbolId).collect();
            symbols.dedup();
            answer.transcript = Some(Arc::new(self.spec.transcript(&symbols[..symbols.len() - 1]).unwrap()));
        }
        self
    }

    fn goal(&self, criterion: Criterion) -> SequenceGoal {
        let mut random = Random::new(8);
        let graph = Arc::new(self.spec.compile().unwrap());
        let weights = Weights((0..graph.transitions()).map(|_| random.normal()).collect());
        let goal = SequenceGoal::joint(graph, weights, criterion).unwrap();
        let priors = Priors::from_counts(&[5.0, 3.0, 1.0, 0.0], 0.0).unwrap();
        SequenceGoal { scales: HybridScales { acoustic_scale: 0.7, prior_scale: 0.4 }, priors, ..goal }
    }

    /// Mean loss of a row, and the gradient by all parameters of the network and then by transition weights.
    fn gradient(&self, network: &Network, goal: &SequenceGoal, weights: &Weights) -> (f64, Vec<Vec<f32>>) {
        let judge = goal.laid_out(weights).unwrap();
        let rows = self.utterances.iter().map(Matrix::rows).sum();
        let options = LossOptions { sequences: Some(&judge), label_smoothing: 0.0, rows };
        let mut loss = BatchLoss::new(&self.answers, options);
        let mut gradient = network.gradient(&self.utterances, &mut loss, None).unwrap();
        assert!(loss.left_out.is_empty(), "{:?}", loss.left_out);
        gradient.push(loss.transitions.iter().map(|&d| d as f32).collect());
        (loss.tally.mean_loss(), gradient)
    }
}

fn network() -> Network {
    let shape = MlpConfig { left_frames: 1, right_frames: 1, widths: vec![5], dropout: 0.0, ..MlpConfig::default() };
    Network::new(&NetworkConfig::Mlp(shape), (2, 4), &Random::new(5)).unwrap()
}

#[test]
fn gradients_are_slopes_by_every_parameter_of_network_and_graph() {
    for criterion in ALL {
        for case in [Case::new(&[4, 6, 3]), Case::new(&[4, 6, 5]).with_transcripts()] {
            let (goal, mut network) = (case.goal(criterion), network());
            let mut values: Vec<Vec<f32>> = network.parts().into_iter().map(|(_, _, values)| values).collect();
            values.push(goal.weights.0.clone());
            let (_, gradient) = case.gradient(&network, &goal, &goal.weights);
            let mut loss = |tensor: usize, index: usize, by: f32| {
                let start = values[tensor][index];
                values[tensor][index] += by;
                let own = values.len() - 1;
                network.set(&values[..own]).unwrap();
                let found = case.gradient(&network, &goal, &Weights(values[own].clone())).0;
                values[tensor][index] = start;
                found
            };
            let (mut checked, mut bends, mut moved) = (0, 0, 0);
            for (tensor, values) in gradient.iter().enumerate() {
                for (index, &found) in values.iter().enumerate() {
                    let h = 1e-3;
                    let [low, middle, high] = [-h, 0.0, h].map(|by| loss(tensor, index, by));
                    let (left, right) = ((middle - low) / f64::from(h), (high - middle) / f64::from(h));
                    if (left - right).abs() > 4e-3 {
                        bends += 1; // A rectifier or the choice of a path bends in between.
                        continue;
                    }
                    checked += 1;
                    moved += usize::from(found.abs() > 1e-3);
                    let slope = (left + right) / 2.0;
                    let near = (slope - f64::from(found)).abs() < 2e-3;
                    assert!(near, "{criterion:?} {tensor} {index}: slope {slope}, gradient {found}");
                }
            }
            assert!(checked > 10 * bends && moved > 10, "{checked} checked, {bends} bends, {moved} not zero");
        }
    }
}

#[test]
fn cross_entropy_is_mixed_in_by_its_share() {
    let (case, network) = (Case::new(&[4, 6]).with_transcripts(), network());
    let goal = case.goal(Criterion::LogLikelihood);
    let (_, sequence) = case.gradient(&network, &goal, &goal.weights);
    let mut frames = BatchLoss::new(&case.answers, LossOptions { sequences: None, label_smoothing: 0.0, rows: 10 });
    let frames_gradient = network.gradient(&case.utterances, &mut frames, None).unwrap();
    let (loss, mixed) =
        case.gradient(&network, &SequenceGoal { cross_entropy_share: 0.3, ..goal.clone() }, &goal.weights);
    assert_eq!(loss, case.gradient(&network, &goal, &goal.weights).0);
    for ((mixed, sequence), frames) in mixed.iter().zip(&sequence).zip(&frames_gradient) {
        for ((mixed, sequence), frames) in mixed.iter().zip(sequence).zip(frames) {
            assert!((mixed - (0.7 * sequence + 0.3 * frames)).abs() < 1e-6);
        }
    }
    let (mixed, sequence) = (&mixed[mixed.len() - 1], &sequence[sequence.len() - 1]);
    assert!(mixed.iter().zip(sequence).all(|(mixed, sequence)| (mixed - 0.7 * sequence).abs() < 1e-6));
}

#[test]
fn a_dead_pdf_gets_no_gradient_and_a_whole_frame_cancels() {
    let case = Case::new(&[6]).with_transcripts();
    for criterion in ALL {
        let goal = case.goal(criterion);
        let judge = goal.laid_out(&goal.weights).unwrap();
        let mut random = Random::new(2);
        let scores = Matrix::from_vec(6, 4, (0..24).map(|_| random.normal()).collect()).unwrap();
        let found = judge.objective(&scores, &case.answers[0]).unwrap();
        let mut raised = scores.clone();
        raised.as_mut_slice().iter_mut().for_each(|score| *score += 3.0);
        let again = judge.objective(&raised, &case.answers[0]).unwrap();
        assert!((found.loss - again.loss).abs() < 1e-5, "{criterion:?}: {} {}", found.loss, again.loss);
        for (row, same) in found.gradient.occupancy.iter_rows().zip(again.gradient.occupancy.iter_rows()) {
            assert!(row[3] == 0.0 && row.iter().sum::<f32>().abs() < 1e-5, "{criterion:?}: {row:?}");
            assert!(row.iter().zip(same).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}

fn config() -> TrainerConfig {
    let augment = AugmentConfig::none();
    TrainerConfig { epochs: 6, batch_frames: 60, learning_rate: 2e-2, average_last: 2, augment, ..Default::default() }
}

/// Frames that say their targets, with noise, and a goal.
fn problem(transcripts: bool) -> Case {
    let mut case = Case::new(&[20, 17, 24, 30, 22, 18, 25, 21]);
    let mut random = Random::new(9);
    for (frames, answer) in case.utterances.iter_mut().zip(&case.answers) {
        for (row, target) in answer.targets.iter().enumerate() {
            let mean = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]][*target as usize];
            frames.row_mut(row).iter_mut().zip(mean).for_each(|(cell, mean)| *cell = mean + 0.5 * random.normal());
        }
    }
    if transcripts { case.with_transcripts() } else { case }
}

fn examples(case: &Case) -> Vec<Example<'_>> {
    let example = |(frames, answer): (_, &Answer)| Example { frames, recording: None, answer: answer.clone() };
    case.utterances.iter().zip(&case.answers).map(example).collect()
}

fn trainer(case: &Case, criterion: Criterion) -> Trainer {
    Trainer::new(network(), config(), 9).unwrap().towards(case.goal(criterion)).unwrap()
}

#[test]
fn every_criterion_lowers_its_loss_with_either_kind_of_answer() {
    for transcripts in [false, true] {
        let case = problem(transcripts);
        let examples = examples(&case);
        // The posterior of a whole sequence begins at nothing, and so does its gradient.
        for criterion in ALL.into_iter().filter(|criterion| *criterion != Criterion::Posterior) {
            let mut trainer = trainer(&case, criterion);
            let reports: Vec<EpochReport> = (0..5).map(|_| trainer.epoch(&examples, &examples).unwrap()).collect();
            let [first, last] = [&reports[0], &reports[4]].map(|report| report.development_loss);
            assert!(last < 0.8 * first, "{criterion:?} {transcripts}: {reports:?}");
            // What comes out is what was judged, by the transitions too.
            let (goal, weights) = (case.goal(criterion), trainer.weights().unwrap());
            let (again, _) = case.gradient(&trainer.network().unwrap(), &goal, &weights);
            assert!((again - last).abs() < 1e-4, "{criterion:?}: {again} {last}");
            let change = weights.0.iter().zip(&goal.weights.0).map(|(after, before)| (after - before).abs());
            assert!(change.fold(0.0, f32::max) > 0.02);
        }
    }
}

#[test]
fn transitions_that_are_fixed_stay() {
    let case = problem(true);
    let goal = SequenceGoal { transitions: TransitionTraining::Fixed, ..case.goal(Criterion::LogLikelihood) };
    let mut trainer = Trainer::new(network(), config(), 9).unwrap().towards(goal.clone()).unwrap();
    let losses: Vec<f64> = (0..6).map(|_| trainer.epoch(&examples(&case), &[]).unwrap().loss).collect();
    assert!(losses[5] < losses[0], "{losses:?}");
    assert_eq!(trainer.weights(), Some(goal.weights));
    assert_ne!(trainer.network().unwrap().parts(), network().parts());
}

#[test]
fn threads_and_a_break_change_no_bit() {
    let case = problem(true);
    let state =
        |trainer: &Trainer| [&trainer.parameters, &trainer.optimiser.second, &trainer.average.values].map(Clone::clone);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let whole = |threads| {
        pool(threads).install(|| {
            let mut trainer = trainer(&case, Criterion::LogLikelihood);
            (0..6).for_each(|_| drop(trainer.epoch(&examples(&case), &[]).unwrap()));
            state(&trainer)
        })
    };
    let one = whole(1);
    assert!(one == whole(2) && one == whole(4));
    let mut first = trainer(&case, Criterion::LogLikelihood);
    (0..3).for_each(|_| drop(first.epoch(&examples(&case), &[]).unwrap()));
    let mut second = trainer(&case, Criterion::LogLikelihood);
    second.resume(&first.checkpoint().unwrap()).unwrap();
    (0..3).for_each(|_| drop(second.epoch(&examples(&case), &[]).unwrap()));
    assert!(state(&second) == one);
    let mut other = trainer(&case, Criterion::Perceptron);
    assert!(other.resume(&first.checkpoint().unwrap()).unwrap_err().to_string().contains("other settings"));
}

#[test]
fn right_answers_without_a_path_are_named_and_left_out() {
    let mut case = problem(true);
    let long: Vec<SymbolId> = (0..60).map(|place| SymbolId(place % 2)).collect();
    case.answers[1].transcript = Some(Arc::new(case.spec.transcript(&long).unwrap()));
    case.answers[2].transcript = None; // a path that the graph forbids
    case.answers[2].targets[..3].copy_from_slice(&[0, 1, 0]);
    case.answers[3].transcript = Some(Arc::new(case.spec.transcript(&[SymbolId(3)]).unwrap())); // dead
    let mut trainer = trainer(&case, Criterion::LogLikelihood);
    let report = trainer.epoch(&examples(&case), &[]).unwrap();
    let mut names: Vec<&str> = report.left_out.iter().map(|left| left.utterances.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["u1", "u2", "u3"], "{report:?}");
    assert!(
        report.loss.is_finite() && report.left_out.iter().any(|left| left.reason.contains("needs 89")),
        "{report:?}"
    );
}

#[test]
fn goals_that_do_not_fit_are_refused() {
    let case = problem(false);
    let goal = case.goal(Criterion::LogLikelihood);
    let towards =
        |goal: SequenceGoal| Trainer::new(network(), config(), 9).unwrap().towards(goal).unwrap_err().to_string();
    let share = SequenceGoal { cross_entropy_share: 1.0, ..goal.clone() };
    assert_eq!(towards(share), "cross_entropy_share = 1: expected a share, at least 0 and below 1");
    let priors = SequenceGoal { priors: Priors::from_counts(&[1.0], 0.0).unwrap(), ..goal };
    assert!(towards(priors).contains("pdfs"), "another number of priors");
}
