//! How frames lie on the audio. Times are samples throughout; seconds are made only when they are printed.

/// The analysis grid: every value but `subsampling` counts samples.
///
/// Search frame `t` stands for the `search_shift()` samples `[t * search_shift(), (t + 1) * search_shift())`: the grid of
/// features made with `snip_edges = false`, whose frame `t` is centred on the middle of its shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTiming {
    /// Frame shift in samples.
    pub shift: u32,
    /// Frame length in samples.
    pub length: u32,
    /// Samples in a second.
    pub sample_rate: u32,
    /// Feature frames in a search frame.
    pub subsampling: u32,
}

impl FrameTiming {
    /// Samples from one search frame to the next.
    pub fn search_shift(&self) -> u64 {
        u64::from(self.shift) * u64::from(self.subsampling)
    }

    /// The first sample that search frame `frame` stands for.
    pub fn start_sample(&self, frame: usize) -> u64 {
        frame as u64 * self.search_shift()
    }

    /// Length of a search frame in milliseconds.
    pub fn search_shift_ms(&self) -> f64 {
        1000.0 * self.search_shift() as f64 / f64::from(self.sample_rate)
    }
}
