//! `senone decode`: recordings to phones with times.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use senone::alignment::Alignment;
use senone::audio::{AudioOptions, Channel, Notice};
use senone::bundle::{self, Bundle, SearchSettings};
use senone::decode::{DecodeOptions, Pruning, Recogniser};
use senone::formats::{self, Format};
use senone::{Error, Result};

use super::inputs::{self, Input};
use super::{Outcome, is_broken_pipe, say, to_stdout};

/// `senone decode`
#[derive(Debug, Args)]
pub struct DecodeArgs {
    /// WAV, FLAC, Ogg, MP3, AIFF files, folders of them, manifests (.tsv), or - for standard input
    #[arg(required = true, value_name = "AUDIO")]
    audio: Vec<PathBuf>,
    /// The model's folder [default: the built-in English model]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = FormatName::Text)]
    format: FormatName,
    /// Write one file an utterance into this folder instead of standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Take this channel (1 is the first) instead of mixing all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    channel: Option<u16>,
    #[command(flatten)]
    search: SearchArgs,
}

/// Settings of the search; what is not given is as the model was tuned.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Weight on emissions
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    acoustic_scale: Option<f32>,
    /// Weight on log-priors
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior_scale: Option<f32>,
    /// Weight on the phone n-gram
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lm_scale: Option<f32>,
    /// Added per phone entered, natural log; lower gives fewer phones
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    insertion_penalty: Option<f32>,
    /// Pruning width, natural log
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    beam: Option<f32>,
    /// Most states kept alive in a frame
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_active: Option<usize>,
    /// Prune nothing
    #[arg(long, conflicts_with_all = ["beam", "max_active"])]
    exact: bool,
}

/// Names of [`Format`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// Columns for people: start, end (seconds), phone
    Text,
    /// NIST CTM: utterance, channel, start, duration (seconds), phone
    Ctm,
    /// Praat
    #[value(name = "textgrid")]
    TextGrid,
    /// One JSON object a line
    Json,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Self::Text,
            FormatName::Ctm => Self::Ctm,
            FormatName::TextGrid => Self::TextGrid,
            FormatName::Json => Self::Json,
        }
    }
}

impl SearchArgs {
    /// The settings of `bundle`, changed as asked.
    pub fn options(&self, bundle: &Bundle) -> DecodeOptions {
        let own = bundle.description.search;
        let settings = SearchSettings {
            acoustic_scale: self.acoustic_scale.unwrap_or(own.acoustic_scale),
            prior_scale: self.prior_scale.unwrap_or(own.prior_scale),
            lm_scale: self.lm_scale.unwrap_or(own.lm_scale),
            insertion_penalty: self.insertion_penalty.unwrap_or(own.insertion_penalty),
            beam: self.beam.unwrap_or(own.beam),
            max_active: self.max_active.unwrap_or(own.max_active),
        };
        DecodeOptions { settings, pruning: if self.exact { Pruning::Exact } else { Pruning::Beam } }
    }
}

/// Decodes everything that was named; a recording that fails leaves the others' output whole.
pub fn run(args: &DecodeArgs) -> Result<Outcome> {
    let inputs = inputs::expand(&args.audio)?;
    check(args, &inputs)?;
    let bundle = bundle::open_or_builtin(args.model.as_ref())?;
    let options = args.search.options(&bundle);
    let recogniser = Recogniser::new(bundle, options)?;
    let heading = if inputs.len() > 1 { Heading::Name } else { Heading::None };
    let mut sink = Sink { args, heading, said: BTreeSet::new(), failed: 0 };
    let all = decode_all(&recogniser, &inputs, &mut sink);
    if sink.failed > 0 && inputs.len() > 1 {
        say(format_args!("senone: {} of {} recordings failed", sink.failed, inputs.len()));
    }
    match all {
        Err(error) if !is_broken_pipe(&error) => Err(error),
        _ if sink.failed > 0 => Ok(Outcome::Partial),
        _ => Ok(Outcome::Complete),
    }
}

/// Decodes batch by batch; output keeps the order of the inputs.
fn decode_all(recogniser: &Recogniser, inputs: &[Input], sink: &mut Sink<'_>) -> Result<()> {
    let args = sink.args;
    for batch in inputs.chunks(BATCH_FILES) {
        let decoded: Vec<_> = batch.par_iter().map(|input| decode(recogniser, args, input)).collect();
        for (input, result) in batch.iter().zip(decoded) {
            sink.take(input, result)?;
        }
    }
    Ok(())
}

/// Recordings decoded before their output is written.
const BATCH_FILES: usize = 64;

fn check(args: &DecodeArgs, inputs: &[Input]) -> Result<()> {
    let wrong = |reason: String| Err(Error::Other(reason));
    if inputs.iter().filter(|input| input.path == Path::new("-")).count() > 1 {
        return wrong("standard input (-) can be read only once".into());
    }
    match (&args.output, args.format) {
        (Some(folder), format) => {
            inputs::check_names(inputs, |name| file_name(name, format.into()))?;
            std::fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))
        }
        (None, FormatName::TextGrid) if inputs.len() > 1 => wrong(format!(
            "a TextGrid holds one recording, and there are {}: add --output DIR to get a file for each",
            inputs.len()
        )),
        (None, FormatName::Ctm) => inputs::check_names(inputs, formats::ctm::one_field),
        (None, _) => Ok(()),
    }
}

/// Name of an utterance's file in the folder of `--output`.
fn file_name(utterance: &str, format: Format) -> String {
    format!("{}.{}", utterance.replace(['/', '\\'], "_"), format.extension())
}

/// An alignment, and what to tell the user about how it came about.
type Told = (Alignment, Notices);

/// Sentences, and how often each is said.
type Notices = Vec<(String, Said)>;

/// How often a notice that is true of many recordings is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Of the first recording: it is the same for all of a kind.
    Once,
    /// Of every recording: something is wrong with it.
    Always,
}

fn decode(recogniser: &Recogniser, args: &DecodeArgs, input: &Input) -> Result<Told> {
    let rate = recogniser.bundle().description.features.sample_rate_hz;
    let channel = args.channel.map_or(Channel::Mix, |number| Channel::Only(usize::from(number) - 1));
    let audio = input.read(&AudioOptions { sample_rate_hz: rate, channel })?;
    let in_file = |error: Error| Error::Audio { path: input.path.clone(), reason: error.to_string() };
    let decoded = recogniser.decode(&audio.samples).map_err(in_file)?;
    let retries = decoded.retries.iter().map(|retry| (retry.to_string(), Said::Always)).collect();
    let said = |notice: &Notice| if notice.is_ordinary() { Said::Once } else { Said::Always };
    let mut notices: Notices = audio.notices.iter().map(|notice| (notice.to_string(), said(notice))).collect();
    notices.extend::<Notices>(retries);
    Ok((decoded.into_alignment(&input.utterance, rate), notices))
}

/// What stands above an utterance's columns of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heading {
    /// Nothing.
    None,
    /// Its name.
    Name,
}

/// Where results go, in the order of the inputs.
struct Sink<'a> {
    args: &'a DecodeArgs,
    heading: Heading,
    said: BTreeSet<String>,
    failed: usize,
}

impl Sink<'_> {
    fn take(&mut self, input: &Input, result: Result<Told>) -> Result<()> {
        match result {
            Ok((alignment, notices)) => {
                notices.into_iter().for_each(|notice| self.say(input, notice));
                match self.write(&alignment) {
                    Err(error) if self.args.output.is_some() => self.fail(&error),
                    result => return result,
                }
            }
            Err(error) => self.fail(&error),
        }
        Ok(())
    }

    fn fail(&mut self, error: &Error) {
        self.failed += 1;
        say(format_args!("senone: {error}"));
    }

    /// Says `notice` of this recording, or of the first that it is true of.
    fn say(&mut self, input: &Input, (notice, often): (String, Said)) {
        if self.said.insert(notice.clone()) || often == Said::Always {
            say(format_args!("senone: {}: {notice}", input.path.display()));
        }
    }

    fn write(&self, alignment: &Alignment) -> Result<()> {
        let format = Format::from(self.args.format);
        match &self.args.output {
            None => to_stdout(|out| {
                if format == Format::Text && self.heading == Heading::Name {
                    formats::text::write_heading(&alignment.utterance, out)?;
                }
                formats::write(alignment, format, out)
            }),
            Some(folder) => {
                let path = folder.join(file_name(&alignment.utterance, format));
                formats::atomic::write(&path, |file| formats::write(alignment, format, file))
            }
        }
    }
}
