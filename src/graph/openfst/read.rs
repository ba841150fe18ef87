//! An acceptor in OpenFst's text format to a graph file of pair rules, where it can be one.
//!
//! A graph file remembers the last symbol only. So the acceptor must go on alike, and at the same costs, from all states that a
//! symbol leads to; which states these are does not matter, so that a minimised acceptor will do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use super::super::GraphSpec;
use super::super::classes::MOST_SYMBOLS;
use super::super::written::{class_name, list};
use super::EPSILONS;
use crate::settings::quoted;
use crate::{Error, Result};

/// What may be said in one state: symbol, then the state entered and the cost.
type Row = BTreeMap<String, (u64, f32)>;

/// An acceptor as read.
#[derive(Debug, Default)]
struct Acceptor {
    start: u64,
    rows: BTreeMap<u64, Row>,
    finals: BTreeMap<u64, f32>,
    /// Symbols by their first use.
    symbols: Vec<String>,
    /// The same.
    known: BTreeSet<String>,
}

/// The graph file that admits what the acceptor `text` does; `path` is for messages. Labels are names, or numbers of the symbol
/// table `isymbols` where its names do not cover them.
///
/// # Errors
/// [`Error::TextFile`] at a line that is not of the format; [`Error::Other`] when no graph file of pair rules says the same:
/// epsilons, two arcs with one label, a symbol after which states go on differently, costs of beginning or ending.
pub fn graph_file(path: &Path, text: &str, isymbols: Option<&str>) -> Result<String> {
    let lines = fields(path, text)?;
    let acceptor = Acceptor::read(path, &lines, isymbols)?.trimmed(path)?;
    let rows = acceptor.rules(path)?;
    let written = acceptor.written(path, &rows);
    GraphSpec::parse_as(path, &written)
        .map_err(|error| Error::Other(format!("{}: no graph file can say it: {error}", path.display())))?;
    Ok(written)
}

fn error(path: &Path, line: usize, reason: String) -> Error {
    Error::TextFile { path: path.to_owned(), line, reason }
}

/// A line's number and its fields.
type Line<'a> = (usize, Vec<&'a str>);

fn fields<'a>(path: &Path, text: &'a str) -> Result<Vec<Line<'a>>> {
    let lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .zip(1..)
        .map(|(line, number)| (number, line.split_whitespace().collect::<Vec<_>>()));
    let lines: Vec<Line> = lines.filter(|(_, fields)| !fields.is_empty()).collect();
    match lines.iter().find(|(_, fields)| fields.len() > 5) {
        Some((number, fields)) => {
            let found = fields.len();
            Err(error(path, *number, format!("{found} fields: expected at most 5, FROM TO LABEL LABEL COST")))
        }
        None if lines.is_empty() => Err(error(path, 1, "no line: expected arcs FROM TO LABEL COST".into())),
        None => Ok(lines),
    }
}

/// The label of an arc's line; a transducer's two must be the same.
fn label<'a>(path: &Path, (number, fields): &Line<'a>, kind: Columns) -> Result<&'a str> {
    match kind {
        Columns::Two if fields[2] != fields[3] => {
            let (input, output) = (fields[2], fields[3]);
            let reason = format!("{input} becomes {output}: expected an acceptor, such as `fstproject` makes");
            Err(error(path, *number, reason))
        }
        _ => Ok(fields[2]),
    }
}

/// How many labels an arc has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    One,
    Two,
}

impl Columns {
    /// Two where an arc has five fields, or the fourth is no cost.
    ///
    /// Where all arcs have four fields, the last two of them whole numbers, no cost being 0, these are two labels if they are the same
    /// throughout, as `fstprint` writes an acceptor without costs.
    ///
    /// # Errors
    /// [`Error::TextFile`] at the first arc of such lines that are not the same: labels or costs, nobody can tell.
    fn of(path: &Path, lines: &[Line]) -> Result<Self> {
        let arcs = || lines.iter().filter(|(_, fields)| fields.len() > 2);
        if arcs().any(|(_, fields)| fields.len() == 5 || (fields.len() == 4 && number(fields[3]).is_none())) {
            return Ok(Self::Two);
        }
        let is_label = |text: &str| text.parse::<u64>().is_ok_and(|number| number > 0);
        if !arcs().all(|(_, fields)| fields.len() == 4 && fields[2..].iter().all(|text| is_label(text))) {
            return Ok(Self::One);
        }
        match arcs().find(|(_, fields)| fields[2] != fields[3]) {
            None => Ok(Self::Two),
            Some((at, fields)) => {
                let reason = format!(
                    "{} may be a second label or a cost: write costs with a point (1.0), or print with `fstprint --acceptor`",
                    fields[3]
                );
                Err(error(path, *at, reason))
            }
        }
    }
}

fn number(text: &str) -> Option<f32> {
    text.parse().ok().filter(|cost: &f32| !cost.is_nan())
}

impl Acceptor {
    fn read(path: &Path, lines: &[Line], isymbols: Option<&str>) -> Result<Self> {
        let columns = Columns::of(path, lines)?;
        let labels =
            lines.iter().filter(|(_, fields)| fields.len() > 2).map(|line| Ok((line.0, label(path, line, columns)?)));
        let names = Names::new(path, isymbols, &labels.collect::<Result<Vec<_>>>()?)?;
        let mut acceptor = Self::default();
        for (place, line) in lines.iter().enumerate() {
            let (at, fields) = line;
            let state = |text: &str| {
                text.parse::<u64>().map_err(|_| error(path, *at, format!("{text:?} is not the number of a state")))
            };
            let cost = |field: usize| match fields.get(field) {
                Some(text) => number(text).ok_or_else(|| error(path, *at, format!("{text:?} is not a cost"))),
                None => Ok(0.0),
            };
            let from = state(fields[0])?;
            if place == 0 {
                acceptor.start = from;
            }
            if fields.len() <= 2 {
                let cost = cost(1)?;
                if cost.is_finite() {
                    acceptor.finals.insert(from, cost);
                }
                continue;
            }
            let cost = cost(if columns == Columns::Two { 4 } else { 3 })?;
            if cost.is_finite() {
                acceptor.arc(path, *at, (from, names.of(label(path, line, columns)?), state(fields[1])?, cost))?;
            }
        }
        Ok(acceptor)
    }

    fn arc(&mut self, path: &Path, at: usize, (from, symbol, to, cost): (u64, String, u64, f32)) -> Result<()> {
        if EPSILONS.contains(&symbol.as_str()) {
            let reason = format!("an arc without a symbol ({symbol}): take them out with `fstrmepsilon`");
            return Err(error(path, at, reason));
        }
        if self.known.insert(symbol.clone()) {
            self.symbols.push(symbol.clone());
        }
        if self.symbols.len() > MOST_SYMBOLS {
            return Err(error(
                path,
                at,
                format!("more than {MOST_SYMBOLS} symbols, which is the most a graph may have"),
            ));
        }
        match self.rows.entry(from).or_default().insert(symbol.clone(), (to, cost)) {
            None => Ok(()),
            Some(_) => {
                let reason = format!("a second arc with {symbol} from state {from}: take it out with `fstdeterminize`");
                Err(error(path, at, reason))
            }
        }
    }

    /// Without the states that are on no way from the start to a final state.
    fn trimmed(mut self, path: &Path) -> Result<Self> {
        let mut steps: Vec<(u64, u64)> = vec![];
        self.rows.iter().for_each(|(from, row)| steps.extend(row.values().map(|(to, _)| (*from, *to))));
        let back: Vec<(u64, u64)> = steps.iter().map(|&(from, to)| (to, from)).collect();
        let reached = reach([self.start], &steps);
        let ending = reach(self.finals.keys().copied(), &back);
        let useful: BTreeSet<u64> = reached.intersection(&ending).copied().collect();
        if !useful.contains(&self.start) {
            return Err(Error::Other(format!("{}: no final state is reached from the start", path.display())));
        }
        self.rows.retain(|state, _| useful.contains(state));
        self.rows.values_mut().for_each(|row| row.retain(|_, (to, _)| useful.contains(to)));
        self.finals.retain(|state, _| useful.contains(state));
        let used: BTreeSet<&String> = self.rows.values().flat_map(BTreeMap::keys).collect();
        self.symbols.retain(|symbol| used.contains(symbol));
        Ok(self)
    }

    /// The state that stands for all those that a symbol leads to, symbol by symbol: they must go on alike.
    fn rules(&self, path: &Path) -> Result<BTreeMap<&str, u64>> {
        let refused =
            |reason: String| Error::Other(format!("{}: no pair rules say the same: {reason}", path.display()));
        if self.finals.contains_key(&self.start) {
            return Err(refused("the empty sequence is accepted".into()));
        }
        if let Some((symbol, (_, cost))) = self.row(self.start).find(|(_, (_, cost))| *cost != 0.0) {
            return Err(refused(format!("beginning with {symbol} costs {cost}, and a graph file has no such weight")));
        }
        if let Some((state, cost)) = self.finals.iter().find(|(_, cost)| **cost != 0.0) {
            return Err(refused(format!("ending in state {state} costs {cost}, and a graph file has no such weight")));
        }
        let mut after: BTreeMap<&str, u64> = BTreeMap::new();
        let mut alike: BTreeSet<(u64, u64)> = BTreeSet::new();
        for (symbol, (to, _)) in self.rows.values().flatten() {
            let first = *after.entry(symbol).or_insert(*to);
            if first == *to || !alike.insert((first, *to)) {
                continue;
            }
            if let Some(difference) = self.difference(first, *to) {
                return Err(refused(format!("after {symbol}, states {first} and {to} differ: {difference}")));
            }
        }
        Ok(after)
    }

    fn row(&self, state: u64) -> impl Iterator<Item = (&String, &(u64, f32))> {
        self.rows.get(&state).into_iter().flatten()
    }

    /// In what two states go on differently.
    fn difference(&self, a: u64, b: u64) -> Option<String> {
        if self.finals.contains_key(&a) != self.finals.contains_key(&b) {
            return Some("one is final, one is not".into());
        }
        let costs = |state: u64| self.row(state).map(|(symbol, (_, cost))| (symbol, *cost)).collect::<BTreeMap<_, _>>();
        let (of_a, of_b) = (costs(a), costs(b));
        let symbols: BTreeSet<&&String> = of_a.keys().chain(of_b.keys()).collect();
        let differs = |symbol: &&&&String| of_a.get(**symbol) != of_b.get(**symbol);
        let symbol = symbols.iter().find(differs)?;
        let shown = |cost: Option<&f32>| cost.map_or("not at all".to_owned(), |cost| format!("at cost {cost}"));
        Some(format!("{symbol} follows {} and {}", shown(of_a.get(**symbol)), shown(of_b.get(**symbol))))
    }

    /// The graph file: a rule for all symbols that the same symbols follow at one weight.
    fn written(&self, path: &Path, after: &BTreeMap<&str, u64>) -> String {
        let places: BTreeMap<&str, usize> = self.symbols.iter().map(String::as_str).zip(0..).collect();
        let starts = self.row(self.start).map(|(symbol, _)| places[symbol.as_str()]).collect();
        let ends = after.iter().filter(|(_, state)| self.finals.contains_key(state)).map(|(symbol, _)| places[symbol]);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut text = format!(
            "# Made by `senone graph from-openfst`. One frame a symbol, as for tags; phones last longer: see [topology.default].\n\
             format = 1\nname = {}\n\n[classes]\n{} = {}\n\n[boundary]\nstart = {}\nend = {}\n",
            quoted(&name),
            class_name("all", &self.symbols),
            list(&self.symbols),
            self.listed(starts),
            self.listed(ends.collect())
        );
        for ((weight, to), from) in self.pairs(&places, after) {
            let weight = f32::from_bits(weight);
            let weight = if weight == 0.0 { String::new() } else { format!("weight = {weight}\n") };
            let _ = write!(text, "\n[[allow]]\nfrom = {}\nto = {}\n{weight}", self.listed(from), self.listed(to));
        }
        text + "\n[topology.default]\nstates = 1\nmin_frames = 1\nself_loop = false\n"
    }

    /// By weight, whose bits keep equal ones together, and followers: what they may follow. Symbols by their places.
    fn pairs(
        &self,
        places: &BTreeMap<&str, usize>,
        after: &BTreeMap<&str, u64>,
    ) -> BTreeMap<(u32, Vec<usize>), Vec<usize>> {
        let mut leading: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        after.iter().for_each(|(symbol, &state)| leading.entry(state).or_default().push(places[symbol]));
        let mut rules: BTreeMap<(u32, Vec<usize>), Vec<usize>> = BTreeMap::new();
        for (state, from) in leading {
            let mut row: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for (to, (_, cost)) in self.row(state) {
                row.entry((0.0 - cost).to_bits()).or_default().push(places[to.as_str()]);
            }
            for (weight, mut to) in row {
                to.sort_unstable();
                rules.entry((weight, to)).or_default().extend(&from);
            }
        }
        rules
    }

    /// The symbols at `places` as a list in the order of their first use.
    fn listed(&self, mut places: Vec<usize>) -> String {
        places.sort_unstable();
        match places.len() == self.symbols.len() {
            true => "\"*\"".to_owned(),
            false => list(&places.iter().map(|&place| self.symbols[place].as_str()).collect::<Vec<_>>()),
        }
    }
}

fn reach(from: impl IntoIterator<Item = u64>, steps: &[(u64, u64)]) -> BTreeSet<u64> {
    let mut onward: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    steps.iter().for_each(|&(from, to)| onward.entry(from).or_default().push(to));
    let mut open: Vec<u64> = from.into_iter().collect();
    let mut reached = BTreeSet::new();
    while let Some(state) = open.pop() {
        if reached.insert(state) {
            open.extend(onward.get(&state).into_iter().flatten());
        }
    }
    reached
}

/// What labels are called.
struct Names(Option<BTreeMap<String, String>>);

impl Names {
    /// With a symbol table, labels are its names; when one is not, all are its numbers.
    fn new(path: &Path, isymbols: Option<&str>, labels: &[(usize, &str)]) -> Result<Self> {
        let Some(table) = isymbols else { return Ok(Self(None)) };
        let mut names = BTreeSet::new();
        let mut numbers = BTreeMap::new();
        for (line, number) in table.trim_start_matches('\u{feff}').lines().zip(1..) {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [] => {}
                [name, id] if id.parse::<u64>().is_ok() => {
                    names.insert(name);
                    numbers.insert(id.to_owned(), name.to_owned());
                }
                _ => {
                    return Err(Error::Other(format!(
                        "symbol table, line {number}: expected NAME NUMBER, found {line:?}"
                    )));
                }
            }
        }
        if labels.iter().all(|(_, label)| names.contains(label)) {
            return Ok(Self(None));
        }
        match labels.iter().find(|(_, label)| !numbers.contains_key(*label)) {
            Some((line, label)) => Err(error(path, *line, format!("label {label} is not in the symbol table"))),
            None => Ok(Self(Some(numbers))),
        }
    }

    fn of(&self, label: &str) -> String {
        self.0.as_ref().and_then(|numbers| numbers.get(label)).map_or_else(|| label.to_owned(), Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::net::{Net, tests::MIXED, tests::sequences};
    use super::super::{acceptor, symbol_table};
    use super::*;

    fn spec(text: &str) -> GraphSpec {
        GraphSpec::parse(text).unwrap()
    }

    fn net(spec: &GraphSpec) -> Net {
        Net::new(spec, &spec.compile().unwrap())
    }

    fn read(text: &str) -> Result<String> {
        graph_file(Path::new("a.fst"), text, None)
    }

    /// By names, as symbols may be numbered otherwise.
    fn by_name(net: &Net) -> BTreeMap<Vec<String>, f32> {
        let name =
            |said: Vec<crate::symbols::SymbolId>| said.iter().map(|&s| net.symbols().name(s).to_owned()).collect();
        sequences(net, 5).into_iter().map(|(said, score)| (name(said), score)).collect()
    }

    #[test]
    fn out_and_in_again_has_the_same_sequences_and_weights() {
        let braces = MIXED.replace("'c'", "'{{c'").replace("topology.c]", "topology.\"{{c\"]");
        for text in [MIXED, super::super::super::draw::tests::YES_NO, &braces] {
            let before = net(&spec(text));
            let out = acceptor(&before).unwrap();
            let after = net(&spec(&read(&out).unwrap()));
            assert!(by_name(&before).len() > 5);
            assert_eq!(by_name(&before), by_name(&after), "{out}");
            // The same with numbers for names.
            let table = symbol_table(before.symbols());
            let numbered: String = (out.lines())
                .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
                    [from, to, name, cost] => {
                        format!("{from} {to} {} {cost}\n", before.symbols().get(name).unwrap().0 + 1)
                    }
                    _ => format!("{line}\n"),
                })
                .collect();
            let again = graph_file(Path::new("a.fst"), &numbered, Some(&table)).unwrap();
            assert_eq!(again, read(&out).unwrap());
        }
    }

    /// An acceptor by hand, walked and compared: two symbols lead to one state, as after minimisation; a dead end is left out.
    #[test]
    fn states_need_not_be_symbols() {
        let text = "0 1 a\n0 1 b\n1 1 a 0.5\n1 2 c 2\n1 7 d\n2\n9 2 e\n";
        let spec = spec(&read(text).unwrap());
        assert_eq!(spec.symbols().names(), ["a", "b", "c"]);
        let found = by_name(&net(&spec));
        let mut expected = BTreeMap::new();
        for first in ["a", "b"] {
            for more in 0..4 {
                let mut said = vec![first.to_owned()];
                said.extend(std::iter::repeat_n("a".to_owned(), more));
                said.push("c".into());
                expected.insert(said, -0.5 * more as f32 - 2.0);
            }
        }
        assert_eq!(found, expected);
        let transducer = text.replace(" a", " a a").replace(" b", " b b").replace(" c", " c c").replace(" d", " d d");
        assert_eq!(read(&transducer.replace(" e", " e e")).unwrap(), read(text).unwrap());
    }

    /// `fstprint` of an acceptor without costs and without symbols prints each label twice.
    #[test]
    fn numbers_without_costs_are_labels() {
        let names = "<eps> 0\na 1\nb 2\nc 3\n";
        let read = |text: &str| graph_file(Path::new("a.fst"), text, Some(names));
        let plain = read("0 1 a\n1 1 b\n1 2 c\n2\n").unwrap();
        assert_eq!(read("0 1 1 1\n1 1 2 2\n1 2 3 3\n2\n").unwrap(), plain);
        assert_eq!(read("0 1 1 1 0\n1 1 2 2 0\n1 2 3 3\n2\n").unwrap(), plain);
        assert_eq!(read("0 1 1 0\n1 1 2 0\n1 2 3 0\n2 0\n").unwrap(), plain);
        let costly = read("0 1 1\n1 1 2 2\n1 2 3 3\n2\n").unwrap();
        assert_eq!(costly, read("0 1 a 0\n1 1 b 2\n1 2 c 3\n2\n").unwrap());
        let unclear = read("0 1 1 1\n1 1 2 3\n1 2 3 3\n2\n").unwrap_err().to_string();
        let reason = "a second label or a cost: write costs with a point (1.0), or print with `fstprint --acceptor`";
        assert_eq!(unclear, format!("a.fst:2: 3 may be {reason}"));
    }

    #[test]
    fn a_symbol_that_stands_for_none_does_not_go_out() {
        for name in EPSILONS {
            let text =
                MIXED.replace("'c'", &format!("'{name}'")).replace("topology.c]", &format!("topology.\"{name}\"]"));
            let refused = acceptor(&net(&spec(&text))).unwrap_err().to_string();
            let reason = "would be an arc without a symbol in OpenFst: give it another name";
            assert_eq!(refused, format!("the symbol {name} {reason}"));
        }
    }

    /// As many symbols as a graph may have, in rows of their own and after one state; one more is refused at its line.
    #[test]
    fn thousands_of_symbols_take_seconds() {
        let mut text: String = (0..MOST_SYMBOLS).map(|symbol| format!("0 1 s{symbol}\n1 1 s{symbol} 0.5\n")).collect();
        text += "1\n";
        assert!(read(&text).unwrap().contains("\nfrom = \"*\"\nto = \"*\"\nweight = -0.5\n"));
        let ring: String = (0..MOST_SYMBOLS)
            .map(|symbol| {
                format!(
                    "0 {} s{symbol}\n{} {} s{}\n{}\n",
                    symbol + 1,
                    symbol + 1,
                    (symbol + 1) % MOST_SYMBOLS + 1,
                    (symbol + 1) % MOST_SYMBOLS,
                    symbol + 1
                )
            })
            .collect();
        assert_eq!(read(&ring).unwrap().matches("[[allow]]").count(), MOST_SYMBOLS);
        let more = read(&format!("{text}1 1 more\n")).unwrap_err().to_string();
        assert_eq!(
            more,
            format!(
                "a.fst:{}: more than {MOST_SYMBOLS} symbols, which is the most a graph may have",
                2 * MOST_SYMBOLS + 2
            )
        );
    }

    #[test]
    fn what_pair_rules_cannot_say_is_told() {
        let cases = [
            ("", "a.fst:1: no line: expected arcs FROM TO LABEL COST"),
            ("0 1 a b 2 3\n1\n", "a.fst:1: 6 fields: expected at most 5, FROM TO LABEL LABEL COST"),
            ("0 x a\n1\n", "a.fst:1: \"x\" is not the number of a state"),
            ("0 1 a\n1 cost\n", "a.fst:2: \"cost\" is not a cost"),
            ("0 1 a b\n1\n", "a.fst:1: a becomes b: expected an acceptor, such as `fstproject` makes"),
            ("0 1 <eps>\n1\n", "a.fst:1: an arc without a symbol (<eps>): take them out with `fstrmepsilon`"),
            ("0 1 a\n0 2 a\n1\n", "a.fst:2: a second arc with a from state 0: take it out with `fstdeterminize`"),
            ("0 1 a\n2\n", "a.fst: no final state is reached from the start"),
            ("0 1 a\n0\n1\n", "a.fst: no pair rules say the same: the empty sequence is accepted"),
            (
                "0 1 a 0.5\n1\n",
                "a.fst: no pair rules say the same: beginning with a costs 0.5, and a graph file has no such weight",
            ),
            (
                "0 1 a\n1 0.5\n",
                "a.fst: no pair rules say the same: ending in state 1 costs 0.5, and a graph file has no such weight",
            ),
            (
                "0 1 a\n1 2 b\n2 3 a\n3\n",
                "a.fst: no pair rules say the same: after a, states 1 and 3 differ: one is final, one is not",
            ),
            (
                "0 1 a\n1 2 b 1\n2 3 a\n3 4 b 2\n1\n3\n4\n2\n",
                "a.fst: no pair rules say the same: after a, states 1 and 3 differ: b follows at cost 1 and at cost 2",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
        }
        let star = read("0 1 *\n1\n").unwrap_err().to_string();
        assert!(star.starts_with("a.fst: no graph file can say it: "), "{star}");
        let error = graph_file(Path::new("a.fst"), "0 1 5\n1\n", Some("<eps> 0\na 1\n")).unwrap_err();
        assert_eq!(error.to_string(), "a.fst:1: label 5 is not in the symbol table");
    }
}
