//! A frame of samples -> energies in mel bands, after Kaldi's `feature-fbank.cc`.

use super::config::FeatureConfig;
use super::mel::MelBank;
use super::spectrum::Spectrum;

/// Makes filter-bank frames: `[mel_bins]`, or `[1 + mel_bins]` with the log energy first.
pub(super) struct Fbank {
    spectrum: Spectrum,
    bank: MelBank,
    use_log: bool,
}

impl Fbank {
    /// Tables and buffers for a checked `config`.
    pub(super) fn new(config: &FeatureConfig, warp: f64) -> Self {
        Self { spectrum: Spectrum::new(config), bank: MelBank::new(config, warp), use_log: config.use_log }
    }

    /// Fills `row` from `frame`, which is spoilt.
    pub(super) fn compute(&mut self, frame: &mut [f32], row: &mut [f32]) {
        let (spectrum, energy) = self.spectrum.compute(frame);
        let (first, bands) = row.split_at_mut(usize::from(energy.is_some()));
        first.copy_from_slice(energy.as_slice());
        match self.use_log {
            true => self.bank.log_energies(spectrum, bands),
            false => self.bank.energies(spectrum, bands),
        }
    }
}
