//! What scoring found, and how it reads.
//!
//! Comes from [`score`](super::score()); goes to the user as text, or into [`compare`] with the report of a second system.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::bootstrap::{Interval, difference_interval};
use super::confusions::{Confusions, EditKind};
use super::edit::EditCounts;
use super::score::{ScoreOptions, Unit};
use crate::pinyin::Tones;
use crate::{Error, Result};

/// Names listed in a line of the report before the rest is only counted; the fields hold them all.
const LISTED: usize = 20;

/// The score of a set of hypotheses. `Display` prints it in full.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreReport {
    /// Edits of all scored utterances: the phone or word error rate is `total.rate()`.
    pub total: EditCounts,
    /// 95 % interval of the rate; none with fewer than two speakers.
    pub interval: Option<Interval>,
    /// By speaker; by utterance where no speaker is known.
    pub speakers: BTreeMap<String, SpeakerScore>,
    /// Whether no speaker is known, so that utterances stand in their place.
    pub by_utterance: bool,
    /// Every pair of labels.
    pub confusions: Confusions<String>,
    /// Utterances without a hypothesis: their labels count as deleted.
    pub missing: Vec<String>,
    /// Reference phones, or words, of the missing utterances.
    pub missing_phones: usize,
    /// Hypotheses without a reference: they do not count.
    pub extra: Vec<String>,
    /// Utterances that are not scored, with their words of unknown pronunciation.
    pub left_out: Vec<(String, Vec<String>)>,
    /// What was done to the labels.
    pub labels: LabelNotes,
    /// How it was scored.
    pub options: ScoreOptions,
}

/// The part of one speaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpeakerScore {
    /// Edits of the speaker's utterances.
    pub counts: EditCounts,
    /// Utterances scored.
    pub utterances: usize,
}

/// What was done to the labels, and what looks odd about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelNotes {
    /// Whether a stress digit was met and stripped.
    pub stress_stripped: bool,
    /// Silence labels that were met and dropped.
    pub dropped: BTreeSet<String>,
    /// Labels that were met and folded.
    pub folded: BTreeSet<String>,
    /// Labels that no hypothesis has.
    pub only_reference: BTreeSet<String>,
    /// Labels that no reference has.
    pub only_hypothesis: BTreeSet<String>,
}

impl ScoreReport {
    /// A report on nothing yet.
    pub(super) fn new(options: &ScoreOptions) -> Self {
        Self {
            total: EditCounts::default(),
            interval: None,
            speakers: BTreeMap::new(),
            by_utterance: true,
            confusions: Confusions::default(),
            missing: Vec::new(),
            missing_phones: 0,
            extra: Vec::new(),
            left_out: Vec::new(),
            labels: LabelNotes::default(),
            options: options.clone(),
        }
    }

    /// Utterances scored.
    pub fn utterances(&self) -> usize {
        self.speakers.values().map(|speaker| speaker.utterances).sum()
    }

    /// One line per speaker, worst first: name, rate, S, D, I, N, utterances, with a heading and tabs between.
    pub fn speaker_table(&self) -> String {
        let mut lines = vec![format!("{}\t{} %\tS\tD\tI\tN\tutterances", self.unit(), self.options.unit.rate())];
        for (name, speaker) in self.ranked().into_iter().rev() {
            let EditCounts { substitutions, deletions, insertions, reference } = speaker.counts;
            let (rate, utterances) = (100.0 * speaker.counts.rate(), speaker.utterances);
            lines.push(format!(
                "{name}\t{rate:.2}\t{substitutions}\t{deletions}\t{insertions}\t{reference}\t{utterances}"
            ));
        }
        lines.join("\n") + "\n"
    }

    /// Speakers with reference phones, from the lowest rate to the highest, equal ones by name.
    fn ranked(&self) -> Vec<(&String, &SpeakerScore)> {
        let mut ranked: Vec<_> = self.speakers.iter().filter(|(_, speaker)| speaker.counts.reference > 0).collect();
        ranked.sort_by(|(_, a), (_, b)| a.counts.rate().total_cmp(&b.counts.rate()));
        ranked
    }

    /// What the interval is drawn over.
    fn unit(&self) -> &'static str {
        if self.by_utterance { "utterance" } else { "speaker" }
    }

    fn write_rate(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EditCounts { substitutions, deletions, insertions, reference } = self.total;
        let share = |count: usize| 100.0 * count as f64 / reference as f64;
        let (unit, speakers, utterances) = (self.unit(), self.speakers.len(), self.utterances());
        write!(f, "{} {:.2} %", self.options.unit.rate(), share(self.total.errors()))?;
        match self.interval {
            Some(Interval { low, high }) => {
                let bootstrap = self.options.bootstrap;
                let (low, high, draws, seed) = (100.0 * low, 100.0 * high, bootstrap.resamples, bootstrap.seed);
                writeln!(
                    f,
                    ", 95 % interval {low:.2} to {high:.2} ({speakers} {unit}s drawn {draws} times, seed {seed})"
                )?;
            }
            None => writeln!(f, ", no interval: it needs two {unit}s")?,
        }
        let [s, d, i] = [substitutions, deletions, insertions].map(|count| format!("{count} ({:.2} %)", share(count)));
        writeln!(f, "S {s}  D {d}  I {i}  N {reference}")?;
        if self.by_utterance {
            write!(f, "{utterances} utterances, speakers not known")?;
        } else {
            write!(f, "{utterances} utterances, {speakers} speakers")?;
        }
        self.write_spread(f)
    }

    fn write_spread(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranked = self.ranked();
        let [(lowest, low), .., (highest, high)] = ranked.as_slice() else { return writeln!(f) };
        let rate = |speaker: &SpeakerScore| 100.0 * speaker.counts.rate();
        let middle = ranked.len() / 2;
        let median = (rate(ranked[middle].1) + rate(ranked[(ranked.len() - 1) / 2].1)) / 2.0;
        let (unit, rate_name, low, high) = (self.unit(), self.options.unit.rate(), rate(low), rate(high));
        writeln!(
            f,
            "; {rate_name} by {unit}: lowest {low:.2} % ({lowest}), median {median:.2} %, highest {high:.2} % ({highest})"
        )
    }

    fn write_confusions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.confusions.by_label();
        let kinds = [
            ("substitutions", EditKind::Substitution),
            ("deletions", EditKind::Deletion),
            ("insertions", EditKind::Insertion),
        ];
        for (title, kind) in kinds {
            let top = self.confusions.top(kind, self.options.top_confusions);
            if top.is_empty() {
                continue;
            }
            writeln!(f, "most frequent {title}:")?;
            for ((reference, hypothesis), count) in top {
                let error = [reference.as_deref(), hypothesis.as_deref()].map(|label| label.unwrap_or("-")).join(" > ");
                match reference.as_ref().and_then(|label| labels.get_key_value(label)) {
                    Some((label, counts)) => {
                        let share = 100.0 * count as f64 / counts.reference as f64;
                        writeln!(f, "  {error:<12} {count:>6}  {share:>5.1} % of {} {label}", counts.reference)?;
                    }
                    None => writeln!(f, "  {error:<12} {count:>6}")?,
                }
            }
        }
        Ok(())
    }

    fn write_label_notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notes = &self.labels;
        if notes.stress_stripped {
            writeln!(f, "stress digits of ARPABET vowels stripped")?;
        }
        if self.options.tones == Tones::Dropped {
            writeln!(f, "tones of Mandarin finals dropped")?;
        }
        if !self.options.fold.is_empty() {
            let fold = |(from, to): (&String, &String)| {
                let to = if to.is_empty() { "nothing" } else { to };
                let unseen = if notes.folded.contains(from) { "" } else { " (not met)" };
                format!("{from} to {to}{unseen}")
            };
            writeln!(f, "folded: {}", self.options.fold.iter().map(fold).collect::<Vec<_>>().join(", "))?;
        }
        let sets = [
            ("dropped as silence", &notes.dropped),
            ("labels in the reference only", &notes.only_reference),
            ("labels in the hypotheses only", &notes.only_hypothesis),
        ];
        for (title, labels) in sets.into_iter().filter(|(_, labels)| !labels.is_empty()) {
            writeln!(f, "{title}: {}", labels.iter().map(String::as_str).collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }

    fn write_utterance_notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scored = self.utterances();
        if !self.missing.is_empty() {
            let (count, phones, all) = (self.missing.len(), self.missing_phones, self.total.reference);
            let noun = self.options.unit.noun();
            write!(
                f,
                "no hypothesis, counted as deleted (utterances: {count} of {scored}, {noun}s: {phones} of {all})"
            )?;
            writeln!(f, ": {}", listed(&self.missing))?;
        }
        if !self.extra.is_empty() {
            writeln!(f, "no reference, not counted (hypotheses: {}): {}", self.extra.len(), listed(&self.extra))?;
        }
        if !self.left_out.is_empty() {
            let left_out = |(name, words): &(String, Vec<String>)| format!("{name} ({})", words.join(" "));
            let names: Vec<String> = self.left_out.iter().map(left_out).collect();
            let (count, all) = (names.len(), names.len() + scored);
            write!(f, "words of unknown pronunciation, left out (utterances: {count} of {all})")?;
            writeln!(f, ": {}", listed(&names))?;
        }
        Ok(())
    }
}

impl fmt::Display for ScoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_rate(f)?;
        self.write_confusions(f)?;
        self.write_label_notes(f)?;
        self.write_utterance_notes(f)
    }
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(LISTED)].join(", ");
    if names.len() > LISTED { format!("{first}, and {} more", names.len() - LISTED) } else { first }
}

/// Two systems on the same references. `Display` prints a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is counted.
    pub unit: Unit,
    /// Error rate of the first.
    pub first: f64,
    /// Error rate of the second.
    pub second: f64,
    /// Paired 95 % interval of `first - second`; none with fewer than two speakers.
    pub interval: Option<Interval>,
}

/// Compares two reports on the same references, speakers being drawn for both alike. Below zero, the first is better.
///
/// # Errors
/// When the reports are on other speakers or were scored in another way.
pub fn compare(first: &ScoreReport, second: &ScoreReport) -> Result<Comparison> {
    let utterances = |report: &ScoreReport| -> Vec<(String, usize)> {
        report.speakers.iter().map(|(name, speaker)| (name.clone(), speaker.utterances)).collect()
    };
    if utterances(first) != utterances(second) || first.options != second.options {
        return Err(Error::Other(
            "two scores can be compared only on the same utterances with the same options".into(),
        ));
    }
    let pairs: Vec<_> =
        first.speakers.values().zip(second.speakers.values()).map(|(a, b)| (a.counts, b.counts)).collect();
    let interval = difference_interval(&pairs, &first.options.bootstrap);
    Ok(Comparison { unit: first.options.unit, first: first.total.rate(), second: second.total.rate(), interval })
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_difference(f, self.unit.rate(), [self.first, self.second], self.interval)
    }
}

/// A line on two systems' rates, and the paired interval of their difference.
pub(super) fn write_difference(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    rates: [f64; 2],
    interval: Option<Interval>,
) -> fmt::Result {
    let [first, second] = rates.map(|rate| 100.0 * rate);
    write!(f, "{what} {first:.2} % against {second:.2} %: {:+.2} points", first - second)?;
    let Some(Interval { low, high }) = interval else { return writeln!(f, ", no interval") };
    let verdict = if low > 0.0 || high < 0.0 { "is not in it" } else { "is in it: it may be chance" };
    writeln!(f, ", paired 95 % interval {:+.2} to {:+.2}; zero {verdict}", 100.0 * low, 100.0 * high)
}
