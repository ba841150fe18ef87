//! Symbols in a net: the step between a constraint and its states. The full graph and every transcript graph are first a net of
//! segments and links, which one function lays out as states and arcs.

use super::spec::GraphSpec;
use super::{Arc, Boundary, Graph, GraphBuilder, State};
use crate::symbols::{PdfId, StateId, SymbolId, TransitionId, WordId};
use crate::{Error, Result};

/// More arcs than a graph may have: each takes some 50 bytes while it is built.
pub(super) const MOST_ARCS: usize = 50_000_000;

/// Where in a word a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// More of the word follows.
    Inside,
    /// The word ends with it; a pause is a word of its own.
    Last,
    /// The net knows no words: either may be.
    Open,
}

/// One place of a symbol in the net.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    pub symbol: SymbolId,
    pub place: Place,
    /// The word whose pronunciation ends with this segment.
    pub word: Option<WordId>,
}

/// A step from one segment to another, with what the language model adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    pub from: usize,
    pub to: usize,
    pub fixed: f32,
}

/// Segments, the links between them, and where a sequence may begin and end (with what the language model adds).
#[derive(Debug, Clone, Default)]
pub(super) struct Lattice {
    pub segments: Vec<Segment>,
    pub links: Vec<Link>,
    pub starts: Vec<(usize, f32)>,
    pub ends: Vec<(usize, f32)>,
}

/// The states of one segment: entered by the first, left from `exits`.
struct Chain {
    entry: StateId,
    exits: std::ops::Range<usize>,
}

impl Lattice {
    /// Adds a segment.
    pub fn segment(&mut self, segment: Segment) -> usize {
        self.segments.push(segment);
        self.segments.len() - 1
    }

    /// Adds the link `from -> to` if the graph allows the pair.
    pub fn link_legal(&mut self, spec: &GraphSpec, from: usize, to: usize) {
        if spec.follows(self.segments[from].symbol, self.segments[to].symbol) {
            self.links.push(Link { from, to, fixed: 0.0 });
        }
    }

    /// Adds a gap between words: the pauses of `spec`, each once, in any legal sequence, entered from `before`.
    pub fn gap(&mut self, spec: &GraphSpec, before: &[usize]) -> std::ops::Range<usize> {
        let first = self.segments.len();
        for &symbol in spec.optional() {
            self.segment(Segment { symbol, place: Place::Last, word: None });
        }
        let gap = first..self.segments.len();
        for to in gap.clone() {
            before.iter().copied().chain(gap.clone()).for_each(|from| self.link_legal(spec, from, to));
        }
        gap
    }

    /// Which segments a start leads to.
    pub fn reached(&self) -> Vec<bool> {
        let steps = self.links.iter().map(|link| (link.from, link.to));
        reach(self.segments.len(), self.starts.iter().map(|start| start.0), steps)
    }

    /// Which segments lead to an end.
    pub fn ending(&self) -> Vec<bool> {
        let steps = self.links.iter().map(|link| (link.to, link.from));
        reach(self.segments.len(), self.ends.iter().map(|end| end.0), steps)
    }

    /// The part that lies on some way from a start to an end; `None` when there is no such way.
    pub fn trimmed(self) -> Option<Self> {
        let mut place = vec![None; self.segments.len()];
        let mut kept = Self::default();
        for (segment, (reached, ending)) in self.reached().into_iter().zip(self.ending()).enumerate() {
            if reached && ending {
                place[segment] = Some(kept.segments.len());
                kept.segments.push(self.segments[segment]);
            }
        }
        let ends = |ends: &[(usize, f32)]| ends.iter().filter_map(|&(s, fixed)| Some((place[s]?, fixed))).collect();
        let link = |link: Link| Some(Link { from: place[link.from]?, to: place[link.to]?, fixed: link.fixed });
        kept.starts = ends(&self.starts);
        kept.ends = ends(&self.ends);
        kept.links = self.links.into_iter().filter_map(link).collect();
        (!kept.segments.is_empty()).then_some(kept)
    }

    /// Which segments may follow themselves at once.
    fn repeating(&self) -> Vec<bool> {
        let mut repeating = vec![false; self.segments.len()];
        self.links.iter().filter(|link| link.from == link.to).for_each(|link| repeating[link.from] = true);
        repeating
    }

    /// Lays the net out as states and arcs, each segment once for every sequence of pdfs that it has among its neighbours.
    ///
    /// A segment is a chain of its topology's positions. A one-position symbol that both dwells and may follow itself at once
    /// gets two states with the same pdf, one to enter and one to dwell in, so that at most one arc joins two states.
    pub fn expand(self, spec: &GraphSpec) -> Result<Graph> {
        let (net, pdfs) = self.in_context(spec)?;
        let repeating = net.repeating();
        let arcs = net.check_size(spec, &repeating, MOST_ARCS)?;
        let mut builder = GraphBuilder::new(spec.symbols().clone(), spec.pdfs(), spec.transitions());
        builder.reserve_arcs(arcs);
        let chains: Vec<Chain> = (net.segments.iter().zip(&repeating).zip(&pdfs))
            .map(|((segment, &repeats), pdfs)| segment.chain((spec, pdfs), repeats, &mut builder))
            .collect();
        for link in &net.links {
            let pair = spec.pair(net.segments[link.from].symbol, net.segments[link.to].symbol);
            let transition = pair.ok_or_else(|| Error::Other("a link that the graph forbids".into()))?;
            for exit in chains[link.from].exits.clone() {
                let arc = Arc { to: chains[link.to].entry, transition, fixed: link.fixed };
                builder.arc(StateId::from_index(exit), arc);
            }
        }
        for &(segment, fixed) in &net.starts {
            let transition = spec.parameters.start(net.segments[segment].symbol);
            builder.start(Boundary { state: chains[segment].entry, transition, fixed });
        }
        for &(segment, fixed) in &net.ends {
            let transition = spec.parameters.end(net.segments[segment].symbol);
            for exit in chains[segment].exits.clone() {
                builder.end(Boundary { state: StateId::from_index(exit), transition, fixed });
            }
        }
        drop(net); // a large net and its graph need not both be in memory
        builder.build()
    }

    /// Counts the arcs before they are made: at most two from each state within segments, and one from each exit per link.
    fn check_size(&self, spec: &GraphSpec, repeating: &[bool], most: usize) -> Result<usize> {
        let states = |segment: usize| {
            let topology = spec.topology(self.segments[segment].symbol);
            topology.min_frames() + usize::from(splits(spec, &self.segments[segment], repeating[segment]))
        };
        let exits = |segment: usize| 1 + usize::from(splits(spec, &self.segments[segment], repeating[segment]));
        let within: usize = (0..self.segments.len()).map(|segment| 2 * states(segment)).sum();
        let between: usize = self.links.iter().map(|link| exits(link.from)).sum();
        if within + between > most { Err(too_large(within + between)) } else { Ok(within + between) }
    }
}

/// The error of a graph beyond [`MOST_ARCS`].
pub(super) fn too_large(arcs: usize) -> Error {
    let advice = "use a smaller language model, or fewer symbols and frames";
    Error::Other(format!("the graph would have {arcs} arcs or more, the most is {MOST_ARCS}: {advice}"))
}

/// Whether a segment needs a state to enter and another to dwell in.
fn splits(spec: &GraphSpec, segment: &Segment, repeats: bool) -> bool {
    let topology = spec.topology(segment.symbol);
    repeats && topology.min_frames() == 1 && topology.self_loop().is_some()
}

impl Segment {
    fn chain(&self, (spec, pdfs): (&GraphSpec, &[PdfId]), repeats: bool, builder: &mut GraphBuilder) -> Chain {
        let (symbol, topology) = (self.symbol, spec.topology(self.symbol));
        let positions = topology.min_frames();
        let first = builder.len();
        for position in 0..positions {
            let last = position + 1 == positions;
            builder.state(State {
                pdf: pdfs[topology.pdf(position)],
                symbol,
                entry: position == 0,
                restarts: repeats && positions == 1,
                word: self.word.filter(|_| last),
            });
        }
        let split = splits(spec, self, repeats);
        if split {
            builder.state(State { pdf: pdfs[0], symbol, entry: false, restarts: false, word: self.word });
        }
        let mut arc = |from: usize, to: usize, transition: TransitionId| {
            builder.arc(StateId::from_index(from), Arc { to: StateId::from_index(to), transition, fixed: 0.0 });
        };
        for position in 0..positions {
            let state = first + position;
            let self_loop = spec.parameters.self_loop(symbol, position);
            if split {
                arc(state, state + 1, self_loop);
                arc(state + 1, state + 1, self_loop);
            } else if self_loop.is_some() {
                arc(state, state, self_loop);
            }
            if position + 1 < positions {
                arc(state, state + 1, spec.parameters.next(symbol, position));
            }
        }
        let last = first + positions - 1;
        Chain { entry: StateId::from_index(first), exits: last..last + 1 + usize::from(split) }
    }
}

/// What can be reached from `from` by `steps` among `count` things.
fn reach(count: usize, from: impl Iterator<Item = usize>, steps: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
    let mut rows: Vec<Vec<usize>> = vec![vec![]; count];
    steps.for_each(|(from, to)| rows[from].push(to));
    let mut reached = vec![false; count];
    let mut open: Vec<usize> = from.collect();
    while let Some(next) = open.pop() {
        if !std::mem::replace(&mut reached[next], true) {
            open.extend(&rows[next]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::toy::everything_goes;

    /// a and b, each to enter and to dwell in: 2 * 4 arcs at most within, 2 * 4 between.
    #[test]
    fn arcs_are_counted_before_they_are_made() {
        let text = everything_goes(&["a", "b"], "states = 1\nself_loop = 0.5");
        let spec = GraphSpec::parse(&text).unwrap();
        let net = spec.legal_pairs_only();
        assert!(net.check_size(&spec, &net.repeating(), 16).is_ok());
        let error = net.check_size(&spec, &net.repeating(), 15).unwrap_err();
        assert!(error.to_string().starts_with("the graph would have 16 arcs or more"), "{error}");
        assert_eq!(spec.compile().unwrap().arc_count(), 12);
    }
}
