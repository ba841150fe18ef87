//! From words to phones: a net of words said in the symbols of the graph, as a net of segments.
//!
//! The pronunciations of a word are a prefix tree, laid out once for each node; each ends with a segment of its own, which
//! carries the word. A fan is a prefix tree over all its nodes: what several have in common is said once, and a branch goes on in
//! a node's own tree as soon as its prefix is of that node alone. Weights are pushed towards the root, so that a search knows
//! early what a branch is worth. Behind each node stand its own pauses, since what follows depends on the node.

use std::collections::BTreeMap;

use super::lattice::{Lattice, Link, MOST_ARCS, Place, Segment, too_large};
use super::spec::GraphSpec;
use super::words::WordNet;
use crate::Result;
use crate::symbols::{SymbolId, WordId};

/// One way to say a word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spoken {
    /// One symbol at least.
    pub symbols: Vec<SymbolId>,
    /// Natural log.
    pub weight: f32,
}

/// How words are said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Speech {
    /// The pronunciations of each word.
    pub spoken: Vec<Vec<Spoken>>,
    /// What a pause between two words adds.
    pub pause: f32,
}

/// The net of `words` as `speech` says them, each step allowed by `spec`. Of several steps from one segment to another the best
/// is kept; what lies on no way from a start to an end is still there.
///
/// # Errors
/// [`Error::Other`](crate::Error::Other) when there might be more than 50 million links.
pub(super) fn pronounce(spec: &GraphSpec, words: &WordNet, speech: &Speech) -> Result<Lattice> {
    let trees: Vec<Tree> = speech.spoken.iter().map(|spoken| Tree::new(spoken)).collect();
    let mut laid =
        Laid { spec, words, trees, pause: speech.pause, net: Lattice::default(), first: vec![], pauses: vec![] };
    laid.nodes()?;
    let fans = words.fans.iter().map(|fan| laid.fan(fan)).collect::<Result<Vec<Entries>>>()?;
    laid.check_size(&fans)?;
    laid.links(&fans);
    laid.edges(&fans);
    Ok(laid.net)
}

/// A symbol of some pronunciations of one word, after the same symbols.
#[derive(Debug, Clone, PartialEq)]
struct Vertex {
    symbol: SymbolId,
    /// Last: it ends one pronunciation. Inside: it begins or goes on with one or more, and ends none.
    place: Place,
    before: Option<usize>,
    /// The largest weight of a pronunciation that goes through it.
    best: f32,
}

/// The pronunciations of a word as a prefix tree.
#[derive(Debug, Clone, PartialEq)]
struct Tree(Vec<Vertex>);

impl Tree {
    fn new(spoken: &[Spoken]) -> Self {
        let mut vertices: Vec<Vertex> = vec![];
        let mut known = BTreeMap::new();
        for Spoken { symbols, weight } in spoken {
            let mut before = None;
            for (index, &symbol) in symbols.iter().enumerate() {
                let place = if index + 1 == symbols.len() { Place::Last } else { Place::Inside };
                let vertex = *known.entry((before, symbol, place == Place::Last)).or_insert_with(|| {
                    vertices.push(Vertex { symbol, place, before, best: *weight });
                    vertices.len() - 1
                });
                vertices[vertex].best = vertices[vertex].best.max(*weight);
                before = Some(vertex);
            }
        }
        Self(vertices)
    }

    /// The vertices right after `before`.
    fn after(&self, before: Option<usize>) -> impl Iterator<Item = (usize, &Vertex)> {
        self.0.iter().enumerate().filter(move |(_, vertex)| vertex.before == before)
    }
}

/// Segments that are entered, each with its weight.
type Entries = Vec<(usize, f32)>;

/// A net on its way into segments.
struct Laid<'a> {
    spec: &'a GraphSpec,
    words: &'a WordNet,
    /// By word.
    trees: Vec<Tree>,
    pause: f32,
    net: Lattice,
    /// The segment of the first vertex of each node; the others follow it.
    first: Vec<usize>,
    /// The first pause behind each node; the others follow it.
    pauses: Vec<usize>,
}

/// A vertex of a node that a fan may go on with.
#[derive(Debug, Clone, Copy)]
struct Branch {
    node: usize,
    vertex: usize,
    symbol: SymbolId,
    place: Place,
    /// That of the node.
    weight: f32,
    /// That of the node with its best pronunciation through the vertex.
    best: f32,
}

impl Branch {
    /// Whether one segment may be said for both: an end is its node's own.
    fn is_shared_with(&self, other: &Self) -> bool {
        self.symbol == other.symbol && self.place == Place::Inside && other.place == Place::Inside
    }
}

impl Laid<'_> {
    fn tree(&self, node: usize) -> &Tree {
        &self.trees[self.words.nodes[node].index()]
    }

    /// The trees of all nodes, and the pauses behind them.
    fn nodes(&mut self) -> Result<()> {
        for (node, &word) in self.words.nodes.iter().enumerate() {
            self.first.push(self.net.segments.len());
            self.node(word);
            self.pauses.push(self.net.segments.len());
            let ends: Vec<usize> = self.ends(node).collect();
            self.net.gap(self.spec, &ends);
            let size = self.net.segments.len() + self.net.links.len();
            if size > MOST_ARCS {
                return Err(too_large(size));
            }
        }
        Ok(())
    }

    fn node(&mut self, word: WordId) {
        let first = self.net.segments.len();
        let Self { net, trees, .. } = self;
        for vertex in &trees[word.index()].0 {
            let is_last = vertex.place == Place::Last;
            let to = net.segment(Segment { symbol: vertex.symbol, place: vertex.place, word: is_last.then_some(word) });
            if let Some(before) = vertex.before {
                let fixed = vertex.best - trees[word.index()].0[before].best;
                net.links.push(Link { from: first + before, to, fixed });
            }
        }
    }

    /// One prefix tree over `nodes`: the segments by which it is entered.
    ///
    /// A segment that shared ones lead to is entered with what its best way is worth, less what they were worth:
    /// `fixed(v -> w) = best(w) - best(v)`.
    fn fan(&mut self, nodes: &[(usize, f32)]) -> Result<Entries> {
        let mut entries = vec![];
        let roots = best_of(nodes.to_vec()).into_iter().map(|(node, weight)| (node, None, weight));
        let mut open = vec![(None, self.branches(roots))];
        while let Some((before, branches)) = open.pop() {
            for alike in branches.chunk_by(Branch::is_shared_with) {
                let best = alike.iter().map(|branch| branch.best).fold(f32::NEG_INFINITY, f32::max);
                let to = match alike {
                    [one] => self.first[one.node] + one.vertex,
                    _ => self.net.segment(Segment { symbol: alike[0].symbol, place: Place::Inside, word: None }),
                };
                match before {
                    None => entries.push((to, best)),
                    Some((from, sum)) => self.net.links.push(Link { from, to, fixed: best - sum }),
                }
                if alike.len() > 1 {
                    let onward = alike.iter().map(|branch| (branch.node, Some(branch.vertex), branch.weight));
                    open.push((Some((to, best)), self.branches(onward)));
                }
            }
            if self.net.links.len() > MOST_ARCS {
                return Err(too_large(self.net.links.len()));
            }
        }
        Ok(entries)
    }

    /// What comes after vertices of nodes, given with the weights of the nodes; like beside like.
    fn branches(&self, from: impl Iterator<Item = (usize, Option<usize>, f32)>) -> Vec<Branch> {
        let mut branches = vec![];
        for (node, before, weight) in from {
            let branch = |(vertex, found): (usize, &Vertex)| {
                let (symbol, place) = (found.symbol, found.place);
                Branch { node, vertex, symbol, place, weight, best: weight + found.best }
            };
            branches.extend(self.tree(node).after(before).map(branch));
        }
        branches.sort_by_key(|branch| (branch.symbol, branch.place == Place::Last));
        branches
    }

    /// The segments by which `node` is entered on its own.
    fn entries(&self, node: usize) -> impl Iterator<Item = (usize, f32)> {
        self.tree(node).after(None).map(move |(vertex, found)| (self.first[node] + vertex, found.best))
    }

    /// The last segments of the pronunciations of `node`.
    fn ends(&self, node: usize) -> impl Iterator<Item = usize> {
        let ends = self.tree(node).0.iter().enumerate().filter(|(_, vertex)| vertex.place == Place::Last);
        ends.map(move |(vertex, _)| self.first[node] + vertex)
    }

    /// The pauses behind `node`.
    fn pauses(&self, node: usize) -> std::ops::Range<usize> {
        self.pauses[node]..self.pauses[node] + self.spec.optional().len()
    }

    /// The segments from which `node` is left for another word, with what that adds.
    fn exits(&self, node: usize) -> impl Iterator<Item = (usize, f32)> {
        let pauses = self.pauses(node).map(|segment| (segment, self.pause));
        self.ends(node).map(|segment| (segment, 0.0)).chain(pauses)
    }

    /// The links between words, counted as if every pair were legal, before they are made.
    fn check_size(&self, fans: &[Entries]) -> Result<()> {
        let exits = |link: &Link| self.exits(link.from).count();
        let words = self.words.links.iter().map(|link| exits(link) * self.entries(link.to).count());
        let fans = self.words.fan_links.iter().map(|link| exits(link) * fans[link.to].len());
        let links = words.chain(fans).fold(self.net.links.len(), usize::saturating_add);
        if links > MOST_ARCS { Err(too_large(links)) } else { Ok(()) }
    }

    /// The links between words; of several from one segment to another the best.
    fn links(&mut self, fans: &[Entries]) {
        let mut links = std::mem::take(&mut self.net.links);
        let mut join = |link: &Link, (to, weight): (usize, f32)| {
            for (from, pause) in self.exits(link.from).filter(|exit| self.follows(exit.0, to)) {
                links.push(Link { from, to, fixed: link.fixed + pause + weight });
            }
        };
        for link in &self.words.links {
            self.entries(link.to).for_each(|entry| join(link, entry));
        }
        for link in &self.words.fan_links {
            fans[link.to].iter().for_each(|&entry| join(link, entry));
        }
        links.sort_unstable_by(|a, b| (a.from, a.to).cmp(&(b.from, b.to)).then(b.fixed.total_cmp(&a.fixed)));
        links.dedup_by_key(|link| (link.from, link.to));
        self.net.links = links;
    }

    fn follows(&self, from: usize, to: usize) -> bool {
        self.spec.follows(self.net.segments[from].symbol, self.net.segments[to].symbol)
    }

    /// How an utterance begins and ends: with a word or a pause, or with pauses only where no word need be said.
    fn edges(&mut self, fans: &[Entries]) {
        let mut firsts: Entries = vec![];
        for &(node, fixed) in &self.words.starts {
            firsts.extend(self.entries(node).map(|(to, weight)| (to, fixed + weight)));
        }
        for &(fan, fixed) in &self.words.fan_starts {
            firsts.extend(fans[fan].iter().map(|&(to, weight)| (to, fixed + weight)));
        }
        let mut lasts: Entries = vec![];
        for &(node, fixed) in &self.words.ends {
            lasts.extend(self.ends(node).chain(self.pauses(node)).map(|segment| (segment, fixed)));
        }
        let firsts = best_of(firsts);
        let opening = self.net.gap(self.spec, &[]);
        for &(to, fixed) in &firsts {
            let from = opening.clone().filter(|&pause| self.follows(pause, to));
            let links: Vec<Link> = from.map(|from| Link { from, to, fixed }).collect();
            self.net.links.extend(links);
        }
        lasts.extend(self.words.empty.iter().flat_map(|&fixed| opening.clone().map(move |pause| (pause, fixed))));
        let firsts = opening.map(|pause| (pause, 0.0)).chain(firsts);
        self.net.starts = self.among(firsts, self.spec.starts());
        self.net.ends = self.among(best_of(lasts).into_iter(), self.spec.ends());
    }

    /// Those of `edges` whose symbol is in `legal`.
    fn among(&self, edges: impl Iterator<Item = (usize, f32)>, legal: &[SymbolId]) -> Entries {
        edges.filter(|(segment, _)| legal.binary_search(&self.net.segments[*segment].symbol).is_ok()).collect()
    }
}

/// Of several weights of one thing the best.
fn best_of(mut all: Entries) -> Entries {
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    all.dedup_by_key(|entry| entry.0);
    all
}
