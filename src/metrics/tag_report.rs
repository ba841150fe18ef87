//! How the score of tags reads.

use std::fmt;

use super::bootstrap::Interval;
use super::confusions::EditKind;
use super::report::write_difference;
use super::tags::{EntityCounts, EntityReport, TagComparison, TagReport};

impl fmt::Display for TagReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_accuracy(f)?;
        if let Some(entities) = &self.entities {
            self.write_entities(entities, f)?;
        }
        self.write_confusions(f)?;
        let sets = [("reference", &self.only_reference), ("hypothesis", &self.only_hypothesis)];
        for (side, tags) in sets.into_iter().filter(|(_, tags)| !tags.is_empty()) {
            writeln!(f, "tags in the {side} only: {}", tags.iter().map(String::as_str).collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }
}

impl TagReport {
    fn write_accuracy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tokens, right) = (self.total.tokens, self.total.right);
        write!(f, "accuracy {:.2} %", percent(right, tokens))?;
        self.write_interval(self.accuracy_interval, f)?;
        writeln!(f, "tokens {tokens}, right {right}")?;
        let flawless = self.sequences.iter().filter(|counts| counts.right == counts.tokens).count();
        let all = self.sequences.len();
        writeln!(f, "sequences {all}, without error {flawless} ({:.2} %)", percent(flawless, all))
    }

    fn write_interval(&self, interval: Option<Interval>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Interval { low, high }) = interval else {
            return writeln!(f, ", no interval: it needs two sequences");
        };
        let (low, high, drawn) = (100.0 * low, 100.0 * high, self.options.bootstrap);
        let (sequences, draws, seed) = (self.sequences.len(), drawn.resamples, drawn.seed);
        writeln!(f, ", 95 % interval {low:.2} to {high:.2} ({sequences} sequences drawn {draws} times, seed {seed})")
    }

    fn write_entities(&self, entities: &EntityReport, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entity F1 {} %", rate(self.total.entities.f1()))?;
        self.write_interval(entities.f1_interval, f)?;
        let width = entities.types.keys().map(|kind| kind.chars().count()).max().unwrap_or(0).max("all types".len());
        writeln!(
            f,
            "  {:<width$} {:>11} {:>9} {:>7} {:>9} {:>10} {:>6}",
            "", "precision %", "recall %", "F1 %", "reference", "hypothesis", "right"
        )?;
        let mut row = |kind: &str, counts: &EntityCounts| {
            let [precision, recall, f1] = [counts.precision(), counts.recall(), counts.f1()].map(rate);
            let EntityCounts { right, reference, hypothesis } = counts;
            writeln!(
                f,
                "  {kind:<width$} {precision:>11} {recall:>9} {f1:>7} {reference:>9} {hypothesis:>10} {right:>6}"
            )
        };
        row("all types", &self.total.entities)?;
        entities.types.iter().try_for_each(|(kind, counts)| row(kind, counts))?;
        let [reference, hypothesis] = entities.stray;
        if reference + hypothesis > 0 {
            writeln!(
                f,
                "tokens I- that continue no entity, not counted: reference {reference}, hypothesis {hypothesis}"
            )?;
        }
        if !entities.other_tags.is_empty() {
            let tags: Vec<&str> = entities.other_tags.iter().map(String::as_str).collect();
            writeln!(f, "neither O, B- nor I-, taken as O for entities: {}", tags.join(" "))?;
        }
        Ok(())
    }

    fn write_confusions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top = self.confusions.top(EditKind::Substitution, self.options.top_confusions);
        if top.is_empty() {
            return Ok(());
        }
        let tags = self.confusions.by_label();
        writeln!(f, "most frequent confusions, reference > hypothesis:")?;
        for (pair, count) in top {
            let (Some(reference), Some(hypothesis)) = pair else { continue };
            let all = tags.get(&reference).map_or(0, |counts| counts.reference);
            let error = format!("{reference} > {hypothesis}");
            writeln!(f, "  {error:<24} {count:>6}  {:>5.1} % of {all} {reference}", percent(count, all))?;
        }
        Ok(())
    }
}

impl fmt::Display for TagComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_difference(f, "accuracy", self.accuracy, self.accuracy_interval)?;
        self.f1.map_or(Ok(()), |f1| write_difference(f, "entity F1", f1, self.f1_interval))
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// A rate in percent, a dash where there is none.
fn rate(rate: Option<f64>) -> String {
    rate.map_or("-".into(), |rate| format!("{:.2}", 100.0 * rate))
}
