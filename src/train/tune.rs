//! Choosing scales and penalty on development data: coordinate descent, each point one decoding of the whole set.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Event, Progress, Words};
use crate::bundle::{Bundle, SearchSettings};
use crate::decode::{DecodeOptions, Method, search_model};
use crate::emission::LogPosteriors;
use crate::graph::GraphSpec;
use crate::metrics::{EditCounts, Hypotheses, Reference, ScoreOptions, Transcript, score};
use crate::parallel::in_order;
use crate::search::{SearchModel, Searcher};
use crate::{Error, Result};

/// One development utterance: what the network says of it, and what was said.
#[derive(Debug)]
pub struct Development {
    /// Its name.
    pub name: String,
    /// The network's output, `[T x P]`.
    pub posteriors: LogPosteriors,
    /// Pronunciations of each word.
    pub words: Words,
}

/// What tuning found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuned {
    /// The best settings.
    pub settings: SearchSettings,
    /// Errors with them on the development set.
    pub errors: EditCounts,
}

/// Settings that are given, and so not tuned.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Held {
    /// Weight of log-priors.
    pub prior_scale: Option<f32>,
    /// Weight of the phone n-gram.
    pub lm_scale: Option<f32>,
}

impl Held {
    /// Whether what is held can be: better said before a network runs over the development set.
    ///
    /// # Errors
    /// [`Error::Setting`] naming what is out of range.
    pub fn check(self) -> Result<()> {
        self.of(SearchSettings::default()).check()
    }

    /// Where the search begins: at `settings`, with the default for what no move gets away from, and with what is held.
    fn start(self, settings: SearchSettings) -> SearchSettings {
        let usual = SearchSettings::default();
        let near = |value: f32, least: f32, usual: f32| if (least..=FAR).contains(&value) { value } else { usual };
        self.of(SearchSettings {
            acoustic_scale: near(settings.acoustic_scale, 1.0 / FAR, usual.acoustic_scale),
            prior_scale: near(settings.prior_scale, 0.0, usual.prior_scale),
            lm_scale: near(settings.lm_scale, 1.0 / FAR, usual.lm_scale),
            insertion_penalty: near(settings.insertion_penalty, -FAR, usual.insertion_penalty),
            beam: WIDE_BEAM,
            ..settings
        })
    }

    fn of(self, settings: SearchSettings) -> SearchSettings {
        SearchSettings {
            prior_scale: self.prior_scale.unwrap_or(settings.prior_scale),
            lm_scale: self.lm_scale.unwrap_or(settings.lm_scale),
            ..settings
        }
    }

    /// The moves that change nothing that is held.
    fn moves(self) -> Vec<Move> {
        let spares_held = |change: &Move| {
            let mut moved = self.of(SearchSettings::default());
            change(&mut moved, 1.0);
            moved == self.of(moved)
        };
        MOVES.into_iter().filter(spares_held).collect()
    }
}

/// One direction of the search: how a setting moves by `steps`.
pub(super) type Move = fn(&mut SearchSettings, f32);

/// Scales move by a factor, the penalty by a difference.
const MOVES: [Move; 4] = [
    |settings, step| settings.acoustic_scale *= (0.4 * step).exp(),
    |settings, step| settings.prior_scale = (settings.prior_scale + 0.2 * step).max(0.0),
    |settings, step| settings.lm_scale *= (0.4 * step).exp(),
    |settings, step| settings.insertion_penalty += step,
];

/// Scales and penalties beyond, and factors below its inverse, are too far off for moves: 0 times a factor is 0.
const FAR: f32 = 1e3;

/// Steps tried one after another when no move of the larger helps any more.
const STEPS: [f32; 3] = [1.0, 0.5, 0.25];

/// Widths of the beam tried, the narrowest that loses nothing is taken.
const BEAMS: [f32; 6] = [6.0, 8.0, 10.0, 12.0, 15.0, 20.0];

/// The beam while scales are tuned.
const WIDE_BEAM: f32 = 20.0;

/// Errors more that a narrower beam may make, as a share of the reference.
const BEAM_TOLERANCE: f64 = 0.0002;

/// Chooses acoustic, prior and language-model scale and insertion penalty, but for what is `held`, for the least phone error, then
/// the beam.
///
/// # Errors
/// [`Error::Other`] when `set` is empty; [`Error::Setting`] for a held setting out of range; errors of decoding.
pub fn tune(bundle: &Arc<Bundle>, set: &[Development], held: Held, progress: &mut Progress<'_>) -> Result<Tuned> {
    if set.is_empty() {
        return Err(Error::Other("no development utterance to tune on".into()));
    }
    let start = held.start(bundle.description.search);
    start.check()?;
    let judge = |settings| errors(bundle, set, settings);
    let tuned = descend(&judge, (start, &held.moves(), &STEPS), progress)?;
    choose_beam(bundle, set, tuned)
}

/// Coordinate descent by `moves` from `start`, in ever smaller `steps`; `judge` counts the errors of settings.
pub(super) fn descend(
    judge: &dyn Fn(SearchSettings) -> Result<EditCounts>,
    (start, moves, steps): (SearchSettings, &[Move], &[f32]),
    progress: &mut Progress<'_>,
) -> Result<Tuned> {
    let mut best = Tuned { settings: start, errors: judge(start)? };
    for &step in steps {
        while let Some(better) = improve(judge, (best, moves, step), progress)? {
            best = better;
        }
    }
    Ok(best)
}

/// Tries every move by `step` in both directions, keeping what helps; `None` when nothing did.
fn improve(
    judge: &dyn Fn(SearchSettings) -> Result<EditCounts>,
    (start, moves, step): (Tuned, &[Move], f32),
    progress: &mut Progress<'_>,
) -> Result<Option<Tuned>> {
    let mut best = start;
    for change in moves {
        for direction in [step, -step] {
            let mut candidate = best.settings;
            change(&mut candidate, direction);
            if candidate == best.settings {
                continue;
            }
            let found = judge(candidate)?;
            if found.errors() < best.errors.errors() {
                best = Tuned { settings: candidate, errors: found };
                progress(Event::Note(describe(&candidate, found)));
                break;
            }
        }
    }
    Ok((best.errors.errors() < start.errors.errors()).then_some(best))
}

fn describe(settings: &SearchSettings, errors: EditCounts) -> String {
    format!(
        "phone error {:.2} % at acoustic scale {:.3}, prior scale {:.2}, LM scale {:.3}, insertion penalty {:.2}",
        100.0 * errors.rate(),
        settings.acoustic_scale,
        settings.prior_scale,
        settings.lm_scale,
        settings.insertion_penalty
    )
}

fn choose_beam(bundle: &Arc<Bundle>, set: &[Development], wide: Tuned) -> Result<Tuned> {
    let most = wide.errors.errors() as f64 + BEAM_TOLERANCE * wide.errors.reference as f64;
    for beam in BEAMS {
        let settings = SearchSettings { beam, ..wide.settings };
        let errors = errors(bundle, set, settings)?;
        if errors.errors() as f64 <= most {
            return Ok(Tuned { settings, errors });
        }
    }
    Ok(wide)
}

/// Errors of a whole set under `settings`.
pub(super) fn errors(bundle: &Arc<Bundle>, set: &[Development], settings: SearchSettings) -> Result<EditCounts> {
    errors_with(&bundle.graph, search_model(bundle, settings.lm_scale)?, (set, settings))
}

/// Errors of a whole set by the search of `model`, whose graph is made of `spec`.
pub(super) fn errors_with(
    spec: &GraphSpec,
    model: SearchModel,
    (set, settings): (&[Development], SearchSettings),
) -> Result<EditCounts> {
    let searcher = Searcher::new(model, DecodeOptions { settings, method: Method::Beam, confidence: None })?;
    let decode = |utterance: &Development| -> Result<(String, Vec<String>)> {
        let (spans, _) = searcher.search(&utterance.posteriors)?;
        let names = spans.iter().map(|span| spec.symbols().name(span.symbol).to_owned());
        Ok((utterance.name.clone(), names.collect()))
    };
    let hypotheses: Hypotheses = in_order(set.par_iter().map(decode))?.into_iter().collect();
    let references = references(set);
    let mut options = ScoreOptions::default();
    options.bootstrap.resamples = 1; // no interval is asked for here
    let pauses = spec.optional().iter().map(|&symbol| spec.symbols().name(symbol).to_owned());
    options.silence.extend(pauses);
    Ok(score(&references, &hypotheses, &options)?.total)
}

/// What was said in `set`.
pub(super) fn references(set: &[Development]) -> Vec<Reference> {
    let reference = |utterance: &Development| Reference {
        name: utterance.name.clone(),
        speaker: None,
        transcript: Transcript::Slots(utterance.words.clone()),
    };
    set.iter().map(reference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_move_gets_away_from_starts_at_its_default_unless_held() {
        let stored = SearchSettings { prior_scale: 0.0, lm_scale: 0.0, acoustic_scale: 0.3, ..Default::default() };
        let start = Held::default().start(stored);
        assert_eq!((start.lm_scale, start.prior_scale, start.acoustic_scale), (1.0, 0.0, 0.3));
        let held = Held { lm_scale: Some(0.0), prior_scale: Some(1e30) }.start(stored);
        assert_eq!((held.lm_scale, held.prior_scale), (0.0, 1e30));
        let absurd = SearchSettings {
            acoustic_scale: 1e30,
            prior_scale: 1e30,
            lm_scale: 1e-30,
            insertion_penalty: -1e30,
            ..Default::default()
        };
        assert_eq!(Held::default().start(absurd), SearchSettings { beam: WIDE_BEAM, ..Default::default() });
    }

    #[test]
    fn no_move_changes_what_is_held() {
        for prior_scale in [None, Some(0.3)] {
            for lm_scale in [None, Some(2.5)] {
                let held = Held { prior_scale, lm_scale };
                let moves = held.moves();
                let free = [prior_scale, lm_scale].iter().filter(|scale| scale.is_none()).count();
                assert_eq!(moves.len(), 2 + free, "{held:?}");
                let start = held.of(SearchSettings::default());
                let mut moved = start;
                moves.iter().for_each(|change| change(&mut moved, 0.5));
                assert_eq!(moved.prior_scale == start.prior_scale, prior_scale.is_some());
                assert_eq!(moved.lm_scale == start.lm_scale, lm_scale.is_some());
            }
        }
    }
}
