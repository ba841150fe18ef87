//! The list of utterances: a tab-separated table whose header names its columns.
//!
//! A file on disk comes in; utterances go to training, scoring and validation, whole or split by speaker.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::random::Random;
use crate::{Error, Result};

/// One line of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Utterance {
    /// Its name, unlike all others of the manifest.
    pub name: String,
    /// Who speaks; the utterance's name where the manifest does not say.
    pub speaker: String,
    /// The audio file, as the program finds it.
    pub audio: PathBuf,
    /// Duration as the manifest states it.
    pub seconds: Option<f64>,
    /// The transcript as written.
    pub words: Option<String>,
    /// The transcript as phones.
    pub phones: Option<Vec<String>>,
    /// One-based line of the manifest.
    pub line: usize,
}

/// A list of utterances, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The file.
    pub path: PathBuf,
    /// The utterances; at least one when the manifest was read, perhaps none after a split.
    pub utterances: Vec<Utterance>,
}

impl Manifest {
    /// Reads the manifest at `path`: UTF-8, fields separated by tabs, the first line naming the columns in any order.
    ///
    /// `utterance` and `audio` (relative to the manifest's folder) must be there; `speaker`, `seconds`, `words` and `phones`
    /// may be, and an empty field of these is as good as none; other columns are ignored, and so are empty lines. An utterance
    /// without speaker is its own speaker.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read as UTF-8; [`Error::Manifest`] with the line for a missing or doubled column, a
    /// wrong number of fields, an empty `utterance` or `audio`, a name given twice, or `seconds` that are not a positive
    /// number, and when no utterance is listed.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io("read", path, source))?;
        Self::parse(path, &text)
    }

    /// Reads the `text` of the manifest at `path`, see [`Manifest::read`].
    fn parse(path: &Path, text: &str) -> Result<Self> {
        let mut lines = text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(text, _)| !text.is_empty());
        let (header, line) = lines.next().unwrap_or(("", 1));
        let columns = Columns::parse(path, header, line)?;
        let utterances = lines.map(|(text, line)| columns.utterance(text, line)).collect::<Result<Vec<Utterance>>>()?;
        let manifest = Self { path: path.to_owned(), utterances };
        manifest.check_names()?;
        Ok(manifest)
    }

    fn check_names(&self) -> Result<()> {
        let mut lines = BTreeMap::new();
        for utterance in &self.utterances {
            if let Some(first) = lines.insert(utterance.name.as_str(), utterance.line) {
                let reason = format!("utterance '{}' is in line {first} already: names must differ", utterance.name);
                return Err(Error::Manifest { path: self.path.clone(), line: utterance.line, reason });
            }
        }
        match lines.is_empty() {
            true => Err(Error::Manifest { path: self.path.clone(), line: 1, reason: "no utterance is listed".into() }),
            false => Ok(()),
        }
    }

    /// All speakers, by name.
    pub fn speakers(&self) -> BTreeSet<&str> {
        self.utterances.iter().map(|utterance| utterance.speaker.as_str()).collect()
    }

    /// Takes `count` whole speakers out, chosen by `seed`: what is left to train on, and the development set. Both keep the
    /// order of the file. The choice depends on the speakers' names, the count and the seed alone.
    ///
    /// # Errors
    /// [`Error::Other`] unless at least one speaker is left on each side.
    pub fn split_speakers(&self, count: usize, seed: u64) -> Result<(Manifest, Manifest)> {
        let mut speakers: Vec<&str> = self.speakers().into_iter().collect();
        if count == 0 || count >= speakers.len() {
            return Err(Error::Other(format!(
                "{}: {count} of {} speakers cannot be the development set: both sides need at least one",
                self.path.display(),
                speakers.len()
            )));
        }
        Random::new(seed).shuffle(&mut speakers);
        let held_out: BTreeSet<&str> = speakers[..count].iter().copied().collect();
        let (development, training) =
            self.utterances.iter().cloned().partition(|utterance| held_out.contains(utterance.speaker.as_str()));
        let with = |utterances| Manifest { path: self.path.clone(), utterances };
        Ok((with(training), with(development)))
    }
}

/// Where the fields of a line are.
struct Columns<'a> {
    path: &'a Path,
    names: Vec<&'a str>,
    utterance: usize,
    audio: usize,
}

impl<'a> Columns<'a> {
    fn parse(path: &'a Path, header: &'a str, line: usize) -> Result<Self> {
        let names: Vec<&str> = header.split('\t').map(str::trim).collect();
        let error = |reason| Error::Manifest { path: path.to_owned(), line, reason };
        let doubled =
            names.iter().enumerate().find(|(column, name)| !name.is_empty() && names[..*column].contains(name));
        if let Some((_, name)) = doubled {
            return Err(error(format!("the header names the column '{name}' twice")));
        }
        let required = |name| {
            let missing =
                || error(format!("the header has no column '{name}': expected tab-separated names, found '{header}'"));
            names.iter().position(|&found| found == name).ok_or_else(missing)
        };
        let (utterance, audio) = (required("utterance")?, required("audio")?);
        Ok(Self { path, names, utterance, audio })
    }

    fn utterance(&self, text: &str, line: usize) -> Result<Utterance> {
        let error = |reason| Error::Manifest { path: self.path.to_owned(), line, reason };
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        if fields.len() != self.names.len() {
            return Err(error(format!("{} fields: expected {}, as in the header", fields.len(), self.names.len())));
        }
        let required = |column: usize| match fields[column] {
            "" => Err(error(format!("the field '{}' is empty: expected a name", self.names[column]))),
            field => Ok(field),
        };
        let optional = |name: &str| {
            let column = self.names.iter().position(|&found| found == name)?;
            Some(fields[column]).filter(|field| !field.is_empty())
        };
        let name = required(self.utterance)?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        Ok(Utterance {
            name: name.to_owned(),
            speaker: optional("speaker").unwrap_or(name).to_owned(),
            audio: folder.join(required(self.audio)?),
            seconds: optional("seconds")
                .map(|field| seconds(field).ok_or_else(|| error(not_seconds(field))))
                .transpose()?,
            words: optional("words").map(str::to_owned),
            phones: optional("phones").map(|field| field.split_whitespace().map(str::to_owned).collect()),
            line,
        })
    }
}

fn seconds(field: &str) -> Option<f64> {
    field.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0)
}

fn not_seconds(field: &str) -> String {
    format!("seconds are '{field}': expected a positive number such as 2.35, or nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Manifest> {
        Manifest::parse(Path::new("corpus/train.tsv"), text)
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = "\u{feff}note\taudio\tutterance\tphones\twords\tseconds\tspeaker\r\n\
            x\ta/1.wav\tu1\tAA  B\tOh, hello\t1.5\tann\r\n\r\n\t/abs.wav\tu2\t\t\t\t\r\n";
        let manifest = parse(text).unwrap();
        let first = Utterance {
            name: "u1".into(),
            speaker: "ann".into(),
            audio: "corpus/a/1.wav".into(),
            seconds: Some(1.5),
            words: Some("Oh, hello".into()),
            phones: Some(vec!["AA".into(), "B".into()]),
            line: 2,
        };
        assert_eq!(manifest.utterances[0], first);
        let second = Utterance {
            name: "u2".into(),
            speaker: "u2".into(),
            audio: "/abs.wav".into(),
            seconds: None,
            words: None,
            phones: None,
            line: 4,
        };
        assert_eq!(manifest.utterances[1..], [second]);
    }

    #[test]
    fn two_columns_are_enough() {
        let manifest = parse("utterance\taudio\nu1\t1.wav\nu2\t2.wav").unwrap();
        assert_eq!(manifest.speakers().into_iter().collect::<Vec<_>>(), ["u1", "u2"]);
        assert_eq!(
            Manifest::parse(Path::new("m.tsv"), "utterance\taudio\na\tb").unwrap().utterances[0].audio,
            Path::new("b")
        );
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("", "corpus/train.tsv:1: the header has no column 'utterance'"),
            ("utterance,audio\n", "corpus/train.tsv:1: the header has no column 'utterance'"),
            ("utterance\tpath\n", "corpus/train.tsv:1: the header has no column 'audio'"),
            ("utterance\taudio\taudio\n", "corpus/train.tsv:1: the header names the column 'audio' twice"),
            ("utterance\taudio\n", "corpus/train.tsv:1: no utterance is listed"),
            ("utterance\taudio\nu1\n", "corpus/train.tsv:2: 1 fields: expected 2, as in the header"),
            ("utterance\taudio\nu1\ta\tb\n", "corpus/train.tsv:2: 3 fields"),
            ("utterance\taudio\nu1\ta\n \tb\n", "corpus/train.tsv:3: the field 'utterance' is empty"),
            ("utterance\taudio\nu1\t\n", "corpus/train.tsv:2: the field 'audio' is empty"),
            ("utterance\taudio\nu\ta\nv\tb\nu\tc\n", "corpus/train.tsv:4: utterance 'u' is in line 2 already"),
            (
                "utterance\taudio\tseconds\nu\ta\t1,5\n",
                "corpus/train.tsv:2: seconds are '1,5': expected a positive number",
            ),
            ("utterance\taudio\tseconds\nu\ta\t-1\n", "corpus/train.tsv:2: seconds are '-1'"),
            ("utterance\taudio\tseconds\nu\ta\tNaN\n", "corpus/train.tsv:2: seconds are 'NaN'"),
        ];
        for (text, message) in cases {
            let found = parse(text).unwrap_err();
            assert!(matches!(found, Error::Manifest { .. }) && found.to_string().starts_with(message), "{found}");
        }
    }

    fn speakers_of_five() -> Manifest {
        let lines: String = (0..20).map(|i| format!("u{i}\ts{}\t{i}.wav\n", i % 5)).collect();
        parse(&format!("utterance\tspeaker\taudio\n{lines}")).unwrap()
    }

    #[test]
    fn speakers_are_split_whole() {
        let manifest = speakers_of_five();
        for count in 1..5 {
            let (training, development) = manifest.split_speakers(count, 1).unwrap();
            assert_eq!((training.speakers().len(), development.speakers().len()), (5 - count, count));
            assert!(training.speakers().is_disjoint(&development.speakers()));
            let mut all: Vec<_> = training.utterances.iter().chain(&development.utterances).cloned().collect();
            all.sort_by_key(|utterance| utterance.line);
            assert_eq!(all, manifest.utterances);
            assert!(development.utterances.is_sorted_by_key(|utterance| utterance.line));
        }
        assert!(manifest.split_speakers(0, 1).is_err() && manifest.split_speakers(5, 1).is_err());
    }

    #[test]
    fn the_seed_makes_the_choice() {
        let manifest = speakers_of_five();
        let chosen = |manifest: &Manifest, seed| {
            let (_, development) = manifest.split_speakers(2, seed).unwrap();
            development.speakers().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let mut reversed = manifest.clone();
        reversed.utterances.reverse();
        let choices: BTreeSet<_> = (0..20).map(|seed| chosen(&manifest, seed)).collect();
        assert!((0..20).all(|seed| chosen(&manifest, seed) == chosen(&reversed, seed)));
        assert!(choices.len() > 5, "{choices:?}");
    }
}
