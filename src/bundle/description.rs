//! The part that people read: `bundle.toml`.

use serde::{Deserialize, Serialize};

use crate::emission::HybridScales;
use crate::features::FeatureConfig;
use crate::network::NetworkConfig;
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
    /// How samples become frames.
    pub features: FeatureConfig,
    /// Shape of the network.
    pub network: NetworkConfig,
    /// What `senone tune` chose.
    pub search: SearchSettings,
    /// What its own recipe measured.
    #[serde(default, rename = "score", skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
}

/// Settings of the search, chosen on development data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// Weight of emissions.
    pub acoustic_scale: f32,
    /// Weight of log-priors.
    pub prior_scale: f32,
    /// Weight of the phone n-gram.
    pub lm_scale: f32,
    /// Added per symbol entered, natural log.
    pub insertion_penalty: f32,
    /// Pruning width, natural log.
    pub beam: f32,
    /// Most states kept alive in a frame.
    pub max_active: usize,
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

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            acoustic_scale: 1.0,
            prior_scale: 1.0,
            lm_scale: 1.0,
            insertion_penalty: 0.0,
            beam: 16.0,
            max_active: 3000,
        }
    }
}

impl SearchSettings {
    /// The two scales that make emissions.
    pub fn hybrid(&self) -> HybridScales {
        HybridScales { acoustic_scale: self.acoustic_scale, prior_scale: self.prior_scale }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// [`Error::Setting`] naming key, value and the range allowed.
    pub fn check(&self) -> Result<()> {
        let wrong = |key, value: f32, expected| Err(Error::Setting { key, value: value.to_string(), expected });
        let scale_ok = |scale: f32| scale.is_finite() && scale > 0.0;
        let weight_ok = |weight: f32| weight.is_finite() && weight >= 0.0;
        match self {
            s if !scale_ok(s.acoustic_scale) => wrong("acoustic scale", s.acoustic_scale, "a number above 0"),
            s if !weight_ok(s.prior_scale) => wrong("prior scale", s.prior_scale, "a number of at least 0"),
            s if !weight_ok(s.lm_scale) => wrong("LM scale", s.lm_scale, "a number of at least 0"),
            s if !s.insertion_penalty.is_finite() => wrong("insertion penalty", s.insertion_penalty, "a finite number"),
            s if s.beam.is_nan() || s.beam <= 0.0 => wrong("beam", s.beam, "a number above 0"),
            s if s.max_active == 0 => wrong("max active", 0.0, "at least 1"),
            _ => Ok(()),
        }
    }
}

impl Description {
    /// A description of a model that nobody has tuned or scored yet.
    pub fn new(name: &str, description: &str, features: FeatureConfig, network: NetworkConfig) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            description: description.to_owned(),
            features,
            network,
            search: SearchSettings::default(),
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
