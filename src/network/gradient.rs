//! The gradient of any criterion on a network's scores: forward, the criterion, backward.

use candle_core::{Device, Tensor, Var};

use super::layers::{InputGradient, Rows};
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
    /// Hidden values are dropped as `dropout` draws them. Batch normalisation is by these utterances; what a running statistic
    /// is above theirs stands in the place of its gradient, for [`Network::settle`]. Runs on the calling thread. Features that are not finite make scores
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
        let rows = self.laid_out(utterances)?;
        Ok(self.differentiated(rows, (criterion, dropout), InputGradient::Unwanted)?.0)
    }

    /// As [`Network::gradient`], and the gradient by the frames of each utterance `[T x D]`: what an embedding under the network
    /// learns from. A frame that several rows see, or that pads the edges, gets the sum of its gradients.
    ///
    /// # Errors
    /// As of [`Network::gradient`].
    pub fn gradient_with_inputs(
        &self,
        utterances: &[Matrix],
        criterion: &mut impl Criterion,
        dropout: Option<&Random>,
    ) -> Result<(Vec<Vec<f32>>, Vec<Matrix>)> {
        let rows = self.laid_out(utterances)?;
        let padded: Vec<usize> = rows.segments.iter().map(|(_, rows)| rows * self.dims.input).collect();
        let (gradient, by_frames) = self.differentiated(rows, (criterion, dropout), InputGradient::Wanted)?;
        let each = utterances.iter().zip(cut(&by_frames, &padded));
        Ok((gradient, each.map(|(frames, by_padded)| self.by_frames(frames.rows(), by_padded)).collect()))
    }

    /// The gradients by every parameter and, if that is wanted, by the padded frames.
    fn differentiated(
        &self,
        Rows { values, segments }: Rows,
        (criterion, dropout): (&mut impl Criterion, Option<&Random>),
        by_frames: InputGradient,
    ) -> Result<(Vec<Vec<f32>>, Vec<f32>)> {
        let shape = (segments.rows(), self.dims.input);
        let frames = Tensor::from_vec(values.into_vec(), shape, &Device::Cpu).map_err(refused)?;
        let frames = match by_frames {
            InputGradient::Wanted => Var::from_tensor(&frames).map_err(refused)?.into_inner(),
            InputGradient::Unwanted => frames,
        };
        let operation = NetworkOp::new(&self.plan, (&self.parameters, segments), dropout);
        let by_parameters = operation.by_parameters();
        let scores = frames.apply_op2(self.parameters.variable(), operation).map_err(refused)?;
        let mut wanted = self.to_matrix(&scores)?;
        criterion.differentiate(&mut wanted)?;
        let (expected, found) = (scores.elem_count(), wanted.rows() * wanted.cols());
        if expected != found {
            return Err(Error::Shape { what: "values in the criterion's gradient", expected, found });
        }
        let loss = scores.apply_op1(Surrogate { gradient: wanted.into_vec() }).map_err(refused)?;
        drop(scores);
        let gradients = loss.backward().map_err(refused)?;
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

    /// The gradient by the frames `[T x D]` of an utterance from that by its padded frames.
    fn by_frames(&self, frames: usize, by_padded: &[f32]) -> Matrix {
        let mut sum = Matrix::zeros(frames, self.dims.input);
        for (place, gradient) in by_padded.chunks_exact(self.dims.input).enumerate() {
            let frame = place.saturating_sub(self.plan.left).min(frames - 1);
            sum.row_mut(frame).iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    /// Scores `[rows x P]` as plain numbers.
    pub(super) fn to_matrix(&self, scores: &Tensor) -> Result<Matrix> {
        let values = with_values(scores, |values| Ok(values.to_vec())).map_err(refused)?;
        Matrix::from_vec(values.len() / self.dims.pdfs, self.dims.pdfs, values)
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
mod tests {
    use super::*;
    use crate::network::init::Spec;
    use crate::network::{
        Directions, FrontEndConfig, HiddenNorm, LstmConfig, MlpConfig, NetworkConfig, StackConfig, TdnnConfig,
    };

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

    fn configs(dropout: f32) -> Vec<NetworkConfig> {
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
                    let (mut values, mut criterion) = (start.clone(), Linear::default());
                    values[tensor][index] += by;
                    network.set(&values).unwrap();
                    network.gradient(&utterances, &mut criterion, Some(&random)).unwrap();
                    criterion.loss
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
            let mut criterion = Linear::default();
            let (gradient, by_frames) =
                network.gradient_with_inputs(&utterances, &mut criterion, Some(&random)).unwrap();
            assert_eq!(gradient, network.gradient(&utterances, &mut Linear::default(), Some(&random)).unwrap());
            assert_eq!(by_frames.len(), utterances.len());
            for (place, by_frames) in by_frames.iter().enumerate() {
                assert_eq!((by_frames.rows(), by_frames.cols()), (utterances[place].rows(), 4));
                if by_frames.rows() == 0 {
                    continue;
                }
                check_slopes(&format!("{} {dropout} {place}", config.kind()), by_frames.as_slice(), |index, by| {
                    let (mut changed, mut criterion) = (utterances.clone(), Linear::default());
                    changed[place].as_mut_slice()[index] += by;
                    network.gradient(&changed, &mut criterion, Some(&random)).unwrap();
                    criterion.loss
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
            let mut criterion = Linear::default();
            network.gradient(&utterances[..1], &mut criterion, None).unwrap();
            super::super::kernels::log_softmax(&mut criterion.scores, 6);
            let decoded = network.log_posteriors(&utterances[0]).unwrap().0;
            assert!(decoded.as_slice().iter().zip(&criterion.scores).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    /// The same networks in candle's plain operations.
    struct Plain {
        variables: std::collections::BTreeMap<String, Var>,
    }

    type Plainly = candle_core::Result<Tensor>;

    impl Plain {
        fn new(network: &Network) -> Self {
            let variable = |(name, shape, values): super::super::NamedTensor| {
                (name, Var::from_vec(values, shape, &Device::Cpu).unwrap())
            };
            Self { variables: network.parts().into_iter().map(variable).collect() }
        }

        fn variable(&self, name: &str, part: &str) -> &Tensor {
            &self.variables[&format!("{name}.{part}")]
        }

        /// Rows x[t * stride + offset] side by side, x being repeated at its edges from `left` rows before its first.
        fn spliced(x: &Tensor, (offsets, stride): (&[usize], usize), (left, rows): (usize, usize)) -> Plainly {
            let last = x.dim(0)? - 1;
            let shifted = |offset: &usize| {
                let place = |row: usize| (row * stride + offset).saturating_sub(left).min(last) as u32;
                x.index_select(&Tensor::new((0..rows).map(place).collect::<Vec<_>>(), &Device::Cpu)?, 0)
            };
            Tensor::cat(&offsets.iter().map(shifted).collect::<candle_core::Result<Vec<_>>>()?, 1)
        }

        fn affine(&self, name: &str, x: &Tensor) -> Plainly {
            x.matmul(self.variable(name, "weight"))?.broadcast_add(self.variable(name, "bias"))
        }

        /// The rectified x, normalised by the kind or by the layer's parameters.
        fn hidden(&self, (name, norm): (&str, HiddenNorm), x: &Tensor) -> Plainly {
            let (z, floor) = (x.relu()?, f64::from(crate::network::kernels::RENORM_FLOOR));
            let along = match norm {
                HiddenNorm::None => return Ok(z),
                HiddenNorm::Rms => return z.broadcast_div(&(z.sqr()?.mean_keepdim(1)? + floor)?.sqrt()?),
                HiddenNorm::Layer => 1,
                HiddenNorm::Batch => 0,
            };
            let z = z.broadcast_sub(&z.mean_keepdim(along)?)?;
            let n = z.broadcast_div(&(z.sqr()?.mean_keepdim(along)? + floor)?.sqrt()?)?;
            n.broadcast_mul(self.variable(name, "gain"))?.broadcast_add(self.variable(name, "shift"))
        }

        /// Rows and bands shifted by every place of the kernel, weighted and added up, band by band.
        fn convolved(&self, config: &FrontEndConfig, frames: &Tensor, norm: HiddenNorm) -> Plainly {
            let (mut x, mut channels) = (frames.clone(), 1);
            for (index, &filters) in config.channels.iter().enumerate() {
                let name = format!("convolution{:02}", index + 1);
                let (rows, bands) = (x.dim(0)? + 1 - config.kernel_frames, x.dim(1)? / channels);
                let planes = x.reshape(((), bands, channels))?;
                let beside = (config.kernel_bands - 1) / 2;
                let planes = planes.pad_with_zeros(1, beside, config.kernel_bands)?;
                let mut all = Vec::new();
                for band in (0..bands).step_by(config.band_stride) {
                    let seen = (0..config.kernel_frames).map(|frame| {
                        let seen = planes.narrow(0, frame, rows)?.narrow(1, band, config.kernel_bands)?;
                        seen.contiguous()?.reshape((rows, ()))
                    });
                    all.push(self.affine(&name, &Tensor::cat(&seen.collect::<candle_core::Result<Vec<_>>>()?, 1)?)?);
                }
                x = self.hidden((&name, norm), &Tensor::cat(&all, 1)?)?;
                channels = filters;
            }
            Ok(x)
        }

        fn tdnn(&self, config: &TdnnConfig, frames: &Tensor) -> Plainly {
            let (step, sum) = (config.subsampling, config.dilations.iter().sum::<usize>());
            let rows = frames.dim(0)?.div_ceil(step) + 2 * sum;
            let (around, norm) = (config.input_context_frames, config.normalisation);
            let reach = config.front_end.as_ref().map_or((0, 0), |front_end| {
                let reach = front_end.channels.len() * (front_end.kernel_frames - 1);
                (front_end.channels.len() * ((front_end.kernel_frames - 1) / 2), reach)
            });
            let (left, padded) = (reach.0 + around + step * sum, rows * step + 2 * around + reach.1);
            let mut x = Self::spliced(frames, (&[0], 1), (left, padded))?;
            if let Some(front_end) = &config.front_end {
                x = self.convolved(front_end, &x, norm)?;
            }
            x = if config.input_width > 0 {
                let window: Vec<usize> = (0..=2 * around).collect();
                let first = self.affine("frames", &Self::spliced(&x, (&window, 1), (0, rows * step))?)?;
                let x = self.hidden(("frames", norm), &first)?;
                self.affine("rows", &x.reshape((rows, ()))?)?
            } else {
                let window: Vec<usize> = (0..2 * around + step).collect();
                self.affine("rows", &Self::spliced(&x, (&window, step), (0, rows))?)?
            };
            x = self.hidden(("rows", norm), &x)?;
            for (index, &dilation) in config.dilations.iter().enumerate() {
                let rows = x.dim(0)? - 2 * dilation;
                let inner = Self::spliced(&x, (&[0, dilation, 2 * dilation], 1), (0, rows))?;
                if config.bottleneck == 0 {
                    let name = format!("layer{:02}", index + 1);
                    x = self.hidden((&name, norm), &self.affine(&name, &inner)?)?;
                    continue;
                }
                let name = format!("block{:02}", index + 1);
                let narrow = format!("{name}.narrow");
                let inner = self.hidden((&narrow, norm), &self.affine(&narrow, &inner)?)?;
                let inner = self.affine(&format!("{name}.wide"), &inner)?;
                x = (x.narrow(0, dilation, rows)? + inner)?;
            }
            if let Some(stack) = &config.recurrent {
                let both = ["forward", "backward"];
                let directions = if stack.directions == Directions::Both { &both[..] } else { &both[..1] };
                x = self.recurrent((stack.layers, directions), x)?;
            }
            self.affine("output", &x)
        }

        fn mlp(&self, config: &MlpConfig, frames: &Tensor) -> Plainly {
            let (step, left) = (config.subsampling, config.left_frames);
            let window: Vec<usize> = (0..left + step + config.right_frames).collect();
            let mut x = Self::spliced(frames, (&window, step), (left, frames.dim(0)?.div_ceil(step)))?;
            for index in 0..config.widths.len() {
                let name = format!("hidden{:02}", index + 1);
                x = self.hidden((&name, config.normalisation), &self.affine(&name, &x)?)?;
            }
            self.affine("output", &x)
        }

        fn lstm(&self, config: &LstmConfig, directions: &[&str], frames: &Tensor) -> Plainly {
            let (step, rows) = (config.subsampling, frames.dim(0)?.div_ceil(config.subsampling));
            let window: Vec<usize> = (0..step).collect();
            let x = Self::spliced(frames, (&window, step), (0, rows))?;
            self.affine("output", &self.recurrent((config.layers, directions), x)?)
        }

        fn recurrent(&self, (layers, directions): (usize, &[&str]), mut x: Tensor) -> Plainly {
            for layer in 1..=layers {
                let read = |direction: &&str| self.read(&format!("lstm{layer:02}.{direction}"), &x);
                x = Tensor::cat(&directions.iter().map(read).collect::<candle_core::Result<Vec<_>>>()?, 1)?;
            }
            Ok(x)
        }

        /// One direction of one layer, row after row.
        fn read(&self, name: &str, x: &Tensor) -> Plainly {
            let rows = x.dim(0)?;
            let width = self.variable(name, "bias").dim(0)? / 4;
            let mut order: Vec<usize> = (0..rows).collect();
            if name.ends_with("backward") {
                order.reverse();
            }
            let mut c = Tensor::zeros((1, width), candle_core::DType::F32, &Device::Cpu)?;
            let projection = self.variables.get(&format!("{name}.projection"));
            let projected = |h: Tensor| projection.map_or(Ok(h.clone()), |weight| h.matmul(weight));
            let mut h = projected(c.clone())?;
            let mut all = vec![h.clone(); rows];
            let sigmoid = |z: Tensor| (z.neg()?.exp()? + 1.0)?.recip();
            for row in order {
                let z = self.affine(name, &Tensor::cat(&[&x.narrow(0, row, 1)?, &h], 1)?)?;
                let gate = |gate: usize| z.narrow(1, gate * width, width);
                let (i, f, g, o) = (sigmoid(gate(0)?)?, sigmoid(gate(1)?)?, gate(2)?.tanh()?, sigmoid(gate(3)?)?);
                c = ((f * c)? + (i * g)?)?;
                h = projected((o * c.tanh()?)?)?;
                all[row] = h.clone();
            }
            Tensor::cat(&all, 0)
        }

        fn scores(&self, config: &NetworkConfig, frames: &Tensor) -> Tensor {
            let scores = match config {
                NetworkConfig::Tdnn(config) => self.tdnn(config, frames),
                NetworkConfig::Mlp(config) => self.mlp(config, frames),
                NetworkConfig::Lstm(config) => self.lstm(config, &["forward"], frames),
                NetworkConfig::Bilstm(config) => self.lstm(config, &["forward", "backward"], frames),
            };
            scores.unwrap().flatten_all().unwrap()
        }
    }

    fn assert_near(name: &str, found: &[f32], expected: &Tensor) {
        let expected = expected.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(found.len(), expected.len(), "{name}");
        let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
        let near = expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-4 * largest);
        assert!(near, "{name}: {expected:?} {found:?}");
    }

    #[test]
    fn scores_and_gradients_are_those_of_plain_candle_operations() {
        for config in configs(0.0) {
            let (network, utterance) = (network(&config), &utterances()[..1]);
            let mut criterion = Linear::default();
            let (gradient, by_frames) = network.gradient_with_inputs(utterance, &mut criterion, None).unwrap();

            let plain = Plain::new(&network);
            let frames = utterance[0].as_slice().to_vec();
            let frames = Var::from_vec(frames, (utterance[0].rows(), 4), &Device::Cpu).unwrap();
            let scores = plain.scores(&config, &frames);
            assert_near("scores", &criterion.scores, &scores);

            let mut random = Random::new(7);
            let c: Vec<f32> = criterion.scores.iter().map(|_| random.normal()).collect();
            let loss = (scores * Tensor::new(c, &Device::Cpu).unwrap()).unwrap().sum_all().unwrap();
            let gradients = loss.backward().unwrap();
            for (((name, variable), found), spec) in plain.variables.iter().zip(&gradient).zip(network.plan.specs()) {
                if !spec.is_statistic() {
                    assert_near(name, found, gradients.get(variable).unwrap());
                }
            }
            assert_near("frames", by_frames[0].as_slice(), gradients.get(&frames).unwrap());
        }
    }

    #[test]
    fn long_utterances_need_no_deep_stack() {
        let train = || {
            let lstm = LstmConfig { layers: 2, width: 4, projection: 0, subsampling: 1, dropout: 0.1 };
            let network = network(&NetworkConfig::Bilstm(lstm));
            let mut random = Random::new(5);
            let long = Matrix::from_vec(5000, 4, (0..20_000).map(|_| random.normal()).collect()).unwrap();
            network.gradient_with_inputs(&[long], &mut Linear::default(), Some(&random)).unwrap()
        };
        let small = std::thread::Builder::new().stack_size(64 << 10).spawn(train).unwrap();
        let (gradient, by_frames) = small.join().unwrap();
        assert!(gradient.iter().flatten().chain(by_frames[0].as_slice()).all(|value| value.is_finite()));
        assert!(by_frames[0].iter_rows().all(|row| row.iter().any(|&value| value != 0.0)));
    }

    /// Which of two sorts each utterance is, said in its first frame, or in its last, and asked for at every row.
    struct Sorts;

    impl Criterion for Sorts {
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
