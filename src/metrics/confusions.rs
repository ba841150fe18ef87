//! Which labels are mistaken for which: what an error rate is made of.
//!
//! In come aligned pairs, utterance by utterance; out go the most frequent substitutions, deletions and insertions, and the
//! edit counts of each label.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::edit::{AlignedPair, EditCounts};

/// How often each pair of reference and hypothesis label stood opposite each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusions<T> {
    counts: BTreeMap<AlignedPair<T>, usize>,
}

/// A kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// One label in place of another.
    Substitution,
    /// A reference label without a counterpart.
    Deletion,
    /// A hypothesis label without a counterpart.
    Insertion,
}

impl<T> Default for Confusions<T> {
    fn default() -> Self {
        Self { counts: BTreeMap::new() }
    }
}

impl<T: Clone + Ord> Confusions<T> {
    /// Counts the pairs of one more alignment in.
    pub fn add(&mut self, pairs: &[AlignedPair<T>]) {
        for pair in pairs {
            *self.counts.entry(pair.clone()).or_default() += 1;
        }
    }

    /// The `most` most frequent errors of `kind` with their counts, in falling order; equally frequent ones in label order.
    pub fn top(&self, kind: EditKind, most: usize) -> Vec<(AlignedPair<T>, usize)> {
        let of_kind = self.counts.iter().filter(|(pair, _)| kind_of(pair) == Some(kind));
        let mut found: Vec<_> = of_kind.map(|(pair, &count)| (pair.clone(), count)).collect();
        found.sort_by_key(|&(_, count)| Reverse(count));
        found.truncate(most);
        found
    }

    /// The edit counts of every label: as it stands in the reference, and its insertions.
    pub fn by_label(&self) -> BTreeMap<T, EditCounts> {
        let mut labels: BTreeMap<T, EditCounts> = BTreeMap::new();
        for (pair, &count) in &self.counts {
            let Some(label) = pair.0.as_ref().or(pair.1.as_ref()) else { continue };
            let counts = labels.entry(label.clone()).or_default();
            counts.reference += if pair.0.is_some() { count } else { 0 };
            match kind_of(pair) {
                Some(EditKind::Substitution) => counts.substitutions += count,
                Some(EditKind::Deletion) => counts.deletions += count,
                Some(EditKind::Insertion) => counts.insertions += count,
                None => {}
            }
        }
        labels
    }

    /// The same counts under other names; labels that get the same name are counted together.
    pub fn renamed<U: Ord>(&self, name: impl Fn(&T) -> U) -> Confusions<U> {
        let mut counts = BTreeMap::new();
        for ((reference, hypothesis), &count) in &self.counts {
            let pair = (reference.as_ref().map(&name), hypothesis.as_ref().map(&name));
            *counts.entry(pair).or_default() += count;
        }
        Confusions { counts }
    }
}

fn kind_of<T: PartialEq>(pair: &AlignedPair<T>) -> Option<EditKind> {
    match pair {
        (Some(reference), Some(hypothesis)) => (reference != hypothesis).then_some(EditKind::Substitution),
        (Some(_), None) => Some(EditKind::Deletion),
        (None, Some(_)) => Some(EditKind::Insertion),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::align;

    fn confusions() -> Confusions<char> {
        let mut confusions = Confusions::default();
        for (reference, hypothesis) in [("abcb", "abxx"), ("ab", "aby"), ("aab", "aa"), ("b", "x"), ("b", "z")] {
            let [reference, hypothesis] = [reference, hypothesis].map(|text| text.chars().collect::<Vec<char>>());
            confusions.add(&align(&reference, &hypothesis).pairs);
        }
        confusions
    }

    #[test]
    fn the_most_frequent_come_first() {
        let found = confusions();
        let b_x = ((Some('b'), Some('x')), 2);
        let rest = [((Some('b'), Some('z')), 1), ((Some('c'), Some('x')), 1)];
        assert_eq!(found.top(EditKind::Substitution, 9), [b_x, rest[0], rest[1]]);
        assert_eq!(found.top(EditKind::Substitution, 1), [b_x]);
        assert_eq!(found.top(EditKind::Deletion, 9), [((Some('b'), None), 1)]);
        assert_eq!(found.top(EditKind::Insertion, 9), [((None, Some('y')), 1)]);
    }

    #[test]
    fn labels_add_up() {
        let labels = confusions().by_label();
        assert_eq!(labels[&'b'], EditCounts { substitutions: 3, deletions: 1, insertions: 0, reference: 6 });
        assert_eq!(labels[&'y'], EditCounts { insertions: 1, ..EditCounts::default() });
        let merged = confusions().renamed(|_| '*').by_label();
        assert_eq!(merged[&'*'], EditCounts { substitutions: 0, deletions: 1, insertions: 1, reference: 11 });
    }
}
