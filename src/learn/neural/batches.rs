//! The batches of an epoch: whole utterances in random order, at speeds drawn anew, cut into shards of about equal work.

use super::FrameExample;
use super::augment::{MaskingConfig, change_speed};
use crate::matrix::Matrix;
use crate::random::Random;

/// An example of an epoch: which, how fast, and the seed of its masks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Draw {
    pub(super) example: usize,
    speed: f32,
    /// Frames at that speed.
    frames: usize,
}

/// The examples of an epoch in batches of at most `batch_frames` frames (a longer utterance is a batch of its own). There is
/// nothing to gain from utterances of like length: batches have no padding.
pub(super) fn batches(
    examples: &[FrameExample<'_>],
    (speeds, batch_frames): (&[f32], usize),
    random: &Random,
) -> Vec<Vec<Draw>> {
    let mut random = random.clone();
    let mut draws: Vec<Draw> = examples
        .iter()
        .enumerate()
        .map(|(example, FrameExample { frames, .. })| {
            let speed = speeds[random.below(speeds.len())];
            Draw { example, speed, frames: (frames.rows() as f32 / speed).round() as usize }
        })
        .filter(|draw| draw.frames > 0)
        .collect();
    random.shuffle(&mut draws);
    let (mut batches, mut frames) = (Vec::<Vec<Draw>>::new(), 0);
    for draw in draws {
        match batches.last_mut() {
            Some(batch) if frames + draw.frames <= batch_frames => {
                batch.push(draw);
                frames += draw.frames;
            }
            _ => {
                batches.push(vec![draw]);
                frames = draw.frames;
            }
        }
    }
    batches
}

/// The draws of a batch in at most `count` shards: longest first, each to the shard with the fewest frames.
pub(super) fn shards(mut batch: Vec<Draw>, count: usize) -> Vec<Vec<Draw>> {
    batch.sort_by_key(|draw| (std::cmp::Reverse(draw.frames), draw.example));
    let mut shards = vec![(0, Vec::new()); count.min(batch.len())];
    for draw in batch {
        let least = shards.iter_mut().min_by_key(|shard| shard.0).expect("there are as many shards as draws, at most");
        least.0 += draw.frames;
        least.1.push(draw);
    }
    shards.into_iter().map(|shard| shard.1).collect()
}

impl Draw {
    /// The frames and targets as this epoch sees them; `random` is the epoch's.
    pub(super) fn make(
        &self,
        examples: &[FrameExample<'_>],
        (masking, subsampling): (&MaskingConfig, usize),
        random: &Random,
    ) -> (Matrix, Vec<u32>) {
        let FrameExample { frames, targets, .. } = &examples[self.example];
        let (mut frames, targets) = if self.speed == 1.0 {
            ((*frames).clone(), targets.clone())
        } else {
            change_speed((frames, targets), self.speed, subsampling)
        };
        masking.apply(&mut frames, &mut random.fork(self.example as u64));
        (frames, targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_examples<R>(lengths: &[usize], f: impl FnOnce(&[FrameExample<'_>]) -> R) -> R {
        let matrices: Vec<Matrix> = lengths.iter().map(|&rows| Matrix::zeros(rows, 1)).collect();
        let example = |frames| FrameExample { name: "some", frames, targets: vec![] };
        f(&matrices.iter().map(example).collect::<Vec<_>>())
    }

    #[test]
    fn every_utterance_comes_once_and_batches_keep_their_size() {
        with_examples(&[100, 0, 250, 900, 30, 70, 400, 120], |examples| {
            let made = batches(examples, (&[0.9, 1.0, 1.1], 500), &Random::new(3));
            let mut seen: Vec<usize> = made.iter().flatten().map(|draw| draw.example).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 2, 3, 4, 5, 6, 7]);
            for batch in &made {
                assert!(batch.len() == 1 || batch.iter().map(|draw| draw.frames).sum::<usize>() <= 500);
            }
            assert_eq!(made, batches(examples, (&[0.9, 1.0, 1.1], 500), &Random::new(3)));
            assert_ne!(made, batches(examples, (&[0.9, 1.0, 1.1], 500), &Random::new(4)));
        });
    }

    #[test]
    fn shards_share_the_work() {
        with_examples(&[100, 110, 120, 130, 140, 150, 160, 170], |examples| {
            let batch = batches(examples, (&[1.0], 10_000), &Random::new(1)).remove(0);
            let loads: Vec<usize> =
                shards(batch.clone(), 4).iter().map(|shard| shard.iter().map(|draw| draw.frames).sum()).collect();
            assert_eq!(loads, [270, 270, 270, 270]);
            assert_eq!(shards(batch, 20).len(), 8);
        });
    }
}
