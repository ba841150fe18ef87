//! What search yields: labelled stretches of audio, in tiers.

/// One labelled stretch of the audio.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Phone, word, ... as it is printed.
    pub label: String,
    /// First sample.
    pub start: u64,
    /// First sample after it (exclusive).
    pub end: u64,
    /// Posterior probability, 0 to 1, where it was computed.
    pub confidence: Option<f32>,
}

/// A row of segments that follow one another: phones without gaps, words with pauses between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// "phones", "words", ...
    pub name: String,
    /// In time order.
    pub segments: Vec<Segment>,
}

impl Tier {
    /// Gives each segment the label that `name` has for its own; where that is empty, the segment's time goes to the one before
    /// it, or to the first that is left.
    pub fn rename(&mut self, name: impl Fn(&str) -> String) {
        let first = self.segments.first().map_or(0, |segment| segment.start);
        let mut kept: Vec<Segment> = Vec::with_capacity(self.segments.len());
        for segment in std::mem::take(&mut self.segments) {
            let label = name(&segment.label);
            match kept.last_mut() {
                Some(last) if label.is_empty() => last.end = segment.end,
                Some(_) => kept.push(Segment { label, ..segment }),
                None if label.is_empty() => {}
                None => kept.push(Segment { label, start: first, ..segment }),
            }
        }
        self.segments = kept;
    }
}

/// What was said in a named part of a grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The part.
    pub name: String,
    /// Its words, and when.
    pub value: Segment,
}

/// A sequence that may have been said.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// Score of its best path, natural log, higher is better.
    pub score: f64,
    /// Phones or words.
    pub labels: Vec<String>,
}

/// Everything that was found in one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// Name of the utterance: from the manifest, else the file's stem.
    pub utterance: String,
    /// Length of the audio in samples.
    pub samples: u64,
    /// Samples in a second.
    pub sample_rate: u32,
    /// Phones first.
    pub tiers: Vec<Tier>,
    /// In time order, the outermost first; none without a grammar of words.
    pub slots: Vec<Slot>,
    /// The best sequences, best first, where they were asked for.
    pub nbest: Vec<Guess>,
}

impl Alignment {
    /// `samples` in seconds of this recording.
    pub fn seconds(&self, samples: u64) -> f64 {
        samples as f64 / f64::from(self.sample_rate)
    }
}
