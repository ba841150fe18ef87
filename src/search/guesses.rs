//! What else may have been said: the N best sequences and the lattice of a recording.

use super::Searcher;
use crate::Result;
use crate::alignment::Guess;
use crate::dp::{BeamRetry, Hypothesis, Lattice, LatticeArc, Recording, nbest, widened, with_wider};
use crate::emission::{LogPosteriors, hybrid};
use crate::formats::lattice::{LabelledLattice, Link};
use crate::symbols::{SymbolId, WordId};
use crate::timing::FrameTiming;

/// What sequences are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuessUnit {
    /// Phones, pauses among them.
    Phones,
    /// Words of the graph.
    Words,
}

/// The beam of the first lattice that is looked for sequences, natural log.
const FIRST_BEAM: f32 = 4.0;

/// A beam that is wider is the last: what is so much worse than the best is no guess.
const MOST_BEAM: f32 = 1000.0;

impl Searcher {
    /// Searches `posteriors` and keeps what was followed, for [`Searcher::best_sequences`] and [`Searcher::lattice`]; with the beam
    /// that held after `retries`. Memory grows with the recording.
    ///
    /// # Errors
    /// As [`Searcher::search`]; [`Error::Other`](crate::Error::Other) where nothing else than an exact search of a large graph finds a path.
    pub fn recording(&self, posteriors: &LogPosteriors, retries: &[BeamRetry]) -> Result<Recording> {
        let emissions = hybrid(posteriors, &self.priors, self.options.settings.hybrid())?;
        with_wider(widened(self.beam(), retries), |beam| Recording::new(&self.plan, &emissions, beam))
    }

    /// What the sequences of this graph are of, unless phones are asked for.
    pub fn unit(&self) -> GuessUnit {
        if self.graph().words().is_empty() { GuessUnit::Phones } else { GuessUnit::Words }
    }

    /// The `count` best distinct sequences, best first; fewer, where the search has followed no more.
    ///
    /// A lattice of a beam has all sequences within that beam, and some that are not: it is made wider until there are enough of
    /// the former, or very wide.
    pub fn best_sequences(&self, recording: &Recording, (count, unit): (usize, GuessUnit)) -> Vec<Guess> {
        let mut beam = FIRST_BEAM;
        loop {
            let found = self.sequences(&recording.lattice(beam), (count, unit));
            let least = found.first().map_or(0.0, |best| best.score) - f64::from(beam);
            if found.iter().filter(|guess| guess.score >= least).count() >= count || beam > MOST_BEAM {
                return found;
            }
            beam *= 2.0;
        }
    }

    fn sequences(&self, lattice: &Lattice, (count, unit): (usize, GuessUnit)) -> Vec<Guess> {
        let symbol = |symbol: &SymbolId| self.symbols().name(*symbol).to_owned();
        let word = |word: &WordId| self.word(*word);
        match unit {
            GuessUnit::Phones => guesses(nbest(lattice, count, |arc| Some(arc.symbol)), symbol),
            GuessUnit::Words => guesses(nbest(lattice, count, |arc| arc.word), word),
        }
    }

    fn word(&self, word: WordId) -> String {
        self.graph().words()[word.index()].text.clone()
    }

    /// The paths of `recording` within `beam` (natural log) of the best, with names and times; the last node is at the end of the
    /// audio, which has so many samples.
    pub fn lattice(
        &self,
        recording: &Recording,
        beam: f32,
        (utterance, timing, samples): (&str, FrameTiming, u64),
    ) -> LabelledLattice {
        let Lattice { nodes, arcs } = recording.lattice(beam);
        let seconds = |sample: u64| sample.min(samples) as f64 / f64::from(timing.sample_rate);
        let mut node_seconds: Vec<f64> = nodes.iter().map(|&frame| seconds(timing.start_sample(frame))).collect();
        node_seconds.last_mut().into_iter().for_each(|end| *end = seconds(samples));
        let link = |&LatticeArc { from, to, symbol, word, acoustic, graph }: &LatticeArc| {
            let (phone, word) = (self.symbols().name(symbol).to_owned(), word.map(|word| self.word(word)));
            Link { from, to, phone, word, acoustic, graph }
        };
        let has_words = self.unit() == GuessUnit::Words;
        let links = arcs.iter().map(link).collect();
        LabelledLattice { utterance: utterance.to_owned(), node_seconds, links, has_words }
    }
}

fn guesses<L>(found: Vec<Hypothesis<L>>, name: impl Fn(&L) -> String) -> Vec<Guess> {
    let guess = |one: Hypothesis<L>| Guess { score: one.score, labels: one.labels.iter().map(&name).collect() };
    found.into_iter().map(guess).collect()
}
