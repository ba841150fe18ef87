//! What posteriors are searched with: a graph file, or the graph of a model; priors of a file, of the model, or none.

use std::path::Path;

use senone::data::posteriors;
use senone::emission::Priors;
use senone::graph::{Graph, GraphSpec, Weights};
use senone::search::{ConfidenceSettings, DecodeOptions, SearchModel, SearchSettings, Searcher};
use senone::timing::FrameTiming;
use senone::{Error, Result};

use super::DecodeArgs;
use crate::cli::say;

/// What makes phones of posteriors.
pub struct Model {
    /// Graph, priors and search.
    pub searcher: Searcher,
    /// How long a row of posteriors lasts.
    pub timing: FrameTiming,
}

impl Model {
    /// As the command line asks for it.
    pub fn new(args: &DecodeArgs) -> Result<Self> {
        let mut parts = match &args.search.graph {
            #[cfg(feature = "neural")]
            Some(path) if args.recordings.model.is_some() => Parts::constrained(path, args)?,
            Some(path) => Parts::of_graph(path, args)?,
            None => Parts::of_bundle(args)?,
        };
        let timing = args.posteriors.frame_shift_ms.map_or(Ok(parts.timing), timing)?;
        let priors = parts.priors(args)?;
        let Parts { graph, weights, options, .. } = parts;
        Ok(Self { searcher: Searcher::new(SearchModel { graph, weights, priors }, options)?, timing })
    }
}

/// Milliseconds from frame to frame where nothing is said of them.
const SHIFT_MS: f64 = 10.0;

/// A model before its priors are settled.
struct Parts {
    graph: Graph,
    weights: Weights,
    own_priors: Option<Priors>,
    options: DecodeOptions,
    timing: FrameTiming,
}

impl Parts {
    /// A graph file as it stands, untuned.
    fn of_graph(path: &Path, args: &DecodeArgs) -> Result<Self> {
        let spec = GraphSpec::read(path)?;
        let options = args.search.options_with(&spec, SearchSettings::default())?;
        let options = args.extras.rated(options, ConfidenceSettings::default());
        let graph = spec.compile_scaled(options.settings.lm_scale)?;
        Ok(Self { graph, weights: spec.initial_weights(), own_priors: None, options, timing: timing(SHIFT_MS)? })
    }

    /// A graph file on a trained model.
    #[cfg(feature = "neural")]
    fn constrained(path: &Path, args: &DecodeArgs) -> Result<Self> {
        let bundle = args.recordings.bundle()?;
        let spec = GraphSpec::read_on(path, || Ok(bundle.graph.clone()))?;
        let options = args.search.options_with(&spec, bundle.description.search)?;
        let SearchModel { graph, weights, priors } =
            senone::decode::constrained_model(&bundle, spec, options.settings.lm_scale)?;
        let options = args.extras.rated(options, bundle.description.confidence);
        Ok(Self { graph, weights, own_priors: Some(priors), options, timing: bundle.timing() })
    }

    /// The graph of a trained model, with all that was tuned for it.
    #[cfg(feature = "neural")]
    fn of_bundle(args: &DecodeArgs) -> Result<Self> {
        let bundle = args.recordings.bundle()?;
        let options = args.search.options(bundle.description.search)?;
        let options = args.extras.rated(options, bundle.description.confidence);
        let SearchModel { graph, weights, priors } = senone::decode::search_model(&bundle, options.settings.lm_scale)?;
        Ok(Self { graph, weights, own_priors: Some(priors), options, timing: bundle.timing() })
    }

    #[cfg(not(feature = "neural"))]
    fn of_bundle(_: &DecodeArgs) -> Result<Self> {
        Err(Error::Other("this senone was built without models: name a graph file with --graph".into()))
    }

    /// The priors of the file, else the model's, else none, which is a prior scale of 0.
    fn priors(&mut self, args: &DecodeArgs) -> Result<Priors> {
        let is_likelihood = args.posteriors.are_likelihoods();
        let found = match &args.posteriors.priors {
            Some(path) if is_likelihood => {
                let reason = "likelihoods take no priors: leave out --priors, or state another kind".into();
                return Err(Error::Config { path: path.clone(), reason });
            }
            Some(path) => Some(read_priors(path, self.graph.pdfs())?),
            None => self.own_priors.take().filter(|_| !is_likelihood),
        };
        if let Some(priors) = found {
            return Ok(priors);
        }
        match args.search.prior_scale {
            Some(scale) if scale > 0.0 => {
                let why = if is_likelihood { "likelihoods take none" } else { "add --priors FILE" };
                return Err(Error::Other(format!("no priors that --prior-scale could weigh: {why}")));
            }
            None if !is_likelihood => {
                say("senone: no --priors: posteriors are used as they are, with a prior scale of 0");
            }
            _ => {}
        }
        self.options.settings.prior_scale = 0.0;
        Priors::uniform(self.graph.pdfs())
    }
}

/// The priors of a file, for a graph of so many `pdfs`.
fn read_priors(path: &Path, pdfs: usize) -> Result<Priors> {
    let priors = posteriors::read_priors(path)?;
    if priors.pdfs() != pdfs {
        let reason = format!("{} priors, expected {pdfs}: one for each pdf of the graph", priors.pdfs());
        return Err(Error::Config { path: path.to_owned(), reason });
    }
    let dead: Vec<String> = priors.dead().map(|pdf| pdf.to_string()).collect();
    if !dead.is_empty() {
        let (path, dead) = (path.display(), dead.join(" "));
        say(format_args!("senone: {path}: pdfs with a prior of 0, which are never recognised: {dead}"));
    }
    Ok(priors)
}

/// Frames of `shift_ms` milliseconds, counted in microseconds.
fn timing(shift_ms: f64) -> Result<FrameTiming> {
    if !(0.001..=60_000.0).contains(&shift_ms) {
        let value = shift_ms.to_string();
        return Err(Error::Setting { key: "frame shift", value, expected: "0.001 to 60000 milliseconds" });
    }
    let shift = (1000.0 * shift_ms).round() as u32;
    Ok(FrameTiming { shift, length: shift, sample_rate: 1_000_000, subsampling: 1 })
}
