//! Scoring as frames arrive: the frames that later rows need again are kept, the utterance's edge frames are repeated.

use super::layers::Rows;
use super::recurrent::Carry;
use super::splice::Segments;
use super::{Acoustic, Context, Network, check_finite, kernels};
use crate::emission::LogPosteriors;
use crate::matrix::Matrix;
use crate::{Error, Result};

/// Output rows that are computed at once: few enough for the caches, enough for full speed.
const BLOCK_ROWS: usize = 256;

/// Where a stream stands: what the network must see again with the next frames.
#[derive(Debug, Clone)]
pub struct StreamState {
    /// Padded frames from the first that the next output row sees.
    frames: Matrix,
    /// Frames received, without padding.
    received: usize,
    /// Output rows given.
    given: usize,
    /// What each layer remembers of the rows given.
    carries: Vec<Carry>,
}

impl Acoustic for Network {
    fn pdfs(&self) -> usize {
        self.dims.pdfs
    }

    fn subsampling(&self) -> usize {
        self.plan.subsampling()
    }

    fn context(&self) -> Context {
        let right = (self.plan.span() + 1).saturating_sub(self.plan.left + self.plan.subsampling());
        Context {
            left: (!self.plan.remembers()).then_some(self.plan.left),
            right: (!self.plan.foresees()).then_some(right),
        }
    }

    fn start(&self) -> StreamState {
        StreamState { frames: Matrix::with_cols(self.dims.input), received: 0, given: 0, carries: self.plan.carries() }
    }

    fn step(&self, state: &mut StreamState, frames: &Matrix, last: bool) -> Result<LogPosteriors> {
        self.check_dim(frames)?;
        check_finite(frames, state.received)?;
        if frames.rows() > 0 {
            if state.received == 0 {
                repeat(&mut state.frames, frames.row(0), self.plan.left);
            }
            state.frames.append(frames);
            state.received += frames.rows();
        }
        if last {
            self.pad_end(state);
        }
        let certain = if last || !self.plan.foresees() { self.complete_rows(state) } else { 0 };
        let scores = self.next_rows(state, certain)?;
        if last {
            *state = self.start();
        }
        Ok(LogPosteriors(scores))
    }
}

impl Network {
    /// Frames `[T x D]` with their edge frames repeated so that the network gives `ceil(T / subsampling)` rows. Values that
    /// are not finite pass: the loss shows them.
    pub(super) fn padded(&self, frames: &Matrix) -> Result<Matrix> {
        self.check_dim(frames)?;
        let mut state = self.start();
        if frames.rows() > 0 {
            repeat(&mut state.frames, frames.row(0), self.plan.left);
            state.frames.append(frames);
            state.received = frames.rows();
        }
        self.pad_end(&mut state);
        Ok(state.frames)
    }

    fn check_dim(&self, frames: &Matrix) -> Result<()> {
        let (expected, found) = (self.dims.input, frames.cols());
        if expected == found { Ok(()) } else { Err(Error::Shape { what: "values in a frame", expected, found }) }
    }

    /// Repeats the last frame until every row that is still due can be computed, and cuts what none of them sees.
    fn pad_end(&self, state: &mut StreamState) {
        let due = self.rows_out(state.received) - state.given;
        if due == 0 {
            return;
        }
        let needed = (due - 1) * self.plan.subsampling() + self.plan.span() + 1;
        let have = state.frames.rows();
        if have < needed {
            let edge = state.frames.row(have - 1).to_vec();
            repeat(&mut state.frames, &edge, needed - have);
        } else if have > needed {
            state.frames = state.frames.slice_rows(0..needed);
        }
    }

    /// Rows whose frames have all come.
    fn complete_rows(&self, state: &StreamState) -> usize {
        state.frames.rows().checked_sub(self.plan.span() + 1).map_or(0, |rest| rest / self.plan.subsampling() + 1)
    }

    /// Computes the next `rows` rows, and drops the frames that no later row sees.
    fn next_rows(&self, state: &mut StreamState, rows: usize) -> Result<Matrix> {
        let (step, span, cols) = (self.plan.subsampling(), self.plan.span(), self.dims.input);
        let block_rows = if self.plan.foresees() { rows.max(1) } else { BLOCK_ROWS };
        let mut scores = Vec::with_capacity(rows * self.dims.pdfs);
        for first in (0..rows).step_by(block_rows) {
            let frames = (block_rows.min(rows - first) - 1) * step + span + 1;
            let values = state.frames.as_slice()[first * step * cols..][..frames * cols].to_vec();
            let block = Rows { values: values.into(), segments: Segments::new([frames]) };
            let infer = |parameters: &[&[f32]]| self.plan.infer(parameters, block, &mut state.carries);
            scores.extend_from_slice(&self.parameters.with(infer)?.values);
        }
        kernels::log_softmax(&mut scores, self.dims.pdfs);
        state.frames.drop_front(rows * step);
        state.given += rows;
        Matrix::from_vec(rows, self.dims.pdfs, scores)
    }
}

/// Appends `row` so many times.
fn repeat(matrix: &mut Matrix, row: &[f32], times: usize) {
    (0..times).for_each(|_| matrix.push_row(row));
}
