//! Where decoded phones and words go: to standard output or into a folder, one utterance after another.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use senone::alignment::Alignment;
#[cfg(feature = "neural")]
use senone::audio::Notice;
use senone::formats::{self, Format, Holds, Tiers};
use senone::graph::Graph;
use senone::phones::{PhoneMap, PhoneNames};
use senone::search::WORDS;
use senone::symbols::SymbolTable;
use senone::{Error, Result};

use super::syllables::SyllableArgs;
use crate::cli::{Outcome, is_broken_pipe, say, to_stdout};

/// How and where to print.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t = FormatName::Text)]
    pub format: FormatName,
    /// Write one file an utterance into this folder instead of standard output
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// What rows are of; TextGrid, JSON, TSV and EAF have everything [default: words where the graph has some, and syllables
    /// with --units syllable; of `senone align`: phones]
    #[arg(long, value_enum, value_name = "TIER")]
    pub tier: Option<TierName>,
    #[command(flatten)]
    pub syllables: SyllableArgs,
    /// Print phones by these names: ipa, arpabet, xsampa, timit39 (39 of Lee & Hon), or a file of lines `A B`; a line `A` drops A
    /// [default: the model's]; with --toneless, names of phones without tones
    #[arg(long, value_name = "NAMES", value_parser = str::parse::<PhoneNames>)]
    pub phones: Option<PhoneNames>,
}

/// Tiers of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// Phones; in text, with the words beside them
    Phones,
    /// Words of the graph's [lexicon]
    Words,
}

/// Names of [`Format`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Columns for people: start, end (seconds), phone or word
    Text,
    /// NIST CTM: utterance, channel, start, duration (seconds), phone or word
    Ctm,
    /// Praat
    #[value(name = "textgrid")]
    TextGrid,
    /// Praat, the short form
    #[value(name = "textgrid-short")]
    ShortTextGrid,
    /// One JSON object a line
    Json,
    /// A table: utterance, tier, start, end (seconds), label, confidence
    Tsv,
    /// HTK's label file: start, end (units of 100 ns), phone or word
    Lab,
    /// HTK's master label file
    Mlf,
    /// ELAN
    Eaf,
    /// Subtitles
    Srt,
    /// Audacity's label track: start, end (seconds), phone or word
    Audacity,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Self::Text,
            FormatName::Ctm => Self::Ctm,
            FormatName::TextGrid => Self::TextGrid,
            FormatName::ShortTextGrid => Self::ShortTextGrid,
            FormatName::Json => Self::Json,
            FormatName::Tsv => Self::Tsv,
            FormatName::Lab => Self::Lab,
            FormatName::Mlf => Self::Mlf,
            FormatName::Eaf => Self::Eaf,
            FormatName::Srt => Self::Srt,
            FormatName::Audacity => Self::Audacity,
        }
    }
}

impl OutputArgs {
    /// The name that an utterance's output goes by, where that is to be its own: a file's, or an utterance's in a CTM or an MLF.
    pub fn name_of(&self, utterance: &str) -> Option<String> {
        match (&self.output, self.format) {
            (Some(_), format) => {
                let extension = Format::from(format).extension();
                Some(format!("{}.{extension}", utterance.replace(['/', '\\'], "_")))
            }
            (None, FormatName::Ctm | FormatName::Mlf) => Some(formats::ctm::one_field(utterance)),
            (None, _) => None,
        }
    }

    /// Whether `--tier` is not asked for beside syllables.
    pub fn check_units(&self) -> Result<()> {
        match self.tier {
            Some(_) if self.syllables.are_wanted() => {
                let reason =
                    "--tier phones or words, beside --units syllable: rows are of one of them, leave the other out";
                Err(Error::Other(reason.into()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the tier of `--tier` comes out of `graph`, and nothing else is asked for beside it.
    pub fn check_tier(&self, graph: &Graph) -> Result<()> {
        self.check_units()?;
        match self.tier {
            Some(TierName::Words) if graph.words().is_empty() => {
                Err(Error::Other("--tier words: the graph has no words, it needs a [lexicon]".into()))
            }
            _ => Ok(()),
        }
    }

    /// `alignment` for a format that prints rows of its first tier: syllables where they are wanted.
    fn rows_of(&self, alignment: &Alignment) -> Alignment {
        let words = alignment.tiers.iter().find(|tier| tier.name == WORDS);
        match words.filter(|_| self.tier != Some(TierName::Phones) && !self.syllables.are_wanted()) {
            Some(words) => Alignment { tiers: vec![words.clone()], ..alignment.clone() },
            None => alignment.clone(),
        }
    }

    /// How the phones are called that have these `symbols`, as they are when tones are left out, if they are to be.
    pub fn phone_map(&self, symbols: &SymbolTable) -> Result<PhoneMap> {
        let labels = symbols.names().iter().map(|name| self.syllables.label(name));
        self.phones.as_ref().map_or_else(|| Ok(PhoneMap::default()), |names| PhoneMap::new(names, labels))
    }

    /// Makes the folder of `--output`.
    pub fn make_folder(&self) -> Result<()> {
        match &self.output {
            Some(folder) => std::fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source)),
            None => Ok(()),
        }
    }

    /// The file that an utterance's output goes to, if not to standard output.
    pub fn path_of(&self, utterance: &str) -> Option<PathBuf> {
        self.output.as_ref().zip(self.name_of(utterance)).map(|(folder, name)| folder.join(name))
    }

    /// Whether what is printed can take `count` utterances.
    ///
    /// # Errors
    /// [`Error::Other`] when it takes one only, and there are more.
    pub fn check_count(&self, count: usize) -> Result<()> {
        let format = Format::from(self.format);
        if self.output.is_some() || format.holds() == Holds::Many || count < 2 {
            return Ok(());
        }
        let reason = "add --output DIR to get a file for each";
        Err(Error::Other(format!("a file of format {format} holds one utterance, and there are several: {reason}")))
    }
}

/// An alignment, and what to tell the user about how it came about.
pub type Told = (Alignment, Notices);

/// Sentences, and how often each is said.
pub type Notices = Vec<(String, Said)>;

/// How often a notice that is true of many recordings is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Of the first recording: it is the same for all of a kind.
    #[cfg(feature = "neural")]
    Once,
    /// Of every recording: something is wrong with it.
    Always,
}

#[cfg(feature = "neural")]
impl Said {
    /// What was decided about audio, as it is told.
    pub fn of_notice(notice: &Notice) -> (String, Self) {
        (notice.to_string(), if notice.is_ordinary() { Self::Once } else { Self::Always })
    }
}

/// What stands above an utterance's columns of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// Nothing: there is one utterance.
    None,
    /// Its name.
    Name,
}

/// Takes results in the order of the inputs.
pub struct Sink<'a> {
    args: &'a OutputArgs,
    phones: PhoneMap,
    heading: Heading,
    /// What standard output begins with, until it has begun.
    preamble: &'static str,
    said: BTreeSet<String>,
    taken: usize,
    failed: usize,
}

impl<'a> Sink<'a> {
    /// A sink that has taken nothing, for phones of these `symbols`.
    ///
    /// # Errors
    /// When `--phones` has no name for one of them.
    pub fn new((args, symbols): (&'a OutputArgs, &SymbolTable), heading: Heading) -> Result<Self> {
        let (phones, preamble) = (args.phone_map(symbols)?, Format::from(args.format).preamble());
        Ok(Self { args, phones, heading, preamble, said: BTreeSet::new(), taken: 0, failed: 0 })
    }

    /// How and where it writes.
    pub fn args(&self) -> &OutputArgs {
        self.args
    }

    /// Writes a result, or says why there is none; `place` is what notices are of.
    ///
    /// # Errors
    /// [`Error::Io`] when standard output refuses.
    pub fn take(&mut self, place: &str, result: Result<Told>) -> Result<()> {
        self.taken += 1;
        match result {
            Ok((mut alignment, notices)) => {
                alignment = self.args.syllables.applied(alignment);
                let phones = alignment.tiers.iter_mut().filter(|tier| tier.name == "phones");
                phones.for_each(|tier| tier.rename(|label| self.phones.name(label).to_owned()));
                let own = |label: &String| self.phones.name(self.args.syllables.label(label)).to_owned();
                if alignment.tiers.iter().all(|tier| tier.name != WORDS) || self.args.tier == Some(TierName::Phones) {
                    let labels = alignment.nbest.iter_mut().map(|guess| &mut guess.labels);
                    labels.for_each(|all| *all = all.iter().map(own).filter(|label| !label.is_empty()).collect());
                }
                notices.into_iter().for_each(|notice| self.say(place, notice));
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

    /// Says `notice` of this place, or of the first that it is true of.
    fn say(&mut self, place: &str, (notice, often): (String, Said)) {
        if self.said.insert(notice.clone()) || often == Said::Always {
            say(format_args!("senone: {place}: {notice}"));
        }
    }

    fn write(&mut self, alignment: &Alignment) -> Result<()> {
        let format = Format::from(self.args.format);
        let alignment = &match format.tiers() {
            Tiers::First => self.args.rows_of(alignment),
            Tiers::All => alignment.clone(),
        };
        match self.args.path_of(&alignment.utterance) {
            Some(path) => formats::atomic::write(&path, |file| formats::write_file(alignment, format, file)),
            None => to_stdout(|out| {
                out.write_all(std::mem::take(&mut self.preamble).as_bytes())?;
                if format == Format::Text && self.heading == Heading::Name {
                    formats::text::write_heading(&alignment.utterance, out)?;
                }
                formats::write(alignment, format, out)
            }),
        }
    }

    /// How it all went, `all` being what ended it; `things` names what was taken, in the plural.
    ///
    /// # Errors
    /// That of `all`, unless nobody reads our output any more.
    pub fn outcome(&self, all: Result<()>, things: &str) -> Result<Outcome> {
        if self.failed > 0 && self.taken > 1 {
            say(format_args!("senone: {} of {} {things} failed", self.failed, self.taken));
        }
        match all {
            Err(error) if !is_broken_pipe(&error) => Err(error),
            _ if self.failed > 0 => Ok(Outcome::Partial),
            _ => Ok(Outcome::Complete),
        }
    }
}
