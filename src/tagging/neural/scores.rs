//! A trained network with its vectors, transitions and priors, and how it lies in a tagger's file.

use std::collections::BTreeMap;

use half::f16;

use crate::emission::{Emissions, HybridScales, Priors, SparseFrames, hybrid};
use crate::graph::Weights;
use crate::learn::neural::{EmbeddedNetwork, Embedding};
use crate::network::{Acoustic, Network, NetworkConfig};
use crate::tagging::file::{Pack, Reason, Unpack};
use crate::{Error, Result, settings};

/// What a network says of tokens.
#[derive(Debug)]
pub struct NetworkScores {
    model: EmbeddedNetwork,
    transitions: Weights,
    /// What posteriors are divided by, under a hidden Markov model.
    priors: Option<(Priors, f32)>,
}

/// Names in the file.
const EMBEDDING: &str = "embedding";
const NETWORK: &str = "network";
const TRANSITIONS: &str = "transitions";
const PRIORS: &str = "priors";
const PRIOR_SCALE: &str = "prior_scale";
const INPUT: &str = "input";

impl NetworkScores {
    /// Takes the parts; vectors and network are rounded to 16 bits, as the file has them.
    pub(super) fn new(model: EmbeddedNetwork, transitions: Weights, priors: Option<(Priors, f32)>) -> Result<Self> {
        let EmbeddedNetwork { embedding, network } = model;
        let embedding = Embedding::from_values(rounded(embedding.values()), embedding.dims())?;
        let parts = network.parts().into_iter().map(|(name, shape, values)| (name, shape, rounded(&values))).collect();
        let network = Network::load(network.config(), (network.input_dim(), network.pdfs()), parts)?;
        Ok(Self { model: EmbeddedNetwork::new(embedding, network)?, transitions, priors })
    }

    /// Features that there is a vector for.
    pub fn features(&self) -> usize {
        self.model.embedding.features()
    }

    /// Weights of the graph's transitions.
    pub fn transitions(&self) -> &Weights {
        &self.transitions
    }

    /// Adds `amounts`, one a transition, to the transition weights.
    pub(in crate::tagging) fn shift(&mut self, amounts: &[f32]) {
        self.transitions.0.iter_mut().zip(amounts).for_each(|(weight, amount)| *weight += amount);
    }

    /// The scores of every tag, `[T x tags]`.
    ///
    /// # Errors
    /// As [`EmbeddedNetwork::log_posteriors`] and [`Emissions::new`].
    pub fn emissions(&self, tokens: &SparseFrames) -> Result<Emissions> {
        let posteriors = self.model.log_posteriors(tokens)?;
        match &self.priors {
            // A CRF's scores, but for a number that all tags of a token have in common.
            None => Emissions::new(posteriors.0),
            Some((priors, scale)) => {
                hybrid(&posteriors, priors, HybridScales { acoustic_scale: 1.0, prior_scale: *scale })
            }
        }
    }

    /// Adds the tensors to `pack`, and to `about` what is text.
    pub(in crate::tagging) fn pack(&self, pack: &mut Pack, about: &mut BTreeMap<String, String>) -> Result<()> {
        let EmbeddedNetwork { embedding, network } = &self.model;
        about.insert(NETWORK.into(), settings::to_text(network.config()).map_err(Error::Other)?);
        about.insert(INPUT.into(), network.input_dim().to_string());
        pack.halves(EMBEDDING, vec![embedding.features(), embedding.dims()], embedding.values());
        for (name, shape, values) in network.parts() {
            pack.halves(&format!("{NETWORK}.{name}"), shape, &values);
        }
        pack.floats(TRANSITIONS, vec![self.transitions.0.len()], self.transitions.0.iter().copied());
        if let Some((priors, scale)) = &self.priors {
            pack.floats(PRIORS, vec![priors.pdfs()], priors.log().iter().copied());
            about.insert(PRIOR_SCALE.into(), scale.to_string());
        }
        Ok(())
    }

    /// What [`NetworkScores::pack`] packed, for so many pdfs.
    pub(in crate::tagging) fn unpack(
        unpack: &Unpack<'_>,
        (about, pdfs): (&BTreeMap<String, String>, usize),
    ) -> Reason<Self> {
        let say = |error: Error| error.to_string();
        let entry = |key: &str| about.get(key).ok_or_else(|| format!("does not say its {key}"));
        let config: NetworkConfig =
            settings::parse(entry(NETWORK)?).map_err(|reason| format!("its {NETWORK}: {reason}"))?;
        let (shape, values) = unpack.halves(EMBEDDING)?;
        let [_, dims] = shape[..] else { return Err(format!("the tensor {EMBEDDING} is no table")) };
        let embedding = Embedding::from_values(values, dims).map_err(say)?;
        let mut parts = Vec::new();
        for full in unpack.names() {
            if let Some(name) = full.strip_prefix(NETWORK).and_then(|rest| rest.strip_prefix('.')) {
                let (shape, values) = unpack.halves(&full)?;
                parts.push((name.to_owned(), shape, values));
            }
        }
        let input = entry(INPUT)?.parse().map_err(|_| format!("its {INPUT} is no number"))?;
        let network = Network::load(&config, (input, pdfs), parts).map_err(say)?;
        let priors = match about.get(PRIOR_SCALE) {
            None => None,
            Some(text) => {
                let scale = text.parse().map_err(|_| format!("its {PRIOR_SCALE} {text:?} is no number"))?;
                HybridScales { acoustic_scale: 1.0, prior_scale: scale }.check().map_err(say)?;
                Some((Priors::from_log(unpack.floats(PRIORS)?.1).map_err(say)?, scale))
            }
        };
        let transitions = Weights(unpack.floats(TRANSITIONS)?.1);
        let model = EmbeddedNetwork::new(embedding, network).map_err(say)?;
        Ok(Self { model, transitions, priors })
    }
}

/// What 16 bits keep of `values`.
fn rounded(values: &[f32]) -> Vec<f32> {
    values.iter().map(|&value| f16::from_f32(value).to_f32()).collect()
}
