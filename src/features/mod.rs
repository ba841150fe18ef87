//! Samples -> frames, block by block: log mel filter banks and MFCC that equal Kaldi's, deltas, normalisation.
//!
//! Samples between -1 and 1 come from `audio`; frames `[T x D]` go to the network or to the Gaussian mixtures. Kaldi works on
//! 16-bit integers, so samples are multiplied by 32768 inside. [`Frontend`] is the one path from samples to frames:
//! [`extract`] pushes a whole utterance through it, so streamed and whole frames are the same to the bit.
//!
//! Journey of a frame: `framing` cuts it out, `spectrum` tapers and transforms it, `mel` sums it into bands (`fbank`), `mfcc`
//! takes cepstra of those, `post` appends deltas, `pitch` its columns, `cmvn` normalises. Nothing is allocated per frame before
//! `post`.
//!
//! Finite samples give finite frames. A NaN in the samples gives NaN in the frames that it touches (and, with a sliding mean,
//! in those after them; with pitch, in neighbours too): [`extract`] refuses, a [`Frontend`] passes it on for [`Matrix::first_not_finite`] to find.

mod cmvn;
mod config;
mod fbank;
mod framing;
mod mel;
mod mfcc;
mod pitch;
mod post;
mod spectrum;

pub use cmvn::{Moments, normalise};
pub use config::{FeatureConfig, FeatureKind, Normalisation, Window};
pub use pitch::PitchConfig;
pub use post::splice;

use crate::error::require;
use crate::matrix::Matrix;
use crate::{Error, Result};
use cmvn::Normaliser;
use fbank::Fbank;
use framing::{Framer, Input};
use mfcc::Mfcc;
use pitch::Pitch;
use post::Deltas;

/// Samples framed at a time: memory beyond the output does not grow with the block pushed.
const BLOCK_SAMPLES: usize = 1 << 14;

/// Features of a whole utterance, `[T x D]` with `D` = [`FeatureConfig::dim`]: deltas included, not normalised.
///
/// `samples` are in -1..1 at `config.sample_rate_hz`. With `snip_edges`, fewer samples than one frame give no frames; without,
/// fewer than half a shift do.
///
/// # Errors
/// [`Error::Setting`] when `config` is not right, [`Error::NotFinite`] when a sample is not a finite number.
pub fn extract(config: &FeatureConfig, samples: &[f32]) -> Result<Matrix> {
    extract_warped(config, samples, 1.0)
}

/// The same as if the speaker's vocal tract were `warp` times as long, 0.5 to 2: every sound lower by that factor, as far as the
/// mel bands tell; pitch stays as it is.
///
/// # Errors
/// As [`extract`].
pub fn extract_warped(config: &FeatureConfig, samples: &[f32], warp: f32) -> Result<Matrix> {
    require((0.5..=2.0).contains(&warp), "warp", warp, "a factor from 0.5 to 2")?;
    let plain = FeatureConfig { normalisation: Normalisation::None, ..config.clone() };
    let mut frontend = Frontend::warped(&plain, None, warp.into())?;
    if let Some(position) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(Error::NotFinite { what: "samples", frame: position / plain.shift_samples() });
    }
    let mut frames = frontend.push(samples);
    frames.append(&frontend.finish());
    Ok(frames)
}

/// What is computed of each frame on its own.
enum Static {
    Fbank(Fbank),
    Mfcc(Mfcc),
}

impl Static {
    fn compute(&mut self, frame: &mut [f32], row: &mut [f32]) {
        match self {
            Self::Fbank(fbank) => fbank.compute(frame, row),
            Self::Mfcc(mfcc) => mfcc.compute(frame, row),
        }
    }
}

/// Samples in, finished frames out, block by block, one stream of audio long.
///
/// All frames that the calls give, put together, are those of [`extract`] and [`normalise`] on the whole, whatever the blocks.
/// A frame comes out as soon as its last sample is there, two frames later for each order of deltas; with pitch, when its pitch
/// is known: `look_ahead_frames + 2 + mean_frames / 2` frames and half the tracker's windows (21 ms) later.
pub struct Frontend {
    framer: Framer,
    features: Static,
    /// The frame in work, `[length]`.
    frame: Vec<f32>,
    /// Its features, `[D before deltas]`.
    row: Vec<f32>,
    deltas: Vec<Deltas>,
    pitch: Option<Pitch>,
    normaliser: Normaliser,
}

impl Frontend {
    /// A front end at the start of its audio. `moments` are those of the training set; only [`Normalisation::Global`] and
    /// [`Normalisation::Sliding`] look at them.
    ///
    /// # Errors
    /// [`Error::Setting`] when `config` is not right; [`Error::Other`] when its normalisation cannot stream
    /// ([`Normalisation::Utterance`], [`Normalisation::Speaker`]: use [`extract`] and [`normalise`]) or lacks its moments;
    /// [`Error::Shape`] when these have not [`FeatureConfig::dim`] columns.
    pub fn new(config: &FeatureConfig, moments: Option<&Moments>) -> Result<Self> {
        Self::warped(config, moments, 1.0)
    }

    fn warped(config: &FeatureConfig, moments: Option<&Moments>, warp: f64) -> Result<Self> {
        config.check()?;
        cmvn::check_streams(config.normalisation)?;
        let features = match config.kind {
            FeatureKind::Fbank => Static::Fbank(Fbank::new(config, warp)),
            FeatureKind::Mfcc => Static::Mfcc(Mfcc::new(config, warp)),
        };
        let width = config.static_dim();
        let columns = width * (1 + config.deltas);
        Ok(Self {
            framer: Framer::new(config),
            features,
            frame: vec![0.0; config.length_samples()],
            row: vec![0.0; width],
            deltas: (1..=config.deltas).map(|order| Deltas::new(order * width, width)).collect(),
            pitch: config.pitch.as_ref().map(|pitch| Pitch::new(config, pitch, columns)),
            normaliser: Normaliser::new(config, moments)?,
        })
    }

    /// Takes in the next `samples` (-1..1), gives out the frames that they finish: `[new frames x D]`, perhaps none.
    pub fn push(&mut self, samples: &[f32]) -> Matrix {
        let mut frames = Matrix::with_cols(self.row.len());
        for block in samples.chunks(BLOCK_SAMPLES) {
            self.framer.push(block);
            self.compute(&mut frames, Input::Continues);
            self.pitch.iter_mut().for_each(|pitch| pitch.push(block, self.framer.count()));
        }
        self.after(frames, Input::Continues)
    }

    /// The audio is over: gives out the frames that are left.
    pub fn finish(mut self) -> Matrix {
        let mut frames = Matrix::with_cols(self.row.len());
        self.compute(&mut frames, Input::Ended);
        self.pitch.iter_mut().for_each(|pitch| pitch.finish(self.framer.count()));
        self.after(frames, Input::Ended)
    }

    fn compute(&mut self, frames: &mut Matrix, input: Input) {
        while self.framer.next_into(&mut self.frame, input) {
            self.features.compute(&mut self.frame, &mut self.row);
            frames.push_row(&self.row);
        }
    }

    fn after(&mut self, frames: Matrix, input: Input) -> Matrix {
        let mut frames = self.deltas.iter_mut().fold(frames, |frames, stage| stage.push(&frames, input));
        if let Some(pitch) = &mut self.pitch {
            frames = pitch.beside(&frames);
        }
        self.normaliser.apply(&mut frames);
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noisy(count: usize) -> Vec<f32> {
        let mut random = Random::new(9);
        (0..count).map(|n| 0.1 * random.normal() * (1.0 + (n as f32 * 0.001).sin())).collect()
    }

    fn configs() -> Vec<FeatureConfig> {
        let base = FeatureConfig::default();
        let sliding = Normalisation::Sliding { window_frames: 5, prior_frames: 3 };
        let brief = PitchConfig { look_ahead_frames: 0, mean_frames: 0, ..PitchConfig::default() };
        let middle = PitchConfig { look_ahead_frames: 3, mean_frames: 5, ..PitchConfig::default() };
        vec![
            base.clone(),
            FeatureConfig { snip_edges: true, use_energy: true, deltas: 1, ..base.clone() },
            FeatureConfig { deltas: 2, normalisation: sliding, dither: 1.0, ..base.clone() },
            FeatureConfig { kind: FeatureKind::Mfcc, deltas: 2, normalisation: Normalisation::Global, ..base.clone() },
            FeatureConfig { kind: FeatureKind::Mfcc, use_energy: true, snip_edges: true, dither: 0.5, ..base.clone() },
            FeatureConfig { deltas: 1, normalisation: sliding, pitch: Some(PitchConfig::default()), ..base.clone() },
            FeatureConfig { snip_edges: true, length_ms: 90.0, pitch: Some(brief), ..base.clone() },
            FeatureConfig { shift_ms: 30.0, length_ms: 10.0, ..base.clone() },
            FeatureConfig { sample_rate_hz: 11_025, round_to_power_of_two: false, length_ms: 25.04, ..base.clone() },
            FeatureConfig { sample_rate_hz: 11_025, shift_ms: 70.0, pitch: Some(middle), ..base },
        ]
    }

    fn moments_of(config: &FeatureConfig) -> Moments {
        let mut moments = Moments::new(config.dim());
        moments.accumulate(&extract(config, &noisy(8000)).unwrap());
        moments
    }

    #[test]
    fn blocks_of_any_size_give_the_frames_of_the_whole() {
        for config in configs() {
            let moments = moments_of(&config);
            for count in [0, 1, 79, 80, 399, 400, 401, 1000, 5_003, 40_000] {
                let samples = noisy(count);
                let mut whole = extract(&config, &samples).unwrap();
                normalise(&config, &mut whole, Some(&moments)).unwrap();
                for block in [1, 7, 160, 401, 16_385, 50_000] {
                    let mut frontend = Frontend::new(&config, Some(&moments)).unwrap();
                    let mut frames = Matrix::with_cols(config.dim());
                    samples.chunks(block).for_each(|block| frames.append(&frontend.push(block)));
                    frames.append(&frontend.finish());
                    assert_eq!(frames, whole, "{config:?}, {count} samples, blocks of {block}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_frames_is_kaldis() {
        let whole = FeatureConfig::default();
        let snipped = FeatureConfig { snip_edges: true, ..whole.clone() };
        for (samples, frames, within) in
            [(0, 0, 0), (79, 0, 0), (80, 1, 0), (399, 2, 0), (400, 3, 1), (16_000, 100, 98)]
        {
            assert_eq!(extract(&whole, &noisy(samples)).unwrap().rows(), frames, "{samples} samples");
            assert_eq!(extract(&snipped, &noisy(samples)).unwrap().rows(), within, "{samples} samples");
        }
    }

    #[test]
    fn finite_samples_give_finite_frames() {
        let extremes = [0.0, 1.0, -1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 1e30];
        for config in configs() {
            for &left in &extremes {
                for &right in &extremes {
                    let samples: Vec<f32> = (0..2000).map(|n| if n % 7 < 3 { left } else { right }).collect();
                    let mut frames = extract(&config, &samples).unwrap();
                    assert_eq!(frames.first_not_finite(), None, "{left}, {right}");
                    normalise(&config, &mut frames, Some(&moments_of(&config))).unwrap();
                    assert_eq!(frames.first_not_finite(), None, "{left}, {right}");
                }
            }
        }
    }

    #[test]
    fn pitch_comes_after_the_other_columns_and_no_warp_moves_it() {
        let samples: Vec<f32> = (0..16_000).map(|n| (n as f32 * 0.05).sin() + (n as f32 * 0.25).sin()).collect();
        let plain = FeatureConfig { deltas: 1, ..FeatureConfig::default() };
        let config = FeatureConfig { pitch: Some(PitchConfig::default()), ..plain.clone() };
        assert_eq!(config.dim(), plain.dim() + 3);
        for warp in [0.9, 1.0, 1.2] {
            let (found, expected) =
                (extract_warped(&config, &samples, warp).unwrap(), extract_warped(&plain, &samples, warp).unwrap());
            let unwarped = extract(&config, &samples).unwrap();
            for t in 0..expected.rows() {
                assert_eq!(found.row(t)[..46], *expected.row(t));
                assert_eq!(found.row(t)[46..], unwarped.row(t)[46..]);
            }
        }
    }

    #[test]
    fn samples_that_are_not_finite_are_refused_or_passed_on() {
        let mut samples = noisy(4000);
        samples[1700] = f32::NAN;
        let message = extract(&FeatureConfig::default(), &samples).unwrap_err().to_string();
        assert_eq!(message, "samples: a value in frame 10 is not a finite number");
        let mut frontend = Frontend::new(&FeatureConfig::default(), None).unwrap();
        assert_eq!(frontend.push(&samples).first_not_finite(), Some(9));
    }

    #[test]
    fn normalisation_that_cannot_stream_is_refused_by_name() {
        for (normalisation, name) in [(Normalisation::Utterance, "utterance"), (Normalisation::Speaker, "speaker")] {
            let config = FeatureConfig { normalisation, ..FeatureConfig::default() };
            let error = Frontend::new(&config, Some(&moments_of(&config))).err().unwrap().to_string();
            assert!(error.contains(name) && error.contains("cannot stream"), "{error}");
        }
        let config = FeatureConfig { normalisation: Normalisation::Global, ..FeatureConfig::default() };
        assert!(Frontend::new(&config, None).is_err());
    }

    #[test]
    fn dither_is_seeded_and_changes_silence() {
        let config = FeatureConfig { dither: 1.0, ..FeatureConfig::default() };
        let frames = extract(&config, &[0.0; 1600]).unwrap();
        assert_eq!(frames, extract(&config, &[0.0; 1600]).unwrap());
        assert_ne!(frames, extract(&FeatureConfig { dither_seed: 1, ..config.clone() }, &[0.0; 1600]).unwrap());
        assert!(frames.as_slice().iter().all(|&value| value > f32::EPSILON.ln()));
    }
}
