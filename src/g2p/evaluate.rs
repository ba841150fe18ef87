//! How good a model is on words that it has not learnt from.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{Entry, G2p};
use crate::metrics::{BootstrapOptions, EditCounts, Interval, align_slots, rate_interval};
use crate::parallel::in_order;
use crate::random::Random;
use crate::{Error, Result};

/// Errors on held-out words: each word once, beside the nearest of its pronunciations.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Words held out.
    pub words: usize,
    /// Of phones, all words together.
    pub phones: EditCounts,
    /// 95 % interval of the phone error rate, by word.
    pub phone_interval: Option<Interval>,
    /// Words of which the best pronunciation is none of their own.
    pub wrong: EditCounts,
    /// 95 % interval of the word error rate, by word.
    pub word_interval: Option<Interval>,
}

/// `entries` in two parts: those to learn from, and those of about this `share` of the words, drawn with `seed`.
pub fn split(entries: Vec<Entry>, (share, seed): (f32, u64)) -> (Vec<Entry>, Vec<Entry>) {
    let mut random = Random::new(seed);
    let mut drawn: BTreeMap<String, bool> = BTreeMap::new();
    for Entry { word, .. } in &entries {
        if !drawn.contains_key(word) {
            drawn.insert(word.clone(), random.uniform() < share);
        }
    }
    entries.into_iter().partition(|entry| !drawn[&entry.word])
}

/// What `model` makes of the words of `held_out`. A word that it cannot say counts as said with no phone.
///
/// # Errors
/// [`Error::Other`] when no word is held out.
pub fn evaluate(model: &G2p, held_out: &[Entry]) -> Result<Evaluation> {
    let mut words: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    for Entry { word, phones } in held_out {
        words.entry(word).or_default().push(phones.clone());
    }
    if words.is_empty() {
        return Err(Error::Other("no word was held out: hold out a larger share".into()));
    }
    let words: Vec<(&str, Vec<Vec<String>>)> = words.into_iter().collect();
    let judged = in_order(words.par_iter().map(|(word, said)| {
        let best = model.pronounce(word, 1).map_or(vec![], |best| best[0].phones.clone());
        let counts = align_slots(std::slice::from_ref(said), &best).counts;
        Ok((
            counts,
            EditCounts { substitutions: usize::from(counts.errors() > 0), reference: 1, ..EditCounts::default() },
        ))
    }))?;
    let (phones, wrong): (Vec<EditCounts>, Vec<EditCounts>) = judged.into_iter().unzip();
    let options = BootstrapOptions { resamples: 1000, ..BootstrapOptions::default() };
    let sum = |counts: &[EditCounts]| {
        let mut total = EditCounts::default();
        counts.iter().for_each(|&one| total += one);
        total
    };
    Ok(Evaluation {
        words: words.len(),
        phones: sum(&phones),
        phone_interval: rate_interval(&phones, &options),
        wrong: sum(&wrong),
        word_interval: rate_interval(&wrong, &options),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_held_out_whole_and_judged_by_their_nearest_pronunciation() {
        let entry = |word: &str, phones: &str| Entry {
            word: word.into(),
            phones: phones.split(' ').map(str::to_owned).collect(),
        };
        let entries: Vec<Entry> =
            (0..400).flat_map(|n| [entry(&format!("w{n}"), "A B"), entry(&format!("w{n}"), "B A")]).collect();
        let (learn, held_out) = split(entries.clone(), (0.25, 1));
        assert_eq!(learn.len() + held_out.len(), 800);
        assert!((50..150).contains(&(held_out.len() / 2)), "{}", held_out.len());
        assert!(held_out.chunks(2).all(|pair| pair[0].word == pair[1].word));
        assert_eq!(split(entries, (0.25, 1)).1, held_out);

        let learnt = [entry("ab", "A B"), entry("ba", "B A"), entry("bb", "B B"), entry("aa", "A A")];
        let (model, _) = G2p::learn(&learnt, 2).unwrap();
        // Right by its second pronunciation; one phone of three wrong; not to be said at all.
        let test = [entry("aba", "A"), entry("aba", "A B A"), entry("bab", "B A A"), entry("q", "A B")];
        let found = evaluate(&model, &test).unwrap();
        assert_eq!((found.words, found.phones.errors(), found.phones.reference), (3, 1 + 2, 3 + 3 + 2));
        assert_eq!((found.wrong.errors(), found.wrong.reference), (2, 3));
        assert!(evaluate(&model, &[]).is_err());
    }
}
