//! What a user should know about how a recording was read.

use std::fmt;

/// A decision that was taken, or an oddity that was found, while a recording was read. Printed, it is one sentence
/// without a full stop.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// The rate was converted.
    Resampled {
        /// Rate of the file.
        from_hz: u32,
        /// Rate of the samples returned.
        to_hz: u32,
    },
    /// All channels were averaged into one.
    Mixed {
        /// Channels of the file.
        channels: usize,
    },
    /// One of several channels was taken.
    ChannelTaken {
        /// Its index, from zero; printed from one.
        channel: usize,
        /// Channels of the file.
        channels: usize,
    },
    /// More samples are at full scale than a recording within range has.
    Clipped {
        /// Share of samples at full scale or beyond, 0 to 1.
        share: f64,
        /// The largest magnitude found; what was above 1 was cut off there.
        peak: f32,
    },
    /// The file ends before its header says it does.
    CutOff {
        /// What the header promises; none when the format only marks its end, and the mark is missing.
        promised_seconds: Option<f64>,
        /// What is there.
        found_seconds: f64,
    },
    /// Packets that could not be decoded; silence took their place, so that what follows keeps its time.
    Damaged {
        /// Number of packets.
        packets: usize,
        /// Length of the silence.
        seconds: f64,
    },
    /// Raw samples end within one, which is left out.
    HalfSample,
    /// Every sample is zero.
    Silent,
}

impl Notice {
    /// Whether it tells of a decision and not of something wrong: it may be said once for many recordings.
    pub fn is_ordinary(&self) -> bool {
        matches!(self, Self::Resampled { .. } | Self::Mixed { .. } | Self::ChannelTaken { .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resampled { from_hz, to_hz } if from_hz < to_hz => write!(
                f,
                "{from_hz} Hz resampled to {to_hz} Hz: it holds nothing above {} Hz, where the model expects sound up to \
                 {} Hz, so expect more errors",
                from_hz / 2,
                to_hz / 2
            ),
            Self::Resampled { from_hz, to_hz } => write!(f, "{from_hz} Hz resampled to {to_hz} Hz"),
            Self::Mixed { channels } => write!(f, "{channels} channels mixed into one"),
            Self::ChannelTaken { channel, channels } => write!(f, "channel {} of {channels} taken", channel + 1),
            Self::Clipped { share, peak } => {
                write!(f, "clipped: {:.1}% of the samples are at full scale", 100.0 * share)?;
                if *peak > 1.0 { write!(f, ", with peaks of {peak} cut off at 1") } else { Ok(()) }
            }
            Self::CutOff { promised_seconds: Some(promised), found_seconds } => {
                write!(f, "the file is cut off: its header promises {promised:.3} s, {found_seconds:.3} s are there")
            }
            Self::CutOff { promised_seconds: None, found_seconds } => {
                write!(f, "the file may be cut off: it has no end mark after its {found_seconds:.3} s")
            }
            Self::Damaged { packets: 1, seconds } => {
                write!(f, "1 damaged packet ({seconds:.3} s) replaced by silence")
            }
            Self::Damaged { packets, seconds } => {
                write!(f, "{packets} damaged packets ({seconds:.3} s) replaced by silence")
            }
            Self::HalfSample => write!(f, "an odd number of bytes: the last, half a sample of 16 bits, is left out"),
            Self::Silent => write!(f, "nothing but digital silence: every sample is zero"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_rate_is_called_what_it_is() {
        let up = Notice::Resampled { from_hz: 8000, to_hz: 16000 }.to_string();
        assert!(up.contains("nothing above 4000 Hz") && up.contains("up to 8000 Hz"), "{up}");
        assert_eq!(Notice::Resampled { from_hz: 48000, to_hz: 16000 }.to_string(), "48000 Hz resampled to 16000 Hz");
    }

    #[test]
    fn channels_are_counted_from_one_when_printed() {
        assert_eq!(Notice::ChannelTaken { channel: 1, channels: 2 }.to_string(), "channel 2 of 2 taken");
    }

    #[test]
    fn peaks_are_told_only_when_they_were_cut() {
        let inside = Notice::Clipped { share: 0.0213, peak: 1.0 }.to_string();
        assert_eq!(inside, "clipped: 2.1% of the samples are at full scale");
        assert!(Notice::Clipped { share: 0.5, peak: 3.5 }.to_string().ends_with("with peaks of 3.5 cut off at 1"));
    }
}
