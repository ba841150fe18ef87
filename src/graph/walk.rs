//! A graph gone through symbol by symbol, or word by word where it has words: what may follow is found when it is asked for, so
//! that thousands of words, each of which may follow each, need not be written out as links.

use super::net::{Best, Link, Net, Unit};
use super::{Graph, GraphSpec};
use crate::Result;
use crate::symbols::{SymbolId, SymbolTable};

/// The way through a graph.
#[derive(Debug)]
pub struct Walk {
    /// Of symbols.
    net: Net,
    words: Option<Words>,
}

/// The words of a graph as symbols.
#[derive(Debug)]
struct Words {
    names: SymbolTable,
    /// By node, [`None`] where no word ends.
    of_node: Vec<Option<SymbolId>>,
}

/// What may come next.
#[derive(Debug, Clone, PartialEq)]
pub struct Onward {
    /// The places that may be gone to, with the score of all up to them.
    pub links: Vec<Link>,
    /// The best score of ending; `None` where that is not allowed.
    pub end: Option<f32>,
}

impl Walk {
    /// The way through `graph`, which `spec` compiled: over its words where it has some, else over its symbols.
    pub fn new(spec: &GraphSpec, graph: &Graph) -> Self {
        let net = Net::new(spec, graph);
        let words = (!graph.words().is_empty()).then(|| Words::new(&net, graph));
        Self { net, words }
    }

    /// What is said at each step.
    pub fn unit(&self) -> Unit {
        if self.words.is_some() { Unit::Word } else { Unit::Symbol }
    }

    /// The names of what is said.
    pub fn symbols(&self) -> &SymbolTable {
        self.words.as_ref().map_or(self.net.symbols(), |words| &words.names)
    }

    /// What is said at a place that [`Walk::start`] or [`Walk::after`] leads to.
    pub fn symbol(&self, place: usize) -> SymbolId {
        let word = self.words.as_ref().and_then(|words| words.of_node[place]);
        word.unwrap_or(self.net.nodes()[place].symbol)
    }

    /// How a sequence may begin.
    ///
    /// # Errors
    /// As [`Walk::after`].
    pub fn start(&self) -> Result<Onward> {
        self.onward(self.net.starts(), None)
    }

    /// What may come after the places `at`, each reached with its score.
    ///
    /// # Errors
    /// [`crate::Error::Other`] when there are too many ways.
    pub fn after(&self, at: &[Link]) -> Result<Onward> {
        let onward = |at: &Link| {
            let score = at.score;
            self.net.links(at.to).iter().map(move |link| Link { to: link.to, score: link.score + score })
        };
        let end = at.iter().filter_map(|at| Some(at.score + self.net.nodes()[at.to].end?)).reduce(f32::max);
        self.onward(&at.iter().flat_map(onward).collect::<Vec<_>>(), end)
    }

    /// Of words, pauses and all within words are gone through.
    fn onward(&self, links: &[Link], end: Option<f32>) -> Result<Onward> {
        if self.words.is_none() {
            return Ok(Onward { links: links.to_vec(), end });
        }
        let (links, later) = self.net.as_far_as_words(links, &mut Best::new(self.net.nodes().len()))?;
        Ok(Onward { links, end: end.into_iter().chain(later).reduce(f32::max) })
    }

    /// For each place how many more symbols, or words, a sequence needs after it before it may end.
    pub fn to_end(&self) -> Vec<usize> {
        self.net.steps_to_end(self.unit())
    }
}

impl Words {
    fn new(net: &Net, graph: &Graph) -> Self {
        let mut names = SymbolTable::new();
        let word = |node: &super::net::Node| Some(names.intern(&graph.words()[node.word?.index()].text));
        let of_node = net.nodes().iter().map(word).collect();
        Self { names, of_node }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::net::tests::{SPOKEN, sequences, spoken};
    use super::*;

    /// All sequences of up to `longest` words with their best scores, step by step.
    fn walked(walk: &Walk, longest: usize) -> BTreeMap<Vec<SymbolId>, f32> {
        let mut found = BTreeMap::new();
        let mut open = vec![(vec![], walk.start().unwrap())];
        while let Some((said, onward)) = open.pop() {
            found.extend(onward.end.map(|end| (said.clone(), end)));
            let mut next: BTreeMap<SymbolId, Vec<Link>> = BTreeMap::new();
            onward.links.iter().for_each(|link| next.entry(walk.symbol(link.to)).or_default().push(*link));
            for (symbol, at) in next.into_iter().filter(|_| said.len() < longest) {
                open.push(([&said[..], &[symbol]].concat(), walk.after(&at).unwrap()));
            }
        }
        found
    }

    /// As the net that has all links written out.
    #[test]
    fn words_follow_each_other_as_in_the_net() {
        let (_folder, spec) = spoken(SPOKEN);
        let graph = spec.compile().unwrap();
        let (walk, net) = (Walk::new(&spec, &graph), Net::of(&spec, &graph).unwrap());
        let names = |symbols: &SymbolTable, said: &[SymbolId]| {
            said.iter().map(|&one| symbols.name(one).to_owned()).collect::<Vec<_>>()
        };
        let mut expected: BTreeMap<Vec<String>, f32> = BTreeMap::new();
        for (said, score) in sequences(&net, 4) {
            let best = expected.entry(names(net.symbols(), &said)).or_insert(score);
            *best = best.max(score);
        }
        let found = walked(&walk, 4);
        assert_eq!((walk.unit(), found.len()), (Unit::Word, expected.len()));
        for (said, score) in found {
            assert!((score - expected[&names(walk.symbols(), &said)]).abs() < 1e-5);
        }
        let first = walk.start().unwrap().links;
        assert!(first.iter().all(|link| walk.to_end()[link.to] == 0), "each may be the last word");
    }

    /// Twenty thousand words of which any may follow any.
    #[test]
    fn a_large_vocabulary_is_gone_through() {
        use super::super::accept::{Verdict, judge};
        use super::super::sample::{Choice, Sampler};
        let letters = ["a", "b", "c"];
        let words: String = (0..20_000_usize)
            .map(|word| {
                let said = (0..9).map(|place| letters[word / 3_usize.pow(place) % 3]).collect::<Vec<_>>().join(" ");
                format!("w{word} {said} {}\n", letters[word % 3])
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("words.dict"), words).unwrap();
        let text = SPOKEN.split("[grammar]").next().unwrap();
        let spec = GraphSpec::parse_as(&folder.path().join("graph.toml"), text).unwrap();
        let walk = Walk::new(&spec, &spec.compile().unwrap());
        assert_eq!(judge(&spec, &walk, &["w7", "w19999", "w7"]).unwrap(), Verdict::Legal { score: 0.0 });
        let sampler = Sampler::new(&walk, Choice::Uniform, 5).unwrap();
        let said = sampler.draw(&mut crate::random::Random::new(1)).unwrap();
        assert!(said.len() == 5 && said.iter().collect::<std::collections::BTreeSet<_>>().len() > 3, "{said:?}");
    }
}
