//! Settings in TOML to plain structs, with errors of one sentence that say where.

use serde::Serialize;
use serde::de::DeserializeOwned;
pub(crate) use toml::Spanned;
#[cfg(feature = "neural")]
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::error::place;

/// Reads `text`; the error is a reason without the file's name: `line 3, column 1: unknown field ...`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| reason(text, &error))
}

/// `value` as TOML, which [`parse`] reads.
pub(crate) fn to_text<T: Serialize>(value: &T) -> Result<String, String> {
    toml::to_string(value).map_err(|error| error.to_string())
}

/// `text` as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The error's message on one line, after its place where that is known.
fn reason(text: &str, error: &toml::de::Error) -> String {
    let message = worded(error.message());
    error.span().map_or_else(|| message.clone(), |span| placed(text, span.start, &message))
}

/// A message of the TOML reader on one line, in words of users for the types of programmers.
fn worded(message: &str) -> String {
    let kinds = [("usize", "u64", "u32", "a whole number of at least 0"), ("f32", "f64", "floating point", "a number")];
    let message = message.trim_end().replace('\n', ", ");
    kinds.iter().fold(message, |message, (one, two, three, plain)| {
        [one, two, three]
            .iter()
            .fold(message, |message, kind| message.replace(&format!("expected {kind}"), &format!("expected {plain}")))
    })
}

/// `reason` after the place of byte `at` of `text`.
pub(crate) fn placed(text: &str, at: usize, reason: &str) -> String {
    let (line, column) = place(text, at);
    format!("line {line}, column {column}: {reason}")
}

/// A table of settings whose key `kind` says which others it has. Reading it as one of several kinds loses the places of its values;
/// here they are kept.
#[cfg(feature = "neural")]
pub(crate) struct KindTable<'a> {
    text: &'a str,
    name: &'a str,
    /// The kind.
    pub kind: String,
    at: std::ops::Range<usize>,
    rest: DeTable<'a>,
}

#[cfg(feature = "neural")]
impl<'a> KindTable<'a> {
    /// The table called `name` of the settings `text`; `None` where there is none with a kind.
    pub fn find(text: &'a str, name: &'a str) -> Option<Self> {
        let top = DeTable::parse(text).ok()?.into_inner();
        let (_, table) = top.into_iter().find(|(key, _)| key.get_ref() == name)?;
        let at = table.span();
        let DeValue::Table(all) = table.into_inner() else { return None };
        let kind = all.iter().find(|(key, _)| key.get_ref() == "kind")?.1.get_ref().as_str()?.to_owned();
        let rest = all.into_iter().filter(|(key, _)| key.get_ref() != "kind").collect();
        Some(Self { text, name, kind, at, rest })
    }

    /// What is wrong with the table as a `T`, naming place, key and value; `expected` is what a key takes. `None` when nothing is.
    pub fn fault<T: DeserializeOwned>(&self, expected: impl Fn(&str) -> Option<&'static str>) -> Option<String> {
        let table = Spanned::new(self.at.clone(), DeValue::Table(self.rest.clone()));
        let error = T::deserialize(ValueDeserializer::from(table)).err()?;
        let at = error.span().map_or(self.at.start, |span| span.start);
        let (name, message) = (self.name, worded(error.message()));
        let reason = match found(&self.rest, at) {
            None => format!("[{name}] {message}"),
            Some((path, value)) => {
                let key = path.rsplit('.').next().unwrap_or(&path);
                let value = self.text[value].lines().next().unwrap_or_default();
                let expected = expected(key).map_or(message, |expected| format!("expected {expected}"));
                format!("[{name}] {path} = {value}: {expected}")
            }
        };
        Some(placed(self.text, at, &reason))
    }
}

/// The key of `table`, or of a table in it, whose value is at byte `at`, and where the value is written.
#[cfg(feature = "neural")]
fn found(table: &DeTable, at: usize) -> Option<(String, std::ops::Range<usize>)> {
    table.iter().find_map(|(key, value)| match value.get_ref() {
        DeValue::Table(inner) => found(inner, at).map(|(path, value)| (format!("{}.{path}", key.get_ref()), value)),
        _ => value.span().contains(&at).then(|| (key.get_ref().to_string(), value.span())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        #[expect(dead_code, reason = "only its errors are looked at")]
        epochs: usize,
    }

    #[test]
    fn errors_say_where_in_one_line() {
        let reason = |text: &str| parse::<Settings>(text).unwrap_err();
        assert_eq!(reason("epochs = 1\nepoch = 2\n"), "line 2, column 1: unknown field `epoch`, expected `epochs`");
        let wrong = reason("# é\n epochs = \"ten\"\n");
        let expected = "line 2, column 11: invalid type: string \"ten\", expected a whole number of at least 0";
        assert_eq!(wrong, expected);
        assert!(reason("").contains("missing field `epochs`"));
        let broken = reason("epochs = \n");
        assert!(broken.starts_with("line 1, column ") && !broken.contains('\n'), "{broken}");
    }
}
