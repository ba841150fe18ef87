//! How good a result is: numbers with the doubt that belongs to them.
//!
//! In come references and what was decoded or aligned; out go error rates with 95 % intervals by speaker, the confusions
//! behind them, and boundary distances in milliseconds. Scoring rules that change a number (what is dropped, what is
//! folded) are part of the report. Tags of text are scored token by token, and entity by entity.

mod bootstrap;
mod boundary;
mod confidence;
mod confusions;
mod edit;
mod report;
mod score;
mod tag_report;
mod tags;
mod words;

pub use bootstrap::{BootstrapOptions, Interval, difference_interval, rate_interval};
pub use boundary::BoundaryErrors;
pub use confidence::{Calibration, Judged, Rated, judge};
pub use confusions::{Confusions, EditKind};
pub use edit::{AlignedPair, EditCounts, Edits, align, align_slots};
pub use report::{Comparison, LabelNotes, ScoreReport, SpeakerScore, compare};
pub use score::{Hypotheses, Reference, ReferenceSlots, ScoreOptions, Transcript, Unit, score};
pub use tags::{
    Entity, EntityCounts, EntityReport, TagComparison, TagCounts, TagPair, TagReport, TagScoreOptions, compare_tags,
    entities, score_tags,
};
pub use words::words_of;
