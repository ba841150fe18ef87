//! What a graph file says, word for word: sections in file order, names with their places, nothing resolved yet.

use super::exclusive::{self, ExclusiveFile};
use super::extension::Extension;
use super::grammar::{self, GrammarFile};
use super::source::{Name, Source, Table, Value};
use crate::Result;

/// The sections of a graph file.
#[derive(Debug)]
pub(super) struct GraphFile {
    pub name: String,
    pub optional: Vec<Name>,
    pub vars: Vec<Group>,
    pub classes: Vec<Group>,
    pub start: Side,
    pub end: Side,
    pub allow: Vec<Rule>,
    pub forbid: Vec<Rule>,
    pub default_topology: TopologyFile,
    pub topologies: Vec<TopologyFile>,
    pub exclusive: Vec<ExclusiveFile>,
    pub grammar: Option<GrammarFile>,
    pub lm: Option<LmFile>,
    pub lexicon: Option<LexiconFile>,
}

/// A file that says everything itself, or one that narrows the graph of a model.
#[derive(Debug)]
pub(super) enum AnyFile {
    Whole(Box<GraphFile>),
    Extends(Box<Extension>),
}

/// A variable with its values, or a class with its members.
#[derive(Debug)]
pub(super) struct Group {
    pub name: Name,
    pub members: Vec<Name>,
}

/// One list of a rule or of `[boundary]`, with its place.
#[derive(Debug)]
pub(super) struct Side {
    pub at: usize,
    pub names: Vec<Name>,
}

/// An `[[allow]]` or `[[forbid]]`.
#[derive(Debug)]
pub(super) struct Rule {
    pub at: usize,
    pub from: Side,
    pub to: Side,
    pub weight: f32,
}

/// How long a state lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dwell {
    /// `self_loop = p`.
    Probability(f32),
    /// `self_loop = false`.
    OneFrame,
}

/// A `[topology.NAME]`: what it overrides, with the places of the values.
#[derive(Debug)]
pub(super) struct TopologyFile {
    pub name: Name,
    pub states: Option<usize>,
    pub min_frames: Option<usize>,
    pub dwell: Option<Dwell>,
}

/// The `[lm]`.
#[derive(Debug)]
pub(super) struct LmFile {
    pub file: Name,
    pub scale: f32,
}

/// The `[lexicon]`.
#[derive(Debug)]
pub(super) struct LexiconFile {
    pub file: Name,
    pub unknown: Option<Name>,
    pub unknown_weight: f32,
    pub pause: f32,
}

pub(super) const TOP_KEYS: [&str; 14] = [
    "format",
    "extends",
    "name",
    "optional",
    "vars",
    "classes",
    "boundary",
    "allow",
    "forbid",
    "topology",
    "exclusive",
    "grammar",
    "lm",
    "lexicon",
];

const ALLOW_KEYS: [&str; 5] = ["from", "to", "followed_by", "preceded_by", "weight"];
pub(super) const FORBID_KEYS: [&str; 4] = ["from", "to", "followed_by", "preceded_by"];

/// More frames than any symbol needs; keeps a slip of the finger from filling the memory.
const MOST_FRAMES: usize = 1000;

impl AnyFile {
    /// Reads the sections of `source`.
    pub fn read(source: &Source) -> Result<Self> {
        let top = source.top(&TOP_KEYS)?;
        match Extension::read(source, &top)? {
            Some(extension) => Ok(Self::Extends(Box::new(extension))),
            None => GraphFile::of(source, &top).map(|file| Self::Whole(Box::new(file))),
        }
    }
}

impl GraphFile {
    /// Reads the sections of `source`, which extends nothing.
    pub fn read(source: &Source) -> Result<Self> {
        Self::of(source, &source.top(&TOP_KEYS)?)
    }

    fn of(source: &Source, top: &Table) -> Result<Self> {
        check_format(source, top)?;
        let [start, end] = boundary(source, top.need("boundary", "the file")?)?;
        let (default_topology, topologies) = topologies(source, top.need("topology", "the file")?)?;
        Ok(Self {
            name: top.get("name").map_or(Ok(String::new()), |v| source.name(v, "a string").map(|name| name.text))?,
            optional: top.get("optional").map_or(Ok(vec![]), |v| source.names(v))?,
            vars: top.get("vars").map_or(Ok(vec![]), |v| groups(source, v))?,
            classes: classes(source, top.need("classes", "the file")?)?,
            start,
            end,
            allow: rules(source, top.get("allow"), "[[allow]]", &ALLOW_KEYS)?,
            forbid: rules(source, top.get("forbid"), "[[forbid]]", &FORBID_KEYS)?,
            default_topology,
            topologies,
            exclusive: top.get("exclusive").map_or(Ok(vec![]), |v| exclusive::tables(source, v))?,
            grammar: top.get("grammar").map(|v| grammar::table(source, v)).transpose()?,
            lm: top.get("lm").map(|v| lm(source, v)).transpose()?,
            lexicon: top.get("lexicon").map(|v| lexicon(source, v)).transpose()?,
        })
    }
}

/// `start` and `end` of a `[boundary]`.
pub(super) fn boundary(source: &Source, value: &Value) -> Result<[Side; 2]> {
    let table = source.table(value, &["start", "end"])?;
    Ok([side(source, table.need("start", "[boundary]")?)?, side(source, table.need("end", "[boundary]")?)?])
}

pub(super) fn check_format(source: &Source, top: &Table) -> Result<()> {
    let value = top.need("format", "the file")?;
    match source.count(value, 1..=1) {
        Ok(_) => Ok(()),
        Err(_) => Err(source.wrong(value, "1 (the format that this version reads)")),
    }
}

fn groups(source: &Source, value: &Value) -> Result<Vec<Group>> {
    let table = source.any_table(value)?;
    table.entries.iter().map(|(name, value)| Ok(Group { name: name.clone(), members: source.names(value)? })).collect()
}

fn classes(source: &Source, value: &Value) -> Result<Vec<Group>> {
    match groups(source, value)? {
        none if none.is_empty() => {
            Err(source.error(value.span().start, "[classes] is empty: expected NAME = [SYMBOLS]"))
        }
        classes => Ok(classes),
    }
}

pub(super) fn side(source: &Source, value: &Value) -> Result<Side> {
    Ok(Side { at: value.span().start, names: source.names(value)? })
}

pub(super) fn rules(source: &Source, value: Option<&Value>, title: &str, keys: &[&str]) -> Result<Vec<Rule>> {
    let tables = value.map_or(Ok(vec![]), |value| source.tables(value, keys))?;
    let mut rules = vec![];
    for table in tables {
        let weight = weight(source, table.get("weight"))?;
        for (from, to) in sides(source, &table, title)? {
            rules.push(Rule { at: table.at, from, to, weight });
        }
    }
    Ok(rules)
}

/// What a rule covers: every pair of `from` and `to`, or a table of symbols, each with those that it is followed by or preceded by.
fn sides(source: &Source, table: &Table, title: &str) -> Result<Vec<(Side, Side)>> {
    let tables = ["followed_by", "preceded_by"].map(|key| (key, table.get(key)));
    let mut given = tables.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let Some((key, value)) = given.next() else {
        let symbols = |key: &str| some(source, key, side(source, table.need(key, title)?)?);
        return Ok(vec![(symbols("from")?, symbols("to")?)]);
    };
    let others = ["from", "to"].into_iter().filter_map(|key| Some((key, table.get(key)?))).chain(given);
    if let Some((other, value)) = others.into_iter().next() {
        let reason =
            format!("`{other}` beside `{key}`: a rule has `from` and `to`, or `followed_by`, or `preceded_by`");
        return Err(source.error(value.span().start, reason));
    }
    let pairs = source.any_table(value)?;
    let pair = |(name, others): &(Name, Value)| {
        let one = Side { at: name.at, names: vec![name.clone()] };
        let others = some(source, &name.text, Side { at: others.span().start, names: source.words(others)? })?;
        Ok(if key == "followed_by" { (one, others) } else { (others, one) })
    };
    match pairs.entries.is_empty() {
        true => Err(source.error(pairs.at, format!("`{key}` is empty: expected SYMBOL = \"OTHER OTHER ...\""))),
        false => pairs.entries.iter().map(pair).collect(),
    }
}

/// `side`, which must name some symbol; `key` is what messages call it.
fn some(source: &Source, key: &str, side: Side) -> Result<Side> {
    match side.names.is_empty() {
        true => Err(source.error(side.at, format!("`{key}` names no symbol"))),
        false => Ok(side),
    }
}

/// A weight, 0 where none is given.
fn weight(source: &Source, value: Option<&Value>) -> Result<f32> {
    value.map_or(Ok(0.0), |value| source.number(value, "a finite number, a natural logarithm"))
}

fn topologies(source: &Source, value: &Value) -> Result<(TopologyFile, Vec<TopologyFile>)> {
    let table = source.any_table(value)?;
    let mut all: Vec<TopologyFile> =
        table.entries.iter().map(|(name, value)| topology(source, name, value)).collect::<Result<_>>()?;
    match all.iter().position(|topology| topology.name.text == "default") {
        Some(place) => Ok((all.remove(place), all)),
        None => Err(source.error(table.at, "the file has no [topology.default]")),
    }
}

fn topology(source: &Source, name: &Name, value: &Value) -> Result<TopologyFile> {
    let table = source.table(value, &["states", "min_frames", "self_loop"])?;
    let count = |key| table.get(key).map(|value| source.count(value, 1..=MOST_FRAMES)).transpose();
    Ok(TopologyFile {
        name: name.clone(),
        states: count("states")?,
        min_frames: count("min_frames")?,
        dwell: table.get("self_loop").map(|value| dwell(source, value)).transpose()?,
    })
}

fn dwell(source: &Source, value: &Value) -> Result<Dwell> {
    if value.get_ref().as_bool() == Some(false) {
        return Ok(Dwell::OneFrame);
    }
    let expected = "a probability above 0 and below 1, or false";
    let p = source.number(value, expected)?;
    if p > 0.0 && p < 1.0 { Ok(Dwell::Probability(p)) } else { Err(source.wrong(value, expected)) }
}

pub(super) fn lm(source: &Source, value: &Value) -> Result<LmFile> {
    let table = source.table(value, &["file", "scale"])?;
    let expected = "a number of 0 or more";
    let scale = table.get("scale").map_or(Ok(1.0), |value| match source.number(value, expected)? {
        scale if scale >= 0.0 => Ok(scale),
        _ => Err(source.wrong(value, expected)),
    })?;
    Ok(LmFile { file: source.name(table.need("file", "[lm]")?, "the path of an ARPA file")?, scale })
}

pub(super) fn lexicon(source: &Source, value: &Value) -> Result<LexiconFile> {
    let table = source.table(value, &["file", "unknown", "unknown_weight", "pause"])?;
    let unknown = table.get("unknown").map(|value| source.name(value, "a symbol")).transpose()?;
    if let (Some(value), None) = (table.get("unknown_weight"), &unknown) {
        return Err(source.error(value.span().start, "`unknown_weight` weighs nothing without `unknown`"));
    }
    Ok(LexiconFile {
        file: source.name(table.need("file", "[lexicon]")?, "the path of a dictionary")?,
        unknown,
        unknown_weight: weight(source, table.get("unknown_weight"))?,
        pause: weight(source, table.get("pause"))?,
    })
}
