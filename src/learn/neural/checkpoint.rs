//! A trainer's whole state as safetensors: parameters, the optimiser's state, averages, the best epoch, and what they belong to.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::trainer::Best;
use super::{SequenceGoal, Trainer};
use crate::{Error, Result};

/// Tensors by parameter.
type Group = Vec<Vec<f32>>;

/// What the numbers belong to: another run's checkpoint is refused.
fn fingerprint(trainer: &Trainer) -> String {
    let frames = format!("{:?} {:?} {:?}", trainer.config, trainer.network.config(), trainer.random);
    let Some(goal) = &trainer.goal else { return frames };
    let SequenceGoal { graph, transitions, criterion, scales, cross_entropy_share, .. } = goal;
    let graph = format!("{} states {} arcs", graph.len(), graph.arc_count());
    format!("{frames} {criterion:?} {scales:?} {transitions:?} {cross_entropy_share} {graph}")
}

/// What changes from epoch to epoch, besides the best epoch's parameters.
fn groups(trainer: &Trainer) -> [(&'static str, &Group); 4] {
    let optimiser = &trainer.optimiser;
    [
        ("parameter", &trainer.parameters),
        ("first", &optimiser.first),
        ("second", &optimiser.second),
        ("average", &trainer.average.values),
    ]
}

/// Where a run is: epochs, steps, and the best epoch with its error (0 where there is none).
fn progress(trainer: &Trainer) -> String {
    let (epoch, error) = trainer.best_epoch().unwrap_or_default();
    format!("{} {} {epoch} {error:?}", trainer.epochs, trainer.optimiser.steps)
}

/// `trainer` as bytes.
pub(super) fn encode(trainer: &Trainer) -> Result<Vec<u8>> {
    let best = trainer.best.as_ref().map(|best| ("best", &best.parameters));
    let mut tensors: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (group, values) in groups(trainer).into_iter().chain(best) {
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
    let about = HashMap::from([("run".to_owned(), format!("{}\n{}", fingerprint(trainer), progress(trainer)))]);
    safetensors::serialize(views, Some(about)).map_err(wrong)
}

/// Makes `trainer` what it was when `bytes` were written; when they are broken or another run's, it stays what it is.
pub(super) fn restore(trainer: &mut Trainer, bytes: &[u8]) -> Result<()> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let about = metadata.metadata().clone().unwrap_or_default();
    let (run, progress) = about.get("run").and_then(|run| run.rsplit_once('\n')).unwrap_or_default();
    if run != fingerprint(trainer) {
        return Err(Error::Other("the checkpoint is of a run with other settings: remove it, or restore them".into()));
    }
    let [epochs, steps, best, error] = numbers(progress)?;
    let file = SafeTensors::deserialize(bytes).map_err(broken)?;
    let [parameters, first, second, average] = groups(trainer);
    let [parameters, first, second, average] =
        [read(&file, parameters)?, read(&file, first)?, read(&file, second)?, read(&file, average)?];
    trainer.best = match best as usize {
        0 => None,
        epoch => Some(Best { epoch, error, parameters: read(&file, ("best", &trainer.parameters))? }),
    };
    trainer.parameters = parameters;
    (trainer.optimiser.first, trainer.optimiser.second, trainer.optimiser.steps) = (first, second, steps as u64);
    (trainer.average.values, trainer.epochs) = (average, epochs as usize);
    Ok(())
}

fn broken(reason: impl Display) -> Error {
    Error::Other(format!("the checkpoint is broken ({reason}): remove it, and the stage is done again"))
}

/// The numbers of [`progress`]; a count is exact as an `f64` up to 2^53.
fn numbers(progress: &str) -> Result<[f64; 4]> {
    let found: Vec<f64> = progress.split(' ').filter_map(|number| number.parse().ok()).collect();
    found.try_into().map_err(|_| broken("it does not say its epochs and steps"))
}

/// A group of tensors, each as long as that of `now`.
fn read(file: &SafeTensors<'_>, (group, now): (&str, &Group)) -> Result<Group> {
    let one = |(index, now): (usize, &Vec<f32>)| {
        let view = file.tensor(&format!("{group}.{index:04}")).map_err(broken)?;
        let values: Vec<f32> = view.data().as_chunks::<4>().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect();
        match (values.len(), now.len()) {
            (found, expected) if found == expected => Ok(values),
            (found, expected) => Err(broken(format!("{group} {index} has {found} values, expected {expected}"))),
        }
    };
    now.iter().enumerate().map(one).collect()
}
