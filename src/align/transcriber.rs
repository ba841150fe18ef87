//! Transcripts: words, or a manifest's own phones, to the slots that a transcript graph is made from.
//!
//! Where a manifest gives phones they are right and the lexicon is not asked for them; it only says where words end, so that
//! a pause may stand between words and not within. Phones of syllables stand alone: the graph has no pause within one.

use std::collections::BTreeMap;

use crate::data::manifest::Utterance;
use crate::graph::lexicon::Lexicon;
use crate::graph::{GraphSpec, Slot};
use crate::metrics::align;
use crate::spelling::without_stress;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// Makes slots of transcripts, and counts the words that the lexicon lacks.
pub struct Transcriber<'a> {
    lexicon: Option<&'a Lexicon>,
    filler: String,
    unknown: BTreeMap<String, usize>,
}

/// The pronunciations of each word in turn, as phone names.
pub type Words = Vec<Vec<Vec<String>>>;

/// Whether all `words` are known, so that what was recognised can be held against them: none is the `filler`.
pub fn are_known(words: &Words, filler: Option<&str>) -> bool {
    words.iter().flatten().flatten().all(|phone| Some(phone.as_str()) != filler)
}

/// Whether one of the `words` is known, so that there is a phone to learn: not only the `filler` is said.
pub fn is_one_known(words: &Words, filler: Option<&str>) -> bool {
    words.iter().flatten().flatten().any(|phone| Some(phone.as_str()) != filler)
}

impl<'a> Transcriber<'a> {
    /// Words that the `lexicon` lacks are pronounced `filler`; without a lexicon every token is a phone. What is no pinyin can have no
    /// filler but a named one.
    pub fn new(lexicon: Option<&'a Lexicon>, filler: &str) -> Self {
        Self { lexicon, filler: filler.to_owned(), unknown: BTreeMap::new() }
    }

    /// The words met so far that the lexicon lacks, with how often.
    pub fn unknown(&self) -> &BTreeMap<String, usize> {
        &self.unknown
    }

    /// What `utterance` says.
    ///
    /// # Errors
    /// [`Error::Transcript`] when it has neither words nor phones, and naming what is no pinyin where that has no filler.
    pub fn words(&mut self, utterance: &Utterance) -> Result<Words> {
        let text = utterance.words.as_deref().unwrap_or_default();
        let tokens = || text.split_whitespace().map(str::to_owned).collect();
        let (phones, words) = match (&utterance.phones, self.lexicon) {
            (Some(phones), Some(lexicon)) if lexicon.is_pinyin() && !phones.is_empty() => (phones.clone(), vec![]),
            (phones, Some(lexicon)) => (phones.clone().unwrap_or_default(), lexicon.words_of(text)),
            (Some(phones), None) if !phones.is_empty() => (phones.clone(), vec![]),
            (_, None) => (tokens(), vec![]),
        };
        if phones.is_empty() && words.is_empty() {
            let place = Some(&utterance.place).filter(|place| place.path != utterance.audio.path);
            let place = place.map_or(String::new(), |place| format!(": {place}"));
            return Err(Error::Transcript { reason: format!("the transcript is empty{place}") });
        }
        if phones.is_empty() {
            self.lexicon.filter(|_| self.filler.is_empty()).map_or(Ok(()), |lexicon| lexicon.check(text))?;
            return Ok(words.iter().map(|word| self.pronounce(word)).collect());
        }
        let plain =
            |phone: &String| self.lexicon.map_or(without_stress(phone), |lexicon| lexicon.plain(phone)).to_owned();
        let phones: Vec<String> = phones.iter().map(plain).collect();
        Ok(self.split(&phones, &words))
    }

    fn listed(&self, word: &str) -> Option<Vec<Vec<String>>> {
        self.lexicon?.pronunciations(word)
    }

    fn pronounce(&mut self, word: &str) -> Vec<Vec<String>> {
        self.listed(word).unwrap_or_else(|| {
            *self.unknown.entry(word.to_owned()).or_default() += 1;
            vec![vec![self.filler.clone()]]
        })
    }

    /// Cuts `phones` into words so that the pieces are as near to the lexicon as possible:
    /// `cost[w][p] = min over q < p of cost[w-1][q] + distance(word w, phones[q..p])`.
    fn split(&self, phones: &[String], words: &[String]) -> Words {
        let alone = |piece: &[String]| vec![piece.to_vec()];
        if words.is_empty() || words.len() > phones.len() {
            return phones.chunks(1).map(alone).collect();
        }
        let mut cost = vec![Some(0)];
        cost.resize(phones.len() + 1, None);
        let mut cuts = Vec::new();
        for word in words {
            let known = self.listed(word).unwrap_or_default();
            let (next, from) = best_ends(&cost, phones, &known);
            cuts.push(from);
            cost = next;
        }
        if cost[phones.len()].is_none() {
            return phones.chunks(1).map(alone).collect();
        }
        let mut end = phones.len();
        let mut pieces = Vec::new();
        for from in cuts.iter().rev() {
            pieces.push(alone(&phones[from[end]..end]));
            end = from[end];
        }
        pieces.reverse();
        pieces
    }
}

/// Longest stretch of phones that one word may be given.
const LONGEST_WORD_PHONES: usize = 24;

/// For every end of the next word: its least cost, and where the word then begins.
fn best_ends(cost: &[Option<usize>], phones: &[String], known: &[Vec<String>]) -> (Vec<Option<usize>>, Vec<usize>) {
    let mut next = vec![None; cost.len()];
    let mut from = vec![0; cost.len()];
    for end in 1..cost.len() {
        for start in end.saturating_sub(LONGEST_WORD_PHONES)..end {
            let Some(before) = cost[start] else { continue };
            let total = before + distance(&phones[start..end], known);
            if next[end].is_none_or(|best| total < best) {
                next[end] = Some(total);
                from[end] = start;
            }
        }
    }
    (next, from)
}

/// Edit distance from `piece` to the nearest of `known`; a word without pronunciation may be anything of middling length.
fn distance(piece: &[String], known: &[Vec<String>]) -> usize {
    let errors = |pronunciation: &Vec<String>| align(pronunciation, piece).counts.errors();
    known.iter().map(errors).min().unwrap_or_else(|| piece.len().abs_diff(4))
}

/// `words` as slots over the symbols of `spec`.
///
/// # Errors
/// [`Error::Transcript`] naming the phone that the graph lacks.
pub fn slots(spec: &GraphSpec, words: &Words) -> Result<Vec<Slot>> {
    let stranger = |_: usize, name: &str| {
        let reason = format!("the graph has no symbol {name:?}: add it to a class, or correct the pronunciation");
        Error::Transcript { reason }
    };
    let slot = |said: &Vec<Vec<String>>| Ok(Slot { word: None, alternatives: symbols(spec, said, stranger)? });
    words.iter().map(slot).collect()
}

/// The pronunciations `said` as symbols of `spec`; `stranger` is the error of one, by its number, with a phone that the graph lacks.
pub(super) fn symbols(
    spec: &GraphSpec,
    said: &[Vec<String>],
    stranger: impl Fn(usize, &str) -> Error,
) -> Result<Vec<Vec<SymbolId>>> {
    let one = |(index, names): (usize, &Vec<String>)| {
        let symbol = |name: &String| spec.symbols().get(name).ok_or_else(|| stranger(index, name));
        names.iter().map(symbol).collect()
    };
    said.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::Clip;
    use crate::data::manifest::Place;

    fn lexicon() -> Lexicon {
        let text = "we W IY1\ncall K AO1 L\nit IH1 T\nit(2) IH0 T\nread R EH1 D\nread(2) R IY1 D\n";
        Lexicon::parse("test.dict".as_ref(), text).unwrap()
    }

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn utterance(words: &str, phones: &str) -> Utterance {
        Utterance {
            name: "u".into(),
            speaker: "s".into(),
            audio: Clip::whole("u.wav"),
            seconds: None,
            words: Some(words.into()),
            phones: (!phones.is_empty()).then(|| names(phones)),
            place: Place { path: "m.tsv".into(), line: 2 },
        }
    }

    fn pieces(words: &str, phones: &str) -> Vec<String> {
        let lexicon = lexicon();
        let made = Transcriber::new(Some(&lexicon), "SPN").words(&utterance(words, phones)).unwrap();
        made.iter().map(|slot| slot[0].join(" ")).collect()
    }

    #[test]
    fn words_have_all_their_pronunciations_and_unknown_ones_the_filler() {
        let lexicon = lexicon();
        let mut transcriber = Transcriber::new(Some(&lexicon), "SPN");
        let words = transcriber.words(&utterance("READ xyzzy", "")).unwrap();
        assert_eq!(words, [vec![names("R EH D"), names("R IY D")], vec![names("SPN")]]);
        assert_eq!(transcriber.unknown().get("xyzzy"), Some(&1));
    }

    #[test]
    fn the_manifests_phones_win_and_are_cut_at_words() {
        assert_eq!(pieces("we call it", "W IY1 K AO1 L IH0 T"), ["W IY", "K AO L", "IH T"]);
        assert_eq!(pieces("we call it", "W IH K AA L IH D"), ["W IH", "K AA L", "IH D"]);
        assert_eq!(pieces("we xyzzy it", "W IY Z IH Z IH IH T"), ["W IY", "Z IH Z IH", "IH T"]);
    }

    #[test]
    fn phones_without_words_stand_alone() {
        assert_eq!(pieces("", "W IY"), ["W", "IY"]);
        assert_eq!(pieces("we call it we call", "W IY"), ["W", "IY"]);
    }

    #[test]
    fn without_a_lexicon_every_token_is_a_phone() {
        let made = |words: &str, phones: &str| Transcriber::new(None, "").words(&utterance(words, phones));
        let alone: Words = ["a", "ts", "AH", "b:"].iter().map(|phone| vec![names(phone)]).collect();
        assert_eq!(made("a ts AH0 b:", "").unwrap(), alone);
        assert_eq!(made("whatever is said", "a ts AH0 b:").unwrap(), alone);
        assert!(made(" ", "").is_err());
    }

    #[test]
    fn pinyin_is_told_by_its_words_or_by_phones() {
        let lexicon = Lexicon::pinyin(crate::pinyin::Tones::Dropped);
        let made = |words: &str, phones: &str| Transcriber::new(Some(&lexicon), "").words(&utterance(words, phones));
        let syllables: Words = vec![vec![names("n i")], vec![names("h ao")]];
        assert_eq!(made("Nǐ hǎo!", "").unwrap(), syllables);
        let alone: Words = names("n i h ao").iter().map(|phone| vec![names(phone)]).collect();
        assert_eq!(made("你好", "n i3 h ao3").unwrap(), alone);
        let error = made("ni3 haox", "").unwrap_err().to_string();
        assert!(error.starts_with("\"x\" at character 8 of the text, in \"haox\": expected a syllable"), "{error}");
        let filled = Transcriber::new(Some(&lexicon), "sil").words(&utterance("ni3 haox", "")).unwrap();
        assert_eq!(filled[1], vec![names("sil")]);
    }

    #[test]
    fn nothing_said_is_an_error() {
        let lexicon = lexicon();
        let error = Transcriber::new(Some(&lexicon), "SPN").words(&utterance(" ", "")).unwrap_err();
        assert_eq!(error.to_string(), "the transcript is empty: m.tsv:2");
    }
}
