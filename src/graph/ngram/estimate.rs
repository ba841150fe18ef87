//! Sequences to an n-gram: counts, then what the chosen smoothing takes from the seen for the unseen.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Followers, Ngram, Table, Token};
use crate::error::require;
use crate::symbols::{SymbolId, SymbolTable};
use crate::{Error, Result};

/// Longer contexts are hardly ever seen again, and take memory for each place of each sequence.
const MOST_ORDER: usize = 16;

/// Where the probability of what was never seen comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smoothing {
    /// Interpolated Witten-Bell (Witten & Bell 1991): sound on few symbols and small counts.
    #[default]
    WittenBell,
    /// Interpolated modified Kneser-Ney (Chen & Goodman 1998), for larger text: shorter contexts count in how many different
    /// contexts something was seen, not how often.
    KneserNey,
}

/// How an n-gram is estimated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NgramOptions {
    /// Symbols that a probability depends on, its own one included: 2 for a bigram. 1 to 16.
    pub order: usize,
    /// How seen and unseen share.
    pub smoothing: Smoothing,
    /// A history seen fewer times than this is left out, and what follows it is scored by the shorter one. 0 and 1 keep all.
    pub min_history_count: u64,
}

impl Default for NgramOptions {
    fn default() -> Self {
        Self { order: 2, smoothing: Smoothing::default(), min_history_count: 1 }
    }
}

impl NgramOptions {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`Error::Setting`] when the order is out of range.
    pub fn check(&self) -> Result<()> {
        require((1..=MOST_ORDER).contains(&self.order), "order", self.order, "an n-gram order from 1 to 16")
    }
}

impl Ngram {
    /// Estimates a model from `sequences`. A symbol of `symbols` that no sequence has stays unknown to the model.
    ///
    /// # Errors
    /// [`Error::Setting`] when the options are out of range, [`Error::Other`] when there is no sequence.
    pub fn estimate(options: &NgramOptions, symbols: &Arc<SymbolTable>, sequences: &[Vec<SymbolId>]) -> Result<Self> {
        options.check()?;
        if sequences.is_empty() {
            return Err(Error::Other("an n-gram needs at least one sequence to be estimated from".into()));
        }
        let mut counts = count(options.order, sequences);
        let rare = |next: &Next| next.values().sum::<u64>() < options.min_history_count;
        let rare: Vec<_> = counts.iter().filter(|(context, next)| !context.is_empty() && rare(next)).collect();
        let rare: Vec<Vec<Token>> = rare.into_iter().map(|(context, _)| context.clone()).collect();
        let discounts = match options.smoothing {
            Smoothing::WittenBell => vec![Discount::Types; options.order],
            Smoothing::KneserNey => {
                counts = continuations(counts, options.order);
                (0..options.order).map(|length| Discount::kneser_ney(&counts, length)).collect()
            }
        };
        rare.iter().for_each(|context| drop(counts.remove(context)));
        Ok(Self::from_table(symbols, options.order, interpolated(counts, &discounts)))
    }
}

/// How often each token follows one context.
pub(super) type Next = BTreeMap<Token, u64>;

/// The same of every context.
pub(super) type Counts = BTreeMap<Vec<Token>, Next>;

/// How often each token follows each context of fewer than `order` tokens.
pub(super) fn count(order: usize, sequences: &[Vec<SymbolId>]) -> Counts {
    let mut counts = Counts::new();
    for sequence in sequences {
        let mut tokens = vec![Token::Start];
        tokens.extend(sequence.iter().copied().map(Token::Symbol));
        tokens.push(Token::End);
        for end in 1..tokens.len() {
            for first in (end + 1).saturating_sub(order)..=end {
                let context = &tokens[first..end];
                if !counts.contains_key(context) {
                    counts.insert(context.to_vec(), Next::new());
                }
                let followers = counts.get_mut(context).expect("the context was just put there");
                *followers.entry(tokens[end]).or_default() += 1;
            }
        }
    }
    counts
}

/// Of contexts below the longest, before how many different tokens each was seen: `N(h, w) = #{v: c(v h, w) > 0}`. Where a context
/// begins with the start of the sequence nothing comes before it, and how often it was seen is what counts.
fn continuations(counts: Counts, order: usize) -> Counts {
    let mut found = Counts::new();
    for (context, next) in &counts {
        if let Some(suffix) = context.get(1..) {
            let followers = found.entry(suffix.to_vec()).or_default();
            next.keys().for_each(|token| *followers.entry(*token).or_default() += 1);
        }
    }
    let as_seen = |context: &[Token]| context.len() + 1 == order || context.first() == Some(&Token::Start);
    found.extend(counts.into_iter().filter(|(context, _)| as_seen(context)));
    found
}

/// What is taken from the tokens seen after a context.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Discount {
    /// Nothing; the unseen get as much as there are different tokens.
    Types,
    /// So much of a token seen once, twice, and more often.
    Absolute([f64; 3]),
}

impl Discount {
    /// By the numbers n_i of n-grams seen i times, with contexts of `length` tokens:
    /// `D_i = i - (i + 1) Y n_{i+1} / n_i`, where `Y = n_1 / (n_1 + 2 n_2)`; `i / 2` where none was seen so often.
    fn kneser_ney(counts: &Counts, length: usize) -> Self {
        let mut seen = [0.0; 5];
        for next in counts.iter().filter(|(context, _)| context.len() == length).map(|(_, next)| next) {
            next.values().filter(|&&count| count < 5).for_each(|&count| seen[count as usize] += 1.0);
        }
        let y = seen[1] / (seen[1] + 2.0 * seen[2]);
        let discount = |i: usize| {
            let d = i as f64 - (i + 1) as f64 * y * seen[i + 1] / seen[i];
            if d.is_finite() { d.clamp(0.0, i as f64) } else { i as f64 / 2.0 }
        };
        Self::Absolute([discount(1), discount(2), discount(3)])
    }

    /// What is taken from a token seen `count` times, at least once.
    fn of(self, count: u64) -> f64 {
        match self {
            Self::Types => 0.0,
            Self::Absolute(discounts) => discounts[count.clamp(1, 3) as usize - 1],
        }
    }

    /// What the unseen get.
    fn reserved(self, next: &Next) -> f64 {
        match self {
            Self::Types => next.len() as f64,
            Self::Absolute(_) => next.values().map(|&count| self.of(count)).sum(),
        }
    }
}

/// P(w | h) = (c(h, w) - D(c(h, w)) + R(h) P(w | h')) / (sum_w (c(h, w) - D(c(h, w))) + R(h)), where h' is h without its first
/// token, D is what is taken from the seen and R(h) what the unseen get; below the empty h all tokens seen are equally likely. So
/// backoff(h) is R(h) over the same sum. A suffix of a kept context is at least as frequent, hence kept, and lists every token that
/// the longer one lists.
fn interpolated(counts: Counts, discounts: &[Discount]) -> Table {
    let mut contexts: Vec<_> = counts.into_iter().collect();
    contexts.sort_by_key(|(context, _)| context.len());
    let mut probabilities: BTreeMap<Vec<Token>, BTreeMap<Token, f64>> = BTreeMap::new();
    let mut table = Table::new();
    for (context, next) in contexts {
        let discount = discounts[context.len()];
        let kept = |count: u64| count as f64 - discount.of(count);
        let reserved = discount.reserved(&next);
        let total = next.values().map(|&count| kept(count)).sum::<f64>() + reserved;
        let shorter = context.get(1..).map(|suffix| &probabilities[suffix]);
        let smoothed: BTreeMap<Token, f64> = next
            .iter()
            .map(|(token, &count)| {
                let below = shorter.map_or(1.0 / next.len() as f64, |probability| probability[token]);
                (*token, (kept(count) + reserved * below) / total)
            })
            .collect();
        let scores = smoothed.iter().map(|(token, p)| (*token, p.ln() as f32)).collect();
        table.insert(context.clone(), Followers { scores, backoff: (reserved / total).ln() as f32 });
        probabilities.insert(context, smoothed);
    }
    table
}
