//! Which learner makes a tagger, and its settings.
//!
//! A learner is called by where its scores come from and what is made of them: `crf`, `svm`, ... are linear in the features of
//! the template; `bilstm-crf` is a network under a CRF, `bilstm` the network alone.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;

#[cfg(feature = "neural")]
use super::neural::NeuralSettings;
use crate::error::{in_table, require};
use crate::learn::criterion::HammingCost;
use crate::learn::gradient::{BatchConfig, StochasticConfig};
use crate::{Error, Result, settings};

/// Where scores come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Weights of the template's features.
    Linear,
    /// A long short-term memory network that reads from left to right.
    Lstm,
    /// One in each direction.
    BiLstm,
    /// A time-delay network.
    Tdnn,
}

/// What is made of the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Probabilities by counts; of a network its posteriors divided by priors.
    Hmm,
    /// The probability of the whole sequence.
    Crf,
    /// The averaged perceptron.
    Perceptron,
    /// The structured support vector machine.
    Svm,
    /// Every token by itself: softmax, and the best tag that the graph permits.
    Softmax,
}

/// A kind of tagger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learner {
    /// Where scores come from.
    pub source: Source,
    /// What is made of them.
    pub method: Method,
}

const SOURCES: [(&str, Source); 3] = [("lstm", Source::Lstm), ("bilstm", Source::BiLstm), ("tdnn", Source::Tdnn)];
const METHODS: [(&str, Method); 4] =
    [("hmm", Method::Hmm), ("crf", Method::Crf), ("perceptron", Method::Perceptron), ("svm", Method::Svm)];

impl Learner {
    /// Every learner by its name.
    pub fn all() -> impl Iterator<Item = Self> {
        let linear = METHODS.map(|(_, method)| Self { source: Source::Linear, method });
        let networks = SOURCES.into_iter().flat_map(|(_, source)| {
            let methods = [Method::Softmax, Method::Hmm, Method::Crf, Method::Svm];
            methods.map(|method| Self { source, method })
        });
        linear.into_iter().chain(networks)
    }
}

impl fmt::Display for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = SOURCES.iter().find(|(_, source)| *source == self.source).map(|(name, _)| *name);
        let method = METHODS.iter().find(|(_, method)| *method == self.method).map(|(name, _)| *name);
        f.write_str(&source.into_iter().chain(method).collect::<Vec<_>>().join("-"))
    }
}

impl FromStr for Learner {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::all().find(|learner| learner.to_string() == name).ok_or_else(|| {
            let names: Vec<String> = Self::all().map(|learner| learner.to_string()).collect();
            Error::Other(format!("no learner is called {name:?}: expected one of {}", names.join(", ")))
        })
    }
}

/// Settings of all learners; a file of them needs only what differs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TagSettings {
    /// The one number that all randomness comes from.
    pub seed: u64,
    /// Which pairs of a feature and a tag have a weight in linear models; hidden Markov models have all of them.
    pub pairs: Pairs,
    /// Added to the score of a tag wherever it stands, once training is done, natural log: below 0 for a tag that comes out too
    /// often for what the tagger is wanted for. With O at -1 more entities are found, and more that are none.
    pub bias: BTreeMap<String, f32>,
    /// Hidden Markov model by counts.
    pub hmm: HmmSettings,
    /// Conditional random field.
    pub crf: CrfSettings,
    /// Averaged perceptron.
    pub perceptron: PerceptronSettings,
    /// Support vector machine.
    pub svm: SvmSettings,
    /// Networks.
    #[cfg(feature = "neural")]
    pub network: NeuralSettings,
}

/// Which pairs of a feature and a tag have a weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Those that training has seen together.
    #[default]
    Observed,
    /// All.
    All,
}

/// Settings of a hidden Markov model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HmmSettings {
    /// Added to every count, 0 or more; with 0 what was not seen is impossible.
    pub smoothing: f64,
}

impl Default for HmmSettings {
    fn default() -> Self {
        Self { smoothing: 0.1 }
    }
}

impl HmmSettings {
    fn check(&self) -> Result<()> {
        let smoothing = self.smoothing;
        require(smoothing.is_finite() && smoothing >= 0.0, "smoothing", smoothing, "a number, 0 or more")
    }
}

/// How a CRF is trained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrfMethod {
    /// By limited-memory BFGS.
    #[default]
    LBfgs,
    /// By stochastic gradient.
    Stochastic,
}

/// Settings of a CRF.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrfSettings {
    /// Which optimiser.
    pub method: CrfMethod,
    /// L-BFGS.
    pub l_bfgs: BatchConfig,
    /// Stochastic gradient; its seed is that of all learners.
    pub stochastic: StochasticConfig,
}

/// Settings of the perceptron.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PerceptronSettings {
    /// Passes over the sequences, from 1; with a development file the best of them is kept.
    pub epochs: usize,
}

impl Default for PerceptronSettings {
    fn default() -> Self {
        Self { epochs: 10 }
    }
}

impl PerceptronSettings {
    fn check(&self) -> Result<()> {
        require(self.epochs > 0, "epochs", self.epochs, "a whole number from 1")
    }
}

/// How a support vector machine is trained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SvmMethod {
    /// Stochastic sub-gradient.
    #[default]
    SubGradient,
    /// Cutting planes, to a duality gap.
    CuttingPlanes,
    /// Block-coordinate Frank-Wolfe, to a duality gap.
    FrankWolfe,
}

/// Settings of a support vector machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SvmSettings {
    /// Which solver.
    pub method: SvmMethod,
    /// Weight of the losses, above 0: `c * sum_i hinge_i + 1/2 |theta|^2` is made small.
    pub c: f64,
    /// What a wrong tag should cost.
    pub cost: HammingCost,
    /// Passes of the sub-gradient over the sequences, from 1; with a development file the best of them is kept.
    pub epochs: usize,
    /// The other two stop when the duality gap is this share of the objective, 0 or more and below 1 ...
    pub relative_gap: f64,
    /// ... or after this many rounds, from 1, which they say.
    pub max_rounds: usize,
}

impl Default for SvmSettings {
    fn default() -> Self {
        let (method, cost) = (SvmMethod::default(), HammingCost::default());
        Self { method, c: 0.1, cost, epochs: 20, relative_gap: 1e-3, max_rounds: 2000 }
    }
}

impl SvmSettings {
    fn check(&self) -> Result<()> {
        let (c, cost, gap) = (self.c, self.cost.per_frame, self.relative_gap);
        require(self.epochs > 0, "epochs", self.epochs, "a whole number from 1")?;
        require(self.max_rounds > 0, "max_rounds", self.max_rounds, "a whole number from 1")?;
        require(c.is_finite() && c > 0.0, "c", c, "a number above 0")?;
        require(cost.is_finite() && cost > 0.0, "cost.per_frame", cost, "a number above 0")?;
        require((0.0..1.0).contains(&gap), "relative_gap", gap, "a number from 0, below 1")
    }
}

impl TagSettings {
    /// Reads `path`.
    ///
    /// # Errors
    /// [`Error::Config`] naming key and position for unknown keys and wrong values.
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::input::text(path)?;
        let wrong = |reason: String| Error::Config { path: path.to_owned(), reason };
        let all: Self = settings::parse(&text).map_err(wrong)?;
        all.check().map_err(|error| wrong(error.to_string()))?;
        Ok(all)
    }

    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Table`] naming table, key and value.
    pub fn check(&self) -> Result<()> {
        let finite = |(tag, bias): (&String, &f32)| {
            require(bias.is_finite(), "bias", format!("{bias} for {tag:?}"), "a finite number")
        };
        in_table("bias", self.bias.iter().try_for_each(finite))?;
        in_table("hmm", self.hmm.check())?;
        in_table("perceptron", self.perceptron.check())?;
        in_table("svm", self.svm.check())?;
        #[cfg(feature = "neural")]
        in_table("network", self.network.check())?;
        in_table("crf.l_bfgs", self.crf.l_bfgs.check())?;
        in_table("crf.stochastic", self.crf.stochastic.check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_learner_is_found_by_its_name() {
        for learner in Learner::all() {
            assert_eq!(learner.to_string().parse::<Learner>().unwrap(), learner);
        }
        let bilstm_crf = Learner { source: Source::BiLstm, method: Method::Crf };
        assert_eq!(bilstm_crf.to_string(), "bilstm-crf");
        assert_eq!("lstm".parse::<Learner>().unwrap().method, Method::Softmax);
        for bad in ["", "-crf", "crf-", "BiLSTM", "bilstm-perceptron"] {
            let error = bad.parse::<Learner>().unwrap_err().to_string();
            assert!(error.contains("expected one of hmm, crf, perceptron, svm, lstm, lstm-hmm,"), "{error}");
        }
    }

    /// The blocks of TOML in the documentation.
    fn documented() -> Vec<&'static str> {
        let text = include_str!("../../docs/tagging.md");
        text.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect()
    }

    #[cfg(feature = "neural")]
    #[test]
    fn the_documentation_shows_the_defaults() {
        let settings: TagSettings = settings::parse(documented()[1]).unwrap();
        assert_eq!(settings, TagSettings::default());
    }

    #[test]
    fn the_documentation_shows_a_template() {
        let template = crate::tagging::Template::parse_as("t.toml".as_ref(), documented()[0]).unwrap();
        assert_eq!(template.features_per_token(), 7);
    }

    #[test]
    fn settings_are_named_when_they_are_wrong() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("s.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            TagSettings::read(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read("").unwrap(), TagSettings::default());
        let found =
            read("seed = 3\n[svm]\nmethod = \"frank-wolfe\"\ncost = { per_frame = 2.0, unit = \"share\" }").unwrap();
        assert_eq!((found.seed, found.svm.method, found.svm.cost.per_frame), (3, SvmMethod::FrankWolfe, 2.0));
        for (text, expected) in [
            ("[bias]\nO = inf", "[bias] bias = inf for \"O\": expected a finite number"),
            ("hmm.smoothing = -1.0", "[hmm] smoothing = -1: expected a number, 0 or more"),
            ("perceptron.epochs = 0", "[perceptron] epochs = 0: expected a whole number from 1"),
            ("[svm]\nc = 0.0", "[svm] c = 0: expected a number above 0"),
            ("svm.cost.per_frame = 0.0", "[svm] cost.per_frame = 0: expected a number above 0"),
            ("crf.l_bfgs.l2 = -1.0", "[crf.l_bfgs] l2 = -1: expected a number, 0 or more"),
            ("crf.stochastic.epochs = 0", "[crf.stochastic] epochs = 0: expected at least 1"),
        ] {
            assert_eq!(read(text).unwrap_err(), format!("{}: {expected}", path.display()));
        }
        let wrong = TagSettings { svm: SvmSettings { c: 0.0, ..SvmSettings::default() }, ..TagSettings::default() };
        let error = wrong.check().unwrap_err();
        assert!(matches!(&error, Error::Table { table: "svm", source } if matches!(**source, Error::Setting { .. })));
        assert!(read("[svm]\nd = 0.0").unwrap_err().contains("line 2, column 1: unknown field `d`"));
    }
}
