//! Settings of a run that nobody wrote any for: corpora, a lexicon or none, perhaps a model to start from, and out come
//! `train.toml` and graph files in the work folder, from which the run is made and a user can go on.

mod sizes;
mod survey;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::work::lock;
use super::{Origin, TrainConfig};
use crate::bundle::Bundle;
use crate::features::FeatureConfig;
use crate::graph::lexicon::pinyin::named;
use crate::graph::phone_loop::{Marked, Pause, PhoneLoop};
use crate::network::NetworkConfig;
use crate::pinyin::Tones;
use crate::settings::{quoted, to_text};
use crate::{Error, Result, formats};
use sizes::{Sizes, rounded};
use survey::Survey;

/// The phone that stands for a word that the lexicon lacks.
pub(super) const FILLER: &str = "SPN";
/// The phone of pauses that transcripts do not mark.
const PAUSE: &str = "SIL";

/// Names of the files that are written.
const SETTINGS: &str = "train.toml";
const GRAPH: &str = "graph.toml";
const ALIGNMENT_GRAPH: &str = "graph-align.toml";

/// Graphs of the search and of the alignment for transcripts in pinyin, without and with tones.
const MANDARIN: [&str; 2] =
    [include_str!("../../../recipes/mandarin/graph.toml"), include_str!("../../../recipes/mandarin/graph-align.toml")];
const MANDARIN_TONES: [&str; 2] = [
    include_str!("../../../recipes/mandarin/graph-tone.toml"),
    include_str!("../../../recipes/mandarin/graph-tone-align.toml"),
];

/// What there is to train on.
#[derive(Debug, Clone, Copy)]
pub struct DraftRequest<'a> {
    /// Corpora of any layout, to learn from.
    pub corpora: &'a [PathBuf],
    /// Corpora to tune on; where there is none, a tenth of the others is held out.
    pub development: &'a [PathBuf],
    /// Pronunciations; without them every token of a transcript is a phone.
    pub lexicon: Option<&'a Path>,
    /// The model to adapt, or to take the hidden layers of.
    pub origin: Option<Origin<'a>>,
    /// Name of the new model.
    pub name: &'a str,
    /// The number that all randomness comes from.
    pub seed: u64,
}

/// Looks at the data, and writes `train.toml` and what it names into the folder `work`; its path.
///
/// # Errors
/// Those of reading corpora and lexicon; [`Error::Other`] when there is no transcript, or a phone that the model to adapt lacks;
/// [`Error::Config`] when `work` has other files of these names: they may be a user's, or when a run is at work there.
pub fn draft(request: &DraftRequest<'_>, work: &Path) -> Result<PathBuf> {
    let survey = Survey::new(request)?;
    let files = match request.origin {
        Some(Origin::Model(model)) => adaptation(request, &survey, model)?,
        Some(Origin::HiddenLayers(model)) => {
            from_flat_start(request, &survey, (shape(model)?, model.description.features.sample_rate_hz))?
        }
        None => {
            let rate_hz = survey.sample_rate_hz;
            from_flat_start(request, &survey, (Sizes::of(survey.hours).network(rate_hz), rate_hz))?
        }
    };
    std::fs::create_dir_all(work).map_err(|source| Error::io("create", work, source))?;
    let _lock = lock(work)?;
    for (name, text) in &files {
        check_unchanged(&work.join(name), text)?;
    }
    for (name, text) in &files {
        formats::atomic::write(&work.join(name), |file| file.write_all(text.as_bytes()))?;
    }
    Ok(work.join(SETTINGS))
}

/// Names and texts of files.
type Files = Vec<(&'static str, String)>;

/// An earlier run may have written the same; anything else is not to be lost.
fn check_unchanged(path: &Path, text: &str) -> Result<()> {
    match std::fs::read_to_string(path) {
        Ok(found) if found != text => {
            let reason = "is of other data or changed by hand: train with the settings as they are (senone train \
                          FOLDER/train.toml), or name another work folder";
            Err(Error::Config { path: path.to_owned(), reason: reason.into() })
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("read", path, error)),
        _ => Ok(()),
    }
}

/// Everything for a model that begins with a Gaussian one, with these tables of features and network.
fn from_flat_start(
    request: &DraftRequest<'_>,
    survey: &Survey,
    (shape, sample_rate_hz): (String, u32),
) -> Result<Files> {
    let sizes = Sizes::of(survey.hours);
    let mut text = head(request, survey);
    text += &format!(
        "[gmm]                                 # makes the first alignment\ngraph    = {}\ntraining = {{ gaussians = {} }}\n\
         [gmm.features]\nkind           = \"mfcc\"\nsample_rate_hz = {sample_rate_hz}\ndeltas         = 2\nnormalisation  = \"speaker\"\n\n",
        quoted(ALIGNMENT_GRAPH),
        sizes.gaussians,
    );
    text += &shape;
    text += &sizes.training(survey.hours);
    text += "\n[ngram]\norder             = 5\nmin_history_count = 3\n";
    let [graph, alignment] = graphs(request, survey);
    Ok(vec![(GRAPH, graph), (ALIGNMENT_GRAPH, alignment), (SETTINGS, text)])
}

/// The graphs of the search and of the alignment: the syllables of Mandarin, or a loop of the phones that are said.
fn graphs(request: &DraftRequest<'_>, survey: &Survey) -> [String; 2] {
    let phones = |suffix: &str, states: usize| {
        let name = format!("{}{suffix}", request.name);
        PhoneLoop { name, phones: survey.phones(), pause: Some(pause(survey)), filler: filler(request), states }.text()
    };
    match request.lexicon.and_then(named) {
        None => [phones("", 1), phones("-align", 3)],
        Some(Tones::Dropped) => MANDARIN.map(str::to_owned),
        Some(Tones::Kept) => MANDARIN_TONES.map(str::to_owned),
    }
}

fn filler(request: &DraftRequest<'_>) -> Option<String> {
    request.lexicon.map(|_| FILLER.to_owned())
}

/// The phone of silence: that of the transcripts, where they have one.
fn pause(survey: &Survey) -> Pause {
    match &survey.pause {
        Some(name) => Pause { name: name.clone(), marked: survey.marked },
        None => Pause { name: PAUSE.into(), marked: Marked::Perhaps },
    }
}

/// Features and network as a model has them.
#[derive(Serialize)]
struct Shape<'a> {
    features: &'a FeatureConfig,
    network: &'a NetworkConfig,
}

/// The tables of the features and the network of `model`.
fn shape(model: &Bundle) -> Result<String> {
    let shape = Shape { features: &model.description.features, network: &model.description.network };
    let text = to_text(&shape).map_err(|reason| Error::Other(format!("{SETTINGS}: {reason}")))?;
    Ok(text + "\n")
}

/// Everything for a model that goes on from `model`: its shape, its graph, and a few careful epochs.
fn adaptation(request: &DraftRequest<'_>, survey: &Survey, model: &Bundle) -> Result<Files> {
    survey.check_phones(model)?;
    let mut text = head(request, survey);
    text += &shape(model)?;
    text += sizes::adaptation(survey.hours).trim_start();
    text += "\n# Without [ngram] the model keeps its n-gram, its priors and its transitions.\n";
    Ok(vec![(GRAPH, model.graph.text().to_owned()), (SETTINGS, text)])
}

/// What begins every settings file.
fn head(request: &DraftRequest<'_>, survey: &Survey) -> String {
    let from = match request.origin {
        Some(Origin::Model(_)) => " --from MODEL",
        Some(Origin::HiddenLayers(_)) => " --hidden-from MODEL",
        None => "",
    };
    let mut text = format!(
        "# Written by `senone train` for {} of speech. Change it, and train with\n\
         #   senone train THIS_FILE{from} --work OTHER_FOLDER --output MODEL\n\
         name        = {}\ndescription = {}   # corpora, licences, credits\nseed        = {}\n",
        duration(survey.hours),
        quoted(request.name),
        quoted(&format!("Trained on {}.", listed(request.corpora))),
        request.seed,
    );
    match request.lexicon {
        Some(lexicon) if named(lexicon).is_some() => {
            text += &format!("lexicon     = {}\n", quoted(&lexicon.display().to_string()));
        }
        Some(lexicon) => {
            text += &format!("lexicon     = {}\nfiller      = {}\n", quoted(&absolute(lexicon)), quoted(FILLER));
        }
        None => {}
    }
    text += &format!("graph       = {}\n\n", quoted(GRAPH));
    for (path, holdout) in request.corpora.iter().zip(&survey.holdouts) {
        text += &format!("[[corpus]]\nsource = {}\n{}", quoted(&absolute(path)), survey::holdout_line(*holdout));
    }
    for path in request.development {
        text += &format!("[[corpus]]\nsource = {}\nuse    = \"development\"\n", quoted(&absolute(path)));
    }
    text + "\n"
}

/// `hours` as people say it.
fn duration(hours: f64) -> String {
    match hours {
        hours if hours < 1.0 => format!("about {} minutes", rounded(60.0 * hours, 1).max(1)),
        hours => format!("about {hours:.1} hours"),
    }
}

fn listed(corpora: &[PathBuf]) -> String {
    corpora.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

impl TrainConfig {
    /// Whether anything is held out to tune on.
    pub fn has_development(&self) -> bool {
        let held_out = |corpus: &super::CorpusConfig| {
            corpus.role == super::CorpusUse::Development
                || corpus.development_speakers + corpus.development_utterances > 0
        };
        self.corpora.iter().any(held_out)
    }
}
