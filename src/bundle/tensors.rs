//! The part with all numbers: safetensors, the network in f16, the rest in f32.

use std::collections::BTreeMap;

use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::Bundle;
use crate::emission::Priors;
use crate::features::Moments;
use crate::graph::Weights;
use crate::network::NamedTensor;
use crate::{Error, Result};

const PRIORS: &str = "priors.log";
const TRANSITIONS: &str = "transitions.log";
const MOMENTS_COUNT: &str = "moments.count";
const MOMENTS_SUM: &str = "moments.sum";
const MOMENTS_SQUARE: &str = "moments.square";
const NETWORK: &str = "network.";

/// Every tensor of the file, as f32 or f64 values.
pub(super) struct Tensors {
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    wide: BTreeMap<String, Vec<f64>>,
}

type Reason<T> = std::result::Result<T, String>;

impl Tensors {
    /// Reads the file's bytes.
    pub(super) fn parse(bytes: &[u8]) -> Reason<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| {
            format!("is broken ({error:?}): expected the safetensors file that training wrote; copy it again")
        })?;
        let mut all = Self { tensors: BTreeMap::new(), wide: BTreeMap::new() };
        for (name, view) in file.tensors() {
            match view.dtype() {
                Dtype::F64 => {
                    all.wide.insert(name, values(view.data(), f64::from_le_bytes));
                }
                _ => {
                    let data = floats(&name, &view)?;
                    all.tensors.insert(name, (view.shape().to_vec(), data));
                }
            }
        }
        Ok(all)
    }

    /// The network's tensors under its own names.
    pub(super) fn network(&self) -> Vec<NamedTensor> {
        let tensors = self.tensors.iter().filter_map(|(name, tensor)| Some((name.strip_prefix(NETWORK)?, tensor)));
        tensors.map(|(name, (shape, data))| (name.to_owned(), shape.clone(), data.clone())).collect()
    }

    pub(super) fn priors(&self) -> Reason<Priors> {
        Priors::from_log(self.vector(PRIORS)?).map_err(|error| error.to_string())
    }

    pub(super) fn transitions(&self) -> Reason<Weights> {
        self.vector(TRANSITIONS).map(Weights)
    }

    pub(super) fn moments(&self) -> Reason<Moments> {
        let count = self.wide(MOMENTS_COUNT)?.first().copied().unwrap_or_default();
        Ok(Moments { count, sum: self.wide(MOMENTS_SUM)?, square: self.wide(MOMENTS_SQUARE)? })
    }

    fn vector(&self, name: &str) -> Reason<Vec<f32>> {
        self.tensors.get(name).map(|(_, data)| data.clone()).ok_or_else(|| missing(name))
    }

    fn wide(&self, name: &str) -> Reason<Vec<f64>> {
        self.wide.get(name).cloned().ok_or_else(|| missing(name))
    }
}

fn missing(name: &str) -> String {
    format!("has no tensor {name:?}: it was written by another program or version")
}

fn values<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect()
}

fn floats(name: &str, view: &TensorView<'_>) -> Reason<Vec<f32>> {
    match view.dtype() {
        Dtype::F32 => Ok(values(view.data(), f32::from_le_bytes)),
        Dtype::F16 => Ok(values(view.data(), |bytes| f16::from_le_bytes(bytes).to_f32())),
        other => Err(format!("tensor {name:?} has type {other:?}: expected F16, F32 or F64")),
    }
}

/// One tensor as bytes.
struct Encoded {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Encoded {
    fn narrow((name, shape, data): &NamedTensor) -> Self {
        let bytes = data.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect();
        Self { name: format!("{NETWORK}{name}"), dtype: Dtype::F16, shape: shape.clone(), bytes }
    }

    fn single(name: &str, data: &[f32]) -> Self {
        let bytes = data.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name: name.to_owned(), dtype: Dtype::F32, shape: vec![data.len()], bytes }
    }

    fn double(name: &str, data: &[f64]) -> Self {
        let bytes = data.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name: name.to_owned(), dtype: Dtype::F64, shape: vec![data.len()], bytes }
    }
}

/// The bytes of `bundle`'s numbers.
pub(super) fn encode(bundle: &Bundle) -> Result<Vec<u8>> {
    let mut all: Vec<Encoded> = bundle.network.parts().iter().map(Encoded::narrow).collect();
    all.push(Encoded::single(PRIORS, bundle.priors.log()));
    all.push(Encoded::single(TRANSITIONS, &bundle.transitions.0));
    all.push(Encoded::double(MOMENTS_COUNT, &[bundle.moments.count]));
    all.push(Encoded::double(MOMENTS_SUM, &bundle.moments.sum));
    all.push(Encoded::double(MOMENTS_SQUARE, &bundle.moments.square));
    let wrong = |error: safetensors::SafeTensorError| Error::Other(format!("weights.safetensors: {error}"));
    let views = all
        .iter()
        .map(|part| Ok((part.name.as_str(), TensorView::new(part.dtype, part.shape.clone(), &part.bytes)?)))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(wrong)?;
    safetensors::serialize(views, None).map_err(wrong)
}
