//! Forced alignment: plain Viterbi on the graph of a transcript, and how far the result is to be believed.
//!
//! A recording and what is said in it come in; phones and words with times go out, with a [`Verdict`]. The search chooses
//! pronunciations and the pauses between words. [`fit`] then holds each phone against the free phone loop, and [`verdict`] says
//! from these numbers alone whether transcript and recording agree. At last boundaries are moved from the grid of search frames to one of
//! 5 ms.
//!
//! ```
//! # #[cfg(feature = "neural")]
//! # fn main() -> senone::Result<()> {
//! use std::sync::Arc;
//! use senone::align::{AlignOptions, Aligner, Transcript};
//! use senone::bundle::Bundle;
//! use senone::graph::lexicon::Lexicon;
//!
//! let aligner = Aligner::new(Arc::new(Bundle::builtin()?), AlignOptions::default())?;
//! let lexicon = Lexicon::parse("my.dict".as_ref(), "hello HH AH0 L OW1\n")?;
//! let transcript = Transcript::of_text("Hello, hello!", Some(&lexicon))?;
//! # let samples: Vec<f32> = (0..32000).map(|index| 0.01 * (0.3 * index as f32).sin()).collect();
//! let aligned = aligner.align(&samples, &transcript)?; // -1 to 1, at the model's rate
//! for word in &aligned.words.expect("a transcript of words").segments {
//!     println!("{} {} {}", word.start, word.end, word.label);
//! }
//! println!("{}", aligned.verdict);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "neural"))]
//! # fn main() {}
//! ```

#[cfg(feature = "neural")]
mod aligner;
#[cfg(feature = "neural")]
mod filler;
pub mod fit;
#[cfg(feature = "neural")]
mod mend;
#[cfg(feature = "neural")]
mod refine;
#[cfg(feature = "neural")]
mod say;
pub mod summary;
mod transcriber;
mod transcript;
pub mod verdict;

use std::sync::Arc;

#[cfg(feature = "neural")]
pub use aligner::{AlignOptions, Aligned, Aligner, Unknown};
pub use transcriber::{Transcriber, Words, are_known, is_one_known, slots};
pub use transcript::{Item, Reading, Transcript, Unit};
pub use verdict::Verdict;

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
