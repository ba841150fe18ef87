//! `senone graph check` and `senone graph dot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
#[cfg(feature = "neural")]
use senone::bundle;
use senone::graph::{GraphSpec, check, dot};
use senone::{Error, Result};

use super::{Outcome, print};

/// `senone graph ...`
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// Report symbols, legal pairs, states, arcs and the shortest utterance, or say what is wrong and where
    Check(GraphArgs),
    /// Print the compiled graph in the language of Graphviz
    Dot(GraphArgs),
}

/// A graph file.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The graph file
    file: PathBuf,
    /// The model that a file with `extends = "model"` narrows [default: the built-in English model]
    #[cfg(feature = "neural")]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
}

impl GraphArgs {
    #[cfg(feature = "neural")]
    fn read(&self) -> Result<GraphSpec> {
        GraphSpec::read_on(&self.file, || Ok(bundle::open_or_builtin(self.model.as_ref())?.graph))
    }

    #[cfg(not(feature = "neural"))]
    fn read(&self) -> Result<GraphSpec> {
        GraphSpec::read(&self.file)
    }
}

/// Runs the command.
pub fn run(command: &GraphCommand) -> Result<Outcome> {
    match command {
        GraphCommand::Check(args) => print(&format!("{}\n", check::report(&args.read()?)?)),
        GraphCommand::Dot(args) => {
            let spec = args.read()?;
            let mut text = String::new();
            dot::write(&spec.compile()?, &spec.initial_weights(), &mut text)
                .map_err(|_| Error::Other("cannot write the drawing".into()))?;
            print(&text)
        }
    }
}
