//! Scoring of tags: how many tokens are tagged right, and for BIO tags how many entities.
//!
//! In come pairs of tag sequences, reference and hypothesis, token by token; out goes a [`TagReport`] with the accuracy, the
//! precision, recall and F1 of entities, 95 % intervals by sequence, and what is mistaken for what.
//!
//! An entity of type X is a `B-X` and the `I-X` that follow it without a gap. An `I-X` that follows neither `B-X` nor `I-X` of
//! an entity is no entity and no part of one (conlleval would begin one there); such tags are counted and told of. An entity
//! is right when type, begin and end are.
//!
//! ```text
//! precision = right / in the hypothesis,   recall = right / in the reference
//! F1 = 2 right / (in the reference + in the hypothesis), the harmonic mean of both
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;
use std::ops::AddAssign;

use super::bootstrap::{BootstrapOptions, Interval, interval};
use super::confusions::Confusions;
use crate::{Error, Result};

/// The tags of one sequence, as they should be and as they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagPair<'a> {
    /// `[T]`.
    pub reference: Vec<&'a str>,
    /// `[T]`.
    pub hypothesis: Vec<&'a str>,
}

/// An entity that BIO tags mark: its type, and its tokens `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entity<'a> {
    /// First token.
    pub start: usize,
    /// Behind the last token.
    pub end: usize,
    /// What follows `B-`.
    pub kind: &'a str,
}

/// The entities of a sequence of BIO tags, in order.
pub fn entities<'a>(tags: &[&'a str]) -> Vec<Entity<'a>> {
    let mut found: Vec<Entity> = vec![];
    for (token, tag) in tags.iter().enumerate() {
        match (tag.strip_prefix("B-"), tag.strip_prefix("I-")) {
            (Some(kind), _) => found.push(Entity { start: token, end: token + 1, kind }),
            (_, Some(kind)) => {
                if let Some(open) = found.last_mut().filter(|open| open.end == token && open.kind == kind) {
                    open.end += 1;
                }
            }
            _ => {}
        }
    }
    found
}

/// How many entities there are and how many of them are right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntityCounts {
    /// In reference and hypothesis alike.
    pub right: usize,
    /// In the reference.
    pub reference: usize,
    /// In the hypothesis.
    pub hypothesis: usize,
}

impl EntityCounts {
    /// Right ones among those of the hypothesis, 0 to 1; none where it has none.
    pub fn precision(&self) -> Option<f64> {
        share(self.right, self.hypothesis)
    }

    /// Right ones among those of the reference, 0 to 1; none where it has none.
    pub fn recall(&self) -> Option<f64> {
        share(self.right, self.reference)
    }

    /// The harmonic mean of precision and recall, 0 to 1; none where there is no entity on either side.
    pub fn f1(&self) -> Option<f64> {
        share(2 * self.right, self.reference + self.hypothesis)
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl AddAssign for EntityCounts {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.reference += other.reference;
        self.hypothesis += other.hypothesis;
    }
}

/// What is right in one sequence, or in several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TagCounts {
    /// Tokens whose tag is right.
    pub right: usize,
    /// Tokens.
    pub tokens: usize,
    /// Entities of all types.
    pub entities: EntityCounts,
}

impl TagCounts {
    /// Share of the tokens whose tag is right, 0 to 1; none where there is no token.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.right, self.tokens)
    }
}

impl Sum for TagCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut total, counts| {
            total.right += counts.right;
            total.tokens += counts.tokens;
            total.entities += counts.entities;
            total
        })
    }
}

/// The score of tags. `Display` prints it in full.
#[derive(Debug, Clone, PartialEq)]
pub struct TagReport {
    /// All sequences together.
    pub total: TagCounts,
    /// 95 % interval of the accuracy; none with fewer than two sequences.
    pub accuracy_interval: Option<Interval>,
    /// The entities; none where no tag begins with `B-` or `I-`.
    pub entities: Option<EntityReport>,
    /// Each sequence by itself, in order.
    pub sequences: Vec<TagCounts>,
    /// Every pair of tags.
    pub confusions: Confusions<String>,
    /// Tags that no hypothesis has.
    pub only_reference: BTreeSet<String>,
    /// Tags that no reference has.
    pub only_hypothesis: BTreeSet<String>,
    /// How it was scored.
    pub options: TagScoreOptions,
}

/// What the score of entities has beside their number.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityReport {
    /// 95 % interval of the F1 of all types together; none with fewer than two sequences.
    pub f1_interval: Option<Interval>,
    /// By type.
    pub types: BTreeMap<String, EntityCounts>,
    /// Tokens `I-X` of reference and hypothesis that continue no entity.
    pub stray: [usize; 2],
    /// Tags that are neither `O`, `B-X` nor `I-X`; for entities they are as good as `O`.
    pub other_tags: BTreeSet<String>,
}

/// How tags are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagScoreOptions {
    /// Confusions that the report lists.
    pub top_confusions: usize,
    /// How the intervals are drawn.
    pub bootstrap: BootstrapOptions,
}

impl Default for TagScoreOptions {
    fn default() -> Self {
        Self { top_confusions: 10, bootstrap: BootstrapOptions::default() }
    }
}

/// Scores the hypotheses of `pairs` against their references.
///
/// # Errors
/// [`Error::Shape`] when a pair differs in length; [`Error::Other`] when there is no token at all.
pub fn score_tags(pairs: &[TagPair], options: &TagScoreOptions) -> Result<TagReport> {
    if let Some(pair) = pairs.iter().find(|pair| pair.reference.len() != pair.hypothesis.len()) {
        let (expected, found) = (pair.reference.len(), pair.hypothesis.len());
        return Err(Error::Shape { what: "tags of a hypothesis", expected, found });
    }
    let mut types = BTreeMap::new();
    let sequences: Vec<TagCounts> = pairs.iter().map(|pair| count(pair, &mut types)).collect();
    let total: TagCounts = sequences.iter().copied().sum();
    if total.tokens == 0 {
        return Err(Error::Other("there is no token to score".into()));
    }
    let among = |rate: fn(TagCounts) -> Option<f64>| {
        interval(sequences.len(), &options.bootstrap, |drawn| rate(sum_of(&sequences, drawn)))
    };
    let [reference, hypothesis] = tag_sets(pairs);
    let only = |tags: &BTreeSet<&str>, others: &BTreeSet<&str>| {
        tags.difference(others).map(|&tag| tag.to_owned()).collect::<BTreeSet<String>>()
    };
    let all = &reference | &hypothesis;
    let entities = all.iter().any(|tag| in_entity(tag)).then(|| EntityReport {
        f1_interval: among(|counts| counts.entities.f1()),
        types,
        stray: stray(pairs),
        other_tags: all.iter().filter(|tag| **tag != "O" && !in_entity(tag)).map(|&tag| tag.to_owned()).collect(),
    });
    Ok(TagReport {
        total,
        accuracy_interval: among(|counts| counts.accuracy()),
        entities,
        confusions: confusions(pairs),
        only_reference: only(&reference, &hypothesis),
        only_hypothesis: only(&hypothesis, &reference),
        options: *options,
        sequences,
    })
}

fn in_entity(tag: &str) -> bool {
    tag.starts_with("B-") || tag.starts_with("I-")
}

/// The sum over the sequences `drawn`.
fn sum_of(sequences: &[TagCounts], drawn: &[usize]) -> TagCounts {
    drawn.iter().map(|&sequence| sequences[sequence]).sum()
}

/// What is right in one sequence; its entities are added to `types` too.
fn count(pair: &TagPair, types: &mut BTreeMap<String, EntityCounts>) -> TagCounts {
    let right = pair.reference.iter().zip(&pair.hypothesis).filter(|(reference, hypothesis)| reference == hypothesis);
    let mut counts = TagCounts { right: right.count(), tokens: pair.reference.len(), ..TagCounts::default() };
    let (reference, hypothesis) = (entities(&pair.reference), entities(&pair.hypothesis));
    let mut add = |entity: &Entity, one: EntityCounts| {
        *types.entry(entity.kind.to_owned()).or_default() += one;
        counts.entities += one;
    };
    for entity in &reference {
        let right = usize::from(hypothesis.binary_search(entity).is_ok());
        add(entity, EntityCounts { right, reference: 1, hypothesis: 0 });
    }
    hypothesis.iter().for_each(|entity| add(entity, EntityCounts { right: 0, reference: 0, hypothesis: 1 }));
    counts
}

/// The different tags of all references, and of all hypotheses.
fn tag_sets<'a>(pairs: &[TagPair<'a>]) -> [BTreeSet<&'a str>; 2] {
    let mut sets = [BTreeSet::new(), BTreeSet::new()];
    for pair in pairs {
        sets[0].extend(&pair.reference);
        sets[1].extend(&pair.hypothesis);
    }
    sets
}

/// Tokens `I-X` that continue no entity, in all references and in all hypotheses.
fn stray(pairs: &[TagPair]) -> [usize; 2] {
    let of = |tags: &[&str]| {
        let inside = tags.iter().filter(|tag| tag.starts_with("I-")).count();
        let continued: usize = entities(tags).iter().map(|entity| entity.end - entity.start - 1).sum();
        inside - continued
    };
    pairs.iter().fold([0; 2], |[a, b], pair| [a + of(&pair.reference), b + of(&pair.hypothesis)])
}

fn confusions(pairs: &[TagPair]) -> Confusions<String> {
    let mut confusions = Confusions::default();
    for TagPair { reference, hypothesis } in pairs {
        let opposite: Vec<_> = reference.iter().zip(hypothesis).map(|(&a, &b)| (Some(a), Some(b))).collect();
        confusions.add(&opposite);
    }
    confusions.renamed(|tag| (*tag).to_owned())
}

/// Two taggers on the same references. `Display` prints a line for each rate.
#[derive(Debug, Clone, PartialEq)]
pub struct TagComparison {
    /// Accuracy of the first and of the second.
    pub accuracy: [f64; 2],
    /// Paired 95 % interval of the first accuracy minus the second; none with fewer than two sequences.
    pub accuracy_interval: Option<Interval>,
    /// F1 of the entities of all types; none where a side has none.
    pub f1: Option<[f64; 2]>,
    /// Paired 95 % interval of the first F1 minus the second.
    pub f1_interval: Option<Interval>,
}

/// Compares two reports on the same references, sequences being drawn for both alike. Above zero, the first is better.
///
/// # Errors
/// [`Error::Other`] when the reports are on other sequences or were drawn in another way.
pub fn compare_tags(first: &TagReport, second: &TagReport) -> Result<TagComparison> {
    let of_reference = |report: &TagReport| -> Vec<(usize, usize)> {
        report.sequences.iter().map(|counts| (counts.tokens, counts.entities.reference)).collect()
    };
    if of_reference(first) != of_reference(second) || first.options != second.options {
        let reason = "two scores can be compared only on the same sequences with the same options";
        return Err(Error::Other(reason.into()));
    }
    let both = |rate: fn(TagCounts) -> Option<f64>, totals: [TagCounts; 2]| Some([rate(totals[0])?, rate(totals[1])?]);
    let difference = |rate: fn(TagCounts) -> Option<f64>| {
        interval(first.sequences.len(), &first.options.bootstrap, |drawn| {
            let totals = [first, second].map(|report| sum_of(&report.sequences, drawn));
            both(rate, totals).map(|[first, second]| first - second)
        })
    };
    let totals = [first.total, second.total];
    let f1 = both(|counts| counts.entities.f1(), totals);
    Ok(TagComparison {
        accuracy: both(|counts| counts.accuracy(), totals).expect("a report has tokens"),
        accuracy_interval: difference(|counts| counts.accuracy()),
        f1,
        f1_interval: f1.and_then(|_| difference(|counts| counts.entities.f1())),
    })
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
