//! Whether a graph file makes sense, and how large the graph is that it makes.

use std::fmt;

use super::source::Source;
use super::spec::GraphSpec;
use crate::Result;

/// Where the parts of a graph file stand, in bytes.
pub(super) struct Places<'a> {
    pub start: usize,
    pub end: usize,
    pub symbols: &'a [usize],
}

/// Every symbol must lie on some legal sequence.
pub(super) fn sound(spec: &GraphSpec, source: &Source, places: Places) -> Result<()> {
    if spec.starts().is_empty() {
        return Err(source.error(places.start, "`start` names no symbol: no sequence may begin"));
    }
    if spec.ends().is_empty() {
        return Err(source.error(places.end, "`end` names no symbol: no sequence may end"));
    }
    let net = spec.legal_pairs_only();
    let fault = |flags: Vec<bool>, why: &str| match flags.iter().position(|&fine| !fine) {
        Some(symbol) => {
            let name = &spec.symbols().names()[symbol];
            Err(source.error(places.symbols[symbol], format!("symbol `{name}` {why}")))
        }
        None => Ok(()),
    };
    fault(net.reached(), "is in no legal sequence: no start and no [[allow]] leads to it")?;
    fault(net.ending(), "is a dead end: no [[allow]] leads from it to an end")
}

/// What `graph check` says about a graph file.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The file's `name`.
    pub name: String,
    /// Number of symbols.
    pub symbols: usize,
    /// Number of pdfs.
    pub pdfs: usize,
    /// Number of pairs of symbols that may follow each other.
    pub legal_pairs: usize,
    /// States of the full graph.
    pub states: usize,
    /// Arcs of the full graph.
    pub arcs: usize,
    /// Search frames of the shortest legal utterance.
    pub shortest_frames: usize,
}

/// Compiles `spec` and reports its size.
///
/// # Errors
/// As [`GraphSpec::compile`].
pub fn report(spec: &GraphSpec) -> Result<Report> {
    let graph = spec.compile()?;
    Ok(Report {
        name: spec.name().to_owned(),
        symbols: spec.symbols().len(),
        pdfs: spec.pdfs(),
        legal_pairs: spec.symbols().ids().map(|symbol| spec.successors(symbol).len()).sum(),
        states: graph.len(),
        arcs: graph.arc_count(),
        shortest_frames: graph.shortest_path_frames().expect("a checked graph has a legal sequence"),
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |label: &str, value: &dyn fmt::Display| writeln!(f, "{label:<20}{value}");
        line("name", &self.name)?;
        line("symbols", &self.symbols)?;
        line("pdfs", &self.pdfs)?;
        line("legal pairs", &self.legal_pairs)?;
        line("states", &self.states)?;
        line("arcs", &self.arcs)?;
        write!(f, "{:<20}{} frames", "shortest utterance", self.shortest_frames)
    }
}
