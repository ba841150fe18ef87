//! A compiled graph by its symbols: what may begin, follow and end, without how long each lasts.
//!
//! Each place at which a segment begins becomes a node, each step into another segment a link. A graph of pair rules has a node
//! for each symbol; one with a language model or a grammar has a node for a symbol in each of its contexts. What `senone graph`
//! shows and tests is made from this net. That of a graph of words has a node for each place where a word ends, and words for
//! symbols.

use std::collections::BTreeMap;
use std::sync::Arc as Shared;

use super::{Graph, GraphSpec, TransitionRole};
use crate::symbols::{StateId, SymbolId, SymbolTable, TransitionId, WordId};
use crate::{Error, Result};

/// More steps than are gone from word to word.
const MOST_STEPS: usize = 5_000_000;

/// What the nodes of a net stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The symbols of the graph.
    Symbol,
    /// The words of its lexicon.
    Word,
}

impl Unit {
    /// What one is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Symbol => "symbol",
            Self::Word => "word",
        }
    }
}

/// A place of a symbol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// The symbol that is said there.
    pub symbol: SymbolId,
    /// The word that ends there.
    pub word: Option<WordId>,
    /// What ending there adds, natural log; `None` when no sequence may end there.
    pub end: Option<f32>,
}

/// A way to a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The node entered.
    pub to: usize,
    /// The rule's weight and what the language model adds, natural log. What a self-loop leaves for going on is no part of it.
    pub score: f32,
}

/// All legal symbol sequences: those of the paths from a start to a node that may end.
#[derive(Debug, Clone)]
pub struct Net {
    unit: Unit,
    symbols: Shared<SymbolTable>,
    nodes: Vec<Node>,
    first_link: Vec<usize>,
    links: Vec<Link>,
    starts: Vec<Link>,
}

impl Net {
    /// The net of `graph`, which `spec` compiled.
    pub fn new(spec: &GraphSpec, graph: &Graph) -> Self {
        let (mut nodes, node_of) = segments(graph);
        for end in graph.finals() {
            nodes[node_of[end.state.index()]].end = Some(end.fixed);
        }
        let start = |start: &super::Boundary| Link { to: node_of[start.state.index()], score: start.fixed };
        let mut steps: Vec<(usize, Link)> = vec![];
        for (position, arc) in graph.all_arcs().iter().enumerate() {
            let from = graph.source(position);
            if graph.enters(from, arc.to) {
                let score = rule_weight(spec, arc.transition) + arc.fixed;
                steps.push((node_of[from.index()], Link { to: node_of[arc.to.index()], score }));
            }
        }
        // A symbol of two states, one to enter and one to dwell in, is left from both in the same way.
        steps.sort_by_key(|(from, link)| (*from, link.to));
        steps.dedup_by_key(|(from, link)| (*from, link.to));
        Self::laid_out(
            (Unit::Symbol, graph.symbols().clone()),
            nodes,
            (graph.starts().iter().map(start).collect(), steps),
        )
    }

    /// The net of `graph`, which `spec` compiled, over its words where it has some, else over its symbols.
    ///
    /// # Errors
    /// [`Error::Other`] when too many steps lead from word to word, as in an n-gram of thousands of words.
    pub fn of(spec: &GraphSpec, graph: &Graph) -> Result<Self> {
        let net = Self::new(spec, graph);
        if graph.words().is_empty() { Ok(net) } else { net.of_words(graph) }
    }

    /// Only the nodes in which words end: what lies between is gone through at its best weight.
    fn of_words(&self, graph: &Graph) -> Result<Self> {
        let ends: Vec<usize> = (0..self.nodes.len()).filter(|&node| self.nodes[node].word.is_some()).collect();
        let place: BTreeMap<usize, usize> = ends.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        let mut symbols = SymbolTable::new();
        let (mut nodes, mut steps, mut best) = (vec![], vec![], Best::new(self.nodes.len()));
        for (from, &node) in ends.iter().enumerate() {
            let (onward, end) = self.as_far_as_words(self.links(node), &mut best)?;
            let own = self.nodes[node];
            let text = own.word.map_or("", |word| &graph.words()[word.index()].text);
            let end = [own.end, end].into_iter().flatten().reduce(f32::max);
            nodes.push(Node { symbol: symbols.intern(text), end, ..own });
            steps.extend(onward.iter().map(|link| (from, Link { to: place[&link.to], ..*link })));
        }
        let (starts, _) = self.as_far_as_words(&self.starts, &mut best)?;
        let starts = starts.iter().map(|link| Link { to: place[&link.to], ..*link }).collect();
        Ok(Self::laid_out((Unit::Word, Shared::new(symbols)), nodes, (starts, steps)))
    }

    /// The nodes in which the next word ends after `links`, each with its best score, and the best score of ending before one does.
    ///
    /// # Errors
    /// [`Error::Other`] when `best` has counted too many steps.
    pub(super) fn as_far_as_words(&self, links: &[Link], best: &mut Best) -> Result<(Vec<Link>, Option<f32>)> {
        let mut end: Option<f32> = None;
        let mut open = links.to_vec();
        while let Some(Link { to, score }) = open.pop() {
            if best.is_improved(to, score)? && self.nodes[to].word.is_none() {
                end = [end, self.nodes[to].end.map(|end| end + score)].into_iter().flatten().reduce(f32::max);
                open.extend(self.links(to).iter().map(|link| Link { to: link.to, score: score + link.score }));
            }
        }
        let words = best.take().into_iter().filter(|link| self.nodes[link.to].word.is_some());
        Ok((words.collect(), end))
    }

    /// A net of `nodes` with their links, which come by ascending source.
    fn laid_out(
        (unit, symbols): (Unit, Shared<SymbolTable>),
        nodes: Vec<Node>,
        (starts, steps): (Vec<Link>, Vec<(usize, Link)>),
    ) -> Self {
        let mut first_link = vec![0; nodes.len() + 1];
        steps.iter().for_each(|(from, _)| first_link[from + 1] += 1);
        (0..nodes.len()).for_each(|node| first_link[node + 1] += first_link[node]);
        let links = steps.into_iter().map(|(_, link)| link).collect();
        Self { unit, symbols, nodes, first_link, links, starts }
    }

    /// What its nodes stand for, and [`Net::symbols`] are the names of.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The names of the symbols.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The name of the symbol of `node`.
    pub fn name(&self, node: usize) -> &str {
        self.symbols.name(self.nodes[node].symbol)
    }

    /// Ways to begin.
    pub fn starts(&self) -> &[Link] {
        &self.starts
    }

    /// What may follow `node`, by ascending node.
    pub fn links(&self, node: usize) -> &[Link] {
        &self.links[self.first_link[node]..self.first_link[node + 1]]
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// For each node how many more symbols, or words of a net of symbols, a sequence needs there before it may end.
    pub(super) fn steps_to_end(&self, unit: Unit) -> Vec<usize> {
        let counts = |node: usize| unit == Unit::Symbol || self.nodes[node].word.is_some();
        let mut sources: Vec<Vec<usize>> = vec![vec![]; self.nodes.len()];
        for from in 0..self.nodes.len() {
            self.links(from).iter().for_each(|link| sources[link.to].push(from));
        }
        let mut missing = vec![usize::MAX; self.nodes.len()];
        let mut front: Vec<usize> = (0..self.nodes.len()).filter(|&node| self.nodes[node].end.is_some()).collect();
        for steps in 0.. {
            let mut next = vec![];
            while let Some(node) = front.pop() {
                if missing[node] == usize::MAX {
                    missing[node] = steps;
                    if counts(node) { &mut next } else { &mut front }.extend(&sources[node]);
                }
            }
            if next.is_empty() {
                break;
            }
            front = next;
        }
        missing
    }
}

/// The best score of each node, as far as steps have led.
#[derive(Debug)]
pub(super) struct Best {
    scores: Vec<f32>,
    reached: Vec<usize>,
    /// Steps that may still be made.
    left: usize,
}

impl Best {
    /// Of so many `nodes` none is reached.
    pub fn new(nodes: usize) -> Self {
        Self { scores: vec![f32::NEG_INFINITY; nodes], reached: vec![], left: MOST_STEPS }
    }

    /// Whether a step to `node` is better than those before.
    fn is_improved(&mut self, node: usize, score: f32) -> Result<bool> {
        let too_many = || Error::Other("too many words may follow each other: use a smaller graph".into());
        self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
        let known = self.scores[node];
        self.scores[node] = known.max(score);
        if known == f32::NEG_INFINITY {
            self.reached.push(node);
        }
        Ok(score > known)
    }

    /// The nodes that were reached, ascending; from now on none is.
    fn take(&mut self) -> Vec<Link> {
        let mut reached = std::mem::take(&mut self.reached);
        reached.sort_unstable();
        reached
            .into_iter()
            .map(|to| Link { to, score: std::mem::replace(&mut self.scores[to], f32::NEG_INFINITY) })
            .collect()
    }
}

/// The nodes of `graph`, and the node that each of its states belongs to: that of the state by which its segment is entered.
fn segments(graph: &Graph) -> (Vec<Node>, Vec<usize>) {
    let mut nodes = vec![];
    let mut node_of = vec![usize::MAX; graph.len()];
    for (index, state) in graph.states().iter().enumerate().filter(|(_, state)| state.entry) {
        let mut word = None;
        let mut open = vec![StateId::from_index(index)];
        while let Some(next) = open.pop() {
            if std::mem::replace(&mut node_of[next.index()], nodes.len()) != usize::MAX {
                continue;
            }
            word = word.or(graph.word(next));
            open.extend(graph.arcs(next).iter().map(|arc| arc.to).filter(|&to| to != next && !graph.enters(next, to)));
        }
        nodes.push(Node { symbol: state.symbol, word, end: None });
    }
    (nodes, node_of)
}

/// The weight that the file's rule gives the step of `transition`; 0 where there is no rule.
fn rule_weight(spec: &GraphSpec, transition: TransitionId) -> f32 {
    if !transition.is_some() {
        return 0.0;
    }
    match spec.transition_role(transition) {
        TransitionRole::Pair { from, to } => {
            let row = spec.successors(from);
            row.binary_search_by_key(&to, |&(to, _)| to).map_or(0.0, |place| row[place].1)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Entry and dwell state (a), several frames (b), one frame without a self-loop (c).
    pub const MIXED: &str = "format = 1\n[classes]\nall = ['a', 'b', 'c']\n[boundary]\nstart = ['a', 'c']\nend = ['b', 'c']\n\
        [[allow]]\nfrom = 'a'\nto = ['a', 'b']\nweight = -0.5\n[[allow]]\nfrom = ['b', 'c']\nto = ['c', 'a']\nweight = -1.5\n\
        [topology.default]\nstates = 2\nmin_frames = 3\nself_loop = 0.75\n[topology.a]\nstates = 1\nmin_frames = 1\n\
        [topology.c]\nstates = 1\nmin_frames = 1\nself_loop = false\n";

    /// All sequences of up to `longest` symbols with their scores, by walking the net.
    pub fn sequences(net: &Net, longest: usize) -> Vec<(Vec<SymbolId>, f32)> {
        let mut found = vec![];
        let mut open: Vec<(Vec<SymbolId>, Link)> = net.starts().iter().map(|&start| (vec![], start)).collect();
        while let Some((mut said, at)) = open.pop() {
            let node = net.nodes()[at.to];
            said.push(node.symbol);
            found.extend(node.end.map(|end| (said.clone(), at.score + end)));
            if said.len() < longest {
                let onward = net.links(at.to).iter();
                open.extend(onward.map(|l| (said.clone(), Link { to: l.to, score: at.score + l.score })));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// All sequences of up to `longest` symbols that the file's rules admit, by trying all.
    fn by_rules(spec: &GraphSpec, longest: usize) -> Vec<(Vec<SymbolId>, f32)> {
        let mut all: Vec<Vec<SymbolId>> = vec![vec![]];
        let mut found = vec![];
        for _ in 0..longest {
            all = all.iter().flat_map(|s| spec.symbols().ids().map(move |t| [&s[..], &[t]].concat())).collect();
            for said in all.iter().filter(|s| spec.starts().contains(&s[0]) && spec.ends().contains(&s[s.len() - 1])) {
                let weight = |pair: &[SymbolId]| spec.successors(pair[0]).iter().find(|(to, _)| *to == pair[1]);
                let weights: Option<Vec<f32>> = said.windows(2).map(|pair| weight(pair).map(|(_, w)| *w)).collect();
                found.extend(weights.map(|weights| (said.clone(), weights.iter().sum())));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    #[test]
    fn a_net_has_the_sequences_that_the_rules_admit_with_their_weights() {
        let spec = GraphSpec::parse(MIXED).unwrap();
        let net = Net::new(&spec, &spec.compile().unwrap());
        assert_eq!(net.nodes().len(), 3, "a node for each symbol, though a has two states");
        let (found, expected) = (sequences(&net, 6), by_rules(&spec, 6));
        assert!(found.len() > 40);
        assert_eq!(found, expected);
        assert_eq!(net.steps_to_end(Unit::Symbol), [1, 0, 0]);
    }

    /// A language of four words; prefixes in common, two pronunciations, and a pause between words.
    pub const SPOKEN: &str = "format = 1\noptional = 'sil'\n[classes]\nall = ['a', 'b', 'c', 'sil']\n[boundary]\nstart = '*'\nend = '*'\n\
        [[allow]]\nfrom = '*'\nto = '*'\n[[forbid]]\nfrom = 'sil'\nto = 'sil'\n[topology.default]\nstates = 1\nself_loop = 0.5\n\
        [lexicon]\nfile = 'words.dict'\npause = -1.0\n[grammar]\nrule = \"(/0.5/ ab | /0.25/ abc) c*\"\n";

    /// The graph file `text` beside a dictionary.
    pub fn spoken(text: &str) -> (tempfile::TempDir, GraphSpec) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("words.dict"), "ab a b\nab(2) a c\nabc a b c\nc c\n").unwrap();
        let spec = GraphSpec::parse_as(&folder.path().join("graph.toml"), text).unwrap();
        (folder, spec)
    }

    #[test]
    fn a_graph_of_words_has_a_net_of_words() {
        let (_folder, spec) = spoken(SPOKEN);
        let net = Net::of(&spec, &spec.compile().unwrap()).unwrap();
        assert_eq!((net.unit(), net.symbols().names()), (Unit::Word, &["ab", "abc", "c"].map(str::to_owned)[..]));
        let mut found: BTreeMap<Vec<&str>, f32> = BTreeMap::new();
        for (said, score) in sequences(&net, 3) {
            let best = found.entry(said.iter().map(|&word| net.symbols().name(word)).collect()).or_insert(score);
            *best = best.max(score);
        }
        let expected =
            [("ab", 0.5_f32), ("ab c", 0.5), ("ab c c", 0.5), ("abc", 0.25), ("abc c", 0.25), ("abc c c", 0.25)];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (said, probability) in expected {
            let score = found[&said.split(' ').collect::<Vec<_>>()];
            assert!((score - probability.ln()).abs() < 1e-5, "{said}: {score}");
        }
    }
}
