//! How often each emission cell and each transition is used: the one statistic that every learner consumes.

use super::arc_counts::{ArcCounts, Crossing};
use super::dense;
use super::plan::Plan;
use super::semiring::LogSum;
use super::trellis::{Trellis, backward, forward, largest};
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

    /// Adds the posteriors of a first or last frame to the transitions of starts or ends.
    fn add_edge(&mut self, ends: &[Boundary], gamma: &[f64]) {
        ends.iter().for_each(|end| self.add(end.transition, gamma[end.state.index()]));
    }

    fn add(&mut self, transition: TransitionId, count: f64) {
        if transition.is_some() {
            self.transitions[transition.index()] += count;
        }
    }
}

/// log Z over all legal paths, and the expected counts under P(y | x) = exp(F(x, y) - log Z)
/// (Baum et al. 1970; Rabiner 1989, eq. 27 and 37).
///
/// The counts are the gradient of log Z by the emissions and by the weights.
///
/// # Errors
/// As [`forward`].
pub fn counts(plan: &Plan, emissions: &Emissions) -> Result<(f64, Counts)> {
    let mut counts = Counts::zeros(plan, emissions.frames());
    let log_z = expect(plan, emissions, &mut counts)?;
    Ok((log_z, counts))
}

/// Fills `counts`, which are zeros, with what is expected; returns log Z.
fn expect(plan: &Plan, emissions: &Emissions, counts: &mut Counts) -> Result<f64> {
    let sides = BothSides { plan, alpha: forward(plan, emissions)?, beta: backward(plan, emissions)? };
    let (mut arcs, last) = (ArcCounts::new(plan), emissions.frames() - 1);
    let mut gamma = vec![0.0; plan.graph().len()];
    let mut by_pdf = vec![0.0; emissions.pdfs()];
    for frame in 0..=last {
        let log_norm = sides.posteriors(frame, emissions, &mut gamma);
        count_frame(&plan.pdfs, &gamma, &mut by_pdf);
        counts.occupancy.row_mut(frame).iter_mut().zip(&by_pdf).for_each(|(cell, sum)| *cell = *sum as f32);
        if frame == 0 {
            counts.add_edge(plan.graph().starts(), &gamma);
        }
        if frame == last {
            counts.add_edge(plan.graph().finals(), &gamma);
        } else {
            arcs.add(&sides.crossing(frame, log_norm), &gamma, &mut counts.transitions);
        }
    }
    arcs.finish(&mut counts.transitions);
    Ok(sides.alpha.total())
}

/// Forward and backward scores of one utterance.
struct BothSides<'a> {
    plan: &'a Plan,
    alpha: Trellis<LogSum>,
    beta: Trellis<LogSum>,
}

impl BothSides<'_> {
    /// P(y_t = s | x) of each state; both sides hold the emission of t. Returns log N.
    ///
    /// ```text
    /// gamma[s] = exp(alpha[t, s] + beta[t, s] - emission[t, s]) / N, so that they sum to 1
    /// ```
    fn posteriors(&self, frame: usize, emissions: &Emissions, gamma: &mut [f64]) -> f64 {
        let cells = self.alpha.frame(frame).iter().zip(self.beta.frame(frame)).zip(&self.plan.pdfs);
        let row = emissions.frame(frame);
        for (gamma, ((alpha, beta), &pdf)) in gamma.iter_mut().zip(cells) {
            let emission = f64::from(row[pdf as usize]);
            *gamma = if emission == f64::NEG_INFINITY { emission } else { alpha + beta - emission };
        }
        let best = largest(gamma, f64::NEG_INFINITY);
        gamma.iter_mut().for_each(|gamma| *gamma -= best);
        dense::exp(gamma);
        let sum: f64 = gamma.iter().sum();
        gamma.iter_mut().for_each(|gamma| *gamma /= sum);
        best + sum.ln()
    }

    /// What joins `frame` to the next, with log N of [`BothSides::posteriors`].
    ///
    /// As N = sum_s exp(alpha[t, s] + beta[t, s] - emission[t, s]), and beta[t, s] - emission[t, s] is the join over
    /// beta[t+1, r] + arc(s -> r) but for what the two frames of beta are relative to, no log Z is needed: nothing large is
    /// subtracted from anything large, however long the utterance is.
    fn crossing(&self, frame: usize, log_norm: f64) -> Crossing<'_> {
        let base = self.beta.offset(frame + 1) - self.beta.offset(frame) - log_norm;
        Crossing { alpha: self.alpha.frame(frame), beta: self.beta.frame(frame + 1), base }
    }
}

/// Sums state posteriors by pdf.
fn count_frame(pdfs: &[u32], gamma: &[f64], by_pdf: &mut [f64]) {
    by_pdf.fill(0.0);
    gamma.iter().zip(pdfs).for_each(|(gamma, &pdf)| by_pdf[pdf as usize] += gamma);
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
