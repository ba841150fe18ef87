//! How scores change: from counts of what right and wrong paths use to new weights and new Gaussians.
//!
//! In: frames, graphs and what [`crate::dp`] counted on them. Out: parameters of linear models, [`crate::graph::Weights`], Gaussian
//! mixtures, alignments, networks. [`criterion`] says by how much scores should change; the others act on it.

pub mod counting;
pub mod criterion;
pub mod gmm;
pub mod gradient;
mod iterate;
pub mod lbfgs;
pub mod margin;

#[cfg(feature = "neural")]
pub mod neural;
pub mod online;
pub mod problem;
#[cfg(test)]
mod toy;
pub mod tree;
