//! senone
pub mod alignment;
pub mod audio;
pub mod data;
pub mod dp;
pub mod emission;
mod error;
pub mod features;
pub mod formats;
pub mod graph;
pub mod learn;
pub mod matrix;
pub mod metrics;
pub mod mmap;
#[cfg(feature = "neural")]
pub mod network;
pub mod random;
pub mod symbols;
pub mod timing;

pub use error::{Error, Result};
