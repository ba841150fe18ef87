//! Which examples can be learnt from: a bad one is named and left out, and the rest is learnt.
//!
//! In: a [`Problem`]. Out: the places of its usable examples, and each other one with the reason.

use super::problem::{Example, Problem};
use crate::dp::{Plan, path_score};
use crate::emission::Scorer;
use crate::{Error, Result};

/// A sequence that nothing was learnt from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// The examples of a problem, sorted out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screened {
    /// Places of those to learn from, ascending; at least one.
    pub usable: Vec<usize>,
    /// The others.
    pub left_out: Vec<LeftOut>,
}

/// Looks for examples without frames, with features that are not finite numbers or of another dimension, and with a path that
/// the graph does not permit or that has not one state for each frame.
///
/// # Errors
/// [`Error::Other`] when no example is left, with the reason of the first; as [`Plan::new`].
pub fn screen<S: Scorer>(problem: &Problem<'_, S>) -> Result<Screened> {
    let nothing = vec![0.0; problem.parameters()];
    let plan = problem.plan(&nothing)?;
    let mut screened = Screened { usable: Vec::new(), left_out: Vec::new() };
    for (place, example) in problem.examples.iter().enumerate() {
        match check(problem, (&plan, &nothing), example) {
            Ok(()) => screened.usable.push(place),
            Err(error) => screened.left_out.push(LeftOut { name: example.name.clone(), reason: error.to_string() }),
        }
    }
    match (screened.usable.is_empty(), screened.left_out.first()) {
        (false, _) => Ok(screened),
        (true, None) => Err(Error::Other("there is no sequence to learn from".into())),
        (true, Some(LeftOut { name, reason })) => {
            let count = screened.left_out.len();
            Err(Error::Other(format!("none of {count} sequences can be learnt from; the first, {name}: {reason}")))
        }
    }
}

fn check<S: Scorer>(
    problem: &Problem<'_, S>,
    (plan, nothing): (&Plan, &[f64]),
    example: &Example<S::Input>,
) -> Result<()> {
    if problem.scorer.frames(&example.input) == 0 {
        return Err(Error::Other("it has no frames".into()));
    }
    // Nothing times NaN or infinity is NaN: the scores tell of the features.
    let emissions = problem.emissions(nothing, &example.input).map_err(|error| match error {
        Error::NotFinite { frame, .. } => Error::NotFinite { what: "features", frame },
        other => other,
    })?;
    path_score(plan, &emissions, &example.path).map(|_| ())
}
