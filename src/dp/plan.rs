//! What is prepared once per graph and weights: every score that does not depend on the audio, in the order of the loops.

use std::sync::Arc;

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

/// One term of a sum: the state at the other side of an arc, or at the edge of the utterance, and what that step scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The other state.
    pub state: StateId,
    /// Weight, fixed part and insertion penalty, natural log.
    pub score: f32,
}

/// Arcs in rows by the state on one side.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    first: Vec<u32>,
    pub(super) steps: Vec<Step>,
}

impl Rows {
    fn new(rows: impl ExactSizeIterator<Item = impl Iterator<Item = Step>>, arcs: usize) -> Self {
        let mut first = Vec::with_capacity(rows.len() + 1);
        let mut steps = Vec::with_capacity(arcs);
        first.push(0);
        for row in rows {
            steps.extend(row);
            first.push(steps.len() as u32);
        }
        Self { first, steps }
    }

    /// The arcs on this side of `state`, by ascending other state.
    pub(super) fn row(&self, state: usize) -> &[Step] {
        &self.steps[self.first[state] as usize..self.first[state + 1] as usize]
    }
}

/// A graph and its weights, laid out for the recursion: contiguous rows of scored arcs by target and by source.
///
/// Immutable; build it once per graph and weights and share it between utterances and threads.
#[derive(Debug, Clone)]
pub struct Plan {
    graph: Arc<Graph>,
    pub(super) pdfs: Vec<u32>,
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
        let (expected, found) = (graph.transitions(), weights.0.len());
        if found != expected {
            return Err(Error::Shape { what: "transition weights of the graph", expected, found });
        }
        let penalty = options.insertion_penalty;
        let score = |transition: TransitionId, fixed: f32, enters: bool| {
            weights.get(transition) + fixed + if enters { penalty } else { 0.0 }
        };
        let edge = |ends: &[Boundary], enters: bool| -> Vec<Step> {
            ends.iter().map(|e| Step { state: e.state, score: score(e.transition, e.fixed, enters) }).collect()
        };
        let arcs = graph.all_arcs();
        let scores: Vec<f32> = arcs
            .iter()
            .enumerate()
            .map(|(position, arc)| score(arc.transition, arc.fixed, graph.enters(graph.source(position), arc.to)))
            .collect();
        let by_source = |s| graph.arc_range(s).map(|at| Step { state: arcs[at].to, score: scores[at] });
        let by_target = |s| {
            let positions = graph.incoming(s).iter().map(|&at| at as usize);
            positions.map(|at| Step { state: graph.source(at), score: scores[at] })
        };
        let states = || (0..graph.len()).map(StateId::from_index);
        let plan = Self {
            pdfs: graph.states().iter().map(|state| state.pdf.0).collect(),
            incoming: Rows::new(states().map(by_target), arcs.len()),
            outgoing: Rows::new(states().map(by_source), arcs.len()),
            starts: edge(graph.starts(), true),
            finals: edge(graph.finals(), false),
            graph: graph.clone(),
        };
        plan.check_scores().map(|()| plan)
    }

    fn check_scores(&self) -> Result<()> {
        let mut steps = self.outgoing.steps.iter().chain(&self.starts).chain(&self.finals);
        match steps.find(|step| step.score.is_nan() || step.score > LARGEST_SCORE) {
            None => Ok(()),
            Some(Step { state, score }) => Err(Error::Other(format!(
                "a step of the graph at state {state} scores {score}: expected a natural logarithm of 1e30 at most, check the \
                 weights and the insertion penalty"
            ))),
        }
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
