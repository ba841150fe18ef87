//! Names into symbols: variables filled in, classes resolved, symbols numbered by their first appearance in the file.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{GraphFile, Group};
use super::source::{Name, Source};
use crate::Result;
use crate::symbols::{SymbolId, SymbolTable};

/// More symbols than any label set has; keeps the square of them within memory.
pub(super) const MOST_SYMBOLS: usize = 4096;

/// More combinations of values than the variables of one rule have; keeps their product within memory.
const MOST_COMBINATIONS: usize = 1_000_000;

/// Every symbol.
const ALL: &str = "*";

/// One value for each variable: `(variable, value)`.
type Assignment<'a> = Vec<(&'a str, &'a str)>;

/// What the names of a graph file stand for.
#[derive(Debug)]
pub(super) struct Names<'a> {
    source: &'a Source,
    vars: BTreeMap<&'a str, Vec<&'a str>>,
    classes: BTreeMap<&'a str, BTreeSet<SymbolId>>,
    /// The symbols in file order.
    pub symbols: SymbolTable,
    /// The byte at which each symbol first appears.
    pub places: Vec<usize>,
}

/// A class with its members, variables filled in.
struct Members<'a> {
    name: &'a Name,
    members: Vec<Name>,
}

impl<'a> Names<'a> {
    /// Numbers the symbols and resolves the classes of `file`.
    pub fn read(source: &'a Source, file: &'a GraphFile) -> Result<Self> {
        let mut names = Self {
            source,
            vars: vars(source, &file.vars)?,
            classes: BTreeMap::new(),
            symbols: SymbolTable::new(),
            places: vec![],
        };
        file.classes.iter().try_for_each(|class| check_class_name(source, &class.name))?;
        let members: Vec<Members> = file.classes.iter().map(|class| names.members_of(class)).collect::<Result<_>>()?;
        names.number(&members)?;
        names.resolve_classes(&members)?;
        Ok(names)
    }

    /// The same names for `source`, a file that does not define them: errors are placed in it.
    pub fn told_by(self, source: &'a Source) -> Self {
        Self { source, ..self }
    }

    /// The members of a class: a variable yields every value.
    fn members_of(&self, class: &'a Group) -> Result<Members<'a>> {
        let mut seen = BTreeSet::new();
        let mut members = vec![];
        for member in &class.members {
            for values in self.assignments(std::slice::from_ref(member))? {
                let text = fill(&member.text, &values);
                check_name(self.source, member, &text)?;
                if !seen.insert(text.clone()) {
                    return Err(self.source.error(member.at, format!("`{text}` is in this class already")));
                }
                if seen.len() > MOST_SYMBOLS {
                    return Err(self.too_many(member));
                }
                members.push(Name { text, at: member.at });
            }
        }
        if members.is_empty() {
            return Err(self.source.error(class.name.at, format!("class `{}` has no members", class.name.text)));
        }
        Ok(Members { name: &class.name, members })
    }

    fn too_many(&self, at: &Name) -> crate::Error {
        self.source.error(at.at, format!("more than {MOST_SYMBOLS} symbols, which is the most a graph may have"))
    }

    /// Gives every member that is not a class its number.
    fn number(&mut self, classes: &[Members]) -> Result<()> {
        let class_names: BTreeSet<&str> = classes.iter().map(|class| class.name.text.as_str()).collect();
        for member in classes.iter().flat_map(|class| &class.members) {
            if class_names.contains(member.text.as_str()) || self.symbols.get(&member.text).is_some() {
                continue;
            }
            if self.symbols.len() == MOST_SYMBOLS {
                return Err(self.too_many(member));
            }
            self.symbols.intern(&member.text);
            self.places.push(member.at);
        }
        Ok(())
    }

    /// Resolves, pass by pass, the classes whose members are known; what is left when a pass resolves none is a cycle.
    fn resolve_classes(&mut self, classes: &[Members<'a>]) -> Result<()> {
        let mut open: Vec<&Members> = classes.iter().collect();
        while !open.is_empty() {
            let before = open.len();
            open.retain(|class| {
                let symbols: Option<Vec<_>> = class.members.iter().map(|member| self.known(&member.text)).collect();
                let Some(symbols) = symbols else { return true };
                self.classes.insert(class.name.text.as_str(), symbols.into_iter().flatten().collect());
                false
            });
            if open.len() == before {
                return Err(self.cycle(&open));
            }
        }
        Ok(())
    }

    /// Follows, from the first class left, the first member left of each until a class comes again.
    fn cycle(&self, open: &[&Members]) -> crate::Error {
        let next = |class: &Members| {
            let member = class.members.iter().find(|member| self.known(&member.text).is_none());
            member.and_then(|member| open.iter().position(|class| class.name.text == member.text))
        };
        let mut chain = vec![0];
        while let Some(class) = next(open[chain[chain.len() - 1]]) {
            let first = chain.iter().position(|&earlier| earlier == class);
            chain.push(class);
            if let Some(first) = first {
                chain.drain(..first);
                break;
            }
        }
        let at = open[chain[0]].name.at;
        let names: Vec<&str> = chain.iter().map(|&class| open[class].name.text.as_str()).collect();
        if names.len() == 2 {
            let reason =
                format!("`{}` names a class and its own member: a name is a symbol or a class, never both", names[0]);
            return self.source.error(at, reason);
        }
        self.source.error(at, format!("classes contain each other: {}", names.join(" -> ")))
    }

    /// Whether `name` is a symbol or a class.
    pub fn knows(&self, name: &str) -> bool {
        self.known(name).is_some()
    }

    /// The symbols of a name without variables.
    fn known(&self, text: &str) -> Option<Vec<SymbolId>> {
        if text == ALL {
            return Some(self.symbols.ids().collect());
        }
        let class = self.classes.get(text).map(|symbols| symbols.iter().copied().collect());
        class.or_else(|| self.symbols.get(text).map(|symbol| vec![symbol]))
    }

    /// The symbols of `names` with the variables filled in from `values`, each once, in symbol order.
    pub fn with(&self, names: &[Name], values: &Assignment) -> Result<Vec<SymbolId>> {
        let mut symbols = BTreeSet::new();
        for name in names {
            let text = fill(&name.text, values);
            let unknown =
                || self.source.error(name.at, format!("`{text}` is neither a symbol nor a class of [classes]"));
            symbols.extend(self.known(&text).ok_or_else(unknown)?);
        }
        Ok(symbols.into_iter().collect())
    }

    /// The symbols of `names`, where a variable yields every value; each once, in symbol order.
    pub fn all(&self, names: &[Name]) -> Result<Vec<SymbolId>> {
        let mut symbols = BTreeSet::new();
        for name in names {
            for values in self.assignments(std::slice::from_ref(name))? {
                symbols.extend(self.with(std::slice::from_ref(name), &values)?);
            }
        }
        Ok(symbols.into_iter().collect())
    }

    /// Every way to give the variables in `names` a value each.
    pub fn assignments<'n>(&'n self, names: impl IntoIterator<Item = &'n Name>) -> Result<Vec<Assignment<'n>>> {
        let mut used = BTreeSet::new();
        for name in names {
            for variable in variables(&name.text).map_err(|reason| self.source.error(name.at, reason))? {
                if !self.vars.contains_key(variable) {
                    return Err(self.source.error(name.at, format!("variable `{{{variable}}}` is not in [vars]")));
                }
                used.insert(variable);
                let counts = used.iter().map(|variable| self.vars[variable].len());
                if counts.fold(1, usize::saturating_mul) > MOST_COMBINATIONS {
                    let reason =
                        format!("the variables up to here have more than {MOST_COMBINATIONS} combinations of values");
                    return Err(self.source.error(name.at, reason));
                }
            }
        }
        let mut all = vec![vec![]];
        for variable in used {
            let extend = |earlier: &Assignment<'n>| {
                let with = |&value: &&'n str| [&earlier[..], &[(variable, value)]].concat();
                self.vars[variable].iter().map(with).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(extend).collect();
        }
        Ok(all)
    }
}

fn vars<'a>(source: &Source, groups: &'a [Group]) -> Result<BTreeMap<&'a str, Vec<&'a str>>> {
    for group in groups {
        for (place, value) in group.members.iter().enumerate() {
            let again = group.members[..place].iter().any(|earlier| earlier.text == value.text);
            if again || value.text.is_empty() || value.text.contains(['{', '}']) {
                let reason = "a variable's values are different texts without braces";
                return Err(source.error(value.at, format!("{:?}: {reason}", value.text)));
            }
        }
        if group.members.is_empty() {
            return Err(source.error(group.name.at, format!("variable `{}` has no values", group.name.text)));
        }
    }
    let values = |group: &'a Group| group.members.iter().map(|value| value.text.as_str()).collect();
    Ok(groups.iter().map(|group| (group.name.text.as_str(), values(group))).collect())
}

fn check_class_name(source: &Source, name: &Name) -> Result<()> {
    if name.text == "default" || name.text.contains(['{', '}']) {
        let reason =
            format!("a class cannot be named `{}`: `default` and braces have a meaning of their own", name.text);
        return Err(source.error(name.at, reason));
    }
    check_name(source, name, &name.text)
}

/// Names stand in transcripts and tables, where white space ends them.
fn check_name(source: &Source, name: &Name, text: &str) -> Result<()> {
    if text == ALL {
        return Err(source.error(name.at, "`*` is every symbol: it stands in rules and boundaries, not in [classes]"));
    }
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err(source.error(name.at, format!("{text:?}: a name is not empty and holds no white space")));
    }
    Ok(())
}

/// A part of a name as written.
enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// What stands in braces.
    Variable(&'a str),
}

/// The parts of `template`; two braces of a kind stand for one that is no variable's.
fn pieces(template: &str) -> std::result::Result<Vec<Piece<'_>>, String> {
    let mut found = vec![];
    let mut rest = template;
    while let Some(open) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(open);
        found.push(Piece::Text(before));
        if from.starts_with("{{") || from.starts_with("}}") {
            found.push(Piece::Text(&from[..1]));
            rest = &from[2..];
            continue;
        }
        let inside = from.strip_prefix('{').and_then(|after| after.split_once('}'));
        let Some((variable, after)) = inside.filter(|(variable, _)| !variable.contains('{')) else {
            return Err(format!("{template:?}: braces come in pairs, as in \"B-{{type}}\""));
        };
        found.push(Piece::Variable(variable));
        rest = after;
    }
    found.push(Piece::Text(rest));
    Ok(found)
}

/// The variables of `template`, in the order written.
fn variables(template: &str) -> std::result::Result<Vec<&str>, String> {
    let variable = |piece| match piece {
        Piece::Variable(name) => Some(name),
        Piece::Text(_) => None,
    };
    Ok(pieces(template)?.into_iter().filter_map(variable).collect())
}

/// `template`, whose [`variables`] are in order, with each replaced by its value.
fn fill(template: &str, values: &Assignment) -> String {
    let text = |piece| match piece {
        Piece::Text(text) => text,
        Piece::Variable(name) => values.iter().find(|(variable, _)| *variable == name).map_or("", |(_, value)| value),
    };
    pieces(template).into_iter().flatten().map(text).collect()
}
