//! The constraint file: which label sequences exist, as a user writes it.
//!
//! [`GraphSpec::read`] takes a TOML file that groups symbols into `[classes]`, says in `[boundary]`, `[[allow]]` and
//! `[[forbid]]` which may begin, follow and end, and in `[topology]` how long each lasts. What comes out is checked: every
//! symbol lies on some legal sequence. [`GraphSpec::compile`] makes the graph of all sequences,
//! [`GraphSpec::transcript`] that of one transcript; both share pdfs and transition parameters.

use std::path::{Path, PathBuf};
use std::sync::Arc as Shared;

use super::classes::Names;
use super::file::GraphFile;
use super::rules::{self, Successors};
use super::source::Source;
use super::topology::{self, Topology};
use super::transitions::{TransitionRole, Transitions};
use super::{Weights, check};
use crate::Result;
use crate::symbols::{PdfId, SymbolId, SymbolTable, TransitionId};

/// The n-gram that a graph file names in `[lm]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LmSpec {
    /// The ARPA file; a relative path in the graph file is relative to the graph file.
    pub path: PathBuf,
    /// Factor on the n-gram's natural-log scores, 0 or more.
    pub scale: f32,
}

/// A graph file, read and checked.
#[derive(Debug, Clone)]
pub struct GraphSpec {
    source: Source,
    name: String,
    symbols: Shared<SymbolTable>,
    topologies: Vec<Topology>,
    /// The first pdf of each symbol, then the number of pdfs.
    first_pdf: Vec<usize>,
    starts: Vec<SymbolId>,
    ends: Vec<SymbolId>,
    successors: Successors,
    optional: Vec<SymbolId>,
    lm: Option<LmSpec>,
    pub(super) parameters: Transitions,
}

impl GraphSpec {
    /// Reads and checks the graph file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when it cannot be read, [`Error::GraphFile`](crate::Error::GraphFile) with line and
    /// column when it is not right: TOML, an unknown key or name, a value out of range, a pair with two weights, a symbol with
    /// two topologies or on no legal sequence.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_source(Source::read(path)?)
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
        Self::from_source(Source::new(path, text))
    }

    fn from_source(source: Source) -> Result<Self> {
        let file = GraphFile::read(&source)?;
        let names = Names::read(&source, &file)?;
        let topologies = topology::read(&source, &file, &names)?;
        let successors = rules::successors(&source, &file, &names)?;
        let starts = names.all(&file.start.names)?;
        let ends = names.all(&file.end.names)?;
        let optional = names.all(&file.optional)?;
        let parameters = Transitions::new(&topologies, [&starts, &ends], &successors);
        let Names { symbols, places, .. } = names;
        let spec = Self {
            name: file.name,
            symbols: Shared::new(symbols),
            first_pdf: running_sum(topologies.iter().map(Topology::states)),
            lm: file.lm.map(|lm| LmSpec { path: beside(&source.path, &lm.file.text), scale: lm.scale }),
            topologies,
            starts,
            ends,
            successors,
            optional,
            parameters,
            source: source.clone(),
        };
        check::sound(&spec, &source, check::Places { start: file.start.at, end: file.end.at, symbols: &places })?;
        Ok(spec)
    }

    /// The file's text, to keep it with a model.
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

    /// Number of pdfs: the sum of the symbols' states.
    pub fn pdfs(&self) -> usize {
        self.first_pdf[self.topologies.len()]
    }

    /// The pdf of a symbol's state, both counted from 0: the symbols' pdfs follow each other in file order.
    ///
    /// # Panics
    /// When the symbol has no such state.
    pub fn pdf(&self, symbol: SymbolId, state: usize) -> PdfId {
        assert!(state < self.topology(symbol).states(), "symbol {symbol} has no state {state}");
        PdfId::from_index(self.first_pdf[symbol.index()] + state)
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
        self.pair(from, to).is_some()
    }

    /// The parameter of the pair `from -> to`, if it is legal.
    pub(super) fn pair(&self, from: SymbolId, to: SymbolId) -> Option<TransitionId> {
        let place = self.successors(from).binary_search_by_key(&to, |&(to, _)| to).ok()?;
        Some(self.parameters.pair(from, place))
    }

    /// The n-gram that the file names.
    pub fn lm(&self) -> Option<&LmSpec> {
        self.lm.as_ref()
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

/// `file` as seen from the folder of `graph`.
fn beside(graph: &Path, file: &str) -> PathBuf {
    graph.parent().map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
}

/// Sums of the first 0, 1, 2, ... of `counts`.
fn running_sum(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sums = vec![0];
    counts.for_each(|count| sums.push(sums[sums.len() - 1] + count));
    sums
}
