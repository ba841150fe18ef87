//! A training run with everything that its settings offer: stopped at any moment, on any number of threads, without room to write.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::journey::parts;
use super::toy::{self, TOY};
use super::util::Dir;

/// Two passes that between them use every kind of step, average and end.
const PASSES: &str = "[[pass]]
epochs = 3
batch_frames = 400
optimiser = { kind = \"sgd\", momentum = 0.9 }
learning_rate = 5e-2
decay = \"linear\"
weight_decay = 1e-4
average_last = 2
[[pass]]
epochs = 12
batch_frames = 400
optimiser = { kind = \"adamw\", beta_2 = 0.99 }
learning_rate = 1e-2
decay = \"constant\"
least_share = 0.1
ema_decay = 0.9
patience = 2
not_finite = \"stop\"
[ngram]
order = 2
";

fn corpus() -> Dir {
    let dir = Dir::new();
    toy::corpus(&dir);
    let text = dir.read("train.toml");
    dir.write("train.toml", text.split_once("[[pass]]").unwrap().0.to_owned() + PASSES);
    dir
}

/// Rows of the log without their times.
fn rows(dir: &Dir, work: &str) -> Vec<String> {
    let row = |line: &str| line.rsplit_once('\t').unwrap().0.to_owned();
    fs::read_to_string(dir.path(&format!("{work}/log.tsv"))).unwrap_or_default().lines().map(row).collect()
}

#[test]
fn threads_change_no_byte_of_model_and_log_and_training_stops_early() {
    let dir = corpus();
    let run = |threads: usize| {
        let line = format!("--threads {threads} train train.toml --work work-{threads} --output model-{threads}");
        let said = dir.senone(&line).ok().stderr;
        (parts(&dir.path(&format!("model-{threads}"))), rows(&dir, &format!("work-{threads}")), said)
    };
    let (model, table, said) = run(2);
    println!("{said}");
    for threads in [1, 3] {
        let (other, other_table, _) = run(threads);
        assert!(other == model, "{threads} threads");
        assert_eq!(other_table, table, "{threads} threads");
    }
    let expected = "stage\tepoch\tlearning_rate\tloss\tframes_right_percent\tdevelopment_loss\t\
        development_frames_right_percent\tphone_error_percent";
    assert_eq!(table[0], expected);
    let of = |stage: &str| -> Vec<(usize, f64)> {
        let rows = table.iter().map(|row| row.split('\t').collect::<Vec<_>>()).filter(|row| row[0] == stage);
        rows.map(|row| (row[1].parse().unwrap(), row[7].parse().unwrap())).collect()
    };
    let (first, second) = (of("pass 1"), of("pass 2"));
    assert!(first.iter().map(|row| row.0).eq(1..=3) && second.iter().map(|row| row.0).eq(1..=second.len()));
    // As the rows say: it ends when two epochs in a row were no better than the best one before.
    let best = second.iter().fold(second[0], |best, row| if row.1 < best.1 { *row } else { best });
    assert!(second.len() == best.0 + 2 || second.len() == 12, "{second:?}");
    assert!(second.len() < 12, "nothing to see: {second:?}");
    let kept =
        format!("pass 2 ends with epoch {}: epoch {} is kept, phone error {:.2} %", second.len(), best.0, best.1);
    assert!(said.contains(&kept), "{kept}: {said}");
    let plain =
        |text: &str| text.lines().map(|line| line.split_once("] ").map_or(line, |parts| parts.1).to_owned()).collect();
    let (mut told, lines): (Vec<String>, Vec<String>) = (plain(&said), plain(&dir.read("work-2/log.txt")));
    assert_eq!(told.pop().unwrap(), "model-2: written");
    assert_eq!(told, lines);
    let curves = dir.read("work-2/curves.svg");
    assert_eq!(curves.matches("<circle").count(), 3 * (table.len() - 1));
}

/// Waits until the log has more than `before` rows or `run` has ended, then for `more`; how many there were.
fn after_rows(dir: &Dir, run: &mut Child, (before, more): (usize, Duration)) -> usize {
    let start = Instant::now();
    while rows(dir, "work").len() <= before && run.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(300), "no epoch ends");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(more);
    rows(dir, "work").len()
}

#[test]
fn killed_in_the_middle_of_epochs_a_run_ends_with_the_same_bytes() {
    let dir = corpus();
    dir.senone("train train.toml --work whole --output whole-model").ok();
    let seconds: f64 = dir.read("whole/log.tsv").lines().last().unwrap().rsplit_once('\t').unwrap().1.parse().unwrap();
    let train = || dir.senone("train train.toml --work work --output model --resume");
    let (mut killed, mut seen) = (0, 1);
    for attempt in 0..6 {
        let mut run = train().spawn();
        // Half an epoch after one has ended; once at its end, between the log and the checkpoint if it so happens.
        let more = if attempt == 2 { 0.0 } else { 0.5 * seconds };
        seen = after_rows(&dir, &mut run, (seen, Duration::from_secs_f64(more)));
        if attempt == 1 {
            // What Ctrl-C sends; the background job of a script ignores it, and is then killed as the others are.
            Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
        }
        run.kill().unwrap();
        killed += usize::from(run.wait().unwrap().code().is_none());
    }
    assert!(killed >= 3, "{killed} of 6 runs were stopped in time");
    let said = train().ok().stderr;
    assert!(killed < 6 || said.contains("done before, taken from the work folder"), "{said}");
    assert!(parts(&dir.path("model")) == parts(&dir.path("whole-model")));
    assert_eq!(rows(&dir, "work"), rows(&dir, "whole"));
    let left: Vec<String> = dir.list("work").into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
    for name in ["pass-1.safetensors", "pass-2.safetensors", "pass-1.ctm", "gmm.ctm"] {
        assert!(
            fs::read(dir.path(&format!("work/{name}"))).unwrap()
                == fs::read(dir.path(&format!("whole/{name}"))).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn a_run_that_diverges_leaves_the_model_that_is_there() {
    let dir = corpus();
    dir.copy(&TOY.path("model"), "model");
    let pass = "[[pass]]\nepochs = 1\nbatch_frames = 1000000\nlearning_rate = 1e30\n[ngram]\norder = 2\n";
    dir.write("train.toml", dir.read("train.toml").split_once("[[pass]]").unwrap().0.to_owned() + pass);
    let ran = dir.senone("train train.toml --work work --output model").run();
    assert!(ran.status == 1 && ran.stderr.contains("senone: training diverged in epoch 1: loss "), "{}", ran.stderr);
    assert!(!dir.path("work/pass-1.safetensors").exists());
    assert!(parts(&dir.path("model")) == parts(&TOY.path("model")));
}

#[test]
fn one_run_at_a_time_works_in_a_folder() {
    let dir = corpus();
    let train = || dir.senone("train train.toml --work work --output model --resume");
    let mut first = train().spawn();
    let start = Instant::now();
    while !dir.path("work/log.txt").exists() {
        assert!(start.elapsed() < Duration::from_secs(300), "training does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    let busy = "work: another run is at work in this folder: wait until it ends, or name another work folder";
    assert_eq!(train().refused(), busy);
    assert_eq!(dir.senone("train train.tsv --lexicon words.dict --work work --output model").refused(), busy);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!dir.path("model/bundle.toml").exists() && !dir.path("work/train.toml").exists());
    train().ok();
}

#[test]
fn a_checkpoint_of_other_settings_or_a_broken_one_is_named() {
    let dir = corpus();
    dir.copy(&TOY.path("work"), "toy");
    let settings = dir.read("train.toml");
    dir.write("first.toml", settings.replace("epochs = 12", "epochs = 1").replace("patience = 2", "patience = 0"));
    dir.senone("train first.toml --work work --output model").ok();
    let refused = || dir.senone("train first.toml --work work --output model --resume").run().stderr;
    for (bytes, reason) in [
        (fs::read(dir.path("toy/pass-1.safetensors")).unwrap(), "the checkpoint is of a run with other settings: "),
        (b"no such thing".to_vec(), "the checkpoint is broken ("),
    ] {
        dir.write("work/pass-1.safetensors", bytes);
        let said = refused();
        let last = said.lines().last().unwrap();
        assert!(last.starts_with(&format!("senone: work/pass-1.safetensors: {reason}")), "{said}");
        assert!(dir.read("work/log.txt").contains(&format!("] stopped: work/pass-1.safetensors: {reason}")), "{said}");
    }
}

#[test]
fn damaged_files_of_the_work_folder_are_named_or_made_anew() {
    let dir = Dir::new();
    toy::corpus(&dir);
    dir.senone("train train.toml --work work --output model").ok();
    let model = parts(&dir.path("model"));
    let damaged = |file: &str, bytes: &[u8]| {
        let whole = fs::read(dir.path(file)).unwrap();
        dir.write(file, bytes);
        let ran = dir.senone("train train.toml --work work --output again --resume").run();
        dir.write(file, whole);
        (ran.status, ran.stderr.lines().last().unwrap().to_owned())
    };
    let archive = "work/features.safetensors";
    let whole = fs::read(dir.path(archive)).unwrap();
    for length in [0, 7, 200, whole.len() / 2, whole.len() - 1] {
        let (status, last) = damaged(archive, &whole[..length]);
        assert!(status == 1 && last.starts_with(&format!("senone: {archive}: ")), "{length}: {last}");
    }
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let mut outcomes = [0; 2];
    for place in (0..header).step_by(header / 20) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 7);
        let (status, last) = damaged(archive, &bytes);
        let is_named = status == 1 && last.starts_with(&format!("senone: {archive}: "));
        assert!(is_named || status == 0 && parts(&dir.path("again")) == model, "byte {place}: {last}");
        outcomes[usize::from(is_named)] += 1;
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
    // An alignment that is too short, or has a hole.
    let ctm = dir.read("work/gmm.ctm");
    let lines: Vec<&str> = ctm.lines().collect();
    let utterance = lines[0].split(' ').next().unwrap();
    let second = lines[1].split(' ').nth(2).unwrap();
    let hole = damaged("work/gmm.ctm", lines[1..].join("\n").as_bytes());
    let said = format!(
        "senone: work/gmm.ctm: the phones of {utterance} leave off at 0.000 s and go on, or its audio ends, at {second}"
    );
    assert!(hole.0 == 1 && hole.1.starts_with(&said), "{hole:?}");
    let (status, last) = damaged("work/gmm.ctm", &ctm.as_bytes()[..ctm.len() - lines[lines.len() - 1].len() - 1]);
    assert!(
        status == 1 && last.contains("leave off at") && last.ends_with("remove the file, and it will be made anew"),
        "{last}"
    );
    // With all as it was, nothing is done again.
    let said = dir.senone("train train.toml --work work --output again --resume").ok().stderr;
    assert!(said.contains("features: done before") && parts(&dir.path("again")) == model, "{said}");
}

#[cfg(unix)]
#[test]
fn without_room_to_write_a_run_says_so_and_goes_on_later_to_the_same_bytes() {
    let dir = Dir::new();
    toy::corpus(&dir);
    // A limit on the size of files stands for a full disk.
    let stopped = |work: &str, blocks: usize| {
        let line = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {} train train.toml --work {work} --output model --resume",
            env!("CARGO_BIN_EXE_senone")
        );
        let ran = Command::new("sh").current_dir(dir.path("")).args(["-c", &line]).output().unwrap();
        String::from_utf8(ran.stderr).unwrap().lines().last().unwrap().to_owned()
    };
    let last = stopped("none", 40);
    assert!(last.starts_with("senone: none/features.draft: cannot write: File too large"), "{last}");
    assert_eq!(dir.list("none"), ["development.tsv", "lock", "log.txt", "settings.txt"]);
    // Where features and alignment are there, checkpoints do not fit.
    dir.senone("train train.toml --work whole --output whole-model").ok();
    for part in ["features.safetensors", "gmm.ctm"] {
        dir.write(&format!("work/{part}"), fs::read(dir.path(&format!("whole/{part}"))).unwrap());
    }
    let last = stopped("work", 40);
    assert!(last.starts_with("senone: work/pass-1.safetensors: cannot write: File too large"), "{last}");
    let made = "curves.svg development.tsv features.safetensors gmm.ctm lock log.tsv log.txt settings.txt";
    assert_eq!(dir.list("work").join(" "), made);
    assert!(!dir.path("model/bundle.toml").exists());
    dir.senone("train train.toml --work work --output model --resume").ok();
    assert!(parts(&dir.path("model")) == parts(&TOY.path("model")));
    assert_eq!(rows(&dir, "work").len(), 9);
    // Where a new model does not fit, the one that is there stays.
    let (last, there) = (stopped("work", 8), dir.list("model"));
    assert!(last.starts_with("senone: model/weights.safetensors: cannot write: File too large"), "{last}");
    assert!(parts(&dir.path("model")) == parts(&TOY.path("model")) && there == dir.list("whole-model"));
}

#[test]
fn what_settings_and_transcripts_tell_is_told_before_the_first_stage() {
    let dir = corpus();
    let train = || dir.senone("train train.toml --work work --output model");
    let lost = "patience = 2: expected 0 without development utterances whose words are known: their phone error is what it goes by";
    dir.edit("train.toml", "development_speakers = 1\n", "");
    assert_eq!(train().refused(), format!("train.toml: {lost}"));
    // A development set of unknown words only cannot be scored.
    dir.write("strange.tsv", toy::HEADER.to_owned() + "strange\tspeaker\taudio/test-5-0.wav\tzap zap\n");
    dir.edit("train.toml", "[gmm]", "[[corpus]]\nsource = \"strange.tsv\"\nuse = \"development\"\n[gmm]");
    let ran = train().run();
    assert!(ran.status == 1 && ran.stderr.ends_with(&format!("senone: {lost}\n")), "{}", ran.stderr);
    assert!(!ran.stderr.contains("reading"), "{}", ran.stderr);
    fs::remove_dir_all(dir.path("work")).unwrap();
    // Of unknown words only, nothing can be learnt either.
    let known = dir.read("words.dict");
    dir.write("words.dict", "else M AA\n");
    let ran = train().run();
    assert!(
        ran.status == 1 && ran.stderr.contains("senone: no word of the training utterances is in the lexicon: give"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("reading"), "{}", ran.stderr);
    dir.write("words.dict", known);
    fs::remove_dir_all(dir.path("work")).unwrap();
    // What only the last stages would meet.
    dir.edit("train.toml", "patience = 2\n", "");
    dir.edit("train.toml", "order = 2\n", "order = 2\ntext = [{ file = \"said.txt\", share = 0.5 }]\n");
    dir.write("words.dict", dir.read("words.dict") + "odd ODD\n");
    dir.write("said.txt", "mass odd\n");
    let odd = "said.txt:1: the phone \"ODD\", which the text asks for, is no symbol of the graph";
    assert_eq!(train().refused(), odd);
    dir.edit("graph-align.toml", "\"SPN\", ", "\"SPN\", \"ODD\", ");
    let agree = "graph.toml: no symbol \"ODD\", which graph-align.toml has: the two graphs must agree";
    assert_eq!(train().refused(), agree);
    let output = "words.dict: a file, expected a folder for the model, as --output";
    assert_eq!(dir.senone("train train.toml --output words.dict/model").refused(), output);
    assert!(!dir.path("work").exists());
    dir.edit("train.toml", "ema_decay = 0.9", "ema_decay = 0.9\naverage_last = 2");
    let both =
        "train.toml: average_last = 2: expected 1 with ema_decay: the parameters are averaged in one way or the other";
    assert_eq!(dir.senone("train train.toml --work work --output model").refused(), both);
}

#[cfg(unix)]
#[test]
fn a_folder_that_takes_no_model_is_told_before_training() {
    use std::os::unix::fs::PermissionsExt;

    let dir = corpus();
    let refused = |output: &str| dir.senone(&format!("train train.toml --work work --output {output}")).refused();
    let long = "m".repeat(300);
    assert!(refused(&long).starts_with(&format!("{long}: cannot create: ")));
    fs::create_dir(dir.path("locked")).unwrap();
    let permit = |mode| fs::set_permissions(dir.path("locked"), fs::Permissions::from_mode(mode)).unwrap();
    permit(0o555);
    // A superuser writes there all the same.
    if fs::write(dir.path("locked/probe"), "").is_err() {
        assert!(refused("locked").starts_with("locked/bundle.toml: cannot write: "));
        assert!(refused("locked/model").starts_with("locked/model: cannot create: "));
    }
    permit(0o755);
    assert!(!dir.path("work").exists());
}
