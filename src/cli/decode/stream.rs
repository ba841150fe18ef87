//! `senone decode --stream`: one recording as it arrives, printed line by line as soon as its phones or words are certain.

use clap::Args;
use senone::alignment::{Alignment, Segment, Tier};
use senone::audio::Reader;
use senone::decode::Recogniser;
use senone::formats::{self, Format, text};
use senone::graph::Graph;
use senone::phones::PhoneMap;
use senone::search::{Certain, Decoded, WORDS};
use senone::{Error, Result};

use super::DecodeArgs;
use super::output::{OutputArgs, Said, TierName};
use crate::cli::inputs::Input;
use crate::cli::{Outcome, is_broken_pipe, say, to_stdout};

/// Audio as it arrives.
#[derive(Debug, Args)]
pub struct StreamArgs {
    /// Print each phone (or word) as soon as it is certain, of one recording: - for standard input (WAV, or raw samples with --raw), or
    /// a file
    ///
    /// All is as without --stream, but for the widths of columns of text. Formats are text, ctm, lab and audacity.
    #[arg(long, conflicts_with_all = ["output", "posteriors", "confidence", "nbest", "lattice", "posteriorgram"])]
    pub stream: bool,
    /// Audio has no header: 16-bit little-endian samples of one channel, RATE of them a second; half a sample at the end is left out
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1000..=768_000))]
    #[arg(conflicts_with_all = ["channel", "posteriors"])]
    pub raw: Option<u32>,
}

/// Decodes the one input, printing as it goes.
pub fn run(args: &DecodeArgs, (recogniser, inputs): (&Recogniser, &[Input])) -> Result<Outcome> {
    let [input] = inputs else {
        return Err(Error::Other(format!("--stream takes one recording, and {} are named", inputs.len())));
    };
    recogniser.check_streams()?;
    let graph = recogniser.graph();
    check_output(&args.output, graph)?;
    let phones = args.output.phone_map(recogniser.bundle().graph.symbols())?;
    if let Some(dropped) = graph.symbols().names().iter().find(|name| phones.name(name).is_empty()) {
        let reason = format!("--stream: --phones drops {dropped}, whose time the phone before it would get: keep it");
        return Err(Error::Other(reason));
    }
    let rate = recogniser.bundle().description.features.sample_rate_hz;
    let reader = args.recordings.reader(input, (rate, args.stream.raw))?;
    if input.is_stdin() && !reader.is_arriving() {
        let expected = "expected WAV of integers or 32-bit floats, or --raw RATE";
        return Err(Error::Other(format!("-: of a kind that --stream cannot read before its end, {expected}")));
    }
    let wanted = match args.output.tier {
        Some(TierName::Phones) => Rows::Phones,
        _ if graph.words().is_empty() => Rows::Phones,
        _ => Rows::Words,
    };
    let printer =
        Printer { format: args.output.format.into(), wanted, phones, utterance: input.utterance.clone(), rate };
    match print_all(recogniser, reader, (&printer, input)) {
        Err(error) if !is_broken_pipe(&error) => Err(error),
        _ => Ok(Outcome::Complete),
    }
}

fn check_output(output: &OutputArgs, graph: &Graph) -> Result<()> {
    let format = Format::from(output.format);
    let wrong = |reason: String| Err(Error::Other(format!("--stream: {reason}")));
    match format {
        _ if output.syllables.change_phones() => wrong(
            "syllables and phones without tones are made of a whole recording: leave --units and --toneless out".into(),
        ),
        Format::Text if output.tier == Some(TierName::Phones) && !graph.words().is_empty() => wrong(
            "columns of text have the words beside their phones, which are certain later: add --format ctm".into(),
        ),
        Format::Text | Format::Ctm | Format::Lab | Format::Audacity => Ok(()),
        other => wrong(format!("format {other} is not written line by line, expected text, ctm, lab or audacity")),
    }
}

fn print_all(recogniser: &Recogniser, mut reader: Reader, (printer, input): (&Printer, &Input)) -> Result<()> {
    let in_file = |error: Error| Error::Audio { path: input.path().to_owned(), reason: error.to_string() };
    let mut decoder = recogniser.start()?;
    let mut printed = 0;
    while let Some(samples) = reader.next_block()? {
        let Certain { phones, words } = decoder.push(&samples).map_err(in_file)?;
        let rows = if printer.wanted == Rows::Words { words } else { phones };
        printed += rows.len();
        printer.print(rows)?;
    }
    let decoded = decoder.finish().map_err(in_file)?;
    for notice in reader.notices().iter().map(Said::of_notice).map(|(notice, _)| notice) {
        say(format_args!("senone: {}: {notice}", input.place()));
    }
    decoded.retries.iter().for_each(|retry| say(format_args!("senone: {}: {retry}", input.place())));
    let Decoded { phones, words, .. } = decoded;
    let rows = words.filter(|_| printer.wanted == Rows::Words).unwrap_or(phones).segments;
    printer.print(rows.into_iter().skip(printed).collect())
}

/// What rows are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Phones,
    Words,
}

/// Prints rows as they come.
struct Printer {
    format: Format,
    wanted: Rows,
    phones: PhoneMap,
    utterance: String,
    rate: u32,
}

impl Printer {
    fn print(&self, mut rows: Vec<Segment>) -> Result<()> {
        let Some(last) = rows.last() else { return Ok(()) };
        let samples = last.end;
        let name = match self.wanted {
            Rows::Phones => "phones",
            Rows::Words => WORDS,
        };
        if self.wanted == Rows::Phones {
            rows.iter_mut().for_each(|row| row.label = self.phones.name(&row.label).to_owned());
        }
        let tiers = vec![Tier { name: name.into(), segments: rows }];
        let (utterance, sample_rate) = (self.utterance.clone(), self.rate);
        let piece = Alignment { utterance, samples, sample_rate, tiers, slots: vec![], nbest: vec![] };
        to_stdout(|out| match self.format {
            Format::Text => text::write_piece(&piece, out),
            format => formats::write(&piece, format, out),
        })
    }
}
