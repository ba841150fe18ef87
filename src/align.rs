//! Forced alignment: plain Viterbi on the graph of a transcript.

use std::sync::Arc;

use crate::Result;
use crate::dp::{Plan, PlanOptions, SegmentSpan, segments, viterbi};
use crate::emission::Emissions;
use crate::graph::{GraphSpec, Slot, Weights};

/// The best alignment of `slots` with `emissions`, in search frames.
///
/// # Errors
/// [`crate::Error::NoPath`] when the recording is too short for its transcript; [`crate::Error::Transcript`] when the graph
/// does not admit it.
pub fn align(model: (&GraphSpec, &Weights), slots: &[Slot], emissions: &Emissions) -> Result<Vec<SegmentSpan>> {
    let (spec, weights) = model;
    let graph = Arc::new(spec.transcript_of(slots)?);
    let plan = Plan::new(&graph, weights, &PlanOptions { insertion_penalty: 0.0 })?;
    Ok(segments(&graph, &viterbi(&plan, emissions)?.states))
}
