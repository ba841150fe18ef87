//! Context in the net: every segment once for each sequence of pdfs that it has among its neighbours.
//!
//! The step from a net of symbols (with the histories of an n-gram, or of one transcript) to a net of units. Contexts in which
//! all states of a segment have the same pdfs share a copy, so a net without context comes out as it was.

use std::collections::BTreeMap;
use std::sync::Arc as Shared;

use super::lattice::{Lattice, Link, MOST_ARCS, Place, Segment, too_large};
use super::spec::GraphSpec;
use super::tree::{Context, ContextKind, Neighbour, Tree, Units};
use crate::Result;
use crate::symbols::PdfId;

/// The pdf of each state of a segment.
pub(super) type Pdfs = Shared<[PdfId]>;

/// The copies of one segment. The copy of a left neighbour and a right one is `rows[row of the left][place of the right]`.
struct Copies {
    /// By left neighbour, ascending; those that agree on all right ones share a row.
    lefts: Vec<(Neighbour, usize)>,
    /// Ascending.
    rights: Vec<Neighbour>,
    /// Copies by their number in the new net.
    rows: Vec<Vec<usize>>,
    /// The copies of each row, ascending, each once.
    in_row: Vec<Vec<usize>>,
}

impl Lattice {
    /// The net in the units of `spec`, and the pdfs of each of its segments. Pdfs are functions of the neighbours:
    /// `pdfs(segment, left, right) = [tree.pdf(symbol, state, left, right) for each state]`.
    ///
    /// A step from a copy of `q` to a copy of `p` is there if `q`'s has `p` (or, as the last of its word, nothing) to the
    /// right, and `p`'s has `q` to the left.
    ///
    /// # Errors
    /// [`Error::Other`](crate::Error::Other) when there would be more than 50 million links.
    pub fn in_context(self, spec: &GraphSpec) -> Result<(Lattice, Vec<Pdfs>)> {
        let Units::Tied(tree) = spec.units() else {
            let none = Context::default();
            let pdfs =
                |symbol| (0..spec.topology(symbol).states()).map(|state| spec.pdf(symbol, state, none)).collect();
            let of_symbol: Vec<Pdfs> = spec.symbols().ids().map(pdfs).collect();
            let pdfs = self.segments.iter().map(|segment| of_symbol[segment.symbol.index()].clone()).collect();
            return Ok((self, pdfs));
        };
        Contexts::new(&self, spec, tree).expand()
    }
}

/// A net on its way into context.
struct Contexts<'a> {
    plain: &'a Lattice,
    spec: &'a GraphSpec,
    tree: &'a Tree,
    copies: Vec<Copies>,
    net: Lattice,
    pdfs: Vec<Pdfs>,
}

impl<'a> Contexts<'a> {
    fn new(plain: &'a Lattice, spec: &'a GraphSpec, tree: &'a Tree) -> Self {
        let mut new = Self { plain, spec, tree, copies: vec![], net: Lattice::default(), pdfs: vec![] };
        let mut shared = BTreeMap::new();
        for (segment, (lefts, rights)) in plain.segments.iter().zip(new.neighbours()) {
            let copies = new.copy(segment, (lefts, rights), &mut shared);
            new.copies.push(copies);
        }
        new
    }

    /// What stands to the left and to the right of each segment, ascending.
    fn neighbours(&self) -> Vec<(Vec<Neighbour>, Vec<Neighbour>)> {
        let mut all = vec![(vec![], vec![]); self.plain.segments.len()];
        for &(segment, _) in &self.plain.starts {
            all[segment].0.push(None);
        }
        for &(segment, _) in &self.plain.ends {
            all[segment].1.push(None);
        }
        for link in &self.plain.links {
            all[link.to].0.push(Some(self.plain.segments[link.from].symbol));
            all[link.from].1.extend(self.rights(link).into_iter().flatten());
        }
        for (lefts, rights) in &mut all {
            [lefts, rights].into_iter().for_each(|side| {
                side.sort_unstable();
                side.dedup();
            });
        }
        all
    }

    /// What the segment that `link` leaves may have to the right: one or two answers.
    fn rights(&self, link: &Link) -> [Option<Neighbour>; 2] {
        let to = self.plain.segments[link.to].symbol;
        match (self.tree.kind(), self.plain.segments[link.from].place) {
            (ContextKind::Triphone, _) | (ContextKind::WordInternalTriphone, Place::Inside) => [Some(Some(to)), None],
            (ContextKind::LeftBiphone, _) | (_, Place::Last) => [Some(None), None],
            _ if self.spec.optional().contains(&to) => [Some(None), None],
            _ => [Some(None), Some(Some(to))],
        }
    }

    /// Adds the copies of `segment` to the new net.
    fn copy(
        &mut self,
        segment: &Segment,
        (lefts, rights): (Vec<Neighbour>, Vec<Neighbour>),
        shared: &mut BTreeMap<Vec<PdfId>, Pdfs>,
    ) -> Copies {
        let states = self.spec.topology(segment.symbol).states();
        let mut copies = Copies { lefts: vec![], rights, rows: vec![], in_row: vec![] };
        let mut known: BTreeMap<Vec<Vec<PdfId>>, usize> = BTreeMap::new();
        for left in lefts {
            let pdfs = |&right: &Neighbour| {
                let pdf = |state| self.tree.pdf(segment.symbol, state, Context { left, right });
                (0..states).map(pdf).collect::<Vec<PdfId>>()
            };
            let row: Vec<Vec<PdfId>> = copies.rights.iter().map(pdfs).collect();
            let number = known.len();
            let number = *known.entry(row.clone()).or_insert(number);
            copies.lefts.push((left, number));
            if number == copies.rows.len() {
                copies.rows.push(self.add_row(segment, row, shared));
            }
        }
        copies.in_row = copies.rows.iter().map(|row| distinct(row)).collect();
        copies
    }

    /// A copy for each sequence of pdfs in `row`, which has one for each right neighbour.
    fn add_row(
        &mut self,
        segment: &Segment,
        row: Vec<Vec<PdfId>>,
        shared: &mut BTreeMap<Vec<PdfId>, Pdfs>,
    ) -> Vec<usize> {
        let mut copies: BTreeMap<Vec<PdfId>, usize> = BTreeMap::new();
        let mut copy = |pdfs: Vec<PdfId>| {
            *copies.entry(pdfs).or_insert_with_key(|pdfs| {
                let kept = shared.entry(pdfs.clone()).or_insert_with(|| pdfs.as_slice().into());
                self.pdfs.push(kept.clone());
                self.net.segment(*segment)
            })
        };
        row.into_iter().map(&mut copy).collect()
    }

    fn expand(mut self) -> Result<(Lattice, Vec<Pdfs>)> {
        let mut net = std::mem::take(&mut self.net);
        for &(segment, fixed) in &self.plain.starts {
            net.starts.extend(self.copies[segment].after(None).iter().map(|&copy| (copy, fixed)));
        }
        for &(segment, fixed) in &self.plain.ends {
            net.ends.extend(self.copies[segment].before([Some(None), None]).map(|copy| (copy, fixed)));
        }
        let to = |link: &Link| self.copies[link.to].after(Some(self.plain.segments[link.from].symbol));
        let from = |link: &Link| self.copies[link.from].before(self.rights(link));
        let links = self.plain.links.iter().map(|link| from(link).count() * to(link).len()).sum();
        if links > MOST_ARCS {
            return Err(too_large(links));
        }
        net.links.reserve_exact(links);
        for link in &self.plain.links {
            for from in from(link) {
                net.links.extend(to(link).iter().map(|&to| Link { from, to, fixed: link.fixed }));
            }
        }
        Ok((net, self.pdfs))
    }
}

impl Copies {
    /// The copies that have `left` to the left.
    fn after(&self, left: Neighbour) -> &[usize] {
        let place = self.lefts.binary_search_by_key(&left, |&(left, _)| left).expect("every left neighbour is listed");
        &self.in_row[self.lefts[place].1]
    }

    /// The copies, row by row, that have one of `rights` to the right.
    fn before(&self, rights: [Option<Neighbour>; 2]) -> impl Iterator<Item = usize> {
        let place = |right| self.rights.binary_search(&right).expect("every right neighbour is listed");
        let places = rights.map(|right| right.map(place));
        let of_row = move |row: &Vec<usize>| {
            let [one, other] = places.map(|place| place.map(|place| row[place]));
            let (first, second) = (one.min(other), one.max(other));
            [first.filter(|_| first != second), second].into_iter().flatten()
        };
        self.rows.iter().flat_map(of_row)
    }
}

/// `copies` ascending, each once.
fn distinct(copies: &[usize]) -> Vec<usize> {
    let mut all = copies.to_vec();
    all.sort_unstable();
    all.dedup();
    all
}
