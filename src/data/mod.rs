//! Corpora: what there is to train on and to measure with.
//!
//! A [`manifest`] lists utterances with their audio and transcripts; [`validate`] looks at everything it promises before a
//! training trusts it. What another program's network said of them is read by [`posteriors`].

pub mod manifest;
pub mod posteriors;
pub mod validate;

pub use manifest::{Manifest, Utterance};
