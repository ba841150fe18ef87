//! The list of utterances: a tab-separated table whose header names its columns.
//!
//! A file on disk comes in; utterances go to training, scoring and validation, whole or split by speaker.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::audio::{Channel, Clip, Stretch};
use crate::random::Random;
use crate::{Error, Result, formats};

/// One line of a manifest, or what another kind of corpus says of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct Utterance {
    /// Its name, unlike all others of the manifest.
    pub name: String,
    /// Who speaks; the utterance's name where the manifest does not say.
    pub speaker: String,
    /// Where it is heard.
    pub audio: Clip,
    /// Duration as the manifest states it.
    pub seconds: Option<f64>,
    /// The transcript as written.
    pub words: Option<String>,
    /// The transcript as phones.
    pub phones: Option<Vec<String>>,
    /// Where it is listed.
    pub place: Place,
}

impl Utterance {
    /// An utterance of which nothing is known but its name and its audio.
    pub fn bare(name: &str, audio: Clip) -> Self {
        let place = Place { path: audio.path.clone(), line: 1 };
        Self { name: name.into(), speaker: name.into(), audio, seconds: None, words: None, phones: None, place }
    }
}

/// A line of a file; displayed as `file:line`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// One-based.
    pub line: usize,
}

impl Place {
    /// An [`Error::Manifest`] here.
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::Manifest { path: self.path.clone(), line: self.line, reason: reason.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

/// A list of utterances, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The file, or the folder of another kind of corpus.
    pub path: PathBuf,
    /// The utterances; at least one when the manifest was read, perhaps none after a split.
    pub utterances: Vec<Utterance>,
    /// What to tell of the corpus: what it has that is no utterance.
    pub notices: Vec<String>,
}

/// What is taken out of training, to tune on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holdout {
    /// So many whole speakers.
    Speakers(usize),
    /// So many utterances, whoever speaks: for corpora of too few speakers.
    Utterances(usize),
}

/// Columns of a manifest that is written.
const HEADER: &str = "utterance\tspeaker\taudio\tstart\tend\tchannel\tseconds\twords\tphones\n";

impl Manifest {
    /// Reads the manifest at `path`: UTF-8, fields separated by tabs, the first line naming the columns in any order.
    ///
    /// `utterance` and `audio` (relative to the manifest's folder) must be there; `speaker`, `seconds`, `words`, `phones`, and
    /// `start`, `end` (seconds within the audio) and `channel` (1 is the first) may be, and an empty field of these is as good
    /// as none; other columns are ignored, and so are empty lines. An utterance without speaker is its own speaker.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read as UTF-8; [`Error::Manifest`] with the line for a missing or doubled column, a
    /// wrong number of fields, an empty `utterance` or `audio`, a name given twice, a number that is none or out of range, and
    /// when no utterance is listed.
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::input::text(path)?;
        Self::parse(path, &text)
    }

    /// Reads the `text` of the manifest at `path`, see [`Manifest::read`].
    fn parse(path: &Path, text: &str) -> Result<Self> {
        let mut lines = text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(text, _)| !text.is_empty());
        let (header, line) = lines.next().unwrap_or(("", 1));
        let columns = Columns::parse(path, header, line)?;
        let utterances = lines.map(|(text, line)| columns.utterance(text, line)).collect::<Result<Vec<Utterance>>>()?;
        let manifest = Self { path: path.to_owned(), utterances, notices: vec![] };
        manifest.check_names()?;
        match manifest.utterances.is_empty() {
            true => Err(Place { path: path.to_owned(), line: 1 }.error("no utterance is listed")),
            false => Ok(manifest),
        }
    }

    /// Whether no name is given twice.
    ///
    /// # Errors
    /// [`Error::Manifest`] at the second place.
    pub fn check_names(&self) -> Result<()> {
        let mut places = BTreeMap::new();
        for utterance in &self.utterances {
            if let Some(first) = places.insert(utterance.name.as_str(), &utterance.place) {
                let there = match first.path == utterance.place.path {
                    true => format!("line {}", first.line),
                    false => first.to_string(),
                };
                let reason = format!("utterance '{}' is in {there} already: names must differ", utterance.name);
                return Err(utterance.place.error(reason));
            }
        }
        Ok(())
    }

    /// The utterances as the text of a manifest, which [`Manifest::read`] reads: its paths of audio are absolute.
    ///
    /// # Errors
    /// [`Error::Manifest`] for a name or path that no field can hold: one with a tab or a line break.
    pub fn to_tsv(&self) -> Result<String> {
        let mut text = HEADER.to_owned();
        for utterance in &self.utterances {
            let fields = fields(utterance);
            if let Some(field) = fields.iter().find(|field| field.contains(['\t', '\n', '\r'])) {
                return Err(utterance
                    .place
                    .error(format!("{field:?} holds a tab or a line break, which no manifest can")));
            }
            text.push_str(&fields.join("\t"));
            text.push('\n');
        }
        Ok(text)
    }

    /// Writes [`Manifest::to_tsv`] to `path`.
    ///
    /// # Errors
    /// As [`Manifest::to_tsv`]; [`Error::Io`] when it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = self.to_tsv()?;
        formats::atomic::write(path, |file| file.write_all(text.as_bytes()))
    }

    /// All speakers, by name.
    pub fn speakers(&self) -> BTreeSet<&str> {
        self.utterances.iter().map(|utterance| utterance.speaker.as_str()).collect()
    }

    /// Takes the development set out, chosen by `seed`: what is left to train on, and that set. Both keep the order of the file.
    /// The choice depends on the names of speakers or utterances, the count and the seed alone.
    ///
    /// # Errors
    /// [`Error::Other`] unless at least one speaker, or utterance, is left on each side.
    pub fn split(&self, holdout: Holdout, seed: u64) -> Result<(Manifest, Manifest)> {
        let (kind, count, key): (_, _, fn(&Utterance) -> &str) = match holdout {
            Holdout::Speakers(count) => ("speakers", count, |utterance| &utterance.speaker),
            Holdout::Utterances(count) => ("utterances", count, |utterance| &utterance.name),
        };
        let mut all: Vec<&str> = self.utterances.iter().map(key).collect::<BTreeSet<_>>().into_iter().collect();
        if count == 0 || count >= all.len() {
            return Err(Error::Other(format!(
                "{}: {count} of {} {kind} cannot be the development set: both sides need at least one",
                self.path.display(),
                all.len()
            )));
        }
        Random::new(seed).shuffle(&mut all);
        let held_out: BTreeSet<&str> = all[..count].iter().copied().collect();
        let (development, training) =
            self.utterances.iter().cloned().partition(|utterance| held_out.contains(key(utterance)));
        let with = |utterances| Manifest { path: self.path.clone(), utterances, notices: vec![] };
        Ok((with(training), with(development)))
    }
}

/// The fields of [`HEADER`].
fn fields(utterance: &Utterance) -> [String; 9] {
    let Utterance { name, speaker, audio, seconds, words, phones, .. } = utterance;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let path = std::path::absolute(&audio.path).unwrap_or_else(|_| audio.path.clone());
    let channel = match audio.channel {
        Channel::Mix => String::new(),
        Channel::Only(index) => (index + 1).to_string(),
    };
    [
        name.clone(),
        speaker.clone(),
        path.to_string_lossy().into_owned(),
        number(audio.stretch.map(|stretch| stretch.start_seconds)),
        number(audio.stretch.and_then(|stretch| stretch.end_seconds)),
        channel,
        number(*seconds),
        words.clone().unwrap_or_default(),
        phones.as_deref().unwrap_or_default().join(" "),
    ]
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
        let place = Place { path: self.path.to_owned(), line };
        let error = |reason: String| place.error(reason);
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
        let [start, end, channel, seconds] = ["start", "end", "channel", "seconds"].map(optional);
        let seconds = seconds.map(positive).transpose().map_err(|found| {
            error(format!("seconds are '{found}': expected a positive number such as 2.35, or nothing"))
        })?;
        let stretch = stretch(start, end).map_err(error)?;
        let channel = channel.map_or(Ok(Channel::Mix), channel_of).map_err(error)?;
        Ok(Utterance {
            name: name.to_owned(),
            speaker: optional("speaker").unwrap_or(name).to_owned(),
            audio: Clip { path: folder.join(required(self.audio)?), channel, stretch },
            seconds,
            words: optional("words").map(str::to_owned),
            phones: optional("phones").map(|field| field.split_whitespace().map(str::to_owned).collect()),
            place,
        })
    }
}

/// The number above 0 that `field` is, else the field.
fn positive(field: &str) -> std::result::Result<f64, &str> {
    field.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0).ok_or(field)
}

/// The columns `start` and `end`.
fn stretch(start: Option<&str>, end: Option<&str>) -> std::result::Result<Option<Stretch>, String> {
    if (start, end) == (None, None) {
        return Ok(None);
    }
    let seconds = |name: &str, field: &str| {
        field.parse().map_err(|_| format!("the {name} is '{field}': expected seconds such as 2.35, or nothing"))
    };
    let start_seconds = start.map_or(Ok(0.0), |field| seconds("start", field))?;
    let stretch = Stretch { start_seconds, end_seconds: end.map(|field| seconds("end", field)).transpose()? };
    stretch.check().map(|()| Some(stretch))
}

/// The column `channel`, counted from 1.
fn channel_of(field: &str) -> std::result::Result<Channel, String> {
    let number = field.parse().ok().and_then(|number: usize| number.checked_sub(1));
    number.map(Channel::Only).ok_or_else(|| format!("the channel is '{field}': expected 1, 2, ... or nothing"))
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
            audio: Clip::whole("corpus/a/1.wav"),
            seconds: Some(1.5),
            words: Some("Oh, hello".into()),
            phones: Some(vec!["AA".into(), "B".into()]),
            place: Place { path: "corpus/train.tsv".into(), line: 2 },
        };
        assert_eq!(manifest.utterances[0], first);
        let second = Utterance {
            name: "u2".into(),
            speaker: "u2".into(),
            audio: Clip::whole("/abs.wav"),
            seconds: None,
            words: None,
            phones: None,
            place: Place { path: "corpus/train.tsv".into(), line: 4 },
        };
        assert_eq!(manifest.utterances[1..], [second]);
    }

    #[test]
    fn two_columns_are_enough() {
        let manifest = parse("utterance\taudio\nu1\t1.wav\nu2\t2.wav").unwrap();
        assert_eq!(manifest.speakers().into_iter().collect::<Vec<_>>(), ["u1", "u2"]);
        assert_eq!(
            Manifest::parse(Path::new("m.tsv"), "utterance\taudio\na\tb").unwrap().utterances[0].audio,
            Clip::whole("b")
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
            ("utterance\taudio\tstart\nu\ta\tx\n", "corpus/train.tsv:2: the start is 'x': expected seconds"),
            ("utterance\taudio\tstart\tend\nu\ta\t2\t1\n", "corpus/train.tsv:2: a stretch from 2 to 1 s: expected"),
            ("utterance\taudio\tchannel\nu\ta\t0\n", "corpus/train.tsv:2: the channel is '0': expected 1, 2"),
        ];
        for (text, message) in cases {
            let found = parse(text).unwrap_err();
            assert!(matches!(found, Error::Manifest { .. }) && found.to_string().starts_with(message), "{found}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "utterance\tspeaker\taudio\tstart\tend\tchannel\tseconds\twords\tphones\n\
            a b\tann\t/a.wav\t0.25\t1.5\t2\t1.25\toh no\tAA B\nc\tc\t/c.wav\t\t3\t\t\t\t\nd\td\t/d.wav\t\t\t\t\t\t\n";
        let manifest = parse(text).unwrap();
        let first = Stretch { start_seconds: 0.25, end_seconds: Some(1.5) };
        let clips = [
            Clip { path: "/a.wav".into(), channel: Channel::Only(1), stretch: Some(first) },
            Clip { stretch: Some(Stretch { start_seconds: 0.0, end_seconds: Some(3.0) }), ..Clip::whole("/c.wav") },
            Clip::whole("/d.wav"),
        ];
        assert_eq!(manifest.utterances.iter().map(|utterance| utterance.audio.clone()).collect::<Vec<_>>(), clips);
        assert_eq!(parse(&manifest.to_tsv().unwrap()).unwrap(), manifest);
        let mut bad = manifest;
        bad.utterances[1].audio.path = "/a\tb.wav".into();
        assert!(bad.to_tsv().unwrap_err().to_string().starts_with("corpus/train.tsv:3: \"/a\\tb.wav\" holds a tab"));
    }

    fn speakers_of_five() -> Manifest {
        let lines: String = (0..20).map(|i| format!("u{i}\ts{}\t{i}.wav\n", i % 5)).collect();
        parse(&format!("utterance\tspeaker\taudio\n{lines}")).unwrap()
    }

    #[test]
    fn speakers_are_split_whole() {
        let manifest = speakers_of_five();
        for count in 1..5 {
            let (training, development) = manifest.split(Holdout::Speakers(count), 1).unwrap();
            assert_eq!((training.speakers().len(), development.speakers().len()), (5 - count, count));
            assert!(training.speakers().is_disjoint(&development.speakers()));
            let mut all: Vec<_> = training.utterances.iter().chain(&development.utterances).cloned().collect();
            all.sort_by_key(|utterance| utterance.place.line);
            assert_eq!(all, manifest.utterances);
            assert!(development.utterances.is_sorted_by_key(|utterance| utterance.place.line));
        }
        assert!([0, 5].iter().all(|&count| manifest.split(Holdout::Speakers(count), 1).is_err()));
        let (training, development) = manifest.split(Holdout::Utterances(6), 1).unwrap();
        assert_eq!((training.utterances.len(), development.utterances.len()), (14, 6));
        let refused = manifest.split(Holdout::Utterances(20), 1).unwrap_err().to_string();
        assert!(refused.contains("20 of 20 utterances cannot be the development set"), "{refused}");
    }

    #[test]
    fn the_seed_makes_the_choice() {
        let manifest = speakers_of_five();
        let chosen = |manifest: &Manifest, seed| {
            let (_, development) = manifest.split(Holdout::Speakers(2), seed).unwrap();
            development.speakers().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let mut reversed = manifest.clone();
        reversed.utterances.reverse();
        let choices: BTreeSet<_> = (0..20).map(|seed| chosen(&manifest, seed)).collect();
        assert!((0..20).all(|seed| chosen(&manifest, seed) == chosen(&reversed, seed)));
        assert!(choices.len() > 5, "{choices:?}");
    }
}
