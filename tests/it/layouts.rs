//! Corpora as they lie on people's disks: real utterances of a manifest are laid out anew, and what is read is what the manifest
//! says; then a model is trained on them, decodes them and is scored.
//!
//! The data folder is named by `SENONE_SHARED`; without it the tests say so and pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use senone::audio::Clip;
use senone::data::source::{self, Layout};
use senone::data::{Manifest, Utterance};

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
    let names = phones.iter().map(|phone| format!("{phone:?}")).collect::<Vec<_>>().join(", ");
    let graph = |states: usize| {
        format!(
            "format = 1\n[classes]\nall = [{names}]\n[boundary]\nstart = \"*\"\nend = \"*\"\n[[allow]]\nfrom = \"*\"\nto = \"*\"\n\
             [topology.default]\nstates = {states}\nmin_frames = {states}\nself_loop = 0.5\n"
        )
    };
    let score = ["--silence", "", "--phones", "timit39"].map(Path::new);
    assert_trains(&dir, "TIMIT", ("", [graph(1), graph(3)]), &score);
    // Only one speaker, and the whole corpus.
    dir.write("core.txt", "MSPK5\n");
    assert_eq!(dir.senone("manifest TIMIT --speakers core.txt").ok().stdout.lines().count(), 5);
    dir.write("core.txt", "MSPK7\n");
    assert_eq!(dir.senone("manifest TIMIT --speakers core.txt").refused(), "core.txt: speaker MSPK7 is not in TIMIT");
    dir.write("TIMIT/TEST/DR1/MSPK9/SI9.PHN", "0 100 h#\n");
    assert_eq!(dir.senone("validate TIMIT").refused(), "TIMIT: holds TRAIN and TEST: name one of them");
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
