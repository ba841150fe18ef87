//! Tags for text: what stands between a column file and a sequence learner.
//!
//! [`Sequence`](crate::data::Sequence)s of a column file come in. A [`Template`] says which features a token has, a [`FeatureMap`]
//! numbers them and makes [`SparseFrames`](crate::emission::SparseFrames), a [`TagSet`] numbers the tags and holds the graph of
//! which may follow which. One token is one frame, and one tag is one pdf.
//!
#![doc = include_str!("../../docs/tagging.md")]

mod features;
mod file;
mod learner;
#[cfg(feature = "neural")]
mod neural;
mod part;
mod tagger;
mod tagset;
mod template;
mod training;

pub use features::FeatureMap;
pub use learner::{
    CrfMethod, CrfSettings, HmmSettings, Learner, Method, Pairs, PerceptronSettings, Source, SvmMethod, SvmSettings,
    TagSettings,
};
#[cfg(feature = "neural")]
pub use neural::{NetworkScores, NeuralSettings, TdnnShape};
pub use tagger::{Scores, Tagger};
pub use tagset::TagSet;
pub use template::{Outside, Template};
pub use training::{TagEvent, TagSplit, TagTask, Watch, train};
