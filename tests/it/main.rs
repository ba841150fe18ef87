//! Integration tests, one binary; a module for each part of the journey.

mod audio_files;
mod corpora;
mod features;
mod formats;
mod graph_files;
mod graph_oracle;
mod search;
