//! The end of the journey: alignments out to files that people and other tools read, and back in where they are scored.

pub mod atomic;
pub mod npy;
