//! `senone decode`: phones with times from recordings, or from posteriors that anyone's network computed.

mod model;
mod output;
mod posteriors;
#[cfg(feature = "neural")]
mod recordings;
mod syllables;

use clap::Args;
use senone::Result;
use senone::search::{DecodeOptions, Method, SearchSettings};

use super::Outcome;

/// `senone decode`
#[derive(Debug, Args)]
pub struct DecodeArgs {
    #[cfg(feature = "neural")]
    #[command(flatten)]
    recordings: recordings::RecordingArgs,
    #[command(flatten)]
    output: output::OutputArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    posteriors: posteriors::PosteriorArgs,
}

/// Settings of the search; what is not given is as the model was tuned.
#[derive(Debug, Args)]
struct SearchArgs {
    /// Weight on emissions
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    acoustic_scale: Option<f32>,
    /// Weight on log-priors
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior_scale: Option<f32>,
    /// Weight on the phone n-gram
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
        Ok(DecodeOptions { settings, method })
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
