//! `senone decode --stream` and the library's way of it: what comes early is what comes at the end, and it comes soon.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use senone::audio::{self, AudioOptions};
use senone::bundle::Bundle;
use senone::decode::{DecodeOptions, Method, Recogniser};
use senone::network::Acoustic;

use super::toy;
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

/// The shipped model on real speech, as fast as it is spoken: 30 ms at a time.
#[test]
fn phones_come_within_half_a_second_of_what_the_network_hears_ahead() {
    let bundle = Bundle::builtin().unwrap();
    let context = bundle.network.context().right.unwrap() as u64 * u64::from(bundle.timing().shift);
    let options = DecodeOptions { settings: bundle.description.search, method: Method::Beam, confidence: None };
    let recogniser = Recogniser::new(Arc::new(bundle), options).unwrap();
    let samples = audio::read(&repository(SPEECH), &AudioOptions::default()).unwrap().samples;
    let mut delays = delays(&recogniser, &samples, 480);
    delays.sort_unstable();
    let (median, most) = (delays[delays.len() / 2], delays[delays.len() - 1]);
    let seconds = |samples: u64| samples as f64 / 16_000.0;
    println!(
        "{} phones, right context {:.3} s, delay: median {:.3} s, most {:.3} s",
        delays.len(),
        seconds(context),
        seconds(median),
        seconds(most)
    );
    assert!(median <= context + 8_000, "{median} {context}");
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
