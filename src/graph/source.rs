//! The text of a graph file and typed reading of its values, each with its place, so that every error names line and column.
//!
//! The one file under `graph/` that knows the TOML crate. `toml`'s tables are sorted by key; the spans restore file order.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Error, Result, error};

/// A value of the file with its place.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A name as written, with the byte at which it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name {
    pub text: String,
    pub at: usize,
}

/// The file: where it lies and what it says.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub path: PathBuf,
    pub text: String,
}

impl Source {
    pub fn new(path: &Path, text: &str) -> Self {
        Self { path: path.to_owned(), text: without_mark(text).to_owned() }
    }

    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = crate::input::bytes(path)?;
        String::from_utf8(bytes).map(|text| Self::new(path, &text)).map_err(|bad| {
            let valid = String::from_utf8_lossy(&bad.as_bytes()[..bad.utf8_error().valid_up_to()]).into_owned();
            Self::new(path, &valid).error(valid.len(), "the file is not UTF-8 from here on")
        })
    }

    /// An error at byte `at`.
    pub fn error(&self, at: usize, reason: impl Into<String>) -> Error {
        let (line, column) = self.place(at);
        Error::GraphFile { path: self.path.clone(), line, column, reason: reason.into() }
    }

    /// One-based line, and column in characters, of byte `at`.
    pub fn place(&self, at: usize) -> (usize, usize) {
        error::place(&self.text, at)
    }

    /// The whole file as a table of `keys`.
    pub fn top<'a>(&'a self, keys: &[&str]) -> Result<Table<'a>> {
        let parsed = DeTable::parse(&self.text).map_err(|bad| {
            let at = bad.span().map_or(self.text.len(), |span| span.start);
            self.error(at, format!("not valid TOML: {}", bad.message()))
        })?;
        Table { source: self, at: 0, entries: in_file_order(parsed.into_inner()) }.only(keys)
    }

    /// The error "expected this, found that" at `value`.
    pub fn wrong(&self, value: &Value, expected: &str) -> Error {
        self.error(value.span().start, format!("expected {expected}, found {}", shown(value.get_ref())))
    }

    /// A string.
    pub fn name(&self, value: &Value, expected: &str) -> Result<Name> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Name { text: text.to_string(), at: value.span().start }),
            _ => Err(self.wrong(value, expected)),
        }
    }

    /// The byte of the file at which each byte of the string `name` is written, and that at which it ends.
    pub fn places_within(&self, name: &Name) -> Vec<usize> {
        let raw = &self.text[name.at..];
        let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| raw.starts_with(quotes)).unwrap_or("");
        let mut at = name.at + quotes.len();
        if quotes.len() == 3 {
            at += newline(&self.text[at..]);
        }
        let mut places = vec![];
        for character in name.text.chars() {
            let (skipped, length) = match quotes.starts_with('"') {
                true => written(&self.text[at..], character),
                false => (0, plain(&self.text[at..], character)),
            };
            places.extend(std::iter::repeat_n(at + skipped, character.len_utf8()));
            at += skipped + length;
        }
        places.push(at);
        places
    }

    /// A list of strings; a single string stands for a list of one.
    pub fn names(&self, value: &Value) -> Result<Vec<Name>> {
        match value.get_ref() {
            DeValue::Array(values) => values.iter().map(|value| self.name(value, "a name in quotes")).collect(),
            _ => Ok(vec![self.name(value, "a name or a list of names")?]),
        }
    }

    /// A list of strings, or one string that holds names with white space between.
    pub fn words(&self, value: &Value) -> Result<Vec<Name>> {
        let DeValue::String(text) = value.get_ref() else { return self.names(value) };
        // Places are known where the file has the string as it is, without escapes.
        let raw = &self.text[value.span()];
        let inside = raw.find(&**text).filter(|_| !text.is_empty());
        let name = |word: &str| {
            let offset = word.as_ptr() as usize - text.as_ptr() as usize;
            Name { text: word.to_owned(), at: value.span().start + inside.map_or(0, |inside| inside + offset) }
        };
        Ok(text.split_whitespace().map(name).collect())
    }

    /// A finite number.
    pub fn number(&self, value: &Value, expected: &str) -> Result<f32> {
        let read = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        read.filter(|number: &f32| number.is_finite()).ok_or_else(|| self.wrong(value, expected))
    }

    /// A whole number in `range`.
    pub fn count(&self, value: &Value, range: std::ops::RangeInclusive<usize>) -> Result<usize> {
        let read = match value.get_ref() {
            DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        read.filter(|count| range.contains(count))
            .ok_or_else(|| self.wrong(value, &format!("a whole number from {} to {}", range.start(), range.end())))
    }

    /// A table that has no keys but `keys`.
    pub fn table<'a>(&'a self, value: &Value<'a>, keys: &[&str]) -> Result<Table<'a>> {
        self.any_table(value)?.only(keys)
    }

    /// A table whose keys the user chooses.
    pub fn any_table<'a>(&'a self, value: &Value<'a>) -> Result<Table<'a>> {
        match value.get_ref() {
            DeValue::Table(table) => {
                Ok(Table { source: self, at: value.span().start, entries: in_file_order(table.clone()) })
            }
            _ => Err(self.wrong(value, "a table")),
        }
    }

    /// A list of tables, `[[name]]` in the file, each with no keys but `keys`.
    pub fn tables<'a>(&'a self, value: &Value<'a>, keys: &[&str]) -> Result<Vec<Table<'a>>> {
        match value.get_ref() {
            DeValue::Array(tables) => tables.iter().map(|table| self.table(table, keys)).collect(),
            _ => Err(self.wrong(value, "a list of tables, written with double brackets")),
        }
    }
}

/// A table of the file, its entries in file order.
pub(super) struct Table<'a> {
    source: &'a Source,
    /// The byte at which it begins.
    pub at: usize,
    /// Keys and values in file order.
    pub entries: Vec<(Name, Value<'a>)>,
}

impl<'a> Table<'a> {
    fn only(self, keys: &[&str]) -> Result<Self> {
        match self.entries.iter().find(|(key, _)| !keys.contains(&key.text.as_str())) {
            Some((key, _)) => {
                let reason = format!("unknown key `{}`, expected one of {}", key.text, keys.join(", "));
                Err(self.source.error(key.at, reason))
            }
            None => Ok(self),
        }
    }

    /// The value of `key`, if it is there.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.entries.iter().find(|(name, _)| name.text == key).map(|(_, value)| value)
    }

    /// The value of `key`, which must be there; `title` names the table in the message.
    pub fn need(&self, key: &str, title: &str) -> Result<&Value<'a>> {
        self.get(key).ok_or_else(|| self.source.error(self.at, format!("{title} has no `{key}`")))
    }
}

/// Length of the line's end that `raw` begins with, 0 when there is none.
fn newline(raw: &str) -> usize {
    ["\r\n", "\n"].into_iter().find(|end| raw.starts_with(end)).map_or(0, str::len)
}

/// Length of what is written for `character`, which stands for itself: TOML may read either line's end as `\n`.
fn plain(raw: &str, character: char) -> usize {
    if character == '\n' { newline(raw).max(1) } else { character.len_utf8() }
}

/// Length of what `raw` skips (lines continued with a backslash) before `character`, and of what is written for it.
fn written(raw: &str, character: char) -> (usize, usize) {
    let mut rest = raw;
    while let Some(after) = rest.strip_prefix('\\').filter(|after| after.starts_with(char::is_whitespace)) {
        rest = after.trim_start();
    }
    let length = match rest.strip_prefix('\\').map(|escaped| escaped.chars().next()) {
        None => plain(rest, character),
        Some(Some('x')) => 4,
        Some(Some('u')) => 6,
        Some(Some('U')) => 10,
        Some(_) => 2,
    };
    (raw.len() - rest.len(), length)
}

/// `text` without the byte order mark that some editors put first, which would shift every place.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn in_file_order<'a>(table: DeTable<'a>) -> Vec<(Name, Value<'a>)> {
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(key, value)| (Name { text: key.get_ref().to_string(), at: key.span().start }, value))
        .collect();
    entries.sort_by_key(|(key, _)| key.at);
    entries
}

/// A value as a message shows it: numbers as written, anything longer by its kind.
fn shown(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}
