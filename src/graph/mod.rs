//! Which label sequences exist.
//!
//! States emit; an arc that is absent is a step that cannot happen. A [`Graph`] is structure and fixed weights only; trained
//! weights lie beside it in [`Weights`], so that a cached graph does not go stale while training moves them.

pub mod accept;
mod adopt;
pub mod check;
mod classes;
mod compile;
mod context;
pub mod draw;
mod exclusive;
mod extension;
mod file;
pub mod grammar;
pub mod kaldi;
mod lattice;
pub mod lexicon;
mod memory;
pub mod net;
pub mod ngram;
pub mod openfst;
pub mod phone_loop;
mod pronounce;
mod rules;
pub mod sample;
mod source;
mod spec;
pub mod stats;
mod topology;
#[cfg(test)]
pub(crate) mod toy;
mod transcript;
mod transitions;
pub mod tree;
mod vocabulary;
pub mod walk;
mod words;
mod written;

use std::sync::Arc as Shared;

use crate::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId, WordId};
use crate::{Error, Result};

pub use grammar::Grammar;
pub use spec::{GraphSpec, LexiconSpec, LmSpec};
pub use topology::Topology;
pub use transcript::Slot;
pub use transitions::TransitionRole;
pub use tree::{Context, ContextKind, Tree, Units};
pub use words::{Part, Word};

/// A step from one state to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc {
    /// Where it leads.
    pub to: StateId,
    /// Its trained parameter, or [`TransitionId::NONE`].
    pub transition: TransitionId,
    /// What is not trained: language model, lexicon. Natural log.
    pub fixed: f32,
}

/// A way to begin in a state, or to end in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    /// The first or last state.
    pub state: StateId,
    /// Its trained parameter, or [`TransitionId::NONE`].
    pub transition: TransitionId,
    /// What is not trained, natural log.
    pub fixed: f32,
}

/// What a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The column of the emissions that it reads.
    pub pdf: PdfId,
    /// The label of its segment.
    pub symbol: SymbolId,
    /// Whether a segment begins when the state is entered from another state.
    pub entry: bool,
    /// Whether an arc from the state to itself begins a new segment too (a one-frame symbol said again) instead of dwelling.
    pub restarts: bool,
    /// The word that a pronunciation's last state carries.
    pub word: Option<WordId>,
}

/// Weights of the trained transitions, by [`TransitionId`], natural log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weights(pub Vec<f32>);

impl Weights {
    /// The weight of `transition`; 0 for [`TransitionId::NONE`].
    ///
    /// # Panics
    /// When `transition` is of another graph, which has more of them.
    pub fn get(&self, transition: TransitionId) -> f32 {
        if transition.is_some() { self.0[transition.index()] } else { 0.0 }
    }
}

/// All legal state sequences: states that emit, arcs in rows by their source, weighted first and last states.
#[derive(Debug, Clone)]
pub struct Graph {
    symbols: Shared<SymbolTable>,
    states: Vec<State>,
    first_arc: Vec<u32>,
    arcs: Vec<Arc>,
    sources: Vec<StateId>,
    first_incoming: Vec<u32>,
    incoming: Vec<u32>,
    starts: Vec<Boundary>,
    finals: Vec<Boundary>,
    pdfs: usize,
    transitions: usize,
    words: Shared<[Word]>,
    pauses: Shared<[SymbolId]>,
    grammar: Option<Shared<Grammar>>,
}

impl Graph {
    /// The same graph with the words that its states carry, by [`WordId`], and the symbols that are pauses between them.
    pub(crate) fn with_words(self, words: Vec<Word>, pauses: &[SymbolId]) -> Self {
        Self { words: words.into(), pauses: pauses.into(), ..self }
    }

    /// The same graph with the grammar that its words are of.
    pub(crate) fn with_grammar(self, grammar: Option<Shared<Grammar>>) -> Self {
        Self { grammar, ..self }
    }

    /// The grammar that the words are of, if they are of one.
    pub fn grammar(&self) -> Option<&Grammar> {
        self.grammar.as_deref()
    }

    /// The words, by [`WordId`]; none in a graph without a lexicon.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Whether `symbol` stands between the words of this graph and is part of none.
    pub fn is_pause(&self, symbol: SymbolId) -> bool {
        self.pauses.contains(&symbol)
    }

    /// The names of the symbols.
    pub fn symbols(&self) -> &Shared<SymbolTable> {
        &self.symbols
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// What `state` is.
    pub fn state(&self, state: StateId) -> &State {
        &self.states[state.index()]
    }

    /// All states in order.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// Number of arcs.
    pub fn arc_count(&self) -> usize {
        self.arcs.len()
    }

    /// The arcs that leave `state`, by ascending target.
    pub fn arcs(&self, state: StateId) -> &[Arc] {
        &self.arcs[self.arc_range(state)]
    }

    /// The positions in [`Graph::all_arcs`] of the arcs that leave `state`.
    pub fn arc_range(&self, state: StateId) -> std::ops::Range<usize> {
        self.first_arc[state.index()] as usize..self.first_arc[state.index() + 1] as usize
    }

    /// All arcs, ordered by source, then target.
    pub fn all_arcs(&self) -> &[Arc] {
        &self.arcs
    }

    /// The source of the arc at `position` in [`Graph::all_arcs`].
    pub fn source(&self, position: usize) -> StateId {
        self.sources[position]
    }

    /// Positions in [`Graph::all_arcs`] of the arcs that enter `state`, by ascending source.
    pub fn incoming(&self, state: StateId) -> &[u32] {
        &self.incoming[self.first_incoming[state.index()] as usize..self.first_incoming[state.index() + 1] as usize]
    }

    /// Legal first states, by ascending state.
    pub fn starts(&self) -> &[Boundary] {
        &self.starts
    }

    /// Legal last states, by ascending state.
    pub fn finals(&self) -> &[Boundary] {
        &self.finals
    }

    /// Number of pdfs that emissions must have: the columns of the acoustic model that this graph was made for.
    pub fn pdfs(&self) -> usize {
        self.pdfs
    }

    /// Number of trained transition parameters.
    pub fn transitions(&self) -> usize {
        self.transitions
    }

    /// Bytes of memory that states, arcs and boundaries take.
    pub fn bytes(&self) -> usize {
        let arcs = size_of::<Arc>() + size_of::<StateId>() + size_of::<u32>();
        let states = size_of::<State>() + 2 * size_of::<u32>();
        let ends = self.starts.len() + self.finals.len();
        arcs * self.arcs.len() + states * self.states.len() + size_of::<Boundary>() * ends
    }

    /// Whether the step `from -> to` begins a new segment: a function of the pair.
    pub fn enters(&self, from: StateId, to: StateId) -> bool {
        let state = self.state(to);
        state.entry && (from != to || state.restarts)
    }

    /// The word that ends when `state` is left.
    pub fn word(&self, state: StateId) -> Option<WordId> {
        self.state(state).word
    }

    /// The arc `from -> to`, if that step is legal.
    pub fn arc(&self, from: StateId, to: StateId) -> Option<&Arc> {
        let arcs = self.arcs(from);
        arcs.binary_search_by_key(&to, |arc| arc.to).ok().map(|found| &arcs[found])
    }

    /// Search frames of the shortest legal path; `None` when there is no legal path.
    pub fn shortest_path_frames(&self) -> Option<usize> {
        let mut reached = vec![false; self.len()];
        let mut last = vec![false; self.len()];
        self.finals.iter().for_each(|end| last[end.state.index()] = true);
        let mut front: Vec<StateId> = self.starts.iter().map(|start| start.state).collect();
        let mut frames = 0;
        while !front.is_empty() {
            frames += 1;
            front.retain(|state| !std::mem::replace(&mut reached[state.index()], true));
            if front.iter().any(|state| last[state.index()]) {
                return Some(frames);
            }
            front = front.iter().flat_map(|&state| self.arcs(state)).map(|arc| arc.to).collect();
        }
        None
    }
}

/// Collects states and arcs in any order and lays them out as a [`Graph`].
#[derive(Debug, Clone)]
pub struct GraphBuilder {
    symbols: Shared<SymbolTable>,
    pdfs: usize,
    transitions: usize,
    states: Vec<State>,
    arcs: Vec<(StateId, Arc)>,
    starts: Vec<Boundary>,
    finals: Vec<Boundary>,
}

impl GraphBuilder {
    /// A builder of a graph over `symbols` for emissions of `pdfs` columns and weights of `transitions` parameters.
    pub fn new(symbols: Shared<SymbolTable>, pdfs: usize, transitions: usize) -> Self {
        Self { symbols, pdfs, transitions, states: vec![], arcs: vec![], starts: vec![], finals: vec![] }
    }

    /// Adds a state.
    pub fn state(&mut self, state: State) -> StateId {
        self.states.push(state);
        StateId::from_index(self.states.len() - 1)
    }

    /// Adds the step `from -> arc.to`.
    pub fn arc(&mut self, from: StateId, arc: Arc) {
        self.arcs.push((from, arc));
    }

    /// Makes room for `count` arcs.
    pub(crate) fn reserve_arcs(&mut self, count: usize) {
        self.arcs.reserve_exact(count);
    }

    /// Makes `start.state` a legal first state.
    pub fn start(&mut self, start: Boundary) {
        self.starts.push(start);
    }

    /// Makes `end.state` a legal last state.
    pub fn end(&mut self, end: Boundary) {
        self.finals.push(end);
    }

    /// Number of states added so far.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether no state was added yet.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Number of arcs added so far.
    pub fn arc_count(&self) -> usize {
        self.arcs.len()
    }

    /// Lays the graph out.
    ///
    /// # Errors
    /// [`Error::Other`] when two arcs join the same two states, a boundary is doubled, an index is out of range, or a fixed weight
    /// is not finite.
    pub fn build(mut self) -> Result<Graph> {
        self.check()?;
        self.arcs.sort_unstable_by_key(|(from, arc)| (*from, arc.to));
        self.starts.sort_by_key(|start| start.state);
        self.finals.sort_by_key(|end| end.state);
        if let Some(pair) = self.arcs.windows(2).find(|pair| (pair[0].0, pair[0].1.to) == (pair[1].0, pair[1].1.to)) {
            let (from, to) = (pair[0].0, pair[0].1.to);
            return Err(Error::Other(format!("two arcs lead from state {from} to state {to}: expected one at most")));
        }
        let doubled = |ends: &[Boundary]| ends.windows(2).any(|pair| pair[0].state == pair[1].state);
        if doubled(&self.starts) || doubled(&self.finals) {
            return Err(Error::Other("a state is given twice as a start or as an end: expected once at most".into()));
        }
        let sources: Vec<StateId> = self.arcs.iter().map(|(from, _)| *from).collect();
        let arcs: Vec<Arc> = self.arcs.iter().map(|(_, arc)| *arc).collect();
        let mut incoming: Vec<u32> = (0..arcs.len() as u32).collect();
        incoming.sort_unstable_by_key(|&position| (arcs[position as usize].to, sources[position as usize]));
        let states = self.states.len();
        Ok(Graph {
            first_arc: row_starts(states, sources.iter().copied()),
            first_incoming: row_starts(states, incoming.iter().map(|&position| arcs[position as usize].to)),
            symbols: self.symbols,
            states: self.states,
            arcs,
            sources,
            incoming,
            starts: self.starts,
            finals: self.finals,
            pdfs: self.pdfs,
            transitions: self.transitions,
            words: Shared::new([]),
            pauses: Shared::new([]),
            grammar: None,
        })
    }

    fn check(&self) -> Result<()> {
        let state_ok = |state: StateId| state.index() < self.states.len();
        let weight_ok =
            |t: TransitionId, fixed: f32| (!t.is_some() || t.index() < self.transitions) && fixed.is_finite();
        let ends = self.starts.iter().chain(&self.finals);
        let fine = self.states.iter().all(|s| s.pdf.index() < self.pdfs && s.symbol.index() < self.symbols.len())
            && self.arcs.iter().all(|(from, a)| state_ok(*from) && state_ok(a.to) && weight_ok(a.transition, a.fixed))
            && ends.into_iter().all(|end| state_ok(end.state) && weight_ok(end.transition, end.fixed));
        let reason =
            "the graph names a state, pdf, symbol or weight that does not exist, or a fixed weight is not finite";
        if fine { Ok(()) } else { Err(Error::Other(reason.into())) }
    }
}

/// Where each of `rows` rows begins when `keys`, ascending, say which row each entry is in.
fn row_starts(rows: usize, keys: impl Iterator<Item = StateId>) -> Vec<u32> {
    let mut starts = vec![0; rows + 1];
    keys.for_each(|key| starts[key.index() + 1] += 1);
    (0..rows).for_each(|row| starts[row + 1] += starts[row]);
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(arcs: &[(u32, u32)]) -> GraphBuilder {
        let mut builder = GraphBuilder::new(Shared::new(["a"].into_iter().collect()), 1, 0);
        for _ in 0..3 {
            builder.state(State { pdf: PdfId(0), symbol: SymbolId(0), entry: true, restarts: false, word: None });
        }
        for &(from, to) in arcs {
            builder.arc(StateId(from), Arc { to: StateId(to), transition: TransitionId::NONE, fixed: 0.0 });
        }
        builder.start(Boundary { state: StateId(0), transition: TransitionId::NONE, fixed: 0.0 });
        builder.end(Boundary { state: StateId(2), transition: TransitionId::NONE, fixed: 0.0 });
        builder
    }

    #[test]
    fn arcs_are_found_from_both_ends() {
        let graph = builder(&[(1, 2), (0, 1), (1, 1), (0, 0), (2, 0)]).build().unwrap();
        let targets = |state| graph.arcs(StateId(state)).iter().map(|arc| arc.to.0).collect::<Vec<_>>();
        assert_eq!([targets(0), targets(1), targets(2)], [vec![0, 1], vec![1, 2], vec![0]]);
        let source = |&position: &u32| graph.source(position as usize).0;
        let sources = |state| graph.incoming(StateId(state)).iter().map(source).collect::<Vec<_>>();
        assert_eq!([sources(0), sources(1), sources(2)], [vec![0, 2], vec![0, 1], vec![1]]);
        assert_eq!(graph.shortest_path_frames(), Some(3));
        assert!(graph.arc(StateId(1), StateId(2)).is_some() && graph.arc(StateId(0), StateId(2)).is_none());
        assert!(graph.enters(StateId(0), StateId(1)) && !graph.enters(StateId(1), StateId(1)));
    }

    #[test]
    fn a_graph_that_cannot_be_is_refused() {
        assert!(builder(&[(0, 1), (0, 1)]).build().is_err());
        assert!(builder(&[(0, 3)]).build().is_err());
        assert_eq!(builder(&[(0, 1)]).build().unwrap().shortest_path_frames(), None);
        let mut twice = builder(&[]);
        twice.start(Boundary { state: StateId(0), transition: TransitionId::NONE, fixed: 0.0 });
        assert!(twice.build().is_err());
    }
}
