//! What a graph is like: how many symbols may follow, which lead back to each other, how uncertain the next one is, how long
//! each lasts.
//!
//! Sequences are taken to be drawn as [`super::sample`] draws them, without a limit on their length: after node n comes m with
//! probability `p(m | n) = exp(score(n, m)) / Z(n)`, the end being one of the m; after the end, a new sequence begins.

mod chain;
mod components;

use std::fmt;

use super::GraphSpec;
use super::net::Net;
use crate::Result;
use crate::symbols::SymbolId;

pub use components::components;

/// Least, mean and greatest of some counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The least.
    pub least: usize,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub most: usize,
}

/// What one symbol is like.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolStats {
    /// The symbol.
    pub symbol: SymbolId,
    /// How many symbols may follow it, by the rules.
    pub followers: usize,
    /// How many symbols may stand before it, by the rules.
    pub leaders: usize,
    /// `H = -sum_m p(m | n) log2 p(m | n)` of what follows, the end included, in bits; over the symbol's nodes in the mean.
    pub entropy_bits: f64,
    /// Its share of all symbols of random sequences.
    pub share: f64,
    /// Search frames that it lasts in the mean: `1 / (1 - p)` for each state with a self-loop of p, and 1 for every other.
    pub mean_frames: f64,
}

/// What a graph is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Names, as the graph file orders them.
    names: Vec<String>,
    /// Nodes and links of the net of symbols.
    pub nodes: usize,
    /// Links of the net.
    pub links: usize,
    /// Links from a node.
    pub out_degree: Spread,
    /// Links to a node.
    pub in_degree: Spread,
    /// Nodes in each strongly connected component, the largest first: within one, each node leads to each.
    pub components: Vec<usize>,
    /// Each symbol that some sequence has, in file order.
    pub symbols: Vec<SymbolStats>,
    /// `2^H`, with H the mean entropy of a step: as uncertain as a choice among so many.
    pub perplexity: f64,
    /// Symbols of a random sequence in the mean.
    pub mean_symbols: f64,
    /// Search frames of a random sequence in the mean.
    pub mean_frames: f64,
}

/// The statistics of `net`, which is the net of what `spec` compiles to.
///
/// # Errors
/// [`crate::Error::Other`] when the shares of the nodes cannot be found because sequences hardly ever end.
pub fn stats(spec: &GraphSpec, net: &Net) -> Result<Stats> {
    let chain = chain::Chain::new(net);
    let visits = chain.visits()?;
    let total: f64 = visits.nodes.iter().sum();
    let symbols = of_symbols(spec, net, &chain, &visits.nodes);
    let entropy = |node: usize| chain.entropy_bits(node);
    let steps = total + visits.ends;
    // The step into a sequence is a choice too.
    let bits: f64 = (0..net.nodes().len()).map(|node| visits.nodes[node] * entropy(node)).sum::<f64>()
        + visits.ends * chain.start_entropy_bits();
    let mean_symbols = total / visits.ends;
    Ok(Stats {
        names: spec.symbols().names().to_vec(),
        nodes: net.nodes().len(),
        links: net.link_count(),
        out_degree: spread((0..net.nodes().len()).map(|node| net.links(node).len()).collect()),
        in_degree: spread(in_degrees(net)),
        components: components(net),
        perplexity: (bits / steps).exp2(),
        mean_symbols,
        mean_frames: mean_symbols * symbols.iter().map(|s| s.share * s.mean_frames).sum::<f64>(),
        symbols,
    })
}

fn of_symbols(spec: &GraphSpec, net: &Net, chain: &chain::Chain, visits: &[f64]) -> Vec<SymbolStats> {
    let count = spec.symbols().len();
    let (mut seen, mut bits, mut leaders) = (vec![0.0; count], vec![0.0; count], vec![0; count]);
    for (node, &visits) in visits.iter().enumerate() {
        let symbol = net.nodes()[node].symbol.index();
        seen[symbol] += visits;
        bits[symbol] += visits * chain.entropy_bits(node);
    }
    for symbol in spec.symbols().ids() {
        spec.successors(symbol).iter().for_each(|(to, _)| leaders[to.index()] += 1);
    }
    let total: f64 = seen.iter().sum();
    let of = |symbol: SymbolId| SymbolStats {
        symbol,
        followers: spec.successors(symbol).len(),
        leaders: leaders[symbol.index()],
        entropy_bits: bits[symbol.index()] / seen[symbol.index()],
        share: seen[symbol.index()] / total,
        mean_frames: mean_frames(spec, symbol),
    };
    spec.symbols().ids().filter(|symbol| seen[symbol.index()] > 0.0).map(of).collect()
}

fn mean_frames(spec: &GraphSpec, symbol: SymbolId) -> f64 {
    let topology = spec.topology(symbol);
    let frames = |position| match topology.self_loop() {
        Some(p) if topology.dwells(position) => 1.0 / (1.0 - f64::from(p)),
        _ => 1.0,
    };
    (0..topology.min_frames()).map(frames).sum()
}

fn in_degrees(net: &Net) -> Vec<usize> {
    let mut degrees = vec![0; net.nodes().len()];
    (0..degrees.len()).for_each(|node| net.links(node).iter().for_each(|link| degrees[link.to] += 1));
    degrees
}

fn spread(counts: Vec<usize>) -> Spread {
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    let (least, most) = (counts.iter().min(), counts.iter().max());
    Spread { least: least.copied().unwrap_or(0), mean, most: most.copied().unwrap_or(0) }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}, mean {:.1}", self.least, self.most, self.mean)
    }
}

/// More components than a report lists.
const MOST_COMPONENTS: usize = 8;

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |label: &str, value: &dyn fmt::Display| writeln!(f, "{label:<20}{value}");
        line("symbols in context", &self.nodes)?;
        line("links", &self.links)?;
        line("links from each", &self.out_degree)?;
        line("links to each", &self.in_degree)?;
        let sizes = self.components.iter().take(MOST_COMPONENTS).map(ToString::to_string).collect::<Vec<_>>();
        let more = if self.components.len() > sizes.len() { ", ..." } else { "" };
        line("components", &format!("{} (sizes {}{more})", self.components.len(), sizes.join(", ")))?;
        line("perplexity", &format!("{:.2} (of the next symbol or the end)", self.perplexity))?;
        line("random sequence", &format!("{:.1} symbols, {:.1} frames", self.mean_symbols, self.mean_frames))?;
        writeln!(f)?;
        let width = self.symbols.iter().map(|s| self.names[s.symbol.index()].chars().count()).max().unwrap_or(0).max(6);
        writeln!(f, "{:<width$}  before  after  entropy  perplexity   share  frames", "symbol")?;
        for symbol in &self.symbols {
            let SymbolStats { followers, leaders, entropy_bits, share, mean_frames, .. } = *symbol;
            writeln!(
                f,
                "{:<width$}  {leaders:>6}  {followers:>5}  {entropy_bits:>7.2}  {:>10.2}  {:>4.1} %  {mean_frames:>6.2}",
                self.names[symbol.symbol.index()],
                entropy_bits.exp2(),
                100.0 * share
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::net::tests::MIXED;
    use super::*;

    /// The mean length and the entropy of whole sequences by enumeration, as far as 1e-9 of the probability:
    /// `-sum_y P(y) log2 P(y) = H * sum_y P(y) (|y| + 1)`, H being the mean entropy of a step.
    #[test]
    fn perplexity_and_lengths_are_those_of_all_sequences() {
        // Sequences end soon, so that few need be looked at.
        let spec = GraphSpec::parse(&MIXED.replace("weight = -1.5", "weight = -3.5")).unwrap();
        let net = Net::new(&spec, &spec.compile().unwrap());
        let (mut mass, mut bits, mut symbols, mut frames) = (0.0, 0.0, 0.0, 0.0);
        let starts = net.starts().len() as f64;
        let mut open: Vec<(usize, f64, f64, f64)> =
            net.starts().iter().map(|start| (start.to, 1.0 / starts, 1.0, 0.0)).collect();
        while let Some((node, p, length, so_far)) = open.pop() {
            let end = net.nodes()[node].end.map(|score| f64::from(score).exp());
            let z: f64 =
                net.links(node).iter().map(|link| f64::from(link.score).exp()).sum::<f64>() + end.unwrap_or(0.0);
            // a: 4 frames; b: 1 + 4 + 4 (its first position has no self-loop); c: 1.
            let so_far = so_far + [4.0, 9.0, 1.0][net.nodes()[node].symbol.index()];
            if let Some(end) = end {
                let p = p * end / z;
                mass += p;
                bits -= p * p.log2();
                symbols += p * length;
                frames += p * so_far;
            }
            let onward = net.links(node).iter().map(|l| (l.to, p * f64::from(l.score).exp() / z, length + 1.0, so_far));
            open.extend(onward.filter(|(_, p, ..)| *p > 1e-11));
        }
        assert!(mass > 1.0 - 1e-6, "{mass}");
        let found = stats(&spec, &net).unwrap();
        assert!((found.mean_symbols - symbols).abs() < 1e-4, "{} {symbols}", found.mean_symbols);
        assert!((found.mean_frames - frames).abs() < 1e-3, "{} {frames}", found.mean_frames);
        let expected = (bits / (symbols + 1.0)).exp2();
        assert!((found.perplexity - expected).abs() < 1e-4, "{} {expected}", found.perplexity);
    }

    #[test]
    fn symbols_are_described_by_their_rules() {
        let spec = GraphSpec::parse(MIXED).unwrap();
        let found = stats(&spec, &Net::new(&spec, &spec.compile().unwrap())).unwrap();
        let [a, b, _] = &found.symbols[..] else { panic!("three symbols") };
        assert_eq!((a.followers, a.leaders, a.mean_frames), (2, 3, 4.0));
        assert!((a.entropy_bits - 1.0).abs() < 1e-9, "a or b, alike");
        // After b: c and a with e^-1.5 each, the end with 1.
        let z = 1.0 + 2.0 * (-1.5_f64).exp();
        let h = |p: f64| -p * p.log2();
        assert!((b.entropy_bits - h(1.0 / z) - 2.0 * h((-1.5_f64).exp() / z)).abs() < 1e-9);
        assert_eq!((found.nodes, found.links, found.components.as_slice()), (3, 6, &[3][..]));
        assert_eq!(found.out_degree, Spread { least: 2, mean: 2.0, most: 2 });
        assert_eq!(found.in_degree, Spread { least: 1, mean: 2.0, most: 3 });
    }
}
