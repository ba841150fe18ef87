//! A spectrum -> energies in triangular bands, equally spaced in mel, as in Kaldi's `mel-computations.cc`.

use super::config::FeatureConfig;

/// One triangle: its weights on neighbouring FFT bins.
struct Band {
    /// The first bin with a weight.
    first: usize,
    weights: Vec<f32>,
}

/// The bands, from low to high; bands overlap by half.
pub(super) struct MelBank {
    bands: Vec<Band>,
}

/// Hertz to mel: `1127 ln(1 + f / 700)` (O'Shaughnessy 1987, as in HTK and Kaldi).
fn mel(hz: f64) -> f64 {
    1127.0 * (1.0 + hz / 700.0).ln()
}

/// Where a vocal tract `warp` times as long has what is at `hz`: at `hz / warp`, and from a knee near the top on along a line that
/// ends at the Nyquist frequency (vocal tract length normalisation, Lee & Rose 1996, piecewise linear as in HTK and Kaldi).
fn warped(hz: f64, warp: f64, nyquist: f64) -> f64 {
    let knee = KNEE * nyquist * warp.min(1.0);
    if hz <= knee { hz / warp } else { nyquist - (nyquist - hz) * (nyquist - knee / warp) / (nyquist - knee) }
}

/// The share of the Nyquist frequency up to which frequencies move in proportion, before and after.
const KNEE: f64 = 0.8;

impl MelBank {
    /// The bands of `config`, whose edges must be in order, for a vocal tract `warp` times as long as the speaker's.
    pub(super) fn new(config: &FeatureConfig, warp: f64) -> Self {
        let size = config.fft_samples();
        let bin_hz = f64::from(config.sample_rate_hz) / size as f64;
        let nyquist = f64::from(config.sample_rate_hz) / 2.0;
        let bins: Vec<f64> = (0..size / 2).map(|bin| mel(warped(bin as f64 * bin_hz, warp, nyquist))).collect();
        let low = mel(f64::from(config.low_hz));
        let step = (mel(f64::from(config.top_hz())) - low) / (config.mel_bins + 1) as f64;
        let bands = (0..config.mel_bins).map(|band| Band::new(&bins, low + (band + 1) as f64 * step, step));
        Self { bands: bands.collect() }
    }

    /// False when some band falls between two FFT bins, and so would be constant.
    pub(super) fn every_band_has_weight(&self) -> bool {
        self.bands.iter().all(|band| !band.weights.is_empty())
    }

    /// `energies[b] = sum over k of weight[b][k] * spectrum[k]`.
    pub(super) fn energies(&self, spectrum: &[f32], energies: &mut [f32]) {
        for (energy, band) in energies.iter_mut().zip(&self.bands) {
            *energy = dot(&band.weights, &spectrum[band.first..band.first + band.weights.len()]);
        }
    }

    /// Natural logs of [`MelBank::energies`], floored at the `f32` epsilon as in Kaldi.
    pub(super) fn log_energies(&self, spectrum: &[f32], energies: &mut [f32]) {
        self.energies(spectrum, energies);
        energies.iter_mut().for_each(|energy| *energy = floored_ln(*energy, f32::EPSILON));
    }
}

impl Band {
    /// The triangle of height 1 at `centre` that falls to 0 at `centre - step` and `centre + step`, all in mel.
    fn new(bins: &[f64], centre: f64, step: f64) -> Self {
        let weight = |mel: f64| 1.0 - (mel - centre).abs() / step;
        let first = bins.iter().position(|&mel| weight(mel) > 0.0).unwrap_or(0);
        let weights = bins[first..].iter().map(|&mel| weight(mel)).take_while(|&weight| weight > 0.0);
        Self { first, weights: weights.map(|weight| weight as f32).collect() }
    }
}

/// `ln(max(value, floor))`, but a NaN stays one, where `f32::max` would hide it.
pub(super) fn floored_ln(value: f32, floor: f32) -> f32 {
    if value < floor { floor.ln() } else { value.ln() }
}

/// The inner product, in four partial sums; `f32` suffices for the few terms of a band or a cosine row.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left, right) = (left.chunks_exact(4), right.chunks_exact(4));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    let mut lanes = [0.0f32; 4];
    for (left, right) in left.zip(right) {
        for (lane, (a, b)) in lanes.iter_mut().zip(left.iter().zip(right)) {
            *lane += a * b;
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_the_outer_centres_the_weights_of_a_bin_sum_to_one() {
        let config = FeatureConfig { mel_bins: 40, ..FeatureConfig::default() };
        let bank = MelBank::new(&config, 1.0);
        for bin in 4..220 {
            let mut spectrum = vec![0.0; 256];
            spectrum[bin] = 1.0;
            let mut energies = vec![0.0; 40];
            bank.energies(&spectrum, &mut energies);
            assert!((energies.iter().sum::<f32>() - 1.0).abs() < 1e-5, "bin {bin}: {energies:?}");
            assert!(energies.iter().filter(|&&energy| energy > 0.0).count() <= 2);
        }
    }

    #[test]
    fn a_longer_tract_moves_what_it_says_down() {
        for warp in [0.8, 1.0, 1.25] {
            let at = |hz: f64| warped(hz, warp, 8000.0);
            assert_eq!((at(0.0), at(8000.0)), (0.0, 8000.0));
            assert!((at(1000.0) - 1000.0 / warp).abs() < 1e-9);
            let places: Vec<f64> = (0..=80).map(|hundred| at(100.0 * f64::from(hundred))).collect();
            assert!(places.is_sorted() && places.windows(2).all(|pair| pair[1] - pair[0] < 300.0));
        }
        let config = FeatureConfig { mel_bins: 40, ..FeatureConfig::default() };
        let loudest = |warp: f64| {
            let (mut spectrum, mut energies) = (vec![0.0; 256], vec![0.0; 40]);
            spectrum[64] = 1.0;
            MelBank::new(&config, warp).energies(&spectrum, &mut energies);
            (0..40).max_by(|&a, &b| energies[a].total_cmp(&energies[b])).unwrap()
        };
        assert!(loudest(1.2) < loudest(1.0) && loudest(1.0) < loudest(0.8));
    }

    #[test]
    fn silence_is_the_log_of_epsilon() {
        let bank = MelBank::new(&FeatureConfig::default(), 1.0);
        let mut energies = vec![0.0; 23];
        bank.log_energies(&[0.0; 256], &mut energies);
        assert_eq!(energies, [f32::EPSILON.ln(); 23]);
    }

    #[test]
    fn dot_takes_every_term() {
        let values: Vec<f32> = (1..=11).map(|value| value as f32).collect();
        for count in 0..=11 {
            let expected: f32 = values[..count].iter().map(|value| value * value).sum();
            assert_eq!(dot(&values[..count], &values[..count]), expected);
        }
    }
}
