//! What phones are called: a model's own names in, those that the user wants out.
//!
//! Built-in tables name the phones of ARPABET, of TIMIT and of Mandarin initials and finals (THCHS-30, with tones or without) in
//! IPA and X-SAMPA, and the first two in ARPABET and as TIMIT's 39 (Lee & Hon 1989). Which table it is follows from the whole set
//! of labels: `b` is voiced in TIMIT and not in Mandarin. A file of lines `A B` says it for any other set.

mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::spelling::without_stress;
use crate::{Error, Result};
use tables::{APICAL, ARPABET, FINALS, INITIALS, LEE_HON, Row, TIMIT, TONES};

/// The labels of pauses and noises in senone, CMUdict-based models, MFA, Kaldi and TIMIT: no phones, they keep their names.
pub const PAUSES: [&str; 18] = [
    "SIL", "SPN", "NSN", "NOI", "SP", "sil", "spn", "nsn", "sp", "<eps>", "<sil>", "<s>", "</s>", "+NSN+", "+SPN+",
    "h#", "pau", "epi",
];

/// The names that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhoneNames {
    /// International Phonetic Alphabet; tones as tone letters.
    Ipa,
    /// CMUdict's 39 phones.
    Arpabet,
    /// IPA in ASCII.
    Xsampa,
    /// The 39 phones that TIMIT is scored with.
    Timit39,
    /// Those of a file: lines `A B`, and `A` for a phone that is dropped; all others keep their names.
    File(PathBuf),
}

impl FromStr for PhoneNames {
    type Err = std::convert::Infallible;

    /// The name of a table, else a path.
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(match text {
            "ipa" => Self::Ipa,
            "arpabet" => Self::Arpabet,
            "xsampa" => Self::Xsampa,
            "timit39" => Self::Timit39,
            path => Self::File(path.into()),
        })
    }
}

/// Label to name, in one step; the empty name drops it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhoneMap(BTreeMap<String, String>);

impl PhoneMap {
    /// How `labels`, which are all that there are, are called in `names`. A label that is a name already stays.
    ///
    /// # Errors
    /// [`Error::Other`] naming the first label that the table does not have; [`Error::Io`] and [`Error::TextFile`] of a file.
    pub fn new<'a>(names: &PhoneNames, labels: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        if let PhoneNames::File(path) = names {
            return Self::read(path);
        }
        let labels: Vec<&str> = labels.into_iter().collect();
        let known = |set: &Inventory| labels.iter().filter(|label| set.name(names, label).is_some()).count();
        let best = Inventory::ALL.iter().rev().max_by_key(|set| known(set)).unwrap_or(&Inventory::Arpabet);
        let name = |label: &&str| {
            let unknown = || best.unknown(names, label);
            best.name(names, label).map(|name| ((*label).to_owned(), name)).ok_or_else(unknown)
        };
        Ok(Self(labels.iter().map(name).collect::<Result<_>>()?))
    }

    /// Reads lines `A B` and `A`.
    fn read(path: &Path) -> Result<Self> {
        let text = crate::input::text(path)?;
        let wrong = |line, reason| Error::TextFile { path: path.to_owned(), line, reason };
        let mut map = BTreeMap::new();
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            let (from, to) = match line.split_whitespace().collect::<Vec<_>>()[..] {
                [] => continue,
                [from] => (from, ""),
                [from, to] => (from, to),
                _ => return Err(wrong(number, format!("'{line}': expected two labels, or one to drop it"))),
            };
            if map.insert(from.to_owned(), to.to_owned()).is_some_and(|other| other != to) {
                return Err(wrong(number, format!("'{from}' is mapped to another label before")));
            }
        }
        Ok(Self(map))
    }

    /// What `label` is called; empty when it is dropped.
    pub fn name<'a>(&'a self, label: &'a str) -> &'a str {
        self.0.get(label).map_or(label, String::as_str)
    }

    /// Label and name of all that change or are known.
    pub fn into_pairs(self) -> impl Iterator<Item = (String, String)> {
        self.0.into_iter()
    }
}

/// A set of phones that has a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inventory {
    Arpabet,
    Timit,
    Mandarin,
}

impl Inventory {
    /// The first that has most of the labels is taken.
    const ALL: [Self; 3] = [Self::Arpabet, Self::Timit, Self::Mandarin];

    /// What `label` of this set, or a label that is such a name already, is called.
    fn name(self, names: &PhoneNames, label: &str) -> Option<String> {
        let own = self.own_name(names, label);
        let pause = || PAUSES.contains(&label).then(|| label.to_owned());
        own.or_else(pause).or_else(|| self.is_name(names, label).then(|| label.to_owned()))
    }

    fn own_name(self, names: &PhoneNames, label: &str) -> Option<String> {
        match (self, names) {
            (_, PhoneNames::File(_)) => None,
            (Self::Mandarin, _) => mandarin(names, label),
            (Self::Arpabet, PhoneNames::Arpabet) => arpabet_row(label).map(|_| label.to_owned()),
            (Self::Arpabet, PhoneNames::Timit39) if PAUSES.contains(&label) => Some("sil".into()),
            (Self::Arpabet, PhoneNames::Timit39) => arpabet_row(label).map(|_| lee_hon(without_stress(label))),
            (Self::Arpabet, _) => arpabet_row(label).map(|row| column(names, row).to_owned()),
            (Self::Timit, _) => timit(names, label),
        }
    }

    /// Whether a phone of this set is called so.
    fn is_name(self, names: &PhoneNames, label: &str) -> bool {
        let rows: Vec<String> = match self {
            Self::Arpabet => ARPABET.iter().map(|row| row.0.to_owned()).collect(),
            Self::Timit => {
                let lower = ARPABET.iter().map(|row| row.0.to_lowercase());
                lower.chain(TIMIT.iter().map(|(row, _)| row.0.to_owned())).collect()
            }
            Self::Mandarin => {
                let finals = FINALS.iter().chain(&APICAL);
                let toned = finals.flat_map(|row| TONES.iter().map(move |tone| format!("{}{}", row.0, tone.0)));
                INITIALS.iter().map(|row| row.0.to_owned()).chain(toned).collect()
            }
        };
        rows.iter().any(|row| self.own_name(names, row).is_some_and(|name| name == label))
    }

    fn unknown(self, names: &PhoneNames, label: &str) -> Error {
        let set = self.title();
        let wanted = match names {
            PhoneNames::Ipa => "IPA",
            PhoneNames::Arpabet => "ARPABET",
            PhoneNames::Xsampa => "X-SAMPA",
            PhoneNames::Timit39 | PhoneNames::File(_) => "TIMIT's 39",
        };
        Error::Other(format!(
            "phone '{label}' has no name in {wanted}: it is not among {set}, which the other phones fit best; give the names in a \
             file, a line 'A B' for each"
        ))
    }

    fn title(self) -> &'static str {
        match self {
            Self::Arpabet => "the phones of ARPABET",
            Self::Timit => "the phones of TIMIT",
            Self::Mandarin => "the initials and finals of Mandarin",
        }
    }
}

/// IPA or X-SAMPA of a row.
fn column(names: &PhoneNames, row: &Row) -> &'static str {
    if *names == PhoneNames::Ipa { row.1 } else { row.2 }
}

fn find<'a>(rows: &'a [Row], label: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.0 == label)
}

/// A vowel with its stress, or a phone without.
fn arpabet_row(label: &str) -> Option<&'static Row> {
    find(&ARPABET, label).or_else(|| find(&ARPABET, without_stress(label)))
}

/// ARPABET without stress, as one of the 39.
fn lee_hon(phone: &str) -> String {
    let other = LEE_HON.iter().find(|(from, _)| *from == phone);
    other.map_or_else(|| phone.to_lowercase(), |(_, to)| (*to).to_owned())
}

fn timit(names: &PhoneNames, label: &str) -> Option<String> {
    let own = TIMIT.iter().find(|(row, _)| row.0 == label);
    let upper = (label == label.to_lowercase()).then(|| label.to_uppercase());
    let arpabet = || upper.filter(|upper| without_stress(upper) == upper).and_then(|upper| find(&ARPABET, &upper));
    match (own, names) {
        (Some((row, _)), PhoneNames::Ipa | PhoneNames::Xsampa) => Some(column(names, row).to_owned()),
        (Some((_, counts_as)), PhoneNames::Timit39) => Some(lee_hon(counts_as)),
        (Some((_, counts_as)), _) => Some((*counts_as).to_owned()),
        (None, PhoneNames::Ipa | PhoneNames::Xsampa) => arpabet().map(|row| column(names, row).to_owned()),
        (None, PhoneNames::Timit39) => arpabet().map(|row| lee_hon(row.0)),
        (None, _) => arpabet().map(|row| row.0.to_owned()),
    }
}

/// An initial, or a final with its tone or without.
fn mandarin(names: &PhoneNames, label: &str) -> Option<String> {
    if !matches!(names, PhoneNames::Ipa | PhoneNames::Xsampa) {
        return None;
    }
    let stem = label.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let tone = find(&TONES, &label[stem.len()..]).map(|tone| column(names, tone));
    let is_toned = stem.len() < label.len();
    match find(&INITIALS, label) {
        Some(row) => Some(column(names, row).to_owned()),
        None => {
            let row = find(&FINALS, stem).or_else(|| find(&APICAL, stem))?;
            let tone = if is_toned { tone? } else { "" };
            Some(format!("{}{tone}", column(names, row)))
        }
    }
}

#[cfg(test)]
mod tests;
