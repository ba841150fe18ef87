//! A hidden Markov model by counts: how often each transition was taken, made into probabilities.
//!
//! In: counts by [`TransitionId`], of labelled paths or expected ones, or a whole [`Problem`]. Out: [`Weights`], or the
//! parameters of a linear model. The transitions that leave one position of a symbol form a row, one distribution, the end
//! among them, and so do the starts, and what a pdf emits:
//!
//! ```text
//! w(s -> r)    = log (count(s -> r) / sum_q count(s -> q))
//! weight[f, k] = log (count(f, k) / sum_e count(e, k))
//! ```

use std::collections::BTreeMap;

use super::problem::Problem;
use crate::emission::{Scorer, SparseScorer};
use crate::error::require;
use crate::graph::{GraphSpec, TransitionRole, Weights};
use crate::symbols::{SymbolId, TransitionId};
use crate::{Error, Result};

/// Which transitions compete: those that leave one position of a symbol (the end among them), and those that begin an
/// utterance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRows {
    transitions: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Row {
    /// As messages call it.
    name: String,
    /// The self-loop, where the position has one.
    dwell: Option<TransitionId>,
    /// What goes elsewhere.
    leave: Vec<TransitionId>,
}

impl Row {
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.dwell.iter().chain(&self.leave).map(|transition| transition.index())
    }
}

impl TransitionRows {
    /// The rows of a graph file.
    pub fn of(spec: &GraphSpec) -> Self {
        let last = |symbol: SymbolId| spec.topology(symbol).min_frames() - 1;
        let mut rows: BTreeMap<Option<(SymbolId, usize)>, Row> = BTreeMap::new();
        for transition in (0..spec.transitions()).map(TransitionId::from_index) {
            let (source, dwells) = match spec.transition_role(transition) {
                TransitionRole::SelfLoop { symbol, position } => (Some((symbol, position)), true),
                TransitionRole::Next { symbol, position } => (Some((symbol, position)), false),
                TransitionRole::End { symbol } | TransitionRole::Pair { from: symbol, .. } => {
                    (Some((symbol, last(symbol))), false)
                }
                TransitionRole::Start { .. } => (None, false),
            };
            let row = rows.entry(source).or_insert_with(|| Row { name: name(spec, source), ..Row::default() });
            match dwells {
                true => row.dwell = Some(transition),
                false => row.leave.push(transition),
            }
        }
        Self { transitions: spec.transitions(), rows: rows.into_values().collect() }
    }

    /// Every row normalised, `smoothing` (0 or more) added to each count.
    ///
    /// Without smoothing, what was not seen gets minus infinity, in a row without any count everything.
    ///
    /// # Errors
    /// [`Error::Shape`] when `counts` are of another graph file; [`Error::Setting`] when `smoothing` is negative or not a number.
    pub fn normalise(&self, counts: &[f64], smoothing: f64) -> Result<Weights> {
        self.check(counts.len())?;
        check_smoothing(smoothing)?;
        let mut weights = Weights(vec![0.0; self.transitions]);
        for row in &self.rows {
            let total: f64 = row.all().map(|transition| counts[transition] + smoothing).sum();
            row.all().for_each(|t| weights.0[t] = log_share(counts[t] + smoothing, total) as f32);
        }
        Ok(weights)
    }

    /// Whether the weights of every row are logarithms of probabilities that sum to one.
    ///
    /// # Errors
    /// [`Error::Other`] naming the first row that does not, and its sum; [`Error::Shape`] when `weights` are of another graph
    /// file.
    pub fn check_sums(&self, weights: &Weights) -> Result<()> {
        self.check(weights.0.len())?;
        let sum = |row: &Row| row.all().map(|transition| f64::from(weights.0[transition]).exp()).sum();
        self.rows.iter().try_for_each(|row| check_sum(&row.name, sum(row)))
    }

    /// New self-loop probabilities; what a symbol is followed by keeps its weight.
    ///
    /// With p the share of the row that dwells, the self-loop gets log p, and a leaving transition of weight
    /// log(1 - p_old) + w becomes log(1 - p) + w. As in Kaldi's transition model, p stays in 0.01..0.99 and a row with fewer
    /// than 5 counts stays as it was.
    ///
    /// # Errors
    /// [`Error::Shape`] when `counts` or `weights` are of another graph file; [`Error::Other`] when the old self-loops are not
    /// probabilities below one.
    pub fn dwell(&self, counts: &[f64], weights: &Weights) -> Result<Weights> {
        self.check(counts.len())?;
        self.check(weights.0.len())?;
        let mut new = weights.clone();
        for row in self.rows.iter().filter(|row| !row.leave.is_empty()) {
            let Some(dwell) = row.dwell else { continue };
            let stays = counts[dwell.index()];
            let all: f64 = row.all().map(|transition| counts[transition]).sum();
            if all >= LEAST_COUNT {
                let stay = (stays / all).clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
                let old_stay = f64::from(weights.get(dwell)).exp();
                if old_stay >= 1.0 {
                    let reason = format!("a self-loop has probability {old_stay:.3}: expected less than 1");
                    return Err(Error::Other(reason));
                }
                new.0[dwell.index()] = stay.ln() as f32;
                let shift = ((1.0 - stay) / (1.0 - old_stay)).ln() as f32;
                row.leave.iter().for_each(|leave| new.0[leave.index()] += shift);
            }
        }
        Ok(new)
    }

    fn check(&self, found: usize) -> Result<()> {
        match found == self.transitions {
            true => Ok(()),
            false => Err(Error::Shape { what: "counts of transitions", expected: self.transitions, found }),
        }
    }
}

const LEAST_COUNT: f64 = 5.0;
const LEAST_PROBABILITY: f64 = 0.01;

/// What a row of transitions is called.
fn name(spec: &GraphSpec, source: Option<(SymbolId, usize)>) -> String {
    match source {
        None => "starts".to_owned(),
        Some((symbol, position)) if spec.topology(symbol).min_frames() > 1 => {
            format!("transitions from {}, frame {}", spec.symbols().name(symbol), position + 1)
        }
        Some((symbol, _)) => format!("transitions from {}", spec.symbols().name(symbol)),
    }
}

/// The parameters of a hidden Markov model in the layout of a CRF's: relative frequencies on the right paths of `problem`, with
/// `smoothing` (0 or more) added to each count, as natural logarithms.
///
/// `rows` are those of the problem's graph file. A token with several features scores the product of what each of them says (naive
/// Bayes). Without smoothing, what was not seen is impossible; a feature that has no number (unknown in training) says nothing.
///
/// # Errors
/// [`Error::Other`] when the scorer has not every pair of a feature and a pdf ([`SparseScorer::all`]), since a missing pair scores
/// 0, a probability of one; when features come in negative amounts. As [`TransitionRows::normalise`] and
/// [`Problem::right_counts`].
pub fn hmm(rows: &TransitionRows, problem: &Problem<'_, SparseScorer>, smoothing: f64) -> Result<Vec<f64>> {
    check_full(problem.scorer)?;
    let counts = problem.right_counts()?;
    let (emissions, transitions) = counts.split_at(problem.scorer.parameters());
    let weights = rows.normalise(transitions, smoothing)?;
    let mut theta = emission_rows(problem.scorer, emissions, smoothing)?;
    theta.extend(weights.0.iter().map(|&weight| f64::from(weight)));
    Ok(theta)
}

/// Whether `theta` is that of a hidden Markov model: each row of transitions, and what each pdf emits, sums to one in probability.
///
/// # Errors
/// [`Error::Other`] naming the row and its sum; [`Error::Shape`] when `theta` is of another problem. As [`hmm`], when the scorer has
/// not every pair.
pub fn check_probabilities(spec: &GraphSpec, scorer: &SparseScorer, theta: &[f64]) -> Result<()> {
    check_full(scorer)?;
    let (expected, found) = (scorer.parameters() + spec.transitions(), theta.len());
    if found != expected {
        return Err(Error::Shape { what: "parameters", expected, found });
    }
    let (emissions, transitions) = theta.split_at(scorer.parameters());
    TransitionRows::of(spec).check_sums(&Weights(transitions.iter().map(|&weight| weight as f32).collect()))?;
    let probabilities: Vec<f64> = emissions.iter().map(|weight| weight.exp()).collect();
    let sums = sums_by_pdf(scorer, &probabilities);
    let names = spec.symbols().ids().flat_map(|symbol| {
        let states = spec.topology(symbol).states();
        (0..states).map(move |state| match states {
            1 => format!("emissions of {}", spec.symbols().name(symbol)),
            _ => format!("emissions of {}, state {}", spec.symbols().name(symbol), state + 1),
        })
    });
    names.zip(sums).try_for_each(|(name, sum)| check_sum(&name, sum))
}

/// What each pdf emits, normalised.
fn emission_rows(scorer: &SparseScorer, counts: &[f64], smoothing: f64) -> Result<Vec<f64>> {
    if let Some(bad) = counts.iter().find(|count| **count < 0.0) {
        let reason = format!("a feature was counted {bad} times: a hidden Markov model needs features of 0 or more");
        return Err(Error::Other(reason));
    }
    let smoothed: Vec<f64> = counts.iter().map(|count| count + smoothing).collect();
    let totals = sums_by_pdf(scorer, &smoothed);
    let share = |(parameter, &count)| log_share(count, totals[scorer.pdf(parameter).index()]);
    Ok(smoothed.iter().enumerate().map(share).collect())
}

fn sums_by_pdf(scorer: &SparseScorer, values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; scorer.pdfs()];
    values.iter().enumerate().for_each(|(parameter, value)| sums[scorer.pdf(parameter).index()] += value);
    sums
}

/// log (count / total); minus infinity for no count, whatever the total.
fn log_share(count: f64, total: f64) -> f64 {
    if count == 0.0 { f64::NEG_INFINITY } else { (count / total).ln() }
}

/// A row of rounded probabilities may miss one by this much.
const ROUNDING: f64 = 1e-3;

fn check_sum(row: &str, sum: f64) -> Result<()> {
    match (sum - 1.0).abs() <= ROUNDING {
        true => Ok(()),
        false => Err(Error::Other(format!("{row}: the probabilities sum to {sum:.4}, expected 1"))),
    }
}

fn check_smoothing(smoothing: f64) -> Result<()> {
    require(smoothing.is_finite() && smoothing >= 0.0, "smoothing", smoothing, "a count, 0 or more")
}

fn check_full(scorer: &SparseScorer) -> Result<()> {
    let every = scorer.features() * scorer.pdfs();
    match scorer.is_full() {
        true => Ok(()),
        false => Err(Error::Other(format!(
            "a hidden Markov model scores every pair of a feature and a tag, {every} of them: the scorer has {} only",
            scorer.parameters()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emission::SparseFrames;
    use crate::learn::problem;
    use crate::learn::problem::Example;
    use crate::learn::problem::tests::Tagged;

    fn spec() -> GraphSpec {
        GraphSpec::parse(
            r#"
format = 1
[classes]
all = ["a", "b"]
[boundary]
start = ["a", "b"]
end = ["b"]
[[allow]]
from = "a"
to = ["a", "b"]
[[allow]]
from = "b"
to = "a"
weight = -0.5
[topology.default]
states = 2
min_frames = 2
self_loop = 0.75
"#,
        )
        .unwrap()
    }

    fn find(spec: &GraphSpec, role: TransitionRole) -> usize {
        (0..spec.transitions()).find(|&t| spec.transition_role(TransitionId::from_index(t)) == role).unwrap()
    }

    #[test]
    fn each_row_is_a_distribution_of_relative_frequencies() {
        let spec = spec();
        let (a, b) = (SymbolId(0), SymbolId(1));
        let stay = find(&spec, TransitionRole::SelfLoop { symbol: a, position: 1 });
        let again = find(&spec, TransitionRole::Pair { from: a, to: a });
        let other = find(&spec, TransitionRole::Pair { from: a, to: b });
        let mut counts = vec![0.0; spec.transitions()];
        (counts[stay], counts[again], counts[other]) = (5.0, 1.0, 2.0);
        let weights = TransitionRows::of(&spec).normalise(&counts, 1e-9).unwrap();
        for (transition, share) in [(stay, 5.0 / 8.0), (again, 1.0 / 8.0), (other, 2.0 / 8.0)] {
            assert!((weights.0[transition].exp() - share).abs() < 1e-6);
        }
        let starts = [a, b].map(|symbol| weights.0[find(&spec, TransitionRole::Start { symbol })].exp());
        assert!(starts.iter().all(|share| (share - 0.5).abs() < 1e-6), "{starts:?}");
        assert!(weights.0.iter().all(|weight| weight.is_finite()));
    }

    #[test]
    fn dwelling_is_re_estimated_and_rules_keep_their_weights() {
        let spec = spec();
        let b = SymbolId(1);
        let stay = find(&spec, TransitionRole::SelfLoop { symbol: b, position: 1 });
        let pair = find(&spec, TransitionRole::Pair { from: b, to: SymbolId(0) });
        let end = find(&spec, TransitionRole::End { symbol: b });
        let mut counts = vec![0.0; spec.transitions()];
        (counts[stay], counts[pair], counts[end]) = (60.0, 10.0, 30.0);
        let weights = TransitionRows::of(&spec).dwell(&counts, &spec.initial_weights()).unwrap();
        assert!((weights.0[stay] - 0.6f32.ln()).abs() < 1e-6);
        assert!((weights.0[pair] - (0.4f32.ln() - 0.5)).abs() < 1e-6);
        assert!((weights.0[end] - 0.4f32.ln()).abs() < 1e-6);
        let untouched = find(&spec, TransitionRole::SelfLoop { symbol: b, position: 0 });
        assert_eq!(weights.0[untouched], spec.initial_weights().0[untouched]);
    }

    #[test]
    fn self_loops_stay_between_their_limits() {
        let spec = spec();
        let stay = find(&spec, TransitionRole::SelfLoop { symbol: SymbolId(0), position: 0 });
        let next = find(&spec, TransitionRole::Next { symbol: SymbolId(0), position: 0 });
        let mut counts = vec![0.0; spec.transitions()];
        counts[stay] = 1000.0;
        let weights = TransitionRows::of(&spec).dwell(&counts, &spec.initial_weights()).unwrap();
        assert!((weights.0[stay] - 0.99f32.ln()).abs() < 1e-6);
        assert!((weights.0[next] - 0.01f32.ln()).abs() < 1e-5);
    }

    #[test]
    fn counts_of_another_graph_and_negative_smoothing_are_refused() {
        let rows = TransitionRows::of(&spec());
        assert!(rows.normalise(&[1.0], 1.0).is_err());
        assert!(rows.normalise(&vec![1.0; spec().transitions()], -0.1).is_err());
        assert!(rows.normalise(&vec![1.0; spec().transitions()], f64::NAN).is_err());
        assert!(rows.dwell(&[1.0], &spec().initial_weights()).is_err());
    }

    #[test]
    fn without_smoothing_what_was_not_seen_is_impossible() {
        let spec = spec();
        let (a, b) = (SymbolId(0), SymbolId(1));
        let [again, other] = [a, b].map(|to| find(&spec, TransitionRole::Pair { from: a, to }));
        let mut counts = vec![0.0; spec.transitions()];
        counts[other] = 3.0;
        let rows = TransitionRows::of(&spec);
        let weights = rows.normalise(&counts, 0.0).unwrap();
        assert_eq!((weights.0[other], weights.0[again]), (0.0, f32::NEG_INFINITY));
        // A row without any count is dead, and does not sum to one.
        assert_eq!(weights.0[find(&spec, TransitionRole::Start { symbol: a })], f32::NEG_INFINITY);
        let told = rows.check_sums(&weights).unwrap_err().to_string();
        assert_eq!(told, "starts: the probabilities sum to 0.0000, expected 1");
        let smoothed = rows.normalise(&counts, 1.0).unwrap();
        rows.check_sums(&smoothed).unwrap();
        assert!((smoothed.0[again] - (1.0f32 / 6.0).ln()).abs() < 1e-6);
    }

    #[test]
    fn rows_of_longer_symbols_are_named_by_frame() {
        let spec = spec();
        let rows = TransitionRows::of(&spec);
        let mut weights = rows.normalise(&vec![1.0; spec.transitions()], 0.0).unwrap();
        weights.0[find(&spec, TransitionRole::Next { symbol: SymbolId(1), position: 0 })] = 0.0;
        let told = rows.check_sums(&weights).unwrap_err().to_string();
        assert_eq!(told, "transitions from b, frame 1: the probabilities sum to 1.5000, expected 1");
    }

    #[test]
    fn smoothing_makes_every_pair_of_word_and_tag_possible() {
        let tagged = Tagged::new(20, 1);
        let rows = TransitionRows::of(&problem::tests::spec());
        let counts = tagged.problem().right_counts().unwrap();
        let theta = hmm(&rows, &tagged.problem(), 0.5).unwrap();
        for pdf in 0..3 {
            let total: f64 = (0..6).map(|feature| counts[3 * feature + pdf] + 0.5).sum();
            for place in (0..6).map(|feature| 3 * feature + pdf) {
                assert!((theta[place].exp() - (counts[place] + 0.5) / total).abs() < 1e-12);
            }
        }
        assert!(theta.iter().all(|weight| weight.is_finite()));
        check_probabilities(&problem::tests::spec(), &tagged.scorer, &theta).unwrap();
        assert!(check_probabilities(&problem::tests::spec(), &tagged.scorer, &theta[1..]).is_err());
    }

    #[test]
    fn a_scorer_without_every_pair_and_negative_features_are_refused() {
        let tagged = Tagged::new(5, 1);
        let rows = TransitionRows::of(&problem::tests::spec());
        let told = |scorer: &SparseScorer, examples: &[Example<SparseFrames>]| {
            let problem = Problem { graph: &tagged.graph, scorer, examples };
            hmm(&rows, &problem, 1.0).unwrap_err().to_string()
        };
        let some = SparseScorer::from_parts(vec![0, 1, 1, 1, 1, 1, 1], vec![0], 3).unwrap();
        assert!(told(&some, &tagged.examples).ends_with("18 of them: the scorer has 1 only"));
        let input = SparseFrames::new(vec![0, 1], vec![0], vec![-2.0]).unwrap();
        let negative = [Example { name: "cold".into(), input, path: vec![tagged.examples[0].path[0]] }];
        assert!(told(&tagged.scorer, &negative).starts_with("a feature was counted -2 times"));
    }
}
