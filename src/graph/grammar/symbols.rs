//! A grammar over symbols as a net of segments, and as a memory that holds a transcript to it.

use std::collections::BTreeMap;

use super::automaton::{Automaton, Set};
use super::parts::Parts;
use crate::graph::lattice::{Lattice, Link, MOST_ARCS, Place, Segment, too_large};
use crate::graph::memory::Memory;
use crate::graph::spec::GraphSpec;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// The legal sequences of `automaton`: a segment for each place, the optional symbols of `spec` before, between and after them
/// wherever its pairs permit.
///
/// # Errors
/// [`Error::GraphFile`] at a place that is on no legal sequence, naming the pair; [`Error::Other`] when the net is too large.
pub(super) fn net(automaton: &Automaton, parts: &Parts, spec: &GraphSpec) -> Result<Lattice> {
    let onward = automaton.onward()?;
    let sizes = onward.after.iter().flatten().map(|&(set, _)| onward.sets[set].len());
    let links: usize = sizes.sum();
    if links > MOST_ARCS {
        return Err(too_large(links));
    }
    let mut layer = Layer { automaton, spec, net: Lattice::default(), ends: BTreeMap::new(), gaps: BTreeMap::new() };
    layer.ends = automaton.lasts.iter().copied().collect();
    for word in &automaton.words {
        let symbol = spec.symbols().get(&word.text).expect("the words of a grammar over symbols are symbols");
        let place = if spec.optional().contains(&symbol) { Place::Last } else { Place::Open };
        layer.net.segment(Segment { symbol, place, word: None });
    }
    let nothing = vec![];
    let set_of = |after: Option<(usize, f32)>| after.map_or(&nothing, |(set, _)| &onward.sets[set]);
    for (from, &after) in onward.after.iter().enumerate() {
        let end = layer.ends.get(&from).copied();
        layer.go_on(from, (after, set_of(after)), end)?;
    }
    layer.boundary(&onward.sets[onward.start.0], onward.start)?;
    layer.check(parts)?;
    layer.net.trimmed().ok_or_else(|| Error::Other("the grammar accepts nothing".into()))
}

/// What may follow a gap: the set's number, and the weight of ending relative to it, in bits.
type GapKey = (Option<usize>, Option<u32>);

/// A net on its way.
struct Layer<'a> {
    automaton: &'a Automaton,
    spec: &'a GraphSpec,
    net: Lattice,
    /// The places that may be last.
    ends: BTreeMap<usize, f32>,
    /// The segments of each gap: places with the same future share it.
    gaps: BTreeMap<GapKey, Vec<usize>>,
}

impl Layer<'_> {
    /// Links the place `from` to what may follow it, directly and through a gap.
    fn go_on(&mut self, from: usize, (after, set): (Option<(usize, f32)>, &Set), end: Option<f32>) -> Result<()> {
        let weight = after.map(|(_, weight)| weight);
        set.iter().for_each(|&(to, more)| self.link(from, to, weight.unwrap_or(0.0) + more));
        if let Some(end) = end.filter(|_| self.spec.ends().binary_search(&self.symbol(from)).is_ok()) {
            self.net.ends.push((from, end));
        }
        let Some(base) = weight.or(end) else { return Ok(()) };
        let gap = self.gap((after.map(|(set, _)| set), set), end.map(|end| end - base))?;
        gap.into_iter().for_each(|to| self.link(from, to, base));
        Ok(())
    }

    /// The optional symbols, linked with each other and to the members of `set`; `end` is the weight of ending after them.
    fn gap(&mut self, (number, set): (Option<usize>, &Set), end: Option<f32>) -> Result<Vec<usize>> {
        let key = (number, end.map(f32::to_bits));
        if let Some(gap) = self.gaps.get(&key) {
            return Ok(gap.clone());
        }
        let optional = self.spec.optional();
        let links = self.net.links.len() + optional.len() * (optional.len() + set.len());
        if links > MOST_ARCS {
            return Err(too_large(links));
        }
        let gap: Vec<usize> = self.net.gap(self.spec, &[]).collect();
        for &from in &gap {
            set.iter().for_each(|&(to, more)| self.link(from, to, more));
            if let Some(end) = end.filter(|_| self.spec.ends().binary_search(&self.symbol(from)).is_ok()) {
                self.net.ends.push((from, end));
            }
        }
        self.gaps.insert(key, gap.clone());
        Ok(gap)
    }

    /// Where a sequence may begin: with a first place, or with a gap before it, which is all there is where the grammar accepts the
    /// empty sequence.
    fn boundary(&mut self, set: &Set, (number, weight): (usize, f32)) -> Result<()> {
        let gap = self.gap((Some(number), set), self.automaton.empty.map(|empty| empty - weight))?;
        let firsts = self.automaton.firsts.iter().copied().chain(gap.into_iter().map(|pause| (pause, weight)));
        let legal = |segment: usize| self.spec.starts().binary_search(&self.symbol(segment)).is_ok();
        let starts = firsts.filter(|&(segment, _)| legal(segment)).collect();
        self.net.starts = starts;
        Ok(())
    }

    fn symbol(&self, segment: usize) -> SymbolId {
        self.net.segments[segment].symbol
    }

    fn link(&mut self, from: usize, to: usize, fixed: f32) {
        if self.spec.follows(self.symbol(from), self.symbol(to)) {
            self.net.links.push(Link { from, to, fixed });
        }
    }

    /// Whatever the rule says must be on some legal sequence: of a class one symbol, of a part one of its uses.
    fn check(&self, parts: &Parts) -> Result<()> {
        let (reached, ending) = (self.net.reached(), self.net.ending());
        let mut alive: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        for (place, &written) in self.automaton.written.iter().enumerate() {
            *alive.entry(written).or_default() |= reached[place] && ending[place];
        }
        let dead = |place: &usize| !alive[&self.automaton.written[*place]];
        let Some(place) = (0..self.automaton.written.len()).find(dead) else { return Ok(()) };
        let why = if reached[place] { self.stuck(place)? } else { self.unreached(place)? };
        let (source, at) = self.automaton.written[place];
        let name = self.spec.symbols().name(self.symbol(place));
        Err(parts.sources[source].error(at, format!("no legal sequence goes through `{name}` here: {why}")))
    }

    /// Why nothing leads on from `place`, which is reached.
    fn stuck(&self, place: usize) -> Result<String> {
        let onward = self.automaton.onward()?;
        let after = onward.after[place].and_then(|(set, _)| onward.sets[set].first());
        Ok(match after {
            Some(&(to, _)) => self.pair(place, to),
            None => format!("{} is not allowed as the last symbol by the graph", self.name(place)),
        })
    }

    /// Why nothing leads to `place`.
    fn unreached(&self, place: usize) -> Result<String> {
        let onward = self.automaton.onward()?;
        let leads = |set: usize| onward.sets[set].binary_search_by_key(&place, |&(to, _)| to).is_ok();
        let before = onward.after.iter().position(|after| after.is_some_and(|(set, _)| leads(set)));
        Ok(match before {
            Some(from) if !leads(onward.start.0) => self.pair(from, place),
            _ => format!("{} is not allowed as the first symbol by the graph", self.name(place)),
        })
    }

    fn name(&self, place: usize) -> &str {
        self.spec.symbols().name(self.symbol(place))
    }

    fn pair(&self, from: usize, to: usize) -> String {
        match self.spec.follows(self.symbol(from), self.symbol(to)) {
            true => format!(
                "what {} -> {} leads to, or comes from, is not allowed by the graph",
                self.name(from),
                self.name(to)
            ),
            false => format!("{} -> {} is not allowed by the graph", self.name(from), self.name(to)),
        }
    }
}

/// The net of a grammar as a memory: where in it a sequence stands. A sequence that the grammar accepts in several ways is in the
/// product once for each.
pub(in crate::graph) struct Within<'a> {
    net: &'a Lattice,
    /// The links that leave each segment.
    onward: Vec<Vec<(usize, f32)>>,
    ends: BTreeMap<usize, f32>,
}

impl<'a> Within<'a> {
    /// The memory of `net`.
    pub fn new(net: &'a Lattice) -> Self {
        let mut onward = vec![vec![]; net.segments.len()];
        net.links.iter().for_each(|link| onward[link.from].push((link.to, link.fixed)));
        Self { net, onward, ends: net.ends.iter().copied().collect() }
    }
}

impl Memory for Within<'_> {
    type State = Option<usize>;

    fn start(&self) -> Option<usize> {
        None
    }

    fn after(&self, state: Option<usize>, segment: &Segment, mut go: impl FnMut(f32, Option<usize>)) {
        let steps = state.map_or(&self.net.starts, |state| &self.onward[state]);
        for &(to, fixed) in steps.iter().filter(|(to, _)| self.net.segments[*to].symbol == segment.symbol) {
            go(fixed, Some(to));
        }
    }

    fn end(&self, state: Option<usize>) -> f32 {
        state.and_then(|state| self.ends.get(&state).copied()).unwrap_or(f32::NEG_INFINITY)
    }
}
