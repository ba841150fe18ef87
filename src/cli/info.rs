//! `senone info`: what a model is.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use senone::Result;
use senone::bundle::{self, Bundle};
use senone::graph::{Units, check};
use senone::network::Acoustic;

use super::{Outcome, print};

/// `senone info`
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The model's folder [default: the built-in English model]
    model: Option<PathBuf>,
}

/// Prints the description.
pub fn run(args: &InfoArgs) -> Result<Outcome> {
    let bundle = bundle::open_or_builtin(args.model.as_ref())?;
    print(&describe(&bundle)?)
}

/// How far a network sees to one side.
fn frames(context: Option<usize>) -> String {
    context.map_or("all frames".into(), |frames| format!("{frames} frames"))
}

/// What the network's pdfs are of.
fn states(bundle: &Bundle) -> String {
    match bundle.graph.units() {
        Units::Monophone => format!("{} of monophones", bundle.graph.pdfs()),
        Units::Tied(tree) => format!("{} tied, by {}", tree.pdfs(), tree.kind().name()),
    }
}

fn describe(bundle: &Bundle) -> Result<String> {
    let description = &bundle.description;
    let timing = bundle.timing();
    let context = bundle.network.context();
    let mut text = format!("{}\n{}\n\n", description.name, description.description.trim());
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key:<18} {value}"); // writing to a String does not fail
    };
    line("audio", format!("{} Hz", timing.sample_rate));
    let pitch = description.features.pitch.as_ref().map_or("", |_| ", the last 3 pitch");
    line("features", format!("{} {:?}{pitch}", description.features.dim(), description.features.kind));
    line("normalisation", format!("{:?}", description.features.normalisation));
    line("network", format!("{} of {} parameters", description.network.kind(), bundle.network.parameter_count()));
    line("context", format!("{} before, {} after", frames(context.left), frames(context.right)));
    line("search frame", format!("{} ms", timing.search_shift_ms()));
    line("phones", bundle.graph.symbols().names().join(" "));
    description.filler.iter().for_each(|name| line("filler", name.clone()));
    line("states", states(bundle));
    line("n-gram", format!("order {}, {} histories", bundle.ngram.order(), bundle.ngram.histories()));
    let search = description.search;
    line("acoustic scale", search.acoustic_scale.to_string());
    line("prior scale", search.prior_scale.to_string());
    line("LM scale", search.lm_scale.to_string());
    line("insertion penalty", search.insertion_penalty.to_string());
    let confidence = description.confidence;
    line("confidence", format!("scale {}, slope {}, offset {}", confidence.scale, confidence.slope, confidence.offset));
    line("beam", format!("{}, at most {} states", search.beam, search.max_active));
    for score in &description.scores {
        let [low, high] = score.interval_percent;
        line("phone error", format!("{:.2} % ({low:.2} to {high:.2}) on {}", score.phone_error_percent, score.test));
    }
    let _ = writeln!(text, "\ngraph, without the n-gram\n{}", check::report(&bundle.graph)?);
    Ok(text)
}
