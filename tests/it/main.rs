//! Integration tests, one binary.
mod graph_files;
