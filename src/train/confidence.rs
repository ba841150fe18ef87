//! Choosing how posteriors become confidences: on development data, so that what has a confidence of 0.8 is right in 80 of 100 cases.

use std::sync::Arc;

use rayon::prelude::*;

use super::tune::{Development, references};
use crate::Result;
use crate::bundle::Bundle;
use crate::decode::{DecodeOptions, Method, search_model};
use crate::metrics::{Calibration, Judged, Rated, ScoreOptions, judge};
use crate::parallel::in_order;
use crate::search::{ConfidenceSettings, Searcher};

/// What fitting found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The best settings.
    pub settings: ConfidenceSettings,
    /// What confidences are worth with them on the development set; none where it has no label.
    pub calibration: Option<Calibration>,
}

/// Weights of the scores in the sums that are tried.
const SCALES: [f32; 6] = [1.0, 0.7, 0.5, 0.35, 0.25, 0.17];

/// Chooses the scale, slope and offset under which the right and wrong phones of `set` are most probable.
///
/// # Errors
/// Errors of decoding.
pub fn fit_confidence(bundle: &Arc<Bundle>, set: &[Development]) -> Result<Fitted> {
    let mut best: Option<(f64, Fitted)> = None;
    for scale in SCALES {
        let judged = judged(bundle, set, ConfidenceSettings { scale, ..ConfidenceSettings::default() })?;
        let (slope, offset) = logistic(&judged);
        let settings = ConfidenceSettings { scale, slope, offset };
        let mapped = mapped(&judged, settings);
        let loss: f64 = mapped.iter().map(surprise).sum();
        if best.as_ref().is_none_or(|(least, _)| loss < *least) {
            best = Some((loss, Fitted { settings, calibration: Calibration::of(&mapped) }));
        }
    }
    Ok(best.map_or_else(|| unreachable!("there are scales to try"), |(_, fitted)| fitted))
}

/// `judged` with the confidences that `settings` make of their posteriors.
fn mapped(judged: &[Judged], settings: ConfidenceSettings) -> Vec<Judged> {
    judged.iter().map(|one| Judged { confidence: settings.confidence(one.confidence), ..*one }).collect()
}

/// `-log P(right or wrong, as it is)`.
fn surprise(one: &Judged) -> f64 {
    let confidence = f64::from(one.confidence).clamp(1e-6, 1.0 - 1e-6);
    -(if one.is_right { confidence } else { 1.0 - confidence }).ln()
}

/// The phones that are decoded of `set`, rated with `settings` and judged.
fn judged(bundle: &Arc<Bundle>, set: &[Development], settings: ConfidenceSettings) -> Result<Vec<Judged>> {
    let search = bundle.description.search;
    let options = DecodeOptions { settings: search, method: Method::Beam, confidence: Some(settings) };
    let searcher = Searcher::new(search_model(bundle, search.lm_scale)?, options)?;
    let decode = |utterance: &Development| -> Result<(String, Vec<(String, f32)>)> {
        let decoded = searcher.decode(&utterance.posteriors, bundle.timing())?;
        let phones = decoded.phones.segments.into_iter();
        let rated = phones.filter_map(|phone| Some((phone.label, phone.confidence?)));
        Ok((utterance.name.clone(), rated.collect()))
    };
    let rated: Rated = in_order(set.par_iter().map(decode))?.into_iter().collect();
    let mut options = ScoreOptions::default();
    let spec = &bundle.graph;
    options.silence.extend(spec.optional().iter().map(|&symbol| spec.symbols().name(symbol).to_owned()));
    Ok(judge(&references(set), &rated, &options))
}

/// Slope and offset of the logistic regression of being right on the log-odds of the posterior, by Newton's method; those that change
/// nothing where there are not both right and wrong labels.
///
/// ```text
/// P(right) = 1 / (1 + exp(-(slope * x + offset)))      x = log(p / (1 - p))
/// ```
fn logistic(judged: &[Judged]) -> (f32, f32) {
    let (mut slope, mut offset) = (1.0f64, 0.0f64);
    let right = judged.iter().filter(|one| one.is_right).count();
    if right == 0 || right == judged.len() {
        return (1.0, 0.0);
    }
    for _ in 0..NEWTON_STEPS {
        // Gradient and curvature, with a little of the latter at the start values, so that nothing runs away.
        let (mut g, mut h) = ([PULL * (1.0 - slope), -PULL * offset], [PULL, 0.0, PULL]);
        for one in judged {
            let x = f64::from(ConfidenceSettings::log_odds(one.confidence));
            let p = 1.0 / (1.0 + (-(slope * x + offset)).exp());
            let (miss, weight) = (f64::from(u8::from(one.is_right)) - p, p * (1.0 - p));
            g = [g[0] + miss * x, g[1] + miss];
            h = [h[0] + weight * x * x, h[1] + weight * x, h[2] + weight];
        }
        let determinant = h[0] * h[2] - h[1] * h[1];
        slope += (h[2] * g[0] - h[1] * g[1]) / determinant;
        offset += (h[0] * g[1] - h[1] * g[0]) / determinant;
    }
    (slope.max(LEAST_SLOPE) as f32, offset as f32)
}

const NEWTON_STEPS: usize = 20;

/// Labels that the start values are worth.
const PULL: f64 = 1.0;

/// The order of posteriors is kept.
const LEAST_SLOPE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_map_that_made_the_labels_is_found() {
        let mut random = Random::new(3);
        let truth = ConfidenceSettings { scale: 1.0, slope: 0.6, offset: -0.4 };
        let judged: Vec<Judged> = (0..20_000)
            .map(|_| {
                let confidence = random.uniform();
                let is_right = random.uniform() < truth.confidence(confidence);
                Judged { confidence, is_right }
            })
            .collect();
        let (slope, offset) = logistic(&judged);
        assert!((slope - 0.6).abs() < 0.05 && (offset + 0.4).abs() < 0.05, "{slope} {offset}");
        let settings = ConfidenceSettings { scale: 1.0, slope, offset };
        let mapped = mapped(&judged, settings);
        assert!(Calibration::of(&mapped).unwrap().ece < 0.02);
        assert!(Calibration::of(&judged).unwrap().ece > 0.05);
    }

    #[test]
    fn of_one_kind_nothing_is_learnt() {
        let all_right = [Judged { confidence: 0.5, is_right: true }; 3];
        assert_eq!(logistic(&all_right), (1.0, 0.0));
        assert_eq!(logistic(&[]), (1.0, 0.0));
    }
}
