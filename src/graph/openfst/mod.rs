//! Graphs as the text that OpenFst reads and writes (`fstcompile`, `fstprint`), and back.
//!
//! The transducer is an acceptor of symbol sequences: an arc's label is the symbol that is said, its cost is minus the score (the
//! rule's weight and the language model, natural log). How long a symbol lasts is no part of it.

mod read;

use std::fmt::Write;

use super::net::{Link, Net};
use crate::symbols::SymbolTable;
use crate::{Error, Result};

pub use read::graph_file;

/// What OpenFst's tools and others call an arc without a symbol.
const EPSILONS: [&str; 3] = ["<eps>", "<epsilon>", "ε"];

/// The acceptor of `net` in OpenFst's text format: a line `from to symbol cost` for each arc, `state cost` for each final state.
/// State 0 is the start; the others are the nodes.
///
/// # Errors
/// [`Error::Other`] when a symbol has a name that stands for none there.
pub fn acceptor(net: &Net) -> Result<String> {
    if let Some(name) = net.symbols().names().iter().find(|name| EPSILONS.contains(&name.as_str())) {
        let reason = format!(
            "the {} {name} would be an arc without a symbol in OpenFst: give it another name",
            net.unit().noun()
        );
        return Err(Error::Other(reason));
    }
    let mut text = String::new();
    let mut arc = |from: usize, link: &Link| {
        let cost = cost(link.score);
        let _ = writeln!(text, "{from}\t{}\t{}\t{cost}", link.to + 1, net.name(link.to));
    };
    net.starts().iter().for_each(|start| arc(0, start));
    (0..net.nodes().len()).for_each(|node| net.links(node).iter().for_each(|link| arc(node + 1, link)));
    for (node, end) in net.nodes().iter().enumerate().filter_map(|(node, own)| own.end.map(|end| (node, end))) {
        let _ = writeln!(text, "{}\t{}", node + 1, cost(end));
    }
    Ok(text)
}

/// `-score`, with 0 for -0.
fn cost(score: f32) -> f32 {
    0.0 - score
}

/// The symbols with their numbers, as `--isymbols` of OpenFst's tools wants them: `<eps>` is 0.
pub fn symbol_table(symbols: &SymbolTable) -> String {
    let names = symbols.names().iter().zip(1..).map(|(name, number)| format!("{name}\t{number}\n"));
    format!("<eps>\t0\n{}", names.collect::<String>())
}
