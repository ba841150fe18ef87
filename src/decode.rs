//! The journey: samples, frames, log-posteriors; and by way of [`crate::search`] emissions, search, segments with times.
//!
//! A [`Recogniser`] holds what all recordings share; a [`Decoder`] takes one recording, block by block.

use std::sync::Arc;

use crate::bundle::Bundle;
use crate::dp::{BeamOptions, BeamRetry, SegmentSpan};
use crate::emission::LogPosteriors;
use crate::features::Frontend;
use crate::graph::{Graph, GraphSpec};
use crate::matrix::Matrix;
use crate::network::{Acoustic, StreamState};
use crate::search::{Decoding, SearchModel, Searcher};
use crate::symbols::PdfId;
use crate::timing::FrameTiming;
use crate::{Error, Result};

pub use crate::search::{Certain, DecodeOptions, Decoded, Method};

/// A model and its compiled graph, ready for any number of recordings.
#[derive(Debug)]
pub struct Recogniser {
    bundle: Arc<Bundle>,
    searcher: Searcher,
}

impl Recogniser {
    /// Compiles the graph of `bundle` with its n-gram.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of range; errors of the graph.
    pub fn new(bundle: Arc<Bundle>, options: DecodeOptions) -> Result<Self> {
        options.settings.check()?;
        let searcher = Searcher::new(search_model(&bundle, options.settings.lm_scale)?, options)?;
        Ok(Self { bundle, searcher })
    }

    /// Compiles the graph of `spec` for the network of `bundle`, see [`constrained_model`].
    ///
    /// # Errors
    /// As [`constrained_model`]; [`Error::Setting`] for a setting out of range.
    pub fn constrained(bundle: Arc<Bundle>, spec: GraphSpec, options: DecodeOptions) -> Result<Self> {
        options.settings.check()?;
        let searcher = Searcher::new(constrained_model(&bundle, spec, options.settings.lm_scale)?, options)?;
        Ok(Self { bundle, searcher })
    }

    /// The graph that is searched.
    pub fn graph(&self) -> &Graph {
        self.searcher.graph()
    }

    /// What searches.
    pub fn searcher(&self) -> &Searcher {
        &self.searcher
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
        Ok(Decoder { listener: Listener::new(&self.bundle)?, decoding: self.searcher.start(self.bundle.timing()) })
    }

    /// Whether the model can say anything before a recording ends.
    ///
    /// # Errors
    /// [`Error::Other`] when its normalisation or its network needs all of it.
    pub fn check_streams(&self) -> Result<()> {
        Listener::new(&self.bundle)?;
        match self.bundle.network.context().right {
            Some(_) => Ok(()),
            None => Err(Error::Other(format!(
                "the model '{}' cannot stream: its network ({}) hears a recording to the end before it says anything; a TDNN or an \
                 LSTM in one direction can",
                self.bundle.description.name,
                self.bundle.description.network.kind()
            ))),
        }
    }

    /// Decodes a whole recording.
    ///
    /// # Errors
    /// As [`Decoder::finish`].
    pub fn decode(&self, samples: &[f32]) -> Result<Decoded> {
        self.decode_played(|decoder| samples.chunks(BLOCK_SAMPLES).try_for_each(|block| decoder.push(block).map(drop)))
    }

    /// Decodes a whole recording that need not be in memory: `play` pushes all of it, each time from its beginning. It is asked a second
    /// time, for an exact search, where a beam has ruled out too early what alone may end there.
    ///
    /// # Errors
    /// As [`Decoder::finish`]; the first error, where the second search has one, too.
    pub fn decode_played(&self, mut play: impl FnMut(&mut Decoder) -> Result<()>) -> Result<Decoded> {
        let mut decoder = self.start()?;
        let first = play(&mut decoder).and_then(|()| decoder.finish());
        let Err(Error::Impossible { frame }) = first else { return first };
        let DecodeOptions { settings, method: Method::Beam, .. } = *self.searcher.options() else { return first };
        let decoding = self.searcher.start_exact(self.bundle.timing());
        let mut decoder = Decoder { listener: Listener::new(&self.bundle)?, decoding };
        let again = play(&mut decoder).and_then(|()| decoder.finish());
        let retry = BeamRetry { frame, beam: settings.beam, next: BeamOptions::EXACT };
        again.map(|decoded| Decoded { retries: vec![retry], ..decoded }).or(first)
    }

    /// Decodes posteriors that were computed before.
    ///
    /// # Errors
    /// [`Error::NoPath`] when the recording is shorter than the shortest legal sequence.
    pub fn search(&self, posteriors: &LogPosteriors) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
        self.searcher.search(posteriors)
    }
}

/// What search takes of `bundle` under another constraint: the graph of `spec`, its n-gram weighed by `lm_scale`, in the units of
/// the model, with the model's priors, and its transition weights [as far as they go](GraphSpec::on_model).
///
/// # Errors
/// [`Error::Config`] when symbols or topologies are not the model's; errors of the graph.
pub fn constrained_model(bundle: &Bundle, spec: GraphSpec, lm_scale: f32) -> Result<SearchModel> {
    let (spec, weights) = spec.on_model((&bundle.graph, &bundle.transitions))?;
    Ok(SearchModel { graph: spec.compile_scaled(lm_scale)?, weights, priors: bundle.priors.clone() })
}

/// What search takes of `bundle`: its graph with its n-gram weighed by `lm_scale`, its transition weights, its priors.
///
/// # Errors
/// Errors of the graph.
pub fn search_model(bundle: &Bundle, lm_scale: f32) -> Result<SearchModel> {
    let graph = bundle.graph.compile_with(Some((&bundle.ngram, lm_scale)))?;
    Ok(SearchModel { graph, weights: bundle.transitions.clone(), priors: bundle.priors.clone() })
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

/// One recording on its way.
pub struct Decoder<'a> {
    listener: Listener<'a>,
    decoding: Decoding<'a>,
}

impl Decoder<'_> {
    /// Takes the next samples, -1 to 1, at the model's rate, and gives the phones and words that they make certain.
    ///
    /// # Errors
    /// When the network refuses; [`Error::Impossible`] when no path is left.
    pub fn push(&mut self, samples: &[f32]) -> Result<Certain> {
        self.listener.push(samples)?;
        self.decoding.push(&self.listener.take())
    }

    /// Ends the recording and gives all that was found in it, what was certain before included.
    ///
    /// # Errors
    /// [`Error::NoPath`] when the recording is shorter than the shortest legal sequence.
    pub fn finish(mut self) -> Result<Decoded> {
        let (posteriors, samples) = self.listener.finish()?;
        self.decoding.push(&posteriors)?;
        self.decoding.finish(samples)
    }
}

/// The first half of the journey: samples to log-posteriors, digital silence said to be silence.
pub(crate) struct Listener<'a> {
    bundle: &'a Bundle,
    frontend: Frontend,
    network: StreamState,
    /// What was not taken yet.
    posteriors: Matrix,
    silence: SilenceWatch,
    silence_pdfs: Vec<usize>,
}

impl<'a> Listener<'a> {
    /// Begins to listen to a recording with the features and the network of `bundle`.
    ///
    /// # Errors
    /// When the model's features cannot be computed block by block.
    pub(crate) fn new(bundle: &'a Bundle) -> Result<Self> {
        Ok(Self {
            bundle,
            frontend: Frontend::new(&bundle.description.features, Some(&bundle.moments))?,
            network: bundle.network.start(),
            posteriors: Matrix::with_cols(bundle.network.pdfs()),
            silence: SilenceWatch::new(bundle.timing()),
            silence_pdfs: silence_pdfs(&bundle.graph),
        })
    }

    pub(crate) fn push(&mut self, samples: &[f32]) -> Result<()> {
        self.silence.push(samples);
        let frames = self.frontend.push(samples);
        self.posteriors.append(&self.bundle.network.step(&mut self.network, &frames, false)?.0);
        Ok(())
    }

    /// The log-posteriors that came since the last time and that nothing heard later can change.
    pub(crate) fn take(&mut self) -> LogPosteriors {
        let (certain, rows) = (self.silence.certain().min(self.posteriors.rows()), self.posteriors.rows());
        let rest = self.posteriors.slice_rows(certain..rows);
        let mut taken = std::mem::replace(&mut self.posteriors, rest).slice_rows(0..certain);
        say_silence(&mut taken, (&self.silence.frames, self.silence.before), &self.silence_pdfs);
        self.silence.forget(certain);
        LogPosteriors(taken)
    }

    /// The log-posteriors that were not taken yet, and how many samples there were.
    pub(crate) fn finish(mut self) -> Result<(LogPosteriors, u64)> {
        let rest = self.frontend.finish();
        self.posteriors.append(&self.bundle.network.step(&mut self.network, &rest, true)?.0);
        let needed = self.bundle.timing().length;
        if self.silence.samples < u64::from(needed) {
            return Err(Error::TooShort { samples: self.silence.samples, needed });
        }
        let mut silent = self.silence.silent_frames();
        silent.truncate(self.silence.before + self.posteriors.rows());
        say_silence(&mut self.posteriors, (&silent, self.silence.before), &self.silence_pdfs);
        Ok((LogPosteriors(self.posteriors), self.silence.samples))
    }
}

/// The pdfs of the symbols that a transcript may leave out, which are pauses.
fn silence_pdfs(spec: &GraphSpec) -> Vec<usize> {
    spec.optional().iter().flat_map(|&symbol| spec.pdfs_of(symbol)).map(PdfId::index).collect()
}

/// Log-posterior that a frame of digital silence leaves to a pdf that is not silence.
const SILENT_LOG_POSTERIOR: f32 = -30.0;

/// Shortest stretch of digital silence between sounds, in search frames, that is a pause for certain: the closure of a stop
/// or a gap of a codec may be shorter.
const PAUSE_FRAMES: usize = 10;

/// A stretch without any signal says silence and nothing else, whatever a network that never saw one makes of it.
///
/// `silent` tells it of `before` frames that come first, then of those of `posteriors`, and of some that follow.
fn say_silence(posteriors: &mut Matrix, (silent, before): (&[bool], usize), silence_pdfs: &[usize]) {
    if silence_pdfs.is_empty() {
        return;
    }
    let share = -(silence_pdfs.len() as f32).ln();
    for stretch in silent.chunk_by(|before, after| before == after).scan(0, with_start).filter(|(_, part)| part[0]) {
        let (start, end) = (stretch.0, stretch.0 + stretch.1.len());
        if start > 0 && end < silent.len() && stretch.1.len() < PAUSE_FRAMES {
            continue;
        }
        for frame in start.max(before)..end.min(before + posteriors.rows()) {
            let row = posteriors.row_mut(frame - before);
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
    /// Whether each frame is silent: those that are needed still, and [`PAUSE_FRAMES`] (or all) before them.
    frames: Vec<bool>,
    /// How many of them are before those that are needed still.
    before: usize,
}

impl SilenceWatch {
    fn new(timing: FrameTiming) -> Self {
        Self { frame_samples: timing.search_shift(), samples: 0, first: 0.0, constant: true, frames: vec![], before: 0 }
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

    /// How many of the frames that are needed still are in a pause for certain, or for certain not: all but a stretch that may
    /// prove too short.
    fn certain(&self) -> usize {
        let open = self.frames.iter().rev().take_while(|silent| **silent).count();
        let is_pause = open >= PAUSE_FRAMES || open == self.frames.len();
        (self.frames.len() - if is_pause { 0 } else { open }).saturating_sub(self.before)
    }

    /// The first `count` of the frames are not needed any more.
    fn forget(&mut self, count: usize) {
        let known = self.before + count;
        self.before = known.min(PAUSE_FRAMES);
        self.frames.drain(..known - self.before);
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
        say_silence(&mut posteriors, (&silent, 0), &[1]);
        let forced: Vec<usize> = (0..silent.len()).filter(|&frame| posteriors.row(frame)[0] < -1.0).collect();
        let expected: Vec<usize> = std::iter::once(0).chain(12..22).chain([23]).collect();
        assert_eq!(forced, expected);
    }

    #[test]
    fn posteriors_taken_early_are_those_of_the_whole() {
        let bundle = Bundle::builtin().unwrap();
        let mut random = crate::random::Random::new(5);
        // Digital silence at the start, too short inside, long enough inside, and at the end.
        let stretches = [(3000, 0.0), (4000, 0.1), (3000, 0.0), (4000, 0.1), (9000, 0.0), (4000, 0.1), (2000, 0.0)];
        let noise =
            stretches.map(|(count, loudness)| (0..count).map(|_| loudness * random.normal()).collect::<Vec<f32>>());
        let samples = noise.concat();
        let whole = posteriors(&bundle, &samples).unwrap();
        for block in [480, 1000, 7000] {
            let mut listener = Listener::new(&bundle).unwrap();
            let mut taken = Matrix::with_cols(whole.0.cols());
            for samples in samples.chunks(block) {
                listener.push(samples).unwrap();
                taken.append(&listener.take().0);
            }
            assert!(taken.rows() > 20);
            taken.append(&listener.finish().unwrap().0.0);
            assert_eq!(taken.rows(), whole.0.rows());
            let off = taken.as_slice().iter().zip(whole.0.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-3, "{block}: {off}");
        }
    }
}
