//! The gradient of any loss on a network's scores: forward, the loss, backward.

use candle_core::{Tensor, Var};

use super::layers::{InputGradient, Rows};
use super::operation::{NetworkOp, Surrogate, with_values};
use super::params::cut;
use super::plain::Plain;
use super::splice::Segments;
use super::{Network, refused};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::{Error, Result};

/// What training wants of the scores of a few utterances.
pub trait Loss {
    /// Changes `scores` `[rows x pdfs]` (before log-softmax, utterances one after another, [`Network::rows_out`] rows each)
    /// into the gradient of the loss by them.
    ///
    /// # Errors
    /// As the loss has them.
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()>;
}

impl Network {
    /// The gradient of `loss` by every parameter, in the order of [`Network::parts`], over `utterances` `[T x D]` each.
    /// Hidden values are dropped as `dropout` draws them. Batch normalisation is by these utterances; what a running statistic is
    /// above theirs stands in the place of its gradient, for [`Network::settle`]. Runs on the calling thread, or on the network's
    /// [`Device`](super::Device), which gives the same up to rounding. Features that are not finite make scores and gradient so.
    ///
    /// # Errors
    /// [`Error::Shape`] for frames of another dimension or a loss's gradient of another shape; those of the loss.
    pub fn gradient(
        &self,
        utterances: &[Matrix],
        loss: &mut impl Loss,
        dropout: Option<&Random>,
    ) -> Result<Vec<Vec<f32>>> {
        let rows = self.laid_out(utterances)?;
        Ok(self.differentiated(rows, (loss, dropout), InputGradient::Unwanted)?.0)
    }

    /// As [`Network::gradient`], and the gradient by the frames of each utterance `[T x D]`: what an embedding under the network
    /// learns from. A frame that several rows see, or that pads the edges, gets the sum of its gradients.
    ///
    /// # Errors
    /// As of [`Network::gradient`].
    pub fn gradient_with_inputs(
        &self,
        utterances: &[Matrix],
        loss: &mut impl Loss,
        dropout: Option<&Random>,
    ) -> Result<(Vec<Vec<f32>>, Vec<Matrix>)> {
        let rows = self.laid_out(utterances)?;
        let padded: Vec<usize> = rows.segments.iter().map(|(_, rows)| rows * self.dims.input).collect();
        let (gradient, by_frames) = self.differentiated(rows, (loss, dropout), InputGradient::Wanted)?;
        let each = utterances.iter().zip(cut(&by_frames, &padded));
        Ok((gradient, each.map(|(frames, by_padded)| self.by_frames(frames.rows(), by_padded)).collect()))
    }

    /// The gradients by every parameter and, if that is wanted, by the padded frames.
    fn differentiated(
        &self,
        rows: Rows,
        (loss, dropout): (&mut impl Loss, Option<&Random>),
        by_frames: InputGradient,
    ) -> Result<(Vec<Vec<f32>>, Vec<f32>)> {
        match self.device.candle().filter(|_| rows.segments.rows() > 0) {
            Some(device) => self.differentiated_on(device, rows, (loss, dropout), by_frames),
            None => self.differentiated_by_kernels(rows, (loss, dropout), by_frames),
        }
    }

    /// The same by candle's operations on `device`.
    fn differentiated_on(
        &self,
        device: &candle_core::Device,
        rows: Rows,
        (loss, dropout): (&mut impl Loss, Option<&Random>),
        by_frames: InputGradient,
    ) -> Result<(Vec<Vec<f32>>, Vec<f32>)> {
        let network = self.parameters.with(|values| Plain::new(&self.plan, values, device))?.map_err(refused)?;
        let tape = network.forward(&rows, (dropout, by_frames)).map_err(refused)?;
        let gradient = self.by_scores(loss, tape.scores().map_err(refused)?)?;
        network.backward(tape, &gradient).map_err(refused)
    }

    /// The same by the layers' own kernels, on the calling thread.
    fn differentiated_by_kernels(
        &self,
        Rows { values, segments }: Rows,
        (loss, dropout): (&mut impl Loss, Option<&Random>),
        by_frames: InputGradient,
    ) -> Result<(Vec<Vec<f32>>, Vec<f32>)> {
        let shape = (segments.rows(), self.dims.input);
        let frames = Tensor::from_vec(values.into_vec(), shape, &candle_core::Device::Cpu).map_err(refused)?;
        let frames = match by_frames {
            InputGradient::Wanted => Var::from_tensor(&frames).map_err(refused)?.into_inner(),
            InputGradient::Unwanted => frames,
        };
        let operation = NetworkOp::new(&self.plan, (self.parameters.lengths(), segments), dropout);
        let by_parameters = operation.by_parameters();
        let scores = frames.apply_op2(self.parameters.variable(), operation).map_err(refused)?;
        let gradient = self.by_scores(loss, with_values(&scores, |values| Ok(values.to_vec())).map_err(refused)?)?;
        let surrogate = scores.apply_op1(Surrogate { gradient }).map_err(refused)?;
        drop(scores);
        let gradients = surrogate.backward().map_err(refused)?;
        let of = |tensor: &Tensor| {
            gradients.get(tensor).ok_or_else(|| Error::Network("a variable received no gradient".into()))
        };
        let by_frames = match by_frames {
            InputGradient::Wanted => with_values(of(&frames)?, |values| Ok(values.to_vec())).map_err(refused)?,
            InputGradient::Unwanted => Vec::new(),
        };
        let found = by_parameters.lock().map(|mut found| std::mem::take(&mut *found)).unwrap_or_default();
        if found.is_empty() {
            return Err(Error::Network("the parameters received no gradient".into()));
        }
        Ok((found, by_frames))
    }

    /// The gradient of `loss` by the scores of all rows, as many values.
    fn by_scores(&self, loss: &mut impl Loss, scores: Vec<f32>) -> Result<Vec<f32>> {
        let expected = scores.len();
        let mut scores = Matrix::from_vec(expected / self.dims.pdfs, self.dims.pdfs, scores)?;
        loss.differentiate(&mut scores)?;
        let found = scores.rows() * scores.cols();
        if expected != found {
            return Err(Error::Shape { what: "values in the gradient of the loss", expected, found });
        }
        Ok(scores.into_vec())
    }

    /// The gradient by the frames `[T x D]` of an utterance from that by its padded frames.
    fn by_frames(&self, frames: usize, by_padded: &[f32]) -> Matrix {
        let mut sum = Matrix::zeros(frames, self.dims.input);
        for (place, gradient) in by_padded.chunks_exact(self.dims.input).enumerate() {
            let frame = place.saturating_sub(self.plan.left).min(frames - 1);
            sum.row_mut(frame).iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    /// The padded frames of `utterances`, one after another.
    pub(super) fn laid_out(&self, utterances: &[Matrix]) -> Result<Rows> {
        let padded: Vec<Matrix> = utterances.iter().map(|frames| self.padded(frames)).collect::<Result<_>>()?;
        let segments = Segments::new(padded.iter().map(Matrix::rows));
        let mut values = Vec::with_capacity(segments.rows() * self.dims.input);
        padded.iter().for_each(|frames| values.extend_from_slice(frames.as_slice()));
        Ok(Rows { values: values.into(), segments })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::network::init::Spec;
    use crate::network::{
        Device, Directions, FrontEndConfig, HiddenNorm, LstmConfig, MlpConfig, NetworkConfig, StackConfig, TdnnConfig,
    };

    /// L = sum_i c_i x_i with c drawn anew from the same seed.
    #[derive(Default)]
    pub(in crate::network) struct Linear {
        pub(in crate::network) value: f64,
        pub(in crate::network) scores: Vec<f32>,
    }

    impl Loss for Linear {
        fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
            let mut random = Random::new(7);
            self.scores = scores.as_slice().to_vec();
            for value in scores.as_mut_slice() {
                let c = random.normal();
                self.value += f64::from(*value) * f64::from(c);
                *value = c;
            }
            Ok(())
        }
    }

    pub(in crate::network) fn configs(dropout: f32) -> Vec<NetworkConfig> {
        let tdnn = TdnnConfig {
            input_width: 7,
            width: 8,
            bottleneck: 5,
            dilations: vec![1, 2],
            dropout,
            ..Default::default()
        };
        let plain = TdnnConfig { input_width: 0, bottleneck: 0, ..tdnn.clone() };
        let normalised = |normalisation| TdnnConfig { normalisation, ..tdnn.clone() };
        let kinds = [HiddenNorm::None, HiddenNorm::Layer, HiddenNorm::Batch].map(normalised);
        let mlp = MlpConfig {
            left_frames: 3,
            right_frames: 1,
            widths: vec![9, 8],
            subsampling: 2,
            normalisation: HiddenNorm::Rms,
            dropout,
        };
        let linear = MlpConfig { widths: vec![], ..mlp.clone() };
        let lstm = LstmConfig { layers: 2, width: 7, projection: 0, subsampling: 1, dropout };
        let halved = LstmConfig { subsampling: 2, projection: 3, ..lstm.clone() };
        let recurrent = [lstm, halved].map(|lstm| [NetworkConfig::Lstm(lstm.clone()), NetworkConfig::Bilstm(lstm)]);
        let front_end = FrontEndConfig { channels: vec![4, 5], kernel_frames: 2, kernel_bands: 3, band_stride: 2 };
        let convolved = TdnnConfig { front_end: Some(front_end), ..tdnn.clone() };
        let stack = |directions| StackConfig { layers: 1, width: 5, projection: 0, directions };
        let [ahead, both] = [Directions::Forward, Directions::Both]
            .map(|directions| TdnnConfig { recurrent: Some(stack(directions)), ..convolved.clone() });
        let kinds = kinds.into_iter().chain([tdnn, plain, convolved, ahead, both]);
        let mut all: Vec<NetworkConfig> = kinds.map(NetworkConfig::Tdnn).collect();
        all.extend([mlp, linear].map(NetworkConfig::Mlp));
        all.extend(recurrent.into_iter().flatten());
        all
    }

    /// Whether training normalises by what is beside an utterance.
    fn by_batches(config: &NetworkConfig) -> bool {
        matches!(config, NetworkConfig::Tdnn(tdnn) if tdnn.normalisation == HiddenNorm::Batch)
    }

    pub(in crate::network) fn network(config: &NetworkConfig) -> Network {
        let mut network = Network::new(config, (4, 6), &Random::new(1)).unwrap();
        // First biases are zeros; these are not.
        let mut random = Random::new(2);
        let mut values = network.parameters.values();
        values.iter_mut().flatten().for_each(|value| *value += 0.1 * random.normal());
        network.set(&values).unwrap();
        network
    }

    pub(in crate::network) fn utterances() -> Vec<Matrix> {
        let mut random = Random::new(3);
        let mut draw = |rows: usize| (0..rows * 4).map(|_| random.normal()).collect();
        [17, 1, 8, 0].map(|rows| Matrix::from_vec(rows, 4, draw(rows)).unwrap()).into()
    }

    /// Compares `found` with the slopes of the loss by every so manieth value; `loss` is given place and shift.
    fn check_slopes(name: &str, found: &[f32], mut loss: impl FnMut(usize, f32) -> f64) {
        assert!(found.iter().any(|&value| value != 0.0), "{name} received no gradient");
        let (mut checked, mut bends) = (0, 0);
        for (index, &found) in found.iter().enumerate().step_by(1 + found.len() / 40) {
            let h = 5e-4;
            let [low, middle, high] = [-h, 0.0, h].map(|by| loss(index, by));
            let (left, right) = ((middle - low) / f64::from(h), (high - middle) / f64::from(h));
            let (slope, tolerance) = ((left + right) / 2.0, 0.02 * (1.0 + left.abs()));
            if (left - right).abs() > tolerance {
                bends += 1; // A rectifier bends in between: there is no slope to compare with.
                continue;
            }
            checked += 1;
            assert!((slope - f64::from(found)).abs() < tolerance, "{name} {index}: slope {slope}, gradient {found}");
        }
        assert!(checked > bends, "{name}: {checked} checked, {bends} bends");
    }

    #[test]
    fn gradients_are_slopes_of_the_loss_by_every_parameter() {
        for (dropout, config) in
            [0.0, 0.3].into_iter().flat_map(|rate| configs(rate).into_iter().map(move |c| (rate, c)))
        {
            let (mut network, utterances, random) = (network(&config), utterances(), Random::new(4));
            let gradient = network.gradient(&utterances, &mut Linear::default(), Some(&random)).unwrap();
            let start = network.parameters.values();
            for (tensor, (name, _, _)) in network.parts().into_iter().enumerate() {
                if network.plan.specs()[tensor].is_statistic() {
                    continue;
                }
                check_slopes(&format!("{} {dropout} {name}", config.kind()), &gradient[tensor], |index, by| {
                    let (mut values, mut loss) = (start.clone(), Linear::default());
                    values[tensor][index] += by;
                    network.set(&values).unwrap();
                    network.gradient(&utterances, &mut loss, Some(&random)).unwrap();
                    loss.value
                });
            }
        }
    }

    #[test]
    fn gradients_by_the_frames_are_slopes_of_the_loss() {
        for (dropout, config) in
            [0.0, 0.3].into_iter().flat_map(|rate| configs(rate).into_iter().map(move |c| (rate, c)))
        {
            let (network, utterances, random) = (network(&config), utterances(), Random::new(4));
            let mut loss = Linear::default();
            let (gradient, by_frames) = network.gradient_with_inputs(&utterances, &mut loss, Some(&random)).unwrap();
            assert_eq!(gradient, network.gradient(&utterances, &mut Linear::default(), Some(&random)).unwrap());
            assert_eq!(by_frames.len(), utterances.len());
            for (place, by_frames) in by_frames.iter().enumerate() {
                assert_eq!((by_frames.rows(), by_frames.cols()), (utterances[place].rows(), 4));
                if by_frames.rows() == 0 {
                    continue;
                }
                check_slopes(&format!("{} {dropout} {place}", config.kind()), by_frames.as_slice(), |index, by| {
                    let (mut changed, mut loss) = (utterances.clone(), Linear::default());
                    changed[place].as_mut_slice()[index] += by;
                    network.gradient(&changed, &mut loss, Some(&random)).unwrap();
                    loss.value
                });
            }
        }
    }

    #[test]
    fn utterances_do_not_see_each_other() {
        for config in configs(0.0).into_iter().filter(|config| !by_batches(config)) {
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
    fn batch_normalisation_decodes_by_what_training_saw() {
        for config in configs(0.0).into_iter().filter(by_batches) {
            let (mut network, utterances) = (network(&config), utterances());
            let (mut values, start) = (network.parameters.values(), network.parameters.values());
            let mut training = Linear::default();
            let mut gradient = network.gradient(&utterances, &mut training, None).unwrap();
            for _ in 0..600 {
                network.settle(&mut values, &mut gradient);
                let statistics = network.plan.specs().iter().map(Spec::is_statistic);
                assert!(gradient.iter().zip(statistics).all(|(gradient, statistic)| gradient.is_empty() == statistic));
                network.set(&values).unwrap();
                gradient = network.gradient(&utterances, &mut Linear::default(), None).unwrap();
            }
            for ((spec, start), values) in network.plan.specs().iter().zip(start).zip(&values) {
                assert_eq!(spec.is_statistic(), start != *values, "{}", spec.name);
            }
            super::super::kernels::log_softmax(&mut training.scores, 6);
            let decoded = network.log_posteriors_of(&utterances).unwrap();
            let decoded = decoded.iter().flat_map(|posteriors| posteriors.0.as_slice());
            assert!(decoded.zip(&training.scores).all(|(a, b)| (a - b).abs() < 1e-4));
        }
    }

    #[test]
    fn training_and_decoding_score_alike() {
        for config in configs(0.4).into_iter().filter(|config| !by_batches(config)) {
            let (network, utterances) = (network(&config), utterances());
            let mut loss = Linear::default();
            network.gradient(&utterances[..1], &mut loss, None).unwrap();
            super::super::kernels::log_softmax(&mut loss.scores, 6);
            let decoded = network.log_posteriors(&utterances[0]).unwrap().0;
            assert!(decoded.as_slice().iter().zip(&loss.scores).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    /// Compares values with those expected, relative to the largest of these, or to 0.1: where gradients cancel
    /// out, rounding is not small beside them.
    pub(in crate::network) fn assert_near(name: &str, found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len(), "{name}");
        let largest = expected.iter().fold(0.1f32, |most, value| most.max(value.abs()));
        let near = expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-4 * largest);
        assert!(near, "{name}: {expected:?} {found:?}");
    }

    #[test]
    fn scores_and_gradients_are_those_of_plain_candle_operations() {
        let all = utterances();
        let batches = [&all[..], &all[..1], &all[1..2], &all[3..], &[]];
        for (dropout, utterances) in [0.0, 0.4].into_iter().flat_map(|rate| batches.map(|batch| (rate, batch))) {
            // One row alone has no deviation: batch normalisation would divide rounding by next to nothing.
            let one_row = matches!(utterances, [frames] if frames.rows() == 1);
            for config in configs(dropout).iter().filter(|config| !(one_row && by_batches(config))) {
                let differentiate = |network: &Network| {
                    let (mut loss, random) = (Linear::default(), Random::new(4));
                    let found = network.gradient_with_inputs(utterances, &mut loss, Some(&random)).unwrap();
                    (loss.scores, found)
                };
                let network = network(config);
                let (expected, (by_parameters, by_frames)) = differentiate(&network);
                let network = network.on(&Device::plain());
                let (scores, found) = differentiate(&network);
                assert_near(&format!("scores {config:?}"), &scores, &expected);
                for ((spec, found), expected) in network.plan.specs().iter().zip(&found.0).zip(&by_parameters) {
                    assert_near(&format!("{} {config:?}", spec.name), found, expected);
                }
                assert_eq!((found.0.len(), found.1.len()), (by_parameters.len(), utterances.len()));
                for (found, expected) in found.1.iter().zip(&by_frames) {
                    assert_near(&format!("frames {config:?}"), found.as_slice(), expected.as_slice());
                }
            }
        }
    }

    #[test]
    fn what_nobody_wants_of_the_frames_is_not_given() {
        for (config, device) in
            configs(0.0).iter().flat_map(|config| [Device::cpu(), Device::plain()].map(|device| (config, device)))
        {
            let (network, utterances) = (network(config).on(&device), utterances());
            let (rows, mut loss) = (network.laid_out(&utterances).unwrap(), Linear::default());
            let (gradient, by_frames) =
                network.differentiated(rows, (&mut loss, None), InputGradient::Unwanted).unwrap();
            assert!(by_frames.is_empty());
            let wanted = network.gradient_with_inputs(&utterances, &mut Linear::default(), None).unwrap();
            assert_eq!(gradient, wanted.0, "{config:?}");
        }
    }

    #[test]
    fn what_is_not_finite_shows_in_plain_operations_too() {
        for config in configs(0.0) {
            let mut utterances = utterances();
            utterances[0].row_mut(9)[2] = f32::NAN;
            let (network, mut loss) = (network(&config).on(&Device::plain()), Linear::default());
            let gradient = network.gradient(&utterances, &mut loss, None).unwrap();
            assert!(loss.value.is_nan() && gradient.iter().flatten().any(|value| value.is_nan()), "{config:?}");
        }
    }

    #[test]
    fn long_utterances_need_no_deep_stack() {
        let train = |device: Device| {
            let lstm = LstmConfig { layers: 2, width: 4, projection: 0, subsampling: 1, dropout: 0.1 };
            let network = network(&NetworkConfig::Bilstm(lstm)).on(&device);
            let mut random = Random::new(5);
            let long = Matrix::from_vec(5000, 4, (0..20_000).map(|_| random.normal()).collect()).unwrap();
            network.gradient_with_inputs(&[long], &mut Linear::default(), Some(&random)).unwrap()
        };
        for device in [Device::cpu(), Device::plain()] {
            let small = std::thread::Builder::new().stack_size(64 << 10).spawn(move || train(device)).unwrap();
            let (gradient, by_frames) = small.join().unwrap();
            assert!(gradient.iter().flatten().chain(by_frames[0].as_slice()).all(|value| value.is_finite()));
            assert!(by_frames[0].iter_rows().all(|row| row.iter().any(|&value| value != 0.0)));
        }
    }

    /// Which of two sorts each utterance is, said in its first frame, or in its last, and asked for at every row.
    struct Sorts;

    impl Loss for Sorts {
        fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
            crate::network::kernels::log_softmax(scores.as_mut_slice(), 2);
            for (row, scores) in scores.as_mut_slice().chunks_exact_mut(2).enumerate() {
                scores.iter_mut().for_each(|value| *value = value.exp() / 400.0);
                scores[row / 20 % 2] -= 1.0 / 400.0;
            }
            Ok(())
        }
    }

    /// Twenty utterances of twenty frames, whose frame `place` says 1 or -1; the other frames are noise.
    fn sorted(place: usize, seed: u64) -> Vec<Matrix> {
        let mut random = Random::new(seed);
        let mut draw = |index: usize| {
            let mut frames = Matrix::from_vec(20, 2, (0..40).map(|_| random.normal()).collect()).unwrap();
            frames.row_mut(place).fill([2.0, -2.0][index % 2]);
            frames
        };
        (0..20).map(&mut draw).collect()
    }

    /// Rows whose sort is found, of 400, after some steps of training.
    fn rows_right(config: &NetworkConfig, place: usize) -> usize {
        use crate::network::optimiser::{Optimiser, OptimiserConfig, StepOptions};
        let mut network = Network::new(config, (2, 2), &Random::new(1)).unwrap();
        let mut values = network.parameters.values();
        let mut adam = Optimiser::new(OptimiserConfig::default(), &values);
        for step in 0..150 {
            let gradient = network.gradient(&sorted(place, step), &mut Sorts, None).unwrap();
            adam.step(&mut values, &gradient, StepOptions { learning_rate: 0.02, weight_decay: 0.0, clip: 5.0 });
            network.set(&values).unwrap();
        }
        let scores = network.log_posteriors_of(&sorted(place, 1000)).unwrap();
        let right = |(index, scores): (usize, &crate::emission::LogPosteriors)| {
            scores.0.iter_rows().filter(|row| row[index % 2] > row[1 - index % 2]).count()
        };
        scores.iter().enumerate().map(right).sum()
    }

    #[test]
    fn what_is_said_once_is_remembered() {
        let lstm = LstmConfig { layers: 1, width: 8, projection: 0, subsampling: 1, dropout: 0.0 };
        let (one_way, both_ways) = (NetworkConfig::Lstm(lstm.clone()), NetworkConfig::Bilstm(lstm));
        assert!(rows_right(&one_way, 0) >= 390, "{}", rows_right(&one_way, 0));
        assert!(rows_right(&one_way, 19) < 300, "{}", rows_right(&one_way, 19));
        assert!(rows_right(&both_ways, 19) >= 390, "{}", rows_right(&both_ways, 19));
    }
}
