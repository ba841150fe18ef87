//! A regular expression over words and named parts, as it was written.

use crate::graph::source::Name;

/// An expression; each name with the byte of its file at which it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// A word, a symbol, or a class of symbols.
    Word(Name),
    /// `<name>`
    Part(Name),
    /// One after another.
    Sequence(Vec<Expression>),
    /// `a | b`: one of them, each with its weight (natural log).
    Either(Vec<(f32, Expression)>),
    /// `[a]`: once or not at all.
    Optional(Box<Expression>),
    /// `a*`: any number of times.
    Any(Box<Expression>),
    /// `a+`: once or more.
    Many(Box<Expression>),
}

impl Expression {
    /// The expressions that it is made of.
    pub fn children(&self) -> Vec<&Expression> {
        match self {
            Self::Word(_) | Self::Part(_) => vec![],
            Self::Sequence(all) => all.iter().collect(),
            Self::Either(all) => all.iter().map(|(_, one)| one).collect(),
            Self::Optional(one) | Self::Any(one) | Self::Many(one) => vec![one],
        }
    }
}
