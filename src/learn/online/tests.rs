use super::*;
use crate::learn::criterion::CostUnit;
use crate::learn::problem::leave_out;
use crate::learn::toy::{ARTICLE, D, N, NOUN, Toy, measurements, noisy_words, words, worked_example};
use crate::matrix::Matrix;

const PERCEPTRON: OnlineConfig =
    OnlineConfig { learner: OnlineLearner::Perceptron, averaging: Averaging::Mean, seed: 1 };

fn margin(lambda: f64) -> OnlineConfig {
    OnlineConfig { learner: OnlineLearner::Margin { cost: HammingCost::default(), lambda }, ..PERCEPTRON }
}

fn learn<S: Scorer>(toy: &Toy<S>, config: OnlineConfig, epochs: usize) -> (Vec<f64>, OnlineReport) {
    let problem = toy.problem();
    let mut online = Online::new(&problem, config).unwrap();
    let mut report = online.epoch().unwrap();
    (1..epochs).for_each(|_| report = online.epoch().unwrap());
    (online.parameters(), report)
}

#[test]
fn what_the_hmm_gets_wrong_is_learnt() {
    let toy = worked_example();
    for config in [PERCEPTRON, margin(0.01)] {
        let (theta, _) = learn(&toy, config, 30);
        assert_eq!(toy.decode(&theta, &words(&[NOUN, ARTICLE])), [N, D], "{config:?}");
        assert_eq!(toy.errors(&theta), 0);
    }
}

#[test]
fn separable_data_is_learnt_without_error() {
    let toy = measurements(40, 0.05, 3);
    for averaging in [Averaging::Last, Averaging::Mean] {
        let (theta, report) = learn(&toy, OnlineConfig { averaging, ..PERCEPTRON }, 40);
        assert_eq!((report.wrong_frames, report.wrong_sequences, report.loss), (0, 0, 0.0));
        assert_eq!(toy.errors(&theta), 0);
        let (theta, _) = learn(&toy, OnlineConfig { averaging, ..margin(1e-3) }, 40);
        assert_eq!(toy.errors(&theta), 0);
    }
}

/// The textbook loop: whole vectors, a plan and emissions of theta itself, a sum of all iterates.
fn plainly<S: Scorer>(toy: &Toy<S>, config: OnlineConfig, epochs: usize) -> Vec<f64> {
    let problem = toy.problem();
    let n = toy.examples.len();
    let (mut theta, mut sum, mut weight) = (vec![0.0; problem.parameters()], vec![0.0; problem.parameters()], 0.0);
    for step in 1..=epochs * n {
        let mut order: Vec<usize> = (0..n).collect();
        Random::new(config.seed).fork(((step - 1) / n) as u64).shuffle(&mut order);
        let example = &toy.examples[order[(step - 1) % n]];
        let (criterion, shrink, length, of_step) = match config.learner {
            OnlineLearner::Perceptron => (Criterion::Perceptron, 0.0, 1.0, 1.0),
            OnlineLearner::Margin { cost, lambda } => {
                let length = 1.0 / (lambda * (n + step) as f64);
                (Criterion::Margin(cost), length * lambda, length, step as f64)
            }
        };
        let plan = problem.plan(&theta).unwrap();
        let objective = problem.of_example((&plan, &theta), example, criterion).unwrap();
        theta.iter_mut().for_each(|value| *value -= shrink * *value);
        problem.differentiate(&example.input, &objective.gradient, |at, d| theta[at] -= length * d);
        sum.iter_mut().zip(&theta).for_each(|(sum, value)| *sum += of_step * value);
        weight += of_step;
    }
    sum.into_iter().map(|sum| sum / weight).collect()
}

#[test]
fn lazy_steps_are_the_plain_ones() {
    fn check<S: Scorer>(toy: &Toy<S>, config: OnlineConfig) {
        let (lazy, plain) = (learn(toy, config, 3).0, plainly(toy, config, 3));
        let worst = lazy.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-4, "{config:?}: {worst}");
        assert!(plain.iter().any(|value| value.abs() > 0.1));
    }
    check(&noisy_words(25, 5), PERCEPTRON);
    check(&measurements(25, 0.7, 5), PERCEPTRON);
    // Of words many paths score the same, and rounding would choose between them.
    check(&measurements(25, 0.7, 5), margin(0.05));
}

#[test]
fn reports_tell_of_the_rivals() {
    let toy = noisy_words(30, 6);
    let problem = toy.problem();
    let mut online = Online::new(&problem, PERCEPTRON).unwrap();
    let first = online.epoch().unwrap();
    let frames = toy.examples.iter().map(|example| example.path.len()).sum();
    assert_eq!((first.epoch, first.frames, first.sequences), (1, frames, 30));
    assert!(first.wrong_frames >= first.wrong_sequences && first.wrong_sequences > 0);
    // The hinge is at least the cost of its rival plus how much the rival scores less: never under 0.
    let hinge = Online::new(&problem, margin(0.1)).unwrap().epoch().unwrap();
    assert!(hinge.loss > 0.0);
}

#[test]
fn bad_sequences_are_named_and_nothing_is_learnt_from_them() {
    let clean = measurements(12, 0.5, 8);
    let mut dirty = measurements(12, 0.5, 8);
    let mut bad = dirty.examples[0].clone();
    bad.name = "not a number".into();
    bad.input.row_mut(1)[0] = f32::NAN;
    dirty.examples.insert(3, bad.clone());
    (bad.name, bad.input, bad.path) = ("empty".into(), Matrix::zeros(0, 2), Vec::new());
    dirty.examples.push(bad);
    let told = Online::new(&dirty.problem(), PERCEPTRON).unwrap().epoch().unwrap_err().to_string();
    assert!(told.contains("not a number") || told.contains("empty"), "{told}");
    let left_out = leave_out(&dirty.graph, &dirty.scorer, &mut dirty.examples).unwrap();
    assert_eq!(left_out.iter().map(|left| left.name.as_str()).collect::<Vec<_>>(), ["not a number", "empty"]);
    for config in [PERCEPTRON, margin(0.1)] {
        assert_eq!(learn(&dirty, config, 2), learn(&clean, config, 2));
    }
    dirty.examples.clear();
    assert!(Online::new(&dirty.problem(), PERCEPTRON).is_err());
}

#[test]
fn scores_beyond_numbers_are_an_error_that_names_the_sequence() {
    let mut toy = measurements(3, 0.5, 9);
    for example in &mut toy.examples {
        example.input.as_mut_slice().iter_mut().for_each(|value| *value *= 1e30);
    }
    let problem = toy.problem();
    let mut online = Online::new(&problem, PERCEPTRON).unwrap();
    let told = (0..5).find_map(|_| online.epoch().err()).unwrap().to_string();
    assert!(told.starts_with("training diverged in epoch 1: loss inf on sequence "), "{told}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let toy = worked_example();
    let cost = |per_frame| HammingCost { per_frame, unit: CostUnit::Share };
    for (lambda, per_frame) in
        [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, 0.0), (1.0, f32::NAN)]
    {
        let learner = OnlineLearner::Margin { cost: cost(per_frame), lambda };
        let refused = Online::new(&toy.problem(), OnlineConfig { learner, ..PERCEPTRON }).err();
        assert!(matches!(refused, Some(Error::Setting { .. })), "{lambda} {per_frame}");
    }
}
