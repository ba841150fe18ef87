//! The template: which features a token has.
//!
//! A TOML file comes in, a [`Sequence`] after it; out go, token by token, the names of features and how much of each. The head of
//! [`tagging`](super) says what the file may hold.
//!
//! A feature's name is `item=value`, the values of several parts with a tab between, which no field holds: `lower[-1]=the`.
//! The mark of `outside` is the empty value.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::Path;

use serde::Deserialize;

use super::part::{self, Cell, Form, Kind};
use crate::data::Sequence;
use crate::settings::{self, Spanned};
use crate::{Error, Result};

/// More features a token than any template has; keeps a slip of the finger in a range from filling the memory.
const MOST_FEATURES: usize = 1000;

/// The farthest neighbour.
const FARTHEST: isize = 100;

/// The last column that can be read.
const MOST_COLUMNS: isize = 1000;

/// The longest prefix or suffix, in characters.
const LONGEST: isize = 50;

/// What a neighbour outside the sequence gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outside {
    /// Nothing: the token lacks the feature.
    #[default]
    Nothing,
    /// A value that no token has.
    Mark,
}

/// Which features a token has. [`Template::default`] is the lower-cased word alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    text: String,
    /// The different kinds of parts that features are made of.
    kinds: Vec<Kind>,
    features: Vec<Feature>,
    outside: Outside,
    min_count: u32,
}

/// One feature: a name and the parts that it is made of.
#[derive(Debug, Clone, PartialEq)]
struct Feature {
    /// As it would be written without ranges.
    name: String,
    /// Places in [`Template::kinds`], and offsets.
    parts: Vec<(usize, isize)>,
}

/// The file, word for word.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateFile {
    features: Vec<Spanned<String>>,
    #[serde(default)]
    outside: Outside,
    #[serde(default = "one")]
    min_count: NonZeroU32,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// One choice of a part.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    /// As it would be written without ranges.
    name: String,
    kind: Kind,
    offset: isize,
}

impl Default for Template {
    fn default() -> Self {
        Self::parse("features = [\"lower\"]\n").expect("the default is valid")
    }
}

impl Template {
    /// Reads the template file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read as UTF-8; [`Error::Config`] with line and column for an unknown key or a wrong
    /// value, and when there is no feature, one is given twice, or there are more than 1000 a token.
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::input::text(path)?;
        Self::parse_as(path, text.trim_start_matches('\u{feff}'))
    }

    /// Reads the `text` of a template file; messages call it `path`.
    ///
    /// # Errors
    /// As [`Template::read`].
    pub fn parse_as(path: &Path, text: &str) -> Result<Self> {
        Self::parse(text).map_err(|reason| Error::Config { path: path.to_owned(), reason })
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let TemplateFile { features: items, outside, min_count } = settings::parse(text)?;
        let (text, min_count) = (text.to_owned(), min_count.get());
        let mut template = Self { text, kinds: vec![], features: vec![], outside, min_count };
        for spanned in &items {
            let added = item(spanned.get_ref()).and_then(|choices| template.add(&choices, &[]));
            added.map_err(|reason| {
                settings::placed(&template.text, spanned.span().start, &format!("{:?}: {reason}", spanned.get_ref()))
            })?;
        }
        match template.features.is_empty() {
            true => Err("features is empty: expected at least one, as in features = [\"lower\"]".into()),
            false => Ok(template),
        }
    }

    /// Adds the features that begin with the parts `chosen` and go on with every combination of `choices`.
    fn add(&mut self, choices: &[Vec<Part>], chosen: &[Part]) -> std::result::Result<(), String> {
        if let Some((first, rest)) = choices.split_first() {
            return first.iter().try_for_each(|part| self.add(rest, &[chosen, std::slice::from_ref(part)].concat()));
        }
        let name = chosen.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("&");
        if self.features.iter().any(|feature| feature.name == name) {
            return Err(format!("feature `{name}` is given twice: expected each once"));
        }
        if self.features.len() == MOST_FEATURES {
            return Err(format!("more than {MOST_FEATURES} features a token: expected fewer, or shorter ranges"));
        }
        let parts = chosen.iter().map(|part| (self.place(part.kind), part.offset)).collect();
        self.features.push(Feature { name, parts });
        Ok(())
    }

    /// Where `kind` is among the kinds, added when it is new.
    fn place(&mut self, kind: Kind) -> usize {
        self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        })
    }

    /// The file's text, to keep it with a model.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How often a feature must be seen in training.
    pub fn min_count(&self) -> u32 {
        self.min_count
    }

    /// The most features that a token can have.
    pub fn features_per_token(&self) -> usize {
        self.features.len()
    }

    /// The last column that is read, counted from 1: files need as many, and a tag must not be among them.
    pub fn last_column(&self) -> usize {
        self.kinds.iter().map(|kind| kind.column() + 1).max().unwrap_or(1)
    }

    /// Calls `each` with token (from 0), name and amount of every feature, token by token, in the order of the template.
    ///
    /// # Errors
    /// [`Error::TextFile`] naming line and sequence when there are too few columns, or a `value` is not a finite number; `each`
    /// was not called then.
    pub fn extract(&self, sequence: &Sequence, mut each: impl FnMut(usize, &str, f32)) -> Result<()> {
        let (found, needed) = (sequence.columns(), self.last_column());
        if found < needed {
            return Err(sequence.fault(0, format!("no column {needed}, which the template reads: the last is {found}")));
        }
        let cells: Vec<Vec<Option<Cell>>> =
            self.kinds.iter().map(|kind| kind.cells(sequence)).collect::<Result<_>>()?;
        let mut name = String::new();
        for token in 0..sequence.rows().len() {
            for feature in &self.features {
                if let Some(amount) = self.compose(feature, &cells, token, &mut name) {
                    each(token, &name, amount);
                }
            }
        }
        Ok(())
    }

    /// Writes the full name of `feature` at `token`; how much there is of it, none where it is absent.
    fn compose(&self, feature: &Feature, cells: &[Vec<Option<Cell>>], token: usize, name: &mut String) -> Option<f32> {
        name.clear();
        name.push_str(&feature.name);
        let mut amount = 1.0;
        for (place, &(kind, offset)) in feature.parts.iter().enumerate() {
            if self.kinds[kind] == Kind::Bias {
                continue;
            }
            name.push(if place == 0 { '=' } else { '\t' });
            match token.checked_add_signed(offset).and_then(|at| cells[kind].get(at)) {
                Some(cell) => {
                    let cell = cell.as_ref()?;
                    name.push_str(&cell.text);
                    amount *= cell.amount;
                }
                None if self.outside == Outside::Nothing => return None,
                None => {}
            }
        }
        Some(amount)
    }
}

/// For each part of the item `text` of `features` the choices that its ranges leave.
fn item(text: &str) -> std::result::Result<Vec<Vec<Part>>, String> {
    let parts = text.split('&').map(|part| choices(part.trim())).collect::<std::result::Result<Vec<_>, String>>()?;
    let count = |is: fn(Kind) -> bool| parts.iter().filter(|choices| is(choices[0].kind)).count();
    if parts.len() > 1 && count(|kind| kind == Kind::Bias) > 0 {
        return Err("`bias` adds nothing to other parts".into());
    }
    match count(|kind| matches!(kind, Kind::Value(_))) {
        0 | 1 => Ok(parts),
        _ => Err("a product of two values".into()),
    }
}

/// The choices of the part `text`: `name` or `name:range`, then perhaps `[range]`.
fn choices(text: &str) -> std::result::Result<Vec<Part>, String> {
    let (head, offsets) = match text.split_once('[') {
        Some((head, inside)) => {
            let inside = inside.strip_suffix(']').ok_or("expected `]` at the end")?;
            (head, range(inside, "an offset", -FARTHEST..=FARTHEST)?)
        }
        None => (text, 0..=0),
    };
    let (name, argument) = head.split_once(':').map_or((head, None), |(name, argument)| (name, Some(argument)));
    let numbered = |what: &str, largest: isize, kind: fn(usize) -> Kind| {
        let argument = argument.ok_or_else(|| format!("`{name}` needs {what} after a colon, as in `{name}:2`"))?;
        let named = |number| (format!("{name}:{number}"), kind(number as usize));
        Ok::<_, String>(range(argument, what, 1..=largest)?.map(named).collect())
    };
    let kinds: Vec<(String, Kind)> = match part::form(name)? {
        Form::Alone(Kind::Bias) if text != name => return Err("`bias` has no number and no offset".into()),
        Form::Alone(_) if argument.is_some() => return Err(format!("`{name}` has no number after a colon")),
        Form::Alone(kind) => vec![(name.to_owned(), kind)],
        Form::Length(kind) => numbered("a length in characters", LONGEST, kind)?,
        Form::Column(kind) => numbered("a column, counted from 1,", MOST_COLUMNS, kind)?,
    };
    let at = |offset: isize| {
        let mark = if offset == 0 { String::new() } else { format!("[{offset:+}]") };
        kinds.iter().map(move |(name, kind)| Part { name: format!("{name}{mark}"), kind: *kind, offset })
    };
    Ok(offsets.flat_map(at).collect())
}

/// The numbers of `text`: one, or a range with both ends included; `what` says in a message what each is.
fn range(text: &str, what: &str, within: RangeInclusive<isize>) -> std::result::Result<RangeInclusive<isize>, String> {
    let number = |text: &str| text.trim().parse().ok().filter(|number| within.contains(number));
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => {
            let (least, most) = (within.start(), within.end());
            Err(format!("`{text}` is not {what} from {least} to {most}, nor a range of them, as in `1..3`"))
        }
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
pub(super) mod tests;
