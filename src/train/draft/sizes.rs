//! How large a network, and how long a training, so much speech is good for.
//!
//! Everything follows from `scale = (hours / 5)^(1/3)`: at 5 hours it is the shipped English recipe, whose network has 384 units and
//! sees the data 28 times. With eight times the data a network is twice as wide and sees them half as often. Gaussians grow
//! with the square root of the hours.

/// Hours at which the scale is 1.
const HOURS: f64 = 5.0;

/// The tables of passes of an adaptation: few and small steps, since what the model knows is not to be lost; an epoch has about
/// 40 of them, fewer for less than a minute.
pub(super) fn adaptation(hours: f64) -> String {
    let frames = rounded(FRAMES_PER_HOUR * hours / 40.0, 100).clamp(100, 2000);
    let pass = |epochs: usize, more: &str| {
        format!(
            "epochs        = {epochs}\nbatch_frames  = {frames}\nlearning_rate = 5e-4\n{more}\
             augment       = {{ vocal_tract = 0.0 }} # its speakers are who it is for\n"
        )
    };
    let first = format!("[[pass]]                              # before the words are aligned anew\n{}", pass(3, ""));
    format!("\n{first}[[pass]]\n{}", pass(6, "average_last  = 3\n"))
}

/// Frames of 10 ms.
const FRAMES_PER_HOUR: f64 = 360_000.0;

/// Whole sequences are worth training on from here on.
const SEQUENCE_HOURS: f64 = 0.5;

/// Numbers of a settings file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sizes {
    /// Units of the network's layers.
    width: usize,
    /// Units inside each block.
    bottleneck: usize,
    /// Units of the first layer.
    input_width: usize,
    /// Feature frames in a batch.
    batch_frames: usize,
    /// Epochs of the two passes.
    epochs: [usize; 2],
    /// Gaussians of the first alignment's model.
    pub(super) gaussians: usize,
}

impl Sizes {
    /// For so many hours of speech.
    pub(super) fn of(hours: f64) -> Self {
        let scale = (hours / HOURS).cbrt();
        let units = |at_one: f64| rounded(at_one * scale.clamp(1.0 / 3.0, 2.0), 16);
        let epochs = ((28.0 / scale).round() as usize).clamp(4, 48);
        let first = (epochs / 7).max(2);
        Self {
            width: units(384.0),
            bottleneck: units(160.0),
            input_width: units(192.0),
            batch_frames: rounded(5000.0 * scale, 500).clamp(1000, 5000),
            epochs: [first, epochs - first],
            gaussians: rounded(1000.0 * (hours / HOURS).sqrt(), 50).clamp(200, 3000),
        }
    }

    /// The tables of features and network.
    pub(super) fn network(&self, sample_rate_hz: u32) -> String {
        // Bands as wide as 40 are at 16 kHz, so that each holds a line of the spectrum.
        let mel_bins = if sample_rate_hz < 16_000 { 30 } else { 40 };
        format!(
            "[features]\nkind           = \"fbank\"\nsample_rate_hz = {sample_rate_hz}\nmel_bins       = {mel_bins}\n\
             normalisation  = {{ sliding = {{ window_frames = 300, prior_frames = 100 }} }}\n\n\
             [network]\nkind        = \"tdnn\"\ninput_width = {}\nwidth       = {}\nbottleneck  = {}\n\
             dilations   = [1, 1, 1, 2, 2, 2, 3, 3]\nsubsampling = 3\ndropout     = 0.15\n\n",
            self.input_width, self.width, self.bottleneck
        )
    }

    /// The tables of passes and of sequence training.
    pub(super) fn training(&self, hours: f64) -> String {
        let pass = |epochs: usize, more: &str| {
            let frames = self.batch_frames;
            format!("epochs        = {epochs}\nbatch_frames  = {frames}\nlearning_rate = 2e-3\n{more}")
        };
        let mut text = format!(
            "[[pass]]                              # good enough to realign with\n{}",
            pass(self.epochs[0], "")
        );
        let average = format!("average_last  = {}\n", self.epochs[1].min(3));
        text += &format!("[[pass]]\n{}", pass(self.epochs[1], &average));
        if hours >= SEQUENCE_HOURS {
            text += &format!(
                "\n[sequence]                            # whole utterances, after the passes\ncriterion           = \"mmi\"\n\
                 acoustic_scale      = 1.0\nprior_scale         = 0.3\ncross_entropy_share = 0.1\nngram               = {{ order = 2 }}\n\
                 [sequence.training]\nepochs        = 4\nbatch_frames  = {}\nlearning_rate = 3e-4\naverage_last  = 2\n",
                self.batch_frames
            );
        }
        text
    }
}

/// `value` as the nearest multiple of `step`.
pub(super) fn rounded(value: f64, step: usize) -> usize {
    (value / step as f64).round() as usize * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_hours_are_the_english_recipe() {
        let sizes = Sizes::of(5.0);
        assert_eq!((sizes.width, sizes.bottleneck, sizes.input_width), (384, 160, 192));
        assert_eq!((sizes.epochs, sizes.batch_frames, sizes.gaussians), ([4, 24], 5000, 1000));
        let more = Sizes::of(40.0);
        assert_eq!((more.width, more.epochs, more.batch_frames), (768, [2, 12], 5000));
    }

    #[test]
    fn no_amount_leaves_the_ranges() {
        for hours in [0.0, 1e-9, 0.01, 0.2, 1.0, 1e3, 1e9] {
            let sizes = Sizes::of(hours);
            assert!((128..=768).contains(&sizes.width) && (1000..=5000).contains(&sizes.batch_frames), "{sizes:?}");
            assert!(
                (200..=3000).contains(&sizes.gaussians) && sizes.epochs.iter().all(|&epochs| epochs >= 2),
                "{sizes:?}"
            );
            assert!(sizes.epochs.iter().sum::<usize>() <= 48, "{sizes:?}");
        }
    }
}
