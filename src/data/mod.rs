//! Corpora: what there is to train on and to measure with.
//!
//! A [`manifest`] lists utterances with their audio and transcripts, and [`source`] reads corpora of other layouts as if they
//! were one; [`validate`] looks at everything that is promised before a training trusts it. [`columns`] reads text that is tagged token by token, [`posteriors`] what another program's network
//! said of recordings.

pub mod archive;
pub mod columns;
pub mod files;
pub mod manifest;
pub mod posteriors;
pub mod sentences;
pub mod source;
pub mod validate;

pub use columns::{ColumnFile, ColumnReader, Layout, Sequence};
pub use manifest::{Holdout, Manifest, Utterance};
