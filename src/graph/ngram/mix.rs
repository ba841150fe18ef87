//! Several n-grams as one: their probabilities mixed, so that what is rare in one text is known from another.

use std::collections::{BTreeMap, BTreeSet};

use super::{Followers, Ngram, Table, Token, longest_suffix};
use crate::{Error, Result};

/// Least share of probability that a context leaves to what it does not list.
const LEAST_LEFT: f64 = 1e-9;

impl Ngram {
    /// The mixture of `models`, each with its share; shares are above 0 and count in proportion to their sum:
    ///
    /// ```text
    /// P(w | h) = sum_i share_i P_i(w | h)    for every w that a model lists after h or the model's longest suffix of it
    /// ```
    ///
    /// Other words are backed off, with the weight that makes probabilities sum to one, as SRILM's static mixtures are; for them
    /// the mixture is approximate.
    ///
    /// # Errors
    /// [`Error::Other`] for no model, models over different symbols, or a share that is not a number above 0.
    pub fn mixed(models: &[(&Self, f64)]) -> Result<Self> {
        let Some(&(first, _)) = models.first() else { return Err(Error::Other("a mixture needs a model".into())) };
        if models.iter().any(|(model, _)| model.symbols != first.symbols) {
            return Err(Error::Other("n-grams over different symbols cannot be mixed".into()));
        }
        if let Some((_, share)) = models.iter().find(|(_, share)| !(share.is_finite() && *share > 0.0)) {
            return Err(Error::Other(format!("a share of {share} in a mixture: expected a number above 0")));
        }
        let total: f64 = models.iter().map(|(_, share)| share).sum();
        let shares: Vec<(&Self, f64)> = models.iter().map(|&(model, share)| (model, share / total)).collect();
        let order = models.iter().map(|(model, _)| model.order).max().unwrap_or(1);
        Ok(Self::from_table(&first.symbols, order, table(&shares)))
    }

    /// P(`token` | the longest known suffix of `context`).
    fn probability(&self, context: &[Token], token: Token) -> f64 {
        f64::from(self.token_score(longest_suffix(&self.ids, context), token)).exp()
    }

    /// The tokens that are listed right after `context`.
    fn listed_after<'a>(&'a self, context: &[Token]) -> impl Iterator<Item = Token> + use<'a> {
        let history = self.ids.get(context).map(|history| &self.histories[history.index()]);
        history.into_iter().flat_map(|history| history.scores.iter().map(|(token, _)| *token))
    }
}

/// Contexts of all models, shorter ones first, for a back-off weight asks for the probabilities after the shorter context:
///
/// `backoff(h) = (1 - sum P(w | h)) / (1 - sum P(w | h'))`, both over the words listed after h.
fn table(models: &[(&Ngram, f64)]) -> Table {
    let contexts = models.iter().flat_map(|(model, _)| model.histories.iter().map(|history| &history.context));
    let contexts: BTreeSet<(usize, &Vec<Token>)> = contexts.map(|context| (context.len(), context)).collect();
    let mut found = Table::new();
    for (_, context) in contexts {
        let mut mixed: BTreeMap<Token, f64> = BTreeMap::new();
        for token in models.iter().flat_map(|(model, _)| model.listed_after(context)) {
            mixed
                .entry(token)
                .or_insert_with(|| models.iter().map(|(model, share)| share * model.probability(context, token)).sum());
        }
        let backoff = context.get(1..).map_or(0.0, |suffix| {
            let below = mixed.keys().map(|token| below(&found, suffix, *token)).sum::<f64>();
            let left = |sum: f64| (1.0 - sum).max(LEAST_LEFT);
            (left(mixed.values().sum()) / left(below)).ln()
        });
        let scores = mixed.into_iter().map(|(token, p)| (token, p.ln() as f32)).collect();
        found.insert(context.clone(), Followers { scores, backoff: backoff as f32 });
    }
    found
}

/// P(`token` | `context`) by what of the table is there; 0 for a token that it does not know.
fn below(table: &Table, mut context: &[Token], token: Token) -> f64 {
    let mut backoff = 0.0;
    loop {
        if let Some(followers) = table.get(context) {
            if let Some(score) = followers.scores.get(&token) {
                return (backoff + f64::from(*score)).exp();
            }
            backoff += f64::from(followers.backoff);
        }
        match context.get(1..) {
            Some(shorter) => context = shorter,
            None => return 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{HistoryId, NgramOptions};
    use super::*;
    use crate::symbols::{SymbolId, SymbolTable};

    fn model(order: usize, texts: &[&str]) -> Ngram {
        let table: Arc<SymbolTable> = Arc::new(["a", "b", "c"].into_iter().collect());
        let sequence = |text: &&str| text.chars().map(|name| table.get(&name.to_string()).unwrap()).collect();
        let sequences: Vec<Vec<SymbolId>> = texts.iter().map(sequence).collect();
        Ngram::estimate(&NgramOptions { order, ..NgramOptions::default() }, &table, &sequences).unwrap()
    }

    #[test]
    fn what_is_listed_is_mixed_and_all_sums_to_one() {
        let (left, right) = (model(3, &["abcab", "ba", "aab"]), model(2, &["cab", "abb"]));
        let mixed = Ngram::mixed(&[(&left, 3.0), (&right, 1.0)]).unwrap();
        assert_eq!(mixed.order(), 3);
        for index in 0..mixed.histories() as u32 {
            let context = mixed.histories[index as usize].context.clone();
            for &(token, score) in &mixed.histories[index as usize].scores {
                let expected = 0.75 * left.probability(&context, token) + 0.25 * right.probability(&context, token);
                assert!((f64::from(score).exp() - expected).abs() < 1e-6, "{context:?} {token:?}");
            }
            let history = HistoryId(index);
            let symbols = (0..3).map(|symbol| f64::from(mixed.score(history, SymbolId(symbol))).exp()).sum::<f64>();
            let sum = symbols + f64::from(mixed.end(history)).exp();
            assert!((sum - 1.0).abs() < 1e-5, "{context:?}: {sum}");
        }
        assert_eq!(Ngram::mixed(&[(&left, 1.0)]).unwrap().histories(), left.histories());
    }

    #[test]
    fn what_cannot_be_mixed_is_refused() {
        let own = model(2, &["ab"]);
        let refused = |models: &[(&Ngram, f64)]| Ngram::mixed(models).unwrap_err().to_string();
        assert!(refused(&[]).contains("needs a model"));
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(&[(&own, share)]).contains("expected a number above 0"));
        }
        let table: Arc<SymbolTable> = Arc::new(["a"].into_iter().collect());
        let other = Ngram::estimate(&NgramOptions::default(), &table, &[vec![SymbolId(0)]]).unwrap();
        assert!(refused(&[(&own, 1.0), (&other, 1.0)]).contains("different symbols"));
    }
}
