//! A look at everything that manifests promise, before a training trusts it.
//!
//! Manifests and a lexicon come in, every audio file is read; out goes a [`ValidationReport`] that says what is there and what is
//! wrong with it, in the order of the manifests.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::manifest::{Manifest, Place, Utterance};
use crate::Result;
use crate::audio::{Audio, Notice, read_clips};
use crate::graph::lexicon::Lexicon;

/// How much the stated and the real duration may differ.
const SECONDS_TOLERANCE: f64 = 0.1;

/// Problems and words of one kind that the printed report shows; all are counted.
const SHOWN: usize = 20;

/// What training will ask of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationOptions {
    /// Samples in a second that the model asks for, 1000 to 768000 Hz.
    pub sample_rate_hz: u32,
    /// The shortest time that a phone takes, in milliseconds: its `min_frames` times the frame shift.
    pub min_phone_ms: f64,
}

impl Default for ValidationOptions {
    fn default() -> Self {
        Self { sample_rate_hz: 16_000, min_phone_ms: 30.0 }
    }
}

/// What is wrong with an utterance; displayed as a sentence without its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The audio is missing or cannot be read.
    Unreadable {
        /// The error's sentence, which names the file.
        reason: String,
    },
    /// It has neither phones nor words.
    NoTranscript,
    /// Its transcript has words that the lexicon lacks.
    UnknownWords {
        /// These words, in order.
        words: Vec<String>,
    },
    /// Its phones do not fit into its audio.
    TooShort {
        /// Duration of the audio.
        seconds: f64,
        /// What its phones need, by the shortest pronunciation of each word.
        needed_seconds: f64,
    },
    /// The manifest is wrong about its duration.
    OtherDuration {
        /// Duration as the manifest states it.
        stated_seconds: f64,
        /// Duration of the audio.
        seconds: f64,
    },
}

impl Problem {
    /// Whether training has to leave the utterance out. Unknown words do not lose it: they pass through the filler phone.
    pub fn loses_utterance(&self) -> bool {
        !matches!(self, Self::OtherDuration { .. } | Self::UnknownWords { .. })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { reason } => write!(f, "{reason}"),
            Self::NoTranscript => write!(f, "there is no transcript: neither phones nor words"),
            Self::UnknownWords { words } => write!(f, "the lexicon lacks '{}'", words.join("', '")),
            Self::TooShort { seconds, needed_seconds } => {
                write!(f, "the audio is {seconds:.3} s long, its phones need {needed_seconds:.3} s")
            }
            Self::OtherDuration { stated_seconds, seconds } => {
                write!(f, "the manifest states {stated_seconds:.3} s, the audio is {seconds:.3} s long")
            }
        }
    }
}

/// Something to know about one utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding<T> {
    /// The utterance's name.
    pub utterance: String,
    /// Where it is listed.
    pub place: Place,
    /// What was found.
    pub what: T,
}

/// What was found in one manifest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ManifestReport {
    /// The manifest.
    pub path: PathBuf,
    /// Number of utterances.
    pub utterances: usize,
    /// Number of speakers.
    pub speakers: usize,
    /// Duration of all audio that could be read.
    pub seconds: f64,
    /// Duration of what training has to leave out; as the manifest states it where the audio cannot be read.
    pub lost_seconds: f64,
    /// The shortest utterance, its duration in seconds.
    pub shortest: Option<Finding<f64>>,
    /// The longest utterance, its duration in seconds.
    pub longest: Option<Finding<f64>>,
    /// Files by their own sample rate in Hz.
    pub sample_rates: BTreeMap<u32, usize>,
    /// Words that the lexicon lacks, with the number of times they occur.
    pub unknown_words: BTreeMap<String, usize>,
    /// Utterances whose words were not looked up because no lexicon was given.
    pub without_lexicon: usize,
    /// What is wrong, in the order of the manifest.
    pub problems: Vec<Finding<Problem>>,
    /// What is odd about the audio (clipped, cut off, ...) though it can be used, in the order of the manifest.
    pub notices: Vec<Finding<Notice>>,
}

/// What was found in all manifests; displayed as text of several lines.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationReport {
    /// In the order in which they were given.
    pub manifests: Vec<ManifestReport>,
}

impl ValidationReport {
    /// Whether no utterance has a problem. Oddities of the audio are not counted.
    pub fn is_clean(&self) -> bool {
        self.manifests.iter().all(|manifest| manifest.problems.is_empty())
    }
}

/// Reads all audio and looks up all transcripts of `manifests`. An utterance with phones needs no lexicon. The report does not
/// depend on the number of threads.
pub fn validate(manifests: &[Manifest], lexicon: Option<&Lexicon>, options: &ValidationOptions) -> ValidationReport {
    let examine = |manifest: &Manifest| {
        let clips: Vec<_> = manifest.utterances.iter().map(|utterance| &utterance.audio).collect();
        let check = |index: usize, audio| Check::new(&manifest.utterances[index], audio, (lexicon, options));
        let checks = read_clips(&clips, options.sample_rate_hz, check);
        let mut report = ManifestReport {
            path: manifest.path.clone(),
            utterances: manifest.utterances.len(),
            speakers: manifest.speakers().len(),
            ..ManifestReport::default()
        };
        manifest.utterances.iter().zip(checks).for_each(|(utterance, check)| report.add(utterance, check));
        report
    };
    ValidationReport { manifests: manifests.iter().map(examine).collect() }
}

/// What there is to know of one utterance.
#[derive(Debug, Default)]
struct Check {
    /// Duration and file's own rate of audio that could be read.
    audio: Option<(f64, u32)>,
    notices: Vec<Notice>,
    problems: Vec<Problem>,
    without_lexicon: bool,
}

impl Check {
    fn new(
        utterance: &Utterance,
        audio: Result<Audio>,
        (lexicon, options): (Option<&Lexicon>, &ValidationOptions),
    ) -> Self {
        let mut check = Self::default();
        check.take_audio(audio);
        let phones = check.count_phones(utterance, lexicon);
        check.compare_durations(utterance, phones as f64 * options.min_phone_ms / 1000.0);
        check
    }

    fn take_audio(&mut self, audio: Result<Audio>) {
        match audio {
            Err(error) => self.problems.push(Problem::Unreadable { reason: error.to_string() }),
            Ok(audio) => {
                let own_rate = audio.notices.iter().find_map(|notice| match notice {
                    Notice::Resampled { from_hz, .. } => Some(*from_hz),
                    _ => None,
                });
                let seconds = audio.samples.len() as f64 / f64::from(audio.sample_rate);
                self.audio = Some((seconds, own_rate.unwrap_or(audio.sample_rate)));
                self.notices = audio.notices;
                self.notices.retain(|notice| !notice.is_ordinary());
            }
        }
    }

    /// The least number of phones of the transcript, as far as its words are known.
    fn count_phones(&mut self, utterance: &Utterance, lexicon: Option<&Lexicon>) -> usize {
        if let Some(phones) = utterance.phones.as_ref().filter(|phones| !phones.is_empty()) {
            return phones.len();
        }
        let Some(text) = &utterance.words else {
            self.problems.push(Problem::NoTranscript);
            return 0;
        };
        let Some(lexicon) = lexicon else {
            self.without_lexicon = true;
            return 0;
        };
        let words = lexicon.words_of(text);
        let shortest = |word: &String| lexicon.pronunciations(word)?.iter().map(Vec::len).min();
        let unknown: Vec<String> = words.iter().filter(|word| shortest(word).is_none()).cloned().collect();
        let phones = words.iter().filter_map(shortest).sum();
        match (words.is_empty(), unknown.is_empty()) {
            (true, _) => self.problems.push(Problem::NoTranscript),
            (_, false) => self.problems.push(Problem::UnknownWords { words: unknown }),
            _ => {}
        }
        phones
    }

    fn compare_durations(&mut self, utterance: &Utterance, needed_seconds: f64) {
        let Some((seconds, _)) = self.audio else {
            return;
        };
        if seconds < needed_seconds {
            self.problems.push(Problem::TooShort { seconds, needed_seconds });
        }
        let other = utterance.seconds.filter(|stated| (stated - seconds).abs() > SECONDS_TOLERANCE);
        self.problems.extend(other.map(|stated_seconds| Problem::OtherDuration { stated_seconds, seconds }));
    }
}

impl ManifestReport {
    fn add(&mut self, utterance: &Utterance, check: Check) {
        if check.problems.iter().any(Problem::loses_utterance) {
            self.lost_seconds += check.audio.map(|(seconds, _)| seconds).or(utterance.seconds).unwrap_or(0.0);
        }
        if let Some((seconds, rate)) = check.audio {
            self.seconds += seconds;
            *self.sample_rates.entry(rate).or_default() += 1;
            if self.shortest.as_ref().is_none_or(|shortest| seconds < shortest.what) {
                self.shortest = Some(finding(utterance, seconds));
            }
            if self.longest.as_ref().is_none_or(|longest| seconds > longest.what) {
                self.longest = Some(finding(utterance, seconds));
            }
        }
        for problem in &check.problems {
            if let Problem::UnknownWords { words } = problem {
                words.iter().for_each(|word| *self.unknown_words.entry(word.clone()).or_default() += 1);
            }
        }
        self.without_lexicon += usize::from(check.without_lexicon);
        self.problems.extend(check.problems.into_iter().map(|problem| finding(utterance, problem)));
        self.notices.extend(check.notices.into_iter().map(|notice| finding(utterance, notice)));
    }

    /// Prints the problems that `wanted` picks, under `title`.
    fn write_problems(&self, f: &mut fmt::Formatter<'_>, title: &str, wanted: fn(&Problem) -> bool) -> fmt::Result {
        let found: Vec<_> = self.problems.iter().filter(|problem| wanted(&problem.what)).collect();
        write_list(f, title, &found)
    }

    fn write_unknown_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<(&String, &usize)> = self.unknown_words.iter().collect();
        if words.is_empty() {
            return Ok(());
        }
        words.sort_by_key(|(word, count)| (std::cmp::Reverse(**count), *word));
        let lines = self.problems.iter().filter(|problem| matches!(problem.what, Problem::UnknownWords { .. })).count();
        let shown: Vec<String> = words.iter().take(SHOWN).map(|(word, count)| format!("{word} {count}")).collect();
        let more = words.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        writeln!(f, "  unknown words: {}, in {lines} utterances: {}{more}", words.len(), shown.join(", "))
    }
}

impl fmt::Display for ManifestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.path.display())?;
        let hours = self.seconds / 3600.0;
        writeln!(f, "  {} utterances, {} speakers, {hours:.2} hours of audio", self.utterances, self.speakers)?;
        if let (Some(shortest), Some(longest)) = (&self.shortest, &self.longest) {
            let of = |finding: &Finding<f64>| format!("{:.3} s ({})", finding.what, finding.utterance);
            writeln!(f, "  durations from {} to {}", of(shortest), of(longest))?;
        }
        let rates: Vec<String> = self.sample_rates.iter().map(|(rate, files)| format!("{rate} Hz {files}")).collect();
        writeln!(f, "  files by sample rate: {}", if rates.is_empty() { "none".into() } else { rates.join(", ") })?;
        if self.without_lexicon > 0 {
            writeln!(f, "  words not looked up, no lexicon given: {} utterances", self.without_lexicon)?;
        }
        self.write_unknown_words(f)?;
        self.write_problems(f, "audio cannot be read", |problem| matches!(problem, Problem::Unreadable { .. }))?;
        self.write_problems(f, "no transcript", |problem| matches!(problem, Problem::NoTranscript))?;
        self.write_problems(f, "too short for their phones", |problem| matches!(problem, Problem::TooShort { .. }))?;
        self.write_problems(f, "other duration", |problem| matches!(problem, Problem::OtherDuration { .. }))?;
        write_list(f, "odd audio", &self.notices.iter().collect::<Vec<_>>())?;
        writeln!(f, "  lost to training: {:.2} hours", self.lost_seconds / 3600.0)
    }
}

impl fmt::Display for ValidationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.manifests.iter().try_for_each(|manifest| manifest.fmt(f))?;
        let problems: usize = self.manifests.iter().map(|manifest| manifest.problems.len()).sum();
        match problems {
            0 => write!(f, "no problems"),
            1 => write!(f, "1 problem"),
            _ => write!(f, "{problems} problems"),
        }
    }
}

fn finding<T>(utterance: &Utterance, what: T) -> Finding<T> {
    Finding { utterance: utterance.name.clone(), place: utterance.place.clone(), what }
}

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, title: &str, found: &[&Finding<T>]) -> fmt::Result {
    if found.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {title}: {}", found.len())?;
    for Finding { utterance, place, what } in found.iter().take(SHOWN) {
        writeln!(f, "    {place}: {utterance}: {what}")?;
    }
    match found.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "    and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A folder with WAV files of the given names and durations at 8 kHz and a manifest of `lines`.
    fn corpus(files: &[(&str, f64)], lines: &str) -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        for (name, seconds) in files {
            let samples = (seconds * 8000.0) as usize;
            let data: Vec<u8> = (0..samples).flat_map(|i| ((i % 200) as i16 * 40).to_le_bytes()).collect();
            let size = data.len() as u32;
            let mut bytes =
                [b"RIFF".as_slice(), &(36 + size).to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat();
            bytes.extend([1u16, 1].iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend([8000u32, 16000].iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend([2u16, 16].iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend([b"data".as_slice(), &size.to_le_bytes(), &data].concat());
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let path = folder.path().join("train.tsv");
        std::fs::write(&path, format!("utterance\tspeaker\taudio\tseconds\twords\tphones\n{lines}")).unwrap();
        let manifest = Manifest::read(&path).unwrap();
        (folder, manifest)
    }

    fn lexicon() -> Lexicon {
        Lexicon::parse(Path::new("words.dict"), "hello HH AH0 L OW1\nhello(2) L OW1\nyou Y UW1\n").unwrap()
    }

    #[test]
    fn a_sound_corpus_is_clean() {
        let (_folder, manifest) =
            corpus(&[("a.wav", 0.5), ("b.wav", 0.25)], "a\tann\ta.wav\t0.5\tHello, you!\t\nb\tann\tb.wav\t\t\tAA B\n");
        let report = validate(&[manifest], Some(&lexicon()), &ValidationOptions::default());
        assert!(report.is_clean(), "{report}");
        let found = &report.manifests[0];
        assert_eq!((found.utterances, found.speakers, found.without_lexicon), (2, 1, 0));
        assert!((found.seconds - 0.75).abs() < 0.01 && found.lost_seconds == 0.0, "{report}");
        assert_eq!(found.sample_rates, [(8000, 2)].into());
        assert_eq!(found.shortest.as_ref().unwrap().utterance, "b");
        assert_eq!(found.longest.as_ref().unwrap().utterance, "a");
        assert!(report.to_string().ends_with("no problems"));
    }

    #[test]
    fn every_problem_is_found() {
        let lines = "gone\tann\tgone.wav\t1.5\thello\t\nbad\tann\ttrain.tsv\t\thello\t\nnone\tann\ta.wav\t\t\t\n\
            silent\tann\ta.wav\t\t...\t\nwho\tbob\ta.wav\t\thello xyz you xyz\t\nshort\tbob\ta.wav\t\t\tA B C D E F G H I J K\n\
            fits\tbob\ta.wav\t\thello hello hello hello you\t\nstated\tbob\ta.wav\t0.45\thello\t\n";
        let (_folder, manifest) = corpus(&[("a.wav", 0.3)], lines);
        let report = validate(&[manifest], Some(&lexicon()), &ValidationOptions::default());
        let found = &report.manifests[0];
        let names: Vec<(usize, &str)> = found.problems.iter().map(|p| (p.place.line, p.utterance.as_str())).collect();
        assert_eq!(
            names,
            [(2, "gone"), (3, "bad"), (4, "none"), (5, "silent"), (6, "who"), (7, "short"), (9, "stated")]
        );
        assert!(found.problems[0].what.to_string().contains("gone.wav"));
        assert!(found.problems[1].what.to_string().contains("train.tsv"));
        assert_eq!(found.problems[2].what, Problem::NoTranscript);
        assert_eq!(found.problems[3].what, Problem::NoTranscript);
        assert_eq!(found.problems[4].what, Problem::UnknownWords { words: vec!["xyz".into(), "xyz".into()] });
        assert!(
            matches!(found.problems[5].what, Problem::TooShort { needed_seconds, .. } if (needed_seconds - 0.33).abs() < 1e-9)
        );
        assert!(matches!(found.problems[6].what, Problem::OtherDuration { stated_seconds: 0.45, .. }));
        assert_eq!(found.unknown_words, [("xyz".to_owned(), 2)].into());
        assert!((found.lost_seconds - 1.5 - 3.0 * 0.3).abs() < 0.01, "{}", found.lost_seconds);
        assert!(!report.is_clean());
        let text = report.to_string();
        for part in
            ["unknown words: 1, in 1 utterances: xyz 2", "audio cannot be read: 2", "no transcript: 2", "7 problems"]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn without_a_lexicon_words_are_not_looked_up() {
        let (_folder, manifest) = corpus(&[("a.wav", 0.3)], "a\tann\ta.wav\t\txyz\t\n");
        let report = validate(&[manifest], None, &ValidationOptions::default());
        assert!(report.is_clean() && report.manifests[0].without_lexicon == 1);
        assert!(report.to_string().contains("words not looked up, no lexicon given: 1 utterances"));
    }

    #[test]
    fn a_long_list_is_cut_in_print_only() {
        let lines: String = (0..30).map(|i| format!("u{i}\tann\tgone{i}.wav\t\thello\t\n")).collect();
        let (_folder, manifest) = corpus(&[], &lines);
        let report = validate(&[manifest], None, &ValidationOptions::default());
        assert_eq!(report.manifests[0].problems.len(), 30);
        assert!(report.to_string().contains("and 10 more"));
    }
}
