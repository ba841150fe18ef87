//! Integration tests, one binary.
#![allow(clippy::unwrap_used, reason = "clippy takes the helpers of tests for library code")]

mod graph_files;
mod graph_oracle;
