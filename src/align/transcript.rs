//! What is said in a recording, ready to be aligned: words or phones with their pronunciations, and what was made of the text.
//!
//! Text is read as the lexicon reads it everywhere ([`Lexicon::words_of`]); what that changes beyond case is kept as a
//! [`Reading`], so that a user can be told.

use std::path::PathBuf;

use super::transcriber::Transcriber;
use crate::audio::Clip;
use crate::data::manifest::Utterance;
use crate::g2p::Spelling;
use crate::graph::lexicon::Lexicon;
use crate::spelling::lower;
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
    /// The line of the lexicon's file, from 1 on, that each pronunciation stands in; nothing where they come from elsewhere.
    pub lines: Vec<usize>,
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
    /// The lexicon's file, which the lines of the items are of.
    pub lexicon: Option<PathBuf>,
    /// Tokens that lost or changed more than case and the punctuation around them.
    pub readings: Vec<Reading>,
    /// Tokens that lost punctuation around them, or are nothing else.
    pub punctuated: usize,
    /// Items, from 0 on, that the lexicon lacks and that are pronounced by their letters.
    pub spelled: Vec<usize>,
}

/// Why an utterance of which nothing is said cannot be aligned.
const MISSING: &str =
    "no transcript: expected a .txt, .TextGrid, .lab, .mlf or .ctm of the same name beside the recording, or a text";

/// Words that a message names before it only counts.
const NAMED: usize = 5;

impl Transcript {
    /// What `utterance` says: its phones where it gives them, else its words as `lexicon` has them; without a lexicon every token is
    /// a phone.
    ///
    /// # Errors
    /// [`Error::Transcript`] when it says nothing, has no transcript at all, or no word that the lexicon knows.
    pub fn of(utterance: &Utterance, lexicon: Option<&Lexicon>) -> Result<Self> {
        Self::spelled(utterance, lexicon, None)
    }

    /// As [`Transcript::of`]; words that the lexicon lacks are said as `spelling` has it, as far as it knows their letters.
    ///
    /// # Errors
    /// As [`Transcript::of`].
    pub fn spelled(utterance: &Utterance, lexicon: Option<&Lexicon>, spelling: Option<&dyn Spelling>) -> Result<Self> {
        // What is listed nowhere but with its audio has no transcript; elsewhere it may be empty.
        if utterance.place.path == utterance.audio.path && utterance.words.is_none() && utterance.phones.is_none() {
            return Err(Error::Transcript { reason: MISSING.into() });
        }
        let said =
            Transcriber::new(lexicon, "").words(utterance).map_err(|error| unskipped(error, utterance, lexicon))?;
        let text = text_of(utterance);
        let words = lexicon.map(|lexicon| lexicon.words_of(text)).filter(|words| words.len() == said.len());
        let unit = if words.is_some() { Unit::Word } else { Unit::Phone };
        // A word without pronunciation is said by the filler that has no name.
        let is_known = |said: &Vec<Vec<String>>| !said.iter().flatten().any(String::is_empty);
        let named = words.unwrap_or_else(|| said.iter().map(|said| said.concat().concat()).collect());
        let items: Vec<Item> = (named.into_iter().zip(said))
            .map(|(text, said)| Item {
                text,
                pronunciations: if is_known(&said) { said } else { vec![] },
                lines: vec![],
            })
            .collect();
        let mut transcript = Self { unit, items, lexicon: None, readings: vec![], punctuated: 0, spelled: vec![] };
        if let Some(lexicon) = lexicon.filter(|lexicon| unit == Unit::Word && !lexicon.is_pinyin()) {
            transcript.read(text, lexicon);
            transcript.lexicon = Some(lexicon.path().to_owned());
            transcript.items.iter_mut().for_each(|item| item.lines = lines(item, lexicon));
        }
        spelling.iter().for_each(|spelling| transcript.spell(*spelling));
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

    /// Gives the items without pronunciation those that `spelling` knows.
    fn spell(&mut self, spelling: &dyn Spelling) {
        for (index, item) in self.items.iter_mut().enumerate().filter(|(_, item)| item.pronunciations.is_empty()) {
            if let Ok(ways) = spelling.spell(&item.text) {
                item.pronunciations = ways.into_iter().map(|way| way.phones).collect();
                self.spelled.push(index);
            }
        }
    }

    /// `'a' (word 1) as EY, 'b' (word 4) as B IY` of the words that are pronounced by their letters, the first way of each.
    pub fn spelled_words(&self) -> String {
        let named = self.spelled.iter().take(NAMED).map(|&index| {
            let Item { text, pronunciations, .. } = &self.items[index];
            format!("'{text}' (word {}) as {}", index + 1, pronunciations[0].join(" "))
        });
        let more = self.spelled.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        named.collect::<Vec<_>>().join(", ") + &more
    }

    /// Notes what the lexicon makes of the tokens of `text`.
    fn read(&mut self, text: &str, lexicon: &Lexicon) {
        for (token, position) in text.split_whitespace().zip(1..) {
            let (plain, read) = (lower(token), lexicon.words_of(token).join(" "));
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
        let reason = format!(
            "no word of the transcript is in the lexicon: {named}: give a lexicon of its language and its script"
        );
        Error::Transcript { reason }
    }
}

/// The lines of `lexicon` that the pronunciations of `item` stand in; nothing where they are not its own.
fn lines(item: &Item, lexicon: &Lexicon) -> Vec<usize> {
    let own = lexicon.said(&item.text).unwrap_or_default();
    match own.iter().map(|said| &said.phones).eq(&item.pronunciations) {
        true => own.iter().map(|said| said.line).collect(),
        false => vec![],
    }
}

fn text_of(utterance: &Utterance) -> &str {
    utterance.words.as_deref().unwrap_or_default()
}

/// The `error` of a text; of one that is to be pinyin it says that nothing of it can be skipped.
fn unskipped(error: Error, utterance: &Utterance, lexicon: Option<&Lexicon>) -> Error {
    let is_none = lexicon.is_some_and(|lexicon| lexicon.check(text_of(utterance)).is_err());
    match error {
        Error::Transcript { reason } if is_none => {
            Error::Transcript { reason: format!("{reason}; in pinyin no word can be skipped") }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::g2p::Pronounced;

    fn lexicon() -> Lexicon {
        Lexicon::parse("d".as_ref(), "hello HH AH0 L OW1\nit's IH T S\nco K OW\nop AA P\nread R EH D\nread R IY D\n")
            .unwrap()
    }

    fn of(text: &str) -> Result<Transcript> {
        Transcript::of_text(text, Some(&lexicon()))
    }

    #[test]
    fn words_have_pronunciations_or_are_unknown() {
        let made = of("read xyzzy hello foo").unwrap();
        assert_eq!((made.unit, made.items[0].pronunciations.len()), (Unit::Word, 2));
        assert_eq!(made.unknown().collect::<Vec<_>>(), [(2, "xyzzy"), (4, "foo")]);
        assert_eq!(made.unknown_words(), "'xyzzy' (word 2), 'foo' (word 4)");
        assert_eq!((&made.items[0].lines, &made.items[2].lines, made.items[3].lines.len()), (&vec![5, 6], &vec![1], 0));
        assert_eq!(made.lexicon.as_deref(), Some("d".as_ref()));
        let many = of("hello a b c d e f g").unwrap().unknown_words();
        assert!(many.ends_with("'e' (word 6), and 2 more"), "{many}");
    }

    #[test]
    fn unknown_words_are_said_as_they_are_spelled() {
        struct Reversed;
        impl Spelling for Reversed {
            fn spell(&self, word: &str) -> Result<Vec<Pronounced>> {
                let phones = word.chars().rev().map(String::from).collect();
                let probability = 1.0;
                if word == "foo" {
                    Err(Error::Other("no".into()))
                } else {
                    Ok(vec![Pronounced { phones, probability }])
                }
            }
        }
        let said = |text: &str| {
            let utterance = Utterance { words: Some(text.into()), ..Utterance::bare("text", Clip::whole("text")) };
            Transcript::spelled(&utterance, Some(&lexicon()), Some(&Reversed))
        };
        let made = said("read xy hello foo zy").unwrap();
        assert_eq!(
            (made.items[1].pronunciations.concat(), made.items[1].lines.len()),
            (vec!["y".into(), "x".into()], 0)
        );
        assert_eq!(made.unknown().collect::<Vec<_>>(), [(4, "foo")]);
        assert_eq!((made.spelled.as_slice(), made.items[0].pronunciations.len()), (&[1, 4][..], 2));
        assert_eq!(made.spelled_words(), "'xy' (word 2) as y x, 'zy' (word 5) as y z");
        assert_eq!(said("xyzzy").unwrap().spelled, [0]);
        assert!(said("foo").is_err());
    }

    #[test]
    fn what_is_read_otherwise_is_noted() {
        let made = of("Hello, IT\u{2019}S co-op \u{2014} read!").unwrap();
        let texts: Vec<&str> = made.items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["hello", "it's", "co", "op", "read"]);
        let found: Vec<_> = made.readings.iter().map(|r| (r.position, r.written.as_str(), r.read.as_str())).collect();
        assert_eq!(found, [(2, "IT\u{2019}S", "it's"), (3, "co-op", "co op")]);
        assert_eq!(made.punctuated, 3);
        assert!(of("HELLO read").unwrap().readings.is_empty());
        let composed = Lexicon::parse("d".as_ref(), "caf\u{e9} K AE F EY\n").unwrap();
        let decomposed = Transcript::of_text("Cafe\u{301}!", Some(&composed)).unwrap();
        assert_eq!((decomposed.readings, decomposed.punctuated), (vec![], 1));
    }

    #[test]
    fn nothing_known_and_nothing_said_are_errors() {
        let error = |text: &str| of(text).unwrap_err().to_string();
        assert_eq!(error(" "), "the transcript is empty");
        assert!(
            error("\u{4f60}\u{597d}")
                .starts_with("no word of the transcript is in the lexicon: '\u{4f60}\u{597d}' (word 1): ")
        );
        let missing = Transcript::of(&Utterance::bare("a", crate::audio::Clip::whole("a.wav")), Some(&lexicon()));
        assert_eq!(missing.unwrap_err().to_string(), MISSING);
    }

    #[test]
    fn of_pinyin_nothing_is_skipped() {
        let pinyin = Lexicon::pinyin(crate::pinyin::Tones::Dropped);
        let error = Transcript::of_text("ni3 haox", Some(&pinyin)).unwrap_err().to_string();
        assert!(
            error.starts_with("\"x\" at character 8 of the text")
                && error.ends_with("; in pinyin no word can be skipped")
        );
        assert_eq!(Transcript::of_text(" ", Some(&pinyin)).unwrap_err().to_string(), "the transcript is empty");
    }

    #[test]
    fn tokens_are_phones_without_a_lexicon() {
        let made = Transcript::of_text("HH AH0", None).unwrap();
        assert_eq!((made.unit, made.items[1].text.as_str()), (Unit::Phone, "AH"));
        assert!(made.readings.is_empty() && made.punctuated == 0);
    }
}
