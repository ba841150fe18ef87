//! The single operation in which Viterbi differs from the total over all paths.

use std::fmt::Debug;
use std::ops::{Add, Sub};

use super::dense;
use super::rows::{Rows, Step};

/// How alternatives are joined. Steps in sequence add up, always.
pub trait Semiring {
    /// A cell of the trellis: a natural-log score, minus infinity when no path leads there.
    type Score: Copy
        + Debug
        + PartialOrd
        + From<f32>
        + Into<f64>
        + Add<Output = Self::Score>
        + Sub<Output = Self::Score>;

    /// Joins `scores[step.state] + step.score` over all steps of `row`; minus infinity when there is none.
    fn join(row: &[Step], scores: &[Self::Score]) -> Self::Score;

    /// One frame: [`Semiring::join`] of every row. What overrides this loop is faster and tested equal to it.
    fn step(rows: &Rows, frames: Frames<Self::Score>) {
        join_rows::<Self>(rows, frames.previous, frames.row);
    }
}

/// Two neighbouring frames of a trellis, on the way from one to the other.
#[derive(Debug)]
pub struct Frames<'a, T> {
    /// The cells of the frame that was swept before, by state: 0 at the best, less elsewhere.
    pub previous: &'a [T],
    /// The cells to find.
    pub row: &'a mut [T],
    /// Room that is kept from frame to frame.
    pub spare: &'a mut Vec<T>,
}

fn join_rows<S: Semiring + ?Sized>(rows: &Rows, previous: &[S::Score], row: &mut [S::Score]) {
    row.iter_mut().enumerate().for_each(|(s, cell)| *cell = S::join(rows.row(s), previous));
}

/// The best alternative: `max_i (scores_i + step_i)`.
#[derive(Debug, Clone, Copy)]
pub enum Max {}

impl Semiring for Max {
    type Score = f32;

    fn join(row: &[Step], scores: &[f32]) -> f32 {
        let term = |step: &Step| scores[step.state.index()] + step.score;
        let larger = |a: f32, b: f32| if b > a { b } else { a };
        // Four running maxima: the processor need not wait for one comparison before it begins the next.
        let mut best = [f32::NEG_INFINITY; 4];
        let quads = row.chunks_exact(4);
        for step in quads.remainder() {
            best[0] = larger(best[0], term(step));
        }
        for quad in quads {
            for lane in 0..4 {
                best[lane] = larger(best[lane], term(&quad[lane]));
            }
        }
        larger(larger(best[0], best[1]), larger(best[2], best[3]))
    }

    fn step(rows: &Rows, frames: Frames<f32>) {
        match rows.matrix() {
            Some(matrix) => dense::max_plus(matrix, frames.previous, frames.row),
            None => join_rows::<Self>(rows, frames.previous, frames.row),
        }
    }
}

/// The total of all alternatives: `log sum_i exp(scores_i + step_i)`.
#[derive(Debug, Clone, Copy)]
pub enum LogSum {}

impl Semiring for LogSum {
    type Score = f64;

    // log sum_i exp(x_i) = m + log sum_i exp(x_i - m), m = max_i x_i
    fn join(row: &[Step], scores: &[f64]) -> f64 {
        let terms = || row.iter().map(|step| scores[step.state.index()] + f64::from(step.score));
        let largest = terms().fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a });
        if row.len() < 2 || largest == f64::NEG_INFINITY {
            return largest;
        }
        largest + terms().map(|term| (term - largest).exp()).sum::<f64>().ln()
    }

    /// One exponential and one logarithm per state instead of one exponential per arc, with m_s = max_r arc(r, s):
    ///
    /// ```text
    /// join_r (previous[r] + arc(r, s)) = m_s + log sum_r exp(previous[r]) * exp(arc(r, s) - m_s)
    /// ```
    ///
    /// Both factors are 1 at most, so a term that is lost to underflow was under 1e-307. A sum that is not large beside that
    /// is left to [`LogSum::join`].
    fn step(rows: &Rows, Frames { previous, row, spare: linear }: Frames<f64>) {
        let exponentials = rows.exponentials();
        linear.clear();
        linear.extend_from_slice(previous);
        dense::exp(linear);
        match &exponentials.matrix {
            Some(matrix) => dense::sum_product(matrix, linear, row),
            None => sum_rows(rows, &exponentials.weights, linear, row),
        }
        dense::ln(row);
        for (state, (cell, largest)) in row.iter_mut().zip(&exponentials.largest).enumerate() {
            *cell = if *cell > LOWEST_SUM { *cell + largest } else { Self::join(rows.row(state), previous) };
        }
    }
}

/// log 1e-290: a sum above has lost less than 1e-17 of itself per arc.
const LOWEST_SUM: f64 = -667.0;

/// `row[s] = sum_i linear[other state of i] * weights[i]` over the steps i of row s.
fn sum_rows(rows: &Rows, weights: &[f64], linear: &[f64], row: &mut [f64]) {
    let term = |step: &Step, weight: f64| linear[step.state.index()] * weight;
    for (state, cell) in row.iter_mut().enumerate() {
        let (steps, odd_steps) = rows.row(state).as_chunks::<4>();
        let (weights, odd_weights) = weights[rows.range(state)].as_chunks::<4>();
        // Four running sums, as in [`Max::join`]; they begin with 0, not with the -0 of an empty sum.
        let mut sums = [0.0; 4];
        for (steps, weights) in steps.iter().zip(weights) {
            for lane in 0..4 {
                sums[lane] += term(&steps[lane], weights[lane]);
            }
        }
        for lane in 0..odd_steps.len() {
            sums[lane] += term(&odd_steps[lane], odd_weights[lane]);
        }
        *cell = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}
