//! Expected use of the arcs, summed over the frames of one utterance.
//!
//! The scores on both sides of a step come in, frame by frame; uses of the transitions go out:
//!
//! ```text
//! xi[t, r -> s] = exp(alpha[t, r] + arc(r -> s) + beta[t+1, s] + base)
//! ```

use super::dense::{self, Panels, padded};
use super::plan::Plan;
use super::trellis::largest;
use crate::symbols::StateId;

/// A state posterior under this is lost in the rounding of a sum to 1.
const NEGLIGIBLE: f64 = 1e-18;

/// A factor above exp(600) is not made: a sum of such factors, and their product with others, must stay below exp(709).
const LARGEST_FACTOR: f64 = 600.0;

/// Steps of a dense graph that are added to the sum at once.
const BLOCK: usize = 16;

/// The scores on both sides of the step from a frame to the next; [`ArcCounts`] says what they mean.
pub(super) struct Crossing<'a> {
    /// The cells of the frame, 0 or less.
    pub(super) alpha: &'a [f64],
    /// The cells of the next frame, 0 or less.
    pub(super) beta: &'a [f64],
    /// What makes the xi of this step sum to 1.
    pub(super) base: f64,
}

/// The sum of xi over frames, by [`TransitionId`](crate::symbols::TransitionId).
///
/// With m_r = max_s arc(r -> s), xi is a product of three numbers, of which only the first depends on the base:
///
/// ```text
/// xi[t, r -> s] = exp(alpha[t, r] + m_r + base) * exp(arc(r -> s) - m_r) * exp(beta[t+1, s])
/// ```
///
/// so that no arc needs an exponential of its own, and over many frames the arcs of a full graph are a product of matrices.
/// What underflows is under 1e-40 and lost in any sum of probabilities; where the first number would be too large, the
/// formula is followed arc by arc.
pub(super) struct ArcCounts<'a> {
    plan: &'a Plan,
    left: Vec<f64>,
    right: Vec<f64>,
    /// Of a dense graph: the sum over frames of the first number times the third, by target and source.
    sums: Option<Panels<f64>>,
}

impl<'a> ArcCounts<'a> {
    /// Nothing counted.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let sums = plan.outgoing.exponentials().matrix.as_ref().map(|_| Panels::new(plan.graph().len(), 0.0));
        Self { plan, left: Vec::new(), right: Vec::new(), sums }
    }

    /// Counts one step; `gamma` are the posteriors of the states that it starts from.
    pub(super) fn add(&mut self, crossing: &Crossing, gamma: &[f64], transitions: &mut [f64]) {
        let (stride, first) = (padded(gamma.len()), self.left.len());
        let largest_scores = &self.plan.outgoing.exponentials().largest;
        self.left
            .extend(crossing.alpha.iter().zip(largest_scores).map(|(alpha, largest)| alpha + largest + crossing.base));
        if largest(&self.left[first..], f64::NEG_INFINITY) > LARGEST_FACTOR {
            self.left.truncate(first);
            return self.add_by_logarithms(crossing, gamma, transitions);
        }
        self.right.extend_from_slice(crossing.beta);
        self.left.resize(first + stride, f64::NEG_INFINITY);
        self.right.resize(first + stride, f64::NEG_INFINITY);
        dense::exp(&mut self.left[first..]);
        dense::exp(&mut self.right[first..]);
        match self.sums {
            Some(_) if self.left.len() < BLOCK * stride => return,
            Some(_) => self.add_products(),
            None => self.add_arcs(gamma, transitions),
        }
        self.left.clear();
        self.right.clear();
    }

    fn add_products(&mut self) {
        if let Some(sums) = &mut self.sums {
            dense::add_products(sums, &self.right, &self.left);
        }
    }

    /// One step of a sparse graph.
    fn add_arcs(&self, gamma: &[f64], transitions: &mut [f64]) {
        let (graph, weights) = (self.plan.graph(), &self.plan.outgoing.exponentials().weights);
        for source in (0..graph.len()).filter(|&source| gamma[source] > NEGLIGIBLE) {
            let range = graph.arc_range(StateId::from_index(source));
            for (arc, weight) in graph.all_arcs()[range.clone()].iter().zip(&weights[range]) {
                if arc.transition.is_some() {
                    transitions[arc.transition.index()] += self.left[source] * weight * self.right[arc.to.index()];
                }
            }
        }
    }

    fn add_by_logarithms(&self, crossing: &Crossing, gamma: &[f64], transitions: &mut [f64]) {
        let graph = self.plan.graph();
        for source in (0..graph.len()).filter(|&source| gamma[source] > NEGLIGIBLE) {
            let steps = self.plan.outgoing.row(source);
            for (arc, step) in graph.arcs(StateId::from_index(source)).iter().zip(steps) {
                if arc.transition.is_some() {
                    let beta = crossing.beta[arc.to.index()];
                    let xi = crossing.base + crossing.alpha[source] + f64::from(step.score) + beta;
                    transitions[arc.transition.index()] += xi.exp();
                }
            }
        }
    }

    /// Adds what is still held back.
    pub(super) fn finish(mut self, transitions: &mut [f64]) {
        self.add_products();
        let Some(sums) = &self.sums else { return };
        let (graph, weights) = (self.plan.graph(), &self.plan.outgoing.exponentials().weights);
        for source in 0..graph.len() {
            let range = graph.arc_range(StateId::from_index(source));
            for (arc, weight) in graph.all_arcs()[range.clone()].iter().zip(&weights[range]) {
                if arc.transition.is_some() {
                    transitions[arc.transition.index()] += sums.at(arc.to.index(), source) * weight;
                }
            }
        }
    }
}
