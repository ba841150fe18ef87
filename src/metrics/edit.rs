//! Edit distance: how a hypothesis differs from its reference, label by label.
//!
//! In come a reference and a hypothesis; out go the counts of substitutions, deletions and insertions and the aligned pairs.
//! The reference may be a chain of slots with alternatives (a word and its pronunciations): the best combination is found
//! in the same dynamic programme, exactly, without enumerating the combinations.

use std::ops::AddAssign;

/// How often a hypothesis errs against a reference. Sums of these over utterances are what rates are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditCounts {
    /// Reference labels that stand opposite another label.
    pub substitutions: usize,
    /// Reference labels that stand opposite nothing.
    pub deletions: usize,
    /// Hypothesis labels that stand opposite nothing.
    pub insertions: usize,
    /// Labels of the reference: N.
    pub reference: usize,
}

impl EditCounts {
    /// S + D + I: the edit distance.
    pub fn errors(&self) -> usize {
        self.substitutions + self.deletions + self.insertions
    }

    /// The error rate (S + D + I) / N: 0 is perfect, above 1 is possible; not finite when the reference has no label.
    pub fn rate(&self) -> f64 {
        self.errors() as f64 / self.reference as f64
    }

    /// Counts `pair` in.
    fn count<T: PartialEq>(&mut self, pair: &AlignedPair<T>) {
        match pair {
            (Some(reference), Some(hypothesis)) => self.substitutions += usize::from(reference != hypothesis),
            (Some(_), None) => self.deletions += 1,
            (None, Some(_)) => self.insertions += 1,
            (None, None) => {}
        }
        self.reference += usize::from(pair.0.is_some());
    }
}

impl AddAssign for EditCounts {
    fn add_assign(&mut self, other: Self) {
        self.substitutions += other.substitutions;
        self.deletions += other.deletions;
        self.insertions += other.insertions;
        self.reference += other.reference;
    }
}

/// A reference label and the hypothesis label opposite it; `None` on one side is a deletion or an insertion.
pub type AlignedPair<T> = (Option<T>, Option<T>);

/// The best alignment of a hypothesis with a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edits<T> {
    /// How many of each kind.
    pub counts: EditCounts,
    /// Every label of both sides, in order.
    pub pairs: Vec<AlignedPair<T>>,
}

/// The alignment of least edits, each edit counting 1 (Levenshtein 1966). Among equals, read from the end, a pair goes before
/// a deletion and a deletion before an insertion.
pub fn align<T: Clone + PartialEq>(reference: &[T], hypothesis: &[T]) -> Edits<T> {
    let slots: Vec<Vec<&[T]>> = reference.chunks(1).map(|label| vec![label]).collect();
    align_chain(&slots, hypothesis)
}

/// The alignment of least edits over every choice of one alternative per slot. Ties as in [`align`]; between alternatives
/// that fit equally, the one listed first. An alternative may be empty.
///
/// Time is alternatives' labels times hypothesis labels; memory grows with the square root of the number of slots, so that
/// an hour of speech in one utterance is no problem.
///
/// # Panics
/// When a slot has no alternative.
pub fn align_slots<T: Clone + PartialEq>(slots: &[Vec<Vec<T>>], hypothesis: &[T]) -> Edits<T> {
    let slots: Vec<Vec<&[T]>> = slots.iter().map(|slot| slot.iter().map(Vec::as_slice).collect()).collect();
    align_chain(&slots, hypothesis)
}

/// Edits of the best way up to some point of the reference, by hypothesis labels used: `[H + 1]`.
type Row = Vec<u32>;

/// Forwards, only the rows at the borders of blocks of slots are kept; backwards, a block's rows are made again and traced.
fn align_chain<T: Clone + PartialEq>(slots: &[Vec<&[T]>], hypothesis: &[T]) -> Edits<T> {
    let block = slots.len().isqrt().max(1);
    let mut row: Row = (0..=hypothesis.len() as u32).collect();
    let mut entries = Vec::new();
    for slots in slots.chunks(block) {
        entries.push(row.clone());
        row = slots.iter().fold(row, |row, slot| leave(&enter(slot, row, hypothesis)));
    }
    let mut back = Backtrace { hypothesis, used: hypothesis.len(), pairs: Vec::new() };
    for (slots, entry) in slots.chunks(block).zip(entries).rev() {
        let mut row = entry;
        let mut grids = Vec::with_capacity(slots.len());
        for slot in slots {
            let grid = enter(slot, row, hypothesis);
            row = leave(&grid);
            grids.push(grid);
        }
        slots.iter().zip(&grids).rev().for_each(|(slot, grid)| back.through(slot, grid));
    }
    back.finish()
}

/// The rows of each alternative of `slot`: first the entry row, then one per label.
fn enter<T: PartialEq>(slot: &[&[T]], entry: Row, hypothesis: &[T]) -> Vec<Vec<Row>> {
    let rows = |alternative: &&[T]| {
        let mut rows = vec![entry.clone()];
        for label in *alternative {
            rows.push(next_row(&rows[rows.len() - 1], label, hypothesis));
        }
        rows
    };
    slot.iter().map(rows).collect()
}

/// `next[j] = min(row[j-1] + (label != hypothesis[j-1]), row[j] + 1, next[j-1] + 1)`
fn next_row<T: PartialEq>(row: &[u32], label: &T, hypothesis: &[T]) -> Row {
    let mut next = Vec::with_capacity(row.len());
    let mut left = row[0] + 1;
    next.push(left);
    for (pair, heard) in row.windows(2).zip(hypothesis) {
        left = (pair[0] + u32::from(label != heard)).min(pair[1] + 1).min(left + 1);
        next.push(left);
    }
    next
}

/// The row behind a slot: `row[j] = min over alternatives of their last row[j]`.
fn leave(grid: &[Vec<Row>]) -> Row {
    let last = grid.iter().filter_map(|rows| rows.last());
    let least = |best: Row, row: &Row| best.iter().zip(row).map(|(&a, &b)| a.min(b)).collect();
    let first = last.clone().next().expect("a slot has an alternative");
    last.fold(first.clone(), least)
}

/// The way back from the end: which cell before gives the edits found here.
struct Backtrace<'a, T> {
    hypothesis: &'a [T],
    /// Hypothesis labels before the point reached.
    used: usize,
    /// Last pair first.
    pairs: Vec<AlignedPair<T>>,
}

impl<T: Clone + PartialEq> Backtrace<'_, T> {
    fn through(&mut self, slot: &[&[T]], grid: &[Vec<Row>]) {
        let edits = |rows: &Vec<Row>| rows[rows.len() - 1][self.used];
        let ways = slot.iter().zip(grid);
        let (alternative, rows) = ways.min_by_key(|(_, rows)| edits(rows)).expect("a slot has an alternative");
        let mut left = alternative.len();
        while left > 0 {
            let label = &alternative[left - 1];
            let here = rows[left][self.used];
            let heard = self.used.checked_sub(1).map(|before| &self.hypothesis[before]);
            let pair_edits = heard.map(|heard| rows[left - 1][self.used - 1] + u32::from(label != heard));
            let (reference, hypothesis) = if pair_edits == Some(here) {
                (Some(label), heard)
            } else if rows[left - 1][self.used] + 1 == here {
                (Some(label), None)
            } else {
                (None, heard)
            };
            self.pairs.push((reference.cloned(), hypothesis.cloned()));
            left -= usize::from(reference.is_some());
            self.used -= usize::from(hypothesis.is_some());
        }
    }

    /// What is left of the hypothesis was inserted before the first slot.
    fn finish(mut self) -> Edits<T> {
        self.pairs.extend(self.hypothesis[..self.used].iter().rev().map(|heard| (None, Some(heard.clone()))));
        self.pairs.reverse();
        let mut counts = EditCounts::default();
        self.pairs.iter().for_each(|pair| counts.count(pair));
        Edits { counts, pairs: self.pairs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The definition, by recursion over both ends.
    fn distance(a: &[u8], b: &[u8]) -> usize {
        match (a, b) {
            (rest, []) | ([], rest) => rest.len(),
            ([x, a_rest @ ..], [y, b_rest @ ..]) => (distance(a_rest, b_rest) + usize::from(x != y))
                .min(distance(a_rest, b) + 1)
                .min(distance(a, b_rest) + 1),
        }
    }

    fn labels(random: &mut Random, most: usize) -> Vec<u8> {
        (0..random.below(most + 1)).map(|_| random.below(3) as u8).collect()
    }

    fn combinations(slots: &[Vec<Vec<u8>>]) -> Vec<Vec<u8>> {
        slots.iter().fold(vec![vec![]], |heads, slot| {
            heads.iter().flat_map(|head| slot.iter().map(|tail| [head.as_slice(), tail].concat())).collect()
        })
    }

    fn sides(edits: &Edits<u8>) -> (Vec<u8>, Vec<u8>) {
        (edits.pairs.iter().filter_map(|pair| pair.0).collect(), edits.pairs.iter().filter_map(|pair| pair.1).collect())
    }

    #[test]
    fn plain_alignment_equals_the_definition() {
        let mut random = Random::new(1);
        for _ in 0..300 {
            let (a, b) = (labels(&mut random, 6), labels(&mut random, 6));
            let edits = align(&a, &b);
            assert_eq!(edits.counts.errors(), distance(&a, &b), "{a:?} {b:?}");
            assert_eq!(sides(&edits), (a, b));
        }
    }

    #[test]
    fn the_best_of_all_combinations_is_found() {
        let mut random = Random::new(2);
        for _ in 0..400 {
            let slots: Vec<Vec<Vec<u8>>> = (0..random.below(6))
                .map(|_| (0..1 + random.below(3)).map(|_| labels(&mut random, 2)).collect())
                .collect();
            let hypothesis = labels(&mut random, 6);
            let all = combinations(&slots);
            let best = all.iter().map(|reference| distance(reference, &hypothesis)).min().unwrap();
            let edits = align_slots(&slots, &hypothesis);
            assert_eq!(edits.counts.errors(), best, "{slots:?} {hypothesis:?}");
            let (reference, heard) = sides(&edits);
            assert_eq!(heard, hypothesis);
            assert!(all.contains(&reference), "{reference:?} is no choice of {slots:?}");
            assert_eq!(edits.counts, align(&reference, &hypothesis).counts.with_errors(best));
        }
    }

    impl EditCounts {
        /// The same counts, having seen that their sum is `errors`.
        fn with_errors(self, errors: usize) -> Self {
            assert_eq!(self.errors(), errors);
            self
        }
    }

    #[test]
    fn identities_hold() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let [a, b, c] = [0; 3].map(|_| labels(&mut random, 12));
            let errors = |x: &[u8], y: &[u8]| align(x, y).counts.errors();
            assert_eq!(errors(&a, &a), 0);
            assert_eq!(errors(&a, &b), errors(&b, &a));
            assert!(errors(&a, &c) <= errors(&a, &b) + errors(&b, &c));
            let counts = align(&a, &b).counts;
            assert_eq!(a.len() + counts.insertions, b.len() + counts.deletions);
            assert_eq!(counts.reference, a.len());
        }
    }

    #[test]
    fn ties_go_to_pairs_and_to_the_first_alternative() {
        let edits = align(&["a", "b"], &["c"]);
        assert_eq!(edits.pairs, [(Some("a"), None), (Some("b"), Some("c"))]);
        let slots = vec![vec![vec!["x", "y"], vec!["x", "z"]]];
        assert_eq!(align_slots(&slots, &["x", "q"]).pairs, [(Some("x"), Some("x")), (Some("y"), Some("q"))]);
        assert_eq!(align_slots(&slots, &["x", "z"]).counts.errors(), 0);
    }

    #[test]
    fn nothing_on_either_side_is_fine() {
        assert_eq!(
            align::<u8>(&[], &[7]).counts,
            EditCounts { substitutions: 0, deletions: 0, insertions: 1, reference: 0 }
        );
        assert_eq!(
            align::<u8>(&[7], &[]).counts,
            EditCounts { substitutions: 0, deletions: 1, insertions: 0, reference: 1 }
        );
        assert!(align::<u8>(&[], &[]).pairs.is_empty());
    }
}
