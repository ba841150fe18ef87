use super::*;
use crate::Error;
use crate::dp::path_score;
use crate::emission::FrameScorer;
use crate::graph::{Arc, Boundary, Graph, GraphBuilder};
use crate::learn::criterion::CostUnit;
use crate::learn::online::{Averaging, Online, OnlineConfig, OnlineLearner};
use crate::learn::problem::{Example, tests::Tagged};
use crate::learn::toy::{ARTICLE, D, N, NOUN, Toy, measurements, noisy_words, words, worked_example};
use crate::random::Random;
use crate::symbols::StateId;

fn config(lambda: f64) -> MarginConfig {
    MarginConfig { lambda, relative_gap: 5e-4, ..MarginConfig::default() }
}

/// Solves by cutting planes and by Frank-Wolfe, and checks every report on the way.
fn both<S: Scorer>(problem: &Problem<'_, S>, config: MarginConfig) -> [(MarginReport, Vec<f64>); 2] {
    fn run(mut solver: impl MarginSolver) -> (MarginReport, Vec<f64>) {
        let mut rounds = 0;
        let last = solve(&mut solver, 3000, |report| {
            rounds += 1;
            assert_eq!(report.round, rounds);
            assert!(report.gap() >= 0.0 && report.dual >= 0.0, "{report:?}");
        });
        let last = last.unwrap();
        assert!(last.is_solved, "{last:?}");
        (last, solver.parameters())
    }
    [run(CuttingPlanes::new(problem, config).unwrap()), run(FrankWolfe::new(problem, config, 1).unwrap())]
}

/// The primal from every path there is; the Hamming cost is counted by symbols.
fn enumerated<S: Scorer>(problem: &Problem<'_, S>, config: &MarginConfig, theta: &[f64]) -> f64 {
    let plan = problem.plan(theta).unwrap();
    let states = problem.graph.len();
    let hinge = |example: &Example<S::Input>| {
        let emissions = problem.emissions(theta, &example.input).unwrap();
        let frames = example.path.len();
        let share = if config.cost.unit == CostUnit::Share { frames as f64 } else { 1.0 };
        let loss = |code: usize| {
            let path: Vec<StateId> =
                (0..frames as u32).map(|t| StateId::from_index(code / states.pow(t) % states)).collect();
            let wrong = path.iter().zip(&example.path).filter(|(a, b)| a != b).count() as f64;
            let score = path_score(&plan, &emissions, &path).unwrap_or(f64::NEG_INFINITY);
            score + f64::from(config.cost.per_frame) * wrong / share
        };
        let worst = (0..states.pow(frames as u32)).map(loss).fold(f64::NEG_INFINITY, f64::max);
        worst - path_score(&plan, &emissions, &example.path).unwrap()
    };
    let mean = problem.examples.iter().map(hinge).sum::<f64>() / problem.examples.len() as f64;
    0.5 * config.lambda * theta.iter().map(|value| value * value).sum::<f64>() + mean
}

/// The same graph with a part on every arc, start and end that is not learnt.
fn with_fixed_parts(graph: &Graph) -> Graph {
    let mut random = Random::new(11);
    let mut builder = GraphBuilder::new(graph.symbols().clone(), graph.pdfs(), graph.transitions());
    for state in graph.states() {
        builder.state(*state);
    }
    for (position, arc) in graph.all_arcs().iter().enumerate() {
        builder.arc(graph.source(position), Arc { fixed: random.normal(), ..*arc });
    }
    graph.starts().iter().for_each(|start| builder.start(Boundary { fixed: random.normal(), ..*start }));
    graph.finals().iter().for_each(|end| builder.end(Boundary { fixed: random.normal(), ..*end }));
    builder.build().unwrap()
}

fn short(sequences: usize, seed: u64) -> Toy<FrameScorer> {
    let mut toy = measurements(3 * sequences, 0.8, seed);
    toy.examples.retain(|example| example.path.len() <= 6);
    toy.examples.truncate(sequences);
    toy
}

#[test]
fn what_the_hmm_gets_wrong_is_learnt() {
    let toy = worked_example();
    for (_, theta) in both(&toy.problem(), config(0.01)) {
        assert_eq!(toy.decode(&theta, &words(&[NOUN, ARTICLE])), [N, D]);
        assert_eq!(toy.errors(&theta), 0);
    }
}

/// Two independent solvers, each with its own certificate, and the primal by another way than theirs.
#[test]
fn both_solvers_reach_the_same_optimum() {
    fn check<S: Scorer>(problem: &Problem<'_, S>, config: MarginConfig) {
        let [planes, blocks] = both(problem, config);
        assert!((planes.0.primal - blocks.0.primal).abs() <= 1e-3 * planes.0.primal, "{planes:?} {blocks:?}");
        for (report, theta) in [&planes, &blocks] {
            let again = primal(problem, &config, theta).unwrap();
            assert!((again - report.primal).abs() < 1e-6 * again, "{again} {report:?}");
            // Each dual is a bound for whatever the other found.
            assert!(planes.0.dual.max(blocks.0.dual) <= report.primal);
        }
        assert!(planes.0.primal < primal(problem, &config, &vec![0.0; problem.parameters()]).unwrap());
    }
    for lambda in [0.3, 0.02] {
        check(&noisy_words(60, 1).problem(), config(lambda));
        check(&measurements(60, 0.7, 2).problem(), config(lambda));
        check(&Tagged::new(60, 3).problem(), config(lambda));
    }
    let cost = HammingCost { per_frame: 3.0, unit: CostUnit::Share };
    check(&noisy_words(40, 4).problem(), MarginConfig { cost, ..config(0.05) });
}

#[test]
fn the_primal_is_what_enumeration_says_and_the_dual_is_below_it_everywhere() {
    let mut toy = short(15, 5);
    for fixed in [false, true] {
        if fixed {
            toy.graph = std::sync::Arc::new(with_fixed_parts(&toy.graph));
        }
        for unit in [CostUnit::Frames, CostUnit::Share] {
            let config = MarginConfig { cost: HammingCost { per_frame: 2.0, unit }, ..config(0.05) };
            let problem = toy.problem();
            for (report, theta) in both(&problem, config) {
                let expected = enumerated(&problem, &config, &theta);
                assert!((report.primal - expected).abs() < 1e-5, "{report:?} {expected}");
                let mut random = Random::new(3);
                for step in [1e-3, 1e-2, 0.1] {
                    let moved: Vec<f64> = theta.iter().map(|value| value + step * f64::from(random.normal())).collect();
                    assert!(enumerated(&problem, &config, &moved) >= report.dual);
                }
            }
        }
    }
}

#[test]
fn the_sub_gradient_comes_near_the_optimum() {
    fn check<S: Scorer>(problem: &Problem<'_, S>, config: MarginConfig) {
        let learner = OnlineLearner::Margin { cost: config.cost, lambda: config.lambda };
        let online = OnlineConfig { learner, averaging: Averaging::Mean, seed: 2 };
        let mut online = Online::new(problem, online).unwrap();
        (0..60).for_each(|_| {
            online.epoch().unwrap();
        });
        let [(report, _), _] = both(problem, config);
        let reached = primal(problem, &config, &online.parameters()).unwrap();
        assert!(reached >= report.dual && reached <= 1.02 * report.primal, "{reached} {report:?}");
    }
    check(&noisy_words(60, 6).problem(), config(0.1));
    check(&measurements(60, 0.7, 7).problem(), config(0.1));
}

#[test]
fn the_hinge_bounds_the_cost_of_what_is_decoded() {
    let toy = noisy_words(50, 8);
    for (report, theta) in both(&toy.problem(), config(0.05)) {
        let hinges = (report.primal - norm(0.05, &theta)) * toy.examples.len() as f64;
        let errors = toy.errors(&theta);
        assert!(errors > 0 && hinges >= errors as f64, "{hinges} {errors}");
    }
}

#[test]
fn separable_data_is_learnt_without_error() {
    let toy = measurements(40, 0.05, 3);
    for (report, theta) in both(&toy.problem(), config(1e-3)) {
        assert_eq!(toy.errors(&theta), 0);
        assert!(report.primal < 0.1, "{report:?}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let toy = noisy_words(30, 9);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| both(&toy.problem(), config(0.05)))
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_single_example_and_none() {
    let mut toy = worked_example();
    toy.examples.truncate(1);
    for (report, theta) in both(&toy.problem(), config(1.0)) {
        assert!(report.primal <= 2.0, "{report:?}");
        assert_eq!(toy.errors(&theta), 0);
    }
    toy.examples.clear();
    assert!(CuttingPlanes::new(&toy.problem(), config(1.0)).is_err());
    assert!(FrankWolfe::new(&toy.problem(), config(1.0), 1).is_err());
}

#[test]
fn a_bad_sequence_is_named() {
    let mut toy = measurements(5, 0.5, 1);
    toy.examples[3].input.row_mut(0)[1] = f32::NAN;
    let problem = toy.problem();
    let told = CuttingPlanes::new(&problem, config(0.1)).unwrap().round().unwrap_err().to_string();
    assert!(told.starts_with("training diverged in epoch 1") && told.contains("sequence 3"), "{told}");
    assert!(FrankWolfe::new(&problem, config(0.1), 1).unwrap().round().is_err());
}

#[test]
fn settings_out_of_range_are_refused() {
    let toy = worked_example();
    let bad = [
        MarginConfig { lambda: 0.0, ..config(1.0) },
        MarginConfig { relative_gap: 1.0, ..config(1.0) },
        MarginConfig { relative_gap: f64::NAN, ..config(1.0) },
        MarginConfig { absolute_gap: -1.0, ..config(1.0) },
        MarginConfig { cost: HammingCost { per_frame: -1.0, unit: CostUnit::Frames }, ..config(1.0) },
    ];
    for bad in bad {
        assert!(matches!(CuttingPlanes::new(&toy.problem(), bad).err(), Some(Error::Setting { .. })), "{bad:?}");
    }
    let problem = toy.problem();
    assert!(solve(&mut CuttingPlanes::new(&problem, config(1.0)).unwrap(), 0, |_| ()).is_err());
    let first = solve(&mut CuttingPlanes::new(&problem, config(1.0)).unwrap(), 1, |_| ()).unwrap();
    assert!((first.round, first.is_solved) == (1, false));
}
