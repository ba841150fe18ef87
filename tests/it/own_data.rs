//! `senone train` without settings: from a corpus alone, and from a model that is adapted to it.

use std::fs;

use super::toy::{self, TOY};
use super::util::Dir;

/// Phone error, percent, of `model` on the manifest `test`.
fn phone_error(dir: &Dir, model: &str, test: &str) -> f64 {
    dir.write("test.ctm", dir.senone(&format!("decode --model {model} --format ctm {test}")).ok().stdout);
    let report = dir.senone(&format!("score {test} test.ctm --lexicon words.dict")).ok().stdout;
    println!("{report}");
    report.strip_prefix("PER ").unwrap().split_once(' ').unwrap().0.parse().unwrap()
}

#[test]
fn a_corpus_and_a_lexicon_are_enough() {
    let dir = Dir::new();
    toy::corpus(&dir);
    let said = dir.senone("train train.tsv --lexicon words.dict --work work --output own").ok().stderr;
    println!("{said}");
    assert!(said.starts_with("work/train.toml: settings as the data suggest them\n"), "{said}");
    assert!(phone_error(&dir, "own", "test.tsv") < 20.0);
    assert!(dir.senone("info own").ok().stdout.contains("\nphones             SIL SPN AA IY M S\n"));
    // Five speakers are too few to hold one out.
    assert!(dir.read("work/train.toml").contains("train.tsv\"\ndevelopment_utterances = 4\n"));
    assert_eq!(dir.read("work/development.tsv").lines().count(), 5);
    // From there a user goes on.
    dir.senone("train work/train.toml --work again --output again-model").ok();
    let weights = |model: &str| fs::read(dir.path(&format!("{model}/weights.safetensors"))).unwrap();
    assert!(weights("own") == weights("again-model"));
    dir.edit("work/train.toml", "dropout     = 0.15", "dropout     = 0.25");
    let refused = dir.senone("train train.tsv --lexicon words.dict --work work --output own").refused();
    assert!(refused.starts_with("work/train.toml: is of other data or changed by hand: train with"), "{refused}");
}

#[test]
fn without_a_lexicon_every_token_is_a_phone() {
    let dir = Dir::new();
    toy::corpus(&dir);
    // A folder of audio and text; phones with names that mean something elsewhere.
    let phones =
        [("ma", "m {"), ("mass", "m { s"), ("see", "s i:"), ("sim", "s i: m"), ("aim", "{ i: m"), ("easy", "i: s i:")];
    for line in dir.read("train.tsv").lines().skip(1).filter(|line| !line.contains("zap")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let said = fields[3].split(' ').map(|word| phones.iter().find(|(known, _)| *known == word).unwrap().1);
        let place = format!("corpus/{}/{}", fields[1], fields[0]);
        dir.write(&format!("{place}.wav"), fs::read(dir.path(fields[2])).unwrap());
        dir.write(&format!("{place}.txt"), said.collect::<Vec<_>>().join(" "));
    }
    let said = dir.senone("train corpus --development corpus/speaker-0 --output own").run().stderr;
    assert!(said.contains("an utterance before has the name \"train-0-0\" too"), "{said}");
    let corpora = "corpus/speaker-1 corpus/speaker-2 corpus/speaker-3 corpus/speaker-4 --development corpus/speaker-0";
    println!("{}", dir.senone(&format!("train {corpora} --work new --output own")).ok().stderr);
    assert!(dir.senone("info own").ok().stdout.contains("\nphones             SIL i: m s {\n"));
    dir.write("test.ctm", dir.senone("decode --model own --format ctm corpus/speaker-0").ok().stdout);
    let refused = dir.senone("score corpus/speaker-0 test.ctm").refused();
    assert!(
        refused.ends_with("say with --words-are-phones that they are phones, or compare words with --words"),
        "{refused}"
    );
    let report = dir.senone("score --words-are-phones corpus/speaker-0 test.ctm").ok().stdout;
    let percent: f64 = report.strip_prefix("PER ").unwrap().split_once(' ').unwrap().0.parse().unwrap();
    assert!(percent < 20.0, "{report}");
}

#[test]
fn a_model_is_adapted_to_other_speakers() {
    let dir = toy::with_model();
    toy::shifted(&dir);
    fs::copy(TOY.path("words.dict"), dir.path("words.dict")).unwrap();
    let said = dir.senone("train more.tsv --lexicon words.dict --from model --output adapted").ok().stderr;
    println!("{said}");
    assert!(said.contains("utterances aligned with the model to start from"), "{said}");
    let (before, after) = (phone_error(&dir, "model", "more-test.tsv"), phone_error(&dir, "adapted", "more-test.tsv"));
    assert!(before > 15.0 && after < 0.7 * before, "{before} % before, {after} % after");
    // All but the network is kept.
    for part in ["graph.toml", "phones.arpa"] {
        assert!(dir.read(&format!("adapted/{part}")) == dir.read(&format!("model/{part}")), "{part}");
    }
    let search = |model: &str| dir.read(&format!("{model}/bundle.toml")).split_once("[search]").unwrap().1.to_owned();
    assert_eq!(search("adapted"), search("model"));
    // With an n-gram of its own it learns that too.
    dir.write("work/train.toml", dir.read("work/train.toml") + "[ngram]\norder = 1\n");
    dir.senone("train work/train.toml --from model --work other --output other").ok();
    assert!(dir.read("other/phones.arpa") != dir.read("model/phones.arpa"));
}

/// Other names for all phones: nothing of the model's output layer is of use.
#[test]
fn hidden_layers_learn_other_phones() {
    let dir = toy::with_model();
    toy::shifted(&dir);
    let dictionary = fs::read_to_string(TOY.path("words.dict")).unwrap().replace(' ', " x");
    dir.write("words.dict", dictionary);
    let said = dir.senone("train more.tsv --lexicon words.dict --hidden-from model --output other").ok().stderr;
    println!("{said}");
    assert!(said.contains("EM 1/"), "{said}");
    let phones = dir.senone("info other").ok().stdout;
    assert!(phones.contains(" xAA ") && !phones.contains(" AA "), "{phones}");
    assert!(phone_error(&dir, "other", "more-test.tsv") < 20.0);
    assert!(dir.read("work/train.toml").contains("--hidden-from MODEL"));
    // The layers matter, and so does which model they are of.
    dir.senone("train work/train.toml --work alone --output alone").ok();
    let weights = |model: &str| fs::read(dir.path(&format!("{model}/weights.safetensors"))).unwrap();
    assert!(weights("alone") != weights("other"));
    let changed = dir.senone("train work/train.toml --work work --resume --hidden-from built-in --output x").refused();
    assert!(changed.starts_with("work: holds a run with other settings"), "{changed}");
    let changed = dir.senone("train work/train.toml --work work --resume --hidden-from other --output x").refused();
    assert!(changed.starts_with("work: holds a run with other settings"), "{changed}");
}

#[test]
fn phones_that_the_model_lacks_are_named() {
    let dir = toy::with_model();
    toy::shifted(&dir);
    dir.write(
        "words.dict",
        fs::read_to_string(TOY.path("words.dict")).unwrap().replace("easy IY", "easy UW").replace("M AA S", "M AX Z"),
    );
    let refused = dir.senone("train more.tsv --lexicon words.dict --from model --output adapted").refused();
    assert!(refused.starts_with("more.tsv:") && refused.contains("the model \"toy\" lacks phones"), "{refused}");
    assert!(
        refused.contains("said from here on: AX UW Z; train a new model (--hidden-from keeps what this one hears)"),
        "{refused}"
    );
    assert!(!dir.path("adapted/bundle.toml").exists() && !dir.path("work").exists());
}

#[test]
fn settings_and_corpora_are_told_apart() {
    let dir = Dir::new();
    for (name, text) in
        [("train.toml", "name = 1\n"), ("a.tsv", "utterance\taudio\nu\ta.wav\n"), ("words.dict", "a A\n")]
    {
        dir.write(name, text);
    }
    let refused = |line: &str| dir.senone(&format!("train {line}")).refused();
    let settings = "train.toml: --lexicon is for runs without settings: say it in the settings";
    assert_eq!(refused("train.toml --lexicon words.dict"), settings);
    assert!(refused("train.toml a.tsv").starts_with("train.toml: a second CORPUS is for runs without settings"));
    assert!(refused("train.toml --seed 2").starts_with("train.toml: --seed is for"));
    assert!(refused("a.tsv --data .").starts_with("--data is for runs with settings"));
    assert!(refused("a.tsv").starts_with("a.tsv:2: no utterance has a transcript: expected .txt"));
    dir.write("a.tsv", "utterance\taudio\twords\nu\ta.wav\tb\n");
    assert_eq!(refused("a.tsv --lexicon words.dict"), "a.tsv:2: the lexicon has none of the words that are said");
    assert!(refused("a.tsv").starts_with("a.wav: cannot read"));
    assert!(refused("none").starts_with("none: cannot read"));
    assert!(!dir.path("work").exists());
}
