//! Training that goes on from a model: its network aligns the corpora and is trained on.

use rayon::prelude::*;

use super::alignments::Alignments;
use super::config::TrainConfig;
use super::digest;
use super::hybrid::{PRIOR_FLOOR, Run, log_posteriors};
use super::{Event, Progress};
use crate::bundle::Bundle;
use crate::emission::Priors;
use crate::graph::GraphSpec;
use crate::network::Network;
use crate::parallel::in_order;
use crate::{Error, Result};

/// Name of the file that this stage leaves.
pub(super) const ALIGNMENT: &str = "start.ctm";

/// Whether the model has the features, the shape of network and the graph of `config`.
///
/// # Errors
/// [`Error::Other`] naming what differs.
pub(super) fn check(config: &TrainConfig, spec: &GraphSpec, bundle: &Bundle) -> Result<()> {
    let (description, graph) = (&bundle.description, &bundle.graph);
    let differs = [
        (description.features != config.features, "other features than [features]"),
        (description.network != config.network, "another network than [network]"),
        (graph.symbols() != spec.symbols(), "other phones than the graph file"),
        (
            config.context.is_some_and(|context| graph.units().kind() != Some(context.kind)),
            "other contexts than [context]",
        ),
        (graph.pdfs() != spec.pdfs() || graph.transitions() != spec.transitions(), "other states than the graph file"),
    ];
    match differs.iter().find(|(differs, _)| *differs) {
        Some((_, what)) => {
            let name = &description.name;
            Err(Error::Other(format!("the model to start from, {name:?}, has {what}: make them the same")))
        }
        None => Ok(()),
    }
}

/// A number that tells this model from others.
pub(super) fn digest_of(bundle: &Bundle) -> u64 {
    let network = bundle.network.parts().into_iter().flat_map(|(_, _, values)| values);
    let values = network.chain(bundle.transitions.0.iter().copied());
    digest(values.flat_map(|value| value.to_le_bytes()))
}

impl Run<'_> {
    /// The network of `bundle` with the alignment that it makes.
    pub(super) fn begin_with(&self, bundle: &Bundle, progress: &mut Progress<'_>) -> Result<(Network, Alignments)> {
        let dims = (bundle.network.input_dim(), bundle.priors.pdfs());
        let network = Network::load(bundle.network.config(), dims, bundle.network.parts())?;
        let path = self.work.join(ALIGNMENT);
        if path.exists() {
            progress(Event::Resumed("alignment by the model to start from".into()));
            return Ok((network, Alignments::resumed(&path, self.timing.sample_rate, (self.corpus, progress))?));
        }
        let priors = self.mean_posteriors(&network)?;
        let made = self.aligned(&network, (&priors, &bundle.transitions), progress)?;
        let made = made.stored(&path, self.timing.sample_rate)?;
        progress(Event::Note(format!("{} utterances aligned with the model to start from", made.len())));
        Ok((network, made))
    }

    /// Priors of the training utterances without an alignment: the mean of what the network says of their frames (Manohar,
    /// Povey & Khudanpur 2015). Those of a model are of other data, and its filler is dead.
    fn mean_posteriors(&self, network: &Network) -> Result<Priors> {
        let sums = |example| -> Result<Vec<f64>> {
            let mut sums = vec![0.0; self.spec.pdfs()];
            for row in log_posteriors(network, example)?.0.iter_rows() {
                sums.iter_mut().zip(row).for_each(|(sum, log)| *sum += f64::from(*log).exp());
            }
            Ok(sums)
        };
        let each = in_order(self.corpus.training.par_iter().map(sums))?;
        let mut total = vec![0.0; self.spec.pdfs()];
        each.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum));
        Priors::from_counts(&total, PRIOR_FLOOR)
    }
}
