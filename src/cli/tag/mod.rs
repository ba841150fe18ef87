//! `senone tag`: tags for the tokens of column files.

mod predict;
mod score;
mod train;

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use clap::Subcommand;
use senone::{Error, Result};

use super::{Outcome, print};

/// `senone tag ...`
///
/// All files have a token a line, columns with tabs between, the token first, the tag last, and a blank line after each sequence.
#[derive(Debug, Subcommand)]
pub enum TagCommand {
    /// Learn to tag from tagged sequences
    Train(train::TrainArgs),
    /// Print the columns of a file, with the predicted tag last
    Predict(predict::PredictArgs),
    /// Print the accuracy of tags, and for BIO tags the F1 of entities
    ///
    /// The token may be missing from either file; - is standard input. An entity is B-X and the I-X that follow it; an I-X that
    /// continues no entity counts as none. Intervals are a bootstrap over sequences.
    Score(score::ScoreArgs),
}

/// Runs the command.
pub fn run(command: &TagCommand) -> Result<Outcome> {
    match command {
        TagCommand::Train(args) => train::run(args),
        TagCommand::Predict(args) => predict::run(args),
        TagCommand::Score(args) => print(&score::report(args)?),
    }
}

/// A file, or standard input for `-`.
fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = std::fs::File::open(path).map_err(|source| Error::io("read", path, source))?;
    Ok(Box::new(BufReader::new(file)))
}
