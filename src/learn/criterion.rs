//! How scores should change: the one question that every learner asks.
//!
//! In: the [`Plan`] of all legal paths, what is right, and emissions. Out: a loss and its gradient by emission cells and
//! transitions, which is always the counts of wrong paths minus the counts of right ones:
//!
//! | [`Criterion`] | loss | wrong |
//! |---|---|---|
//! | [`LogLikelihood`](Criterion::LogLikelihood) | log Z - F(x, y) | expected counts of all paths |
//! | [`Posterior`](Criterion::Posterior) | 1 - exp(F(x, y) - log Z) | the same; the difference is multiplied by P(y given x) |
//! | [`Perceptron`](Criterion::Perceptron) | max F(x, y') - F(x, y) | counts of the best path |
//! | [`Margin`](Criterion::Margin) | max (F(x, y') + cost(y, y')) - F(x, y) | counts of the best path after the cost was added |
//!
//! Right is a labelled path y, or every alignment of a transcript: then F(x, y) is log Z over the transcript graph with its
//! expected counts (the first two: maximum mutual information), or its best path (the other two).

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::dp::{Counts, Path, Plan, add_cost, counts, path_counts, path_score, viterbi};
use crate::emission::Emissions;
use crate::graph::Graph;
use crate::symbols::{StateId, SymbolId};

/// What a labelling that is wrong in some frames should lose by, at least: `per_frame` for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HammingCost {
    /// Cost of a frame with another symbol than the right one.
    pub per_frame: f32,
    /// What a frame counts.
    pub unit: CostUnit,
}

/// What the Hamming cost counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostUnit {
    /// Frames: long sequences may cost more.
    Frames,
    /// The share of the frames: every sequence costs `per_frame` at most.
    Share,
}

impl Default for HammingCost {
    fn default() -> Self {
        Self { per_frame: 1.0, unit: CostUnit::Frames }
    }
}

impl HammingCost {
    /// The cost of one wrong frame among `frames`.
    pub fn of_frame(&self, frames: usize) -> f32 {
        match self.unit {
            CostUnit::Frames => self.per_frame,
            CostUnit::Share => self.per_frame / frames.max(1) as f32,
        }
    }

    /// cost(y, y') of the path `found` where `right` is right: what [`add_cost`] adds along it, without rounding.
    ///
    /// # Panics
    /// When a state is not one of the graph's.
    pub fn between(&self, graph: &Graph, right: &[StateId], found: &[StateId]) -> f64 {
        let is_wrong = |(right, found): (&StateId, &StateId)| {
            let (symbol, found) = (graph.state(*right).symbol, graph.state(*found));
            let reads = || graph.states().iter().any(|state| state.symbol == symbol && state.pdf == found.pdf);
            symbol != found.symbol && !reads()
        };
        let wrong = right.iter().zip(found).filter(|&pair| is_wrong(pair)).count();
        f64::from(self.of_frame(right.len())) * wrong as f64
    }
}

/// What is to be made small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// The negative log-likelihood of the right answer: CRF (Lafferty et al. 2001); with a transcript graph maximum mutual
    /// information (Bahl et al. 1986).
    LogLikelihood,
    /// One minus the posterior of the right answer: sequences that are hopelessly wrong weigh little.
    Posterior,
    /// How far the best path beats the right one (Collins 2002).
    Perceptron,
    /// The structured hinge loss with the margin rescaled by a cost (Taskar et al. 2003; Tsochantaridis et al. 2005).
    Margin(HammingCost),
}

/// The right answer of one example.
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// A path of the full graph.
    Path(&'a [StateId]),
    /// Every path of a transcript graph, with the same pdfs and transitions as the full one.
    Graph(&'a Plan),
}

/// A loss and how it changes with every score.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// The loss, natural log; 0 or more, but for rounding and transcripts outside of the full graph.
    pub loss: f64,
    /// The derivatives of the loss by emission cells `[T x P]` and by transition weights.
    pub gradient: Counts,
    /// The path that was held against the right answer, where the criterion looks for one: [`Criterion::Perceptron`] and
    /// [`Criterion::Margin`].
    pub rival: Option<Vec<StateId>>,
}

/// One side of the difference.
struct Side {
    score: f64,
    counts: Counts,
    /// The path that was counted, when it was only one.
    path: Option<Vec<StateId>>,
}

impl Criterion {
    /// Loss and gradient of one example.
    ///
    /// # Errors
    /// As of [`counts`] and [`viterbi`]; those of a transcript graph that has no path of this length.
    pub fn objective(&self, full: &Plan, right: Right<'_>, emissions: &Emissions) -> Result<Objective> {
        match self {
            Self::LogLikelihood => Ok(difference(all(full, emissions)?, right.expected(full, emissions)?)),
            Self::Posterior => {
                let log = difference(all(full, emissions)?, right.expected(full, emissions)?);
                Ok(posterior(log))
            }
            Self::Perceptron => Ok(difference(best(full, emissions)?, right.best(full, emissions)?.0)),
            Self::Margin(cost) => {
                let (right, symbols) = right.best(full, emissions)?;
                let raised = add_cost(emissions, &symbols, full.graph(), cost.of_frame(emissions.frames()))?;
                Ok(difference(best(full, &raised)?, right))
            }
        }
    }
}

impl Right<'_> {
    /// The score of the right answer and its counts: expected ones when it is a graph.
    fn expected(&self, full: &Plan, emissions: &Emissions) -> Result<Side> {
        match self {
            Self::Path(states) => one(full, emissions, states),
            Self::Graph(plan) => all(plan, emissions),
        }
    }

    /// The best right path, and its symbols by frame.
    fn best(&self, full: &Plan, emissions: &Emissions) -> Result<(Side, Vec<SymbolId>)> {
        let symbols = |plan: &Plan, states: &[StateId]| states.iter().map(|&s| plan.graph().state(s).symbol).collect();
        match self {
            Self::Path(states) => Ok((one(full, emissions, states)?, symbols(full, states))),
            Self::Graph(plan) => {
                let path = viterbi(plan, emissions)?;
                let symbols = symbols(plan, &path.states);
                Ok((of_path(plan, path), symbols))
            }
        }
    }
}

fn one(plan: &Plan, emissions: &Emissions, states: &[StateId]) -> Result<Side> {
    Ok(Side { score: path_score(plan, emissions, states)?, counts: path_counts(plan, states), path: None })
}

fn all(plan: &Plan, emissions: &Emissions) -> Result<Side> {
    let (score, counts) = counts(plan, emissions)?;
    Ok(Side { score, counts, path: None })
}

fn best(plan: &Plan, emissions: &Emissions) -> Result<Side> {
    viterbi(plan, emissions).map(|path| of_path(plan, path))
}

fn of_path(plan: &Plan, path: Path) -> Side {
    Side { score: path.score, counts: path_counts(plan, &path.states), path: Some(path.states) }
}

/// loss = wrong - right, and so for every count.
fn difference(mut wrong: Side, right: Side) -> Objective {
    let cells = wrong.counts.occupancy.as_mut_slice().iter_mut().zip(right.counts.occupancy.as_slice());
    cells.for_each(|(wrong, right)| *wrong -= right);
    let transitions = wrong.counts.transitions.iter_mut().zip(&right.counts.transitions);
    transitions.for_each(|(wrong, right)| *wrong -= right);
    Objective { loss: wrong.score - right.score, gradient: wrong.counts, rival: wrong.path }
}

/// d(1 - P) = P d(-log P), with P = exp(-loss).
fn posterior(mut log: Objective) -> Objective {
    let probability = (-log.loss).exp().min(1.0);
    log.gradient.occupancy.as_mut_slice().iter_mut().for_each(|cell| *cell *= probability as f32);
    log.gradient.transitions.iter_mut().for_each(|count| *count *= probability);
    Objective { loss: 1.0 - probability, ..log }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dp::{PlanOptions, labelled_path};
    use crate::graph::{GraphBuilder, State, Weights};
    use crate::learn::problem::tests::spec;
    use crate::matrix::Matrix;
    use crate::random::Random;
    use crate::symbols::PdfId;

    const RIGHT: [PdfId; 4] = [PdfId(2), PdfId(0), PdfId(1), PdfId(1)];

    /// Weights of the transitions, then emissions `[4 x 3]`.
    fn objective(criterion: Criterion, scores: &[f32], graph_is_right: bool) -> Objective {
        let spec = spec();
        let graph = Arc::new(spec.compile().unwrap());
        let (weights, cells) = scores.split_at(graph.transitions());
        let weights = Weights(weights.to_vec());
        let plan = Plan::new(&graph, &weights, &PlanOptions::default()).unwrap();
        let emissions = Emissions::new(Matrix::from_vec(4, 3, cells.to_vec()).unwrap()).unwrap();
        if graph_is_right {
            let symbols: Vec<SymbolId> = RIGHT.iter().map(|pdf| SymbolId(pdf.0)).collect();
            let transcript = Arc::new(spec.transcript(&symbols).unwrap());
            let plan_of_right = Plan::new(&transcript, &weights, &PlanOptions::default()).unwrap();
            return criterion.objective(&plan, Right::Graph(&plan_of_right), &emissions).unwrap();
        }
        let path = labelled_path(&plan, &RIGHT).unwrap();
        criterion.objective(&plan, Right::Path(&path.states), &emissions).unwrap()
    }

    fn scores(seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..spec().transitions() + 12).map(|_| random.normal()).collect()
    }

    const ALL: [Criterion; 5] = [
        Criterion::LogLikelihood,
        Criterion::Posterior,
        Criterion::Perceptron,
        Criterion::Margin(HammingCost { per_frame: 1.0, unit: CostUnit::Frames }),
        Criterion::Margin(HammingCost { per_frame: 2.0, unit: CostUnit::Share }),
    ];

    #[test]
    fn gradients_are_slopes_and_losses_are_never_negative() {
        for criterion in ALL {
            for seed in 0..10 {
                let scores = scores(seed);
                let found = objective(criterion, &scores, false);
                assert!(found.loss >= -1e-6, "{criterion:?}: {}", found.loss);
                let cells = found.gradient.occupancy.as_slice().iter().map(|&cell| f64::from(cell));
                let gradient: Vec<f64> = found.gradient.transitions.iter().copied().chain(cells).collect();
                for (index, slope) in gradient.into_iter().enumerate() {
                    let at = |step: f32| {
                        let mut moved = scores.clone();
                        moved[index] += step;
                        objective(criterion, &moved, false).loss
                    };
                    let difference = (at(1e-3) - at(-1e-3)) / 2e-3;
                    assert!((difference - slope).abs() < 2e-3, "{criterion:?} {index}: {difference} {slope}");
                }
            }
        }
    }

    #[test]
    fn a_transcript_graph_of_one_path_is_that_path() {
        for criterion in ALL {
            let (graph, path) = (objective(criterion, &scores(3), true), objective(criterion, &scores(3), false));
            assert!((graph.loss - path.loss).abs() < 1e-5, "{criterion:?}: {} {}", graph.loss, path.loss);
            let cells = graph.gradient.occupancy.as_slice().iter().zip(path.gradient.occupancy.as_slice());
            cells.for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
            let transitions = graph.gradient.transitions.iter().zip(&path.gradient.transitions);
            transitions.for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
        }
    }

    #[test]
    fn forbidden_pairs_and_starts_are_in_no_gradient() {
        let spec = spec();
        // Eight legal pairs, two starts, three ends: what is forbidden has no parameter, in no count of any criterion.
        assert_eq!(spec.transitions(), 8 + 2 + 3);
        let found = objective(Criterion::LogLikelihood, &scores(5), false);
        assert_eq!(found.gradient.occupancy.row(0)[1], 0.0);
    }

    #[test]
    fn the_hinge_bounds_the_cost_of_its_own_decode() {
        let graph = Arc::new(spec().compile().unwrap());
        for seed in 0..50 {
            let scores = scores(seed);
            let hinge = objective(Criterion::Margin(HammingCost::default()), &scores, false).loss;
            let (weights, cells) = scores.split_at(graph.transitions());
            let plan = Plan::new(&graph, &Weights(weights.to_vec()), &PlanOptions::default()).unwrap();
            let emissions = Emissions::new(Matrix::from_vec(4, 3, cells.to_vec()).unwrap()).unwrap();
            let decoded = viterbi(&plan, &emissions).unwrap();
            let wrong = decoded.states.iter().zip(RIGHT).filter(|(state, right)| graph.state(**state).pdf != *right);
            assert!(hinge >= wrong.count() as f64 - 1e-5, "seed {seed}");
        }
    }

    #[test]
    fn the_crf_becomes_the_perceptron_as_scores_grow() {
        let scaled: Vec<f32> = scores(7).iter().map(|score| 200.0 * score).collect();
        let (crf, perceptron) =
            (objective(Criterion::LogLikelihood, &scaled, false), objective(Criterion::Perceptron, &scaled, false));
        let cells = crf.gradient.occupancy.as_slice().iter().zip(perceptron.gradient.occupancy.as_slice());
        cells.for_each(|(a, b)| assert!((a - b).abs() < 1e-4));
        let transitions = crf.gradient.transitions.iter().zip(&perceptron.gradient.transitions);
        transitions.for_each(|(a, b)| assert!((a - b).abs() < 1e-4));
    }

    #[test]
    fn the_margin_is_the_cost_of_its_rival_and_how_far_that_is_ahead() {
        let graph = Arc::new(spec().compile().unwrap());
        for unit in [CostUnit::Frames, CostUnit::Share] {
            let cost = HammingCost { per_frame: 1.5, unit };
            for seed in 0..20 {
                let scores = scores(seed);
                let found = objective(Criterion::Margin(cost), &scores, false);
                let (weights, cells) = scores.split_at(graph.transitions());
                let plan = Plan::new(&graph, &Weights(weights.to_vec()), &PlanOptions::default()).unwrap();
                let emissions = Emissions::new(Matrix::from_vec(4, 3, cells.to_vec()).unwrap()).unwrap();
                let (rival, right) = (found.rival.unwrap(), labelled_path(&plan, &RIGHT).unwrap().states);
                let score = |path: &[StateId]| path_score(&plan, &emissions, path).unwrap();
                let expected = cost.between(&graph, &right, &rival) + score(&rival) - score(&right);
                assert!((found.loss - expected).abs() < 1e-5, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_pdf_that_the_right_symbol_reads_costs_nothing() {
        let mut builder = GraphBuilder::new(Arc::new(["a", "b", "c"].into_iter().collect()), 2, 0);
        for (symbol, pdf) in [(0, 0), (1, 0), (2, 1)] {
            let (pdf, symbol) = (PdfId(pdf), SymbolId(symbol));
            builder.state(State { pdf, symbol, entry: true, restarts: false, word: None });
        }
        let graph = builder.build().unwrap();
        let cost = |found| HammingCost::default().between(&graph, &[StateId(0)], &[StateId(found)]);
        assert_eq!([cost(0), cost(1), cost(2)], [0.0, 0.0, 1.0]);
    }
}
