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
use std::ops::AddAssign;

use super::bootstrap::{BootstrapOptions, Interval, interval, rate_interval};
use super::confusions::Confusions;
use super::edit::EditCounts;
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

/// The score of entities.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityReport {
    /// All types together.
    pub total: EntityCounts,
    /// 95 % interval of the F1 of all types together; none with fewer than two sequences.
    pub interval: Option<Interval>,
    /// By type.
    pub types: BTreeMap<String, EntityCounts>,
    /// Tokens `I-X` of reference and hypothesis that continue no entity.
    pub stray: [usize; 2],
    /// Tags that are neither `O`, `B-X` nor `I-X`; for entities they are as good as `O`.
    pub other_tags: BTreeSet<String>,
}

/// The score of tags. `Display` prints it in full.
#[derive(Debug, Clone, PartialEq)]
pub struct TagReport {
    /// Tokens and errors of all sequences: an error is a substitution, and 1 less the rate is the accuracy.
    pub total: EditCounts,
    /// 95 % interval of the accuracy; none with fewer than two sequences.
    pub interval: Option<Interval>,
    /// Number of sequences.
    pub sequences: usize,
    /// Sequences without error.
    pub flawless: usize,
    /// The entities; none where no tag begins with `B-` or `I-`.
    pub entities: Option<EntityReport>,
    /// Every pair of tags.
    pub confusions: Confusions<String>,
    /// Tags that no hypothesis has.
    pub only_reference: BTreeSet<String>,
    /// Tags that no reference has.
    pub only_hypothesis: BTreeSet<String>,
    /// How it was scored.
    pub options: TagScoreOptions,
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

/// Scores the hypotheses of `sequences` against their references.
///
/// # Errors
/// [`Error::Shape`] when a pair differs in length; [`Error::Other`] when there is no token at all.
pub fn score_tags(sequences: &[TagPair], options: &TagScoreOptions) -> Result<TagReport> {
    if let Some(TagPair { reference, hypothesis }) =
        sequences.iter().find(|pair| pair.reference.len() != pair.hypothesis.len())
    {
        return Err(Error::Shape { what: "tags of a hypothesis", expected: reference.len(), found: hypothesis.len() });
    }
    let errors: Vec<EditCounts> = sequences.iter().map(token_errors).collect();
    let mut total = EditCounts::default();
    errors.iter().for_each(|&counts| total += counts);
    if total.reference == 0 {
        return Err(Error::Other("there is no token to score".into()));
    }
    let [reference, hypothesis] = tag_sets(sequences);
    let only =
        |tags: &BTreeSet<&str>, others: &BTreeSet<&str>| tags.difference(others).map(|&tag| tag.to_owned()).collect();
    Ok(TagReport {
        total,
        interval: rate_interval(&errors, &options.bootstrap)
            .map(|Interval { low, high }| Interval { low: 1.0 - high, high: 1.0 - low }),
        sequences: sequences.len(),
        flawless: errors.iter().filter(|counts| counts.substitutions == 0).count(),
        entities: entity_report(sequences, &(&reference | &hypothesis), &options.bootstrap),
        confusions: confusions(sequences),
        only_reference: only(&reference, &hypothesis),
        only_hypothesis: only(&hypothesis, &reference),
        options: *options,
    })
}

fn token_errors(pair: &TagPair) -> EditCounts {
    let wrong =
        pair.reference.iter().zip(&pair.hypothesis).filter(|(reference, hypothesis)| reference != hypothesis).count();
    EditCounts { substitutions: wrong, reference: pair.reference.len(), ..EditCounts::default() }
}

/// The different tags of all references, and of all hypotheses.
fn tag_sets<'a>(sequences: &[TagPair<'a>]) -> [BTreeSet<&'a str>; 2] {
    let mut sets = [BTreeSet::new(), BTreeSet::new()];
    for pair in sequences {
        sets[0].extend(&pair.reference);
        sets[1].extend(&pair.hypothesis);
    }
    sets
}

fn confusions(sequences: &[TagPair]) -> Confusions<String> {
    let mut confusions = Confusions::default();
    for TagPair { reference, hypothesis } in sequences {
        let pairs: Vec<_> = reference.iter().zip(hypothesis).map(|(&a, &b)| (Some(a), Some(b))).collect();
        confusions.add(&pairs);
    }
    confusions.renamed(|tag| (*tag).to_owned())
}

/// The score of the entities, if any of `tags` says that there are some.
fn entity_report(sequences: &[TagPair], tags: &BTreeSet<&str>, options: &BootstrapOptions) -> Option<EntityReport> {
    let in_entity = |tag: &str| tag.starts_with("B-") || tag.starts_with("I-");
    if !tags.iter().any(|tag| in_entity(tag)) {
        return None;
    }
    let mut types: BTreeMap<String, EntityCounts> = BTreeMap::new();
    let mut each = vec![];
    let mut stray = [0; 2];
    for pair in sequences {
        let mut counts = EntityCounts::default();
        for (kind, of_kind) in count_entities(pair) {
            *types.entry(kind.to_owned()).or_default() += of_kind;
            counts += of_kind;
        }
        each.push(counts);
        stray[0] += count_stray(&pair.reference);
        stray[1] += count_stray(&pair.hypothesis);
    }
    let sum = |drawn: &mut dyn Iterator<Item = EntityCounts>| {
        let mut total = EntityCounts::default();
        drawn.for_each(|counts| total += counts);
        total
    };
    let f1 = |drawn: &[usize]| sum(&mut drawn.iter().map(|&sequence| each[sequence])).f1();
    let other = |tag: &&&str| **tag != "O" && !in_entity(tag);
    Some(EntityReport {
        total: sum(&mut each.iter().copied()),
        interval: interval(each.len(), options, f1),
        types,
        stray,
        other_tags: tags.iter().filter(other).map(|&tag| tag.to_owned()).collect(),
    })
}

/// The entities of one sequence, by type.
fn count_entities<'a>(pair: &TagPair<'a>) -> BTreeMap<&'a str, EntityCounts> {
    let (reference, hypothesis) = (entities(&pair.reference), entities(&pair.hypothesis));
    let mut types: BTreeMap<&str, EntityCounts> = BTreeMap::new();
    for entity in &reference {
        let counts = types.entry(entity.kind).or_default();
        counts.reference += 1;
        counts.right += usize::from(hypothesis.binary_search(entity).is_ok());
    }
    hypothesis.iter().for_each(|entity| types.entry(entity.kind).or_default().hypothesis += 1);
    types
}

/// Tokens `I-X` that continue no entity.
fn count_stray(tags: &[&str]) -> usize {
    let inside = tags.iter().filter(|tag| tag.starts_with("I-")).count();
    let continued: usize = entities(tags).iter().map(|entity| entity.end - entity.start - 1).sum();
    inside - continued
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
