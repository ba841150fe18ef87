//! Integration tests, one binary; a module for each part of the journey.

mod audio_files;
mod formats;
mod graph_files;
mod search;
