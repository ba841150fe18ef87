//! Corpora to the utterances to learn from and those to tune on.

use std::collections::BTreeSet;
use std::path::Path;

use super::config::{CorpusConfig, CorpusUse, TrainConfig};
use super::{Event, Progress};
use crate::Result;
use crate::data::manifest::{Holdout, Manifest, Utterance};
use crate::data::source::{self, Layout};
use crate::formats::ctm::one_field;

/// Utterances to learn from, and to tune on. Names that two corpora share are refused.
pub(super) fn split(config: &TrainConfig, progress: &mut Progress<'_>) -> Result<(Vec<Utterance>, Vec<Utterance>)> {
    let (mut training, mut development) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for corpus in &config.corpora {
        let all = source::read(&corpus.source)?;
        all.notices.iter().for_each(|notice| progress(Event::Note(notice.clone())));
        for Utterance { name, place, .. } in &all.utterances {
            if !seen.insert(one_field(name)) {
                let reason = "an utterance before has the name";
                return Err(place.error(format!("{reason} {name:?} too, white space aside: change one of them")));
            }
        }
        match (corpus.role, corpus.holdout()) {
            (CorpusUse::Development, _) => development.extend(all.utterances),
            (CorpusUse::Training, None) => training.extend(all.utterances),
            (CorpusUse::Training, Some(holdout)) => {
                let (train, held_out) = all.split(holdout, config.seed)?;
                training.extend(train.utterances);
                development.extend(held_out.utterances);
            }
        }
    }
    Ok((training, development))
}

/// Lists `utterances` in a manifest.
pub(super) fn write(path: &Path, utterances: &[Utterance]) -> Result<()> {
    Manifest { path: path.to_owned(), utterances: utterances.to_vec(), notices: vec![] }.write(path)
}

/// What changes when the corpus does: the bytes of a manifest, or what a folder would be as one.
pub(super) fn content(source: &Path) -> Result<Vec<u8>> {
    match source::layout(source)? {
        Layout::Manifest => crate::input::bytes(source),
        _ => Ok(source::read(source)?.to_tsv()?.into_bytes()),
    }
}

impl CorpusConfig {
    /// What is taken out of it to tune on.
    fn holdout(&self) -> Option<Holdout> {
        match (self.development_speakers, self.development_utterances) {
            (0, 0) => None,
            (0, utterances) => Some(Holdout::Utterances(utterances)),
            (speakers, _) => Some(Holdout::Speakers(speakers)),
        }
    }
}
