//! The convolutional front end of a time-delay network: what a phone looks like in the mel bands, wherever it lies.

use serde::{Deserialize, Serialize};

use super::config::within;
use super::convolution::{Convolution, Shape};
use super::hidden::Hidden;
use super::layers::Layer;
use super::normalise::{HiddenNorm, Norm};
use crate::Result;

/// Convolutions over time and bands at the rate of the frames, whose values are the bands of one spectrum (`fbank` without
/// deltas). Each leaves one band in `band_stride`, with as many values as it has channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FrontEndConfig {
    /// A convolution for each: how many values it makes of each band.
    pub channels: Vec<usize>,
    /// Rows that a convolution sees: the row itself, and as many after it as before, one more if the number is even.
    pub kernel_frames: usize,
    /// Bands that a convolution sees likewise; beyond the lowest and the highest there are zeros.
    pub kernel_bands: usize,
    /// Bands from one that is left to the next, in place of pooling.
    pub band_stride: usize,
}

impl Default for FrontEndConfig {
    fn default() -> Self {
        Self { channels: vec![16, 32], kernel_frames: 3, kernel_bands: 3, band_stride: 2 }
    }
}

impl FrontEndConfig {
    pub(super) fn check(&self) -> Result<()> {
        within("channels", self.channels.len(), (1..=20, "1 to 20 convolutions"))?;
        self.channels.iter().try_for_each(|&count| within("channels", count, (1..=1024, "1 to 1024 channels")))?;
        within("kernel_frames", self.kernel_frames, (1..=15, "1 to 15 frames"))?;
        within("kernel_bands", self.kernel_bands, (1..=15, "1 to 15 bands"))?;
        within("band_stride", self.band_stride, (1..=8, "1 to 8 bands"))
    }

    /// Frames seen before the first of those that the next layer sees.
    pub(super) fn left_frames(&self) -> usize {
        self.channels.len() * ((self.kernel_frames - 1) / 2)
    }

    /// The convolutions on rows of so many bands, and the values in a row of the last one's output.
    pub(super) fn layers(&self, (bands, norm): (usize, HiddenNorm)) -> (Vec<Layer>, usize) {
        let (mut bands, mut channels, mut layers) = (bands, 1, Vec::new());
        for (index, &filters) in self.channels.iter().enumerate() {
            let Self { kernel_bands, band_stride, .. } = *self;
            let shape = Shape { bands, channels, filters, kernel_bands, band_stride };
            let convolution = Convolution::new(format!("convolution{:02}", index + 1), self.kernel_frames, shape);
            let norm = Norm::new(convolution.name(), shape.outputs(), norm);
            layers.push(Layer::Convolution(Hidden::of(convolution, norm)));
            (bands, channels) = (shape.bands_out(), filters);
        }
        (layers, bands * channels)
    }
}
