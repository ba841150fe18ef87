//! The tags and which of them may follow which.
//!
//! In: the tags of the training data, or a graph file whose symbols are the tags. Out: the graph to learn and search on, with
//! one state a tag, and tagged sequences as symbols. Training and prediction read the same graph, so that a pair which it
//! lacks is neither learnt nor answered.

use crate::data::Sequence;
use crate::graph::GraphSpec;
use crate::symbols::{SymbolId, SymbolTable};
use crate::{Error, Result};

/// Tags, numbered, with their graph: symbol k reads pdf k.
#[derive(Debug, Clone)]
pub struct TagSet {
    spec: GraphSpec,
}

impl TagSet {
    /// The tags of `sequences` in the order in which they first appear; every one may follow every one, begin and end.
    ///
    /// # Errors
    /// As [`TagSet::unrestricted`].
    pub fn of(sequences: &[Sequence]) -> Result<Self> {
        Self::unrestricted(sequences.iter().flat_map(Sequence::tags))
    }

    /// The different ones among `tags` in the order in which they first appear; every one may follow every one, begin and
    /// end.
    ///
    /// # Errors
    /// [`Error::Other`] when there is no tag, or more than a graph can have.
    pub fn unrestricted<S: AsRef<str>>(tags: impl IntoIterator<Item = S>) -> Result<Self> {
        let tags: SymbolTable = tags.into_iter().collect();
        match GraphSpec::unrestricted(tags) {
            Ok(spec) => Ok(Self { spec }),
            Err(error) => Err(Error::Other(format!("{error}: is the last column the tag?"))),
        }
    }

    /// The symbols of a graph file.
    ///
    /// # Errors
    /// [`Error::Config`] when a symbol can last anything but one token: several states, or a self-loop.
    pub fn restricted(spec: GraphSpec) -> Result<Self> {
        let lasting = |&symbol: &SymbolId| {
            let topology = spec.topology(symbol);
            topology.min_frames() != 1 || topology.self_loop().is_some()
        };
        match spec.symbols().ids().find(lasting) {
            None => Ok(Self { spec }),
            Some(symbol) => {
                let name = spec.symbols().name(symbol);
                let reason = format!(
                    "symbol `{name}` may last more than one token: a tag needs states = 1, min_frames = 1 and self_loop = false \
                     in its [topology]"
                );
                Err(Error::Config { path: spec.path().to_owned(), reason })
            }
        }
    }

    /// The graph's description; [`GraphSpec::compile`] makes the graph of it.
    pub fn spec(&self) -> &GraphSpec {
        &self.spec
    }

    /// The graph file to keep with a model; none when nothing is restricted, as then [`TagSet::names`] say all.
    pub fn graph_text(&self) -> Option<&str> {
        Some(self.spec.text()).filter(|text| !text.is_empty())
    }

    /// The tags by number.
    pub fn names(&self) -> &[String] {
        self.spec.symbols().names()
    }

    /// The tags of `sequence` as symbols, `[T]`: a legal path of the graph.
    ///
    /// # Errors
    /// [`Error::TextFile`] naming line and sequence for a tag that is no symbol of the graph, one that may not begin or end a
    /// sequence, or a pair that is not allowed.
    pub fn encode(&self, sequence: &Sequence) -> Result<Vec<SymbolId>> {
        let symbols = self.spec.symbols();
        let symbol = |(token, tag)| {
            let unknown = || format!("the tag {tag} is none of the {} symbols of the graph", symbols.len());
            symbols.get(tag).ok_or_else(|| sequence.fault(token, unknown()))
        };
        let path: Vec<SymbolId> = sequence.tags().into_iter().enumerate().map(symbol).collect::<Result<_>>()?;
        self.check(sequence, &path)?;
        Ok(path)
    }

    /// Whether `path`, the tags of `sequence`, is legal.
    fn check(&self, sequence: &Sequence, path: &[SymbolId]) -> Result<()> {
        let name = |symbol| self.spec.symbols().name(symbol);
        let illegal = |token, what: String| Err(sequence.fault(token, format!("{what} by the graph")));
        let last = path.len() - 1;
        if self.spec.starts().binary_search(&path[0]).is_err() {
            return illegal(0, format!("{} is not allowed as the first symbol", name(path[0])));
        }
        if let Some(token) = (1..=last).find(|&token| !self.spec.follows(path[token - 1], path[token])) {
            return illegal(token, format!("{} -> {} is not allowed", name(path[token - 1]), name(path[token])));
        }
        match self.spec.ends().binary_search(&path[last]).is_ok() {
            true => Ok(()),
            false => illegal(last, format!("{} is not allowed as the last symbol", name(path[last]))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ColumnFile, Layout};
    use crate::graph::Graph;
    use crate::graph::toy::{ONE_FRAME, everything_goes};

    /// The sequence of these tags, whose words do not matter.
    fn tagged(tags: &[&str]) -> Sequence {
        let text: String = tags.iter().map(|tag| format!("w\t{tag}\n")).collect();
        let file = ColumnFile::collect("t.tsv".as_ref(), text.as_bytes(), Layout::Tagged).unwrap();
        file.whole().unwrap().remove(0)
    }

    const BIO: &str = "format = 1\n[vars]\ntype = [\"PER\", \"LOC\"]\n[classes]\noutside = [\"O\"]\nbegin = [\"B-{type}\"]\n\
        inside = [\"I-{type}\"]\n[boundary]\nstart = [\"outside\", \"begin\"]\nend = [\"O\", \"I-PER\", \"I-LOC\"]\n\
        [[allow]]\nfrom = \"*\"\nto = [\"outside\", \"begin\"]\n[[allow]]\nfrom = [\"B-{type}\", \"I-{type}\"]\nto = \"I-{type}\"\n\
        [topology.default]\nstates = 1\nself_loop = false\n";

    fn bio() -> TagSet {
        TagSet::restricted(GraphSpec::parse(BIO).unwrap()).unwrap()
    }

    #[test]
    fn without_a_graph_file_everything_goes_whatever_the_tags_are_called() {
        let tags = ["*", "{", "B-{x}", "\"", "''", ",", "a b", "*", "default"];
        let set = TagSet::of(&[tagged(&tags)]).unwrap();
        assert_eq!(set.names(), ["*", "{", "B-{x}", "\"", "''", ",", "a b", "default"]);
        let path = set.encode(&tagged(&tags)).unwrap();
        assert_eq!(path, [0, 1, 2, 3, 4, 5, 6, 0, 7].map(SymbolId));
        let graph = set.spec().compile().unwrap();
        let (states, arcs) = (graph.len(), graph.arc_count());
        assert_eq!((states, arcs, graph.starts().len(), graph.finals().len(), graph.pdfs()), (8, 64, 8, 8, 8));
        assert_eq!((graph.transitions(), set.spec().transitions()), (80, 80));
        assert_eq!(TagSet::unrestricted(set.names()).unwrap().names(), set.names());
        assert_eq!(set.graph_text(), None);
    }

    /// What a file says of the same tags gives the same graph and the same parameters.
    #[test]
    fn without_a_graph_file_the_graph_is_that_of_a_file_that_allows_all() {
        let text = everything_goes(&["D", "N", "V"], ONE_FRAME);
        let written = TagSet::restricted(GraphSpec::parse(&text).unwrap()).unwrap();
        let free = TagSet::unrestricted(["D", "N", "V"]).unwrap();
        assert_eq!(free.spec().initial_weights(), written.spec().initial_weights());
        let parts = |graph: &Graph| {
            (graph.states().to_vec(), graph.all_arcs().to_vec(), graph.starts().to_vec(), graph.finals().to_vec())
        };
        let [free, written] = [free, written].map(|set| parts(&set.spec().compile().unwrap()));
        assert_eq!(free, written);
    }

    #[test]
    fn a_tag_is_one_pdf_and_a_tagging_one_path() {
        let set = bio();
        assert_eq!((set.names().len(), set.spec().pdfs(), set.graph_text()), (5, 5, Some(BIO)));
        let symbols = set.encode(&tagged(&["O", "B-PER", "I-PER"])).unwrap();
        let graph = set.spec().transcript(&symbols).unwrap();
        assert_eq!((graph.len(), graph.arc_count(), graph.shortest_path_frames()), (3, 2, Some(3)));
    }

    #[test]
    fn what_the_graph_does_not_allow_is_a_fault_of_its_line() {
        let fault = |tags: &[&str]| bio().encode(&tagged(tags)).unwrap_err().to_string();
        let cases: [(&[&str], &str); 5] = [
            (&["O", "B-ORG"], "2: sequence 1: the tag B-ORG is none of the 5 symbols of the graph"),
            (&["O", "I-PER", "O"], "2: sequence 1: O -> I-PER is not allowed by the graph"),
            (&["O", "B-PER", "I-LOC"], "3: sequence 1: B-PER -> I-LOC is not allowed by the graph"),
            (&["I-PER", "O"], "1: sequence 1: I-PER is not allowed as the first symbol by the graph"),
            (&["O", "B-PER"], "2: sequence 1: B-PER is not allowed as the last symbol by the graph"),
        ];
        for (tags, message) in cases {
            assert_eq!(fault(tags), format!("t.tsv:{message}"));
        }
        assert_eq!(bio().encode(&tagged(&["O"])).unwrap(), [SymbolId(0)]);
    }

    #[test]
    fn a_tag_lasts_one_token() {
        for lasting in [
            "states = 1\nself_loop = 0.5",
            "states = 2\nself_loop = false",
            "states = 1\nmin_frames = 2\nself_loop = 0.5",
        ] {
            let spec = GraphSpec::parse(&BIO.replace("states = 1\nself_loop = false", lasting)).unwrap();
            let error = TagSet::restricted(spec).unwrap_err().to_string();
            assert!(
                error.starts_with("graph.toml: symbol `O` may last more than one token: a tag needs states = 1"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_column_of_words_is_not_taken_for_tags() {
        let words: Vec<String> = (0..4097).map(|word| word.to_string()).collect();
        let error = TagSet::unrestricted(&words).unwrap_err().to_string();
        assert_eq!(
            error,
            "4097 different symbols: a graph has at least 1 and at most 4096: is the last column the tag?"
        );
        assert!(TagSet::unrestricted([""; 0]).is_err());
    }
}
