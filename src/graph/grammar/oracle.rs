//! Grammars against a matcher that knows no automaton: the sequences of an expression are those of its parts, put together.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Grammar, Said, file};
use crate::graph::GraphSpec;
use crate::graph::lattice::Lattice;
use crate::graph::source::Source;
use crate::graph::words::WordNet;
use crate::random::Random;
use crate::symbols::{SymbolId, WordId};

/// Words that sequences have at most where all are compared.
const LONGEST: usize = 4;

/// Sequences with the best weight of each, natural log.
type Language = BTreeMap<Vec<String>, f64>;

/// An expression as the oracle knows it.
#[derive(Debug, Clone)]
enum Tree {
    Word(&'static str),
    Part(usize),
    All(Vec<Tree>),
    One(Vec<(f64, Tree)>),
    Maybe(Box<Tree>),
    Any(Box<Tree>),
    Many(Box<Tree>),
}

fn keep(language: &mut Language, words: Vec<String>, weight: f64) {
    if words.len() <= LONGEST {
        let best = language.entry(words).or_insert(f64::NEG_INFINITY);
        *best = best.max(weight);
    }
}

/// Every sequence of `a` followed by every one of `b`.
fn product(a: &Language, b: &Language) -> Language {
    let mut all = Language::new();
    for (first, weight) in a {
        b.iter().for_each(|(second, more)| keep(&mut all, [&first[..], second].concat(), weight + more));
    }
    all
}

fn sum(a: &Language, b: &Language) -> Language {
    let mut all = a.clone();
    b.iter().for_each(|(words, &weight)| keep(&mut all, words.clone(), weight));
    all
}

impl Tree {
    fn random(random: &mut Random, depth: usize, parts: usize) -> Self {
        let inner = |random: &mut Random| Box::new(Self::random(random, depth - 1, parts));
        match random.below(if depth == 0 { 2 } else { 9 }) {
            0 if parts > 0 => Self::Part(random.below(parts)),
            0 | 1 => Self::Word(["a", "b", "c"][random.below(3)]),
            2 | 3 => Self::All((0..2 + random.below(2)).map(|_| *inner(random)).collect()),
            4 | 5 => {
                let weight = |random: &mut Random| [1.0, 0.5, 0.25][random.below(3)];
                Self::One((0..2 + random.below(2)).map(|_| (weight(random), *inner(random))).collect())
            }
            6 => Self::Maybe(inner(random)),
            7 => Self::Any(inner(random)),
            _ => Self::Many(inner(random)),
        }
    }

    fn text(&self) -> String {
        let list = |all: &[Tree], between: &str| all.iter().map(Tree::text).collect::<Vec<_>>().join(between);
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Part(part) => format!("<p{part}>"),
            Self::All(all) => format!("({})", list(all, " ")),
            Self::One(all) => {
                let one = |(weight, tree): &(f64, Tree)| match *weight {
                    1.0 => tree.text(),
                    _ => format!("/{weight}/{}", tree.text()),
                };
                format!("({})", all.iter().map(one).collect::<Vec<_>>().join(" | "))
            }
            Self::Maybe(one) => format!("[{}]", one.text()),
            Self::Any(one) => format!("({})*", one.text()),
            Self::Many(one) => format!("({})+", one.text()),
        }
    }

    fn language(&self, parts: &[Language]) -> Language {
        let nothing = Language::from([(vec![], 0.0)]);
        match self {
            Self::Word(word) => Language::from([(vec![(*word).to_owned()], 0.0)]),
            Self::Part(part) => parts[*part].clone(),
            Self::All(all) => all.iter().fold(nothing, |said, tree| product(&said, &tree.language(parts))),
            Self::One(all) => all.iter().fold(Language::new(), |said, (weight, tree)| {
                let own = tree.language(parts).into_iter().map(|(words, more)| (words, weight.ln() + more));
                sum(&said, &own.collect())
            }),
            Self::Maybe(one) => sum(&nothing, &one.language(parts)),
            Self::Any(one) => sum(&nothing, &Self::Many(one.clone()).language(parts)),
            Self::Many(one) => {
                let once = one.language(parts);
                (1..LONGEST).fold(once.clone(), |said, _| sum(&once, &sum(&said, &product(&said, &once))))
            }
        }
    }
}

/// A random grammar: its text as a TOML table, and its language.
fn random_grammar(random: &mut Random) -> (String, Language) {
    let mut languages = vec![];
    let mut toml = String::new();
    for part in 0..random.below(3) {
        let tree = Tree::random(random, 2, part);
        toml += &format!("p{part} = '{}'\n", tree.text());
        languages.push(tree.language(&languages));
    }
    let rule = Tree::random(random, 3, languages.len());
    (format!("[grammar]\nrule = '{}'\n[grammar.parts]\n{toml}", rule.text()), rule.language(&languages))
}

/// The grammar of the table `toml`, over words.
fn over_words(toml: &str) -> Grammar {
    let source = Source::new(Path::new("g.toml"), toml);
    let top = source.top(&["grammar"]).unwrap();
    Grammar::over_words(&source, &file::table(&source, top.get("grammar").unwrap()).unwrap()).unwrap()
}

/// The sequences through `net`, by walking it.
fn walked(grammar: &Grammar, net: &WordNet) -> Language {
    let text = |node: usize| grammar.words()[net.nodes[node].index()].text.clone();
    let mut language = Language::new();
    let mut open: Vec<(usize, Vec<String>, f64)> = vec![];
    let fan = |fan: usize| net.fans[fan].iter().map(|&(node, weight)| (node, f64::from(weight)));
    let starts = net.starts.iter().map(|&(node, weight)| (node, f64::from(weight)));
    let fan_starts =
        net.fan_starts.iter().flat_map(|&(set, weight)| fan(set).map(move |(n, w)| (n, w + f64::from(weight))));
    open.extend(starts.chain(fan_starts).map(|(node, weight)| (node, vec![text(node)], weight)));
    while let Some((node, words, weight)) = open.pop() {
        for &(_, end) in net.ends.iter().filter(|end| end.0 == node) {
            keep(&mut language, words.clone(), weight + f64::from(end));
        }
        if words.len() == LONGEST {
            continue;
        }
        let links = net.links.iter().filter(|link| link.from == node).map(|link| (link.to, f64::from(link.fixed)));
        let fans = net.fan_links.iter().filter(|link| link.from == node);
        let fans = fans.flat_map(|link| fan(link.to).map(move |(n, w)| (n, w + f64::from(link.fixed))));
        for (to, more) in links.chain(fans) {
            open.push((to, [&words[..], &[text(to)]].concat(), weight + more));
        }
    }
    language
}

fn assert_same(found: &Language, expected: &Language, what: &str) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{what}");
    for (words, weight) in expected {
        assert!((found[words] - weight).abs() < 1e-5, "{what}: {words:?} {} {weight}", found[words]);
    }
}

#[test]
fn the_net_of_words_has_the_sequences_of_the_expression_with_their_weights() {
    let mut random = Random::new(5);
    let mut sizes = [0; 2];
    for _ in 0..400 {
        let (toml, mut expected) = random_grammar(&mut random);
        let grammar = over_words(&toml);
        let net = grammar.word_net().unwrap();
        let empty = expected.remove(&vec![]);
        assert_eq!(net.empty.is_some(), empty.is_some(), "{toml}");
        assert!((f64::from(net.empty.unwrap_or(0.0)) - empty.unwrap_or(0.0)).abs() < 1e-6, "{toml}");
        assert_same(&walked(&grammar, &net), &expected, &toml);
        sizes[usize::from(expected.len() > 10)] += 1;
    }
    assert!(sizes.iter().all(|&count| count > 50), "{sizes:?}");
}

/// Pairs: everything but `b a`, `c c` and pause after pause; a sequence begins with no `c` and ends with no `b`.
const SYMBOLS: &str = r#"
format = 1
optional = ["sil", "hum"]
[classes]
pause = ["sil", "hum"]
speech = ["a", "b", "c"]
vowel = ["a", "b"]
[boundary]
start = ["pause", "a", "b"]
end = ["pause", "a", "c"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "b"
to = "a"
[[forbid]]
from = "c"
to = "c"
[[forbid]]
from = "sil"
to = "pause"
[topology.default]
states = 1
self_loop = 0.5
"#;

/// The best weight of saying `symbols` in `net`.
fn best(net: &Lattice, symbols: &[SymbolId]) -> Option<f64> {
    let at = |segment: usize, place: usize| net.segments[segment].symbol == symbols[place];
    let mut weights = vec![f64::NEG_INFINITY; net.segments.len()];
    net.starts
        .iter()
        .filter(|start| at(start.0, 0))
        .for_each(|&(segment, weight)| weights[segment] = f64::from(weight));
    for place in 1..symbols.len() {
        let mut next = vec![f64::NEG_INFINITY; net.segments.len()];
        for link in net.links.iter().filter(|link| at(link.to, place)) {
            next[link.to] = next[link.to].max(weights[link.from] + f64::from(link.fixed));
        }
        weights = next;
    }
    let ends = net.ends.iter().map(|&(segment, weight)| weights[segment] + f64::from(weight));
    ends.reduce(f64::max).filter(|weight| weight.is_finite())
}

/// Every sequence of up to `longest` symbols.
fn sequences(spec: &GraphSpec, longest: usize) -> Vec<Vec<SymbolId>> {
    let mut all: Vec<Vec<SymbolId>> = vec![vec![]];
    let mut from = 0;
    for _ in 0..longest {
        let to = all.len();
        for place in from..to {
            let longer: Vec<Vec<SymbolId>> =
                spec.symbols().ids().map(|symbol| [&all[place][..], &[symbol]].concat()).collect();
            all.extend(longer);
        }
        from = to;
    }
    all.remove(0);
    all
}

/// Whether the pairs and the boundary of [`SYMBOLS`] allow it, read off by eye.
fn is_legal(names: &[&str]) -> bool {
    let pairs = names.windows(2).all(|pair| !["b a", "c c", "sil sil", "sil hum"].contains(&pair.join(" ").as_str()));
    pairs && names[0] != "c" && names[names.len() - 1] != "b"
}

#[test]
fn the_net_of_symbols_has_the_legal_sequences_of_the_expression_and_pauses_in_every_gap() {
    let mut random = Random::new(6);
    let mut compared = 0;
    for _ in 0..300 {
        let (toml, language) = random_grammar(&mut random);
        let spec = match GraphSpec::parse(&format!("{SYMBOLS}{toml}")) {
            Ok(spec) => spec,
            Err(error) => {
                assert!(error.to_string().contains("no legal sequence goes through"), "{error} {toml}");
                continue;
            }
        };
        let net = spec.grammar_net().unwrap();
        for said in sequences(&spec, LONGEST) {
            let names: Vec<&str> = said.iter().map(|&symbol| spec.symbols().name(symbol)).collect();
            let words: Vec<String> = names.iter().filter(|name| name.len() == 1).map(|&name| name.to_owned()).collect();
            let expected = language.get(&words).filter(|_| is_legal(&names));
            let found = best(net, &said);
            assert_eq!(found.is_some(), expected.is_some(), "{names:?} {toml}");
            assert!((found.unwrap_or(0.0) - expected.unwrap_or(&0.0)).abs() < 1e-5, "{names:?} {toml}");
            compared += usize::from(expected.is_some());
        }
    }
    assert!(compared > 2000, "{compared}");
}

/// A transcript is held to the grammar, pauses aside: some alignment of it is a sequence of the grammar, or it is refused.
#[test]
fn transcripts_are_held_to_the_grammar() {
    let spec = GraphSpec::parse(&format!("{SYMBOLS}[grammar]\nrule = 'a (b | c)* [a a]'\n")).unwrap();
    for said in sequences(&spec, LONGEST) {
        let names: Vec<&str> = said.iter().map(|&symbol| spec.symbols().name(symbol)).collect();
        let words: String = names.iter().filter(|name| name.len() == 1).copied().collect();
        let rest = words.strip_prefix('a').map(|rest| rest.strip_suffix("aa").unwrap_or(rest));
        let accepted = rest.is_some_and(|rest| !rest.contains('a'));
        // Pauses may stand in a gap or be left out, so that only `sil sil` and `sil hum` cannot be said.
        let sayable = !names.windows(2).any(|pair| pair[0] == "sil" && pair[1].len() > 1);
        assert_eq!(spec.transcript(&said).is_ok(), accepted && sayable, "{names:?}");
    }
    let fault = |text: &str| {
        let said: Vec<SymbolId> = text.split(' ').map(|name| spec.symbols().get(name).unwrap()).collect();
        spec.transcript(&said).unwrap_err().to_string()
    };
    assert_eq!(fault("a b a b"), "a -> b is not allowed by the grammar");
    assert_eq!(fault("b a"), "b is not allowed as the first symbol by the grammar");
    assert_eq!(fault("a c a"), "a is not allowed as the last symbol by the grammar");
}

#[test]
fn sets_that_are_equal_are_one_fan() {
    let grammar = over_words("[grammar]\nrule = '(a | b | c d)* e'");
    let net = grammar.word_net().unwrap();
    // a, b, d and the start go on to a, b, c, e; c to d.
    assert_eq!((net.nodes.len(), net.fans.len(), net.fan_links.len(), net.links.len()), (5, 1, 3, 1));
    assert_eq!((net.fan_starts.len(), net.starts.len(), net.fans[0].len()), (1, 0, 4));
    let words: Vec<String> = (0..20_000).map(|word| format!("w{word}")).collect();
    let grammar = over_words(&format!("[grammar]\nrule = '({})+'", words.join(" | ")));
    let net = grammar.word_net().unwrap();
    assert_eq!((net.fans.len(), net.fans[0].len(), net.fan_links.len()), (1, 20_000, 20_000));
}

#[test]
fn grammars_beyond_all_measure_are_refused() {
    let message = |toml: &str| GraphSpec::parse(&format!("{SYMBOLS}{toml}")).unwrap_err().to_string();
    let doubled: String = (1..40).map(|part| format!("p{part} = '<p{}> <p{}>'\n", part - 1, part - 1)).collect();
    let error = message(&format!("[grammar]\nrule = '<p39>'\n[grammar.parts]\np0 = 'a'\n{doubled}"));
    assert!(error.contains("more than 200000 words"), "{error}");
    let optional = "[a]".repeat(10_000);
    let error = message(&format!("[grammar]\nrule = '{optional}'"));
    assert!(error.contains("steps from word to word"), "{error}");
    let chain: String = (1..400).map(|part| format!("p{part} = 'a <p{}>'\n", part - 1)).collect();
    let error = message(&format!("[grammar]\nrule = '<p399>'\n[grammar.parts]\np0 = 'a'\n{chain}"));
    assert!(error.contains("more than 300 expressions within each other"), "{error}");
}

/// Slots of the words `text` in the grammar of `toml`, each word a second: those places of the rule are taken that follow each
/// other, found by search.
fn slots(toml: &str, text: &str) -> Vec<String> {
    let grammar = over_words(toml);
    let onward = grammar.automaton.onward().unwrap();
    let follows = |from: usize, to: usize| {
        onward.after[from].is_some_and(|(set, _)| onward.sets[set].iter().any(|&(place, _)| place == to))
    };
    let mut ways: Vec<Vec<usize>> = vec![vec![]];
    for word in text.split(' ') {
        let step = |way: &Vec<usize>| {
            let legal = |&to: &usize| match way.last() {
                Some(&from) => follows(from, to),
                None => grammar.automaton.firsts.iter().any(|&(place, _)| place == to),
            };
            let places = (0..grammar.words().len()).filter(|&place| grammar.words()[place].text == word).filter(legal);
            places.map(|place| [&way[..], &[place]].concat()).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(step).collect();
    }
    let way =
        ways.iter().find(|way| grammar.automaton.lasts.iter().any(|&(place, _)| way.ends_with(&[place]))).unwrap();
    let said = |(time, &place): (u64, &usize)| Said { word: WordId::from_index(place), start: time, end: time + 1 };
    let said: Vec<Said> = (0..).zip(way).map(said).collect();
    let line = |slot: super::SlotValue| format!("{}={}@{}-{}", slot.name, slot.value, slot.start, slot.end);
    grammar.slots(&said).into_iter().map(line).collect()
}

#[test]
fn slots_are_the_occurrences_of_parts() {
    let lights = "[grammar]\nrule = 'turn (on | off) the <thing> [and <thing>]'\n[grammar.parts]\n\
        thing = '<room> light | fan'\nroom = 'kitchen | living room'\n";
    assert_eq!(
        slots(lights, "turn on the living room light and fan"),
        ["thing=living room light@3-6", "room=living room@3-5", "thing=fan@7-8"]
    );
    let digits = "[grammar]\nrule = 'dial <digit>+'\n[grammar.parts]\ndigit = 'one | two'\n";
    assert_eq!(slots(digits, "dial one one two"), ["digit=one@1-2", "digit=one@2-3", "digit=two@3-4"]);
    let number = digits.replace("<digit>+", "<number>").replace("digit = '", "number = '<digit>+'\ndigit = '");
    assert_eq!(
        slots(&number, "dial one two"),
        ["number=one two@1-3", "digit=one@1-2", "digit=two@2-3"],
        "a part that repeats is one occurrence"
    );
    let pairs = "[grammar]\nrule = '<pair>+'\n[grammar.parts]\npair = 'one [two] one'\n";
    assert_eq!(slots(pairs, "one one one two one"), ["pair=one one@0-2", "pair=one two one@2-5"]);
    let either = "[grammar]\nrule = '<x> <x>'\n[grammar.parts]\nx = 'a+'\n";
    assert_eq!(slots(either, "a a a").len(), 2, "two places that name a part are two");
    let unclear = "[grammar]\nrule = '<x>+'\n[grammar.parts]\nx = 'a+'\n";
    assert_eq!(slots(unclear, "a a a"), ["x=a a a@0-3"], "nothing tells one from several");
}

#[test]
fn a_word_of_another_net_is_in_no_slot() {
    let grammar = over_words("[grammar]\nrule = '<x> <x>'\n[grammar.parts]\nx = 'a'\n");
    let said = [0, 9, 1].map(|word| Said { word: WordId(word), start: u64::from(word), end: u64::from(word) + 1 });
    let slots: Vec<(u64, u64)> = grammar.slots(&said).iter().map(|slot| (slot.start, slot.end)).collect();
    assert_eq!(slots, [(0, 1), (1, 2)]);
}

#[test]
fn a_class_stands_for_any_of_its_symbols() {
    let net = |rule: &str| {
        let spec = GraphSpec::parse(&format!("{SYMBOLS}[grammar]\nrule = '{rule}'\n")).unwrap();
        let accepted = |said: &Vec<SymbolId>| best(spec.grammar_net().unwrap(), said).is_some();
        sequences(&spec, 3).into_iter().filter(accepted).collect::<Vec<_>>()
    };
    assert_eq!(net("vowel c"), net("(a | b) c"));
    assert_ne!(net("vowel c"), net("a c"));
}
