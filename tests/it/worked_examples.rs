//! The theory by worked examples: small tables, scores and counts that can be checked by hand.

use std::sync::Arc;

use senone::dp::{Plan, PlanOptions, counts, path_score, viterbi};
use senone::emission::{Emissions, SparseFrames, SparseScorer};
use senone::graph::{Graph, GraphBuilder, GraphSpec, State, TransitionRole, Weights};
use senone::learn::counting::{TransitionRows, check_probabilities, hmm};
use senone::learn::gradient::BatchConfig;
use senone::learn::lbfgs::LbfgsConfig;
use senone::learn::problem::{Example, Problem, path_of};
use senone::matrix::Matrix;
use senone::random::Random;
use senone::symbols::{PdfId, StateId, SymbolId, SymbolTable, TransitionId};

/// A graph file of one-frame tags that may begin, follow and end as `rules` say.
fn tags(names: &[&str], rules: &str) -> GraphSpec {
    let text = format!(
        "format = 1\n[classes]\nall = {names:?}\n{rules}\n[topology.default]\nstates = 1\nmin_frames = 1\nself_loop = false\n"
    );
    GraphSpec::parse(&text).unwrap()
}

const EVERYTHING: &str = "[boundary]\nstart = \"*\"\nend = \"*\"\n[[allow]]\nfrom = \"*\"\nto = \"*\"\n";

/// Sentences of words with their tags, numbered, and all that a [`Problem`] borrows.
struct Corpus {
    spec: GraphSpec,
    graph: Arc<Graph>,
    words: SymbolTable,
    scorer: SparseScorer,
    examples: Vec<Example<SparseFrames>>,
}

impl Corpus {
    /// Each sentence as `word/tag word/tag`.
    fn new(spec: GraphSpec, sentences: &[&str]) -> Self {
        let graph = Arc::new(spec.compile().unwrap());
        let plan = Plan::new(&graph, &spec.initial_weights(), &PlanOptions::default()).unwrap();
        let mut words = SymbolTable::new();
        let mut example = |(number, sentence): (usize, &&str)| {
            let pairs: Vec<(&str, &str)> = sentence.split(' ').map(|token| token.split_once('/').unwrap()).collect();
            let ids: Vec<SymbolId> = pairs.iter().map(|(word, _)| words.intern(word)).collect();
            let labels: Vec<PdfId> = pairs.iter().map(|(_, tag)| PdfId(spec.symbols().get(tag).unwrap().0)).collect();
            let path = path_of(&plan, &labels).unwrap();
            Example { name: format!("sentence {}", number + 1), input: frames(&ids), path }
        };
        let examples = sentences.iter().enumerate().map(&mut example).collect();
        let scorer = SparseScorer::all(words.len(), spec.pdfs()).unwrap();
        Self { graph, spec, words, scorer, examples }
    }

    fn problem(&self) -> Problem<'_, SparseScorer> {
        Problem { graph: &self.graph, scorer: &self.scorer, examples: &self.examples }
    }

    fn input(&self, sentence: &str) -> SparseFrames {
        frames(&sentence.split(' ').map(|word| self.words.get(word).unwrap()).collect::<Vec<_>>())
    }

    /// The best tags under `theta`.
    fn tag(&self, theta: &[f64], sentence: &str) -> String {
        let plan = self.problem().plan(theta).unwrap();
        let path = self.problem().predict(&plan, theta, &self.input(sentence)).unwrap();
        let name = |state: &StateId| self.spec.symbols().name(self.graph.state(*state).symbol);
        path.states.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// The place in theta of a word with a tag.
    fn pair(&self, word: &str, tag: &str) -> usize {
        let (word, tag) = (self.words.get(word).unwrap(), self.spec.symbols().get(tag).unwrap());
        word.index() * self.spec.pdfs() + tag.index()
    }

    /// The place in theta of a transition, if the graph has it.
    fn transition(&self, role: TransitionRole) -> Option<usize> {
        let mut all = (0..self.spec.transitions()).map(TransitionId::from_index);
        all.position(|transition| self.spec.transition_role(transition) == role)
            .map(|at| self.scorer.parts().1.len() + at)
    }

    fn symbol(&self, tag: &str) -> SymbolId {
        self.spec.symbols().get(tag).unwrap()
    }

    fn follows(&self, from: &str, to: &str) -> Option<usize> {
        self.transition(TransitionRole::Pair { from: self.symbol(from), to: self.symbol(to) })
    }

    fn crf(&self, l2: f64) -> Vec<f64> {
        let config =
            BatchConfig { l2, lbfgs: LbfgsConfig { delta: 1e-9, ..LbfgsConfig::default() }, ..BatchConfig::default() };
        config.train(&self.problem(), vec![0.0; self.problem().parameters()], &mut |_| ()).unwrap().theta
    }
}

/// One feature a token: its word.
fn frames(words: &[SymbolId]) -> SparseFrames {
    let first = (0..=words.len() as u32).collect();
    SparseFrames::new(first, words.iter().map(|word| word.0).collect(), vec![1.0; words.len()]).unwrap()
}

/// (a) Eight paths of two labels over three frames.
#[test]
fn eight_paths_are_scored_summed_and_searched() {
    let mut builder = GraphBuilder::new(Arc::new(["zero", "one"].into_iter().collect()), 2, 4);
    for label in 0..2 {
        let state = State { pdf: PdfId(label), symbol: SymbolId(label), entry: true, restarts: true, word: None };
        builder.state(state);
    }
    for label in [0, 1].map(StateId) {
        let none = senone::graph::Boundary { state: label, transition: TransitionId::NONE, fixed: 0.0 };
        builder.start(none);
        builder.end(none);
        for to in [0, 1].map(StateId) {
            let transition = TransitionId(2 * label.0 + to.0);
            builder.arc(label, senone::graph::Arc { to, transition, fixed: 0.0 });
        }
    }
    let graph = Arc::new(builder.build().unwrap());
    let plan = Plan::new(&graph, &Weights(vec![0.6, 0.4, 0.1, 0.9]), &PlanOptions::default()).unwrap();
    let cells = vec![0.3, 0.7, 0.6, 0.4, 0.2, 0.8];
    let emissions = Emissions::new(Matrix::from_vec(3, 2, cells).unwrap()).unwrap();
    let path = |code: u32| [code >> 2 & 1, code >> 1 & 1, code & 1].map(StateId);
    let expected = [2.3, 2.7, 1.4, 2.8, 2.2, 2.6, 2.3, 3.7];
    for (code, expected) in expected.into_iter().enumerate() {
        let found = path_score(&plan, &emissions, &path(code as u32)).unwrap();
        assert!((found - expected).abs() < 1e-6, "{code:03b}: {found} {expected}");
    }
    let (log_z, expected_counts) = counts(&plan, &emissions).unwrap();
    assert!((log_z - 4.772_919_407_4).abs() < 1e-6, "{log_z}");
    // Each expected count is the sum of the probabilities of the paths that use it.
    let ones = |code: usize| [code >> 2 & 1, code >> 1 & 1, code & 1];
    for (frame, row) in expected_counts.occupancy.iter_rows().enumerate() {
        let one: f64 = (0..8).filter(|&code| ones(code)[frame] == 1).map(|code| (expected[code] - log_z).exp()).sum();
        assert!((f64::from(row[1]) - one).abs() < 1e-6 && (f64::from(row[0]) + one - 1.0).abs() < 1e-6);
    }
    let uses = |from: usize, to: usize| -> f64 {
        let pairs = |code: usize| ones(code).windows(2).filter(|pair| *pair == [from, to]).count() as f64;
        (0..8).map(|code| pairs(code) * (expected[code] - log_z).exp()).sum()
    };
    for (transition, count) in expected_counts.transitions.iter().enumerate() {
        assert!((count - uses(transition / 2, transition % 2)).abs() < 1e-6);
    }
    assert_eq!(viterbi(&plan, &emissions).unwrap().states, path(0b111));
}

/// (b) One step of the recursion with max: from scores [0.2, 0.3] and [0.5, 0.4] by label of the frame before and label, both best
/// ways come from label 1.
#[test]
fn one_step_takes_the_best_way_into_each_label() {
    let spec = tags(&["zero", "one"], EVERYTHING);
    let graph = Arc::new(spec.compile().unwrap());
    let steps = [[0.2, 0.3], [0.5, 0.4]];
    let weight = |transition| match spec.transition_role(transition) {
        TransitionRole::Pair { from, to } => steps[from.index()][to.index()],
        _ => 0.0,
    };
    let weights = Weights((0..spec.transitions()).map(TransitionId::from_index).map(weight).collect());
    let plan = Plan::new(&graph, &weights, &PlanOptions::default()).unwrap();
    for (last, best) in [(0, 0.5), (1, 0.4)] {
        let mut cells = Matrix::zeros(2, 2);
        cells.row_mut(1)[1 - last] = f32::NEG_INFINITY;
        let path = viterbi(&plan, &Emissions::new(cells).unwrap()).unwrap();
        assert_eq!(path.states, [StateId(1), StateId::from_index(last)]);
        assert!((path.score - best).abs() < 1e-6);
    }
}

/// (c) A hidden Markov model multiplies what it saw apart; a CRF on the same counts of features sees what goes together.
#[test]
fn what_the_model_by_counts_cannot_learn_the_crf_does() {
    let mut sentences = vec!["n/N a/D"];
    sentences.extend([["n/N c/V", "p/P a/V"]; 9].concat());
    let corpus = Corpus::new(tags(&["N", "V", "P", "D"], EVERYTHING), &sentences);
    let theta = hmm(&TransitionRows::of(&corpus.spec), &corpus.problem(), 0.0).unwrap();
    let probability = |place: usize| theta[place].exp();
    let follows = |from, to| probability(corpus.follows(from, to).unwrap());
    assert!((follows("N", "V") - 0.9).abs() < 1e-6 && (follows("N", "D") - 0.1).abs() < 1e-6);
    assert!((probability(corpus.pair("a", "V")) - 0.5).abs() < 1e-12);
    assert!((probability(corpus.pair("a", "D")) - 1.0).abs() < 1e-12);
    assert_eq!(corpus.tag(&theta, "n a"), "N V");
    assert_eq!(corpus.tag(&corpus.crf(0.01), "n a"), "N D");
}

/// (d) The counts of one sentence; how many transitions there are.
#[test]
fn a_sentence_has_these_counts() {
    let corpus = Corpus::new(tags(&["D", "N", "V"], EVERYTHING), &["the/D dog/N ate/V the/D homework/N"]);
    let counts = corpus.problem().right_counts().unwrap();
    let mut expected = vec![0.0; counts.len()];
    for (word, tag, count) in [("the", "D", 2.0), ("dog", "N", 1.0), ("ate", "V", 1.0), ("homework", "N", 1.0)] {
        expected[corpus.pair(word, tag)] = count;
    }
    for (from, to, count) in [("D", "N", 2.0), ("N", "V", 1.0), ("V", "D", 1.0)] {
        expected[corpus.follows(from, to).unwrap()] = count;
    }
    expected[corpus.transition(TransitionRole::Start { symbol: corpus.symbol("D") }).unwrap()] = 1.0;
    expected[corpus.transition(TransitionRole::End { symbol: corpus.symbol("N") }).unwrap()] = 1.0;
    assert_eq!(counts, expected);
    for tag_count in 1..6 {
        let names: Vec<String> = (0..tag_count).map(|tag| format!("t{tag}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(tags(&names, EVERYTHING).transitions(), tag_count * tag_count + 2 * tag_count);
    }
}

/// (e) A row of probabilities that does not sum to one is named, with its sum.
#[test]
fn a_row_that_does_not_sum_to_one_is_reported() {
    let corpus = Corpus::new(tags(&["D", "N"], EVERYTHING), &["the/D dog/N", "the/D old/N dog/N"]);
    let theta = hmm(&TransitionRows::of(&corpus.spec), &corpus.problem(), 0.5).unwrap();
    let check = |theta: &[f64]| check_probabilities(&corpus.spec, &corpus.scorer, theta);
    check(&theta).unwrap();
    let told = |place: usize, probability: f64| {
        let mut theta = theta.clone();
        theta[place] = probability.ln();
        check(&theta).unwrap_err().to_string()
    };
    // Of N, with 0.5 added to each count: N after it once in three times, D never, the end twice: (0.5 + 1.5 + 2.5) = 4.5.
    let row = told(corpus.follows("N", "N").unwrap(), 0.9);
    assert_eq!(row, "transitions from N: the probabilities sum to 1.5667, expected 1");
    let starts = told(corpus.transition(TransitionRole::Start { symbol: corpus.symbol("N") }).unwrap(), 0.0);
    assert_eq!(starts, "starts: the probabilities sum to 0.8333, expected 1");
    let emission = told(corpus.pair("the", "N"), 0.5);
    assert_eq!(emission, "emissions of N: the probabilities sum to 1.3889, expected 1");
}

/// (f) Without constraints a CRF learns what the corpus never shows; with the graph there is nothing to learn.
#[test]
fn illegal_bio_transitions_end_lowest_and_have_no_arc_under_the_graph() {
    let mut random = Random::new(1);
    let mut sentence = || {
        let mut tokens = Vec::new();
        while tokens.len() < 12 {
            match random.below(3) {
                0 => {
                    tokens.push(format!("b{}/B", random.below(5)));
                    (0..random.below(3)).for_each(|_| tokens.push(format!("i{}/I", random.below(5))));
                }
                _ => tokens.push(format!("o{}/O", random.below(5))),
            }
        }
        tokens.truncate(1 + random.below(12));
        tokens.join(" ")
    };
    let sentences: Vec<String> = (0..200).map(|_| sentence()).collect();
    let sentences: Vec<&str> = sentences.iter().map(String::as_str).collect();
    let free = Corpus::new(tags(&["O", "B", "I"], EVERYTHING), &sentences);
    let theta = free.crf(0.1);
    let start = |corpus: &Corpus, tag| corpus.transition(TransitionRole::Start { symbol: corpus.symbol(tag) });
    let weight = |place: Option<usize>| theta[place.unwrap()];
    for legal in ["O", "B"] {
        assert!(weight(start(&free, "I")) < weight(start(&free, legal)) - 1.0, "start {legal}");
    }
    for from in ["O", "B", "I"] {
        for to in ["O", "B", "I"] {
            let illegal = (from, to) == ("O", "I");
            let lower = weight(free.follows("O", "I")) < weight(free.follows(from, to)) - 1.0;
            assert!(illegal || lower, "{from} {to}");
        }
    }
    let rules = "[boundary]\nstart = [\"O\", \"B\"]\nend = \"*\"\n[[allow]]\nfrom = \"*\"\nto = \"*\"\n[[forbid]]\nfrom = \"O\"\n\
                 to = \"I\"\n";
    let bound = Corpus::new(tags(&["O", "B", "I"], rules), &sentences);
    assert_eq!((start(&bound, "I"), bound.follows("O", "I")), (None, None));
    assert!(bound.graph.arc(StateId(0), StateId(2)).is_none());
    let theta = bound.crf(0.1);
    // Words of I alone: what is legal comes out, and with full certainty.
    assert_eq!(bound.tag(&theta, "i1 i2 i3"), "B I I");
}

/// A hidden Markov model is a CRF whose weights are log probabilities.
#[test]
fn a_counted_model_is_a_crf() {
    let sentences = ["a/X b/Y", "a/X a/X c/Y b/Y", "b/Y a/X c/X", "c/Y", "a/X b/X b/Y a/Y"];
    let corpus = Corpus::new(tags(&["X", "Y"], EVERYTHING), &sentences);
    let tables = Tables::count(&sentences);
    let theta = hmm(&TransitionRows::of(&corpus.spec), &corpus.problem(), 0.0).unwrap();
    check_probabilities(&corpus.spec, &corpus.scorer, &theta).unwrap();
    // Its weights exponentiate back to the tables.
    for (tag, name) in ["X", "Y"].iter().enumerate() {
        let symbol = corpus.symbol(name);
        let same =
            |place: usize, expected: f64| assert!((theta[place].exp() - expected).abs() < 1e-7, "{name} {place}");
        same(corpus.transition(TransitionRole::Start { symbol }).unwrap(), tables.start[tag]);
        same(corpus.transition(TransitionRole::End { symbol }).unwrap(), tables.end[tag]);
        ["X", "Y"]
            .iter()
            .enumerate()
            .for_each(|(to, other)| same(corpus.follows(name, other).unwrap(), tables.next[tag][to]));
        ["a", "b", "c"].iter().enumerate().for_each(|(w, word)| same(corpus.pair(word, name), tables.word[tag][w]));
    }
    let plan = corpus.problem().plan(&theta).unwrap();
    for sentence in ["a b", "c a b", "b b a c", "a"] {
        let emissions = corpus.problem().emissions(&theta, &corpus.input(sentence)).unwrap();
        let words: Vec<usize> = sentence.split(' ').map(|word| "abc".find(word).unwrap()).collect();
        let paths: Vec<(Vec<usize>, f64)> = (0..1 << words.len()).map(|code| tables.joint(&words, code)).collect();
        // F is the log of the joint probability,
        for (tags, joint) in &paths {
            let states: Vec<StateId> = tags.iter().map(|&tag| StateId::from_index(tag)).collect();
            let score = path_score(&plan, &emissions, &states).unwrap();
            assert!((score.exp() - joint).abs() < 1e-6 * joint + 1e-12, "{sentence} {tags:?}: {} {joint}", score.exp());
        }
        // Z that of the words, the best path the most probable one,
        let total: f64 = paths.iter().map(|(_, joint)| joint).sum();
        let (log_z, found) = counts(&plan, &emissions).unwrap();
        assert!((log_z.exp() - total).abs() < 1e-6 * total);
        let best = paths.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let path = viterbi(&plan, &emissions).unwrap();
        assert_eq!(path.states.iter().map(|state| state.index()).collect::<Vec<_>>(), best.0);
        // and the marginals are those of the tables.
        for (frame, row) in found.occupancy.iter_rows().enumerate() {
            let of_y: f64 = paths.iter().filter(|(tags, _)| tags[frame] == 1).map(|(_, joint)| joint / total).sum();
            assert!((f64::from(row[1]) - of_y).abs() < 1e-6, "{sentence} {frame}");
        }
    }
}

/// Relative frequencies by tag X, Y and word a, b, c, counted without any of the library.
struct Tables {
    start: [f64; 2],
    next: [[f64; 2]; 2],
    end: [f64; 2],
    word: [[f64; 3]; 2],
}

impl Tables {
    fn count(sentences: &[&str]) -> Self {
        let mut tables = Self { start: [0.0; 2], next: [[0.0; 2]; 2], end: [0.0; 2], word: [[0.0; 3]; 2] };
        for sentence in sentences {
            let tags: Vec<usize> = sentence.split(' ').map(|token| usize::from(token.ends_with('Y'))).collect();
            tables.start[tags[0]] += 1.0 / sentences.len() as f64;
            tags.windows(2).for_each(|pair| tables.next[pair[0]][pair[1]] += 1.0);
            tables.end[tags[tags.len() - 1]] += 1.0;
            let words = sentence.split(' ').map(|token| "abc".find(&token[..1]).unwrap());
            words.zip(&tags).for_each(|(word, &tag)| tables.word[tag][word] += 1.0);
        }
        for tag in 0..2 {
            let left = tables.next[tag].iter().sum::<f64>() + tables.end[tag];
            tables.next[tag].iter_mut().chain([&mut tables.end[tag]]).for_each(|cell| *cell /= left);
            let read: f64 = tables.word[tag].iter().sum();
            tables.word[tag].iter_mut().for_each(|cell| *cell /= read);
        }
        tables
    }

    /// P(words, tags) of the tags that `code` spells in bits.
    fn joint(&self, words: &[usize], code: usize) -> (Vec<usize>, f64) {
        let tags: Vec<usize> = (0..words.len()).map(|frame| code >> frame & 1).collect();
        let mut joint = self.start[tags[0]] * self.end[tags[tags.len() - 1]];
        tags.windows(2).for_each(|pair| joint *= self.next[pair[0]][pair[1]]);
        words.iter().zip(&tags).for_each(|(&word, &tag)| joint *= self.word[tag][word]);
        (tags, joint)
    }
}
