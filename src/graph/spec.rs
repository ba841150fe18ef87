//! The constraint file: which label sequences exist, as a user writes it.
//!
//! [`GraphSpec::read`] takes a TOML file that groups symbols into `[classes]`, says in `[boundary]`, `[[allow]]` and
//! `[[forbid]]` which may begin, follow and end, and in `[topology]` how long each lasts. What comes out is checked: every
//! symbol lies on some legal sequence. [`GraphSpec::compile`] makes the graph of all sequences,
//! [`GraphSpec::transcript`] that of one transcript; both share pdfs and transition parameters.
//!
//! ```
//! let spec = senone::graph::GraphSpec::parse(r#"
//! format = 1                          # required; natural logs, times in search frames
//! name = "tags"                       # for reports
//! optional = ["outside"]              # what a transcript may leave out
//!
//! [vars]
//! type = ["PER", "LOC"]
//!
//! [classes]                           # a member is a symbol or another class; symbols are numbered top to bottom
//! outside = ["O"]
//! begin = ["B-{type}"]                # here a variable yields every value
//! inside = ["I-{type}"]
//!
//! [boundary]                          # "*" is every symbol
//! start = ["outside", "begin"]
//! end = "*"
//!
//! [[allow]]                           # a pair is legal if some allow covers it and no forbid does
//! from = "*"
//! to = ["outside", "begin"]
//! weight = -0.5                       # natural log, 0 when not given
//! [[allow]]                           # here a variable is the same on both sides
//! from = ["B-{type}", "I-{type}"]
//! to = "I-{type}"
//! [[allow]]                           # the same as a table: each name with those that may follow it; a list, or one text
//! [allow.followed_by]                 # preceded_by: with those that it may follow; a [[forbid]] takes these too
//! "B-{type}" = "I-{type}"
//! "I-{type}" = ["I-{type}"]
//! [[forbid]]
//! from = "outside"
//! to = "outside"
//!
//! [topology.default]
//! states = 1                          # pdfs of a symbol
//! min_frames = 1                      # the states when not given; extra frames repeat pdfs
//! self_loop = false                   # or the probability of staying in a state
//! [topology.outside]                  # overrides the default, key by key
//! min_frames = 2
//! self_loop = 0.5
//! "#)?;
//! let tags: Vec<_> = ["B-PER", "I-LOC"].iter().filter_map(|name| spec.symbols().get(name)).collect();
//! assert_eq!(spec.transcript(&tags).unwrap_err().to_string(), "B-PER -> I-LOC is not allowed by the graph");
//! # Ok::<(), senone::Error>(())
//! ```
//!
//! A symbol may hold braces, each written twice: `"{{"` is the symbol `{`. `[lm]` with `file` and `scale` (1 when not given) names an
//! ARPA n-gram over the symbols, relative to the graph file.
//!
//! `[lexicon]` makes a graph of words; the `[lm]` is then over words, and without one any word may follow any:
//!
//! ```toml
//! [lexicon]
//! file = "words.dict"                 # CMU dictionary, or lexicon.txt or lexiconp.txt of Kaldi
//! unknown = "SPN"                     # stands for words without pronunciation, and for <unk>; without it they are an error
//! unknown_weight = -5.0               # natural log, 0 when not given
//! pause = -1.0                        # weight of a pause (symbols of `optional`) between two words, 0 when not given
//! ```
//!
//! Sequences, of words where there is a `[lexicon]`, are narrowed by a [`[grammar]`](super::grammar), and by `[[exclusive]]`, two groups of which only one may occur:
//!
//! ```toml
//! [grammar]
//! include = "numbers.toml"            # files with [parts]
//! rule = "a (b | <c>)* [d]"
//! [grammar.parts]
//! c = "/0.9/ e | /0.1/ f"
//! [[exclusive]]
//! a = "a{tone}"
//! b = ["o", "u"]
//! ```
//!
//! A file with `extends = "model"` has the symbols, classes, pairs and topology of a model ([`GraphSpec::read_on`]) and only narrows
//! them: `[boundary]`, `[[forbid]]`, `[[exclusive]]`, `[lexicon]`, `[grammar]` and `[lm]`.

use std::path::{Path, PathBuf};
use std::sync::Arc as Shared;

use super::classes::{MOST_SYMBOLS, Names};
use super::exclusive::{Exclusive, ExclusiveFile};
use super::extension::no_model;
use super::file::{AnyFile, GraphFile, LexiconFile};
use super::grammar::{Grammar, GrammarFile};
use super::lattice::Lattice;
use super::lexicon::pinyin;
use super::rules::{self, Successors};
use super::source::{Name, Source};
use super::topology::{self, Topology};
use super::transitions::{TransitionRole, Transitions};
use super::tree::{Context, Units};
use super::{Weights, check};
use crate::symbols::{PdfId, SymbolId, SymbolTable, TransitionId};
use crate::{Error, Result};

/// The n-gram that a graph file names in `[lm]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LmSpec {
    /// The ARPA file; a relative path in the graph file is relative to the graph file.
    pub path: PathBuf,
    /// Factor on the n-gram's natural-log scores, 0 or more.
    pub scale: f32,
}

/// The dictionary that a graph file names in `[lexicon]`. Weights are natural logs.
#[derive(Debug, Clone, PartialEq)]
pub struct LexiconSpec {
    /// The dictionary; a relative path in the graph file is relative to the graph file, and `pinyin` and `pinyin-toned` are those
    /// that are [built in](super::lexicon::pinyin::named).
    pub path: PathBuf,
    /// What is said for a word without pronunciation.
    pub unknown: Option<SymbolId>,
    /// What saying it adds.
    pub unknown_weight: f32,
    /// What a pause between two words adds.
    pub pause: f32,
}

/// A graph file, read and checked.
#[derive(Debug, Clone)]
pub struct GraphSpec {
    pub(super) source: Source,
    pub(super) name: String,
    symbols: Shared<SymbolTable>,
    topologies: Vec<Topology>,
    units: Units,
    /// The first pdf of each symbol, then the number of pdfs.
    first_pdf: Vec<usize>,
    pub(super) starts: Vec<SymbolId>,
    pub(super) ends: Vec<SymbolId>,
    pub(super) successors: Successors,
    optional: Vec<SymbolId>,
    pub(super) exclusive: Vec<Exclusive>,
    grammar: Option<Shared<Grammar>>,
    pub(super) lm: Option<LmSpec>,
    pub(super) lexicon: Option<LexiconSpec>,
    /// The byte at which the file says what makes the graph large: its `[grammar]`, its `[lm]`, its `[lexicon]`, else its
    /// `[topology.default]`.
    pub(super) size_at: usize,
    pub(super) parameters: Transitions,
}

impl GraphSpec {
    /// Reads and checks the graph file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::GraphFile`] with line and column when it is not right: TOML, an unknown key
    /// or name, a value out of range, a pair with two weights, a symbol with two topologies or on no legal sequence; a file that
    /// extends a model.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_on(path, || Err(no_model()))
    }

    /// Reads and checks the graph file at `path`; if it says `extends = "model"`, on the graph that `model` gives. Its pdfs and
    /// transition parameters are then the model's.
    ///
    /// # Errors
    /// As [`GraphSpec::read`], and those of `model`.
    pub fn read_on(path: &Path, model: impl FnOnce() -> Result<Self>) -> Result<Self> {
        Self::from_source(Source::read(path)?, model)
    }

    /// Reads and checks the text of a graph file. Messages call it `graph.toml`; `[lm]` is relative to the current folder.
    ///
    /// # Errors
    /// As [`GraphSpec::read`].
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_as(Path::new("graph.toml"), text)
    }

    /// Reads and checks the text of a graph file that is, or is said to be, at `path`: messages and `[lm]` refer to it.
    ///
    /// # Errors
    /// As [`GraphSpec::read`].
    pub fn parse_as(path: &Path, text: &str) -> Result<Self> {
        Self::from_source(Source::new(path, text), || Err(no_model()))
    }

    /// The graph without a file in which each of `symbols` lasts one frame and may begin, follow every one, and end. Its text
    /// is empty; names may be anything.
    ///
    /// # Errors
    /// [`Error::Other`] when there is no symbol, or more than a graph may have.
    pub fn unrestricted(symbols: SymbolTable) -> Result<Self> {
        if symbols.is_empty() || symbols.len() > MOST_SYMBOLS {
            let found = symbols.len();
            return Err(Error::Other(format!(
                "{found} different symbols: a graph has at least 1 and at most {MOST_SYMBOLS}"
            )));
        }
        let all: Vec<SymbolId> = symbols.ids().collect();
        let topologies = vec![Topology::ONE_FRAME; all.len()];
        let successors: Successors = vec![all.iter().map(|&to| (to, 0.0)).collect(); all.len()];
        let parameters = Transitions::new(&topologies, [&all, &all], &successors);
        Ok(Self {
            source: Source::new(Path::new("unrestricted graph"), ""),
            name: String::new(),
            symbols: Shared::new(symbols),
            units: Units::Monophone,
            first_pdf: (0..=all.len()).collect(),
            topologies,
            starts: all.clone(),
            ends: all,
            successors,
            optional: vec![],
            exclusive: vec![],
            grammar: None,
            lm: None,
            lexicon: None,
            size_at: 0,
            parameters,
        })
    }

    fn from_source(source: Source, model: impl FnOnce() -> Result<Self>) -> Result<Self> {
        match AnyFile::read(&source)? {
            AnyFile::Whole(file) => Self::whole(source, &file),
            AnyFile::Extends(extension) => {
                let placed = |error| match error {
                    Error::Other(reason) => source.error(extension.at, reason),
                    other => other,
                };
                let model = model().map_err(placed)?;
                extension.on(source, &model)
            }
        }
    }

    fn whole(source: Source, file: &GraphFile) -> Result<Self> {
        let names = Names::read(&source, file)?;
        let topologies = topology::read(&source, file, &names)?;
        let successors = rules::successors(&source, file, &names)?;
        let starts = names.all(&file.start.names)?;
        let ends = names.all(&file.end.names)?;
        let optional = names.all(&file.optional)?;
        let parameters = Transitions::new(&topologies, [&starts, &ends], &successors);
        let lexicon = file.lexicon.as_ref().map(|lexicon| lexicon_spec(&source, lexicon, &names)).transpose()?;
        let lm = file.lm.as_ref();
        let large = lm.map(|lm| &lm.file).or(file.lexicon.as_ref().map(|lexicon| &lexicon.file));
        let spec = Self {
            name: file.name.clone(),
            symbols: Shared::new(names.symbols.clone()),
            units: Units::Monophone,
            first_pdf: running_sum(topologies.iter().map(Topology::states)),
            size_at: large.unwrap_or(&file.default_topology.name).at,
            lm: lm.map(|lm| LmSpec { path: beside(&source.path, &lm.file.text), scale: lm.scale }),
            lexicon,
            topologies,
            starts,
            ends,
            successors,
            optional,
            exclusive: vec![],
            grammar: None,
            parameters,
            source: source.clone(),
        };
        let places = check::Places { start: file.start.at, end: file.end.at, symbols: &names.places };
        check::sound(&spec, &source, places)?;
        spec.limited(&names, (file.grammar.as_ref(), &file.exclusive))
    }

    /// With what the file says of whole sequences: its grammar and its exclusive rules.
    pub(super) fn limited(
        mut self,
        names: &Names,
        (grammar, exclusive): (Option<&GrammarFile>, &[ExclusiveFile]),
    ) -> Result<Self> {
        let is_word = |name: &str| self.lexicon.is_some() && !names.knows(name);
        let rules = exclusive.iter().map(|rule| Exclusive::read(&self.source, rule, names, &is_word));
        self.exclusive.extend(rules.collect::<Result<Vec<_>>>()?);
        if let Some(file) = grammar {
            self.size_at = file.at();
            let grammar = match self.lexicon {
                None => Grammar::over_symbols(&self, file, names)?,
                Some(_) if self.lm.is_some() => {
                    let reason = "[grammar] and [lm] would both say which words follow which: leave one of them out";
                    return Err(self.source.error(file.at(), reason));
                }
                Some(_) => Grammar::over_words(&self.source, file)?,
            };
            self.grammar = Some(Shared::new(grammar));
        }
        Ok(self)
    }

    /// The error of a graph that the file makes too large, or that its n-gram leaves empty.
    pub(super) fn size_error(&self, reason: String) -> Error {
        self.source.error(self.size_at, reason)
    }

    /// The grammar of the file.
    pub fn grammar(&self) -> Option<&Shared<Grammar>> {
        self.grammar.as_ref()
    }

    /// The sequences of a grammar over symbols.
    pub(super) fn grammar_net(&self) -> Option<&Lattice> {
        self.grammar.as_ref().and_then(|grammar| grammar.net())
    }

    /// The file's text, to keep it with a model; empty for [`GraphSpec::unrestricted`].
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The path by which messages call the file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// The file's `name`, empty when it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The symbols, in file order.
    pub fn symbols(&self) -> &Shared<SymbolTable> {
        &self.symbols
    }

    /// How long `symbol` lasts.
    pub fn topology(&self, symbol: SymbolId) -> &Topology {
        &self.topologies[symbol.index()]
    }

    /// The same graph with other pdfs: those of each state alone, or those that a tree ties. Transitions stay as they are.
    ///
    /// # Errors
    /// [`Error::Other`] when the tree is of other symbols, or of other numbers of states.
    pub fn with_units(mut self, units: Units) -> Result<Self> {
        let counts: Vec<usize> = match &units {
            Units::Monophone => self.topologies.iter().map(Topology::states).collect(),
            Units::Tied(tree) => {
                let same_states =
                    || self.symbols.ids().all(|symbol| tree.states(symbol) == self.topology(symbol).states());
                if *tree.symbols() != self.symbols || !same_states() {
                    let reason = "the tree of tied states and the graph file have different symbols or states";
                    return Err(Error::Other(format!("{reason}: they must be of one model")));
                }
                self.symbols.ids().map(|symbol| tree.pdfs_of(symbol)).collect()
            }
        };
        self.first_pdf = running_sum(counts.into_iter());
        self.units = units;
        Ok(self)
    }

    /// What pdfs are of.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Number of pdfs: the sum of the symbols' states, or the leaves of the tree.
    pub fn pdfs(&self) -> usize {
        self.first_pdf[self.topologies.len()]
    }

    /// The pdf of a symbol's state, both counted from 0, in `context`, which matters to tied states only.
    ///
    /// # Panics
    /// When the symbol has no such state.
    pub fn pdf(&self, symbol: SymbolId, state: usize, context: Context) -> PdfId {
        assert!(state < self.topology(symbol).states(), "symbol {symbol} has no state {state}");
        match &self.units {
            Units::Monophone => PdfId::from_index(self.first_pdf[symbol.index()] + state),
            Units::Tied(tree) => tree.pdf(symbol, state, context),
        }
    }

    /// The pdfs of all states of `symbol`, in any context: the symbols' pdfs follow each other in file order.
    pub fn pdfs_of(&self, symbol: SymbolId) -> impl ExactSizeIterator<Item = PdfId> + use<> {
        (self.first_pdf[symbol.index()]..self.first_pdf[symbol.index() + 1]).map(PdfId::from_index)
    }

    /// The symbol that `pdf` is of.
    ///
    /// # Panics
    /// When there is no such pdf.
    pub fn symbol_of(&self, pdf: PdfId) -> SymbolId {
        assert!(pdf.index() < self.pdfs(), "there is no pdf {pdf}");
        SymbolId::from_index(self.first_pdf.partition_point(|&first| first <= pdf.index()) - 1)
    }

    /// The symbols that may begin a sequence, ascending.
    pub fn starts(&self) -> &[SymbolId] {
        &self.starts
    }

    /// The symbols that may end a sequence, ascending.
    pub fn ends(&self) -> &[SymbolId] {
        &self.ends
    }

    /// The symbols that a transcript may leave out, ascending.
    pub fn optional(&self) -> &[SymbolId] {
        &self.optional
    }

    /// What may follow `symbol`, ascending, with the rule's weight (natural log).
    pub fn successors(&self, symbol: SymbolId) -> &[(SymbolId, f32)] {
        &self.successors[symbol.index()]
    }

    /// Whether `to` may follow `from`.
    pub fn follows(&self, from: SymbolId, to: SymbolId) -> bool {
        self.successors(from).binary_search_by_key(&to, |&(to, _)| to).is_ok()
    }

    /// The parameter of the pair `from -> to`, if it is legal.
    pub(super) fn pair(&self, from: SymbolId, to: SymbolId) -> Option<TransitionId> {
        self.parameters.pair(from, to).filter(|_| self.follows(from, to))
    }

    /// The n-gram that the file names.
    pub fn lm(&self) -> Option<&LmSpec> {
        self.lm.as_ref()
    }

    /// The dictionary that the file names: its graph is then one of words.
    pub fn lexicon(&self) -> Option<&LexiconSpec> {
        self.lexicon.as_ref()
    }

    /// Number of transition parameters.
    pub fn transitions(&self) -> usize {
        self.parameters.len()
    }

    /// What `transition` stands for.
    ///
    /// # Panics
    /// When it is [`TransitionId::NONE`] or of another graph file.
    pub fn transition_role(&self, transition: TransitionId) -> TransitionRole {
        self.parameters.role(transition)
    }

    /// Where training begins: the weights of the file's self-loops and rules, as [`TransitionRole`] says for each kind.
    pub fn initial_weights(&self) -> Weights {
        Weights(self.parameters.initial().to_vec())
    }
}

pub(super) fn lexicon_spec(source: &Source, file: &LexiconFile, names: &Names) -> Result<LexiconSpec> {
    let symbol = |name: &Name| match names.all(std::slice::from_ref(name))?[..] {
        [symbol] => Ok(symbol),
        _ => Err(source.error(name.at, format!("`{}` is several symbols: expected one", name.text))),
    };
    let built_in = pinyin::named(Path::new(&file.file.text)).is_some();
    Ok(LexiconSpec {
        path: if built_in { file.file.text.clone().into() } else { beside(&source.path, &file.file.text) },
        unknown: file.unknown.as_ref().map(symbol).transpose()?,
        unknown_weight: file.unknown_weight,
        pause: file.pause,
    })
}

/// `file` as seen from the folder of `graph`.
pub(super) fn beside(graph: &Path, file: &str) -> PathBuf {
    graph.parent().map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
}

/// Sums of the first 0, 1, 2, ... of `counts`.
fn running_sum(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sums = vec![0];
    counts.for_each(|count| sums.push(sums[sums.len() - 1] + count));
    sums
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const TEXT: &str = r#"
format = 1
[classes]
speech = ["vowel", "m", "stop"]
vowel = ["i", "a"]
stop = ["p"]
pause = ["sil", "m"]
[boundary]
start = "*"
end = "*"
[[allow]]
from = "*"
to = "*"
weight = -0.25
[topology.default]
states = 2
min_frames = 3
self_loop = 0.75
[topology.stop]
states = 1
min_frames = 1
self_loop = false
"#;

    #[test]
    fn symbols_are_numbered_as_the_file_names_them() {
        let spec = GraphSpec::parse(TEXT).unwrap();
        assert_eq!(spec.symbols().names(), ["m", "i", "a", "p", "sil"]);
        let pdfs: Vec<PdfId> = spec.symbols().ids().map(|symbol| spec.pdf(symbol, 0, Context::default())).collect();
        assert_eq!(pdfs, [0, 2, 4, 6, 7].map(PdfId));
        assert_eq!(spec.pdfs(), 9);
        assert_eq!([0, 1, 2, 6, 7, 8].map(|pdf| spec.symbol_of(PdfId(pdf)).0), [0, 0, 1, 3, 4, 4]);
        assert_eq!(spec.pdfs_of(SymbolId(4)).collect::<Vec<_>>(), [PdfId(7), PdfId(8)]);
    }

    /// Staying and going on from a position have probabilities that sum to 1; a pair's is that of leaving times its weight's.
    #[test]
    fn initial_weights_are_those_of_the_roles() {
        let spec = GraphSpec::parse(TEXT).unwrap();
        let weights = spec.initial_weights();
        let mut roles = BTreeMap::new();
        for (index, weight) in weights.0.iter().enumerate() {
            roles.insert(spec.transition_role(TransitionId::from_index(index)), f64::from(weight.exp()));
        }
        // Three positions of four symbols: two self-loops and two nexts; ends and starts; all pairs.
        assert_eq!((roles.len(), spec.transitions()), (4 * 4 + 5 + 5 + 25, 51));
        for from in spec.symbols().ids() {
            let stay = roles.get(&TransitionRole::SelfLoop { symbol: from, position: 2 }).copied().unwrap_or(0.0);
            assert_eq!(stay, if from.index() == 3 { 0.0 } else { 0.75 });
            assert!((roles[&TransitionRole::End { symbol: from }] + stay - 1.0).abs() < 1e-6);
            for to in spec.symbols().ids() {
                let pair = roles[&TransitionRole::Pair { from, to }];
                assert!((pair - (1.0 - stay) * (-0.25_f64).exp()).abs() < 1e-6);
            }
            assert_eq!(roles[&TransitionRole::Start { symbol: from }], 1.0);
        }
        let symbol = SymbolId(0);
        assert_eq!(roles[&TransitionRole::Next { symbol, position: 0 }], 1.0);
        assert!((roles[&TransitionRole::Next { symbol, position: 1 }] - 0.25).abs() < 1e-6);
        assert!(!roles.contains_key(&TransitionRole::SelfLoop { symbol, position: 0 }));
    }

    #[test]
    fn doubled_braces_are_braces() {
        let vars = "[vars]\nlength = [\":\", \"\\\\\"]\n[classes]";
        let text = TEXT.replace("[classes]", vars).replace("[\"i\", \"a\"]", "[\"{{{length}\", \"}}\", \"a{{b}}\"]");
        let spec = GraphSpec::parse(&text).unwrap();
        assert_eq!(spec.symbols().names()[1..5], ["{:", "{\\", "}", "a{b}"]);
    }

    #[test]
    fn a_forbidden_pair_may_have_two_weights() {
        let second = "[[allow]]\nfrom = \"p\"\nto = \"p\"\n[topology.default]";
        let text = TEXT.replace("[topology.default]", second);
        assert!(
            GraphSpec::parse(&text).unwrap_err().to_string().contains("`p -> p` has weight 0 here and weight -0.25")
        );
        let text = text + "[[forbid]]\nfrom = \"stop\"\nto = \"stop\"\n";
        let spec = GraphSpec::parse(&text).unwrap();
        assert!(!spec.follows(SymbolId(3), SymbolId(3)) && spec.follows(SymbolId(3), SymbolId(0)));
    }

    #[test]
    fn messages_name_the_given_path() {
        let error = GraphSpec::parse_as(Path::new("models/en/graph.toml"), "format = 1\nform = 2").unwrap_err();
        assert!(error.to_string().starts_with("models/en/graph.toml:2:1: unknown key `form`"), "{error}");
        let with_lm = TEXT.to_owned() + "[lm]\nfile = \"a.arpa\"\n";
        let spec = GraphSpec::parse_as(Path::new("models/en/graph.toml"), &with_lm).unwrap();
        assert_eq!(spec.lm(), Some(&LmSpec { path: "models/en/a.arpa".into(), scale: 1.0 }));
        assert_eq!(GraphSpec::parse(&with_lm).unwrap().lm().unwrap().path, Path::new("a.arpa"));
        for (file, path) in [("pinyin", "pinyin"), ("pinyin-toned", "pinyin-toned"), ("./pinyin", "models/en/./pinyin")]
        {
            let text = format!("{TEXT}[lexicon]\nfile = \"{file}\"\n");
            let spec = GraphSpec::parse_as(Path::new("models/en/graph.toml"), &text).unwrap();
            assert_eq!(spec.lexicon().unwrap().path, Path::new(path));
        }
        assert_eq!(spec.text(), with_lm);
    }
}
