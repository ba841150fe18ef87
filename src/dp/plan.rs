//! What is prepared once per graph and weights: every score that does not depend on the audio, in the order of the loops.

use std::sync::Arc;

use super::rows::{Rows, Step};
use crate::emission::Emissions;
use crate::graph::{Boundary, Graph, Weights};
use crate::symbols::{StateId, TransitionId};
use crate::{Error, Result};

/// No step may score more: what a path adds up to stays below the largest `f32`.
const LARGEST_SCORE: f32 = 1e30;

/// Options of a [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlanOptions {
    /// Added to every start, and to every arc that enters a segment; natural log, negative for fewer segments.
    pub insertion_penalty: f32,
}

/// A graph and its weights, laid out for the recursion: contiguous rows of scored arcs by target and by source.
///
/// Build it once per graph, share it between utterances and threads, and [reweigh](Plan::reweigh) it when the weights change.
#[derive(Debug, Clone)]
pub struct Plan {
    graph: Arc<Graph>,
    options: PlanOptions,
    /// The pdf of each state.
    pub(super) pdfs: Vec<u32>,
    /// Whether state s reads pdf s.
    pub(super) own_pdfs: bool,
    pub(super) incoming: Rows,
    pub(super) outgoing: Rows,
    pub(super) starts: Vec<Step>,
    pub(super) finals: Vec<Step>,
}

impl Plan {
    /// Lays `graph` out with `weights`.
    ///
    /// A weight of minus infinity makes its arcs impossible.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is not one weight for each of the graph's transitions; [`Error::Other`] when a step
    /// would score NaN or more than 1e30.
    pub fn new(graph: &Arc<Graph>, weights: &Weights, options: &PlanOptions) -> Result<Self> {
        let unscored = |state: StateId| Step { state, score: 0.0 };
        let edge = |ends: &[Boundary]| ends.iter().map(|end| unscored(end.state)).collect();
        let by_source = |s| graph.arcs(s).iter().map(|arc| unscored(arc.to));
        let by_target = |s| graph.incoming(s).iter().map(|&at| unscored(graph.source(at as usize)));
        let states = || (0..graph.len()).map(StateId::from_index);
        let pdfs: Vec<u32> = graph.states().iter().map(|state| state.pdf.0).collect();
        let mut plan = Self {
            own_pdfs: pdfs.iter().enumerate().all(|(state, &pdf)| state == pdf as usize),
            pdfs,
            incoming: Rows::new(states().map(by_target), graph.arc_count()),
            outgoing: Rows::new(states().map(by_source), graph.arc_count()),
            starts: edge(graph.starts()),
            finals: edge(graph.finals()),
            options: *options,
            graph: graph.clone(),
        };
        plan.reweigh(weights).map(|()| plan)
    }

    /// Takes other weights for the same graph: what online learners do after every sequence. Nothing is allocated but once.
    ///
    /// # Errors
    /// As [`Plan::new`]; the plan then keeps the weights that it had.
    pub fn reweigh(&mut self, weights: &Weights) -> Result<()> {
        let graph = self.graph.clone();
        let (expected, found) = (graph.transitions(), weights.0.len());
        if found != expected {
            return Err(Error::Shape { what: "transition weights of the graph", expected, found });
        }
        let scores = Scores { graph: &graph, weights, penalty: self.options.insertion_penalty };
        scores.check()?;
        self.starts.iter_mut().zip(scores.starts()).for_each(|(step, score)| step.score = score);
        self.finals.iter_mut().zip(scores.finals()).for_each(|(step, score)| step.score = score);
        self.outgoing.rescore(|state, row| {
            row.iter_mut().zip(scores.arcs(state)).for_each(|(step, score)| step.score = score);
        });
        self.incoming.rescore(|state, row| {
            let scored = graph.incoming(state).iter().map(|&at| self.outgoing.steps[at as usize].score);
            row.iter_mut().zip(scored).for_each(|(step, score)| step.score = score);
        });
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn lay_out(&mut self, layout: super::rows::Layout) {
        self.incoming.lay_out(layout);
        self.outgoing.lay_out(layout);
    }

    /// The graph that was laid out.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The score of each arc, by its position in [`Graph::all_arcs`].
    pub(super) fn arc_score(&self, position: usize) -> f32 {
        self.outgoing.steps[position].score
    }

    /// Whether `emissions` are for this plan's graph.
    pub(super) fn check(&self, emissions: &Emissions) -> Result<()> {
        if emissions.pdfs() != self.graph.pdfs() {
            return Err(Error::PdfCount { network: emissions.pdfs(), graph: self.graph.pdfs() });
        }
        Ok(())
    }

    /// Why no path of `frames` frames was found, when the last one died in `frame`.
    pub(super) fn no_path(&self, frames: usize, frame: usize) -> Error {
        match self.graph.shortest_path_frames() {
            None => Error::Other("the graph admits no sequence: no start leads to an end".into()),
            Some(need_at_least) if !self.admits(frames) => Error::NoPath { frames, need_at_least },
            Some(_) => Error::Impossible { frame },
        }
    }

    /// Whether a path has exactly `frames` frames, whatever it scores.
    pub(super) fn admits(&self, frames: usize) -> bool {
        let reached = reachable(&self.graph, frames);
        self.finals.iter().any(|end| reached[end.state.index()])
    }

    /// Whether a path, finished or not, has `frames` frames, whatever it scores.
    pub(super) fn reaches(&self, frames: usize) -> bool {
        reachable(&self.graph, frames).contains(&true)
    }
}

/// What the steps of a graph score under weights.
struct Scores<'a> {
    graph: &'a Graph,
    weights: &'a Weights,
    penalty: f32,
}

impl Scores<'_> {
    fn score(&self, transition: TransitionId, fixed: f32, penalty: f32) -> f32 {
        self.weights.get(transition) + fixed + penalty
    }

    fn starts(&self) -> impl Iterator<Item = f32> {
        self.graph.starts().iter().map(|start| self.score(start.transition, start.fixed, self.penalty))
    }

    fn finals(&self) -> impl Iterator<Item = f32> {
        self.graph.finals().iter().map(|end| self.score(end.transition, end.fixed, 0.0))
    }

    /// The arcs that leave `source`, in order.
    fn arcs(&self, source: StateId) -> impl Iterator<Item = f32> {
        self.graph.arcs(source).iter().map(move |arc| {
            let enters = self.penalty != 0.0 && self.graph.enters(source, arc.to);
            self.score(arc.transition, arc.fixed, if enters { self.penalty } else { 0.0 })
        })
    }

    fn check(&self) -> Result<()> {
        let wrong = |score: &f32| score.is_nan() || *score > LARGEST_SCORE;
        let mut sources = (0..self.graph.len()).map(StateId::from_index);
        let in_arcs = || sources.find_map(|source| self.arcs(source).find(wrong));
        let Some(score) = self.starts().chain(self.finals()).find(wrong).or_else(in_arcs) else { return Ok(()) };
        Err(Error::Other(format!(
            "a step of the graph scores {score}: expected a natural logarithm of 1e30 at most, check the weights and the \
             insertion penalty"
        )))
    }
}

/// The states that a path can be in at the last of `frames` frames, whatever it scores.
fn reachable(graph: &Graph, frames: usize) -> Vec<bool> {
    let mut reached = vec![false; graph.len()];
    if frames > 0 {
        graph.starts().iter().for_each(|start| reached[start.state.index()] = true);
    }
    for _ in 1..frames {
        let mut next = vec![false; graph.len()];
        for (position, arc) in graph.all_arcs().iter().enumerate() {
            next[arc.to.index()] |= reached[graph.source(position).index()];
        }
        if next == reached {
            break;
        }
        reached = next;
    }
    reached
}
