//! The journey of one recording with its transcript: network, emissions, transcript graph, search, fits, verdict.

use std::sync::Arc;

use super::filler::Filler;
use super::fit::{Fit, Fitting};
use super::mend::{Found, mended};
use super::refine::Boundaries;
use super::transcript::{Transcript, Unit};
use super::verdict::{self, Doubt, Reason, Thresholds, Verdict};
use crate::alignment::{Alignment, Tier};
use crate::bundle::Bundle;
use crate::decode::Listener;
use crate::dp::{BeamOptions, BeamRetry, Blocks, Plan, PlanOptions, search_blocks};
use crate::emission::{Emissions, LogPosteriors, hybrid};
use crate::error::require;
use crate::graph::Graph;
use crate::search::{phone_tier, said, word_tier};
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// What is done about words without pronunciation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// The model's filler takes their place: any speech. A model without one has nothing to skip them with.
    #[default]
    Skip,
    /// The utterance is not aligned.
    Refuse,
}

/// How to align.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlignOptions {
    /// Pruning width of the first search, natural log. Where it loses every path it is doubled, up to exact search. An alignment in
    /// doubt is searched with 4 times the beam, again and again up to 1000 and then, in recordings to 10 minutes, exactly; or until a
    /// beam of 200 or more finds the same once more.
    pub beam: f32,
    /// What is done about words without pronunciation.
    pub unknown: Unknown,
    /// From where on an alignment is in doubt.
    pub thresholds: Thresholds,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { beam: 200.0, unknown: Unknown::Skip, thresholds: Thresholds::default() }
    }
}

/// A model, ready to align any number of recordings.
#[derive(Debug)]
pub struct Aligner {
    bundle: Arc<Bundle>,
    options: AlignOptions,
    filler: Option<SymbolId>,
}

/// A recording with the times of what is said in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned {
    /// Phones and pauses with times in samples; the last ends where the recording ends.
    pub phones: Tier,
    /// Words with times in samples, where the transcript has words.
    pub words: Option<Tier>,
    /// How well each segment of `phones` fits.
    pub fits: Vec<Fit>,
    /// Whether it is to be believed.
    pub verdict: Verdict,
    /// The beams that lost every path.
    pub retries: Vec<BeamRetry>,
    /// Number of samples of the recording.
    pub samples: u64,
}

impl Aligned {
    /// The result under the name of its utterance: phones, then words.
    pub fn into_alignment(self, utterance: &str, sample_rate: u32) -> Alignment {
        let tiers = std::iter::once(self.phones).chain(self.words).collect();
        Alignment {
            utterance: utterance.to_owned(),
            samples: self.samples,
            sample_rate,
            tiers,
            slots: vec![],
            nbest: vec![],
        }
    }
}

impl Aligner {
    /// Aligns with `bundle` as the `options` say.
    ///
    /// # Errors
    /// [`Error::Setting`] for a beam that is not above 0.
    pub fn new(bundle: Arc<Bundle>, options: AlignOptions) -> Result<Self> {
        require(options.beam > 0.0, "beam", options.beam, "a number above 0")?;
        let filler = bundle.filler().filter(|_| options.unknown == Unknown::Skip);
        Ok(Self { bundle, options, filler })
    }

    /// The model.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Aligns `samples`, -1 to 1, at the model's rate, with `transcript`.
    ///
    /// # Errors
    /// [`Error::Transcript`] when the model cannot say the transcript; [`Error::NoPath`] and [`Error::TooShort`] when the recording
    /// is too short for it; [`Error::Impossible`].
    pub fn align(&self, samples: &[f32], transcript: &Transcript) -> Result<Aligned> {
        let spec = &self.bundle.graph;
        let graph = spec.transcript_of(&transcript.slots(spec, (self.filler, self.options.unknown))?)?;
        let graph = Arc::new(graph.with_words(transcript.words(), spec.optional()));
        let plan = Arc::new(Plan::new(&graph, &self.bundle.transitions, &PlanOptions { insertion_penalty: 0.0 })?);
        let mut heard = Heard::new(self, samples, transcript);
        let mut search = |beam| self.search(&plan, &mut heard, (transcript, beam));
        let found = mended(search(self.options.beam)?, self.seconds(samples), search)?;
        self.told(found, (&graph, transcript.unit), samples)
    }

    /// Searches with `beam` or a wider one, and judges what is found.
    fn search(&self, plan: &Arc<Plan>, heard: &mut Heard, (transcript, beam): (&Transcript, f32)) -> Result<Found> {
        let options = BeamOptions { beam, max_active: usize::MAX };
        let (spans, retries) = search_blocks(plan, heard, options)?;
        let beam = retries.last().map_or(beam, |retry| retry.next.beam);
        let scale = self.bundle.description.search.acoustic_scale;
        let mut fitting = Fitting::new(&spans, (&self.bundle.graph, self.filler), scale);
        let mut boundaries = Boundaries::new(&spans, &self.bundle.graph, scale);
        heard.play(&mut |block| {
            fitting.push(block);
            boundaries.push(block);
            Ok(())
        })?;
        let fits = fitting.finish();
        let verdict = match self.doubt(&fits, (transcript, heard.samples)) {
            Some(doubt) => Verdict::Doubtful(doubt),
            None if beam > self.options.beam => Verdict::Widened { beam },
            None => Verdict::Aligned,
        };
        Ok(Found { spans, fits, boundaries, verdict, retries, beam })
    }

    fn doubt(&self, fits: &[Fit], (transcript, samples): (&Transcript, &[f32])) -> Option<Doubt> {
        let frame_seconds = self.bundle.timing().search_shift_ms() / 1000.0;
        let seconds = self.seconds(samples);
        let (reason, range) = verdict::doubt(fits, frame_seconds, &self.options.thresholds)?;
        let stretch = &fits[range];
        let [start_seconds, end_seconds] =
            [stretch[0].start, stretch[stretch.len() - 1].end].map(|frame| (frame as f64 * frame_seconds).min(seconds));
        Some(Doubt { start_seconds, end_seconds, what: self.named(stretch, reason, transcript), reason })
    }

    fn seconds(&self, samples: &[f32]) -> f64 {
        samples.len() as f64 / f64::from(self.bundle.timing().sample_rate)
    }

    /// What the `stretch` holds, for a message.
    fn named(&self, stretch: &[Fit], reason: Reason, transcript: &Transcript) -> String {
        if let (Reason::Stretched { .. }, [one]) = (reason, stretch) {
            return self.bundle.graph.symbols().name(one.symbol).to_owned();
        }
        let mut items: Vec<usize> = stretch.iter().filter_map(|fit| fit.item).collect();
        items.dedup();
        let named: Vec<&str> = items.iter().take(NAMED).map(|&item| transcript.items[item].text.as_str()).collect();
        named.join(" ") + if items.len() > NAMED { " ..." } else { "" }
    }

    fn told(&self, found: Found, (graph, unit): (&Graph, Unit), samples: &[f32]) -> Result<Aligned> {
        let (timing, count) = (self.bundle.timing(), samples.len() as u64);
        let mut phones = phone_tier(&found.spans, graph.symbols(), (timing, count));
        found.boundaries.refine(&mut phones, (samples, timing), self.filler)?;
        let words = (unit == Unit::Word).then(|| word_tier(&said(&found.spans, &phones, graph), graph));
        let Found { fits, verdict, retries, .. } = found;
        Ok(Aligned { phones, words, fits, verdict, retries, samples: count })
    }
}

/// Words of a doubtful stretch that a message names.
const NAMED: usize = 6;

/// Samples that are heard at once: ten seconds at 16 kHz.
const BLOCK_SAMPLES: usize = 160_000;
/// Search frames whose emissions are kept; those of a longer recording are computed again each time they are asked for.
const MOST_KEPT: usize = 30_000;

/// The emissions of a recording, kept as long as there are few.
struct Heard<'a> {
    aligner: &'a Aligner,
    samples: &'a [f32],
    filler: Option<Filler>,
    kept: Option<Vec<Emissions>>,
}

impl<'a> Heard<'a> {
    fn new(aligner: &'a Aligner, samples: &'a [f32], transcript: &Transcript) -> Self {
        let scale = aligner.bundle.description.search.acoustic_scale;
        let symbol = aligner.filler.filter(|_| transcript.unknown().next().is_some());
        let filler = symbol.map(|symbol| Filler::new(&aligner.bundle.graph, symbol, scale));
        Self { aligner, samples, filler, kept: None }
    }

    fn emissions(&self, posteriors: &LogPosteriors) -> Result<Emissions> {
        let bundle = &self.aligner.bundle;
        let emissions = hybrid(posteriors, &bundle.priors, bundle.description.search.hybrid())?;
        match &self.filler {
            Some(filler) => filler.fill(&emissions),
            None => Ok(emissions),
        }
    }

    fn listen(&mut self, take: &mut dyn FnMut(&Emissions) -> Result<()>) -> Result<()> {
        let (mut frames, mut kept) = (0, vec![]);
        let mut block = |heard: &Self, posteriors: LogPosteriors| {
            let emissions = heard.emissions(&posteriors)?;
            take(&emissions)?;
            frames += emissions.frames();
            if frames <= MOST_KEPT {
                kept.push(emissions);
            } else {
                kept.clear();
            }
            Ok::<(), Error>(())
        };
        let mut listener = Listener::new(&self.aligner.bundle)?;
        for samples in self.samples.chunks(BLOCK_SAMPLES) {
            listener.push(samples)?;
            block(self, listener.take())?;
        }
        block(self, listener.finish()?.0)?;
        self.kept = (frames <= MOST_KEPT).then_some(kept);
        Ok(())
    }
}

impl Blocks for Heard<'_> {
    fn play(&mut self, take: &mut dyn FnMut(&Emissions) -> Result<()>) -> Result<()> {
        match &self.kept {
            Some(blocks) => blocks.iter().try_for_each(take),
            None => self.listen(take),
        }
    }
}
