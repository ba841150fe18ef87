//! Features by number: the names seen in training, and sequences as rows of numbers.
//!
//! In: a [`Template`] and the [`Sequence`]s to learn from, later any sequence. Out: [`SparseFrames`] `[T x F]`. Features are
//! numbered as they first appear; one that was not seen in training is no column and is dropped.

use std::collections::HashMap;
use std::sync::Arc as Shared;

use super::Template;
use crate::data::Sequence;
use crate::emission::SparseFrames;
use crate::{Error, Result};

/// A template and the features that it gave in training, numbered.
#[derive(Debug, Clone)]
pub struct FeatureMap {
    template: Template,
    vocabulary: Vocabulary,
}

impl FeatureMap {
    /// Numbers the features of `sequences`, whose last column is the tag, and makes the frames of each. Features seen fewer
    /// times than the template's `min_count` are left out of both. A sequence with a fault counts nothing, and its error, as
    /// [`Template::extract`] has it, stands in its place.
    ///
    /// # Errors
    /// [`Error::TextFile`] when the template reads the column of the tags or one that is not there.
    pub fn learn(template: Template, sequences: &[Sequence]) -> Result<(Self, Vec<Result<SparseFrames>>)> {
        sequences.iter().take(1).try_for_each(|sequence| check_columns(&template, sequence))?;
        let mut vocabulary = Vocabulary::default();
        let mut counts: Vec<u32> = vec![];
        let mut count = |name: &str| {
            let id = vocabulary.intern(name);
            counts.resize(vocabulary.names.len(), 0);
            counts[id as usize] += 1;
            Some(id)
        };
        let mut frames: Vec<_> = sequences.iter().map(|sequence| collect(&template, sequence, &mut count)).collect();
        if template.min_count() > 1 {
            let kept = vocabulary.keep(|id| counts[id as usize] >= template.min_count());
            frames.iter_mut().flatten().for_each(|frames| *frames = renumbered(frames, &kept));
        }
        Ok((Self { template, vocabulary }, frames))
    }

    /// Puts a map together again: `names` in the order of [`FeatureMap::names`].
    ///
    /// # Errors
    /// [`Error::Other`] when a name is given twice.
    pub fn from_parts(template: Template, names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let mut vocabulary = Vocabulary::default();
        for (place, name) in names.into_iter().enumerate() {
            if vocabulary.intern(name.as_ref()) as usize != place {
                return Err(Error::Other(format!("feature {:?} is listed twice: expected each once", name.as_ref())));
            }
        }
        Ok(Self { template, vocabulary })
    }

    /// The template.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The names of the features, by number, `[F]`. None holds a line feed.
    pub fn names(&self) -> &[Shared<str>] {
        &self.vocabulary.names
    }

    /// The features of each token of `sequence`, `[T x F]`; unknown ones are dropped.
    ///
    /// # Errors
    /// Those of [`Template::extract`].
    pub fn frames(&self, sequence: &Sequence) -> Result<SparseFrames> {
        collect(&self.template, sequence, |name| self.vocabulary.ids.get(name).copied())
    }
}

/// Names and their numbers.
#[derive(Debug, Clone, Default)]
struct Vocabulary {
    names: Vec<Shared<str>>,
    /// Only ever asked for one name: its order, which differs from run to run, shows nowhere.
    ids: HashMap<Shared<str>, u32>,
}

impl Vocabulary {
    /// The number of `name`, the next one if it is new.
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let (id, name) = (self.names.len() as u32, Shared::from(name));
        self.names.push(Shared::clone(&name));
        self.ids.insert(name, id);
        id
    }

    /// Drops the names whose number `wanted` does not hold for; the new number of each old one.
    fn keep(&mut self, wanted: impl Fn(u32) -> bool) -> Vec<Option<u32>> {
        let all = std::mem::take(self).names;
        (0..).zip(&all).map(|(id, name)| wanted(id).then(|| self.intern(name))).collect()
    }
}

/// A feature that looked at the tag would know the answer.
fn check_columns(template: &Template, sequence: &Sequence) -> Result<()> {
    let (read, tags) = (template.last_column(), sequence.columns());
    let what = match read.cmp(&tags) {
        std::cmp::Ordering::Less => return Ok(()),
        std::cmp::Ordering::Equal => "holds the tags",
        std::cmp::Ordering::Greater => "is not there",
    };
    let reason =
        format!("the template reads column {read}, which {what}: the columns before the tag are 1 to {}", tags - 1);
    Err(sequence.fault(0, reason))
}

/// The frames of `sequence`, with the features that `id` has a number for.
fn collect(template: &Template, sequence: &Sequence, mut id: impl FnMut(&str) -> Option<u32>) -> Result<SparseFrames> {
    let tokens = sequence.rows().len();
    let (mut first, mut ids, mut values) = (Vec::with_capacity(tokens + 1), vec![], vec![]);
    template.extract(sequence, |token, name, amount| {
        first.resize(token + 1, ids.len() as u32);
        if let Some(id) = id(name) {
            ids.push(id);
            values.push(amount);
        }
    })?;
    first.resize(tokens + 1, ids.len() as u32);
    SparseFrames::new(first, ids, values)
}

/// `frames` without the features that `kept` has no new number for.
fn renumbered(frames: &SparseFrames, kept: &[Option<u32>]) -> SparseFrames {
    let mut new = SparseFrames { first: vec![0], ids: vec![], values: vec![] };
    for token in 0..frames.frames() {
        let (ids, values) = frames.frame(token);
        for (&id, &value) in ids.iter().zip(values) {
            if let Some(id) = kept[id as usize] {
                new.ids.push(id);
                new.values.push(value);
            }
        }
        new.first.push(new.ids.len() as u32);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ColumnFile, Layout};

    fn template(text: &str) -> Template {
        Template::parse_as("t.toml".as_ref(), text).unwrap()
    }

    fn sequences(text: &str) -> Vec<Sequence> {
        ColumnFile::collect("t.tsv".as_ref(), text.as_bytes(), Layout::Tagged).unwrap().whole().unwrap()
    }

    fn names(map: &FeatureMap) -> Vec<&str> {
        map.names().iter().map(|name| &**name).collect()
    }

    const TEXT: &str = "the\tD\nDog\tN\n\nThe\tD\ndog\tN\nate\tV\n";

    #[test]
    fn features_are_numbered_as_they_appear() {
        let template = template("features = ['lower', 'suffix:1[-1]']");
        let (map, frames) = FeatureMap::learn(template, &sequences(TEXT)).unwrap();
        let expected = ["lower=the", "lower=dog", "suffix:1[-1]=e", "lower=ate", "suffix:1[-1]=g"];
        assert_eq!(names(&map), expected);
        let [first, second] = [&frames[0], &frames[1]].map(|frames| frames.as_ref().unwrap());
        assert_eq!((first.first.as_slice(), first.ids.as_slice()), ([0, 1, 3].as_slice(), [0, 1, 2].as_slice()));
        assert_eq!(
            (second.first.as_slice(), second.ids.as_slice()),
            ([0, 1, 3, 5].as_slice(), [0, 1, 2, 3, 4].as_slice())
        );
        assert!(first.values.iter().chain(&second.values).all(|&value| value == 1.0));
        for (sequence, frames) in sequences(TEXT).iter().zip(&frames) {
            assert_eq!(map.frames(sequence).unwrap(), *frames.as_ref().unwrap());
        }
    }

    #[test]
    fn unknown_features_are_dropped() {
        let (map, _) = FeatureMap::learn(Template::default(), &sequences(TEXT)).unwrap();
        let frames = map.frames(&sequences("a\tD\nb\tN\nATE\tV\nc\tN\n")[0]).unwrap();
        assert_eq!((frames.first, frames.ids, frames.values), (vec![0, 0, 0, 1, 1], vec![2], vec![1.0]));
        assert_eq!(map.names().len(), 3);
    }

    #[test]
    fn rare_features_are_left_out() {
        let text = "features = ['lower', 'value:2']\nmin_count = 2";
        let rows = "ate\t1\tV\n\nthe\t2\tD\ndog\t-3\tN\n\nThe\t0.5\tD\n";
        let (map, frames) = FeatureMap::learn(template(text), &sequences(rows)).unwrap();
        assert_eq!(names(&map), ["value:2=#", "lower=the"]);
        let second = frames[1].as_ref().unwrap();
        assert_eq!((second.first.as_slice(), second.ids.as_slice()), ([0, 2, 3].as_slice(), [1, 0, 0].as_slice()));
        assert_eq!(second.values, [1.0, 2.0, -3.0]);
        for (sequence, frames) in sequences(rows).iter().zip(&frames) {
            assert_eq!(map.frames(sequence).unwrap(), *frames.as_ref().unwrap());
        }
    }

    #[test]
    fn a_map_comes_back_from_its_parts() {
        let (map, frames) = FeatureMap::learn(Template::default(), &sequences(TEXT)).unwrap();
        let back = FeatureMap::from_parts(map.template().clone(), map.names()).unwrap();
        assert_eq!(back.names(), map.names());
        assert_eq!(back.frames(&sequences(TEXT)[1]).unwrap(), *frames[1].as_ref().unwrap());
        let error = FeatureMap::from_parts(Template::default(), ["a", "b", "a"]).unwrap_err();
        assert_eq!(error.to_string(), "feature \"a\" is listed twice: expected each once");
    }

    #[test]
    fn a_sequence_with_a_fault_counts_nothing() {
        let rows = "a\tNaN\tD\n\nb\t1\tN\n\nc\t1\tN\nd\tx\tN\n";
        let (map, frames) = FeatureMap::learn(template("features = ['word', 'value:2']"), &sequences(rows)).unwrap();
        assert_eq!(names(&map), ["word=b", "value:2=#"]);
        let faults: Vec<String> = frames.iter().filter_map(|frames| Some(frames.as_ref().err()?.to_string())).collect();
        let reason = "is not a finite number, as `value` in the template needs";
        assert_eq!(faults[0], format!("t.tsv:1: sequence 1: column 2: \"NaN\" {reason}"));
        assert_eq!(faults[1], format!("t.tsv:6: sequence 3: column 2: \"x\" {reason}"));
        assert_eq!(faults.len(), 2);
    }

    #[test]
    fn the_tag_is_no_feature() {
        let learn = |text: &str| FeatureMap::learn(template(text), &sequences(TEXT));
        assert!(learn("features = ['column:1']").is_ok());
        let message = |text| learn(text).unwrap_err().to_string();
        assert_eq!(
            message("features = ['column:2[-1]']"),
            "t.tsv:1: sequence 1: the template reads column 2, which holds the tags: the columns before the tag are 1 to 1"
        );
        assert!(message("features = ['value:3']").contains("column 3, which is not there"));
    }

    /// As many different features, and as many in all, as a script that trains CRFsuite finds in the same file.
    #[test]
    fn the_bench_script_finds_the_same_number_of_features() {
        let Some(shared) = std::env::var_os("SENONE_SHARED") else {
            println!("skipped: SENONE_SHARED is not set");
            return;
        };
        let rich = template(crate::tagging::template::tests::RICH);
        // python3: n = sum(len(f(s, i)) for s in load("train") for i in range(len(s))); len(set of them), f = words, rich
        let cases = [
            ("pos-en", Template::default(), 16_654, 204_577),
            ("pos-en", rich.clone(), 61_003, 2_634_413),
            ("ner-en", Template::default(), 12_840, 62_730),
            ("ner-en", rich, 52_196, 808_702),
        ];
        for (corpus, template, different, all) in cases {
            let path = std::path::Path::new(&shared).join("data").join(corpus).join("train.tsv");
            let sequences = ColumnFile::read(&path, Layout::Tagged).unwrap().whole().unwrap();
            let (map, frames) = FeatureMap::learn(template, &sequences).unwrap();
            let found = frames.iter().map(|frames| frames.as_ref().unwrap().ids.len()).sum();
            assert_eq!((map.names().len(), found), (different, all), "{corpus}");
        }
    }
}
