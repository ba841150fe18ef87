//! Tied states (senones): which pdf the state of a symbol reads beside these neighbours.
//!
//! A [`Tree`] has for every state of every symbol a binary tree of questions about the neighbours; each leaf is a pdf. It is
//! grown by `learn::tree`, kept as text in the bundle, and asked when a graph is compiled ([`GraphSpec::with_units`]).
//!
//! [`GraphSpec::with_units`]: super::GraphSpec::with_units

mod text;

use std::sync::Arc as Shared;

use serde::{Deserialize, Serialize};

use crate::symbols::{PdfId, SymbolId, SymbolTable};
use crate::{Error, Result};

/// Which neighbours of a symbol a tree may ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextKind {
    /// The symbol before.
    LeftBiphone,
    /// The symbol before, and inside a word also the symbol after. A graph without words lets a word end after every symbol.
    WordInternalTriphone,
    /// The symbol before and the symbol after, across words too: the finest, and the largest graphs.
    Triphone,
}

impl ContextKind {
    /// Every kind, from the smallest graphs to the largest.
    pub const ALL: [Self; 3] = [Self::LeftBiphone, Self::WordInternalTriphone, Self::Triphone];

    /// As files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LeftBiphone => "left-biphone",
            Self::WordInternalTriphone => "word-internal-triphone",
            Self::Triphone => "triphone",
        }
    }
}

/// What stands beside a symbol.
///
/// `None` is the edge of the utterance; to the right of word-internal triphones it is the end of a word, behind which nothing is
/// known. A left-biphone tree never asks to the right.
pub type Neighbour = Option<SymbolId>;

/// The neighbours of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Context {
    /// The symbol before; pauses are symbols.
    pub left: Neighbour,
    /// The symbol after, where the kind of context looks there.
    pub right: Neighbour,
}

/// A side of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Before it.
    Left,
    /// After it.
    Right,
}

impl Context {
    /// The neighbour on `side`.
    pub fn neighbour(&self, side: Side) -> Neighbour {
        match side {
            Side::Left => self.left,
            Side::Right => self.right,
        }
    }
}

/// One line of a state's tree, which is written down in this order: a question, all of its yes, all of its no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Is the neighbour on this side in the set of this number?
    Ask(Side, usize),
    /// A pdf of its own.
    Leaf,
}

/// What a graph's states are: one pdf for each, or pdfs that states in like contexts share.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Units {
    /// Context does not matter.
    #[default]
    Monophone,
    /// The tree's leaves.
    Tied(Shared<Tree>),
}

impl Units {
    /// Which neighbours matter, if any do.
    pub fn kind(&self) -> Option<ContextKind> {
        match self {
            Self::Monophone => None,
            Self::Tied(tree) => Some(tree.kind()),
        }
    }
}

/// Questions of all states, and the pdfs that they lead to.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    kind: ContextKind,
    symbols: Shared<SymbolTable>,
    /// What is asked for, each ascending.
    sets: Vec<Vec<Neighbour>>,
    nodes: Vec<Node>,
    /// The first node of each state of each symbol.
    roots: Vec<Vec<usize>>,
    /// The state that each pdf is of.
    owners: Vec<(SymbolId, usize)>,
}

/// A question; its yes is the node after it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    Ask { side: Side, set: usize, no: usize },
    Leaf(PdfId),
}

impl Tree {
    /// A tree from the steps of each state of each symbol of `symbols`. Pdfs are numbered in this order, so those of a symbol
    /// follow each other.
    ///
    /// # Errors
    /// [`Error::Other`] when a state's steps are not one whole tree, a question is not of this kind or set, or a symbol of a
    /// set does not exist.
    pub fn new(
        kind: ContextKind,
        symbols: &Shared<SymbolTable>,
        sets: Vec<Vec<Neighbour>>,
        states: &[Vec<Vec<Step>>],
    ) -> Result<Self> {
        let wrong = |reason: String| Error::Other(format!("not a tree of tied states: {reason}"));
        if states.len() != symbols.len() || states.iter().any(Vec::is_empty) {
            return Err(wrong(format!("every one of the {} symbols needs a state", symbols.len())));
        }
        let mut tree = Self::without_states(kind, symbols, sets);
        if tree.sets.iter().flatten().flatten().any(|symbol| symbol.index() >= symbols.len()) {
            return Err(wrong("a set has a symbol that does not exist".into()));
        }
        for (symbol, states) in symbols.ids().zip(states) {
            for steps in states {
                tree.plant(symbol, steps).map_err(|(_, reason)| wrong(reason))?;
            }
        }
        Ok(tree)
    }

    fn without_states(kind: ContextKind, symbols: &Shared<SymbolTable>, mut sets: Vec<Vec<Neighbour>>) -> Self {
        sets.iter_mut().for_each(|set| {
            set.sort_unstable();
            set.dedup();
        });
        Self { kind, symbols: symbols.clone(), sets, nodes: vec![], roots: vec![vec![]; symbols.len()], owners: vec![] }
    }

    /// Adds the next state of `symbol`; the error is the step at fault and why.
    fn plant(&mut self, symbol: SymbolId, steps: &[Step]) -> std::result::Result<(), (usize, String)> {
        let state = self.roots[symbol.index()].len();
        self.roots[symbol.index()].push(self.nodes.len());
        // Questions whose no is still to come.
        let mut open = vec![];
        for (place, step) in steps.iter().enumerate() {
            match *step {
                Step::Ask(side, set) => {
                    self.check_question(side, set).map_err(|reason| (place, reason))?;
                    open.push(self.nodes.len());
                    self.nodes.push(Node::Ask { side, set, no: 0 });
                }
                Step::Leaf => {
                    self.nodes.push(Node::Leaf(PdfId::from_index(self.owners.len())));
                    self.owners.push((symbol, state));
                    let next = self.nodes.len();
                    match open.pop() {
                        Some(question) => self.say_no(question, next),
                        None if place + 1 == steps.len() => return Ok(()),
                        None => return Err((place + 1, "the state has all its pdfs already".into())),
                    }
                }
            }
        }
        Err((steps.len(), "the state ends before each question has two answers".into()))
    }

    fn say_no(&mut self, question: usize, next: usize) {
        if let Node::Ask { no, .. } = &mut self.nodes[question] {
            *no = next;
        }
    }

    fn check_question(&self, side: Side, set: usize) -> std::result::Result<(), String> {
        if set >= self.sets.len() {
            return Err(format!("there is no set {set}: there are {}", self.sets.len()));
        }
        match (self.kind, side) {
            (ContextKind::LeftBiphone, Side::Right) => {
                Err("a left-biphone tree knows nothing of the symbol after".into())
            }
            _ => Ok(()),
        }
    }

    /// Which neighbours are asked about.
    pub fn kind(&self) -> ContextKind {
        self.kind
    }

    /// The symbols that it is about.
    pub fn symbols(&self) -> &Shared<SymbolTable> {
        &self.symbols
    }

    /// Number of states of `symbol`.
    pub fn states(&self, symbol: SymbolId) -> usize {
        self.roots[symbol.index()].len()
    }

    /// Number of pdfs of all states of `symbol`; they follow those of the symbols before it.
    pub fn pdfs_of(&self, symbol: SymbolId) -> usize {
        let before = |symbol: SymbolId| self.owners.partition_point(|&(owner, _)| owner < symbol);
        before(SymbolId(symbol.0 + 1)) - before(symbol)
    }

    /// Number of pdfs: of leaves.
    pub fn pdfs(&self) -> usize {
        self.owners.len()
    }

    /// The symbol and the state, counted from 0, that `pdf` is of.
    ///
    /// # Panics
    /// When the tree has no such pdf.
    pub fn owner(&self, pdf: PdfId) -> (SymbolId, usize) {
        self.owners[pdf.index()]
    }

    /// The pdf of a symbol's state, counted from 0, in `context`.
    ///
    /// # Panics
    /// When the symbol has no such state.
    pub fn pdf(&self, symbol: SymbolId, state: usize, context: Context) -> PdfId {
        let mut at = self.roots[symbol.index()][state];
        loop {
            match self.nodes[at] {
                Node::Leaf(pdf) => return pdf,
                Node::Ask { side, set, no } => {
                    let is_in = self.sets[set].binary_search(&context.neighbour(side)).is_ok();
                    at = if is_in { at + 1 } else { no };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn symbols() -> Shared<SymbolTable> {
        Shared::new(["sil", "a", "b"].into_iter().collect())
    }

    /// Of `a` state 0: after sil or at the beginning, else after b, else. Everything else is one pdf.
    pub(super) fn tree() -> Tree {
        let sets = vec![vec![Some(SymbolId(0)), None], vec![Some(SymbolId(2))]];
        let a = [Step::Ask(Side::Left, 0), Step::Leaf, Step::Ask(Side::Left, 1), Step::Leaf, Step::Leaf];
        let one = vec![Step::Leaf];
        let states = [vec![one.clone()], vec![a.to_vec(), one.clone()], vec![one]];
        Tree::new(ContextKind::LeftBiphone, &symbols(), sets, &states).unwrap()
    }

    #[test]
    fn every_context_reaches_its_leaf() {
        let tree = tree();
        assert_eq!((tree.pdfs(), tree.states(SymbolId(1))), (6, 2));
        let pdf = |state, left| tree.pdf(SymbolId(1), state, Context { left, right: None }).0;
        assert_eq!([None, Some(0), Some(2), Some(1)].map(|left| pdf(0, left.map(SymbolId))), [1, 1, 2, 3]);
        assert_eq!(pdf(1, None), 4);
        assert_eq!(tree.owner(PdfId(3)), (SymbolId(1), 0));
        assert_eq!(tree.owner(PdfId(5)), (SymbolId(2), 0));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let made = |a: &[Step]| {
            let one = vec![Step::Leaf];
            let states = [vec![one.clone()], vec![a.to_vec()], vec![one]];
            Tree::new(ContextKind::LeftBiphone, &symbols(), vec![vec![None]], &states).map_err(|e| e.to_string())
        };
        let ask = Step::Ask(Side::Left, 0);
        assert!(made(&[ask, Step::Leaf, Step::Leaf]).is_ok());
        assert!(made(&[ask, Step::Leaf]).unwrap_err().contains("two answers"));
        assert!(made(&[]).unwrap_err().contains("two answers"));
        assert!(made(&[Step::Leaf, Step::Leaf]).unwrap_err().contains("already"));
        assert!(made(&[Step::Ask(Side::Left, 1), Step::Leaf, Step::Leaf]).unwrap_err().contains("no set 1"));
        assert!(made(&[Step::Ask(Side::Right, 0), Step::Leaf, Step::Leaf]).unwrap_err().contains("left-biphone"));
        assert!(Tree::new(ContextKind::LeftBiphone, &symbols(), vec![vec![Some(SymbolId(9))]], &[]).is_err());
    }
}
