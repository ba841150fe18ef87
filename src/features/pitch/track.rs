//! Costs of all lags, frame by frame -> the lag of each frame.
//!
//! This is a recursion of its own, not `dp`'s: its states are lags, not labels, every lag may follow every other, and what that costs
//! is the square of their distance. A graph of it would have 180 thousand arcs a frame; the square has the minimum over all of
//! them in one pass (the lower envelope of parabolas: Felzenszwalb and Huttenlocher 2012). And features are made before there is
//! any graph: they stand in a row above `dp`.

use std::collections::VecDeque;

use super::config::PitchConfig;
use super::correlate::LAG_RATIO;

/// The best path through the lags so far.
///
/// ```text
/// best[t][j] = cost[t][j] + min over i of (best[t - 1][i] + curvature (i - j)^2),  curvature = jump_penalty ln(LAG_RATIO)^2
/// ```
pub(super) struct Tracker {
    curvature: f64,
    look_ahead: usize,
    /// `best` of the newest frame less its minimum, `[lags]`; empty before the first.
    best: Vec<f64>,
    /// `[lags]`, for the next frame.
    next: Vec<f64>,
    /// The minimising `i` of the last frames, newest last, `[lags]` each.
    back: VecDeque<Vec<u16>>,
    envelope: Vec<Parabola>,
}

/// A part of the lower envelope.
#[derive(Debug, Clone, Copy)]
struct Parabola {
    /// Where its lowest point is.
    at: usize,
    /// Its value there.
    value: f64,
    /// From where on it is the lowest of all.
    from: f64,
}

impl Tracker {
    /// A tracker of so many `lags` that is asked for no more than `look_ahead_frames` back.
    pub(super) fn new(config: &PitchConfig, lags: usize) -> Self {
        Self {
            curvature: f64::from(config.jump_penalty) * LAG_RATIO.ln() * LAG_RATIO.ln(),
            look_ahead: config.look_ahead_frames,
            best: Vec::new(),
            next: vec![0.0; lags],
            back: VecDeque::new(),
            envelope: Vec::new(),
        }
    }

    /// One frame on: `cost` of each lag, `[lags]`.
    pub(super) fn step(&mut self, cost: &[f64]) {
        if self.best.is_empty() {
            self.best.extend_from_slice(cost);
            return;
        }
        let mut back =
            if self.back.len() > self.look_ahead { self.back.pop_front().unwrap_or_default() } else { Vec::new() };
        back.clear();
        self.lower_envelope();
        let mut part = 0;
        for (j, (next, &cost)) in self.next.iter_mut().zip(cost).enumerate() {
            while self.envelope.get(part + 1).is_some_and(|later| later.from <= j as f64) {
                part += 1;
            }
            let Parabola { at, value, .. } = self.envelope[part];
            let away = at as f64 - j as f64;
            *next = cost + value + self.curvature * away * away;
            back.push(at as u16);
        }
        let least = self.next.iter().copied().fold(f64::INFINITY, f64::min);
        self.best.iter_mut().zip(&self.next).for_each(|(best, next)| *best = next - least);
        self.back.push_back(back);
    }

    /// The lag, `frames` before the newest frame, of the path that is the best by now.
    pub(super) fn before(&self, frames: usize) -> usize {
        let newest = (0..self.best.len()).min_by(|&a, &b| self.best[a].total_cmp(&self.best[b])).unwrap_or(0);
        self.back.iter().rev().take(frames).fold(newest, |lag, back| back[lag].into())
    }

    /// The parabolas `best[i] + curvature (x - i)^2` that are the lowest somewhere, from left to right. Those of `i < k` meet at
    ///
    /// ```text
    /// x = (best[k] - best[i]) / (2 curvature (k - i)) + (k + i) / 2
    /// ```
    fn lower_envelope(&mut self) {
        self.envelope.clear();
        for (at, &value) in self.best.iter().enumerate() {
            let mut from = f64::NEG_INFINITY;
            while let Some(last) = self.envelope.last() {
                let (apart, middle) = ((at - last.at) as f64, 0.5 * (at + last.at) as f64);
                from = (value - last.value) / (2.0 * self.curvature * apart) + middle;
                if from > last.from {
                    break;
                }
                self.envelope.pop();
                from = f64::NEG_INFINITY;
            }
            self.envelope.push(Parabola { at, value, from });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const LAGS: usize = 5;

    fn config(jump_penalty: f32) -> PitchConfig {
        PitchConfig { jump_penalty, ..PitchConfig::default() }
    }

    fn costs(frames: usize, random: &mut Random) -> Vec<Vec<f64>> {
        (0..frames).map(|_| (0..LAGS).map(|_| f64::from(random.normal())).collect()).collect()
    }

    /// The cheapest of all paths, one by one.
    fn by_enumeration(costs: &[Vec<f64>], curvature: f64) -> Vec<usize> {
        let path =
            |number: usize| -> Vec<usize> { (0..costs.len()).map(|t| number / LAGS.pow(t as u32) % LAGS).collect() };
        let cost = |path: &[usize]| {
            let frames: f64 = path.iter().zip(costs).map(|(&lag, costs)| costs[lag]).sum();
            frames + path.windows(2).map(|pair| curvature * (pair[0] as f64 - pair[1] as f64).powi(2)).sum::<f64>()
        };
        (0..LAGS.pow(costs.len() as u32)).map(path).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap()
    }

    #[test]
    fn the_path_is_the_best_of_all() {
        let mut random = Random::new(5);
        for round in 0..200 {
            let frames = 1 + round % 6;
            let costs = costs(frames, &mut random);
            let mut tracker = Tracker::new(&config([40.0, 4000.0, 40_000.0][round % 3]), LAGS);
            costs.iter().for_each(|cost| tracker.step(cost));
            let found: Vec<usize> = (0..frames).rev().map(|back| tracker.before(back)).collect();
            assert_eq!(found, by_enumeration(&costs, tracker.curvature), "{costs:?}");
        }
    }

    #[test]
    fn memory_is_the_look_ahead() {
        let mut random = Random::new(6);
        let mut tracker = Tracker::new(&PitchConfig { look_ahead_frames: 3, ..config(1.0) }, LAGS);
        costs(1000, &mut random).iter().for_each(|cost| tracker.step(cost));
        assert!(tracker.back.len() <= 4 && tracker.best.iter().all(|best| (0.0..100.0).contains(best)));
    }
}
