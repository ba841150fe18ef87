//! The stages from manifests to a bundle. Each leaves a file in the work folder, and is not done again when it is there.
//!
//! `corpus -> Gaussian HMM by EM -> tied states, if asked -> alignment -> network -> realignment -> network -> sequences -> priors, n-gram -> bundle`

mod alignments;
mod confidence;
mod config;
mod context;
mod corpus;
mod curves;
mod draft;
mod gaussian;
mod gaussian_error;
mod hybrid;
mod log;
mod phones;
mod sequences;
mod sets;
mod stage;
mod start;
mod store;
mod tune;
mod work;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

pub use crate::align::{Transcriber, Words, slots};
pub use alignments::{Alignments, targets};
pub use confidence::{Fitted, fit_confidence};
pub use config::{
    CorpusConfig, CorpusUse, GmmStage, Learner, NgramConfig, SequenceCriterion, SequenceStage, TextConfig, TrainConfig,
};
pub use corpus::{Corpus, DEVELOPMENT, Example};
pub use draft::{DraftRequest, draft};
pub use log::EpochRow;
pub use start::Origin;
pub use store::Again;
pub use tune::{Development, Held, Tuned, tune};
pub use work::{Earlier, Work};

use crate::bundle::Bundle;
use crate::graph::GraphSpec;
use crate::graph::lexicon::pinyin::named;
use crate::network::Device;
use crate::{Error, Result, formats};
use hybrid::Start;

/// What happens during training, for whoever watches.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// Audio is being read.
    Reading {
        /// Number of utterances.
        utterances: usize,
    },
    /// The corpora are in memory.
    Loaded {
        /// Utterances to learn from.
        utterances: usize,
        /// Their length.
        hours: f64,
        /// Utterances to tune on.
        development: usize,
    },
    /// Words that the lexicon lacks, with how often: they pass through the filler phone.
    UnknownWords(BTreeMap<String, usize>),
    /// An utterance is left out.
    Skipped {
        /// Its name.
        utterance: String,
        /// Why.
        reason: String,
    },
    /// One EM iteration of the Gaussian model is done.
    Em {
        /// One-based iteration.
        iteration: usize,
        /// Of how many.
        of: usize,
        /// Mean log-likelihood of a frame.
        log_likelihood: f64,
        /// Gaussians in all.
        gaussians: usize,
    },
    /// One epoch of the network is done.
    Epoch {
        /// How it went.
        row: EpochRow,
        /// Epochs of its stage.
        of: usize,
        /// Expected time to the end of the last stage.
        left: Duration,
    },
    /// A stage was found done in the work folder.
    Resumed(String),
    /// Anything worth a line.
    Note(String),
}

/// Receives [`Event`]s.
pub type Progress<'a> = dyn FnMut(Event) + 'a;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reading { utterances } => write!(f, "reading {utterances} utterances"),
            Self::Loaded { utterances, hours, development } => {
                write!(f, "{utterances} utterances ({hours:.2} h) to learn from, {development} to tune on")
            }
            Self::UnknownWords(words) => write_unknown(f, words),
            Self::Skipped { utterance, reason } => write!(f, "left out {utterance}: {reason}"),
            Self::Em { iteration, of, log_likelihood, gaussians } => {
                write!(f, "EM {iteration}/{of}: log-likelihood {log_likelihood:.3} a frame, {gaussians} Gaussians")
            }
            Self::Epoch { row, of, left } => {
                let EpochRow { stage, epoch, loss, frames_right_percent: right, .. } = row;
                write!(f, "{stage} epoch {epoch}/{of}: loss {loss:.4}, frames right {right:.2} %, ")?;
                if let Some(right) = row.development_frames_right_percent {
                    write!(f, "on development {right:.2} %, ")?;
                }
                if let Some(percent) = row.phone_error_percent {
                    write!(f, "phone error {percent:.2} %, ")?;
                }
                write!(f, "{} min left", left.as_secs().div_ceil(60))
            }
            Self::Resumed(stage) => write!(f, "{stage}: done before, taken from the work folder"),
            Self::Note(text) => f.write_str(text),
        }
    }
}

impl Event {
    /// As a line of a log, after the time since the run began, in minutes and seconds: `[ 12:05] ...`.
    pub fn at(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs();
        format!("[{:3}:{:02}] {self}", seconds / 60, seconds % 60)
    }
}

/// Unknown words that a line names.
const UNKNOWN_NAMED: usize = 10;

fn write_unknown(f: &mut fmt::Formatter<'_>, words: &BTreeMap<String, usize>) -> fmt::Result {
    let total: usize = words.values().sum();
    write!(f, "{total} words ({} different) are not in the lexicon", words.len())?;
    let mut ranked: Vec<_> = words.iter().collect();
    ranked.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
    for (index, (word, count)) in ranked.iter().take(UNKNOWN_NAMED).enumerate() {
        write!(f, "{}{word} ({count})", if index == 0 { ": " } else { ", " })?;
    }
    if ranked.len() > UNKNOWN_NAMED { f.write_str(", ...") } else { Ok(()) }
}

/// Trains as `config` says; intermediate results go to the `work` folder, and so do a log in lines (`log.txt`) and rows (`log.tsv`)
/// and its curves (`curves.svg`). Where there is a model to start from, the `origin` says what of it is trained on.
///
/// # Errors
/// [`Error::Config`] when the work folder belongs to a run with other settings or on another device, or to one that is at work, or
/// holds results that are not to be gone on from; [`Error::Other`] when the `origin` is of another kind than `config` asks for; whatever
/// makes training impossible.
pub fn train(
    config: &TrainConfig,
    origin: Option<Origin<'_>>,
    work: Work<'_>,
    progress: &mut Progress<'_>,
) -> Result<Bundle> {
    let mut lines = log::Lines::new(work.folder);
    let made = stages(config, origin, work, &mut |event| {
        lines.tell(&event);
        progress(event);
    });
    let made = made.inspect_err(|error| lines.stop(error));
    if let Some(error) = lines.close() {
        progress(Event::Note(format!("{error}: lines are missing there")));
    }
    made
}

/// All stages.
fn stages(
    config: &TrainConfig,
    origin: Option<Origin<'_>>,
    work: Work<'_>,
    progress: &mut Progress<'_>,
) -> Result<Bundle> {
    if let Some(bundle) = origin.and_then(Origin::whole) {
        let spec = graph(&config.graph, &config.filler)?.with_units(bundle.graph.units().clone())?;
        start::check(config, &spec, bundle)?;
        phones::check(config, &spec)?;
        let _lock = claim((config, origin), [&spec, &spec], (work, progress))?;
        let corpus = Corpus::load(config, origin, work.folder, progress)?;
        return hybrid::train(config, (spec, &corpus), (Start::Model(bundle), work), progress);
    }
    let missing = |what: &str| Error::Other(format!("no {what}: add one, or give a model to start from"));
    let gmm = config.gmm.as_ref().ok_or_else(|| missing("[gmm] table makes the first alignment"))?;
    let ngram = config.ngram.as_ref().ok_or_else(|| missing("[ngram] table says what follows what"))?;
    let (align_spec, spec) = (graph(&gmm.graph, &config.filler)?, graph(&config.graph, &config.filler)?);
    check_symbols((&config.graph, &spec), (&gmm.graph, &align_spec))?;
    phones::check(config, &spec)?;
    if let Some(context) = &config.context {
        [&align_spec, &spec].into_iter().try_for_each(|spec| context.check_for(spec))?;
    }
    let hidden = origin.map(Origin::bundle);
    let _lock = claim((config, origin), [&align_spec, &spec], (work, progress))?;
    let (mut corpus, folder) = (Corpus::load(config, origin, work.folder, progress)?, work.folder);
    let (first, units) = gaussian::alignments((config, gmm), (&align_spec, &spec, &mut corpus), folder, progress)?;
    let spec = spec.with_units(units)?;
    hybrid::train(config, (spec, &corpus), (Start::Alignments { first, ngram, hidden }, work), progress)
}

/// Reads a graph file, which must be one of phones alone, and have the `filler` phone if there is one.
fn graph(path: &Path, filler: &Option<String>) -> Result<GraphSpec> {
    let spec = GraphSpec::read(path)?;
    spec.check_trainable()?;
    match filler.as_ref().filter(|filler| spec.symbols().get(filler).is_none()) {
        None => Ok(spec),
        Some(filler) => {
            let reason = format!("no symbol {filler:?}, which train.toml names as filler: add it to a class");
            Err(Error::Config { path: path.to_owned(), reason })
        }
    }
}

/// Whether the network's graph has all symbols of the alignment's, since it learns from the alignment.
fn check_symbols((path, spec): (&Path, &GraphSpec), (other, align): (&Path, &GraphSpec)) -> Result<()> {
    let mut names = align.symbols().ids().map(|symbol| align.symbols().name(symbol));
    match names.find(|name| spec.symbols().get(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let reason = format!("no symbol {name:?}, which {} has: the two graphs must agree", other.display());
            Err(Error::Config { path: path.to_owned(), reason })
        }
    }
}

/// Makes sure that the work folder holds results of `config`, the model to start from and the device only, and that it is to go on
/// from them;
/// nobody else may work there until the lock is dropped.
fn claim(
    (config, origin): (&TrainConfig, Option<Origin<'_>>),
    graphs: [&GraphSpec; 2],
    (work, progress): (Work<'_>, &mut Progress<'_>),
) -> Result<File> {
    std::fs::create_dir_all(work.folder).map_err(|source| Error::io("create", work.folder, source))?;
    let lock = work::lock(work.folder)?;
    let mark = work.folder.join("settings.txt");
    let [first, second] = graphs.map(GraphSpec::text);
    let start = origin.map(Origin::mark).unwrap_or_default();
    let device = Some(work.device.name()).filter(|&name| name != Device::cpu().name());
    let device = device.map(|name| format!("device {name}\n")).unwrap_or_default();
    let settings = format!("{config:#?}\n{first}\n{second}\n{}{start}{device}", digests(config)?);
    match std::fs::read_to_string(&mark) {
        Ok(found) if found == settings => {}
        Ok(_) => {
            let reason = "holds a run with other settings, graphs, corpora, lexicon, start or device: name another work \
                          folder, or remove this one";
            return Err(Error::Config { path: work.folder.to_owned(), reason: reason.into() });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            formats::atomic::write(&mark, |file| file.write_all(settings.as_bytes()))?;
        }
        Err(source) => return Err(Error::io("read", &mark, source)),
    }
    work.admit(config, progress).map(|()| lock)
}

/// A line for each corpus, the lexicon and each text that changes when they do.
fn digests(config: &TrainConfig) -> Result<String> {
    let line = |path: &Path, bytes: Vec<u8>| format!("{} {:016x}\n", path.display(), digest(bytes));
    let corpus = |corpus: &CorpusConfig| Ok(line(&corpus.source, sets::content(&corpus.source)?));
    let corpora = config.corpora.iter().map(corpus).collect::<Result<String>>()?;
    let lexicon = config.lexicon.as_deref().filter(|path| named(path).is_none());
    let files = lexicon.into_iter().chain(config.texts());
    let read = |path: &Path| crate::input::bytes(path);
    Ok(corpora + &files.map(|path| Ok(line(path, read(path)?))).collect::<Result<String>>()?)
}

/// FNV-1a (Fowler, Noll & Vo): the same on every machine.
fn digest(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_gone_on_with_on_another_device() {
        let settings = "name = 'n'\ndescription = 'd'\ngraph = 'g'\ncorpus = []\nnetwork = { kind = 'mlp' }";
        let config: TrainConfig = crate::settings::parse(settings).unwrap();
        let spec = GraphSpec::read(Path::new("tests/data/graphs/small.toml")).unwrap();
        for (first, other) in [(Device::cpu(), Device::plain()), (Device::plain(), Device::cpu())] {
            let folder = tempfile::tempdir().unwrap();
            let claimed = |device: &Device| {
                let work = Work { folder: folder.path(), earlier: Earlier::Resumed, device };
                claim((&config, None), [&spec, &spec], (work, &mut |_| {})).map(drop)
            };
            claimed(&first).unwrap();
            claimed(&first).unwrap();
            let refused = claimed(&other).unwrap_err().to_string();
            assert!(refused.contains(" or device: name another work folder"), "{refused}");
        }
    }
}
