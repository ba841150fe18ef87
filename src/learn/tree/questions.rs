//! What a tree may ask, found in the data: sets of neighbours that sound alike.

use super::{ContextStatistics, Likelihood};
use crate::features::Moments;
use crate::graph::tree::{Neighbour, Side};
use crate::graph::{Context, ContextKind, GraphSpec};
use crate::symbols::SymbolId;

/// Sets of neighbours, each ascending, and which of them each side is asked for.
#[derive(Debug, Clone)]
pub(super) struct Questions {
    pub sets: Vec<Vec<Neighbour>>,
    pub sides: Vec<(Side, Vec<usize>)>,
}

impl Questions {
    /// Every neighbour alone, the edge too, and on each side every cluster of symbols that the tree of [`clusters`] has.
    pub fn new(kind: ContextKind, data: (&GraphSpec, &ContextStatistics), likelihood: &Likelihood) -> Self {
        let sides = match kind {
            ContextKind::LeftBiphone => &[Side::Left][..],
            ContextKind::WordInternalTriphone | ContextKind::Triphone => &[Side::Left, Side::Right],
        };
        let mut questions = Self { sets: vec![], sides: vec![] };
        for &side in sides {
            let alone = std::iter::once(None).chain(data.0.symbols().ids().map(Some)).map(|one| vec![one]);
            let sets: Vec<usize> =
                alone.chain(clusters((side, kind), data, likelihood)).map(|set| questions.number(set)).collect();
            questions.sides.push((side, sets));
        }
        questions
    }

    fn number(&mut self, mut set: Vec<Neighbour>) -> usize {
        set.sort_unstable();
        self.sets.iter().position(|known| *known == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        })
    }

    /// Whether `neighbour` is in a set.
    pub fn has(&self, set: usize, neighbour: Neighbour) -> bool {
        self.sets[set].binary_search(&neighbour).is_ok()
    }

    /// Whether the answer in `context` is yes.
    pub fn answer(&self, (side, set): (Side, usize), context: Context) -> bool {
        self.has(set, context.neighbour(side))
    }
}

/// Sets of symbols that sound alike where they touch what stands beside them: the last state of a symbol to the left, the first
/// of one to the right.
///
/// Bottom up: of all pairs of clusters the two whose union loses least, `L(a) + L(b) - L(a and b)`, become one, until all are
/// one; each union but the last is a set. Symbols without frames are in none. The edge of an utterance goes with the first pause;
/// the end of a word does not.
fn clusters(
    (side, kind): (Side, ContextKind),
    (spec, statistics): (&GraphSpec, &ContextStatistics),
    likelihood: &Likelihood,
) -> Vec<Vec<Neighbour>> {
    let border = |symbol: SymbolId| match side {
        Side::Left => statistics.of_state(symbol, spec.topology(symbol).states() - 1),
        Side::Right => statistics.of_state(symbol, 0),
    };
    let heard = spec.symbols().ids().map(|symbol| (vec![Some(symbol)], border(symbol)));
    let mut open: Vec<(Vec<Neighbour>, Moments)> = heard.filter(|(_, frames)| frames.count > 0.0).collect();
    let mut sets = vec![];
    let pause = spec.optional().first().copied().filter(|_| side == Side::Left || kind == ContextKind::Triphone);
    if let Some((quiet, _)) = open.iter_mut().find(|(set, _)| pause.is_some() && set[0] == pause) {
        quiet.push(None);
        sets.push(quiet.clone());
    }
    while open.len() > 2 {
        let (first, second) = nearest(&open, likelihood);
        let (set, frames) = open.remove(second);
        open[first].0.extend(set);
        open[first].1.merge(&frames);
        sets.push(open[first].0.clone());
    }
    sets
}

/// The two clusters, in order, whose union loses least.
fn nearest(clusters: &[(Vec<Neighbour>, Moments)], likelihood: &Likelihood) -> (usize, usize) {
    let alone: Vec<f64> = clusters.iter().map(|(_, frames)| likelihood.of(frames)).collect();
    let loss = |first: usize, second: usize| {
        let mut both = clusters[first].1.clone();
        both.merge(&clusters[second].1);
        alone[first] + alone[second] - likelihood.of(&both)
    };
    let mut least = (f64::INFINITY, (0, 1));
    for first in 0..clusters.len() {
        for second in first + 1..clusters.len() {
            let loss = loss(first, second);
            if loss < least.0 {
                least = (loss, (first, second));
            }
        }
    }
    least.1
}
