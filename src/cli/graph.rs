//! `senone graph`: graph files checked, drawn, tried out, measured, and made from or into the files of others.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
#[cfg(feature = "neural")]
use senone::bundle;
use senone::graph::accept::{self, Verdict};
use senone::graph::draw::{self, Drawing};
use senone::graph::kaldi::{self, KaldiFiles};
use senone::graph::net::Net;
use senone::graph::sample::{Choice, Sampler};
use senone::graph::walk::Walk;
use senone::graph::{GraphSpec, Units, check, openfst, stats};
use senone::random::Random;
use senone::{Result, formats};

use super::{Outcome, print, say};

/// `senone graph ...`
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// Report sizes and the shortest utterance, warn of what looks like a slip, or say what is wrong and where
    Check(GraphArgs),
    /// Print a drawing in the language of Graphviz
    Dot(DrawArgs),
    /// Print a drawing as a picture, for small graphs
    Svg(DrawArgs),
    /// Say whether a sequence of symbols, or of words where the graph has some, is legal, and where it goes wrong; exit status 1
    /// when it is not
    Accepts {
        #[command(flatten)]
        graph: GraphArgs,
        /// Symbols or words, as arguments or with spaces between
        #[arg(required = true, value_name = "SYMBOL")]
        sequence: Vec<String>,
    },
    /// Print legal sequences drawn at random
    Random(RandomArgs),
    /// Print how many symbols may follow each, how uncertain the next one is, how long each lasts
    Stats(GraphArgs),
    /// Print the acceptor of the sequences of symbols, or of words where the graph has some, in OpenFst's text format; costs are minus the weights
    Openfst {
        #[command(flatten)]
        graph: GraphArgs,
        /// Write the symbols with their numbers, for `fstcompile --acceptor --isymbols`
        #[arg(long, value_name = "FILE")]
        symbols: Option<PathBuf>,
    },
    /// Print the graph file of an acceptor in OpenFst's text format, if pair rules can say it
    FromOpenfst {
        /// What `fstprint` wrote
        fst: PathBuf,
        /// The table of symbols, where the acceptor has their numbers
        #[arg(long, value_name = "FILE")]
        isymbols: Option<PathBuf>,
    },
    /// Print a graph file for the phones, lexicon and n-gram of a Kaldi setup
    Kaldi(KaldiArgs),
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

    /// The same without tied states: which pdfs a model gives its states is nothing to sequences.
    fn untied(&self) -> Result<GraphSpec> {
        self.read()?.with_units(Units::Monophone)
    }
}

/// `senone graph dot`, `senone graph svg`
#[derive(Debug, Args)]
pub struct DrawArgs {
    #[command(flatten)]
    graph: GraphArgs,
    /// Draw the states of each symbol; else symbols, those that the rules treat alike in one box
    #[arg(long)]
    states: bool,
}

/// `senone graph random`
#[derive(Debug, Args)]
pub struct RandomArgs {
    #[command(flatten)]
    graph: GraphArgs,
    /// Sequences to draw
    #[arg(long, value_name = "N", default_value_t = 10)]
    count: usize,
    /// The same seed gives the same sequences
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Symbols or words of a sequence at most
    #[arg(long, value_name = "N", default_value_t = 30)]
    max_length: usize,
    /// Draw each possible next symbol or word alike, whatever the weights
    #[arg(long)]
    uniform: bool,
}

/// `senone graph kaldi`
#[derive(Debug, Args)]
pub struct KaldiArgs {
    /// The table of phones; _B, _I, _E, _S and stress are taken off, <eps> and #0 left out
    #[arg(long, value_name = "FILE")]
    phones: PathBuf,
    /// lexicon.txt or lexiconp.txt of data/local/dict, whose phones have no _B, _I, _E or _S
    #[arg(long, value_name = "FILE")]
    lexicon: Option<PathBuf>,
    /// The table of words, to check that the lexicon has them all
    #[arg(long, value_name = "FILE", requires = "lexicon")]
    words: Option<PathBuf>,
    /// An ARPA file, over words with --lexicon, else over phones
    #[arg(long, value_name = "FILE")]
    lm: Option<PathBuf>,
    /// The phones that are pauses, with commas between [default: those of SIL, SPN and NSN, in any case]
    #[arg(long, value_name = "PHONES", value_delimiter = ',')]
    pauses: Vec<String>,
}

/// Runs the command.
pub fn run(command: &GraphCommand) -> Result<Outcome> {
    match command {
        GraphCommand::Check(graph) => check(graph),
        GraphCommand::Dot(args) => print(&draw::dot(&drawing(args)?)),
        GraphCommand::Svg(args) => print(&draw::svg(&drawing(args)?)?),
        GraphCommand::Accepts { graph, sequence } => accepts(graph, sequence),
        GraphCommand::Random(args) => random(args),
        GraphCommand::Stats(graph) => {
            let spec = graph.untied()?;
            print(&stats::stats(&spec, &Net::new(&spec, &spec.compile()?))?.to_string())
        }
        GraphCommand::Openfst { graph, symbols } => to_openfst(graph, symbols.as_deref()),
        GraphCommand::FromOpenfst { fst, isymbols } => {
            let table = isymbols.as_deref().map(read).transpose()?;
            print(&openfst::graph_file(fst, &read(fst)?, table.as_deref())?)
        }
        GraphCommand::Kaldi(args) => print(&kaldi::graph_file(&KaldiFiles {
            phones: args.phones.clone(),
            lexicon: args.lexicon.clone(),
            words: args.words.clone(),
            lm: args.lm.clone(),
            pauses: args.pauses.clone(),
        })?),
    }
}

fn net(spec: &GraphSpec) -> Result<Net> {
    Net::of(spec, &spec.compile()?)
}

fn read(path: &Path) -> Result<String> {
    senone::input::text(path)
}

fn check(graph: &GraphArgs) -> Result<Outcome> {
    let report = check::report(&graph.read()?)?;
    report.warnings.iter().for_each(|warning| say(format_args!("warning: {}: {warning}", graph.file.display())));
    print(&format!("{report}\n"))
}

fn drawing(args: &DrawArgs) -> Result<Drawing> {
    let spec = args.graph.untied()?;
    Ok(match args.states {
        true => Drawing::of_states(&spec.compile()?, &spec.initial_weights()),
        false => Drawing::of_symbols(&net(&spec)?),
    })
}

fn accepts(graph: &GraphArgs, sequence: &[String]) -> Result<Outcome> {
    let spec = graph.untied()?;
    let walk = Walk::new(&spec, &spec.compile()?);
    let names: Vec<&str> = sequence.iter().flat_map(|text| text.split_whitespace()).collect();
    match accept::judge(&spec, &walk, &names)? {
        Verdict::Legal { score } => {
            let rounded = (f64::from(score) * 1e4).round() / 1e4;
            print(&format!("legal, weight {}\n", rounded + 0.0))
        }
        Verdict::Illegal { place, reason } => {
            print(&format!("illegal at {} {place}: {reason}\n", walk.unit().noun()))?;
            Ok(Outcome::Partial)
        }
    }
}

fn random(args: &RandomArgs) -> Result<Outcome> {
    let spec = args.graph.untied()?;
    let walk = Walk::new(&spec, &spec.compile()?);
    let choice = if args.uniform { Choice::Uniform } else { Choice::Weighted };
    let sampler = Sampler::new(&walk, choice, args.max_length)?;
    let mut random = Random::new(args.seed);
    for _ in 0..args.count {
        let said = sampler.draw(&mut random)?;
        let said: Vec<&str> = said.into_iter().map(|symbol| walk.symbols().name(symbol)).collect();
        print(&format!("{}\n", said.join(" ")))?;
    }
    Ok(Outcome::Complete)
}

fn to_openfst(graph: &GraphArgs, symbols: Option<&Path>) -> Result<Outcome> {
    let net = net(&graph.untied()?)?;
    let text = openfst::acceptor(&net)?;
    if let Some(path) = symbols {
        let table = openfst::symbol_table(net.symbols());
        formats::atomic::write(path, |file| file.write_all(table.as_bytes()))?;
    }
    print(&text)
}
