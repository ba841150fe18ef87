//! How sure an error rate is: 95 % intervals by resampling speakers.
//!
//! In come the edit counts of each speaker; out goes the range within which the rate, or the difference of two systems' rates,
//! falls for 95 % of the draws of as many speakers with replacement. Speakers are drawn and not utterances, because one
//! speaker's utterances share their errors (Bisani & Ney 2004, "Bootstrap estimates for confidence intervals in ASR
//! performance evaluation").

use super::edit::EditCounts;
use crate::random::Random;

/// How the speakers are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapOptions {
    /// Draws; at least 1000 for a steady interval.
    pub resamples: usize,
    /// The same seed gives the same interval.
    pub seed: u64,
}

impl Default for BootstrapOptions {
    fn default() -> Self {
        Self { resamples: 10_000, seed: 0 }
    }
}

/// A range that covers 95 % of the draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// 2.5 % of the draws lie below.
    pub low: f64,
    /// 2.5 % of the draws lie above.
    pub high: f64,
}

/// The interval of the error rate `sum of errors / sum of reference labels`. With few speakers it is too narrow; with fewer
/// than two there is none.
pub fn rate_interval(speakers: &[EditCounts], options: &BootstrapOptions) -> Option<Interval> {
    interval(speakers.len(), options, |drawn| rate_of(drawn, speakers))
}

/// The interval of `rate(first) - rate(second)` of two systems on the same speakers, drawn for both alike: what both find hard
/// cancels out. There is none with fewer than two speakers.
pub fn difference_interval(speakers: &[(EditCounts, EditCounts)], options: &BootstrapOptions) -> Option<Interval> {
    let (first, second): (Vec<EditCounts>, Vec<EditCounts>) = speakers.iter().copied().unzip();
    interval(speakers.len(), options, |drawn| Some(rate_of(drawn, &first)? - rate_of(drawn, &second)?))
}

/// `sum over drawn of errors / sum over drawn of reference labels`; none where no reference label was drawn.
fn rate_of(drawn: &[usize], speakers: &[EditCounts]) -> Option<f64> {
    let mut total = EditCounts::default();
    drawn.iter().for_each(|&speaker| total += speakers[speaker]);
    (total.reference > 0).then(|| total.rate())
}

/// The interval of what `statistic` says of the speakers drawn, where it says anything.
pub(super) fn interval(
    speakers: usize,
    options: &BootstrapOptions,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    if speakers < 2 {
        return None;
    }
    let mut random = Random::new(options.seed);
    let mut drawn = vec![0; speakers];
    let mut values = Vec::with_capacity(options.resamples);
    for _ in 0..options.resamples {
        drawn.fill_with(|| random.below(speakers));
        values.extend(statistic(&drawn));
    }
    values.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: quantile(&values, 0.025)?, high: quantile(&values, 0.975)? })
}

/// The value below which `share` of the sorted `values` lie, linear between neighbours.
fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let place = share * values.len().checked_sub(1)? as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(values.len() - 1);
    Some(values[below] + (values[above] - values[below]) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker(errors: usize, reference: usize) -> EditCounts {
        EditCounts { substitutions: errors, reference, ..EditCounts::default() }
    }

    /// Speakers whose own error rates are uniform in 0.1..0.3: their mean rate is 0.2.
    fn speakers(random: &mut Random, count: usize) -> Vec<EditCounts> {
        (0..count).map(|_| speaker(100 + random.below(201), 1000)).collect()
    }

    #[test]
    fn two_equally_likely_rates_span_the_interval() {
        // Draws of two speakers: 10 % with probability 1/4, 20 % with 1/2, 30 % with 1/4.
        let found = rate_interval(&[speaker(10, 100), speaker(30, 100)], &BootstrapOptions::default());
        assert_eq!(found, Some(Interval { low: 0.1, high: 0.3 }));
    }

    #[test]
    fn long_speakers_weigh_more() {
        let found = rate_interval(&[speaker(0, 1), speaker(900, 999)], &BootstrapOptions::default()).unwrap();
        assert_eq!((found.low, found.high), (0.0, 900.0 / 999.0));
        let one_of_each = rate_of(&[0, 1], &[speaker(0, 1), speaker(900, 999)]);
        assert_eq!(one_of_each, Some(0.9));
    }

    #[test]
    fn the_true_rate_is_covered_about_95_times_in_100() {
        let mut random = Random::new(4);
        let options = BootstrapOptions { resamples: 1000, seed: 1 };
        let covered = (0..300)
            .filter(|_| {
                let found = rate_interval(&speakers(&mut random, 40), &options).unwrap();
                found.low <= 0.2 && 0.2 <= found.high
            })
            .count();
        // Binomial(300, 0.95): mean 285, deviation 3.8; with 40 speakers the percentile interval is a little narrow.
        assert!((271..=297).contains(&covered), "{covered}");
    }

    #[test]
    fn the_width_is_that_of_the_normal_approximation() {
        let speakers = speakers(&mut Random::new(5), 200);
        let found = rate_interval(&speakers, &BootstrapOptions::default()).unwrap();
        let rates: Vec<f64> = speakers.iter().map(EditCounts::rate).collect();
        let mean = rates.iter().sum::<f64>() / 200.0;
        let error = (rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 200.0 / 200.0).sqrt();
        assert!((found.low - (mean - 1.96 * error)).abs() < 0.1 * error, "{found:?} {mean} {error}");
        assert!((found.high - (mean + 1.96 * error)).abs() < 0.1 * error, "{found:?} {mean} {error}");
    }

    #[test]
    fn a_seed_decides_the_interval() {
        let speakers = speakers(&mut Random::new(6), 30);
        let at = |seed| rate_interval(&speakers, &BootstrapOptions { resamples: 1000, seed });
        assert_eq!(at(3), at(3));
        assert_ne!(at(3), at(4));
    }

    #[test]
    fn pairing_removes_what_both_find_hard() {
        let first = speakers(&mut Random::new(7), 50);
        let pairs: Vec<_> = first.iter().map(|&one| (one, speaker(one.substitutions - 10, one.reference))).collect();
        let found = difference_interval(&pairs, &BootstrapOptions::default()).unwrap();
        assert!((found.low - 0.01).abs() < 1e-12 && (found.high - 0.01).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn one_speaker_has_no_interval() {
        assert_eq!(rate_interval(&[speaker(1, 10)], &BootstrapOptions::default()), None);
        assert_eq!(rate_interval(&[speaker(1, 0), speaker(2, 0)], &BootstrapOptions::default()), None);
    }
}
