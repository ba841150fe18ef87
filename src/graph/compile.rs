//! The full graph: every legal sequence, with or without the history of an n-gram.

use super::Graph;
use super::lattice::Lattice;
use super::spec::GraphSpec;
use crate::Result;

impl GraphSpec {
    /// The graph of every legal sequence, its states in symbol order.
    ///
    /// # Errors
    /// [`Error::Other`](crate::Error::Other) when it would have more than 50 million arcs.
    pub fn compile(&self) -> Result<Graph> {
        self.legal_pairs_only().expand(self)
    }

    /// One segment a symbol: the last symbol is all the history there is.
    pub(super) fn legal_pairs_only(&self) -> Lattice {
        let mut net = Lattice::default();
        for symbol in self.symbols().ids() {
            net.segment(symbol, None);
        }
        for from in self.symbols().ids() {
            for &(to, _) in self.successors(from) {
                net.link_legal(self, from.index(), to.index());
            }
        }
        net.starts = self.starts().iter().map(|symbol| (symbol.index(), 0.0)).collect();
        net.ends = self.ends().iter().map(|symbol| (symbol.index(), 0.0)).collect();
        net
    }
}
