//! A trainer's whole state as safetensors: parameters, moments, sums, and what they belong to.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::{SequenceGoal, Trainer};
use crate::{Error, Result};

const GROUPS: [&str; 4] = ["parameter", "first", "second", "sum"];

/// What the numbers belong to: another run's checkpoint is refused.
fn fingerprint(trainer: &Trainer) -> String {
    let frames = format!("{:?} {:?}", trainer.config, trainer.network.config());
    let Some(goal) = &trainer.goal else { return frames };
    let SequenceGoal { graph, transitions, criterion, scales, cross_entropy_share, .. } = goal;
    let graph = format!("{} states {} arcs", graph.len(), graph.arc_count());
    format!("{frames} {criterion:?} {scales:?} {transitions:?} {cross_entropy_share} {graph}")
}

fn groups(trainer: &Trainer) -> [&Vec<Vec<f32>>; 4] {
    [&trainer.parameters, &trainer.optimiser.first, &trainer.optimiser.second, &trainer.sum]
}

/// `trainer` as bytes.
pub(super) fn encode(trainer: &Trainer) -> Result<Vec<u8>> {
    let mut tensors: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (group, values) in GROUPS.iter().zip(groups(trainer)) {
        for (index, values) in values.iter().enumerate() {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            tensors.insert(format!("{group}.{index:04}"), bytes);
        }
    }
    let wrong = |error: safetensors::SafeTensorError| Error::Other(format!("checkpoint: {error}"));
    let views = tensors
        .iter()
        .map(|(name, bytes)| Ok((name.as_str(), TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes)?)))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(wrong)?;
    // One entry: more would come in an order that differs from run to run.
    let progress = format!("{} {}", trainer.epochs, trainer.optimiser.steps);
    let about = HashMap::from([("run".to_owned(), format!("{}\n{progress}", fingerprint(trainer)))]);
    safetensors::serialize(views, Some(about)).map_err(wrong)
}

/// Makes `trainer` what it was when `bytes` were written.
pub(super) fn restore(trainer: &mut Trainer, bytes: &[u8]) -> Result<()> {
    let broken = |error: safetensors::SafeTensorError| Error::Other(format!("the checkpoint is broken: {error}"));
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let about = metadata.metadata().clone().unwrap_or_default();
    let (run, progress) = about.get("run").and_then(|run| run.rsplit_once('\n')).unwrap_or_default();
    if run != fingerprint(trainer) {
        return Err(Error::Other("the checkpoint is of a run with other settings: remove it, or restore them".into()));
    }
    let number = |value: &str| {
        let silent = || Error::Other("the checkpoint is broken: it does not say its epochs and steps".into());
        value.parse::<u64>().map_err(|_| silent())
    };
    let (epochs, steps) = progress.split_once(' ').unwrap_or_default();
    let (epochs, steps) = (number(epochs)? as usize, number(steps)?);
    let file = SafeTensors::deserialize(bytes).map_err(broken)?;
    let mut read = Vec::new();
    for (group, now) in GROUPS.iter().zip(groups(trainer)) {
        let one = |(index, now): (usize, &Vec<f32>)| {
            let view = file.tensor(&format!("{group}.{index:04}")).map_err(broken)?;
            let values: Vec<f32> =
                view.data().as_chunks::<4>().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect();
            match values.len() == now.len() {
                true => Ok(values),
                false => Err(Error::Shape { what: "values in a checkpoint", expected: now.len(), found: values.len() }),
            }
        };
        read.push(now.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?);
    }
    let [parameters, first, second, sum]: [Vec<Vec<f32>>; 4] =
        read.try_into().map_err(|_| Error::Other("the checkpoint is broken: a group of tensors is missing".into()))?;
    (trainer.parameters, trainer.sum) = (parameters, sum);
    (trainer.optimiser.first, trainer.optimiser.second, trainer.optimiser.steps) = (first, second, steps);
    trainer.epochs = epochs;
    Ok(())
}
