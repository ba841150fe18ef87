//! The gradient of any criterion on a network's scores: forward, the criterion, backward.

use candle_core::{Device, Tensor};

use super::layers::Rows;
use super::operation::{NetworkOp, Surrogate, with_values};
use super::params::cut;
use super::splice::Segments;
use super::{Network, refused};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// What training wants of the scores of a few utterances.
pub trait Criterion {
    /// Changes `scores` `[rows x pdfs]` (before log-softmax, utterances one after another, [`Network::rows_out`] rows each)
    /// into the gradient of the loss by them.
    ///
    /// # Errors
    /// As the criterion has them.
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()>;
}

impl Network {
    /// The gradient of `criterion` by every parameter, in the order of [`Network::parts`], over `utterances` `[T x D]` each.
    /// Hidden values are dropped as `dropout` draws them. Runs on the calling thread. Features that are not finite make scores
    /// and gradient so.
    ///
    /// # Errors
    /// [`Error::Shape`] for frames of another dimension or a criterion's gradient of another shape; those of the criterion.
    pub fn gradient(
        &self,
        utterances: &[Matrix],
        criterion: &mut impl Criterion,
        dropout: Option<&Random>,
    ) -> Result<Vec<Vec<f32>>> {
        let scores = self.tracked_scores(utterances, dropout)?;
        let mut wanted = self.to_matrix(&scores)?;
        criterion.differentiate(&mut wanted)?;
        let (expected, found) = (scores.elem_count(), wanted.rows() * wanted.cols());
        if expected != found {
            return Err(Error::Shape { what: "values in the criterion's gradient", expected, found });
        }
        let loss = scores.apply_op1(Surrogate { gradient: wanted.into_vec() }).map_err(refused)?;
        drop(scores);
        let gradients = loss.backward().map_err(refused)?;
        let gradient = gradients.get(self.parameters.variable());
        let gradient = gradient.ok_or_else(|| Error::Network("the parameters received no gradient".into()))?;
        let lengths = self.parameters.lengths();
        with_values(gradient, |flat| Ok(cut(flat, lengths).into_iter().map(<[f32]>::to_vec).collect())).map_err(refused)
    }

    /// The scores of `utterances`, laid one after another, recorded for a backward pass.
    fn tracked_scores(&self, utterances: &[Matrix], dropout: Option<&Random>) -> Result<Tensor> {
        let Rows { values, segments } = self.laid_out(utterances)?;
        let shape = (segments.rows(), self.dims.input);
        let frames = Tensor::from_vec(values, shape, &Device::Cpu).map_err(refused)?;
        let operation = NetworkOp::scores(&self.plan, self.parameters.lengths(), segments).with_gradient(dropout);
        frames.apply_op2(self.parameters.variable(), operation).map_err(refused)
    }

    /// Scores `[rows x P]` as plain numbers.
    pub(super) fn to_matrix(&self, scores: &Tensor) -> Result<Matrix> {
        let values = with_values(scores, |values| Ok(values.to_vec())).map_err(refused)?;
        Matrix::from_vec(values.len() / self.dims.pdfs, self.dims.pdfs, values)
    }

    /// The padded frames of `utterances`, one after another.
    fn laid_out(&self, utterances: &[Matrix]) -> Result<Rows> {
        let padded: Vec<Matrix> = utterances.iter().map(|frames| self.padded(frames)).collect::<Result<_>>()?;
        let segments = Segments::new(padded.iter().map(Matrix::rows));
        let mut values = Vec::with_capacity(segments.rows() * self.dims.input);
        padded.iter().for_each(|frames| values.extend_from_slice(frames.as_slice()));
        Ok(Rows { values, segments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{MlpConfig, NetworkConfig, TdnnConfig};

    /// L = sum_i c_i x_i with c drawn anew from the same seed.
    #[derive(Default)]
    struct Linear {
        loss: f64,
        scores: Vec<f32>,
    }

    impl Criterion for Linear {
        fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
            let mut random = Random::new(7);
            self.scores = scores.as_slice().to_vec();
            for value in scores.as_mut_slice() {
                let c = random.normal();
                self.loss += f64::from(*value) * f64::from(c);
                *value = c;
            }
            Ok(())
        }
    }

    fn configs(dropout: f32) -> [NetworkConfig; 2] {
        let tdnn = TdnnConfig {
            input_width: 7,
            width: 8,
            bottleneck: 5,
            dilations: vec![1, 2],
            dropout,
            ..Default::default()
        };
        let mlp = MlpConfig { left_frames: 3, right_frames: 1, widths: vec![9, 8], subsampling: 2, dropout };
        [NetworkConfig::Tdnn(tdnn), NetworkConfig::Mlp(mlp)]
    }

    fn network(config: &NetworkConfig) -> Network {
        let mut network = Network::new(config, (4, 6), &Random::new(1)).unwrap();
        // First biases are zeros; these are not.
        let mut random = Random::new(2);
        let mut values = network.parameters.values();
        values.iter_mut().flatten().for_each(|value| *value += 0.1 * random.normal());
        network.set(&values).unwrap();
        network
    }

    fn utterances() -> Vec<Matrix> {
        let mut random = Random::new(3);
        let mut draw = |rows: usize| (0..rows * 4).map(|_| random.normal()).collect();
        [17, 1, 8, 0].map(|rows| Matrix::from_vec(rows, 4, draw(rows)).unwrap()).into()
    }

    #[test]
    fn gradients_are_slopes_of_the_loss_by_every_parameter() {
        for dropout in [0.0, 0.3] {
            for config in configs(dropout) {
                let (mut network, utterances, random) = (network(&config), utterances(), Random::new(4));
                let gradient = network.gradient(&utterances, &mut Linear::default(), Some(&random)).unwrap();
                let mut values = network.parameters.values();
                let mut loss = |tensor: usize, index: usize, by: f32| {
                    let mut criterion = Linear::default();
                    let start = values[tensor][index];
                    values[tensor][index] += by;
                    network.set(&values).unwrap();
                    network.gradient(&utterances, &mut criterion, Some(&random)).unwrap();
                    values[tensor][index] = start;
                    criterion.loss
                };
                let (mut checked, mut bends) = (0, 0);
                for (tensor, values) in gradient.iter().enumerate() {
                    assert!(values.iter().any(|&value| value != 0.0), "tensor {tensor} received no gradient");
                    for index in (0..values.len()).step_by(1 + values.len() / 40) {
                        let h = 5e-4;
                        let [low, middle, high] = [-h, 0.0, h].map(|by| loss(tensor, index, by));
                        let (left, right) = ((middle - low) / f64::from(h), (high - middle) / f64::from(h));
                        let (slope, tolerance) = ((left + right) / 2.0, 0.02 * (1.0 + left.abs()));
                        if (left - right).abs() > tolerance {
                            bends += 1; // A rectifier bends in between: there is no slope to compare with.
                            continue;
                        }
                        checked += 1;
                        let found = f64::from(values[index]);
                        assert!((slope - found).abs() < tolerance, "{tensor} {index}: slope {slope}, gradient {found}");
                    }
                }
                assert!(checked > 5 * bends, "{checked} checked, {bends} bends");
            }
        }
    }

    #[test]
    fn utterances_do_not_see_each_other() {
        for config in configs(0.0) {
            let (network, utterances) = (network(&config), utterances());
            let mut together = Linear::default();
            network.gradient(&utterances, &mut together, None).unwrap();
            let mut scores = together.scores.as_slice();
            for utterance in &utterances {
                let mut alone = Linear::default();
                network.gradient(std::slice::from_ref(utterance), &mut alone, None).unwrap();
                assert_eq!(alone.scores.len(), network.rows_out(utterance.rows()) * 6);
                let (mine, rest) = scores.split_at(alone.scores.len());
                assert!(mine.iter().zip(&alone.scores).all(|(a, b)| (a - b).abs() < 1e-5));
                scores = rest;
            }
            assert!(scores.is_empty());
        }
    }

    #[test]
    fn training_and_decoding_score_alike() {
        for config in configs(0.4) {
            let (network, utterances) = (network(&config), utterances());
            let mut criterion = Linear::default();
            network.gradient(&utterances[..1], &mut criterion, None).unwrap();
            super::super::kernels::log_softmax(&mut criterion.scores, 6);
            let decoded = network.log_posteriors(&utterances[0]).unwrap().0;
            assert!(decoded.as_slice().iter().zip(&criterion.scores).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    /// The TDNN in candle's plain operations.
    struct Plain {
        variables: std::collections::BTreeMap<String, candle_core::Var>,
    }

    impl Plain {
        fn new(network: &Network) -> Self {
            let variable = |(name, shape, values): super::super::NamedTensor| {
                (name, candle_core::Var::from_vec(values, shape, &Device::Cpu).unwrap())
            };
            Self { variables: network.parts().into_iter().map(variable).collect() }
        }

        fn affine(&self, name: &str, x: &Tensor, (offsets, stride): (&[usize], usize)) -> candle_core::Result<Tensor> {
            let span = offsets[offsets.len() - 1];
            let rows = (x.dim(0)? - span - 1) / stride + 1;
            let shifted = |offset: &usize| {
                let places: Vec<u32> = (0..rows).map(|row| (row * stride + offset) as u32).collect();
                x.index_select(&Tensor::new(places, &Device::Cpu)?, 0)
            };
            let spliced = Tensor::cat(&offsets.iter().map(shifted).collect::<candle_core::Result<Vec<_>>>()?, 1)?;
            let [weight, bias] = ["weight", "bias"].map(|part| self.variables[&format!("{name}.{part}")].as_tensor());
            spliced.matmul(weight)?.broadcast_add(bias)
        }

        fn relu_renorm(x: &Tensor) -> candle_core::Result<Tensor> {
            let z = x.relu()?;
            let rms = (z.sqr()?.mean_keepdim(1)? + f64::from(crate::network::kernels::RENORM_FLOOR))?.sqrt()?;
            z.broadcast_div(&rms)
        }

        fn scores(&self, config: &TdnnConfig, frames: Tensor) -> candle_core::Result<Tensor> {
            let x = Self::relu_renorm(&self.affine("frames", &frames, (&[0, 1, 2, 3, 4], 1))?)?;
            let mut x = Self::relu_renorm(&self.affine("rows", &x, (&[0, 1, 2], 3))?)?;
            for (index, &dilation) in config.dilations.iter().enumerate() {
                let name = format!("block{:02}", index + 1);
                let splice = [0, dilation, 2 * dilation];
                let inner = Self::relu_renorm(&self.affine(&format!("{name}.narrow"), &x, (&splice, 1))?)?;
                let inner = self.affine(&format!("{name}.wide"), &inner, (&[0], 1))?;
                x = (x.narrow(0, dilation, x.dim(0)? - 2 * dilation)? + inner)?;
            }
            self.affine("output", &x, (&[0], 1))
        }
    }

    #[test]
    fn scores_and_gradients_are_those_of_plain_candle_operations() {
        let [config, _] = configs(0.0);
        let NetworkConfig::Tdnn(tdnn) = &config else { panic!("the first is a TDNN") };
        let (network, utterance) = (network(&config), &utterances()[..1]);
        let mut criterion = Linear::default();
        let gradient = network.gradient(utterance, &mut criterion, None).unwrap();

        let plain = Plain::new(&network);
        let padded = network.padded(&utterance[0]).unwrap();
        let frames = Tensor::from_vec(padded.as_slice().to_vec(), (padded.rows(), 4), &Device::Cpu).unwrap();
        let scores = plain.scores(tdnn, frames).unwrap();
        let values = scores.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(values.len(), criterion.scores.len());
        assert!(values.iter().zip(&criterion.scores).all(|(a, b)| (a - b).abs() < 1e-4));

        let mut random = Random::new(7);
        let c: Vec<f32> = values.iter().map(|_| random.normal()).collect();
        let loss = (scores.flatten_all().unwrap() * Tensor::new(c, &Device::Cpu).unwrap()).unwrap().sum_all().unwrap();
        let gradients = loss.backward().unwrap();
        for ((name, variable), found) in plain.variables.iter().zip(&gradient) {
            let expected = gradients.get(variable).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
            let near = expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-4 * largest);
            assert!(near, "{name}: {expected:?} {found:?}");
        }
    }
}
