use super::*;
use crate::metrics::compare;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn reference(name: &str, speaker: &str, phones: &str) -> Reference {
    Reference { name: name.into(), speaker: Some(speaker.into()), transcript: Transcript::phones(&words(phones)) }
}

fn hypotheses(entries: &[(&str, &str)]) -> Hypotheses {
    entries.iter().map(|(name, phones)| ((*name).to_owned(), words(phones))).collect()
}

/// Two speakers; u3 has no hypothesis, u4 an unknown word, u9 no reference.
fn example() -> (Vec<Reference>, Hypotheses) {
    let mut references = vec![
        reference("u1", "anna", "SIL HH AH0 L OW1 SIL"),
        reference("u2", "anna", "Y EH1 S"),
        reference("u3", "bert", "N OW1"),
        reference("u5", "bert", "AX B AW1 T zh"),
    ];
    let transcript = Transcript::UnknownWords(vec!["zyx".into()]);
    references.push(Reference { name: "u4".into(), speaker: Some("bert".into()), transcript });
    let heard = [("u1", "HH EH L L OW"), ("u2", "Y EH S"), ("u4", "Z"), ("u5", "sil AH B AW0 sh"), ("u9", "K")];
    (references, hypotheses(&heard))
}

#[test]
fn tones_count_unless_they_are_dropped() {
    let references = [reference("u1", "anna", "n i3 h ao3"), reference("u2", "bert", "m a5")];
    let heard = hypotheses(&[("u1", "n i2 h ao"), ("u2", "m a4")]);
    let scored = |tones| score(&references, &heard, &ScoreOptions { tones, ..ScoreOptions::default() }).unwrap();
    assert_eq!(scored(Tones::Kept).total.errors(), 3);
    let dropped = scored(Tones::Dropped);
    assert_eq!(dropped.total.errors(), 0);
    assert!(dropped.to_string().contains("\ntones of Mandarin finals dropped\n"), "{dropped}");
}

#[test]
fn the_report_reads_as_expected() {
    let (references, heard) = example();
    let fold = [("AX", "AH"), ("zh", "sh"), ("q", "")].map(|(from, to)| (from.to_owned(), to.to_owned()));
    let options = ScoreOptions { fold: fold.into(), ..ScoreOptions::default() };
    let report = score(&references, &heard, &options).unwrap();
    let expected = "\
PER 35.71 %, 95 % interval 28.57 to 42.86 (2 speakers drawn 10000 times, seed 0)
S 1 (7.14 %)  D 3 (21.43 %)  I 1 (7.14 %)  N 14
4 utterances, 2 speakers; PER by speaker: lowest 28.57 % (anna), median 35.71 %, highest 42.86 % (bert)
most frequent substitutions:
  AH > L            1   50.0 % of 2 AH
most frequent deletions:
  N > -             1  100.0 % of 1 N
  OW > -            1   50.0 % of 2 OW
  T > -             1  100.0 % of 1 T
most frequent insertions:
  - > EH            1
stress digits of ARPABET vowels stripped
folded: AX to AH, q to nothing (not met), zh to sh
dropped as silence: SIL sil
labels in the reference only: N T
no hypothesis, counted as deleted (utterances: 1 of 4, phones: 2 of 14): u3
no reference, not counted (hypotheses: 1): u9
words of unknown pronunciation, left out (utterances: 1 of 5): u4 (zyx)
";
    assert_eq!(report.to_string(), expected);
    let table = "speaker\tPER %\tS\tD\tI\tN\tutterances\nbert\t42.86\t0\t3\t0\t7\t2\nanna\t28.57\t1\t0\t1\t7\t2\n";
    assert_eq!(report.speaker_table(), table);
}

#[test]
fn the_pronunciation_that_was_said_counts() {
    let said = |alternatives: &[&str]| alternatives.iter().map(|phones| words(phones)).collect::<Vec<_>>();
    let slots = vec![said(&["DH AH", "DH IY"]), said(&["EH V R IY", "EH V ER IY"]), said(&["AE N D", "AH N", "N"])];
    let reference = Reference { name: "u".into(), speaker: None, transcript: Transcript::Slots(slots) };
    let heard = hypotheses(&[("u", "DH IY EH V ER IY N")]);
    let report = score(std::slice::from_ref(&reference), &heard, &ScoreOptions::default()).unwrap();
    assert_eq!(report.total, EditCounts { reference: 7, ..EditCounts::default() });
    let report = score(&[reference], &hypotheses(&[]), &ScoreOptions::default()).unwrap();
    assert_eq!((report.total.deletions, report.total.reference, report.missing_phones), (7, 7, 7));
    assert!(report.to_string().contains("no interval: it needs two utterances"), "{report}");
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let options = ScoreOptions::default();
    let message = |references: &[Reference]| score(references, &hypotheses(&[]), &options).unwrap_err().to_string();
    assert!(message(&[reference("u", "a", "B"), reference("u", "a", "B")]).contains("u is given twice"));
    let empty_slot = Transcript::Slots(vec![vec![]]);
    let no_alternative = Reference { transcript: empty_slot, ..reference("u", "a", "") };
    assert!(message(&[no_alternative]).contains("has no pronunciation"));
    assert!(message(&[reference("u", "a", "SIL")]).contains("no reference phone"));
}

#[test]
fn two_systems_are_compared_on_the_same_ground() {
    let names: Vec<String> = (0..40).map(|speaker| format!("s{speaker:02}")).collect();
    let references: Vec<Reference> = names.iter().map(|name| reference(name, name, "A B C D E F G H I J")).collect();
    let heard = |errors: fn(usize) -> usize| -> Hypotheses {
        let phones = |wrong: usize| {
            let mut phones = words("A B C D E F G H I J");
            phones[..wrong].fill("X".into());
            phones
        };
        names.iter().enumerate().map(|(speaker, name)| (name.clone(), phones(errors(speaker)))).collect()
    };
    let options = ScoreOptions::default();
    let report = |errors| score(&references, &heard(errors), &options).unwrap();
    let better = compare(&report(|speaker| speaker % 5), &report(|speaker| speaker % 5 + 1 + speaker % 2)).unwrap();
    let interval = better.interval.unwrap();
    assert!(interval.low < -0.15 && -0.15 < interval.high && interval.high < 0.0, "{interval:?}");
    assert!(better.to_string().starts_with("PER 20.00 % against 35.00 %: -15.00 points, paired 95 % interval -1"));
    let chance = compare(&report(|speaker| speaker % 5), &report(|speaker| 4 - speaker % 5)).unwrap();
    assert!(chance.to_string().ends_with("; zero is in it: it may be chance\n"), "{chance}");
    let other_ground = score(&references[1..], &heard(|_| 1), &options).unwrap();
    assert!(compare(&report(|_| 1), &other_ground).is_err());
}
