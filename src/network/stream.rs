//! Scoring as frames arrive: the frames that later rows need again are kept, the utterance's edge frames are repeated.

use candle_core::{Device, Tensor};

use super::operation::NetworkOp;
use super::splice::Segments;
use super::{Acoustic, Context, Network, kernels, refused};
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
        Context { left: Some(self.plan.left), right: Some(right) }
    }

    fn start(&self) -> StreamState {
        StreamState { frames: Matrix::with_cols(self.dims.input), received: 0, given: 0 }
    }

    fn step(&self, state: &mut StreamState, frames: &Matrix, last: bool) -> Result<LogPosteriors> {
        self.check_dim(frames)?;
        if let Some(frame) = frames.first_not_finite() {
            return Err(Error::NotFinite { what: "features", frame: state.received + frame });
        }
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
        let scores = self.certain_rows(state)?;
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

    /// Computes every row whose frames have all come, and drops the frames that no later row sees.
    fn certain_rows(&self, state: &mut StreamState) -> Result<Matrix> {
        let (step, span) = (self.plan.subsampling(), self.plan.span());
        let rows = state.frames.rows().checked_sub(span + 1).map_or(0, |rest| rest / step + 1);
        let mut scores = Vec::with_capacity(rows * self.dims.pdfs);
        for first in (0..rows).step_by(BLOCK_ROWS) {
            let block = BLOCK_ROWS.min(rows - first);
            let frames = (first * step, (block - 1) * step + span + 1);
            let cols = self.dims.input;
            let values = state.frames.as_slice()[frames.0 * cols..(frames.0 + frames.1) * cols].to_vec();
            let frames_tensor = Tensor::from_vec(values, (frames.1, cols), &Device::Cpu).map_err(refused)?;
            let operation = NetworkOp::scores(&self.plan, self.parameters.lengths(), Segments::new([frames.1]));
            let block = frames_tensor.apply_op2_no_bwd(self.parameters.variable(), &operation).map_err(refused)?;
            scores.extend(self.to_matrix(&block)?.into_vec());
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
