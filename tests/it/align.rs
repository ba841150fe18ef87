//! `senone align` on the toy language: where texts come from, what comes out, what is said of bad input; and on real recordings.

use std::path::{Path, PathBuf};

use senone::random::Random;

use super::toy::{self, RATE_HZ, TOY};
use super::util::{Dir, Ran};

const ALIGN: &str = "align --model model --lexicon words.dict";

/// The toy model, its dictionary, and a recording that says the words of `one.txt`.
fn one() -> (Dir, String) {
    let dir = toy::with_model();
    dir.write("words.dict", std::fs::read(TOY.path("words.dict")).unwrap());
    let words = words_of("test-5-0");
    dir.write("one.wav", std::fs::read(TOY.utterance("test-5-0")).unwrap());
    (dir, words)
}

/// What an utterance of the toy test set says.
fn words_of(utterance: &str) -> String {
    let manifest = std::fs::read_to_string(TOY.path("test.tsv")).unwrap();
    let line = manifest.lines().find(|line| line.starts_with(&format!("{utterance}\t"))).unwrap();
    line.rsplit('\t').next().unwrap().to_owned()
}

/// Start, end, label of rows of text.
fn rows(text: &str) -> Vec<(f64, f64, String)> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields[0].parse().unwrap(), fields[1].parse().unwrap(), fields[2].to_owned())
    };
    text.lines().map(row).collect()
}

/// Columns of the table of `--summary`, without its heading.
fn summary(dir: &Dir) -> Vec<Vec<String>> {
    let text = dir.read("summary.tsv");
    assert_eq!(text.lines().next().unwrap(), "utterance\tverdict\tseconds\twords\tunknown\tfit\tdetail");
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn every_format_has_phones_and_words() {
    let (dir, words) = one();
    dir.write("one.txt", &words);
    let printed = |options: &str| dir.senone(&format!("{ALIGN} one.wav {options}")).ok().stdout;
    let phones = rows(&printed(""));
    assert!(phones.windows(2).all(|pair| pair[0].1 == pair[1].0) && phones[0].0 == 0.0);
    let found = rows(&printed("--tier words"));
    assert_eq!(found.iter().map(|row| row.2.as_str()).collect::<Vec<_>>().join(" "), words);
    let starts = |time: f64| phones.iter().any(|row| row.0 == time && row.2 != "SIL");
    let ends = |time: f64| phones.iter().any(|row| row.1 == time && row.2 != "SIL");
    assert!(found.iter().all(|row| starts(row.0) && ends(row.1)));
    let label = |line: &str| line.split(' ').nth(4).unwrap().to_owned();
    let ctm: Vec<String> = printed("--format ctm").lines().map(label).collect();
    assert_eq!(ctm, phones.iter().map(|row| row.2.clone()).collect::<Vec<_>>());
    let ctm: Vec<String> = printed("--format ctm --tier words").lines().map(label).collect();
    assert_eq!(ctm.join(" "), words);
    let json: serde_json::Value = serde_json::from_str(&printed("--format json")).unwrap();
    assert_eq!(json["tiers"]["words"].as_array().unwrap().len(), found.len());
    assert_eq!(json["tiers"]["phones"].as_array().unwrap().last().unwrap()["end"], json["seconds"]);
    let grid = printed("--format textgrid");
    assert!(grid.contains("name = \"phones\"") && grid.contains("name = \"words\""), "{grid}");
    dir.senone(&format!("{ALIGN} one.wav --format textgrid --output out --summary summary.tsv --gop gop.tsv")).ok();
    assert_eq!(dir.list("out"), ["one.TextGrid"]);
    assert_eq!(summary(&dir)[0][..2], ["one", "aligned"]);
    let gop = dir.read("gop.tsv");
    let spoken = gop.lines().skip(1).filter(|line| !line.contains("\tSIL\t"));
    assert!(spoken.clone().count() > 3 && spoken.clone().all(|line| line.split('\t').count() == 6), "{gop}");
    assert!(spoken.clone().all(|line| line.rsplit('\t').next().unwrap().parse::<f64>().unwrap() <= 0.0), "{gop}");
}

#[test]
fn a_text_may_be_anywhere() {
    let (dir, words) = one();
    let align = |input: &str| dir.senone(&format!("{ALIGN} --tier words {input}")).ok().stdout;
    let expected = dir.senone(&format!("{ALIGN} one.wav --tier words --text")).arg(&words).ok().stdout;
    assert_eq!(expected.lines().count(), 3);
    let audio = std::fs::read(dir.path("one.wav")).unwrap();
    let grid =
        "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n0 1 <exists> 1 \"IntervalTier\" \"words\" 0 1 1 0 1 ";
    for (name, text) in [
        ("txt/a.txt", words.clone()),
        ("lab/a.lab", words.clone()),
        ("grid/a.TextGrid", format!("{grid}\"{words}\"\n")),
        ("only/a.TextGrid", format!("{}\"{words}\"\n", grid.replace("\"words\"", "\"what she said\""))),
        ("mlf/a.mlf", format!("#!MLF!#\n\"*/b.lab\"\nxx\n.\n\"*/a.lab\"\n{}\n.\n", words.replace(' ', "\n"))),
        ("ctm/a.ctm", words.split(' ').zip(1..).map(|(word, at)| format!("a 1 {at} 1 {word}\n")).collect()),
        ("kaldi/text", format!("a {words}\n")),
    ] {
        let folder = name.split('/').next().unwrap();
        dir.write(&format!("{folder}/a.wav"), &audio);
        dir.write(name, text);
        if folder == "kaldi" {
            dir.write("kaldi/wav.scp", "a kaldi/a.wav\n");
        } else {
            assert_eq!(align(&format!("{folder}/a.wav")), expected, "{name}");
        }
        assert_eq!(align(folder), expected, "{name}");
    }
    dir.write("a.tsv", format!("utterance\taudio\twords\na\tone.wav\t{words}\n"));
    assert_eq!(align("a.tsv"), expected);
    let ran = dir.senone(&format!("{ALIGN} --tier words - --text")).arg(&words).input(audio).ok();
    assert_eq!(ran.stdout, expected);
}

#[test]
fn phones_need_no_lexicon() {
    let (dir, words) = one();
    dir.write("one.txt", &words);
    let phones = rows(&dir.senone(&format!("{ALIGN} one.wav")).ok().stdout);
    let said: Vec<&str> = phones.iter().map(|row| row.2.as_str()).filter(|phone| *phone != "SIL").collect();
    let again = dir.senone("align --model model one.wav --text").arg(said.join(" ")).ok().stdout;
    let spoken = |rows: &[(f64, f64, String)]| rows.iter().filter(|row| row.2 != "SIL").cloned().collect::<Vec<_>>();
    assert_eq!(spoken(&rows(&again)), spoken(&phones));
    let refused = dir.senone("align --model model one.wav --tier words --text").arg(said.join(" ")).refused();
    assert_eq!(refused, "one.wav: --tier words: the transcript has no words but phones alone; leave it out");
    let refused = dir.senone("align --model model one.wav").refused();
    let first = words.split(' ').next().unwrap();
    let expected =
        format!("one.wav: '{first}' (token 1) is no phone of the model: a transcript of words needs a lexicon");
    assert_eq!(refused, expected);
}

/// Runs on all of `folder`, expecting that some of it fails.
fn partly(dir: &Dir, options: &str) -> Ran {
    let ran = dir.senone(&format!("{ALIGN} {options} --format ctm --tier words --summary summary.tsv")).run();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    ran
}

#[test]
fn each_bad_input_is_one_sentence_and_the_others_are_aligned() {
    let (dir, words) = one();
    let audio = std::fs::read(dir.path("one.wav")).unwrap();
    let long = ["mass"; 60].join(" ");
    let texts = [
        ("good", Some(words.as_str())),
        ("empty", Some(" \n")),
        ("missing", None),
        ("script", Some("\u{4f60}\u{597d} \u{4e16}\u{754c}")),
        ("long", Some(&long)),
    ];
    for (name, text) in texts {
        dir.write(&format!("all/{name}.wav"), &audio);
        text.iter().for_each(|text| dir.write(&format!("all/{name}.txt"), text));
    }
    dir.write("all/broken.wav", "no audio at all");
    dir.write("all/broken.txt", &words);
    dir.write("all/grid.wav", &audio);
    dir.write("all/grid.TextGrid", "no grid at all");
    let ran = partly(&dir, "all");
    assert!(
        ran.stdout.lines().all(|line| line.starts_with("good ")) && ran.stdout.lines().count() == 3,
        "{}",
        ran.stdout
    );
    let table = summary(&dir);
    let found: Vec<(&str, &str)> = table.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let expected = [
        ("broken", "failed"),
        ("empty", "failed"),
        ("good", "aligned"),
        ("grid", "failed"),
        ("long", "too-short"),
        ("missing", "failed"),
        ("script", "failed"),
    ];
    assert_eq!(found, expected);
    let detail = |name: &str| table.iter().find(|row| row[0] == name).unwrap()[6].clone();
    assert_eq!(detail("empty"), "the transcript is empty: all/empty.txt:1");
    let missing = "no transcript: expected a .txt, .TextGrid, .lab, .mlf or .ctm of the same name beside the recording, or a text";
    assert_eq!(detail("missing"), missing);
    let script = "no word of the transcript is in the lexicon: '\u{4f60}\u{597d}' (word 1), '\u{4e16}\u{754c}' (word 2): give a lexicon \
                  of its language and its script";
    assert_eq!(detail("script"), script);
    assert!(detail("long").starts_with("the transcript takes 180 search frames at least, the recording has "));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 7, "{}", ran.stderr);
    assert!(lines[..6].iter().all(|line| line.starts_with("senone: all/")), "{}", ran.stderr);
    assert_eq!(lines[6], "senone: 6 of 7 recordings failed");
}

#[test]
fn unknown_words_are_told_and_skipped_or_refused() {
    let (dir, words) = one();
    let text = words.split(' ').collect::<Vec<_>>();
    let with = |word: &str| format!("{} {word} {}", text[0], text[2]);
    let align = |options: &str, text: &str| dir.senone(&format!("{ALIGN} one.wav {options} --text")).arg(text);
    let ran = align("--tier words", &with("Xyzzy,")).ok();
    let found: Vec<String> = rows(&ran.stdout).into_iter().map(|row| row.2).collect();
    assert_eq!(found, [text[0], "xyzzy", text[2]]);
    assert!(ran.stderr.contains("not in the lexicon, a filler stands for them: 'xyzzy' (word 2)"), "{}", ran.stderr);
    // The filler takes what the word would have taken.
    let right = rows(&align("--tier words", &words).ok().stdout);
    for (right, filled) in right.iter().zip(rows(&ran.stdout)) {
        assert!((right.0 - filled.0).abs() < 0.1 && (right.1 - filled.1).abs() < 0.1, "{right:?} {filled:?}");
    }
    let refused = align("--unknown error", &with("xyzzy")).refused();
    let reason = "one.wav: not in the lexicon: 'xyzzy' (word 2): add pronunciations, or correct the transcript";
    assert_eq!(refused, reason);
    dir.edit("model/bundle.toml", "filler = \"SPN\"\n", "");
    let reason = "one.wav: not in the lexicon: 'xyzzy' (word 2); the model has no filler, so that they cannot be skipped: add \
                  pronunciations, or correct the transcript";
    assert_eq!(align("", &with("xyzzy")).refused(), reason);
    dir.write("words.dict", dir.read("words.dict") + "odd M AA\nodd M QQ\n");
    let line = dir.read("words.dict").lines().count();
    let reason =
        format!("one.wav: the phone 'QQ' of 'odd' (word 2) is not one of the model's: correct words.dict:{line}");
    assert_eq!(align("", &with("odd")).refused(), reason);
}

#[test]
fn a_recording_of_no_frame_is_too_short() {
    let (dir, words) = one();
    dir.wav("tiny.wav", RATE_HZ, &[0.0; 10]);
    let refused = dir.senone(&format!("{ALIGN} tiny.wav --summary summary.tsv --text")).arg(&words).refused();
    let reason = "only 10 samples: at least 400, one frame, are needed";
    assert_eq!(refused, format!("tiny.wav: {reason}"));
    assert_eq!((summary(&dir)[0][1].as_str(), summary(&dir)[0][6].as_str()), ("too-short", reason));
}

#[test]
fn recordings_that_a_corpus_leaves_out_are_told() {
    let (dir, words) = one();
    for name in ["one", "two"] {
        dir.write(&format!("data/wav/train/S1/{name}.wav"), std::fs::read(dir.path("one.wav")).unwrap());
    }
    dir.write("data/transcript/aishell_transcript_v0.8.txt", format!("one {words}\n"));
    let ran = dir.senone(&format!("{ALIGN} data/wav/train --format ctm")).ok();
    let reason = "1 of 2 recordings are not in aishell_transcript_v0.8.txt and are left out";
    assert_eq!(ran.stderr, format!("senone: data/wav/train: {reason}\n"));
    assert!(
        ran.stdout.lines().count() > 3 && ran.stdout.lines().all(|line| line.starts_with("one ")),
        "{}",
        ran.stdout
    );
}

#[cfg(unix)]
#[test]
fn a_table_keeps_its_columns_whatever_files_are_called() {
    let (dir, words) = one();
    dir.write("o\tne.wav", std::fs::read(dir.path("one.wav")).unwrap());
    dir.senone(&format!("{ALIGN} --gop gop.tsv --text")).arg(&words).arg("o\tne.wav").ok();
    let gop = dir.read("gop.tsv");
    assert!(gop.lines().skip(1).all(|line| line.starts_with("o ne\t") && line.split('\t').count() == 6), "{gop}");
}

#[test]
fn what_a_text_loses_is_told() {
    let (dir, words) = one();
    let text: Vec<&str> = words.split(' ').collect();
    let written = format!("\u{201c}{}, {}-{}!\u{201d}", text[0].to_uppercase(), text[1], text[2]);
    let ran = dir.senone(&format!("{ALIGN} one.wav --tier words --text")).arg(&written).ok();
    let plain = dir.senone(&format!("{ALIGN} one.wav --tier words --text")).arg(words.to_uppercase()).ok();
    assert_eq!((ran.stdout.as_str(), plain.stderr.as_str()), (plain.stdout.as_str(), ""));
    let joined =
        format!("of the transcript is read '{}-{}!\u{201d}' (token 2) as '{} {}'", text[1], text[2], text[1], text[2]);
    assert!(
        ran.stderr.contains(&joined) && ran.stderr.contains("punctuation of the transcript is left out"),
        "{}",
        ran.stderr
    );
}

/// With the built-in model, for which the thresholds are.
#[test]
fn what_is_not_said_or_not_written_is_doubtful() {
    let dir = Dir::new();
    dir.write("words.dict", DICTIONARY);
    let align = |text: &str| {
        let line = "align --lexicon words.dict --tier words --summary summary.tsv --text";
        let ran = dir.senone(line).arg(text).arg(sentence()).ok();
        let row = summary(&dir).remove(0);
        assert_eq!(ran.stdout.lines().count(), text.split(' ').count());
        assert!(row[1] == "aligned" || ran.stderr.ends_with(&format!(": doubtful: {}\n", row[6])), "{}", ran.stderr);
        (row[1].clone(), row[6].clone())
    };
    assert_eq!(align("he was not an ill disposed young man").0, "aligned");
    let (verdict, detail) = align("young man disposed an ill man he was young");
    assert_eq!(verdict, "doubtful");
    let all = "from 0.00 to 2.99 s the recording does not sound like 'young man disposed an ill man ...' (fit -";
    assert!(detail.starts_with(all), "{detail}");
    let (verdict, detail) = align("he was not");
    assert_eq!(verdict, "doubtful");
    assert!(detail.contains(" s something is said that the transcript does not have (fit of a pause -"), "{detail}");
    let (verdict, detail) = align("he was not an ill disposed young man he was not an ill");
    assert_eq!(verdict, "doubtful");
    assert!(detail.contains("'he was not") && detail.starts_with("from 2."), "{detail}");
}

#[test]
fn a_beam_that_loses_the_way_is_widened() {
    let dir = Dir::new();
    dir.write("words.dict", DICTIONARY);
    let align = |beam: &str| {
        let line = format!("align --lexicon words.dict --summary summary.tsv --beam {beam} --text");
        let ran = dir.senone(&line).arg(SENTENCE).arg(sentence()).ok();
        (ran.stdout, ran.stderr, summary(&dir)[0][1].clone())
    };
    let (exact, narrow) = (align("inf"), align("0.001"));
    assert_eq!((exact.2.as_str(), narrow.2.as_str()), ("aligned", "widened"));
    assert_eq!(narrow.0, exact.0);
    assert!(
        narrow.1.contains(": the beam of 0.001 lost every path at search frame 99: searched again"),
        "{}",
        narrow.1
    );
    assert!(narrow.1.ends_with(": widened: without a beam\n"), "{}", narrow.1);
}

#[test]
fn a_command_line_that_cannot_be_meant_is_refused() {
    let (dir, words) = one();
    dir.write("two.wav", std::fs::read(dir.path("one.wav")).unwrap());
    let refused = |line: &str| dir.senone(&format!("{ALIGN} {line}")).arg(&words).refused();
    let two = "--text says what one recording holds, and there are 2: write a manifest";
    assert_eq!(refused("one.wav two.wav --text"), two);
    let stdin = "standard input (-) has no text beside it: say it with --text";
    assert_eq!(dir.senone(&format!("{ALIGN} -")).refused(), stdin);
    assert_eq!(refused("one.wav --beam 0 --text"), "beam = 0: expected a number above 0");
    let both = "--tier phones or words, beside --units syllable: rows are of one of them, leave the other out";
    assert_eq!(refused("one.wav --tier words --units syllable --text"), both);
    let grid = dir.senone(&format!("{ALIGN} one.wav two.wav --format textgrid")).refused();
    assert_eq!(
        grid,
        "a file of format textgrid holds one utterance, and there are several: add --output DIR to get a file for each"
    );
}

const SENTENCE: &str = "He was not an ill-disposed young man.";
const DICTIONARY: &str =
    "he HH IY\nwas W AH Z\nnot N AA T\nan AE N\nill IH L\ndisposed D IH S P OW Z D\nyoung Y AH NG\nman M AE N\n";

/// A recording of [`SENTENCE`].
fn sentence() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sense-and-sensibility.wav")
}

/// The built-in model, a sentence, and minutes of next to nothing after it.
#[test]
fn the_last_word_does_not_swallow_a_long_silence() {
    let dir = Dir::new();
    dir.write("words.dict", DICTIONARY);
    let mut reader = hound::WavReader::open(sentence()).unwrap();
    let speech: Vec<f32> = reader.samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32768.0).collect();
    let mut random = Random::new(1);
    let mut quiet = |seconds: usize| (0..seconds * 16_000).map(|_| 0.0003 * random.normal()).collect::<Vec<f32>>();
    let silence = vec![0.0; 150 * 16_000];
    dir.wav("long.wav", RATE_HZ, &[speech.clone(), quiet(150), silence].concat());
    dir.wav("short.wav", RATE_HZ, &speech);
    let words = |file: &str| {
        let line = format!("align {file} --lexicon words.dict --tier words --summary summary.tsv --text");
        let rows = rows(&dir.senone(&line).arg(SENTENCE).ok().stdout);
        (rows, summary(&dir)[0][1].clone())
    };
    let (short, verdict) = words("short.wav");
    assert_eq!((short.len(), verdict.as_str()), (8, "aligned"));
    let (long, verdict) = words("long.wav");
    assert_eq!((long.len(), verdict.as_str()), (8, "aligned"));
    for (short, long) in short.iter().zip(&long) {
        assert!((short.0 - long.0).abs() < 0.1 && (short.1 - long.1).abs() < 0.1, "{short:?} {long:?}");
    }
}

fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("SENONE_SHARED").map(|shared| PathBuf::from(shared).join("data"));
    if folder.is_none() {
        println!("skipped: SENONE_SHARED is not set");
    }
    folder
}

#[test]
fn real_utterances_are_aligned_and_told_from_wrong_transcripts() {
    let Some(data) = shared() else { return };
    let dir = Dir::new();
    let manifest = std::fs::read_to_string(data.join("an4/test.tsv")).unwrap();
    let lines: Vec<Vec<&str>> = manifest.lines().skip(1).step_by(13).map(|line| line.split('\t').collect()).collect();
    let (mut right, mut wrong) = ("utterance\taudio\twords\n".to_owned(), "utterance\taudio\twords\n".to_owned());
    for (index, line) in lines.iter().enumerate() {
        let audio = data.join("an4").join(line[2]);
        let other = lines[(index + 1) % lines.len()][4];
        right += &format!("{}\t{}\t{}\n", line[0], audio.display(), line[4]);
        wrong += &format!("{}\t{}\t{other}\n", line[0], audio.display());
    }
    dir.write("right.tsv", right);
    dir.write("wrong.tsv", wrong);
    let verdicts = |manifest: &str| {
        dir.senone(&format!("align {manifest} --summary summary.tsv --lexicon"))
            .arg(data.join("lexicon-en/cmudict.dict"))
            .run();
        summary(&dir).into_iter().map(|row| row[1].clone()).collect::<Vec<_>>()
    };
    let (right, wrong) = (verdicts("right.tsv"), verdicts("wrong.tsv"));
    assert!(right.len() == lines.len() && right.iter().all(|verdict| verdict == "aligned"), "{right:?}");
    let told = wrong.iter().filter(|verdict| ["doubtful", "too-short"].contains(&verdict.as_str())).count();
    assert!(told + 1 >= lines.len(), "{wrong:?}");
}

/// Nothing that was read is replaced: neither transcripts beside recordings, nor what tables are named like.
#[test]
fn what_is_read_is_not_replaced() {
    let (dir, words) = one();
    dir.write("in/one.txt", &words);
    dir.write("in/one.wav", std::fs::read(dir.path("one.wav")).unwrap());
    let beside = "in/one.txt: lies beside the recording in/one.wav and would be replaced: name another folder, or remove it first";
    let refused = |line: &str| dir.senone(line).refused();
    assert_eq!(refused(&format!("{ALIGN} in --output in")), beside);
    assert_eq!(refused("decode --model model in --output in"), beside);
    for (options, reason) in [
        (
            "--summary in/one.wav",
            "--summary in/one.wav: is one of the files that are read and would be replaced: name another",
        ),
        ("--gop words.dict", "--gop words.dict: is one of the files that are read and would be replaced: name another"),
        ("--gop in", "--gop in: is a folder, expected the name of a file to write"),
        ("--summary no/such.tsv", "--summary no/such.tsv: its folder does not exist: make it first"),
        ("--summary a.tsv --gop a.tsv", "--summary and --gop are both a.tsv: name two files"),
    ] {
        assert_eq!(refused(&format!("{ALIGN} in {options}")), reason);
    }
    assert_eq!(dir.read("in/one.txt"), words);
    dir.senone(&format!("{ALIGN} in --output in --format ctm")).ok();
    assert_eq!(dir.list("in"), ["one.ctm", "one.txt", "one.wav"]);
}
