//! A word n-gram as a net of words: a node for each word and history after it, back-off by way of fans.
//!
//! What the n-gram lists after a history is a link of its own; what it does not list is reached by the fans of the shorter
//! histories, entered with the back-off weights. A fan does not know what the longer history lists, so that the net lets back
//! off there too, as other toolkits do, and the better score counts. In a bigram as `senone ngram` makes them that never is the
//! one of backing off; from the trigram on it is at times, where the shorter history expects more of what follows.

use std::collections::BTreeMap;

use super::super::lattice::{Link, MOST_ARCS, too_large};
use super::super::words::WordNet;
use super::{HistoryId, Ngram, Token};
use crate::Result;
use crate::error::require;
use crate::symbols::{SymbolId, WordId};

impl Ngram {
    /// The net of all word sequences; words have the numbers of the n-gram's symbols. With `scale` on all logs:
    ///
    /// `weight(w | h) = max(log P(w | h), backoff(h) + weight(w | h'))`, where the first is only there if it is listed, and h' is
    /// h without its first word.
    ///
    /// # Errors
    /// [`Error::Other`](crate::Error::Other) when there would be more than 50 million links;
    /// [`Error::Setting`](crate::Error::Setting) when the factor is negative or not finite.
    pub(in crate::graph) fn word_net(&self, scale: f32) -> Result<WordNet> {
        require(scale.is_finite() && scale >= 0.0, "scale of the n-gram", scale, "a finite number of 0 or more")?;
        let (nodes, fans) = (BTreeMap::new(), BTreeMap::new());
        let mut made =
            Made { ngram: self, scale, net: WordNet::default(), nodes, fans, after: vec![], of_fan: vec![], items: 0 };
        made.expand()?;
        Ok(made.net)
    }
}

/// A net as far as it is made.
struct Made<'a> {
    ngram: &'a Ngram,
    scale: f32,
    net: WordNet,
    nodes: BTreeMap<(HistoryId, SymbolId), usize>,
    fans: BTreeMap<HistoryId, usize>,
    /// The history after each node.
    after: Vec<HistoryId>,
    /// The history of each fan.
    of_fan: Vec<HistoryId>,
    /// Nodes in all fans.
    items: usize,
}

/// Nodes or fans that are entered, each with its weight.
type Weighted = Vec<(usize, f32)>;

impl Made<'_> {
    /// Breadth first from the start: nodes and fans are numbered as they are met.
    fn expand(&mut self) -> Result<()> {
        let start = self.ngram.start();
        (self.net.starts, self.net.fan_starts) = self.onward(start);
        self.net.empty = self.weight(self.ngram.end(start));
        let mut node = 0;
        while node < self.after.len() || self.net.fans.len() < self.of_fan.len() {
            if let Some(&history) = self.of_fan.get(self.net.fans.len()) {
                let fan = self.listed(history);
                self.items += fan.len();
                self.net.fans.push(fan);
                continue;
            }
            let (words, fans) = self.onward(self.after[node]);
            let link = |&(to, fixed): &(usize, f32)| Link { from: node, to, fixed };
            self.net.links.extend(words.iter().map(link));
            self.net.fan_links.extend(fans.iter().map(link));
            let end = self.weight(self.ngram.end(self.after[node]));
            self.net.ends.extend(end.map(|end| (node, end)));
            node += 1;
            let size = self.net.links.len() + self.net.fan_links.len() + self.items;
            if size > MOST_ARCS {
                return Err(too_large(size));
            }
        }
        Ok(())
    }

    /// A log of the n-gram as a weight; `None` for probability 0.
    fn weight(&self, log: f32) -> Option<f32> {
        Some(self.scale * log).filter(|weight| weight.is_finite())
    }

    /// What follows `history`: the nodes of what is listed after it, and the fans of the shorter histories. What is listed
    /// after the empty one is a fan too, since many share it.
    fn onward(&mut self, history: HistoryId) -> (Weighted, Weighted) {
        if history == HistoryId::EMPTY {
            return (vec![], vec![(self.fan(history), 0.0)]);
        }
        let words = self.listed(history);
        let (mut fans, mut shorter, mut backoff) = (vec![], history, 0.0);
        while shorter != HistoryId::EMPTY {
            backoff += self.ngram.histories[shorter.index()].backoff;
            shorter = self.ngram.histories[shorter.index()].shorter;
            let Some(weight) = self.weight(backoff) else { break };
            fans.push((self.fan(shorter), weight));
        }
        (words, fans)
    }

    /// The nodes of the words that the n-gram lists right after `history`.
    fn listed(&mut self, history: HistoryId) -> Weighted {
        let ngram = self.ngram;
        let word = |&(token, log): &(Token, f32)| match token {
            Token::Symbol(word) => Some((word, log)),
            Token::Start | Token::End => None,
        };
        let words = ngram.histories[history.index()].scores.iter().filter_map(word);
        words.filter_map(|(word, log)| Some((self.node(ngram.next(history, word), word), self.weight(log)?))).collect()
    }

    fn node(&mut self, after: HistoryId, word: SymbolId) -> usize {
        *self.nodes.entry((after, word)).or_insert_with(|| {
            self.after.push(after);
            self.net.nodes.push(WordId(word.0));
            self.after.len() - 1
        })
    }

    fn fan(&mut self, history: HistoryId) -> usize {
        *self.fans.entry(history).or_insert_with(|| {
            self.of_fan.push(history);
            self.of_fan.len() - 1
        })
    }
}
