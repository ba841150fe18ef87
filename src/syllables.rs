//! Phones of Mandarin as syllables in pinyin, with their times.
//!
//! A tier of decoded phones comes in, a tier of syllables goes out: an initial and the final after it are one, and what is no
//! syllable (silence, and what a search without the graph makes) stays as it is.

use crate::alignment::{Segment, Tier};
use crate::pinyin::{Marks, Syllable, is_final, without_tone};

/// Name of the tier.
pub const SYLLABLES: &str = "syllables";

/// The syllables of `phones`, printed with `marks`.
pub fn syllables(phones: &Tier, marks: Marks) -> Tier {
    let (mut segments, mut rest) = (Vec::new(), phones.segments.as_slice());
    while let Some((first, after)) = rest.split_first() {
        let joined = after.first().and_then(|second| joined(first, second, marks));
        rest = if joined.is_some() { &after[1..] } else { after };
        segments.push(joined.unwrap_or_else(|| first.clone()));
    }
    Tier { name: SYLLABLES.into(), segments }
}

/// An initial and a final that follow each other as one segment, as sure as the less sure of them.
fn joined(first: &Segment, second: &Segment, marks: Marks) -> Option<Segment> {
    let syllable = Syllable::of_phones(&first.label, &second.label)?;
    let confidence = first.confidence.zip(second.confidence).map(|(first, second)| first.min(second));
    Some(Segment { label: syllable.spelled(marks), start: first.start, end: second.end, confidence })
}

/// `phones` without their tones.
pub fn toneless(phones: &Tier) -> Tier {
    let plain = |segment: &Segment| Segment { label: without_tone(&segment.label).to_owned(), ..segment.clone() };
    Tier { name: phones.name.clone(), segments: phones.segments.iter().map(plain).collect() }
}

/// Whether `names` are phones of Mandarin: some of them are finals, as all have of its models.
pub fn are_mandarin<'a>(names: impl IntoIterator<Item = &'a String>) -> bool {
    names.into_iter().any(|name| is_final(without_tone(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(labels: &str) -> Tier {
        let segment = |(index, label): (u64, &str)| Segment {
            label: label.to_owned(),
            start: 10 * index,
            end: 10 * index + 10,
            confidence: Some(1.0 / (index + 1) as f32),
        };
        Tier { name: "phones".into(), segments: (0..).zip(labels.split(' ')).map(segment).collect() }
    }

    fn rows(tier: &Tier) -> Vec<(&str, u64, u64)> {
        tier.segments.iter().map(|segment| (segment.label.as_str(), segment.start, segment.end)).collect()
    }

    #[test]
    fn an_initial_and_a_final_are_a_syllable() {
        let phones = tier("sil n i3 h ao3 sil ee er5 sil");
        let digits = syllables(&phones, Marks::Digits);
        let expected =
            [("sil", 0, 10), ("ni3", 10, 30), ("hao3", 30, 50), ("sil", 50, 60), ("er5", 60, 80), ("sil", 80, 90)];
        assert_eq!((rows(&digits), digits.name.as_str()), (expected.to_vec(), "syllables"));
        assert_eq!(digits.segments[1].confidence, Some(1.0 / 3.0));
        assert_eq!(rows(&syllables(&phones, Marks::Diacritics))[1].0, "nǐ");
        assert_eq!(rows(&syllables(&phones, Marks::None))[2].0, "hao");
        assert_eq!(rows(&syllables(&toneless(&phones), Marks::Digits))[4].0, "er");
    }

    #[test]
    fn what_is_no_syllable_stays() {
        let phones = tier("b ueng1 zh sil a4 n n v");
        let labels: Vec<String> = syllables(&phones, Marks::Digits).segments.into_iter().map(|one| one.label).collect();
        assert_eq!(labels, ["b", "ueng1", "zh", "sil", "a4", "n", "nü"]);
        assert!(
            are_mandarin(&["sil".to_owned(), "iong2".into()])
                && !are_mandarin(&["SIL".to_owned(), "AA".into(), "er2x".into()])
        );
    }
}
