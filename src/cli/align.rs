//! `senone align`: phones and words with times from recordings and what is said in them.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use senone::align::fit::Role;
use senone::align::summary::{self, Row};
use senone::align::verdict::mean_ratio;
use senone::align::{AlignOptions, Aligned, Aligner, Transcript, Unit, Unknown, Verdict};
use senone::audio::{Audio, Channel, Clip, read_clips};
use senone::bundle;
use senone::data::manifest::Utterance;
use senone::formats::atomic;
use senone::g2p::{G2p, Spelling};
use senone::graph::lexicon::Lexicon;
use senone::{Error, Result};

use super::Outcome;
use super::decode::output::{Heading, Notices, OutputArgs, Said, Sink, TierName, Told};
use super::inputs::{self, Input};

/// Find the times of phones and words in recordings whose words are known
///
/// INPUT is audio with its text in a .txt, .TextGrid, .lab, .mlf or .ctm of the same name beside it (or --text), a folder of such, a manifest
/// (.tsv), a Kaldi data folder, a LibriSpeech set, a part of TIMIT, THCHS-30 or AISHELL-1. Each utterance gets a verdict: aligned,
/// widened (with a wider beam than the first), doubtful (and where), too-short or failed; the exit status is non-zero if any was too
/// short or failed. Pronunciations and pauses are chosen by the search.
#[derive(Debug, Args)]
pub struct AlignArgs {
    /// Recordings, folders, corpora; - for standard input, which needs --text
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// What is said in the one recording
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Pronunciations of the words: CMU dictionary, lexicon.txt or lexiconp.txt of Kaldi, `pinyin`, `pinyin-toned`
    /// [default: every token of a text is a phone of the model]
    #[arg(long, value_name = "DICT")]
    lexicon: Option<PathBuf>,
    /// The model's folder [default: the built-in English model]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// What to do about words that the lexicon lacks; `skip` needs a model with a filler (`senone info`), and in pinyin nothing is
    /// skipped: their utterances fail
    #[arg(long, value_enum, default_value_t = UnknownName::Skip)]
    unknown: UnknownName,
    /// A model of `senone g2p train`, for --unknown spell
    #[arg(long, value_name = "MODEL", required_if_eq("unknown", "spell"))]
    g2p: Option<PathBuf>,
    /// Pruning width of the first search, natural log; made wider up to exact search where that loses the path. A doubtful result is
    /// searched with wider ones, to 1000 and in recordings to 10 minutes exactly, until one of 200 or more finds the same again
    #[arg(long, value_name = "X", default_value_t = AlignOptions::default().beam)]
    beam: f32,
    /// Take this channel (1 is the first) instead of mixing all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    channel: Option<u16>,
    /// Write the verdicts as a table, a line for each utterance
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write how well each phone fits (goodness of pronunciation) as a table: 0 is best, natural log a frame
    #[arg(long, value_name = "FILE")]
    gop: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// [`Unknown`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnknownName {
    /// The model's filler takes their place: any speech
    Skip,
    /// They are pronounced by their letters, as --g2p has learnt; what it cannot say is skipped
    Spell,
    /// Their utterances fail
    Error,
}

/// Recordings aligned before their output is written.
const BATCH_FILES: usize = 64;

/// Aligns everything that was named; what fails leaves the others' output whole.
pub fn run(mut args: AlignArgs) -> Result<Outcome> {
    args.output.check_units()?;
    args.output.tier.get_or_insert(TierName::Phones);
    let spoken = spoken(&args)?;
    check(&args, &spoken)?;
    let lexicon = args.lexicon.as_deref().map(Lexicon::read).transpose()?;
    let unknown = if args.unknown == UnknownName::Error { Unknown::Refuse } else { Unknown::Skip };
    let g2p = args.g2p.as_deref().map(G2p::read).transpose()?;
    let options = AlignOptions { beam: args.beam, unknown, ..AlignOptions::default() };
    let aligner = Aligner::new(Arc::new(bundle::open_or_builtin(args.model.as_ref())?), options)?;
    args.output.syllables.check(aligner.bundle().graph.symbols())?;
    let heading = if spoken.len() > 1 { Heading::Name } else { Heading::None };
    let mut sink = Sink::new((&args.output, aligner.bundle().graph.symbols()), heading)?;
    let spelling = g2p.as_ref().map(|g2p| g2p as &(dyn Spelling + Sync));
    let work = Work { args: &args, aligner: &aligner, lexicon: lexicon.as_ref(), spelling };
    let mut tables = Tables::default();
    let all = work.align_all(&spoken, (&mut sink, &mut tables));
    tables.write(&args)?;
    sink.outcome(all, "recordings")
}

/// A recording and what is said in it, as far as that could be read.
struct Spoken {
    input: Input,
    said: Result<Utterance>,
}

/// All that the inputs name, in their order.
fn spoken(args: &AlignArgs) -> Result<Vec<Spoken>> {
    let listed = inputs::transcribed(&args.inputs)?;
    let mut spoken: Vec<Spoken> = listed.into_iter().map(|(input, said)| Spoken { input, said }).collect();
    match (&args.text, &mut spoken[..]) {
        (None, _) => {}
        (Some(text), [one]) => {
            let mut utterance = one.input.utterance();
            utterance.words = Some(text.clone());
            one.said = Ok(utterance);
        }
        (Some(_), all) => {
            let count = all.len();
            return Err(Error::Other(format!(
                "--text says what one recording holds, and there are {count}: write a manifest"
            )));
        }
    }
    Ok(spoken)
}

fn check(args: &AlignArgs, spoken: &[Spoken]) -> Result<()> {
    if args.g2p.is_some() && args.unknown != UnknownName::Spell {
        return Err(Error::Other("--g2p is for words that the lexicon lacks: add --unknown spell".into()));
    }
    if args.g2p.is_some() && args.lexicon.is_none() {
        return Err(Error::Other("--unknown spell: without --lexicon every token is a phone: name a lexicon".into()));
    }
    let inputs = || spoken.iter().map(|one| &one.input);
    if args.text.is_none() && inputs().any(Input::is_stdin) {
        return Err(Error::Other("standard input (-) has no text beside it: say it with --text".into()));
    }
    args.output.check_count(spoken.len())?;
    inputs::check_names(inputs(), |utterance| args.output.name_of(utterance))?;
    inputs::check_beside(inputs(), |utterance| args.output.path_of(utterance))?;
    check_tables(args, spoken)?;
    args.output.make_folder()
}

/// The tables replace nothing that is read, nor one another.
fn check_tables(args: &AlignArgs, spoken: &[Spoken]) -> Result<()> {
    let recordings = || spoken.iter().map(|one| one.input.path().to_owned());
    let read = || args.inputs.iter().chain(&args.lexicon).chain(&args.g2p).cloned().chain(recordings());
    let tables = [("--summary", &args.summary), ("--gop", &args.gop)];
    for (option, path) in tables {
        path.iter().try_for_each(|path| inputs::check_table(path, option, read()))?;
    }
    match (&args.summary, &args.gop) {
        (Some(one), Some(other)) if one == other => {
            Err(Error::Other(format!("--summary and --gop are both {}: name two files", one.display())))
        }
        _ => Ok(()),
    }
}

/// What all recordings are aligned with.
struct Work<'a> {
    args: &'a AlignArgs,
    aligner: &'a Aligner,
    lexicon: Option<&'a Lexicon>,
    spelling: Option<&'a (dyn Spelling + Sync)>,
}

/// What became of a recording: to be printed, and for the tables.
struct Done {
    told: Result<Told>,
    row: Row,
    phones: String,
}

impl Work<'_> {
    /// Aligns batch by batch; output keeps the order of the inputs.
    fn align_all(&self, spoken: &[Spoken], (sink, tables): (&mut Sink<'_>, &mut Tables)) -> Result<()> {
        for batch in spoken.chunks(BATCH_FILES) {
            let clips: Vec<Clip> = batch.iter().map(|one| self.clip(&one.input)).collect();
            let done = read_clips(&clips.iter().collect::<Vec<_>>(), self.sample_rate_hz(), |index, audio| {
                self.align(&batch[index], audio)
            });
            for (one, Done { told, row, phones }) in batch.iter().zip(done) {
                tables.rows.push(row);
                tables.phones += &phones;
                sink.take(&one.input.place(), told)?;
            }
        }
        Ok(())
    }

    fn sample_rate_hz(&self) -> u32 {
        self.aligner.bundle().description.features.sample_rate_hz
    }

    fn channel(&self) -> Option<Channel> {
        self.args.channel.map(|number| Channel::Only(usize::from(number) - 1))
    }

    /// What is read of a recording.
    fn clip(&self, input: &Input) -> Clip {
        Clip { channel: self.channel().unwrap_or(input.audio.channel), ..input.audio.clone() }
    }

    fn align(&self, one: &Spoken, audio: Result<Audio>) -> Done {
        let mut row = Row {
            utterance: one.input.utterance.clone(),
            verdict: Verdict::Aligned,
            seconds: None,
            words: None,
            fit: None,
        };
        match self.aligned((one, audio), &mut row) {
            Ok((aligned, notices)) => {
                row.verdict = aligned.verdict.clone();
                row.fit = mean_ratio(&aligned.fits);
                let rate = self.sample_rate_hz();
                let phones =
                    if self.args.gop.is_some() { phones(&row.utterance, &aligned, rate) } else { String::new() };
                Done { told: Ok((aligned.into_alignment(&one.input.utterance, rate), notices)), row, phones }
            }
            Err(error) => {
                row.verdict = Verdict::of_error(&error);
                Done { told: Err(in_recording(one, error)), row, phones: String::new() }
            }
        }
    }

    /// The alignment of a recording and what to tell of it; what is known by then goes to `row`.
    fn aligned(&self, (one, audio): (&Spoken, Result<Audio>), row: &mut Row) -> Result<(Aligned, Notices)> {
        let audio = match one.input.is_stdin() {
            true => one.input.read(self.sample_rate_hz(), self.channel())?,
            false => audio?,
        };
        let utterance = one.said.as_ref().map_err(|error| Error::Other(error.to_string()))?;
        let transcript =
            Transcript::spelled(utterance, self.lexicon, self.spelling.map(|spelling| spelling as &dyn Spelling))?;
        if (self.args.output.tier, transcript.unit) == (Some(TierName::Words), Unit::Phone) {
            return Err(Error::Other(
                "--tier words: the transcript has no words but phones alone; leave it out".into(),
            ));
        }
        row.words = Some((transcript.items.len(), transcript.unknown().count() + transcript.spelled.len()));
        row.seconds = Some(audio.samples.len() as f64 / f64::from(audio.sample_rate));
        let aligned = self.aligner.align(&audio.samples, &transcript)?;
        let mut notices: Notices = audio.notices.iter().map(Said::of_notice).collect();
        notices.extend(read_otherwise(&transcript));
        notices.extend(aligned.retries.iter().map(|retry| (retry.to_string(), Said::Always)));
        let doubt = matches!(aligned.verdict, Verdict::Doubtful(_) | Verdict::Widened { .. });
        notices.extend(doubt.then(|| (aligned.verdict.to_string(), Said::Always)));
        Ok((aligned, notices))
    }
}

/// `error` with the name of the file and, where it has one of its own, of the utterance.
fn in_recording(one: &Spoken, error: Error) -> Error {
    match error {
        named @ (Error::Io { .. } | Error::Audio { .. } | Error::TextFile { .. } | Error::Manifest { .. }) => named,
        _ if one.input.path().file_stem().is_some_and(|stem| stem.to_string_lossy() == one.input.utterance) => {
            Error::Audio { path: one.input.path().to_owned(), reason: error.to_string() }
        }
        _ => Error::Utterance {
            path: one.input.path().to_owned(),
            utterance: one.input.utterance.clone(),
            source: Box::new(error),
        },
    }
}

/// What was made of a text beyond its case.
fn read_otherwise(transcript: &Transcript) -> Notices {
    let mut notices = vec![];
    if transcript.unknown().next().is_some() {
        let named = transcript.unknown_words();
        notices.push((format!("not in the lexicon, a filler stands for them: {named}"), Said::Always));
    }
    if !transcript.spelled.is_empty() {
        notices
            .push((format!("not in the lexicon, said by their letters: {}", transcript.spelled_words()), Said::Always));
    }
    if transcript.punctuated > 0 {
        notices.push(("punctuation of the transcript is left out".to_owned(), Said::Once));
    }
    let read = |reading: &senone::align::Reading| {
        format!("'{}' (token {}) as '{}'", reading.written, reading.position, reading.read)
    };
    let readings: Vec<String> = transcript.readings.iter().take(5).map(read).collect();
    if !readings.is_empty() {
        let more = transcript.readings.len() - readings.len();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        notices.push((format!("of the transcript is read {}{more}", readings.join(", ")), Said::Always));
    }
    notices
}

/// Rows of the table of `--gop` for one recording.
fn phones(utterance: &str, aligned: &Aligned, sample_rate: u32) -> String {
    let seconds = |samples: u64| samples as f64 / f64::from(sample_rate);
    let mut text = String::new();
    let utterance = summary::field(utterance);
    for (segment, fit) in aligned.phones.segments.iter().zip(&aligned.fits).filter(|(_, fit)| fit.role != Role::Filler)
    {
        let word = fit.item.map_or(String::new(), |item| (item + 1).to_string());
        let (start, end) = (seconds(segment.start), seconds(segment.end));
        text += &format!(
            "{utterance}\t{word}\t{}\t{start:.3}\t{end:.3}\t{:.3}\n",
            summary::field(&segment.label),
            fit.ratio
        );
    }
    text
}

/// What goes to the files of `--summary` and `--gop`.
#[derive(Default)]
struct Tables {
    rows: Vec<Row>,
    phones: String,
}

impl Tables {
    fn write(&self, args: &AlignArgs) -> Result<()> {
        if let Some(path) = &args.summary {
            atomic::write(path, |file| summary::write(&self.rows, file))?;
        }
        if let Some(path) = &args.gop {
            let text = format!("utterance\tword\tphone\tstart\tend\tgop\n{}", self.phones);
            atomic::write(path, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(())
    }
}
