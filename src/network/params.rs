//! A network's parameters: one candle variable that holds them in the order of their names, and the same as named tensors.

use std::collections::BTreeMap;

use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Tensor, Var};

use super::init::Spec;
use super::operation::with_values;
use super::refused;
use crate::{Error, Result};

/// All parameters, one after another.
#[derive(Debug)]
pub(super) struct Parameters {
    flat: Var,
    lengths: Vec<usize>,
}

impl Parameters {
    /// Parameters with these values, a vector for each.
    pub(super) fn new(values: &[Vec<f32>]) -> Result<Self> {
        let flat = values.concat();
        let length = flat.len();
        let flat = Var::from_vec(flat, length, &Device::Cpu).map_err(refused)?;
        Ok(Self { flat, lengths: values.iter().map(Vec::len).collect() })
    }

    /// How many values each parameter has.
    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The variable, whose gradient candle's tape gives.
    pub(super) fn variable(&self) -> &Tensor {
        &self.flat
    }

    /// Gives the values to `f`, a slice for each parameter.
    ///
    /// # Errors
    /// [`Error::Network`] when candle does not hand them out.
    pub(super) fn with<R>(&self, f: impl FnOnce(&[&[f32]]) -> R) -> Result<R> {
        with_values(&self.flat, |flat| Ok(f(&cut(flat, &self.lengths)))).map_err(refused)
    }

    /// A copy of the values, a vector for each parameter.
    pub(super) fn values(&self) -> Vec<Vec<f32>> {
        let copy = |values: &[&[f32]]| values.iter().map(|values| values.to_vec()).collect();
        self.with(copy).expect("parameters are plain numbers in memory")
    }

    /// Sets all values.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of parameters or values.
    pub(super) fn set(&mut self, values: &[Vec<f32>]) -> Result<()> {
        if values.len() != self.lengths.len() {
            return Err(Error::Shape { what: "parameter tensors", expected: self.lengths.len(), found: values.len() });
        }
        if let Some((&expected, new)) = self.lengths.iter().zip(values).find(|(old, new)| **old != new.len()) {
            return Err(Error::Shape { what: "values of a parameter", expected, found: new.len() });
        }
        self.flat.inplace_op1(&Overwrite(values)).map_err(refused)
    }
}

/// `flat` as slices of these lengths.
pub(super) fn cut<'a>(flat: &'a [f32], lengths: &[usize]) -> Vec<&'a [f32]> {
    let mut rest = flat;
    let mut next = |&length: &usize| {
        let (values, after) = rest.split_at(length);
        rest = after;
        values
    };
    lengths.iter().map(&mut next).collect()
}

/// Copies values over a tensor's own.
struct Overwrite<'a>(&'a [Vec<f32>]);

impl InplaceOp1 for Overwrite<'_> {
    fn name(&self) -> &'static str {
        "overwrite"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _layout: &Layout) -> candle_core::Result<()> {
        let CpuStorage::F32(flat) = storage else { candle_core::bail!("parameters are f32") };
        let mut rest = flat.as_mut_slice();
        for values in self.0 {
            let (place, after) = rest.split_at_mut(values.len());
            place.copy_from_slice(values);
            rest = after;
        }
        Ok(())
    }
}

/// A tensor by name: name, shape, values in row-major order.
pub type NamedTensor = (String, Vec<usize>, Vec<f32>);

/// The values that `tensors` hold for `specs`, in the order of `specs`.
///
/// # Errors
/// [`Error::Network`] names a tensor that is missing, of another shape, not finite, or unknown.
pub(super) fn values_for(specs: &[Spec], tensors: Vec<NamedTensor>) -> Result<Vec<Vec<f32>>> {
    let mut tensors: BTreeMap<_, _> =
        tensors.into_iter().map(|(name, shape, values)| (name, (shape, values))).collect();
    let mut values = Vec::with_capacity(specs.len());
    for spec in specs {
        let missing = || Error::Network(format!("the tensor {} is missing", spec.name));
        values.push(fitting(spec, tensors.remove(&spec.name).ok_or_else(missing)?)?);
    }
    match tensors.keys().next() {
        Some(name) => Err(Error::Network(format!("the tensor {name} belongs to no layer of this network"))),
        None => Ok(values),
    }
}

fn fitting(spec: &Spec, (shape, values): (Vec<usize>, Vec<f32>)) -> Result<Vec<f32>> {
    let (name, expected) = (&spec.name, &spec.shape);
    if shape != spec.shape || values.len() != shape.iter().product::<usize>() {
        let found = values.len();
        let text = format!("the tensor {name} has shape {shape:?} and {found} values: expected {expected:?}");
        return Err(Error::Network(text));
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Error::Network(format!("the tensor {name} holds a value that is not a finite number")));
    }
    Ok(values)
}
