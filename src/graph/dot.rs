//! A graph as a drawing: the DOT language of Graphviz.

use std::fmt;

use super::{Graph, Weights};
use crate::symbols::{StateId, TransitionId};

/// Writes `graph` with `weights`: a box for each state that begins a segment, an ellipse for the others, bold where a path may
/// begin, doubled where it may end; arcs with their scores (natural log), dashed where a new segment begins.
///
/// # Errors
/// Those of `out`.
pub fn write(graph: &Graph, weights: &Weights, out: &mut dyn fmt::Write) -> fmt::Result {
    let score = |transition: TransitionId, fixed: f32| weights.get(transition) + fixed;
    writeln!(out, "digraph graph_of_symbols {{\n  rankdir=LR;")?;
    for (index, state) in graph.states().iter().enumerate() {
        let id = StateId::from_index(index);
        let label = format!("{} {}", graph.symbols().name(state.symbol), state.pdf);
        let shape = if state.entry { "box" } else { "ellipse" };
        let bold =
            if graph.starts().binary_search_by_key(&id, |start| start.state).is_ok() { ", style=bold" } else { "" };
        let lines =
            if graph.finals().binary_search_by_key(&id, |end| end.state).is_ok() { ", peripheries=2" } else { "" };
        writeln!(out, "  {index} [label={}, shape={shape}{bold}{lines}];", quoted(&label))?;
    }
    for (position, arc) in graph.all_arcs().iter().enumerate() {
        let from = graph.source(position);
        let style = if graph.enters(from, arc.to) { ", style=dashed" } else { "" };
        let score = score(arc.transition, arc.fixed);
        writeln!(out, "  {from} -> {} [label=\"{score:.2}\"{style}];", arc.to)?;
    }
    writeln!(out, "}}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
