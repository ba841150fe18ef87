//! `train.toml`: everything that a training run is told, as plain structs with defaults.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::align::{Words, are_known, is_one_known};
use crate::emission::HybridScales;
use crate::error::{in_table, require};
use crate::features::{FeatureConfig, Normalisation};
use crate::graph::lexicon::pinyin::named;
use crate::graph::ngram::{NgramOptions, Smoothing};
use crate::learn::criterion::{CostUnit, Criterion, HammingCost};
use crate::learn::gmm::GmmConfig;
use crate::learn::neural::TrainerConfig;
use crate::learn::tree::TreeConfig;
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
    /// Pronunciations in the format of the CMU dictionary, or `pinyin` or `pinyin-toned`. Without it every token of a transcript is
    /// a phone.
    pub lexicon: Option<PathBuf>,
    /// Phone that stands for a word that the lexicon lacks; a symbol of both graphs.
    pub filler: Option<String>,
    /// The flat start; not needed where training starts from a model.
    pub gmm: Option<GmmStage>,
    /// States tied across contexts, of the Gaussian model and of the network; without it a phone is the same among all neighbours,
    /// which is better where data is small.
    pub context: Option<TreeConfig>,
    /// Features of the network.
    #[serde(default)]
    pub features: FeatureConfig,
    /// The network.
    pub network: NetworkConfig,
    /// Graph file of the search, relative to this file; its frame is the network's.
    pub graph: PathBuf,
    /// What is learnt by the passes.
    #[serde(default)]
    pub learner: Learner,
    /// Passes of network training; before each, the first excepted, the corpora are realigned with the network, and so they are
    /// before `[sequence]`.
    #[serde(default)]
    pub pass: Vec<TrainerConfig>,
    /// Sequence training of the hybrid's network, after the passes.
    pub sequence: Option<SequenceStage>,
    /// The phone n-gram. Without it a model that training starts from keeps its own, and with that its priors, its transitions and
    /// the settings of its search: only its network learns.
    pub ngram: Option<NgramConfig>,
}

/// What a network learns from the first alignment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Learner {
    /// Posteriors of frames, by cross-entropy; with priors and an n-gram they decode.
    #[default]
    Hybrid,
    /// Scores of frames and of the graph's transitions together, by the log-likelihood of the first alignment's path.
    Crf,
    /// The same by the perceptron's criterion.
    Perceptron,
    /// The same by the structured hinge loss, a wrong frame costing 1.
    Svm,
}

impl Learner {
    /// What whole sequences are judged by, which the hybrid's passes do not do.
    pub fn criterion(self) -> Option<Criterion> {
        match self {
            Self::Hybrid => None,
            Self::Crf => Some(Criterion::LogLikelihood),
            Self::Perceptron => Some(Criterion::Perceptron),
            Self::Svm => Some(Criterion::Margin(HammingCost::default())),
        }
    }
}

/// Sequence training: right is every alignment of the transcript, wrong is the whole graph with a phone n-gram of the training
/// alignments; both score a phone sequence by that n-gram.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceStage {
    /// What is to be made small.
    pub criterion: SequenceCriterion,
    /// Weight of emissions against the n-gram, which weighs 1.
    pub acoustic_scale: f32,
    /// Weight of the log-priors in emissions.
    pub prior_scale: f32,
    /// Share of the frames' cross-entropy in the loss, at least 0 and below 1.
    #[serde(default)]
    pub cross_entropy_share: f32,
    /// What a wrong frame costs, for the margin.
    #[serde(default = "one")]
    pub cost_per_frame: f32,
    /// The n-gram of the graph: small, for time and since a weak one leaves more to learn.
    #[serde(default)]
    pub ngram: NgramConfig,
    /// Epochs and steps.
    pub training: TrainerConfig,
}

fn one() -> f32 {
    1.0
}

/// The criteria of sequence training; see [`Criterion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SequenceCriterion {
    /// Maximum mutual information: the log-likelihood of the transcript.
    Mmi,
    /// One minus the posterior of the transcript.
    Posterior,
    /// The best path against the transcript's best.
    Perceptron,
    /// The same with a cost for each wrong frame.
    Margin,
}

impl SequenceStage {
    /// The criterion with its settings.
    pub fn criterion(&self) -> Criterion {
        match self.criterion {
            SequenceCriterion::Mmi => Criterion::LogLikelihood,
            SequenceCriterion::Posterior => Criterion::Posterior,
            SequenceCriterion::Perceptron => Criterion::Perceptron,
            SequenceCriterion::Margin => {
                Criterion::Margin(HammingCost { per_frame: self.cost_per_frame, unit: CostUnit::Frames })
            }
        }
    }

    /// From a network's output to emissions.
    pub fn scales(&self) -> HybridScales {
        HybridScales { acoustic_scale: self.acoustic_scale, prior_scale: self.prior_scale }
    }

    fn check(&self) -> Result<()> {
        let (share, cost) = (self.cross_entropy_share, self.cost_per_frame);
        require((0.0..1.0).contains(&share), "cross_entropy_share", share, "a share, at least 0 and below 1")?;
        require(cost.is_finite() && cost >= 0.0, "cost_per_frame", cost, "a number of at least 0")?;
        self.scales().check()?;
        self.ngram.check()?;
        self.training.check()
    }
}

/// One corpus of a training run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusConfig {
    /// A manifest, or a corpus of another layout, see [`crate::data::source`].
    pub source: PathBuf,
    /// What it is for.
    #[serde(default, rename = "use")]
    pub role: CorpusUse,
    /// Whole speakers taken out of training, to tune on.
    #[serde(default)]
    pub development_speakers: usize,
    /// Utterances taken out of training, to tune on, where speakers are too few.
    #[serde(default)]
    pub development_utterances: usize,
}

/// What a corpus is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CorpusUse {
    /// To learn from, but for what is taken out.
    #[default]
    Training,
    /// All of it to tune on.
    Development,
}

impl CorpusConfig {
    fn check(&self) -> Result<()> {
        let wrong = |key, value: usize, expected| Err(Error::Setting { key, value: value.to_string(), expected });
        match (self.role, self.development_speakers, self.development_utterances) {
            (CorpusUse::Training, 0, _) | (CorpusUse::Training, _, 0) | (CorpusUse::Development, 0, 0) => Ok(()),
            (CorpusUse::Training, _, utterances) => {
                wrong("development_utterances", utterances, "0 beside development_speakers: take out one or the other")
            }
            (CorpusUse::Development, 0, utterances) => {
                wrong("development_utterances", utterances, "0: the whole corpus is for development")
            }
            (CorpusUse::Development, speakers, _) => {
                wrong("development_speakers", speakers, "0: the whole corpus is for development")
            }
        }
    }
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
    /// Whether the phone error of each Gaussian model on the development set is told: takes minutes, and needs that set.
    #[serde(default)]
    pub report: bool,
}

/// A phone n-gram that weighs the graph: of the phones that the training utterances were aligned to, mixed with what text says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NgramConfig {
    /// Order; 2 is a bigram.
    pub order: usize,
    /// How seen and unseen share.
    pub smoothing: Smoothing,
    /// Histories seen less often are left out.
    pub min_history_count: u64,
    /// Most histories, those that matter most; each costs the graph as many arcs as there are phones.
    pub max_histories: Option<usize>,
    /// Texts of words, whose phones the lexicon tells; without one, of phones.
    pub text: Vec<TextConfig>,
}

/// A text that a phone n-gram is mixed with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextConfig {
    /// Words, a sentence on each line; relative to `--data`.
    pub file: PathBuf,
    /// What its n-gram counts in the mixture, above 0; what all texts leave of 1 is the training utterances'.
    pub share: f64,
}

impl Default for NgramConfig {
    fn default() -> Self {
        let NgramOptions { order, smoothing, min_history_count } = NgramOptions::default();
        Self { order, smoothing, min_history_count, max_histories: None, text: Vec::new() }
    }
}

impl NgramConfig {
    /// As the estimate takes them.
    pub fn options(&self) -> NgramOptions {
        NgramOptions { order: self.order, smoothing: self.smoothing, min_history_count: self.min_history_count }
    }

    /// What the n-gram of the training utterances counts in the mixture.
    pub fn own_share(&self) -> f64 {
        1.0 - self.text.iter().map(|text| text.share).sum::<f64>()
    }

    fn check(&self) -> Result<()> {
        let shares = || self.text.iter().map(|text| text.share);
        let is_mixture = shares().all(|share| share > 0.0) && self.own_share() > 0.0;
        let checked = self.options().check().and_then(|()| {
            let value = || shares().map(|share| share.to_string()).collect::<Vec<_>>().join(", ");
            require(is_mixture, "text.share", value(), "numbers above 0 whose sum is below 1")?;
            require(self.max_histories != Some(0), "max_histories", 0, "at least 1")
        });
        in_table("ngram", checked)
    }
}

impl TrainConfig {
    /// Reads `path`; paths in it are made absolute against its folder, those of data against `data` when given.
    ///
    /// # Errors
    /// [`Error::Config`] naming key and position for unknown keys and wrong values.
    pub fn read(path: &Path, data: Option<&Path>) -> Result<Self> {
        let text = crate::input::text(path)?;
        let wrong = |reason: String| Error::Config { path: path.to_owned(), reason };
        let parsed = settings::parse(&text).map_err(|reason| NetworkConfig::fault(&text).unwrap_or(reason));
        let mut config: Self = parsed.map_err(wrong)?;
        let here = path.parent().unwrap_or(Path::new(""));
        let data = data.unwrap_or(here);
        config.corpora.iter_mut().for_each(|corpus| corpus.source = data.join(&corpus.source));
        config.lexicon =
            config.lexicon.map(|lexicon| if named(&lexicon).is_some() { lexicon } else { data.join(lexicon) });
        let ngrams = config.ngram.iter_mut().chain(config.sequence.iter_mut().map(|stage| &mut stage.ngram));
        ngrams.flat_map(|ngram| &mut ngram.text).for_each(|text| text.file = data.join(&text.file));
        config.graph = here.join(&config.graph);
        if let Some(gmm) = &mut config.gmm {
            gmm.graph = here.join(&gmm.graph);
        }
        config.check().map_err(|error| wrong(error.to_string()))?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        self.features.check()?;
        self.check_grid()?;
        if let Some(gmm) = &self.gmm {
            self.check_gmm(gmm)?;
        }
        if let Some(context) = &self.context {
            in_table("context", context.check())?;
        }
        in_table("network", self.network.check())?;
        self.pass.iter().try_for_each(TrainerConfig::check)?;
        if let Some(stage) = &self.sequence {
            in_table("sequence", stage.check())?;
        }
        self.ngram.iter().try_for_each(NgramConfig::check)?;
        at_least_one("number of [[corpus]] tables", self.corpora.len())?;
        self.corpora.iter().try_for_each(CorpusConfig::check)?;
        let teaches = self.corpora.iter().any(|corpus| corpus.role == CorpusUse::Training);
        require(teaches, "use", "development in all [[corpus]] tables", "training in one at least, to learn from")?;
        self.check_filler()?;
        self.check_learner()?;
        if self.has_development() { Ok(()) } else { self.check_patience(std::iter::empty()) }
    }

    /// The training of each pass, then that of sequences.
    pub(super) fn trainings(&self) -> impl Iterator<Item = &TrainerConfig> {
        self.pass.iter().chain(self.sequence.as_ref().map(|stage| &stage.training))
    }

    /// The texts of the n-gram of sequence training, then of the model's.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Path> {
        let ngrams = self.sequence.as_ref().map(|stage| &stage.ngram).into_iter().chain(&self.ngram);
        ngrams.flat_map(|ngram| &ngram.text).map(|text| text.file.as_path())
    }

    /// Whether one of the `development` transcripts can be scored, if some training is to stop by them.
    ///
    /// # Errors
    /// [`Error::Setting`] naming `patience`.
    pub(super) fn check_patience<'a>(&self, mut development: impl Iterator<Item = &'a Words>) -> Result<()> {
        match self.trainings().find(|training| training.patience > 0) {
            Some(training) if !development.any(|words| are_known(words, self.filler.as_deref())) => {
                Err(impatient(training))
            }
            _ => Ok(()),
        }
    }

    /// Whether one of the `training` transcripts has a word that is known: of others nothing can be learnt.
    ///
    /// # Errors
    /// [`Error::Other`] saying so.
    pub(super) fn check_known<'a>(&self, mut training: impl Iterator<Item = &'a Words>) -> Result<()> {
        match training.any(|words| is_one_known(words, self.filler.as_deref())) {
            true => Ok(()),
            false => Err(Error::Other(
                "no word of the training utterances is in the lexicon: give one of their language and spelling".into(),
            )),
        }
    }

    /// A lexicon needs a phone for the words that it lacks; without one no word can be unknown. What is no pinyin is told instead.
    fn check_filler(&self) -> Result<()> {
        let wrong = |value: String, expected| Err(Error::Setting { key: "filler", value, expected });
        match (&self.lexicon, &self.filler) {
            (Some(lexicon), None) if named(lexicon).is_none() => {
                wrong("none".into(), "a phone for words that the lexicon lacks, as in filler = \"SPN\"")
            }
            (None, Some(filler)) => wrong(filler.clone(), "none without a lexicon: then every token is a phone"),
            _ => Ok(()),
        }
    }

    fn check_gmm(&self, gmm: &GmmStage) -> Result<()> {
        gmm.features.check()?;
        gmm.training.check()?;
        let (rate, gmm_rate) = (self.features.sample_rate_hz, gmm.features.sample_rate_hz);
        if gmm_rate != rate {
            let (key, value) = ("gmm.features.sample_rate_hz", format!("{gmm_rate} beside {rate} of [features]"));
            return Err(Error::Setting { key, value, expected: "one rate for both" });
        }
        Ok(())
    }

    /// The hybrid has passes or sequence training; what learns sequences from the start has one pass, all of which counts.
    fn check_learner(&self) -> Result<()> {
        if self.learner == Learner::Hybrid {
            return at_least_one("number of [[pass]] tables", self.pass.len() + usize::from(self.sequence.is_some()));
        }
        let wrong = |key, value: String, expected| Err(Error::Setting { key, value, expected });
        match self.pass.as_slice() {
            _ if self.sequence.is_some() => wrong("[sequence]", "given".into(), "none beside this learner"),
            [pass] if pass.label_smoothing > 0.0 => wrong(
                "label_smoothing",
                pass.label_smoothing.to_string(),
                "0 with this learner: it has no soft targets",
            ),
            [_] => Ok(()),
            passes => wrong("number of [[pass]] tables", passes.len().to_string(), "1 with this learner"),
        }
    }

    /// Frames must be centred on their shifts, as phone times count on it, and the network's come before an utterance ends.
    fn check_grid(&self) -> Result<()> {
        if self.features.snip_edges || self.gmm.as_ref().is_some_and(|gmm| gmm.features.snip_edges) {
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

/// There is nothing by which `training` could stop early.
pub(super) fn impatient(training: &TrainerConfig) -> Error {
    let expected = "0 without development utterances whose words are known: their phone error is what it goes by";
    Error::Setting { key: "patience", value: training.patience.to_string(), expected }
}

fn at_least_one(key: &'static str, value: usize) -> Result<()> {
    match value {
        0 => Err(Error::Setting { key, value: "0".into(), expected: "at least 1" }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = r#"name = "n"
description = "d"
lexicon = "l"
filler = "f"
graph = "g"
corpus = [{ source = "m" }]
ngram = { order = 2 }
features = { normalisation = "global" }
network = { kind = "mlp" }
"#;

    fn checked(more: &str) -> std::result::Result<TrainConfig, String> {
        let config: TrainConfig = settings::parse(&format!("{more}\n{SETTINGS}")).unwrap();
        config.check().map(|()| config).map_err(|error| error.to_string())
    }

    #[test]
    fn sequence_training_is_read_and_checked() {
        let stage = |more: &str| {
            let scales = "criterion = 'margin', acoustic_scale = 1.0, prior_scale = 0.3, training = { epochs = 1 }";
            checked(&format!("sequence = {{ {scales}{more} }}"))
        };
        let found = stage("").unwrap().sequence.unwrap();
        assert_eq!(found.criterion(), Criterion::Margin(HammingCost { per_frame: 1.0, unit: CostUnit::Frames }));
        assert_eq!((found.ngram.order, found.cross_entropy_share), (2, 0.0));
        let wrong = |more: &str| stage(more).unwrap_err();
        let share = "[sequence] cross_entropy_share = 1: expected a share, at least 0 and below 1";
        assert_eq!(wrong(", cross_entropy_share = 1.0"), share);
        assert_eq!(wrong(", cost_per_frame = -1.0"), "[sequence] cost_per_frame = -1: expected a number of at least 0");
        assert!(wrong(", ngram = { order = 0 }").starts_with("[sequence] [ngram] order = 0"));
    }

    #[test]
    fn words_need_a_filler_and_corpora_have_one_use() {
        let wrong = |from: &str, to: &str| {
            let config: TrainConfig =
                settings::parse(&format!("pass = [{{}}]\n{}", SETTINGS.replace(from, to))).unwrap();
            config.check().map_err(|error| error.to_string())
        };
        let filler = "filler = none: expected a phone for words that the lexicon lacks, as in filler = \"SPN\"";
        assert_eq!(wrong("filler = \"f\"\n", "").unwrap_err(), filler);
        let none = "filler = f: expected none without a lexicon: then every token is a phone";
        assert_eq!(wrong("lexicon = \"l\"\n", "").unwrap_err(), none);
        let corpus = |more: &str| wrong("source = \"m\"", &format!("source = \"m\", {more}"));
        assert!(corpus("development_utterances = 2").is_ok());
        assert!(corpus("use = \"development\" }, { source = \"n\"").is_ok());
        let nothing = "use = development in all [[corpus]] tables: expected training in one at least, to learn from";
        assert_eq!(corpus("use = \"development\"").unwrap_err(), nothing);
        let both = corpus("development_utterances = 2, development_speakers = 1").unwrap_err();
        assert_eq!(
            both,
            "development_utterances = 2: expected 0 beside development_speakers: take out one or the other"
        );
        let whole = corpus("use = \"development\", development_speakers = 1").unwrap_err();
        assert_eq!(whole, "development_speakers = 1: expected 0: the whole corpus is for development");
    }

    #[test]
    fn texts_leave_the_training_utterances_a_share() {
        let ngram = |text: &str| settings::parse::<NgramConfig>(text).unwrap();
        let mixed =
            ngram("smoothing = 'kneser-ney'\ntext = [{ file = 'a', share = 0.2 }, { file = 'b', share = 0.3 }]");
        assert!(mixed.check().is_ok() && (mixed.own_share() - 0.5).abs() < 1e-12);
        assert_eq!(mixed.options().smoothing, Smoothing::KneserNey);
        for wrong in ["[{ file = 'a', share = 1.0 }]", "[{ file = 'a', share = 0.0 }]", "[{ file = 'a', share = nan }]"]
        {
            let error = ngram(&format!("text = {wrong}")).check().unwrap_err().to_string();
            assert!(error.starts_with("[ngram] text.share = "), "{error}");
        }
        let none = ngram("max_histories = 0").check().unwrap_err().to_string();
        assert_eq!(none, "[ngram] max_histories = 0: expected at least 1");
    }

    #[test]
    fn each_learner_says_what_it_takes() {
        assert_eq!(checked("").unwrap_err(), "number of [[pass]] tables = 0: expected at least 1");
        assert!(checked("pass = [{}, {}]").is_ok());
        assert!(checked("learner = 'svm'\npass = [{}]").is_ok());
        let two = "number of [[pass]] tables = 2: expected 1 with this learner";
        assert_eq!(checked("learner = 'svm'\npass = [{}, {}]").unwrap_err(), two);
        let smooth = checked("learner = 'crf'\npass = [{ label_smoothing = 0.1 }]").unwrap_err();
        assert_eq!(smooth, "label_smoothing = 0.1: expected 0 with this learner: it has no soft targets");
        let sequence = "sequence = { criterion = 'mmi', acoustic_scale = 1.0, prior_scale = 0.3, training = {} }";
        let both = checked(&format!("learner = 'crf'\npass = [{{}}]\n{sequence}")).unwrap_err();
        assert_eq!(both, "[sequence] = given: expected none beside this learner");
    }
}
