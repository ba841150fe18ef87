//! Settings in TOML to plain structs, with errors of one sentence that say where.

use serde::Serialize;
use serde::de::DeserializeOwned;
pub(crate) use toml::Spanned;

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
    let message = error.message().trim_end().replace('\n', ", ");
    error.span().map_or_else(|| message.clone(), |span| placed(text, span.start, &message))
}

/// `reason` after the place of byte `at` of `text`.
pub(crate) fn placed(text: &str, at: usize, reason: &str) -> String {
    let (line, column) = place(text, at);
    format!("line {line}, column {column}: {reason}")
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
        assert!(wrong.starts_with("line 2, column 11: invalid type: string \"ten\", expected usize"), "{wrong}");
        assert!(reason("").contains("missing field `epochs`"));
        let broken = reason("epochs = \n");
        assert!(broken.starts_with("line 1, column ") && !broken.contains('\n'), "{broken}");
    }
}
