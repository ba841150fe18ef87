//! Arcs in rows, and what is derived from their scores for the inner loops.

use std::sync::OnceLock;

use super::dense::{self, Panels};
use crate::symbols::StateId;

/// One term of a sum: the state at the other side of an arc, or at the edge of the utterance, and what that step scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The other state.
    pub state: StateId,
    /// Weight, fixed part and insertion penalty, natural log.
    pub score: f32,
}

/// How the arcs are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Arc by arc.
    Sparse,
    /// As a full matrix: what is no arc scores minus infinity.
    Dense,
}

/// A graph is dense when at least one in so many pairs of states is an arc: from 17 to 420 states, the matrix then is as fast
/// as the arcs for [`LogSum`](super::LogSum), and twice as fast for [`Max`](super::Max).
const DENSE_SHARE: usize = 4;

impl Layout {
    /// The faster one for `arcs` arcs between `states` states.
    pub(super) fn of(states: usize, arcs: usize) -> Self {
        if arcs * DENSE_SHARE >= states * states { Self::Dense } else { Self::Sparse }
    }
}

/// All arcs of a graph, in rows by the state on one side.
///
/// The tables that an operation needs beside the arcs are made when it is first used, and kept.
#[derive(Debug, Clone)]
pub struct Rows {
    first: Vec<u32>,
    pub(super) steps: Vec<Step>,
    layout: Layout,
    matrix: OnceLock<Panels<f32>>,
    exponentials: OnceLock<Exponentials>,
}

impl Rows {
    pub(super) fn new(rows: impl ExactSizeIterator<Item = impl Iterator<Item = Step>>, arcs: usize) -> Self {
        let layout = Layout::of(rows.len(), arcs);
        let mut first = Vec::with_capacity(rows.len() + 1);
        let mut steps = Vec::with_capacity(arcs);
        first.push(0);
        for row in rows {
            steps.extend(row);
            first.push(steps.len() as u32);
        }
        Self { first, steps, layout, matrix: OnceLock::new(), exponentials: OnceLock::new() }
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.first.len() - 1
    }

    /// Where the steps of `state` are in `steps`.
    pub(super) fn range(&self, state: usize) -> std::ops::Range<usize> {
        self.first[state] as usize..self.first[state + 1] as usize
    }

    /// The arcs on this side of `state`, by ascending other state.
    pub fn row(&self, state: usize) -> &[Step] {
        &self.steps[self.range(state)]
    }

    /// The scores by other state and state when the rows are dense; minus infinity where there is no arc.
    pub(super) fn matrix(&self) -> Option<&Panels<f32>> {
        (self.layout == Layout::Dense).then(|| self.matrix.get_or_init(|| self.new_matrix()))
    }

    fn new_matrix(&self) -> Panels<f32> {
        let mut matrix = Panels::new(self.states(), f32::NEG_INFINITY);
        self.fill_matrix(&mut matrix);
        matrix
    }

    fn fill_matrix(&self, matrix: &mut Panels<f32>) {
        for state in 0..self.states() {
            matrix.set_column(state, self.row(state).iter().map(|step| (step.state.index(), step.score)));
        }
    }

    /// The exponentials of the scores.
    pub(super) fn exponentials(&self) -> &Exponentials {
        self.exponentials.get_or_init(|| {
            let matrix = (self.layout == Layout::Dense).then(|| Panels::new(self.states(), 0.0));
            let arcs = self.steps.len();
            let mut new = Exponentials { largest: vec![0.0; self.states()], weights: vec![0.0; arcs], matrix };
            new.refresh(self);
            new
        })
    }

    /// Lets `write` give new scores to each row; the tables that exist follow.
    pub(super) fn rescore(&mut self, write: impl Fn(StateId, &mut [Step])) {
        for state in 0..self.states() {
            let range = self.range(state);
            write(StateId::from_index(state), &mut self.steps[range]);
        }
        if let Some(mut matrix) = self.matrix.take() {
            self.fill_matrix(&mut matrix);
            self.matrix = OnceLock::from(matrix);
        }
        if let Some(mut exponentials) = self.exponentials.take() {
            exponentials.refresh(self);
            self.exponentials = OnceLock::from(exponentials);
        }
    }

    #[cfg(test)]
    pub(super) fn lay_out(&mut self, layout: Layout) {
        (self.layout, self.matrix, self.exponentials) = (layout, OnceLock::new(), OnceLock::new());
    }
}

/// Scores taken out of the logarithm, each row relative to its largest: what a log-sum-exp needs no exponential for.
#[derive(Debug, Clone)]
pub(super) struct Exponentials {
    /// The largest score of each row; 0 for a row without a possible step.
    pub(super) largest: Vec<f64>,
    /// exp(score - largest of the row), in the order of the steps: 0 to 1.
    pub(super) weights: Vec<f64>,
    /// The same by other state and state, when the rows are dense; 0 where there is no arc.
    pub(super) matrix: Option<Panels<f64>>,
}

impl Exponentials {
    fn refresh(&mut self, rows: &Rows) {
        for (state, largest) in self.largest.iter_mut().enumerate() {
            let best = rows.row(state).iter().fold(f32::NEG_INFINITY, |best, step| best.max(step.score));
            *largest = if best == f32::NEG_INFINITY { 0.0 } else { f64::from(best) };
            let weights = self.weights[rows.range(state)].iter_mut();
            weights.zip(rows.row(state)).for_each(|(weight, step)| *weight = f64::from(step.score) - *largest);
        }
        dense::exp(&mut self.weights);
        let Some(matrix) = &mut self.matrix else { return };
        for state in 0..rows.states() {
            let weights = rows.row(state).iter().zip(&self.weights[rows.range(state)]);
            matrix.set_column(state, weights.map(|(step, &weight)| (step.state.index(), weight)));
        }
    }
}
