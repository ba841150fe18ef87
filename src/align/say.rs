//! From the names of a transcript to the slots of a graph.

use super::aligner::Unknown;
use super::transcriber::symbols;
use super::transcript::{Item, Transcript, Unit};
use crate::graph::{GraphSpec, Slot, Word};
use crate::symbols::{SymbolId, WordId};
use crate::{Error, Result};

impl Transcript {
    /// The words as a graph has them, one for each item.
    pub(super) fn words(&self) -> Vec<Word> {
        self.items.iter().map(|item| Word { text: item.text.clone(), parts: vec![] }).collect()
    }

    /// The items as slots over the symbols of `spec`, each with its number as its word; `filler` stands for unknown words.
    ///
    /// # Errors
    /// [`Error::Transcript`] naming a phone that the graph lacks, or the unknown words when there is no filler.
    pub(super) fn slots(&self, spec: &GraphSpec, (filler, unknown): (Option<SymbolId>, Unknown)) -> Result<Vec<Slot>> {
        let slot = |(index, item): (usize, &Item)| {
            let stranger = |pronunciation: usize, name: &str| self.no_phone(index, (pronunciation, name));
            let mut alternatives = symbols(spec, &item.pronunciations, stranger)?;
            if alternatives.is_empty() {
                alternatives.push(vec![filler.ok_or_else(|| self.no_filler(unknown))?]);
            }
            Ok(Slot { word: Some(WordId::from_index(index)), alternatives })
        };
        self.items.iter().enumerate().map(slot).collect()
    }

    fn no_filler(&self, unknown: Unknown) -> Error {
        let named = self.unknown_words();
        let why = match unknown {
            Unknown::Refuse => "",
            Unknown::Skip => "; the model has no filler, so that they cannot be skipped",
        };
        Error::Transcript {
            reason: format!("not in the lexicon: {named}{why}: add pronunciations, or correct the transcript"),
        }
    }

    fn no_phone(&self, index: usize, (pronunciation, name): (usize, &str)) -> Error {
        let (item, position) = (&self.items[index], index + 1);
        let reason = match self.unit {
            Unit::Phone => format!(
                "'{}' (token {position}) is no phone of the model: a transcript of words needs a lexicon",
                item.text
            ),
            Unit::Word => {
                let place = match (&self.lexicon, item.lines.get(pronunciation)) {
                    (Some(path), Some(line)) => format!("{}:{line}", path.display()),
                    _ => "the lexicon, or the manifest's phones".to_owned(),
                };
                let word = &item.text;
                format!("the phone '{name}' of '{word}' (word {position}) is not one of the model's: correct {place}")
            }
        };
        Error::Transcript { reason }
    }
}
