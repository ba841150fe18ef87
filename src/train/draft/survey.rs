//! A look at the data before any of it is trained on: how much, how many speakers, which phones.

use std::collections::{BTreeMap, BTreeSet};

use super::{DraftRequest, FILLER};
use crate::align::Transcriber;
use crate::audio::{Clip, Notice, read_clips};
use crate::bundle::Bundle;
use crate::data::manifest::{Holdout, Manifest, Place, Utterance};
use crate::data::source;
use crate::graph::lexicon::Lexicon;
use crate::graph::phone_loop::Marked;
use crate::{Error, Result};

/// Recordings that are opened to learn how long and of which rate all are.
const OPENED: usize = 50;
/// Rate of the models, but for recordings of a lower one.
const RATE_HZ: u32 = 16_000;
/// Names of silence in transcripts.
const PAUSES: [&str; 7] = ["SIL", "sil", "<sil>", "pau", "h#", "SP", "sp"];
/// The share of the data to tune on, and how much is enough in any case.
const HELD_OUT_SHARE: f64 = 0.1;
const HELD_OUT_HOURS: f64 = 1.0;
/// Speakers below which utterances are held out instead.
const FEW_SPEAKERS: usize = 10;

/// What was found.
#[derive(Debug)]
pub(super) struct Survey {
    /// Length of all recordings.
    pub(super) hours: f64,
    /// The rate that features are made at.
    pub(super) sample_rate_hz: u32,
    /// What is held out of each corpus.
    pub(super) holdouts: Vec<Option<Holdout>>,
    /// The phone of silence that transcripts have.
    pub(super) pause: Option<String>,
    /// Whether they have it wherever there is silence.
    pub(super) marked: Marked,
    /// Where each phone is met first, the filler and silence among them.
    phones: BTreeMap<String, Place>,
}

impl Survey {
    /// Reads the corpora, looks words up, and opens some of the recordings.
    pub(super) fn new(request: &DraftRequest<'_>) -> Result<Self> {
        let manifests = request.corpora.iter().map(|path| source::read(path)).collect::<Result<Vec<_>>>()?;
        let lexicon = request.lexicon.map(Lexicon::read).transpose()?;
        let all: Vec<&Utterance> = manifests.iter().flat_map(|manifest| &manifest.utterances).collect();
        let transcripts = Transcripts::of(&all, lexicon.as_ref())?;
        let (hours, sample_rate_hz) = opened(&all)?;
        let hold_out = |manifest: &Manifest| match request.development {
            [] => holdout(manifest, hours),
            _ => None,
        };
        let holdouts = manifests.iter().map(hold_out).collect();
        let Transcripts { phones, begun_by_pause, utterances } = transcripts;
        let pause = PAUSES.into_iter().find(|pause| phones.contains_key(*pause)).map(str::to_owned);
        let marked = if 2 * begun_by_pause >= utterances { Marked::Always } else { Marked::Perhaps };
        Ok(Self { hours, sample_rate_hz, holdouts, pause, marked, phones })
    }

    /// The phones of speech, by name.
    pub(super) fn phones(&self) -> Vec<String> {
        let other = |phone: &&String| **phone != FILLER && self.pause.as_ref() != Some(*phone);
        self.phones.keys().filter(other).cloned().collect()
    }

    /// Whether `model` has every phone; the filler is never needed.
    pub(super) fn check_phones(&self, model: &Bundle) -> Result<()> {
        let known = model.graph.symbols();
        let missing: Vec<_> = self.phones.iter().filter(|(phone, _)| known.get(phone).is_none()).collect();
        let Some((_, place)) = missing.first() else { return Ok(()) };
        let names: Vec<&str> = missing.iter().map(|(phone, _)| phone.as_str()).collect();
        let (names, model) = (names.join(" "), &model.description.name);
        let reason = format!(
            "the model {model:?} lacks phones that are said from here on: {names}; train a new model (--hidden-from \
                              keeps what this one hears), or correct the transcripts or the lexicon"
        );
        Err(place.error(reason))
    }
}

/// The phones of all transcripts.
struct Transcripts {
    phones: BTreeMap<String, Place>,
    begun_by_pause: usize,
    utterances: usize,
}

impl Transcripts {
    fn of(all: &[&Utterance], lexicon: Option<&Lexicon>) -> Result<Self> {
        let mut transcriber = Transcriber::new(lexicon, FILLER);
        let mut found = Self { phones: BTreeMap::new(), begun_by_pause: 0, utterances: 0 };
        for utterance in all {
            // What has no transcript is told when the corpus is loaded.
            let Ok(words) = transcriber.words(utterance) else { continue };
            let first = words.first().and_then(|word| word.first()?.first());
            found.begun_by_pause += usize::from(first.is_some_and(|phone| PAUSES.contains(&&**phone)));
            found.utterances += 1;
            for phone in words.into_iter().flatten().flatten() {
                found.phones.entry(phone).or_insert_with(|| utterance.place.clone());
            }
        }
        let said: BTreeSet<&String> = found.phones.keys().filter(|phone| **phone != FILLER).collect();
        match (said.is_empty(), all.first()) {
            (false, _) => Ok(found),
            (true, None) => Err(Error::Other("no utterance in the corpora".into())),
            (true, Some(first)) if found.utterances == 0 => Err(first.place.error(
                "no utterance has a transcript: expected .txt, .lab or .TextGrid files beside the audio, or words in the table",
            )),
            (true, Some(first)) => Err(first.place.error("the lexicon has none of the words that are said")),
        }
    }
}

/// Hours of all utterances, as they are stated or estimated from some, and the rate to work at.
fn opened(all: &[&Utterance]) -> Result<(f64, u32)> {
    let step = all.len().div_ceil(OPENED).max(1);
    let clips: Vec<&Clip> = all.iter().step_by(step).map(|utterance| &utterance.audio).collect();
    let of = |_, audio: Result<crate::audio::Audio>| {
        let audio = audio?;
        let own = audio.notices.iter().find_map(|notice| match notice {
            Notice::Resampled { from_hz, .. } => Some(*from_hz),
            _ => None,
        });
        Ok((audio.samples.len() as f64 / f64::from(audio.sample_rate), own.unwrap_or(audio.sample_rate)))
    };
    let mut rates = Vec::new();
    let (mut seconds, mut failure) = (0.0, None);
    for one in read_clips(&clips, RATE_HZ, of) {
        match one {
            Ok((length, rate)) => {
                seconds += length;
                rates.push(rate);
            }
            Err(error) => failure = Some(error),
        }
    }
    rates.sort_unstable();
    let Some(&rate) = rates.get(rates.len() / 2) else {
        return Err(failure.unwrap_or_else(|| Error::Other("no utterance in the corpora".into())));
    };
    let mean = seconds / rates.len() as f64;
    let stated: Option<f64> = all.iter().map(|utterance| utterance.seconds).sum();
    Ok((stated.unwrap_or(mean * all.len() as f64) / 3600.0, rate.min(RATE_HZ)))
}

/// A tenth of the speakers or, where there are few, of the utterances, and no more than an hour; nothing of very little.
fn holdout(manifest: &Manifest, hours: f64) -> Option<Holdout> {
    let share = HELD_OUT_SHARE.min(HELD_OUT_HOURS / hours);
    let of = |count: usize| ((share * count as f64).round() as usize).max(1);
    let (speakers, utterances) = (manifest.speakers().len(), manifest.utterances.len());
    match () {
        () if speakers >= FEW_SPEAKERS => Some(Holdout::Speakers(of(speakers))),
        () if utterances >= FEW_SPEAKERS => Some(Holdout::Utterances(of(utterances))),
        () => None,
    }
}

/// The line of a `[[corpus]]` table.
pub(super) fn holdout_line(holdout: Option<Holdout>) -> String {
    match holdout {
        None => String::new(),
        Some(Holdout::Speakers(count)) => format!("development_speakers = {count}\n"),
        Some(Holdout::Utterances(count)) => format!("development_utterances = {count}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manifest of so many speakers with so many utterances each.
    fn manifest(speakers: usize, each: usize) -> Manifest {
        let utterance = |index: usize| Utterance {
            name: format!("u{index}"),
            speaker: format!("s{}", index % speakers),
            audio: Clip::whole("a.wav"),
            seconds: None,
            words: None,
            phones: None,
            place: Place { path: "m.tsv".into(), line: index + 2 },
        };
        Manifest { path: "m.tsv".into(), utterances: (0..speakers * each).map(utterance).collect(), notices: vec![] }
    }

    #[test]
    fn a_tenth_is_held_out_of_speakers_if_there_are_enough() {
        assert_eq!(holdout(&manifest(74, 10), 0.7), Some(Holdout::Speakers(7)));
        assert_eq!(holdout(&manifest(10, 2), 0.1), Some(Holdout::Speakers(1)));
        assert_eq!(holdout(&manifest(3, 100), 1.2), Some(Holdout::Utterances(30)));
        assert_eq!(holdout(&manifest(1, 10), 0.01), Some(Holdout::Utterances(1)));
        assert_eq!(holdout(&manifest(1, 9), 0.01), None);
        assert_eq!(holdout(&manifest(1000, 1), 100.0), Some(Holdout::Speakers(10)), "an hour is enough");
    }
}
