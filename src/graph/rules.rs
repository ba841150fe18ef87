//! Which symbol may follow which: `[[allow]]` less `[[forbid]]`.

use super::classes::Names;
use super::file::{GraphFile, Rule};
use super::source::Source;
use crate::Result;
use crate::symbols::SymbolId;

/// For each symbol what may follow it, with the rule's weight, by ascending symbol.
pub(super) type Successors = Vec<Vec<(SymbolId, f32)>>;

/// The legal pairs of `file`: those that an allow covers and no forbid does.
pub(super) fn successors(source: &Source, file: &GraphFile, names: &Names) -> Result<Successors> {
    let symbols = names.symbols.len();
    let forbidden = forbidden(names, &file.forbid)?;
    let mut allowed: Vec<Option<&Rule>> = vec![None; symbols * symbols];
    for rule in &file.allow {
        for (from, to) in pairs(names, rule)? {
            let cell = from.index() * symbols + to.index();
            match allowed[cell] {
                _ if forbidden[cell] => {}
                Some(earlier) if earlier.weight != rule.weight => {
                    return Err(two_weights(source, names, [from, to], [earlier, rule]));
                }
                _ => allowed[cell] = Some(rule),
            }
        }
    }
    let row = |row: &[Option<&Rule>]| {
        row.iter()
            .enumerate()
            .filter_map(|(to, rule)| rule.map(|rule| (SymbolId::from_index(to), rule.weight)))
            .collect()
    };
    Ok(allowed.chunks(symbols).map(row).collect())
}

/// Whether each pair, row by row, is covered by one of `rules`.
pub(super) fn forbidden(names: &Names, rules: &[Rule]) -> Result<Vec<bool>> {
    let symbols = names.symbols.len();
    let mut forbidden = vec![false; symbols * symbols];
    for rule in rules {
        for (from, to) in pairs(names, rule)? {
            forbidden[from.index() * symbols + to.index()] = true;
        }
    }
    Ok(forbidden)
}

/// The pairs that `rule` covers; a variable has the same value on both sides.
fn pairs(names: &Names, rule: &Rule) -> Result<Vec<(SymbolId, SymbolId)>> {
    let mut pairs = vec![];
    for values in names.assignments(rule.from.names.iter().chain(&rule.to.names))? {
        let to = names.with(&rule.to.names, &values)?;
        for from in names.with(&rule.from.names, &values)? {
            pairs.extend(to.iter().map(|&to| (from, to)));
        }
    }
    Ok(pairs)
}

fn two_weights(
    source: &Source,
    names: &Names,
    [from, to]: [SymbolId; 2],
    [earlier, later]: [&Rule; 2],
) -> crate::Error {
    let pair = format!("{} -> {}", names.symbols.name(from), names.symbols.name(to));
    let line = source.place(earlier.at).0;
    let reason = format!(
        "`{pair}` has weight {} here and weight {} in the [[allow]] of line {line}: give it one",
        later.weight, earlier.weight
    );
    source.error(later.at, reason)
}
