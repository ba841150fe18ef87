//! The best path, exactly, and what a given path scores.

use super::plan::Plan;
use super::rows::Step;
use super::semiring::{Max, Semiring};
use super::trellis::forward;
use crate::emission::Emissions;
use crate::matrix::Matrix;
use crate::symbols::{PdfId, StateId};
use crate::{Error, Result};

/// A legal state sequence and its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// F(x, y), natural log.
    pub score: f64,
    /// The state of each search frame.
    pub states: Vec<StateId>,
}

/// The path with the highest score; of equals, the one that is in the lower state where they last differ.
///
/// Holds `[T x S]` scores and no back-pointers: the predecessor is the one that gives the stored score again
/// (Viterbi 1967; Rabiner 1989, eq. 32-35).
///
/// # Errors
/// As [`forward`]; [`Error::NoPath`] for no frames at all.
pub fn viterbi(plan: &Plan, emissions: &Emissions) -> Result<Path> {
    let trellis = forward::<Max>(plan, emissions)?;
    let last = trellis.frames() - 1;
    let mut states = vec![winner(&plan.finals, trellis.frame(last)); trellis.frames()];
    // y_{t-1} = argmax_r (alpha[t-1, r] + arc(r -> y_t))
    for frame in (0..last).rev() {
        states[frame] = winner(plan.incoming.row(states[frame + 1].index()), trellis.frame(frame));
    }
    Ok(Path { score: path_score(plan, emissions, &states)?, states })
}

/// The best path that reads exactly `pdfs`, one per search frame: the reference of a learner.
///
/// Its score holds starts, arcs and ends only; the emissions are taken as 0. Where each pdf is read by one state there is one
/// such path at most, whatever the weights.
///
/// # Errors
/// [`Error::Impossible`] with the first frame to which no arc leads on, or in which the sequence may not end;
/// [`Error::NoPath`] when no path has this many frames; [`Error::Other`] when a pdf is not one of the graph's, and as
/// [`forward`].
pub fn labelled_path(plan: &Plan, pdfs: &[PdfId]) -> Result<Path> {
    let expected = plan.graph().pdfs();
    let mut only = Matrix::from_vec(pdfs.len(), expected, vec![f32::NEG_INFINITY; pdfs.len() * expected])?;
    for (frame, pdf) in pdfs.iter().enumerate() {
        let cell = only.row_mut(frame).get_mut(pdf.index());
        *cell.ok_or_else(|| {
            Error::Other(format!("frame {frame} is labelled with pdf {pdf}: the graph has only {expected} pdfs"))
        })? = 0.0;
    }
    viterbi(plan, &Emissions::new(only)?)
}

/// The state whose step is best, the lowest of equals.
fn winner(row: &[Step], scores: &[f32]) -> StateId {
    giver(row, scores, Max::join(row, scores))
}

/// The state whose step gives the score `best` that `row` was joined to, the lowest of equals.
pub(super) fn giver(row: &[Step], scores: &[f32], best: f32) -> StateId {
    let found = row.iter().find(|step| scores[step.state.index()] + step.score == best);
    found.expect("a live cell has a live predecessor").state
}

/// F(x, y) of the path `states`:
///
/// ```text
/// start(y_1) + sum_t emission[t, pdf(y_t)] + sum_t arc(y_{t-1} -> y_t) + final(y_T)
/// ```
///
/// # Errors
/// [`Error::PdfCount`]; [`Error::Shape`] when there is not one state per frame; [`Error::Other`] when a step is not legal.
pub fn path_score(plan: &Plan, emissions: &Emissions, states: &[StateId]) -> Result<f64> {
    plan.check(emissions)?;
    if states.len() != emissions.frames() {
        return Err(Error::Shape { what: "states of a path", expected: emissions.frames(), found: states.len() });
    }
    let (Some(&first), Some(&last)) = (states.first(), states.last()) else {
        return Err(plan.no_path(0, 0));
    };
    let mut score = edge(&plan.starts, first, "begin")? + edge(&plan.finals, last, "end")?;
    for (frame, state) in states.iter().enumerate() {
        score += f64::from(emissions.frame(frame)[plan.pdfs[state.index()] as usize]);
    }
    for pair in states.windows(2) {
        let position = arc_position(plan, pair[0], pair[1])
            .ok_or_else(|| Error::Other(format!("no arc leads from state {} to state {}", pair[0], pair[1])))?;
        score += f64::from(plan.arc_score(position));
    }
    Ok(score)
}

/// The position of the arc `from -> to` in [`Graph::all_arcs`](crate::graph::Graph::all_arcs).
pub(super) fn arc_position(plan: &Plan, from: StateId, to: StateId) -> Option<usize> {
    let (row, first) = (plan.outgoing.row(from.index()), plan.graph().arc_range(from).start);
    // In a full row every state stands at its own number.
    let found = match row.get(to.index()) {
        Some(step) if step.state == to => Ok(to.index()),
        _ => row.binary_search_by_key(&to, |step| step.state),
    };
    found.ok().map(|found| first + found)
}

fn edge(edge: &[Step], state: StateId, verb: &str) -> Result<f64> {
    edge.binary_search_by_key(&state, |step| step.state)
        .map(|found| f64::from(edge[found].score))
        .map_err(|_| Error::Other(format!("no path may {verb} in state {state}")))
}
