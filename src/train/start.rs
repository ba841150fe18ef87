//! Training that goes on from a model: its network aligns the corpora and is trained on, or lends its hidden layers to one for
//! other phones.

use rayon::prelude::*;

use super::alignments::Alignments;
use super::config::TrainConfig;
use super::digest;
use super::hybrid::{PRIOR_FLOOR, Run, log_posteriors};
use super::{Event, Progress};
use crate::bundle::Bundle;
use crate::emission::Priors;
use crate::features::Moments;
use crate::graph::GraphSpec;
use crate::network::Network;
use crate::parallel::in_order;
use crate::{Error, Result};

/// Name of the file that this stage leaves.
pub(super) const ALIGNMENT: &str = "start.ctm";

/// A model that training makes use of.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// Its network is trained on, and makes the first alignment in place of the Gaussian model. Phones stay as they are.
    Model(&'a Bundle),
    /// The hidden layers of its network are trained on, as far as their names and shapes are those of the new one, under an output
    /// layer that begins anew: phones may be others, as those of another language (Huang, Li, Yu, Deng & Gong 2013).
    HiddenLayers(&'a Bundle),
}

impl<'a> Origin<'a> {
    /// The model.
    pub fn bundle(self) -> &'a Bundle {
        match self {
            Self::Model(bundle) | Self::HiddenLayers(bundle) => bundle,
        }
    }

    /// The model, where all of it is trained on.
    pub(super) fn whole(self) -> Option<&'a Bundle> {
        match self {
            Self::Model(bundle) => Some(bundle),
            Self::HiddenLayers(_) => None,
        }
    }

    /// The moments that the features of `config` are normalised with, where they are those of the model.
    pub(super) fn moments(self, config: &TrainConfig) -> Option<&'a Moments> {
        Some(self.bundle())
            .filter(|bundle| bundle.description.features == config.features)
            .map(|bundle| &bundle.moments)
    }

    /// A line that tells this model, and what is made of it, from others.
    pub(super) fn mark(self) -> String {
        let what = match self {
            Self::Model(_) => "start",
            Self::HiddenLayers(_) => "hidden layers",
        };
        format!("{what} {:016x}\n", digest_of(self.bundle()))
    }
}

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
fn digest_of(bundle: &Bundle) -> u64 {
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
