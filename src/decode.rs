//! The journey: samples, frames, log-posteriors, emissions, search, segments with times.
//!
//! A [`Recogniser`] holds what all recordings share; a [`Decoder`] takes one recording, block by block.

use std::sync::Arc;

use crate::alignment::{Alignment, Segment, Tier};
use crate::bundle::{Bundle, SearchSettings};
use crate::dp::{BeamOptions, BeamRetry, Plan, PlanOptions, SegmentSpan, search_widening};
use crate::emission::{Emissions, LogPosteriors, hybrid};
use crate::features::Frontend;
use crate::graph::GraphSpec;
use crate::matrix::Matrix;
use crate::network::{Acoustic, StreamState};
use crate::symbols::{SymbolId, SymbolTable};
use crate::timing::FrameTiming;
use crate::{Error, Result};

/// Whether the search may drop paths that score badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pruning {
    /// Beam search, made wider when it loses every path.
    #[default]
    Beam,
    /// The best path of all, at any cost.
    Exact,
}

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeOptions {
    /// Scales, penalty and beam: the bundle's own, or changed by the user.
    pub settings: SearchSettings,
    /// Whether to prune.
    pub pruning: Pruning,
}

/// A model and its compiled graph, ready for any number of recordings.
#[derive(Debug)]
pub struct Recogniser {
    bundle: Arc<Bundle>,
    plan: Arc<Plan>,
    options: DecodeOptions,
}

/// What came out of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// Phones with times in samples; the last ends where the audio ends.
    pub phones: Tier,
    /// Number of samples of the audio.
    pub samples: u64,
    /// The beams that lost every path before one held.
    pub retries: Vec<BeamRetry>,
}

impl Recogniser {
    /// Compiles the graph of `bundle` with its n-gram.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of range; errors of the graph.
    pub fn new(bundle: Arc<Bundle>, options: DecodeOptions) -> Result<Self> {
        options.settings.check()?;
        let graph = bundle.graph.compile_with(Some((&bundle.ngram, options.settings.lm_scale)))?;
        let plan_options = PlanOptions { insertion_penalty: options.settings.insertion_penalty };
        let plan = Arc::new(Plan::new(&Arc::new(graph), &bundle.transitions, &plan_options)?);
        Ok(Self { bundle, plan, options })
    }

    /// The model.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Starts on a recording.
    ///
    /// # Errors
    /// When the model's features cannot be computed block by block.
    pub fn start(&self) -> Result<Decoder<'_>> {
        Ok(Decoder { recogniser: self, listener: Listener::new(&self.bundle)? })
    }

    /// Decodes a whole recording.
    ///
    /// # Errors
    /// As [`Decoder::finish`].
    pub fn decode(&self, samples: &[f32]) -> Result<Decoded> {
        let mut decoder = self.start()?;
        for block in samples.chunks(BLOCK_SAMPLES) {
            decoder.push(block)?;
        }
        decoder.finish()
    }

    /// Decodes posteriors that were computed before.
    ///
    /// # Errors
    /// [`Error::NoPath`] when the recording is shorter than the shortest legal sequence.
    pub fn search(&self, posteriors: &LogPosteriors) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
        let emissions = hybrid(posteriors, &self.bundle.priors, self.options.settings.hybrid())?;
        best_segments(&self.plan, &emissions, &self.options)
    }
}

/// A network's output for a whole recording, `[T x P]`, digital silence said to be silence.
///
/// # Errors
/// When the model's features cannot be computed block by block.
pub fn posteriors(bundle: &Bundle, samples: &[f32]) -> Result<LogPosteriors> {
    let mut listener = Listener::new(bundle)?;
    for block in samples.chunks(BLOCK_SAMPLES) {
        listener.push(block)?;
    }
    Ok(listener.finish()?.0)
}

/// Samples that are handed on at once: ten seconds at 16 kHz.
const BLOCK_SAMPLES: usize = 160_000;

/// Best segments under `options`, and the beams that were too narrow.
fn best_segments(
    plan: &Arc<Plan>,
    emissions: &Emissions,
    options: &DecodeOptions,
) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
    let beam = match options.pruning {
        // The path of `viterbi`, in memory that does not grow with states times frames.
        Pruning::Exact => BeamOptions::EXACT,
        Pruning::Beam => BeamOptions { beam: options.settings.beam, max_active: options.settings.max_active },
    };
    search_widening(plan, emissions, beam)
}

/// One recording on its way.
pub struct Decoder<'a> {
    recogniser: &'a Recogniser,
    listener: Listener<'a>,
}

impl Decoder<'_> {
    /// Takes the next samples, -1 to 1, at the model's rate.
    ///
    /// # Errors
    /// When the network refuses.
    pub fn push(&mut self, samples: &[f32]) -> Result<()> {
        self.listener.push(samples)
    }

    /// Ends the recording and searches for its best path.
    ///
    /// # Errors
    /// [`Error::NoPath`] when the recording is shorter than the shortest legal sequence.
    pub fn finish(self) -> Result<Decoded> {
        let (posteriors, samples) = self.listener.finish()?;
        let (spans, retries) = self.recogniser.search(&posteriors)?;
        let symbols = self.recogniser.bundle.graph.symbols();
        let phones = phone_tier(&spans, symbols, (self.recogniser.bundle.timing(), samples));
        Ok(Decoded { phones, samples, retries })
    }
}

/// The first half of the journey: samples to log-posteriors.
struct Listener<'a> {
    bundle: &'a Bundle,
    frontend: Frontend,
    network: StreamState,
    posteriors: Matrix,
    silence: SilenceWatch,
}

impl<'a> Listener<'a> {
    fn new(bundle: &'a Bundle) -> Result<Self> {
        Ok(Self {
            bundle,
            frontend: Frontend::new(&bundle.description.features, Some(&bundle.moments))?,
            network: bundle.network.start(),
            posteriors: Matrix::with_cols(bundle.network.pdfs()),
            silence: SilenceWatch::new(bundle.timing()),
        })
    }

    fn push(&mut self, samples: &[f32]) -> Result<()> {
        self.silence.push(samples);
        let frames = self.frontend.push(samples);
        self.posteriors.append(&self.bundle.network.step(&mut self.network, &frames, false)?.0);
        Ok(())
    }

    /// The log-posteriors, and how many samples there were.
    fn finish(mut self) -> Result<(LogPosteriors, u64)> {
        let rest = self.frontend.finish();
        self.posteriors.append(&self.bundle.network.step(&mut self.network, &rest, true)?.0);
        let needed = self.bundle.timing().length;
        if self.silence.samples < u64::from(needed) {
            return Err(Error::TooShort { samples: self.silence.samples, needed });
        }
        say_silence(&mut self.posteriors, &self.silence.silent_frames(), &silence_pdfs(&self.bundle.graph));
        Ok((LogPosteriors(self.posteriors), self.silence.samples))
    }
}

impl Decoded {
    /// The result under the name of its utterance.
    pub fn into_alignment(self, utterance: &str, sample_rate: u32) -> Alignment {
        Alignment { utterance: utterance.to_owned(), samples: self.samples, sample_rate, tiers: vec![self.phones] }
    }
}

/// Segments of search frames as segments of samples: contiguous, the last one ending with the audio.
pub(crate) fn phone_tier(spans: &[SegmentSpan], symbols: &SymbolTable, (timing, samples): (FrameTiming, u64)) -> Tier {
    let segment = |(index, span): (usize, &SegmentSpan)| Segment {
        label: symbols.name(span.symbol).to_owned(),
        start: timing.start_sample(span.start).min(samples),
        end: if index + 1 == spans.len() { samples } else { timing.start_sample(span.end).min(samples) },
        confidence: None,
    };
    Tier { name: "phones".into(), segments: spans.iter().enumerate().map(segment).collect() }
}

/// The pdfs of the symbols that a transcript may leave out, which are pauses.
fn silence_pdfs(spec: &GraphSpec) -> Vec<usize> {
    let states =
        |&symbol: &SymbolId| (0..spec.topology(symbol).states()).map(move |state| spec.pdf(symbol, state).index());
    spec.optional().iter().flat_map(states).collect()
}

/// Log-posterior that a frame of digital silence leaves to a pdf that is not silence.
const SILENT_LOG_POSTERIOR: f32 = -30.0;

/// Shortest stretch of digital silence between sounds, in search frames, that is a pause for certain: the closure of a stop
/// or a gap of a codec may be shorter.
const PAUSE_FRAMES: usize = 10;

/// A stretch without any signal says silence and nothing else, whatever a network that never saw one makes of it.
fn say_silence(posteriors: &mut Matrix, silent: &[bool], silence_pdfs: &[usize]) {
    if silence_pdfs.is_empty() {
        return;
    }
    let share = -(silence_pdfs.len() as f32).ln();
    let silent = &silent[..silent.len().min(posteriors.rows())];
    for stretch in silent.chunk_by(|before, after| before == after).scan(0, with_start).filter(|(_, part)| part[0]) {
        let (start, end) = (stretch.0, stretch.0 + stretch.1.len());
        if start > 0 && end < silent.len() && stretch.1.len() < PAUSE_FRAMES {
            continue;
        }
        for frame in start..end {
            let row = posteriors.row_mut(frame);
            row.fill(SILENT_LOG_POSTERIOR);
            silence_pdfs.iter().for_each(|&pdf| row[pdf] = share);
        }
    }
}

/// A part of a sequence with the place where it begins.
fn with_start<'a>(next: &mut usize, part: &'a [bool]) -> Option<(usize, &'a [bool])> {
    let start = *next;
    *next += part.len();
    Some((start, part))
}

/// Watches for search frames whose samples are all one value: digital silence.
#[derive(Debug)]
struct SilenceWatch {
    frame_samples: u64,
    samples: u64,
    first: f32,
    constant: bool,
    frames: Vec<bool>,
}

impl SilenceWatch {
    fn new(timing: FrameTiming) -> Self {
        Self { frame_samples: timing.search_shift(), samples: 0, first: 0.0, constant: true, frames: Vec::new() }
    }

    fn push(&mut self, samples: &[f32]) {
        for &sample in samples {
            if self.samples.is_multiple_of(self.frame_samples) {
                self.first = sample;
                self.constant = true;
            }
            self.constant &= sample == self.first;
            self.samples += 1;
            if self.samples.is_multiple_of(self.frame_samples) {
                self.frames.push(self.constant);
            }
        }
    }

    /// By search frame; a last frame that was cut short counts as it is.
    fn silent_frames(&self) -> Vec<bool> {
        let mut frames = self.frames.clone();
        if !self.samples.is_multiple_of(self.frame_samples) {
            frames.push(self.constant);
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digital_silence_is_seen_across_blocks() {
        let timing = FrameTiming { shift: 2, length: 4, sample_rate: 16, subsampling: 2 };
        let mut watch = SilenceWatch::new(timing);
        watch.push(&[0.0, 0.0, 0.0]);
        watch.push(&[0.0, 0.1, 0.0, 0.0, 0.0, 0.5]);
        assert_eq!(watch.silent_frames(), [true, false, true]);
    }

    #[test]
    fn only_long_or_outer_digital_silence_is_a_pause() {
        let mut silent = vec![true, false];
        silent.extend([true; 9]);
        silent.push(false);
        silent.extend([true; 10]);
        silent.extend([false, true]);
        let mut posteriors = Matrix::zeros(silent.len(), 2);
        say_silence(&mut posteriors, &silent, &[1]);
        let forced: Vec<usize> = (0..silent.len()).filter(|&frame| posteriors.row(frame)[0] < -1.0).collect();
        let expected: Vec<usize> = std::iter::once(0).chain(12..22).chain([23]).collect();
        assert_eq!(forced, expected);
    }

    #[test]
    fn the_last_phone_ends_with_the_audio() {
        let symbols: SymbolTable = ["SIL", "AA"].into_iter().collect();
        let timing = FrameTiming { shift: 160, length: 400, sample_rate: 16000, subsampling: 3 };
        let span = |symbol, start, end| SegmentSpan { symbol: SymbolId(symbol), word: None, start, end };
        let tier = phone_tier(&[span(0, 0, 2), span(1, 2, 5)], &symbols, (timing, 2300));
        assert_eq!((tier.segments[0].end, tier.segments[1].start), (960, 960));
        assert_eq!(tier.segments[1].end, 2300);
    }
}
