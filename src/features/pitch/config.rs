//! What pitch is looked for, and how; `pitch = {}` in a file keeps every default.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::error::require;

/// Lowest sample rate of audio that pitch is tracked in: below, half of what it looks at is missing.
const LOWEST_RATE_HZ: u32 = 4000;

/// Pitch columns: log F0 without its moving mean, voicing (0 to 1), slope of log F0 (a frame). They follow the other columns
/// and their deltas, have no deltas of their own, and are normalised as the others are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PitchConfig {
    /// Lowest F0, 20 to 800 Hz.
    pub low_hz: f32,
    /// Highest F0, above `low_hz`, at most 800 Hz.
    pub high_hz: f32,
    /// What a change of F0 from one frame to the next costs, times its squared natural log; a frame without any correlation costs
    /// 1. 0.001 to 1000.
    pub jump_penalty: f32,
    /// Frames heard before a frame's F0 is decided on, 0 to 1000.
    pub look_ahead_frames: usize,
    /// Frames, the frame in the middle, whose mean log F0, weighted by voicing, is taken out; 0 leaves log F0 as it is (of Hz).
    /// An odd number to 10001 otherwise.
    pub mean_frames: usize,
}

impl Default for PitchConfig {
    fn default() -> Self {
        Self { low_hz: 60.0, high_hz: 500.0, jump_penalty: 0.1, look_ahead_frames: 20, mean_frames: 151 }
    }
}

impl PitchConfig {
    /// Checks every setting, for audio of `rate_hz`.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) that names the first setting out of range, its value and what is allowed.
    pub fn check(&self, rate_hz: u32) -> Result<()> {
        require(rate_hz >= LOWEST_RATE_HZ, "sample_rate_hz", rate_hz, "4000 Hz or more with pitch")?;
        let (low_hz, high_hz) = (self.low_hz, self.high_hz);
        require((20.0..=800.0).contains(&low_hz), "pitch.low_hz", low_hz, "20 to 800 Hz")?;
        let above = high_hz > low_hz && high_hz <= 800.0;
        require(above, "pitch.high_hz", high_hz, "above pitch.low_hz and at most 800 Hz")?;
        let penalty = self.jump_penalty;
        require((0.001..=1000.0).contains(&penalty), "pitch.jump_penalty", penalty, "0.001 to 1000")?;
        let ahead = self.look_ahead_frames;
        require(ahead <= 1000, "pitch.look_ahead_frames", ahead, "0 to 1000 frames")?;
        let frames = self.mean_frames;
        let odd = frames == 0 || (frames % 2 == 1 && frames <= 10_001);
        require(odd, "pitch.mean_frames", frames, "0, or an odd number of frames to 10001")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        PitchConfig::default().check(8000).unwrap();
        let refused = |text: &str| toml::from_str::<PitchConfig>(text).unwrap().check(8000).unwrap_err().to_string();
        assert_eq!(refused("low_hz = 5.0"), "pitch.low_hz = 5: expected 20 to 800 Hz");
        assert!(refused("high_hz = 60.0").starts_with("pitch.high_hz = 60:"));
        assert!(refused("high_hz = nan").starts_with("pitch.high_hz = NaN:"));
        assert!(refused("jump_penalty = 0.0").starts_with("pitch.jump_penalty = 0:"));
        assert!(refused("look_ahead_frames = 5000").starts_with("pitch.look_ahead_frames = 5000:"));
        assert!(refused("mean_frames = 150").starts_with("pitch.mean_frames = 150:"));
        assert!(PitchConfig::default().check(2000).unwrap_err().to_string().starts_with("sample_rate_hz = 2000:"));
        assert!(toml::from_str::<PitchConfig>("min_hz = 5.0").is_err());
    }
}
