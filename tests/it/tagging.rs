//! `senone tag train` and `senone tag predict` as whole commands.

use super::util::{Dir, Ran};

/// Nine times `n c` as N V, nine times `p a` as P V, once `n a` as N D.
fn two_tokens() -> String {
    let sentence = |count: usize, text: &str| text.repeat(count);
    sentence(9, "n\tN\nc\tV\n\n") + &sentence(9, "p\tP\na\tV\n\n") + &sentence(1, "n\tN\na\tD\n\n")
}

const BIO: &str = r#"
format = 1
[vars]
type = ["PER", "LOC"]
[classes]
outside = ["O"]
begin = ["B-{type}"]
inside = ["I-{type}"]
[boundary]
start = ["outside", "begin"]
end = ["*"]
[[allow]]
from = "*"
to = ["outside", "begin"]
[[allow]]
from = ["B-{type}", "I-{type}"]
to = "I-{type}"
[topology.default]
states = 1
self_loop = false
"#;

const PEOPLE: &str =
    "Ada\tB-PER\nLovelace\tI-PER\nmet\tO\nBabbage\tB-PER\n\nin\tO\nLondon\tB-LOC\nTown\tI-LOC\n\nhe\tO\nslept\tO\n";

/// The folder with `text` as train.tsv.
fn with(text: &str) -> Dir {
    let dir = Dir::new();
    dir.write("train.tsv", text);
    dir
}

fn train(dir: &Dir, learner: &str, more: &str) -> Ran {
    dir.senone(&format!("tag train --learner {learner} --output {learner}.tagger train.tsv {more}")).ok()
}

fn predict(dir: &Dir, learner: &str, text: &str) -> String {
    dir.senone(&format!("tag predict {learner}.tagger -")).input(text.into()).ok().stdout
}

#[test]
fn what_a_model_by_counts_cannot_learn_the_others_do() {
    let dir = with(&two_tokens());
    dir.write(
        "settings.toml",
        "hmm.smoothing = 0.0\ncrf.l_bfgs.l2 = 0.001\n[svm]\nmethod = \"cutting-planes\"\nc = 100.0\nepochs = 500\nmax_rounds = 5000\n",
    );
    for (learner, answer) in [("hmm", "V"), ("crf", "D"), ("perceptron", "D"), ("svm", "D")] {
        train(&dir, learner, "--settings settings.toml");
        assert_eq!(
            predict(&dir, learner, "n\na\n\np\na\n"),
            format!("n\tN\na\t{answer}\n\np\tP\na\tV\n\n"),
            "{learner}"
        );
    }
    for method in ["frank-wolfe", "sub-gradient"] {
        dir.edit("settings.toml", "method = \"cutting-planes\"", &format!("method = \"{method}\""));
        train(&dir, "svm", "--settings settings.toml");
        assert_eq!(predict(&dir, "svm", "n\na\n"), "n\tN\na\tD\n\n", "{method}");
        dir.edit("settings.toml", &format!("method = \"{method}\""), "method = \"cutting-planes\"");
    }
}

#[test]
fn all_columns_come_out_with_the_tag_last_and_marginals_sum_to_one() {
    let dir = with(&two_tokens());
    train(&dir, "crf", "--quiet");
    assert_eq!(predict(&dir, "crf", "n\tleft\tN\r\nc\tx\tV\r\n"), "n\tleft\tN\tN\nc\tx\tV\tV\n\n");
    let text = dir.senone("tag predict --marginals crf.tagger -").input("n\nc\n".into()).ok().stdout;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let shares = fields[1..fields.len() - 1].iter().map(|field| field.split_once('=').unwrap());
        let total: f64 = shares.clone().map(|(_, share)| share.parse::<f64>().unwrap()).sum();
        let best = shares.max_by(|a, b| a.1.parse::<f64>().unwrap().total_cmp(&b.1.parse().unwrap())).unwrap();
        assert!((total - 1.0).abs() < 1e-5 && best.0 == *fields.last().unwrap(), "{line}");
    }
}

#[test]
fn what_the_graph_forbids_never_comes_out() {
    let dir = with(PEOPLE);
    dir.write("bio.toml", BIO);
    for learner in ["hmm", "crf", "perceptron", "svm"] {
        train(&dir, learner, "--graph bio.toml");
        assert!(!has_illegal_tag(&predict(&dir, learner, ORDER)), "{learner}");
    }
    train(&dir, "perceptron", "");
    assert!(has_illegal_tag(&predict(&dir, "perceptron", ORDER)), "without the graph it would come out");
}

/// Words in an order that asks for I- after O, and I-LOC after B-PER.
const ORDER: &str = "met\nLovelace\nAda\nTown\nLovelace\n\nTown\n";

/// Whether an I- continues nothing.
fn has_illegal_tag(text: &str) -> bool {
    let mut before = "O";
    text.lines().any(|line| {
        let tag = line.split('\t').nth(1).unwrap_or("O");
        let stray = tag.strip_prefix("I-").is_some_and(|kind| before == "O" || !before.ends_with(kind));
        before = tag;
        stray
    })
}

#[test]
fn a_bias_moves_the_balance() {
    let dir = with(PEOPLE);
    for (bias, expected) in [("-50.0", "nobody\tB-PER"), ("50.0", "Ada\tO")] {
        dir.write("settings.toml", format!("[bias]\nO = {bias}\n"));
        train(&dir, "crf", "--settings settings.toml");
        let text = predict(&dir, "crf", "nobody\nAda\n");
        let holds = if bias.starts_with('-') { !text.contains("\tO\n") } else { text.contains(expected) };
        assert!(holds, "{text}");
    }
    dir.write("settings.toml", "[bias]\nX = 1.0\n");
    let refused = dir.senone("tag train --learner crf --output x train.tsv --settings settings.toml").run();
    assert!(
        refused.status == 1 && refused.stderr.contains("a bias for \"X\", which is none of the tags"),
        "{refused:?}"
    );
}

#[test]
fn bad_sequences_are_named_and_left_out() {
    let dir = with(&format!("{PEOPLE}\nlone\n\nyou\tI-LOC\n\n\tO\n"));
    dir.write("bio.toml", BIO);
    let ran = train(&dir, "crf", "--graph bio.toml --quiet");
    let said: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        said,
        [
            "left out: train.tsv:13: sequence 4: one column: expected the token first, the tag last, and a tab between",
            "left out: train.tsv:17: sequence 6: the token, in the first column, is empty",
            "left out: train.tsv:15: sequence 5: I-LOC is not allowed as the first symbol by the graph",
            "train.tsv: 3 sequences were left out",
        ]
    );
}

#[test]
fn features_that_are_not_numbers_leave_their_sequence_out() {
    let dir = with("a\t0.5\tX\nb\t1\tY\n\na\tNaN\tX\n\na\t0.25\tX\n");
    dir.write("template.toml", "features = [\"lower\", \"value:2\"]\n");
    for learner in ["crf", "perceptron", "svm"] {
        let ran = train(&dir, learner, "--template template.toml --quiet");
        assert!(ran.stderr.starts_with("left out: train.tsv:4: sequence 2: "), "{}", ran.stderr);
        assert_eq!(predict(&dir, learner, "a\t0.5\n"), "a\t0.5\tX\n\n");
    }
    let ran = dir.senone("tag predict crf.tagger -").input("b\tinf\n\na\t1\n".into()).run();
    assert_eq!((ran.status, ran.stdout.as_str()), (1, "a\t1\tX\n\n"));
    assert!(ran.stderr.contains("-:1: sequence 1: "), "{}", ran.stderr);
}

#[test]
fn the_posterior_is_raised_from_where_the_likelihood_ended() {
    let sentence = "a\tA\nb\tB\n".repeat(8) + "\n";
    let dir = with(&sentence.repeat(3));
    for method in ["l-bfgs", "stochastic"] {
        let goals = "l_bfgs.goal = \"posterior\"\nstochastic.goal = \"posterior\"";
        dir.write("settings.toml", format!("[crf]\nmethod = \"{method}\"\n{goals}\n"));
        train(&dir, "crf", "--settings settings.toml");
        assert_eq!(predict(&dir, "crf", "b\na\n"), "b\tB\na\tA\n\n", "{method}");
    }
}

#[test]
fn what_stops_short_of_its_mark_says_so() {
    let dir = with(&two_tokens());
    for (learner, settings, expected) in [
        (
            "svm",
            "[svm]\nmethod = \"frank-wolfe\"\nmax_rounds = 1\n",
            "stopped by max_rounds = 1 at a relative duality gap of ",
        ),
        (
            "svm",
            "[svm]\nmethod = \"cutting-planes\"\nmax_rounds = 1\n",
            "stopped by max_rounds = 1 at a relative duality gap of ",
        ),
        ("crf", "[crf.l_bfgs.lbfgs]\nmax_iterations = 1\n", "stopped by max_iterations = 1, before it had settled\n"),
    ] {
        dir.write("settings.toml", settings);
        let said = train(&dir, learner, "--quiet --settings settings.toml").stderr;
        assert!(said.starts_with(expected), "{said}");
    }
    dir.write("settings.toml", "[svm]\nmethod = \"frank-wolfe\"\n");
    assert_eq!(train(&dir, "svm", "--quiet --settings settings.toml").stderr, "");
}

#[test]
fn the_least_data_are_enough() {
    let dir = with("to\tA\nbe\tB\n");
    for learner in ["hmm", "crf", "perceptron", "svm"] {
        train(&dir, learner, "");
        assert_eq!(predict(&dir, learner, "to\nbe\n"), "to\tA\nbe\tB\n\n", "{learner}");
        assert_eq!(predict(&dir, learner, ""), "", "{learner}");
        assert_eq!(predict(&dir, learner, "never\n").lines().count(), 2, "{learner}");
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let dir = with("to\tA\nbe\tB\n");
    dir.write("empty.tsv", "\n\n");
    dir.write("bio.toml", BIO);
    dir.write("broken", "not a tagger");
    let crf = "tag train --learner crf --output x";
    let cases = [
        (format!("{crf} empty.tsv"), "empty.tsv:1: the file has no sequence: expected one token a line"),
        (format!("{crf} nowhere.tsv"), "nowhere.tsv: cannot read: "),
        ("tag predict broken train.tsv".into(), "broken: is no tagger, or broken: expected a file that"),
        ("tag predict nowhere train.tsv".into(), "nowhere: cannot "),
    ];
    for (line, expected) in cases {
        let refused = dir.senone(&line).refused();
        assert!(refused.starts_with(expected), "{line}: {refused}");
    }
    let ran = dir.senone(&format!("{crf} --graph bio.toml train.tsv")).run();
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("train.tsv:1: sequence 1: the tag A is none of the 5 symbols"), "{}", ran.stderr);
    assert!(ran.stderr.contains("no sequence is left to learn from"), "{}", ran.stderr);
    assert!(dir.senone("tag train --learner magic --output x train.tsv").misused().contains("hmm, crf, perceptron"));
    assert!(!dir.path("x").exists());
}

#[cfg(feature = "neural")]
#[test]
fn networks_refuse_what_they_cannot_learn_from_in_a_sentence() {
    let dir = with("to\tA\nbe\tB\n");
    dir.write("empty.tsv", "");
    dir.write("untagged.tsv", "to\nbe\n\nor\n");
    let settings = [
        ("embedding = 0", "[network] embedding = 0: expected a width from 1 to 16384"),
        ("epochs = 0", "[network] epochs = 0: expected at least 1"),
        ("batch_tokens = 0", "[network] batch_tokens = 0: expected at least 1"),
        ("learning_rate = -1.0", "[network] learning_rate = -1: expected a number above 0"),
        ("dropout = 1.0", "[network] dropout = 1: expected a share from 0 to 0.95"),
        ("rare_dropout = -1.0", "[network] rare_dropout = -1: expected a number, 0 or more"),
        ("width = 0", "[network] width = 0: expected a width from 1 to 16384"),
        ("tdnn = { dilations = [40] }", "[network] dilations = 40: expected 1 to 30 rows"),
        ("hidden = 3", "line 2, column 1: unknown field `hidden`, expected one of `embedding`, `direct`"),
    ];
    for learner in ["lstm", "bilstm-crf", "tdnn-svm"] {
        let train = |more: &str| dir.senone(&format!("tag train --learner {learner} --output x {more}"));
        for (line, expected) in settings {
            dir.write("settings.toml", format!("[network]\n{line}\n"));
            let refused = train("--settings settings.toml train.tsv").refused();
            assert!(refused.starts_with(&format!("settings.toml: {expected}")), "{refused}");
        }
        dir.write("settings.toml", "[bias]\nX = 1.0\n");
        let bias = "the settings have a bias for \"X\", which is none of the tags";
        assert_eq!(train("--settings settings.toml train.tsv").refused(), bias);
        dir.write("template.toml", "features = []\n");
        let none = "template.toml: features is empty: expected at least one, as in features = [\"lower\"]";
        assert_eq!(train("--template template.toml train.tsv").refused(), none);
        let empty = "empty.tsv:1: the file has no sequence: expected one token a line, columns with tabs between";
        assert_eq!(train("empty.tsv").refused(), empty);
        assert_eq!(train("train.tsv --development empty.tsv").refused(), empty);
        let untagged =
            "untagged.tsv:1: sequence 1: one column: expected the token first, the tag last, and a tab between";
        assert_eq!(train("untagged.tsv").refused(), untagged);
    }
    assert!(!dir.path("x").exists());
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let dir = with(&(two_tokens() + PEOPLE));
    for learner in ["crf", "perceptron", "svm"] {
        let taggers = ["1", "2", "8"].map(|threads| {
            train(&dir, learner, &format!("--threads {threads} --seed 3"));
            std::fs::read(dir.path(&format!("{learner}.tagger"))).unwrap()
        });
        assert!(taggers[0] == taggers[1] && taggers[1] == taggers[2], "{learner}");
    }
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let dir = with(&two_tokens());
    dir.write("settings.toml", "seed = 1\n");
    for output in ["train.tsv", "settings.toml"] {
        let before = dir.read(output);
        let line = format!("tag train --learner hmm --settings settings.toml --output {output} train.tsv");
        assert_eq!(
            dir.senone(&line).refused(),
            format!("{output}: both read and written to, as --output: name another file")
        );
        assert_eq!(dir.read(output), before);
    }
    let refused = dir.senone("tag train --learner hmm --output no/such/x train.tsv").refused();
    assert_eq!(refused, "no/such/x: cannot write: there is no folder no/such");
}

#[test]
fn training_that_went_astray_leaves_no_tagger() {
    let dir = Dir::new();
    dir.write("huge.tsv", "a\t1e38\tX\nb\t1\tY\n\nc\t2\tX\nd\t0.5\tY\n");
    dir.write("template.toml", "features = [\"value:2\", \"lower\"]\n");
    let ran = dir.senone("tag train --learner crf --quiet --template template.toml --output x huge.tsv").run();
    assert!(ran.status == 1 && ran.stderr.contains("very large values"), "{}", ran.stderr);
    assert!(!dir.path("x").exists());
}

#[test]
fn a_tagger_that_was_cut_short_is_refused() {
    let dir = with(&two_tokens());
    train(&dir, "crf", "");
    let bytes = std::fs::read(dir.path("crf.tagger")).unwrap();
    for length in (0..bytes.len()).step_by(97) {
        dir.write("cut.tagger", &bytes[..length]);
        let refused = dir.senone("tag predict cut.tagger train.tsv").refused();
        assert!(refused.starts_with("cut.tagger: "), "{refused}");
    }
}
