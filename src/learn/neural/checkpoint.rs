//! Training frozen between two epochs, as one safetensors file: parameters, the optimiser's averages, the epochs done.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::FrameTrainer;
use crate::network::{NamedTensor, OptimiserState};
use crate::{Error, Result};

/// Key of the file's metadata.
const KEY: &str = "senone-training";

/// What is not a tensor.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// The settings, which must not change midway.
    settings: String,
    epochs: usize,
    steps: u64,
    averaged: usize,
}

impl FrameTrainer {
    /// Training as it stands, for [`FrameTrainer::resume`]. The same state gives the same bytes.
    ///
    /// # Errors
    /// [`Error::Other`] when it cannot be written as safetensors.
    pub fn checkpoint(&self) -> Result<Vec<u8>> {
        let parts = self.network.parts();
        let state = self.optimiser.state();
        let sets = [
            ("parameter", self.network.values()),
            ("first", &state.first),
            ("second", &state.second),
            ("average", &self.average),
        ];
        let mut bytes = BTreeMap::new();
        for (set, values) in sets {
            for ((name, shape, _), values) in parts.iter().zip(values) {
                let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                bytes.insert(format!("{set}.{name}"), (shape.clone(), little));
            }
        }
        let views = bytes.iter().map(|(name, (shape, bytes))| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("a shape fits its values");
            (name.as_str(), view)
        });
        let header =
            Header { settings: self.settings(), epochs: self.epochs, steps: state.steps, averaged: self.averaged };
        let header = serde_json::to_string(&header).map_err(|error| Error::Other(error.to_string()))?;
        safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), header)])))
            .map_err(|error| Error::Other(format!("the checkpoint cannot be written: {error}")))
    }

    /// Goes on where the trainer was that made this checkpoint: from there on both do exactly the same.
    ///
    /// # Errors
    /// [`Error::Other`] when `bytes` are no checkpoint, or one of a training with other settings.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<()> {
        let broken = |reason: String| Error::Other(format!("the checkpoint cannot be used: {reason}"));
        let header = header(bytes).map_err(broken)?;
        if header.settings != self.settings() {
            let text = "it was made with other settings; restore them, or delete it to begin again".to_owned();
            return Err(broken(text));
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| broken(error.to_string()))?;
        let specs = self.network.parts();
        let set = |set: &str| values(&tensors, set, &specs).map_err(broken);
        let (parameters, first, second, average) = (set("parameter")?, set("first")?, set("second")?, set("average")?);
        if parameters.len() != specs.len() || average.len() != if header.averaged > 0 { specs.len() } else { 0 } {
            return Err(broken("tensors are missing".into()));
        }
        self.optimiser.restore(OptimiserState { steps: header.steps, first, second })?;
        self.network.values_mut().into_iter().zip(&parameters).for_each(|(old, new)| old.copy_from_slice(new));
        (self.average, self.averaged, self.epochs) = (average, header.averaged, header.epochs);
        Ok(())
    }
}

fn header(bytes: &[u8]) -> std::result::Result<Header, String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let text = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY)).ok_or("it is another kind of file")?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The tensors of a set in the order of `specs`; those that the file does not have are left out.
fn values(tensors: &SafeTensors<'_>, set: &str, specs: &[NamedTensor]) -> std::result::Result<Vec<Vec<f32>>, String> {
    let mut found = Vec::new();
    for (name, shape, _) in specs {
        let name = format!("{set}.{name}");
        let Ok(view) = tensors.tensor(&name) else { continue };
        if view.shape() != shape || view.dtype() != Dtype::F32 {
            return Err(format!("{name} has shape {:?}, expected {shape:?} of f32", view.shape()));
        }
        let values = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        found.push(values.collect());
    }
    Ok(found)
}
