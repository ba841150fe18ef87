//! The graph files of the repository: what the good ones admit, and what is said of the malformed ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use senone::Error;
use senone::graph::draw::{self, Drawing};
use senone::graph::ngram::Ngram;
use senone::graph::{Graph, GraphSpec, check};
use senone::pinyin::without_tone;
use senone::symbols::{StateId, SymbolId};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn example(name: &str) -> GraphSpec {
    GraphSpec::read(&root(&format!("tests/data/graphs/{name}.toml"))).unwrap()
}

fn ids(spec: &GraphSpec, text: &str) -> Vec<SymbolId> {
    text.split_whitespace().map(|name| spec.symbols().get(name).unwrap()).collect()
}

/// The pairs of symbols that some arc joins, as names.
fn steps(graph: &Graph) -> BTreeSet<(&str, &str)> {
    let name = |state: StateId| graph.symbols().name(graph.state(state).symbol);
    let arcs = graph.all_arcs().iter().enumerate();
    let entering = arcs.filter(|(position, arc)| graph.enters(graph.source(*position), arc.to));
    entering.map(|(position, arc)| (name(graph.source(position)), name(arc.to))).collect()
}

/// File in `tests/data/graphs/bad`, and what is said of it after its path. Each is `small.toml` with one slip.
#[rustfmt::skip]
const BAD: &[(&str, &str)] = &[
    ("boundary-missing", "1:1: the file has no `boundary`"),
    ("class-cycle", "10:1: classes contain each other: vowel -> speech -> vowel"),
    ("class-default", "11:1: a class cannot be named `default`: `default` and braces have a meaning of their own"),
    ("class-empty", "11:1: class `stop` has no members"),
    ("class-is-symbol", "11:1: `stop` names a class and its own member: a name is a symbol or a class, never both"),
    ("class-none", "8:1: [classes] is empty: expected NAME = [SYMBOLS]"),
    ("class-number", "11:14: expected a name in quotes, found 3"),
    ("class-star", "11:14: `*` is every symbol: it stands in rules and boundaries, not in [classes]"),
    ("end-empty", "16:7: `end` names no symbol: no sequence may end"),
    ("end-unknown", "16:27: `ü` is neither a symbol nor a class of [classes]"),
    ("exclusive-both", "37:5: `o` is in `a` and in `b`, so it could never occur: leave it out of one of them"),
    ("exclusive-empty", "36:5: `a` names nothing"),
    ("exclusive-unknown", "37:5: `u` is neither a symbol nor a class of [classes]"),
    ("exclusive-without-b", "35:1: [[exclusive]] has no `b`"),
    ("extends-alone", "2:11: this file extends a model, and there is none: name one with --model, or write all of the graph into the file"),
    ("extends-classes", "3:2: `classes` is the model's: a file that extends it has name, boundary, forbid, exclusive, grammar, lm, lexicon"),
    ("extends-file", r#"2:11: expected "model", the one thing that a graph file can extend, found "small.toml""#),
    ("forbid-unknown", "27:6: `i1` is neither a symbol nor a class of [classes]"),
    ("format-missing", "1:1: the file has no `format`"),
    ("format-text", r#"1:10: expected 1 (the format that this version reads), found "1""#),
    ("format-two", "1:10: expected 1 (the format that this version reads), found 2"),
    ("grammar-cycle", "39:9: part <a> is part of itself: a -> b -> a; use `*` or `+` to repeat"),
    ("grammar-notation", "37:5: `(` has no `)`"),
    ("grammar-pair", "36:19: no legal sequence goes through `sil` here: sil -> sil is not allowed by the graph"),
    ("grammar-part-unknown", "36:11: part <vowel> is not in [grammar.parts] nor in an included file"),
    ("grammar-symbol-unknown", "36:11: `vowels` is neither a symbol nor a class of [classes]"),
    ("grammar-weight", "36:9: `/1.5/`: a weight is a probability above 0 and at most 1, written /0.5/; a `/` in a word needs quotes around the word"),
    ("grammar-without-rule", "35:1: [grammar] has no `rule`"),
    ("key-unknown-forbid", "28:1: unknown key `weight`, expected one of from, to, followed_by, preceded_by"),
    ("key-unknown-top", "2:1: unknown key `title`, expected one of format, extends, name, optional, vars, classes, boundary, allow, forbid, topology, exclusive, grammar, lm, lexicon"),
    ("key-unknown-topology", "31:1: unknown key `self_lop`, expected one of states, min_frames, self_loop"),
    ("lexicon-unknown", "31:11: `noise` is neither a symbol nor a class of [classes]"),
    ("lexicon-unknown-class", "31:11: `stop` is several symbols: expected one"),
    ("lexicon-unknown-weight", "31:18: `unknown_weight` weighs nothing without `unknown`"),
    ("lexicon-without-file", "29:1: [lexicon] has no `file`"),
    ("lm-scale-negative", "31:9: expected a number of 0 or more, found -1.0"),
    ("lm-without-file", "29:1: [lm] has no `file`"),
    ("not-utf8", "10:22: the file is not UTF-8 from here on"),
    ("optional-unknown", "3:13: `silence` is neither a symbol nor a class of [classes]"),
    ("rule-empty", "19:8: `from` names no symbol"),
    ("rule-single-bracket", "25:1: expected a list of tables, written with double brackets, found a table"),
    ("rule-unknown-class", "22:18: `speach` is neither a symbol nor a class of [classes]"),
    ("rule-without-to", "18:1: [[allow]] has no `to`"),
    ("self-loop-one", "31:13: expected a probability above 0 and below 1, or false, found 1.0"),
    ("self-loop-true", "31:13: expected a probability above 0 and below 1, or false, found true"),
    ("self-loop-zero", "31:13: expected a probability above 0 and below 1, or false, found 0"),
    ("start-empty", "15:9: `start` names no symbol: no sequence may begin"),
    ("states-fraction", "30:10: expected a whole number from 1 to 1000, found 1.5"),
    ("states-negative", "30:10: expected a whole number from 1 to 1000, found -3"),
    ("states-too-many", "30:10: expected a whole number from 1 to 1000, found 100000"),
    ("states-zero", "30:10: expected a whole number from 1 to 1000, found 0"),
    ("symbol-dead-end", "9:10: symbol `sil` is a dead end: no [[allow]] leads from it to an end"),
    ("symbol-twice-in-class", "10:26: `a1` is in this class already"),
    ("symbol-unreachable", "10:10: symbol `cough` is in no legal sequence: no start and no [[allow]] leads to it"),
    ("symbol-white-space", r#"11:9: "p t": a name is not empty and holds no white space"#),
    ("toml-duplicate-key", "34:1: not valid TOML: duplicate key"),
    ("toml", "15:9: not valid TOML: string values must be quoted, expected literal string"),
    ("topology-min-frames", "35:11: [topology.stop]: min_frames = 2 is less than states = 4"),
    ("topology-no-default", "29:2: the file has no [topology.default]"),
    ("topology-no-self-loop", "29:11: [topology.default] has no `self_loop`"),
    ("topology-one-frame", "32:11: [topology.pause]: with self_loop = false each state lasts one frame, so min_frames = 3 must equal states = 1"),
    ("topology-two", "34:11: [topology.vowel] and [topology.speech] both hold symbol `a1`"),
    ("topology-unknown", "32:11: `pauses` is neither a symbol nor a class of [classes]"),
    ("variable-brace", r#"10:10: "a{tone": braces come in pairs, as in "B-{type}""#),
    ("variable-combinations", "16:21: the variables up to here have more than 1000000 combinations of values"),
    ("variable-empty", "6:1: variable `tone` has no values"),
    ("variable-twice", r#"6:19: "1": a variable's values are different texts without braces"#),
    ("variable-undefined", "10:10: variable `{tones}` is not in [vars]"),
    ("weight-infinite", "24:10: expected a finite number, a natural logarithm, found -inf"),
    ("weight-nan", "24:10: expected a finite number, a natural logarithm, found nan"),
    ("weight-text", r#"24:10: expected a finite number, a natural logarithm, found "-2.0""#),
    ("weight-too-large", "24:10: expected a finite number, a natural logarithm, found 1e39"),
    ("weights-two", "21:1: `a1 -> sil` has weight -2 here and weight 0 in the [[allow]] of line 18: give it one"),
];

#[test]
fn malformed_files_are_told_line_column_and_cure() {
    for (name, message) in BAD {
        let path = root(&format!("tests/data/graphs/bad/{name}.toml"));
        let error = GraphSpec::read(&path).err().unwrap_or_else(|| panic!("{name} was accepted"));
        assert_eq!(error.to_string(), format!("{}:{message}", path.display()));
    }
    let files = std::fs::read_dir(root("tests/data/graphs/bad")).unwrap().count();
    assert_eq!(files, BAD.len(), "each malformed file has its line in the table");
    example("small");
}

/// A file cut off anywhere, or short of a line, is a graph or an error, never a crash.
#[test]
fn damaged_files_do_not_crash() {
    let text = std::fs::read_to_string(root("tests/data/graphs/small.toml")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = (0..text.len()).map(|end| text[..end].to_owned());
    let short = (0..lines.len()).map(|gone| [&lines[..gone], &lines[gone + 1..]].concat().join("\n"));
    let accepted = cut.chain(short).filter(|text| GraphSpec::parse(text).is_ok()).count();
    assert!(accepted > 0 && accepted < text.len() / 2);
    assert!(GraphSpec::parse("").is_err());
}

/// What TOML allows in the way of writing is read, and places are counted as an editor shows them.
#[test]
fn numbers_and_places_are_those_of_toml() {
    let text = std::fs::read_to_string(root("tests/data/graphs/small.toml")).unwrap();
    let with = |from: &str, to: &str| GraphSpec::parse(&text.replace(from, to));
    for (written, weight) in [("-1_0.5", -10.5), ("+2", 2.0), ("-3", -3.0), ("1e1", 10.0), ("-0.0", 0.0)] {
        let spec = with("weight = -2.0", &format!("weight = {written}")).unwrap();
        let [a, sil] = ["a1", "sil"].map(|name| spec.symbols().get(name).unwrap());
        assert!(spec.successors(a).contains(&(sil, weight)), "{written}: {:?}", spec.successors(a));
    }
    for written in ["1_2", "0xc", "0o14", "0b1100"] {
        let spec = with("min_frames = 3", &format!("min_frames = {written}")).unwrap();
        assert_eq!(spec.topology(spec.symbols().get("sil").unwrap()).min_frames(), 12, "{written}");
    }
    let message = |text: &str| GraphSpec::parse(text).unwrap_err().to_string();
    assert!(message("\u{feff}format = 2").starts_with("graph.toml:1:10: expected 1"));
    assert!(message("format = 1\r\nname = \"é\" x").starts_with("graph.toml:2:12: not valid TOML"));
    let deep = format!("format = {}", "[".repeat(100_000));
    assert!(message(&deep).starts_with("graph.toml:1:"));
}

#[test]
fn bio_tags_go_on_inside_their_own_type_only() {
    let spec = example("bio");
    let graph = spec.compile().unwrap();
    let steps = steps(&graph);
    for (from, to) in spec.symbols().names().iter().flat_map(|a| spec.symbols().names().iter().map(move |b| (a, b))) {
        let legal = match to.strip_prefix("I-") {
            Some(kind) => from.ends_with(kind),
            None => true,
        };
        assert_eq!(steps.contains(&(from.as_str(), to.as_str())), legal, "{from} {to}");
    }
    assert!(spec.transcript(&ids(&spec, "B-LOC I-LOC O B-PER I-PER I-PER")).is_ok());
    let error = spec.transcript(&ids(&spec, "O B-LOC I-PER")).unwrap_err();
    assert_eq!(error.to_string(), "B-LOC -> I-PER is not allowed by the graph");
    assert!(graph.starts().iter().all(|start| !graph.symbols().name(graph.state(start.state).symbol).starts_with('I')));
}

/// The lines of the list of syllables: initial and final of those that are common.
fn syllables() -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(root("tests/data/mandarin-syllables.txt")).unwrap();
    let rows = text.lines().filter(|line| line.ends_with(" common")).map(|line| line.split(' ').collect::<Vec<_>>());
    rows.map(|row| (row[1].to_owned(), row[2].to_owned())).collect()
}

/// The syllables of a table with the columns syllable, thchs_initial, thchs_final and tier, of which the last is core.
fn table(text: &str) -> BTreeSet<(String, String)> {
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>());
    let is_admitted = |row: &Vec<&str>| row[5] == "core" || ["dia", "kei", "yo"].contains(&row[0]);
    rows.filter(is_admitted).map(|row| (row[3].to_owned(), row[4].to_owned())).collect()
}

/// What the compiled graph has after an initial is the 412 finals of the list, in each tone where there are tones; after a final
/// come initials and silence.
#[test]
fn mandarin_sequences_are_the_syllables_of_the_list() {
    let (listed, recipes) = (syllables(), root("recipes/mandarin"));
    assert_eq!(listed.len(), 412);
    if let Some(shared) = std::env::var_os("SENONE_SHARED") {
        let path = PathBuf::from(shared).join("data/mandarin-syllables.tsv");
        assert_eq!(listed, table(&std::fs::read_to_string(path).unwrap()));
    } else {
        println!("not compared with the table itself: SENONE_SHARED is not set");
    }
    let initials: BTreeSet<&str> = listed.iter().map(|(initial, _)| initial.as_str()).collect();
    let files = [("graph", 1), ("graph-align", 1), ("graph-tone", 5), ("graph-tone-align", 5)];
    let files = files.map(|(name, tones)| (recipes.join(format!("{name}.toml")), tones)).into_iter();
    let examples = [("mandarin", 1), ("mandarin-tones", 5)];
    let examples = examples.map(|(name, tones)| (root(&format!("tests/data/graphs/{name}.toml")), tones));
    let models = [("zh", 1), ("zh-tone", 5)];
    let models = models.map(|(name, tones)| (root(&format!("models/{name}/graph.toml")), tones));
    for (path, tones) in files.chain(examples).chain(models) {
        let graph = GraphSpec::read(&path).unwrap().compile().unwrap();
        let steps = steps(&graph);
        let inside = steps.iter().filter(|(from, _)| initials.contains(from));
        let found: BTreeSet<(String, String)> =
            inside.clone().map(|(from, to)| ((*from).to_owned(), without_tone(to).to_owned())).collect();
        assert_eq!(found, listed, "{}", path.display());
        assert_eq!(inside.count(), 412 * tones, "{}", path.display());
        // 39 finals and silence, then 27 initials and silence, but silence after silence.
        let between: BTreeSet<_> = steps.iter().filter(|(from, _)| !initials.contains(from)).collect();
        assert_eq!(between.len(), (39 * tones + 1) * 28 - 1, "{}", path.display());
        assert!(between.iter().all(|(_, to)| *to == "sil" || initials.contains(to)), "{}", path.display());
        let name = |state: StateId| graph.symbols().name(graph.state(state).symbol);
        assert!(graph.starts().iter().all(|start| name(start.state) == "sil" || initials.contains(name(start.state))));
        assert!(graph.finals().iter().all(|end| !initials.contains(name(end.state))));
    }
    GraphSpec::read(&recipes.join("graph-free.toml")).unwrap().compile().unwrap();
}

#[test]
fn mandarin_is_reported_as_counted_by_hand() {
    let report = check::report(&example("mandarin")).unwrap();
    assert_eq!((report.symbols, report.legal_pairs, report.shortest_frames), (67, 1119 + 412, 3));
}

/// What a table of pairs says is what rules with `from` and `to` say.
#[test]
fn pairs_may_stand_in_tables() {
    let text = std::fs::read_to_string(root("tests/data/graphs/small.toml")).unwrap();
    let with = |rule: &str| {
        let spec = GraphSpec::parse(&format!("{text}{rule}"))?;
        let pairs = |from| spec.successors(from).iter().map(move |&(to, weight)| (from, to, weight.to_bits()));
        Ok::<_, Error>(spec.symbols().ids().flat_map(pairs).collect::<Vec<_>>())
    };
    let rules = "[[forbid]]\nfrom = 'p'\nto = ['a1', 'a2']\n[[forbid]]\nfrom = 'stop'\nto = 'o'\n";
    let expected = with(rules).unwrap();
    assert_ne!(expected, with("").unwrap());
    for table in [
        "[[forbid]]\n[forbid.followed_by]\np = 'a1 a2'\nstop = ['o']\n",
        "[[forbid]]\n[forbid.followed_by]\np = 'a{tone}'\nstop = '''\n o\n'''\n",
        "[[forbid]]\n[forbid.preceded_by]\n'a{tone}' = 'p'\no = 'stop'\n",
        "[[forbid]]\nfollowed_by = { p = 'a1 a2' }\n[[forbid]]\npreceded_by = { o = 'stop' }\n",
    ] {
        assert_eq!(with(table).unwrap(), expected, "{table}");
    }
    let lines = text.lines().count();
    let wrong = [
        ("[forbid.followed_by]\np = 'a1  b'\n", 3, 10, "`b` is neither a symbol nor a class of [classes]"),
        ("[forbid.followed_by]\nb = 'p'\n", 3, 1, "`b` is neither a symbol"),
        ("[forbid.followed_by]\np = ' '\n", 3, 5, "`p` names no symbol"),
        ("[forbid.followed_by]\n", 2, 1, "`followed_by` is empty: expected SYMBOL = \"OTHER OTHER ...\""),
        (
            "from = 'p'\nfollowed_by = { p = 'o' }\n",
            2,
            8,
            "`from` beside `followed_by`: a rule has `from` and `to`, or",
        ),
        ("preceded_by = { p = 'o' }\nfollowed_by = { p = 'o' }\n", 2, 15, "`preceded_by` beside `followed_by`"),
        ("preceded_by = 'p'\n", 2, 15, "expected a table, found \"p\""),
        ("preceded_by = { p = 1 }\n", 2, 21, "expected a name or a list of names, found 1"),
    ];
    for (rule, line, column, reason) in wrong {
        let error = with(&format!("[[forbid]]\n{rule}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("graph.toml:{}:{column}: {reason}", lines + line)), "{rule}: {error}");
    }
}

#[test]
fn english_is_reported_as_counted_by_hand() {
    let report = check::report(&example("english")).unwrap();
    // 39 speech and SIL; pdfs 1 + 33 * 3 + 6 * 2; pairs 39 * 39 + 39 + 39, less SIL NG, HH before SIL and 22 consonants; states 3 +
    // 33 * 3 + 6 * 2; arcs: the pairs, and within SIL 3, within each stop 3, within each other 5; transitions: the pairs, 40
    // starts, 40 ends, self-loops as pdfs, and steps within: 2 in SIL, 1 in each stop, 2 in each other; bytes: 20 an arc, 28 a state,
    // 12 a start or end.
    let expected = "name                english-phone-loop\n\
                    symbols             40\n\
                    pdfs                112\n\
                    legal pairs         1575\n\
                    states              114\n\
                    arcs                1761\n\
                    transitions         1841\n\
                    memory              39372 bytes\n\
                    shortest utterance  2 frames";
    assert_eq!(report.to_string(), expected);
    for name in ["graph.toml", "graph-align.toml"] {
        GraphSpec::read(&root("recipes/english").join(name)).unwrap().compile().unwrap();
    }
}

#[test]
fn an_n_gram_is_found_beside_the_graph_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.toml");
    let text = std::fs::read_to_string(root("tests/data/graphs/small.toml")).unwrap();
    std::fs::write(&path, text + "[lm]\nfile = \"phones.arpa\"\nscale = 0.5\n").unwrap();
    let spec = GraphSpec::read(&path).unwrap();
    assert_eq!(spec.lm().map(|lm| (lm.path.clone(), lm.scale)), Some((folder.path().join("phones.arpa"), 0.5)));
    assert!(matches!(spec.compile(), Err(Error::Io { .. })));

    let arpa = "\\data\\\nngram 1=4\n\n\\1-grams:\n-0.5\t</s>\n-99\t<s>\n-0.6\to\n-0.7\tp\n\n\\end\\\n";
    std::fs::write(folder.path().join("phones.arpa"), arpa).unwrap();
    let graph = spec.compile().unwrap();
    let ngram = Ngram::parse_arpa(Path::new("phones.arpa"), arpa, spec.symbols()).unwrap();
    let same = spec.compile_with(Some((&ngram, 0.5))).unwrap();
    assert_eq!(graph.all_arcs(), same.all_arcs());
    assert!(graph.all_arcs().iter().any(|arc| arc.fixed < 0.0));
    assert!(spec.compile_with(None).unwrap().all_arcs().iter().all(|arc| arc.fixed == 0.0));

    std::fs::write(folder.path().join("phones.arpa"), arpa.replace("-0.5\t</s>", "-99\t</s>")).unwrap();
    let error = spec.compile().unwrap_err().to_string();
    assert!(error.contains("graph.toml:36:8: the n-gram gives every legal sequence"), "{error}");
}

#[test]
fn drawings_show_each_state_and_arc() {
    let spec = example("small");
    let graph = spec.transcript(&ids(&spec, "p a1")).unwrap();
    let drawing = draw::dot(&Drawing::of_states(&graph, &spec.initial_weights()));
    assert_eq!(drawing.matches("shape=").count(), 1 + graph.len());
    assert_eq!(drawing.matches(" -> ").count(), graph.arc_count() + graph.starts().len());
    assert!(drawing.contains("[label=\"p 10\", shape=box]"), "{drawing}");
    assert!(drawing.contains("[label=\"a1 3\\nend 0.4\", shape=ellipse, peripheries=2]"), "{drawing}");
    assert!(drawing.contains("[label=\"0.6\"]"), "{drawing}");
}
