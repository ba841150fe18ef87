//! Corpora: what there is to train on and to measure with.
//!
//! A [`manifest`] lists utterances with their audio and transcripts; [`validate`] looks at everything it promises before a
//! training trusts it. [`columns`] reads text that is tagged token by token, [`posteriors`] what another program's network
//! said of recordings.

pub mod columns;
pub mod manifest;
pub mod posteriors;
pub mod sentences;
pub mod validate;

pub use columns::{ColumnFile, ColumnReader, Layout, Sequence};
pub use manifest::{Manifest, Utterance};
