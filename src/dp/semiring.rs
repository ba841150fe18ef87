//! The single operation in which Viterbi differs from the total over all paths.

use std::fmt::Debug;
use std::ops::{Add, Sub};

use super::plan::Step;

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
}
