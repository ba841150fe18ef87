//! Many paths at once: a lattice of segments, of all paths that score within a beam of the best.
//!
//! A [`Recording`] takes [`Emissions`] and keeps the states that a beam search follows; a [`Lattice`] is made of them. A node is a
//! search frame in which a segment begins in some state, an arc is a segment with its symbol and two scores: of the emissions, and of
//! the graph. The best path through the lattice is that of the search (Ney, Ortmanns and Lindam, "Extensions to the word graph
//! method", 1997).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::beam::{BeamOptions, Search};
use super::live::{Column, Ending, LiveTrellis, Places, column, keep_within, too_far_behind};
use super::plan::Plan;
use crate::Result;
use crate::emission::Emissions;
use crate::symbols::{SymbolId, WordId};

/// A segment that may have been said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeArc {
    /// The node in which it begins.
    pub from: usize,
    /// The node in which the next one begins; after it in number and in time.
    pub to: usize,
    /// Its label.
    pub symbol: SymbolId,
    /// The word that ends with it.
    pub word: Option<WordId>,
    /// Sum of the emissions of its frames, natural log.
    pub acoustic: f64,
    /// Everything else: weights, n-gram and insertion penalty of the steps inside it and of the step to the next segment; of the first
    /// also the start, of the last also the end. Natural log.
    pub graph: f64,
}

impl LatticeArc {
    /// Both scores together.
    pub fn score(&self) -> f64 {
        self.acoustic + self.graph
    }
}

/// Segments that follow one another, without loops: every way from the first node to the last is a path of the graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lattice {
    /// The search frame of each node, ascending. The first node is the start, the last the end, which is the number of frames.
    pub nodes: Vec<usize>,
    /// By ascending node in which they begin. Of the ways of one symbol from node to node, the best.
    pub arcs: Vec<LatticeArc>,
}

/// The states that were followed through a recording. Memory grows with its length.
#[derive(Debug)]
pub struct Recording {
    plan: Arc<Plan>,
    columns: Vec<Column>,
}

impl Recording {
    /// Searches `emissions` with the beam `search`, and keeps what it follows.
    ///
    /// # Errors
    /// As [`Search::push`] and [`Search::finish`].
    pub fn new(plan: &Arc<Plan>, emissions: &Emissions, beam: BeamOptions) -> Result<Self> {
        plan.check(emissions)?;
        let mut search = Search::new(plan.clone(), beam);
        let keep = keep_within(plan, emissions.frames());
        let mut columns = Vec::with_capacity(emissions.frames());
        for frame in 0..emissions.frames() {
            let row = emissions.frame(frame);
            search.step(row)?;
            columns.push(column(plan, &search, (row, keep)));
        }
        search.finish()?;
        let whole = LiveTrellis::new(plan, &columns, (Ending::Final, 0.0), &mut Places::new(plan)).is_whole();
        if whole { Ok(Self { plan: plan.clone(), columns }) } else { Err(too_far_behind(keep)) }
    }

    /// The lattice of the paths within `beam` of the best.
    pub fn lattice(&self, beam: f32) -> Lattice {
        let mut places = Places::new(&self.plan);
        let trellis = LiveTrellis::new(&self.plan, &self.columns, (Ending::Final, beam), &mut places);
        Builder { plan: &self.plan, trellis: &trellis, beam, open: BTreeMap::new(), arcs: vec![] }.build()
    }
}

/// A node on the way: a search frame, and the place of the state entered in its column.
type Key = (usize, usize);

/// The start of all paths.
const START: Key = (0, usize::MAX);

/// A segment on its way: at a cell, what it has scored, and how much the best path to there loses.
#[derive(Debug, Clone, Copy)]
struct Way {
    cell: usize,
    acoustic: f64,
    graph: f64,
    loss: f32,
}

struct Builder<'a> {
    plan: &'a Plan,
    trellis: &'a LiveTrellis,
    beam: f32,
    /// Nodes whose segments are to be followed still, with the least loss on a way to them.
    open: BTreeMap<Key, f32>,
    arcs: Vec<(Key, Key, LatticeArc)>,
}

impl Builder<'_> {
    fn build(mut self) -> Lattice {
        let Some(first) = self.trellis.columns.first() else { return Lattice::default() };
        for (cell, own) in first.iter().enumerate() {
            let found = self.plan.starts.binary_search_by_key(&own.state, |step| step.state);
            let graph = found.map_or(f64::NEG_INFINITY, |at| f64::from(self.plan.starts[at].score));
            self.follow(START, Way { cell, acoustic: f64::from(own.emission), graph, loss: 0.0 });
        }
        let end = (self.trellis.columns.len(), 0);
        while let Some((node, loss)) = self.open.pop_first() {
            if node != end {
                let emission = self.trellis.columns[node.0][node.1].emission;
                self.follow(node, Way { cell: node.1, acoustic: f64::from(emission), graph: 0.0, loss });
            }
        }
        numbered(self.arcs, end)
    }

    /// Adds the segments that begin in `node` as `way`: a frame at a time, as long as the best path through stays within the beam.
    fn follow(&mut self, node: Key, way: Way) {
        let symbol = self.plan.graph().state(self.trellis.columns[node.0][way.cell].state).symbol;
        let (mut ways, mut frame) = (vec![way], node.0);
        while !ways.is_empty() {
            let mut ends = BTreeMap::new();
            ways = match self.trellis.steps.get(frame) {
                Some(_) => self.onward(frame, &ways, &mut ends),
                None => self.over(frame, &ways, &mut ends),
            };
            frame += 1;
            for ((to, word), Way { acoustic, graph, loss, .. }) in ends {
                let least = self.open.entry(to).or_insert(loss);
                *least = least.min(loss);
                self.arcs.push((node, to, LatticeArc { from: 0, to: 0, symbol, word, acoustic, graph }));
            }
        }
    }

    /// One frame on: the ways that stay in the segment; those that leave it go to `ends`.
    fn onward(&self, frame: usize, ways: &[Way], ends: &mut BTreeMap<(Key, Option<WordId>), Way>) -> Vec<Way> {
        let (cells, next) = (&self.trellis.columns[frame], &self.trellis.columns[frame + 1]);
        let steps = &self.trellis.steps[frame];
        let mut stay: BTreeMap<usize, Way> = BTreeMap::new();
        for way in ways {
            let first = steps.partition_point(|step| (step.from as usize) < way.cell);
            for step in steps[first..].iter().take_while(|step| step.from as usize == way.cell) {
                let (to, loss) = (step.to as usize, way.loss + step.loss);
                let left = cells[way.cell].state;
                let is_end = self.plan.graph().enters(left, next[to].state);
                if loss - next[to].through > self.beam {
                    continue;
                }
                let graph = way.graph + f64::from(step.score);
                match is_end {
                    true => {
                        let key = ((frame + 1, to), self.plan.graph().word(left));
                        better(ends, key, Way { cell: to, graph, loss, ..*way });
                    }
                    false => {
                        let acoustic = way.acoustic + f64::from(next[to].emission);
                        better(&mut stay, to, Way { cell: to, acoustic, graph, loss });
                    }
                }
            }
        }
        stay.into_values().collect()
    }

    /// After the last frame: all ways end.
    fn over(&self, frame: usize, ways: &[Way], ends: &mut BTreeMap<(Key, Option<WordId>), Way>) -> Vec<Way> {
        for way in ways {
            let cell = self.trellis.columns[frame][way.cell];
            let found = self.plan.finals.binary_search_by_key(&cell.state, |step| step.state);
            if let (Ok(at), true) = (found, way.loss - cell.through <= self.beam) {
                let graph = way.graph + f64::from(self.plan.finals[at].score);
                let key = ((frame + 1, 0), self.plan.graph().word(cell.state));
                better(ends, key, Way { graph, loss: way.loss - cell.through, ..*way });
            }
        }
        vec![]
    }
}

/// Keeps the better of `way` and the one that `ways` has already.
fn better<K: Ord>(ways: &mut BTreeMap<K, Way>, key: K, way: Way) {
    let score = |way: &Way| way.acoustic + way.graph;
    ways.entry(key)
        .and_modify(|known| {
            if score(&way) > score(known) {
                *known = way
            }
        })
        .or_insert(way);
}

/// The lattice of `arcs`, its nodes numbered in the order of time; without what leads nowhere.
fn numbered(mut arcs: Vec<(Key, Key, LatticeArc)>, end: Key) -> Lattice {
    arcs.sort_by_key(|(from, to, arc)| (order(*from), *to, arc.symbol, arc.word));
    let mut alive: BTreeMap<(usize, usize), usize> = BTreeMap::from([(order(end), 0)]);
    let mut kept = vec![];
    for (from, to, arc) in arcs.into_iter().rev() {
        if alive.contains_key(&order(to)) {
            alive.insert(order(from), 0);
            kept.push((from, to, arc));
        }
    }
    if !alive.contains_key(&order(START)) {
        return Lattice::default();
    }
    alive.values_mut().zip(0..).for_each(|(number, at)| *number = at);
    let node = |key: Key| alive[&order(key)];
    let arcs = kept.iter().rev().map(|&(from, to, arc)| LatticeArc { from: node(from), to: node(to), ..arc });
    Lattice { nodes: alive.keys().map(|&(frame, _)| frame).collect(), arcs: arcs.collect() }
}

/// Nodes in the order of time, the start before all.
fn order((frame, cell): Key) -> (usize, usize) {
    (frame, cell.wrapping_add(1))
}

#[cfg(test)]
#[path = "lattice_tests.rs"]
mod tests;
