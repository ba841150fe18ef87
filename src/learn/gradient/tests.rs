//! Both ways to train meet in one minimum; what is out of range is named.

use super::*;
use crate::emission::FrameScorer;
use crate::learn::problem::tests::{Tagged, random_theta};
use crate::matrix::Matrix;
use crate::symbols::StateId;

const FINE: LbfgsConfig = LbfgsConfig { memory: 6, max_iterations: 500, delta: 1e-9, period: 5, epsilon: 1e-5 };

fn batch(goal: Goal, l2: f64) -> BatchConfig {
    BatchConfig { goal, l2, lbfgs: FINE }
}

fn train(config: &BatchConfig, tagged: &Tagged, theta: Vec<f64>) -> (Trained, Vec<Progress>) {
    let mut heard = Vec::new();
    let trained = config.train(&tagged.problem(), theta, &mut |progress| heard.push(progress.clone())).unwrap();
    (trained, heard)
}

fn zeros(tagged: &Tagged) -> Vec<f64> {
    vec![0.0; tagged.problem().parameters()]
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn the_optimum_is_flat_and_the_same_from_any_start() {
    let tagged = Tagged::new(60, 1);
    let config = batch(Goal::LogLikelihood, 0.5);
    let (trained, heard) = train(&config, &tagged, zeros(&tagged));
    let last = heard.last().unwrap();
    assert!(last.gradient_norm.unwrap() < 1e-2, "{last}");
    assert_eq!((last.iteration, last.loss), (trained.iterations, trained.loss));
    assert!(heard.windows(2).all(|pair| pair[1].loss <= pair[0].loss + 1e-6 && pair[1].passes > pair[0].passes));
    let (again, _) = train(&config, &tagged, random_theta(zeros(&tagged).len(), 3));
    assert!(distance(&trained.theta, &again.theta) < 1e-3, "{}", distance(&trained.theta, &again.theta));
    // Starts and ends are trained like the others.
    let transitions = &trained.theta[tagged.scorer.parameters()..];
    assert!(transitions.iter().all(|weight| weight.abs() > 1e-4), "{transitions:?}");
}

#[test]
fn stochastic_training_ends_near_the_same_optimum() {
    let tagged = Tagged::new(60, 1);
    let (exact, _) = train(&batch(Goal::LogLikelihood, 0.5), &tagged, zeros(&tagged));
    let config = StochasticConfig { l2: 0.5, epochs: 300, ..StochasticConfig::default() };
    let mut heard = Vec::new();
    let trained =
        config.train(&tagged.problem(), zeros(&tagged), &mut |progress| heard.push(progress.clone())).unwrap();
    assert!(trained.loss >= exact.loss - 1e-4 && trained.loss < 1.001 * exact.loss, "{} {}", trained.loss, exact.loss);
    assert!(distance(&trained.theta, &exact.theta) < 0.1, "{}", distance(&trained.theta, &exact.theta));
    assert_eq!((heard.len(), trained.iterations), (300, 300));
    let same = config.train(&tagged.problem(), zeros(&tagged), &mut |_| ()).unwrap();
    assert_eq!(same.theta, trained.theta);
    let other = StochasticConfig { seed: 1, ..config }.train(&tagged.problem(), zeros(&tagged), &mut |_| ()).unwrap();
    assert!(distance(&other.theta, &trained.theta) > 1e-9);
}

#[test]
fn transitions_have_a_rate_of_their_own() {
    let tagged = Tagged::new(30, 2);
    let config = StochasticConfig { l2: 0.0, epochs: 1, ..StochasticConfig::default() };
    let slow = StochasticConfig { transition_learning_rate: Some(1e-6), ..config.clone() };
    let spread = |config: &StochasticConfig| {
        let mut heard = Vec::new();
        config.train(&tagged.problem(), zeros(&tagged), &mut |progress| heard.push(progress.transitions)).unwrap();
        heard[0]
    };
    let (own, shared) = (spread(&slow), spread(&config));
    assert!(own.deviation < 1e-4 && shared.deviation > 0.1, "{own} {shared}");
    assert!(shared.min < -0.1 && shared.max > 0.1, "{shared}");
}

#[test]
fn the_posterior_is_made_large_where_it_is_the_goal() {
    let tagged = Tagged::new(60, 4);
    let (likely, _) = train(&batch(Goal::LogLikelihood, 0.01), &tagged, zeros(&tagged));
    let (probable, _) = train(&batch(Goal::Posterior, 0.01), &tagged, likely.theta.clone());
    let loss = |theta: &[f64], criterion| tagged.problem().objective(theta, criterion, &mut zeros(&tagged)).unwrap();
    let of = |criterion| [&likely, &probable].map(|trained| loss(&trained.theta, criterion));
    let ([before, after], [best, worse]) = (of(Criterion::Posterior), of(Criterion::LogLikelihood));
    assert!(after < before - 0.1 && worse > best + 0.1, "{before} {after}, {best} {worse}");
    let stochastic = StochasticConfig { goal: Goal::Posterior, l2: 0.01, epochs: 100, ..StochasticConfig::default() };
    let found = stochastic.train(&tagged.problem(), likely.theta.clone(), &mut |_| ()).unwrap();
    assert!(loss(&found.theta, Criterion::Posterior) < before - 0.1);
}

#[test]
fn a_large_penalty_makes_all_small() {
    let tagged = Tagged::new(20, 5);
    let (trained, _) = train(&batch(Goal::LogLikelihood, 1e6), &tagged, zeros(&tagged));
    assert!(trained.theta.iter().all(|weight| weight.abs() < 1e-4));
    let config = StochasticConfig { l2: 1e6, epochs: 3, ..StochasticConfig::default() };
    let trained = config.train(&tagged.problem(), zeros(&tagged), &mut |_| ()).unwrap();
    assert!(trained.theta.iter().all(|weight| weight.abs() < 1e-2));
}

#[test]
fn training_that_goes_astray_names_epoch_and_example() {
    let tagged = Tagged::new(1, 6);
    let scorer = FrameScorer { dims: 1, pdfs: 3 };
    let input = Matrix::from_vec(1, 1, vec![1e30]).unwrap();
    let examples = vec![Example { name: "the loud one".into(), input, path: vec![StateId(0)] }];
    let problem = Problem { graph: &tagged.graph, scorer: &scorer, examples: &examples };
    let config = StochasticConfig { l2: 0.0, ..StochasticConfig::default() };
    let told = config.train(&problem, vec![0.0; problem.parameters()], &mut |_| ()).unwrap_err().to_string();
    assert!(told.starts_with("training diverged in epoch 2: loss inf on the loud one"), "{told}");
}

#[test]
fn a_start_of_another_problem_is_refused() {
    let tagged = Tagged::new(2, 1);
    let short = vec![0.0; 3];
    let shape = |error: Error| assert!(matches!(error, Error::Shape { found: 3, .. }), "{error}");
    shape(BatchConfig::default().train(&tagged.problem(), short.clone(), &mut |_| ()).unwrap_err());
    shape(StochasticConfig::default().train(&tagged.problem(), short, &mut |_| ()).unwrap_err());
}

#[test]
fn settings_out_of_range_are_named() {
    let stochastic = StochasticConfig::default;
    let bad = [
        (StochasticConfig { l2: -1.0, ..stochastic() }, "l2"),
        (StochasticConfig { epochs: 0, ..stochastic() }, "epochs"),
        (StochasticConfig { learning_rate: 0.0, ..stochastic() }, "learning_rate"),
        (StochasticConfig { transition_learning_rate: Some(f64::NAN), ..stochastic() }, "transition_learning_rate"),
        (StochasticConfig { decay: f64::INFINITY, ..stochastic() }, "decay"),
    ];
    for (config, key) in bad {
        assert!(config.check().unwrap_err().to_string().starts_with(key));
    }
    assert!(BatchConfig { l2: f64::NAN, ..BatchConfig::default() }.check().is_err());
    let lbfgs = LbfgsConfig { memory: 0, ..FINE };
    assert!(BatchConfig { lbfgs, ..BatchConfig::default() }.check().is_err());
    assert!(BatchConfig::default().check().is_ok() && StochasticConfig::default().check().is_ok());
}

#[test]
fn the_spread_is_that_of_the_numbers() {
    assert_eq!(Spread::of(&[1.0, 3.0]), Spread { min: 1.0, max: 3.0, deviation: 1.0 });
    assert_eq!(Spread::of(&[]), Spread::default());
    let progress =
        Progress { iteration: 3, loss: 1.5, gradient_norm: Some(0.25), passes: 4, transitions: Spread::of(&[1.0]) };
    assert_eq!(progress.to_string(), "3: loss 1.500, gradient 0.250, transitions 1.00 to 1.00, deviation 0.00");
}
