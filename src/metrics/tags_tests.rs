//! Scores of tags against counts made by hand and by the script that CRFsuite is scored with.

use super::*;
use crate::random::Random;

fn pair<'a>(reference: &'a str, hypothesis: &'a str) -> TagPair<'a> {
    let [reference, hypothesis] = [reference, hypothesis].map(|tags| tags.split_whitespace().collect());
    TagPair { reference, hypothesis }
}

fn score(pairs: &[(&str, &str)]) -> TagReport {
    let pairs: Vec<TagPair> = pairs.iter().map(|(reference, hypothesis)| pair(reference, hypothesis)).collect();
    score_tags(&pairs, &TagScoreOptions::default()).unwrap()
}

fn counts(right: usize, reference: usize, hypothesis: usize) -> EntityCounts {
    EntityCounts { right, reference, hypothesis }
}

#[test]
fn entities_are_those_of_the_bench_script() {
    // python3: sorted(spans(tags.split())) of bench/tagging_crfsuite.py
    let cases = [
        ("O B-a I-a I-a B-a O", "1..4 a, 4..5 a"),
        ("I-a I-a O B-a I-b I-a", "3..4 a"),
        ("B-a I-a I-b B-b B-b I-b", "0..2 a, 3..4 b, 4..6 b"),
        ("B- I- I-a S-a E-a", "0..2 "),
        ("B-a O I-a", "0..1 a"),
        ("B-a", "0..1 a"),
    ];
    for (tags, expected) in cases {
        let tags: Vec<&str> = tags.split(' ').collect();
        let shown = |entity: &Entity| format!("{}..{} {}", entity.start, entity.end, entity.kind);
        let found: Vec<String> = entities(&tags).iter().map(shown).collect();
        assert_eq!(found.join(", "), expected, "{tags:?}");
    }
    assert_eq!(entities(&[]), []);
}

#[test]
fn an_entity_is_right_as_a_whole_or_not_at_all() {
    let report = score(&[
        ("B-a I-a O B-b", "B-a I-a O B-b"),
        ("B-a I-a O B-b", "B-a O O B-a"),
        ("O O O I-b", "I-a B-b I-b E-b"),
    ]);
    let entities = report.entities.unwrap();
    let total = report.total.entities;
    assert_eq!(total, counts(2, 4, 5));
    assert_eq!(entities.types, [("a".into(), counts(1, 2, 3)), ("b".into(), counts(1, 2, 2))].into());
    assert_eq!((entities.stray, entities.other_tags), ([1, 1], ["E-b".to_owned()].into()));
    let rates = (total.precision(), total.recall(), total.f1());
    assert_eq!(rates, (Some(0.4), Some(0.5), Some(4.0 / 9.0)));
    assert_eq!((counts(0, 0, 2).recall(), counts(0, 2, 0).precision(), counts(0, 0, 0).f1()), (None, None, None));
    assert_eq!((report.total.tokens, report.total.right, report.sequences.len()), (12, 6, 3));
}

#[test]
fn tags_without_entities_have_accuracy_only() {
    let report = score(&[("D N V", "D V V"), ("D", "D")]);
    assert_eq!((report.entities.is_none(), report.total.accuracy()), (true, Some(0.75)));
    assert!(report.to_string().contains("sequences 2, without error 1 (50.00 %)"));
}

#[test]
fn a_tag_on_one_side_only_is_named() {
    let report = score(&[("D N X", "D N N"), ("D", "Y")]);
    assert_eq!((report.only_reference, report.only_hypothesis), (["X".into()].into(), ["Y".into()].into()));
}

/// With one sequence of each kind, the draws of two are (bad, bad), one of each twice, (good, good).
#[test]
fn intervals_are_drawn_over_sequences() {
    let report = score(&[("B-a O O O", "O O O O"), ("B-a O O O", "B-a O O O")]);
    assert_eq!(report.accuracy_interval, Some(Interval { low: 0.75, high: 1.0 }));
    assert_eq!(report.entities.unwrap().f1_interval, Some(Interval { low: 0.0, high: 1.0 }));
    let report = score(&[("B-a O", "B-a O")]);
    assert_eq!((report.accuracy_interval, report.entities.unwrap().f1_interval), (None, None));
}

/// The interval of F1 is about as wide as the spread of F1 over many data sets of the same kind.
#[test]
fn the_interval_of_f1_covers_its_spread() {
    let mut random = Random::new(3);
    let mut draw = || {
        let pairs: Vec<TagPair> =
            (0..200).map(|_| pair("B-a O", if random.below(10) < 7 { "B-a O" } else { "O B-a" })).collect();
        score_tags(
            &pairs,
            &TagScoreOptions { top_confusions: 0, bootstrap: BootstrapOptions { resamples: 1000, seed: 1 } },
        )
        .unwrap()
        .entities
        .unwrap()
    };
    let inside =
        (0..200).filter(|_| draw().f1_interval.is_some_and(|found| found.low <= 0.7 && 0.7 <= found.high)).count();
    // Binomial(200, 0.95): mean 190, deviation 3.1.
    assert!((180..=199).contains(&inside), "{inside}");
}

#[test]
fn two_taggers_are_compared_on_the_same_draws() {
    let references = ["B-a O O O", "B-a O O O", "O O"];
    let of = |hypotheses: [&'static str; 3]| score(&[0, 1, 2].map(|place| (references[place], hypotheses[place])));
    let (good, bad) = (of(references), of(["B-a O O X", "B-a O O X", "O O"]));
    let found = compare_tags(&good, &bad).unwrap();
    assert_eq!((found.accuracy, found.f1), ([1.0, 0.8], Some([1.0, 1.0])));
    // Draws of three: from nothing but the last, of which both get all, to nothing but the others, a quarter apart.
    assert_eq!(
        (found.accuracy_interval, found.f1_interval),
        (Some(Interval { low: 0.0, high: 0.25 }), Some(Interval { low: 0.0, high: 0.0 }))
    );
    let told = "accuracy 100.00 % against 80.00 %: +20.00 points, paired 95 % interval +0.00 to +25.00; zero is in it: it may be chance\n\
        entity F1 100.00 % against 100.00 %: +0.00 points, paired 95 % interval +0.00 to +0.00; zero is in it: it may be chance\n";
    assert_eq!(found.to_string(), told);
    assert_eq!(compare_tags(&bad, &good).unwrap().accuracy_interval, Some(Interval { low: -0.25, high: 0.0 }));
    assert_eq!(compare_tags(&score(&[("D", "D")]), &score(&[("D", "N")])).unwrap().f1, None);
    assert!(compare_tags(&good, &score(&[("D", "D")])).is_err());
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let error = |pairs: &[TagPair]| score_tags(pairs, &TagScoreOptions::default()).unwrap_err();
    assert!(matches!(error(&[pair("D N", "D")]), Error::Shape { expected: 2, found: 1, .. }));
    assert_eq!(error(&[]).to_string(), "there is no token to score");
    assert_eq!(error(&[pair("", "")]).to_string(), "there is no token to score");
}

/// Real tags, and others in the place of some of them, as the script counts them.
#[test]
fn the_bench_script_counts_the_same() {
    let Some(shared) = std::env::var_os("SENONE_SHARED") else {
        println!("skipped: SENONE_SHARED is not set");
        return;
    };
    let text = std::fs::read_to_string(std::path::Path::new(&shared).join("data/ner-en/test.tsv")).unwrap();
    let mut pairs = vec![];
    let mut place = 0..;
    for sequence in text.split("\n\n").filter(|sequence| !sequence.is_empty()) {
        let reference: Vec<&str> = sequence.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
        let other = |token: usize| match place.next().unwrap_or(0) {
            k if k % 5 == 0 => "I-person",
            k if k % 7 == 3 && token > 0 => reference[token - 1],
            _ => reference[token],
        };
        let hypothesis = (0..reference.len()).map(other).collect();
        pairs.push(TagPair { reference, hypothesis });
    }
    let report = score_tags(&pairs, &TagScoreOptions::default()).unwrap();
    // y = "I-person" if k % 5 == 0 else r[i - 1] if i and k % 7 == 3 else r[i] with k over all tokens; then as the script does:
    // ok, n, tp, fp, fn
    let EntityCounts { right, reference, hypothesis } = report.total.entities;
    let found = [report.total.right, report.total.tokens, right, hypothesis - right, reference - right];
    assert_eq!(found, [18_476, 23_394, 539, 273, 456]);
}

#[test]
fn the_report_says_it_all() {
    let text =
        score(&[("B-a I-a O B-bb", "B-a I-a O B-bb"), ("B-a I-a O B-bb", "B-a O O B-a"), ("O X O", "I-a O E-b")])
            .to_string();
    let expected = "accuracy 54.55 %, 95 % interval 0.00 to 100.00 (3 sequences drawn 10000 times, seed 0)\n\
        tokens 11, right 6\n\
        sequences 3, without error 1 (33.33 %)\n\
        entity F1 50.00 %, 95 % interval 0.00 to 100.00 (3 sequences drawn 10000 times, seed 0)\n            \
                    precision %  recall %    F1 % reference hypothesis  right\n  \
          all types       50.00     50.00   50.00         4          4      2\n  \
          a               33.33     50.00   40.00         2          3      1\n  \
          bb             100.00     50.00   66.67         2          1      1\n\
        tokens I- that continue no entity, not counted: reference 0, hypothesis 1\n\
        neither O, B- nor I-, taken as O for entities: E-b X\n\
        most frequent confusions, reference > hypothesis:\n  \
          B-bb > B-a                    1   50.0 % of 2 B-bb\n  \
          I-a > O                       1   50.0 % of 2 I-a\n  \
          O > E-b                       1   25.0 % of 4 O\n  \
          O > I-a                       1   25.0 % of 4 O\n  \
          X > O                         1  100.0 % of 1 X\n\
        tags in the reference only: X\n\
        tags in the hypothesis only: E-b\n";
    assert_eq!(text, expected);
    assert!(
        score(&[("D N", "D N")])
            .to_string()
            .starts_with("accuracy 100.00 %, no interval: it needs two sequences\ntokens 2, right 2\n")
    );
}
