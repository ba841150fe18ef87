//! Grapheme to phoneme: how a word may be said that no lexicon has.
//!
//! A [`Lexicon`] comes in; the letters of each word and its phones are cut into graphones, pairs of some letters and the phones that
//! they stand for, by expectation and maximisation; an n-gram over graphones is what is learnt. A word comes in again, and its best
//! pronunciations go out, each with its probability ([`G2p::pronounce`]). The joint-sequence model of Bisani and Ney ("Joint-sequence models for
//! grapheme-to-phoneme conversion", 2008), with the alignment fixed before the n-gram is estimated, as Novak does (Phonetisaurus, 2012).

mod align;
mod evaluate;
mod graphone;
mod pronounce;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use align::Aligned;
pub use evaluate::{Evaluation, evaluate, split};
pub use graphone::Graphone;
pub use pronounce::{Pronounced, Spelling};

use crate::graph::lexicon::Lexicon;
use crate::graph::ngram::{Ngram, NgramOptions, Smoothing};
use crate::symbols::{SymbolId, SymbolTable};
use crate::{Error, Result};

/// A word and one way to say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As the lexicon writes it.
    pub word: String,
    /// Names of phones.
    pub phones: Vec<String>,
}

/// The entries of `lexicon`, pronunciation by pronunciation.
pub fn entries(lexicon: &Lexicon) -> Vec<Entry> {
    let said = |word: &str| lexicon.said(word).unwrap_or_default();
    let entry = |word: &str, phones| Entry { word: word.to_owned(), phones };
    lexicon.words().flat_map(|word| said(word).into_iter().map(move |said| entry(word, said.phones))).collect()
}

/// A model of how words are said.
#[derive(Debug)]
pub struct G2p {
    ngram: Ngram,
    /// The graphones that begin with each letter.
    by_letter: BTreeMap<char, Vec<(SymbolId, Graphone)>>,
}

impl G2p {
    /// Learns from `entries` an n-gram of graphones of so many tokens, with what could not be aligned.
    ///
    /// # Errors
    /// [`Error::Other`] when no entry can be aligned or a phone cannot be part of a graphone's name; [`Error::Setting`] for the order.
    pub fn learn(entries: &[Entry], order: usize) -> Result<(Self, Aligned)> {
        let aligned = align::align(entries)?;
        let options = NgramOptions { order, smoothing: Smoothing::KneserNey, ..NgramOptions::default() };
        let symbols: SymbolTable = aligned.graphones.iter().map(Graphone::to_string).collect();
        let ngram = Ngram::estimate(&options, &Arc::new(symbols), &aligned.sequences)?;
        Ok((Self::of(ngram)?, aligned))
    }

    /// Reads a model, an ARPA file over graphones.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::TextFile`] naming the line of what is no ARPA file, or no graphone.
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::input::text(path)?;
        let symbols = Arc::new(Ngram::arpa_symbols(&text));
        let ngram = Ngram::parse_arpa(path, &text, &symbols)?;
        Self::of(ngram).map_err(|error| Error::Other(format!("{}: {error}", path.display())))
    }

    /// The model as an ARPA file.
    pub fn to_arpa(&self) -> String {
        self.ngram.to_arpa()
    }

    fn of(ngram: Ngram) -> Result<Self> {
        let mut by_letter: BTreeMap<char, Vec<(SymbolId, Graphone)>> = BTreeMap::new();
        let symbols = ngram.symbols().clone();
        for id in symbols.ids().filter(|&id| ngram.knows(id)) {
            let graphone: Graphone = symbols.name(id).parse()?;
            by_letter.entry(graphone.letters[0]).or_default().push((id, graphone));
        }
        Ok(Self { ngram, by_letter })
    }
}
