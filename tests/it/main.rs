//! Integration tests, one binary; a module for each part of the journey.

// Helpers of tests unwrap and print as the tests themselves do: a failure names its line.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "as in the tests themselves")]

#[cfg(feature = "neural")]
mod align;
mod align_oracle;
mod audio_files;
mod augment;
#[cfg(feature = "neural")]
mod cli;
mod corpora;
#[allow(dead_code, reason = "the unit tests have more use for it")]
#[path = "../../src/graph/toy.rs"]
mod everything_goes;
mod features;
mod formats;
mod g2p;
mod graph_docs;
mod graph_files;
mod graph_oracle;
mod graph_tools;
mod guesses;
#[cfg(feature = "neural")]
mod journey;
#[cfg(feature = "neural")]
mod layouts;
#[cfg(feature = "neural")]
mod models;
mod ngram;
#[cfg(feature = "neural")]
mod own_data;
mod posteriors;
mod search;
#[cfg(feature = "neural")]
mod stream;
mod tagging;
mod tied_graphs;
#[cfg(feature = "neural")]
mod tied_model;
#[cfg(feature = "neural")]
mod toy;
#[cfg(feature = "neural")]
mod training;
#[cfg_attr(not(feature = "neural"), allow(dead_code, reason = "some helpers are for tests with a model only"))]
mod util;
mod word_graphs;
#[cfg(feature = "neural")]
mod words;
mod worked_examples;
