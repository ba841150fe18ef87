//! Which symbol is likely after which: an n-gram over symbols, with the start and the end of a sequence in it.
//!
//! Comes from sequences (transcripts, a lexicon) by [`Ngram::estimate`] or from an ARPA file by [`Ngram::parse_arpa`], two may be
//! mixed ([`Ngram::mixed`]) and a large one made small ([`Ngram::pruned`]); goes into the compiled graph, which asks it for the
//! score of each step. A model has few histories: only the contexts that it says something about. Everything longer is
//! shortened to the longest of them, and that is exact, not an approximation.

mod arpa;
mod estimate;
mod mix;
mod prune;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use estimate::{NgramOptions, Smoothing};

use crate::symbols::{SymbolId, SymbolTable};

/// A context that an [`Ngram`] knows: what the model remembers of the symbols so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryId(u32);

impl HistoryId {
    /// The history without any symbol: always there, always first.
    pub const EMPTY: HistoryId = HistoryId(0);

    /// The number as an index into a slice, below [`Ngram::histories`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a sequence is made of, for the model: its symbols between a start and an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Start,
    Symbol(SymbolId),
    End,
}

/// What the model says after one context. Natural logs.
#[derive(Debug, Clone, PartialEq, Default)]
struct Followers {
    scores: BTreeMap<Token, f32>,
    backoff: f32,
}

/// The contexts of a model and what follows each.
type Table = BTreeMap<Vec<Token>, Followers>;

#[derive(Debug, Clone)]
struct History {
    context: Vec<Token>,
    /// By ascending token.
    scores: Vec<(Token, f32)>,
    backoff: f32,
    /// The longest known context that is a proper suffix of this one; of the empty one, itself.
    shorter: HistoryId,
    /// The known contexts of one token more, by that token, ascending.
    longer: Vec<(Token, HistoryId)>,
}

/// A back-off n-gram over the symbols of a [`SymbolTable`]. Scores are natural logs.
#[derive(Debug, Clone)]
pub struct Ngram {
    symbols: Arc<SymbolTable>,
    order: usize,
    /// By length, then by context.
    histories: Vec<History>,
    ids: BTreeMap<Vec<Token>, HistoryId>,
}

impl Ngram {
    /// Lays the contexts out; `table` has the empty one. What a context begins with becomes a context where it is none: it says
    /// nothing, and backs off for nothing.
    fn from_table(symbols: &Arc<SymbolTable>, order: usize, mut table: Table) -> Self {
        let beginnings =
            |context: &Vec<Token>| (1..context.len()).map(|end| context[..end].to_vec()).collect::<Vec<_>>();
        for beginning in table.keys().flat_map(beginnings).filter(|one| !table.contains_key(one)).collect::<Vec<_>>() {
            table.entry(beginning).or_default();
        }
        let mut contexts: Vec<(Vec<Token>, Followers)> = table.into_iter().collect();
        contexts.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
        let ids: BTreeMap<Vec<Token>, HistoryId> =
            contexts.iter().zip(0..).map(|((context, _), id)| (context.clone(), HistoryId(id))).collect();
        let mut histories: Vec<History> = contexts
            .into_iter()
            .map(|(context, followers)| History {
                shorter: longest_suffix(&ids, context.get(1..).unwrap_or_default()),
                longer: vec![],
                scores: followers.scores.into_iter().collect(),
                backoff: followers.backoff,
                context,
            })
            .collect();
        for (context, &id) in &ids {
            if let Some((&last, beginning)) = context.split_last() {
                histories[ids[beginning].index()].longer.push((last, id));
            }
        }
        Self { symbols: symbols.clone(), order, histories, ids }
    }

    /// The symbols that the model is about.
    pub fn symbols(&self) -> &Arc<SymbolTable> {
        &self.symbols
    }

    /// Symbols that a probability depends on at most, its own one included.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Number of histories; [`HistoryId::index`] counts through them.
    pub fn histories(&self) -> usize {
        self.histories.len()
    }

    /// The history of a sequence that has not begun.
    pub fn start(&self) -> HistoryId {
        longest_suffix(&self.ids, &[Token::Start])
    }

    /// Whether the model gives `symbol` a probability; one that it does not know (a pause, as a rule) is scored minus infinity.
    pub fn knows(&self, symbol: SymbolId) -> bool {
        self.listed(HistoryId::EMPTY, Token::Symbol(symbol)).is_some()
    }

    /// log P(`symbol` | `history`), natural; minus infinity when the model does not know the symbol.
    pub fn score(&self, history: HistoryId, symbol: SymbolId) -> f32 {
        self.token_score(history, Token::Symbol(symbol))
    }

    /// log P(end of the sequence | `history`), natural.
    pub fn end(&self, history: HistoryId) -> f32 {
        self.token_score(history, Token::End)
    }

    /// The history after `symbol` was said after `history`: the longest known one. [`HistoryId::EMPTY`] after a symbol that
    /// starts no history.
    ///
    /// ```text
    /// next(h, w) = h w if that is known, else next(shorter(h), w)
    /// ```
    pub fn next(&self, mut history: HistoryId, symbol: SymbolId) -> HistoryId {
        loop {
            let History { longer, shorter, .. } = &self.histories[history.index()];
            match longer.binary_search_by_key(&Token::Symbol(symbol), |(token, _)| *token) {
                Ok(found) => return longer[found].1,
                Err(_) if history == HistoryId::EMPTY => return history,
                Err(_) => history = *shorter,
            }
        }
    }

    /// log P(`sequence`), natural, its end included: the sum of its steps.
    pub fn log_probability(&self, sequence: &[SymbolId]) -> f64 {
        let (total, last) = sequence.iter().fold((0.0, self.start()), |(total, history), &symbol| {
            (total + f64::from(self.score(history, symbol)), self.next(history, symbol))
        });
        total + f64::from(self.end(last))
    }

    /// Perplexity of `sequences`: the inverse of the geometric mean of the probability of their symbols and ends. 1 or more;
    /// infinite when a symbol is unknown, NaN without sequences.
    pub fn perplexity(&self, sequences: &[Vec<SymbolId>]) -> f64 {
        let steps: usize = sequences.iter().map(|sequence| sequence.len() + 1).sum();
        let total: f64 = sequences.iter().map(|sequence| self.log_probability(sequence)).sum();
        (-total / steps as f64).exp()
    }

    /// score(h, w) = listed(h, w) if there is such an entry, else backoff(h) + score(shorter(h), w).
    fn token_score(&self, mut history: HistoryId, token: Token) -> f32 {
        let mut backoff = 0.0;
        loop {
            if let Some(score) = self.listed(history, token) {
                return backoff + score;
            }
            if history == HistoryId::EMPTY {
                return f32::NEG_INFINITY;
            }
            backoff += self.histories[history.index()].backoff;
            history = self.histories[history.index()].shorter;
        }
    }

    /// The score that the model lists for `token` right after `history`, without backing off.
    fn listed(&self, history: HistoryId, token: Token) -> Option<f32> {
        let scores = &self.histories[history.index()].scores;
        scores.binary_search_by_key(&token, |(token, _)| *token).ok().map(|found| scores[found].1)
    }
}

/// The longest suffix of `context`, itself included, that is known.
fn longest_suffix(ids: &BTreeMap<Vec<Token>, HistoryId>, context: &[Token]) -> HistoryId {
    let known = (0..context.len()).find_map(|first| ids.get(&context[first..]));
    known.copied().unwrap_or(HistoryId::EMPTY)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::random::Random;

    fn table() -> Arc<SymbolTable> {
        Arc::new(["SIL", "a", "b", "c"].into_iter().collect())
    }

    fn sequence(text: &str) -> Vec<SymbolId> {
        text.chars().map(|name| table().get(&name.to_string()).unwrap()).collect()
    }

    fn options(order: usize, min_history_count: u64) -> NgramOptions {
        NgramOptions { order, min_history_count, ..NgramOptions::default() }
    }

    fn estimate(order: usize, min_history_count: u64, texts: &[&str]) -> Ngram {
        let sequences: Vec<_> = texts.iter().map(|text| sequence(text)).collect();
        Ngram::estimate(&options(order, min_history_count), &table(), &sequences).unwrap()
    }

    /// Sequences of a, b, c with a preference for repetition, so that contexts matter.
    fn random_sequences(count: usize) -> Vec<Vec<SymbolId>> {
        let mut random = Random::new(11);
        let mut draw = |last: u32| if random.below(2) == 0 { last } else { 1 + random.below(3) as u32 };
        (0..count)
            .map(|_| {
                let mut last = 1;
                let length = draw(5);
                let mut step = |_| {
                    last = draw(last);
                    SymbolId(last)
                };
                (0..length).map(&mut step).collect()
            })
            .collect()
    }

    /// The largest distance from 1 of the sum over all symbols and the end, over all histories.
    fn worst_sum(model: &Ngram) -> f64 {
        let sums = (0..model.histories() as u32).map(|history| {
            let history = HistoryId(history);
            let symbols = table().ids().map(|symbol| f64::from(model.score(history, symbol)).exp()).sum::<f64>();
            (symbols + f64::from(model.end(history)).exp() - 1.0).abs()
        });
        sums.fold(0.0, f64::max)
    }

    fn close(found: f32, expected: f64) {
        assert!((f64::from(found).exp() - expected).abs() < 1e-6, "{} is not {expected}", found.exp());
    }

    /// By hand, for "ab" and "b": after nothing, a has 1, b 2, the end 2 of 5 and 3 types, so P(a) = (1 + 3/3) / 8 and
    /// P(b) = P(end) = 3/8. After the start: a 1, b 1, 2 types, so P(a) = (1 + 2 * 2/8) / 4 and backoff 2/4. After a: b 1, 1 type.
    #[test]
    fn a_small_model_is_right_by_hand() {
        let model = estimate(2, 1, &["ab", "b"]);
        let (a, b, c) = (SymbolId(1), SymbolId(2), SymbolId(3));
        close(model.score(HistoryId::EMPTY, a), 2.0 / 8.0);
        close(model.score(HistoryId::EMPTY, b), 3.0 / 8.0);
        close(model.end(HistoryId::EMPTY), 3.0 / 8.0);
        close(model.score(model.start(), a), 1.5 / 4.0);
        close(model.score(model.start(), b), 1.75 / 4.0);
        close(model.end(model.start()), 0.5 * 3.0 / 8.0);
        let after_a = model.next(model.start(), a);
        close(model.score(after_a, b), (1.0 + 3.0 / 8.0) / 2.0);
        close(model.score(after_a, a), 0.5 * 2.0 / 8.0);
        assert_eq!(model.histories(), 4);
        assert!(!model.knows(c) && model.score(after_a, c) == f32::NEG_INFINITY);
        assert_eq!(model.next(after_a, c), HistoryId::EMPTY);
    }

    #[test]
    fn probabilities_sum_to_one_for_every_history() {
        for smoothing in [Smoothing::WittenBell, Smoothing::KneserNey] {
            for order in 1..=5 {
                for min_history_count in [0, 1, 3, 10, 1000] {
                    let options = NgramOptions { order, smoothing, min_history_count };
                    let model = Ngram::estimate(&options, &table(), &random_sequences(100)).unwrap();
                    assert!(worst_sum(&model) < 1e-5, "{options:?}: {}", worst_sum(&model));
                    assert!(!model.knows(SymbolId(0)) && model.knows(SymbolId(3)));
                    let again = Ngram::parse_arpa(Path::new("m.arpa"), &model.to_arpa(), &table()).unwrap();
                    assert!(worst_sum(&again) < 1e-4, "{options:?}: {}", worst_sum(&again));
                    assert_eq!(again.to_arpa(), model.to_arpa());
                    assert_eq!((again.order(), again.histories()), (order, model.histories()));
                }
            }
        }
    }

    /// Also of a file that lists `a b c` and not `a b`.
    #[test]
    fn the_next_history_is_the_longest_known_suffix() {
        let mut open = estimate::count(4, &random_sequences(100));
        open.retain(|context, _| context.len() != 2);
        let followers = |next: BTreeMap<Token, u64>| Followers {
            scores: next.into_keys().map(|token| (token, -1.0)).collect(),
            backoff: -0.5,
        };
        let table: Table = open.into_iter().map(|(context, next)| (context, followers(next))).collect();
        let whole = estimate(4, 2, &["abc", "abab", "cab"]);
        for model in [Ngram::from_table(&super::tests::table(), 4, table.clone()), whole] {
            for (history, symbol) in (0..model.histories() as u32).flat_map(|h| [1, 2, 3].map(|s| (HistoryId(h), s))) {
                let token = Token::Symbol(SymbolId(symbol));
                let context = [model.histories[history.index()].context.as_slice(), &[token]].concat();
                assert_eq!(model.next(history, SymbolId(symbol)), longest_suffix(&model.ids, &context));
            }
        }
        let model = Ngram::from_table(&super::tests::table(), 4, table.clone());
        let added = model.histories.iter().filter(|history| !table.contains_key(&history.context)).count();
        assert!(added > 0 && model.histories() == table.len() + added);
    }

    #[test]
    fn a_history_seen_too_rarely_is_left_out() {
        let all = Ngram::estimate(&options(4, 1), &table(), &random_sequences(100));
        let few = Ngram::estimate(&options(4, 20), &table(), &random_sequences(100));
        let (all, few) = (all.unwrap(), few.unwrap());
        assert!(few.histories() < all.histories() && few.histories() > 4);
        let none = estimate(3, 100, &["ab", "b"]);
        assert_eq!((none.histories(), none.start()), (1, HistoryId::EMPTY));
    }

    #[test]
    fn a_score_is_that_of_the_whole_past() {
        let sequences = random_sequences(60);
        let model = Ngram::estimate(&options(3, 4), &table(), &sequences).unwrap();
        let counts = estimate::count(3, &sequences);
        let kept = |context: &[Token]| counts.get(context).is_some_and(|next| next.values().sum::<u64>() >= 4);
        // The formula, by recursion over the raw counts.
        fn probability(counts: &BTreeMap<Vec<Token>, BTreeMap<Token, u64>>, context: &[Token], token: Token) -> f64 {
            let next = &counts[context];
            let (types, total) = (next.len() as f64, next.values().sum::<u64>() as f64);
            let below = if context.is_empty() { 1.0 / types } else { probability(counts, &context[1..], token) };
            (next.get(&token).copied().unwrap_or(0) as f64 + types * below) / (total + types)
        }
        for sequence in &sequences {
            let mut past = vec![Token::Start];
            let mut history = model.start();
            for &symbol in sequence {
                let context =
                    (past.len().saturating_sub(2)..=past.len()).map(|first| &past[first..]).find(|c| kept(c)).unwrap();
                close(model.score(history, symbol), probability(&counts, context, Token::Symbol(symbol)));
                close(model.end(history), probability(&counts, context, Token::End));
                past.push(Token::Symbol(symbol));
                history = model.next(history, symbol);
            }
        }
    }

    /// Kneser-Ney by recursion over n-grams that are looked for in the sequences themselves.
    #[test]
    fn kneser_ney_is_its_formula() {
        let (sequences, order) = (random_sequences(60), 3);
        let options = NgramOptions { order, smoothing: Smoothing::KneserNey, min_history_count: 1 };
        let model = Ngram::estimate(&options, &table(), &sequences).unwrap();
        let told: Vec<Vec<Token>> = sequences
            .iter()
            .map(|sequence| {
                let symbols = sequence.iter().copied().map(Token::Symbol);
                [Token::Start].into_iter().chain(symbols).chain([Token::End]).collect()
            })
            .collect();
        let grams = |length: usize| told.iter().flat_map(move |tokens| tokens.windows(length));
        // How often `gram` was seen; below the longest, after how many different tokens, unless it starts the sequence.
        let count = |gram: &[Token]| match gram.len() == order || gram[0] == Token::Start {
            true => grams(gram.len()).filter(|found| *found == gram).count(),
            false => {
                let longer = grams(gram.len() + 1).filter(|found| found[1..] == *gram);
                longer.map(|found| found[0]).collect::<std::collections::BTreeSet<_>>().len()
            }
        } as f64;
        let all = |length: usize| grams(length).map(<[Token]>::to_vec).collect::<std::collections::BTreeSet<_>>();
        let seen: Vec<Vec<Vec<Token>>> = (0..=order).map(|length| all(length.max(1)).into_iter().collect()).collect();
        let discounts: Vec<[f64; 3]> = (1..=order)
            .map(|length| {
                let predicted = seen[length].iter().filter(|gram| gram[length - 1] != Token::Start);
                let counts: Vec<f64> = predicted.map(|gram| count(gram)).collect();
                let n = |i: usize| counts.iter().filter(|&&count| count == i as f64).count() as f64;
                let y = n(1) / (n(1) + 2.0 * n(2));
                [1, 2, 3].map(|i| {
                    let d = i as f64 - (i as f64 + 1.0) * y * n(i + 1) / n(i);
                    if d.is_finite() { d.clamp(0.0, i as f64) } else { i as f64 / 2.0 }
                })
            })
            .collect();
        struct World<'a> {
            count: &'a dyn Fn(&[Token]) -> f64,
            seen: &'a [Vec<Vec<Token>>],
            discounts: &'a [[f64; 3]],
        }
        fn probability(world: &World<'_>, context: &[Token], token: Token) -> f64 {
            let length = context.len() + 1;
            let after = |gram: &&Vec<Token>| gram[..length - 1] == *context && gram[length - 1] != Token::Start;
            let next: Vec<f64> = world.seen[length].iter().filter(after).map(|gram| (world.count)(gram)).collect();
            let discount = |count: f64| world.discounts[length - 1][count.clamp(1.0, 3.0) as usize - 1];
            let total: f64 = next.iter().sum();
            let below = match context {
                [] => 1.0 / next.len() as f64,
                _ => probability(world, &context[1..], token),
            };
            let own = (world.count)(&[context, &[token]].concat());
            let kept = if own > 0.0 { own - discount(own) } else { 0.0 };
            (kept + next.iter().map(|&count| discount(count)).sum::<f64>() * below) / total
        }
        let world = World { count: &count, seen: &seen, discounts: &discounts };
        for sequence in &sequences {
            let (mut past, mut history) = (vec![Token::Start], model.start());
            for &symbol in sequence {
                let context = &past[past.len().saturating_sub(order - 1)..];
                close(model.score(history, symbol), probability(&world, context, Token::Symbol(symbol)));
                close(model.end(history), probability(&world, context, Token::End));
                past.push(Token::Symbol(symbol));
                history = model.next(history, symbol);
            }
        }
    }

    #[test]
    fn a_sequence_scores_the_sum_of_its_steps() {
        let model = estimate(3, 1, &["ab", "b", "abc"]);
        let after_a = model.next(model.start(), SymbolId(1));
        let after_ab = model.next(after_a, SymbolId(2));
        let steps = [model.score(model.start(), SymbolId(1)), model.score(after_a, SymbolId(2)), model.end(after_ab)];
        let sum: f64 = steps.iter().map(|&step| f64::from(step)).sum();
        assert!((model.log_probability(&sequence("ab")) - sum).abs() < 1e-12);
        assert!((model.perplexity(&[sequence("ab")]) - (-sum / 3.0).exp()).abs() < 1e-12);
        assert!(sum < 0.0 && sum > -3.0);
    }

    /// The order in which sequences are read does not matter.
    #[test]
    fn the_same_counts_give_the_same_bytes() {
        let forwards = estimate(3, 1, &["ab", "cc", "abc"]).to_arpa();
        assert_eq!(forwards, estimate(3, 1, &["abc", "ab", "cc"]).to_arpa());
    }

    #[test]
    fn nothing_to_estimate_from_is_an_error() {
        for order in [0, 17, usize::MAX] {
            let options = options(order, 1);
            let error = Ngram::estimate(&options, &table(), &[vec![]]).unwrap_err().to_string();
            assert!(error.contains(&format!("order = {order}")), "{error}");
        }
        assert!(Ngram::estimate(&NgramOptions::default(), &table(), &[]).is_err());
        let only_empty = Ngram::estimate(&NgramOptions::default(), &table(), &[vec![]]).unwrap();
        assert!(only_empty.log_probability(&[]).abs() < 1e-6);
    }
}
