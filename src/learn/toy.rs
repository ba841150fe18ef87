//! Small problems that the tests of all learners share.

use std::sync::Arc;

use super::problem::{Example, Problem, path_of};
use crate::dp::{Plan, PlanOptions};
use crate::emission::{FrameScorer, Scorer, SparseFrames, SparseScorer};
use crate::graph::toy::{ONE_FRAME, everything_goes};
use crate::graph::{Graph, GraphSpec, Weights};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::symbols::PdfId;

/// Graph, scorer and examples of a [`Problem`].
pub struct Toy<S: Scorer> {
    pub graph: Arc<Graph>,
    pub scorer: S,
    pub examples: Vec<Example<S::Input>>,
}

impl<S: Scorer> Toy<S> {
    pub fn new(graph: Arc<Graph>, scorer: S, examples: Vec<(S::Input, Vec<PdfId>)>) -> Self {
        let weights = Weights(vec![0.0; graph.transitions()]);
        let plan = Plan::new(&graph, &weights, &PlanOptions::default()).unwrap();
        let example = |(place, (input, labels)): (usize, (S::Input, Vec<PdfId>))| Example {
            name: format!("sequence {place}"),
            input,
            path: path_of(&plan, &labels).unwrap(),
        };
        let examples = examples.into_iter().enumerate().map(example).collect();
        Self { graph, scorer, examples }
    }

    pub fn problem(&self) -> Problem<'_, S> {
        Problem { graph: &self.graph, scorer: &self.scorer, examples: &self.examples }
    }

    /// The pdfs of the best path of `input`.
    pub fn decode(&self, theta: &[f64], input: &S::Input) -> Vec<u32> {
        let problem = self.problem();
        let path = problem.predict(&problem.plan(theta).unwrap(), theta, input).unwrap();
        path.states.iter().map(|&state| self.graph.state(state).pdf.0).collect()
    }

    /// Frames of the training data that are decoded wrong.
    pub fn errors(&self, theta: &[f64]) -> usize {
        let wrong = |example: &Example<S::Input>| {
            let right = example.path.iter().map(|&state| self.graph.state(state).pdf.0);
            self.decode(theta, &example.input).into_iter().zip(right).filter(|(found, right)| found != right).count()
        };
        self.examples.iter().map(wrong).sum()
    }
}

/// Every tag after every tag, a pdf and a state each.
pub fn tags(names: &[&str]) -> Arc<Graph> {
    Arc::new(GraphSpec::parse(&everything_goes(names, ONE_FRAME)).unwrap().compile().unwrap())
}

/// A sequence of words, one feature each.
pub fn words(ids: &[u32]) -> SparseFrames {
    SparseFrames::new((0..=ids.len() as u32).collect(), ids.to_vec(), vec![1.0; ids.len()]).unwrap()
}

/// The tags of [`worked_example`].
pub const N: u32 = 0;
pub const V: u32 = 1;
pub const D: u32 = 3;
/// Words of [`worked_example`], n and a.
pub const NOUN: u32 = 0;
pub const ARTICLE: u32 = 3;

/// `n/N c/V` nine times, `p/P a/V` nine times, `n/N a/D` once.
pub fn worked_example() -> Toy<SparseScorer> {
    let sentence = |words_of: [u32; 2], tags_of: [u32; 2]| (words(&words_of), tags_of.map(PdfId).to_vec());
    let mut examples = vec![sentence([NOUN, 1], [N, V]); 9];
    examples.extend(vec![sentence([2, ARTICLE], [2, V]); 9]);
    examples.push(sentence([NOUN, ARTICLE], [N, D]));
    let pairs = examples.iter().map(|(input, labels)| (input, labels.as_slice()));
    let scorer = SparseScorer::observed(pairs, (4, 4)).unwrap();
    Toy::new(tags(&["N", "V", "P", "D"]), scorer, examples)
}

/// Words drawn by tags that follow one another by chance: 5 tags, 20 words, a fifth of the words being of any tag.
pub fn noisy_words(sequences: usize, seed: u64) -> Toy<SparseScorer> {
    let mut random = Random::new(seed);
    let sequence = |random: &mut Random| {
        let labels = chain(random, 5);
        let word = |random: &mut Random, tag: &PdfId| match random.uniform() < 0.2 {
            true => random.below(20) as u32,
            false => 4 * tag.0 + random.below(4) as u32,
        };
        let ids: Vec<u32> = labels.iter().map(|tag| word(random, tag)).collect();
        (words(&ids), labels)
    };
    let examples: Vec<_> = (0..sequences).map(|_| sequence(&mut random)).collect();
    let pairs = examples.iter().map(|(input, labels)| (input, labels.as_slice()));
    let scorer = SparseScorer::observed(pairs, (20, 5)).unwrap();
    Toy::new(tags(&["a", "b", "c", "d", "e"]), scorer, examples)
}

/// Measurements around a mean for each of 3 tags, `spread` being their standard deviation.
pub fn measurements(sequences: usize, spread: f32, seed: u64) -> Toy<FrameScorer> {
    const MEANS: [[f32; 2]; 3] = [[1.0, 0.0], [-0.5, 1.0], [-0.5, -1.0]];
    let mut random = Random::new(seed);
    let sequence = |random: &mut Random| {
        let labels = chain(random, 3);
        let values = labels.iter().flat_map(|tag| MEANS[tag.index()]).collect::<Vec<f32>>();
        let values = values.into_iter().map(|mean| mean + spread * random.normal()).collect();
        (Matrix::from_vec(labels.len(), 2, values).unwrap(), labels)
    };
    let examples = (0..sequences).map(|_| sequence(&mut random)).collect();
    Toy::new(tags(&["a", "b", "c"]), FrameScorer { dims: 2, pdfs: 3 }, examples)
}

/// 2 to 9 tags; half of them are the one after the last one.
fn chain(random: &mut Random, tags: usize) -> Vec<PdfId> {
    let mut tag = random.below(tags);
    let mut next = |random: &mut Random| {
        tag = if random.uniform() < 0.5 { (tag + 1) % tags } else { random.below(tags) };
        PdfId::from_index(tag)
    };
    (0..2 + random.below(8)).map(|_| next(random)).collect()
}
