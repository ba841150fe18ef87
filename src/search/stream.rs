//! Search of one recording as it arrives: log-posteriors in, block by block; phones and words out once they are certain.

use super::{Decoded, Sayer, Searcher, phone, phone_tier, slot, word, word_tier};
use crate::alignment::{Segment, Tier};
use crate::dp::{BeamOptions, SegmentSpan, StreamOptions, StreamSearch, best_symbols, widened};
use crate::emission::{Emissions, LogPosteriors, hybrid};
use crate::graph::grammar::Said;
use crate::matrix::Matrix;
use crate::timing::FrameTiming;
use crate::{Error, Result};

/// What has become certain: what follows in each tier.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Certain {
    /// Phones; each begins where the one before ends.
    pub phones: Vec<Segment>,
    /// Words, where the graph has some.
    pub words: Vec<Segment>,
}

/// One recording on its way through a [`Searcher`].
pub struct Decoding<'a> {
    searcher: &'a Searcher,
    timing: FrameTiming,
    paths: Paths,
    phones: Vec<Segment>,
    sayer: Sayer,
    said: Vec<Said>,
    /// What ratings are made of at the end, where they are wanted.
    kept: Option<Kept>,
    /// What was followed at first.
    beam: BeamOptions,
}

/// The posteriors of all frames, and all segments.
struct Kept {
    posteriors: Matrix,
    spans: Vec<SegmentSpan>,
}

/// What is followed.
enum Paths {
    Graph(Box<StreamSearch>),
    /// Frames by themselves: how many there were, and the segment that may go on.
    Frames {
        frames: usize,
        open: Option<SegmentSpan>,
    },
}

impl<'a> Decoding<'a> {
    /// Without `options`, frames go by themselves.
    pub(super) fn new(searcher: &'a Searcher, timing: FrameTiming, options: Option<StreamOptions>) -> Self {
        let beam = options.map_or(BeamOptions::EXACT, |options| options.beam);
        let paths = match options {
            Some(options) => Paths::Graph(Box::new(StreamSearch::new(searcher.plan.clone(), options))),
            None => Paths::Frames { frames: 0, open: None },
        };
        let kept = || Kept { posteriors: Matrix::with_cols(searcher.graph().pdfs()), spans: vec![] };
        let kept = searcher.options.confidence.map(|_| kept());
        Self { searcher, timing, paths, phones: vec![], sayer: Sayer::default(), said: vec![], kept, beam }
    }

    /// Takes the next rows of posteriors and gives what they make certain.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn push(&mut self, posteriors: &LogPosteriors) -> Result<Certain> {
        let emissions = hybrid(posteriors, &self.searcher.priors, self.searcher.options.settings.hybrid())?;
        let spans = match &mut self.paths {
            Paths::Graph(search) => search.push(&emissions)?,
            Paths::Frames { frames, open } => self.searcher.by_frames(&emissions, (frames, open))?,
        };
        if let Some(kept) = &mut self.kept {
            kept.posteriors.append(&posteriors.0);
        }
        let symbols = self.searcher.symbols();
        let phones = spans.iter().map(|span| phone(span, symbols, (self.timing, u64::MAX))).collect();
        Ok(self.told(&spans, phones))
    }

    /// Ends the recording, of so many `samples`, and gives all that was found in it, what was certain before included.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn finish(mut self, samples: u64) -> Result<Decoded> {
        let graph = self.searcher.graph();
        let paths = std::mem::replace(&mut self.paths, Paths::Frames { frames: 0, open: None });
        let (spans, retries) = match paths {
            Paths::Graph(search) => search.finish()?,
            Paths::Frames { open, .. } => (open.into_iter().collect(), vec![]),
        };
        let rest = phone_tier(&spans, graph.symbols(), (self.timing, samples));
        self.told(&spans, rest.segments);
        let mut phones = Tier { segments: self.phones, ..rest };
        let mut words = (!graph.words().is_empty()).then(|| word_tier(&self.said, graph));
        if let Some(Kept { posteriors, spans }) = self.kept {
            let beam = widened(self.beam, &retries);
            self.searcher.rate((&mut phones, words.as_mut()), (&spans, &LogPosteriors(posteriors)), beam)?;
        }
        let slots = graph.grammar().map_or(vec![], |grammar| grammar.slots(&self.said));
        Ok(Decoded { phones, words, slots: slots.into_iter().map(slot).collect(), samples, retries })
    }

    /// Takes the `phones` that `spans` are, with the words that end in them, for found.
    fn told(&mut self, spans: &[SegmentSpan], phones: Vec<Segment>) -> Certain {
        let graph = self.searcher.graph();
        let said: Vec<Said> =
            spans.iter().zip(&phones).filter_map(|(span, phone)| self.sayer.next((span, phone), graph)).collect();
        let words = said.iter().map(|said| word(said, graph)).collect();
        self.said.extend(said);
        self.kept.iter_mut().for_each(|kept| kept.spans.extend_from_slice(spans));
        self.phones.extend_from_slice(&phones);
        Certain { phones, words }
    }
}

impl Searcher {
    /// The segments that end within the next `emissions`, each frame by itself; the last may go on and stays open.
    fn by_frames(
        &self,
        emissions: &Emissions,
        (frames, open): (&mut usize, &mut Option<SegmentSpan>),
    ) -> Result<Vec<SegmentSpan>> {
        let before = *frames;
        let found = best_symbols(self.graph(), emissions).map_err(|error| match error {
            Error::Impossible { frame } => Error::Impossible { frame: before + frame },
            other => other,
        })?;
        *frames += emissions.frames();
        let mut spans: Vec<SegmentSpan> = open.take().into_iter().collect();
        for span in found {
            let span = SegmentSpan { start: before + span.start, end: before + span.end, ..span };
            match spans.last_mut() {
                Some(last) if last.symbol == span.symbol => last.end = span.end,
                _ => spans.push(span),
            }
        }
        *open = spans.pop();
        Ok(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfidenceSettings, DecodeOptions, Method, SearchModel, SearchSettings};
    use super::*;
    use crate::emission::Priors;
    use crate::graph::GraphSpec;
    use crate::random::Random;

    fn searcher(method: Method, confidence: Option<ConfidenceSettings>) -> Searcher {
        let text = "format = 1\noptional = 'SIL'\n[classes]\nall = ['SIL', 'A', 'B']\n[boundary]\nstart = '*'\nend = '*'\n\
            [[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 2\nself_loop = 0.5\n";
        let spec = GraphSpec::parse(text).unwrap();
        let graph = spec.compile().unwrap();
        let priors = Priors::uniform(graph.pdfs()).unwrap();
        let settings = SearchSettings { beam: 4.0, ..Default::default() };
        let model = SearchModel { weights: spec.initial_weights(), graph, priors };
        Searcher::new(model, DecodeOptions { settings, method, confidence }).unwrap()
    }

    #[test]
    fn what_comes_early_is_the_begin_of_the_whole() {
        let timing = FrameTiming { shift: 10, length: 10, sample_rate: 100, subsampling: 1 };
        let mut random = Random::new(2);
        let rows = Matrix::from_vec(200, 6, (0..1200).map(|_| 2.0 * random.normal()).collect()).unwrap();
        let rated = Some(ConfidenceSettings::default());
        for (method, confidence) in
            [(Method::Beam, None), (Method::Exact, None), (Method::Frames, None), (Method::Beam, rated)]
        {
            let searcher = searcher(method, confidence);
            let whole = searcher.decode_within(&LogPosteriors(rows.clone()), (timing, 1997)).unwrap();
            assert!(whole.phones.segments.len() > 20);
            assert!(whole.phones.segments.iter().all(|phone| phone.confidence.is_some() == confidence.is_some()));
            for block in [1, 3, 64, 200] {
                let (mut decoding, mut early) = (searcher.start(timing), vec![]);
                for first in (0..200).step_by(block) {
                    let block = LogPosteriors(rows.slice_rows(first..200.min(first + block)));
                    early.extend(decoding.push(&block).unwrap().phones);
                }
                assert!(early.len() > 10, "{method:?}");
                let unrated = whole.phones.segments.iter().map(|phone| Segment { confidence: None, ..phone.clone() });
                assert_eq!(early, unrated.take(early.len()).collect::<Vec<_>>());
                assert_eq!(decoding.finish(1997).unwrap(), whole);
            }
        }
    }
}
