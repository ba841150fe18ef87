//! A language of four phones, spoken by machines: a corpus that a network learns in seconds.

use std::f32::consts::TAU;
use std::path::PathBuf;
use std::sync::LazyLock;

use senone::random::Random;

use super::util::Dir;

pub const RATE_HZ: u32 = 16_000;

/// Words with their phones; `zap` is in no lexicon.
const WORDS: [(&str, &[&str]); 7] = [
    ("ma", &["M", "AA"]),
    ("mass", &["M", "AA", "S"]),
    ("see", &["S", "IY"]),
    ("sim", &["S", "IY", "M"]),
    ("aim", &["AA", "IY", "M"]),
    ("easy", &["IY", "S", "IY"]),
    ("zap", &["SPN"]),
];
const KNOWN: usize = 6;

/// A speaker.
#[derive(Clone, Copy)]
struct Voice {
    pitch_hz: f32,
    loudness: f32,
    /// Factor on formants: from speaker 10 on, machines of another make.
    formants: f32,
}

fn voice(speaker: usize) -> Voice {
    let number = (speaker % 10) as f32;
    Voice {
        pitch_hz: 90.0 + 25.0 * number,
        loudness: 0.5 + 0.08 * number,
        formants: if speaker < 10 { 1.0 } else { 2.0 },
    }
}

/// `samples` of `phone`: a buzz of harmonics with one or two formants, or noise.
fn sound(
    phone: &str,
    Voice { pitch_hz, loudness, formants: factor }: Voice,
    samples: usize,
    random: &mut Random,
) -> Vec<f32> {
    let formants: &[f32] = match phone {
        "AA" => &[700.0, 1100.0],
        "IY" => &[300.0, 2500.0],
        "M" => &[200.0],
        _ => &[],
    };
    let mut before = 0.0;
    let mut sample = |index: usize| {
        let noise = random.normal();
        let high = noise - before; // a difference has no low frequencies
        before = noise;
        let buzz = |formant: &f32| {
            let harmonic = (factor * formant / pitch_hz).round().max(1.0) * pitch_hz;
            let second = |offset: f32| (TAU * (harmonic + offset) * index as f32 / RATE_HZ as f32).sin();
            second(0.0) + 0.5 * second(pitch_hz)
        };
        match phone {
            "SIL" => 0.002 * noise,
            "S" => loudness * 0.1 * high,
            "SPN" => loudness * (0.2 * (TAU * 1700.0 * index as f32 / RATE_HZ as f32).sin() + 0.05 * noise),
            _ => loudness * 0.15 * formants.iter().map(buzz).sum::<f32>() + 0.003 * noise,
        }
    };
    (0..samples).map(&mut sample).collect()
}

/// Speaks `words` (indices) with a pause before, after, and at times between them.
fn speak(words: &[usize], speaker: usize, random: &mut Random) -> Vec<f32> {
    let mut samples = sound("SIL", voice(speaker), 1600 + random.below(801), random);
    for word in words {
        for phone in WORDS[*word].1 {
            let length = 1300 + random.below(1101);
            samples.extend(sound(phone, voice(speaker), length, random));
        }
        if random.uniform() < 0.3 {
            samples.extend(sound("SIL", voice(speaker), 1600, random));
        }
    }
    samples.extend(sound("SIL", voice(speaker), 2080 + random.below(801), random));
    // 236 samples of a search frame of 480: in milliseconds they are half of it, which counts as another.
    samples.truncate(samples.len() / 480 * 480 - 480 + 236);
    samples
}

/// One line of a manifest.
fn row(name: &str, speaker: usize, words: &[usize]) -> String {
    let words: Vec<&str> = words.iter().map(|word| WORDS[*word].0).collect();
    format!("{name}\tspeaker-{speaker}\taudio/{name}.wav\t{}\n", words.join(" "))
}

pub const HEADER: &str = "utterance\tspeaker\taudio\twords\n";

/// Utterances of three words by each of `speakers`; from the first of them, every fourth one ends with an unknown word.
fn set(dir: &Dir, name: &str, (speakers, each): (std::ops::Range<usize>, usize)) {
    let mut random = Random::new(7).fork(speakers.start as u64);
    let mut manifest = HEADER.to_owned();
    for speaker in speakers {
        for number in 0..each {
            let mut words: Vec<usize> = (0..3).map(|_| random.below(KNOWN)).collect();
            if name == "train" && number % 4 == 1 {
                words[2] = KNOWN;
            }
            let utterance = format!("{name}-{speaker}-{number}");
            manifest += &row(&utterance, speaker, &words);
            dir.wav(&format!("audio/{utterance}.wav"), RATE_HZ, &speak(&words, speaker, &mut random));
        }
    }
    dir.write(&format!("{name}.tsv"), manifest);
}

/// Writes `more.tsv` and `more-test.tsv`: two speakers each of the kind that the model has not heard.
pub fn shifted(dir: &Dir) {
    set(dir, "more", (10..12, 12));
    set(dir, "more-test", (12..14, 6));
}

const GRAPH: &str = r#"format = 1
name = "toy"
optional = ["SIL"]
[classes]
all = ["SIL", "SPN", "AA", "IY", "M", "S"]
[boundary]
start = ["*"]
end = ["*"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "SIL"
to = "SIL"
[topology.default]
states = 3
min_frames = 3
self_loop = 0.7
"#;

const SETTINGS: &str = r#"name = "toy"
description = "Four phones spoken by machines."
seed = 3
lexicon = "words.dict"
filler = "SPN"
graph = "graph.toml"
[[corpus]]
source = "train.tsv"
development_speakers = 1
[gmm]
graph = "graph-align.toml"
features = { kind = "mfcc", deltas = 1, normalisation = "speaker" }
training = { iterations = 8, realign = [1, 2, 3, 4, 5, 6, 7, 8], gaussians = 40, last_split = 6 }
[features]
mel_bins = 20
normalisation = "global"
[network]
kind = "tdnn"
input_width = 24
width = 32
bottleneck = 16
dilations = [1, 2]
subsampling = 3
dropout = 0.0
[[pass]]
epochs = 3
batch_frames = 400
learning_rate = 1e-2
[[pass]]
epochs = 5
batch_frames = 400
learning_rate = 1e-2
average_last = 2
[ngram]
order = 2
"#;

/// Writes the corpus into `dir`: `train.tsv` and `test.tsv` of other speakers, `words.dict`, the graph files, `train.toml`.
pub fn corpus(dir: &Dir) {
    set(dir, "train", (0..5, 8));
    set(dir, "test", (5..7, 6));
    let line = |(word, phones): &(&str, &[&str])| format!("{word} {}\n", phones.join(" "));
    dir.write("words.dict", WORDS[..KNOWN].iter().map(line).collect::<String>());
    dir.write("graph-align.toml", GRAPH);
    dir.write("graph.toml", GRAPH.replace("= 3\n", "= 1\n"));
    dir.write("train.toml", SETTINGS);
}

/// The corpus, and a model trained on it and tuned in the folder `model`: made once for all tests.
pub static TOY: LazyLock<Toy> = LazyLock::new(|| {
    let dir = Dir::new();
    corpus(&dir);
    let log = dir.senone("train train.toml --work work --output model").ok().stderr;
    Toy { dir, log }
});

/// See [`TOY`].
pub struct Toy {
    dir: Dir,
    /// What training said.
    pub log: String,
}

impl Toy {
    /// A file of the shared folder, which no test may change.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path(name)
    }

    /// An utterance of the test set.
    pub fn utterance(&self, name: &str) -> PathBuf {
        self.path(&format!("audio/{name}.wav"))
    }
}

/// A folder with a copy of the toy model in `model`.
pub fn with_model() -> Dir {
    let dir = Dir::new();
    dir.copy(&TOY.path("model"), "model");
    dir
}
