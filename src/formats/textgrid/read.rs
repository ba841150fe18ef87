//! TextGrids in: both text forms, UTF-8 or UTF-16, as Praat, aligners and people write them.
//!
//! Praat itself reads a text file by what stands free in it: numbers, texts in quotes and flags in angle brackets; all else
//! (`xmin =`, `intervals [1]:`) is there for people. So the long and the short form are one.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use super::super::ctm::TimedLabel;
use crate::{Error, Result};

/// An interval tier as a TextGrid holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedTier {
    /// "phones", "words", ...
    pub name: String,
    /// Its intervals in the order of the file, those without text too.
    pub labels: Vec<TimedLabel>,
}

/// Reads the interval tiers of the TextGrid at `path`; tiers of points are passed over.
///
/// # Errors
/// [`Error::Io`] when it cannot be read, [`Error::TextFile`] with the line when it is no TextGrid in text form.
pub fn read(path: &Path) -> Result<Vec<TimedTier>> {
    let bytes = crate::input::bytes(path)?;
    let wrong = |(line, reason)| Error::TextFile { path: path.to_owned(), line, reason };
    decoded(&bytes).and_then(|text| parse(&text)).map_err(wrong)
}

type Placed<T> = std::result::Result<T, (usize, String)>;

/// UTF-16 with a byte order mark, as Praat writes what is not ASCII, else UTF-8.
fn decoded(bytes: &[u8]) -> Placed<String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| (1, "not UTF-16, which its first bytes promise".to_owned()))
    };
    match bytes {
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.trim_start_matches('\u{feff}').to_owned()),
            Err(bad) => {
                let line = 1 + bytes[..bad.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
                Err((line, "neither UTF-8 nor UTF-16 from here on: save it as UTF-8".to_owned()))
            }
        },
    }
}

fn parse(text: &str) -> Placed<Vec<TimedTier>> {
    let mut values = Values { chars: text.chars().peekable(), line: 1 };
    let kinds = [values.text("the file type")?, values.text("the object class")?];
    if !kinds[0].starts_with("ooTextFile") || kinds[1] != "TextGrid" {
        return Err((1, format!("{:?} and {:?}: expected \"ooTextFile\" and \"TextGrid\"", kinds[0], kinds[1])));
    }
    let [_, _] = [values.number("xmin")?, values.number("xmax")?];
    match values.next("<exists>")? {
        Value::Flag(flag) if flag == "exists" => {}
        Value::Flag(_) => return Ok(vec![]),
        other => return Err(values.wrong("<exists>", &other)),
    }
    let mut tiers = Vec::new();
    for _ in 0..values.count("the number of tiers")? {
        tiers.extend(tier(&mut values)?);
    }
    Ok(tiers)
}

/// The next tier; `None` for one of points.
fn tier(values: &mut Values<'_>) -> Placed<Option<TimedTier>> {
    let class = values.text("the class of a tier")?;
    let has_ends = match class.as_str() {
        "IntervalTier" => true,
        "TextTier" => false,
        _ => return Err((values.line, format!("a tier of class {class:?}: expected IntervalTier or TextTier"))),
    };
    let name = values.text("the name of a tier")?;
    let [_, _] = [values.number("xmin")?, values.number("xmax")?];
    let mut labels = Vec::new();
    for _ in 0..values.count("the number of intervals")? {
        let start_seconds = values.number("a start")?;
        let end_seconds = if has_ends { values.number("an end")? } else { start_seconds };
        if end_seconds < start_seconds {
            return Err((
                values.line,
                format!("an interval from {start_seconds} to {end_seconds}, which is before it"),
            ));
        }
        labels.push(TimedLabel { label: values.text("a label")?, start_seconds, end_seconds, confidence: None });
    }
    Ok(has_ends.then_some(TimedTier { name, labels }))
}

/// What stands free in the file.
#[derive(Debug)]
enum Value {
    Number(f64),
    Text(String),
    Flag(String),
}

struct Values<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
}

impl Values<'_> {
    fn step(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn next(&mut self, expected: &str) -> Placed<Value> {
        loop {
            match self.chars.peek() {
                None => return Err((self.line, format!("the file ends before {expected}: it is cut off"))),
                Some('"') => return self.quoted().map(Value::Text),
                Some('!') => while self.step().is_some_and(|c| c != '\n') {},
                Some(c) if c.is_whitespace() => {
                    self.step();
                }
                Some(_) => {
                    let word = self.word();
                    if let Ok(number) = word.trim_end_matches('%').parse::<f64>() {
                        return Ok(Value::Number(number));
                    }
                    if let Some(flag) = word.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
                        return Ok(Value::Flag(flag.to_owned()));
                    }
                }
            }
        }
    }

    /// All up to the next white space.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.chars.next_if(|c| !c.is_whitespace()) {
            word.push(c);
        }
        word
    }

    /// A text in quotes, within which two quotes stand for one.
    fn quoted(&mut self) -> Placed<String> {
        let (begin, mut text) = (self.line, String::new());
        self.step();
        while let Some(c) = self.step() {
            match c {
                '"' if self.chars.peek() == Some(&'"') => text.extend(self.step()),
                '"' => return Ok(text),
                _ => text.push(c),
            }
        }
        Err((begin, "a quote that is never closed".to_owned()))
    }

    fn number(&mut self, what: &str) -> Placed<f64> {
        match self.next(what)? {
            Value::Number(number) if number.is_finite() => Ok(number),
            other => Err(self.wrong(&format!("{what}, a number"), &other)),
        }
    }

    fn count(&mut self, what: &str) -> Placed<usize> {
        match self.next(what)? {
            Value::Number(number) if number >= 0.0 && number.fract() == 0.0 => Ok(number as usize),
            other => Err(self.wrong(&format!("{what}, a whole number"), &other)),
        }
    }

    fn text(&mut self, what: &str) -> Placed<String> {
        match self.next(what)? {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong(&format!("{what} in quotes"), &other)),
        }
    }

    fn wrong(&self, expected: &str, found: &Value) -> (usize, String) {
        let found = match found {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => format!("{text:?}"),
            Value::Flag(flag) => format!("<{flag}>"),
        };
        (self.line, format!("{found}: expected {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{greeting, written};
    use super::*;

    const SHORT: &str = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n0\n1.5\n<exists>\n3\n\"IntervalTier\"\n\"words\"\n0\n\
        1.5\n2\n0\n0.5\n\"\"\n0.5\n1.5\n\"say \"\"hi\"\"\"\n\"TextTier\"\n\"clicks\"\n0\n1.5\n1\n0.7\n\"x\"\n\"IntervalTier\"\n\
        \"phones\"\n0\n1.5\n0\n";

    fn names(tiers: &[TimedTier]) -> Vec<(&str, Vec<&str>)> {
        tiers.iter().map(|tier| (&*tier.name, tier.labels.iter().map(|label| &*label.label).collect())).collect()
    }

    #[test]
    fn the_short_form_is_read() {
        let tiers = parse(SHORT).unwrap();
        assert_eq!(names(&tiers), [("words", vec!["", "say \"hi\""]), ("phones", vec![])]);
        assert_eq!((tiers[0].labels[1].start_seconds, tiers[0].labels[1].end_seconds), (0.5, 1.5));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut alignment = greeting();
        alignment.tiers[1].segments[0].label = "h\"i 1".to_owned();
        let text = written(|out| super::super::write(&alignment, out));
        let tiers = parse(&text).unwrap();
        assert_eq!(names(&tiers), [("phones", vec!["SIL", "HH", "AY", "SIL"]), ("words", vec!["", "h\"i 1", ""])]);
        let times: Vec<f64> = tiers[0].labels.iter().map(|label| label.end_seconds).collect();
        assert_eq!(times, [0.1, 0.21, 0.5, 10.5]);
    }

    #[test]
    fn utf_16_is_read_in_either_order() {
        let text = SHORT.replace("hi", "\u{fc}n");
        let units = || text.encode_utf16();
        let big: Vec<u8> = [0xFE, 0xFF].into_iter().chain(units().flat_map(u16::to_be_bytes)).collect();
        let little: Vec<u8> = [0xFF, 0xFE].into_iter().chain(units().flat_map(u16::to_le_bytes)).collect();
        for bytes in [big, little, format!("\u{feff}{text}").into_bytes()] {
            assert_eq!(parse(&decoded(&bytes).unwrap()).unwrap(), parse(&text).unwrap());
        }
        assert_eq!(decoded(b"a\nb\xFF").unwrap_err().0, 2);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("hello", 1, "the file ends before the file type"),
            ("\"ooTextFile\" \"Pitch\"", 1, "\"ooTextFile\" and \"Pitch\": expected"),
            (
                &SHORT.replace("<exists>\n3", "<exists>\n\"3\""),
                7,
                "\"3\": expected the number of tiers, a whole number",
            ),
            (&SHORT.replace("\n0.5\n1.5\n", "\n1.5\n0.5\n"), 17, "an interval from 1.5 to 0.5"),
            (&SHORT[..SHORT.len() - 2], 30, "the file ends before the number of intervals"),
            ("\n\"ooText\nFile", 2, "a quote that is never closed"),
            (&SHORT.replace("TextTier", "Tier"), 19, "a tier of class \"Tier\""),
        ];
        for (text, line, reason) in cases {
            let (found_line, found) = parse(text).unwrap_err();
            assert!(found_line == line && found.starts_with(reason), "{found_line}: {found}");
        }
    }
}
