//! Boundaries finer than search frames: between neighbouring phones, where the spectrum changes and the network changes its mind.
//!
//! Segments, and emissions `[T x P]` block by block, come in; then the samples, of which cepstra are made every 5 ms. Boundaries are
//! moved a little. What is aligned, and how well it fits, stays as it is.

use std::ops::Range;

use crate::Result;
use crate::alignment::Tier;
use crate::dp::SegmentSpan;
use crate::emission::Emissions;
use crate::features::{FeatureConfig, FeatureKind, Frontend, Normalisation};
use crate::graph::GraphSpec;
use crate::matrix::Matrix;
use crate::symbols::{PdfId, SymbolId};
use crate::timing::FrameTiming;

/// From one cepstrum to the next: boundaries are on this grid.
const SHIFT_MS: f32 = 5.0;
/// What a cepstrum sees: long enough for a period of a low voice, and short enough to see a stop burst.
const LENGTH_MS: f32 = 16.0;
/// Search frames that are shorter, in cepstra, are fine enough as they are; and were not looked at.
const SEARCH_SHIFTS: u64 = 4;
/// Cepstra in the shortest segment: 10 ms.
const LEAST: usize = 2;
/// How far a boundary is moved, and what is looked at for that.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scope {
    /// Search frames that it is moved at most.
    most: f64,
    /// Cepstra on either side that are held against each other.
    reach: usize,
}

// Chosen on speech synthesised from training sentences, and looked at on training sets of real speech.
const BETWEEN_PHONES: Scope = Scope { most: 1.5, reach: 16 };
/// A network that hears far ahead begins to speak early.
const BESIDE_A_PAUSE: Scope = Scope { most: 4.0, reach: 32 };

/// Two segments that meet, and how much better the right one fits than the left one in search frames about there.
#[derive(Debug, Clone)]
struct Boundary {
    frame: usize,
    left: SymbolId,
    right: SymbolId,
    scope: Scope,
    /// log p(right | t) - log p(left | t) by search frame t.
    ratios: Vec<(usize, f32)>,
}

/// Search frames on either side of a boundary that have a say.
const NEAR: usize = 2;

/// The boundaries of an alignment, and what the network says about them.
#[derive(Debug, Clone, Default)]
pub(super) struct Boundaries {
    /// The pdfs of each symbol, in any context.
    pdfs: Vec<Vec<usize>>,
    acoustic_scale: f32,
    /// Whether each segment is a pause.
    pauses: Vec<bool>,
    boundaries: Vec<Boundary>,
    /// The first boundary that may concern the next frame.
    current: usize,
    frame: usize,
}

impl Boundaries {
    /// Those between `spans`, of symbols of `spec`; emissions are `acoustic_scale` times natural logs.
    pub(super) fn new(spans: &[SegmentSpan], spec: &GraphSpec, acoustic_scale: f32) -> Self {
        let is_pause = |symbol: &SymbolId| spec.optional().contains(symbol);
        let boundary = |pair: &[SegmentSpan]| {
            let [left, right] = [pair[0].symbol, pair[1].symbol];
            let is_pause = is_pause(&left) || is_pause(&right);
            let scope = if is_pause { BESIDE_A_PAUSE } else { BETWEEN_PHONES };
            Boundary { frame: pair[1].start, left, right, scope, ratios: Vec::with_capacity(2 * NEAR) }
        };
        let pdfs = |symbol| spec.pdfs_of(symbol).map(PdfId::index).collect();
        let pdfs = spec.symbols().ids().map(pdfs).collect();
        let pauses = spans.iter().map(|span| is_pause(&span.symbol)).collect();
        let boundaries = spans.windows(2).map(boundary).collect();
        Self { pdfs, acoustic_scale, pauses, boundaries, current: 0, frame: 0 }
    }

    /// Takes the next frames:
    ///
    /// ```text
    /// ratio[t] = (max over p of right of emission[t, p] - max over p of left of emission[t, p]) / scale
    /// ```
    pub(super) fn push(&mut self, emissions: &Emissions) {
        let Self { pdfs, acoustic_scale, boundaries, current, frame, .. } = self;
        for row in emissions.matrix().iter_rows() {
            let best =
                |symbol: SymbolId| pdfs[symbol.index()].iter().map(|&pdf| row[pdf]).fold(f32::NEG_INFINITY, f32::max);
            while boundaries.get(*current).is_some_and(|boundary| boundary.frame + NEAR <= *frame) {
                *current += 1;
            }
            for boundary in boundaries[*current..].iter_mut().take_while(|boundary| boundary.frame <= *frame + NEAR) {
                let ratio = (best(boundary.right) - best(boundary.left)) / *acoustic_scale;
                boundary.ratios.push((*frame, if ratio.is_nan() { 0.0 } else { ratio.clamp(-MOST, MOST) }));
            }
            *frame += 1;
        }
    }

    /// Moves the boundaries of `phones`, one after another; those beside `filler` stay, for nobody knows what it says.
    pub(super) fn refine(
        &self,
        phones: &mut Tier,
        (samples, timing): (&[f32], FrameTiming),
        filler: Option<SymbolId>,
    ) -> Result<()> {
        let config = config(timing);
        let shift = config.shift_samples() as u64;
        if timing.search_shift() < SEARCH_SHIFTS * shift {
            return Ok(());
        }
        let spoken = phones.segments.iter().zip(&self.pauses).filter(|(_, is_pause)| !**is_pause);
        let spoken = spoken.map(|(segment, _)| (segment.start / shift) as usize..(segment.end / shift) as usize);
        let cepstra = cepstra(samples, &config, spoken)?;
        for (index, boundary) in self.boundaries.iter().enumerate() {
            if [boundary.left, boundary.right].map(Some).contains(&filler) {
                continue;
            }
            let [left, right] = &mut phones.segments[index..index + 2] else { continue };
            let near = Near { boundary, cepstra: &cepstra, steps: timing.search_shift() as f64 / shift as f64 };
            let place = |sample: u64| (sample / shift) as usize;
            if let Some(best) = near.best(place(left.start), place(right.start), place(right.end)) {
                let best = best as u64 * shift;
                (left.end, right.start) = (best, best);
            }
        }
        Ok(())
    }
}

/// A frame says no more than this, natural log: one that is sure of itself does not outvote all others.
const MOST: f32 = 18.0;

/// Cepstra about a boundary.
struct Near<'a> {
    boundary: &'a Boundary,
    cepstra: &'a Matrix,
    /// Cepstra in a search frame.
    steps: f64,
}

impl Near<'_> {
    /// Where the right segment is best begun, about `old`; none where there is no choice. In places of cepstra x[t], with the means m of x
    /// over what is held against each other to the left and to the right:
    ///
    /// ```text
    /// best = argmax over b of   sum over t >= b of ratio[t]
    ///                         - sum over t < b of |x[t] - m(left)|^2 - sum over t >= b of |x[t] - m(right)|^2
    /// ```
    ///
    /// The squares are what two Gaussians say: a segment sounds the same from one end to the other.
    fn best(&self, begin: usize, old: usize, end: usize) -> Option<usize> {
        let end = end.min(self.cepstra.rows());
        let Scope { most, reach } = self.boundary.scope;
        let most = (most * self.steps) as usize;
        let lowest = (begin + LEAST).max(old.saturating_sub(most));
        let highest = (old + most).min(end.checked_sub(LEAST)?);
        let (first, last) = (begin.max(old.saturating_sub(reach)), end.min(old + reach));
        let score = |place: usize| {
            let ratios: f64 = (place..highest.max(place)).map(|at| f64::from(self.ratio(at))).sum();
            ratios - self.spread(first..place) - self.spread(place..last)
        };
        let scored = (lowest..=highest).map(|place| (place, score(place)));
        scored.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(place, _)| place)
    }

    /// The ratio of the search frame that the cepstrum `at` lies in, or of the nearest that has one.
    fn ratio(&self, at: usize) -> f32 {
        let frame = (at as f64 / self.steps) as usize;
        let ratios = &self.boundary.ratios;
        let place = ratios.partition_point(|&(known, _)| known < frame).min(ratios.len().saturating_sub(1));
        ratios.get(place).map_or(0.0, |&(_, ratio)| ratio)
    }

    /// The squared distances of `rows` to their mean, summed.
    fn spread(&self, rows: Range<usize>) -> f64 {
        let count = rows.len() as f64;
        let column = |column: usize| {
            let values = rows.clone().map(|row| f64::from(self.cepstra.row(row)[column]));
            let mean = values.clone().sum::<f64>() / count.max(1.0);
            values.map(|value| (value - mean) * (value - mean)).sum::<f64>()
        };
        (0..self.cepstra.cols()).map(column).sum()
    }
}

fn config(timing: FrameTiming) -> FeatureConfig {
    FeatureConfig {
        kind: FeatureKind::Mfcc,
        sample_rate_hz: timing.sample_rate,
        shift_ms: SHIFT_MS,
        length_ms: LENGTH_MS,
        normalisation: Normalisation::None,
        ..FeatureConfig::default()
    }
}

/// The cepstra of `samples`, each coefficient with a deviation of 1 over the rows that are `spoken`.
fn cepstra(samples: &[f32], config: &FeatureConfig, spoken: impl Iterator<Item = Range<usize>>) -> Result<Matrix> {
    let mut frontend = Frontend::new(config, None)?;
    let mut cepstra = frontend.push(samples);
    cepstra.append(&frontend.finish());
    let rows = cepstra.rows();
    let spoken: Vec<usize> = spoken.flat_map(|range| range.start..range.end.min(rows)).collect();
    let count = spoken.len().max(1) as f64;
    for column in 0..cepstra.cols() {
        let values = || spoken.iter().map(|&row| f64::from(cepstra.row(row)[column]));
        let mean = values().sum::<f64>() / count;
        let deviation = (values().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt();
        let scale = if deviation > 0.0 { (1.0 / deviation) as f32 } else { 0.0 };
        (0..rows).for_each(|row| cepstra.row_mut(row)[column] *= scale);
    }
    Ok(cepstra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alignment::Segment;
    use crate::random::Random;
    use crate::symbols::WordId;

    const GRAPH: &str = "format = 1\noptional = ['sil']\n[classes]\nall = ['sil', 'a', 'b']\n[boundary]\nstart = '*'\n\
        end = '*'\n[[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 2\nself_loop = 0.5\n";

    fn spans(ends: &[(u32, usize)]) -> Vec<SegmentSpan> {
        let mut start = 0;
        let span = |&(symbol, end): &(u32, usize)| {
            let begun = std::mem::replace(&mut start, end);
            SegmentSpan { symbol: SymbolId(symbol), word: Some(WordId(0)), start: begun, end }
        };
        ends.iter().map(span).collect()
    }

    /// 30 ms a search frame, 16 kHz.
    const TIMING: FrameTiming = FrameTiming { shift: 160, length: 400, sample_rate: 16_000, subsampling: 3 };

    fn tier(spans: &[SegmentSpan], samples: u64) -> Tier {
        let segment = |span: &SegmentSpan| Segment {
            label: span.symbol.0.to_string(),
            start: 480 * span.start as u64,
            end: (480 * span.end as u64).min(samples),
            confidence: None,
        };
        Tier { name: "phones".into(), segments: spans.iter().map(segment).collect() }
    }

    fn indifferent(frames: usize) -> Emissions {
        Emissions::new(Matrix::zeros(frames, 6)).unwrap()
    }

    /// Noise of two colours that meet at any sample: the network knows the frame and no more.
    #[test]
    fn a_change_of_colour_is_found_between_search_frames() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let mut random = Random::new(1);
        for change in (4800 - 600..4800 + 600).step_by(97) {
            let mut last = 0.0;
            let samples: Vec<f32> = (0..9600)
                .map(|at| {
                    let noise = 0.1 * random.normal();
                    last = if at < change { 0.9 * last + noise } else { noise };
                    last
                })
                .collect();
            let spans = spans(&[(1, 10), (2, 20)]);
            let mut boundaries = Boundaries::new(&spans, &spec, 1.0);
            boundaries.push(&indifferent(20));
            let mut phones = tier(&spans, 9600);
            boundaries.refine(&mut phones, (&samples, TIMING), None).unwrap();
            let [left, right] = &phones.segments[..] else { panic!() };
            assert_eq!((left.start, left.end, right.end), (0, right.start, 9600));
            // Half of what a cepstrum sees, and half a step of the grid.
            assert!(right.start.abs_diff(change) <= 128 + 40, "{} {change}", right.start);

            // Beside a word that nobody knows, nothing is moved.
            let mut phones = tier(&spans, 9600);
            boundaries.refine(&mut phones, (&samples, TIMING), Some(SymbolId(2))).unwrap();
            assert_eq!(phones, tier(&spans, 9600));
        }
    }

    /// The spectrum says nothing, so a boundary goes where the network would have it.
    #[test]
    fn without_a_change_the_network_decides() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let spans = spans(&[(1, 10), (2, 20)]);
        for change in 9..=11 {
            let row = |frame: usize| {
                if frame < change { [-9.0, -9.0, -1.0, -9.0, -5.0, -9.0] } else { [-9.0, -9.0, -8.0, -6.0, -1.0, -9.0] }
            };
            let cells = (0..20).flat_map(row).collect();
            let mut boundaries = Boundaries::new(&spans, &spec, 0.5);
            boundaries.push(&Emissions::new(Matrix::from_vec(20, 6, cells).unwrap()).unwrap());
            let ratios = |frame: usize| (frame, if frame < change { -8.0 } else { 10.0 });
            assert_eq!(boundaries.boundaries[0].ratios, (8..12).map(ratios).collect::<Vec<_>>());
            let mut phones = tier(&spans, 9600);
            boundaries.refine(&mut phones, (&[0.0; 9600], TIMING), None).unwrap();
            assert_eq!(phones.segments[1].start, 480 * change as u64);
        }
    }

    /// The formula by hand, over all places that are allowed.
    #[test]
    fn the_best_place_is_that_of_the_formula() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let rows = 20 + random.below(60);
            let cepstra = Matrix::from_vec(rows, 2, (0..2 * rows).map(|_| 2.0 * random.normal()).collect()).unwrap();
            let frame = 1 + random.below(rows / 6);
            let ratios: Vec<(usize, f32)> =
                (frame.saturating_sub(2)..frame + 2).map(|t| (t, 3.0 * random.normal())).collect();
            let (scope, ratios) = (BETWEEN_PHONES, ratios.clone());
            let boundary = Boundary { frame, left: SymbolId(1), right: SymbolId(2), scope, ratios };
            let near = Near { boundary: &boundary, cepstra: &cepstra, steps: 6.0 };
            let (begin, old) = (random.below(6 * frame), 6 * frame);
            let end = (old + 1 + random.below(40)).min(rows + 3);
            let ratio = |at: usize| {
                let nearest = boundary.ratios.iter().min_by_key(|(t, _)| t.abs_diff(at / 6)).unwrap();
                f64::from(nearest.1)
            };
            let squares = |rows: Range<usize>| -> f64 {
                let mean =
                    |c: usize| rows.clone().map(|t| f64::from(cepstra.row(t)[c])).sum::<f64>() / rows.len() as f64;
                let means = [mean(0), mean(1)];
                let square = |t: usize| (0..2).map(|c| (f64::from(cepstra.row(t)[c]) - means[c]).powi(2)).sum::<f64>();
                rows.clone().map(square).sum()
            };
            let held = begin.max(old.saturating_sub(16))..end.min(rows).min(old + 16);
            let scored =
                (begin + 2..(end.min(rows)).saturating_sub(1)).filter(|place| place.abs_diff(old) <= 9).map(|place| {
                    // All but what the network says after the last place, which is the same for all.
                    let said: f64 = (place..(old + 9).min(end.min(rows) - 2).max(place)).map(ratio).sum();
                    (place, said - squares(held.start..place) - squares(place..held.end))
                });
            let expected = scored.fold(None, |best: Option<(usize, f64)>, next| match best {
                Some(best) if best.1 >= next.1 => Some(best),
                _ => Some(next),
            });
            assert_eq!(near.best(begin, old, end), expected.map(|(place, _)| place));
        }
    }

    #[test]
    fn segments_stay_contiguous_and_none_is_shorter_than_ten_milliseconds() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let mut random = Random::new(2);
        for _ in 0..50 {
            let mut end = 0;
            let ends: Vec<(u32, usize)> = (0..12)
                .map(|index| {
                    end += 1 + random.below(3);
                    (index % 3, end)
                })
                .collect();
            let spans = spans(&ends);
            let cells = (0..6 * end).map(|_| 10.0 * random.normal()).collect();
            let count = 480 * end as u64 - random.below(400) as u64;
            let samples: Vec<f32> = (0..count).map(|_| random.normal()).collect();
            let mut boundaries = Boundaries::new(&spans, &spec, 1.0);
            boundaries.push(&Emissions::new(Matrix::from_vec(end, 6, cells).unwrap()).unwrap());
            let (mut phones, before) = (tier(&spans, count), tier(&spans, count));
            boundaries.refine(&mut phones, (&samples, TIMING), None).unwrap();
            let mut at = 0;
            for (new, old) in phones.segments.iter().zip(&before.segments) {
                assert_eq!((new.start, &new.label), (at, &old.label));
                assert!(new.start.abs_diff(old.start) <= 1920, "{new:?} {old:?}");
                assert!(new.end - new.start >= 80, "{new:?}");
                at = new.end;
            }
            assert_eq!(at, count);
            assert_ne!(phones, before);
        }
    }
}
