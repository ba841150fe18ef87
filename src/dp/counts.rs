//! How often each emission cell and each transition is used: the one statistic that every learner consumes.

use super::plan::Plan;
use super::semiring::LogSum;
use super::trellis::{Trellis, backward, forward};
use super::viterbi::arc_position;
use crate::Result;
use crate::emission::Emissions;
use crate::graph::Boundary;
use crate::matrix::Matrix;
use crate::symbols::{StateId, TransitionId};

/// Use of the emission cells and of the transitions: of one path (zeros and ones), or expected over all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// Use of each pdf in each frame, `[T x P]`; each row sums to 1.
    pub occupancy: Matrix,
    /// Uses of each transition by [`TransitionId`], those of starts and ends among them.
    pub transitions: Vec<f64>,
}

impl Counts {
    fn zeros(plan: &Plan, frames: usize) -> Self {
        let graph = plan.graph();
        Self { occupancy: Matrix::zeros(frames, graph.pdfs()), transitions: vec![0.0; graph.transitions()] }
    }

    fn add(&mut self, transition: TransitionId, count: f64) {
        if transition.is_some() {
            self.transitions[transition.index()] += count;
        }
    }
}

/// A state posterior under this is lost in the rounding of a sum to 1.
const NEGLIGIBLE: f64 = 1e-18;

/// log Z over all legal paths, and the expected counts under P(y | x) = exp(F(x, y) - log Z)
/// (Baum et al. 1970; Rabiner 1989, eq. 27 and 37).
///
/// The counts are the gradient of log Z by the emissions and by the weights.
///
/// # Errors
/// As [`forward`].
pub fn counts(plan: &Plan, emissions: &Emissions) -> Result<(f64, Counts)> {
    let sides = BothSides { plan, alpha: forward(plan, emissions)?, beta: backward(plan, emissions)? };
    let mut counts = Counts::zeros(plan, emissions.frames());
    let mut gamma = sides.posteriors(0, emissions);
    plan.graph().starts().iter().for_each(|start| counts.add(start.transition, gamma[start.state.index()]));
    for frame in 0..emissions.frames() {
        count_frame(&plan.pdfs, &gamma, counts.occupancy.row_mut(frame));
        if frame + 1 < emissions.frames() {
            let next = sides.posteriors(frame + 1, emissions);
            sides.count_arcs(frame, (&gamma, &next), &mut counts);
            gamma = next;
        }
    }
    plan.graph().finals().iter().for_each(|end| counts.add(end.transition, gamma[end.state.index()]));
    Ok((sides.alpha.total(), counts))
}

/// Forward and backward scores of one utterance.
struct BothSides<'a> {
    plan: &'a Plan,
    alpha: Trellis<LogSum>,
    beta: Trellis<LogSum>,
}

impl BothSides<'_> {
    /// gamma[s] = exp(alpha[t, s] + beta[t, s] - emission[t, s] - log Z): both sides hold the emission of t.
    fn posteriors(&self, frame: usize, emissions: &Emissions) -> Vec<f64> {
        let base = self.alpha.offset(frame) + self.beta.offset(frame) - self.alpha.total();
        let cells = self.alpha.frame(frame).iter().zip(self.beta.frame(frame)).zip(&self.plan.pdfs);
        let row = emissions.frame(frame);
        cells
            .map(|((&alpha, &beta), &pdf)| match row[pdf as usize] {
                f32::NEG_INFINITY => 0.0,
                emission => (base + alpha + beta - f64::from(emission)).exp(),
            })
            .collect()
    }

    /// xi[r -> s] = exp(alpha[t, r] + arc(r -> s) + beta[t+1, s] - log Z); never above gamma[t, r] or gamma[t+1, s].
    fn count_arcs(&self, frame: usize, (gamma, next): (&[f64], &[f64]), counts: &mut Counts) {
        let graph = self.plan.graph();
        let base = self.alpha.offset(frame) + self.beta.offset(frame + 1) - self.alpha.total();
        let (alpha, beta) = (self.alpha.frame(frame), self.beta.frame(frame + 1));
        for source in (0..graph.len()).filter(|&source| gamma[source] > NEGLIGIBLE) {
            for position in graph.arc_range(StateId::from_index(source)) {
                let arc = &graph.all_arcs()[position];
                let target = arc.to.index();
                if arc.transition.is_some() && next[target] > NEGLIGIBLE {
                    let xi = base + alpha[source] + f64::from(self.plan.arc_score(position)) + beta[target];
                    counts.transitions[arc.transition.index()] += xi.exp();
                }
            }
        }
    }
}

/// Sums state posteriors by pdf.
fn count_frame(pdfs: &[u32], gamma: &[f64], row: &mut [f32]) {
    let mut by_pdf = vec![0.0; row.len()];
    gamma.iter().zip(pdfs).for_each(|(gamma, &pdf)| by_pdf[pdf as usize] += gamma);
    row.iter_mut().zip(by_pdf).for_each(|(cell, sum)| *cell = sum as f32);
}

/// The counts of the one path `states`.
///
/// # Panics
/// When `states` is not a legal path of the plan's graph: it is the output of a search over it.
pub fn path_counts(plan: &Plan, states: &[StateId]) -> Counts {
    let graph = plan.graph();
    let mut counts = Counts::zeros(plan, states.len());
    let edge = |ends: &[Boundary], state: StateId| {
        let found = ends.binary_search_by_key(&state, |end| end.state).expect("a legal path begins and ends legally");
        ends[found].transition
    };
    if let (Some(&first), Some(&last)) = (states.first(), states.last()) {
        counts.add(edge(graph.starts(), first), 1.0);
        counts.add(edge(graph.finals(), last), 1.0);
    }
    for (frame, state) in states.iter().enumerate() {
        counts.occupancy.row_mut(frame)[graph.state(*state).pdf.index()] = 1.0;
    }
    for pair in states.windows(2) {
        let position = arc_position(plan, pair[0], pair[1]).expect("a legal path follows arcs");
        counts.add(graph.all_arcs()[position].transition, 1.0);
    }
    counts
}
