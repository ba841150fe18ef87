//! From tagged sequences to a [`Tagger`]: features, the graph, and the learner that was asked for.
//!
//! Every linear learner gets the same [`Problem`] and gives back one vector of parameters. What cannot be learnt from is told
//! and left out. With a development set, learners that go through the sequences again and again keep their best epoch.

use std::fmt;
use std::sync::Arc;

use super::learner::{CrfMethod, Learner, Method, Pairs, Source, SvmMethod, TagSettings};
use super::tagger::{Scores, Tagger};
use super::{FeatureMap, TagSet, Template};
use crate::data::Sequence;
use crate::dp::{Plan, PlanOptions};
use crate::emission::{SparseFrames, SparseScorer};
use crate::graph::{Context, Graph, TransitionRole, Weights};
use crate::learn::counting::{TransitionRows, hmm};
use crate::learn::gradient::{BatchConfig, Goal, Progress, StochasticConfig};
use crate::learn::lbfgs::Stop;
use crate::learn::margin::{CuttingPlanes, FrankWolfe, MarginConfig, MarginSolver, solve};
use crate::learn::online::{Averaging, Online, OnlineConfig, OnlineLearner};
use crate::learn::problem::{Example, Problem, path_of};
use crate::symbols::{PdfId, TransitionId};
use crate::{Error, Result};

/// What a tagger is to be learnt from.
#[derive(Debug)]
pub struct TagTask<'a> {
    /// Tagged sequences.
    pub training: &'a [Sequence],
    /// Others, to choose the best epoch by; may be empty.
    pub development: &'a [Sequence],
    /// The tags and which may follow which.
    pub tags: TagSet,
    /// The features.
    pub template: Template,
}

/// What a set of sequences is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagSplit {
    /// To learn from.
    Training,
    /// To choose the best epoch by.
    Development,
}

/// What happens during training, for whoever watches.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TagEvent {
    /// The data are in memory.
    Loaded {
        /// Sequences to learn from.
        sequences: usize,
        /// Their tokens.
        tokens: usize,
        /// Different features.
        features: usize,
        /// Different tags.
        tags: usize,
    },
    /// A sequence is left out.
    LeftOut {
        /// Which set it was in.
        set: TagSplit,
        /// Where it stands, and why it is left out.
        reason: String,
    },
    /// What the result falls short of.
    Warning(String),
    /// One more round of the learner.
    Round {
        /// What the learner says of it.
        report: String,
        /// Share of the development tokens that are tagged right, where there are any.
        development: Option<f64>,
    },
}

impl fmt::Display for TagEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded { sequences, tokens, features, tags } => {
                write!(f, "{sequences} sequences with {tokens} tokens, {features} features, {tags} tags")
            }
            Self::LeftOut { reason, .. } => write!(f, "left out: {reason}"),
            Self::Warning(text) => f.write_str(text),
            Self::Round { report, development: None } => f.write_str(report),
            Self::Round { report, development: Some(share) } => {
                write!(f, "{report}, development {:.2} %", 100.0 * share)
            }
        }
    }
}

/// Receives [`TagEvent`]s.
pub type Watch<'a> = dyn FnMut(TagEvent) + 'a;

/// Trains a tagger.
///
/// # Errors
/// [`Error::Other`] when no sequence can be learnt from; as [`TagSettings::check`], and as the learner.
pub fn train(learner: Learner, task: TagTask<'_>, settings: &TagSettings, watch: &mut Watch<'_>) -> Result<Tagger> {
    settings.check()?;
    let bias = biases(&task.tags, settings)?;
    let (features, frames) = FeatureMap::learn(task.template, task.training)?;
    let graph = Arc::new(task.tags.spec().compile()?);
    let neutral = Plan::new(&graph, &Weights(vec![0.0; graph.transitions()]), &PlanOptions::default())?;
    let set = Set { tags: &task.tags, neutral: &neutral };
    let training = set.examples(task.training.iter().zip(frames), (TagSplit::Training, watch));
    let others = task.development.iter().map(|sequence| (sequence, features.frames(sequence)));
    let development = set.examples(others, (TagSplit::Development, watch));
    if training.is_empty() {
        return Err(Error::Other("no sequence is left to learn from".into()));
    }
    watch(TagEvent::Loaded {
        sequences: training.len(),
        tokens: training.iter().map(|example| example.path.len()).sum(),
        features: features.names().len(),
        tags: task.tags.names().len(),
    });
    let bench = Bench { tags: &task.tags, graph: &graph, training: &training, development: &development, settings };
    let mut scores = match learner.source {
        Source::Linear => bench.linear(learner.method, features.names().len(), watch)?,
        #[cfg(feature = "neural")]
        source => super::neural::train((source, learner.method), &bench, features.names().len(), watch)?,
        #[cfg(not(feature = "neural"))]
        source => return Err(Error::Other(format!("this senone was built without networks ({source:?})"))),
    };
    scores.shift(bias);
    Tagger::new(learner, (features, task.tags), scores)
}

/// What to add to each transition weight so that every tag scores as much more as the settings say, wherever it stands: it is
/// entered once a token, at the start or from another tag.
fn biases(tags: &TagSet, settings: &TagSettings) -> Result<Vec<f32>> {
    let spec = tags.spec();
    if let Some(unknown) = settings.bias.keys().find(|tag| spec.symbols().get(tag).is_none()) {
        return Err(Error::Other(format!("the settings have a bias for {unknown:?}, which is none of the tags")));
    }
    let of = |symbol| settings.bias.get(spec.symbols().name(symbol)).copied().unwrap_or(0.0);
    let transitions = (0..spec.transitions()).map(TransitionId::from_index);
    Ok(transitions
        .map(|transition| match spec.transition_role(transition) {
            TransitionRole::Start { symbol } | TransitionRole::Pair { to: symbol, .. } => of(symbol),
            _ => 0.0,
        })
        .collect())
}

/// What makes examples of sequences.
struct Set<'a> {
    tags: &'a TagSet,
    neutral: &'a Plan,
}

impl Set<'_> {
    /// The good ones of `sequences`, whose frames may have failed; the others are told.
    fn examples<'s>(
        &self,
        sequences: impl Iterator<Item = (&'s Sequence, Result<SparseFrames>)>,
        (split, watch): (TagSplit, &mut Watch<'_>),
    ) -> Vec<Example<SparseFrames>> {
        let mut examples = Vec::new();
        for (sequence, frames) in sequences {
            match self.example(sequence, frames) {
                Ok(example) => examples.push(example),
                Err(error) => watch(TagEvent::LeftOut { set: split, reason: error.to_string() }),
            }
        }
        examples
    }

    fn example(&self, sequence: &Sequence, frames: Result<SparseFrames>) -> Result<Example<SparseFrames>> {
        let input = frames?;
        let symbols = self.tags.encode(sequence)?;
        let labels: Vec<PdfId> =
            symbols.into_iter().map(|symbol| self.tags.spec().pdf(symbol, 0, Context::default())).collect();
        let path = path_of(self.neutral, &labels)?;
        Ok(Example { name: format!("sequence {} (line {})", sequence.number(), sequence.line(0)), input, path })
    }
}

/// Everything that a learner works with.
pub(super) struct Bench<'a> {
    pub(super) tags: &'a TagSet,
    pub(super) graph: &'a Arc<Graph>,
    pub(super) training: &'a [Example<SparseFrames>],
    pub(super) development: &'a [Example<SparseFrames>],
    pub(super) settings: &'a TagSettings,
}

impl Bench<'_> {
    /// The tags of an example's right path, as pdfs.
    pub(super) fn labels(&self, example: &Example<SparseFrames>) -> Vec<PdfId> {
        example.path.iter().map(|&state| self.graph.state(state).pdf).collect()
    }

    /// A linear model by `method`.
    fn linear(&self, method: Method, features: usize, watch: &mut Watch<'_>) -> Result<Scores> {
        let pdfs = self.graph.pdfs();
        let scorer = match (method, self.settings.pairs) {
            (Method::Hmm, _) | (_, Pairs::All) => SparseScorer::all(features, pdfs)?,
            (_, Pairs::Observed) => {
                let labels: Vec<Vec<PdfId>> = self.training.iter().map(|example| self.labels(example)).collect();
                let pairs = self.training.iter().zip(&labels).map(|(example, labels)| (&example.input, &labels[..]));
                SparseScorer::observed(pairs, (features, pdfs))?
            }
        };
        let problem = Problem { graph: self.graph, scorer: &scorer, examples: self.training };
        let theta = match method {
            Method::Hmm => hmm(&TransitionRows::of(self.tags.spec()), &problem, self.settings.hmm.smoothing)?,
            Method::Crf => self.crf(&problem, watch)?,
            Method::Perceptron => {
                self.online(&problem, (OnlineLearner::Perceptron, self.settings.perceptron.epochs), watch)?
            }
            Method::Svm => self.svm(&problem, watch)?,
            Method::Softmax => return Err(Error::Other("a linear model by softmax is no learner of its own".into())),
        };
        Ok(Scores::Linear { scorer, theta })
    }

    fn crf(&self, problem: &Problem<'_, SparseScorer>, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
        let settings = &self.settings.crf;
        let goal = match settings.method {
            CrfMethod::LBfgs => settings.l_bfgs.goal,
            CrfMethod::Stochastic => settings.stochastic.goal,
        };
        let start = vec![0.0; problem.parameters()];
        match goal {
            Goal::LogLikelihood => self.crf_towards(goal, (problem, start), watch),
            Goal::Posterior => {
                // From nothing the probability of a whole sequence is about 0, and so is its slope.
                let likely = self.crf_towards(Goal::LogLikelihood, (problem, start), watch)?;
                self.crf_towards(goal, (problem, likely), watch)
            }
        }
    }

    fn crf_towards(
        &self,
        goal: Goal,
        (problem, start): (&Problem<'_, SparseScorer>, Vec<f64>),
        watch: &mut Watch<'_>,
    ) -> Result<Vec<f64>> {
        let settings = &self.settings.crf;
        let mut report = |progress: &Progress| {
            watch(TagEvent::Round { report: progress.to_string(), development: None });
        };
        match settings.method {
            CrfMethod::LBfgs => {
                let trained = BatchConfig { goal, ..settings.l_bfgs.clone() }.train(problem, start, &mut report)?;
                if trained.stop == Stop::Iterations {
                    let iterations = trained.iterations;
                    watch(TagEvent::Warning(format!(
                        "stopped by max_iterations = {iterations}, before it had settled"
                    )));
                }
                if trained.stop == Stop::Rounding && trained.iterations == 0 {
                    let reason = "no step lowers the loss: are there features with very large values?";
                    return Err(Error::Other(reason.into()));
                }
                Ok(trained.theta)
            }
            CrfMethod::Stochastic => {
                let penalty = settings.stochastic.l2 * start.iter().map(|weight| weight * weight).sum::<f64>();
                let before = problem.objective(&start, goal.criterion(), &mut vec![0.0; start.len()])? + penalty;
                let config = StochasticConfig { goal, seed: self.settings.seed, ..settings.stochastic.clone() };
                let trained = config.train(problem, start, &mut report)?;
                if trained.loss.is_nan() || trained.loss >= before {
                    let (epoch, loss) = (trained.iterations, trained.loss);
                    return Err(Error::Diverged { epoch, utterances: "all sequences".into(), loss });
                }
                Ok(trained.theta)
            }
        }
    }

    fn svm(&self, problem: &Problem<'_, SparseScorer>, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
        let settings = &self.settings.svm;
        let lambda = 1.0 / (settings.c * self.training.len() as f64);
        let (cost, relative_gap) = (settings.cost, settings.relative_gap);
        let config = MarginConfig { cost, lambda, relative_gap, ..MarginConfig::default() };
        match settings.method {
            SvmMethod::SubGradient => {
                self.online(problem, (OnlineLearner::Margin { cost, lambda }, settings.epochs), watch)
            }
            SvmMethod::CuttingPlanes => self.to_a_gap(CuttingPlanes::new(problem, config)?, watch),
            SvmMethod::FrankWolfe => self.to_a_gap(FrankWolfe::new(problem, config, self.settings.seed)?, watch),
        }
    }

    fn to_a_gap(&self, mut solver: impl MarginSolver, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
        let settings = &self.settings.svm;
        let last = solve(&mut solver, settings.max_rounds, |report| {
            let (round, primal, gap) = (report.round, report.primal, report.gap());
            let report = format!("{round}: objective {primal:.6}, duality gap {gap:.6}");
            watch(TagEvent::Round { report, development: None });
        })?;
        if !last.is_solved {
            let (rounds, gap, asked) = (last.round, last.gap() / last.primal, settings.relative_gap);
            let text =
                format!("stopped by max_rounds = {rounds} at a relative duality gap of {gap:.6}, asked for {asked}");
            watch(TagEvent::Warning(text));
        }
        Ok(solver.parameters())
    }

    /// Epoch by epoch; the best on the development set, else the last.
    fn online(
        &self,
        problem: &Problem<'_, SparseScorer>,
        (learner, epochs): (OnlineLearner, usize),
        watch: &mut Watch<'_>,
    ) -> Result<Vec<f64>> {
        let config = OnlineConfig { learner, averaging: Averaging::Mean, seed: self.settings.seed };
        let mut online = Online::new(problem, config)?;
        let mut best = Best::default();
        for _ in 0..epochs {
            let report = online.epoch()?;
            let theta = online.parameters();
            let development = self.accuracy(problem, &theta)?;
            let wrong = 100.0 * report.wrong_frames as f64 / report.frames.max(1) as f64;
            let text = format!("{}: loss {:.4}, wrong {wrong:.2} %", report.epoch, report.loss);
            watch(TagEvent::Round { report: text, development });
            best.offer(development, theta);
            if report.wrong_sequences == 0 && learner == OnlineLearner::Perceptron {
                break;
            }
        }
        Ok(best.kept)
    }

    /// Share of the development tokens that `theta` tags right; none without such a set.
    fn accuracy(&self, problem: &Problem<'_, SparseScorer>, theta: &[f64]) -> Result<Option<f64>> {
        let plan = problem.plan(theta)?;
        let (mut right, mut all) = (0, 0);
        for example in self.development {
            let found = problem.predict(&plan, theta, &example.input)?;
            right += found.states.iter().zip(&example.path).filter(|(found, right)| found == right).count();
            all += example.path.len();
        }
        Ok((all > 0).then(|| right as f64 / all as f64))
    }
}

/// What was best so far on the development set; without one, what came last.
#[derive(Debug, Default)]
pub(super) struct Best<T> {
    accuracy: Option<f64>,
    pub(super) kept: T,
}

impl<T> Best<T> {
    /// Keeps `candidate` when it is better than what is kept; the first of equals stays.
    pub(super) fn offer(&mut self, accuracy: Option<f64>, candidate: T) {
        if self.accuracy.is_none() || accuracy > self.accuracy {
            (self.accuracy, self.kept) = (accuracy, candidate);
        }
    }
}
