//! Growing the tree of tied states (senones) from a monophone alignment.
//!
//! In: for each state of each symbol, by its neighbours, count, sum and square of the frames that an alignment gives it. Out: a
//! [`Tree`] whose leaves are as many pdfs as asked for. Questions come from the data too: `questions` clusters the symbols.
//! Source: Young, Odell & Woodland 1994, "Tree-based state tying for high accuracy acoustic modelling"; Kaldi's `cluster-phones`
//! and `build-tree`.

mod questions;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::require;
use crate::features::Moments;
use crate::graph::tree::{Neighbour, Side, Step};
use crate::graph::{Context, ContextKind, GraphSpec, Tree};
use crate::symbols::SymbolId;
use crate::{Error, Result};
use questions::Questions;

/// How states are tied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TreeConfig {
    /// Which neighbours matter.
    pub kind: ContextKind,
    /// Pdfs at most; a state of a symbol has at least one.
    pub leaves: usize,
    /// Least frames of a leaf, above 0; a state that has fewer in all stays whole.
    pub min_frames: f64,
}

impl Default for TreeConfig {
    fn default() -> Self {
        Self { kind: ContextKind::LeftBiphone, leaves: 400, min_frames: 100.0 }
    }
}

impl TreeConfig {
    /// Whether every value is in range.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that is not.
    pub fn check(&self) -> Result<()> {
        let (leaves, least) = (self.leaves, self.min_frames);
        require((1..=MOST_LEAVES).contains(&leaves), "leaves", leaves, "a whole number from 1 to 100000")?;
        require(least.is_finite() && least > 0.0, "min_frames", least, "a number above 0")
    }

    /// Whether there are leaves enough for the states of `spec`.
    ///
    /// # Errors
    /// [`Error::Other`] when there are not; as [`TreeConfig::check`].
    pub fn check_for(&self, spec: &GraphSpec) -> Result<()> {
        self.check()?;
        let states: usize = spec.symbols().ids().map(|symbol| spec.topology(symbol).states()).sum();
        if self.leaves < states {
            let (leaves, file) = (self.leaves, spec.path().display());
            let reason = format!("leaves = {leaves}: expected at least {states}, one for each state of {file}");
            return Err(Error::Other(reason));
        }
        Ok(())
    }
}

/// More pdfs than any network has.
const MOST_LEAVES: usize = 100_000;

/// What an alignment says of every state among its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextStatistics {
    dim: usize,
    states: BTreeMap<(SymbolId, usize), BTreeMap<Context, Moments>>,
}

impl ContextStatistics {
    /// No frames yet, of `dim` columns.
    pub fn new(dim: usize) -> Self {
        Self { dim, states: BTreeMap::new() }
    }

    /// Counts in a `frame` `[D]` of a symbol's state, counted from 0.
    ///
    /// # Panics
    /// When the frame has another number of columns.
    pub fn count_in(&mut self, (symbol, state): (SymbolId, usize), context: Context, frame: &[f32]) {
        let contexts = self.states.entry((symbol, state)).or_default();
        contexts.entry(context).or_insert_with(|| Moments::new(self.dim)).count_in(frame);
    }

    /// Counts in what `other` has counted, of frames of as many columns.
    pub fn merge(&mut self, other: Self) {
        for (state, contexts) in other.states {
            let own = self.states.entry(state).or_default();
            for (context, moments) in contexts {
                own.entry(context).or_insert_with(|| Moments::new(self.dim)).merge(&moments);
            }
        }
    }

    /// All frames together.
    fn total(&self) -> Moments {
        pooled(self.dim, self.states.values().flat_map(BTreeMap::values))
    }

    /// The frames of a state in every context.
    fn of_state(&self, symbol: SymbolId, state: usize) -> Moments {
        pooled(self.dim, self.states.get(&(symbol, state)).into_iter().flat_map(BTreeMap::values))
    }
}

fn pooled<'a>(dim: usize, parts: impl Iterator<Item = &'a Moments>) -> Moments {
    parts.fold(Moments::new(dim), |mut sum, part| {
        sum.merge(part);
        sum
    })
}

/// Least variance of a leaf's Gaussian, as a share of the variance of all frames.
const VARIANCE_FLOOR: f64 = 0.01;

/// Log-likelihoods of frames under the one Gaussian that fits them best.
#[derive(Debug, Clone)]
struct Likelihood {
    /// Least variance, `[D]`.
    floor: Vec<f64>,
}

impl Likelihood {
    fn new(all: &Moments) -> Self {
        let count = all.count.max(1.0);
        let variance = |(mean, square): (f64, &f64)| (square / count - mean * mean).max(f64::MIN_POSITIVE);
        Self { floor: all.mean().into_iter().zip(&all.square).map(|pair| VARIANCE_FLOOR * variance(pair)).collect() }
    }

    /// `L(S) = -1/2 sum_d [N log(2 pi v_d) + (sum x_d^2 - N m_d^2) / v_d]` with mean m and variance
    /// `v_d = max(sum x_d^2 / N - m_d^2, floor_d)`; 0 without frames.
    fn of(&self, frames: &Moments) -> f64 {
        if frames.count == 0.0 {
            return 0.0;
        }
        let column = |((sum, square), floor): ((&f64, &f64), &f64)| {
            let scatter = (square - sum * sum / frames.count).max(0.0);
            let variance = (scatter / frames.count).max(*floor);
            frames.count * (2.0 * std::f64::consts::PI * variance).ln() + scatter / variance
        };
        -0.5 * frames.sum.iter().zip(&frames.square).zip(&self.floor).map(column).sum::<f64>()
    }
}

/// Grows the tree of `spec` by `statistics`: from one leaf for each state of each symbol, always the split that makes the frames
/// most likely, until there are enough leaves. Pauses, the graph's optional symbols, stay whole.
///
/// # Errors
/// As [`TreeConfig::check_for`].
pub fn grow(config: &TreeConfig, spec: &GraphSpec, statistics: &ContextStatistics) -> Result<Tree> {
    config.check_for(spec)?;
    let likelihood = Likelihood::new(&statistics.total());
    let questions = Questions::new(config.kind, (spec, statistics), &likelihood);
    let splitter = Splitter { config, questions: &questions, likelihood: &likelihood, dim: statistics.dim };
    let grown = Growth::new(spec, statistics, &splitter).grow(&splitter);
    grown.tree(config.kind, spec, questions)
}

/// The frames of one state in some of its contexts.
type Frames<'a> = Vec<(Context, &'a Moments)>;

/// A question with its answers and what it gains.
#[derive(Debug, Clone)]
struct Split<'a> {
    gain: f64,
    question: (Side, usize),
    yes: Frames<'a>,
    no: Frames<'a>,
}

/// Finds the best question.
struct Splitter<'a> {
    config: &'a TreeConfig,
    questions: &'a Questions,
    likelihood: &'a Likelihood,
    dim: usize,
}

impl Splitter<'_> {
    /// The question that makes `frames` most likely, the first of equals:
    /// `gain(q) = L(yes of q) + L(no of q) - L(all)`, above 0 and with frames enough on both sides.
    fn best<'a>(&self, frames: &Frames<'a>) -> Option<Split<'a>> {
        let whole = self.likelihood.of(&pooled(self.dim, frames.iter().map(|(_, moments)| *moments)));
        let mut best: Option<(f64, (Side, usize))> = None;
        for (side, sets) in &self.questions.sides {
            // Contexts that a side does not tell apart are summed once.
            let mut sums: BTreeMap<Neighbour, Moments> = BTreeMap::new();
            for (context, moments) in frames {
                sums.entry(context.neighbour(*side)).or_insert_with(|| Moments::new(self.dim)).merge(moments);
            }
            for &set in sets {
                let gain = self.gain(&sums, set).map(|parts| parts - whole);
                if gain.is_some_and(|gain| gain > best.map_or(0.0, |(most, _)| most)) {
                    best = gain.map(|gain| (gain, (*side, set)));
                }
            }
        }
        let (gain, question) = best?;
        let is_yes = |(context, _): &(Context, &Moments)| self.questions.answer(question, *context);
        let (yes, no) = frames.iter().partition(|frames| is_yes(frames));
        Some(Split { gain, question, yes, no })
    }

    /// L(yes) + L(no); `None` when one has too few frames.
    fn gain(&self, sums: &BTreeMap<Neighbour, Moments>, set: usize) -> Option<f64> {
        let (mut yes, mut no) = (Moments::new(self.dim), Moments::new(self.dim));
        for (neighbour, moments) in sums {
            if self.questions.has(set, *neighbour) { yes.merge(moments) } else { no.merge(moments) }
        }
        let enough = |part: &Moments| part.count >= self.config.min_frames;
        (enough(&yes) && enough(&no)).then(|| self.likelihood.of(&yes) + self.likelihood.of(&no))
    }
}

/// A node of the growing trees.
enum Node<'a> {
    Leaf(Option<Split<'a>>),
    Ask { question: (Side, usize), yes: usize, no: usize },
}

/// The trees of all states.
struct Growth<'a> {
    nodes: Vec<Node<'a>>,
    leaves: usize,
}

impl<'a> Growth<'a> {
    /// One leaf a state, in the order of symbols and states.
    fn new(spec: &GraphSpec, statistics: &'a ContextStatistics, splitter: &Splitter<'_>) -> Self {
        let states =
            spec.symbols().ids().flat_map(|symbol| (0..spec.topology(symbol).states()).map(move |s| (symbol, s)));
        let states: Vec<(SymbolId, usize)> = states.collect();
        let leaf = |&(symbol, state): &(SymbolId, usize)| {
            let contexts = statistics.states.get(&(symbol, state)).filter(|_| !spec.optional().contains(&symbol));
            let frames = contexts.map(|all| all.iter().map(|(context, moments)| (*context, moments)).collect());
            Node::Leaf(frames.and_then(|frames| splitter.best(&frames)))
        };
        Self { leaves: states.len(), nodes: states.par_iter().map(leaf).collect() }
    }

    /// Splits where most is gained, the earliest node of equals.
    fn grow(mut self, splitter: &Splitter<'_>) -> Self {
        let gain = |node: &Node| match node {
            Node::Leaf(Some(split)) => split.gain,
            _ => 0.0,
        };
        while self.leaves < splitter.config.leaves {
            let best = (0..self.nodes.len())
                .fold(0, |best, at| if gain(&self.nodes[at]) > gain(&self.nodes[best]) { at } else { best });
            let (yes, no) = (self.nodes.len(), self.nodes.len() + 1);
            let Node::Leaf(split) = &mut self.nodes[best] else { break };
            let Some(split) = split.take() else { break };
            self.nodes[best] = Node::Ask { question: split.question, yes, no };
            let (yes, no) = rayon::join(|| splitter.best(&split.yes), || splitter.best(&split.no));
            self.nodes.extend([Node::Leaf(yes), Node::Leaf(no)]);
            self.leaves += 1;
        }
        self
    }

    /// The tree with the sets that are asked for.
    fn tree(&self, kind: ContextKind, spec: &GraphSpec, questions: Questions) -> Result<Tree> {
        let mut root = 0..;
        let mut states: Vec<Vec<Vec<Step>>> = vec![];
        for symbol in spec.symbols().ids() {
            let roots = root.by_ref().take(spec.topology(symbol).states());
            states.push(roots.map(|root| self.steps(root)).collect());
        }
        let steps = || states.iter().flatten().flatten();
        let mut number: BTreeMap<usize, usize> = BTreeMap::new();
        for step in steps() {
            if let Step::Ask(_, set) = step {
                let next = number.len();
                number.entry(*set).or_insert(next);
            }
        }
        let mut sets = vec![vec![]; number.len()];
        number.iter().for_each(|(&old, &new)| sets[new] = questions.sets[old].clone());
        for step in states.iter_mut().flatten().flatten() {
            if let Step::Ask(_, set) = step {
                *set = number[set];
            }
        }
        Tree::new(kind, spec.symbols(), sets, &states)
    }

    /// The steps of one state: a question, all of its yes, all of its no.
    fn steps(&self, root: usize) -> Vec<Step> {
        let (mut steps, mut open) = (vec![], vec![root]);
        while let Some(at) = open.pop() {
            match &self.nodes[at] {
                Node::Ask { question: (side, set), yes, no } => {
                    steps.push(Step::Ask(*side, *set));
                    open.extend([*no, *yes]);
                }
                Node::Leaf(_) => steps.push(Step::Leaf),
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests;
