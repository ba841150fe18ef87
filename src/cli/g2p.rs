//! `senone g2p`: how words are said that no lexicon has, learnt from one that has others.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use senone::g2p::{Entry, Evaluation, G2p, Pronounced, entries, evaluate, split};
use senone::graph::lexicon::Lexicon;
use senone::metrics::{EditCounts, Interval};
use senone::{Error, Result, formats};

use super::{Outcome, print, say};

/// `senone g2p ...`
#[derive(Debug, Subcommand)]
pub enum G2pCommand {
    /// Learn from a lexicon how letters are said, and print the errors on words held out
    Train(TrainArgs),
    /// Print how words are said, in the form of a lexicon
    Apply(ApplyArgs),
}

/// `senone g2p train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The lexicon: CMU dictionary, lexicon.txt or lexiconp.txt of Kaldi
    #[arg(value_name = "LEXICON")]
    lexicon: PathBuf,
    /// The model to write: an ARPA file over pairs of letters and phones
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Pairs of letters and phones that a probability depends on, its own one included, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 6)]
    order: usize,
    /// Share of the words to hold out, whose errors are printed; they are learnt after that, so the model knows all. 0 measures nothing
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    held_out: f32,
    /// Where drawing the held-out words starts
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// `senone g2p apply`
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// A model of `senone g2p train`
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Words; - for standard input, with white space between them
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
    /// Ways to say each word, with probabilities as in Kaldi's lexiconp.txt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    nbest: Option<u16>,
}

/// Runs the command.
pub fn run(command: &G2pCommand) -> Result<Outcome> {
    match command {
        G2pCommand::Train(args) => train(args),
        G2pCommand::Apply(args) => apply(args),
    }
}

fn train(args: &TrainArgs) -> Result<Outcome> {
    if !(0.0..1.0).contains(&args.held_out) {
        let value = args.held_out.to_string();
        return Err(Error::Setting { key: "held-out share", value, expected: "a number from 0 to below 1" });
    }
    let lexicon = Lexicon::read(&args.lexicon)?;
    let in_lexicon = |error: Error| match error {
        Error::Other(reason) => Error::Other(format!("{}: {reason}", args.lexicon.display())),
        other => other,
    };
    let all = entries(&lexicon);
    if args.held_out > 0.0 {
        let (learnt, held_out) = split(all.clone(), (args.held_out, args.seed));
        let evaluation = measure((&learnt, &held_out), args.order).map_err(in_lexicon)?;
        print(&told(&evaluation))?;
    }
    let (model, aligned) = G2p::learn(&all, args.order).map_err(in_lexicon)?;
    if aligned.left_out > 0 {
        say(format_args!(
            "senone: {}: {} of {} entries have more than two phones a letter, or more than 200: left out",
            args.lexicon.display(),
            aligned.left_out,
            all.len()
        ));
    }
    let text = model.to_arpa();
    formats::atomic::write(&args.output, |file| file.write_all(text.as_bytes()))?;
    say(format_args!(
        "{}: {} pairs of letters and phones, order {}",
        args.output.display(),
        aligned.graphones.len(),
        args.order
    ));
    Ok(Outcome::Complete)
}

fn measure((learnt, held_out): (&[Entry], &[Entry]), order: usize) -> Result<Evaluation> {
    evaluate(&G2p::learn(learnt, order)?.0, held_out)
}

fn told(evaluation: &Evaluation) -> String {
    let line = |name: &str, counts: &EditCounts, interval: Option<Interval>| {
        let interval = interval.map_or(String::new(), |Interval { low, high }| {
            format!(", 95 % interval {:.2} to {:.2}", 100.0 * low, 100.0 * high)
        });
        format!("{name} error {:.2} %{interval}", 100.0 * counts.rate())
    };
    let Evaluation { words, phones, phone_interval, wrong, word_interval } = evaluation;
    format!(
        "{words} words held out: {}; {} (by word)\n",
        line("phone", phones, *phone_interval),
        line("word", wrong, *word_interval)
    )
}

fn apply(args: &ApplyArgs) -> Result<Outcome> {
    let model = G2p::read(&args.model)?;
    let mut outcome = Outcome::Complete;
    for word in words(&args.words)? {
        match model.pronounce(&word, usize::from(args.nbest.unwrap_or(1))) {
            Ok(ways) => print(&lines(&word, &ways, args.nbest)).map(drop)?,
            Err(error) => {
                say(format_args!("senone: {error}"));
                outcome = Outcome::Partial;
            }
        }
    }
    Ok(outcome)
}

/// The words that were named, or those on standard input.
fn words(named: &[String]) -> Result<Vec<String>> {
    let mut words = vec![];
    for word in named {
        match word.as_str() {
            "-" => {
                let text = std::io::read_to_string(std::io::stdin())
                    .map_err(|cause| Error::io("read", Path::new("-"), cause))?;
                words.extend(text.split_whitespace().map(str::to_owned));
            }
            word => words.extend(word.split_whitespace().map(str::to_owned)),
        }
    }
    Ok(words)
}

fn lines(word: &str, ways: &[Pronounced], nbest: Option<u16>) -> String {
    let line = |way: &Pronounced| {
        let probability = nbest.map_or(String::new(), |_| format!(" {:.4}", way.probability.max(1e-4)));
        format!("{word}{probability} {}\n", way.phones.join(" "))
    };
    ways.iter().map(line).collect()
}
