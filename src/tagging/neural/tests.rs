//! Every network under every method on small languages, and the file.

use std::path::Path;

use crate::data::{ColumnFile, Layout, Sequence};
use crate::graph::GraphSpec;
use crate::random::Random;
use crate::tagging::{Learner, Method, TagEvent, TagSet, TagSettings, TagTask, Tagger, Template, train};

fn sequences(text: &str) -> Vec<Sequence> {
    ColumnFile::collect("t.tsv".as_ref(), text.as_bytes(), Layout::Tagged).unwrap().whole().unwrap()
}

/// Sentences as `word/tag word/tag`.
fn lines(sentence: &str) -> String {
    sentence.replace('/', "\t").replace(' ', "\n") + "\n\n"
}

fn settings(text: &str) -> TagSettings {
    let text = format!("embedding = 12\nwidth = 10\nbatch_tokens = 30\nlearning_rate = 0.02\n{text}");
    let tdnn = "\ntdnn = { width = 12, bottleneck = 8, dilations = [1] }\n";
    crate::settings::parse(&format!("[network]\n{text}{tdnn}")).unwrap()
}

fn learner(name: &str) -> Learner {
    name.parse().unwrap()
}

fn trained(name: &str, training: &[Sequence], settings: &TagSettings) -> Tagger {
    let task =
        TagTask { training, development: &[], tags: TagSet::of(training).unwrap(), template: Template::default() };
    train(learner(name), task, settings, &mut |_| {}).unwrap()
}

fn networks() -> impl Iterator<Item = Learner> {
    Learner::all().filter(|learner| learner.to_string().contains("lstm") || learner.to_string().contains("tdnn"))
}

/// Articles, nouns and verbs; `run` is a noun after an article and a verb after a noun.
fn language(sentences: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut pick = |words: &[&'static str]| words[random.below(words.len())];
    let mut sentence = || {
        let [first, second] = [0, 1].map(|_| (pick(&["the", "a"]), pick(&["dog", "cat", "man", "run", "run"])));
        let verb = pick(&["saw", "ate", "run", "run"]);
        lines(&format!("{}/D {}/N {verb}/V {}/D {}/N", first.0, first.1, second.0, second.1))
    };
    (0..sentences).map(|_| sentence()).collect()
}

fn accuracy(tagger: &Tagger, sequences: &[Sequence]) -> f64 {
    let right = |sequence: &Sequence| -> usize {
        let found = tagger.predict(sequence).unwrap();
        found.iter().zip(sequence.tags()).filter(|(found, right)| **found == *right).count()
    };
    let all: usize = sequences.iter().map(|sequence| sequence.rows().len()).sum();
    sequences.iter().map(right).sum::<usize>() as f64 / all as f64
}

#[test]
fn every_network_under_every_method_learns_a_small_language() {
    let (training, test) = (sequences(&language(60, 1)), sequences(&language(40, 2)));
    assert_eq!(networks().count(), 12);
    for learner in networks() {
        let tagger = trained(&learner.to_string(), &training, &settings("epochs = 12\ndropout = 0.1"));
        let found = accuracy(&tagger, &test);
        assert!(found > 0.97, "{learner}: {found}, the majority tag 0.4");
    }
}

#[test]
fn the_worked_example_is_answered_by_what_follows_what() {
    let text = lines("n/N c/V").repeat(9) + &lines("p/P a/V").repeat(9) + &lines("n/N a/D");
    let training = sequences(&text);
    let settings = settings("epochs = 80\nrare_dropout = 0.0\ndropout = 0.0");
    for name in ["bilstm-crf", "bilstm-svm", "lstm-crf", "tdnn-crf"] {
        let tagger = trained(name, &training, &settings);
        assert_eq!(tagger.predict(&training[18]).unwrap(), ["N", "D"], "{name}");
        assert_eq!(accuracy(&tagger, &training), 1.0, "{name}");
    }
}

const BIO: &str = r#"
format = 1
[classes]
all = ["O", "B-x", "I-x"]
[boundary]
start = ["O", "B-x"]
end = ["*"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "O"
to = "I-x"
[topology.default]
states = 1
min_frames = 1
self_loop = false
"#;

#[test]
fn illegal_tags_never_come_out() {
    let training = sequences(&(lines("a/O b/B-x c/I-x") + &lines("b/B-x d/I-x c/I-x a/O") + &lines("c/O")));
    let mut random = Random::new(4);
    let mut word = || ["a", "b", "c", "d", "unknown"][random.below(5)].to_owned() + "\tO\n";
    let test: String = (0..200).map(|length| (0..1 + length % 7).map(|_| word()).collect::<String>() + "\n").collect();
    for learner in networks() {
        let tags = TagSet::restricted(GraphSpec::parse(BIO).unwrap()).unwrap();
        let task = TagTask { training: &training, development: &[], tags, template: Template::default() };
        let tagger = train(learner, task, &settings("epochs = 2"), &mut |_| {}).unwrap();
        let (mut inside, mut differ) = (0, 0);
        for sequence in sequences(&test) {
            let found = tagger.predict(&sequence).unwrap();
            assert!(found[0] != "I-x" && !found.windows(2).any(|pair| pair == ["O", "I-x"]), "{learner}: {found:?}");
            inside += found.iter().filter(|tag| **tag == "I-x").count();
            differ += usize::from(found[0] != "O");
            for row in tagger.marginals(&sequence).unwrap().iter_rows() {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{learner}: {row:?}");
            }
        }
        assert!(inside + differ > 0, "{learner}: nothing but O");
    }
}

#[test]
fn a_tagger_comes_back_from_its_file() {
    let (training, test) = (sequences(&language(10, 1)), sequences(&language(20, 2)));
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("tagger");
    for name in ["bilstm-crf", "lstm", "tdnn-hmm"] {
        let tagger = trained(name, &training, &settings("epochs = 1"));
        tagger.write(&path).unwrap();
        let back = Tagger::read(&path).unwrap();
        assert_eq!(back.learner(), learner(name));
        for sequence in &test {
            assert_eq!(back.predict(sequence).unwrap(), tagger.predict(sequence).unwrap());
            assert_eq!(back.marginals(sequence).unwrap(), tagger.marginals(sequence).unwrap());
        }
        let bytes = std::fs::read(&path).unwrap();
        back.write(&path).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes, "{name}");
    }
}

fn bytes(tagger: &Tagger, path: &Path) -> Vec<u8> {
    tagger.write(path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn threads_change_no_byte_and_the_seed_does() {
    let training = sequences(&language(30, 1));
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["bilstm-crf", "tdnn-svm", "lstm-hmm"] {
        let run = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = TagSettings { seed, ..settings("epochs = 2\naverage_last = 2") };
            pool.install(|| bytes(&trained(name, &training, &settings), &folder.path().join("tagger")))
        };
        let one = run(1, 7);
        assert!(one == run(2, 7) && one == run(4, 7), "{name}");
        assert!(one != run(1, 8), "{name}");
    }
}

#[test]
fn the_best_epoch_on_the_development_set_is_kept() {
    let (training, development) = (sequences(&language(20, 1)), sequences(&language(30, 2)));
    let tags = TagSet::of(&training).unwrap();
    let task = TagTask { training: &training, development: &development, tags, template: Template::default() };
    let mut rounds = Vec::new();
    let tagger = train(learner("bilstm-crf"), task, &settings("epochs = 6"), &mut |event| {
        if let TagEvent::Round { development: Some(share), report } = event {
            assert!(report.starts_with(&format!("{}/6: loss ", rounds.len() + 1)), "{report}");
            rounds.push(share);
        }
    });
    let best = rounds.iter().copied().fold(0.0, f64::max);
    assert_eq!(rounds.len(), 6);
    assert_eq!(accuracy(&tagger.unwrap(), &development), best);
}

#[test]
fn a_hidden_markov_model_over_a_network_divides_by_priors() {
    // Of 10 w, 9 are X; after Y there is only Z. The network alone sees nothing before the first token.
    let training = sequences(&(lines("w/X z/Z").repeat(9) + &lines("w/Y z/Z")));
    let text = "epochs = 25\nrare_dropout = 0.0\ndropout = 0.0\nprior_scale = ";
    let share = |scale: &str| {
        let mut settings = settings(&format!("{text}{scale}"));
        settings.hmm.smoothing = 0.0;
        let tagger = trained("lstm-hmm", &training, &settings);
        assert_eq!(tagger.learner().method, Method::Hmm);
        tagger.marginals(&training[0]).unwrap().row(0)[0]
    };
    // 0.9 / 0.45 * 0.9 against 0.1 / 0.05 * 0.1; without priors 0.9 * 0.9 against 0.1 * 0.1.
    let (with, without) = (share("1.0"), share("0.0"));
    assert!((with - 0.9).abs() < 0.03, "{with}");
    assert!((without - 0.81 / 0.82).abs() < 0.01, "{without}");
}

#[test]
fn settings_that_are_wrong_are_named() {
    let message = |text: &str| {
        let parsed: Result<TagSettings, String> = crate::settings::parse(&format!("[network]\n{text}"));
        parsed.and_then(|settings| settings.check().map_err(|error| error.to_string())).unwrap_err()
    };
    assert_eq!(message("embedding = 0"), "[network] embedding = 0: expected a width from 1 to 16384");
    assert_eq!(message("width = 0"), "[network] width = 0: expected a width from 1 to 16384");
    assert_eq!(message("dropout = 1.0"), "[network] dropout = 1: expected a share from 0 to 0.95");
    assert_eq!(message("tdnn = { dilations = [0] }"), "[network] dilations = 0: expected 1 to 30 rows");
    assert_eq!(message("epochs = 0"), "[network] epochs = 0: expected at least 1");
    assert_eq!(message("prior_scale = -1.0"), "[network] prior_scale = -1: expected a number, 0 or more");
    assert!(message("batch = 1").contains("unknown field `batch`"));
}
