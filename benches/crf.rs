//! CPU seconds of CRF training, iteration by iteration: L-BFGS and stochastic gradient on the same features.
//!
//! `cargo bench --no-default-features --bench crf -- [TRAIN.tsv]`; without a file of columns (word, tag; a blank line after
//! each sentence) on synthetic sentences of much the same shape.

use std::collections::BTreeMap;
use std::sync::Arc;

use senone::dp::{Plan, PlanOptions};
use senone::emission::{SparseFrames, SparseScorer};
use senone::graph::GraphSpec;
use senone::learn::gradient::{BatchConfig, StochasticConfig};
use senone::learn::lbfgs::LbfgsConfig;
use senone::learn::problem::{Example, Problem, path_of};
use senone::random::Random;
use senone::symbols::PdfId;

/// CPU seconds of this process (Linux), to a hundredth; other programs on the machine hardly change them.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("the statistics of this process");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |field: usize| fields[field].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

type Sentence = Vec<(String, String)>;

/// Words of 20,000, each of which has a favourite tag and a second one; tags follow each other in a Markov chain.
fn synthetic() -> Vec<Sentence> {
    let mut random = Random::new(1);
    let mut sentence = || {
        let mut tag = random.below(17);
        let mut token = || {
            tag = (tag * 5 + random.below(6) * random.below(3)) % 17;
            let rank = (f64::from(random.uniform()).powi(4) * 1200.0) as usize;
            let spoken = if random.below(10) == 0 { random.below(17) } else { tag };
            (format!("{}w{}", ["un", "re", "", "Co"][rank % 4], rank * 17 + spoken), format!("T{tag}"))
        };
        (0..1 + (rank_length())).map(|_| token()).collect()
    };
    fn rank_length() -> usize {
        15
    }
    (0..12_000).map(|_| sentence()).collect()
}

fn read(path: &str) -> Vec<Sentence> {
    let text = std::fs::read_to_string(path).expect("a file of columns");
    let token = |line: &str| line.split_once('\t').map(|(word, tag)| (word.to_owned(), tag.to_owned()));
    text.split("\n\n")
        .map(|block| block.lines().filter_map(token).collect())
        .filter(|s: &Sentence| !s.is_empty())
        .collect()
}

/// Bias, word, prefixes and suffixes of 1 to 3 characters, capital, digit, hyphen, the neighbours' words.
fn features(sentence: &Sentence, at: usize) -> Vec<String> {
    let word = &sentence[at].0;
    let letters: Vec<char> = word.chars().collect();
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let mut all = vec!["b".to_owned(), format!("w={}", word.to_lowercase())];
    for length in 1..=3 {
        all.push(format!("p{length}={}", text(&letters[..length.min(letters.len())])));
        all.push(format!("s{length}={}", text(&letters[letters.len().saturating_sub(length)..])));
    }
    all.push(format!("U={}", letters[0].is_uppercase()));
    all.push(format!("D={}", letters.iter().any(|c| c.is_ascii_digit())));
    all.push(format!("H={}", letters.contains(&'-')));
    all.extend(at.checked_sub(1).map(|before| format!("-w={}", sentence[before].0.to_lowercase())));
    all.extend(sentence.get(at + 1).map(|after| format!("+w={}", after.0.to_lowercase())));
    all
}

fn spec(sentences: &[Sentence]) -> GraphSpec {
    let mut tags: Vec<&str> = sentences.iter().flatten().map(|(_, tag)| tag.as_str()).collect();
    tags.sort_unstable();
    tags.dedup();
    let text = format!(
        "format = 1\n[classes]\nall = {tags:?}\n[boundary]\nstart = \"*\"\nend = \"*\"\n[[allow]]\nfrom = \"*\"\nto = \"*\"\n\
         [topology.default]\nstates = 1\nmin_frames = 1\nself_loop = false\n"
    );
    GraphSpec::parse(&text).expect("a graph file")
}

fn examples(
    sentences: &[Sentence],
    spec: &GraphSpec,
    plan: &Plan,
) -> (Vec<Example<SparseFrames>>, Vec<Vec<PdfId>>, usize) {
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let mut all = Vec::new();
    let mut all_labels = Vec::new();
    for (number, sentence) in sentences.iter().enumerate() {
        let (mut first, mut ids) = (vec![0], Vec::new());
        for at in 0..sentence.len() {
            for feature in features(sentence, at) {
                let next = known.len() as u32;
                ids.push(*known.entry(feature).or_insert(next));
            }
            first.push(ids.len() as u32);
        }
        let values = vec![1.0; ids.len()];
        let labels: Vec<PdfId> =
            sentence.iter().map(|(_, tag)| PdfId(spec.symbols().get(tag).expect("a tag").0)).collect();
        let input = SparseFrames::new(first, ids, values).expect("rows of features");
        let path = path_of(plan, &labels).expect("every pair is legal");
        all.push(Example { name: format!("sentence {}", number + 1), input, path });
        all_labels.push(labels);
    }
    (all, all_labels, known.len())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let sentences = args.first().map_or_else(synthetic, |path| read(path));
    let spec = spec(&sentences);
    let graph = Arc::new(spec.compile().expect("a graph"));
    let plan = Plan::new(&graph, &spec.initial_weights(), &PlanOptions::default()).expect("finite weights");
    let (examples, labels, features) = examples(&sentences, &spec, &plan);
    let pairs = examples.iter().zip(&labels).map(|(example, labels)| (&example.input, labels.as_slice()));
    let scorer = SparseScorer::observed(pairs, (features, spec.pdfs())).expect("few enough pairs");
    let problem = Problem { graph: &graph, scorer: &scorer, examples: &examples };
    let tokens: usize = examples.iter().map(|example| example.path.len()).sum();
    println!("{} sentences, {tokens} tokens, {features} features, {} parameters", examples.len(), problem.parameters());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let iterations = args.get(1).map_or(60, |text| text.parse().expect("iterations"));
        let lbfgs = LbfgsConfig { max_iterations: iterations, ..LbfgsConfig::default() };
        let config = BatchConfig { l2: 1.0, lbfgs, ..BatchConfig::default() };
        let start = cpu_seconds();
        let report = |progress: &senone::learn::gradient::Progress| {
            println!("{:.2} s, {} passes, {progress}", cpu_seconds() - start, progress.passes)
        };
        config.train(&problem, vec![0.0; problem.parameters()], &mut { report }).expect("trained");
        println!("{:.2} s", cpu_seconds() - start);
        if args.get(2).is_some() {
            let config = StochasticConfig { epochs: 10, ..StochasticConfig::default() };
            let start = cpu_seconds();
            let report =
                |progress: &senone::learn::gradient::Progress| println!("{:.2} s, {progress}", cpu_seconds() - start);
            let trained = config.train(&problem, vec![0.0; problem.parameters()], &mut { report }).expect("trained");
            println!("{:.2} s: {}", cpu_seconds() - start, trained.loss);
        }
    });
}
