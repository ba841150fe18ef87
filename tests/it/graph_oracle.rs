//! Compiled graphs against an enumeration that never makes a graph: all label sequences by the words of the rules, all ways to
//! share out the frames, scores added up from the numbers of the file.

use std::collections::BTreeMap;

use senone::graph::ngram::{Ngram, NgramOptions};
use senone::graph::{Boundary, Graph, GraphSpec, Slot, Topology};
use senone::symbols::{StateId, SymbolId, WordId};

/// Every kind of symbol: `sil` dwells and repeats in one state, `a` has two pdfs in three frames, `b` lasts a frame and
/// repeats, `c` dwells in one state, `d` has copies only. `sil` may follow `sil` and `noise`.
const MIXED: &str = r#"
format = 1
optional = ["pause"]
[classes]
pause = ["sil", "noise"]
speech = ["a", "b", "c", "d"]
[boundary]
start = ["pause", "a", "c", "d"]
end = ["pause", "a", "b", "d"]
[[allow]]
from = "speech"
to = "speech"
weight = -0.5
[[allow]]
from = "speech"
to = "pause"
weight = -1.25
[[allow]]
from = "pause"
to = ["speech", "sil"]
[[forbid]]
from = "a"
to = ["a", "d"]
[[forbid]]
from = ["c", "d"]
to = ["c", "d"]
[topology.default]
states = 1
self_loop = 0.6
[topology.a]
states = 2
min_frames = 3
[topology.b]
self_loop = false
[topology.d]
min_frames = 2
self_loop = 0.25
"#;

pub fn spec() -> GraphSpec {
    GraphSpec::parse(MIXED).unwrap()
}

/// The numbers of [`MIXED`], read off by eye.
fn rule_weight(spec: &GraphSpec, from: SymbolId, to: SymbolId) -> Option<f64> {
    let pause = |symbol: SymbolId| spec.symbols().name(symbol).len() > 1;
    let pair = format!("{} {}", spec.symbols().name(from), spec.symbols().name(to));
    match (pause(from), pause(to)) {
        _ if ["a a", "a d", "c c", "c d", "d c", "d d"].contains(&pair.as_str()) => None,
        (false, false) => Some(-0.5),
        (false, true) => Some(-1.25),
        (true, false) => Some(0.0),
        (true, true) => (spec.symbols().name(to) == "sil").then_some(0.0),
    }
}

fn probability(name: &str) -> Option<f64> {
    match name {
        "b" => None,
        "d" => Some(0.25),
        _ => Some(0.6),
    }
}

/// Pdfs of the positions, and whether each dwells, by hand.
fn positions(name: &str) -> &'static [(u32, bool)] {
    match name {
        "sil" => &[(0, true)],
        "noise" => &[(1, true)],
        "a" => &[(2, false), (2, true), (3, true)],
        "b" => &[(4, false)],
        "c" => &[(5, true)],
        _ => &[(6, false), (6, true)],
    }
}

/// One frame: symbol, pdf, whether a segment begins.
type Frame = (SymbolId, u32, bool);

/// A way through some frames with its score; scores are compared in steps of 1e-5.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    frames: Vec<Frame>,
    words: Vec<u32>,
    steps: i64,
}

fn steps(score: f64) -> i64 {
    (score * 1e5).round() as i64
}

/// The labels of a way.
fn labels(frames: &[Frame]) -> Vec<SymbolId> {
    frames.iter().filter(|frame| frame.2).map(|frame| frame.0).collect()
}

/// Every way to say `symbol` in `frames` frames, with the score from entering it to being about to leave it.
fn said(spec: &GraphSpec, symbol: SymbolId, frames: usize) -> Vec<(Vec<Frame>, f64)> {
    let name = spec.symbols().name(symbol);
    let mut ways: Vec<(Vec<Frame>, f64)> = vec![(vec![], 0.0)];
    for &(pdf, dwells) in positions(name) {
        let mut longer = vec![];
        for (way, score) in ways {
            for extra in 0..=if dwells { frames.saturating_sub(way.len() + 1) } else { 0 } {
                let mut way = way.clone();
                (0..=extra).for_each(|_| way.push((symbol, pdf, way.is_empty())));
                let p = probability(name).filter(|_| dwells);
                longer.push((way, score + p.map_or(0.0, |p| extra as f64 * p.ln() + (1.0 - p).ln())));
            }
        }
        ways = longer;
    }
    ways.retain(|(way, _)| way.len() == frames);
    ways
}

/// All legal ways through `frames` frames, with raw scores.
fn legal(spec: &GraphSpec, frames: usize) -> Vec<(Vec<Frame>, f64)> {
    let mut whole = vec![];
    let mut open: Vec<(Vec<Frame>, f64)> = vec![(vec![], 0.0)];
    while let Some((way, score)) = open.pop() {
        let last = way.last().map(|frame| frame.0);
        if way.len() == frames {
            if last.is_some_and(|last| spec.symbols().name(last) != "c") {
                whole.push((way, score));
            }
            continue;
        }
        for symbol in spec.symbols().ids() {
            let weight = match last {
                Some(last) => rule_weight(spec, last, symbol),
                None => (spec.symbols().name(symbol) != "b").then_some(0.0),
            };
            let Some(weight) = weight else { continue };
            for length in 1..=frames - way.len() {
                for (more, extra) in said(spec, symbol, length) {
                    open.push(([&way[..], &more].concat(), score + weight + extra));
                }
            }
        }
    }
    whole
}

fn expected(ways: impl IntoIterator<Item = (Vec<Frame>, f64)>) -> Vec<Way> {
    let way = |(frames, score)| Way { frames, words: vec![], steps: steps(score) };
    let mut all: Vec<Way> = ways.into_iter().map(way).collect();
    all.sort();
    all
}

/// The state paths of `graph`, by the weights that the file gives, through `frames` frames with their scores.
pub fn walks(spec: &GraphSpec, graph: &Graph, frames: usize) -> Vec<(Vec<StateId>, f64)> {
    let weights = spec.initial_weights();
    let start =
        |start: &Boundary| (vec![start.state], f64::from(weights.get(start.transition)) + f64::from(start.fixed));
    let mut open: Vec<(Vec<StateId>, f64)> = graph.starts().iter().map(start).collect();
    for _ in 1..frames {
        let mut longer = vec![];
        for (way, score) in &open {
            for arc in graph.arcs(way[way.len() - 1]) {
                let score = score + f64::from(weights.get(arc.transition)) + f64::from(arc.fixed);
                longer.push(([&way[..], &[arc.to]].concat(), score));
            }
        }
        open = longer;
    }
    let mut whole = vec![];
    for (way, score) in open {
        for end in graph.finals().iter().filter(|end| end.state == way[way.len() - 1]) {
            let score = score + f64::from(weights.get(end.transition)) + f64::from(end.fixed);
            whole.push((way.clone(), score));
        }
    }
    whole
}

/// Whether a segment begins in this frame of a path.
pub fn begins(graph: &Graph, way: &[StateId], frame: usize) -> bool {
    frame == 0 || graph.enters(way[frame - 1], way[frame])
}

/// The words that a path ends.
pub fn words(graph: &Graph, way: &[StateId]) -> Vec<WordId> {
    let ends = |frame: &usize| frame + 1 == way.len() || begins(graph, way, frame + 1);
    (0..way.len()).filter(ends).filter_map(|frame| graph.word(way[frame])).collect()
}

/// All paths of `graph` through `frames` frames.
fn paths(spec: &GraphSpec, graph: &Graph, frames: usize) -> Vec<Way> {
    let way = |(path, score): (Vec<StateId>, f64)| {
        let frame = |frame: usize| {
            let state = graph.state(path[frame]);
            (state.symbol, state.pdf.0, begins(graph, &path, frame))
        };
        let words = words(graph, &path).iter().map(|word| word.0).collect();
        Way { frames: (0..frames).map(frame).collect(), words, steps: steps(score) }
    };
    let mut whole: Vec<Way> = walks(spec, graph, frames).into_iter().map(way).collect();
    whole.sort();
    whole
}

fn assert_same(found: &[Way], expected: &[Way]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.frames, &found.words), (&expected.frames, &expected.words));
        assert!((found.steps - expected.steps).abs() <= 1, "{found:?} {expected:?}");
    }
}

#[test]
fn the_full_graph_has_each_legal_way_once_with_its_score() {
    let spec = spec();
    let graph = spec.compile().unwrap();
    for frames in 1..=6 {
        let all = expected(legal(&spec, frames));
        assert!(all.len() >= 2, "{frames} frames");
        assert_same(&paths(&spec, &graph, frames), &all);
    }
}

pub fn ids(spec: &GraphSpec, text: &str) -> Vec<SymbolId> {
    text.split_whitespace().map(|name| spec.symbols().get(name).unwrap()).collect()
}

#[test]
fn a_transcript_graph_has_the_ways_of_the_full_graph_that_say_it() {
    let spec = spec();
    for text in ["a b", "b b a", "a c b", "d b", "b", "", "c a"] {
        let transcript = ids(&spec, text);
        let graph = spec.transcript(&transcript).unwrap();
        for frames in 1..=6 {
            let mut ways = legal(&spec, frames);
            ways.retain(|(way, _)| {
                let mut labels = labels(way);
                labels.retain(|symbol| spec.symbols().name(*symbol).len() == 1);
                labels == transcript
            });
            assert_same(&paths(&spec, &graph, frames), &expected(ways));
        }
        assert!(graph.shortest_path_frames().unwrap() <= 6, "no way to say {text} was compared");
    }
}

/// Pauses stand between words only; either pronunciation serves; words come out in order.
#[test]
fn words_allow_each_pronunciation_and_pauses_between_words() {
    let spec = spec();
    let [first, second] = [WordId(7), WordId(3)];
    let slots = [
        Slot { word: Some(first), alternatives: vec![ids(&spec, "a b"), ids(&spec, "a c"), ids(&spec, "a b")] },
        Slot { word: Some(second), alternatives: vec![ids(&spec, "b")] },
    ];
    let graph = spec.transcript_of(&slots).unwrap();
    let mut seen = 0;
    for frames in 4..=7 {
        let mut ways = legal(&spec, frames);
        ways.retain(|(way, _)| {
            let labels = labels(way);
            let text: Vec<&str> = labels.iter().map(|symbol| spec.symbols().name(*symbol)).collect();
            let text = text.join(" ").replace("noise", "sil").replace("sil ", "").replace(" sil", "");
            let inside = labels.windows(2).any(|pair| {
                let [left, right] = [pair[0], pair[1]].map(|symbol| spec.symbols().name(symbol));
                left == "a" && right.len() > 1
            });
            ["a b b", "a c b"].contains(&text.as_str()) && !inside
        });
        let mut all = expected(ways);
        all.iter_mut().for_each(|way| way.words = vec![first.0, second.0]);
        seen += all.len();
        assert_same(&paths(&spec, &graph, frames), &all);
    }
    assert!(seen > 100);
}

#[test]
fn an_n_gram_adds_its_scores_to_each_way() {
    let spec = spec();
    let heard: Vec<Vec<SymbolId>> =
        ["a b c a", "a b b", "c b a", "d a b", "b d a c"].iter().map(|text| ids(&spec, text)).collect();
    for order in 1..=3 {
        let options = NgramOptions { order, ..NgramOptions::default() };
        let ngram = Ngram::estimate(&options, spec.symbols(), &heard).unwrap();
        let graph = spec.compile_with(Some((&ngram, 0.7))).unwrap();
        for frames in 1..=6 {
            let all = legal(&spec, frames).into_iter().map(|(way, score)| {
                let mut said = labels(&way);
                said.retain(|symbol| ngram.knows(*symbol));
                let lm = ngram.log_probability(&said);
                (way, score + f64::from(0.7_f32) * lm)
            });
            assert_same(&paths(&spec, &graph, frames), &expected(all));
        }
    }
}

#[test]
fn a_transcript_with_an_n_gram_scores_each_way_as_the_full_graph_does() {
    let spec = spec();
    let heard: Vec<Vec<SymbolId>> =
        ["a b c a", "sil a b b", "c sil b a", "d a b", "b d a c"].iter().map(|text| ids(&spec, text)).collect();
    let slot = |text: &str| Slot { word: None, alternatives: text.split('|').map(|said| ids(&spec, said)).collect() };
    for order in 1..=3 {
        let options = NgramOptions { order, ..NgramOptions::default() };
        let ngram = Ngram::estimate(&options, spec.symbols(), &heard).unwrap();
        let full = spec.compile_with(Some((&ngram, 0.7))).unwrap();
        let slots = [slot("a b|a"), slot("b|c b")];
        let (plain, weighed) =
            (spec.transcript_of(&slots).unwrap(), spec.transcript_with(&slots, (&ngram, 0.7)).unwrap());
        for frames in 5..=8 {
            // Its ways are those without the n-gram, its scores those of the full graph.
            let all: BTreeMap<Vec<Frame>, Way> =
                paths(&spec, &full, frames).into_iter().map(|way| (way.frames.clone(), way)).collect();
            let same = |way: &Way| all.get(&way.frames).cloned();
            let expected: Vec<Way> = paths(&spec, &plain, frames).iter().filter_map(same).collect();
            assert!(expected.len() > 3, "{frames} frames");
            assert_same(&paths(&spec, &weighed, frames), &expected);
        }
    }
}

#[test]
fn positions_spread_over_pdfs_evenly() {
    let text = MIXED.replace("states = 2\nmin_frames = 3", "states = 3\nmin_frames = 7");
    let spec = GraphSpec::parse(&text).unwrap();
    let topology: &Topology = spec.topology(spec.symbols().get("a").unwrap());
    let pdfs: Vec<usize> = (0..7).map(|position| topology.pdf(position)).collect();
    assert_eq!(pdfs, [0, 0, 0, 1, 1, 2, 2]);
    let dwells: Vec<usize> = (0..7).filter(|&position| topology.dwells(position)).collect();
    assert_eq!(dwells, [2, 4, 6]);
}
