//! What all solvers ask of the examples: the labelling that violates its margin most, as a plane under the hinge.

use rayon::prelude::*;

use super::MarginConfig;
use super::sparse::Sparse;
use super::working_set::Plane;
use crate::Result;
use crate::dp::{Plan, path_score};
use crate::emission::{Emissions, Scorer};
use crate::learn::criterion::Criterion;
use crate::learn::online::check_examples;
use crate::learn::problem::{Example, Problem};
use crate::matrix::Matrix;
use crate::parallel::{SHARDS, in_order};

/// Finds violations.
pub(super) struct Violations<'a, S: Scorer> {
    pub problem: &'a Problem<'a, S>,
    pub config: MarginConfig,
    /// The graph without the weights that are learnt: what is fixed on its arcs.
    fixed: Plan,
}

impl<'a, S: Scorer> Violations<'a, S> {
    pub fn new(problem: &'a Problem<'a, S>, config: MarginConfig) -> Result<Self> {
        config.check()?;
        check_examples(problem)?;
        let fixed = problem.plan(&vec![0.0; problem.parameters()])?;
        Ok(Self { problem, config, fixed })
    }

    /// Number of examples, n.
    pub fn count(&self) -> usize {
        self.problem.examples.len()
    }

    /// Calls `add` for psi = Phi(x, y') - Phi(x, y) of the worst labelling y' under `theta`, laid out in `plan`; returns the
    /// offset of its plane,
    ///
    /// ```text
    /// cost(y, y') + fixed(y') - fixed(y)
    /// ```
    pub fn find(&self, at: (&Plan, &[f64]), example: &Example<S::Input>, add: impl FnMut(usize, f64)) -> Result<f64> {
        let found = self.problem.of_example(at, example, Criterion::Margin(self.config.cost))?;
        let rival = found.rival.expect("the margin criterion looks for a rival");
        self.problem.differentiate(&example.input, &found.gradient, add);
        let cost = self.config.cost.between(self.problem.graph, &example.path, &rival);
        let nothing = Emissions::new(Matrix::zeros(rival.len(), self.problem.scorer.pdfs()))?;
        let fixed = |path| path_score(&self.fixed, &nothing, path);
        Ok(cost + fixed(&rival)? - fixed(&example.path)?)
    }

    /// The plane of the mean of all hinges that is tight at `theta`, shards summed in order; also its gradient with all zeros.
    pub fn plane(&self, theta: &[f64]) -> Result<(Plane, Vec<f64>)> {
        let plan = self.problem.plan(theta)?;
        let shard = |examples: &[Example<S::Input>]| -> Result<(f64, Vec<f64>)> {
            let (mut offset, mut sum) = (0.0, vec![0.0; self.problem.parameters()]);
            for example in examples {
                offset += self.find((&plan, theta), example, |parameter, d| sum[parameter] += d)?;
            }
            Ok((offset, sum))
        };
        let size = self.count().div_ceil(SHARDS);
        let shards = in_order(self.problem.examples.par_chunks(size).map(shard))?;
        let (mut offset, mut sum) = (0.0, vec![0.0; self.problem.parameters()]);
        for (of_shard, part) in shards {
            offset += of_shard;
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        let n = self.count() as f64;
        sum.iter_mut().for_each(|sum| *sum /= n);
        Ok((Plane { gradient: Sparse::of(&sum), offset: offset / n }, sum))
    }
}
