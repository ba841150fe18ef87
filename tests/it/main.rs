//! Integration tests, one binary.
mod graph_files;
mod graph_oracle;
