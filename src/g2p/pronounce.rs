//! How a word is said: all ways to cut its letters into graphones, on a beam, those that say the same together.

use std::collections::BTreeMap;

use super::G2p;
use super::align::log_add;
use crate::graph::ngram::HistoryId;
use crate::spelling::lower;
use crate::{Error, Result};

/// One way to say a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Pronounced {
    /// Names of phones, at least one.
    pub phones: Vec<String>,
    /// Its probability among all that were followed, 0 to 1.
    pub probability: f64,
}

/// Anything that says words by their letters.
pub trait Spelling {
    /// The ways to say `word`, the most probable first.
    ///
    /// # Errors
    /// [`Error::Other`] when it cannot be said.
    fn spell(&self, word: &str) -> Result<Vec<Pronounced>>;
}

/// Ways that are followed at each letter.
const MOST: usize = 200;
/// Ways that are less probable than the best by this much are given up, natural log.
const BEAM: f64 = 12.0;
/// Letters of the longest word.
const MOST_LETTERS: usize = 200;

/// Phones said so far, and what the n-gram remembers.
type Way<'a> = (Vec<&'a str>, HistoryId);

impl G2p {
    /// The `count` most probable ways to say `word`, best first; fewer, where there are no more.
    ///
    /// # Errors
    /// [`Error::Other`] naming the letter that the model does not know, or saying that the word is too long.
    pub fn pronounce(&self, word: &str, count: usize) -> Result<Vec<Pronounced>> {
        let mut found = self.ways(word, (MOST, BEAM))?;
        found.truncate(count);
        Ok(found)
    }

    /// ```text
    /// log P(phones, letters) = log sum over ways to cut them both into graphones of P(graphones)
    /// ```
    fn ways(&self, word: &str, beam: (usize, f64)) -> Result<Vec<Pronounced>> {
        let letters: Vec<char> = lower(word).chars().collect();
        self.check(word, &letters)?;
        let mut at: Vec<BTreeMap<Way, f64>> = vec![BTreeMap::new(); letters.len() + 1];
        at[0].insert((vec![], self.ngram.start()), 0.0);
        for place in 0..letters.len() {
            for ((said, history), log_p) in pruned(std::mem::take(&mut at[place]), beam) {
                for (id, graphone) in &self.by_letter[&letters[place]] {
                    let Some(into) =
                        letters[place..].starts_with(&graphone.letters).then_some(place + graphone.letters.len())
                    else {
                        continue;
                    };
                    let score = log_p + f64::from(self.ngram.score(history, *id));
                    let said = said.iter().copied().chain(graphone.phones.iter().map(String::as_str)).collect();
                    add(&mut at[into], (said, self.ngram.next(history, *id)), score);
                }
            }
        }
        let mut ended: BTreeMap<Vec<&str>, f64> = BTreeMap::new();
        for ((said, history), log_p) in std::mem::take(&mut at[letters.len()]) {
            if !said.is_empty() {
                add(&mut ended, said, log_p + f64::from(self.ngram.end(history)));
            }
        }
        ranked(ended)
            .ok_or_else(|| Error::Other(format!("'{word}': the model knows no way to say it: add it to the lexicon")))
    }

    fn check(&self, word: &str, letters: &[char]) -> Result<()> {
        let wrong = |reason: String| Err(Error::Other(format!("{reason}: add it to the lexicon, or correct it")));
        match letters.iter().find(|letter| !self.by_letter.contains_key(letter)) {
            _ if letters.is_empty() => wrong("a word without letters".into()),
            _ if letters.len() > MOST_LETTERS => {
                let begin: String = letters.iter().take(20).collect();
                wrong(format!("'{begin}...' has {} letters, at most {MOST_LETTERS} are pronounced", letters.len()))
            }
            Some(letter) => wrong(format!("'{word}': the model has learnt nothing of '{letter}'")),
            None => Ok(()),
        }
    }
}

impl Spelling for G2p {
    /// The three best ways, as far as they are a twentieth as probable as the best.
    fn spell(&self, word: &str) -> Result<Vec<Pronounced>> {
        let mut ways = self.pronounce(word, 3)?;
        let least = ways.first().map_or(0.0, |best| best.probability / 20.0);
        ways.retain(|way| way.probability >= least);
        Ok(ways)
    }
}

fn add<K: Ord>(ways: &mut BTreeMap<K, f64>, way: K, log_p: f64) {
    let known = ways.entry(way).or_insert(f64::NEG_INFINITY);
    *known = log_add(*known, log_p);
}

/// The best of `ways`.
fn pruned(ways: BTreeMap<Way, f64>, (most, beam): (usize, f64)) -> Vec<(Way, f64)> {
    let mut ways: Vec<(Way, f64)> = ways.into_iter().collect();
    ways.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let best = ways.first().map_or(0.0, |(_, log_p)| *log_p);
    ways.retain(|(_, log_p)| *log_p >= best - beam);
    ways.truncate(most);
    ways
}

/// What was `said`, most probable first; none of nothing.
fn ranked(said: BTreeMap<Vec<&str>, f64>) -> Option<Vec<Pronounced>> {
    let total = said.values().copied().fold(f64::NEG_INFINITY, log_add);
    let mut said: Vec<(Vec<&str>, f64)> = said.into_iter().filter(|(_, log_p)| *log_p > f64::NEG_INFINITY).collect();
    said.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let pronounced = |(phones, log_p): (Vec<&str>, f64)| Pronounced {
        phones: phones.into_iter().map(str::to_owned).collect(),
        probability: (log_p - total).exp(),
    };
    (!said.is_empty()).then(|| said.into_iter().map(pronounced).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    fn entry(line: &str) -> Entry {
        let mut fields = line.split(' ').map(str::to_owned);
        Entry { word: fields.next().unwrap(), phones: fields.collect() }
    }

    fn toy() -> G2p {
        let lines =
            ["ab A B", "abb A B", "ba B A", "xa K S A", "sha SH A", "hash H A SH", "shab SH A B", "a A", "has H A S"];
        G2p::learn(&lines.map(entry), 3).unwrap().0
    }

    /// Every way to cut the word, one after another.
    fn all(
        model: &G2p,
        letters: &[char],
        (said, history, log_p): (Vec<String>, HistoryId, f64),
        found: &mut Vec<(Vec<String>, f64)>,
    ) {
        if letters.is_empty() {
            found.push((said, log_p + f64::from(model.ngram.end(history))));
            return;
        }
        for (id, graphone) in model.by_letter.values().flatten() {
            if let Some(rest) = letters.strip_prefix(&graphone.letters[..]) {
                let said = [said.clone(), graphone.phones.clone()].concat();
                let log_p = log_p + f64::from(model.ngram.score(history, *id));
                all(model, rest, (said, model.ngram.next(history, *id), log_p), found);
            }
        }
    }

    #[test]
    fn without_a_beam_a_pronunciation_is_the_sum_of_all_its_ways() {
        let model = toy();
        for word in ["a", "bab", "shax", "hashab"] {
            let mut ways = vec![];
            let letters: Vec<char> = word.chars().collect();
            all(&model, &letters, (vec![], model.ngram.start(), 0.0), &mut ways);
            let total: f64 = ways.iter().filter(|way| !way.0.is_empty()).map(|way| way.1.exp()).sum();
            let found = model.ways(word, (usize::MAX, f64::INFINITY)).unwrap();
            assert!((found.iter().map(|way| way.probability).sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(found.windows(2).all(|pair| pair[0].probability >= pair[1].probability));
            for Pronounced { phones, probability } in &found {
                let same = ways.iter().filter(|way| way.0 == *phones);
                let expected = same.map(|way| way.1.exp()).sum::<f64>() / total;
                assert!((probability - expected).abs() < 1e-9, "{word} {phones:?} {probability} {expected}");
            }
            let pruned = model.pronounce(word, 1).unwrap();
            assert_eq!(pruned[0].phones, found[0].phones);
        }
        assert_eq!(model.pronounce("shab", 1).unwrap()[0].phones, ["SH", "A", "B"]);
        assert!(model.spell("hashab").unwrap().len() <= 3);
    }

    #[test]
    fn what_cannot_be_said_is_named() {
        let wrong = |word: &str| toy().pronounce(word, 1).unwrap_err().to_string();
        assert!(wrong("abq").contains("'abq'") && wrong("abq").contains("'q'"), "{}", wrong("abq"));
        assert!(wrong("").starts_with("a word without letters"));
        assert!(wrong(&"a".repeat(100_000)).starts_with("'aaaaaaaaaaaaaaaaaaaa...' has 100000 letters, at most 200"));
    }

    #[test]
    fn a_model_is_read_back() {
        let model = toy();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.g2p");
        std::fs::write(&path, model.to_arpa()).unwrap();
        let again = G2p::read(&path).unwrap();
        assert_eq!(again.to_arpa(), model.to_arpa());
        assert_eq!(again.pronounce("shab", 1).unwrap()[0].phones, ["SH", "A", "B"]);
        std::fs::write(&path, model.to_arpa().replace("s|h}SH", "sh")).unwrap();
        let error = G2p::read(&path).unwrap_err().to_string();
        assert!(error.contains("m.g2p: 'sh' is no graphone"), "{error}");
        std::fs::write(&path, &model.to_arpa()[..100]).unwrap();
        assert!(G2p::read(&path).unwrap_err().to_string().contains("m.g2p"));
    }
}
