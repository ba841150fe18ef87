//! The N best label sequences of a lattice, each with the score of its best path.
//!
//! A [`Lattice`] comes in, [`Hypothesis`] by hypothesis goes out, best first. Search goes from the end to the start; what is open is a
//! distinct suffix of labels, with its best score from each node on. The best score from the start to each node is known, so that an
//! open suffix is judged by exactly what it will score, and nothing is followed that is not needed (A*; Soong and Huang, "A
//! tree-trellis based fast search", 1991).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use super::lattice::{Lattice, LatticeArc};

/// A label sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis<L> {
    /// F(x, y) of its best path, natural log.
    pub score: f64,
    /// Its labels, in time order.
    pub labels: Vec<L>,
}

/// The labels of a suffix, the first of them, and the rest.
#[derive(Debug)]
struct Label<L> {
    label: L,
    rest: Option<usize>,
}

/// A suffix of labels.
#[derive(Debug)]
struct Open {
    /// What the best path with this suffix scores in all.
    score: f64,
    /// Where in the list of labels it begins; `None` is the empty suffix.
    suffix: Option<usize>,
    /// The best score from each node to the end, where the suffix is what is left to say.
    from: BTreeMap<usize, f64>,
    /// Whether nothing comes before it.
    complete: bool,
}

impl Ord for Open {
    /// The better, then the complete, then the older.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(self.complete.cmp(&other.complete)).then(other.suffix.cmp(&self.suffix))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

/// The `count` best distinct sequences of what `label` gives of each arc (arcs without one are passed in silence), best first; fewer
/// where the lattice has fewer.
pub fn nbest<L: Ord + Copy>(
    lattice: &Lattice,
    count: usize,
    label: impl Fn(&LatticeArc) -> Option<L>,
) -> Vec<Hypothesis<L>> {
    let Some(end) = lattice.nodes.len().checked_sub(1) else { return vec![] };
    let (forward, incoming) = (forward(lattice), incoming(lattice));
    let mut labels: Vec<Label<L>> = vec![];
    let first = BTreeMap::from([(end, 0.0)]);
    let mut open = BinaryHeap::from([Open { score: forward[end], suffix: None, from: first, complete: false }]);
    let mut found = vec![];
    while let Some(best) = open.pop() {
        if best.complete {
            found.push(Hypothesis { score: best.score, labels: read(&labels, best.suffix) });
            if found.len() >= count {
                break;
            }
            continue;
        }
        let (longer, whole) = lengthened(lattice, &incoming, (best.from, &label));
        if let Some(score) = whole {
            open.push(Open { score, suffix: best.suffix, from: BTreeMap::new(), complete: true });
        }
        for (label, from) in longer {
            labels.push(Label { label, rest: best.suffix });
            let score = from.iter().map(|(&node, score)| forward[node] + score).fold(f64::NEG_INFINITY, f64::max);
            open.push(Open { score, suffix: Some(labels.len() - 1), from, complete: false });
        }
    }
    found
}

/// What a suffix becomes with one label more, by that label; and what it scores where it is whole.
type Lengthened<L> = (BTreeMap<L, BTreeMap<usize, f64>>, Option<f64>);

/// One label more before a suffix that is said from the nodes `from` on.
fn lengthened<L: Ord + Copy>(
    lattice: &Lattice,
    incoming: &[Vec<usize>],
    (mut from, label): (BTreeMap<usize, f64>, impl Fn(&LatticeArc) -> Option<L>),
) -> Lengthened<L> {
    let mut longer: BTreeMap<L, BTreeMap<usize, f64>> = BTreeMap::new();
    let mut whole = None;
    // The last node first: arcs without a label lead to earlier ones of the same suffix.
    while let Some((node, score)) = from.pop_last() {
        if node == 0 {
            whole = Some(score);
        }
        for &at in &incoming[node] {
            let arc = &lattice.arcs[at];
            let nodes = label(arc).map_or(&mut from, |label| longer.entry(label).or_default());
            let known = nodes.entry(arc.from).or_insert(f64::NEG_INFINITY);
            *known = known.max(score + arc.score());
        }
    }
    (longer, whole)
}

/// The best score from the start to each node: `forward[n] = max over arcs m -> n of (forward[m] + score)`.
fn forward(lattice: &Lattice) -> Vec<f64> {
    let mut forward = vec![f64::NEG_INFINITY; lattice.nodes.len()];
    forward[0] = 0.0;
    for arc in &lattice.arcs {
        forward[arc.to] = forward[arc.to].max(forward[arc.from] + arc.score());
    }
    forward
}

/// The arcs that lead to each node.
fn incoming(lattice: &Lattice) -> Vec<Vec<usize>> {
    let mut incoming = vec![vec![]; lattice.nodes.len()];
    lattice.arcs.iter().enumerate().for_each(|(at, arc)| incoming[arc.to].push(at));
    incoming
}

fn read<L: Copy>(labels: &[Label<L>], suffix: Option<usize>) -> Vec<L> {
    std::iter::successors(suffix, |&at| labels[at].rest).map(|at| labels[at].label).collect()
}

#[cfg(test)]
#[path = "nbest_tests.rs"]
mod tests;
