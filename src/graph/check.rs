//! Whether a graph file makes sense, and how large the graph is that it makes.

use std::fmt;

use super::Graph;
use super::file::AnyFile;
use super::source::Source;
use super::spec::GraphSpec;
use crate::Result;
use crate::symbols::SymbolId;

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

impl GraphSpec {
    /// Whether training can hold to all that the file says: transcripts bring their own words, and training its own n-gram.
    ///
    /// # Errors
    /// [`Error::GraphFile`](crate::Error::GraphFile) at a `[lexicon]` or an `[lm]`.
    pub fn check_trainable(&self) -> Result<()> {
        let (lexicon, lm) = match AnyFile::read(&self.source)? {
            AnyFile::Whole(file) => (file.lexicon, file.lm),
            AnyFile::Extends(extension) => (extension.lexicon, extension.lm),
        };
        let words = "[lexicon], and a grammar or exclusive rules over its words, are for decoding: in training the settings name the \
                     lexicon, and its transcripts the words; leave them out of this graph file";
        let ngram = "[lm] is for decoding: training makes its own n-gram, which [ngram] of the settings describes; leave it out of \
                     this graph file";
        let found = [lexicon.map(|lexicon| (lexicon.file.at, words)), lm.map(|lm| (lm.file.at, ngram))];
        match found.into_iter().flatten().next() {
            Some((at, reason)) => Err(self.source.error(at, reason)),
            None => Ok(()),
        }
    }
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
    /// Transition parameters.
    pub transitions: usize,
    /// Bytes of memory that the full graph takes.
    pub bytes: usize,
    /// Search frames of the shortest legal utterance.
    pub shortest_frames: usize,
    /// What may be a slip, a line each.
    pub warnings: Vec<String>,
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
        transitions: graph.transitions(),
        bytes: graph.bytes(),
        shortest_frames: graph.shortest_path_frames().expect("a checked graph has a legal sequence"),
        warnings: odd_rows(spec).into_iter().chain(unused(spec, &graph)).collect(),
    })
}

/// How far from one the probabilities of a row may be: weights are written with few digits.
const TOLERANCE: f64 = 0.01;
/// Warnings of a kind that are given one by one.
const MOST_WARNINGS: usize = 5;

/// The symbols after which probabilities do not sum to one.
///
/// `sum_b exp(weight(a -> b))` is that of row a. Its weights are taken for logarithms of probabilities when all are below 0, and
/// either two of them differ or another such row of the file sums to one; otherwise they are a penalty. Ending is no part of
/// a row, as the file gives it no weight.
fn odd_rows(spec: &GraphSpec) -> Vec<String> {
    let negative = |row: &&[(SymbolId, f32)]| !row.is_empty() && row.iter().all(|(_, weight)| *weight < 0.0);
    let sum = |row: &[(SymbolId, f32)]| row.iter().map(|(_, weight)| f64::from(*weight).exp()).sum::<f64>();
    let fine = |sum: f64| (sum - 1.0).abs() <= TOLERANCE;
    let differs = |row: &[(SymbolId, f32)]| row.iter().any(|(_, weight)| *weight != row[0].1);
    let rows = || spec.symbols().ids().map(|symbol| (symbol, spec.successors(symbol))).filter(|(_, row)| negative(row));
    let some_fine = rows().any(|(_, row)| fine(sum(row)));
    let odd = rows().filter(|(_, row)| !fine(sum(row)) && (some_fine || differs(row)));
    let told = odd.map(|(symbol, row)| {
        let (name, sum) = (spec.symbols().name(symbol), sum(row));
        format!("the weights after `{name}` look like log-probabilities, but sum to {sum:.3}: expected 1")
    });
    shortened(told.collect())
}

/// The symbols that rules admit and that the graph has not: a language model excludes them. A grammar, or the words of a dictionary,
/// need not have them all.
fn unused(spec: &GraphSpec, graph: &Graph) -> Vec<String> {
    if spec.grammar().is_some() || !graph.words().is_empty() {
        return vec![];
    }
    let mut used = vec![false; spec.symbols().len()];
    graph.states().iter().for_each(|state| used[state.symbol.index()] = true);
    let told = spec.symbols().ids().filter(|symbol| !used[symbol.index()]).map(|symbol| {
        format!("symbol `{}` is in no sequence of the graph, though the rules admit it", spec.symbols().name(symbol))
    });
    shortened(told.collect())
}

fn shortened(mut warnings: Vec<String>) -> Vec<String> {
    if warnings.len() > MOST_WARNINGS {
        let more = warnings.len() - MOST_WARNINGS;
        warnings.truncate(MOST_WARNINGS);
        warnings.push(format!("and {more} more of this kind"));
    }
    warnings
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
        line("transitions", &self.transitions)?;
        line("memory", &format!("{} bytes", self.bytes))?;
        write!(f, "{:<20}{} frames", "shortest utterance", self.shortest_frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::toy::everything_goes;

    fn warnings(weights: [&str; 4]) -> Vec<String> {
        let rule = |(pair, weight): (&str, &str)| {
            format!("[[allow]]\nfrom = '{}'\nto = '{}'\nweight = {weight}\n", &pair[..1], &pair[1..])
        };
        let rules: String = ["aa", "ab", "ba", "bb"].into_iter().zip(weights).map(rule).collect();
        let text = format!(
            "format = 1\n[classes]\nall = ['a', 'b']\n[boundary]\nstart = '*'\nend = '*'\n{rules}[topology.default]\nstates = 1\n\
             self_loop = false\n"
        );
        report(&GraphSpec::parse(&text).unwrap()).unwrap().warnings
    }

    #[test]
    fn what_training_would_not_hold_to_is_refused() {
        let told = |tables: &str| {
            let spec =
                GraphSpec::parse(&(everything_goes(&["a", "b"], "states = 1\nself_loop = 0.5") + tables)).unwrap();
            spec.check_trainable().map_err(|error| error.to_string())
        };
        assert_eq!(
            told("[grammar]\nrule = 'a b+'\n[[exclusive]]\na = 'a'\nb = 'b'\n"),
            Ok(()),
            "these are over symbols"
        );
        let lm = told("[lm]\nfile = 'a.arpa'\n").unwrap_err();
        assert!(
            lm.starts_with("graph.toml:") && lm.contains(": [lm] is for decoding: training makes its own n-gram"),
            "{lm}"
        );
        for more in ["", "[grammar]\nrule = 'ab'\n", "[[exclusive]]\na = 'ab'\nb = 'b'\n", "[lm]\nfile = 'a.arpa'\n"] {
            let words = told(&format!("[lexicon]\nfile = 'words.dict'\n{more}")).unwrap_err();
            assert!(
                words.contains("[lexicon], and a grammar or exclusive rules over its words, are for decoding"),
                "{words}"
            );
        }
    }

    #[test]
    fn rows_of_probabilities_must_sum_to_one() {
        // 0.25 + 0.75, 0.5 + 0.5: fine, also with two digits.
        assert_eq!(warnings(["-1.386294", "-0.287682", "-0.693147", "-0.693147"]), [""; 0]);
        assert_eq!(warnings(["-1.39", "-0.29", "-0.69", "-0.69"]), [""; 0]);
        // A penalty that is the same everywhere, or none: not meant as probabilities.
        assert_eq!(warnings(["-2.0", "-2.0", "-3.0", "-3.0"]), [""; 0]);
        assert_eq!(warnings(["0", "-0.5", "0.1", "-0.2"]), [""; 0]);
        let told = "the weights after `a` look like log-probabilities, but sum to 0.750: expected 1";
        assert_eq!(warnings(["-1.386294", "-0.693147", "-2.0", "-2.0"]), [told]);
        let told = "the weights after `b` look like log-probabilities, but sum to 0.271: expected 1";
        assert_eq!(warnings(["-0.693147", "-0.693147", "-2.0", "-2.0"]), [told]);
    }
}
