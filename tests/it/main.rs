//! Integration tests, one binary; a module for each part of the journey.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests unwrap and print as tests do")]

mod audio_files;
mod corpora;
mod features;
mod formats;
mod graph_files;
mod graph_oracle;
mod search;
