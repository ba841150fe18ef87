//! A tree as text, one thing a line, so that people can read what was learnt:
//!
//! ```text
//! senone-tree 1
//! context left-biphone
//! set 0 edge SIL
//! set 1 inner M N NG
//! state AA 0
//!   left 1
//!     pdf 0
//!     left 0
//!       pdf 1
//!       pdf 2
//! ```
//!
//! A set holds symbols, and after `edge` also the edge of the utterance, or of the word. Every state of
//! every symbol follows, in the order of the graph file: a question with all of its yes and all of its no, or a pdf. Here the
//! first state of AA has pdf 0 after a nasal, pdf 1 after silence, pdf 2 after anything else. Indentation is for the eye.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc as Shared;

use super::{ContextKind, Node, Side, Step, Tree};
use crate::symbols::{SymbolId, SymbolTable};
use crate::{Error, Result};

/// The first line.
const HEAD: &str = "senone-tree 1";

type Reason<T> = std::result::Result<T, String>;

impl Tree {
    /// The tree as text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\ncontext {}\n", self.kind.name());
        let mut line = |depth: usize, args: std::fmt::Arguments<'_>| {
            let _ = writeln!(text, "{:indent$}{args}", "", indent = 2 * depth); // writing to a String does not fail
        };
        for (number, set) in self.sets.iter().enumerate() {
            let edge = if set.first() == Some(&None) { "edge" } else { "inner" };
            let names: String = set.iter().flatten().map(|&symbol| format!(" {}", self.symbols.name(symbol))).collect();
            line(0, format_args!("set {number} {edge}{names}"));
        }
        let states = self.symbols.ids().flat_map(|symbol| (0..self.states(symbol)).map(move |state| (symbol, state)));
        for (symbol, state) in states {
            line(0, format_args!("state {} {state}", self.symbols.name(symbol)));
            // Depths at which the noes still to come stand.
            let (mut at, mut open, mut depth) = (self.roots[symbol.index()][state], vec![], 1);
            loop {
                match self.nodes[at] {
                    Node::Ask { side, set, .. } => {
                        line(depth, format_args!("{} {set}", side.name()));
                        depth += 1;
                        open.push(depth);
                    }
                    Node::Leaf(pdf) => {
                        line(depth, format_args!("pdf {pdf}"));
                        let Some(next) = open.pop() else { break };
                        depth = next;
                    }
                }
                at += 1;
            }
        }
        text
    }

    /// Reads the text of a tree over `symbols`; messages call it `path`.
    ///
    /// # Errors
    /// [`Error::TextFile`] naming the line: an unknown word, symbol or set, a state out of order or without all its answers, pdfs
    /// that are not numbered 0, 1, 2, ... in the order of the file.
    pub fn parse(path: &Path, text: &str, symbols: &Shared<SymbolTable>) -> Result<Self> {
        let mut reader = Reader { tree: Tree::without_states(ContextKind::LeftBiphone, symbols, vec![]), open: None };
        let mut last = 0;
        for (line, text) in (1..).zip(text.lines()) {
            last = line;
            let words: Vec<&str> = text.split_whitespace().collect();
            reader.line(line, &words).map_err(|(line, reason)| wrong(path, line, reason))?;
        }
        reader.finish(last).map_err(|(line, reason)| wrong(path, line, reason))
    }
}

fn wrong(path: &Path, line: usize, reason: String) -> Error {
    Error::TextFile { path: path.to_owned(), line, reason }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// A state whose lines are being read.
struct Open {
    symbol: SymbolId,
    line: usize,
    /// Pdfs so far, in the whole file.
    pdfs: usize,
    steps: Vec<Step>,
}

struct Reader {
    tree: Tree,
    open: Option<Open>,
}

impl Reader {
    /// Takes the next line; the error names the line at fault, which may be an earlier one.
    fn line(&mut self, line: usize, words: &[&str]) -> std::result::Result<(), (usize, String)> {
        let here = |reason: String| (line, reason);
        match (line, words) {
            (1, _) if words.join(" ") == HEAD => Ok(()),
            (1, _) => Err(here(format!("expected `{HEAD}`, the form that this version reads"))),
            (2, ["context", kind]) => self.context(kind).map_err(here),
            (2, _) => Err(here("expected `context` and its kind".into())),
            (_, ["set", number, edge, names @ ..]) => self.set(number, edge, names).map_err(here),
            (_, ["state", name, state]) => {
                self.close()?;
                self.state(line, name, state).map_err(here)
            }
            (_, [word, number]) => self.step(word, number).map_err(here),
            _ => Err(here("expected a set, a state, a question or a pdf".into())),
        }
    }

    fn context(&mut self, kind: &str) -> Reason<()> {
        let unknown = || format!("context {kind}: expected {}", ContextKind::ALL.map(ContextKind::name).join(" or "));
        self.tree.kind = ContextKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(unknown)?;
        Ok(())
    }

    fn set(&mut self, number: &str, edge: &str, names: &[&str]) -> Reason<()> {
        let expected = self.tree.sets.len();
        if number.parse() != Ok(expected) || self.open.is_some() {
            return Err(format!("set {number}: expected set {expected}, all sets before the first state"));
        }
        let symbol = |name: &&str| self.tree.symbols.get(name).map(Some).ok_or_else(|| unknown(name));
        let mut set = names.iter().map(symbol).collect::<Reason<Vec<_>>>()?;
        match edge {
            "edge" => set.push(None),
            "inner" if !set.is_empty() => {}
            _ => return Err(format!("{edge}: expected `edge`, or `inner` with at least one symbol")),
        }
        set.sort_unstable();
        set.dedup();
        self.tree.sets.push(set);
        Ok(())
    }

    fn state(&mut self, line: usize, name: &str, state: &str) -> Reason<()> {
        let symbol = self.tree.symbols.get(name).ok_or_else(|| unknown(name))?;
        let of = |symbol: SymbolId| self.tree.roots[symbol.index()].len();
        let in_order = self.tree.symbols.ids().all(|other| (other < symbol) == (of(other) > 0) || other == symbol);
        if !in_order || state.parse() != Ok(of(symbol)) {
            return Err(format!(
                "state {name} {state}: states go by symbol as in the graph file, then by number from 0"
            ));
        }
        self.open = Some(Open { symbol, line, pdfs: self.tree.pdfs(), steps: vec![] });
        Ok(())
    }

    fn step(&mut self, word: &str, number: &str) -> Reason<()> {
        let open = self.open.as_mut().ok_or_else(|| format!("{word} {number}: expected a state before it"))?;
        let step = match (word, number.parse()) {
            ("pdf", Ok(pdf)) if pdf == open.pdfs => {
                open.pdfs += 1;
                Step::Leaf
            }
            ("pdf", _) => return Err(format!("pdf {number}: expected pdf {}, as they are counted", open.pdfs)),
            ("left", Ok(set)) => Step::Ask(Side::Left, set),
            ("right", Ok(set)) => Step::Ask(Side::Right, set),
            _ => return Err(format!("{word} {number}: expected left, right or pdf, and a number")),
        };
        open.steps.push(step);
        Ok(())
    }

    /// Plants the state that was being read.
    fn close(&mut self) -> std::result::Result<(), (usize, String)> {
        let Some(Open { symbol, line, steps, .. }) = self.open.take() else { return Ok(()) };
        self.tree.plant(symbol, &steps).map_err(|(place, reason)| (line + 1 + place.min(steps.len()), reason))
    }

    fn finish(mut self, last: usize) -> std::result::Result<Tree, (usize, String)> {
        self.close().map_err(|(line, reason)| (line.min(last), reason))?;
        let missing = self.tree.symbols.ids().find(|&symbol| self.tree.states(symbol) == 0);
        match missing {
            Some(symbol) => Err((last.max(1), format!("no state of {} to the end", self.tree.symbols.name(symbol)))),
            None => Ok(self.tree),
        }
    }
}

fn unknown(name: &str) -> String {
    format!("no symbol {name:?} in the graph file: the tree is of another graph")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{symbols, tree};
    use super::*;

    fn fault(text: &str) -> String {
        Tree::parse("tree.txt".as_ref(), text, &symbols()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = tree().to_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2..5], ["set 0 edge sil", "set 1 inner b", "state sil 0"]);
        assert_eq!(lines[6..12], ["state a 0", "  left 0", "    pdf 1", "    left 1", "      pdf 2", "      pdf 3"]);
        assert_eq!(Tree::parse("tree.txt".as_ref(), &text, &symbols()).unwrap(), tree());
    }

    #[test]
    fn each_fault_is_named_with_its_line() {
        let text = tree().to_text();
        let changed = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            fault(&text.replacen(from, to, 1))
        };
        assert_eq!(
            changed("tree 1", "tree 2"),
            "tree.txt:1: expected `senone-tree 1`, the form that this version reads"
        );
        assert!(
            changed("left-biphone", "biphone").starts_with("tree.txt:2: context biphone: expected left-biphone or ")
        );
        assert!(changed("set 1 inner b", "set 1 inner zz").starts_with("tree.txt:4: no symbol \"zz\""));
        assert!(changed("set 1 inner b", "set 2 inner b").starts_with("tree.txt:4: set 2: expected set 1"));
        assert!(changed("set 1 inner b", "set 1 inner").starts_with("tree.txt:4: inner: expected"));
        assert!(changed("pdf 3", "pdf 4").starts_with("tree.txt:12: pdf 4: expected pdf 3"));
        assert!(changed("left 1", "left 2").starts_with("tree.txt:10: there is no set 2"));
        assert!(changed("left 1", "right 1").starts_with("tree.txt:10: a left-biphone tree"));
        assert!(changed("left 1", "up 1").starts_with("tree.txt:10: up 1: expected left, right or pdf"));
        assert!(changed("      pdf 3\n", "").starts_with("tree.txt:12: the state ends before"));
        assert!(changed("state b 0", "state b 1").starts_with("tree.txt:15: state b 1: states go by symbol"));
        assert!(changed("state a 0", "state b 0").starts_with("tree.txt:7: state b 0: states go by symbol"));
        assert!(changed("state b 0\n  pdf 5\n", "").starts_with("tree.txt:14: no state of b"));
        assert!(fault("").starts_with("tree.txt:1: no state of sil"));
        let cut: String = text.lines().take(11).map(|line| format!("{line}\n")).collect();
        assert!(fault(&cut).starts_with("tree.txt:11: the state ends before"), "{}", fault(&cut));
        let more = text.replace("  pdf 5", "  pdf 5\n  pdf 6");
        assert!(fault(&more).starts_with("tree.txt:17: the state has all its pdfs"), "{}", fault(&more));
    }
}
