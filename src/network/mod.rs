//! Frames to log-posteriors. candle and the matrix products live here, and nobody outside sees them.
//!
//! What comes in is a `[T x D]` matrix of normalised feature frames, whole or block by block; what goes out is
//! [`LogPosteriors`] `[ceil(T / subsampling) x P]`, the same whatever the blocks were. Training asks a [`Network`] for the
//! gradient of any loss on its scores; `learn::neural` turns gradients into steps.

mod affine;
mod buffers;
mod cells;
mod config;
mod connection;
mod convolution;
mod device;
mod front_end;
mod gemm;
mod gradient;
mod hidden;
mod init;
mod kernels;
mod layers;
mod lstm;
mod mlp;
mod normalise;
mod operation;
pub mod optimiser;
#[cfg(test)]
mod oracle;
mod params;
mod plain;
mod plan;
mod reader;
mod recurrent;
mod splice;
mod stack;
mod stream;
mod tdnn;
mod timeline;

pub use config::NetworkConfig;
pub use device::Device;
pub use front_end::FrontEndConfig;
pub use gradient::Loss;
pub(crate) use kernels::{Mask, log_softmax};
pub use lstm::LstmConfig;
pub use mlp::MlpConfig;
pub use normalise::HiddenNorm;
pub use params::NamedTensor;
pub use stack::{Directions, StackConfig};
pub use stream::StreamState;
pub use tdnn::TdnnConfig;

use std::sync::Arc;

use crate::emission::LogPosteriors;
use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};
use init::Spec;
use layers::Dims;
use params::Parameters;
use plan::Plan;
use recurrent::Direction;

/// Input frames that an output row depends on, besides the `subsampling` frames that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Frames before; `None` when it is all of them.
    pub left: Option<usize>,
    /// Frames after; `None` when it is all of them.
    pub right: Option<usize>,
}

/// What scores frames, utterance by utterance or as they arrive.
pub trait Acoustic: Send + Sync {
    /// Columns of the output, P.
    fn pdfs(&self) -> usize;

    /// Input frames in an output row: row t stands for the frames `[t * subsampling, (t + 1) * subsampling)`.
    fn subsampling(&self) -> usize;

    /// How far an output row sees. `None` before: the state remembers, in bounded memory, all that was. `None` after: no row is
    /// certain before the utterance ends.
    fn context(&self) -> Context;

    /// The state before the first frame of an utterance.
    fn start(&self) -> StreamState;

    /// Takes the next frames `[T x D]`, none or more, and gives the rows that are certain by now; where a row depends on all
    /// that comes after it, none is before the `last` frames. After the `last` frames of an
    /// utterance all rows have been given, `ceil(T / subsampling)` altogether, and `state` is as from [`Acoustic::start`].
    ///
    /// # Errors
    /// [`Error::Shape`] for frames of another dimension, [`Error::NotFinite`] for values that are not numbers.
    fn step(&self, state: &mut StreamState, frames: &Matrix, last: bool) -> Result<LogPosteriors>;
}

/// A network with its parameters.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    dims: Dims,
    plan: Arc<Plan>,
    parameters: Parameters,
    /// Where gradients are computed.
    device: Device,
}

impl Network {
    /// A new network for frames of `input_dim` values and `pdfs` outputs; its first parameters are drawn from `random`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range.
    pub fn new(config: &NetworkConfig, (input_dim, pdfs): (usize, usize), random: &Random) -> Result<Self> {
        Self::build(config, (input_dim, pdfs), |specs| Ok(init::draw(specs, random)))
    }

    /// The network that has these parameters, in any order.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range; [`Error::Network`] names a tensor that is missing, of another shape,
    /// not finite, or unknown.
    pub fn load(config: &NetworkConfig, (input_dim, pdfs): (usize, usize), tensors: Vec<NamedTensor>) -> Result<Self> {
        Self::build(config, (input_dim, pdfs), |specs| params::values_for(specs, tensors))
    }

    fn build(
        config: &NetworkConfig,
        (input, pdfs): (usize, usize),
        values: impl FnOnce(&[Spec]) -> Result<Vec<Vec<f32>>>,
    ) -> Result<Self> {
        config.check()?;
        config::within("input_dim", input, config::WIDTH)?;
        config::within("pdfs", pdfs, (1..=100_000, "1 to 100000 pdfs"))?;
        let dims = Dims { input, pdfs };
        let plan = match config {
            NetworkConfig::Mlp(config) => config.plan(dims),
            NetworkConfig::Tdnn(config) => config.plan(dims),
            NetworkConfig::Lstm(config) => config.plan(dims, &[Direction::Forward]),
            NetworkConfig::Bilstm(config) => config.plan(dims, &[Direction::Forward, Direction::Backward]),
        };
        let parameters = Parameters::new(&values(plan.specs())?)?;
        Ok(Self { config: config.clone(), dims, plan: Arc::new(plan), parameters, device: Device::cpu() })
    }

    /// The same network with the hidden layers of `other`: every parameter of the same name and shape below the output layer. Beside
    /// it the names of the hidden parameters that stay as they are, since `other` has no such.
    ///
    /// # Errors
    /// [`Error::Network`] when that would be all of them.
    pub fn with_hidden_layers_of(mut self, other: &Network) -> Result<(Self, Vec<String>)> {
        let is_hidden = |part: &NamedTensor| part.0.split('.').next() != Some(connection::OUTPUT);
        let lent: Vec<NamedTensor> = other.parts().into_iter().filter(is_hidden).collect();
        let mut parts = self.parts();
        let mut own = Vec::new();
        for part in parts.iter_mut().filter(|part| is_hidden(part)) {
            match lent.iter().find(|lent| (&lent.0, &lent.1) == (&part.0, &part.1)) {
                Some(lent) => part.2.clone_from(&lent.2),
                None => own.push(part.0.clone()),
            }
        }
        if own.len() == parts.iter().filter(|part| is_hidden(part)).count() {
            return Err(Error::Network("the other network has no hidden layer of the shape of this one's".into()));
        }
        self.parameters.set(&parts.into_iter().map(|part| part.2).collect::<Vec<_>>())?;
        Ok((self, own))
    }

    /// The same network, whose gradients are computed by `device`.
    pub fn on(self, device: &Device) -> Self {
        Self { device: device.clone(), ..self }
    }

    /// What computes its gradients.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What the network looks like.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Columns of the input frames, D.
    pub fn input_dim(&self) -> usize {
        self.dims.input
    }

    /// Number of parameter values.
    pub fn parameter_count(&self) -> usize {
        self.parameters.lengths().iter().sum()
    }

    /// The parameters by name: what [`Network::load`] takes.
    pub fn parts(&self) -> Vec<NamedTensor> {
        let named = |(spec, values): (&Spec, Vec<f32>)| (spec.name.clone(), spec.shape.clone(), values);
        self.plan.specs().iter().zip(self.parameters.values()).map(named).collect()
    }

    /// Sets all parameters; `values` are in the order of [`Network::parts`].
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of tensors or values.
    pub fn set(&mut self, values: &[Vec<f32>]) -> Result<()> {
        self.parameters.set(values)
    }

    /// Moves the running statistics among `values`, all parameters in the order of [`Network::parts`], by what the sum of
    /// gradients says of them, and takes that out of it: what stays empty there is nothing for an optimiser to move by.
    ///
    /// ```text
    /// s = s - 0.03 d      d, from each gradient: the running statistic less the one observed
    /// ```
    pub fn settle(&self, values: &mut [Vec<f32>], gradient: &mut [Vec<f32>]) {
        let tensors = values.iter_mut().zip(gradient).zip(self.plan.specs());
        for ((values, gradient), _) in tensors.filter(|(_, spec)| spec.is_statistic()) {
            let above = std::mem::take(gradient);
            values.iter_mut().zip(above).for_each(|(value, above)| *value -= normalise::STATISTICS_RATE * above);
        }
    }

    /// Output rows that an utterance of `frames` frames gets.
    pub fn rows_out(&self, frames: usize) -> usize {
        frames.div_ceil(self.plan.subsampling())
    }

    /// The log-posteriors of a whole utterance `[T x D]`.
    ///
    /// # Errors
    /// As of [`Acoustic::step`].
    pub fn log_posteriors(&self, frames: &Matrix) -> Result<LogPosteriors> {
        self.step(&mut self.start(), frames, true)
    }

    /// The log-posteriors of whole utterances `[T x D]` each, side by side: for recurrent networks faster than one by one.
    ///
    /// # Errors
    /// As of [`Acoustic::step`].
    pub fn log_posteriors_of(&self, utterances: &[Matrix]) -> Result<Vec<LogPosteriors>> {
        utterances.iter().try_for_each(|frames| check_finite(frames, 0))?;
        let rows = self.laid_out(utterances)?;
        let mut scores = self.parameters.with(|values| self.plan.infer(values, rows, &mut self.plan.carries()))?.values;
        kernels::log_softmax(&mut scores, self.dims.pdfs);
        let lengths: Vec<usize> = utterances.iter().map(|frames| self.rows_out(frames.rows())).collect();
        let values: Vec<usize> = lengths.iter().map(|rows| rows * self.dims.pdfs).collect();
        let each = lengths.iter().zip(params::cut(&scores, &values));
        each.map(|(&rows, scores)| Matrix::from_vec(rows, self.dims.pdfs, scores.to_vec()).map(LogPosteriors)).collect()
    }
}

/// Features that are not finite are refused, by the number of the frame after `before` others.
fn check_finite(frames: &Matrix, before: usize) -> Result<()> {
    let refuse = |frame| Err(Error::NotFinite { what: "features", frame: before + frame });
    frames.first_not_finite().map_or(Ok(()), refuse)
}

/// An error of candle as one of ours.
fn refused(error: candle_core::Error) -> Error {
    Error::Network(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Vec<NetworkConfig> {
        let tdnn = TdnnConfig {
            input_width: 7,
            width: 8,
            bottleneck: 4,
            dilations: vec![1, 2],
            dropout: 0.0,
            ..TdnnConfig::default()
        };
        let mlp =
            MlpConfig { left_frames: 3, right_frames: 1, widths: vec![9, 8], dropout: 0.0, ..MlpConfig::default() };
        let halved = MlpConfig { subsampling: 2, normalisation: HiddenNorm::Layer, ..mlp.clone() };
        let linear = MlpConfig { widths: vec![], ..mlp.clone() };
        let plain = TdnnConfig { bottleneck: 0, subsampling: 2, ..tdnn.clone() };
        let lstm = LstmConfig { layers: 2, width: 7, projection: 0, subsampling: 2, dropout: 0.0 };
        let front_end = FrontEndConfig { channels: vec![3, 2], kernel_bands: 4, ..FrontEndConfig::default() };
        let convolved = TdnnConfig { front_end: Some(front_end), normalisation: HiddenNorm::Batch, ..tdnn.clone() };
        let stack = |directions| StackConfig { layers: 2, width: 5, projection: 4, directions };
        let stacked = |directions| TdnnConfig { recurrent: Some(stack(directions)), ..convolved.clone() };
        vec![
            NetworkConfig::Tdnn(tdnn),
            NetworkConfig::Tdnn(TdnnConfig { input_width: 0, ..plain.clone() }),
            NetworkConfig::Tdnn(plain),
            NetworkConfig::Tdnn(stacked(Directions::Forward)),
            NetworkConfig::Tdnn(stacked(Directions::Both)),
            NetworkConfig::Tdnn(convolved),
            NetworkConfig::Mlp(mlp),
            NetworkConfig::Mlp(halved),
            NetworkConfig::Mlp(linear),
            NetworkConfig::Lstm(lstm.clone()),
            NetworkConfig::Bilstm(lstm),
        ]
    }

    fn network(config: &NetworkConfig) -> Network {
        let mut network = Network::new(config, (5, 6), &Random::new(1)).unwrap();
        if matches!(config, NetworkConfig::Mlp(mlp) if mlp.widths.is_empty()) {
            // A linear model begins with zeros, which no test can tell from anything.
            let mut random = Random::new(2);
            let mut draw = |part: NamedTensor| part.2.iter().map(|_| 0.1 * random.normal()).collect();
            let values: Vec<Vec<f32>> = network.parts().into_iter().map(&mut draw).collect();
            network.set(&values).unwrap();
        }
        network
    }

    fn frames(rows: usize) -> Matrix {
        let mut random = Random::new(rows as u64);
        Matrix::from_vec(rows, 5, (0..rows * 5).map(|_| random.normal()).collect()).unwrap()
    }

    fn assert_close(found: &Matrix, expected: &Matrix) {
        assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()));
        for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn blocks_of_any_size_give_the_same_rows() {
        for config in small() {
            let network = network(&config);
            for total in [0, 1, 2, 3, 4, 29, 1000] {
                let whole = network.log_posteriors(&frames(total)).unwrap().0;
                assert_eq!(whole.rows(), total.div_ceil(network.subsampling()));
                for size in [1, 4, 7, 64] {
                    let (mut state, mut rows) = (network.start(), Matrix::with_cols(6));
                    for first in (0..total).step_by(size) {
                        let block = frames(total).slice_rows(first..total.min(first + size));
                        rows.append(&network.step(&mut state, &block, false).unwrap().0);
                        let sees = |right| (first + block.rows()).saturating_sub(right) / network.subsampling();
                        let certain = network.context().right.map_or(0, sees);
                        assert!(rows.rows() == certain, "{} {certain}", rows.rows());
                    }
                    rows.append(&network.step(&mut state, &Matrix::with_cols(5), true).unwrap().0);
                    assert_close(&rows, &whole);
                }
            }
        }
    }

    #[test]
    fn utterances_side_by_side_are_scored_as_one_by_one() {
        for config in small() {
            let (network, utterances) = (network(&config), [3, 0, 40, 1, 17].map(frames));
            let together = network.log_posteriors_of(&utterances).unwrap();
            assert_eq!(together.len(), utterances.len());
            for (frames, found) in utterances.iter().zip(&together) {
                assert_close(&found.0, &network.log_posteriors(frames).unwrap().0);
            }
            assert!(network.log_posteriors_of(&[]).unwrap().is_empty());
        }
    }

    #[test]
    fn a_row_depends_on_its_context_and_on_nothing_else() {
        for config in small() {
            let network = network(&config);
            let (step, context) = (network.subsampling(), network.context());
            let before = network.log_posteriors(&frames(60)).unwrap().0;
            let mut changed = frames(60);
            changed.row_mut(30)[2] += 1.0;
            let after = network.log_posteriors(&changed).unwrap().0;
            for row in 0..before.rows() {
                let sees_back = context.left.is_none_or(|left| row * step <= 30 + left);
                let sees_on = context.right.is_none_or(|right| (row + 1) * step + right > 30);
                assert!((sees_back && sees_on) || before.row(row) == after.row(row), "row {row}");
            }
            let differs = |row: usize| before.row(row) != after.row(row);
            assert!(differs(context.right.map_or(0, |right| (30 - right) / step)));
            assert!(differs(context.left.map_or(before.rows() - 1, |left| (30 + left) / step)));
        }
    }

    #[test]
    fn parts_load_in_any_order_and_faults_are_named() {
        for config in small() {
            let network = network(&config);
            let parts = network.parts();
            assert!(parts.is_sorted_by_key(|part| part.0.clone()));
            assert_eq!(network.parameter_count(), parts.iter().map(|part| part.2.len()).sum::<usize>());
            let again = Network::load(&config, (5, 6), parts.iter().rev().cloned().collect()).unwrap();
            assert_eq!(again.parts(), parts);
            assert_eq!(again.log_posteriors(&frames(9)).unwrap(), network.log_posteriors(&frames(9)).unwrap());

            let refused = |parts| Network::load(&config, (5, 6), parts).unwrap_err().to_string();
            assert!(refused(parts[1..].to_vec()).contains(&parts[0].0));
            let mut turned = parts.clone();
            let weight = parts.iter().position(|part| part.1.len() == 2).unwrap();
            turned[weight].1.reverse();
            assert!(refused(turned).contains(&format!("the tensor {} has shape", parts[weight].0)));
            let mut broken = parts.clone();
            broken[0].2[0] = f32::NAN;
            assert!(refused(broken).contains("not a finite number"));
            let mut more = parts.clone();
            more.push(("ghost".into(), vec![1], vec![0.0]));
            assert!(refused(more).contains("ghost"));
        }
    }

    #[test]
    fn hidden_layers_go_under_another_output() {
        let lstm = LstmConfig { layers: 1, width: 7, projection: 0, subsampling: 2, dropout: 0.0 };
        let network = |config: &NetworkConfig, pdfs, seed| Network::new(config, (5, pdfs), &Random::new(seed)).unwrap();
        for config in [NetworkConfig::Lstm(lstm), NetworkConfig::Mlp(MlpConfig::default())] {
            let (new, other) = (network(&config, 6, 1).parts(), network(&config, 9, 2));
            let (made, own) = network(&config, 6, 1).with_hidden_layers_of(&other).unwrap();
            assert!(own.is_empty());
            for ((made, new), other) in made.parts().iter().zip(&new).zip(other.parts()) {
                assert_eq!(made, if made.0.starts_with("output.") { new } else { &other });
            }
        }
        let mlp = |widths| network(&NetworkConfig::Mlp(MlpConfig { widths, ..MlpConfig::default() }), 6, 1);
        let (_, own) = mlp(vec![8, 7]).with_hidden_layers_of(&mlp(vec![8, 9])).unwrap();
        assert!(!own.is_empty() && own.iter().all(|name| name.starts_with("hidden02.")), "{own:?}");
        assert!(mlp(vec![8]).with_hidden_layers_of(&mlp(vec![9])).is_err());
    }

    #[test]
    fn parameters_have_their_names_and_first_values() {
        let lstm = LstmConfig { layers: 2, width: 7, projection: 0, subsampling: 2, dropout: 0.0 };
        let parts = Network::new(&NetworkConfig::Bilstm(lstm), (5, 6), &Random::new(1)).unwrap().parts();
        let shapes: Vec<(&str, &[usize])> = parts.iter().map(|part| (part.0.as_str(), part.1.as_slice())).collect();
        let one_of = |layer: usize, direction: usize, inputs: usize| {
            assert_eq!(shapes[4 * layer + 2 * direction].1, [28]);
            assert_eq!(shapes[4 * layer + 2 * direction + 1].1, [inputs + 7, 28]);
            let bias = &parts[4 * layer + 2 * direction].2;
            assert!((0..28).all(|at| bias[at] == if (7..14).contains(&at) { 1.0 } else { 0.0 }), "{bias:?}");
        };
        (0..2).for_each(|direction| one_of(0, direction, 10));
        (0..2).for_each(|direction| one_of(1, direction, 14));
        let names: Vec<&str> = shapes.iter().map(|shape| shape.0).step_by(2).collect();
        let of = |layer: &str| ["backward", "forward"].map(|way| format!("{layer}.{way}.bias"));
        assert_eq!(
            names,
            [of("lstm01"), of("lstm02")].concat().iter().map(String::as_str).chain(["output.bias"]).collect::<Vec<_>>()
        );
        let square = parts[1].2.iter().map(|value| value * value).sum::<f32>() / parts[1].2.len() as f32;
        assert!((square * 17.0 - 1.0).abs() < 0.2, "{square}");

        let linear = NetworkConfig::Mlp(MlpConfig { widths: vec![], ..MlpConfig::default() });
        let parts = Network::new(&linear, (5, 6), &Random::new(1)).unwrap().parts();
        assert_eq!(parts.iter().map(|part| part.1.clone()).collect::<Vec<_>>(), [vec![6], vec![15 * 5, 6]]);
        assert!(parts.iter().all(|part| part.2.iter().all(|&value| value == 0.0)));
    }

    #[test]
    fn frames_that_do_not_fit_are_refused() {
        let network = network(&small()[0]);
        assert!(matches!(
            network.log_posteriors(&Matrix::zeros(4, 3)),
            Err(Error::Shape { expected: 5, found: 3, .. })
        ));
        let mut bad = frames(4);
        bad.row_mut(2)[1] = f32::NAN;
        assert!(matches!(network.log_posteriors(&bad), Err(Error::NotFinite { frame: 2, .. })));
        assert!(matches!(network.log_posteriors_of(&[bad]), Err(Error::NotFinite { frame: 2, .. })));
    }

    #[test]
    fn new_values_reach_inference() {
        let mut network = network(&small()[0]);
        let before = network.log_posteriors(&frames(9)).unwrap();
        let scaled = |(_, _, values): NamedTensor| values.iter().map(|value| value * 1.5 + 0.1).collect();
        let values: Vec<Vec<f32>> = network.parts().into_iter().map(scaled).collect();
        network.set(&values).unwrap();
        assert_ne!(network.log_posteriors(&frames(9)).unwrap(), before);
        assert!(network.set(&values[1..]).is_err());
        assert!(network.set(&values.iter().map(|_| vec![]).collect::<Vec<_>>()).is_err());
    }
}
