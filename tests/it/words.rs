//! `senone decode --graph` with words, and what they are scored with, on the toy language.

use std::fs;

use super::toy::{self, TOY};
use super::util::Dir;

/// The toy model with its graph as a graph of words.
fn with_words(tables: &str) -> Dir {
    let dir = toy::with_model();
    dir.write("words.dict", fs::read(TOY.path("words.dict")).unwrap());
    dir.write("words.toml", format!("{}{tables}", dir.read("model/graph.toml")));
    dir
}

const LEXICON: &str = "[lexicon]\nfile = 'words.dict'\n";
const DECODE: &str = "decode --model model --graph words.toml";

#[test]
fn recordings_become_words_that_are_scored() {
    let dir = with_words(LEXICON);
    let rate = |decode: &str| {
        let ctm = dir.senone(&format!("{decode} --format ctm")).arg(TOY.path("test.tsv")).ok().stdout;
        dir.write("test.ctm", ctm);
        let report = dir.senone("score --words").arg(TOY.path("test.tsv")).arg("test.ctm").ok().stdout;
        let rate = report.strip_prefix("WER ").and_then(|rest| rest.split(' ').next()).unwrap().parse::<f64>().unwrap();
        assert!(report.contains("  N 36\n"), "{report}");
        rate
    };
    let free = rate(DECODE);
    assert!(free < 25.0, "{free}");
    assert_eq!(rate(&format!("{DECODE} --exact")), free);
    dir.write("text", "ma mass see\nsim aim easy\nmass ma\n");
    dir.senone("ngram estimate text --order 2 --output words.arpa").ok();
    dir.write("words.toml", dir.read("words.toml") + "[lm]\nfile = 'words.arpa'\nscale = 20\n");
    let misled = rate(DECODE);
    assert!(misled > free, "{misled}");
    // Words may tie (`mass easy`, `ma see see`), phones do not.
    let phones = |options: &str| {
        let line = format!("{DECODE} --format ctm --tier phones {options}");
        dir.senone(&line).arg(TOY.path("test.tsv")).ok().stdout
    };
    let unweighed = phones("--lm-scale 0");
    dir.edit("words.toml", "[lm]\nfile = 'words.arpa'\nscale = 20\n", "");
    assert_eq!(unweighed, phones(""));
}

/// Start, end and label of rows of text.
fn rows(text: &str) -> Vec<(String, String, String)> {
    let row = |line: &str| {
        let mut fields = line.split_whitespace().map(str::to_owned);
        (fields.next().unwrap(), fields.next().unwrap(), fields.collect::<Vec<_>>().join(" "))
    };
    text.lines().map(row).collect()
}

#[test]
fn every_format_has_the_words() {
    let dir = with_words(LEXICON);
    let wav = TOY.utterance("test-5-0");
    let printed = |options: &str| dir.senone(&format!("{DECODE} {options}")).arg(&wav).ok().stdout;
    let words = rows(&printed("--tier words"));
    assert_eq!(words, rows(&printed("")));
    assert!(!words.is_empty() && words.iter().all(|row| dir.read("words.dict").contains(&format!("{} ", row.2))));
    let phones = rows(&printed("--tier phones"));
    for (start, end, word) in &words {
        let first = phones.iter().find(|row| row.0 == *start).unwrap();
        assert!(first.2.ends_with(&format!(" {word}")) && !first.2.starts_with("SIL"), "{first:?}");
        assert!(phones.iter().any(|row| row.1 == *end));
    }
    let ctm: Vec<String> =
        printed("--format ctm").lines().map(|line| line.rsplit_once(' ').unwrap().1.into()).collect();
    assert_eq!(ctm, words.iter().map(|row| row.2.clone()).collect::<Vec<_>>());
    let ctm = printed("--format ctm --tier phones");
    assert_eq!(ctm.lines().count(), phones.len());
    let json = printed("--format json");
    assert!(
        json.contains("\"tiers\":{\"phones\":[")
            && json.contains(&format!("\"words\":[{{\"label\":\"{}\"", words[0].2))
    );
    let grid = printed("--format textgrid");
    assert!(grid.contains("size = 2") && grid.contains(&format!("text = \"{}\"", words[0].2)), "{grid}");
}

#[test]
fn a_graph_must_be_of_the_model() {
    let dir = with_words("");
    let refused = |line: &str| dir.senone(line).arg(TOY.utterance("test-5-0")).refused();
    assert!(refused(&format!("{DECODE} --tier words")).contains("--tier words: the graph has no words"));
    assert!(refused(&format!("{DECODE} --no-graph")).contains("--graph has no use with --no-graph"));
    assert_eq!(refused(&format!("{DECODE} --lm-scale 2")), "words.toml: no [lm] that --lm-scale could weigh");
    let error = refused("decode --graph words.toml");
    assert!(error.starts_with("words.toml: symbol 4 is 'IY', and 'AE' in the model"), "{error}");
    dir.edit("words.toml", "self_loop = 0.7", "self_loop = 0.5");
    assert!(refused(DECODE).contains("the topology of 'SIL' is states = 1, min_frames = 1, self_loop = 0.5, and"));
}

/// Two words in one part, and one in another that comes twice; a file of ten lines that extends the model.
#[test]
fn a_grammar_fills_slots() {
    let dir = with_words("");
    let extends = "format = 1\nextends = 'model'\n[lexicon]\nfile = 'words.dict'\n";
    let parts = "what = 'ma see | mass | sim'\nwhom = 'aim | easy | see | ma'\n";
    dir.write("words.toml", format!("{extends}[grammar]\nrule = '<what> <whom>+'\n[grammar.parts]\n{parts}"));
    let mut filled = 0;
    for name in ["test-5-0", "test-5-1", "test-5-2"] {
        let ran = dir.senone(&format!("{DECODE} --format json")).arg(TOY.utterance(name)).run();
        if ran.status != 0 {
            continue;
        }
        let line: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let words: Vec<&str> =
            line["tiers"]["words"].as_array().unwrap().iter().map(|word| word["label"].as_str().unwrap()).collect();
        let slots = line["slots"].as_array().unwrap();
        let values: Vec<&str> = slots.iter().map(|slot| slot["value"].as_str().unwrap()).collect();
        assert_eq!(values.join(" "), words.join(" "));
        let names: Vec<&str> = slots.iter().map(|slot| slot["name"].as_str().unwrap()).collect();
        assert!(names[0] == "what" && names[1..].iter().all(|name| *name == "whom"), "{names:?}");
        assert!(["ma see", "mass", "sim"].contains(&values[0]) && names.len() >= 2);
        assert_eq!(slots[0]["start"], line["tiers"]["words"][0]["start"]);
        filled += 1;
    }
    assert!(filled > 0);
    dir.write(
        "words.toml",
        dir.read("words.toml") + "[[exclusive]]\na = ['mass', 'ma', 'sim']\nb = ['aim', 'easy', 'see']\n",
    );
    let words = dir.senone(&format!("{DECODE} --tier words")).arg(TOY.utterance("test-5-0")).ok().stdout;
    let said: Vec<String> = rows(&words).into_iter().map(|row| row.2).collect();
    assert!(said.iter().all(|word| ["ma", "mass", "sim"].contains(&word.as_str())), "{said:?}");
    dir.edit("words.toml", "'mass', 'ma', 'sim'", "'mass', 'mad'");
    let unknown = dir.senone(DECODE).arg(TOY.utterance("test-5-0")).refused();
    assert!(unknown.contains("`mad` is no symbol, no class and no word of this graph"), "{unknown}");
    dir.write("words.toml", format!("{extends}[grammar]\nrule = 'ma'\n[lm]\nfile = 'words.arpa'\n"));
    let both = dir.senone(DECODE).arg(TOY.utterance("test-5-0")).refused();
    assert!(
        both.ends_with("[grammar] and [lm] would both say which words follow which: leave one of them out"),
        "{both}"
    );
}
