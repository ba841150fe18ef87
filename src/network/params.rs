//! A network's parameters: candle variables in the order of their names, and the same as named vectors.

use std::collections::BTreeMap;

use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Result as CandleResult, Tensor, Var};

use super::layers::Spec;
use super::ops::with_values;
use crate::{Error, Result};

/// A tensor by name: name, shape, values in row-major order.
pub type NamedTensor = (String, Vec<usize>, Vec<f32>);

/// The parameters by name.
#[derive(Debug)]
pub(super) struct Parameters(BTreeMap<String, Var>);

impl Parameters {
    /// Parameters as `specs` say, with `values` in the same order.
    pub(super) fn new(specs: &[Spec], values: Vec<Vec<f32>>) -> Result<Self> {
        let variable = |(spec, values): (&Spec, Vec<f32>)| {
            let variable = Var::from_vec(values, spec.shape.as_slice(), &Device::Cpu).map_err(super::refused)?;
            Ok((spec.name.clone(), variable))
        };
        specs.iter().zip(values).map(variable).collect::<Result<_>>().map(Self)
    }

    /// Parameters as `specs` say, with the values of the tensors of the same names.
    pub(super) fn from_tensors(specs: &[Spec], tensors: Vec<NamedTensor>) -> Result<Self> {
        let mut tensors: BTreeMap<_, _> =
            tensors.into_iter().map(|(name, shape, values)| (name, (shape, values))).collect();
        let mut take = |spec: &Spec| {
            let name = &spec.name;
            let (shape, values) =
                tensors.remove(name).ok_or_else(|| Error::Network(format!("the tensor {name} is missing")))?;
            if shape != spec.shape || values.len() != shape.iter().product::<usize>() {
                let found = values.len();
                let expected = &spec.shape;
                let text = format!("the tensor {name} has shape {shape:?} and {found} values: expected {expected:?}");
                return Err(Error::Network(text));
            }
            if values.iter().any(|value| !value.is_finite()) {
                return Err(Error::Network(format!("the tensor {name} holds a value that is not a finite number")));
            }
            Ok(values)
        };
        let values = specs.iter().map(&mut take).collect::<Result<_>>()?;
        if let Some(name) = tensors.keys().next() {
            return Err(Error::Network(format!("the tensor {name} belongs to no layer of this network")));
        }
        Self::new(specs, values)
    }

    /// The variables, tracked for gradients.
    pub(super) fn variables(&self) -> BTreeMap<String, Tensor> {
        self.0.iter().map(|(name, variable)| (name.clone(), variable.as_tensor().clone())).collect()
    }

    /// The same values, without gradients; they follow when the variables change.
    pub(super) fn constants(&self) -> BTreeMap<String, Tensor> {
        self.0.iter().map(|(name, variable)| (name.clone(), variable.as_detached_tensor())).collect()
    }

    /// Names, shapes and values.
    pub(super) fn named(&self) -> Vec<NamedTensor> {
        let read = |(name, variable): (&String, &Var)| {
            let values = with_values(variable, |values| Ok(values.to_vec())).expect("parameters are plain CPU tensors");
            (name.clone(), variable.dims().to_vec(), values)
        };
        self.0.iter().map(read).collect()
    }

    /// Sets all values, in the order of the names.
    pub(super) fn set(&mut self, values: &[Vec<f32>]) -> Result<()> {
        if values.len() != self.0.len() {
            return Err(Error::Shape { what: "parameter tensors", expected: self.0.len(), found: values.len() });
        }
        let mut pairs = self.0.values().zip(values);
        pairs.try_for_each(|(variable, values)| {
            let expected = variable.elem_count();
            if values.len() != expected {
                return Err(Error::Shape { what: "values of a parameter", expected, found: values.len() });
            }
            variable.inplace_op1(&Overwrite(values)).map_err(super::refused)
        })
    }
}

/// Copies values over a tensor's own.
struct Overwrite<'a>(&'a [f32]);

impl InplaceOp1 for Overwrite<'_> {
    fn name(&self) -> &'static str {
        "overwrite"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _layout: &Layout) -> CandleResult<()> {
        match storage {
            CpuStorage::F32(values) => values.copy_from_slice(self.0),
            _ => candle_core::bail!("parameters are f32"),
        }
        Ok(())
    }
}
