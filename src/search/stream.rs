//! Search of one recording as it arrives: log-posteriors in, block by block; phones and words out once they are certain.

use super::{Decoded, Sayer, Searcher, phone, phone_tier, slot, word, word_tier};
use crate::alignment::{Segment, Tier};
use crate::dp::{SegmentSpan, StreamSearch, best_symbols};
use crate::emission::{Emissions, LogPosteriors, hybrid};
use crate::graph::grammar::Said;
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
    pub(super) fn new(searcher: &'a Searcher, timing: FrameTiming) -> Self {
        let paths = match searcher.stream_options() {
            Some(options) => Paths::Graph(Box::new(StreamSearch::new(searcher.plan.clone(), options))),
            None => Paths::Frames { frames: 0, open: None },
        };
        Self { searcher, timing, paths, phones: vec![], sayer: Sayer::default(), said: vec![] }
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
        let phones = Tier { segments: self.phones, ..rest };
        let words = (!graph.words().is_empty()).then(|| word_tier(&self.said, graph));
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
    use super::super::{DecodeOptions, Method, SearchModel, SearchSettings};
    use super::*;
    use crate::emission::Priors;
    use crate::graph::GraphSpec;
    use crate::matrix::Matrix;
    use crate::random::Random;

    fn searcher(method: Method) -> Searcher {
        let text = "format = 1\noptional = 'SIL'\n[classes]\nall = ['SIL', 'A', 'B']\n[boundary]\nstart = '*'\nend = '*'\n\
            [[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 2\nself_loop = 0.5\n";
        let spec = GraphSpec::parse(text).unwrap();
        let graph = spec.compile().unwrap();
        let priors = Priors::uniform(graph.pdfs()).unwrap();
        let settings = SearchSettings { beam: 4.0, ..Default::default() };
        let model = SearchModel { weights: spec.initial_weights(), graph, priors };
        Searcher::new(model, DecodeOptions { settings, method }).unwrap()
    }

    #[test]
    fn what_comes_early_is_the_begin_of_the_whole() {
        let timing = FrameTiming { shift: 10, length: 10, sample_rate: 100, subsampling: 1 };
        let mut random = Random::new(2);
        let rows = Matrix::from_vec(200, 6, (0..1200).map(|_| 2.0 * random.normal()).collect()).unwrap();
        for method in [Method::Beam, Method::Exact, Method::Frames] {
            let searcher = searcher(method);
            let whole = searcher.decode_within(&LogPosteriors(rows.clone()), (timing, 1997)).unwrap();
            assert!(whole.phones.segments.len() > 20);
            for block in [1, 3, 64, 200] {
                let (mut decoding, mut early) = (searcher.start(timing), vec![]);
                for first in (0..200).step_by(block) {
                    let block = LogPosteriors(rows.slice_rows(first..200.min(first + block)));
                    early.extend(decoding.push(&block).unwrap().phones);
                }
                assert!(early.len() > 10, "{method:?}");
                assert_eq!(early, whole.phones.segments[..early.len()]);
                assert_eq!(decoding.finish(1997).unwrap(), whole);
            }
        }
    }
}
