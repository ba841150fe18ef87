//! Slots: what was said in the named parts of a grammar.
//!
//! A slot is one occurrence of a part: words that follow each other within one of the places that name it. Where a loop says a part
//! twice in a row there are two slots, because the step between them is the loop's and not the part's. When the part's own
//! expression has that step too, as in `<digit>*` with `digit = "one+"`, nothing tells one long occurrence from two, and it is one.

use super::Grammar;
use crate::symbols::WordId;

/// A word that was decoded, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// Which of [`Grammar::words`].
    pub word: WordId,
    /// First sample.
    pub start: u64,
    /// First sample after it.
    pub end: u64,
}

/// One occurrence of a named part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotValue {
    /// The part.
    pub name: String,
    /// Its words, a space between.
    pub value: String,
    /// First sample.
    pub start: u64,
    /// First sample after its last word.
    pub end: u64,
}

impl Grammar {
    /// The slots of the words `said`, which follow each other in the grammar: by time, and of those that begin with one word the
    /// outermost first. A word that is not of the grammar is in no slot.
    pub fn slots(&self, said: &[Said]) -> Vec<SlotValue> {
        let mut slots: Vec<SlotValue> = vec![];
        // The slots that go on, outermost first.
        let mut open: Vec<usize> = vec![];
        for (place, word) in said.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| said[before].word.index());
            open.truncate(before.map_or(0, |before| self.kept(before, word.word.index())));
            let Some(entry) = self.words().get(word.word.index()) else { continue };
            for part in entry.parts.iter().skip(open.len()) {
                open.push(slots.len());
                slots.push(SlotValue {
                    name: part.name.clone(),
                    value: String::new(),
                    start: word.start,
                    end: word.end,
                });
            }
            for &slot in &open {
                let SlotValue { value, end, .. } = &mut slots[slot];
                value.push_str(if value.is_empty() { "" } else { " " });
                value.push_str(&entry.text);
                *end = word.end;
            }
        }
        slots
    }

    /// How many of the outermost parts go on from one word to the next.
    fn kept(&self, from: usize, to: usize) -> usize {
        let words = self.words().len();
        if from < words && to < words { self.automaton.kept(from, to) } else { 0 }
    }
}
