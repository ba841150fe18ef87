//! Glushkov's construction (V. M. Glushkov, 1961, "The abstract theory of automata"): an expression as the places of its words, with
//! what may come first, last, and after each. States emit, so there are no empty steps.
//!
//! For an expression E with places that may be first F(E), last L(E), and the weight e(E) of saying nothing:
//!
//! ```text
//! E = A B:      F = F(A) + e(A) F(B)    L = L(B) + e(B) L(A)    e = e(A) e(B)    steps L(A) x F(B)
//! E = w A | B:  F = w F(A) + F(B)       L = L(A) + L(B)         e = max(w e(A), e(B))
//! E = A*:       F = F(A)                L = L(A)                e = 1            steps L(A) x F(A)
//! ```
//!
//! Weights are natural logs, and of several ways from one place to another the best counts. What a product of sets makes is kept as
//! the pair of sets, so that `(a1 | ... | an)*` is n places and n members, not n * n steps.

use std::collections::BTreeMap;

use super::expression::Expression;
use super::parts::Parts;
use crate::graph::source::{Name, Source};
use crate::graph::words::{Part, Word};
use crate::{Error, Result};

/// Words of a rule, parts written out, at most.
const MOST_PLACES: usize = 200_000;

/// Members of all sets together, at most: 16 bytes each.
const MOST_MEMBERS: usize = 8_000_000;

/// Places with the weight of each, ascending.
pub(super) type Set = Vec<(usize, f32)>;

/// What a word of the rule may stand for: itself, or the symbols of a class.
pub(super) type Members<'a> = dyn Fn(&Source, &Name) -> Result<Vec<String>> + 'a;

/// The places of a rule, and what may follow what.
#[derive(Debug, Clone, Default)]
pub(super) struct Automaton {
    /// The word at each place; `WordId` counts through them.
    pub words: Vec<Word>,
    /// Where each is written: the file, as an index into [`Parts::sources`], and the byte.
    pub written: Vec<(usize, usize)>,
    pub firsts: Set,
    pub lasts: Set,
    /// The weight of the sequence without words, if it is one.
    pub empty: Option<f32>,
    joins: Vec<Join>,
    /// For each place the joins that it takes part in as a last one, with its weight there.
    after: Vec<Vec<(usize, f32)>>,
}

/// A place where one expression follows another.
#[derive(Debug, Clone)]
struct Join {
    /// The first places of what follows.
    to: Set,
    /// How many parts it stands in.
    depth: usize,
}

/// What may follow each place, equal sets once: the weight of a step is that of the place plus that of the set's member.
pub(super) struct Onward {
    /// Sets, the best weight of each 0.
    pub sets: Vec<Set>,
    /// The set of each place with a weight; `None` where nothing follows.
    pub after: Vec<Option<(usize, f32)>>,
    /// The set of first places.
    pub start: (usize, f32),
}

/// F, L and e of an expression.
struct Piece {
    firsts: Set,
    lasts: Set,
    empty: Option<f32>,
}

impl Automaton {
    /// The automaton of the rule of `parts`.
    ///
    /// # Errors
    /// [`Error::GraphFile`] where there are too many places or steps; what `members` refuses.
    pub fn new(parts: &Parts, members: &Members) -> Result<Self> {
        let mut builder =
            Builder { parts, members, net: Self::default(), inside: vec![], references: 0, count: 0, at: (0, 0) };
        let Piece { firsts, lasts, empty } = builder.piece(0, &parts.rule)?;
        Ok(Self { firsts, lasts, empty, ..builder.net })
    }

    /// How many of the outermost parts at `from` go on when the step `from -> to` is taken. A part that is left and entered again
    /// is counted as going on where its own expression has the step.
    pub fn kept(&self, from: usize, to: usize) -> usize {
        let joins = self.after[from].iter().map(|&(join, _)| &self.joins[join]);
        let taken = joins.filter(|join| join.to.binary_search_by_key(&to, |&(place, _)| place).is_ok());
        taken.map(|join| join.depth).max().unwrap_or(0)
    }

    /// What may follow each place.
    ///
    /// # Errors
    /// [`Error::Other`] when there are too many steps.
    pub fn onward(&self) -> Result<Onward> {
        let mut sets = Sets::default();
        let mut by_joins: BTreeMap<Vec<(usize, u32)>, (usize, f32)> = BTreeMap::new();
        let mut after = vec![];
        for joins in &self.after {
            let Some(best) = joins.iter().map(|&(_, weight)| weight).reduce(f32::max) else {
                after.push(None);
                continue;
            };
            let relative: Vec<(usize, f32)> = joins.iter().map(|&(join, weight)| (join, weight - best)).collect();
            let key = relative.iter().map(|&(join, weight)| (join, weight.to_bits())).collect();
            let (set, weight) = match by_joins.get(&key) {
                Some(&known) => known,
                None => {
                    let found = sets.number(self.union(&relative))?;
                    by_joins.insert(key, found);
                    found
                }
            };
            after.push(Some((set, best + weight)));
        }
        let start = sets.number(self.firsts.clone())?;
        Ok(Onward { sets: sets.all, after, start })
    }

    /// The members of some joins, each with its best weight.
    fn union(&self, joins: &[(usize, f32)]) -> Set {
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for &(join, weight) in joins {
            for &(place, more) in &self.joins[join].to {
                let entry = best.entry(place).or_insert(f32::NEG_INFINITY);
                *entry = entry.max(weight + more);
            }
        }
        best.into_iter().collect()
    }
}

/// Sets with their numbers.
#[derive(Default)]
struct Sets {
    all: Vec<Set>,
    numbers: BTreeMap<Vec<(usize, u32)>, usize>,
    members: usize,
}

impl Sets {
    /// The number of `set` with its best weight taken out, and that weight.
    fn number(&mut self, mut set: Set) -> Result<(usize, f32)> {
        let best = set.iter().map(|&(_, weight)| weight).fold(f32::NEG_INFINITY, f32::max);
        set.iter_mut().for_each(|(_, weight)| *weight -= best);
        let key = set.iter().map(|&(place, weight)| (place, weight.to_bits())).collect();
        if let Some(&number) = self.numbers.get(&key) {
            return Ok((number, best));
        }
        self.members += set.len();
        if self.members > MOST_MEMBERS {
            return Err(Error::Other(too_many_steps()));
        }
        self.all.push(set);
        self.numbers.insert(key, self.all.len() - 1);
        Ok((self.all.len() - 1, best))
    }
}

fn too_many_steps() -> String {
    format!("the grammar has more than {MOST_MEMBERS} steps from word to word: many optional words in a row make them")
}

/// Puts an automaton together, part by part.
struct Builder<'a> {
    parts: &'a Parts,
    members: &'a Members<'a>,
    net: Automaton,
    /// The parts that the builder stands in.
    inside: Vec<Part>,
    /// References to parts so far.
    references: usize,
    /// Members of sets so far.
    count: usize,
    /// Where the builder stands: file and byte.
    at: (usize, usize),
}

impl Builder<'_> {
    fn piece(&mut self, source: usize, expression: &Expression) -> Result<Piece> {
        match expression {
            Expression::Word(name) => self.word(source, name),
            Expression::Part(name) => self.part(source, name),
            Expression::Sequence(all) => self.sequence(source, all),
            Expression::Either(all) => self.either(source, all),
            Expression::Optional(one) => Ok(Piece { empty: Some(0.0), ..self.piece(source, one)? }),
            Expression::Any(one) => Ok(Piece { empty: Some(0.0), ..self.repeated(source, one)? }),
            Expression::Many(one) => self.repeated(source, one),
        }
    }

    fn word(&mut self, source: usize, name: &Name) -> Result<Piece> {
        self.at = (source, name.at);
        let mut places = vec![];
        for text in (self.members)(&self.parts.sources[source], name)? {
            places.push((self.net.words.len(), 0.0));
            self.net.words.push(Word { text, parts: self.inside.clone() });
            self.net.written.push(self.at);
            self.net.after.push(vec![]);
        }
        if self.net.words.len() > MOST_PLACES {
            return Err(self.error(format!("the grammar has more than {MOST_PLACES} words, its parts written out")));
        }
        Ok(Piece { firsts: places.clone(), lasts: places, empty: None })
    }

    fn part(&mut self, source: usize, name: &Name) -> Result<Piece> {
        self.at = (source, name.at);
        let parts = self.parts;
        let part = parts.get(&name.text).expect("parts are checked: each that is named exists");
        self.inside.push(Part { name: name.text.clone(), place: self.references });
        self.references += 1;
        let piece = self.piece(part.source, &part.expression)?;
        self.inside.pop();
        Ok(piece)
    }

    fn sequence(&mut self, source: usize, all: &[Expression]) -> Result<Piece> {
        let mut whole = Piece { firsts: vec![], lasts: vec![], empty: Some(0.0) };
        for one in all {
            let next = self.piece(source, one)?;
            self.join(&whole.lasts, &next.firsts)?;
            let shifted =
                |set: &Set, by: f32| set.iter().map(move |&(place, weight)| (place, weight + by)).collect::<Set>();
            if let Some(weight) = whole.empty {
                self.counted(next.firsts.len())?;
                whole.firsts.extend(shifted(&next.firsts, weight));
            }
            whole.lasts = match next.empty {
                Some(weight) => {
                    self.counted(whole.lasts.len())?;
                    [shifted(&whole.lasts, weight), next.lasts].concat()
                }
                None => next.lasts,
            };
            whole.empty = whole.empty.zip(next.empty).map(|(a, b)| a + b);
        }
        Ok(whole)
    }

    fn either(&mut self, source: usize, all: &[(f32, Expression)]) -> Result<Piece> {
        let mut whole = Piece { firsts: vec![], lasts: vec![], empty: None };
        for (weight, one) in all {
            let piece = self.piece(source, one)?;
            whole.firsts.extend(piece.firsts.into_iter().map(|(place, more)| (place, weight + more)));
            whole.lasts.extend(piece.lasts);
            let empty = piece.empty.map(|more| weight + more);
            whole.empty = whole.empty.into_iter().chain(empty).reduce(f32::max);
        }
        Ok(whole)
    }

    fn repeated(&mut self, source: usize, one: &Expression) -> Result<Piece> {
        let piece = self.piece(source, one)?;
        self.join(&piece.lasts, &piece.firsts)?;
        Ok(piece)
    }

    /// Steps from each of `lasts` to each of `firsts`.
    fn join(&mut self, lasts: &Set, firsts: &Set) -> Result<()> {
        if lasts.is_empty() {
            return Ok(());
        }
        self.counted(lasts.len() + firsts.len())?;
        let join = self.net.joins.len();
        self.net.joins.push(Join { to: firsts.clone(), depth: self.inside.len() });
        lasts.iter().for_each(|&(place, weight)| self.net.after[place].push((join, weight)));
        Ok(())
    }

    fn counted(&mut self, members: usize) -> Result<()> {
        self.count += members;
        if self.count > MOST_MEMBERS { Err(self.error(too_many_steps())) } else { Ok(()) }
    }

    fn error(&self, reason: String) -> Error {
        self.parts.sources[self.at.0].error(self.at.1, reason)
    }
}
