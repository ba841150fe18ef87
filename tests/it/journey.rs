//! From recordings and their words to a model, and back to phones: `train`, `tune`, `decode`, `score`, `info` in turn.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::toy::{self, RATE_HZ, TOY};
use super::util::Dir;

/// The parts of a model, as bytes.
pub fn parts(model: &Path) -> Vec<Vec<u8>> {
    let part = |name: &str| fs::read(model.join(name)).unwrap();
    ["bundle.toml", "graph.toml", "phones.arpa", "weights.safetensors"].map(part).into()
}

/// Phone error on the test speakers, percent, of the model in folder `model`.
pub fn phone_error(dir: &Dir, model: &str) -> f64 {
    let ctm = dir.senone(&format!("decode --model {model} --format ctm")).arg(TOY.path("test.tsv")).ok().stdout;
    assert!(!ctm.contains(" SPN\n"), "the filler is no phone to hear:\n{ctm}");
    let description = fs::read_to_string(TOY.path("model/bundle.toml")).unwrap();
    assert!(description.contains("\nfiller = \"SPN\"\n"), "{description}");
    dir.write("test.ctm", ctm);
    let score = dir.senone("score").arg(TOY.path("test.tsv")).arg("test.ctm");
    let report = score.arg("--lexicon").arg(TOY.path("words.dict")).ok().stdout;
    println!("{report}");
    assert!(report.contains("\n12 utterances, 2 speakers"), "{report}");
    report.strip_prefix("PER ").unwrap().split_once(' ').unwrap().0.parse().unwrap()
}

#[test]
fn a_model_learns_its_language_and_tuning_helps() {
    println!("{}", TOY.log);
    let dir = toy::with_model();
    let plain = phone_error(&dir, "model");
    let tune = dir.senone("tune model").arg(TOY.path("work/development.tsv"));
    let said = tune.arg("--lexicon").arg(TOY.path("words.dict")).ok().stderr;
    println!("{said}");
    // The development speaker's unknown words are no reference.
    assert!(said.contains("left out train-") && said.contains("it has a word that the lexicon lacks"), "{said}");
    assert!(said.contains(" utterances\nconfidence: expected calibration error "), "{said}");
    assert!(said.ends_with("\nmodel: written\n"), "{said}");
    let tuned = phone_error(&dir, "model");
    assert!(plain < 20.0 && tuned <= plain + 3.0, "{plain} % before, {tuned} % after tuning");
    assert_ne!(parts(&dir.path("model"))[0], parts(&TOY.path("model"))[0]);
    assert_eq!(parts(&dir.path("model"))[1..], parts(&TOY.path("model"))[1..]);
    // The confidences alone: the model is as before, without those that were put in.
    let before = dir.read("model/bundle.toml");
    dir.write("model/bundle.toml", format!("{before}\n[confidence]\nscale = 9.0\nslope = 2.0\noffset = 3.0\n"));
    let tune = dir.senone("tune model --only-confidence").arg(TOY.path("work/development.tsv"));
    tune.arg("--lexicon").arg(TOY.path("words.dict")).ok();
    assert_eq!(dir.read("model/bundle.toml"), before);
}

#[test]
fn a_model_is_described() {
    let info = toy::with_model().senone("info model").ok().stdout;
    println!("{info}");
    assert!(info.starts_with("toy\nFour phones spoken by machines.\n\n"), "{info}");
    for line in [
        "audio              16000 Hz",
        "search frame       30 ms",
        "phones             SIL SPN AA IY M S",
        "n-gram             order 2, ",
        "pdfs                6",
    ] {
        assert!(info.contains(&format!("\n{line}")), "{line} is not in\n{info}");
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let dir = Dir::new();
    toy::corpus(&dir);
    for threads in [1, 3] {
        let line = format!("--threads {threads} train train.toml --work work-{threads} --output model-{threads}");
        dir.senone(&line).ok();
        assert!(parts(&dir.path(&format!("model-{threads}"))) == parts(&TOY.path("model")), "{threads} threads");
    }
    let decode = |threads: usize| {
        let line = format!("--threads {threads} decode --model model-1 --format json");
        dir.senone(&line).arg(TOY.path("test.tsv")).ok().stdout
    };
    assert_eq!(decode(1), decode(3));
}

/// Waits until `path` is there, then kills `run`; whether it came in time.
fn killed_at(mut run: Child, path: &Path) -> bool {
    let start = Instant::now();
    while !path.exists() && run.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(300), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(path.exists(), "ended without {}", path.display());
    run.kill().unwrap();
    run.wait().unwrap().code().is_none()
}

#[test]
fn a_run_that_is_killed_goes_on_to_the_same_bytes() {
    let dir = Dir::new();
    toy::corpus(&dir);
    dir.edit("train.tsv", "train-0-0\t", "train 0 0\t"); // a name that no CTM has as it is
    let train = || dir.senone("train train.toml --work work --output model --resume");
    let mut killed = 0;
    for stage in ["gmm.ctm", "pass-1.safetensors", "pass-1.ctm", "pass-2.safetensors"] {
        if killed_at(train().spawn(), &dir.path(&format!("work/{stage}"))) {
            assert!(!dir.path("model/bundle.toml").exists());
            killed += 1;
        } else {
            fs::remove_dir_all(dir.path("model")).unwrap(); // a busy machine, and this came too late
        }
    }
    assert!(killed >= 2, "{killed} of 4 runs were killed in time");
    let said = train().ok().stderr;
    for done in ["alignment by the Gaussian model", "pass 1, 3 epochs", "realignment after pass 1", "pass 2, "] {
        assert!(said.contains(done) && said.contains("done before, taken from the work folder"), "{done}: {said}");
    }
    assert!(parts(&dir.path("model")) == parts(&TOY.path("model")));
    let refused = dir.senone("train train.toml --work work --output other").refused();
    assert_eq!(refused, "work: holds results of this run: --resume goes on from them, another work folder begins anew");
    let again = train().ok().stderr;
    assert!(!again.contains("EM 1") && !again.contains(" epoch "), "{again}");
    assert!(parts(&dir.path("model")) == parts(&TOY.path("model")));
}

#[test]
fn a_work_folder_belongs_to_one_run() {
    let dir = Dir::new();
    for name in ["train.toml", "graph.toml", "graph-align.toml"] {
        dir.write(name, fs::read(TOY.path(name)).unwrap());
    }
    // The manifest lists nothing, so each run stops after it has claimed the folder.
    dir.write("words.dict", "ma M AA\n");
    dir.write("train.tsv", toy::HEADER);
    let run = || dir.senone("train train.toml --work work --output model").refused();
    let nothing = "train.tsv:1: no utterance is listed";
    assert_eq!(run(), nothing);
    assert_eq!(run(), nothing);
    let message = "work: holds a run with other settings, graphs, corpora, lexicon, start or device: name another work \
        folder, or remove this one";
    for (file, from, to) in [
        ("train.toml", "seed = 3", "seed = 4"),
        ("graph.toml", "self_loop = 0.7", "self_loop = 0.6"),
        ("graph-align.toml", "self_loop = 0.7", "self_loop = 0.6"),
        ("words.dict", "M AA", "M"),
        ("train.tsv", "words", "words\tage"),
    ] {
        dir.edit(file, from, to);
        assert_eq!(run(), message, "{file}");
        dir.edit(file, to, from);
        assert_eq!(run(), nothing);
    }
    let resumed = || dir.senone("train train.toml --work work --output model --resume").run().stderr;
    assert_eq!(resumed(), format!("[  0:00] nothing to resume in work: training begins\nsenone: {nothing}\n"));
    dir.write("work/pass-1.safetensors", "");
    assert!(run().starts_with("work: holds results of this run: --resume goes on"), "{}", run());
    assert_eq!(resumed(), format!("senone: {nothing}\n"));
    for (unwritable, reason) in [("train.tsv", "cannot create: "), ("train.tsv/work", "cannot create: ")] {
        let found = dir.senone(&format!("train train.toml --work {unwritable} --output model")).refused();
        assert!(found.starts_with(&format!("{unwritable}: {reason}")), "{found}");
    }
    fs::create_dir_all(dir.path("logged/log.txt")).unwrap();
    let found = dir.senone("train train.toml --work logged --output model").refused();
    assert!(found.starts_with("logged/log.txt: cannot write: "), "{found}");
}

#[test]
fn a_perceptron_with_three_states_a_phone_learns_too() {
    let dir = Dir::new();
    toy::corpus(&dir);
    let text = dir.read("train.toml");
    let (before, rest) = text.split_once("[network]").unwrap();
    let (_, passes) = rest.split_once("average_last = 2").unwrap();
    let network = "[network]\nkind = \"mlp\"\nleft_frames = 4\nright_frames = 4\nwidths = [48]\ndropout = 0.0\n\
        [[pass]]\nepochs = 6\nbatch_frames = 400\nlearning_rate = 1e-2\n";
    dir.write("train.toml", format!("{before}{network}{passes}"));
    dir.edit("train.toml", "graph = \"graph.toml\"", "graph = \"graph-align.toml\"");
    println!("{}", dir.senone("train train.toml --work work --output model").ok().stderr);
    let info = dir.senone("info model").ok().stdout;
    assert!(info.contains("search frame       10 ms") && info.contains("pdfs                18"), "{info}");
    let percent = phone_error(&dir, "model");
    assert!(percent < 20.0, "{percent} %");
}

/// Settings of the toy run up to its passes, without the Gaussian model, and with `more` in their place.
pub fn settings_without_passes(dir: &Dir, more: &str) -> String {
    let text = dir.read("train.toml");
    let (before, rest) = text.split_once("[gmm]").unwrap();
    let (_, rest) = rest.split_once("[features]").unwrap();
    let (middle, _) = rest.split_once("[[pass]]").unwrap();
    format!("{before}[features]{middle}{more}\n[ngram]\norder = 2\n")
}

pub const SEQUENCES: &str = "[sequence]\ncriterion = \"mmi\"\nacoustic_scale = 0.8\nprior_scale = 0.3\n\
    cross_entropy_share = 0.1\ntraining = { epochs = 4, batch_frames = 400, learning_rate = 2e-3, average_last = 2, \
    augment = { speeds = [1.0], vocal_tract = 0.0 } }\n";

/// The losses of the epochs of `stage` that training told of.
fn losses(said: &str, stage: &str) -> Vec<f64> {
    let loss = |line: &str| line.split_once(": loss ")?.1.split_once(',')?.0.parse().ok();
    said.lines().filter(|line| line.contains(&format!("] {stage} epoch "))).filter_map(loss).collect()
}

#[test]
fn sequence_training_goes_on_from_a_model_to_the_same_bytes() {
    let dir = Dir::new();
    toy::corpus(&dir);
    for criterion in ["mmi", "margin"] {
        let settings = settings_without_passes(&dir, &SEQUENCES.replace("mmi", criterion));
        dir.write(&format!("{criterion}.toml"), settings);
    }
    let train = |name: &str, work: &str, threads: usize| {
        let line = format!("--threads {threads} train {name}.toml --work {work} --output {work}-model --resume --from");
        dir.senone(&line).arg(TOY.path("model"))
    };
    for criterion in ["mmi", "margin"] {
        let said = train(criterion, criterion, 2).ok().stderr;
        println!("{said}");
        assert!(said.contains("utterances aligned with the model to start from"), "{said}");
        let losses = losses(&said, "sequence training");
        assert!(losses.len() == 4 && losses[3] < losses[0], "{losses:?}");
        let percent = phone_error(&dir, &format!("{criterion}-model"));
        assert!(percent < 20.0, "{criterion}: {percent} %");
    }
    let whole = parts(&dir.path("mmi-model"));
    for threads in [1, 4] {
        let work = format!("threads-{threads}");
        train("mmi", &work, threads).ok();
        assert!(parts(&dir.path(&format!("{work}-model"))) == whole, "{threads} threads");
    }
    let mut killed = 0;
    for stage in ["start.ctm", "sequence.safetensors"] {
        killed += usize::from(killed_at(train("mmi", "killed", 2).spawn(), &dir.path(&format!("killed/{stage}"))));
    }
    assert!(killed > 0);
    let said = train("mmi", "killed", 2).ok().stderr;
    for done in ["alignment by the model to start from", "sequence training, "] {
        assert!(said.contains(done) && said.contains("done before, taken from the work folder"), "{done}: {said}");
    }
    assert!(parts(&dir.path("killed-model")) == whole);
    assert!(train("margin", "killed", 2).refused().starts_with("killed: holds a run with other settings"));
    let refused = |model: &str| dir.senone(&format!("train mmi.toml --work w --output m {model}")).refused();
    assert_eq!(refused(""), "no [gmm] table makes the first alignment: add one, or give a model to start from");
    dir.edit("mmi.toml", "mel_bins = 20", "mel_bins = 21");
    let other = "the model to start from, \"toy\", has other features than [features]: make them the same";
    assert_eq!(refused("--from mmi-model"), other);
}

#[test]
fn pitch_is_learnt_from_and_stays_with_the_model() {
    let dir = Dir::new();
    toy::corpus(&dir);
    dir.edit("train.toml", "mel_bins = 20\n", "mel_bins = 20\npitch = { high_hz = 400.0 }\n");
    dir.senone("train train.toml --work work --output model").ok();
    let info = dir.senone("info model").ok().stdout;
    assert!(info.contains(" 23 Fbank, the last 3 pitch\n"), "{info}");
    assert!(dir.read("model/bundle.toml").contains("high_hz = 400.0"));
    assert!(phone_error(&dir, "model") < 20.0);
    dir.edit("train.toml", "high_hz = 400.0", "high_hz = 4000.0");
    let refused = dir.senone("train train.toml --work other --output other-model").refused();
    assert!(refused.contains("pitch.high_hz = 4000: expected above pitch.low_hz and at most 800 Hz"), "{refused}");
}

#[test]
fn passes_may_end_with_sequence_training() {
    let dir = Dir::new();
    toy::corpus(&dir);
    dir.edit("train.toml", "[ngram]", &format!("{SEQUENCES}[ngram]"));
    let said = dir.senone("train train.toml --work work --output model").ok().stderr;
    println!("{said}");
    assert!(dir.path("work/pass-2.ctm").exists() && dir.path("work/sequence.safetensors").exists());
    let losses = losses(&said, "sequence training");
    assert!(losses[3] < losses[0], "{losses:?}");
    let info = dir.senone("info model").ok().stdout;
    assert!(info.contains("acoustic scale      0.8") || info.contains("0.8"), "{info}");
    assert!(phone_error(&dir, "model") < 20.0);
}

#[test]
fn linear_learners_decode_what_they_learnt_from_paths() {
    for learner in ["crf", "perceptron", "svm"] {
        let dir = Dir::new();
        toy::corpus(&dir);
        let text = dir.read("train.toml");
        let (before, rest) = text.split_once("[network]").unwrap();
        let before = before.replace("seed = 3", &format!("seed = 3\nlearner = \"{learner}\""));
        assert!(rest.contains("average_last"));
        let network = "[network]\nkind = \"mlp\"\nleft_frames = 3\nright_frames = 3\nwidths = []\nsubsampling = 3\n\
            dropout = 0.0\n[[pass]]\nepochs = 8\nbatch_frames = 400\nlearning_rate = 1e-2\naverage_last = 2\n[ngram]\norder = 1\n";
        dir.write("train.toml", format!("{before}{network}"));
        let said = dir.senone("train train.toml --work work --output model").ok().stderr;
        println!("{said}");
        let losses = losses(&said, "pass 1");
        assert!(losses[7] < losses[0], "{losses:?}");
        let percent = phone_error(&dir, "model");
        assert!(percent < 30.0, "{learner}: {percent} %");
        dir.edit("train.toml", "[ngram]", "[[pass]]\nepochs = 1\n[ngram]");
        let message = dir.senone("train train.toml --work work --output model").refused();
        assert_eq!(message, "train.toml: number of [[pass]] tables = 2: expected 1 with this learner");
    }
}

#[test]
fn unknown_words_pass_through_the_filler() {
    let said = "] 10 words (1 different) are not in the lexicon: zap (10)\n";
    assert!(TOY.log.contains(said), "{}", TOY.log);
    let aligned = fs::read_to_string(TOY.path("work/pass-1.ctm")).unwrap();
    let phones = |utterance: &str| -> Vec<&str> {
        let fields = aligned.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        fields.filter(|fields| fields[0] == utterance && fields[4] != "SIL").map(|fields| fields[4]).collect()
    };
    for speaker in 0..5 {
        assert_eq!(phones(&format!("train-{speaker}-1")).last(), Some(&"SPN"));
        assert!(!phones(&format!("train-{speaker}-0")).contains(&"SPN"));
    }
}

#[test]
fn what_cannot_be_learnt_from_is_named_and_left_out() {
    let dir = Dir::new();
    toy::corpus(&dir);
    dir.wav("audio/short.wav", RATE_HZ, &[0.01; 800]);
    dir.write("audio/empty.wav", "");
    dir.wav("audio/tiny.wav", RATE_HZ, &[0.01; 70]);
    let lines = "short\tspeaker-0\taudio/short.wav\tmass mass mass\nempty\tspeaker-0\taudio/empty.wav\tma\n\
        none\tspeaker-0\taudio/none.wav\tma\nsilent\tspeaker-0\taudio/train-0-0.wav\t\n\
        tiny\tspeaker-0\taudio/tiny.wav\tma\n";
    dir.write("train.tsv", dir.read("train.tsv") + lines);
    // Whichever speaker is taken out has an utterance that is too short for any path.
    for speaker in 0..5 {
        let line = format!("brief-{speaker}\tspeaker-{speaker}\taudio/short.wav\tmass mass mass\n");
        dir.write("train.tsv", dir.read("train.tsv") + &line);
    }
    let text = dir.read("train.toml");
    let (first, _) = text.split_once("[[pass]]").unwrap();
    dir.write("train.toml", format!("{first}[[pass]]\nepochs = 1\n[ngram]\norder = 2\n"));
    dir.edit("train.toml", "iterations = 8, realign = [1, 2, 3, 4, 5, 6, 7, 8]", "iterations = 2, realign = [1, 2]");
    dir.edit("train.toml", "last_split = 6", "last_split = 1");
    let said = dir.senone("train train.toml --work work --output model").ok().stderr;
    println!("{said}");
    for line in [
        "left out empty: audio/empty.wav: the file is empty\n",
        "left out none: audio/none.wav: cannot read: No such file or directory (os error 2)\n",
        "left out silent: the transcript is empty: train.tsv:",
        "left out tiny: only 70 samples: less than one frame\n",
        "left out short: no legal path: 5 search frames given, the shortest legal sequence needs 27: the audio is too short\n",
    ] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
    for speaker in 0..5 {
        assert!(said.contains(&format!("left out brief-{speaker}: no legal path")), "{said}");
    }
    assert!(dir.path("model/bundle.toml").exists());
}

#[test]
fn a_corpus_of_nothing_usable_is_refused() {
    let dir = Dir::new();
    for name in ["graph.toml", "graph-align.toml", "words.dict"] {
        dir.write(name, fs::read(TOY.path(name)).unwrap());
    }
    dir.write(
        "train.toml",
        fs::read_to_string(TOY.path("train.toml")).unwrap().replace("development_speakers = 1", ""),
    );
    dir.write("train.tsv", format!("{}a\tann\tnone.wav\tma\n", toy::HEADER));
    let ran = dir.senone("train train.toml --work work --output model").run();
    assert_eq!(ran.status, 1);
    let end = "senone: no utterance is left to learn from: see the reasons above\n";
    assert!(ran.stderr.ends_with(end) && ran.stderr.contains("left out a: none.wav: cannot read"), "{}", ran.stderr);
    dir.edit("train.toml", "source = \"train.tsv\"", "source = \"train.tsv\"\ndevelopment_speakers = 1");
    assert_eq!(
        dir.senone("train train.toml --work other --output model").refused(),
        "train.tsv: 1 of 1 speakers cannot be the development set: both sides need at least one"
    );
}

/// Start, end and label of one recording, from a format.
type Rows = Vec<(f64, f64, String)>;

fn from_text(text: &str) -> Rows {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields[0].parse().unwrap(), fields[1].parse().unwrap(), fields[2].to_owned())
    };
    text.lines().map(row).collect()
}

fn from_ctm(text: &str) -> Rows {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (start, duration): (f64, f64) = (fields[2].parse().unwrap(), fields[3].parse().unwrap());
        (start, start + duration, fields[4].to_owned())
    };
    text.lines().map(row).collect()
}

fn from_text_grid(text: &str) -> Rows {
    let values = |key: &str| -> Vec<String> {
        let value = |line: &str| Some(line.trim().strip_prefix(key)?.trim().trim_matches('"').to_owned());
        text.lines().skip_while(|line| !line.contains("intervals [1]")).filter_map(value).collect()
    };
    let (starts, ends, labels) = (values("xmin ="), values("xmax ="), values("text ="));
    assert!(starts.len() == ends.len() && ends.len() == labels.len());
    let number = |text: &String| text.parse().unwrap();
    let times = starts.iter().map(number).zip(ends.iter().map(number));
    times.zip(labels).map(|((start, end), label)| (start, end, label)).collect()
}

fn from_json(text: &str) -> Rows {
    let line: serde_json::Value = serde_json::from_str(text).unwrap();
    let row = |item: &serde_json::Value| {
        let number = |key: &str| item[key].as_f64().unwrap();
        (number("start"), number("end"), item["label"].as_str().unwrap().to_owned())
    };
    line["tiers"]["phones"].as_array().unwrap().iter().map(row).collect()
}

/// Rows of columns `start`, `end` and label from column `first` on, times in units of which a second has `unit`.
fn from_columns(text: &str, (separator, first, unit): (char, usize, f64)) -> Rows {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(separator).skip(first).collect();
        let time = |field: &str| field.parse::<f64>().unwrap() / unit;
        (time(fields[0]), time(fields[1]), fields[2].to_owned())
    };
    text.lines().map(row).collect()
}

/// The rows of the tier of phones of a table.
fn from_tsv(text: &str) -> Rows {
    let phones: String =
        text.lines().filter(|line| line.contains("\tphones\t")).map(|line| format!("{line}\n")).collect();
    from_columns(&phones, ('\t', 2, 1.0))
}

/// The rows of a master label file of one utterance.
fn from_mlf(text: &str) -> Rows {
    let body = text.strip_prefix("#!MLF!#\n\"*/a.lab\"\n").unwrap().strip_suffix(".\n").unwrap();
    from_columns(body, (' ', 0, 1e7))
}

#[test]
fn times_begin_at_zero_meet_and_end_with_the_audio_in_every_format() {
    let dir = toy::with_model();
    let speech = hound::WavReader::open(TOY.utterance("test-6-3")).unwrap();
    let speech: Vec<f32> = speech.into_samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32768.0).collect();
    // Ends within a frame, at one, and between milliseconds; and at a rate that does not divide.
    for (rate_hz, samples) in [(16_000, 14_400), (16_000, 14_481), (16_000, 9_613), (22_050, 15_007), (8_000, 7_999)] {
        dir.wav("a.wav", rate_hz, &speech[..samples]);
        let decode = |format: &str| dir.senone(&format!("decode --model model --format {format} a.wav")).ok().stdout;
        let all = [
            (from_text(&decode("text")), 5.1e-4),
            (from_ctm(&decode("ctm")), 5.1e-4),
            (from_text_grid(&decode("textgrid")), 1e-4), // one sample, when the rate was converted
            (from_json(&decode("json")), 1e-4),
            (from_tsv(&decode("tsv")), 5.1e-4),
            (from_columns(&decode("lab"), (' ', 0, 1e7)), 1e-4),
            (from_mlf(&decode("mlf")), 1e-4),
            (from_columns(&decode("audacity"), ('\t', 0, 1.0)), 1e-4),
        ];
        let seconds = samples as f64 / f64::from(rate_hz);
        for (rows, tolerance) in &all {
            assert!(rows.len() > 2 && rows[0].0 == 0.0, "{rows:?}");
            assert!((rows[rows.len() - 1].1 - seconds).abs() < *tolerance, "{seconds}: {rows:?}");
            assert!(rows.windows(2).all(|pair| (pair[0].1 - pair[1].0).abs() < 1e-9), "{rows:?}");
            assert!(rows.iter().all(|row| row.0 < row.1), "{rows:?}");
            let agree = |(row, first): (&(f64, f64, String), &(f64, f64, String))| {
                row.2 == first.2 && (row.0 - first.0).abs() < 6e-4
            };
            assert!(rows.len() == all[0].0.len() && rows.iter().zip(&all[0].0).all(agree), "{rows:?}");
        }
    }
}
