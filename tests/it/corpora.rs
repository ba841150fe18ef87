//! Real manifests and the real CMU dictionary; `SENONE_SHARED` points at the folder that has them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use senone::data::Manifest;
use senone::data::validate::{ValidationOptions, validate};
use senone::graph::lexicon::Lexicon;
use senone::graph::ngram::{Ngram, NgramOptions};
use senone::symbols::SymbolTable;

/// The folder of the real data; prints why the test is skipped when there is none.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("SENONE_SHARED").map(|shared| PathBuf::from(shared).join("data"));
    if folder.is_none() {
        println!("skipped: SENONE_SHARED is not set");
    }
    folder
}

const MANIFESTS: [(&str, usize, usize); 11] = [
    ("speechocean762/train.tsv", 2500, 125),
    ("speechocean762/test.tsv", 620, 62),
    ("an4/train.tsv", 948, 74),
    ("an4/test.tsv", 130, 10),
    ("librispeech-mini/train.tsv", 367, 3),
    ("kathleen/train.tsv", 1132, 1),
    ("fsdd/train.tsv", 600, 6),
    ("audio-cmn/train.tsv", 5956, 2),
    ("aishell1-mini/train.tsv", 986, 2),
    ("aishell3-mini/test.tsv", 30, 30),
    ("shtooka-weigao/test.tsv", 234, 1),
];

#[test]
fn real_manifests_are_read() {
    let Some(data) = data() else { return };
    for (name, utterances, speakers) in MANIFESTS {
        let manifest = Manifest::read(&data.join(name)).unwrap();
        assert_eq!((manifest.utterances.len(), manifest.speakers().len()), (utterances, speakers), "{name}");
        assert!(manifest.utterances[0].audio.path.exists());
    }
}

#[test]
fn the_cmu_dictionary_is_read_fast() {
    let Some(data) = data() else { return };
    let begin = Instant::now();
    let lexicon = Lexicon::read(&data.join("lexicon-en/cmudict.dict")).unwrap();
    let seconds = begin.elapsed().as_secs_f64();
    println!("{} words in {seconds:.3} s", lexicon.words().len());
    assert!(cfg!(debug_assertions) || seconds < 5.0, "{seconds} s");
    assert_eq!((lexicon.words().len(), lexicon.phones().len()), (126_052, 39));
    assert_eq!(lexicon.pronunciations("tomato").unwrap().len(), 2);
    let graph: SymbolTable = lexicon.phones().iter().collect();
    lexicon.check_symbols(&graph).unwrap();
    let without_zh: SymbolTable = lexicon.phones().iter().filter(|phone| *phone != "ZH").collect();
    let error = lexicon.check_symbols(&without_zh).unwrap_err().to_string();
    assert!(error.contains("the phone 'ZH' of"), "{error}");
}

/// How often the rule says what the dictionary itself says for a possessive or plural that it lists.
#[test]
fn the_derivation_agrees_with_the_dictionary() {
    let Some(data) = data() else { return };
    let path = data.join("lexicon-en/cmudict.dict");
    let text = std::fs::read_to_string(&path).unwrap();
    let whole = Lexicon::parse(&path, &text).unwrap();
    let stems: String =
        text.lines().filter(|line| !line.split(' ').next().unwrap().contains("'s")).map(|l| format!("{l}\n")).collect();
    let without = Lexicon::parse(&path, &stems).unwrap();
    let (mut right, mut wrong) = (0, 0);
    for word in whole.words().filter(|word| word.ends_with("'s")) {
        let Some(derived) = without.pronunciations(word) else { continue };
        let listed = whole.pronunciations(word).unwrap();
        let agrees = derived.iter().any(|phones| listed.contains(phones));
        *(if agrees { &mut right } else { &mut wrong }) += 1;
    }
    println!("{right} of {} derived possessives are as listed", right + wrong);
    assert!(right > 5000 && wrong * 20 < right, "{right} right, {wrong} wrong");
}

/// Most words of the transcripts are known; the ceiling is above what was found when this was written.
#[test]
fn transcripts_are_covered() {
    let Some(data) = data() else { return };
    let lexicon = Lexicon::read(&data.join("lexicon-en/cmudict.dict")).unwrap();
    let cases = [("an4/train.tsv", 0), ("librispeech-mini/train.tsv", 150), ("kathleen/train.tsv", 15)];
    for (name, ceiling) in cases {
        let manifest = Manifest::read(&data.join(name)).unwrap();
        let texts = manifest.utterances.iter().filter_map(|utterance| utterance.words.as_ref());
        let words: Vec<String> = texts.flat_map(|text| lexicon.words_of(text)).collect();
        let unknown: Vec<&String> = words.iter().filter(|word| !lexicon.knows(word)).collect();
        println!("{name}: {} of {} words unknown: {unknown:?}", unknown.len(), words.len());
        assert!(unknown.len() <= ceiling, "{name}: {unknown:?}");
    }
}

#[test]
fn a_phone_trigram_of_real_transcripts_is_sound() {
    let Some(data) = data() else { return };
    let sequences_of = |name: &str, table: &mut SymbolTable| {
        let manifest = Manifest::read(&data.join(name)).unwrap();
        let phones = manifest.utterances.iter().filter_map(|utterance| utterance.phones.clone());
        phones.map(|phones| phones.iter().map(|phone| table.intern(phone)).collect()).collect::<Vec<Vec<_>>>()
    };
    let mut table = SymbolTable::new();
    let train = sequences_of("speechocean762/train.tsv", &mut table);
    let test = sequences_of("speechocean762/test.tsv", &mut table);
    let table = Arc::new(table);
    let perplexity = |order, min_history_count| {
        let model =
            Ngram::estimate(&NgramOptions { order, min_history_count, ..NgramOptions::default() }, &table, &train)
                .unwrap();
        let found = model.perplexity(&test);
        println!(
            "order {order}, histories seen {min_history_count} times or more: {} histories, perplexity {found:.2}",
            model.histories()
        );
        found
    };
    let found: Vec<f64> = (1..=4).map(|order| perplexity(order, 1)).collect();
    assert!(found.is_sorted_by(|a, b| a > b) && found[0] < 39.0 && found[3] > 1.0, "{found:?}");
    assert!(perplexity(3, 100) < found[0]);
}

#[test]
fn real_corpora_are_valid() {
    let Some(data) = data() else { return };
    let lexicon = Lexicon::read(&data.join("lexicon-en/cmudict.dict")).unwrap();
    let manifests = ["an4/test.tsv", "aishell3-mini/test.tsv", "shtooka-weigao/test.tsv", "fsdd/test.tsv"];
    let manifests: Vec<Manifest> = manifests.iter().map(|name| Manifest::read(&data.join(name)).unwrap()).collect();
    let report = validate(&manifests, Some(&lexicon), &ValidationOptions::default());
    println!("{report}");
    assert_eq!(report.manifests[2].sample_rates.keys().copied().collect::<Vec<_>>(), [44_000]);
    assert_eq!(report.manifests[3].sample_rates.keys().copied().collect::<Vec<_>>(), [8_000]);
    assert!((report.manifests[0].seconds / 3600.0 - 0.10).abs() < 0.01);
}
