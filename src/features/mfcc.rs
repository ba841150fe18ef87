//! A frame of samples -> mel-frequency cepstra (Davis and Mermelstein 1980), after Kaldi's `feature-mfcc.cc`.

use std::f64::consts::PI;

use super::config::FeatureConfig;
use super::mel::{MelBank, dot};
use super::spectrum::Spectrum;

/// Makes cepstral frames: `[cepstra]`, cepstrum 0 first, or the log energy in its place.
pub(super) struct Mfcc {
    spectrum: Spectrum,
    bank: MelBank,
    /// Cosine transform times lifter, `[cepstra x mel_bins]`.
    cosines: Vec<Vec<f32>>,
    /// Log mel energies of the frame, `[mel_bins]`.
    energies: Vec<f32>,
}

impl Mfcc {
    /// Tables and buffers for a checked `config`.
    pub(super) fn new(config: &FeatureConfig, warp: f64) -> Self {
        Self {
            spectrum: Spectrum::new(config),
            bank: MelBank::new(config, warp),
            cosines: (0..config.cepstra).map(|i| cosine_row(i, config.mel_bins, config.cepstral_lifter)).collect(),
            energies: vec![0.0; config.mel_bins],
        }
    }

    /// Fills `row` from `frame`, which is spoilt.
    pub(super) fn compute(&mut self, frame: &mut [f32], row: &mut [f32]) {
        let (spectrum, energy) = self.spectrum.compute(frame);
        self.bank.log_energies(spectrum, &mut self.energies);
        for (cepstrum, cosines) in row.iter_mut().zip(&self.cosines) {
            *cepstrum = dot(cosines, &self.energies);
        }
        if let Some(energy) = energy {
            row[0] = energy;
        }
    }
}

/// `lifter(i) * s * cos(pi i (n + 1/2) / N)` for band `n` of `N`; `s` is `sqrt(1 / N)` for `i = 0`, else `sqrt(2 / N)`.
fn cosine_row(i: usize, bands: usize, lifter: f32) -> Vec<f32> {
    let (order, numerator) = (i as f64, if i == 0 { 1.0 } else { 2.0 });
    let scale = (numerator / bands as f64).sqrt() * lifter_factor(order, f64::from(lifter));
    (0..bands).map(|n| (scale * (PI * order * (n as f64 + 0.5) / bands as f64).cos()) as f32).collect()
}

/// `1 + L/2 sin(pi i / L)`; no lifter when `L = 0`.
fn lifter_factor(order: f64, lifter: f64) -> f64 {
    if lifter == 0.0 { 1.0 } else { 1.0 + 0.5 * lifter * (PI * order / lifter).sin() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_rows_are_orthonormal_without_a_lifter() {
        for i in 0..23 {
            for j in 0..23 {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(&cosine_row(i, 23, 0.0), &cosine_row(j, 23, 0.0)) - expected).abs() < 1e-5);
            }
        }
    }
}
