//! How sure a search is of what it found: posteriors of its segments, mapped to how often such segments are right.

use serde::{Deserialize, Serialize};

use super::Searcher;
use crate::Result;
use crate::alignment::Tier;
use crate::dp::{
    BeamOptions, ForwardBackward, FramePosteriors, PosteriorOptions, SegmentSpan, symbol_posterior, with_wider,
    word_posterior,
};
use crate::emission::{LogPosteriors, hybrid};
use crate::error::require;
use crate::graph::Graph;
use crate::symbols::WordId;

/// How posteriors become confidences: chosen on development data, where a confidence of 0.8 is right in 80 of 100 cases.
///
/// ```text
/// confidence = 1 / (1 + exp(-(slope * log(p / (1 - p)) + offset)))
/// ```
///
/// of the posterior p that the sums give with all scores weighed by `scale`. The default is p as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfidenceSettings {
    /// Weight of all scores in the sums.
    pub scale: f32,
    /// Factor of the log-odds.
    pub slope: f32,
    /// Added to the log-odds.
    pub offset: f32,
}

impl Default for ConfidenceSettings {
    fn default() -> Self {
        Self { scale: 1.0, slope: 1.0, offset: 0.0 }
    }
}

/// Posteriors nearer to 0 or 1 count as this near.
const SURE: f32 = 1e-4;

impl ConfidenceSettings {
    /// Checks ranges.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) naming key, value and the range allowed.
    pub fn check(&self) -> Result<()> {
        let above_zero = |value: f32| value.is_finite() && value > 0.0;
        require(above_zero(self.scale), "confidence scale", self.scale, "a number above 0")?;
        require(above_zero(self.slope), "confidence slope", self.slope, "a number above 0")?;
        require(self.offset.is_finite(), "confidence offset", self.offset, "a finite number")
    }

    /// log(p / (1 - p)) of a posterior p.
    pub fn log_odds(posterior: f32) -> f32 {
        let p = posterior.clamp(SURE, 1.0 - SURE);
        (p / (1.0 - p)).ln()
    }

    /// The confidence of what has this `posterior`.
    pub fn confidence(&self, posterior: f32) -> f32 {
        1.0 / (1.0 + (-(self.slope * Self::log_odds(posterior) + self.offset)).exp())
    }
}

/// Search frames that are summed at once, and those after them that have their say: 18 and 3 seconds at 30 ms.
const WINDOW: (usize, usize) = (600, 100);

/// Paths that score this much less than the best are left out of sums, natural log.
const BEAM: f32 = 15.0;

/// Rows of posteriors that become emissions at once.
const BLOCK_ROWS: usize = 500;

/// What is probable in each frame of a recording.
struct Rating {
    frames: Vec<FramePosteriors>,
    settings: ConfidenceSettings,
}

impl Searcher {
    /// Rates the segments of `phones`, which are those of `spans`, and of `words`, where that is wanted; they were found in `posteriors`
    /// with `beam`.
    pub(super) fn rate(
        &self,
        tiers: (&mut Tier, Option<&mut Tier>),
        (spans, posteriors): (&[SegmentSpan], &LogPosteriors),
        beam: BeamOptions,
    ) -> Result<()> {
        let Some(confidence) = self.options.confidence else { return Ok(()) };
        let rating = with_wider(beam, |beam| self.rating(posteriors, beam, confidence))?;
        rating.rate(tiers, spans, self.graph());
        Ok(())
    }

    /// Forward and backward over `posteriors` within `search`.
    fn rating(&self, posteriors: &LogPosteriors, search: BeamOptions, settings: ConfidenceSettings) -> Result<Rating> {
        let (window, overlap) = WINDOW;
        let options = PosteriorOptions { search, beam: BEAM, scale: settings.scale, window, overlap };
        let mut sums = ForwardBackward::new(&self.plan, options);
        let (mut frames, rows) = (vec![], posteriors.0.rows());
        for start in (0..rows).step_by(BLOCK_ROWS) {
            let block = LogPosteriors(posteriors.0.slice_rows(start..rows.min(start + BLOCK_ROWS)));
            frames.extend(sums.push(&hybrid(&block, &self.priors, self.options.settings.hybrid())?)?);
        }
        frames.extend(sums.finish()?);
        Ok(Rating { frames, settings })
    }
}

impl Rating {
    /// Gives the segments of `phones`, which are those of `spans`, and of `words` their confidence.
    fn rate(&self, (phones, words): (&mut Tier, Option<&mut Tier>), spans: &[SegmentSpan], graph: &Graph) {
        for (segment, span) in phones.segments.iter_mut().zip(spans) {
            segment.confidence = Some(self.settings.confidence(symbol_posterior(&self.frames, span)));
        }
        let words = words.map_or(&mut [][..], |words| &mut words.segments);
        for (segment, (word, frames)) in words.iter_mut().zip(word_spans(spans, graph)) {
            segment.confidence = Some(self.settings.confidence(word_posterior(&self.frames, word, frames)));
        }
    }
}

/// The words that end with `spans`, and the search frames that each takes, pauses before it aside.
fn word_spans(spans: &[SegmentSpan], graph: &Graph) -> Vec<(WordId, std::ops::Range<usize>)> {
    let (mut words, mut begun) = (vec![], None);
    for span in spans {
        match span.word {
            Some(word) => words.push((word, begun.take().unwrap_or(span.start)..span.end)),
            None if !graph.is_pause(span.symbol) => begun = begun.or(Some(span.start)),
            None => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_leaves_a_posterior_as_it_is_and_a_map_keeps_the_order() {
        let map = ConfidenceSettings { scale: 1.0, slope: 0.5, offset: -0.25 };
        let mut before = 0.0;
        for percent in 1..100 {
            let posterior = percent as f32 / 100.0;
            assert!((ConfidenceSettings::default().confidence(posterior) - posterior).abs() < 1e-5);
            let confidence = map.confidence(posterior);
            assert!(confidence > before && confidence < 1.0);
            before = confidence;
        }
        assert!((map.confidence(0.5) - 1.0 / (1.0 + 0.25f32.exp())).abs() < 1e-6);
        for posterior in [0.0, 1.0] {
            assert!((0.0..=1.0).contains(&map.confidence(posterior)));
        }
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let wrong = |settings: ConfidenceSettings| settings.check().unwrap_err().to_string();
        let default = ConfidenceSettings::default();
        assert!(default.check().is_ok());
        assert!(wrong(ConfidenceSettings { scale: 0.0, ..default }).contains("confidence scale = 0"));
        assert!(wrong(ConfidenceSettings { slope: -1.0, ..default }).contains("confidence slope = -1"));
        assert!(wrong(ConfidenceSettings { offset: f32::NAN, ..default }).contains("confidence offset = NaN"));
    }
}
