//! `[grammar]` and the files that it includes, word for word.

use crate::Result;
use crate::graph::source::{Name, Source, Value};

/// A `[grammar]`.
#[derive(Debug)]
pub(in crate::graph) struct GrammarFile {
    pub(super) rule: Name,
    pub(super) parts: PartsFile,
}

impl GrammarFile {
    /// The byte at which its rule stands.
    pub fn at(&self) -> usize {
        self.rule.at
    }
}

/// Named parts and further files with such: what `[grammar]` and an included file both have.
#[derive(Debug)]
pub(super) struct PartsFile {
    pub include: Vec<Name>,
    /// Name and expression.
    pub parts: Vec<(Name, Name)>,
}

/// The `[grammar]` of a graph file.
pub(in crate::graph) fn table(source: &Source, value: &Value) -> Result<GrammarFile> {
    let table = source.table(value, &["rule", "parts", "include"])?;
    Ok(GrammarFile {
        rule: source.name(table.need("rule", "[grammar]")?, EXPRESSION)?,
        parts: PartsFile {
            include: table.get("include").map_or(Ok(vec![]), |v| source.names(v))?,
            parts: table.get("parts").map_or(Ok(vec![]), |v| named(source, v))?,
        },
    })
}

/// What an included file has.
pub(super) fn included(source: &Source) -> Result<PartsFile> {
    let top = source.top(&["parts", "include"])?;
    Ok(PartsFile {
        include: top.get("include").map_or(Ok(vec![]), |v| source.names(v))?,
        parts: top.get("parts").map_or(Ok(vec![]), |v| named(source, v))?,
    })
}

const EXPRESSION: &str = "an expression in quotes";

fn named(source: &Source, value: &Value) -> Result<Vec<(Name, Name)>> {
    let table = source.any_table(value)?;
    table.entries.iter().map(|(name, value)| Ok((name.clone(), source.name(value, EXPRESSION)?))).collect()
}
