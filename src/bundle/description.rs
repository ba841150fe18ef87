//! The part that people read: `bundle.toml`.

use serde::{Deserialize, Serialize};

use crate::features::FeatureConfig;
use crate::network::NetworkConfig;
use crate::search::{ConfidenceSettings, SearchSettings};
use crate::{Error, Result, settings};

/// The version of the bundle's layout that this program writes and reads.
const FORMAT: u32 = 1;

/// Settings and credits of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Version of the layout.
    format: u32,
    /// Name of the model.
    pub name: String,
    /// Corpora, licences and credits.
    pub description: String,
    /// The phone that training let stand for words without pronunciation, if there was one: decoding never hears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filler: Option<String>,
    /// How samples become frames.
    pub features: FeatureConfig,
    /// Shape of the network.
    pub network: NetworkConfig,
    /// What `senone tune` chose.
    pub search: SearchSettings,
    /// How posteriors become confidences; in models that say nothing of it they are taken as they are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confidence: ConfidenceSettings,
    /// What its own recipe measured.
    #[serde(default, rename = "score", skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Test set.
    pub test: String,
    /// Phone error rate, percent.
    pub phone_error_percent: f64,
    /// 95 % interval, percent.
    pub interval_percent: [f64; 2],
}

fn is_default(confidence: &ConfidenceSettings) -> bool {
    *confidence == ConfidenceSettings::default()
}

impl Description {
    /// A description of a model that nobody has tuned or scored yet.
    pub fn new(name: &str, description: &str, features: FeatureConfig, network: NetworkConfig) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            description: description.to_owned(),
            filler: None,
            features,
            network,
            search: SearchSettings::default(),
            confidence: ConfidenceSettings::default(),
            scores: Vec::new(),
        }
    }

    /// Notes `score`, in place of an earlier one of the same test.
    pub fn record(&mut self, score: Score) {
        self.scores.retain(|other| other.test != score.test);
        self.scores.push(score);
    }

    /// Reads `bundle.toml`; the error is a reason without the file's name.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, String> {
        let table: toml::Table = settings::parse(text)?;
        match table.get("format").and_then(toml::Value::as_integer) {
            Some(found) if found == i64::from(FORMAT) => {}
            Some(found) => {
                return Err(format!(
                    "format = {found}: expected format = {FORMAT}, the one this version reads; get a model of that format \
                     or another version of senone"
                ));
            }
            None => return Err(format!("no `format` key: expected format = {FORMAT}")),
        }
        let description: Self = settings::parse(text)?;
        description.features.check().map_err(|error| error.to_string())?;
        description.search.check().map_err(|error| error.to_string())?;
        description.confidence.check().map_err(|error| error.to_string())?;
        Ok(description)
    }

    /// The text of `bundle.toml`.
    ///
    /// # Errors
    /// [`Error::Other`] when a value cannot be written as TOML.
    pub(super) fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::Other(format!("bundle.toml: {error}")))
    }
}
