//! What a network looks like, as a settings file says it.

use serde::{Deserialize, Serialize};

use super::lstm::LstmConfig;
use super::mlp::MlpConfig;
use super::tdnn::TdnnConfig;
use crate::settings::KindTable;
use crate::{Error, Result};

/// The shape of a network, without the dimensions of its input and output, which features and graph decide.
///
/// | network | settings | streams |
/// |---|---|---|
/// | linear, or MLP on spliced frames | `kind = "mlp"`, `widths` | yes |
/// | TDNN, plain | `kind = "tdnn"`, `bottleneck = 0` | yes |
/// | TDNN of narrow residual blocks | `kind = "tdnn"` | yes |
/// | convolutions, then TDNN | the same with a table `front_end` | yes |
/// | TDNN-LSTM | the same with a table `recurrent` | yes |
/// | TDNN-BiLSTM | `recurrent = { directions = "both" }` | no |
/// | LSTM | `kind = "lstm"` | yes |
/// | BiLSTM | `kind = "bilstm"` | no |
///
/// All take `subsampling` and `dropout`; hidden layers take `normalisation`, which is `"none"`, `"rms"`, `"layer"` or `"batch"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NetworkConfig {
    /// Hidden layers on spliced frames.
    Mlp(MlpConfig),
    /// Time-delay layers, plain or as residual blocks, that look further and further around; with convolutions below and
    /// recurrent layers on top, if asked for.
    Tdnn(TdnnConfig),
    /// Recurrent layers that read from the first frame to the last, and can stream.
    Lstm(LstmConfig),
    /// Recurrent layers that read in both directions.
    Bilstm(LstmConfig),
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self::Tdnn(TdnnConfig::default())
    }
}

impl NetworkConfig {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] that names key and value.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Mlp(config) => config.check(),
            Self::Tdnn(config) => config.check(),
            Self::Lstm(config) | Self::Bilstm(config) => config.check(),
        }
    }

    /// Why the table `[network]` of the settings `text` cannot be read, with line, column, key, value and what the key takes; `None`
    /// when it can, or is not there, or is of no known kind.
    pub(crate) fn fault(text: &str) -> Option<String> {
        let table = KindTable::find(text, "network")?;
        match table.kind.as_str() {
            "mlp" => table.fault::<MlpConfig>(expected),
            "tdnn" => table.fault::<TdnnConfig>(expected),
            "lstm" | "bilstm" => table.fault::<LstmConfig>(expected),
            _ => None,
        }
    }

    /// The `kind` by which a settings file calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mlp(_) => "mlp",
            Self::Tdnn(_) => "tdnn",
            Self::Lstm(_) => "lstm",
            Self::Bilstm(_) => "bilstm",
        }
    }

    /// Input frames in an output row.
    pub fn subsampling(&self) -> usize {
        match self {
            Self::Mlp(config) => config.subsampling,
            Self::Tdnn(config) => config.subsampling,
            Self::Lstm(config) | Self::Bilstm(config) => config.subsampling,
        }
    }
}

/// An [`Error::Setting`] unless `value` lies in `range`.
pub(super) fn within(
    key: &'static str,
    value: usize,
    (range, expected): (std::ops::RangeInclusive<usize>, &'static str),
) -> Result<()> {
    if range.contains(&value) { Ok(()) } else { Err(Error::Setting { key, value: value.to_string(), expected }) }
}

/// A range of layer widths.
pub(super) const WIDTH: (std::ops::RangeInclusive<usize>, &str) = (1..=16384, "a width from 1 to 16384");
/// A range of layer widths where there may be no such layer.
pub(super) const WIDTH_OR_NONE: (std::ops::RangeInclusive<usize>, &str) =
    (0..=16384, "a width to 16384, or 0 for none");
/// A range of frame counts.
pub(super) const FRAMES: (std::ops::RangeInclusive<usize>, &str) = (0..=100, "0 to 100 frames");
/// A range of subsampling factors.
pub(super) const SUBSAMPLING: (std::ops::RangeInclusive<usize>, &str) = (1..=10, "1 to 10 frames in an output row");

/// A range of layer counts.
pub(super) const LAYERS: (std::ops::RangeInclusive<usize>, &str) = (1..=99, "1 to 99 layers");
/// What `dropout` takes.
const DROPOUT: &str = "a share from 0 to 0.95";

/// What a key takes whose value is of another kind.
fn expected(key: &str) -> Option<&'static str> {
    Some(match key {
        "width" => WIDTH.1,
        "input_width" | "bottleneck" | "projection" => WIDTH_OR_NONE.1,
        "left_frames" | "right_frames" | "input_context_frames" => FRAMES.1,
        "subsampling" => SUBSAMPLING.1,
        "layers" => LAYERS.1,
        "dropout" => DROPOUT,
        "widths" => "a list of widths from 1 to 16384",
        "dilations" => "a list of numbers from 1 to 30",
        "channels" => "a list of numbers from 1 to 1024",
        "normalisation" => "\"none\", \"rms\", \"layer\" or \"batch\"",
        _ => return None,
    })
}

/// An [`Error::Setting`] unless `rate` is a share below one.
pub(super) fn check_dropout(rate: f32) -> Result<()> {
    if (0.0..0.95).contains(&rate) {
        return Ok(());
    }
    Err(Error::Setting { key: "dropout", value: rate.to_string(), expected: DROPOUT })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Directions, FrontEndConfig, HiddenNorm, StackConfig};

    fn parse(text: &str) -> std::result::Result<NetworkConfig, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kind_and_its_keys_are_read() {
        let config = parse("kind = \"tdnn\"\nwidth = 256\ndilations = [1, 2]").unwrap();
        let NetworkConfig::Tdnn(tdnn) = &config else { panic!("{config:?}") };
        assert_eq!((tdnn.width, tdnn.subsampling, tdnn.dilations.as_slice()), (256, 3, &[1, 2][..]));
        assert_eq!(parse(&toml::to_string(&config).unwrap()).unwrap(), config);
        assert_eq!(parse("kind = \"mlp\"").unwrap().subsampling(), 1);
        for kind in ["mlp", "tdnn", "lstm", "bilstm"] {
            let config = parse(&format!("kind = {kind:?}\nsubsampling = 4")).unwrap();
            assert_eq!((config.kind(), config.subsampling()), (kind, 4));
            assert_eq!(parse(&toml::to_string(&config).unwrap()).unwrap(), config);
        }
    }

    #[test]
    fn layers_below_and_on_top_are_tables() {
        let text = "kind = \"tdnn\"\nnormalisation = \"layer\"\n[front_end]\nchannels = [8]\n[recurrent]\ndirections = \"both\"";
        let config = parse(text).unwrap();
        let NetworkConfig::Tdnn(tdnn) = &config else { panic!("{config:?}") };
        assert_eq!(tdnn.normalisation, HiddenNorm::Layer);
        assert_eq!(tdnn.front_end, Some(FrontEndConfig { channels: vec![8], ..FrontEndConfig::default() }));
        let both = StackConfig { directions: Directions::Both, ..StackConfig::default() };
        assert_eq!(tdnn.recurrent, Some(both));
        assert_eq!(parse(&toml::to_string(&config).unwrap()).unwrap(), config);
        let plain = parse("kind = \"tdnn\"").unwrap();
        assert_eq!(plain, NetworkConfig::default());
        let refused = |text: &str| parse(&format!("kind = \"tdnn\"\n{text}")).unwrap().check().unwrap_err().to_string();
        assert_eq!(refused("front_end.channels = []"), "channels = 0: expected 1 to 20 convolutions");
        assert_eq!(refused("front_end.kernel_bands = 0"), "kernel_bands = 0: expected 1 to 15 bands");
        assert_eq!(refused("recurrent.layers = 0"), "layers = 0: expected 1 to 99 layers");
        assert!(parse("kind = \"tdnn\"\nnormalisation = \"group\"").unwrap_err().contains("group"));
    }

    #[test]
    fn unknown_keys_and_kinds_are_refused() {
        assert!(parse("kind = \"tdnn\"\nwidths = 3").unwrap_err().contains("widths"));
        assert!(parse("kind = \"tdnn\"\nfront_end.filters = 3").unwrap_err().contains("filters"));
        assert!(parse("kind = \"tdnn\"\nrecurrent.cells = 3").unwrap_err().contains("cells"));
        assert!(parse("kind = \"gru\"").unwrap_err().contains("gru"));
    }

    #[test]
    fn values_of_another_kind_are_named_with_their_place() {
        let fault = |text: &str| NetworkConfig::fault(text);
        let table = "name = \"n\"\n[network]\nkind = \"tdnn\"\nsubsampling = 3\n";
        assert_eq!(fault(table), None);
        for (line, reason) in [
            ("width = \"ten\"", "9: [network] width = \"ten\": expected a width from 1 to 16384"),
            ("bottleneck = -1", "14: [network] bottleneck = -1: expected a width to 16384, or 0 for none"),
            ("dropout = true", "11: [network] dropout = true: expected a share from 0 to 0.95"),
            ("dilations = [1, 2.5]", "17: [network] dilations = [1, 2.5]: expected a list of numbers from 1 to 30"),
            (
                "normalisation = \"group\"",
                "17: [network] normalisation = \"group\": expected \"none\", \"rms\", \"layer\" or \"batch\"",
            ),
            ("recurrent = { layers = \"x\" }", "24: [network] recurrent.layers = \"x\": expected 1 to 99 layers"),
        ] {
            assert_eq!(fault(&format!("{table}{line}\n")).unwrap(), format!("line 5, column {reason}"));
        }
        let kernel = fault(&format!("{table}front_end.kernel_bands = 1.5\n")).unwrap();
        assert!(
            kernel.starts_with("line 5, column 26: [network] front_end.kernel_bands = 1.5: invalid type: "),
            "{kernel}"
        );
        assert!(kernel.ends_with(", expected a whole number of at least 0"), "{kernel}");
        let unknown = fault(&format!("{table}widths = 3\n")).unwrap();
        assert!(
            unknown.starts_with("line 5, column 1: [network] unknown field `widths`, expected one of "),
            "{unknown}"
        );
        assert_eq!((fault("[network]\nkind = \"gru\"\n"), fault("name = 1\n")), (None, None));
    }

    #[test]
    fn values_out_of_range_are_named() {
        let config = parse("kind = \"tdnn\"\nwidth = 0").unwrap();
        assert_eq!(config.check().unwrap_err().to_string(), "width = 0: expected a width from 1 to 16384");
        let config = parse("kind = \"tdnn\"\nbottleneck = 20000").unwrap();
        let expected = "bottleneck = 20000: expected a width to 16384, or 0 for none";
        assert_eq!(config.check().unwrap_err().to_string(), expected);
        assert!(parse("kind = \"mlp\"\ndropout = 1.0").unwrap().check().is_err());
        assert!(NetworkConfig::default().check().is_ok());
    }
}
