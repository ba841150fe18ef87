//! `senone ngram`: n-grams of symbols from text, mixed, made small, measured; ARPA files out and in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use senone::data::sentences::{SentenceOptions, Sentences};
use senone::graph::lexicon::Lexicon;
use senone::graph::ngram::{Ngram, NgramOptions, Smoothing};
use senone::symbols::{SymbolId, SymbolTable};
use senone::{Error, Result, formats};

use super::{Outcome, print, say};

/// `senone ngram ...`
#[derive(Debug, Subcommand)]
pub enum NgramCommand {
    /// Estimate an n-gram from text, a sentence a line
    Estimate(EstimateArgs),
    /// Mix n-grams: what one text has seldom, another may have often
    Mix(MixArgs),
    /// Keep the histories of an n-gram that matter most
    Prune(PruneArgs),
    /// Print how well n-grams predict a text: perplexity, a symbol
    Score(ScoreArgs),
}

/// How text becomes symbols.
#[derive(Debug, Args)]
struct TextArgs {
    /// Pronunciations: the text holds words, which become phones (the first pronunciation; a sentence is cut at an unknown word)
    #[arg(long, value_name = "FILE")]
    lexicon: Option<PathBuf>,
    /// Symbol of a pause, put at both ends of a sentence and in place of punctuation
    #[arg(long, value_name = "SYMBOL")]
    pause: Option<String>,
}

/// `senone ngram estimate`
#[derive(Debug, Args)]
pub struct EstimateArgs {
    /// Text files
    #[arg(required = true, value_name = "TEXT")]
    texts: Vec<PathBuf>,
    #[command(flatten)]
    text: TextArgs,
    /// Symbols that a probability depends on, its own one included, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 3)]
    order: usize,
    /// Where the probability of what was never seen comes from
    #[arg(long, value_enum, default_value_t = SmoothingName::WittenBell)]
    smoothing: SmoothingName,
    /// Leave out histories seen fewer times
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_history_count: u64,
    /// The ARPA file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SmoothingName {
    /// For few symbols and small text
    WittenBell,
    /// Modified Kneser-Ney, for larger text
    KneserNey,
}

impl From<SmoothingName> for Smoothing {
    fn from(name: SmoothingName) -> Self {
        match name {
            SmoothingName::WittenBell => Self::WittenBell,
            SmoothingName::KneserNey => Self::KneserNey,
        }
    }
}

/// `senone ngram mix`
#[derive(Debug, Args)]
pub struct MixArgs {
    /// ARPA files
    #[arg(required = true, num_args = 2.., value_name = "ARPA")]
    models: Vec<PathBuf>,
    /// What each counts, with commas between [default: all the same]
    #[arg(long, value_name = "SHARES", value_delimiter = ',')]
    shares: Vec<f64>,
    /// The ARPA file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// `senone ngram prune`
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// An ARPA file
    model: PathBuf,
    /// Histories to keep, at least 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    histories: u32,
    /// The ARPA file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// `senone ngram score`
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// ARPA files
    #[arg(required = true, value_name = "ARPA")]
    models: Vec<PathBuf>,
    /// The text: none that the models were estimated from or chosen by
    #[arg(long, value_name = "FILE")]
    text: PathBuf,
    #[command(flatten)]
    options: TextArgs,
}

/// Runs the command.
pub fn run(command: &NgramCommand) -> Result<Outcome> {
    match command {
        NgramCommand::Estimate(args) => estimate(args),
        NgramCommand::Mix(args) => mix(args),
        NgramCommand::Prune(args) => {
            let text = text_of(&args.model)?;
            let symbols = Arc::new(Ngram::arpa_symbols(&text));
            write(&Ngram::parse_arpa(&args.model, &text, &symbols)?.pruned(args.histories as usize), &args.output)
        }
        NgramCommand::Score(args) => score(args),
    }
}

fn estimate(args: &EstimateArgs) -> Result<Outcome> {
    let sentences = args.texts.iter().map(|path| sentences(path, &args.text)).collect::<Result<Vec<_>>>()?;
    let mut symbols = SymbolTable::new();
    let all: Vec<Vec<SymbolId>> = sentences
        .iter()
        .flat_map(|text| &text.sequences)
        .map(|sequence| sequence.iter().map(|name| symbols.intern(name)).collect())
        .collect();
    let options =
        NgramOptions { order: args.order, smoothing: args.smoothing.into(), min_history_count: args.min_history_count };
    write(&Ngram::estimate(&options, &Arc::new(symbols), &all)?, &args.output)
}

fn mix(args: &MixArgs) -> Result<Outcome> {
    let models = read(&args.models)?;
    let shares = if args.shares.is_empty() { vec![1.0; models.len()] } else { args.shares.clone() };
    if shares.len() != models.len() {
        let (shares, models) = (shares.len(), models.len());
        return Err(Error::Other(format!("{shares} --shares for {models} n-grams: expected one for each")));
    }
    let shared: Vec<(&Ngram, f64)> = models.iter().zip(shares).collect();
    write(&Ngram::mixed(&shared)?, &args.output)
}

fn score(args: &ScoreArgs) -> Result<Outcome> {
    let sentences = sentences(&args.text, &args.options)?;
    for (model, path) in read(&args.models)?.iter().zip(&args.models) {
        let known = |name: &String| model.symbols().get(name);
        let all: Vec<Option<Vec<SymbolId>>> =
            sentences.sequences.iter().map(|sequence| sequence.iter().map(known).collect()).collect();
        let whole: Vec<Vec<SymbolId>> = all.iter().flatten().cloned().collect();
        let left = all.len() - whole.len();
        if left > 0 {
            say(format_args!("senone: {}: {left} sentences have a symbol that it lacks: left out", path.display()));
        }
        let (perplexity, histories) = (model.perplexity(&whole), model.histories());
        print(&format!("{}\tperplexity {perplexity:.3}\thistories {histories}\n", path.display()))?;
    }
    Ok(Outcome::Complete)
}

/// The sentences of a text; unknown words are told.
fn sentences(path: &Path, options: &TextArgs) -> Result<Sentences> {
    let lexicon = options.lexicon.as_deref().map(Lexicon::read).transpose()?;
    let found = Sentences::read(path, SentenceOptions { lexicon: lexicon.as_ref(), pause: options.pause.as_deref() })?;
    if found.unknown > 0 {
        say(format_args!("senone: {}: {} words are not in the lexicon", path.display(), found.unknown));
    }
    Ok(found)
}

fn text_of(path: &Path) -> Result<String> {
    senone::input::text(path)
}

/// Reads ARPA files over all their symbols.
fn read(paths: &[PathBuf]) -> Result<Vec<Ngram>> {
    let texts = paths.iter().map(|path| text_of(path)).collect::<Result<Vec<String>>>()?;
    let mut symbols = SymbolTable::new();
    for name in texts.iter().flat_map(|text| Ngram::arpa_symbols(text).names().to_vec()) {
        symbols.intern(&name);
    }
    let symbols = Arc::new(symbols);
    paths.iter().zip(&texts).map(|(path, text)| Ngram::parse_arpa(path, text, &symbols)).collect()
}

/// Writes an ARPA file and says how large it is.
fn write(model: &Ngram, path: &Path) -> Result<Outcome> {
    let text = model.to_arpa();
    formats::atomic::write(path, |file| file.write_all(text.as_bytes()))?;
    say(format_args!("{}: order {}, {} histories", path.display(), model.order(), model.histories()));
    Ok(Outcome::Complete)
}
