//! Corpora as they lie on people's disks: real utterances of a manifest are laid out anew, and what is read is what the manifest
//! says; then a model is trained on them, decodes them and is scored.
//!
//! The data folder is named by `SENONE_SHARED`; without it the tests say so and pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use senone::audio::Clip;
use senone::data::source::{self, Layout};
use senone::data::{Manifest, Utterance};
use senone::pinyin::{Marks, Syllable};

use super::everything_goes::everything_goes;
use super::util::{Dir, wav};

const RATE_HZ: u32 = 16_000;

/// Utterances of `speakers`, `each` of them, from a manifest of the data folder.
fn utterances(manifest: &str, speakers: &[&str], each: usize) -> Option<Vec<Utterance>> {
    let Some(shared) = std::env::var_os("SENONE_SHARED") else {
        println!("skipped: SENONE_SHARED does not name the folder with the data");
        return None;
    };
    let all = Manifest::read(&PathBuf::from(shared).join("data").join(manifest)).unwrap().utterances;
    let of = |speaker: &str| all.iter().filter(|one| one.speaker == speaker).take(each).cloned().collect::<Vec<_>>();
    let found = speakers.iter().map(|speaker| of(speaker)).collect::<Vec<_>>().concat();
    assert_eq!(found.len(), speakers.len() * each, "{manifest}");
    Some(found)
}

fn lexicon() -> PathBuf {
    PathBuf::from(std::env::var_os("SENONE_SHARED").unwrap()).join("data/lexicon-en/cmudict.dict")
}

fn samples(clip: &Clip) -> Vec<f32> {
    clip.read(RATE_HZ).unwrap().samples
}

/// Sixteen bits of each sample, as [`wav`] writes them.
fn bits(samples: &[f32]) -> Vec<i16> {
    samples.iter().map(|sample| (sample.clamp(-1.0, 1.0) * 32767.0) as i16).collect()
}

/// A SPHERE file of interleaved channels, the high byte first.
fn sphere(channels: usize, samples: &[f32]) -> Vec<u8> {
    let count = samples.len() / channels;
    let mut bytes = format!(
        "NIST_1A\n   1024\nchannel_count -i {channels}\nsample_rate -i {RATE_HZ}\nsample_n_bytes -i 2\nsample_byte_format -s2 10\n\
         sample_coding -s3 pcm\nsample_count -i {count}\nend_head\n"
    )
    .into_bytes();
    bytes.resize(1024, b' ');
    bytes.extend(bits(samples).iter().flat_map(|sample| sample.to_be_bytes()));
    bytes
}

/// What the layout is to be read as.
#[derive(Debug, PartialEq)]
struct Said {
    speaker: String,
    words: Option<String>,
    phones: Option<Vec<String>>,
    samples: Vec<i16>,
}

/// What the utterances of a corpus are, by name.
fn said(utterances: &[Utterance]) -> BTreeMap<String, Said> {
    let of = |one: &Utterance| Said {
        speaker: one.speaker.clone(),
        words: one.words.clone(),
        phones: one.phones.clone(),
        samples: bits(&samples(&one.audio)),
    };
    utterances.iter().map(|one| (one.name.clone(), of(one))).collect()
}

/// The names, speakers, words, phones and samples of `corpus` are those of `expected`, whose samples may have been rounded
/// once more on the way.
fn assert_read(corpus: &Path, layout: Layout, expected: &[Utterance]) {
    assert_eq!(source::layout(corpus).unwrap(), layout);
    let (found, expected) = (said(&source::read(corpus).unwrap().utterances), said(expected));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, found) in found {
        let expected = &expected[&name];
        assert_eq!(
            (&found.speaker, &found.words, &found.phones),
            (&expected.speaker, &expected.words, &expected.phones)
        );
        assert_eq!(found.samples.len(), expected.samples.len(), "{name}");
        let apart = |(a, b): (&i16, &i16)| a.abs_diff(*b) > 2;
        assert!(!found.samples.iter().zip(&expected.samples).any(apart), "{name}");
    }
}

/// Trains a network of no use on `corpora` with the tables `words`, decodes and scores the first of them.
fn assert_trains(dir: &Dir, corpus: &str, (words, graph): (&str, [String; 2]), score: &[&Path]) {
    dir.write("graph.toml", &graph[0]);
    dir.write("graph-align.toml", &graph[1]);
    dir.write(
        "train.toml",
        format!(
            "name = \"laid out\"\ndescription = \"\"\ngraph = \"graph.toml\"\n{words}[[corpus]]\nsource = \"{corpus}\"\n\
             development_utterances = 2\n[gmm]\ngraph = \"graph-align.toml\"\nfeatures = {{ kind = \"mfcc\" }}\n\
             training = {{ iterations = 3, realign = [1, 2, 3], gaussians = 150, last_split = 2 }}\n\
             [features]\nmel_bins = 20\nnormalisation = \"global\"\n[network]\nkind = \"tdnn\"\ninput_width = 16\nwidth = 16\n\
             bottleneck = 8\ndilations = [1]\n[[pass]]\nepochs = 1\nbatch_frames = 500\n[ngram]\norder = 2\n"
        ),
    );
    let said = dir.senone("train train.toml").ok().stderr;
    assert!(!said.contains("left out "), "{said}");
    let decode = dir.senone("decode --model model --format ctm").arg(corpus);
    dir.write("test.ctm", decode.ok().stdout);
    let mut command = dir.senone("score").arg(corpus).arg("test.ctm");
    for arg in score {
        command = command.arg(arg);
    }
    let report = command.ok().stdout;
    println!("{report}");
    // Those with unknown words are not scored.
    let utterances = source::read(&dir.path(corpus)).unwrap().utterances.len();
    let scored: usize = report.lines().nth(2).unwrap().split_once(" utterances, ").unwrap().0.parse().unwrap();
    let left_out = report
        .split_once("left out (utterances: ")
        .map_or(0, |(_, rest)| rest.split_once(" of ").unwrap().0.parse::<usize>().unwrap());
    assert!(scored + left_out == utterances && !report.contains("no hypothesis"), "{report}");
}

/// Settings of words, and the graphs of the English recipe.
fn english() -> (String, [String; 2]) {
    let words = format!("lexicon = {:?}\nfiller = \"SPN\"\n", lexicon());
    let read = |name: &str| std::fs::read_to_string(Path::new("recipes/english").join(name)).unwrap();
    (words, [read("graph.toml"), read("graph-align.toml")])
}

fn assert_trains_on_words(dir: &Dir, corpus: &str) {
    let (words, graphs) = english();
    assert_trains(dir, corpus, (&words, graphs), &[Path::new("--lexicon"), &lexicon()]);
}

#[test]
fn a_folder_of_audio_and_text() {
    let Some(mut expected) = utterances("an4/train.tsv", &["fash", "mmkw", "flrp"], 4) else { return };
    let dir = Dir::new();
    for one in &mut expected {
        let name = format!("corpus/{}/{}", one.speaker, one.name);
        dir.wav(&format!("{name}.wav"), RATE_HZ, &samples(&one.audio));
        dir.write(&format!("{name}.txt"), format!(" {}\n\n", one.words.as_ref().unwrap().replace(' ', "\n")));
    }
    assert_read(&dir.path("corpus"), Layout::Folder, &expected);
    assert_trains_on_words(&dir, "corpus");
    let manifest = dir.senone("manifest corpus").ok().stdout;
    dir.write("corpus.tsv", manifest);
    assert_read(&dir.path("corpus.tsv"), Layout::Manifest, &expected);
}

/// Labels with times, pauses among them, and words in the formats of aligners.
#[test]
fn a_folder_of_audio_and_alignments() {
    let Some(expected) = utterances("speechocean762/train.tsv", &["0001", "0005"], 4) else { return };
    let dir = Dir::new();
    for (index, one) in expected.iter().enumerate() {
        let name = format!("corpus/{}/{}", one.speaker, one.name);
        dir.wav(&format!("{name}.wav"), RATE_HZ, &samples(&one.audio));
        let (words, phones) = (one.words.as_ref().unwrap(), one.phones.as_ref().unwrap());
        let labels: Vec<&str> = ["sil"].into_iter().chain(phones.iter().map(String::as_str)).chain(["sp"]).collect();
        if index % 2 == 0 {
            let rows = labels.iter().enumerate().map(|(i, label)| format!("{i}00000 {}00000 {label}\n", i + 1));
            dir.write(&format!("{name}.lab"), rows.collect::<String>());
            dir.write(&format!("{name}.txt"), words);
            continue;
        }
        let tier = |name: &str, labels: &[&str]| {
            let rows = labels.iter().enumerate().map(|(i, label)| format!("{i}\n{}\n\"{label}\"\n", i + 1));
            let count = labels.len();
            format!("\"IntervalTier\"\n\"{name}\"\n0\n{count}\n{count}\n{}", rows.collect::<String>())
        };
        let words: Vec<&str> = words.split(' ').chain([""]).collect();
        let speaker = if index % 4 == 1 { "" } else { "0001 - " };
        let tiers = [tier(&format!("{speaker}words"), &words), tier(&format!("{speaker}phones"), &labels)].concat();
        let head = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n0\n9\n<exists>\n2\n";
        dir.write(&format!("{name}.TextGrid"), format!("{head}{tiers}"));
    }
    assert_read(&dir.path("corpus"), Layout::Folder, &expected);
    let (_, graphs) = english();
    assert_trains(&dir, "corpus", ("", graphs), &[]);
}

#[test]
fn a_kaldi_data_folder() {
    let Some(mut expected) = utterances("fsdd/train.tsv", &["george", "lucas"], 5) else { return };
    let dir = Dir::new();
    let (mut scp, mut text, mut speakers, mut segments) = <[String; 4]>::default().into();
    for one in &mut expected {
        let (name, path) = (&one.name, one.audio.path.display());
        scp += &match one.speaker.as_str() {
            "george" => format!("{name} flac -c -d -s '{path}' |\n"),
            _ => format!("{name} cat {path} |\n"),
        };
        segments += &format!("{name} {name} 0.00 -1\n");
        text += &format!("{name} {}\n", one.words.as_ref().unwrap());
        speakers += &format!("{name} {}\n", one.speaker);
    }
    // One recording of two channels, of which stretches are two utterances more.
    let (first, second) = (samples(&expected[0].audio), samples(&expected[5].audio));
    let mut both = [first.clone(), vec![0.0; 1600], second.clone()].concat();
    both = both.iter().flat_map(|&sample| [0.5, sample]).collect();
    dir.write("two.sph", sphere(2, &both));
    scp += &format!("two sph2pipe -f wav -p -c 2 {} |\n", dir.path("two.sph").display());
    let (end, begin) = (first.len() as f64 / 16e3, (first.len() + 1600) as f64 / 16e3);
    segments += &format!("two-1 two 0 {end}\ntwo-2 two {begin} {}\n", begin + second.len() as f64 / 16e3 + 0.1);
    for (name, of) in [("two-1", 0), ("two-2", 5)] {
        text += &format!("{name} {}\n", expected[of].words.as_ref().unwrap());
        speakers += &format!("{name} two\n");
        expected.push(Utterance { name: name.into(), speaker: "two".into(), ..expected[of].clone() });
    }
    for (name, text) in [("wav.scp", scp), ("text", text), ("utt2spk", speakers), ("segments", segments)] {
        dir.write(&format!("corpus/{name}"), text);
    }
    assert_read(&dir.path("corpus"), Layout::Kaldi, &expected);
    assert_trains_on_words(&dir, "corpus");
    dir.edit("corpus/wav.scp", "cat ", "ffmpeg ");
    let refused = dir.senone("train corpus --lexicon").arg(lexicon()).refused();
    assert!(refused.starts_with("corpus/wav.scp:6: `ffmpeg ") && refused.contains("ffmpeg is not run"), "{refused}");
}

#[test]
fn librispeech() {
    let Some(expected) = utterances("librispeech-mini/train.tsv", &["19", "26"], 4) else { return };
    let dir = Dir::new();
    let mut chapters: BTreeMap<String, String> = BTreeMap::new();
    for one in &expected {
        let chapter = one.name.rsplit_once('-').unwrap().0;
        let place = format!("train-clean-100/{}/{}", one.speaker, chapter.rsplit_once('-').unwrap().1);
        *chapters.entry(format!("{place}/{chapter}.trans.txt")).or_default() +=
            &format!("{} {}\n", one.name, one.words.as_ref().unwrap());
        dir.write(&format!("{place}/{}.ogg", one.name), std::fs::read(&one.audio.path).unwrap());
    }
    chapters.iter().for_each(|(path, text)| dir.write(path, text));
    assert_read(&dir.path("train-clean-100"), Layout::LibriSpeech, &expected);
    assert_trains_on_words(&dir, "train-clean-100");
    let refused = dir.senone("train . --lexicon").arg(lexicon()).refused();
    assert!(refused.contains("holds sets, train-clean-100 for one: name the sets"), "{refused}");
    let path = chapters.keys().next().unwrap();
    dir.write(path, format!("{}\n19-198-9999 NOBODY\n", dir.read(path)));
    let refused = dir.senone("validate train-clean-100").refused();
    assert!(refused.contains(".trans.txt:") && refused.contains("no audio called 19-198-9999"), "{refused}");
}

/// Phones of TIMIT as its files write them, and as they are trained on.
fn timit_phones(phone: &str) -> (Vec<String>, Vec<String>) {
    let lower = phone.to_lowercase();
    let closure = match &*lower {
        "p" | "t" | "k" => "cl",
        "b" | "d" | "g" => "vcl",
        _ => return (vec![lower.clone()], vec![lower]),
    };
    (vec![format!("{lower}cl"), lower.clone()], vec![closure.into(), lower])
}

#[test]
fn timit() {
    let Some(mut expected) = utterances("speechocean762/train.tsv", &["0001", "0005", "0006"], 4) else { return };
    let dir = Dir::new();
    for (index, one) in expected.iter_mut().enumerate() {
        let samples = samples(&one.audio);
        let (written, trained): (Vec<_>, Vec<_>) = one.phones.iter().flatten().map(|phone| timit_phones(phone)).unzip();
        let written = [vec!["h#".to_owned()], written.concat(), vec!["q".into(), "h#".into()]].concat();
        let rows = |labels: &[String], step: usize| -> String {
            let row = |(i, label): (usize, &String)| format!("{} {} {label}\n", i * step, (i + 1) * step);
            labels.iter().enumerate().map(row).collect()
        };
        // One speaker in lower case, as some editions have it.
        let case = |text: String| if one.speaker == "0005" { text.to_lowercase() } else { text.to_uppercase() };
        let sentence = case(format!("train/dr1/mspk{}/si{index}", &one.speaker[3..]));
        dir.write(&format!("TIMIT/{sentence}.{}", case("wav".into())), sphere(1, &samples));
        let phones = rows(&written, samples.len() / written.len());
        dir.write(&format!("TIMIT/{sentence}.{}", case("phn".into())), &phones);
        let words: Vec<String> = one.words.iter().flat_map(|text| text.split(' ')).map(str::to_lowercase).collect();
        match index % 2 {
            0 => dir.write(&format!("TIMIT/{sentence}.{}", case("wrd".into())), rows(&words, 1000)),
            _ => {
                dir.write(&format!("TIMIT/{sentence}.{}", case("txt".into())), format!("0 9999 {}\n", words.join(" ")))
            }
        }
        if index % 4 == 0 {
            let shared = case(format!("train/dr1/mspk{}/sa1", &one.speaker[3..]));
            dir.write(&format!("TIMIT/{shared}.{}", case("phn".into())), &phones);
            dir.write(&format!("TIMIT/{shared}.{}", case("wav".into())), "");
        }
        one.name = format!("MSPK{}_SI{index}", &one.speaker[3..]);
        one.speaker = format!("MSPK{}", &one.speaker[3..]);
        one.words = Some(words.join(" "));
        one.phones = Some([vec!["sil".to_owned()], trained.concat(), vec!["sil".into()]].concat());
    }
    assert_read(&dir.path("TIMIT"), Layout::Timit, &expected);
    let phones: std::collections::BTreeSet<&String> =
        expected.iter().flat_map(|one| one.phones.iter().flatten()).collect();
    let names: Vec<&str> = phones.iter().map(|phone| phone.as_str()).collect();
    let graph =
        |states: usize| everything_goes(&names, &format!("states = {states}\nmin_frames = {states}\nself_loop = 0.5"));
    let score = ["--silence", "", "--phones", "timit39"].map(Path::new);
    assert_trains(&dir, "TIMIT", ("", [graph(1), graph(3)]), &score);
    // Only one speaker, and the whole corpus.
    dir.write("core.txt", "MSPK5\n");
    assert_eq!(dir.senone("manifest TIMIT --speakers core.txt").ok().stdout.lines().count(), 5);
    dir.write("core.txt", "MSPK7\n");
    assert_eq!(dir.senone("manifest TIMIT --speakers core.txt").refused(), "core.txt: speaker MSPK7 is not in TIMIT");
    dir.write("TIMIT/TEST/DR1/MSPK9/SI9.PHN", "0 100 h#\n");
    assert_eq!(dir.senone("validate TIMIT").refused(), "TIMIT: holds train and test: name one of them");
    dir.write("TIMIT/TRAIN/DR1/MSPK1/SI0.PHN", "0 100 h#\n100 200 zz\n");
    let refused = dir.senone("validate TIMIT/TRAIN").refused();
    assert_eq!(refused, "TIMIT/TRAIN/DR1/MSPK1/SI0.PHN:2: 'zz' is no phone of TIMIT");
}

#[test]
fn a_recording_is_heard_where_the_manifest_says() {
    let dir = Dir::new();
    let ramp: Vec<f32> = (0..RATE_HZ).map(|i| i as f32 / 40_000.0).collect();
    dir.write("a.wav", wav(RATE_HZ, &ramp));
    dir.write("a.tsv", "utterance\taudio\tstart\tend\na\ta.wav\t0.25\t0.5\nb\ta.wav\t0.9\t\nc\ta.wav\t2\t3\n");
    let said = dir.senone("validate a.tsv").run().stdout;
    assert!(said.contains("durations from 0.100 s (b) to 0.250 s (a)"), "{said}");
    assert!(
        said.contains("a.tsv:4: c: a.wav: a stretch from 2 to 3 s, expected within the 1.000 s that are there"),
        "{said}"
    );
}

/// The graphs of the Mandarin recipe, of the search and of the alignment.
fn mandarin(names: [&str; 2]) -> [String; 2] {
    names.map(|name| std::fs::read_to_string(Path::new("recipes/mandarin").join(name)).unwrap())
}

/// The syllables of an utterance's phones in pinyin.
fn pinyin(one: &Utterance, marks: Marks) -> String {
    let phones = one.phones.as_ref().unwrap();
    let syllable = |pair: &[String]| Syllable::of_phones(&pair[0], &pair[1]).unwrap().spelled(marks);
    phones.chunks(2).map(syllable).collect::<Vec<_>>().join(" ")
}

#[test]
fn thchs_30() {
    let Some(mut expected) = utterances("aishell1-mini/train.tsv", &["S0150", "S0252"], 5) else { return };
    let dir = Dir::new();
    for (index, one) in expected.iter_mut().enumerate() {
        one.speaker = if one.speaker == "S0150" { "A11".into() } else { "B7".into() };
        one.name = format!("{}_{index}", one.speaker);
        let file = format!("{}.wav", one.name);
        let (words, phones) = (one.words.as_ref().unwrap(), one.phones.as_ref().unwrap().join(" "));
        let written = phones.replace("r ix", "r iz");
        let transcript = format!("{words} \n{}\n{written}\n", pinyin(one, Marks::Digits));
        dir.wav(&format!("data_thchs30/data/{file}"), RATE_HZ, &samples(&one.audio));
        dir.wav(&format!("data_thchs30/train/{file}"), RATE_HZ, &samples(&one.audio));
        dir.write(&format!("data_thchs30/data/{file}.trn"), transcript);
        dir.write(&format!("data_thchs30/train/{file}.trn"), format!("../data/{file}.trn\n"));
    }
    assert_read(&dir.path("data_thchs30/train"), Layout::Thchs30, &expected);
    assert_read(&dir.path("data_thchs30/data"), Layout::Thchs30, &expected);
    let graphs = mandarin(["graph.toml", "graph-align.toml"]);
    let score = ["--lexicon", "pinyin"].map(Path::new);
    assert_trains(&dir, "data_thchs30/train", ("lexicon = \"pinyin\"\n", graphs), &score);
    let decode = dir.senone("decode --model model --format ctm --units syllable data_thchs30/train");
    let labels = decode.ok().stdout;
    let is_legal = |label: &str| label == "sil" || senone::pinyin::read(label).is_ok_and(|found| found.len() == 1);
    assert!(labels.lines().all(|line| is_legal(line.split(' ').nth(4).unwrap())), "{labels}");

    // A syllable that there is not, and pinyin that is none.
    let first = format!("data_thchs30/data/{}.wav.trn", expected[0].name);
    let phones = expected[0].phones.as_ref().unwrap().join(" ");
    dir.edit(&first, &phones, &phones.replacen(expected[0].phones.as_ref().unwrap()[1].as_str(), "ueng1", 1));
    let said = dir.senone("train train.toml --work other --output other").ok().stderr;
    let reason = format!("left out {}: {} -> ueng is not allowed by the graph", expected[0].name, &phones[..2].trim());
    assert!(said.contains(&reason), "{said}");

    dir.write("data_thchs30/train/A11_9.wav.trn", "../data/A11_9.wav.trn\n");
    assert!(dir.senone("validate data_thchs30/train").refused().contains("A11_9.wav.trn:1: no A11_9.wav is beside it"));
    dir.wav("data_thchs30/train/A11_9.wav", RATE_HZ, &[0.0]);
    let refused = dir.senone("validate data_thchs30/train").refused();
    assert_eq!(refused, "data_thchs30/train/A11_9.wav.trn:1: ../data/A11_9.wav.trn is not there");
    dir.write("data_thchs30/data/A11_9.wav.trn", "一\nyi1\n");
    let refused = dir.senone("validate data_thchs30/train").refused();
    assert!(refused.contains("A11_9.wav.trn:2: 2 lines: expected words, pinyin, and initials and finals"), "{refused}");
    dir.wav("data_thchs30/test/A11_9.wav", RATE_HZ, &[0.0]);
    dir.write("data_thchs30/test/A11_9.wav.trn", "../data/A11_9.wav.trn\n");
    assert_eq!(dir.senone("validate data_thchs30").refused(), "data_thchs30: holds train and test: name one of them");
}

#[test]
fn aishell_1() {
    let Some(mut expected) = utterances("aishell1-mini/train.tsv", &["S0150", "S0252"], 4) else { return };
    let dir = Dir::new();
    let mut transcript = String::new();
    let mut lexicon = std::collections::BTreeSet::new();
    for one in &mut expected {
        let (hanzi, phones) = (one.words.clone().unwrap(), one.phones.take().unwrap());
        assert_eq!(2 * hanzi.chars().count(), phones.len(), "{hanzi}");
        lexicon.extend(hanzi.chars().zip(phones.chunks(2)).map(|(word, pair)| format!("{word} {}\n", pair.join(" "))));
        let words: Vec<String> = hanzi.chars().map(String::from).collect();
        one.words = Some(words.join(" "));
        transcript += &format!("{} {}\n", one.name, words.join(" "));
        dir.wav(&format!("data_aishell/wav/train/{}/{}.wav", one.speaker, one.name), RATE_HZ, &samples(&one.audio));
    }
    let lexicon: String = lexicon.into_iter().collect();
    dir.write("resource_aishell/lexicon.txt", format!("SIL sil\n<SPOKEN_NOISE> sil\n{lexicon}"));
    dir.write("data_aishell/transcript/aishell_transcript_v0.8.txt", &transcript);
    dir.wav("data_aishell/wav/train/S0150/without-a-line.wav", RATE_HZ, &[0.0]);
    assert_read(&dir.path("data_aishell/wav/train"), Layout::Aishell, &expected);
    let listed = dir.senone("manifest data_aishell/wav/train").ok();
    assert!(listed.stderr.contains("1 of 9 recordings"), "{}", listed.stderr);
    assert_read(&dir.path("data_aishell/wav/train/S0252"), Layout::Aishell, &expected[4..]);
    let words = "lexicon = \"resource_aishell/lexicon.txt\"\nfiller = \"sil\"\n";
    let graphs = mandarin(["graph-tone.toml", "graph-tone-align.toml"]);
    let path = dir.path("resource_aishell/lexicon.txt");
    assert_trains(&dir, "data_aishell/wav/train", (words, graphs), &[Path::new("--lexicon"), &path]);
    assert!(!dir.read("model/bundle.toml").contains("filler"), "a pause stands for no word");
    let decode =
        |more: &str| dir.senone(&format!("decode --model model --format ctm {more} data_aishell/wav/train")).ok();
    let plain = decode("--toneless").stdout;
    assert!(!plain.lines().any(|line| line.ends_with(char::is_numeric)), "{plain}");
    assert!(decode("").stdout.lines().any(|line| line.ends_with(char::is_numeric)));
    // A pause can be recognised, though the filler is called the same.
    let model = senone::bundle::Bundle::open(&dir.path("model")).unwrap();
    let pause = model.graph.symbols().get("sil").unwrap();
    assert!(model.graph.pdfs_of(pause).all(|pdf| model.priors.log()[pdf.index()].is_finite()));

    dir.wav("data_aishell/wav/test/S0764/BAC009S0764W0121.wav", RATE_HZ, &[0.0]);
    assert_eq!(dir.senone("validate data_aishell").refused(), "data_aishell: holds train and test: name one of them");
    let refused = dir.senone("validate data_aishell/wav/test").refused();
    assert!(refused.ends_with("v0.8.txt:1: no line for any recording below data_aishell/wav/test"), "{refused}");
    let line = transcript.lines().next().unwrap();
    dir.write("data_aishell/transcript/aishell_transcript_v0.8.txt", format!("{transcript}{line}\n"));
    let refused = dir.senone("validate data_aishell/wav/train").refused();
    assert!(refused.contains("v0.8.txt:9: BAC009") && refused.contains("is in line 1 already"), "{refused}");
}

/// Pinyin of people: no settings, no phones, spellings of all kinds; training and scoring know the syllables.
#[test]
fn a_folder_of_audio_and_pinyin() {
    let Some(expected) = utterances("aishell1-mini/train.tsv", &["S0150", "S0252"], 6) else { return };
    let dir = Dir::new();
    for (index, one) in expected.iter().enumerate() {
        let text = match index % 3 {
            0 => pinyin(one, Marks::Digits).replace('ü', "v"),
            1 => pinyin(one, Marks::Diacritics).to_uppercase(),
            _ => pinyin(one, Marks::Digits).replace(' ', "").replace('ü', "u:"),
        };
        let name = format!("corpus/{}/{}", one.speaker, one.name);
        dir.wav(&format!("{name}.wav"), RATE_HZ, &samples(&one.audio));
        dir.write(&format!("{name}.txt"), text);
    }
    let manifest = Manifest { path: "m.tsv".into(), utterances: expected, notices: vec![] };
    dir.write("phones.tsv", manifest.to_tsv().unwrap());
    let graphs = mandarin(["graph.toml", "graph-align.toml"]);
    let score = ["--lexicon", "pinyin"].map(Path::new);
    assert_trains(&dir, "corpus", ("lexicon = \"pinyin\"\n", graphs), &score);
    let by_pinyin = dir.senone("score corpus test.ctm --lexicon pinyin").ok().stdout;
    let by_phones = dir.senone("score phones.tsv test.ctm --lexicon pinyin").ok().stdout;
    assert_eq!(by_pinyin.lines().next().unwrap(), by_phones.lines().next().unwrap());
}
