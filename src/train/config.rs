//! `train.toml`: everything that a training run is told, as plain structs with defaults.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::features::{FeatureConfig, Normalisation};
use crate::graph::ngram::NgramOptions;
use crate::learn::gmm::GmmConfig;
use crate::learn::neural::TrainerConfig;
use crate::network::NetworkConfig;
use crate::{Error, Result, settings};

/// A training run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Name of the model, stored in the bundle.
    pub name: String,
    /// Corpora, licences, credits: what whoever passes the model on must be told.
    pub description: String,
    /// The one number that all randomness comes from.
    #[serde(default)]
    pub seed: u64,
    /// The corpora. Their paths, and the lexicon's, are relative to `--data`, else to the folder of this file.
    #[serde(rename = "corpus")]
    pub corpora: Vec<CorpusConfig>,
    /// Pronunciations in the format of the CMU dictionary.
    pub lexicon: PathBuf,
    /// Phone that stands for an unknown word; a symbol of both graphs.
    pub filler: String,
    /// The flat start.
    pub gmm: GmmStage,
    /// Features of the network.
    #[serde(default)]
    pub features: FeatureConfig,
    /// The network.
    pub network: NetworkConfig,
    /// Graph file of the search, relative to this file; its frame is the network's.
    pub graph: PathBuf,
    /// Passes of network training; after each but the last the corpora are realigned with the network.
    pub pass: Vec<TrainerConfig>,
    /// The phone n-gram.
    pub ngram: NgramConfig,
}

/// One corpus of a training run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusConfig {
    /// The manifest.
    pub manifest: PathBuf,
    /// Whole speakers taken out of training, to tune on.
    #[serde(default)]
    pub development_speakers: usize,
}

/// The Gaussian-mixture HMM that makes the first alignment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GmmStage {
    /// Graph file of the alignment, relative to `train.toml`.
    pub graph: PathBuf,
    /// Its features.
    pub features: FeatureConfig,
    /// EM and mixtures.
    #[serde(default)]
    pub training: GmmConfig,
}

/// The phone n-gram that weighs the graph.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NgramConfig {
    /// Order; 2 is a bigram.
    pub order: usize,
    /// Histories seen less often are left out.
    #[serde(default)]
    pub min_history_count: u64,
}

impl TrainConfig {
    /// Reads `path`; paths in it are made absolute against its folder, those of data against `data` when given.
    ///
    /// # Errors
    /// [`Error::Config`] naming key and position for unknown keys and wrong values.
    pub fn read(path: &Path, data: Option<&Path>) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io("read", path, source))?;
        let wrong = |reason: String| Error::Config { path: path.to_owned(), reason };
        let mut config: Self = settings::parse(&text).map_err(wrong)?;
        let here = path.parent().unwrap_or(Path::new(""));
        let data = data.unwrap_or(here);
        config.corpora.iter_mut().for_each(|corpus| corpus.manifest = data.join(&corpus.manifest));
        config.lexicon = data.join(&config.lexicon);
        config.graph = here.join(&config.graph);
        config.gmm.graph = here.join(&config.gmm.graph);
        config.check().map_err(|error| wrong(error.to_string()))?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        self.features.check()?;
        self.gmm.features.check()?;
        let (rate, gmm_rate) = (self.features.sample_rate_hz, self.gmm.features.sample_rate_hz);
        if gmm_rate != rate {
            let (key, value) = ("gmm.features.sample_rate_hz", format!("{gmm_rate} beside {rate} of [features]"));
            return Err(Error::Setting { key, value, expected: "one rate for both" });
        }
        let at_least_one = |key, value: usize| match value {
            0 => Err(Error::Setting { key, value: "0".into(), expected: "at least 1" }),
            _ => Ok(()),
        };
        self.check_grid()?;
        self.gmm.training.check()?;
        self.network.check()?;
        self.pass.iter().try_for_each(TrainerConfig::check)?;
        let NgramConfig { order, min_history_count } = self.ngram;
        NgramOptions { order, min_history_count }.check().map_err(|error| Error::Other(format!("[ngram] {error}")))?;
        at_least_one("number of [[corpus]] tables", self.corpora.len())?;
        at_least_one("number of [[pass]] tables", self.pass.len())
    }

    /// Frames must be centred on their shifts, as phone times count on it, and the network's come before an utterance ends.
    fn check_grid(&self) -> Result<()> {
        if self.features.snip_edges || self.gmm.features.snip_edges {
            let (key, expected) = ("snip_edges", "false: phone times count on frames over the whole audio");
            return Err(Error::Setting { key, value: "true".into(), expected });
        }
        match self.features.normalisation {
            Normalisation::Utterance | Normalisation::Speaker => Err(Error::Setting {
                key: "features.normalisation",
                value: format!("{:?}", self.features.normalisation).to_lowercase(),
                expected: "none, global or sliding: decoding does not wait for the end of the utterance",
            }),
            _ => Ok(()),
        }
    }
}
