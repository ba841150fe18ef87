//! Graphs of words against an enumeration that never makes a graph: every word sequence with every pronunciation, pause and
//! share of the frames, scored by the numbers of the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use senone::dp::{Plan, PlanOptions, segments, viterbi};
use senone::emission::Emissions;
use senone::graph::ngram::{Ngram, NgramOptions};
use senone::graph::{Graph, GraphSpec};
use senone::matrix::Matrix;
use senone::random::Random;
use senone::symbols::{StateId, SymbolId, SymbolTable, WordId};

use crate::everything_goes::everything_goes;
use crate::graph_oracle::{walks, words};
use crate::util::Dir;

/// Two pauses, of which `brk` may follow `sil`; `b` after `b` needs a pause between, `n` begins nothing and `a` ends nothing.
const GRAPH: &str = r#"
format = 1
optional = ["pause"]
[classes]
pause = ["sil", "brk"]
speech = ["a", "b", "n", "spn"]
[boundary]
start = ["sil", "a", "b", "spn"]
end = ["pause", "b", "n", "spn"]
[[allow]]
from = "speech"
to = "speech"
weight = -0.5
[[allow]]
from = "speech"
to = "pause"
weight = -0.25
[[allow]]
from = "pause"
to = ["speech", "brk"]
[[forbid]]
from = "brk"
to = "brk"
[[forbid]]
from = "b"
to = "b"
[topology.default]
states = 1
self_loop = 0.4
[topology.pause]
self_loop = 0.7
"#;

/// Words that are the beginnings of others, sound alike, and are said in several ways, with probabilities.
const LEXICON: &str =
    "x 1.0 b\ny 0.5 b a\ny 0.25 b a n\ny 0.25 n\nz 1.0 b a n\nw 0.75 a b\nw 0.5 b n\nv 1.0 b a n a b\n";

/// The numbers of [`LEXICON`] and of what stands for the words that it lacks, by hand.
fn pronunciations(word: &str) -> Vec<(&'static str, f64)> {
    match word {
        "x" => vec![("b", 1.0)],
        "y" => vec![("b a", 0.5), ("b a n", 0.25), ("n", 0.25)],
        "z" => vec![("b a n", 1.0)],
        "w" => vec![("a b", 0.75), ("b n", 0.5)],
        "v" => vec![("b a n a b", 1.0)],
        _ => vec![("spn", (-0.125_f64).exp())],
    }
}

const PAUSE: f64 = -0.375;

/// Whether the n-gram of a [`Language`] backs off to a word that it lists.
#[derive(Clone, Copy, PartialEq)]
enum Backoff {
    /// It does not, as the probabilities have it.
    Exact,
    /// It may, as the graph has it.
    Anywhere,
}

/// What the language says of the next word and of the end.
enum Language {
    Any(&'static [&'static str]),
    Ngram(Arpa, f64, Backoff),
}

/// An ARPA file, read without regard for errors: by n-gram its log probability and back-off weight, natural.
struct Arpa(BTreeMap<Vec<String>, (f64, f64)>);

impl Arpa {
    fn read(text: &str) -> Self {
        let mut entries = BTreeMap::new();
        let (mut order, log) = (0, |field: &str| field.parse::<f64>().unwrap() * std::f64::consts::LN_10);
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            match fields[..] {
                [heading] if heading.ends_with("-grams:") => order = heading[1..2].parse().unwrap(),
                [p, ..] if order > 0 && fields.len() > order => {
                    let names = fields[1..=order].iter().map(|&name| name.to_owned()).collect();
                    entries.insert(names, (log(p), fields.get(order + 1).map_or(0.0, |field| log(field))));
                }
                _ => {}
            }
        }
        Self(entries)
    }

    /// The longest end of `past` after which something is listed.
    fn history(&self, past: &[String]) -> Vec<String> {
        let ends = (0..=past.len()).map(|first| &past[first..]);
        let is_known =
            |end: &&[String]| self.0.keys().any(|entry| entry.len() == end.len() + 1 && entry.starts_with(end));
        ends.into_iter().find(is_known).unwrap().to_vec()
    }

    /// The ways to say `word`, with the history after each.
    fn steps(&self, history: &[String], word: &str, backoff: Backoff) -> Vec<(f64, Vec<String>)> {
        let (mut history, mut weight, mut found) = (history.to_vec(), 0.0, vec![]);
        loop {
            let whole = [&history[..], &[word.to_owned()]].concat();
            if let Some((log, _)) = self.0.get(&whole) {
                found.push((weight + log, self.history(&whole)));
            }
            if history.is_empty() || !found.is_empty() && backoff == Backoff::Exact {
                return found;
            }
            weight += self.0.get(&history).map_or(0.0, |entry| entry.1);
            history = self.history(&history[1..]);
        }
    }
}

impl Language {
    fn words(&self) -> Vec<String> {
        match self {
            Self::Any(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Self::Ngram(Arpa(entries), ..) => {
                let words = entries.keys().filter(|entry| entry.len() == 1).map(|entry| entry[0].clone());
                words.filter(|word| !word.ends_with("s>")).collect()
            }
        }
    }

    fn start(&self) -> Vec<String> {
        match self {
            Self::Any(_) => vec![],
            Self::Ngram(arpa, ..) => arpa.history(&["<s>".to_owned()]),
        }
    }

    fn steps(&self, history: &[String], word: &str) -> Vec<(f64, Vec<String>)> {
        match self {
            Self::Any(_) => vec![(0.0, vec![])],
            Self::Ngram(arpa, scale, backoff) => {
                let steps = arpa.steps(history, word, *backoff).into_iter();
                steps.map(|(log, after)| (scale * log, after)).collect()
            }
        }
    }

    fn end(&self, history: &[String]) -> f64 {
        match self {
            Self::Any(_) => 0.0,
            Self::Ngram(arpa, scale, _) => scale * arpa.steps(history, "</s>", Backoff::Exact)[0].0,
        }
    }
}

/// Best scores by word sequence.
type Best = BTreeMap<Vec<String>, f64>;

fn improve(best: &mut Best, words: Vec<String>, score: f64) {
    let known = best.entry(words).or_insert(f64::NEG_INFINITY);
    *known = known.max(score);
}

/// The enumeration.
struct World<'a> {
    spec: &'a GraphSpec,
    language: &'a Language,
    emissions: &'a Emissions,
    best: Best,
}

/// How far an utterance is said.
#[derive(Clone)]
struct Said {
    frames: usize,
    last: Option<SymbolId>,
    paused: bool,
    words: Vec<String>,
    history: Vec<String>,
    score: f64,
}

fn self_loop(spec: &GraphSpec, symbol: SymbolId) -> f64 {
    if ["sil", "brk"].contains(&spec.symbols().name(symbol)) { 0.7 } else { 0.4 }
}

impl World<'_> {
    fn id(&self, name: &str) -> SymbolId {
        self.spec.symbols().get(name).unwrap()
    }

    /// The rules of [`GRAPH`], by hand; minus infinity where there is none.
    fn step(&self, from: Option<SymbolId>, to: SymbolId) -> f64 {
        let name = |symbol| self.spec.symbols().name(symbol);
        let Some(from) = from else {
            return if ["n", "brk"].contains(&name(to)) { f64::NEG_INFINITY } else { 0.0 };
        };
        let rule = match (name(from), name(to)) {
            ("b", "b") | ("brk", "brk") => f64::NEG_INFINITY,
            ("sil" | "brk", "sil") => f64::NEG_INFINITY,
            ("sil" | "brk", _) => 0.0,
            (_, "sil" | "brk") => -0.25,
            _ => -0.5,
        };
        rule + (1.0 - self_loop(self.spec, from)).ln()
    }

    /// Every way to say `symbol` next.
    fn symbol(&self, said: &Said, symbol: SymbolId) -> Vec<Said> {
        let step = self.step(said.last, symbol);
        if step == f64::NEG_INFINITY {
            return vec![];
        }
        let (mut next, mut ways) = (Said { last: Some(symbol), score: said.score + step, ..said.clone() }, vec![]);
        for length in 1..=self.emissions.frames() - said.frames {
            let emission = f64::from(self.emissions.frame(said.frames + length - 1)[symbol.index()]);
            next.frames += 1;
            next.score += emission + if length > 1 { self_loop(self.spec, symbol).ln() } else { 0.0 };
            ways.push(next.clone());
        }
        ways
    }

    fn enumerate(&mut self, said: &Said) {
        if said.frames == self.emissions.frames() {
            let last = said.last.unwrap();
            if self.spec.symbols().name(last) != "a" {
                let leave = (1.0 - self_loop(self.spec, last)).ln();
                improve(&mut self.best, said.words.clone(), said.score + leave + self.language.end(&said.history));
            }
            return;
        }
        for pause in ["sil", "brk"] {
            for next in self.symbol(said, self.id(pause)) {
                self.enumerate(&Said { paused: true, ..next });
            }
        }
        for word in self.language.words() {
            for (language, history) in self.language.steps(&said.history, &word) {
                self.word(&Said { history, score: said.score + language, ..said.clone() }, &word);
            }
        }
    }

    /// Every way to say `word` next, and all that may come after it.
    fn word(&mut self, said: &Said, word: &str) {
        let paused = if said.paused && !said.words.is_empty() { PAUSE } else { 0.0 };
        for (phones, p) in pronunciations(word) {
            let words = [&said.words[..], &[word.to_owned()]].concat();
            let mut ways = vec![Said { paused: false, words, score: said.score + p.ln() + paused, ..said.clone() }];
            for phone in phones.split(' ') {
                ways = ways.iter().flat_map(|way| self.symbol(way, self.id(phone))).collect();
            }
            ways.iter().for_each(|way| self.enumerate(way));
        }
    }
}

/// The best score of each word sequence by way of every path of the `graph` of `spec`.
fn best_of_graph(spec: &GraphSpec, graph: &Graph, emissions: &Emissions) -> Best {
    let mut best = Best::new();
    for (way, score) in walks(spec, graph, emissions.frames()) {
        let text = |word: &WordId| graph.words()[word.index()].text.clone();
        let emission = |(frame, &state): (usize, &StateId)| emissions.frame(frame)[graph.state(state).pdf.index()];
        let said: f64 = way.iter().enumerate().map(emission).map(f64::from).sum();
        improve(&mut best, words(graph, &way).iter().map(text).collect(), score + said);
    }
    best
}

fn emissions(frames: usize, spec: &GraphSpec, random: &mut Random) -> Emissions {
    let cells = (0..frames * spec.pdfs()).map(|_| random.uniform() * -4.0).collect();
    Emissions::new(Matrix::from_vec(frames, spec.pdfs(), cells).unwrap()).unwrap()
}

/// Every word sequence of up to six frames, and the best of all by Viterbi.
fn compare(spec: &GraphSpec, language: &Language, seed: u64) {
    let graph = Arc::new(spec.compile().unwrap());
    let weights = spec.initial_weights();
    let mut random = Random::new(seed);
    for frames in 1..=6 {
        let emissions = emissions(frames, spec, &mut random);
        let mut world = World { emissions: &emissions, best: Best::new(), spec, language };
        let said = Said { frames: 0, last: None, paused: false, words: vec![], history: language.start(), score: 0.0 };
        world.enumerate(&said);
        if frames <= 5 {
            let found = best_of_graph(spec, &graph, &emissions);
            assert_eq!(found.keys().collect::<Vec<_>>(), world.best.keys().collect::<Vec<_>>());
            for (words, expected) in &world.best {
                assert!((found[words] - expected).abs() < 1e-4, "{words:?}: {} is not {expected}", found[words]);
            }
        }
        let (words, score) = world.best.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        let plan = Plan::new(&graph, &weights, &PlanOptions::default()).unwrap();
        let path = viterbi(&plan, &emissions).unwrap();
        assert!((path.score - score).abs() < 1e-4, "{} is not {score}", path.score);
        let spans = segments(&graph, &path.states);
        let found = spans.iter().filter_map(|span| span.word).map(|word| graph.words()[word.index()].text.clone());
        let found: Vec<String> = found.collect();
        assert!(found == *words || (world.best[&found] - score).abs() < 1e-4, "{found:?} is not {words:?}");
    }
}

fn folder(lexicon: &str) -> Dir {
    let dir = Dir::new();
    dir.write("lexiconp.txt", lexicon);
    dir
}

fn spec(dir: &Dir, tables: &str) -> GraphSpec {
    GraphSpec::parse_as(&dir.path("graph.toml"), &format!("{GRAPH}{tables}")).unwrap()
}

const TABLES: &str = "[lexicon]\nfile = 'lexiconp.txt'\npause = -0.375\n";
const WITH_NGRAM: &str = "[lexicon]\nfile = 'lexiconp.txt'\npause = -0.375\nunknown = 'spn'\nunknown_weight = -0.125\n\
    [lm]\nfile = 'words.arpa'\nscale = 0.75\n";

#[test]
fn without_an_n_gram_any_word_follows_any() {
    let dir = folder(&format!("{LEXICON}<pause> 1.0 sil brk\n"));
    compare(&spec(&dir, TABLES), &Language::Any(&["v", "w", "x", "y", "z"]), 1);
}

/// Sequences of words with a preference for some pairs.
fn sequences(words: &SymbolTable, random: &mut Random) -> Vec<Vec<SymbolId>> {
    let word = |random: &mut Random| SymbolId(random.below(words.len()).min(random.below(words.len())) as u32);
    (0..12).map(|_| (0..random.below(5)).map(|_| word(random)).collect()).collect()
}

#[test]
fn n_grams_of_any_order_weigh_every_sequence() {
    let words: Arc<SymbolTable> = Arc::new(["y", "x", "w", "z", "<unk>", "v", "odd"].into_iter().collect());
    for order in 1..=4 {
        for seed in 0..3 {
            let mut random = Random::new(100 * order as u64 + seed);
            let options = NgramOptions { order, ..NgramOptions::default() };
            let made = Ngram::estimate(&options, &words, &sequences(&words, &mut random)).unwrap();
            let dir = folder(LEXICON);
            dir.write("words.arpa", made.to_arpa());
            // A longer history may make what follows less likely, so that from the trigram on forgetting it pays at times.
            let backoff = if order <= 2 { Backoff::Exact } else { Backoff::Anywhere };
            let language = Language::Ngram(Arpa::read(&made.to_arpa()), 0.75, backoff);
            compare(&spec(&dir, WITH_NGRAM), &language, seed);
        }
    }
}

/// The n-gram lists `x z` with less than backing off gives it.
const KATZ: &str = "\\data\\\nngram 1=4\nngram 2=2\n\\1-grams:\n-1 </s>\n-99 <s> 0\n-0.5 x -0.25\n-0.5 z\n\\2-grams:\n-2 x z\n\
    -0.125 <s> x\n\\end\\\n";

#[test]
fn backing_off_is_possible_where_a_word_is_listed() {
    let dir = folder("x 1.0 b\nz 1.0 a b\n");
    dir.write("words.arpa", KATZ);
    let spec = spec(&dir, &WITH_NGRAM.replace("0.75", "1"));
    let mut random = Random::new(3);
    let emissions = emissions(3, &spec, &mut random);
    let found = best_of_graph(&spec, &spec.compile().unwrap(), &emissions);
    let names = ["b", "a", "b"].map(|name| spec.symbols().get(name).unwrap().index());
    let said: f64 = names.iter().enumerate().map(|(frame, &pdf)| f64::from(emissions.frame(frame)[pdf])).sum();
    let expected = said + 3.0 * 0.6_f64.ln() - 2.0 * 0.5 + (-0.125 - 0.25 - 0.5 - 1.0) * std::f64::consts::LN_10;
    let score = found[&vec!["x".to_owned(), "z".to_owned()]];
    assert!((score - expected).abs() < 1e-4, "{score} is not {expected}");
}

#[test]
fn what_is_wrong_with_words_is_said() {
    let refused = |lexicon: &str, tables: &str, change: (&str, &str)| {
        let dir = folder(lexicon);
        dir.write("words.arpa", KATZ.replace(change.0, change.1));
        let error = spec(&dir, tables).compile().unwrap_err().to_string();
        error.replace(&format!("{}/", dir.path("").display().to_string().trim_end_matches('/')), "")
    };
    let known = WITH_NGRAM.replace("unknown = 'spn'\nunknown_weight = -0.125\n", "");
    let error = refused("x 1.0 b\ny 1.0 n\n", &known, ("-0.5 z", "-0.5 z"));
    assert_eq!(
        error,
        "graph.toml:36:8: 1 words have no pronunciation in lexiconp.txt: z: add them there, or let `unknown` of [lexicon] name a \
         symbol that stands for them"
    );
    let error = refused("x 1.0 b\n\nz 1.0 n b b\n", &known, ("x", "x"));
    assert_eq!(error, "lexiconp.txt:3: the graph does not allow b -> b, which is in 'z': change one of the two");
    let error = refused("x 1.0 b\nz 1.0 n o\n", &known, ("x", "x"));
    assert_eq!(error, "lexiconp.txt:2: the phone 'o' of 'z' is not a symbol of the graph: add it there");
    let dir = folder("x 1.0 a\n");
    let text = format!("{}{TABLES}", GRAPH.replace("optional = [\"pause\"]\n", ""));
    let error = GraphSpec::parse_as(&dir.path("graph.toml"), &text).unwrap().compile().unwrap_err().to_string();
    assert!(error.ends_with("graph.toml:32:8: no sequence of these words is legal in this graph"), "{error}");
}

/// As many words as a large vocabulary has, with a bigram of its size.
#[test]
fn twenty_thousand_words_and_a_bigram_fit() {
    let (phones, count) = (39, 20_000);
    let mut random = Random::new(5);
    let names: Vec<String> = (0..phones).map(|phone| format!("p{phone}")).collect();
    let symbols: Vec<&str> = std::iter::once("sil").chain(names.iter().map(String::as_str)).collect();
    let text = format!(
        "optional = 'sil'\n{}[[forbid]]\nfrom = 'sil'\nto = 'sil'\n[lexicon]\nfile = 'words.dict'\n[lm]\nfile = 'words.arpa'\n",
        everything_goes(&symbols, "states = 1\nself_loop = 0.5")
    );
    let mut lexicon = String::new();
    for word in 0..count {
        let length = 2 + random.below(10);
        let said = (0..length).map(|_| names[random.below(phones)].as_str()).collect::<Vec<_>>().join(" ");
        lexicon += &format!("w{word} {said}\n");
    }
    let mut arpa = format!("\\data\\\nngram 1={}\nngram 2={}\n\\1-grams:\n-99 <s> -1\n-1 </s>\n", count + 2, 4 * count);
    (0..count).for_each(|word| arpa += &format!("-4.3 w{word} -0.5\n"));
    arpa += "\\2-grams:\n";
    for word in 0..count {
        let first = random.below(count - 4);
        (first..first + 4).for_each(|next| arpa += &format!("-1 w{word} w{next}\n"));
    }
    let dir = Dir::new();
    dir.write("words.dict", lexicon);
    dir.write("words.arpa", arpa + "\\end\\\n");
    let graph = GraphSpec::parse_as(&dir.path("graph.toml"), &text).unwrap().compile().unwrap();
    assert_eq!(graph.words().len(), count);
    assert!(graph.arc_count() < 3_000_000, "{} arcs", graph.arc_count());
}
