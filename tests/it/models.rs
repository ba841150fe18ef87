//! The models of this repository that are not built into the program, on recordings that they have learnt from: that they are whole,
//! not how good they are, which is their recipe's to say.

use std::collections::BTreeSet;
use std::path::PathBuf;

use senone::data::Manifest;
use senone::pinyin;

use super::util::Dir;

/// Recordings that are decoded.
const RECORDINGS: usize = 12;

/// A manifest of the first recordings of aishell1-mini in a folder of the test's own, or a line that says why there is none.
fn recordings() -> Option<Dir> {
    let Some(shared) = std::env::var_os("SENONE_SHARED") else {
        println!("skipped: SENONE_SHARED is not set");
        return None;
    };
    let manifest = Manifest::read(&PathBuf::from(shared).join("data/aishell1-mini/train.tsv")).unwrap();
    let row = |one: &senone::data::manifest::Utterance| {
        let audio = one.audio.path.display();
        format!("{}\t{}\t{audio}\t{}\n", one.name, one.speaker, one.phones.as_ref().unwrap().join(" "))
    };
    let rows: String = manifest.utterances.iter().take(RECORDINGS).map(row).collect();
    let dir = Dir::new();
    dir.write("some.tsv", format!("utterance\tspeaker\taudio\tphones\n{rows}"));
    Some(dir)
}

fn assert_hears_mandarin(model: &str, (lexicon, most_percent): (&str, f64)) {
    let Some(dir) = recordings() else { return };
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models").join(model);
    let decode = |units: &str| {
        let command = format!("decode --model {} --format ctm --units {units} some.tsv", model.display());
        dir.senone(&command).ok().stdout
    };
    let syllables = decode("syllable");
    let labels: BTreeSet<&str> = syllables.lines().map(|line| line.split(' ').nth(4).unwrap()).collect();
    let is_legal = |label: &str| label == "sil" || pinyin::read(label).is_ok_and(|found| found.len() == 1);
    assert!(labels.len() > 40 && labels.iter().all(|label| is_legal(label)), "{labels:?}");
    dir.write("some.ctm", decode("phone"));
    let score = dir.senone(&format!("score some.tsv some.ctm --lexicon {lexicon}")).ok().stdout;
    let percent: f64 = score.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(percent < most_percent, "{score}");
}

#[test]
fn the_mandarin_model_hears_syllables() {
    assert_hears_mandarin("zh", ("pinyin", 15.0));
}

#[test]
fn the_mandarin_model_with_tones_hears_syllables() {
    assert_hears_mandarin("zh-tone", ("pinyin-toned", 25.0));
}
