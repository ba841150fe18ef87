//! Graphs as drawings: boxes and arrows, for Graphviz ([`dot`]) or as a picture ([`svg`]).
//!
//! A drawing is of a net of symbols, where symbols that are alike in every rule share a box, or of the states of a graph. Scores
//! are shown as what they multiply by, `exp(score)`: a probability where it is below 1, nothing where it is 1.

mod layout;
mod svg;

use std::collections::BTreeMap;
use std::fmt::Write;

use super::net::{Link, Net};
use super::{Boundary, Graph, Weights};
use crate::symbols::StateId;

pub use svg::svg;

/// What stands in a box.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Names: symbols, or one state.
    pub names: Vec<String>,
    /// Whether a segment begins there; a state that goes on with one is drawn round.
    pub kind: Kind,
    /// What beginning there adds, if a sequence may begin there.
    pub start: Option<f32>,
    /// What ending there adds, if a sequence may end there.
    pub end: Option<f32>,
}

/// What a box is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A symbol, or the state by which one is entered.
    Entry,
    /// A further state of a symbol.
    Inner,
}

/// A step from one box to another, or to itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrow {
    /// The box left.
    pub from: usize,
    /// The box entered.
    pub to: usize,
    /// What the step adds, natural log.
    pub score: f32,
    /// [`Kind::Entry`] when a new segment begins.
    pub kind: Kind,
}

/// Boxes and arrows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawing {
    /// Boxes.
    pub nodes: Vec<Node>,
    /// Arrows, one at most from a box to another.
    pub arrows: Vec<Arrow>,
}

impl Drawing {
    /// The net of symbols: those that may begin, end, follow and be followed alike, with the same scores, share a box.
    pub fn of_symbols(net: &Net) -> Self {
        let mut drawing = Self::default();
        let box_of = alike(net);
        let starts: BTreeMap<usize, f32> = net.starts().iter().map(|start| (start.to, start.score)).collect();
        for (node, &at) in box_of.iter().enumerate() {
            if at < drawing.nodes.len() {
                drawing.nodes[at].names.push(net.name(node).to_owned());
                continue;
            }
            let (names, end) = (vec![net.name(node).to_owned()], net.nodes()[node].end);
            drawing.nodes.push(Node { names, kind: Kind::Entry, start: starts.get(&node).copied(), end });
            let mut onward: BTreeMap<usize, f32> = BTreeMap::new();
            onward.extend(net.links(node).iter().map(|link| (box_of[link.to], link.score)));
            let arrow = |(to, score)| Arrow { from: at, to, score, kind: Kind::Entry };
            drawing.arrows.extend(onward.into_iter().map(arrow));
        }
        drawing
    }

    /// The states of `graph` with `weights`, each with its symbol and pdf.
    pub fn of_states(graph: &Graph, weights: &Weights) -> Self {
        let find = |ends: &[Boundary], state: StateId| {
            let found = ends.binary_search_by_key(&state, |end| end.state).ok();
            found.map(|place| weights.get(ends[place].transition) + ends[place].fixed)
        };
        let node = |(index, state): (usize, &super::State)| Node {
            names: vec![format!("{} {}", graph.symbols().name(state.symbol), state.pdf)],
            kind: if state.entry { Kind::Entry } else { Kind::Inner },
            start: find(graph.starts(), StateId::from_index(index)),
            end: find(graph.finals(), StateId::from_index(index)),
        };
        let arrow = |(position, arc): (usize, &super::Arc)| Arrow {
            from: graph.source(position).index(),
            to: arc.to.index(),
            score: weights.get(arc.transition) + arc.fixed,
            kind: if graph.enters(graph.source(position), arc.to) { Kind::Entry } else { Kind::Inner },
        };
        Self {
            nodes: graph.states().iter().enumerate().map(node).collect(),
            arrows: graph.all_arcs().iter().enumerate().map(arrow).collect(),
        }
    }
}

/// For each node of `net` its box, numbered by their first nodes.
fn alike(net: &Net) -> Vec<usize> {
    type Row = Vec<(usize, u32)>;
    let row = |links: &[Link]| -> Row { links.iter().map(|link| (link.to, link.score.to_bits())).collect() };
    let mut before: Vec<Row> = vec![vec![]; net.nodes().len()];
    for from in 0..net.nodes().len() {
        net.links(from).iter().for_each(|link| before[link.to].push((from, link.score.to_bits())));
    }
    let starts: BTreeMap<usize, u32> = net.starts().iter().map(|start| (start.to, start.score.to_bits())).collect();
    let mut boxes = BTreeMap::new();
    let mut of = |(node, before): (usize, Row)| {
        let own = &net.nodes()[node];
        let key = (starts.get(&node).copied(), own.end.map(f32::to_bits), own.word, row(net.links(node)), before);
        let next = boxes.len();
        *boxes.entry(key).or_insert(next)
    };
    before.into_iter().enumerate().map(&mut of).collect()
}

/// `drawing` in the language of Graphviz: boxes with a doubled line where a sequence may end, an arrow from a dot where one may
/// begin, arrows dashed where a new segment begins.
pub fn dot(drawing: &Drawing) -> String {
    let mut text = "digraph graph_of_symbols {\n  rankdir=LR;\n  start [shape=point];\n".to_owned();
    let label = |score: f32| factor(score).map(|shown| format!("label={}", quoted(&shown)));
    let mut line = |line: String| writeln!(text, "  {line};").unwrap_or_default(); // a string takes every line
    for (index, node) in drawing.nodes.iter().enumerate() {
        let shape = if node.kind == Kind::Entry { "box" } else { "ellipse" };
        let end = if node.end.is_some() { ", peripheries=2" } else { "" };
        line(format!("{index} [label={}, shape={shape}{end}]", quoted(&lines(node).join("\n"))));
        if let Some(score) = node.start {
            line(format!("start -> {index} [{}]", label(score).unwrap_or_default()));
        }
    }
    for arrow in &drawing.arrows {
        let dashed = (arrow.kind == Kind::Entry).then(|| "style=dashed".to_owned());
        let settings: Vec<String> = label(arrow.score).into_iter().chain(dashed).collect();
        line(format!("{} -> {} [{}]", arrow.from, arrow.to, settings.join(", ")));
    }
    text + "}\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Characters of a line of names.
const LINE: usize = 24;

/// What a box says: its names, and what ending there multiplies by.
fn lines(node: &Node) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for name in &node.names {
        match lines.last_mut() {
            Some(line) if line.chars().count() + name.chars().count() < LINE => {
                line.push(' ');
                line.push_str(name);
            }
            _ => lines.push(name.clone()),
        }
    }
    lines.extend(node.end.and_then(factor).map(|shown| format!("end {shown}")));
    lines
}

/// `exp(score)` in three digits; `None` when the score is 0.
fn factor(score: f32) -> Option<String> {
    let factor = f64::from(score).exp();
    let shown = match factor {
        _ if score == 0.0 => return None,
        tiny if tiny < 0.001 => format!("{tiny:.1e}"),
        large if large >= 1e6 => format!("{large:.1e}"),
        plain => {
            let decimals = (2.0 - plain.log10().floor()).max(0.0) as usize;
            let shown = format!("{plain:.decimals$}");
            match shown.contains('.') {
                true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => shown,
            }
        }
    };
    Some(shown)
}

#[cfg(test)]
pub(in crate::graph) mod tests {
    use super::super::GraphSpec;
    use super::*;

    fn drawing(text: &str) -> Drawing {
        let spec = GraphSpec::parse(text).unwrap();
        Drawing::of_symbols(&Net::new(&spec, &spec.compile().unwrap()))
    }

    pub const YES_NO: &str = "format = 1\n[classes]\nsilence = ['sil']\nanswer = ['yes', 'no']\n[boundary]\nstart = 'silence'\n\
        end = ['silence']\n[[allow]]\nfrom = 'answer'\nto = 'silence'\nweight = -0.6931472\n[[allow]]\nfrom = 'silence'\n\
        to = 'answer'\n[topology.default]\nstates = 1\nself_loop = 0.75\n";

    #[test]
    fn symbols_that_are_alike_share_a_box() {
        let found = drawing(YES_NO);
        let names: Vec<String> = found.nodes.iter().map(|node| node.names.join(" ")).collect();
        assert_eq!(names, ["sil", "yes no"]);
        let arrows: Vec<_> = found.arrows.iter().map(|arrow| (arrow.from, arrow.to, factor(arrow.score))).collect();
        assert_eq!(arrows, [(0, 1, None), (1, 0, Some("0.5".into()))]);
        // One more rule for one of them, and they are alike no more.
        let found = drawing(&YES_NO.replace("[topology", "[[allow]]\nfrom = 'no'\nto = 'no'\n[topology"));
        assert_eq!(found.nodes.len(), 3);
    }

    #[test]
    fn dot_says_what_graphviz_is_to_draw() {
        let expected = "digraph graph_of_symbols {\n  rankdir=LR;\n  start [shape=point];\n  \
            0 [label=\"sil\", shape=box, peripheries=2];\n  start -> 0 [];\n  1 [label=\"yes no\", shape=box];\n  \
            0 -> 1 [style=dashed];\n  1 -> 0 [label=\"0.5\", style=dashed];\n}\n";
        assert_eq!(dot(&drawing(YES_NO)), expected);
        assert_eq!(quoted("a\\b \"c\"\nd"), r#""a\\b \"c\"\nd""#);
    }

    #[test]
    fn factors_have_three_digits() {
        let shown = |p: f64| factor(p.ln() as f32).unwrap();
        let numbers = [0.5, 0.25, 0.1234, 0.01234, 0.0001234, 2.0, 12.34, 1234.0];
        let expected = ["0.5", "0.25", "0.123", "0.0123", "1.2e-4", "2", "12.3", "1234"];
        assert_eq!(numbers.map(shown), expected);
        assert_eq!(factor(0.0), None);
    }
}
