//! The parts of features: what one token, by itself, gives for each of them.

use std::borrow::Cow;

use crate::Result;
use crate::data::Sequence;

/// What a part looks at. Columns are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bias,
    Word(Case),
    Prefix(Case, usize),
    Suffix(Case, usize),
    Shape,
    ShortShape,
    Flag(Flag),
    Column(usize),
    Value(usize),
}

/// Whether a word is taken as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    AsWritten,
    Lower,
}

/// A question about a token, answered with yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    Capital,
    AllCapitals,
    InnerCapital,
    Digit,
    Hyphen,
    Punctuation,
}

/// What stands behind the name of a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// Nothing.
    Alone(Kind),
    /// A length in characters.
    Length(fn(usize) -> Kind),
    /// A column, counted from 1.
    Column(fn(usize) -> Kind),
}

/// The parts by name.
const PARTS: [(&str, Form); 17] = [
    ("bias", Form::Alone(Kind::Bias)),
    ("word", Form::Alone(Kind::Word(Case::AsWritten))),
    ("lower", Form::Alone(Kind::Word(Case::Lower))),
    ("prefix", Form::Length(|length| Kind::Prefix(Case::AsWritten, length))),
    ("suffix", Form::Length(|length| Kind::Suffix(Case::AsWritten, length))),
    ("lower-prefix", Form::Length(|length| Kind::Prefix(Case::Lower, length))),
    ("lower-suffix", Form::Length(|length| Kind::Suffix(Case::Lower, length))),
    ("shape", Form::Alone(Kind::Shape)),
    ("short-shape", Form::Alone(Kind::ShortShape)),
    ("capital", Form::Alone(Kind::Flag(Flag::Capital))),
    ("all-capitals", Form::Alone(Kind::Flag(Flag::AllCapitals))),
    ("inner-capital", Form::Alone(Kind::Flag(Flag::InnerCapital))),
    ("digit", Form::Alone(Kind::Flag(Flag::Digit))),
    ("hyphen", Form::Alone(Kind::Flag(Flag::Hyphen))),
    ("punctuation", Form::Alone(Kind::Flag(Flag::Punctuation))),
    ("column", Form::Column(|column| Kind::Column(column - 1))),
    ("value", Form::Column(|column| Kind::Value(column - 1))),
];

/// What the part named `name` is.
pub(super) fn form(name: &str) -> std::result::Result<Form, String> {
    let found = PARTS.iter().find(|(known, _)| *known == name).map(|&(_, form)| form);
    let known = || PARTS.map(|(known, _)| known).join(", ");
    found.ok_or_else(|| format!("unknown part `{name}`, expected one of {}", known()))
}

/// What a token gives for a part.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell<'a> {
    /// What stands in the feature's name.
    pub text: Cow<'a, str>,
    /// How much there is of it.
    pub amount: f32,
}

impl Kind {
    /// The column, counted from 0, that the part looks at.
    pub fn column(self) -> usize {
        match self {
            Self::Column(column) | Self::Value(column) => column,
            _ => 0,
        }
    }

    /// What each token of `sequence` gives: nothing where a text column is empty.
    ///
    /// # Errors
    /// The fault of a token whose value is not a finite number.
    pub fn cells(self, sequence: &Sequence) -> Result<Vec<Option<Cell<'_>>>> {
        let fields = sequence.column(self.column()).into_iter().enumerate();
        let fault = |token, reason| sequence.fault(token, format!("column {}: {reason}", self.column() + 1));
        fields.map(|(token, field)| self.cell(field).map_err(|reason| fault(token, reason))).collect()
    }

    /// What a token with this `field` gives.
    fn cell(self, field: &str) -> std::result::Result<Option<Cell<'_>>, String> {
        let text = match self {
            Self::Bias => "".into(),
            Self::Word(case) => case.of(field),
            Self::Prefix(case, length) => part_of(case.of(field), |word| prefix(word, length)),
            Self::Suffix(case, length) => part_of(case.of(field), |word| suffix(word, length)),
            Self::Shape => field.chars().map(class).collect::<String>().into(),
            Self::ShortShape => {
                let mut classes: Vec<char> = field.chars().map(class).collect();
                classes.dedup();
                classes.into_iter().collect::<String>().into()
            }
            Self::Flag(flag) => if flag.holds(field) { "yes" } else { "no" }.into(),
            Self::Column(_) if field.is_empty() => return Ok(None),
            Self::Column(_) => field.into(),
            Self::Value(_) => return Ok(Some(Cell { text: "#".into(), amount: number(field)? })),
        };
        Ok(Some(Cell { text, amount: 1.0 }))
    }
}

impl Case {
    fn of(self, word: &str) -> Cow<'_, str> {
        match self {
            Self::AsWritten => word.into(),
            Self::Lower => word.to_lowercase().into(),
        }
    }
}

impl Flag {
    fn holds(self, word: &str) -> bool {
        match self {
            Self::Capital => word.starts_with(char::is_uppercase),
            Self::AllCapitals => word.contains(char::is_uppercase) && !word.contains(char::is_lowercase),
            Self::InnerCapital => word.chars().skip(1).any(char::is_uppercase),
            Self::Digit => word.contains(char::is_numeric),
            Self::Hyphen => word.contains('-'),
            Self::Punctuation => !word.contains(char::is_alphanumeric),
        }
    }
}

/// A character of a shape.
fn class(character: char) -> char {
    match character {
        upper if upper.is_uppercase() => 'X',
        letter if letter.is_alphabetic() => 'x',
        digit if digit.is_numeric() => 'd',
        other => other,
    }
}

fn part_of<'a>(word: Cow<'a, str>, part: impl Fn(&str) -> &str) -> Cow<'a, str> {
    match word {
        Cow::Borrowed(word) => part(word).into(),
        Cow::Owned(word) => part(&word).to_owned().into(),
    }
}

/// The first `length` characters, or all.
fn prefix(word: &str, length: usize) -> &str {
    word.char_indices().nth(length).map_or(word, |(end, _)| &word[..end])
}

/// The last `length` characters, at least one, or all.
fn suffix(word: &str, length: usize) -> &str {
    word.char_indices().nth_back(length - 1).map_or(word, |(start, _)| &word[start..])
}

fn number(field: &str) -> std::result::Result<f32, String> {
    let number = field.trim().parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| format!("{field:?} is not a finite number, as `value` in the template needs"))
}
