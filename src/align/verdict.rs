//! Whether transcript and recording agree: a pure function of how well the aligned phones fit, and of how long they are.
//!
//! The thresholds were set on training data; `recipes/english/align.sh` measures them.

use std::fmt;
use std::ops::Range;

use super::fit::{Fit, Role};
use crate::Error;

/// What became of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Transcript and recording agree.
    Aligned,
    /// They agree, once the search had a wider beam.
    Widened {
        /// The beam that did; infinity is exact search.
        beam: f32,
    },
    /// It is aligned, and something is wrong.
    Doubtful(Doubt),
    /// The recording is too short for what it is to say.
    TooShort {
        /// Search frames that the transcript takes at least.
        needed: usize,
        /// Search frames of the recording.
        available: usize,
    },
    /// The recording is shorter than one frame.
    NoFrame {
        /// Samples of the recording.
        samples: u64,
        /// Samples of a frame.
        needed: u32,
    },
    /// There is no alignment.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// In one word, as the summary has it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::Widened { .. } => "widened",
            Self::Doubtful(_) => "doubtful",
            Self::TooShort { .. } | Self::NoFrame { .. } => "too-short",
            Self::Failed { .. } => "failed",
        }
    }

    /// What an error of aligning means.
    pub fn of_error(error: &Error) -> Self {
        match *error {
            Error::NoPath { frames, need_at_least } if frames < need_at_least => {
                Self::TooShort { needed: need_at_least, available: frames }
            }
            Error::TooShort { samples, needed } => Self::NoFrame { samples, needed },
            _ => Self::Failed { reason: error.to_string() },
        }
    }

    /// What there is to say of it beside its name; empty when all is well.
    pub fn detail(&self) -> String {
        match self {
            Self::Aligned => String::new(),
            Self::Widened { beam } if beam.is_finite() => format!("with a beam of {beam}"),
            Self::Widened { .. } => "without a beam".into(),
            Self::Doubtful(doubt) => doubt.to_string(),
            Self::TooShort { needed, available } => {
                format!("the transcript takes {needed} search frames at least, the recording has {available}")
            }
            &Self::NoFrame { samples, needed } => Error::TooShort { samples, needed }.to_string(),
            Self::Failed { reason } => reason.clone(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail() {
            nothing if nothing.is_empty() => f.write_str(self.name()),
            detail => write!(f, "{}: {detail}", self.name()),
        }
    }
}

/// A stretch in which transcript and recording seem to disagree.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// Its begin in seconds.
    pub start_seconds: f64,
    /// Its end in seconds.
    pub end_seconds: f64,
    /// What is aligned there: words, or a phone.
    pub what: String,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What makes an alignment doubtful.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// The words of the stretch fit worse than they may.
    Misfit {
        /// [`mean_ratio`] of its phones.
        ratio: f64,
        /// The least that is not in doubt.
        least: f64,
    },
    /// A phone lasts longer than phones do.
    Stretched {
        /// The most that is not in doubt.
        most_seconds: f64,
    },
    /// A pause holds speech that the transcript does not have.
    Unsaid {
        /// [`Fit::ratio`] of the pause.
        ratio: f64,
        /// The least that is not in doubt.
        least: f64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start_seconds: start, end_seconds: end, what, reason } = self;
        write!(f, "from {start:.2} to {end:.2} s ")?;
        match reason {
            Reason::Misfit { ratio, least } => {
                write!(f, "the recording does not sound like '{what}' (fit {ratio:.2}, expected {least:.2} or more)")
            }
            Reason::Stretched { most_seconds } => {
                write!(f, "'{what}' lasts {:.2} s, expected {most_seconds:.2} at most", end - start)
            }
            Reason::Unsaid { ratio, least } => {
                let found = format!("fit of a pause {ratio:.2}, expected {least:.2} or more");
                write!(f, "something is said that the transcript does not have ({found})")
            }
        }
    }
}

/// From where on an alignment is in doubt. Ratios are those of [`Fit::ratio`], natural log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The least mean ratio of all phones of an utterance.
    pub utterance: f64,
    /// The least mean ratio of the phones of a few words in a row.
    pub words: f64,
    /// Phones that these words have at least.
    pub words_phones: usize,
    /// The least ratio of a pause of [`Thresholds::pause_seconds`] or more.
    pub pause: f64,
    /// The shortest pause that is looked at.
    pub pause_seconds: f64,
    /// The longest that a phone may last.
    pub phone_seconds: f64,
}

impl Default for Thresholds {
    /// As set for the built-in model on training data, see `recipes/english/README.md`.
    fn default() -> Self {
        Self { utterance: -1.9, words: -2.8, words_phones: 8, pause: -2.1, pause_seconds: 0.6, phone_seconds: 1.5 }
    }
}

/// No phone counts as worse than this: one that is missing shall not outweigh ten that are there.
const FLOOR: f64 = -5.0;

/// The mean ratio of the phones among `fits`, fillers and pauses aside; none when there is no phone.
///
/// ```text
/// mean(fits) = 1/n sum over its n phones of max(ratio, -5)
/// ```
pub fn mean_ratio<'a>(fits: impl IntoIterator<Item = &'a Fit>) -> Option<f64> {
    let phones = fits.into_iter().filter(|fit| fit.role == Role::Phone);
    let (sum, count) = phones.fold((0.0, 0), |(sum, count), fit| (sum + fit.ratio.max(FLOOR), count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// What is in doubt about the alignment `fits`, and which of them it is about: the first of these that holds.
///
/// ```text
/// mean(all)                              < utterance
/// min over words in a row of mean(words) < words          (as many words as have words_phones phones)
/// min over longer pauses of ratio(pause) < pause
/// max over phones of seconds(phone)      > phone_seconds
/// ```
pub fn doubt(fits: &[Fit], frame_seconds: f64, limits: &Thresholds) -> Option<(Reason, Range<usize>)> {
    let seconds = |fit: &Fit| fit.frames() as f64 * frame_seconds;
    let misfit = |(ratio, range), least| (ratio < least).then_some((Reason::Misfit { ratio, least }, range));
    if let Some(all) = mean_ratio(fits).and_then(|ratio| misfit((ratio, 0..fits.len()), limits.utterance)) {
        return Some(all);
    }
    if let Some(words) = worst_words(fits, limits.words_phones).and_then(|worst| misfit(worst, limits.words)) {
        return Some(words);
    }
    let is_long = |fit: &Fit| fit.role == Role::Pause && seconds(fit) >= limits.pause_seconds;
    let pauses = fits.iter().enumerate().filter(|(_, fit)| is_long(fit));
    let unsaid = pauses.min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio)).filter(|(_, fit)| fit.ratio < limits.pause);
    let phones = fits.iter().enumerate().filter(|(_, fit)| fit.role == Role::Phone);
    let longest = phones.max_by_key(|(_, fit)| fit.frames()).filter(|(_, fit)| seconds(fit) > limits.phone_seconds);
    match (unsaid, longest) {
        (Some((at, fit)), _) => Some((Reason::Unsaid { ratio: fit.ratio, least: limits.pause }, at..at + 1)),
        (None, Some((at, _))) => Some((Reason::Stretched { most_seconds: limits.phone_seconds }, at..at + 1)),
        (None, None) => None,
    }
}

/// The words in a row with the least mean ratio, of all rows that have `least` phones and are no longer than they must be.
fn worst_words(fits: &[Fit], least: usize) -> Option<(f64, Range<usize>)> {
    let phones: Vec<usize> = (0..fits.len()).filter(|&at| fits[at].role == Role::Phone).collect();
    let begins = |place: usize| place == 0 || fits[phones[place]].item != fits[phones[place - 1]].item;
    let row = |first: usize| {
        let end = (first + least.max(1)..=phones.len()).find(|&end| end == phones.len() || begins(end))?;
        let range = phones[first]..phones[end - 1] + 1;
        Some((mean_ratio(&fits[range.clone()])?, range))
    };
    let rows = (0..phones.len()).filter(|&place| begins(place)).filter_map(row);
    rows.min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::SymbolId;

    const FRAME_SECONDS: f64 = 0.03;
    const LIMITS: Thresholds = Thresholds {
        utterance: -1.0,
        words: -2.0,
        words_phones: 3,
        pause: -2.0,
        pause_seconds: 0.3,
        phone_seconds: 1.5,
    };

    /// `(role, word, frames, ratio)` one after the other.
    fn fits(rows: &[(Role, Option<usize>, usize, f64)]) -> Vec<Fit> {
        let mut start = 0;
        let fit = |&(role, item, frames, ratio): &(Role, Option<usize>, usize, f64)| {
            start += frames;
            Fit { symbol: SymbolId(0), role, item, start: start - frames, end: start, ratio }
        };
        rows.iter().map(fit).collect()
    }

    /// Words of two phones with these ratios.
    fn words(ratios: &[f64]) -> Vec<Fit> {
        let phones = |(item, &ratio): (usize, &f64)| [(Role::Phone, Some(item), 3, ratio); 2];
        fits(&ratios.iter().enumerate().flat_map(phones).collect::<Vec<_>>())
    }

    fn found(fits: &[Fit]) -> Option<(Reason, Range<usize>)> {
        doubt(fits, FRAME_SECONDS, &LIMITS)
    }

    #[test]
    fn what_fits_is_not_in_doubt() {
        assert_eq!(found(&words(&[-0.1, -0.9, -1.5, 0.0])), None);
        assert_eq!(found(&[]), None);
        // A word alone is too little to go by, and so is what a filler took.
        assert_eq!(found(&words(&[0.0, -3.4, 0.0, 0.0])), None);
        assert_eq!(found(&fits(&[(Role::Filler, Some(0), 90, -9.0), (Role::Phone, Some(1), 4, -0.5)])), None);
    }

    #[test]
    fn all_of_it_or_words_in_a_row_may_not_fit() {
        let all = found(&words(&[-1.5, -0.5, -1.5])).unwrap();
        assert_eq!(all.1, 0..6);
        assert!(matches!(all.0, Reason::Misfit { ratio, least: -1.0 } if (ratio + 7.0 / 6.0).abs() < 1e-12));
        let (reason, range) = found(&words(&[0.0, 0.0, -2.5, -3.0, 0.0, 0.0, 0.0, 0.0])).unwrap();
        assert_eq!((reason, range), (Reason::Misfit { ratio: -2.75, least: -2.0 }, 4..8));
    }

    #[test]
    fn one_phone_does_not_outweigh_the_others() {
        let mut one = words(&[-0.5; 5]);
        one[3].ratio = f64::NEG_INFINITY;
        assert_eq!(mean_ratio(&one), Some(-0.95));
        assert_eq!(found(&one), None);
    }

    #[test]
    fn a_pause_may_hold_speech_and_a_phone_last_too_long() {
        let said = |frames, ratio| fits(&[(Role::Phone, Some(0), 3, 0.0), (Role::Pause, None, frames, ratio)]);
        assert_eq!(found(&said(10, -2.5)).unwrap(), (Reason::Unsaid { ratio: -2.5, least: -2.0 }, 1..2));
        assert_eq!((found(&said(9, -2.5)), found(&said(1000, -1.9))), (None, None));
        let lasts = |frames| fits(&[(Role::Pause, None, 900, 0.0), (Role::Phone, Some(0), frames, 0.0)]);
        assert_eq!(found(&lasts(51)).unwrap(), (Reason::Stretched { most_seconds: 1.5 }, 1..2));
        assert_eq!(found(&lasts(50)), None);
    }

    #[test]
    fn errors_have_verdicts() {
        let short = Verdict::of_error(&Error::NoPath { frames: 66, need_at_least: 180 });
        assert_eq!(short, Verdict::TooShort { needed: 180, available: 66 });
        let told = "too-short: the transcript takes 180 search frames at least, the recording has 66";
        assert_eq!(short.to_string(), told);
        let none = Verdict::of_error(&Error::TooShort { samples: 100, needed: 400 });
        assert_eq!(none.to_string(), "too-short: only 100 samples: at least 400, one frame, are needed");
        assert_eq!(Verdict::of_error(&Error::Other("why".into())).to_string(), "failed: why");
        let doubt = Doubt {
            start_seconds: 1.0,
            end_seconds: 3.5,
            what: "AH".into(),
            reason: Reason::Stretched { most_seconds: 1.5 },
        };
        assert_eq!(
            Verdict::Doubtful(doubt).to_string(),
            "doubtful: from 1.00 to 3.50 s 'AH' lasts 2.50 s, expected 1.50 at most"
        );
    }
}
