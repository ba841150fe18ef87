//! Plain text to sequences of symbols: what an n-gram is estimated from or measured on.
//!
//! A line of a file comes in, words or symbols; names of symbols go out.

use std::path::Path;

use crate::graph::lexicon::Lexicon;
use crate::{Error, Result};

/// How a line becomes symbols.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentenceOptions<'a> {
    /// Words become their first pronunciation; without it every token is a symbol.
    pub lexicon: Option<&'a Lexicon>,
    /// The symbol of a pause, which stands at both ends of a line and, with a lexicon, in place of punctuation between spaces.
    pub pause: Option<&'a str>,
}

/// The sequences of a text, and how many of its words the lexicon lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentences {
    /// Names of symbols; none is empty.
    pub sequences: Vec<Vec<String>>,
    /// Words without a pronunciation: a line is cut in two at each.
    pub unknown: usize,
}

impl Sentences {
    /// Reads the file at `path`, a sentence on each line; empty lines are skipped.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read as UTF-8; [`Error::TextFile`] when nothing is in it.
    pub fn read(path: &Path, options: SentenceOptions<'_>) -> Result<Self> {
        let text = crate::input::text(path)?;
        let found = Self::parse(&text, options);
        match found.sequences.is_empty() {
            true => Err(Error::TextFile { path: path.to_owned(), line: 1, reason: "no sentence is in it".into() }),
            false => Ok(found),
        }
    }

    /// The sentences of `text`, see [`Sentences::read`].
    pub fn parse(text: &str, options: SentenceOptions<'_>) -> Self {
        let mut found = Self::default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            match options.lexicon {
                Some(lexicon) => found.words(line, (lexicon, options.pause)),
                None => found.finish(line.split_whitespace().map(str::to_owned).collect(), options.pause),
            }
        }
        found
    }

    fn words(&mut self, line: &str, (lexicon, pause): (&Lexicon, Option<&str>)) {
        let mut phones: Vec<String> = Vec::new();
        for token in line.split_whitespace() {
            let words = lexicon.words_of(token);
            if words.is_empty() && phones.last().is_some_and(|last| Some(last.as_str()) != pause) {
                phones.extend(pause.map(str::to_owned));
            }
            for word in words {
                match lexicon.pronunciations(&word) {
                    Some(all) => phones.extend(all[0].iter().map(|phone| lexicon.plain(phone).to_owned())),
                    None => {
                        self.unknown += 1;
                        self.finish(std::mem::take(&mut phones), pause);
                    }
                }
            }
        }
        self.finish(phones, pause);
    }

    /// Keeps a sequence between two pauses.
    fn finish(&mut self, mut symbols: Vec<String>, pause: Option<&str>) {
        let Some(pause) = pause else {
            return self.sequences.extend((!symbols.is_empty()).then_some(symbols));
        };
        while symbols.last().is_some_and(|last| last == pause) {
            symbols.pop();
        }
        if symbols.is_empty() {
            return;
        }
        if symbols[0] != pause {
            symbols.insert(0, pause.to_owned());
        }
        symbols.push(pause.to_owned());
        self.sequences.push(symbols);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sentences: &Sentences) -> Vec<String> {
        sentences.sequences.iter().map(|sequence| sequence.join(" ")).collect()
    }

    #[test]
    fn tokens_are_symbols_without_a_lexicon() {
        let found = Sentences::parse("a b\n\n  c \n", SentenceOptions::default());
        assert_eq!(text(&found), ["a b", "c"]);
        let paused = Sentences::parse("a b\n\npau c\n", SentenceOptions { lexicon: None, pause: Some("pau") });
        assert_eq!(text(&paused), ["pau a b pau", "pau c pau"]);
    }

    #[test]
    fn words_are_looked_up_and_cut_at_unknown_ones() {
        let lexicon = Lexicon::parse(Path::new("d"), "hello HH AH0 L OW1\nyou Y UW1\nyou(2) Y AH0\n").unwrap();
        let options = SentenceOptions { lexicon: Some(&lexicon), pause: Some("SIL") };
        let found = Sentences::parse("Hello , you !\nyou xyzzy hello xyzzy", options);
        assert_eq!(text(&found), ["SIL HH AH L OW SIL Y UW SIL", "SIL Y UW SIL", "SIL HH AH L OW SIL"]);
        assert_eq!(found.unknown, 2);
        let plain = Sentences::parse("Hello, you!", SentenceOptions { pause: None, ..options });
        assert_eq!(text(&plain), ["HH AH L OW Y UW"]);
    }

    #[test]
    fn a_text_without_sentences_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Sentences::read(file.path(), SentenceOptions::default()).unwrap_err().to_string();
        assert!(error.ends_with("line 1: no sentence is in it") || error.contains("no sentence is in it"), "{error}");
    }
}
