//! A beam search that is made wider when it loses every path, up to the exact one.
//!
//! [`Emissions`] come in, whole or in blocks that can be played again; segments go out, and what was tried.

use std::fmt;
use std::sync::Arc;

use super::beam::{BeamOptions, Search};
use super::plan::Plan;
use super::segments::SegmentSpan;
use crate::emission::Emissions;
use crate::{Error, Result};

/// A search that began again because its beam lost every path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamRetry {
    /// The search frame at which the last path was lost.
    pub frame: usize,
    /// The beam that lost it.
    pub beam: f32,
    /// What was tried next; without a beam it is exact search.
    pub next: BeamOptions,
}

impl fmt::Display for BeamRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, beam, next } = self;
        write!(f, "the beam of {beam} lost every path at search frame {frame}: searched again ")?;
        if next.beam.is_finite() { write!(f, "with a beam of {}", next.beam) } else { write!(f, "without a beam") }
    }
}

/// The emissions of one utterance, block by block, as often as they are asked for: they need not all be in memory.
pub trait Blocks {
    /// Hands `take` every block, in the order of time; each time the same ones.
    ///
    /// # Errors
    /// What `take` refuses, and what keeps a block from being made.
    fn play(&mut self, take: &mut dyn FnMut(&Emissions) -> Result<()>) -> Result<()>;
}

impl Blocks for &Emissions {
    fn play(&mut self, take: &mut dyn FnMut(&Emissions) -> Result<()>) -> Result<()> {
        take(self)
    }
}

/// How often the beam is doubled before it is given up for exact search.
const DOUBLINGS: usize = 4;

/// Runs [`Search`] over a whole utterance; when the beam loses every path, again with twice the beam and twice the states,
/// and at last exactly. Each retry is reported beside the segments.
///
/// # Errors
/// [`Error::PdfCount`]; [`Error::NoPath`] and [`Error::Impossible`] as [`viterbi`](super::viterbi()).
pub fn search_widening(
    plan: &Arc<Plan>,
    mut emissions: &Emissions,
    options: BeamOptions,
) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
    search_blocks(plan, &mut emissions, options)
}

/// [`search_widening`] of emissions in blocks.
///
/// # Errors
/// As [`search_widening`], and those of `blocks`.
pub fn search_blocks(
    plan: &Arc<Plan>,
    blocks: &mut dyn Blocks,
    options: BeamOptions,
) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
    let (mut options, mut retries) = (options, Vec::new());
    loop {
        let mut search = Search::new(plan.clone(), options);
        let (mut frames, mut followed) = (0, Ok(()));
        blocks.play(&mut |block| {
            frames += block.frames();
            if followed.is_ok() {
                followed = search.push(block);
            }
            Ok(())
        })?;
        match followed.and_then(|()| search.finish()) {
            Ok(spans) => return Ok((spans, retries)),
            Err(Error::BeamTooNarrow { frame, beam }) if plan.admits(frames) => {
                options = wider(options, retries.len());
                retries.push(BeamRetry { frame, beam, next: options });
            }
            Err(Error::BeamTooNarrow { frame, .. } | Error::Impossible { frame }) => {
                return Err(plan.no_path(frames, frame));
            }
            Err(Error::NoPath { frames: found, .. }) => return Err(plan.no_path(frames, found)),
            Err(other) => return Err(other),
        }
    }
}

/// The widest of `options` and what was tried in `retries`: where that began, no path was lost.
pub fn widened(options: BeamOptions, retries: &[BeamRetry]) -> BeamOptions {
    let width = |options: &BeamOptions| (options.beam, options.max_active);
    let wider = |widest, next| if width(&next) > width(&widest) { next } else { widest };
    retries.iter().map(|retry| retry.next).fold(options, wider)
}

/// What `attempt` gives with the first beam from `options` on that loses not every path.
///
/// # Errors
/// All others of `attempt`.
pub fn with_wider<T>(mut options: BeamOptions, mut attempt: impl FnMut(BeamOptions) -> Result<T>) -> Result<T> {
    for retries in 0.. {
        match attempt(options) {
            Err(Error::BeamTooNarrow { .. }) if options != BeamOptions::EXACT => options = wider(options, retries),
            result => return result,
        }
    }
    unreachable!("the last beam is an exact search")
}

/// What is tried after `options`, the last of so many `retries`.
pub(super) fn wider(options: BeamOptions, retries: usize) -> BeamOptions {
    if retries >= DOUBLINGS {
        return BeamOptions::EXACT;
    }
    BeamOptions { beam: 2.0 * options.beam, max_active: options.max_active.saturating_mul(2) }
}

#[cfg(test)]
mod tests {
    use super::super::PlanOptions;
    use super::*;
    use crate::matrix::Matrix;
    use crate::symbols::StateId;

    #[test]
    fn a_narrow_beam_is_widened_and_every_retry_told() {
        use crate::graph::{Arc as Step, Boundary, GraphBuilder, State};
        use crate::symbols::{PdfId, SymbolId, TransitionId};
        // State 0 looks best until the end, where only state 1 may end.
        let mut builder = GraphBuilder::new(Arc::new(["a", "b"].into_iter().collect()), 2, 0);
        for id in 0..2 {
            let (pdf, symbol) = (PdfId(id), SymbolId(id));
            let state = builder.state(State { pdf, symbol, entry: true, restarts: false, word: None });
            builder.arc(state, Step { to: state, transition: TransitionId::NONE, fixed: 0.0 });
            builder.start(Boundary { state, transition: TransitionId::NONE, fixed: 0.0 });
        }
        builder.end(Boundary { state: StateId(1), transition: TransitionId::NONE, fixed: 0.0 });
        let graph = Arc::new(builder.build().unwrap());
        let plan = Arc::new(Plan::new(&graph, &Default::default(), &PlanOptions::default()).unwrap());
        let emissions = Emissions::new(Matrix::from_vec(3, 2, vec![0.0, -1.0, 0.0, -1.0, 0.0, -1.0]).unwrap()).unwrap();

        let narrow = BeamOptions { beam: 1.0, max_active: 10 };
        let mut search = Search::new(plan.clone(), narrow);
        search.push(&emissions).unwrap();
        let error = search.finish().unwrap_err();
        assert!(matches!(error, Error::BeamTooNarrow { frame: 2, beam: 1.0 }), "{error}");
        let (spans, retries) = search_widening(&plan, &emissions, narrow).unwrap();
        assert_eq!(spans, [SegmentSpan { symbol: SymbolId(1), word: None, start: 0, end: 3 }]);
        let told: Vec<String> = retries.iter().map(ToString::to_string).collect();
        let lost = |beam: &str| format!("the beam of {beam} lost every path at search frame 2: searched again with");
        assert_eq!(told, [format!("{} a beam of 2", lost("1")), format!("{} a beam of 4", lost("2"))]);
        let blind = BeamOptions { beam: 0.0, max_active: 1 };
        let (again, retries) = search_widening(&plan, &emissions, blind).unwrap();
        assert_eq!((again, retries.len()), (spans, 5));
        assert_eq!(retries[4].next, BeamOptions::EXACT);
        assert_eq!(widened(BeamOptions::default(), &retries[..2]).beam, retries[1].next.beam.max(14.0));
    }
}
