//! `senone graph check` and `senone graph dot`.

use std::path::PathBuf;

use clap::Subcommand;
use senone::graph::{GraphSpec, check, dot};
use senone::{Error, Result};

use super::{Outcome, print};

/// `senone graph ...`
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// Report symbols, legal pairs, states, arcs and the shortest utterance, or say what is wrong and where
    Check {
        /// The graph file
        file: PathBuf,
    },
    /// Print the compiled graph in the language of Graphviz
    Dot {
        /// The graph file
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(command: &GraphCommand) -> Result<Outcome> {
    match command {
        GraphCommand::Check { file } => print(&format!("{}\n", check::report(&GraphSpec::read(file)?)?)),
        GraphCommand::Dot { file } => {
            let spec = GraphSpec::read(file)?;
            let mut text = String::new();
            dot::write(&spec.compile()?, &spec.initial_weights(), &mut text)
                .map_err(|_| Error::Other("cannot write the drawing".into()))?;
            print(&text)
        }
    }
}
