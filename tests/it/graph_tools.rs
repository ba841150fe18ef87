//! `senone graph`: the commands on the graph files of the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::util::Dir;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The graph files directly in a folder of the repository, by name.
fn graph_files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

#[test]
fn every_example_graph_is_right() {
    let files = graph_files("tests/data/graphs");
    let words = ["commands", "digits", "letters"].map(|name| root(&format!("docs/graphs/{name}.toml")));
    assert!(files.len() >= 4);
    for file in files.into_iter().chain(words) {
        let ran = Dir::new().senone("graph check").arg(&file).ok();
        assert_eq!(ran.stderr, "", "{}", file.display());
        for line in ["symbols", "legal pairs", "transitions", "memory", "shortest utterance"] {
            assert!(ran.stdout.contains(line), "{}:\n{}", file.display(), ran.stdout);
        }
    }
}

/// What is drawn is accepted; what goes out to OpenFst and comes in again admits the same, with the same weights.
#[test]
fn what_is_drawn_is_accepted_also_after_openfst() {
    for file in graph_files("tests/data/graphs") {
        let dir = Dir::new();
        let acceptor = dir.senone("graph openfst --symbols symbols.txt").arg(&file).ok().stdout;
        dir.write("a.fst", &acceptor);
        dir.write("again.toml", dir.senone("graph from-openfst a.fst").ok().stdout);
        let numbered = dir.senone("graph from-openfst --isymbols symbols.txt a.fst").ok().stdout;
        assert_eq!(numbered, dir.read("again.toml"));
        for (from, to) in [(file.clone(), dir.path("again.toml")), (dir.path("again.toml"), file)] {
            let drawn = dir.senone("graph random --count 5 --seed 4 --max-length 9 --uniform").arg(&from).ok().stdout;
            assert_eq!(drawn.lines().count(), 5);
            for said in drawn.lines() {
                let [before, after] =
                    [&from, &to].map(|file| dir.senone("graph accepts").arg(file).arg(said).ok().stdout);
                assert!(before.starts_with("legal, weight "), "{before}");
                assert_eq!(before, after, "{said}");
            }
        }
    }
}

#[test]
fn an_illegal_sequence_is_told_and_the_status_says_so() {
    let english = root("tests/data/graphs/english.toml");
    let said = |text: &str| {
        let ran = Dir::new().senone("graph accepts").arg(&english).arg(text).run();
        (ran.status, ran.stdout)
    };
    assert_eq!(said("SIL K AE T SIL"), (0, "legal, weight -2\n".into()));
    let (status, told) = said("SIL NG AA");
    assert_eq!(status, 1);
    assert!(told.starts_with("illegal at symbol 2: `SIL -> NG` is not allowed: here may follow AA, AE, "), "{told}");
    let message = Dir::new().senone("graph accepts").arg(&english).arg("K").arg("XX").refused();
    assert_eq!(message, "`XX`, at place 2, is not a symbol of the graph");
    Dir::new().senone("graph accepts").arg(&english).misused();
}

/// A device in place of a file of any kind.
#[test]
#[cfg(target_os = "linux")]
fn what_has_no_end_is_refused_by_name() {
    let dir = Dir::new();
    let small = std::fs::read_to_string(root("tests/data/graphs/small.toml")).unwrap();
    dir.write("lm.toml", format!("{small}\n[lm]\nfile = \"/dev/zero\"\n"));
    dir.write("words.toml", format!("{small}\n[lexicon]\nfile = \"/dev/zero\"\n"));
    let files = ["/dev/zero", "lm.toml", "words.toml"].map(|file| format!("graph check {file}"));
    let others =
        ["graph from-openfst /dev/zero", "graph kaldi --phones /dev/zero", "validate /dev/zero", "manifest /dev/zero"];
    for line in files.iter().map(String::as_str).chain(others) {
        let reason = "cannot read: it gives more than 256 MiB and is no regular file: write what is meant to a file";
        assert_eq!(dir.senone(line).refused(), format!("/dev/zero: {reason}"), "{line}");
    }
}

#[test]
fn random_sequences_depend_on_the_seed_only() {
    let draw = |seed: &str| {
        let line = format!("graph random --count 20 --seed {seed}");
        Dir::new().senone(&line).arg(root("tests/data/graphs/bio.toml")).ok().stdout
    };
    assert_eq!(draw("1"), draw("1"));
    assert_ne!(draw("1"), draw("2"));
    let all = draw("1");
    let symbols: BTreeSet<&str> = all.split_whitespace().collect();
    assert_eq!(symbols.len(), 7, "all symbols come up");
    let mandarin = root("tests/data/graphs/mandarin.toml");
    let message = Dir::new().senone("graph random --max-length 0").arg(&mandarin).refused();
    assert_eq!(message, "no legal sequence has 0 symbols or fewer: the shortest has 1");
}

#[test]
fn drawings_are_made() {
    let dir = Dir::new();
    let draw = |line: &str, name: &str| dir.senone(line).arg(root(&format!("tests/data/graphs/{name}.toml")));
    let english = draw("graph dot", "english").ok().stdout;
    assert!(english.contains("label=\"NG\", shape=box, peripheries=2"), "{english}");
    assert!(english.contains("label=\"0.135\""), "a pause has weight -2: {english}");
    let svg = draw("graph svg", "english").ok().stdout;
    assert!(svg.starts_with("<svg ") && svg.contains(">NG</text>") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(draw("graph svg --states", "bio").ok().stdout.contains(">B-PER 1</text>"));
    assert!(draw("graph svg --states", "english").refused().contains("use `senone graph dot`"));
}

#[test]
fn statistics_are_printed() {
    let printed = Dir::new().senone("graph stats").arg(root("tests/data/graphs/bio.toml")).ok().stdout;
    for line in
        ["components          1 (sizes 7)", "links               34", "O            7      4     2.32        5.00"]
    {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
}

#[test]
fn kaldi_files_become_a_graph() {
    let dir = Dir::new();
    dir.write("phones.txt", "\u{feff}<eps> 0\nSIL 1\nAH_B 2\nAH_E 3\nT_S 4\n#0 5\n");
    dir.write("graph.toml", dir.senone("graph kaldi --phones phones.txt").ok().stdout);
    let report = dir.senone("graph check graph.toml").ok().stdout;
    assert!(report.contains("symbols             3\n") && report.contains("legal pairs         8\n"), "{report}");
    dir.write("lexicon.txt", "at AH T\nto T UW\n");
    let message = dir.senone("graph kaldi --phones phones.txt --lexicon lexicon.txt").refused();
    assert_eq!(message, "lexicon.txt:2: the phone UW of to is not in the table of phones");
    dir.senone("graph kaldi --phones phones.txt --words words.txt").misused();
}

/// The example of voice commands: `accepts` and `random` are over its words.
#[test]
fn commands_are_accepted_and_drawn_as_words() {
    let commands = root("docs/graphs/commands.toml");
    let accepts = |text: &str| Dir::new().senone("graph accepts").arg(&commands).arg(text).run();
    for text in [
        "turn on the living room lights",
        "set a timer for ten minutes and thirty seconds",
        "make me two large coffees",
    ] {
        let ran = accepts(text);
        assert!(ran.status == 0 && ran.stdout.starts_with("legal, weight "), "{text}: {}{}", ran.stdout, ran.stderr);
    }
    let ran = accepts("turn the the lights on");
    assert_eq!(
        ran.stdout,
        "illegal at word 3: `the -> the` is not allowed: here may follow kitchen, bedroom, bathroom, living, hall\n"
    );
    assert_eq!(accepts("turn on the oven").stderr, "senone: `oven`, at place 4, is not a word of the graph\n");
    let drawn = Dir::new().senone("graph random --count 20 --seed 3").arg(&commands).ok().stdout;
    assert_eq!(drawn.lines().count(), 20);
    for text in drawn.lines() {
        assert_eq!(accepts(text).status, 0, "{text}");
    }
}
