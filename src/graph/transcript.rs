//! The transcript graph: every alignment of one transcript, with the same pdfs and parameters as the full graph.

use super::Graph;
use super::grammar::Within;
use super::lattice::{Lattice, MOST_ARCS, Place, Segment, too_large};
use super::memory::Remembered;
use super::ngram::Ngram;
use super::spec::GraphSpec;
use crate::symbols::{SymbolId, WordId};
use crate::{Error, Result};

/// One place of a transcript: a word with its pronunciations, or one symbol.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The word, carried by the last state of each pronunciation.
    pub word: Option<WordId>,
    /// The pronunciations, of which one is said; the same one twice counts once.
    pub alternatives: Vec<Vec<SymbolId>>,
}

/// The slots laid out as a net: per slot, per pronunciation, the segments of its symbols.
struct Laid {
    net: Lattice,
    slots: Vec<Vec<Vec<usize>>>,
}

impl GraphSpec {
    /// The graph of every alignment of `symbols`, the optional symbols between any two, before the first and after the last
    /// wherever the pair rules and the boundary permit. The scores of an `[lm]` are left out: one transcript has one.
    ///
    /// # Errors
    /// [`Error::Transcript`] naming the first pair that the graph or its grammar forbids, when no alignment is legal, or two
    /// symbols that an exclusive rule keeps apart.
    pub fn transcript(&self, symbols: &[SymbolId]) -> Result<Graph> {
        let slot = |&symbol| Slot { word: None, alternatives: vec![vec![symbol]] };
        self.transcript_of(&symbols.iter().map(slot).collect::<Vec<_>>())
    }

    /// The graph of every alignment of `slots`, one pronunciation of each, the optional symbols between slots, before the first
    /// and after the last wherever the pair rules and the boundary permit. In a gap the optional symbols may come in any legal
    /// sequence, or not at all.
    ///
    /// # Errors
    /// [`Error::Transcript`] naming the first pair that the graph forbids when no alignment is legal, or a slot without
    /// pronunciation.
    pub fn transcript_of(&self, slots: &[Slot]) -> Result<Graph> {
        self.transcript_net(slots)?.expand(self)
    }

    /// [`GraphSpec::transcript_of`] with the scores of `lm`, an n-gram and the factor on its scores: each alignment then scores
    /// what it does in the graph of [`GraphSpec::compile_with`], so that it has its share of that graph's total.
    ///
    /// # Errors
    /// As [`GraphSpec::transcript_of`]; [`Error::Transcript`] when the n-gram gives every alignment probability 0; as
    /// [`GraphSpec::compile_with`].
    pub fn transcript_with(&self, slots: &[Slot], lm: (&Ngram, f32)) -> Result<Graph> {
        if lm.0.symbols() != self.symbols() {
            return Err(Error::Other("the n-gram and the graph have different symbols".into()));
        }
        let none = || Error::Transcript { reason: "the n-gram gives it probability 0".into() };
        self.transcript_net(slots)?.weighed(lm)?.ok_or_else(none)?.expand(self)
    }

    fn transcript_net(&self, slots: &[Slot]) -> Result<Lattice> {
        slots.iter().try_for_each(|slot| self.check_slot(slot))?;
        let laid = self.lay(slots)?;
        let fault = |reached: &[bool], by: &str| Error::Transcript { reason: self.first_fault(&laid, (reached, by)) };
        let net = match self.grammar_net() {
            None => laid.net.clone().trimmed().ok_or_else(|| fault(&laid.net.reached(), "graph"))?,
            Some(grammar) => {
                let Remembered { net, plain } = laid.net.remembered(&Within::new(grammar))?;
                let mut reached = vec![false; laid.net.segments.len()];
                plain.into_iter().for_each(|segment| reached[segment] = true);
                net.trimmed().ok_or_else(|| fault(&reached, "grammar"))?
            }
        };
        self.exclude((net, &[]), |rule| self.broken(rule, &laid.net))
    }

    fn check_slot(&self, slot: &Slot) -> Result<()> {
        let mut symbols = slot.alternatives.iter().flatten();
        let reason = if slot.alternatives.is_empty() || slot.alternatives.iter().any(Vec::is_empty) {
            "a word of the transcript has no pronunciation".into()
        } else if let Some(symbol) = symbols.find(|symbol| symbol.index() >= self.symbols().len()) {
            format!("symbol number {symbol} is not of this graph, which has {}", self.symbols().len())
        } else {
            return Ok(());
        };
        Err(Error::Transcript { reason })
    }

    /// Gap, slot, gap, slot, ..., gap.
    fn lay(&self, slots: &[Slot]) -> Result<Laid> {
        let mut net = Lattice::default();
        let mut laid = vec![];
        let mut openings: Vec<usize> = net.gap(self, &[]).collect();
        // Segments from which the sequence may go on.
        let mut before = openings.clone();
        for (place, slot) in slots.iter().enumerate() {
            let chains = self.slot(&mut net, slot, &before);
            if place == 0 {
                openings.extend(chains.iter().map(|chain| chain[0]));
            }
            before = chains.iter().map(|chain| chain[chain.len() - 1]).collect();
            before.extend(net.gap(self, &before));
            laid.push(chains);
            if net.links.len() > MOST_ARCS {
                return Err(too_large(net.links.len()));
            }
        }
        let among = |segments: Vec<usize>, legal: &[SymbolId]| {
            let is_legal = |segment: &usize| legal.binary_search(&net.segments[*segment].symbol).is_ok();
            segments.into_iter().filter(is_legal).map(|segment| (segment, 0.0)).collect()
        };
        (net.starts, net.ends) = (among(openings, self.starts()), among(before, self.ends()));
        Ok(Laid { net, slots: laid })
    }

    /// The pronunciations of `slot` as parallel chains entered from `before`.
    fn slot(&self, net: &mut Lattice, slot: &Slot, before: &[usize]) -> Vec<Vec<usize>> {
        let mut different: Vec<&Vec<SymbolId>> = vec![];
        slot.alternatives.iter().for_each(|said| {
            if !different.contains(&said) {
                different.push(said);
            }
        });
        let mut chains = vec![];
        for symbols in different {
            let last = symbols.len() - 1;
            let segment = |(index, &symbol): (usize, &SymbolId)| {
                let place = if index == last { Place::Last } else { Place::Inside };
                net.segment(Segment { symbol, place, word: slot.word.filter(|_| index == last) })
            };
            let chain: Vec<usize> = symbols.iter().enumerate().map(segment).collect();
            before.iter().for_each(|&from| net.link_legal(self, from, chain[0]));
            chain.windows(2).for_each(|pair| net.link_legal(self, pair[0], pair[1]));
            chains.push(chain);
        }
        chains
    }

    /// Why no way leads through the net: the first step, in the order of the transcript, that none can take, when ways lead to the
    /// segments that are `reached`; `by` is what forbids the step.
    fn first_fault(&self, laid: &Laid, (reached, by): (&[bool], &str)) -> String {
        let name = |segment: usize| self.symbols().name(laid.net.segments[segment].symbol);
        let mut before: Option<usize> = None;
        for chains in &laid.slots {
            let whole = |chain: &&Vec<usize>| reached[chain[chain.len() - 1]];
            let Some(chain) = chains.iter().find(whole) else {
                let chain = &chains[0];
                let broken = chain.iter().position(|&segment| !reached[segment]).unwrap_or(0);
                let from = if broken == 0 { before } else { Some(chain[broken - 1]) };
                return match from {
                    Some(from) => format!("{} -> {} is not allowed by the {by}", name(from), name(chain[broken])),
                    None => format!("{} is not allowed as the first symbol by the {by}", name(chain[broken])),
                };
            };
            before = Some(chain[chain.len() - 1]);
        }
        match before {
            Some(last) => format!("{} is not allowed as the last symbol by the {by}", name(last)),
            None => format!("the transcript is empty and the {by} allows no sequence of optional symbols alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> GraphSpec {
        let text = r#"
format = 1
optional = ["sil"]
[classes]
all = ["sil", "a", "b", "n", "h"]
[boundary]
start = ["sil", "a", "b", "h"]
end = ["sil", "a", "b", "n"]
[[allow]]
from = ["a", "b"]
to = "*"
[[allow]]
from = "*"
to = ["a", "b"]
[[allow]]
from = "n"
to = "sil"
[[forbid]]
from = "b"
to = "a"
[[forbid]]
from = "sil"
to = "b"
[topology.default]
states = 1
self_loop = 0.5
"#;
        GraphSpec::parse(text).unwrap()
    }

    fn ids(text: &str) -> Vec<SymbolId> {
        text.split_whitespace().map(|name| spec().symbols().get(name).unwrap()).collect()
    }

    fn fault(symbols: &[SymbolId]) -> String {
        spec().transcript(symbols).unwrap_err().to_string()
    }

    #[test]
    fn the_first_illegal_pair_is_named() {
        assert_eq!(fault(&ids("a n h n h")), "n -> h is not allowed by the graph");
        assert_eq!(fault(&ids("a n n")), "n -> n is not allowed by the graph");
        assert_eq!(fault(&ids("n a")), "n is not allowed as the first symbol by the graph");
        assert_eq!(fault(&ids("a h")), "h is not allowed as the last symbol by the graph");
        assert_eq!(fault(&[SymbolId(9)]), "symbol number 9 is not of this graph, which has 5");
    }

    /// b -> a is forbidden, but b -> sil -> a is not.
    #[test]
    fn a_pause_bridges_an_illegal_pair() {
        assert_eq!(spec().transcript(&ids("b a")).unwrap().shortest_path_frames(), Some(3));
        let one_word = Slot { word: Some(WordId(0)), alternatives: vec![ids("b a")] };
        let error = spec().transcript_of(std::slice::from_ref(&one_word)).unwrap_err();
        assert_eq!(error.to_string(), "b -> a is not allowed by the graph");
        let either = Slot { alternatives: vec![ids("b a"), ids("a b"), ids("a b")], ..one_word };
        let graph = spec().transcript_of(&[either]).unwrap();
        // a b, and a pause before a and after b.
        assert_eq!(graph.len(), 4);
        assert_eq!(graph.states().iter().filter(|state| state.word.is_some()).count(), 1);
    }

    #[test]
    fn a_word_needs_a_pronunciation() {
        for alternatives in [vec![], vec![vec![]], vec![ids("a"), vec![]]] {
            let error = spec().transcript_of(&[Slot { word: Some(WordId(0)), alternatives }]).unwrap_err();
            assert_eq!(error.to_string(), "a word of the transcript has no pronunciation");
        }
    }

    #[test]
    fn an_empty_transcript_is_silence() {
        assert_eq!(spec().transcript(&[]).unwrap().len(), 1);
        let strict = spec().text().replace("start = [\"sil\", ", "start = [");
        let error = GraphSpec::parse(&strict).unwrap().transcript(&[]).unwrap_err();
        assert!(error.to_string().starts_with("the transcript is empty"), "{error}");
    }
}
