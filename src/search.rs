//! The second half of the journey: log-posteriors, emissions, search, segments with times.
//!
//! A [`Searcher`] needs no network and no audio. Log-posteriors `[T x P]` come in, whoever computed them; phones with times
//! go out, and words where the graph has some.

mod confidence;
mod guesses;
mod stream;

use std::sync::Arc;

pub use stream::{Certain, Decoding};

use serde::{Deserialize, Serialize};

use crate::alignment::{Alignment, Segment, Slot, Tier};
use crate::dp::{
    BeamOptions, BeamRetry, Patience, Plan, PlanOptions, SegmentSpan, StreamOptions, best_symbols, search_streaming,
    widened,
};
use crate::emission::{HybridScales, LogPosteriors, Priors, hybrid};
use crate::graph::grammar::{Said, SlotValue};
use crate::graph::{Graph, Weights};
use crate::symbols::SymbolTable;
use crate::timing::FrameTiming;
use crate::{Error, Result};

pub use confidence::ConfidenceSettings;
pub use guesses::GuessUnit;

/// Settings of the search, chosen on development data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// Weight of emissions.
    pub acoustic_scale: f32,
    /// Weight of log-priors.
    pub prior_scale: f32,
    /// Weight of the phone n-gram.
    pub lm_scale: f32,
    /// Added per symbol entered, natural log.
    pub insertion_penalty: f32,
    /// Pruning width, natural log.
    pub beam: f32,
    /// Most states kept alive in a frame.
    pub max_active: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            acoustic_scale: 1.0,
            prior_scale: 1.0,
            lm_scale: 1.0,
            insertion_penalty: 0.0,
            beam: 16.0,
            max_active: 3000,
        }
    }
}

impl SearchSettings {
    /// The two scales that make emissions.
    pub fn hybrid(&self) -> HybridScales {
        HybridScales { acoustic_scale: self.acoustic_scale, prior_scale: self.prior_scale }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// [`Error::Setting`] naming key, value and the range allowed.
    pub fn check(&self) -> Result<()> {
        let wrong = |key, value: f32, expected| Err(Error::Setting { key, value: value.to_string(), expected });
        let scale_ok = |scale: f32| scale.is_finite() && scale > 0.0;
        let weight_ok = |weight: f32| weight.is_finite() && weight >= 0.0;
        match self {
            s if !scale_ok(s.acoustic_scale) => wrong("acoustic scale", s.acoustic_scale, "a number above 0"),
            s if !weight_ok(s.prior_scale) => wrong("prior scale", s.prior_scale, "a number of at least 0"),
            s if !weight_ok(s.lm_scale) => wrong("LM scale", s.lm_scale, "a number of at least 0"),
            s if !s.insertion_penalty.is_finite() => wrong("insertion penalty", s.insertion_penalty, "a finite number"),
            s if s.beam.is_nan() || s.beam <= 0.0 => wrong("beam", s.beam, "a number above 0"),
            s if s.max_active == 0 => wrong("max active", 0.0, "at least 1"),
            _ => Ok(()),
        }
    }
}

/// The name of the tier of words.
pub const WORDS: &str = "words";

/// How the labels of frames are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The best path, by a beam search that is made wider when it loses every path.
    #[default]
    Beam,
    /// The best path of all, at any cost.
    Exact,
    /// The best symbol of each frame by itself, legal or not: what emissions say without a graph.
    Frames,
}

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeOptions {
    /// Scales, penalty and beam: as the model was tuned, or changed by the user.
    pub settings: SearchSettings,
    /// What is done with emissions and graph.
    pub method: Method,
    /// How segments are rated, where they are to be.
    pub confidence: Option<ConfidenceSettings>,
}

/// What came out of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// Phones with times in samples; the last ends where the recording ends.
    pub phones: Tier,
    /// Words with times in samples, where the graph is one of words.
    pub words: Option<Tier>,
    /// What was said in the named parts of a grammar.
    pub slots: Vec<Slot>,
    /// Number of samples of the recording.
    pub samples: u64,
    /// The beams that lost every path before one held.
    pub retries: Vec<BeamRetry>,
}

/// What a search has to know beside posteriors.
#[derive(Debug, Clone)]
pub struct SearchModel {
    /// Which sequences are legal, compiled.
    pub graph: Graph,
    /// Its transition weights.
    pub weights: Weights,
    /// State priors, `[P]`.
    pub priors: Priors,
}

/// A graph, its weights and the state priors, ready for any number of posteriors.
#[derive(Debug)]
pub struct Searcher {
    plan: Arc<Plan>,
    priors: Priors,
    options: DecodeOptions,
}

impl Searcher {
    /// Lays the graph of `model` out for search.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of range, [`Error::Shape`] when weights or priors are not those of the graph.
    pub fn new(model: SearchModel, options: DecodeOptions) -> Result<Self> {
        options.settings.check()?;
        let SearchModel { graph, weights, priors } = model;
        let (expected, found) = (graph.pdfs(), priors.pdfs());
        if found != expected {
            return Err(Error::Shape { what: "priors, one for each pdf of the graph", expected, found });
        }
        let plan_options = PlanOptions { insertion_penalty: options.settings.insertion_penalty };
        let plan = Arc::new(Plan::new(&Arc::new(graph), &weights, &plan_options)?);
        Ok(Self { plan, priors, options })
    }

    /// Number of columns that posteriors must have, P.
    pub fn pdfs(&self) -> usize {
        self.priors.pdfs()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        self.plan.graph()
    }

    /// The symbols of the graph.
    pub fn symbols(&self) -> &SymbolTable {
        self.graph().symbols()
    }

    /// Best segments of `posteriors` `[T x P]`, in search frames, and the beams that were too narrow.
    ///
    /// # Errors
    /// [`Error::PdfCount`] for another number of columns than [`Searcher::pdfs`]; [`Error::NoPath`] when there are fewer rows
    /// than the shortest legal sequence has frames; [`Error::Impossible`]; [`Error::NotFinite`].
    pub fn search(&self, posteriors: &LogPosteriors) -> Result<(Vec<SegmentSpan>, Vec<BeamRetry>)> {
        let emissions = hybrid(posteriors, &self.priors, self.options.settings.hybrid())?;
        match self.stream_options() {
            Some(options) => search_streaming(&self.plan, &emissions, options),
            None => Ok((best_symbols(self.plan.graph(), &emissions)?, Vec::new())),
        }
    }

    /// How the graph is searched; not at all where frames go by themselves.
    fn stream_options(&self) -> Option<StreamOptions> {
        match self.options.method {
            // What an n-gram has to say of a word comes when it is over: a path that is behind until then is not to be given up.
            Method::Exact | Method::Beam if !self.graph().words().is_empty() => {
                Some(StreamOptions { patience: Patience::ENDLESS, ..StreamOptions::new(self.beam()) })
            }
            Method::Exact | Method::Beam => Some(StreamOptions::new(self.beam())),
            Method::Frames => None,
        }
    }

    /// What is followed first.
    fn beam(&self) -> BeamOptions {
        let SearchSettings { beam, max_active, .. } = self.options.settings;
        match self.options.method {
            // The path of `viterbi`, in memory that does not grow with states times frames.
            Method::Exact => BeamOptions::EXACT,
            Method::Beam | Method::Frames => BeamOptions { beam, max_active },
        }
    }

    /// Starts on a recording that arrives piece by piece, one row of posteriors each search frame of `timing`.
    pub fn start(&self, timing: FrameTiming) -> Decoding<'_> {
        Decoding::new(self, timing, self.stream_options())
    }

    /// How it searches.
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    /// [`Searcher::start`] without a beam.
    #[cfg(feature = "neural")]
    pub(crate) fn start_exact(&self, timing: FrameTiming) -> Decoding<'_> {
        Decoding::new(self, timing, Some(StreamOptions::new(BeamOptions::EXACT)))
    }

    /// Phones of `posteriors`, one row each search frame of `timing`; the last ends with the last row.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn decode(&self, posteriors: &LogPosteriors, timing: FrameTiming) -> Result<Decoded> {
        let samples = timing.start_sample(posteriors.0.rows());
        self.decode_within(posteriors, (timing, samples))
    }

    /// As [`Searcher::decode`], of a recording of so many samples: the last phone ends with the recording.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn decode_within(&self, posteriors: &LogPosteriors, (timing, samples): (FrameTiming, u64)) -> Result<Decoded> {
        let (spans, retries) = self.search(posteriors)?;
        let mut phones = phone_tier(&spans, self.symbols(), (timing, samples));
        let said = said(&spans, &phones, self.graph());
        let mut words = (!self.graph().words().is_empty()).then(|| word_tier(&said, self.graph()));
        self.rate((&mut phones, words.as_mut()), (&spans, posteriors), widened(self.beam(), &retries))?;
        let slots = self.graph().grammar().map_or(vec![], |grammar| grammar.slots(&said));
        let slots = slots.into_iter().map(slot).collect();
        Ok(Decoded { phones, words, slots, samples, retries })
    }
}

impl Decoded {
    /// The result under the name of its utterance.
    pub fn into_alignment(self, utterance: &str, sample_rate: u32) -> Alignment {
        let tiers = std::iter::once(self.phones).chain(self.words).collect();
        let utterance = utterance.to_owned();
        Alignment { utterance, samples: self.samples, sample_rate, tiers, slots: self.slots, nbest: vec![] }
    }
}

/// Segments of search frames as segments of samples: contiguous, the last one ending with the audio.
pub(crate) fn phone_tier(spans: &[SegmentSpan], symbols: &SymbolTable, (timing, samples): (FrameTiming, u64)) -> Tier {
    let mut segments: Vec<Segment> = spans.iter().map(|span| phone(span, symbols, (timing, samples))).collect();
    segments.last_mut().into_iter().for_each(|last| last.end = samples);
    Tier { name: "phones".into(), segments }
}

/// A segment of search frames within the first `samples`.
fn phone(span: &SegmentSpan, symbols: &SymbolTable, (timing, samples): (FrameTiming, u64)) -> Segment {
    let [start, end] = [span.start, span.end].map(|frame| timing.start_sample(frame).min(samples));
    Segment { label: symbols.name(span.symbol).to_owned(), start, end, confidence: None }
}

/// The words that end with `spans`, whose segments are those of `phones`.
pub(crate) fn said(spans: &[SegmentSpan], phones: &Tier, graph: &Graph) -> Vec<Said> {
    let mut sayer = Sayer::default();
    spans.iter().zip(&phones.segments).filter_map(|pair| sayer.next(pair, graph)).collect()
}

/// Makes words of phones, one after another: each from the first phone after the word before it, pauses aside, to the end of its
/// last.
#[derive(Debug, Clone, Default)]
struct Sayer {
    /// Where the word begins that has not ended yet.
    begun: Option<u64>,
}

impl Sayer {
    /// The word that ends with the next span, whose segment is `phone`.
    fn next(&mut self, (span, phone): (&SegmentSpan, &Segment), graph: &Graph) -> Option<Said> {
        match span.word {
            Some(word) => Some(Said { word, start: self.begun.take().unwrap_or(phone.start), end: phone.end }),
            None => {
                self.begun = self.begun.or((!graph.is_pause(span.symbol)).then_some(phone.start));
                None
            }
        }
    }
}

/// The words that were `said`, as the graph calls them.
pub(crate) fn word_tier(said: &[Said], graph: &Graph) -> Tier {
    Tier { name: WORDS.into(), segments: said.iter().map(|said| word(said, graph)).collect() }
}

fn word(&Said { word, start, end }: &Said, graph: &Graph) -> Segment {
    Segment { label: graph.words()[word.index()].text.clone(), start, end, confidence: None }
}

fn slot(SlotValue { name, value, start, end }: SlotValue) -> Slot {
    Slot { name, value: Segment { label: value, start, end, confidence: None } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{GraphSpec, Word};
    use crate::symbols::{SymbolId, WordId};

    #[test]
    fn words_reach_from_their_first_phone_to_their_last() {
        let text = "format = 1\noptional = 'SIL'\n[classes]\nall = ['SIL', 'A', 'B']\n[boundary]\nstart = '*'\nend = '*'\n\
            [[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 1\nself_loop = 0.5\n";
        let spec = GraphSpec::parse(text).unwrap();
        let words = ["ab", "a"].map(|text| Word { text: text.into(), parts: vec![] });
        let graph = spec.compile().unwrap().with_words(words.into(), spec.optional());
        let timing = FrameTiming { shift: 10, length: 10, sample_rate: 100, subsampling: 1 };
        let rows = [(0, None), (1, None), (2, Some(0)), (1, Some(1)), (0, None), (0, None), (1, Some(1)), (0, None)];
        let span = |(start, (symbol, word)): (usize, (u32, Option<u32>))| SegmentSpan {
            symbol: SymbolId(symbol),
            word: word.map(WordId),
            start,
            end: start + 1,
        };
        let spans: Vec<SegmentSpan> = rows.into_iter().enumerate().map(span).collect();
        let phones = phone_tier(&spans, spec.symbols(), (timing, 80));
        let tier = word_tier(&said(&spans, &phones, &graph), &graph);
        let found: Vec<_> = tier.segments.iter().map(|word| (word.label.as_str(), word.start, word.end)).collect();
        assert_eq!(found, [("ab", 10, 30), ("a", 30, 40), ("a", 60, 70)]);
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
