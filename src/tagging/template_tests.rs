//! Templates against the feature functions of a script that trains CRFsuite, and in all that they can say.

use super::*;
use crate::data::{ColumnFile, Layout};

/// What `bench/tagging_crfsuite.py` calls its richer template.
pub const RICH: &str = r#"features = ["bias", "lower", "prefix:1..3", "suffix:1..3", "capital", "digit", "hyphen", "lower[-1]", "lower[+1]"]"#;

fn template(text: &str) -> Template {
    Template::parse_as("t.toml".as_ref(), text).unwrap()
}

/// A template of one item.
fn with(item: &str) -> Template {
    template(&format!("features = [{item:?}]"))
}

/// What is wrong with the text of a template.
fn refused(text: &str) -> String {
    Template::parse_as("t.toml".as_ref(), text).unwrap_err().to_string()
}

/// The sequence of these lines.
fn sequence(lines: &[&str]) -> Sequence {
    let file = ColumnFile::collect("t.tsv".as_ref(), lines.join("\n").as_bytes(), Layout::Tokens).unwrap();
    file.whole().unwrap().remove(0)
}

/// The features of each token; an amount other than 1 follows its name.
fn features(template: &Template, lines: &[&str]) -> Vec<Vec<String>> {
    let mut found = vec![vec![]; lines.len()];
    let each = |token: usize, name: &str, amount: f32| {
        let amount = if amount == 1.0 { String::new() } else { format!(" x {amount}") };
        found[token].push(name.replace('\t', "|") + &amount);
    };
    template.extract(&sequence(lines), each).unwrap();
    found
}

/// One name of the script in place of ours.
fn as_in_the_script(name: &str) -> String {
    let (item, value) = name.split_once('=').unwrap_or((name, ""));
    let short = match item {
        "bias" => return "b".into(),
        "lower" => "w",
        "lower[-1]" => "-w",
        "lower[+1]" => "+w",
        "capital" => "U",
        "digit" => "D",
        "hyphen" => "H",
        affix => &affix.replace("refix:", "").replace("uffix:", ""),
    };
    format!("{short}={}", value.replace("yes", "True").replace("no", "False"))
}

#[test]
fn the_templates_of_the_bench_script_are_met() {
    // python3: "|".join(rich([[w] for w in ["A", "-", "Über-2", "ΟΔΟΣ"]], i)) for i in range(4); the same for ["😂"]
    let expected = [
        "b|w=a|p1=A|p2=A|p3=A|s1=A|s2=A|s3=A|U=True|D=False|H=False|+w=-",
        "b|w=-|p1=-|p2=-|p3=-|s1=-|s2=-|s3=-|U=False|D=False|H=True|-w=a|+w=über-2",
        "b|w=über-2|p1=Ü|p2=Üb|p3=Übe|s1=2|s2=-2|s3=r-2|U=True|D=True|H=True|-w=-|+w=οδος",
        "b|w=οδος|p1=Ο|p2=ΟΔ|p3=ΟΔΟ|s1=Σ|s2=ΟΣ|s3=ΔΟΣ|U=True|D=False|H=False|-w=über-2",
    ];
    let found = features(&template(RICH), &["A", "-", "Über-2", "ΟΔΟΣ"]);
    let found: Vec<String> = found
        .iter()
        .map(|token| token.iter().map(|name| as_in_the_script(name)).collect::<Vec<_>>().join("|"))
        .collect();
    assert_eq!(found, expected);
    let alone: Vec<String> = features(&template(RICH), &["😂"])[0].iter().map(|name| as_in_the_script(name)).collect();
    assert_eq!(alone.join("|"), "b|w=😂|p1=😂|p2=😂|p3=😂|s1=😂|s2=😂|s3=😂|U=False|D=False|H=False");
    assert_eq!(features(&Template::default(), &["A", "ΟΔΟΣ"]), [["lower=a"], ["lower=οδος"]]);
}

#[test]
fn every_part_gives_what_the_table_says() {
    let cases = [
        ("word", "O'Neil-3", "word=O'Neil-3"),
        ("lower-prefix:2", "ÉTÉ", "lower-prefix:2=ét"),
        ("lower-suffix:9", "ÉTÉ", "lower-suffix:9=été"),
        ("shape", "O'Neill-39中", "shape=X'Xxxxx-ddx"),
        ("short-shape", "O'Neill-39中", "short-shape=X'Xx-dx"),
        ("capital", "iPhone", "capital=no"),
        ("inner-capital", "iPhone", "inner-capital=yes"),
        ("inner-capital", "Phone", "inner-capital=no"),
        ("all-capitals", "A-1", "all-capitals=yes"),
        ("all-capitals", "Ab", "all-capitals=no"),
        ("all-capitals", "1", "all-capitals=no"),
        ("punctuation", "?!", "punctuation=yes"),
        ("punctuation", "a!", "punctuation=no"),
        ("column:2", "a\tNN", "column:2=NN"),
        ("value:2", "a\t-0.5", "value:2=# x -0.5"),
        ("value:3&column:2&lower", "A\tNN\t2.5", "value:3&column:2&lower=#|NN|a x 2.5"),
        (" suffix:1 & capital[0]", "A", "suffix:1&capital=A|yes"),
    ];
    for (text, row, expected) in cases {
        assert_eq!(features(&with(text), &[row]), [[expected]], "{text}");
    }
    assert_eq!(features(&with("column:2"), &["a\t", "b\tx"]), [vec![], vec!["column:2=x"]]);
}

#[test]
fn ranges_stand_for_every_combination() {
    let found = features(&with("prefix:1..2[-1..0]&suffix:1"), &["ab", "cd"]);
    assert_eq!(found[0], ["prefix:1&suffix:1=a|b", "prefix:2&suffix:1=ab|b"]);
    let all =
        ["prefix:1[-1]&suffix:1=a|d", "prefix:2[-1]&suffix:1=ab|d", "prefix:1&suffix:1=c|d", "prefix:2&suffix:1=cd|d"];
    assert_eq!(found[1], all);
}

#[test]
fn outside_the_sequence_is_nothing_or_a_mark() {
    let text = r#"features = ["word[-2]", "word[1]", "value:2[1]", "word[-1]&word"]"#;
    let lines = ["a\t1", "b\t3"];
    let bare: [&[&str]; 2] = [&["word[+1]=b", "value:2[+1]=# x 3"], &["word[-1]&word=a|b"]];
    assert_eq!(features(&template(text), &lines), bare);
    let marked = template(&format!("{text}\noutside = \"mark\""));
    let found = features(&marked, &lines);
    assert_eq!(found[0], ["word[-2]=", "word[+1]=b", "value:2[+1]=# x 3", "word[-1]&word=|a"]);
    assert_eq!(found[1], ["word[-2]=", "word[+1]=", "value:2[+1]=", "word[-1]&word=a|b"]);
}

#[test]
fn what_is_not_in_the_file_is_a_fault_of_its_line() {
    let fault = |text: &str, lines: &[&str]| {
        let found = with(text).extract(&sequence(lines), |_, _, _| panic!("a feature of a bad sequence"));
        found.unwrap_err().to_string()
    };
    let number = |field: &str| fault("value:2", &["a\t1", &format!("b\t{field}")]);
    for field in ["NaN", "inf", "-inf", "1e39", "", "x", "1,5"] {
        let reason = "is not a finite number, as `value` in the template needs";
        assert_eq!(number(field), format!("t.tsv:2: sequence 1: column 2: {field:?} {reason}"));
    }
    let reason = "no column 3, which the template reads: the last is 2";
    assert_eq!(fault("column:3", &["a\tx"]), format!("t.tsv:1: sequence 1: {reason}"));
}

#[test]
fn a_template_that_is_not_right_is_refused_with_its_place() {
    let cases = [
        (
            "feature = ['word']",
            "line 1, column 1: unknown field `feature`, expected one of `features`, `outside`, `min_count`",
        ),
        (
            "features = ['word']\noutside = 'no'",
            "line 2, column 11: unknown variant `no`, expected `nothing` or `mark`",
        ),
        ("features = ['word']\nmin_count = 0", "line 2, column 13: invalid value: integer `0`, expected a nonzero u32"),
        ("features = []", "features is empty: expected at least one, as in features = [\"lower\"]"),
        (
            "features = ['word', 'word[0]']",
            "line 1, column 21: \"word[0]\": feature `word` is given twice: expected each once",
        ),
        (
            "features = ['prefix:1..3',\n'prefix:2']",
            "line 2, column 1: \"prefix:2\": feature `prefix:2` is given twice: expected each once",
        ),
        (
            "features = ['word[-50..50]&word[-50..+50]']",
            "line 1, column 13: \"word[-50..50]&word[-50..+50]\": more than 1000 features a token: expected fewer, or shorter ranges",
        ),
    ];
    for (text, reason) in cases {
        assert_eq!(refused(text), format!("t.toml: {reason}"));
    }
    assert!(refused("").contains("missing field `features`"));
    assert!(matches!(Template::read("/nowhere.toml".as_ref()), Err(Error::Io { .. })));
}

#[test]
fn an_item_that_is_not_right_is_refused_with_its_place() {
    let length = "is not a length in characters from 1 to 50, nor a range of them, as in `1..3`";
    let offset = "is not an offset from -100 to 100, nor a range of them, as in `1..3`";
    let cases = [
        ("bias[1]", "`bias` has no number and no offset".to_owned()),
        ("bias&word", "`bias` adds nothing to other parts".to_owned()),
        ("word:2", "`word` has no number after a colon".to_owned()),
        ("prefix", "`prefix` needs a length in characters after a colon, as in `prefix:2`".to_owned()),
        ("prefix:0", format!("`0` {length}")),
        ("prefix:3..1", format!("`3..1` {length}")),
        ("prefix:51", format!("`51` {length}")),
        ("prefix:1...3", format!("`1...3` {length}")),
        ("word[]", format!("`` {offset}")),
        ("word[-101]", format!("`-101` {offset}")),
        ("word[1]x", "expected `]` at the end".to_owned()),
        ("value:2&value:3", "a product of two values".to_owned()),
        (
            "column:0",
            "`0` is not a column, counted from 1, from 1 to 1000, nor a range of them, as in `1..3`".to_owned(),
        ),
    ];
    for (text, reason) in cases {
        assert_eq!(
            refused(&format!("features = [\"word\",\n {text:?}]")),
            format!("t.toml: line 2, column 2: {text:?}: {reason}")
        );
    }
    for unknown in ["wrd", "", "word&"] {
        let message = refused(&format!("features = [{unknown:?}]"));
        assert!(
            message.contains("unknown part `") && message.contains("expected one of bias, word, lower, "),
            "{message}"
        );
    }
}

#[test]
fn what_a_template_needs_is_known() {
    assert_eq!(
        (with("word").last_column(), with("word&column:3").last_column(), with("value:7[1]").last_column()),
        (1, 3, 7)
    );
    assert_eq!((template(RICH).features_per_token(), template(RICH).text()), (13, RICH));
    assert_eq!(template("features = ['word']\nmin_count = 3").min_count(), 3);
}
