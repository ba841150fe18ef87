//! A network's parameters: values in the order of their names, and the same as named tensors.

use std::collections::BTreeMap;

use super::layers::Spec;
use crate::{Error, Result};

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
