//! `[grammar]`: which sequences of words, or of symbols, there are, as a regular expression with named parts.
//!
//! The text becomes an expression, and that the automaton of its places by Glushkov's construction; out comes a net of segments
//! (over symbols) or of words (over words), and which parts decoded words stand in ([`Grammar::slots`]). The notation is after JSGF
//! (JSpeech Grammar Format, W3C Note of 5 June 2000): words, `( a | b )`, `[ optional ]`, `*`, `+`, `<part>`, and `/0.5/` before
//! an alternative.

mod automaton;
#[cfg(test)]
mod examples;
mod expression;
mod file;
#[cfg(test)]
mod oracle;
mod parse;
mod parts;
mod slots;
mod symbols;
mod words;

pub(super) use file::{GrammarFile, table};
pub use slots::{Said, SlotValue};
pub(super) use symbols::Within;

use super::Word;
use super::classes::Names;
use super::lattice::Lattice;
use super::source::{Name, Source};
use super::spec::GraphSpec;
use crate::{Error, Result};
use automaton::Automaton;
use parts::Parts;

/// A grammar with the net of its places.
#[derive(Debug, Clone)]
pub struct Grammar {
    automaton: Automaton,
    /// Over symbols, all of its sequences.
    net: Option<Lattice>,
}

impl Grammar {
    /// Reads the grammar `file` of `source`, all that it includes too, over words: each is taken as written.
    ///
    /// # Errors
    /// [`Error::GraphFile`] in the file that is not right: notation, a part that is unknown, doubled or part of itself, includes that
    /// cannot be read or include each other, too many places.
    pub(super) fn over_words(source: &Source, file: &GrammarFile) -> Result<Self> {
        let parts = Parts::read(source, file)?;
        Ok(Self { automaton: Automaton::new(&parts, &|_, name| Ok(vec![name.text.clone()]))?, net: None })
    }

    /// Reads the grammar `file` of `spec` over its symbols: a class stands for any of its symbols.
    ///
    /// # Errors
    /// As [`Grammar::over_words`]; where a symbol is unknown, or no legal sequence goes through a place.
    pub(super) fn over_symbols(spec: &GraphSpec, file: &GrammarFile, names: &Names) -> Result<Self> {
        let parts = Parts::read(&spec.source, file)?;
        let members = |source: &Source, name: &Name| {
            let symbols = names.all(std::slice::from_ref(name)).map_err(|error| match error {
                Error::GraphFile { reason, .. } => source.error(name.at, reason),
                other => other,
            })?;
            Ok(symbols.into_iter().map(|symbol| spec.symbols().name(symbol).to_owned()).collect())
        };
        let automaton = Automaton::new(&parts, &members)?;
        let net = symbols::net(&automaton, &parts, spec)?;
        Ok(Self { automaton, net: Some(net) })
    }

    /// The words (or symbols) of the grammar, one for each place of its rule, parts written out; `WordId` counts through them.
    pub fn words(&self) -> &[Word] {
        &self.automaton.words
    }

    /// The sequences of a grammar over symbols.
    pub(super) fn net(&self) -> Option<&Lattice> {
        self.net.as_ref()
    }
}
