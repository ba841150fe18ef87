//! The gradient of any criterion on a network's scores: forward, the criterion, backward.

use super::Network;
use super::layers::Rows;
use super::splice::Segments;
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
        let (scores, tape) = self.plan.forward(&self.values, self.laid_out(utterances)?, dropout);
        let rows = scores.segments.rows();
        let mut scores = Matrix::from_vec(rows, self.dims.pdfs, scores.values)?;
        criterion.differentiate(&mut scores)?;
        let (expected, found) = (rows * self.dims.pdfs, scores.rows() * scores.cols());
        if expected != found {
            return Err(Error::Shape { what: "values in the criterion's gradient", expected, found });
        }
        Ok(self.plan.backward(&self.values, tape, scores.into_vec()))
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
        network.values.iter_mut().flatten().for_each(|value| *value += 0.1 * random.normal());
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
                let mut loss = |tensor: usize, index: usize, by: f32| {
                    let mut criterion = Linear::default();
                    network.values[tensor][index] += by;
                    network.gradient(&utterances, &mut criterion, Some(&random)).unwrap();
                    network.values[tensor][index] -= by;
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
}
