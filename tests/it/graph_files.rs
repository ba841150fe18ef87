//! The graph files of the repository: what the good ones admit, and what is said of the malformed ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use senone::Error;
use senone::graph::ngram::Ngram;
use senone::graph::{Graph, GraphSpec, check, dot};
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
    ("extends-classes", "3:2: `classes` is the model's: a file that extends it has name, boundary, forbid, exclusive, grammar, lm"),
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
    ("key-lexicon-later", "29:2: unknown key `lexicon`, expected one of format, extends, name, optional, vars, classes, boundary, allow, forbid, topology, exclusive, grammar, lm"),
    ("key-unknown-forbid", "28:1: unknown key `weight`, expected one of from, to"),
    ("key-unknown-top", "2:1: unknown key `title`, expected one of format, extends, name, optional, vars, classes, boundary, allow, forbid, topology, exclusive, grammar, lm"),
    ("key-unknown-topology", "31:1: unknown key `self_lop`, expected one of states, min_frames, self_loop"),
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

/// Legal pairs by hand: 40 finals and the pause before 28 initials and the pause, less pause-pause: 1119; labials 4 * 22,
/// stops 2 * 30, sonorants 2 * 33, velars 3 * 20, palatals 3 * 15, retroflexes 4 * 21, dentals 3 * 21, aa ee oo 3 * 12, ii 11,
/// uu 10, vv 5. Shortest: a pseudo-initial of one frame and a final of three.
#[test]
fn mandarin_initials_are_followed_by_finals() {
    let spec = example("mandarin");
    let graph = spec.compile().unwrap();
    let initials = "b p m f d t n l g k h j q x zh ch sh r z c s aa ee oo ii uu vv";
    let initials: BTreeSet<&str> = initials.split(' ').collect();
    let is_final = |name: &str| name != "sil" && !initials.contains(name);
    for (from, to) in steps(&graph) {
        assert_eq!(initials.contains(from), is_final(to), "{from} {to}");
    }
    let last = |end: &senone::graph::Boundary| graph.symbols().name(graph.state(end.state).symbol);
    assert!(graph.finals().iter().all(|end| !initials.contains(last(end))));
    let report = check::report(&spec).unwrap();
    assert_eq!((report.symbols, report.legal_pairs, report.shortest_frames), (67, 1647, 4));
}

#[test]
fn english_is_reported_as_counted_by_hand() {
    let report = check::report(&example("english")).unwrap();
    // 39 speech and SIL; pdfs 1 + 33 * 3 + 6 * 2; pairs 39 * 39 + 39 + 39, less SIL NG, HH before SIL and 22 consonants; states 3 +
    // 33 * 3 + 6 * 2; arcs: the pairs, and within SIL 3, within each stop 3, within each other 5.
    let expected = "name                english-phone-loop\n\
                    symbols             40\n\
                    pdfs                112\n\
                    legal pairs         1575\n\
                    states              114\n\
                    arcs                1761\n\
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
    let mut drawing = String::new();
    dot::write(&graph, &spec.initial_weights(), &mut drawing).unwrap();
    assert_eq!(drawing.matches("shape=").count(), graph.len());
    assert_eq!(drawing.matches(" -> ").count(), graph.arc_count());
    assert!(drawing.contains("[label=\"p 10\", shape=box, style=bold]"), "{drawing}");
    assert!(drawing.contains("[label=\"a1 3\", shape=ellipse, peripheries=2]"), "{drawing}");
}
