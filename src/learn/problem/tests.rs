//! The sum over examples against its definition; the examples that other tests of learners use.

use super::*;
use crate::emission::{FrameScorer, SparseFrames, SparseScorer};
use crate::graph::GraphSpec;
use crate::learn::criterion::{CostUnit, HammingCost};
use crate::random::Random;

/// Three tags, of which c never follows a and nothing begins with b.
pub fn spec() -> GraphSpec {
    let text = r#"
format = 1
[classes]
all = ["a", "b", "c"]
[boundary]
start = ["a", "c"]
end = ["*"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "a"
to = "c"
[topology.default]
states = 1
min_frames = 1
self_loop = false
"#;
    GraphSpec::parse(text).unwrap()
}

/// Sequences of three tags, each of which likes two features of six; and all that a [`Problem`] borrows.
pub struct Tagged {
    pub graph: Arc<Graph>,
    pub scorer: SparseScorer,
    pub examples: Vec<Example<SparseFrames>>,
}

impl Tagged {
    pub fn new(sequences: usize, seed: u64) -> Self {
        let graph = Arc::new(spec().compile().unwrap());
        let mut random = Random::new(seed);
        let plan = Plan::new(&graph, &Weights(vec![0.0; graph.transitions()]), &PlanOptions::default()).unwrap();
        let mut example = |number: usize| {
            let frames = 1 + random.below(7);
            let mut labels: Vec<PdfId> = Vec::new();
            while labels.len() < frames {
                let next = random.below(3) as u32;
                let legal = labels.last().map_or(next != 1, |last| (last.0, next) != (0, 2));
                labels.extend(legal.then_some(PdfId(next)));
            }
            let features = labels.iter().flat_map(|label| {
                let noisy = if random.below(5) == 0 { random.below(3) as u32 } else { label.0 };
                [2 * noisy + random.below(2) as u32, random.below(6) as u32]
            });
            let ids: Vec<u32> = features.collect();
            let values = ids.iter().map(|_| random.uniform() + 0.5).collect();
            let first = (0..=frames as u32).map(|frame| 2 * frame).collect();
            let input = SparseFrames::new(first, ids, values).unwrap();
            let path = path_of(&plan, &labels).unwrap();
            Example { name: format!("sequence {number}"), input, path }
        };
        let examples = (0..sequences).map(&mut example).collect();
        Self { graph, scorer: SparseScorer::all(6, 3).unwrap(), examples }
    }

    pub fn problem(&self) -> Problem<'_, SparseScorer> {
        Problem { graph: &self.graph, scorer: &self.scorer, examples: &self.examples }
    }
}

pub fn random_theta(parameters: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..parameters).map(|_| f64::from(random.normal())).collect()
}

const ALL: [Criterion; 5] = [
    Criterion::LogLikelihood,
    Criterion::Posterior,
    Criterion::Perceptron,
    Criterion::Margin(HammingCost { per_frame: 1.0, unit: CostUnit::Frames }),
    Criterion::Margin(HammingCost { per_frame: 2.0, unit: CostUnit::Share }),
];

/// Every derivative is the slope between two points near.
fn check_slopes<S: Scorer>(problem: &Problem<'_, S>, criterion: Criterion) {
    let theta = random_theta(problem.parameters(), 1);
    let mut gradient = vec![0.0; theta.len()];
    problem.objective(&theta, criterion, &mut gradient).unwrap();
    assert!(gradient.iter().filter(|slope| slope.abs() > 1e-2).count() > theta.len() / 3, "{gradient:?}");
    for (parameter, slope) in gradient.iter().enumerate() {
        let at = |step: f64| {
            let mut moved = theta.clone();
            moved[parameter] += step;
            problem.objective(&moved, criterion, &mut vec![0.0; theta.len()]).unwrap()
        };
        let difference = (at(2e-3) - at(-2e-3)) / 4e-3;
        assert!((difference - slope).abs() < 5e-3, "{criterion:?} {parameter}: {difference} {slope}");
    }
}

#[test]
fn gradients_are_slopes_of_the_sum_over_all_examples() {
    let tagged = Tagged::new(12, 3);
    let scorer = FrameScorer { dims: 2, pdfs: 3 };
    let mut random = Random::new(8);
    let mut frames = |example: &Example<SparseFrames>| {
        let cells = (0..2 * example.path.len()).map(|_| random.normal()).collect();
        let input = Matrix::from_vec(example.path.len(), 2, cells).unwrap();
        Example { name: example.name.clone(), input, path: example.path.clone() }
    };
    let examples: Vec<_> = tagged.examples.iter().map(&mut frames).collect();
    for criterion in ALL {
        check_slopes(&tagged.problem(), criterion);
        check_slopes(&Problem { graph: &tagged.graph, scorer: &scorer, examples: &examples }, criterion);
    }
}

#[test]
fn the_loss_of_a_crf_is_what_enumeration_says() {
    let tagged = Tagged::new(10, 4);
    let problem = tagged.problem();
    let theta = random_theta(problem.parameters(), 2);
    let plan = problem.plan(&theta).unwrap();
    let mut expected = 0.0;
    for example in &tagged.examples {
        let emissions = problem.emissions(&theta, &example.input).unwrap();
        let all = (0..3usize.pow(example.path.len() as u32)).filter_map(|code| {
            let states: Vec<StateId> =
                (0..example.path.len()).map(|t| StateId::from_index(code / 3usize.pow(t as u32) % 3)).collect();
            path_score(&plan, &emissions, &states).ok()
        });
        let right = path_score(&plan, &emissions, &example.path).unwrap();
        expected += all.map(|score| (score - right).exp()).sum::<f64>().ln();
    }
    let found = problem.objective(&theta, Criterion::LogLikelihood, &mut vec![0.0; theta.len()]).unwrap();
    assert!((found - expected).abs() < 1e-6 * expected, "{found} {expected}");
}

#[test]
fn the_same_bytes_come_from_any_number_of_threads() {
    let tagged = Tagged::new(50, 5);
    let problem = tagged.problem();
    let theta = random_theta(problem.parameters(), 6);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut gradient = vec![0.0; theta.len()];
        let loss = pool.install(|| problem.objective(&theta, Criterion::LogLikelihood, &mut gradient)).unwrap();
        (loss, gradient)
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

#[test]
fn a_sum_is_convex_for_all_but_the_posterior() {
    let tagged = Tagged::new(10, 7);
    let problem = tagged.problem();
    let mut bent_down = 0;
    for criterion in ALL {
        for seed in 0..20 {
            let [a, b] = [seed, seed + 100].map(|seed| random_theta(problem.parameters(), seed));
            let middle: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.5 * (a + b)).collect();
            let [a, b, middle] =
                [a, b, middle].map(|theta| problem.objective(&theta, criterion, &mut vec![0.0; theta.len()]).unwrap());
            let bends_up = middle <= 0.5 * (a + b) + 1e-5;
            assert!(bends_up || criterion == Criterion::Posterior, "{criterion:?}: {a} {middle} {b}");
            bent_down += usize::from(!bends_up);
        }
    }
    assert!(bent_down > 0, "the posterior is not convex");
}

#[test]
fn right_counts_are_features_and_transitions_of_the_right_paths() {
    let tagged = Tagged::new(20, 9);
    let counts = tagged.problem().right_counts().unwrap();
    let (emissions, transitions) = counts.split_at(tagged.scorer.parameters());
    let mut expected = vec![0.0; emissions.len()];
    for example in &tagged.examples {
        for (frame, state) in example.path.iter().enumerate() {
            let (features, values) = example.input.frame(frame);
            let pairs = features.iter().zip(values);
            pairs.for_each(|(&f, &value)| expected[3 * f as usize + state.index()] += f64::from(value));
        }
    }
    assert_eq!(emissions, expected);
    let steps: usize = tagged.examples.iter().map(|example| example.path.len() + 1).sum();
    assert_eq!(transitions.iter().sum::<f64>(), steps as f64);
}

#[test]
fn uses_are_squares_of_features_for_any_label() {
    let tagged = Tagged::new(20, 9);
    let uses = tagged.problem().uses();
    let (emissions, transitions) = uses.split_at(tagged.scorer.parameters());
    let mut expected = vec![0.0; emissions.len()];
    for example in &tagged.examples {
        for frame in 0..example.path.len() {
            let (features, values) = example.input.frame(frame);
            for (place, &value) in features.iter().zip(values).flat_map(|(&f, v)| (0..3).map(move |k| (3 * f + k, v))) {
                expected[place as usize] += f64::from(value).powi(2);
            }
        }
    }
    assert_eq!(emissions, expected);
    let frames: usize = tagged.examples.iter().map(|example| example.path.len()).sum();
    // Three labels, thirteen transitions.
    assert!(transitions.iter().all(|&uses| (uses - frames as f64 * 3.0 / 13.0).abs() < 1e-9));
}

#[test]
fn examples_that_cannot_be_used_are_named_and_left_out() {
    let tagged = Tagged::new(4, 2);
    let scorer = FrameScorer { dims: 1, pdfs: 3 };
    let of = |name: &str, cells: Vec<f32>, path: &[u32]| Example {
        name: name.into(),
        input: Matrix::from_vec(cells.len(), 1, cells).unwrap(),
        path: path.iter().copied().map(StateId).collect(),
    };
    let mut examples = vec![
        of("good", vec![1.0, 2.0], &[0, 1]),
        of("empty", vec![], &[]),
        of("nan", vec![1.0, f32::NAN], &[0, 1]),
        of("infinite", vec![f32::INFINITY, 0.0], &[0, 1]),
        of("short", vec![1.0, 2.0], &[0]),
        of("forbidden", vec![1.0, 2.0], &[0, 2]),
        Example { input: Matrix::zeros(1, 2), ..of("wide", vec![], &[0]) },
        of("good too", vec![-1.0], &[2]),
    ];
    let left_out = leave_out(&tagged.graph, &scorer, &mut examples).unwrap();
    let told: Vec<String> = left_out.iter().map(LeftOut::to_string).collect();
    let expected = [
        "empty is left out: it has no frames",
        "nan is left out: features: a value in frame 1 is not a finite number",
        "infinite is left out: features: a value in frame 0 is not a finite number",
        "short is left out: states of a path: expected 2, found 1",
        "forbidden is left out: no arc leads from state 0 to state 2",
        "wide is left out: dimensions of a frame: expected 1, found 2",
    ];
    assert_eq!(told, expected);
    let names: Vec<&str> = examples.iter().map(|example| example.name.as_str()).collect();
    assert_eq!(names, ["good", "good too"]);

    let mut none = vec![of("nan", vec![f32::NAN], &[0])];
    let told = leave_out(&tagged.graph, &scorer, &mut none).unwrap_err().to_string();
    assert_eq!(
        told,
        "no example is left to learn from: nan is left out: features: a value in frame 0 is not a finite number"
    );
}

#[test]
fn a_bad_example_that_stayed_is_named() {
    let tagged = Tagged::new(1, 2);
    let scorer = FrameScorer { dims: 1, pdfs: 3 };
    let of = |cell: f32| {
        let input = Matrix::from_vec(1, 1, vec![cell]).unwrap();
        vec![Example { name: "the third".into(), input, path: vec![StateId(0)] }]
    };
    let told = |examples: &[Example<Matrix>]| {
        let problem = Problem { graph: &tagged.graph, scorer: &scorer, examples };
        let theta = vec![1.0; problem.parameters()];
        problem.objective(&theta, Criterion::LogLikelihood, &mut vec![0.0; theta.len()]).unwrap_err()
    };
    assert!(matches!(told(&of(f32::NAN)), Error::Diverged { utterances, .. } if utterances == "the third"));
    let wide = [Example { input: Matrix::zeros(1, 2), ..of(0.0).remove(0) }];
    assert_eq!(told(&wide).to_string(), "the third: dimensions of a frame: expected 1, found 2");
}

#[test]
fn a_label_that_the_graph_does_not_permit_is_named() {
    let tagged = Tagged::new(1, 2);
    let plan = tagged.problem().plan(&vec![0.0; tagged.problem().parameters()]).unwrap();
    assert_eq!(path_of(&plan, &[PdfId(2), PdfId(1)]).unwrap(), [StateId(2), StateId(1)]);
    let told = path_of(&plan, &[PdfId(2), PdfId(0), PdfId(2)]).unwrap_err().to_string();
    assert_eq!(told, "label 3 may not stand where it does: the graph has no arc for it");
}
