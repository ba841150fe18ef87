//! A large n-gram made small: the histories that change least are left out. In the compiled graph a history costs a state for
//! each symbol before it, so histories are what counts.

use std::collections::BTreeMap;

use super::{Followers, History, HistoryId, Ngram, Table, Token};

impl Ngram {
    /// The model with at most `histories` of its histories (the empty one is always kept): those whose loss would change the
    /// model most, measured by the relative entropy, as in Stolcke 1998, of what follows with and without them:
    ///
    /// ```text
    /// gain(h) = P(h) sum_w P(w | h) log(P(w | h) / P(w | h'))
    /// ```
    ///
    /// A history counts as much as the most important of those that it is a suffix or a prefix of, so that each is kept with
    /// all that an ARPA file needs to hold it. What is left out is scored by the longest history that is kept, so that
    /// probabilities still sum to one.
    pub fn pruned(&self, histories: usize) -> Self {
        let mut ranked: Vec<(f64, HistoryId)> =
            self.importance().into_iter().zip((0..).map(HistoryId)).skip(1).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let kept = ranked.iter().take(histories.saturating_sub(1)).map(|(_, history)| *history);
        let table: Table = kept.chain([HistoryId::EMPTY]).map(|history| self.entry(history)).collect();
        Self::from_table(&self.symbols, self.order, table)
    }

    /// A history as the table has it.
    fn entry(&self, history: HistoryId) -> (Vec<Token>, Followers) {
        let history = &self.histories[history.index()];
        let scores: BTreeMap<Token, f32> = history.scores.iter().copied().collect();
        (history.context.clone(), Followers { scores, backoff: history.backoff })
    }

    /// What each history is worth: its own gain, or that of one which needs it, if that is more. Longer ones come later.
    fn importance(&self) -> Vec<f64> {
        let mut worth: Vec<f64> = (0..self.histories() as u32).map(|history| self.gain(HistoryId(history))).collect();
        for index in (1..worth.len()).rev() {
            let history = &self.histories[index];
            let prefix = history.context.split_last().and_then(|(_, prefix)| self.ids.get(prefix).copied());
            for needed in prefix.into_iter().chain([history.shorter]) {
                worth[needed.index()] = worth[needed.index()].max(worth[index]);
            }
        }
        worth
    }

    /// P(h) sum_w P(w | h) log(P(w | h) / P(w | h')): listed words one by one, the others, which are P(w | h') times the back-off
    /// weight, together.
    fn gain(&self, history: HistoryId) -> f64 {
        let History { scores, backoff, shorter, .. } = &self.histories[history.index()];
        let (mut gain, mut listed_below) = (0.0, 0.0);
        for &(token, score) in scores {
            let (score, below) = (f64::from(score), f64::from(self.token_score(*shorter, token)));
            gain += score.exp() * (score - below);
            listed_below += below.exp();
        }
        let backoff = f64::from(*backoff);
        gain += backoff.exp() * (1.0 - listed_below).max(0.0) * backoff;
        self.mass(history) * gain
    }

    /// About how often a place of a sequence is this history: the probability of its tokens. Sequences start as often as they
    /// end.
    fn mass(&self, history: HistoryId) -> f64 {
        let mut past = HistoryId::EMPTY;
        let mut total = 0.0;
        for &token in &self.histories[history.index()].context {
            let (asked, symbol) = match token {
                Token::Start => (Token::End, None),
                Token::Symbol(symbol) => (token, Some(symbol)),
                Token::End => (token, None),
            };
            total += f64::from(self.token_score(past, asked));
            past = symbol.map_or_else(|| self.start(), |symbol| self.next(past, symbol));
        }
        total.exp()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::super::NgramOptions;
    use super::*;
    use crate::random::Random;
    use crate::symbols::{SymbolId, SymbolTable};

    /// A model and the sequences that it was estimated from.
    fn model() -> (Ngram, Vec<Vec<SymbolId>>) {
        let table: Arc<SymbolTable> = Arc::new(["a", "b", "c"].into_iter().collect());
        let mut random = Random::new(5);
        let mut last = 0;
        let mut draw = |_| {
            last = if random.below(3) == 0 { random.below(3) as u32 } else { (last + 1) % 3 };
            SymbolId(last)
        };
        let sequences: Vec<Vec<SymbolId>> = (0..80).map(|_| (0..6).map(&mut draw).collect()).collect();
        let options = NgramOptions { order: 4, ..NgramOptions::default() };
        (Ngram::estimate(&options, &table, &sequences).unwrap(), sequences)
    }

    /// All that may follow a history.
    const TOKENS: [Token; 4] =
        [Token::Symbol(SymbolId(0)), Token::Symbol(SymbolId(1)), Token::Symbol(SymbolId(2)), Token::End];

    #[test]
    fn the_gain_is_the_relative_entropy_of_what_follows() {
        let (model, _) = model();
        for index in 1..model.histories() as u32 {
            let history = HistoryId(index);
            let shorter = model.histories[history.index()].shorter;
            let term = |token: Token| {
                let [p, q] = [history, shorter].map(|history| f64::from(model.token_score(history, token)));
                p.exp() * (p - q)
            };
            let expected = model.mass(history) * TOKENS.map(term).iter().sum::<f64>();
            assert!((model.gain(history) - expected).abs() < 1e-6, "{index}");
            assert!(expected > -1e-7);
        }
    }

    #[test]
    fn a_small_model_is_whole_and_predicts_nearly_as_well() {
        let (model, text) = model();
        let all = model.histories();
        let mut before = model.perplexity(&text);
        for keep in [all, all / 2, all / 8, 1] {
            let small = model.pruned(keep);
            assert_eq!(small.histories(), keep);
            let again = Ngram::parse_arpa(Path::new("m.arpa"), &small.to_arpa(), model.symbols()).unwrap();
            assert_eq!((again.to_arpa(), again.histories()), (small.to_arpa(), keep));
            for index in 0..keep as u32 {
                let total: f64 =
                    TOKENS.map(|token| f64::from(small.token_score(HistoryId(index), token)).exp()).iter().sum();
                assert!((total - 1.0).abs() < 1e-5, "{total}");
            }
            let found = small.perplexity(&text);
            assert!(found >= before, "{found} after {before}");
            before = found;
        }
        assert!(model.pruned(all).to_arpa() == model.to_arpa());
    }
}
