//! A frame of smoothed samples -> how well it repeats itself at each lag.

use super::config::PitchConfig;
use super::lowpass::sinc;
use crate::features::mel::dot;

/// Length of each of the two windows, in seconds.
const WINDOW_S: f64 = 0.025;
/// From one lag to the next: half a per cent, as in Kaldi.
pub(super) const LAG_RATIO: f64 = 1.005;
/// Power of a signal of one step of 16 bits; what is below repeats nothing.
pub(super) const FLOOR: f64 = 1.0 / (32_768.0 * 32_768.0);
/// Whole lags on either side that a lag between is interpolated from.
const REACH: usize = 5;

/// Correlates two windows, one lag apart, that lie centred on the frame.
///
/// ```text
/// c(l) = sum over n of a[n] b[n] / (sqrt(sum over n of a[n]^2 * sum over n of b[n]^2) + N FLOOR)
/// ```
///
/// where `a` and `b` are the `N` samples from `(L - l) / 2` and from `l` samples further on, of the span of `N + L` samples
/// less its mean; `L` is the longest lag. Between whole lags `c` is interpolated by a tapered sine.
pub(super) struct Correlator {
    window: usize,
    /// Shortest and longest whole lag, in smoothed samples.
    whole: (usize, usize),
    /// In seconds, from short to long, `[lags]`.
    lags_s: Vec<f64>,
    /// How each lag follows from the whole ones.
    between: Vec<Between>,
    /// The span less its mean, `[N + L]`.
    span: Vec<f32>,
    /// Sums of the squares before each sample of the span, `[N + L + 1]`.
    squares: Vec<f64>,
    /// `c` at whole lags.
    correlations: Vec<f32>,
}

/// Weights on whole lags from `first` on, counted from the shortest.
struct Between {
    first: usize,
    taps: Vec<f32>,
}

impl Correlator {
    /// Tables for smoothed samples of `rate_hz`.
    pub(super) fn new(config: &PitchConfig, rate_hz: f64) -> Self {
        let longest_s = 1.0 / f64::from(config.low_hz);
        let first_s = 1.0 / f64::from(config.high_hz);
        let lags_s: Vec<f64> = std::iter::successors(Some(first_s), |lag| Some(lag * LAG_RATIO))
            .take_while(|&lag| lag <= longest_s)
            .collect();
        let shortest = ((first_s * rate_hz) as usize).saturating_sub(REACH - 1);
        let longest = (longest_s * rate_hz) as usize + REACH;
        let window = (WINDOW_S * rate_hz).round() as usize;
        Self {
            window,
            whole: (shortest, longest),
            between: lags_s.iter().map(|lag| Between::new(lag * rate_hz, shortest)).collect(),
            lags_s,
            span: vec![0.0; window + longest],
            squares: vec![0.0; window + longest + 1],
            correlations: vec![0.0; longest - shortest + 1],
        }
    }

    /// How many lags there are.
    pub(super) fn lags(&self) -> usize {
        self.lags_s.len()
    }

    /// All lags, in seconds, from short to long.
    pub(super) fn lags_s(&self) -> &[f64] {
        &self.lags_s
    }

    /// One of them.
    pub(super) fn lag_s(&self, lag: usize) -> f64 {
        self.lags_s[lag]
    }

    /// Samples that a frame takes, `N + L`.
    pub(super) fn span(&self) -> usize {
        self.span.len()
    }

    /// Fills `row` with `c` at every lag; the answer is the mean square of the span. When `samples` are fewer than the span,
    /// zeros follow them.
    pub(super) fn compute(&mut self, samples: &[f32], row: &mut [f32]) -> f64 {
        let power = self.centre(samples);
        let (shortest, longest) = self.whole;
        let floor = FLOOR * self.window as f64;
        for (correlation, lag) in self.correlations.iter_mut().zip(shortest..) {
            let a = (longest - lag) / 2;
            let (end, b) = (a + self.window, a + lag);
            let product = f64::from(dot(&self.span[a..end], &self.span[b..b + self.window]));
            let energy = |from: usize| self.squares[from + self.window] - self.squares[from];
            *correlation = (product / ((energy(a) * energy(b)).sqrt() + floor)) as f32;
        }
        for (value, between) in row.iter_mut().zip(&self.between) {
            *value = dot(&between.taps, &self.correlations[between.first..between.first + between.taps.len()]);
        }
        power
    }

    /// Puts `samples` less their mean into the span, and the sums of its squares; the answer is its mean square.
    fn centre(&mut self, samples: &[f32]) -> f64 {
        let mean = samples.iter().copied().map(f64::from).sum::<f64>() / samples.len().max(1) as f64;
        self.span.fill(0.0);
        self.span.iter_mut().zip(samples).for_each(|(value, &sample)| *value = (f64::from(sample) - mean) as f32);
        let mut sum = 0.0;
        for (square, &value) in self.squares[1..].iter_mut().zip(&self.span) {
            sum += f64::from(value) * f64::from(value);
            *square = sum;
        }
        sum / self.span.len() as f64
    }
}

impl Between {
    /// The lag of `lag` samples: weights `sinc(lag - n) (1 + cos(pi (lag - n) / REACH)) / 2`, scaled to sum 1.
    fn new(lag: f64, shortest: usize) -> Self {
        let below = lag as usize;
        let first = (below + 1).saturating_sub(REACH).max(shortest);
        let weight = |n: usize| {
            let away = lag - n as f64;
            sinc(away) * 0.5 * (1.0 + (std::f64::consts::PI * away / REACH as f64).cos())
        };
        let taps: Vec<f64> = (first..=below + REACH).map(weight).collect();
        let sum: f64 = taps.iter().sum();
        Self { first: first - shortest, taps: taps.iter().map(|tap| (tap / sum) as f32).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smooth(n: f64) -> f32 {
        ((n * 0.31).sin() + 0.5 * (n * 0.77 + 1.0).sin() + 0.25 * (n * 0.11).cos()) as f32
    }

    #[test]
    fn whole_lags_are_as_the_formula_says() {
        let mut correlator = Correlator::new(&PitchConfig::default(), 4000.0);
        let samples: Vec<f32> = (0..correlator.span()).map(|n| 0.1 + smooth(n as f64)).collect();
        let mut row = vec![0.0; correlator.lags()];
        correlator.compute(&samples, &mut row);
        let mean = samples.iter().copied().map(f64::from).sum::<f64>() / samples.len() as f64;
        let (shortest, longest) = correlator.whole;
        for (lag, &found) in (shortest..=longest).zip(&correlator.correlations) {
            let a = |n: usize| f64::from(samples[(longest - lag) / 2 + n]) - mean;
            let b = |n: usize| a(n + lag);
            let sum = |term: &dyn Fn(usize) -> f64| (0..100).map(term).sum::<f64>();
            let energies = sum(&|n| a(n) * a(n)) * sum(&|n| b(n) * b(n));
            let expected = sum(&|n| a(n) * b(n)) / energies.sqrt();
            assert!((f64::from(found) - expected).abs() < 1e-4, "lag {lag}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_tone_repeats_itself_at_its_period_between_whole_lags() {
        for (rate_hz, hz) in [(4000.0, 70.0), (4000.0, 123.0), (4009.1, 251.0), (5512.5, 397.0)] {
            let mut correlator = Correlator::new(&PitchConfig::default(), rate_hz);
            let tone = |n: usize| (std::f64::consts::TAU * hz * n as f64 / rate_hz).sin() as f32;
            let samples: Vec<f32> = (0..correlator.span()).map(tone).collect();
            let mut row = vec![0.0; correlator.lags()];
            correlator.compute(&samples, &mut row);
            let first = row.iter().position(|&c| c > 0.99).unwrap();
            let peak = (first..row.len()).take_while(|&lag| row[lag] > 0.99).max_by(|&a, &b| row[a].total_cmp(&row[b]));
            let found = 1.0 / correlator.lag_s(peak.unwrap());
            assert!((found / hz - 1.0).abs() < 0.008, "{found} Hz, not {hz}");
        }
    }

    #[test]
    fn silence_and_too_little_repeat_nothing() {
        let mut correlator = Correlator::new(&PitchConfig::default(), 4000.0);
        let mut row = vec![1.0; correlator.lags()];
        for samples in [&[][..], &[0.3], &[0.3; 50], &[0.3; 171]] {
            assert!(correlator.compute(samples, &mut row) < 1e-12);
            assert!(row.iter().all(|c| c.abs() < 1e-3), "{row:?}");
        }
    }
}
