//! Which utterances go into a batch together, and the batch as shards.

use rayon::prelude::*;

use super::{Answer, AugmentConfig, Example};
use crate::Result;
use crate::matrix::Matrix;
use crate::network::{Acoustic, Network};
use crate::parallel::in_order;
use crate::random::Random;

/// Whether an example can be learnt from: it has frames, and all their values are numbers.
pub(super) fn is_usable(example: &Example<'_>) -> bool {
    example.frames.rows() > 0 && example.frames.first_not_finite().is_none()
}

/// How examples become batches.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchSize {
    /// Frames in a batch, about.
    pub(super) frames: usize,
    /// Examples whose lengths differ by less than this many frames count as equally long.
    pub(super) length_step: usize,
}

/// Cuts examples, each given by its place and its length in frames, into batches: neighbours in length go together, batches come
/// in random order.
pub(super) fn batches(
    examples: impl Iterator<Item = (usize, usize)>,
    size: BatchSize,
    random: &mut Random,
) -> Vec<Vec<usize>> {
    let mut order: Vec<(usize, usize)> = examples.collect();
    random.shuffle(&mut order);
    order.sort_by_key(|&(_, rows)| rows / size.length_step);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (index, rows) in order {
        if rows > room || batches.is_empty() {
            batches.push(Vec::new());
            room = size.frames;
        }
        room = room.saturating_sub(rows);
        if let Some(batch) = batches.last_mut() {
            batch.push(index);
        }
    }
    random.shuffle(&mut batches);
    batches
}

/// Deals a batch out to so many shards, or as many as can have something: each example goes to the one with the fewest frames so
/// far.
pub(super) fn deal(batch: &[usize], shards: usize, frames: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new()); shards.min(batch.len())];
    for &index in batch {
        if let Some(part) = parts.iter_mut().min_by_key(|part| part.0) {
            part.0 += frames(index);
            part.1.push(index);
        }
    }
    parts.into_iter().map(|part| part.1).collect()
}

/// A part of a batch, augmented.
#[derive(Debug)]
pub(super) struct Shard {
    /// Frames of each utterance, `[T x D]`.
    pub(super) utterances: Vec<Matrix>,
    /// What is right for each.
    pub(super) answers: Vec<Answer>,
}

impl Shard {
    /// The shards of `batch` that suit the network's device: each utterance goes to the shard with the fewest frames so far.
    pub(super) fn draw(
        batch: &[usize],
        examples: &[Example<'_>],
        (augment, network): (&AugmentConfig, &Network),
        random: &Random,
    ) -> Result<Vec<Self>> {
        let parts = deal(batch, network.device().shards(), |index| examples[index].frames.rows());
        let one = |&index: &usize| {
            let Example { frames, recording, answer } = &examples[index];
            let mut random = random.fork(index as u64);
            let said = (*frames, *recording, answer.targets.as_slice());
            let (frames, targets) = augment.apply(said, network.subsampling(), &mut random)?;
            Ok((frames, Answer { targets, ..answer.clone() }))
        };
        let shard = |part: &Vec<usize>| {
            let (utterances, answers) = in_order(part.par_iter().map(one))?.into_iter().unzip();
            Ok(Self { utterances, answers })
        };
        in_order(parts.par_iter().map(shard))
    }

    /// Output rows of all utterances.
    pub(super) fn rows(&self) -> usize {
        self.answers.iter().map(|answer| answer.targets.len()).sum()
    }
}
