//! The Markov chain of random sequences, one after another, and how often it is where.

use super::super::net::{Link, Net};
use crate::{Error, Result};

/// Rounds after which the shares are given up, and the change at which they are taken to be found.
const MOST_ROUNDS: usize = 100_000;
const SETTLED: f64 = 1e-12;

/// Work, in links followed, after which the shares are given up.
const MOST_WORK: usize = 20_000_000_000;

/// Probabilities of each step.
pub(super) struct Chain<'a> {
    net: &'a Net,
    /// `Z(n)`, the end included.
    totals: Vec<f64>,
    start_total: f64,
}

/// How often a random sequence is where, relative to each other.
pub(super) struct Visits {
    pub nodes: Vec<f64>,
    pub ends: f64,
}

impl<'a> Chain<'a> {
    pub fn new(net: &'a Net) -> Self {
        let sum = |links: &[Link]| links.iter().map(|link| f64::from(link.score).exp()).sum::<f64>();
        let end = |node: usize| net.nodes()[node].end.map_or(0.0, |score| f64::from(score).exp());
        let totals = (0..net.nodes().len()).map(|node| sum(net.links(node)) + end(node)).collect();
        Self { net, totals, start_total: sum(net.starts()) }
    }

    fn ends(&self, node: usize) -> f64 {
        self.net.nodes()[node].end.map_or(0.0, |score| f64::from(score).exp() / self.totals[node])
    }

    /// Entropy of what follows `node`, in bits.
    pub fn entropy_bits(&self, node: usize) -> f64 {
        let links = self.net.links(node).iter().map(|link| f64::from(link.score).exp() / self.totals[node]);
        links.chain([self.ends(node)]).map(bits).sum()
    }

    /// Entropy of what begins a sequence, in bits.
    pub fn start_entropy_bits(&self) -> f64 {
        self.net.starts().iter().map(|link| bits(f64::from(link.score).exp() / self.start_total)).sum()
    }

    /// The stationary distribution: `v(m) = sum_n v(n) p(m | n)`, with a new sequence begun after each end.
    ///
    /// Half of each step stays where it is, so that a chain that goes round in a fixed number of steps settles too.
    pub fn visits(&self) -> Result<Visits> {
        let count = self.net.nodes().len();
        let mut visits = Visits { nodes: vec![0.0; count], ends: 1.0 };
        let rounds = MOST_ROUNDS.min(MOST_WORK / (self.net.link_count() + count));
        for _ in 0..rounds {
            let next = self.step(&visits);
            let change: f64 = visits.nodes.iter().zip(&next.nodes).map(|(a, b)| (a - b).abs()).sum();
            visits = next;
            if change < SETTLED && visits.nodes.iter().any(|&share| share > 0.0) {
                return Ok(visits);
            }
        }
        let reason = "the shares of the symbols cannot be found: by its weights, the graph's sequences hardly ever end";
        Err(Error::Other(reason.into()))
    }

    fn step(&self, visits: &Visits) -> Visits {
        let mut next =
            Visits { nodes: visits.nodes.iter().map(|share| 0.5 * share).collect(), ends: 0.5 * visits.ends };
        for link in self.net.starts() {
            next.nodes[link.to] += 0.5 * visits.ends * f64::from(link.score).exp() / self.start_total;
        }
        for (node, &share) in visits.nodes.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let going = 0.5 * share / self.totals[node];
            for link in self.net.links(node) {
                next.nodes[link.to] += going * f64::from(link.score).exp();
            }
            next.ends += 0.5 * share * self.ends(node);
        }
        next
    }
}

fn bits(p: f64) -> f64 {
    if p > 0.0 { -p * p.log2() } else { 0.0 }
}
