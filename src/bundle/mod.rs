//! What training leaves and decoding loads: a versioned folder, or the same parts from memory.
//!
//! | part | what |
//! |---|---|
//! | `bundle.toml` | version, name, credits, filler, features, network, search settings, scores of its own recipe |
//! | `graph.toml` | the graph file, as the user wrote it |
//! | `tree.txt` | the tree of tied states; only there when states are tied across contexts |
//! | `phones.arpa` | the phone n-gram that weighs the graph |
//! | `weights.safetensors` | network (f16), state priors, transition weights, feature moments (f32) |

mod builtin;
mod description;
mod parts;
mod tensors;

use std::path::{Path, PathBuf};

pub use crate::search::SearchSettings;
pub use description::{Description, Score};
pub use parts::Parts;

use crate::emission::Priors;
use crate::features::Moments;
use crate::formats::atomic::Staged;
use crate::graph::ngram::Ngram;
use crate::graph::{GraphSpec, Tree, Units, Weights};
use crate::network::{Acoustic, Network};
use crate::symbols::SymbolId;
use crate::timing::FrameTiming;
use crate::{Error, Result, formats};

/// Name of the part with settings.
const DESCRIPTION: &str = "bundle.toml";
/// Name of the part with the graph file.
const GRAPH: &str = "graph.toml";
/// Name of the part with the tree of tied states, which monophone models lack.
const TREE: &str = "tree.txt";
/// Name of the part with the phone n-gram.
const NGRAM: &str = "phones.arpa";
/// Name of the part with all numbers.
const WEIGHTS: &str = "weights.safetensors";

/// A trained model with everything that decoding needs.
#[derive(Debug)]
pub struct Bundle {
    /// Settings and credits.
    pub description: Description,
    /// The graph file, in the units of the network: with the tree of tied states, if there is one.
    pub graph: GraphSpec,
    /// The phone n-gram that weighs the graph.
    pub ngram: Ngram,
    /// Frames to log-posteriors.
    pub network: Network,
    /// State priors, `[P]`.
    pub priors: Priors,
    /// Transition weights of the graph.
    pub transitions: Weights,
    /// Mean and variance of the features over the training data.
    pub moments: Moments,
}

impl Bundle {
    /// Opens the folder `path`.
    ///
    /// # Errors
    /// [`Error::Bundle`] naming the part that is missing, broken or does not fit the others.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            let reason = "is not a folder: give the folder that holds bundle.toml".to_owned();
            return Err(Error::Bundle { path: path.to_owned(), part: "model".into(), reason });
        }
        Self::from_parts(&Parts::Folder(path.to_owned()))
    }

    /// The English model that is part of the program.
    ///
    /// # Errors
    /// As [`Bundle::open`]; it would be a mistake in the build.
    pub fn builtin() -> Result<Self> {
        Self::from_parts(&builtin::english())
    }

    /// Puts a bundle together from its parts.
    ///
    /// # Errors
    /// As [`Bundle::open`].
    pub fn from_parts(parts: &Parts) -> Result<Self> {
        let wrong = |part: &str, reason: String| Error::Bundle { path: parts.place(), part: part.to_owned(), reason };
        let description =
            Description::parse(parts.text(DESCRIPTION)?.as_str()).map_err(|reason| wrong(DESCRIPTION, reason))?;
        let graph = GraphSpec::parse_as(&parts.place().join(GRAPH), &parts.text(GRAPH)?)?;
        let graph = match parts.has(TREE) {
            false => graph,
            true => {
                let tree = Tree::parse(&parts.place().join(TREE), &parts.text(TREE)?, graph.symbols())?;
                graph.with_units(Units::Tied(tree.into())).map_err(|error| wrong(TREE, error.to_string()))?
            }
        };
        check_filler(&description, &graph).map_err(|reason| wrong(DESCRIPTION, reason))?;
        let ngram = Ngram::parse_arpa(&parts.place().join(NGRAM), &parts.text(NGRAM)?, graph.symbols())?;
        let bytes = parts.bytes(WEIGHTS)?;
        let tensors = tensors::Tensors::parse(&bytes).map_err(|reason| wrong(WEIGHTS, reason))?;
        let priors = tensors.priors().map_err(|reason| wrong(WEIGHTS, reason))?;
        if priors.pdfs() != graph.pdfs() {
            let counts = Error::PdfCount { network: priors.pdfs(), graph: graph.pdfs() };
            let lost = !parts.has(TREE) && priors.pdfs() > graph.pdfs();
            let advice = if lost { "; a model of tied states has a tree.txt too" } else { "" };
            return Err(wrong(GRAPH, format!("{counts}{advice}")));
        }
        let network =
            Network::load(&description.network, (description.features.dim(), graph.pdfs()), tensors.network())
                .map_err(|error| wrong(WEIGHTS, error.to_string()))?;
        let bundle = Self {
            priors,
            transitions: tensors.transitions().map_err(|reason| wrong(WEIGHTS, reason))?,
            moments: tensors.moments().map_err(|reason| wrong(WEIGHTS, reason))?,
            description,
            graph,
            ngram,
            network,
        };
        bundle.check().map_err(|reason| wrong(WEIGHTS, reason))?;
        Ok(bundle)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let fits = |what: &str, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(format!("{what}: {found} found, {expected} expected: the parts are of different models")),
        };
        fits("transition weights", self.transitions.0.len(), self.graph.initial_weights().0.len())?;
        fits("feature moments", self.moments.sum.len(), self.description.features.dim())
    }

    /// Writes the parts into the folder `path`: all to temporary names first, so that a model that is there stays when there is
    /// no room. Where a part is a link, the file that it leads to is replaced.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn save(&self, path: &Path) -> Result<()> {
        std::fs::create_dir_all(path).map_err(|source| Error::io("create", path, source))?;
        let stage = |part: &str, bytes: &[u8]| stage(&path.join(part), bytes);
        let graph = stage(GRAPH, self.graph.text().as_bytes())?;
        let tree = match self.graph.units() {
            Units::Monophone => None,
            Units::Tied(tree) => Some(stage(TREE, tree.to_text().as_bytes())?),
        };
        let ngram = stage(NGRAM, self.ngram.to_arpa().as_bytes())?;
        let weights = stage(WEIGHTS, &tensors::encode(self)?)?;
        let description = stage(DESCRIPTION, self.description.to_toml()?.as_bytes())?;
        // Without its description, which comes into place last, a mixture of old and new parts is no bundle.
        description.vacate()?;
        let earlier = path.join(TREE);
        if tree.is_none() && earlier.is_file() {
            std::fs::remove_file(&earlier).map_err(|source| Error::io("remove", &earlier, source))?;
        }
        [graph, ngram, weights].into_iter().chain(tree).chain([description]).try_for_each(Staged::commit)
    }

    /// Writes only the settings and scores, which tuning changes.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn save_description(&self, path: &Path) -> Result<()> {
        let text = self.description.to_toml()?;
        formats::atomic::write(&path.join(DESCRIPTION), |file| file.write_all(text.as_bytes()))
    }

    /// Writes only the n-gram with the settings and scores that go with it, as [`Bundle::save`] does.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn save_search(&self, path: &Path) -> Result<()> {
        let ngram = stage(&path.join(NGRAM), self.ngram.to_arpa().as_bytes())?;
        let description = stage(&path.join(DESCRIPTION), self.description.to_toml()?.as_bytes())?;
        description.vacate()?;
        [ngram, description].into_iter().try_for_each(Staged::commit)
    }

    /// The model with the n-gram of the ARPA file `path` in place of its own.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::TextFile`] for a file that cannot be read or is not over the graph's symbols.
    pub fn with_ngram(self, path: &Path) -> Result<Self> {
        let text = crate::input::text(path)?;
        Ok(Self { ngram: Ngram::parse_arpa(path, &text, self.graph.symbols())?, ..self })
    }

    /// The symbol that stands for words without pronunciation, where the model has one.
    pub fn filler(&self) -> Option<SymbolId> {
        self.description.filler.as_ref().and_then(|name| self.graph.symbols().get(name))
    }

    /// The grid on which phone times lie.
    pub fn timing(&self) -> FrameTiming {
        self.description.features.timing(self.network.subsampling() as u32)
    }
}

/// Whether the filler, if there is one, is a symbol of `graph` and no pause.
fn check_filler(description: &Description, graph: &GraphSpec) -> std::result::Result<(), String> {
    let Some(name) = &description.filler else { return Ok(()) };
    match graph.symbols().get(name) {
        None => Err(format!("filler = {name:?}: expected a symbol of {GRAPH}, or no filler")),
        Some(symbol) if graph.optional().contains(&symbol) => {
            Err(format!("filler = {name:?}: expected a symbol that is not optional in {GRAPH}: a pause is no word"))
        }
        Some(_) => Ok(()),
    }
}

/// Writes a part beside its place.
fn stage(path: &Path, bytes: &[u8]) -> Result<Staged> {
    formats::atomic::stage(path, |file| file.write_all(bytes))
}

/// Opens `model`, or the built-in English model when none is named.
///
/// # Errors
/// As [`Bundle::open`].
pub fn open_or_builtin(model: Option<&PathBuf>) -> Result<Bundle> {
    match model {
        Some(path) => Bundle::open(path),
        None => Bundle::builtin(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use crate::random::Random;

    #[test]
    fn the_n_gram_is_replaced_with_its_settings_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut bundle = Bundle::builtin().unwrap();
        bundle.save(folder.path()).unwrap();
        let parts = || [NGRAM, DESCRIPTION].map(|part| fs::read_to_string(folder.path().join(part)).unwrap());
        let before = parts();
        bundle.ngram = bundle.ngram.pruned(1);
        bundle.description.search.lm_scale = 0.75;
        // Settings that lead where nothing can be written.
        let place = folder.path().join(DESCRIPTION);
        fs::rename(&place, folder.path().join("aside")).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(bundle.save_search(folder.path()).is_err());
        assert_eq!(fs::read_to_string(folder.path().join(NGRAM)).unwrap(), before[0]);
        fs::remove_dir(&place).unwrap();
        fs::rename(folder.path().join("aside"), &place).unwrap();
        assert_eq!(parts(), before);
        bundle.save_search(folder.path()).unwrap();
        let after = parts();
        assert!(after[0] == bundle.ngram.to_arpa() && after[0] != before[0] && after[1].contains("lm_scale = 0.75"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5 - usize::from(!folder.path().join(TREE).exists()));
    }

    #[test]
    fn a_filler_is_a_symbol_and_no_pause() {
        let folder = tempfile::tempdir().unwrap();
        Bundle::builtin().unwrap().save(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(DESCRIPTION)).unwrap();
        let open = |line: &str| {
            fs::write(folder.path().join(DESCRIPTION), text.replace("filler = \"SPN\"\n", line)).unwrap();
            let opened = Bundle::open(folder.path());
            opened.map(|bundle| bundle.filler().map(|symbol| bundle.graph.symbols().name(symbol).to_owned()))
        };
        assert_eq!(open("filler = \"SPN\"\n").unwrap().as_deref(), Some("SPN"));
        assert_eq!(open("").unwrap(), None);
        let refused = |line: &str| open(line).unwrap_err().to_string();
        let unknown = "bundle.toml: filler = \"GARBAGE\": expected a symbol of graph.toml, or no filler";
        assert!(refused("filler = \"GARBAGE\"\n").ends_with(unknown));
        let pause = "filler = \"SIL\": expected a symbol that is not optional in graph.toml: a pause is no word";
        assert!(refused("filler = \"SIL\"\n").ends_with(pause));
    }

    #[test]
    fn a_model_that_says_nothing_of_confidence_takes_posteriors_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let mut bundle = Bundle::builtin().unwrap();
        let default = crate::search::ConfidenceSettings::default();
        assert_ne!(bundle.description.confidence, default);
        bundle.description.confidence = default;
        bundle.save(folder.path()).unwrap();
        let place = folder.path().join(DESCRIPTION);
        let text = fs::read_to_string(&place).unwrap();
        assert!(!text.contains("[confidence]"));
        assert_eq!(Bundle::open(folder.path()).unwrap().description.confidence, default);
        fs::write(&place, text + "\n[confidence]\nscale = 0.5\nslope = 0.0\noffset = 1.0\n").unwrap();
        let error = Bundle::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("confidence slope = 0: expected a number above 0"), "{error}");
    }

    /// The built-in model with a new network, whose states are not tied.
    fn monophones() -> Result<Bundle> {
        let built_in = Bundle::builtin()?;
        let graph = GraphSpec::parse(built_in.graph.text())?;
        let dims = (built_in.network.input_dim(), graph.pdfs());
        let network = Network::new(&built_in.description.network, dims, &Random::new(1))?;
        Ok(Bundle { priors: Priors::uniform(graph.pdfs())?, network, graph, ..built_in })
    }

    #[test]
    fn a_model_is_replaced_through_links_and_loses_the_tree_that_it_has_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let [model, elsewhere] = ["model", "elsewhere"].map(|name| folder.path().join(name));
        [&model, &elsewhere].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        for part in [DESCRIPTION, WEIGHTS, TREE] {
            fs::write(elsewhere.join(part), "old").unwrap();
            std::os::unix::fs::symlink(elsewhere.join(part), model.join(part)).unwrap();
        }
        monophones().unwrap().save(&model).unwrap();
        let saved = Bundle::open(&model).unwrap();
        assert_eq!(saved.description.to_toml().unwrap(), fs::read_to_string(elsewhere.join(DESCRIPTION)).unwrap());
        for part in [DESCRIPTION, WEIGHTS] {
            assert!(fs::symlink_metadata(model.join(part)).unwrap().is_symlink(), "{part}");
        }
        assert!(fs::symlink_metadata(model.join(TREE)).is_err());
        assert_eq!(fs::read_to_string(elsewhere.join(TREE)).unwrap(), "old");
    }
}
