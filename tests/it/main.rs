//! Integration tests, one binary; a module for each part of the journey.

mod audio_files;
mod features;
mod formats;
mod graph_files;
mod search;
