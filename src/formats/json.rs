//! JSON lines: one object a line is one utterance. Times are seconds, ends exclusive; `confidence` is left out where it was
//! not computed. Tiers are keys, in their order, and each is a list of segments in time order. `slots`, left out where there are
//! none, holds what was said in the named parts of a grammar; `nbest`, left out unless it was asked for, the best sequences, with the
//! natural-log score of each, the best first:
//!
//! ```json
//! {"utterance": "a-1", "seconds": 10.5, "sample_rate": 16000, "tiers": {
//!     "phones": [{"label": "HH", "start": 0.1, "end": 0.21, "confidence": 0.98}],
//!     "words": [{"label": "hi", "start": 0.1, "end": 0.5}]},
//!     "slots": [{"name": "greeting", "value": "hi", "start": 0.1, "end": 0.5}],
//!     "nbest": [{"score": -71.5, "labels": ["hi"]}, {"score": -73.25, "labels": ["high"]}]}
//! ```

use std::io;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::alignment::{Alignment, Guess, Slot};

#[derive(Serialize)]
struct Line<'a> {
    utterance: &'a str,
    seconds: f64,
    sample_rate: u32,
    tiers: Tiers<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slots: Vec<Filled<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nbest: Vec<Scored<'a>>,
}

/// A sequence with its score.
#[derive(Serialize)]
struct Scored<'a> {
    score: f64,
    labels: &'a [String],
}

/// A slot with its times in seconds.
#[derive(Serialize)]
struct Filled<'a> {
    name: &'a str,
    value: &'a str,
    start: f64,
    end: f64,
}

/// All tiers of an alignment, as a map.
struct Tiers<'a>(&'a Alignment);

#[derive(Serialize)]
struct Item<'a> {
    label: &'a str,
    start: f64,
    end: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f32>,
}

impl Serialize for Tiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.tiers.len()))?;
        for tier in &self.0.tiers {
            let items: Vec<Item> = tier
                .segments
                .iter()
                .map(|segment| Item {
                    label: &segment.label,
                    start: self.0.seconds(segment.start),
                    end: self.0.seconds(segment.end),
                    confidence: segment.confidence,
                })
                .collect();
            map.serialize_entry(&tier.name, &items)?;
        }
        map.end()
    }
}

fn filled<'a>(Slot { name, value }: &'a Slot, alignment: &Alignment) -> Filled<'a> {
    let [start, end] = [value.start, value.end].map(|samples| alignment.seconds(samples));
    Filled { name, value: &value.label, start, end }
}

/// Writes `alignment` as one line.
///
/// # Errors
/// What `out` refuses.
pub fn write(alignment: &Alignment, out: &mut dyn io::Write) -> io::Result<()> {
    let line = Line {
        utterance: &alignment.utterance,
        seconds: alignment.seconds(alignment.samples),
        sample_rate: alignment.sample_rate,
        tiers: Tiers(alignment),
        slots: alignment.slots.iter().map(|slot| filled(slot, alignment)).collect(),
        nbest: alignment.nbest.iter().map(|Guess { score, labels }| Scored { score: *score, labels }).collect(),
    };
    serde_json::to_writer(&mut *out, &line)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{greeting, written};
    use super::*;
    use crate::alignment::Segment;

    #[test]
    fn a_line_holds_one_object_with_its_keys_in_order() {
        let mut alignment = greeting();
        alignment.tiers[1].segments[0].confidence = Some(0.98);
        let text = written(|out| write(&alignment, out));
        assert_eq!(text.lines().count(), 1);
        assert!(text.starts_with(
            r#"{"utterance":"a-1","seconds":10.5,"sample_rate":16000,"tiers":{"phones":[{"label":"SIL","start":0.0,"end":0.1},"#
        ));
        assert!(
            text.ends_with("\"words\":[{\"label\":\"hi\",\"start\":0.1,\"end\":0.5,\"confidence\":0.98}]}}\n"),
            "{text}"
        );
        let value = Segment { label: "hi".into(), start: 1600, end: 8000, confidence: None };
        alignment.slots.push(Slot { name: "greeting".into(), value });
        let text = written(|out| write(&alignment, out));
        assert!(
            text.ends_with("}]},\"slots\":[{\"name\":\"greeting\",\"value\":\"hi\",\"start\":0.1,\"end\":0.5}]}\n"),
            "{text}"
        );
        alignment.nbest = vec![Guess { score: -1.5, labels: vec!["hi".into(), "you".into()] }];
        let text = written(|out| write(&alignment, out));
        assert!(text.ends_with("}],\"nbest\":[{\"score\":-1.5,\"labels\":[\"hi\",\"you\"]}]}\n"), "{text}");
    }
}
