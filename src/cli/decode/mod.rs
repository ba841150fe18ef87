//! `senone decode`: phones and words with times from recordings, or from posteriors that anyone's network computed.

mod extras;
mod model;
pub(super) mod output;
mod posteriors;
#[cfg(feature = "neural")]
mod recordings;
#[cfg(feature = "neural")]
mod stream;
mod syllables;

use std::path::PathBuf;

use clap::Args;
use senone::graph::GraphSpec;
use senone::search::{DecodeOptions, Method, SearchSettings};
use senone::{Error, Result};

use super::Outcome;

/// `senone decode`
#[derive(Debug, Args)]
pub struct DecodeArgs {
    #[cfg(feature = "neural")]
    #[command(flatten)]
    recordings: recordings::RecordingArgs,
    #[cfg(feature = "neural")]
    #[command(flatten)]
    stream: stream::StreamArgs,
    #[command(flatten)]
    output: output::OutputArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    extras: extras::ExtraArgs,
    #[command(flatten)]
    posteriors: posteriors::PosteriorArgs,
}

/// Graph and settings of the search; what is not given is as the model was tuned.
#[derive(Debug, Args)]
struct SearchArgs {
    /// What may be said: a graph file with the model's symbols and topology, in place of the model's own graph and n-gram
    ///
    /// With a [lexicon] words are printed. The n-gram's scale is that of its [lm], and the insertion penalty 0, unless they are
    /// given. With --posteriors and without --model, the file says everything: its pdfs are those of the posteriors, its
    /// self-loops and rules weigh what they say, scales are 1, the beam is 16.
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(feature = "neural", arg(conflicts_with = "ngram"))]
    graph: Option<PathBuf>,
    /// Weight on emissions
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    acoustic_scale: Option<f32>,
    /// Weight on log-priors
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior_scale: Option<f32>,
    /// Weight on the n-gram
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lm_scale: Option<f32>,
    /// Added per phone entered, natural log; lower gives fewer phones
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    insertion_penalty: Option<f32>,
    /// Pruning width, natural log
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    beam: Option<f32>,
    /// Most states kept alive in a frame
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_active: Option<usize>,
    /// Prune nothing
    #[arg(long, conflicts_with_all = ["beam", "max_active"])]
    exact: bool,
    /// Take the best phone of each frame by itself: no graph, no n-gram, and no priors unless --prior-scale is given
    #[arg(long, conflicts_with_all = ["acoustic_scale", "lm_scale", "insertion_penalty", "beam", "max_active", "exact"])]
    no_graph: bool,
}

impl SearchArgs {
    /// The settings `own`, those of the graph file taken from `spec`, changed as asked, and checked.
    fn options_with(&self, spec: &GraphSpec, own: SearchSettings) -> Result<DecodeOptions> {
        if spec.lm().is_none() && self.lm_scale.is_some() {
            return Err(Error::Other(format!("{}: no [lm] that --lm-scale could weigh", spec.path().display())));
        }
        let lm_scale = spec.lm().map_or(1.0, |lm| lm.scale);
        self.options(SearchSettings { lm_scale, insertion_penalty: 0.0, ..own })
    }

    /// The settings `own`, changed as asked, and checked.
    fn options(&self, own: SearchSettings) -> Result<DecodeOptions> {
        let own = if self.no_graph { SearchSettings { prior_scale: 0.0, ..own } } else { own };
        let settings = SearchSettings {
            acoustic_scale: self.acoustic_scale.unwrap_or(own.acoustic_scale),
            prior_scale: self.prior_scale.unwrap_or(own.prior_scale),
            lm_scale: self.lm_scale.unwrap_or(own.lm_scale),
            insertion_penalty: self.insertion_penalty.unwrap_or(own.insertion_penalty),
            beam: self.beam.unwrap_or(own.beam),
            max_active: self.max_active.unwrap_or(own.max_active),
        };
        settings.check()?;
        let method = match (self.exact, self.no_graph) {
            (true, _) => Method::Exact,
            (_, true) => Method::Frames,
            _ => Method::Beam,
        };
        Ok(DecodeOptions { settings, method, confidence: None })
    }
}

/// Decodes everything that was named; what fails leaves the others' output whole.
pub fn run(args: &DecodeArgs) -> Result<Outcome> {
    #[cfg(feature = "neural")]
    if !args.posteriors.are_given() {
        return recordings::run(args);
    }
    posteriors::run(args)
}
