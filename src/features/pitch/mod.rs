//! Samples -> pitch, three columns a frame: log F0 without its moving mean, the probability of voicing, the slope of log F0.
//!
//! After Ghahremani et al. (ICASSP 2014), Kaldi's pitch tracker. `lowpass` leaves what is below 1 kHz; `correlate` compares two
//! windows of a frame one lag apart; `track` finds the smoothest strong path through the lags; `contour` makes columns of it.
//! With `c[t][j]` the correlation at lag `j` and `w[t]` what a frame counts, less when it is quiet:
//!
//! ```text
//! w[t]       = e[t] / (e[t] + BALLAST mean(e[0..=t])),  e[t] the power of frame t
//! cost[t][j] = 1 - w[t] c[t][j] (1 - SOFT_LOW_HZ lag[j])
//! best[t][j] = cost[t][j] + min over i of (best[t - 1][i] + jump_penalty ln(lag[i] / lag[j])^2)
//! ```
//!
//! A frame leaves `look_ahead_frames + 2 + mean_frames / 2` frames late, whatever the blocks. Where the windows would reach
//! beyond the audio, the nearest windows within it stand for them. Everything but a floor at one step of 16 bits is
//! independent of loudness, and the vocal tract does not enter.

mod config;
mod contour;
mod correlate;
mod lowpass;
mod track;

use std::collections::VecDeque;

use super::config::FeatureConfig;
use super::framing::Input;
use crate::matrix::Matrix;
pub use config::PitchConfig;
use contour::Contour;
use correlate::{Correlator, FLOOR};
use lowpass::Lowpass;
use track::Tracker;

/// Columns that pitch adds to a frame.
pub(super) const COLUMNS: usize = 3;
/// Share of the mean power at which a frame counts half.
const BALLAST: f64 = 0.1;
/// The frequency at whose lag a correlation counts for nothing: of a lag and its multiples, the shortest wins.
const SOFT_LOW_HZ: f64 = 10.0;

/// Tracks the pitch of one stream of audio, beside the frames of a `Framer`.
pub(super) struct Pitch {
    lowpass: Lowpass,
    correlator: Correlator,
    tracker: Tracker,
    contour: Contour,
    look_ahead: usize,
    /// Smoothed samples that a frame to come still needs, and the position of the first.
    kept: Vec<f32>,
    kept_from: usize,
    /// Centre of frame 0 and step from frame to frame, in samples of the audio.
    grid: (usize, usize),
    /// The next frame to correlate.
    next: usize,
    /// Sum of `e[t]` of the frames so far.
    power: f64,
    /// Correlations of the frames whose lag is not decided, `[lags]` each.
    undecided: VecDeque<Vec<f32>>,
    cost: Vec<f64>,
    /// Finished rows that their frame has not been there for.
    ready: Matrix,
    /// Frames that wait for their row.
    waiting: Matrix,
}

impl Pitch {
    /// A tracker for a checked `config`, at the start of its audio, beside frames of `columns` values.
    pub(super) fn new(config: &FeatureConfig, pitch: &PitchConfig, columns: usize) -> Self {
        let lowpass = Lowpass::new(config.sample_rate_hz);
        let correlator = Correlator::new(pitch, lowpass.rate_hz());
        let reach = if config.snip_edges { config.length_samples() } else { config.shift_samples() };
        Self {
            tracker: Tracker::new(pitch, correlator.lags()),
            contour: Contour::new(pitch.mean_frames),
            look_ahead: pitch.look_ahead_frames,
            kept: Vec::new(),
            kept_from: 0,
            grid: (reach / 2, config.shift_samples()),
            next: 0,
            power: 0.0,
            undecided: VecDeque::new(),
            cost: vec![0.0; correlator.lags()],
            ready: Matrix::with_cols(COLUMNS),
            waiting: Matrix::with_cols(columns),
            lowpass,
            correlator,
        }
    }

    /// Takes in the next `samples` (-1..1) of the audio, of which there are `frames` frames by now.
    pub(super) fn push(&mut self, samples: &[f32], frames: usize) {
        self.lowpass.push(samples, &mut self.kept);
        self.advance(frames, Input::Continues);
    }

    /// The audio is over, and had `frames` frames.
    pub(super) fn finish(&mut self, frames: usize) {
        self.lowpass.finish(&mut self.kept);
        self.advance(frames, Input::Ended);
    }

    /// Puts the columns beside the next `frames`; those whose row is not there yet wait.
    pub(super) fn beside(&mut self, frames: &Matrix) -> Matrix {
        self.waiting.append(frames);
        let count = self.waiting.rows().min(self.ready.rows());
        let columns = self.waiting.cols();
        let mut out = Matrix::zeros(count, columns + COLUMNS);
        for t in 0..count {
            let (frame, pitch) = out.row_mut(t).split_at_mut(columns);
            frame.copy_from_slice(self.waiting.row(t));
            pitch.copy_from_slice(self.ready.row(t));
        }
        self.waiting.drop_front(count);
        self.ready.drop_front(count);
        out
    }

    fn advance(&mut self, frames: usize, input: Input) {
        let mut decided = Matrix::with_cols(2);
        while self.next < frames
            && let Some(begin) = self.begin(input)
        {
            self.correlate(begin);
            self.next += 1;
            if self.undecided.len() > self.look_ahead {
                self.decide(&mut decided);
            }
        }
        if input == Input::Ended {
            (0..self.undecided.len()).for_each(|_| self.decide(&mut decided));
        }
        self.ready.append(&self.contour.push(&decided, input));
        self.forget();
    }

    /// Where the windows of the next frame begin in the smoothed samples; `None` when they are not all there yet.
    fn begin(&self, input: Input) -> Option<usize> {
        let (begin, span) = (self.centred_begin(), self.correlator.span());
        let received = self.kept_from + self.kept.len();
        match input {
            Input::Continues => (begin + span <= received).then_some(begin),
            Input::Ended => Some(begin.min(received.saturating_sub(span))),
        }
    }

    /// The same when there is audio enough behind it.
    fn centred_begin(&self) -> usize {
        let (first, shift) = self.grid;
        let centre = (first + self.next * shift) / self.lowpass.step();
        centre.saturating_sub(self.correlator.span() / 2)
    }

    /// Correlates the next frame and goes one step on in the search.
    fn correlate(&mut self, begin: usize) {
        let from = begin - self.kept_from;
        let part = &self.kept[from..self.kept.len().min(from + self.correlator.span())];
        let mut row = vec![0.0; self.cost.len()];
        let power = self.correlator.compute(part, &mut row);
        self.power += power;
        let mean = self.power / (self.next + 1) as f64;
        let weight = power / (power + BALLAST * mean + FLOOR);
        for ((cost, &correlation), lag_s) in self.cost.iter_mut().zip(&row).zip(self.correlator.lags_s()) {
            *cost = 1.0 - weight * f64::from(correlation) * (1.0 - SOFT_LOW_HZ * lag_s);
        }
        self.tracker.step(&self.cost);
        self.undecided.push_back(row);
    }

    /// Decides on the oldest frame that is undecided: its voicing and log F0.
    fn decide(&mut self, decided: &mut Matrix) {
        let lag = self.tracker.before(self.undecided.len() - 1);
        if let Some(row) = self.undecided.pop_front() {
            let hz = 1.0 / self.correlator.lag_s(lag);
            decided.push_row(&[voicing(row[lag]), hz.ln() as f32]);
        }
    }

    /// Lets go of the samples that no later frame needs; the last ones may be looked at again when the audio ends.
    fn forget(&mut self) {
        let received = self.kept_from + self.kept.len();
        let needed = self.centred_begin().min(received.saturating_sub(self.correlator.span())).max(self.kept_from);
        self.kept.drain(..needed - self.kept_from);
        self.kept_from = needed;
    }
}

/// The probability that a frame is voiced by its correlation `c` at the chosen lag, as Ghahremani et al. fitted it:
///
/// ```text
/// r = -5.2 + 5.4 exp(7.5 (c - 1)) + 4.8 c - 2 exp(-10 c) + 4.2 exp(20 (c - 1)),  p = 1 / (1 + exp(-r))
/// ```
fn voicing(correlation: f32) -> f32 {
    let c = f64::from(correlation.clamp(0.0, 1.0));
    let r = -5.2 + 5.4 * (7.5 * (c - 1.0)).exp() + 4.8 * c - 2.0 * (-10.0 * c).exp() + 4.2 * (20.0 * (c - 1.0)).exp();
    (1.0 / (1.0 + (-r).exp())) as f32
}

#[cfg(test)]
mod tests;
