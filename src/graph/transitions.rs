//! The trained transition parameters of a graph file, shared by its full graph and its transcript graphs.
//!
//! Numbered so: for each symbol the self-loop and the next of each position, then the start and the end where it has them;
//! after all symbols the legal pairs, row by row.

use super::rules::Successors;
use super::topology::Topology;
use crate::symbols::{SymbolId, TransitionId};

/// What a transition parameter stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransitionRole {
    /// Staying at a position of a symbol; initially `log p` of the topology's self-loop.
    SelfLoop {
        /// The symbol.
        symbol: SymbolId,
        /// Counted from 0, below the topology's `min_frames`.
        position: usize,
    },
    /// Going on from a position of a symbol to the next; initially `log(1 - p)`, or 0 where there is no self-loop.
    Next {
        /// The symbol.
        symbol: SymbolId,
        /// The position left.
        position: usize,
    },
    /// Beginning an utterance; initially 0.
    Start {
        /// The first symbol.
        symbol: SymbolId,
    },
    /// Ending an utterance; initially `log(1 - p)` of leaving the last position.
    End {
        /// The last symbol.
        symbol: SymbolId,
    },
    /// Going from one symbol to another, or to the same one again; initially `log(1 - p)` of leaving the last position plus
    /// the rule's weight.
    Pair {
        /// The symbol left.
        from: SymbolId,
        /// The symbol entered.
        to: SymbolId,
    },
}

/// The parameters with their initial weights, and the way from a role to its number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Transitions {
    roles: Vec<TransitionRole>,
    initial: Vec<f32>,
    symbols: Vec<OfSymbol>,
}

/// Parameters of one symbol; [`TransitionId::NONE`] where it has none.
#[derive(Debug, Clone, PartialEq)]
struct OfSymbol {
    self_loops: Vec<TransitionId>,
    nexts: Vec<TransitionId>,
    start: TransitionId,
    end: TransitionId,
    first_pair: usize,
}

impl Transitions {
    pub fn new(topologies: &[Topology], [starts, ends]: [&[SymbolId]; 2], successors: &Successors) -> Self {
        let mut all = Self { roles: vec![], initial: vec![], symbols: vec![] };
        for (index, topology) in topologies.iter().enumerate() {
            let symbol = SymbolId::from_index(index);
            let mut own = all.within(symbol, topology);
            let last = topology.min_frames() - 1;
            if starts.contains(&symbol) {
                own.start = all.add(TransitionRole::Start { symbol }, 0.0);
            }
            if ends.contains(&symbol) {
                own.end = all.add(TransitionRole::End { symbol }, topology.log_leave(last));
            }
            all.symbols.push(own);
        }
        for (index, (row, topology)) in successors.iter().zip(topologies).enumerate() {
            let from = SymbolId::from_index(index);
            all.symbols[index].first_pair = all.roles.len();
            for &(to, weight) in row {
                let leave = topology.log_leave(topology.min_frames() - 1);
                all.add(TransitionRole::Pair { from, to }, leave + weight);
            }
        }
        all
    }

    fn add(&mut self, role: TransitionRole, weight: f32) -> TransitionId {
        self.roles.push(role);
        self.initial.push(weight);
        TransitionId::from_index(self.roles.len() - 1)
    }

    fn within(&mut self, symbol: SymbolId, topology: &Topology) -> OfSymbol {
        let none = TransitionId::NONE;
        let mut own = OfSymbol { self_loops: vec![], nexts: vec![], start: none, end: none, first_pair: 0 };
        for position in 0..topology.min_frames() {
            let dwells = topology.dwells(position);
            let role = TransitionRole::SelfLoop { symbol, position };
            own.self_loops.push(if dwells { self.add(role, topology.log_stay()) } else { none });
            if position + 1 < topology.min_frames() {
                let role = TransitionRole::Next { symbol, position };
                own.nexts.push(self.add(role, topology.log_leave(position)));
            }
        }
        own
    }

    pub fn len(&self) -> usize {
        self.roles.len()
    }

    pub fn role(&self, transition: TransitionId) -> TransitionRole {
        self.roles[transition.index()]
    }

    pub fn initial(&self) -> &[f32] {
        &self.initial
    }

    /// The self-loop of a position, or [`TransitionId::NONE`].
    pub fn self_loop(&self, symbol: SymbolId, position: usize) -> TransitionId {
        self.symbols[symbol.index()].self_loops[position]
    }

    /// The step from a position to the next.
    pub fn next(&self, symbol: SymbolId, position: usize) -> TransitionId {
        self.symbols[symbol.index()].nexts[position]
    }

    /// The start, or [`TransitionId::NONE`].
    pub fn start(&self, symbol: SymbolId) -> TransitionId {
        self.symbols[symbol.index()].start
    }

    /// The end, or [`TransitionId::NONE`].
    pub fn end(&self, symbol: SymbolId) -> TransitionId {
        self.symbols[symbol.index()].end
    }

    /// The pair `from -> to`, if it is legal.
    pub fn pair(&self, from: SymbolId, to: SymbolId) -> Option<TransitionId> {
        let first = self.symbols[from.index()].first_pair;
        let end = self.symbols.get(from.index() + 1).map_or(self.roles.len(), |next| next.first_pair);
        let place = self.roles[first..end].binary_search(&TransitionRole::Pair { from, to }).ok()?;
        Some(TransitionId::from_index(first + place))
    }
}
