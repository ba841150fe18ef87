//! `[[exclusive]]`: two groups of which only one may occur in a sequence.
//!
//! A rule is a small automaton with three states (none seen, one of `a` seen, one of `b` seen); as a [`Memory`] it is multiplied
//! into the full graph and into transcript graphs alike.

use std::collections::BTreeSet;

use super::Word;
use super::classes::Names;
use super::file::{Side, side};
use super::lattice::{Lattice, Segment};
use super::memory::Memory;
use super::source::{Name, Source, Value};
use super::spec::GraphSpec;
use crate::spelling::lower;
use crate::symbols::{SymbolId, WordId};
use crate::{Error, Result};

/// An `[[exclusive]]` as written.
#[derive(Debug)]
pub(super) struct ExclusiveFile {
    at: usize,
    groups: [Side; 2],
}

/// The `[[exclusive]]` tables of a file.
pub(super) fn tables(source: &Source, value: &Value) -> Result<Vec<ExclusiveFile>> {
    let mut all = vec![];
    for table in source.tables(value, &["a", "b"])? {
        let group = |key: &str| match side(source, table.need(key, "[[exclusive]]")?)? {
            Side { at, names } if names.is_empty() => Err(source.error(at, format!("`{key}` names nothing"))),
            some => Ok(some),
        };
        all.push(ExclusiveFile { at: table.at, groups: [group("a")?, group("b")?] });
    }
    Ok(all)
}

/// A rule with its names resolved.
#[derive(Debug, Clone)]
pub(super) struct Exclusive {
    /// The byte at which the rule stands.
    pub at: usize,
    groups: [Group; 2],
}

/// One side of a rule.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Ascending.
    symbols: Vec<SymbolId>,
    words: Vec<Name>,
}

impl Exclusive {
    /// Resolves the names of `file`: what `is_word` is a word, everything else a symbol or a class.
    pub fn read(source: &Source, file: &ExclusiveFile, names: &Names, is_word: &dyn Fn(&str) -> bool) -> Result<Self> {
        let mut groups: [Group; 2] = Default::default();
        for (side, group) in file.groups.iter().zip(&mut groups) {
            let (words, others): (Vec<Name>, Vec<Name>) =
                side.names.iter().cloned().partition(|name| is_word(&name.text));
            *group = Group { symbols: names.all(&others)?, words };
        }
        let [a, b] = &groups;
        let symbol = a.symbols.iter().find(|symbol| b.symbols.contains(symbol)).map(|&both| names.symbols.name(both));
        let in_b: BTreeSet<String> = b.words.iter().map(|word| lower(&word.text)).collect();
        let is_in_b = |word: &&Name| in_b.contains(&lower(&word.text));
        let word = || a.words.iter().find(is_in_b).map(|word| word.text.as_str());
        match symbol.or_else(word) {
            Some(both) => {
                let reason =
                    format!("`{both}` is in `a` and in `b`, so it could never occur: leave it out of one of them");
                Err(source.error(file.groups[1].at, reason))
            }
            None => Ok(Self { at: file.at, groups }),
        }
    }

    /// The rule over a net whose words are `words`.
    pub fn over(&self, words: &[Word]) -> Seen {
        let words: Vec<String> = words.iter().map(|word| lower(&word.text)).collect();
        Seen(self.groups.clone().map(|group| {
            let names: BTreeSet<String> = group.words.iter().map(|name| lower(&name.text)).collect();
            let of_group = |&word: &usize| names.contains(&words[word]);
            let members = (0..words.len()).filter(of_group).map(WordId::from_index).collect();
            Members { symbols: group.symbols, words: members }
        }))
    }

    /// The same rule in a file that takes it over at byte `at`: errors are placed there.
    pub fn told_at(&mut self, at: usize) {
        self.at = at;
        self.groups.iter_mut().flat_map(|group| &mut group.words).for_each(|name| name.at = at);
    }
}

/// A rule in the numbers of one net.
pub(super) struct Seen([Members; 2]);

/// One side of a rule in numbers, ascending.
struct Members {
    symbols: Vec<SymbolId>,
    words: Vec<WordId>,
}

impl Members {
    fn have(&self, segment: &Segment) -> bool {
        let word = segment.word.is_some_and(|word| self.words.binary_search(&word).is_ok());
        word || self.symbols.binary_search(&segment.symbol).is_ok()
    }
}

impl Memory for Seen {
    /// Which group has been seen.
    type State = Option<usize>;

    fn start(&self) -> Option<usize> {
        None
    }

    fn after(&self, seen: Option<usize>, segment: &Segment, mut go: impl FnMut(f32, Option<usize>)) {
        let of = |group: usize| self.0[group].have(segment);
        match seen {
            // A word of one group may end with a symbol of the other.
            None if of(0) && of(1) => {}
            None => go(0.0, [0, 1].into_iter().find(|&group| of(group))),
            Some(group) if of(1 - group) => {}
            Some(_) => go(0.0, seen),
        }
    }

    fn end(&self, _: Option<usize>) -> f32 {
        0.0
    }
}

impl GraphSpec {
    /// The sequences of `net`, whose words are `words`, that keep to all exclusive rules; where a rule leaves none, the error that
    /// `fault` makes of it.
    ///
    /// # Errors
    /// [`Error::GraphFile`] at a word of a rule that `words` lack; as [`Lattice::remembered`].
    pub(super) fn exclude(
        &self,
        (mut net, words): (Lattice, &[Word]),
        fault: impl Fn(&Exclusive) -> Error,
    ) -> Result<Lattice> {
        let known: BTreeSet<String> = match self.exclusive.is_empty() {
            true => BTreeSet::new(),
            false => words.iter().map(|word| lower(&word.text)).collect(),
        };
        for rule in &self.exclusive {
            let is_unknown = |name: &&Name| !known.contains(&lower(&name.text));
            if let Some(name) = rule.groups.iter().flat_map(|group| &group.words).find(is_unknown) {
                let reason = format!("`{}` is no symbol, no class and no word of this graph", name.text);
                return Err(self.source.error(name.at, reason));
            }
            net = net.remembered(&rule.over(words))?.net.trimmed().ok_or_else(|| fault(rule))?;
        }
        Ok(net)
    }

    /// Of the full graph: `rule` leaves no sequence.
    pub(super) fn no_sequence(&self, rule: &Exclusive) -> Error {
        self.source.error(rule.at, "every legal sequence has something of `a` and of `b`: this rule leaves none")
    }

    /// Of the transcript whose net is `net`: `rule` forbids it.
    pub(super) fn broken(&self, rule: &Exclusive, net: &Lattice) -> Error {
        let names = rule.over(&[]).0.map(|group| {
            // A pause that the transcript does not have is in the net too.
            let is_optional = |segment: &&Segment| self.optional().contains(&segment.symbol);
            let said = net.segments.iter().filter(|segment| group.have(segment)).min_by_key(is_optional);
            said.map_or("", |segment| self.symbols().name(segment.symbol))
        });
        let line = self.source.place(rule.at).0;
        let reason = format!(
            "{} and {} both occur, which [[exclusive]] in line {line} of the graph forbids",
            names[0], names[1]
        );
        Error::Transcript { reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::lattice::Place;
    use crate::graph::ngram::{Ngram, NgramOptions};

    const TEXT: &str = r#"
format = 1
optional = ["sil"]
[classes]
pause = ["sil"]
front = ["y", "u"]
back = ["o"]
other = ["a"]
[boundary]
start = "*"
end = "*"
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "o"
to = "a"
[topology.default]
states = 1
self_loop = 0.5
[[exclusive]]
a = "front"
b = ["back"]
[[exclusive]]
a = ["a", "sil"]
b = "u"
"#;

    fn sequences(longest: u32) -> Vec<Vec<SymbolId>> {
        let longer = |all: &Vec<Vec<SymbolId>>| {
            all.iter().flat_map(|said| (0..5).map(|next| [&said[..], &[SymbolId(next)]].concat())).collect::<Vec<_>>()
        };
        std::iter::successors(Some(vec![vec![]]), |all| Some(longer(all)))
            .skip(1)
            .take(longest as usize)
            .flatten()
            .collect()
    }

    fn has(net: &Lattice, said: &[SymbolId]) -> bool {
        let at = |segment: usize, place: usize| net.segments[segment].symbol == said[place];
        let starts = net.starts.iter().map(|start| start.0).filter(|&segment| at(segment, 0));
        let mut open: Vec<usize> = starts.collect();
        for place in 1..said.len() {
            let links = net.links.iter().filter(|link| open.contains(&link.from) && at(link.to, place));
            open = links.map(|link| link.to).collect();
        }
        net.ends.iter().any(|end| open.contains(&end.0))
    }

    /// By the words of the rules: `y`, `u` not with `o`; `a`, `sil` not with `u`; `o a` never.
    fn is_legal(names: &[&str]) -> bool {
        let any = |wanted: &[&str]| names.iter().any(|name| wanted.contains(name));
        let pairs = !names.windows(2).any(|pair| pair == ["o", "a"]);
        pairs && !(any(&["y", "u"]) && any(&["o"])) && !(any(&["a", "sil"]) && any(&["u"]))
    }

    #[test]
    fn only_one_group_of_each_rule_occurs_in_a_sequence() {
        let spec = GraphSpec::parse(TEXT).unwrap();
        let heard: Vec<Vec<SymbolId>> = sequences(3);
        let ngram = Ngram::estimate(&NgramOptions::default(), spec.symbols(), &heard).unwrap();
        let net = spec.exclude((spec.legal_pairs_only(), &[]), |rule| spec.no_sequence(rule)).unwrap();
        let weighed = net.weighed((&ngram, 0.5)).unwrap().unwrap();
        let legal = sequences(4).into_iter().filter(|said| {
            let names: Vec<&str> = said.iter().map(|&symbol| spec.symbols().name(symbol)).collect();
            assert_eq!(has(&net, said), is_legal(&names), "{names:?}");
            assert_eq!(has(&weighed, said), is_legal(&names), "{names:?}");
            is_legal(&names)
        });
        let legal = legal.count();
        assert!(legal > 100 && legal < 400, "{legal}");
        assert!(spec.compile().unwrap().len() > spec.symbols().len());
    }

    /// In a transcript pauses may be left out, so that only what it says counts.
    #[test]
    fn a_transcript_that_breaks_a_rule_is_told_both_symbols() {
        let spec = GraphSpec::parse(TEXT).unwrap();
        for said in sequences(4) {
            let names: Vec<&str> = said.iter().map(|&symbol| spec.symbols().name(symbol)).collect();
            // A pause between `o` and `a` makes them legal.
            let bridged = names.join(" ").replace("o a", "o sil a");
            let legal = is_legal(&bridged.split(' ').collect::<Vec<_>>());
            assert_eq!(spec.transcript(&said).is_ok(), legal, "{names:?}");
        }
        let ids = |text: &str| text.split(' ').map(|name| spec.symbols().get(name).unwrap()).collect::<Vec<_>>();
        let fault = |text: &str| spec.transcript(&ids(text)).unwrap_err().to_string();
        assert_eq!(fault("a y o"), "y and o both occur, which [[exclusive]] in line 21 of the graph forbids");
        assert_eq!(fault("y u a"), "a and u both occur, which [[exclusive]] in line 24 of the graph forbids");
    }

    #[test]
    fn words_are_kept_apart_as_symbols_are() {
        let source = Source::new(std::path::Path::new("g.toml"), "[[exclusive]]\na = ['up', 'y']\nb = 'down'\n");
        let top = source.top(&["exclusive"]).unwrap();
        let file = tables(&source, top.get("exclusive").unwrap()).unwrap().remove(0);
        let spec = GraphSpec::parse(TEXT).unwrap();
        let whole = super::super::file::GraphFile::read(&spec.source).unwrap();
        let names = Names::read(&spec.source, &whole).unwrap();
        let rule = Exclusive::read(&source, &file, &names, &|word| ["up", "down"].contains(&word)).unwrap();
        let words = ["down", "up", "on", "down"].map(|text| Word { text: text.into(), parts: vec![] });
        let memory = rule.over(&words);
        let after = |said: &[(u32, Option<u32>)]| {
            let mut state = Some(memory.start());
            for &(symbol, word) in said {
                let segment = Segment { symbol: SymbolId(symbol), place: Place::Last, word: word.map(WordId) };
                let Some(before) = state.take() else { break };
                memory.after(before, &segment, |_, next| state = Some(next));
            }
            state.is_some()
        };
        assert!(after(&[(4, Some(1)), (4, Some(2)), (4, Some(1))]) && after(&[(4, Some(0)), (4, Some(3))]));
        assert!(!after(&[(4, Some(1)), (4, Some(3))]) && !after(&[(4, Some(0)), (4, Some(2)), (1, None)]));
        assert!(!after(&[(1, Some(3))]), "a word of one group that ends with a symbol of the other");
    }

    #[test]
    fn a_rule_that_leaves_nothing_is_told_when_the_graph_is_compiled() {
        let text = TEXT.replace("start = \"*\"", "start = 'o'").replace("end = \"*\"", "end = 'y'");
        let error = GraphSpec::parse(&text).unwrap().compile().unwrap_err().to_string();
        assert_eq!(
            error,
            "graph.toml:21:1: every legal sequence has something of `a` and of `b`: this rule leaves none"
        );
    }
}
