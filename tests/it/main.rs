//! Integration tests, one binary.
mod audio_files;
mod formats;
