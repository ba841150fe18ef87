//! The loss of a batch: cross-entropy of its frames, or a sequence criterion with some of it mixed in.

use rayon::prelude::*;

use super::sequence::SequenceJudge;
use super::{Answer, LeftOut};
use crate::learn::criterion::Objective;
use crate::matrix::{Matrix, argmax};
use crate::network::Loss;
use crate::parallel::in_order;
use crate::{Error, Result};

/// Sums over rows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// The loss, natural log: of the sequences where they are judged, without what is mixed in; else cross-entropy.
    pub loss: f64,
    /// Rows whose best pdf is the target.
    pub right: usize,
    /// Rows.
    pub rows: usize,
}

impl Tally {
    /// Adds the sums of other rows.
    pub fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.right += other.right;
        self.rows += other.rows;
    }

    /// Loss of a row.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.rows.max(1) as f64
    }

    /// Share of rows whose best pdf is the target.
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.rows.max(1) as f64
    }
}

/// How a [`BatchLoss`] judges.
#[derive(Debug, Clone, Copy)]
pub struct LossOptions<'a> {
    /// What the sequences are judged by; `None` is frame cross-entropy.
    pub sequences: Option<&'a SequenceJudge<'a>>,
    /// Share of a target's probability that is spread over all pdfs, 0 to 1.
    pub label_smoothing: f32,
    /// Rows that the gradient is the mean over: those of the whole batch.
    pub rows: usize,
}

/// The mean loss over the rows of a batch, or of a part of it, and what was learnt about it.
#[derive(Debug)]
pub struct BatchLoss<'a> {
    answers: &'a [Answer],
    options: LossOptions<'a>,
    /// Sums over the rows judged.
    pub tally: Tally,
    /// The gradient by transition weights; empty without sequences.
    pub transitions: Vec<f64>,
    /// Utterances whose right answer has no path, by their place in `answers`: their gradient is zero.
    pub left_out: Vec<LeftOut>,
    /// Utterances whose own loss is not a number.
    pub astray: Vec<String>,
}

impl<'a> BatchLoss<'a> {
    /// Judges scores against `answers`, one for each utterance.
    pub fn new(answers: &'a [Answer], options: LossOptions<'a>) -> Self {
        let transitions = options.sequences.map_or(0, |judge| judge.goal.weights.0.len());
        let (tally, transitions) = (Tally::default(), vec![0.0; transitions]);
        Self { answers, options, tally, transitions, left_out: Vec::new(), astray: Vec::new() }
    }

    /// Turns the scores `[T x P]` of one utterance into their gradient.
    fn utterance(&mut self, scores: &mut Matrix, answer: &Answer) -> Result<()> {
        let Some(judge) = self.options.sequences else {
            let frames = self.frames(scores, answer);
            self.count(frames, answer);
            return Ok(());
        };
        match judge.objective(scores, answer) {
            Ok(objective) => {
                let frames = self.frames(scores, answer);
                self.count(Tally { loss: objective.loss, ..frames }, answer);
                self.mix(scores, &objective, judge.goal.cross_entropy_share);
            }
            Err(Error::NotFinite { .. }) => {
                self.count(Tally { loss: f64::NAN, right: 0, rows: scores.rows() }, answer);
                scores.as_mut_slice().fill(f32::NAN);
            }
            Err(error @ (Error::NoPath { .. } | Error::Impossible { .. } | Error::Transcript { .. })) => {
                self.left_out.push(LeftOut { utterances: answer.name.clone(), reason: error.to_string() });
                scores.as_mut_slice().fill(0.0);
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Adds what was learnt about other utterances.
    fn absorb(&mut self, other: Self) {
        self.tally.add(other.tally);
        self.transitions.iter_mut().zip(other.transitions).for_each(|(sum, part)| *sum += part);
        self.left_out.extend(other.left_out);
        self.astray.extend(other.astray);
    }

    fn count(&mut self, tally: Tally, answer: &Answer) {
        if !tally.loss.is_finite() {
            self.astray.push(answer.name.clone());
        }
        self.tally.add(tally);
    }

    /// `(1 - h) sequence / rows + h cross-entropy / rows`; `scores` holds the latter without h.
    fn mix(&mut self, scores: &mut Matrix, objective: &Objective, share: f32) {
        let rest = (1.0 - share) / self.options.rows as f32;
        let cells = scores.as_mut_slice().iter_mut().zip(objective.gradient.occupancy.as_slice());
        cells.for_each(|(cell, sequence)| *cell = share * *cell + rest * sequence);
        let counts = self.transitions.iter_mut().zip(&objective.gradient.transitions);
        counts.for_each(|(sum, count)| *sum += f64::from(rest) * count);
    }

    /// Turns scores into the gradient of `-sum_k q_k log softmax(scores)_k` by them, with q the target smoothed over all pdfs.
    fn frames(&self, scores: &mut Matrix, answer: &Answer) -> Tally {
        let mut tally = Tally { rows: answer.targets.len(), ..Tally::default() };
        for (row, &target) in answer.targets.iter().enumerate() {
            let (loss, is_right) = self.frame(scores.row_mut(row), target as usize);
            tally.loss += loss;
            tally.right += usize::from(is_right);
        }
        tally
    }

    /// One row of it: `(softmax - q) / rows`. Gives the loss, and whether the target scores best.
    fn frame(&self, scores: &mut [f32], target: usize) -> (f64, bool) {
        let LossOptions { label_smoothing: smoothing, rows, .. } = self.options;
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = scores.iter().map(|&score| f64::from((score - most).exp())).sum();
        let log_sum = sum.ln() as f32 + most;
        let even = smoothing / scores.len() as f32;
        let mean = scores.iter().map(|&score| f64::from(score)).sum::<f64>() / scores.len() as f64;
        let expected = f64::from(1.0 - smoothing) * f64::from(scores[target]) + f64::from(smoothing) * mean;
        let is_right = argmax(scores) == target;
        let share = 1.0 / rows as f32;
        for (pdf, score) in scores.iter_mut().enumerate() {
            let wanted = even + if pdf == target { 1.0 - smoothing } else { 0.0 };
            *score = share * ((*score - log_sum).exp() - wanted);
        }
        (f64::from(log_sum) - expected, is_right)
    }
}

impl<'a> Loss for BatchLoss<'a> {
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
        let expected = self.answers.iter().map(|answer| answer.targets.len()).sum();
        if scores.rows() != expected {
            return Err(Error::Shape { what: "rows of a batch", expected, found: scores.rows() });
        }
        let (cols, options) = (scores.cols(), self.options);
        let mut rest = scores.as_mut_slice();
        let mut cut = |answer: &'a Answer| {
            let (own, after) = std::mem::take(&mut rest).split_at_mut(answer.targets.len() * cols);
            rest = after;
            (answer, own)
        };
        let parts: Vec<(&Answer, &mut [f32])> = self.answers.iter().map(&mut cut).collect();
        let one = |(answer, scores): (&'a Answer, &mut [f32])| {
            let mut own = Matrix::from_vec(answer.targets.len(), cols, scores.to_vec())?;
            let mut loss = Self::new(std::slice::from_ref(answer), options);
            loss.utterance(&mut own, answer)?;
            scores.copy_from_slice(own.as_slice());
            Ok(loss)
        };
        in_order(parts.into_par_iter().map(one))?.into_iter().for_each(|part| self.absorb(part));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_of_frames_is_the_slope_of_their_loss() {
        let scores = vec![0.3, -1.2, 0.8, 2.0, 0.1, -0.4];
        let answers = [2, 0].map(|target| Answer { name: "u".into(), targets: vec![target], transcript: None });
        let loss = |scores: &[f32]| {
            let mut loss = BatchLoss::new(&answers, LossOptions { sequences: None, label_smoothing: 0.1, rows: 2 });
            let mut matrix = Matrix::from_vec(2, 3, scores.to_vec()).unwrap();
            loss.differentiate(&mut matrix).unwrap();
            (loss.tally.mean_loss(), matrix)
        };
        let (_, gradient) = loss(&scores);
        for index in 0..6 {
            let at = |step: f32| {
                let mut moved = scores.clone();
                moved[index] += step;
                loss(&moved).0
            };
            let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((slope - f64::from(gradient.as_slice()[index])).abs() < 1e-4, "{index}");
        }
    }
}
