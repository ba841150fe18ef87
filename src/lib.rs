//! senone decodes speech: phones with times, from audio, by a network's posteriors and a graph of what is legal. The learners behind
//! it tag text too.
//!
//! # The theory
//!
//! A sequence model scores a labelling y of an input x as a sum over frames of an emission and a transition:
//!
//! ```text
//! F(x, y) = w_start(y_1) + sum_t emission[t, pdf(y_t)] + sum_t w(y_{t-1} -> y_t) + w_final(y_T)
//! ```
//!
//! Three questions, three answers, each written once:
//!
//! | question | answer | code |
//! |---|---|---|
//! | evaluation: how good is y? | add up F along the path | [`dp::path_score`] |
//! | inference: which y is best? | the recursion with max | [`dp::viterbi`] |
//! | training: how should scores change? | counts on wrong paths minus counts on right paths | [`learn::criterion`] |
//!
//! One [`graph::Graph`] says which y exist: an arc that is absent is a step that cannot happen. One recursion, with max or
//! log-sum-exp as its only difference, gives Viterbi, forward and backward. Every learner consumes one statistic,
//! [`dp::Counts`], how often each emission cell and each transition is used:
//!
//! | learner | right answers | wrong answers | what is done with the counts | code |
//! |---|---|---|---|---|
//! | HMM by counts | the labelled path | none | normalise rows | [`learn::counting`] |
//! | EM, Gaussian mixtures | expected counts, transcript graph | none | normalise; weighted means and variances | [`learn::gmm`] |
//! | Viterbi training | best path, transcript graph | none | the same | [`learn::gmm`] |
//! | CRF | labelled path, or transcript graph: MMI | expected counts, full graph | gradient step | [`learn::gradient`] |
//! | structured perceptron | labelled path | best path, full graph | add the difference; average | [`learn::online`] |
//! | structured SVM | labelled path | best path with cost added to wrong cells | sub-gradient, cutting plane or Frank-Wolfe step | [`learn::online`], [`learn::margin`] |
//! | network under a CRF or SVM | as these | as these | the difference is the gradient by the network's output | `learn::neural` |
//! | network by cross-entropy | forced alignment | softmax | the same, one frame at a time | `learn::neural` |
//!
//! The hybrid: a network gives P(y|x) for each frame, P(x|y) is proportional to P(y|x) / P(y), so
//!
//! ```text
//! emission = acoustic_scale * (log P(y|x) - prior_scale * log P(y))
//! ```
//!
//! Forced alignment is Viterbi on the graph of a transcript; the Gaussian mixtures of the flat start learn from the same
//! counts. Neither has a search of its own.
//!
//! # The journey
//!
//! [`audio`] → [`features`] → `network` → [`emission`] → [`graph`] → [`dp`] → [`search`], `decode`, [`align`] → [`formats`];
//! for training [`data`] → [`learn`] → `train` → `bundle`; for text [`data`] → [`tagging`] → [`learn`]; [`metrics`] says how
//! good the result is. Files are read by [`input`], words compared by [`spelling`]. Mandarin has its spelling in [`pinyin`] and its syllables in [`syllables`]. The modules without a link need candle and come with the Cargo feature `neural`, which is on by default.

pub mod error;
pub mod input;
pub mod matrix;
pub mod mmap;
mod parallel;
pub mod pinyin;
pub mod random;
mod settings;
pub mod spelling;
pub mod symbols;
pub mod timing;

pub mod alignment;
pub mod audio;
pub mod features;
#[cfg(feature = "neural")]
pub mod network;

pub mod dp;
pub mod emission;
pub mod graph;
pub mod search;

#[cfg(feature = "neural")]
pub mod bundle;
#[cfg(feature = "neural")]
pub mod decode;

pub mod formats;
pub mod g2p;
pub mod metrics;
pub mod phones;
pub mod syllables;

pub mod align;
pub mod data;
pub mod learn;
pub mod tagging;
#[cfg(feature = "neural")]
pub mod train;

pub use error::{Error, Result};
