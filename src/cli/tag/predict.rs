//! `senone tag predict`: the columns of a file and the predicted tags.

use std::path::PathBuf;

use clap::Args;
use senone::Result;
use senone::data::{ColumnReader, Layout, Sequence};
use senone::matrix::Matrix;
use senone::tagging::Tagger;

use super::super::{Outcome, say, to_stdout};
use super::open;

/// `senone tag predict`
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// What `senone tag train` wrote
    model: PathBuf,

    /// Sequences to tag; - is standard input
    file: PathBuf,

    /// Before the predicted tag, print the probability of each tag given the whole sequence, as tag=probability
    #[arg(long)]
    marginals: bool,
}

/// Tags sequence by sequence; what cannot be tagged is told, the rest is done.
pub fn run(args: &PredictArgs) -> Result<Outcome> {
    let tagger = Tagger::read(&args.model)?;
    let input = open(&args.file)?;
    let mut outcome = Outcome::Complete;
    to_stdout(|out| {
        for sequence in ColumnReader::new(&args.file, input, Layout::Tokens) {
            match sequence.and_then(|sequence| lines(&tagger, &sequence, args.marginals)) {
                Ok(text) => out.write_all(text.as_bytes())?,
                Err(error) => {
                    say(format_args!("senone: {error}"));
                    outcome = Outcome::Partial;
                }
            }
        }
        Ok(())
    })?;
    Ok(outcome)
}

/// The lines of a sequence with their tags, and a blank one.
fn lines(tagger: &Tagger, sequence: &Sequence, with_marginals: bool) -> Result<String> {
    let tags = tagger.predict(sequence)?;
    let marginals = if with_marginals { Some(tagger.marginals(sequence)?) } else { None };
    let mut text = String::new();
    for (token, (row, tag)) in sequence.rows().iter().zip(tags).enumerate() {
        text.push_str(row);
        if let Some(marginals) = &marginals {
            text.push_str(&shares(tagger, marginals, token));
        }
        text.extend(["\t", tag, "\n"]);
    }
    text.push('\n');
    Ok(text)
}

/// A column for each tag.
fn shares(tagger: &Tagger, marginals: &Matrix, token: usize) -> String {
    let shares = tagger.tags().iter().zip(marginals.row(token));
    shares.map(|(tag, share)| format!("\t{tag}={share:.6}")).collect()
}
