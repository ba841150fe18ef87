//! What is said in a recording, ready to be aligned: words or phones with their pronunciations, and what was made of the text.
//!
//! Text is read as the lexicon reads it everywhere ([`Lexicon::words_of`]); what that changes beyond case is kept as a
//! [`Reading`], so that a user can be told.

use super::transcriber::Transcriber;
use crate::audio::Clip;
use crate::data::manifest::Utterance;
use crate::graph::lexicon::Lexicon;
use crate::graph::{GraphSpec, Slot, Word};
use crate::symbols::{SymbolId, WordId};
use crate::{Error, Result};

/// What a transcript is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Words.
    Word,
    /// Phones by themselves, no word among them.
    Phone,
}

/// One word of a transcript, or one phone.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// As the lexicon writes it.
    pub text: String,
    /// How it may be said, as phone names; nothing when the lexicon lacks the word.
    pub pronunciations: Vec<Vec<String>>,
}

/// A part of a text that is read otherwise than it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Which token of the text it is, from 1 on.
    pub position: usize,
    /// The token.
    pub written: String,
    /// The words that were made of it; nothing for one that is left out.
    pub read: String,
}

/// What is said in a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// What the items are.
    pub unit: Unit,
    /// In their order, at least one.
    pub items: Vec<Item>,
    /// Tokens that lost or changed more than case and the punctuation around them.
    pub readings: Vec<Reading>,
    /// Tokens that lost punctuation around them, or are nothing else.
    pub punctuated: usize,
}

/// Words that a message names before it only counts.
const NAMED: usize = 5;

impl Transcript {
    /// What `utterance` says: its phones where it gives them, else its words as `lexicon` has them; without a lexicon every token is
    /// a phone.
    ///
    /// # Errors
    /// [`Error::Transcript`] when it says nothing, has no transcript at all, or no word that the lexicon knows.
    pub fn of(utterance: &Utterance, lexicon: Option<&Lexicon>) -> Result<Self> {
        let said = Transcriber::new(lexicon, "").words(utterance)?;
        let text = utterance.words.as_deref().unwrap_or_default();
        let words = lexicon.map(|lexicon| lexicon.words_of(text)).filter(|words| words.len() == said.len());
        let unit = if words.is_some() { Unit::Word } else { Unit::Phone };
        // A word without pronunciation is said by the filler that has no name.
        let is_known = |said: &Vec<Vec<String>>| !said.iter().flatten().any(String::is_empty);
        let named = words.unwrap_or_else(|| said.iter().map(|said| said.concat().concat()).collect());
        let items: Vec<Item> = (named.into_iter().zip(said))
            .map(|(text, said)| Item { text, pronunciations: if is_known(&said) { said } else { vec![] } })
            .collect();
        let mut transcript = Self { unit, items, readings: vec![], punctuated: 0 };
        if let Some(lexicon) = lexicon.filter(|lexicon| unit == Unit::Word && !lexicon.is_pinyin()) {
            transcript.read(text, lexicon);
        }
        match transcript.items.iter().all(|item| item.pronunciations.is_empty()) {
            true => Err(transcript.all_unknown()),
            false => Ok(transcript),
        }
    }

    /// What `text` says.
    ///
    /// # Errors
    /// As [`Transcript::of`].
    pub fn of_text(text: &str, lexicon: Option<&Lexicon>) -> Result<Self> {
        let utterance = Utterance { words: Some(text.into()), ..Utterance::bare("text", Clip::whole("text")) };
        Self::of(&utterance, lexicon)
    }

    /// Notes what the lexicon makes of the tokens of `text`.
    fn read(&mut self, text: &str, lexicon: &Lexicon) {
        for (token, position) in text.split_whitespace().zip(1..) {
            let (plain, read) = (token.to_lowercase(), lexicon.words_of(token).join(" "));
            if plain.trim_matches(|c: char| !c.is_alphanumeric()) == read.trim_matches(|c: char| !c.is_alphanumeric()) {
                self.punctuated += usize::from(plain != read);
            } else {
                self.readings.push(Reading { position, written: token.to_owned(), read });
            }
        }
    }

    /// The words that the lexicon lacks, with their positions from 1 on.
    pub fn unknown(&self) -> impl Iterator<Item = (usize, &str)> {
        let items = self.items.iter().zip(1..).filter(|(item, _)| item.pronunciations.is_empty());
        items.map(|(item, position)| (position, item.text.as_str()))
    }

    /// `'a' (word 1), 'b' (word 4)` of the words that the lexicon lacks; the first of them, if there are many.
    pub fn unknown_words(&self) -> String {
        let count = self.unknown().count();
        let named = self.unknown().take(NAMED).map(|(position, word)| format!("'{word}' (word {position})"));
        let more = if count > NAMED { format!(", and {} more", count - NAMED) } else { String::new() };
        named.collect::<Vec<_>>().join(", ") + &more
    }

    fn all_unknown(&self) -> Error {
        let named = self.unknown_words();
        let reason =
            format!("no word of the transcript is in the lexicon: {named}: give a lexicon of its language and its script");
        Error::Transcript { reason }
    }

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
        Error::Transcript { reason: format!("not in the lexicon: {named}: add pronunciations, or correct the transcript") }
    }

    fn no_phone(&self, index: usize, name: &str) -> Error {
        let (item, position) = (&self.items[index], index + 1);
        let reason = match self.unit {
            Unit::Phone => format!("'{}' (token {position}) is no phone of the model: a transcript of words needs a lexicon", item.text),
            Unit::Word => {
                format!("the phone '{name}' of '{}' (word {position}) is not one of the model's: correct the lexicon", item.text)
            }
        };
        Error::Transcript { reason }
    }
}
