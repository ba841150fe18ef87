//! Whether confidences can be believed: how near they are to the share that is right, and how well they tell right from wrong.
//!
//! In come references and hypotheses with a confidence for each label; [`judge`] says which labels are right, [`Calibration`] what the
//! confidences are worth.

use std::collections::BTreeMap;
use std::fmt;

use super::edit::{Edits, align_slots};
use super::score::{Labels, Reference, ScoreOptions, Transcript};
use crate::symbols::SymbolId;

/// Labels with their confidences (0 to 1), by name of utterance.
pub type Rated = BTreeMap<String, Vec<(String, f32)>>;

/// A decoded label of which the reference says whether it is right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// 0 to 1.
    pub confidence: f32,
    /// Whether the alignment of least edits puts it opposite the same label; what was inserted is wrong.
    pub is_right: bool,
}

/// Judges every label of `rated` that [`score`](super::score()) would count. Utterances without reference, or with words of unknown
/// pronunciation, are left out.
pub fn judge(references: &[Reference], rated: &Rated, options: &ScoreOptions) -> Vec<Judged> {
    let mut labels = Labels::new(options);
    let mut judged = vec![];
    for reference in references {
        let (Transcript::Slots(slots), Some(heard)) = (&reference.transcript, rated.get(&reference.name)) else {
            continue;
        };
        let slots = labels.reference(slots);
        let heard: Vec<(SymbolId, f32)> =
            heard.iter().filter_map(|(label, confidence)| Some((labels.label(label)?, *confidence))).collect();
        let heard_labels: Vec<SymbolId> = heard.iter().map(|(label, _)| *label).collect();
        let Edits { pairs, .. } = align_slots(&slots, &heard_labels);
        let right = pairs.iter().filter_map(|(said, heard)| heard.map(|heard| *said == Some(heard)));
        let judge = |(&(_, confidence), is_right)| Judged { confidence, is_right };
        judged.extend(heard.iter().zip(right).map(judge));
    }
    judged
}

/// Confidences from 0 to 1 are put into so many bins of equal width.
const BINS: usize = 10;

/// What confidences are worth. `Display` prints it.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Labels judged.
    pub labels: usize,
    /// How many of them are right.
    pub right: usize,
    /// Expected calibration error, 0 at best (Naeini, Cooper and Hauskrecht 2015), over ten bins b of equal width:
    ///
    /// ```text
    /// sum_b labels(b) / labels * |share right(b) - mean confidence(b)|
    /// ```
    pub ece: f64,
    /// How often a right label has the higher confidence than a wrong one, a tie counting half: the area under the curve of the true
    /// positive rate over the false one. None without both kinds.
    pub auc: Option<f64>,
    /// Labels, share right and mean confidence of each bin.
    bins: [Bin; BINS],
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Bin {
    labels: usize,
    right: usize,
    confidences: f64,
}

impl Calibration {
    /// The worth of the confidences of `judged`; none of no label.
    pub fn of(judged: &[Judged]) -> Option<Self> {
        let mut bins = [Bin::default(); BINS];
        for one in judged {
            let bin = &mut bins[((one.confidence * BINS as f32) as usize).min(BINS - 1)];
            bin.labels += 1;
            bin.right += usize::from(one.is_right);
            bin.confidences += f64::from(one.confidence);
        }
        let off = |bin: &Bin| (bin.right as f64 - bin.confidences).abs();
        let (labels, right) = (judged.len(), bins.iter().map(|bin| bin.right).sum());
        let ece = bins.iter().map(off).sum::<f64>() / labels as f64;
        (labels > 0).then(|| Self { labels, right, ece, auc: auc(judged), bins })
    }
}

/// The Mann-Whitney statistic: ranks of the right ones, those of equals averaged.
fn auc(judged: &[Judged]) -> Option<f64> {
    let mut sorted: Vec<Judged> = judged.to_vec();
    sorted.sort_by(|a, b| a.confidence.total_cmp(&b.confidence));
    let (mut before, mut wins) = (0, 0.0);
    for equals in sorted.chunk_by(|a, b| a.confidence == b.confidence) {
        let right = equals.iter().filter(|one| one.is_right).count();
        let wrong = equals.len() - right;
        wins += right as f64 * (before as f64 + 0.5 * wrong as f64);
        before += wrong;
    }
    let right = judged.len() - before;
    (right > 0 && before > 0).then(|| wins / (right as f64 * before as f64))
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (labels, right) = (self.labels, 100.0 * self.right as f64 / self.labels as f64);
        write!(f, "confidence: expected calibration error {:.3}, AUC of right from wrong ", self.ece)?;
        match self.auc {
            Some(auc) => writeln!(f, "{auc:.3} ({labels} labels, {right:.1} % right)")?,
            None => writeln!(f, "not defined: all {labels} labels are alike right or wrong")?,
        }
        for (bin, number) in self.bins.iter().zip(0..).filter(|(bin, _)| bin.labels > 0) {
            let (low, high) = (f64::from(number) / BINS as f64, f64::from(number + 1) / BINS as f64);
            let (mean, right) = (bin.confidences / bin.labels as f64, bin.right as f64 / bin.labels as f64);
            writeln!(f, "  {low:.1} to {high:.1}  {:>6} labels  mean {mean:.3}  right {right:.3}", bin.labels)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn judged(confidences: &[(f32, bool)]) -> Vec<Judged> {
        confidences.iter().map(|&(confidence, is_right)| Judged { confidence, is_right }).collect()
    }

    #[test]
    fn labels_are_right_where_the_alignment_has_the_same_opposite() {
        let said = |name: &str, labels: &str| {
            let labels: Vec<&str> = labels.split(' ').collect();
            Reference { name: name.into(), speaker: None, transcript: Transcript::phones(&labels) }
        };
        let rate = |labels: &str| labels.split(' ').zip(1..).map(|(l, n)| (l.to_owned(), n as f32 / 10.0)).collect();
        let references = [said("a", "HH AY1 Y UW"), said("b", "N OW"), said("no hypothesis", "Y")];
        let rated = Rated::from([
            ("a".to_owned(), rate("SIL HH EY Y UW AH")),
            ("b".to_owned(), rate("N OW SIL")),
            ("no reference".to_owned(), rate("N")),
        ]);
        let found = judge(&references, &rated, &ScoreOptions::default());
        let expected = [(0.2, true), (0.3, false), (0.4, true), (0.5, true), (0.6, false), (0.1, true), (0.2, true)];
        assert_eq!(found, judged(&expected));
    }

    #[test]
    fn the_error_is_the_distance_of_the_bins() {
        let found = judged(&[(0.95, true), (1.0, false), (0.25, false), (0.22, true), (0.0, false)]);
        let calibration = Calibration::of(&found).unwrap();
        let expected = ((1.0f64 - 1.95).abs() + (1.0f64 - 0.47).abs() + 0.0) / 5.0;
        assert!((calibration.ece - expected).abs() < 1e-6, "{calibration:?}");
        assert_eq!((calibration.labels, calibration.right), (5, 2));
        assert!(
            calibration.to_string().contains("0.9 to 1.0       2 labels  mean 0.975  right 0.500"),
            "{calibration}"
        );
        assert_eq!(Calibration::of(&[]), None);
        assert_eq!(Calibration::of(&judged(&[(0.5, true)])).unwrap().auc, None);
    }

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        let mut random = Random::new(4);
        for _ in 0..100 {
            let found: Vec<Judged> = (0..30)
                .map(|_| Judged { confidence: random.below(8) as f32 / 8.0, is_right: random.below(2) == 0 })
                .collect();
            let mut wins = vec![];
            for right in found.iter().filter(|one| one.is_right) {
                for wrong in found.iter().filter(|one| !one.is_right) {
                    let is_tie = right.confidence == wrong.confidence;
                    wins.push(if is_tie { 0.5 } else { f64::from(u8::from(right.confidence > wrong.confidence)) });
                }
            }
            let expected = (!wins.is_empty()).then(|| wins.iter().sum::<f64>() / wins.len() as f64);
            let found = Calibration::of(&found).unwrap().auc;
            assert!(found.zip(expected).is_none_or(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
            assert_eq!(found.is_some(), expected.is_some());
        }
    }
}
