//! `senone decode --stream` and the library's way of it: what comes early is what comes at the end, and it comes soon.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use senone::audio::{self, AudioOptions};
use senone::bundle::Bundle;
use senone::decode::{DecodeOptions, Method, Recogniser};
use senone::graph::GraphSpec;
use senone::network::{Acoustic, LstmConfig, Network, NetworkConfig};
use senone::random::Random;

use super::audio_files::utterances;
use super::toy::{self, TOY};
use super::util::Dir;

const SPEECH: &str = "tests/data/sense-and-sensibility.wav";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The bytes of a WAV, and where its samples begin.
fn speech() -> (Vec<u8>, usize) {
    let bytes = fs::read(repository(SPEECH)).unwrap();
    let data = bytes.windows(4).position(|window| window == b"data").unwrap() + 8;
    (bytes, data)
}

/// The same file as a pipe leaves it, whose writer could not go back to fill in sizes.
fn unsized_speech(size: u32) -> Vec<u8> {
    let (mut bytes, data) = speech();
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    bytes[data - 4..data].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn a_stream_is_the_whole_byte_for_byte() {
    let dir = Dir::new();
    let (bytes, data) = speech();
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    dir.write("stdin.wav", &bytes);
    for format in ["ctm", "lab", "audacity", "text"] {
        let whole = dir.senone(&format!("decode --format {format} stdin.wav")).ok().stdout;
        assert!(whole.lines().count() > 20);
        let stream = |input: Vec<u8>, options: &str| {
            dir.senone(&format!("decode --stream --format {format} {options}")).input(input).ok().stdout
        };
        let mut found = vec![stream(vec![], "stdin.wav")];
        if format == "ctm" {
            found.extend([0, 0xFFFF_FFFF, 0x7FFF_F000].map(|size| stream(unsized_speech(size), "-")));
            found.push(stream(bytes[data..].to_vec(), "--raw 16000 -"));
        }
        for text in found {
            match format {
                "text" => assert_eq!(squeezed(&text), squeezed(&whole)),
                _ => assert_eq!(text, whole),
            }
        }
    }
}

#[test]
fn phones_come_before_the_audio_ends() {
    let (bytes, _) = speech();
    let mut child = Command::new(env!("CARGO_BIN_EXE_senone"))
        .args(["decode", "--stream", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&bytes[..bytes.len() / 2]).unwrap();
    input.flush().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..5 {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0);
    }
    assert_eq!(line.split_whitespace().count(), 3, "{line}");
    // Nobody reads on.
    drop(lines);
    let _ = input.write_all(&bytes[bytes.len() / 2..]);
    drop(input);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn half_a_sample_is_left_out_and_told() {
    let dir = Dir::new();
    let (bytes, data) = speech();
    let mut odd = bytes[data..].to_vec();
    let even = dir.senone("decode --raw 16000 --format ctm -").input(odd.clone()).ok();
    odd.push(1);
    let ran = dir.senone("decode --raw 16000 --format ctm -").input(odd).ok();
    assert_eq!(ran.stdout, even.stdout);
    assert_eq!(ran.stderr, "senone: -: an odd number of bytes: the last, half a sample of 16 bits, is left out\n");
}

/// The builtin model, with its own graph or that of a file.
fn recogniser(graph: Option<&str>) -> Recogniser {
    let bundle = Bundle::builtin().unwrap();
    let options = DecodeOptions { settings: bundle.description.search, method: Method::Beam, confidence: None };
    match graph {
        None => Recogniser::new(Arc::new(bundle), options).unwrap(),
        Some(file) => {
            let spec = GraphSpec::read_on(&repository(file), || Ok(bundle.graph.clone())).unwrap();
            Recogniser::constrained(Arc::new(bundle), spec, options).unwrap()
        }
    }
}

fn samples() -> Vec<f32> {
    audio::read(&repository(SPEECH), &AudioOptions::default()).unwrap().samples
}

#[test]
fn blocks_of_any_sizes_give_the_same_phones_and_words() {
    let samples = samples();
    let mut random = Random::new(5);
    for graph in [None, Some("docs/graphs/digits.toml")] {
        let recogniser = recogniser(graph);
        let whole = recogniser.decode(&samples).unwrap();
        let mut early = 0;
        for sizes in [&[7, 160][..], &[100_000], &[1, 7, 160, 4000]] {
            let mut decoder = recogniser.start().unwrap();
            let (mut rest, mut phones, mut words) = (&samples[..], vec![], vec![]);
            while !rest.is_empty() {
                let block = sizes[random.below(sizes.len())].min(rest.len());
                let certain = decoder.push(&rest[..block]).unwrap();
                phones.extend(certain.phones);
                words.extend(certain.words);
                rest = &rest[block..];
            }
            assert_eq!(phones, whole.phones.segments[..phones.len()]);
            let all = whole.words.as_ref().map_or(&[][..], |words| &words.segments);
            assert_eq!(words, all[..words.len()]);
            assert_eq!(decoder.finish().unwrap(), whole);
            early += if graph.is_some() { words.len() } else { phones.len() };
        }
        assert!(early >= 6, "{graph:?}: {early}");
    }
}

#[test]
fn words_are_those_of_the_whole() {
    let dir = toy::with_model();
    dir.write("words.dict", fs::read(TOY.path("words.dict")).unwrap());
    dir.write("words.toml", dir.read("model/graph.toml") + "[lexicon]\nfile = 'words.dict'\n");
    let mut found = 0;
    for name in ["test-5-0", "test-5-1", "test-6-2"] {
        let decode = format!("decode --model model --graph words.toml --format ctm {}", TOY.utterance(name).display());
        let whole = dir.senone(&decode).ok().stdout;
        assert_eq!(dir.senone(&format!("{decode} --stream")).ok().stdout, whole);
        found += whole.lines().count();
    }
    assert!(found >= 6, "{found}");
}

#[test]
fn data_may_come_in_many_chunks_and_in_every_encoding() {
    let dir = Dir::new();
    let (bytes, data) = speech();
    dir.write("stdin.wav", &bytes);
    let whole = dir.senone("decode --format ctm stdin.wav").ok().stdout;
    let stream = |input: Vec<u8>| dir.senone("decode --stream --format ctm -").input(input).ok();
    let chunk = |name: &[u8], body: &[u8]| [name, &(body.len() as u32).to_le_bytes(), body].concat();
    let (first, second) = bytes[data..].split_at(30_000);
    let list = chunk(b"LIST", &[7; 1000]);
    let split = [&bytes[..data - 8], &list, &chunk(b"data", first), &list, &chunk(b"data", second), &list].concat();
    assert_eq!(stream(split).stdout, whole);
    // The last byte of a sample is missing.
    let cut = stream(bytes[..bytes.len() - 1].to_vec());
    assert!(cut.stderr.contains("the file is cut off"), "{}", cut.stderr);
    assert_eq!(cut.stdout.lines().count(), whole.lines().count());
    let values = bytes[data..].chunks_exact(2).map(|pair| f64::from(i16::from_le_bytes([pair[0], pair[1]])) / 32768.0);
    let floats: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
    let format = [&[3, 0, 1, 0][..], &16_000u32.to_le_bytes(), &128_000u32.to_le_bytes(), &[8, 0, 64, 0]].concat();
    let body = [b"WAVE", &chunk(b"fmt ", &format)[..], &chunk(b"data", &floats)].concat();
    assert_eq!(stream(chunk(b"RIFF", &body)).stdout, whole);
}

#[test]
fn what_is_no_recording_is_told_in_a_sentence() {
    let dir = Dir::new();
    let refused = |line: &str, input: &[u8]| dir.senone(line).input(input.to_vec()).refused();
    assert_eq!(refused("decode --stream -", b""), "-: the file is empty");
    let headless = refused("decode --stream -", &[0, 1, 2, 3].repeat(100));
    assert!(headless.starts_with("-: an unknown format, expected WAV"), "{headless}");
    assert!(refused("decode --stream --raw 16000 -", b"").contains("no samples"));
    assert!(refused("decode --stream --raw 16000 -", &[0; 40]).contains("only 20 samples: at least 400"));
    let (bytes, data) = speech();
    assert!(refused("decode --stream -", &bytes[..data]).contains("no samples"));
    let without = dir.senone("decode --stream --raw -").misused();
    assert!(without.contains("invalid value '-' for '--raw <RATE>'"), "{without}");
    for option in ["--confidence", "--nbest 2", "--lattice out", "--posteriorgram out"] {
        let both = dir.senone(&format!("decode --stream {option} -")).misused();
        assert!(both.contains("'--stream' cannot be used with"), "{both}");
    }
}

#[test]
fn a_network_that_reads_backwards_is_refused() {
    let dir = toy::with_model();
    let mut bundle = Bundle::open(&dir.path("model")).unwrap();
    let config = NetworkConfig::Bilstm(LstmConfig { layers: 1, width: 8, subsampling: 3, ..Default::default() });
    let dims = (bundle.description.features.dim(), bundle.network.pdfs());
    bundle.network = Network::new(&config, dims, &Random::new(1)).unwrap();
    bundle.description.network = config;
    bundle.save(&dir.path("both-ways")).unwrap();
    dir.write("a.wav", speech().0);
    dir.senone("decode --model both-ways a.wav").ok();
    let refused = dir.senone("decode --model both-ways --stream a.wav").refused();
    let expected = "the model 'toy' cannot stream: its network (bilstm) hears a recording to the end before it says \
        anything; a TDNN or an LSTM in one direction can";
    assert_eq!(refused, expected);
}

/// What is said every six seconds has the same phones at the same time every time.
#[test]
fn nothing_drifts() {
    const PERIOD: usize = 6 * 16_000;
    let mut period = samples();
    period.resize(PERIOD, 0.0);
    let recogniser = recogniser(None);
    let decoded = recogniser.decode(&period.repeat(30)).unwrap();
    let starts = |number: u64| -> Vec<u64> {
        let first = number * PERIOD as u64;
        let all = decoded.phones.segments.iter().map(|phone| phone.start);
        all.filter(|start| (first + 1..first + PERIOD as u64 - 16_000).contains(start)).map(|at| at - first).collect()
    };
    let (early, frame) = (starts(1), recogniser.bundle().timing().search_shift());
    assert!(early.len() > 15);
    for number in 2..30 {
        let late = starts(number);
        assert_eq!(late.len(), early.len(), "after {number} periods");
        assert!(late.iter().zip(&early).all(|(late, early)| late.abs_diff(*early) <= frame), "{late:?} {early:?}");
    }
}

#[test]
fn what_cannot_stream_is_refused_by_name() {
    let dir = toy::with_model();
    dir.write("a.wav", &speech().0);
    let refused = |line: &str| dir.senone(&format!("decode --stream {line}")).refused();
    for format in ["textgrid", "json", "tsv", "mlf", "eaf", "srt", "textgrid-short"] {
        let expected =
            format!("--stream: format {format} is not written line by line, expected text, ctm, lab or audacity");
        assert_eq!(refused(&format!("--format {format} a.wav")), expected);
    }
    assert_eq!(refused("a.wav a.wav"), "--stream takes one recording, and 2 are named");
    let flac = dir.senone("decode --stream -").input(b"fLaC and no more".to_vec()).refused();
    assert!(flac.contains("cut off") || flac.contains("cannot read before its end"), "{flac}");
    let bundle = dir.read("model/bundle.toml");
    let start = bundle.find("[features.normalisation").or(bundle.find("normalisation =")).unwrap();
    let end = bundle[start..].find("\n\n").unwrap() + start;
    let changed = match bundle[start..].starts_with('[') {
        true => bundle
            .replace(&bundle[start..end], "")
            .replace("[features]\n", "[features]\nnormalisation = \"utterance\"\n"),
        false => bundle.replacen(bundle[start..].lines().next().unwrap(), "normalisation = \"utterance\"", 1),
    };
    dir.write("model/bundle.toml", changed);
    let reason = refused("--model model a.wav");
    assert!(
        reason.contains("normalisation \"utterance\" needs all frames") && reason.contains("cannot stream"),
        "{reason}"
    );
}

/// Samples pushed when a phone came out, less its end.
fn delays(recogniser: &Recogniser, samples: &[f32], block: usize) -> Vec<u64> {
    let mut decoder = recogniser.start().unwrap();
    let (mut pushed, mut delays, mut early) = (0, vec![], vec![]);
    for samples in samples.chunks(block) {
        let certain = decoder.push(samples).unwrap();
        pushed += samples.len() as u64;
        delays.extend(certain.phones.iter().map(|phone| pushed - phone.end));
        early.extend(certain.phones);
    }
    let whole = recogniser.decode(samples).unwrap();
    assert_eq!(early, whole.phones.segments[..early.len()]);
    assert_eq!(decoder.finish().unwrap(), whole);
    delays
}

/// Median and most of `delays`, in seconds, and how far the network hears ahead.
fn told(recogniser: &Recogniser, mut delays: Vec<u64>) -> (f64, f64) {
    delays.sort_unstable();
    let (median, most) = (delays[delays.len() / 2], delays[delays.len() - 1]);
    let bundle = recogniser.bundle();
    let context = bundle.network.context().right.unwrap() as u64 * u64::from(bundle.timing().shift);
    let [context, median, most] = [context, median, most].map(|samples| samples as f64 / 16_000.0);
    println!("{} phones, right context {context} s, delay: median {median} s, most {most} s", delays.len());
    (median, context)
}

/// The shipped model on real speech, as fast as it is spoken: 30 ms at a time.
#[test]
fn phones_come_within_half_a_second_of_what_the_network_hears_ahead() {
    let recogniser = recogniser(None);
    let (median, context) = told(&recogniser, delays(&recogniser, &samples(), 480));
    assert!(median <= context + 0.5, "{median} {context}");
}

/// The same for every thirteenth recording of the an4 test set.
#[test]
fn commands_come_within_half_a_second_of_what_the_network_hears_ahead() {
    let Some(shared) = std::env::var_os("SENONE_SHARED").map(PathBuf::from) else {
        println!("skipped: SENONE_SHARED names no folder of real recordings");
        return;
    };
    let recogniser = recogniser(None);
    let all = utterances(&shared.join("data/an4/test.tsv"), usize::MAX);
    let some = all.iter().step_by(13).flat_map(|(path, _)| {
        let samples = audio::read(path, &AudioOptions::default()).unwrap().samples;
        delays(&recogniser, &samples, 480)
    });
    let (median, context) = told(&recogniser, some.collect());
    assert!(median <= context + 0.5, "{median} {context}");
}

#[test]
fn thousands_of_empty_chunks_are_gone_through() {
    let dir = Dir::new();
    let (mut bytes, _) = speech();
    dir.write("plain.wav", &bytes);
    bytes.extend(b"junk\0\0\0\0".repeat(200_000));
    let plain = dir.senone("decode --format ctm plain.wav").ok().stdout.replace("plain", "chunks");
    dir.write("chunks.wav", &bytes);
    assert_eq!(dir.senone("decode --format ctm chunks.wav").ok().stdout, plain);
}

#[test]
fn a_beam_that_is_far_too_narrow_ends_legally_and_is_rated() {
    let dir = Dir::new();
    dir.write("speech.wav", &speech().0);
    let extends = "format = 1\nextends = \"model\"\n[lexicon]\nfile = \"words.dict\"\n[grammar]\nrule = \"he was not an ill young man | man\"\n";
    dir.write("words.dict", "he HH IY\nwas W AH Z\nnot N AA T\nan AE N\nill IH L\nyoung Y AH NG\nman M AE N\n");
    dir.write("words.toml", extends);
    let options = "decode --graph words.toml --beam 0.5 --max-active 1 --format ctm --tier words --confidence";
    let file = dir.senone(&format!("{options} speech.wav")).ok();
    let words: Vec<&str> = file.stdout.lines().map(|line| line.split(' ').nth(4).unwrap()).collect();
    assert!(["he was not an ill young man", "man"].contains(&words.join(" ").as_str()), "{words:?}");
    let piped = dir.senone(&format!("{options} -")).input(speech().0).ok();
    assert_eq!(piped.stdout.replace("stdin", "speech"), file.stdout);
    assert!(file.stderr.contains("the beam of 0.5 lost every path"), "{}", file.stderr);
}
