//! A grammar over words as a net of words.

use super::Grammar;
use crate::Result;
use crate::graph::lattice::Link;
use crate::graph::words::WordNet;
use crate::symbols::WordId;

impl Grammar {
    /// The net of the grammar's words, a node for each place. Places that follow another together are a fan, which is shared by all
    /// places with the same ones after them; a single one is a link.
    ///
    /// # Errors
    /// [`crate::Error::Other`] when there are too many steps.
    pub(in crate::graph) fn word_net(&self) -> Result<WordNet> {
        let onward = self.automaton.onward()?;
        let mut net = WordNet {
            nodes: (0..self.automaton.words.len()).map(WordId::from_index).collect(),
            ends: self.automaton.lasts.clone(),
            empty: self.automaton.empty,
            ..WordNet::default()
        };
        let mut fan_of = vec![None; onward.sets.len()];
        for (set, fan) in onward.sets.iter().zip(&mut fan_of).filter(|(set, _)| set.len() > 1) {
            *fan = Some(net.fans.len());
            net.fans.push(set.clone());
        }
        for (from, after) in onward.after.into_iter().enumerate() {
            let Some((set, fixed)) = after else { continue };
            match fan_of[set] {
                Some(to) => net.fan_links.push(Link { from, to, fixed }),
                None => net.links.push(Link { from, to: onward.sets[set][0].0, fixed }),
            }
        }
        let (set, fixed) = onward.start;
        match fan_of[set] {
            Some(fan) => net.fan_starts.push((fan, fixed)),
            None => net.starts.push((onward.sets[set][0].0, fixed)),
        }
        Ok(net)
    }
}
