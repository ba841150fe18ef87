//! What features to make: one plain struct, stored in bundles and in `train.toml`.
//!
//! Names and defaults follow Kaldi's `compute-fbank-feats` and `compute-mfcc-feats`, but for three: the sample rate is in
//! hertz as an integer, there is no dither unless asked for, and `snip_edges` is false, because the time grid of
//! [`FrameTiming`] needs frame `t` centred on its shift.

use serde::{Deserialize, Serialize};

use super::mel::MelBank;
use super::pitch::{self, PitchConfig};
use crate::Result;
use crate::error::require;
use crate::timing::FrameTiming;

/// Longest analysis frame accepted, in samples.
const MAX_LENGTH_SAMPLES: usize = 1 << 17;
/// Longest analysis frame accepted, in milliseconds.
const MAX_LENGTH_MS: f32 = 1000.0;
/// Most mel bands accepted.
const MAX_MEL_BINS: usize = 1024;
/// Longest sliding window accepted, in frames (almost three hours at 10 ms).
const MAX_WINDOW_FRAMES: usize = 1_000_000;

/// Which features a frame is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// Energies in mel bands, logarithmic or linear.
    Fbank,
    /// Mel-frequency cepstra: the cosine transform of log mel energies.
    Mfcc,
}

/// The taper over a frame of `N` samples; `a = 2 pi i / (N - 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Window {
    /// `(0.5 - 0.5 cos a)^0.85`: Kaldi's default, like Hamming but zero at the edges.
    Povey,
    /// `0.54 - 0.46 cos a`.
    Hamming,
    /// `0.5 - 0.5 cos a`.
    Hanning,
    /// No taper.
    Rectangular,
}

/// Which mean and deviation frames are normalised by. Read and written as `"none"`, `"global"`, `"utterance"`, `"speaker"`
/// or `{ sliding = { window_frames = 600, prior_frames = 200 } }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Normalisation {
    /// Frames stay as they are.
    None,
    /// Mean and deviation of the training set. Streams.
    Global,
    /// The mean moves with the audio; streams, and frame `t` depends on no later frame.
    ///
    /// With `n = min(t + 1, window_frames)` and the training set's `mean` and `deviation`, frame `t` becomes
    /// `(x[t] - m[t]) / deviation`, where `m[t] = (x[t - n + 1] + ... + x[t] + prior_frames * mean) / (n + prior_frames)`.
    ///
    /// After Kaldi's online CMVN (`OnlineCmvn` in `feat/online-feature.h`), with two differences: the prior always counts in
    /// full, where Kaldi lets it give way as the window fills, and the global deviation scales, where Kaldi by default does
    /// not scale: a variance from a short window is too noisy to divide by.
    Sliding {
        /// Most frames in the window, the current one included; at least 1.
        window_frames: usize,
        /// How many frames the global mean counts for, 0 to 1000000.
        prior_frames: usize,
    },
    /// Mean and deviation of the utterance itself. Cannot stream.
    Utterance,
    /// Mean and deviation of all utterances of the speaker, given by the caller. Cannot stream.
    Speaker,
}

/// All that turns samples into frames. [`FeatureConfig::default`] is Kaldi's fbank of 23 bands at 16 kHz, on the grid of
/// [`FrameTiming`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FeatureConfig {
    /// Fbank or MFCC.
    pub kind: FeatureKind,
    /// Samples per second of the audio that comes in.
    pub sample_rate_hz: u32,
    /// From one frame to the next, in milliseconds; cut down to whole samples.
    pub shift_ms: f32,
    /// Length of a frame, in milliseconds, at most 1000; cut down to whole samples.
    pub length_ms: f32,
    /// True: only frames that lie within the audio, `1 + (samples - length) / shift` of them, frame `t` beginning at sample
    /// `t * shift`. False: `(samples + shift / 2) / shift` frames, frame `t` centred on sample `t * shift + shift / 2`, the
    /// audio mirrored at both edges.
    pub snip_edges: bool,
    /// Deviation of the Gaussian noise added to each sample, on the scale of 16-bit integers; 0 is none, Kaldi's default is 1.
    pub dither: f32,
    /// Where the noise generator starts; the same seed gives the same noise.
    pub dither_seed: u32,
    /// Subtract the mean of each frame.
    pub remove_dc_offset: bool,
    /// `c` in `y[i] = x[i] - c x[i - 1]`, from 0 to 1; 0 is none.
    pub preemphasis: f32,
    /// The taper.
    pub window: Window,
    /// Pad frames with zeros to a power of two before the Fourier transform.
    pub round_to_power_of_two: bool,
    /// Mel bands, at least 3.
    pub mel_bins: usize,
    /// Lower edge of the lowest band, in hertz.
    pub low_hz: f32,
    /// Upper edge of the highest band, in hertz; 0 or less is an offset from half the sample rate.
    pub high_hz: f32,
    /// Put the log energy of the frame into column 0: before the bands (fbank, one column more), or instead of cepstrum 0
    /// (MFCC). Kaldi's default is false for fbank, true for MFCC; here it is false for both.
    pub use_energy: bool,
    /// Take that energy before pre-emphasis and taper (true) or after (false).
    pub raw_energy: bool,
    /// Lowest energy, on the squared scale of 16-bit integers; 0 leaves Kaldi's floor of 1.19e-7.
    pub energy_floor: f32,
    /// Fbank: logarithm of the band energies (true) or the energies (false). MFCC needs true.
    pub use_log: bool,
    /// Fbank: bands of the power spectrum (true) or of the magnitude spectrum (false). MFCC needs true.
    pub use_power: bool,
    /// MFCC: how many cepstra to keep, at most `mel_bins`.
    pub cepstra: usize,
    /// MFCC: `L` of the factor `1 + L/2 sin(pi i / L)` on cepstrum `i`; 0 is none.
    pub cepstral_lifter: f32,
    /// Orders of time derivatives appended, 0 to 2; pitch has its own.
    pub deltas: usize,
    /// What mean and deviation are taken out.
    pub normalisation: Normalisation,
    /// The pitch columns that are appended, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pitch: Option<PitchConfig>,
}

impl Default for FeatureConfig {
    fn default() -> Self {
        Self {
            kind: FeatureKind::Fbank,
            sample_rate_hz: 16_000,
            shift_ms: 10.0,
            length_ms: 25.0,
            snip_edges: false,
            dither: 0.0,
            dither_seed: 0,
            remove_dc_offset: true,
            preemphasis: 0.97,
            window: Window::Povey,
            round_to_power_of_two: true,
            mel_bins: 23,
            low_hz: 20.0,
            high_hz: 0.0,
            use_energy: false,
            raw_energy: true,
            energy_floor: 0.0,
            use_log: true,
            use_power: true,
            cepstra: 13,
            cepstral_lifter: 22.0,
            deltas: 0,
            normalisation: Normalisation::None,
            pitch: None,
        }
    }
}

impl FeatureConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) that names the first setting out of range, its value and what is allowed.
    pub fn check(&self) -> Result<()> {
        self.check_framing()?;
        self.check_spectrum()?;
        self.check_mel()?;
        self.check_cepstra()?;
        require(self.deltas <= 2, "deltas", self.deltas, "0, 1 or 2")?;
        self.pitch.as_ref().map_or(Ok(()), |pitch| pitch.check(self.sample_rate_hz))?;
        if let Normalisation::Sliding { window_frames, prior_frames } = self.normalisation {
            let allowed = (1..=MAX_WINDOW_FRAMES).contains(&window_frames);
            require(allowed, "window_frames", window_frames, "1 to 1000000 frames")?;
            require(prior_frames <= MAX_WINDOW_FRAMES, "prior_frames", prior_frames, "0 to 1000000 frames")?;
        }
        Ok(())
    }

    fn check_framing(&self) -> Result<()> {
        let rate = self.sample_rate_hz;
        require((100..=1_000_000).contains(&rate), "sample_rate_hz", rate, "100 to 1000000 Hz")?;
        let shift = self.shift_ms;
        require(shift.is_finite() && self.shift_samples() >= 1, "shift_ms", shift, "at least one sample")?;
        require(self.shift_samples() <= MAX_LENGTH_SAMPLES, "shift_ms", shift, "at most 131072 samples")?;
        let length = self.length_ms;
        require(length.is_finite() && self.length_samples() >= 2, "length_ms", length, "at least two samples")?;
        require(self.length_samples() <= MAX_LENGTH_SAMPLES, "length_ms", length, "at most 131072 samples")?;
        require(length <= MAX_LENGTH_MS, "length_ms", length, "at most 1000 ms")?;
        let even = self.fft_samples().is_multiple_of(2);
        require(even, "length_ms", length, "an even number of samples when round_to_power_of_two is false")
    }

    fn check_spectrum(&self) -> Result<()> {
        require(within(self.dither, 0.0, 32_768.0), "dither", self.dither, "0 to 32768")?;
        require(within(self.preemphasis, 0.0, 1.0), "preemphasis", self.preemphasis, "0 to 1")?;
        require(within(self.energy_floor, 0.0, f32::MAX), "energy_floor", self.energy_floor, "0 or more")
    }

    fn check_mel(&self) -> Result<()> {
        let nyquist_hz = self.nyquist_hz();
        require((3..=MAX_MEL_BINS).contains(&self.mel_bins), "mel_bins", self.mel_bins, "3 to 1024")?;
        let low = self.low_hz >= 0.0 && self.low_hz < nyquist_hz;
        require(low, "low_hz", self.low_hz, "0 or more and below half the sample rate")?;
        let top_hz = self.top_hz();
        let high = top_hz > self.low_hz && top_hz <= nyquist_hz;
        require(
            high,
            "high_hz",
            self.high_hz,
            "above low_hz, at most half the sample rate; 0 or less counts from there",
        )?;
        let full = MelBank::new(self, 1.0).every_band_has_weight();
        require(full, "mel_bins", self.mel_bins, "fewer bands or a longer frame: one band lies between two FFT bins")
    }

    fn check_cepstra(&self) -> Result<()> {
        if self.kind == FeatureKind::Fbank {
            return Ok(());
        }
        require((1..=self.mel_bins).contains(&self.cepstra), "cepstra", self.cepstra, "1 to mel_bins")?;
        let lifter = self.cepstral_lifter;
        require(within(lifter, 0.0, 1e6), "cepstral_lifter", lifter, "0 to 1000000")?;
        require(self.use_log, "use_log", self.use_log, "true, for MFCC are made from log energies")?;
        require(self.use_power, "use_power", self.use_power, "true, for MFCC are made from the power spectrum")
    }

    /// Values in a frame as extracted, deltas and pitch included.
    pub fn dim(&self) -> usize {
        self.static_dim() * (1 + self.deltas) + self.pitch.as_ref().map_or(0, |_| pitch::COLUMNS)
    }

    /// How the frames lie on the audio, when a search frame is `subsampling` feature frames.
    pub fn timing(&self, subsampling: u32) -> FrameTiming {
        FrameTiming {
            shift: self.shift_samples() as u32,
            length: self.length_samples() as u32,
            sample_rate: self.sample_rate_hz,
            subsampling,
        }
    }

    /// Values in a frame before deltas and pitch.
    pub(super) fn static_dim(&self) -> usize {
        match self.kind {
            FeatureKind::Fbank => self.mel_bins + usize::from(self.use_energy),
            FeatureKind::Mfcc => self.cepstra,
        }
    }

    pub(crate) fn shift_samples(&self) -> usize {
        samples(self.shift_ms, self.sample_rate_hz)
    }

    pub(super) fn length_samples(&self) -> usize {
        samples(self.length_ms, self.sample_rate_hz)
    }

    /// Points of the Fourier transform.
    pub(super) fn fft_samples(&self) -> usize {
        match self.round_to_power_of_two {
            true => self.length_samples().next_power_of_two(),
            false => self.length_samples(),
        }
    }

    pub(super) fn nyquist_hz(&self) -> f32 {
        0.5 * self.sample_rate_hz as f32
    }

    /// Upper edge of the highest band, the offset from Nyquist resolved.
    pub(super) fn top_hz(&self) -> f32 {
        if self.high_hz > 0.0 { self.high_hz } else { self.nyquist_hz() + self.high_hz }
    }
}

fn samples(milliseconds: f32, rate_hz: u32) -> usize {
    (f64::from(milliseconds) * f64::from(rate_hz) / 1000.0) as usize
}

fn within(value: f32, low: f32, high: f32) -> bool {
    (low..=high).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut FeatureConfig)) -> String {
        let mut config = FeatureConfig::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn right_settings_survive_toml_and_json() {
        for pitch in [None, Some(PitchConfig::default())] {
            let normalisation = Normalisation::Sliding { window_frames: 3, prior_frames: 1 };
            let config = FeatureConfig { pitch, normalisation, ..FeatureConfig::default() };
            config.check().unwrap();
            let text = toml::to_string(&config).unwrap();
            assert_eq!(text.contains("pitch"), config.pitch.is_some());
            assert_eq!(toml::from_str::<FeatureConfig>(&text).unwrap(), config);
            let text = serde_json::to_string(&config).unwrap();
            assert_eq!(serde_json::from_str::<FeatureConfig>(&text).unwrap(), config);
        }
    }

    #[test]
    fn a_short_file_keeps_the_other_defaults() {
        let text = "kind = \"mfcc\"\nnormalisation = { sliding = { window_frames = 300, prior_frames = 100 } }";
        let config: FeatureConfig = toml::from_str(text).unwrap();
        let normalisation = Normalisation::Sliding { window_frames: 300, prior_frames: 100 };
        assert_eq!(config, FeatureConfig { kind: FeatureKind::Mfcc, normalisation, ..FeatureConfig::default() });
        assert_eq!(config.dim(), 13);
        let config: FeatureConfig = toml::from_str("pitch = {}\ndeltas = 2").unwrap();
        assert_eq!((config.pitch, config.mel_bins), (Some(PitchConfig::default()), 23));
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(toml::from_str::<FeatureConfig>("mel_bands = 40").is_err());
        let text = "normalisation = { sliding = { window_frames = 3, prior_frames = 1, decay = 2 } }";
        assert!(toml::from_str::<FeatureConfig>(text).is_err());
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert!(refused(|c| c.shift_ms = 0.0).starts_with("shift_ms = 0:"));
        assert!(refused(|c| c.shift_ms = f32::INFINITY).starts_with("shift_ms = inf:"));
        assert!(refused(|c| c.length_ms = f32::NAN).starts_with("length_ms = NaN:"));
        assert!(refused(|c| c.length_ms = 1e30).starts_with("length_ms"));
        assert_eq!(refused(|c| c.length_ms = 8000.0), "length_ms = 8000: expected at most 1000 ms");
        assert!(refused(|c| c.sample_rate_hz = 0).starts_with("sample_rate_hz = 0:"));
        assert!(refused(|c| c.high_hz = 9000.0).starts_with("high_hz = 9000:"));
        assert!(refused(|c| c.high_hz = f32::NAN).starts_with("high_hz = NaN:"));
        assert!(refused(|c| c.low_hz = -1.0).starts_with("low_hz = -1:"));
        assert!(refused(|c| c.mel_bins = usize::MAX).starts_with("mel_bins"));
        assert!(refused(|c| c.mel_bins = 200).contains("between two FFT bins"));
        assert!(refused(|c| (c.pitch, c.sample_rate_hz) = (Some(PitchConfig::default()), 3999)).contains("with pitch"));
        assert!(refused(|c| c.deltas = 3).starts_with("deltas = 3:"));
        assert!(refused(|c| (c.kind, c.cepstra) = (FeatureKind::Mfcc, 24)).starts_with("cepstra = 24:"));
        assert!(refused(|c| (c.kind, c.use_log) = (FeatureKind::Mfcc, false)).starts_with("use_log = false:"));
        assert!(refused(|c| (c.length_ms, c.round_to_power_of_two) = (25.07, false)).starts_with("length_ms"));
        let sliding = Normalisation::Sliding { window_frames: 0, prior_frames: 1 };
        assert!(refused(|c| c.normalisation = sliding).starts_with("window_frames = 0:"));
        let sliding = Normalisation::Sliding { window_frames: 1, prior_frames: 99_999_999_999 };
        let prior = refused(|c| c.normalisation = sliding);
        assert_eq!(prior, "prior_frames = 99999999999: expected 0 to 1000000 frames");
    }

    #[test]
    fn times_are_whole_samples() {
        let config = FeatureConfig { sample_rate_hz: 22_050, ..FeatureConfig::default() };
        let timing = config.timing(3);
        assert_eq!((timing.shift, timing.length, timing.search_shift()), (220, 551, 660));
    }
}
