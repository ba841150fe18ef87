//! The example graphs of docs/graphs: what their grammars accept, and that the dictionaries beside them serve the built-in model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Grammar, file};
use crate::graph::GraphSpec;
use crate::graph::source::Source;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn example(name: &str) -> Grammar {
    let source = Source::read(&root("docs/graphs").join(name)).unwrap();
    let top = source.top(&["format", "extends", "name", "lexicon", "grammar"]).unwrap();
    Grammar::over_words(&source, &file::table(&source, top.get("grammar").unwrap()).unwrap()).unwrap()
}

/// Whether `grammar` accepts the words of `text`.
fn accepts(grammar: &Grammar, text: &str) -> bool {
    let onward = grammar.automaton.onward().unwrap();
    let mut next: BTreeSet<usize> = grammar.automaton.firsts.iter().map(|first| first.0).collect();
    let mut places = BTreeSet::new();
    for word in text.split(' ') {
        places = next.iter().copied().filter(|&place| grammar.words()[place].text == word).collect();
        let sets = places.iter().filter_map(|&place| onward.after[place]);
        next = sets.flat_map(|(set, _)| onward.sets[set].iter().map(|member| member.0)).collect();
    }
    grammar.automaton.lasts.iter().any(|last| places.contains(&last.0))
}

/// Words of the dictionary of an example, with their phones.
fn dictionary(name: &str) -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(root("docs/graphs").join(name)).unwrap();
    let entry = |line: &str| {
        let mut fields = line.split_whitespace().map(str::to_owned);
        let word = fields.next().unwrap();
        (word.split('(').next().unwrap().to_owned(), fields.collect())
    };
    text.lines().map(entry).collect()
}

#[test]
fn examples_accept_what_they_are_for_and_nothing_else() {
    for (name, accepted, refused) in [
        ("digits", vec!["oh", "zero oh five nine"], vec!["ten", "one two three and"]),
        ("letters", vec!["s e double n e", "a"], vec!["double", "a double", "double double a"]),
        (
            "commands",
            vec![
                "turn on the living room lights",
                "please switch the hall light off",
                "dim the kitchen lights to forty two percent please",
                "set a timer for ten minutes and thirty seconds",
                "set a timer for half an hour",
                "cancel the timer",
                "make me two large cappuccinos with milk and sugar",
            ],
            vec![
                "turn on the light",
                "turn the hall light",
                "dim the kitchen lights to forty twelve percent",
                "set a timer for one second and two seconds",
                "make coffee",
                "please",
            ],
        ),
    ] {
        let grammar = example(&format!("{name}.toml"));
        accepted.iter().for_each(|text| assert!(accepts(&grammar, text), "{name}: {text}"));
        refused.iter().for_each(|text| assert!(!accepts(&grammar, text), "{name}: {text}"));
    }
}

#[test]
fn every_word_of_the_examples_is_said_in_phones_of_the_model() {
    let model = GraphSpec::read(&root("models/en/graph.toml")).unwrap();
    for name in ["digits", "letters", "commands"] {
        let grammar = example(&format!("{name}.toml"));
        let entries = dictionary(&format!("{name}.dict"));
        let used: BTreeSet<&str> = grammar.words().iter().map(|word| word.text.as_str()).collect();
        let listed: BTreeSet<&str> = entries.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(used, listed, "{name}");
        for (word, phones) in &entries {
            assert!(!phones.is_empty() && phones.iter().all(|phone| model.symbols().get(phone).is_some()), "{word}");
        }
    }
}
