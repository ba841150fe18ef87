//! Words in the graph: dictionary and n-gram come in, a graph whose states carry words goes out.

use super::Graph;
use super::lattice::Link;
use super::lexicon::{Lexicon, Said};
use super::ngram::Ngram;
use super::pronounce::{Speech, Spoken, pronounce};
use super::spec::{GraphSpec, LexiconSpec, LmSpec};
use super::words::{Word, WordNet};
use crate::symbols::{SymbolId, WordId};
use crate::{Error, Result};

/// Words without pronunciation that an error names before it only counts.
const NAMED: usize = 5;

impl GraphSpec {
    /// The graph of the words of `lexicon`: as `[grammar]` allows them, as the n-gram of `[lm]` does, else any after any;
    /// less what exclusive rules forbid.
    pub(super) fn compile_words(&self, lexicon: &LexiconSpec, scale: f32) -> Result<Graph> {
        let dictionary = Lexicon::read(&lexicon.path)?;
        let (words, net) = match (self.grammar(), self.lm()) {
            (Some(grammar), _) => (grammar.words().to_vec(), grammar.word_net()?),
            (None, Some(lm)) => word_ngram(lm, lexicon, scale)?,
            (None, None) => self.any_words(&dictionary)?,
        };
        self.say((words, net), (&dictionary, lexicon))
    }

    /// The graph of a net of words, said as `dictionary` has them.
    ///
    /// # Errors
    /// [`Error::Other`] when words have no pronunciation, nothing legal is left, or the graph would be too large;
    /// [`Error::TextFile`] at a pronunciation that the graph does not allow.
    pub(super) fn say(
        &self,
        (words, net): (Vec<Word>, WordNet),
        (dictionary, lexicon): (&Lexicon, &LexiconSpec),
    ) -> Result<Graph> {
        let spoken = self.spoken((&words, &net), (dictionary, lexicon))?;
        let segments = pronounce(self, &net, &Speech { spoken, pause: lexicon.pause })?;
        let none = || Error::Other("no sequence of these words is legal in this graph".into());
        let segments = segments.trimmed().ok_or_else(none)?;
        let graph = self.exclude((segments, &words), |rule| self.no_sequence(rule))?.expand(self)?;
        Ok(graph.with_words(words, self.optional()).with_grammar(self.grammar().cloned()))
    }

    /// The pronunciations of the words that `net` uses.
    fn spoken(
        &self,
        (words, net): (&[Word], &WordNet),
        (dictionary, lexicon): (&Lexicon, &LexiconSpec),
    ) -> Result<Vec<Vec<Spoken>>> {
        let mut used = vec![false; words.len()];
        net.nodes.iter().for_each(|word| used[word.index()] = true);
        let mut spoken = vec![vec![]; words.len()];
        let mut silent = vec![];
        for (index, word) in words.iter().enumerate().filter(|(index, _)| used[*index]) {
            let said = dictionary.said(&word.text).unwrap_or_default();
            let said = said.iter().map(|said| self.symbols_of(said, &word.text, dictionary));
            spoken[index] = said.collect::<Result<Vec<Spoken>>>()?;
            match lexicon.unknown {
                _ if !spoken[index].is_empty() => {}
                Some(filler) => {
                    spoken[index].push(Spoken { symbols: vec![filler], weight: lexicon.unknown_weight });
                }
                None => silent.push(word.text.as_str()),
            }
        }
        if silent.is_empty() { Ok(spoken) } else { Err(without_pronunciation(&silent, lexicon)) }
    }

    /// The symbols of a pronunciation of `word`, each of which may follow the one before.
    fn symbols_of(&self, said: &Said, word: &str, dictionary: &Lexicon) -> Result<Spoken> {
        let symbol =
            |phone: &String| self.symbols().get(phone).ok_or_else(|| dictionary.unknown_phone(said.line, phone, word));
        let symbols = said.phones.iter().map(symbol).collect::<Result<Vec<SymbolId>>>()?;
        if let Some(pair) = symbols.windows(2).find(|pair| !self.follows(pair[0], pair[1])) {
            let [from, to] = [pair[0], pair[1]].map(|symbol| self.symbols().name(symbol));
            let reason =
                format!("the graph does not allow {from} -> {to}, which is in '{word}': change one of the two");
            return Err(dictionary.error(said.line, reason));
        }
        Ok(Spoken { symbols, weight: said.weight })
    }

    /// Every word of the dictionary that is more than a pause, any after any, as often as they like; there must be one.
    fn any_words(&self, dictionary: &Lexicon) -> Result<(Vec<Word>, WordNet)> {
        let pauses: Vec<&str> = self.optional().iter().map(|&symbol| self.symbols().name(symbol)).collect();
        let is_word = |word: &&str| {
            let said = dictionary.pronunciations(word).unwrap_or_default();
            said.iter().flatten().any(|phone| !pauses.contains(&phone.as_str()))
        };
        let words: Vec<Word> = dictionary.words().filter(is_word).map(plain_word).collect();
        if words.is_empty() {
            return Err(Error::Other(
                "no word of the dictionary is more than a pause: add the words that may be said".into(),
            ));
        }
        let all = || (0..words.len()).map(|node| (node, 0.0)).collect();
        let net = WordNet {
            nodes: (0..words.len()).map(WordId::from_index).collect(),
            fans: vec![all()],
            fan_links: (0..words.len()).map(|from| Link { from, to: 0, fixed: 0.0 }).collect(),
            fan_starts: vec![(0, 0.0)],
            ends: all(),
            empty: Some(0.0),
            ..WordNet::default()
        };
        Ok((words, net))
    }
}

/// The words of the n-gram of `lm`, and what it says of them. What it does not list has a place only where the graph file says
/// how that sounds.
fn word_ngram(lm: &LmSpec, lexicon: &LexiconSpec, scale: f32) -> Result<(Vec<Word>, WordNet)> {
    let text = crate::input::text(&lm.path)?;
    let symbols = match lexicon.unknown {
        Some(_) => Ngram::arpa_symbols_and_unknown(&text),
        None => Ngram::arpa_symbols(&text),
    };
    let ngram = Ngram::parse_arpa(&lm.path, &text, &symbols.into())?;
    Ok((ngram.symbols().names().iter().map(|word| plain_word(word)).collect(), ngram.word_net(scale)?))
}

fn plain_word(text: &str) -> Word {
    Word { text: text.to_owned(), parts: vec![] }
}

fn without_pronunciation(words: &[&str], lexicon: &LexiconSpec) -> Error {
    let (path, count, named) = (lexicon.path.display(), words.len(), words[..words.len().min(NAMED)].join(" "));
    let more = if count > NAMED { " ..." } else { "" };
    let advice = "add them there, or let `unknown` of [lexicon] name a symbol that stands for them";
    Error::Other(format!("{count} words have no pronunciation in {path}: {named}{more}: {advice}"))
}
