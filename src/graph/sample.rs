//! Legal sequences drawn at random: what a graph file admits, to look at.
//!
//! A sequence grows symbol by symbol. After a symbol every link, and the end where there is one, is drawn in proportion to
//! `exp(score)`, or each alike; what would not let the sequence end within the greatest length is not offered. An n-gram or a
//! grammar with probabilities is thereby drawn from as it stands.

use super::net::Link;
use super::walk::Walk;
use crate::random::Random;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// How the next step is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// In proportion to the exponential of its score.
    Weighted,
    /// Each as likely as another.
    Uniform,
}

/// Draws legal sequences of a graph.
#[derive(Debug)]
pub struct Sampler<'a> {
    walk: &'a Walk,
    choice: Choice,
    max_length: usize,
    to_end: Vec<usize>,
}

impl<'a> Sampler<'a> {
    /// A sampler of sequences of at most `max_length` symbols, or words where `walk` goes over these.
    ///
    /// # Errors
    /// [`Error::Other`] when no sequence is so short; as [`Walk::after`].
    pub fn new(walk: &'a Walk, choice: Choice, max_length: usize) -> Result<Self> {
        let to_end = walk.to_end();
        let shortest = walk.start()?.links.iter().map(|start| to_end[start.to].saturating_add(1)).min();
        match shortest {
            Some(shortest) if shortest <= max_length => Ok(Self { walk, choice, max_length, to_end }),
            shortest => {
                let shortest = shortest.unwrap_or(0);
                let reason = format!(
                    "no legal sequence has {max_length} {}s or fewer: the shortest has {shortest}",
                    walk.unit().noun()
                );
                Err(Error::Other(reason))
            }
        }
    }

    /// The next sequence that `random` gives.
    ///
    /// # Errors
    /// As [`Walk::after`].
    pub fn draw(&self, random: &mut Random) -> Result<Vec<SymbolId>> {
        let mut said: Vec<SymbolId> = vec![];
        let mut onward = self.walk.start()?;
        onward.end = None;
        loop {
            let left = self.max_length - said.len();
            let fits = |to: usize| self.to_end[to] < left;
            let links = onward.links.iter().filter(|link| fits(link.to)).map(|link| (Some(link.to), link.score));
            let offered: Vec<(Option<usize>, f32)> = links.chain(onward.end.map(|score| (None, score))).collect();
            let Some(to) = self.pick(&offered, random) else { return Ok(said) };
            said.push(self.walk.symbol(to));
            onward = self.walk.after(&[Link { to, score: 0.0 }])?;
        }
    }

    /// One of what is offered: a node, or the end.
    fn pick(&self, offered: &[(Option<usize>, f32)], random: &mut Random) -> Option<usize> {
        if self.choice == Choice::Uniform {
            return offered[random.below(offered.len())].0;
        }
        let best = offered.iter().map(|(_, score)| *score).fold(f32::NEG_INFINITY, f32::max);
        let share = |score: f32| f64::from(score - best).exp();
        let total: f64 = offered.iter().map(|(_, score)| share(*score)).sum();
        let mut left = total * ((random.next_u64() >> 11) as f64 / (1u64 << 53) as f64);
        let found = offered.iter().find(|(_, score)| {
            left -= share(*score);
            left < 0.0
        });
        found.unwrap_or(&offered[offered.len() - 1]).0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::net::tests::{MIXED, sequences};
    use super::super::{GraphSpec, net::Net};
    use super::*;

    fn walk(text: &str) -> (Walk, Net) {
        let spec = GraphSpec::parse(text).unwrap();
        let graph = spec.compile().unwrap();
        (Walk::new(&spec, &graph), Net::new(&spec, &graph))
    }

    #[test]
    fn what_is_drawn_is_legal_short_enough_and_the_same_by_seed() {
        let (walk, net) = walk(MIXED);
        for longest in [1, 2, 6] {
            let legal: Vec<Vec<SymbolId>> = sequences(&net, longest).into_iter().map(|(said, _)| said).collect();
            for choice in [Choice::Weighted, Choice::Uniform] {
                let sampler = Sampler::new(&walk, choice, longest).unwrap();
                let draw = |seed| {
                    let mut random = Random::new(seed);
                    (0..300).map(|_| sampler.draw(&mut random).unwrap()).collect::<Vec<_>>()
                };
                let drawn = draw(1);
                assert!(drawn.iter().all(|said| legal.contains(said)));
                assert!(drawn.iter().any(|said| said.len() == longest));
                assert_eq!(drawn, draw(1));
                assert!(longest == 1 || drawn != draw(2));
            }
        }
    }

    /// c alone: P = end / (end + c + a) with weights 1, e^-1.5, e^-1.5; a a b: after a, a and b are alike.
    #[test]
    fn shares_are_those_of_the_weights() {
        let (walk, _) = walk(&MIXED.replace("start = ['a', 'c']", "start = 'c'"));
        let sampler = Sampler::new(&walk, Choice::Weighted, 200).unwrap();
        let mut random = Random::new(3);
        let mut seen: BTreeMap<Vec<SymbolId>, f64> = BTreeMap::new();
        let count = 40_000;
        (0..count).for_each(|_| *seen.entry(sampler.draw(&mut random).unwrap()).or_default() += 1.0 / f64::from(count));
        let ending = 1.0 / (1.0 + 2.0 * (-1.5_f64).exp());
        let other = (1.0 - ending) / 2.0;
        let [a, b, c] = [0, 1, 2].map(SymbolId);
        let expected = [
            (vec![c], ending),
            (vec![c, c], other * ending),
            (vec![c, a, b], other * 0.5 * ending),
            (vec![c, a, a, b], other * 0.25 * ending),
        ];
        for (said, share) in expected {
            assert!((seen[&said] - share).abs() < 0.008, "{said:?}: {} {share}", seen[&said]);
        }
    }

    #[test]
    fn too_short_a_length_is_refused() {
        let (walk, _) =
            walk(&MIXED.replace("end = ['b', 'c']", "end = 'b'").replace("start = ['a', 'c']", "start = 'c'"));
        let error = Sampler::new(&walk, Choice::Uniform, 2).unwrap_err();
        assert_eq!(error.to_string(), "no legal sequence has 2 symbols or fewer: the shortest has 3");
    }
}
