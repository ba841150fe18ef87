//! Commands: clap structs, made into checked settings and one library call each; a file per command.

#[cfg(feature = "neural")]
mod align;
mod augment;
mod decode;
mod g2p;
mod graph;
#[cfg(feature = "neural")]
mod info;
#[cfg(feature = "neural")]
mod inputs;
mod manifest;
mod ngram;
mod score;
mod tag;
#[cfg(feature = "neural")]
mod train;
#[cfg(feature = "neural")]
mod tune;
mod validate;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use senone::data::{Manifest, source};
use senone::{Error, Result};

/// Phones with times from audio: a hybrid DNN-HMM speech decoder.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
struct Cli {
    /// Threads to use; the results are the same for any number [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the phones of recordings, or the words, with times
    Decode(decode::DecodeArgs),
    #[cfg(feature = "neural")]
    Align(align::AlignArgs),
    /// Train a model from recordings and their words
    #[cfg(feature = "neural")]
    Train(train::TrainArgs),
    /// Choose a model's scales and penalty on development recordings
    #[cfg(feature = "neural")]
    Tune(tune::TuneArgs),

    /// Compare decoded phones or words with the reference
    Score(score::ScoreArgs),
    /// Tag the tokens of text: train, predict, score
    #[command(subcommand)]
    Tag(tag::TagCommand),
    /// Print a corpus of any layout as a manifest
    Manifest(manifest::ManifestArgs),
    /// Say what is wrong with corpora before training on them
    Validate(validate::ValidateArgs),
    /// Describe a model
    #[cfg(feature = "neural")]
    Info(info::InfoArgs),
    /// N-grams of phones or words: estimate, mix, prune, score
    #[command(subcommand)]
    Ngram(ngram::NgramCommand),
    /// Pronunciations of words that no lexicon has: learn from a lexicon, apply
    #[command(subcommand)]
    G2p(g2p::G2pCommand),
    /// Write changed copies of recordings: in noise, by telephone, faster, louder
    Augment(augment::AugmentArgs),
    /// Graph files: check, draw, try out, measure; from and to OpenFst, from Kaldi
    #[command(subcommand)]
    Graph(graph::GraphCommand),
}

/// Whether everything went well; what went wrong with single files has been said by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All done.
    Complete,
    /// Something failed, the rest is done.
    Partial,
}

/// Parses the command line, runs the command, says what went wrong.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match in_pool(cli.threads, || run(cli.command)) {
        Ok(Outcome::Complete) => ExitCode::SUCCESS,
        Ok(Outcome::Partial) => ExitCode::FAILURE,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("senone: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether nobody reads our output any more, which is their right.
fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// Runs `work` in a thread pool of its own.
fn in_pool<T: Send>(threads: Option<u16>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Error::Other(format!("cannot start threads: {error}")))?;
    pool.install(work)
}

fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Decode(args) => decode::run(&args),
        #[cfg(feature = "neural")]
        Command::Align(args) => align::run(args),
        #[cfg(feature = "neural")]
        Command::Train(args) => train::run(&args),
        #[cfg(feature = "neural")]
        Command::Tune(args) => tune::run(&args),

        Command::Score(args) => print(&score::run(&args)?),
        Command::Tag(command) => tag::run(&command),
        Command::Manifest(args) => print(&manifest::run(&args)?),
        Command::Validate(args) => validate::run(&args),
        #[cfg(feature = "neural")]
        Command::Info(args) => info::run(&args),
        Command::Ngram(command) => ngram::run(&command),
        Command::G2p(command) => g2p::run(&command),
        Command::Augment(args) => augment::run(&args),
        Command::Graph(command) => graph::run(&command),
    }
}

/// Says a line on standard error; nobody listening is no error. What would steer a terminal, as texts and names of files may, is
/// shown as U+FFFD.
fn say(line: impl std::fmt::Display) {
    let line = line.to_string().replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}");
    let _ = writeln!(io::stderr(), "{line}");
}

/// The corpus at `path`; what it has to tell is said.
fn read_corpus(path: &Path) -> Result<Manifest> {
    let corpus = source::read(path)?;
    corpus.notices.iter().for_each(|notice| say(format_args!("senone: {notice}")));
    Ok(corpus)
}

/// Prints `text` to standard output.
fn print(text: &str) -> Result<Outcome> {
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Outcome::Complete)
}

/// Writes to standard output; a broken pipe reaches [`main`] as an error that is none.
fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::stdout().lock();
    write(&mut out).and_then(|()| out.flush()).map_err(|source| Error::io("write", "standard output".as_ref(), source))
}
