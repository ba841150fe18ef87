//! Commands on bad input: what they say, where, and with which exit status; and that good files do not suffer for bad ones.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use senone::random::Random;

use super::toy::{self, RATE_HZ, TOY};
use super::util::{Dir, wav};

/// Quiet noise, in which a model hears something or other.
fn noise(samples: usize) -> Vec<f32> {
    let mut random = Random::new(samples as u64);
    (0..samples).map(|_| 0.05 * random.normal()).collect()
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Rows of text output: start and end in seconds, phone.
fn rows(text: &str) -> Vec<(f64, f64, &str)> {
    let row = |line| {
        let fields: Vec<&str> = str::split_whitespace(line).collect();
        let [start, end, phone] = fields[..] else { panic!("not three columns: {line}") };
        (start.parse().unwrap(), end.parse().unwrap(), phone)
    };
    text.lines().map(row).collect()
}

mod recordings {
    use super::*;

    #[test]
    fn what_is_no_recording_is_named() {
        let dir = toy::with_model();
        dir.write("empty.wav", "");
        dir.write("text.wav", "hello\n");
        dir.wav("header.wav", RATE_HZ, &[]);
        dir.wav("short.wav", RATE_HZ, &noise(399));
        dir.wav("mono.wav", RATE_HZ, &noise(4000));
        dir.write("folder/readme.txt", "no audio here");
        let cases = [
            ("none.wav", "none.wav: cannot read: No such file or directory (os error 2)"),
            ("empty.wav", "empty.wav: the file is empty"),
            ("text.wav", "text.wav: text, not audio, expected WAV, FLAC, Ogg Vorbis, MP3, AIFF or SPHERE"),
            ("header.wav", "header.wav: no samples: there is a header, but no audio after it"),
            ("short.wav", "short.wav: only 399 samples: at least 400, one frame, are needed"),
            ("mono.wav --channel 2", "mono.wav: no channel 2: the file has 1"),
            ("folder", "folder: no audio files in this folder"),
            ("none.tsv", "none.tsv: cannot read: No such file or directory (os error 2)"),
        ];
        for (input, message) in cases {
            assert_eq!(dir.senone(&format!("decode --model model {input}")).refused(), message);
        }
    }

    #[test]
    fn one_frame_is_enough() {
        let dir = toy::with_model();
        dir.wav("frame.wav", RATE_HZ, &noise(400));
        let ran = dir.senone("decode --model model frame.wav").ok();
        let rows = rows(&ran.stdout);
        assert_eq!((rows.len(), rows[0].0, rows[0].1, ran.stderr.as_str()), (1, 0.0, 0.025, ""));
    }

    #[test]
    fn a_lower_rate_is_said_once_and_decoded() {
        let dir = toy::with_model();
        for name in ["a", "b", "c"] {
            dir.wav(&format!("{name}.wav"), 8000, &noise(4000));
        }
        let ran = dir.senone("decode --model model a.wav b.wav c.wav --format ctm").ok();
        assert_eq!(
            ran.stderr,
            "senone: a.wav: 8000 Hz resampled to 16000 Hz: it holds nothing above 4000 Hz, where the model expects sound \
             up to 8000 Hz, so expect more errors\n"
        );
        for name in ["a", "b", "c"] {
            assert!(ran.stdout.contains(&format!("{name} 1 0.000 ")), "{}", ran.stdout);
        }
    }

    #[test]
    fn digital_silence_is_silence_however_long() {
        let dir = toy::with_model();
        for milliseconds in [25, 30, 35, 500, 3000, 60_000] {
            dir.wav("silence.wav", RATE_HZ, &vec![0.0; milliseconds * 16]);
            let ran = dir.senone("decode --model model silence.wav").ok();
            assert_eq!(rows(&ran.stdout), [(0.0, milliseconds as f64 / 1000.0, "SIL")]);
            assert_eq!(ran.stderr, "senone: silence.wav: nothing but digital silence: every sample is zero\n");
        }
    }

    #[test]
    fn digital_silence_after_speech_is_silence() {
        let dir = toy::with_model();
        let mut samples = vec![0.0; 8000];
        samples.extend(noise(8000));
        samples.extend(vec![0.0; 8000]);
        dir.wav("gap.wav", RATE_HZ, &samples);
        let ran = dir.senone("decode --model model gap.wav").ok();
        let rows = rows(&ran.stdout);
        assert!(rows[0].2 == "SIL" && rows[0].1 >= 0.45, "{rows:?}");
        assert!(rows[rows.len() - 1].2 == "SIL" && rows[rows.len() - 1].0 <= 1.05, "{rows:?}");
    }

    #[test]
    fn standard_input_is_read() {
        let dir = toy::with_model();
        let bytes = wav(RATE_HZ, &noise(8000));
        dir.write("stdin.wav", &bytes);
        let from_file = dir.senone("decode --model model stdin.wav --format ctm").ok().stdout;
        let piped = dir.senone("decode --model model - --format ctm").input(bytes.clone()).ok().stdout;
        assert!(piped.starts_with("stdin 1 0.000 "));
        assert_eq!(piped, from_file);
        assert_eq!(dir.senone("decode --model model -").input(Vec::new()).refused(), "-: the file is empty");
        let twice = dir.senone("decode --model model - -").input(bytes).refused();
        assert_eq!(twice, "standard input (-) can be read only once");
    }

    #[test]
    fn only_a_model_of_mandarin_has_syllables() {
        let dir = toy::with_model();
        for option in ["--units syllable", "--toneless"] {
            let refused =
                dir.senone(&format!("decode --model model {option}")).arg(TOY.utterance("test-5-0")).refused();
            assert_eq!(
                refused,
                format!("{option}: the model has no finals of Mandarin, as recipes/mandarin names them")
            );
        }
    }

    /// SPN is the model's filler, which is dead in decoding; as `unknown` it is told of.
    #[test]
    fn a_filler_that_the_model_cannot_hear_is_told_of() {
        let dir = Dir::new();
        let graph = std::fs::read_to_string(repository("models/en/graph.toml")).unwrap();
        dir.write("words.dict", "we W IY\nhe HH IY\nwas W AH Z\nnot N AA T\n");
        dir.write(
            "words.toml",
            format!("{graph}\n[lexicon]\nfile = 'words.dict'\nunknown = 'SPN'\nunknown_weight = 100.0\n"),
        );
        let ran = dir
            .senone("decode --graph words.toml --tier phones")
            .arg(repository("tests/data/sense-and-sensibility.wav"))
            .ok();
        let told = "senone: words.toml: SPN is the model's filler, which takes the place of unknown words in alignment only, so that no \
                    word is recognised as SPN, which `unknown` of [lexicon] names\n";
        assert_eq!(ran.stderr, told);
        assert!(!ran.stdout.contains("SPN"), "{}", ran.stdout);
    }

    /// The shape of the built-in model's output; what it hears is its recipe's to say.
    #[test]
    fn the_built_in_model_decodes_english() {
        let dir = Dir::new();
        let ran = dir.senone("decode").arg(repository("tests/data/sense-and-sensibility.wav")).ok();
        assert_eq!(ran.stderr, "");
        let rows = rows(&ran.stdout);
        assert_eq!((rows[0].0, rows[rows.len() - 1].1), (0.0, 2.99));
        assert!(rows.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[0].1), "{rows:?}");
        let info = dir.senone("info").ok().stdout;
        let phones = info.lines().find_map(|line| line.strip_prefix("phones ")).unwrap();
        assert!(rows.iter().all(|row| phones.split_whitespace().any(|phone| phone == row.2)), "{rows:?}");
        assert!(rows.iter().filter(|row| row.2 != "SIL").count() >= 10, "{rows:?}");
    }

    #[test]
    fn phones_are_called_as_the_user_wants() {
        let dir = Dir::new();
        dir.write("own.map", "SIL\nIH short-i\n");
        let audio = repository("tests/data/sense-and-sensibility.wav");
        let decode = |names: &str| dir.senone(&format!("decode {names}")).arg(&audio).ok().stdout;
        let [own, ipa, lee_hon, mapped] = ["", "--phones ipa", "--phones timit39", "--phones own.map"].map(decode);
        let [own, ipa, lee_hon, mapped] = [rows(&own), rows(&ipa), rows(&lee_hon), rows(&mapped)];
        assert!(ipa.iter().all(|row| row.2 == "SIL" || row.2.chars().all(|letter| !letter.is_ascii_uppercase())));
        for (row, (ipa, lee_hon)) in own.iter().zip(ipa.iter().zip(&lee_hon)) {
            assert_eq!((row.0, row.1), (ipa.0, ipa.1));
            assert_eq!(
                lee_hon.2,
                match row.2 {
                    "AO" => "aa".into(),
                    "ZH" => "sh".into(),
                    other => other.to_lowercase(),
                }
            );
            assert!(row.2 != "TH" || ipa.2 == "θ");
        }
        assert_eq!((mapped[0].0, mapped[mapped.len() - 1].1), (0.0, 2.99));
        assert!(
            mapped.iter().all(|row| row.2 != "SIL" && row.2 != "IH") && mapped.iter().any(|row| row.2 == "short-i")
        );
        let refused = dir.senone("decode --phones klingon").arg(&audio).refused();
        assert!(refused.starts_with("klingon: cannot read"), "{refused}");
    }
}

mod several_recordings {
    use super::*;

    /// Two good recordings with a bad one between.
    fn folder() -> Dir {
        let dir = toy::with_model();
        dir.wav("audio/a.wav", RATE_HZ, &noise(8000));
        dir.write("audio/b.wav", "not audio");
        dir.wav("audio/c.wav", RATE_HZ, &noise(9000));
        dir
    }

    #[test]
    fn a_failure_leaves_the_output_of_the_others_whole() {
        let dir = folder();
        let alone = |name: &str| dir.senone(&format!("decode --model model --format ctm audio/{name}.wav")).ok().stdout;
        let ran = dir.senone("decode --model model --format ctm audio").run();
        assert_eq!(ran.status, 1);
        assert_eq!(ran.stdout, alone("a") + &alone("c"));
        assert_eq!(
            ran.stderr,
            "senone: audio/b.wav: text, not audio, expected WAV, FLAC, Ogg Vorbis, MP3, AIFF or SPHERE\n\
             senone: 1 of 3 recordings failed\n"
        );
    }

    #[test]
    fn files_are_written_for_the_others_too() {
        let dir = folder();
        for (format, ending) in [("text", "txt"), ("ctm", "ctm"), ("textgrid", "TextGrid"), ("json", "json")] {
            let ran = dir.senone(&format!("decode --model model --format {format} --output {format} audio")).run();
            assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
            assert_eq!(dir.list(format), [format!("a.{ending}"), format!("c.{ending}")]);
            let alone = dir.senone(&format!("decode --model model --format {format} audio/c.wav")).ok().stdout;
            assert_eq!(dir.read(&format!("{format}/c.{ending}")), alone);
        }
    }

    #[test]
    fn text_says_whose_rows_they_are() {
        let dir = folder();
        let text = dir.senone("decode --model model audio/a.wav audio/c.wav").ok().stdout;
        let alone = |name: &str| dir.senone(&format!("decode --model model audio/{name}.wav")).ok().stdout;
        assert_eq!(text, format!("a:\n{}c:\n{}", alone("a"), alone("c")));
    }

    #[test]
    fn a_text_grid_holds_one_recording() {
        let message = folder().senone("decode --model model --format textgrid audio/a.wav audio/c.wav").refused();
        assert_eq!(
            message,
            "a file of format textgrid holds one utterance, and there are several: add --output DIR to get a file for each"
        );
    }

    #[test]
    fn two_outputs_never_share_a_name() {
        let dir = folder();
        dir.wav("more/a.wav", RATE_HZ, &noise(8000));
        let what_to_do = "take them in separate runs, or name them in a manifest";
        let message = dir.senone("decode --model model --output out audio/a.wav more/a.wav").refused();
        assert_eq!(message, format!("audio/a.wav and more/a.wav would both be written as a.txt: {what_to_do}"));
        assert!(!dir.path("out").exists());
        let message = dir.senone("decode --model model --format ctm audio/a.wav more/a.wav").refused();
        assert_eq!(message, format!("audio/a.wav and more/a.wav would both be written as a: {what_to_do}"));
        dir.write("slash.tsv", "utterance\taudio\nx/a\taudio/a.wav\nx_a\tmore/a.wav\n");
        let message = dir.senone("decode --model model --output out slash.tsv").refused();
        assert_eq!(message, format!("audio/a.wav and more/a.wav would both be written as x_a.txt: {what_to_do}"));
        dir.write("named.tsv", "utterance\taudio\nx/a\taudio/a.wav\ny\tmore/a.wav\n");
        dir.senone("decode --model model --output out named.tsv").ok();
        assert_eq!(dir.list("out"), ["x_a.txt", "y.txt"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = folder();
        dir.write("out", "a file");
        let message = dir.senone("decode --model model --output out audio/a.wav").refused();
        assert_eq!(message, "out: cannot create: File exists (os error 17)");
    }
}

mod output {
    use super::*;

    #[test]
    fn a_closed_pipe_ends_quietly() {
        let dir = toy::with_model();
        let graph = repository("tests/data/graphs/mandarin.toml");
        for command in [
            dir.senone("decode --model model --format json").arg(TOY.path("test.tsv")),
            dir.senone("graph dot").arg(&graph),
            dir.senone("info model"),
        ] {
            let mut child = command.spawn_piped();
            drop(child.stdout.take());
            let status = child.wait().unwrap();
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert_eq!((status.code(), said.as_str()), (Some(0), ""));
        }
    }

    #[test]
    fn a_reader_that_stops_after_a_line_has_that_line() {
        let mut child = Dir::new().senone("graph dot").arg(repository("tests/data/graphs/mandarin.toml")).spawn_piped();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap(); // and is dropped
        assert_eq!(line, "digraph graph_of_symbols {\n");
        let ran = child.wait_with_output().unwrap();
        assert_eq!((ran.status.code(), ran.stderr.len()), (Some(0), 0));
    }

    #[test]
    fn nobody_need_listen_to_what_is_said() {
        let dir = toy::with_model();
        dir.write("bad.wav", "not audio");
        let mut child = dir.senone("decode --model model bad.wav").arg(TOY.utterance("test-5-0")).spawn_piped();
        drop(child.stderr.take());
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(1));
        assert!(ran.stdout.starts_with(b"test-5-0:\n"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let dir = toy::with_model();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut child = dir.senone("info model").spawn_into(full);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "senone: standard output: cannot write: No space left on device (os error 28)\n");
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
}

mod models {
    use super::*;

    /// What is said of the model in folder `model`, by each command that opens it.
    fn refused(dir: &Dir) -> String {
        dir.wav("a.wav", RATE_HZ, &noise(8000));
        let message = dir.senone("decode --model model a.wav").refused();
        assert_eq!(dir.senone("info model").refused(), message);
        let tune = dir.senone("tune model").arg(TOY.path("test.tsv")).arg("--lexicon").arg(TOY.path("words.dict"));
        assert_eq!(tune.refused(), message);
        message
    }

    #[test]
    fn a_missing_part_is_named() {
        for part in ["bundle.toml", "graph.toml", "phones.arpa", "weights.safetensors"] {
            let dir = toy::with_model();
            std::fs::remove_file(dir.path(&format!("model/{part}"))).unwrap();
            let message = format!("model: {part}: is missing: copy the whole folder that training wrote");
            assert_eq!(refused(&dir), message);
        }
        let dir = Dir::new();
        assert_eq!(refused(&dir), "model: model: is not a folder: give the folder that holds bundle.toml");
    }

    #[test]
    fn a_graph_of_another_size_is_refused() {
        let dir = toy::with_model();
        dir.edit("model/graph.toml", "states = 1", "states = 2");
        dir.edit("model/graph.toml", "min_frames = 1", "min_frames = 2");
        assert_eq!(
            refused(&dir),
            "model: graph.toml: the acoustic model scores 6 pdfs but the graph uses 12: they must be trained for each other"
        );
    }

    #[test]
    fn a_graph_of_other_rules_is_refused() {
        let dir = toy::with_model();
        dir.edit("model/graph.toml", "[[forbid]]\nfrom = \"SIL\"\nto = \"SIL\"\n", "");
        let message = refused(&dir);
        assert!(message.starts_with("model: weights.safetensors: transition weights: "), "{message}");
        assert!(message.ends_with("expected: the parts are of different models"), "{message}");
    }

    #[test]
    fn a_broken_graph_or_n_gram_is_said_with_its_line() {
        let dir = toy::with_model();
        dir.edit("model/graph.toml", "\"IY\"", "IY");
        let message = refused(&dir);
        assert!(message.starts_with("model/graph.toml:5:") && message.contains("not valid TOML"), "{message}");
        let dir = toy::with_model();
        dir.edit("model/phones.arpa", "SPN", "SPAM");
        let message = refused(&dir);
        assert!(message.starts_with("model/phones.arpa:") && message.contains("SPAM"), "{message}");
    }

    #[test]
    fn truncated_weights_are_refused_wherever_they_end() {
        let dir = toy::with_model();
        let whole = std::fs::read(dir.path("model/weights.safetensors")).unwrap();
        for length in [0, 4, 8, 100, whole.len() / 2, whole.len() - 1] {
            dir.write("model/weights.safetensors", &whole[..length]);
            let message = refused(&dir);
            assert!(message.starts_with("model: weights.safetensors: is broken ("), "{message}");
            assert!(message.ends_with("expected the safetensors file that training wrote; copy it again"), "{message}");
        }
    }

    #[test]
    fn settings_that_are_not_right_are_named() {
        let wrong = |from: &str, to: &str| {
            let dir = toy::with_model();
            dir.edit("model/bundle.toml", from, to);
            refused(&dir)
        };
        assert_eq!(
            wrong("format = 1", "format = 2"),
            "model: bundle.toml: format = 2: expected format = 1, the one this version reads; get a model of that format or \
             another version of senone"
        );
        assert_eq!(wrong("format = 1\n", ""), "model: bundle.toml: no `format` key: expected format = 1");
        let message = wrong("\nbeam = ", "\nbeem = ");
        assert!(
            message.starts_with("model: bundle.toml: line ") && message.contains("unknown field `beem`"),
            "{message}"
        );
        let message = wrong("\nbeam = ", "\nbeam = -");
        assert!(message.ends_with(": expected a number above 0"), "{message}");
        let message = wrong("mel_bins = 20", "mel_bins = 21");
        assert!(message.starts_with("model: weights.safetensors: network: the tensor "), "{message}");
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        let dir = toy::with_model();
        dir.write("model/bundle.toml", [0xff, 0xfe]);
        assert_eq!(refused(&dir), "model: bundle.toml: is not UTF-8 text: the file is broken");
    }
}

mod settings {
    use super::*;

    #[test]
    fn search_settings_out_of_range_are_named() {
        let dir = toy::with_model();
        dir.wav("a.wav", RATE_HZ, &noise(8000));
        let cases = [
            ("--beam -1", "beam = -1: expected a number above 0"),
            ("--beam 0", "beam = 0: expected a number above 0"),
            ("--beam nan", "beam = NaN: expected a number above 0"),
            ("--max-active 0", "max active = 0: expected at least 1"),
            ("--acoustic-scale nan", "acoustic scale = NaN: expected a number above 0"),
            ("--acoustic-scale 0", "acoustic scale = 0: expected a number above 0"),
            ("--prior-scale -0.5", "prior scale = -0.5: expected a number of at least 0"),
            ("--lm-scale inf", "LM scale = inf: expected a number of at least 0"),
            ("--insertion-penalty nan", "insertion penalty = NaN: expected a finite number"),
        ];
        for (options, message) in cases {
            assert_eq!(dir.senone(&format!("decode --model model a.wav {options}")).refused(), message);
        }
        let cases = [
            ("--beam wide", "invalid value 'wide' for '--beam <X>'"),
            ("--max-active -1", "invalid value '-1' for '--max-active <N>'"),
            ("--exact --beam 5", "cannot be used with"),
            ("--channel 0", "invalid value '0' for '--channel <N>'"),
            ("--threads 0", "invalid value '0' for '--threads <N>'"),
            (
                "--format csv",
                "[possible values: text, ctm, textgrid, textgrid-short, json, tsv, lab, mlf, eaf, srt, audacity]",
            ),
        ];
        for (options, message) in cases {
            let said = dir.senone(&format!("decode --model model a.wav {options}")).misused();
            assert!(said.contains(message), "{options}: {said}");
        }
        assert!(dir.senone("decode --model model").misused().contains("<AUDIO>"));
    }

    #[test]
    fn settings_change_what_is_heard_and_a_narrow_beam_is_widened() {
        let dir = toy::with_model();
        let decode =
            |options: &str| dir.senone(&format!("decode --model model {options}")).arg(TOY.utterance("test-5-0")).ok();
        let plain = decode("");
        assert_eq!(decode("--exact").stdout, plain.stdout);
        let fewer = decode("--insertion-penalty -30");
        assert!(fewer.stdout.lines().count() < plain.stdout.lines().count(), "{}", fewer.stdout);
        let narrow = decode("--beam 1e-3 --max-active 1");
        assert_eq!(rows(&narrow.stdout)[0].0, 0.0);
    }

    #[test]
    fn without_the_graph_each_frame_speaks_for_itself() {
        let dir = toy::with_model();
        let decode =
            |options: &str| dir.senone(&format!("decode --model model {options}")).arg(TOY.utterance("test-5-0")).ok();
        let frames = decode("--no-graph").stdout;
        let phones = rows(&frames);
        assert!(phones.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].2 != pair[1].2), "{frames}");
        assert!(phones.len() >= rows(&decode("").stdout).len(), "{frames}");
        assert_ne!(decode("--no-graph --prior-scale 9").stdout, frames);
        for option in ["--beam 5", "--ngram model/phones.arpa"] {
            let said = dir.senone(&format!("decode --model model a.wav --no-graph {option}")).misused();
            assert!(said.contains("cannot be used with"), "{said}");
        }
    }

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal")))]
    fn a_device_that_was_not_built_in_is_refused_before_anything_is_read() {
        let dir = Dir::new();
        for device in ["cuda", "metal"] {
            let expected = format!(
                "cannot train on {device}: this senone was built without it: build with `cargo build --release --features \
                 {device}`, or train on the cpu"
            );
            assert_eq!(dir.senone(&format!("train nowhere --device {device}")).refused(), expected);
        }
        assert!(dir.senone("train nowhere --device tpu").misused().contains("[possible values: cpu, cuda, metal]"));
    }

    #[test]
    fn training_settings_are_checked_before_anything_is_read() {
        let refused = |file: &str, from: &str, to: &str| {
            let dir = Dir::new();
            for name in ["train.toml", "graph.toml", "graph-align.toml"] {
                dir.write(name, std::fs::read(TOY.path(name)).unwrap()); // and no corpus
            }
            dir.edit(file, from, to);
            let message = dir.senone("train train.toml --work work --output model").refused();
            assert!(!dir.path("work").exists() && !dir.path("model/bundle.toml").exists());
            message
        };
        let message = refused("train.toml", "seed = 3", "sed = 3");
        assert!(
            message.starts_with("train.toml: line 3, column 1: unknown field `sed`, expected one of "),
            "{message}"
        );
        let message = refused("train.toml", "seed = 3", "seed = \"three\"");
        assert!(message.starts_with("train.toml: line 3, column 8: invalid type: string \"three\""), "{message}");
        let message = refused("train.toml", "bottleneck = 16", "bottelneck = 16");
        assert!(message.contains("unknown field `bottelneck`"), "{message}");
        let message = refused("train.toml", "bottleneck = 16", "bottleneck = \"small\"");
        assert!(
            message.ends_with(": [network] bottleneck = \"small\": expected a width to 16384, or 0 for none"),
            "{message}"
        );
        assert!(message.starts_with("train.toml: line "), "{message}");
        for (tables, told) in [
            ("[lm]\nfile = 'a.arpa'\n", "[lm] is for decoding: "),
            (
                "[lexicon]\nfile = 'a.dict'\n[[exclusive]]\na = 'ma'\nb = 'see'\n",
                "[lexicon], and a grammar or exclusive rules over its words,",
            ),
        ] {
            let message = refused("graph.toml", "[topology.default]", &format!("{tables}[topology.default]"));
            assert!(message.starts_with("graph.toml:") && message.contains(told), "{message}");
        }
        let cases = [
            (
                "bottleneck = 16",
                "bottleneck = 16385",
                "[network] bottleneck = 16385: expected a width to 16384, or 0 for none",
            ),
            ("mel_bins = 20", "mel_bins = 2", "mel_bins = 2: expected 3 to 1024"),
            ("epochs = 5", "epochs = 0", "epochs = 0: expected at least 1"),
            ("gaussians = 40", "gaussians = 0", "gaussians = 0: expected a whole number from 1 to 1000000"),
            ("order = 2", "order = 0", "[ngram] order = 0: expected an n-gram order from 1 to 16"),
            ("order = 2", "order = 99", "[ngram] order = 99: expected an n-gram order from 1 to 16"),
        ];
        for (from, to, message) in cases {
            assert_eq!(refused("train.toml", from, to), format!("train.toml: {message}"));
        }
        assert_eq!(
            refused("train.toml", "filler = \"SPN\"", "filler = \"GARBAGE\""),
            "graph-align.toml: no symbol \"GARBAGE\", which train.toml names as filler: add it to a class"
        );
        let message = refused("graph.toml", "min_frames = 1", "min_frame = 1");
        assert_eq!(message, "graph.toml:17:1: unknown key `min_frame`, expected one of states, min_frames, self_loop");
    }
}

mod corpora {
    use super::*;

    fn folder() -> Dir {
        let dir = toy::with_model();
        dir.wav("a.wav", RATE_HZ, &noise(16_000));
        dir.write("words.dict", "ma M AA\nsee S IY\n");
        dir.write("good.tsv", "utterance\tspeaker\taudio\twords\nu1\tann\ta.wav\tma see\n");
        dir.write("bad.tsv", "utterance\tspeaker\taudio\twords\nu1\tann\ta.wav\tma\nu2\ta.wav\n");
        dir.write(
            "unknown.tsv",
            "utterance\taudio\twords\nu1\ta.wav\tma see\nu2\ta.wav\tma zap zap\nu3\ta.wav\tZap!\n",
        );
        dir
    }

    #[test]
    fn a_bad_line_is_named_by_every_command() {
        let dir = folder();
        for line in [
            "decode --model model bad.tsv",
            "validate good.tsv bad.tsv",
            "score bad.tsv hyp.ctm --lexicon words.dict",
            "tune model bad.tsv --lexicon words.dict",
        ] {
            assert_eq!(dir.senone(line).refused(), "bad.tsv:3: 2 fields: expected 4, as in the header");
        }
    }

    #[test]
    fn validation_counts_unknown_words() {
        let dir = folder();
        let ran = dir.senone("validate good.tsv --lexicon words.dict").ok();
        assert!(ran.stdout.ends_with("no problems\n"), "{}", ran.stdout);
        let ran = dir.senone("validate unknown.tsv --lexicon words.dict").run();
        assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
        assert!(ran.stdout.contains("\n  unknown words: 1, in 2 utterances: zap 3\n"), "{}", ran.stdout);
    }

    #[test]
    fn scoring_leaves_out_utterances_with_unknown_words_by_name() {
        let dir = folder();
        dir.write("hyp.ctm", "u1 1 0 1 M\nu1 1 1 1 AA\nu1 1 2 1 S\nu1 1 3 1 IY\nu2 1 0 1 M\nu3 1 0 1 S\n");
        let ran = dir.senone("score unknown.tsv hyp.ctm --lexicon words.dict").ok();
        assert!(ran.stdout.starts_with("PER 0.00 %"), "{}", ran.stdout);
        let line = "words of unknown pronunciation, left out (utterances: 2 of 3): u2 (zap zap), u3 (zap)";
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }

    #[test]
    fn tuning_leaves_out_what_it_cannot_use_by_name() {
        let dir = folder();
        dir.wav("short.wav", RATE_HZ, &[]);
        let rows = "u1\ta.wav\tma\nu2\ta.wav\tzap\nu3\tnone.wav\tma\nu4\ta.wav\t\nu5\tshort.wav\tma\n";
        dir.write("some.tsv", format!("utterance\taudio\twords\n{rows}"));
        let said = dir.senone("tune model some.tsv --lexicon words.dict").ok().stderr;
        for line in [
            "senone: left out u2: it has a word that the lexicon lacks\n",
            "senone: left out u3: none.wav: cannot read: No such file or directory (os error 2)\n",
            "senone: left out u4: the transcript is empty: some.tsv:5\n",
            "senone: left out u5: short.wav: no samples: there is a header, but no audio after it\n",
        ] {
            assert!(said.contains(line), "{said}");
        }
        assert!(said.contains(" % on 1 utterances\n") && said.ends_with("\nmodel: written\n"), "{said}");
        dir.write("none.tsv", "utterance\taudio\twords\nu2\ta.wav\tzap\n");
        let ran = dir.senone("tune model none.tsv --lexicon words.dict").run();
        assert_eq!(ran.status, 1);
        assert!(ran.stderr.ends_with("senone: no development utterance to tune on\n"), "{}", ran.stderr);
    }

    #[test]
    fn tuning_holds_what_is_given() {
        let dir = folder();
        dir.write("some.tsv", "utterance\taudio\twords\nu1\ta.wav\tma\n");
        let tune = |options: &str| dir.senone(&format!("tune model some.tsv --lexicon words.dict {options}"));
        tune("--prior-scale 0 --lm-scale 0.25").ok();
        let description = std::fs::read_to_string(dir.path("model/bundle.toml")).unwrap();
        assert!(description.contains("\nprior_scale = 0.0\nlm_scale = 0.25\n"), "{description}");
        // What is not given stays, byte by byte.
        dir.write("model/phones.arpa", format!("made by hand\n{}", dir.read("model/phones.arpa")));
        let arpa = dir.read("model/phones.arpa");
        tune("--lm-scale 0.5").ok();
        assert_eq!(dir.read("model/phones.arpa"), arpa);
        // Before any recording is read, and so before the network runs.
        let wrong = dir.senone("tune model none.tsv --lexicon words.dict --lm-scale -1").refused();
        assert_eq!(wrong, "LM scale = -1: expected a number of at least 0");
    }
}

mod graphs {
    use super::*;

    #[test]
    fn a_file_that_extends_a_model_is_checked_on_that_model() {
        let dir = toy::with_model();
        dir.write("greeting.toml", "format = 1\nextends = \"model\"\n[grammar]\nrule = \"HH (AY | EH L OW)\"\n");
        let report = dir.senone("graph check greeting.toml").ok().stdout;
        assert!(report.contains("symbols             41\n") && report.ends_with("2 frames\n"), "{report}");
        let drawing = dir.senone("graph dot greeting.toml").ok().stdout;
        assert_eq!(drawing.matches("start -> ").count(), 2, "HH, or a pause before it:\n{drawing}");
        let said = dir.senone("graph check greeting.toml --model model").refused();
        assert!(said.starts_with("greeting.toml:4:"), "{said}");
        dir.edit("greeting.toml", "AY", "AX");
        let said = dir.senone("graph check greeting.toml").refused();
        assert_eq!(said, "greeting.toml:4:13: `AX` is neither a symbol nor a class of [classes]");
    }

    #[test]
    fn a_good_graph_is_reported() {
        let dir = Dir::new();
        dir.write("graph.toml", std::fs::read(TOY.path("graph.toml")).unwrap());
        let report = "name                toy\nsymbols             6\npdfs                6\nlegal pairs         35\n\
            states              11\narcs                76\ntransitions         53\nmemory              2032 bytes\nshortest utterance  1 frames\n";
        assert_eq!(dir.senone("graph check graph.toml").ok().stdout, report);
    }

    #[test]
    fn a_graph_is_drawn() {
        let dot = Dir::new().senone("graph dot").arg(repository("tests/data/graphs/bio.toml")).ok().stdout;
        assert!(dot.starts_with("digraph graph_of_symbols {\n") && dot.ends_with("}\n"), "{dot}");
        assert!(dot.contains("[label=\"B-PER\"") && dot.contains(" -> "), "{dot}");
    }

    #[test]
    fn a_bad_graph_is_refused_with_line_and_column() {
        let dir = Dir::new();
        let text = std::fs::read_to_string(TOY.path("graph.toml")).unwrap();
        dir.write("graph.toml", text.replace("self_loop = 0.7", "self_loop = 1.5"));
        let message = "graph.toml:18:13: expected a probability above 0 and below 1, or false, found 1.5";
        for command in ["check", "dot"] {
            assert_eq!(dir.senone(&format!("graph {command} graph.toml")).refused(), message);
            let missing = dir.senone(&format!("graph {command} none.toml")).refused();
            assert_eq!(missing, "none.toml: cannot read: No such file or directory (os error 2)");
        }
    }
}
