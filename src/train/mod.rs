//! The stages from manifests to a bundle. Each leaves a file in the work folder, and is not done again when it is there.
//!
//! `corpus -> Gaussian HMM by EM -> alignment -> network -> realignment -> network -> sequences -> priors, n-gram -> bundle`

mod alignments;
mod config;
mod corpus;
mod draft;
mod gaussian;
mod hybrid;
mod phones;
mod sequences;
mod sets;
mod start;
mod transcripts;
mod tune;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use alignments::{Alignments, targets};
pub use config::{
    CorpusConfig, CorpusUse, GmmStage, Learner, NgramConfig, SequenceCriterion, SequenceStage, TextConfig, TrainConfig,
};
pub use corpus::{Corpus, DEVELOPMENT, Example};
pub use draft::{DraftRequest, draft};
pub use transcripts::{Transcriber, Words, slots};
pub use tune::{Development, Tuned, tune};

use crate::bundle::Bundle;
use crate::graph::GraphSpec;
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
        /// The pass, or what comes after.
        stage: String,
        /// One-based epoch.
        epoch: usize,
        /// Of how many.
        of: usize,
        /// Mean training loss of a frame.
        loss: f64,
        /// Share of training frames whose best pdf is the target.
        accuracy: f64,
        /// The same on the development set.
        development_accuracy: f64,
        /// Phone error rate on the development set, percent, where there is one.
        phone_error_percent: Option<f64>,
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
            Self::Epoch { stage, epoch, of, loss, accuracy, development_accuracy, phone_error_percent, left } => {
                write!(f, "{stage} epoch {epoch}/{of}: loss {loss:.4}, frames right {:.2} %, ", 100.0 * accuracy)?;
                if let Some(percent) = phone_error_percent {
                    let right = 100.0 * development_accuracy;
                    write!(f, "on development {right:.2} %, phone error {percent:.2} %, ")?;
                }
                write!(f, "{} min left", left.as_secs().div_ceil(60))
            }
            Self::Resumed(stage) => write!(f, "{stage}: done before, taken from the work folder"),
            Self::Note(text) => f.write_str(text),
        }
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

/// Trains as `config` says; intermediate results go to the folder `work`. Where there is a model to `start` from, its network is
/// trained on, and makes the first alignment in place of the Gaussian model.
///
/// # Errors
/// [`Error::Config`] when `work` belongs to a run with other settings; [`Error::Other`] when `start` is of another kind than
/// `config` asks for; whatever makes training impossible.
pub fn train(config: &TrainConfig, start: Option<&Bundle>, work: &Path, progress: &mut Progress<'_>) -> Result<Bundle> {
    if let Some(bundle) = start {
        let spec = graph(&config.graph, &config.filler)?;
        start::check(config, &spec, bundle)?;
        claim((config, start), [&spec, &spec], work)?;
        let corpus = Corpus::load(config, start, work, progress)?;
        return hybrid::train(config, (spec, &corpus), (Start::Model(bundle), work), progress);
    }
    let missing = |what: &str| Error::Other(format!("no {what}: add one, or give a model to start from"));
    let gmm = config.gmm.as_ref().ok_or_else(|| missing("[gmm] table makes the first alignment"))?;
    let ngram = config.ngram.as_ref().ok_or_else(|| missing("[ngram] table says what follows what"))?;
    let (align_spec, spec) = (graph(&gmm.graph, &config.filler)?, graph(&config.graph, &config.filler)?);
    claim((config, None), [&align_spec, &spec], work)?;
    let mut corpus = Corpus::load(config, None, work, progress)?;
    let first = gaussian::alignments(gmm, (&align_spec, &mut corpus), work, progress)?;
    hybrid::train(config, (spec, &corpus), (Start::Alignments(first, ngram), work), progress)
}

/// Reads a graph file, which must have the `filler` phone if there is one.
fn graph(path: &Path, filler: &Option<String>) -> Result<GraphSpec> {
    let spec = GraphSpec::read(path)?;
    match filler.as_ref().filter(|filler| spec.symbols().get(filler).is_none()) {
        None => Ok(spec),
        Some(filler) => {
            let reason = format!("no symbol {filler:?}, which train.toml names as filler: add it to a class");
            Err(Error::Config { path: path.to_owned(), reason })
        }
    }
}

/// Makes sure that `work` holds results of `config` and the model to start from only.
fn claim((config, start): (&TrainConfig, Option<&Bundle>), graphs: [&GraphSpec; 2], work: &Path) -> Result<()> {
    std::fs::create_dir_all(work).map_err(|source| Error::io("create", work, source))?;
    let mark = work.join("settings.txt");
    let [first, second] = graphs.map(GraphSpec::text);
    let start = start.map(|bundle| format!("start {:016x}\n", start::digest_of(bundle))).unwrap_or_default();
    let settings = format!("{config:#?}\n{first}\n{second}\n{}{start}", digests(config)?);
    match std::fs::read_to_string(&mark) {
        Ok(found) if found == settings => Ok(()),
        Ok(_) => {
            let reason = "holds a run with other settings, graphs, corpora, lexicon or start: name another work folder, \
                          or remove this one";
            Err(Error::Config { path: work.to_owned(), reason: reason.into() })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            formats::atomic::write(&mark, |file| file.write_all(settings.as_bytes()))
        }
        Err(source) => Err(Error::io("read", &mark, source)),
    }
}

/// A line for each corpus, the lexicon and each text that changes when they do.
fn digests(config: &TrainConfig) -> Result<String> {
    let line = |path: &Path, bytes: Vec<u8>| format!("{} {:016x}\n", path.display(), digest(bytes));
    let corpus = |corpus: &CorpusConfig| Ok(line(&corpus.source, sets::content(&corpus.source)?));
    let corpora = config.corpora.iter().map(corpus).collect::<Result<String>>()?;
    let texts = config.sequence.iter().map(|stage| &stage.ngram).chain(&config.ngram).flat_map(|ngram| &ngram.text);
    let files = config.lexicon.iter().chain(texts.map(|text| &text.file));
    let read = |path: &PathBuf| std::fs::read(path).map_err(|source| Error::io("read", path, source));
    Ok(corpora + &files.map(|path| Ok(line(path, read(path)?))).collect::<Result<String>>()?)
}

/// FNV-1a (Fowler, Noll & Vo): the same on every machine.
fn digest(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
