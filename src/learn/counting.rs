//! A hidden Markov model by counts: how often each transition was taken, made into probabilities.
//!
//! In: counts by [`TransitionId`], of labelled paths or expected ones. Out: [`Weights`]. The transitions among which a state
//! has the choice form a row, one distribution:
//!
//! ```text
//! w(s -> r) = log (count(s -> r) / sum_q count(s -> q))
//! ```

use std::collections::BTreeMap;

use crate::graph::{Graph, Weights};
use crate::symbols::TransitionId;
use crate::{Error, Result};

/// Which transitions compete: those that leave one state (its end among them), and those that begin an utterance.
///
/// States that share a transition share the row: a pair rule joins the copies of a state that spell a least duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRows {
    transitions: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Row {
    /// Stays in its symbol state.
    dwell: Vec<TransitionId>,
    /// Goes elsewhere.
    leave: Vec<TransitionId>,
}

impl Row {
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.dwell.iter().chain(&self.leave).map(|transition| transition.index())
    }
}

impl TransitionRows {
    /// The rows that `graphs`, all over the same `transitions` parameters, show. The full graph shows every choice; a set of
    /// transcript graphs those that occur.
    ///
    /// # Errors
    /// [`Error::Shape`] when a graph has another number of transitions.
    pub fn of<'a>(transitions: usize, graphs: impl IntoIterator<Item = &'a Graph>) -> Result<Self> {
        let mut groups = Groups::new(transitions);
        for graph in graphs {
            let found = graph.transitions();
            if found != transitions {
                return Err(Error::Shape { what: "transitions of a graph", expected: transitions, found });
            }
            groups.add(graph);
        }
        Ok(Self { transitions, rows: groups.rows() })
    }

    /// Every row normalised, `smoothing` (above 0) added to each count. Transitions that no row has keep weight 0.
    ///
    /// # Errors
    /// [`Error::Shape`] when `counts` are of another graph file; [`Error::Setting`] when `smoothing` is not above 0, which would
    /// make what was not seen impossible: impossible is what the graph has no arc for.
    pub fn normalise(&self, counts: &[f64], smoothing: f64) -> Result<Weights> {
        self.check(counts.len())?;
        if !(smoothing.is_finite() && smoothing > 0.0) {
            let value = smoothing.to_string();
            return Err(Error::Setting { key: "smoothing", value, expected: "a count above 0" });
        }
        let mut weights = Weights(vec![0.0; self.transitions]);
        for row in &self.rows {
            let total: f64 = row.all().map(|transition| counts[transition] + smoothing).sum();
            row.all().for_each(|t| weights.0[t] = ((counts[t] + smoothing) / total).ln() as f32);
        }
        Ok(weights)
    }

    /// New self-loop probabilities; what a symbol is followed by keeps its weight.
    ///
    /// With p the share of the row that dwells, the self-loop gets log p, and a leaving transition of weight
    /// log(1 - p_old) + w becomes log(1 - p) + w. As in Kaldi's transition model, p stays in 0.01..0.99 and a row with fewer
    /// than 5 counts stays as it was.
    ///
    /// # Errors
    /// [`Error::Shape`] when `counts` or `weights` are of another graph file; [`Error::Other`] when the old self-loops are not
    /// probabilities below one.
    pub fn dwell(&self, counts: &[f64], weights: &Weights) -> Result<Weights> {
        self.check(counts.len())?;
        self.check(weights.0.len())?;
        let mut new = weights.clone();
        for row in self.rows.iter().filter(|row| !row.dwell.is_empty() && !row.leave.is_empty()) {
            let sum = |transitions: &[TransitionId]| transitions.iter().map(|t| counts[t.index()]).sum::<f64>();
            let (stays, leaves) = (sum(&row.dwell), sum(&row.leave));
            if stays + leaves >= LEAST_COUNT {
                let stay = (stays / (stays + leaves)).clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
                row.set_dwell(stay, weights, &mut new)?;
            }
        }
        Ok(new)
    }

    fn check(&self, found: usize) -> Result<()> {
        match found == self.transitions {
            true => Ok(()),
            false => Err(Error::Shape { what: "counts of transitions", expected: self.transitions, found }),
        }
    }
}

const LEAST_COUNT: f64 = 5.0;
const LEAST_PROBABILITY: f64 = 0.01;

impl Row {
    fn set_dwell(&self, stay: f64, old: &Weights, new: &mut Weights) -> Result<()> {
        let old_stay: f64 = self.dwell.iter().map(|&t| f64::from(old.get(t)).exp()).sum();
        if old_stay >= 1.0 {
            let reason = format!("a self-loop has probability {old_stay:.3}: expected less than 1");
            return Err(Error::Other(reason));
        }
        let shift = ((1.0 - stay) / (1.0 - old_stay)).ln() as f32;
        let grown = (stay / old_stay).ln() as f32;
        self.dwell.iter().for_each(|t| new.0[t.index()] += grown);
        self.leave.iter().for_each(|t| new.0[t.index()] += shift);
        Ok(())
    }
}

/// Joins transitions that one state can choose between, by union-find.
struct Groups {
    /// A transition of the same row; itself when it stands for the row.
    parent: Vec<usize>,
    used: Vec<bool>,
    dwells: Vec<bool>,
}

impl Groups {
    fn new(transitions: usize) -> Self {
        Self { parent: (0..transitions).collect(), used: vec![false; transitions], dwells: vec![false; transitions] }
    }

    fn add(&mut self, graph: &Graph) {
        let mut leaving: Vec<Vec<TransitionId>> = vec![vec![]; graph.len()];
        for (position, arc) in graph.all_arcs().iter().enumerate().filter(|(_, arc)| arc.transition.is_some()) {
            let source = graph.source(position);
            leaving[source.index()].push(arc.transition);
            self.dwells[arc.transition.index()] |= source == arc.to && !graph.enters(source, arc.to);
        }
        let ends = graph.finals().iter().filter(|end| end.transition.is_some());
        ends.for_each(|end| leaving[end.state.index()].push(end.transition));
        let starts = graph.starts().iter().map(|start| start.transition).filter(|transition| transition.is_some());
        leaving.push(starts.collect());
        leaving.iter().for_each(|choice| self.join(choice));
    }

    fn join(&mut self, choice: &[TransitionId]) {
        choice.iter().for_each(|transition| self.used[transition.index()] = true);
        for pair in choice.windows(2) {
            let (a, b) = (self.find(pair[0].index()), self.find(pair[1].index()));
            self.parent[a.max(b)] = a.min(b);
        }
    }

    fn find(&mut self, mut transition: usize) -> usize {
        while self.parent[transition] != transition {
            self.parent[transition] = self.parent[self.parent[transition]];
            transition = self.parent[transition];
        }
        transition
    }

    fn rows(mut self) -> Vec<Row> {
        let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
        for transition in (0..self.parent.len()).filter(|&transition| self.used[transition]).collect::<Vec<_>>() {
            let row = rows.entry(self.find(transition)).or_default();
            let kind = if self.dwells[transition] { &mut row.dwell } else { &mut row.leave };
            kind.push(TransitionId::from_index(transition));
        }
        rows.into_values().collect()
    }
}
