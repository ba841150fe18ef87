//! Cuts a stream of samples into overlapping frames, as Kaldi's `feature-window.cc` does.
//!
//! Blocks of samples of any size come in; frames of `length` samples go out, in order, as soon as their last sample is there.
//! Only the samples that a later frame can still need are kept.

use super::config::FeatureConfig;

/// Full scale of the samples inside, as 16-bit integers have it.
const FULL_SCALE: f32 = 32_768.0;
/// Samples are held within this, 30 thousand times full scale, so that no finite input overflows later.
const LARGEST: f32 = 1e9;

/// Whether more audio may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// More may come.
    Continues,
    /// All of it is there.
    Ended,
}

/// The part of the audio that frames are still to be cut from. Positions count samples of the whole audio.
pub(super) struct Framer {
    length: i64,
    shift: i64,
    snip_edges: bool,
    /// Samples on the scale of 16-bit integers.
    kept: Vec<f32>,
    /// Position of `kept[0]`.
    kept_from: i64,
    /// The next frame to cut.
    next: i64,
}

impl Framer {
    /// A framer for a checked `config`.
    pub(super) fn new(config: &FeatureConfig) -> Self {
        Self {
            length: config.length_samples() as i64,
            shift: config.shift_samples() as i64,
            snip_edges: config.snip_edges,
            kept: Vec::new(),
            kept_from: 0,
            next: 0,
        }
    }

    /// Takes in `samples` (-1..1) and lets go of what no later frame needs.
    pub(super) fn push(&mut self, samples: &[f32]) {
        // The last frame, mirrored at the end, may reach one sample further back than its own begin.
        let needed_from = (self.begin(self.next) - 1).clamp(self.kept_from, self.received());
        self.kept.drain(..(needed_from - self.kept_from) as usize);
        self.kept_from = needed_from;
        self.kept.extend(samples.iter().map(|sample| (sample * FULL_SCALE).clamp(-LARGEST, LARGEST)));
    }

    /// Copies the next frame into `frame`; false when there is none (yet).
    pub(super) fn next_into(&mut self, frame: &mut [f32], input: Input) -> bool {
        if self.next >= self.frames(input) {
            return false;
        }
        let begin = self.begin(self.next);
        if begin >= 0 && begin + self.length <= self.received() {
            let from = (begin - self.kept_from) as usize;
            frame.copy_from_slice(&self.kept[from..from + frame.len()]);
        } else {
            for (position, value) in (begin..).zip(frame) {
                *value = self.kept[(self.mirrored(position) - self.kept_from) as usize];
            }
        }
        self.next += 1;
        true
    }

    /// How many frames were cut so far.
    pub(super) fn count(&self) -> usize {
        self.next as usize
    }

    fn received(&self) -> i64 {
        self.kept_from + self.kept.len() as i64
    }

    /// Where `frame` begins: `frame * shift`, or half a frame before the middle of its shift.
    fn begin(&self, frame: i64) -> i64 {
        let offset = if self.snip_edges { 0 } else { self.shift / 2 - self.length / 2 };
        frame * self.shift + offset
    }

    /// How many frames the samples received so far allow.
    fn frames(&self, input: Input) -> i64 {
        let received = self.received();
        if input == Input::Ended && !self.snip_edges {
            return (received + self.shift / 2) / self.shift;
        }
        let spare = received - self.begin(0) - self.length;
        if spare < 0 { 0 } else { 1 + spare / self.shift }
    }

    /// The position within the audio that `position` mirrors: `-1 -> 0, -2 -> 1, ...`, `N -> N - 1, N + 1 -> N - 2, ...`,
    /// again and again when the audio is shorter than a frame: with a period of `2 N`.
    fn mirrored(&self, position: i64) -> i64 {
        let received = self.received();
        let within = position.rem_euclid(2 * received);
        within.min(2 * received - 1 - within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples whose value on the inner scale is their position.
    fn ramp(count: usize) -> Vec<f32> {
        (0..count).map(|position| position as f32 / FULL_SCALE).collect()
    }

    fn config(shift: f32, length: f32, snip_edges: bool) -> FeatureConfig {
        FeatureConfig {
            sample_rate_hz: 1000,
            shift_ms: shift,
            length_ms: length,
            snip_edges,
            ..FeatureConfig::default()
        }
    }

    fn cut(config: &FeatureConfig, samples: &[f32], block: usize) -> Vec<Vec<f32>> {
        let mut framer = Framer::new(config);
        let mut frame = vec![0.0; config.length_samples()];
        let mut frames = Vec::new();
        for block in samples.chunks(block) {
            framer.push(block);
            while framer.next_into(&mut frame, Input::Continues) {
                frames.push(frame.clone());
            }
        }
        while framer.next_into(&mut frame, Input::Ended) {
            frames.push(frame.clone());
        }
        frames
    }

    #[test]
    fn snipped_frames_lie_within() {
        let frames = cut(&config(2.0, 4.0, true), &ramp(9), 9);
        assert_eq!(frames, [[0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0, 5.0], [4.0, 5.0, 6.0, 7.0]]);
    }

    #[test]
    fn other_frames_are_mirrored_at_the_edges() {
        let frames = cut(&config(2.0, 6.0, false), &ramp(5), 5);
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[0], [1.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(frames[1], [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(frames[2], [2.0, 3.0, 4.0, 4.0, 3.0, 2.0]);
    }

    #[test]
    fn audio_shorter_than_a_frame_is_mirrored_again_and_again() {
        assert_eq!(cut(&config(2.0, 8.0, false), &ramp(1), 1), [[0.0; 8]]);
        assert_eq!(cut(&config(2.0, 8.0, false), &ramp(2), 1), [[1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]]);
        assert!(cut(&config(2.0, 8.0, true), &ramp(7), 1).is_empty());
        assert!(cut(&config(2.0, 8.0, false), &[], 1).is_empty());
    }

    /// Every frame by its definition, from the whole audio.
    fn by_definition(config: &FeatureConfig, count: usize) -> Vec<Vec<f32>> {
        let (shift, length, count) = (config.shift_samples(), config.length_samples(), count as i64);
        let frames = match config.snip_edges {
            true => (count + shift as i64 - length as i64).max(0) as usize / shift,
            false => (count as usize + shift / 2) / shift,
        };
        let offset = if config.snip_edges { 0 } else { (shift / 2) as i64 - (length / 2) as i64 };
        let fold = |mut position: i64| {
            while !(0..count).contains(&position) {
                position = if position < 0 { -position - 1 } else { 2 * count - 1 - position };
            }
            position as f32
        };
        let sample = |frame: usize, index: usize| fold((frame * shift + index) as i64 + offset);
        (0..frames).map(|frame| (0..length).map(|index| sample(frame, index)).collect()).collect()
    }

    #[test]
    fn frames_are_as_defined_for_every_block_size() {
        for (shift, length) in [(1, 2), (1, 7), (2, 5), (3, 4), (3, 9), (4, 7), (5, 3), (6, 3), (7, 2)] {
            for count in 0..40 {
                for (snip_edges, block) in [(true, 1), (true, 5), (false, 1), (false, 3), (false, 40)] {
                    let config = config(shift as f32, length as f32, snip_edges);
                    let what = format!("shift {shift}, length {length}, {count} samples, block {block}");
                    assert_eq!(cut(&config, &ramp(count), block), by_definition(&config, count), "{what}");
                }
            }
        }
    }

    #[test]
    fn memory_stays_within_a_frame_and_a_block() {
        let config = config(10.0, 25.0, false);
        let mut framer = Framer::new(&config);
        let mut frame = [0.0; 25];
        for _ in 0..1000 {
            framer.push(&[0.0; 7]);
            while framer.next_into(&mut frame, Input::Continues) {}
            assert!(framer.kept.len() <= 25 + 10 + 7 + 1);
        }
    }
}
