//! The one dynamic programme over frames and states.
//!
//! A [`Graph`](crate::graph::Graph) with its weights, laid out for speed as a [`Plan`], and
//! [`Emissions`](crate::emission::Emissions) `[T x P]` come in; the best path, the total over all paths, expected
//! [`Counts`] or timed segments go out. A path y of the graph scores
//!
//! ```text
//! F(x, y) = start(y_1) + sum_t emission[t, pdf(y_t)] + sum_t arc(y_{t-1} -> y_t) + final(y_T)
//! ```
//!
//! [`forward`] and [`backward`] are one recursion whose single operation is a [`Semiring`]: [`Max`] or [`LogSum`].
//! [`viterbi`] traces [`Max`] back, [`labelled_path`] does so where the labels are known, and after [`add_cost`] it finds the
//! worst violation of a margin; [`counts`] multiplies forward by backward; [`Search`] goes forward with [`Max`] on a beam,
//! block by block, and [`StreamSearch`] tells on the way what all its paths agree on. Where a graph is dense, its arcs are gone through as
//! a matrix. The states that a beam search follows are a trellis of their own, from which come [`FramePosteriors`], a [`Lattice`] of
//! segments and the N best sequences.

mod arc_counts;
mod beam;
mod cost;
mod counts;
mod dense;
mod lattice;
mod live;
mod nbest;
mod plan;
mod posterior;
mod rows;
mod segments;
mod semiring;
mod stream;
mod trellis;
mod viterbi;
mod widen;

pub use beam::{BeamOptions, Search};
pub use cost::add_cost;
pub use counts::{Counts, counts, path_counts};
pub use lattice::{Lattice, LatticeArc, Recording};
pub use nbest::{Hypothesis, nbest};
pub use plan::{Plan, PlanOptions};
pub use posterior::{ForwardBackward, FramePosteriors, PosteriorOptions, symbol_posterior, word_posterior};
pub use rows::{Rows, Step};
pub use segments::{SegmentSpan, best_symbols, segments};
pub use semiring::{Frames, LogSum, Max, Semiring};
pub use stream::{Patience, StreamOptions, StreamSearch, search_streaming};
pub use trellis::{Trellis, backward, forward};
pub use viterbi::{Path, labelled_path, path_score, viterbi};
pub use widen::{BeamRetry, Blocks, search_blocks, search_widening, widened, with_wider};

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod reference;
