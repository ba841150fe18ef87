//! What the networks are tested against: the same written a second time, from their settings, in candle's plain operations for one
//! utterance, which candle differentiates. It shares no layer, splice or layout with what it tests.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Result, Tensor, Var};

use super::gradient::tests::{Linear, assert_near, configs, network, utterances};
use super::kernels::RENORM_FLOOR;
use super::{
    Directions, FrontEndConfig, HiddenNorm, Loss, LstmConfig, MlpConfig, NamedTensor, Network, NetworkConfig,
    TdnnConfig,
};
use crate::matrix::Matrix;

/// A network's parameters by name.
struct Oracle {
    variables: BTreeMap<String, Var>,
}

impl Oracle {
    fn new(network: &Network) -> Self {
        let variable = |(name, shape, values): NamedTensor| (name, Var::from_vec(values, shape, &Device::Cpu).unwrap());
        Self { variables: network.parts().into_iter().map(variable).collect() }
    }

    fn variable(&self, name: &str, part: &str) -> &Tensor {
        &self.variables[&format!("{name}.{part}")]
    }

    /// Rows x[t * stride + offset] side by side, x being repeated at its edges from `left` rows before its first.
    fn spliced(x: &Tensor, (offsets, stride): (&[usize], usize), (left, rows): (usize, usize)) -> Result<Tensor> {
        let last = x.dim(0)? - 1;
        let shifted = |offset: &usize| {
            let place = |row: usize| (row * stride + offset).saturating_sub(left).min(last) as u32;
            x.index_select(&Tensor::new((0..rows).map(place).collect::<Vec<_>>(), &Device::Cpu)?, 0)
        };
        Tensor::cat(&offsets.iter().map(shifted).collect::<Result<Vec<_>>>()?, 1)
    }

    /// x W + b.
    fn affine(&self, name: &str, x: &Tensor) -> Result<Tensor> {
        x.matmul(self.variable(name, "weight"))?.broadcast_add(self.variable(name, "bias"))
    }

    /// The rectified x, normalised by the kind or by the layer's parameters.
    fn hidden(&self, (name, norm): (&str, HiddenNorm), x: &Tensor) -> Result<Tensor> {
        let (z, floor) = (x.relu()?, f64::from(RENORM_FLOOR));
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
    fn convolved(&self, config: &FrontEndConfig, frames: &Tensor, norm: HiddenNorm) -> Result<Tensor> {
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
                all.push(self.affine(&name, &Tensor::cat(&seen.collect::<Result<Vec<_>>>()?, 1)?)?);
            }
            x = self.hidden((&name, norm), &Tensor::cat(&all, 1)?)?;
            channels = filters;
        }
        Ok(x)
    }

    fn tdnn(&self, config: &TdnnConfig, frames: &Tensor) -> Result<Tensor> {
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

    fn mlp(&self, config: &MlpConfig, frames: &Tensor) -> Result<Tensor> {
        let (step, left) = (config.subsampling, config.left_frames);
        let window: Vec<usize> = (0..left + step + config.right_frames).collect();
        let mut x = Self::spliced(frames, (&window, step), (left, frames.dim(0)?.div_ceil(step)))?;
        for index in 0..config.widths.len() {
            let name = format!("hidden{:02}", index + 1);
            x = self.hidden((&name, config.normalisation), &self.affine(&name, &x)?)?;
        }
        self.affine("output", &x)
    }

    fn lstm(&self, config: &LstmConfig, directions: &[&str], frames: &Tensor) -> Result<Tensor> {
        let (step, rows) = (config.subsampling, frames.dim(0)?.div_ceil(config.subsampling));
        let window: Vec<usize> = (0..step).collect();
        let x = Self::spliced(frames, (&window, step), (0, rows))?;
        self.affine("output", &self.recurrent((config.layers, directions), x)?)
    }

    fn recurrent(&self, (layers, directions): (usize, &[&str]), mut x: Tensor) -> Result<Tensor> {
        for layer in 1..=layers {
            let read = |direction: &&str| self.read(&format!("lstm{layer:02}.{direction}"), &x);
            x = Tensor::cat(&directions.iter().map(read).collect::<Result<Vec<_>>>()?, 1)?;
        }
        Ok(x)
    }

    /// One direction of one layer, row after row.
    fn read(&self, name: &str, x: &Tensor) -> Result<Tensor> {
        let rows = x.dim(0)?;
        let width = self.variable(name, "bias").dim(0)? / 4;
        let mut order: Vec<usize> = (0..rows).collect();
        if name.ends_with("backward") {
            order.reverse();
        }
        let mut c = Tensor::zeros((1, width), DType::F32, &Device::Cpu)?;
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

    /// The scores `[rows x P]` of an utterance.
    fn scores(&self, config: &NetworkConfig, frames: &Tensor) -> Result<Tensor> {
        match config {
            NetworkConfig::Tdnn(config) => self.tdnn(config, frames),
            NetworkConfig::Mlp(config) => self.mlp(config, frames),
            NetworkConfig::Lstm(config) => self.lstm(config, &["forward"], frames),
            NetworkConfig::Bilstm(config) => self.lstm(config, &["forward", "backward"], frames),
        }
    }
}

/// The values of `tensor`, row after row.
fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn scores_and_gradients_are_those_that_candle_finds_by_itself() {
    for config in configs(0.0) {
        let (network, utterance) = (network(&config), &utterances()[..1]);
        let mut loss = Linear::default();
        let (gradient, by_frames) = network.gradient_with_inputs(utterance, &mut loss, None).unwrap();

        let oracle = Oracle::new(&network);
        let shape = (utterance[0].rows(), utterance[0].cols());
        let frames = Var::from_slice(utterance[0].as_slice(), shape, &Device::Cpu).unwrap();
        let scores = oracle.scores(&config, &frames).unwrap();
        assert_near(&format!("scores {config:?}"), &loss.scores, &values(&scores));

        let (rows, pdfs) = scores.dims2().unwrap();
        let mut by_scores = Matrix::from_vec(rows, pdfs, values(&scores)).unwrap();
        Linear::default().differentiate(&mut by_scores).unwrap();
        let by_scores = Tensor::from_vec(by_scores.into_vec(), (rows, pdfs), &Device::Cpu).unwrap();
        let gradients = (scores * by_scores).unwrap().sum_all().unwrap().backward().unwrap();
        let expected = |variable: &Var| values(gradients.get(variable).unwrap());
        for (((name, variable), found), spec) in oracle.variables.iter().zip(&gradient).zip(network.plan.specs()) {
            if !spec.is_statistic() {
                assert_near(&format!("{name} {config:?}"), found, &expected(variable));
            }
        }
        assert_near(&format!("frames {config:?}"), by_frames[0].as_slice(), &expected(&frames));
    }
}
