//! Some letters and the phones that they stand for.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// One or two letters and the phones that they stand for, up to two, not both two: `t|h}TH`, `x}K|S`, `e}_` for a letter that is not
/// said.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Graphone {
    /// One or two.
    pub letters: Vec<char>,
    /// None to two.
    pub phones: Vec<String>,
}

/// Letters and phones of a graphone.
pub(super) const SIZES: [(usize, usize); 4] = [(1, 0), (1, 1), (1, 2), (2, 1)];

const BETWEEN: char = '|';
const STANDS_FOR: char = '}';
const NOTHING: &str = "_";

impl Graphone {
    /// Whether `phone` can be told from the signs of a graphone's name.
    pub(super) fn is_nameable(phone: &str) -> bool {
        !phone.is_empty()
            && phone != NOTHING
            && !phone.contains([BETWEEN, STANDS_FOR])
            && !phone.contains(char::is_whitespace)
    }
}

impl fmt::Display for Graphone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: Vec<String> = self.letters.iter().map(char::to_string).collect();
        write!(f, "{}{STANDS_FOR}", letters.join("|"))?;
        if self.phones.is_empty() { f.write_str(NOTHING) } else { f.write_str(&self.phones.join("|")) }
    }
}

impl FromStr for Graphone {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let wrong = || {
            Error::Other(format!(
                "'{name}' is no graphone, expected letters and phones as in t|h{STANDS_FOR}TH: is this a model of `senone g2p train`?"
            ))
        };
        let (letters, phones) = name.rsplit_once(STANDS_FOR).ok_or_else(wrong)?;
        let letters: Vec<char> = letters.chars().collect();
        let letters = match letters[..] {
            [letter] => vec![letter],
            [first, BETWEEN, second] => vec![first, second],
            _ => return Err(wrong()),
        };
        let phones: Vec<String> = match phones {
            NOTHING => vec![],
            phones => phones.split(BETWEEN).map(str::to_owned).collect(),
        };
        let is_right =
            SIZES.contains(&(letters.len(), phones.len())) && phones.iter().all(|phone| Self::is_nameable(phone));
        is_right.then_some(Self { letters, phones }).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in ["t|h}TH", "x}K|S", "e}_", "|}_", "||a}AH", "}}X", "'|s}Z", "ü}yː"] {
            let graphone: Graphone = name.parse().unwrap();
            assert_eq!(graphone.to_string(), name);
        }
        for name in ["", "TH", "th}TH", "}TH", "t}", "t}A|B|C", "t|h}A|B", "t}A|_", "t|h}_"] {
            let error = name.parse::<Graphone>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{name}' is no graphone, expected")), "{error}");
        }
    }
}
