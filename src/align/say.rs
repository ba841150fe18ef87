//! From the names of a transcript to the slots of a graph.

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
    pub(super) fn slots(&self, spec: &GraphSpec, filler: Option<SymbolId>) -> Result<Vec<Slot>> {
        let slot = |(index, item): (usize, &Item)| {
            let mut alternatives = vec![];
            for names in &item.pronunciations {
                let symbol = |name: &String| spec.symbols().get(name).ok_or_else(|| self.no_phone(index, name));
                alternatives.push(names.iter().map(symbol).collect::<Result<Vec<SymbolId>>>()?);
            }
            if alternatives.is_empty() {
                alternatives.push(vec![filler.ok_or_else(|| self.no_filler())?]);
            }
            Ok(Slot { word: Some(WordId::from_index(index)), alternatives })
        };
        self.items.iter().enumerate().map(slot).collect()
    }

    fn no_filler(&self) -> Error {
        let named = self.unknown_words();
        Error::Transcript {
            reason: format!("not in the lexicon: {named}: add pronunciations, or correct the transcript"),
        }
    }

    fn no_phone(&self, index: usize, name: &str) -> Error {
        let (item, position) = (&self.items[index], index + 1);
        let reason = match self.unit {
            Unit::Phone => format!(
                "'{}' (token {position}) is no phone of the model: a transcript of words needs a lexicon",
                item.text
            ),
            Unit::Word => {
                format!(
                    "the phone '{name}' of '{}' (word {position}) is not one of the model's: correct the lexicon",
                    item.text
                )
            }
        };
        Error::Transcript { reason }
    }
}
