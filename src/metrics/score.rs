//! Scoring: what `senone score` does, as one function.
//!
//! In come references (phones, words with all their pronunciations, or words as such) and hypotheses by utterance; out goes a
//! [`ScoreReport`] with the phone or word error rate and everything that was done to the labels on the way there. Nothing is left out
//! or changed without a line in the report.

use std::collections::{BTreeMap, BTreeSet};

use super::bootstrap::{BootstrapOptions, rate_interval};
use super::confusions::Confusions;
use super::edit::{EditCounts, Edits, align_slots};
use super::report::{LabelNotes, ScoreReport, SpeakerScore};
use crate::phones::PAUSES;
use crate::pinyin::{Tones, without_tone};
use crate::spelling::without_stress;
use crate::symbols::{SymbolId, SymbolTable};
use crate::{Error, Result};

/// A reference as a chain: per word (or phone) its alternatives, each a phone sequence. The alternatives that fit the
/// hypothesis best count.
pub type ReferenceSlots = Vec<Vec<Vec<String>>>;

/// What was said in one utterance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Name of the utterance, the same as in the hypotheses.
    pub name: String,
    /// Who spoke; `None` lets the utterance stand for itself.
    pub speaker: Option<String>,
    /// The phones.
    pub transcript: Transcript,
}

/// The phones of a reference, if they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transcript {
    /// Every slot has at least one alternative.
    Slots(ReferenceSlots),
    /// These words have no known pronunciation. The utterance is left out of the score and listed: any phones put in their
    /// place would be invented, and none would turn correct hypotheses into insertions.
    UnknownWords(Vec<String>),
}

impl Transcript {
    /// A transcript with one sequence of phones, or of words that are compared as words.
    pub fn phones<S: AsRef<str>>(phones: &[S]) -> Self {
        Self::Slots(phones.iter().map(|phone| vec![vec![phone.as_ref().to_owned()]]).collect())
    }
}

/// Phones by name of utterance.
pub type Hypotheses = BTreeMap<String, Vec<String>>;

/// What labels are, and so what the report calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Phones: the rate is the phone error rate, PER.
    #[default]
    Phone,
    /// Words: the rate is the word error rate, WER.
    Word,
}

impl Unit {
    /// What the rate is called.
    pub fn rate(self) -> &'static str {
        match self {
            Self::Phone => "PER",
            Self::Word => "WER",
        }
    }

    /// What one label is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Phone => "phone",
            Self::Word => "word",
        }
    }
}

/// What happens to labels before they are compared, in this order: the stress digit 0, 1 or 2 of an upper-case ARPABET vowel
/// is stripped if labels are phones, and the tone of a Mandarin final where `tones` says so; `fold` is applied, `silence` is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreOptions {
    /// What labels are.
    pub unit: Unit,
    /// Whether tones of Mandarin count.
    pub tones: Tones,
    /// Label to label that counts as the same, in one step; to the empty label drops it.
    pub fold: BTreeMap<String, String>,
    /// Labels that are no phones and are dropped on both sides.
    pub silence: BTreeSet<String>,
    /// Substitutions, deletions and insertions listed, of each kind.
    pub top_confusions: usize,
    /// How the interval is drawn.
    pub bootstrap: BootstrapOptions,
}

impl ScoreOptions {
    /// What no word is.
    pub const NO_WORDS: [&'static str; 4] = ["<eps>", "<sil>", "<s>", "</s>"];

    /// What `fold` finds `label` under: without stress, and without tone where tones do not count.
    pub fn plain<'a>(&self, label: &'a str) -> &'a str {
        let unstressed = self.unstressed(label);
        if self.tones == Tones::Dropped { without_tone(unstressed) } else { unstressed }
    }

    fn unstressed<'a>(&self, label: &'a str) -> &'a str {
        if self.unit == Unit::Phone { without_stress(label) } else { label }
    }
}

impl Default for ScoreOptions {
    fn default() -> Self {
        Self {
            unit: Unit::Phone,
            tones: Tones::Kept,
            fold: BTreeMap::new(),
            silence: PAUSES.map(str::to_owned).into(),
            top_confusions: 10,
            bootstrap: BootstrapOptions::default(),
        }
    }
}

/// Scores `hypotheses` against `references`. An utterance without a hypothesis counts as deleted throughout.
///
/// # Errors
/// When an utterance is given twice, a slot has no alternative, or no reference phone is left to score.
pub fn score(references: &[Reference], hypotheses: &Hypotheses, options: &ScoreOptions) -> Result<ScoreReport> {
    check(references)?;
    let mut scorer = Scorer::new(options);
    references.iter().for_each(|reference| scorer.add(reference, hypotheses.get(&reference.name)));
    let names: BTreeSet<&String> = references.iter().map(|reference| &reference.name).collect();
    let extra = hypotheses.keys().filter(|name| !names.contains(name)).cloned().collect();
    scorer.finish(extra)
}

fn check(references: &[Reference]) -> Result<()> {
    let mut names = BTreeSet::new();
    for Reference { name, transcript, .. } in references {
        if !names.insert(name) {
            return Err(Error::Other(format!("utterance {name} is given twice in the reference")));
        }
        if matches!(transcript, Transcript::Slots(slots) if slots.iter().any(Vec::is_empty)) {
            return Err(Error::Other(format!("utterance {name}: a word of the reference has no pronunciation")));
        }
    }
    Ok(())
}

/// The sums so far.
struct Scorer<'a> {
    labels: Labels<'a>,
    confusions: Confusions<SymbolId>,
    report: ScoreReport,
}

impl<'a> Scorer<'a> {
    fn new(options: &'a ScoreOptions) -> Self {
        let report = ScoreReport::new(options);
        Self { labels: Labels::new(options), confusions: Confusions::default(), report }
    }

    fn add(&mut self, reference: &Reference, heard: Option<&Vec<String>>) {
        let slots = match &reference.transcript {
            Transcript::Slots(slots) => self.labels.reference(slots),
            Transcript::UnknownWords(words) => {
                self.report.left_out.push((reference.name.clone(), words.clone()));
                return;
            }
        };
        let heard_labels = self.labels.hypothesis(heard.map_or(&[], Vec::as_slice));
        let Edits { counts, pairs } = align_slots(&slots, &heard_labels);
        self.confusions.add(&pairs);
        if heard.is_none() {
            self.report.missing.push(reference.name.clone());
            self.report.missing_phones += counts.reference;
        }
        self.report.by_utterance &= reference.speaker.is_none();
        let group = reference.speaker.as_ref().unwrap_or(&reference.name).clone();
        let SpeakerScore { counts: sum, utterances } = self.report.speakers.entry(group).or_default();
        *sum += counts;
        *utterances += 1;
    }

    fn finish(self, extra: Vec<String>) -> Result<ScoreReport> {
        let Self { labels, confusions, mut report } = self;
        let speakers: Vec<EditCounts> = report.speakers.values().map(|speaker| speaker.counts).collect();
        speakers.iter().for_each(|&counts| report.total += counts);
        if report.total.reference == 0 {
            let (scored, left_out) = (report.utterances(), report.left_out.len());
            let noun = report.options.unit.noun();
            return Err(Error::Other(format!(
                "there is no reference {noun} to score: {scored} utterances without {noun}s, {left_out} left out for words of unknown pronunciation"
            )));
        }
        report.interval = rate_interval(&speakers, &report.options.bootstrap);
        report.confusions = confusions.renamed(|&label| labels.table.name(label).to_owned());
        report.labels = labels.notes();
        report.extra = extra;
        Ok(report)
    }
}

/// Labels as they are compared, and a record of what was done to them.
pub(super) struct Labels<'a> {
    options: &'a ScoreOptions,
    table: SymbolTable,
    reference: BTreeSet<SymbolId>,
    hypothesis: BTreeSet<SymbolId>,
    notes: LabelNotes,
}

impl<'a> Labels<'a> {
    pub(super) fn new(options: &'a ScoreOptions) -> Self {
        let (table, notes) = (SymbolTable::new(), LabelNotes::default());
        Self { options, table, reference: BTreeSet::new(), hypothesis: BTreeSet::new(), notes }
    }

    pub(super) fn reference(&mut self, slots: &ReferenceSlots) -> Vec<Vec<Vec<SymbolId>>> {
        let slots: Vec<Vec<Vec<SymbolId>>> =
            slots.iter().map(|slot| slot.iter().map(|phones| self.compared(phones)).collect()).collect();
        self.reference.extend(slots.iter().flatten().flatten());
        slots
    }

    fn hypothesis(&mut self, phones: &[String]) -> Vec<SymbolId> {
        let phones = self.compared(phones);
        self.hypothesis.extend(&phones);
        phones
    }

    fn compared(&mut self, phones: &[String]) -> Vec<SymbolId> {
        phones.iter().filter_map(|phone| self.label(phone)).collect()
    }

    /// The label that `phone` is compared as; none where it is dropped.
    pub(super) fn label(&mut self, phone: &str) -> Option<SymbolId> {
        let unstressed = self.options.unstressed(phone);
        self.notes.stress_stripped |= unstressed != phone;
        let plain = self.options.plain(phone);
        let label = match self.options.fold.get(plain) {
            Some(label) => {
                self.notes.folded.insert(plain.to_owned());
                label
            }
            None => plain,
        };
        if self.options.silence.contains(label) {
            self.notes.dropped.insert(label.to_owned());
            return None;
        }
        (!label.is_empty()).then(|| self.table.intern(label))
    }

    fn notes(self) -> LabelNotes {
        let names = |labels: &BTreeSet<SymbolId>, others: &BTreeSet<SymbolId>| {
            labels.difference(others).map(|&label| self.table.name(label).to_owned()).collect()
        };
        let only_reference = names(&self.reference, &self.hypothesis);
        let only_hypothesis = names(&self.hypothesis, &self.reference);
        LabelNotes { only_reference, only_hypothesis, ..self.notes }
    }
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
