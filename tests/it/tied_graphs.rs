//! Graphs of tied states against the monophone graph: the same ways with the same scores, each state with the pdf that the tree
//! gives it among the neighbours that the way has.

use std::collections::BTreeSet;

use senone::graph::ngram::{Ngram, NgramOptions};
use senone::graph::tree::{Neighbour, Side, Step};
use senone::graph::{Context, ContextKind, Graph, GraphSpec, Slot, Tree, Units};
use senone::random::Random;
use senone::symbols::{PdfId, StateId, SymbolId, WordId};

use crate::graph_oracle::{begins, ids, spec, walks};

/// A frame of a way: its symbol, its pdf, whether a segment begins.
type Frame = (SymbolId, PdfId, bool);

/// A way and its score in steps of 1e-4.
type Way = (Vec<Frame>, i64);

fn steps(score: f64) -> i64 {
    (score * 1e4).round() as i64
}

/// Every way of a graph as it stands.
fn ways(spec: &GraphSpec, graph: &Graph, frames: usize) -> Vec<Way> {
    let frame = |way: &[StateId], at: usize| {
        let state = graph.state(way[at]);
        (state.symbol, state.pdf, begins(graph, way, at))
    };
    let way = |(way, score): (Vec<StateId>, f64)| ((0..frames).map(|at| frame(&way, at)).collect(), steps(score));
    let mut all: Vec<Way> = walks(spec, graph, frames).into_iter().map(way).collect();
    all.sort();
    all
}

/// Where the words of a way may end, by segment.
type Endings<'a> = dyn Fn(&[SymbolId], &[bool]) -> Vec<Vec<bool>> + 'a;

/// The ways of the monophone graph `graph` in the units of `tree`. `endings` has the symbols of the segments, and whether each
/// carries a word.
fn expected(tree: &Tree, (spec, graph): (&GraphSpec, &Graph), frames: usize, endings: &Endings<'_>) -> Vec<Way> {
    let mut all = BTreeSet::new();
    for (way, score) in walks(spec, graph, frames) {
        let segment_of: Vec<usize> = (0..frames)
            .scan(0, |count, at| {
                *count += usize::from(begins(graph, &way, at));
                Some(*count - 1)
            })
            .collect();
        let mut symbols = vec![SymbolId(0); segment_of[frames - 1] + 1];
        let mut carries = vec![false; symbols.len()];
        for (&state, &segment) in way.iter().zip(&segment_of) {
            symbols[segment] = graph.state(state).symbol;
            carries[segment] |= graph.state(state).word.is_some();
        }
        for last in endings(&symbols, &carries) {
            let frame = |at: usize| {
                let segment = segment_of[at];
                let symbol = symbols[segment];
                let left: Neighbour = segment.checked_sub(1).map(|before| symbols[before]);
                let right = symbols.get(segment + 1).copied().filter(|_| !last[segment]);
                let first = spec.pdfs_of(symbol).next().unwrap().index();
                let state = graph.state(way[at]).pdf.index() - first;
                (symbol, tree.pdf(symbol, state, Context { left, right }), begins(graph, &way, at))
            };
            all.insert(((0..frames).map(frame).collect(), steps(score)));
        }
    }
    all.into_iter().collect()
}

fn assert_same(found: &[Way], expected: &[Way], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.0, expected.0, "{what}");
        assert!((found.1 - expected.1).abs() <= 1, "{what}");
    }
}

/// A tree with up to seven pdfs a state, questions by chance.
fn random_tree(spec: &GraphSpec, kind: ContextKind, random: &mut Random) -> Tree {
    let symbols = spec.symbols();
    let neighbours: Vec<Neighbour> = std::iter::once(None).chain(symbols.ids().map(Some)).collect();
    let sets: Vec<Vec<Neighbour>> =
        (0..12).map(|_| neighbours.iter().copied().filter(|_| random.below(2) == 0).collect()).collect();
    fn grow(kind: ContextKind, depth: usize, random: &mut Random, steps: &mut Vec<Step>) {
        if depth == 0 || random.below(4) == 0 {
            return steps.push(Step::Leaf);
        }
        let sides = if kind == ContextKind::LeftBiphone { 1 } else { 2 };
        let side = [Side::Left, Side::Right][random.below(sides)];
        steps.push(Step::Ask(side, random.below(12)));
        grow(kind, depth - 1, random, steps);
        grow(kind, depth - 1, random, steps);
    }
    let state = |random: &mut Random| {
        let mut steps = vec![];
        grow(kind, 3, random, &mut steps);
        steps
    };
    let states: Vec<Vec<Vec<Step>>> =
        symbols.ids().map(|symbol| (0..spec.topology(symbol).states()).map(|_| state(random)).collect()).collect();
    Tree::new(kind, symbols, sets, &states).unwrap()
}

fn trees(kind: ContextKind) -> Vec<Tree> {
    let mut random = Random::new(3);
    (0..4).map(|_| random_tree(&spec(), kind, &mut random)).collect()
}

fn tied(tree: &Tree) -> GraphSpec {
    spec().with_units(Units::Tied(tree.clone().into())).unwrap()
}

fn ngram(order: usize) -> Ngram {
    let spec = spec();
    let sequences: Vec<_> =
        ["a b b", "a c b d", "d b a", "b a c a", "sil a sil d"].map(|text| ids(&spec, text)).to_vec();
    Ngram::estimate(&NgramOptions { order, ..NgramOptions::default() }, spec.symbols(), &sequences).unwrap()
}

fn slots() -> Vec<Slot> {
    let spec = spec();
    let slot = |(word, alternatives): (u32, &[&str])| Slot {
        word: Some(WordId(word)),
        alternatives: alternatives.iter().map(|text| ids(&spec, text)).collect(),
    };
    [(0, &["a b", "d"] as &[&str]), (1, &["b b"])].map(slot).to_vec()
}

/// Without words nothing is known to the right; left-biphones do not care.
fn none_ends(symbols: &[SymbolId], _: &[bool]) -> Vec<Vec<bool>> {
    vec![vec![true; symbols.len()]]
}

/// Words do not matter: to the right is what comes next.
fn all_go_on(symbols: &[SymbolId], _: &[bool]) -> Vec<Vec<bool>> {
    vec![vec![false; symbols.len()]]
}

#[test]
fn tied_states_are_the_monophones_among_their_neighbours() {
    check_without_words(ContextKind::LeftBiphone, &none_ends);
    check_without_words(ContextKind::Triphone, &all_go_on);
}

fn check_without_words(kind: ContextKind, endings: &Endings<'_>) {
    let plain = spec();
    for tree in trees(kind) {
        let tied = tied(&tree);
        assert_eq!((tied.pdfs(), tied.transitions()), (tree.pdfs(), plain.transitions()));
        let lm = (&ngram(3), 0.7);
        let pairs = [
            (plain.compile().unwrap(), tied.compile().unwrap(), "all sequences"),
            (plain.compile_with(Some(lm)).unwrap(), tied.compile_with(Some(lm)).unwrap(), "n-gram"),
            (plain.transcript_of(&slots()).unwrap(), tied.transcript_of(&slots()).unwrap(), "transcript"),
            (plain.transcript_with(&slots(), lm).unwrap(), tied.transcript_with(&slots(), lm).unwrap(), "both"),
        ];
        for (mono, graph, what) in pairs {
            assert_eq!(graph.pdfs(), tree.pdfs());
            let mut compared = 0;
            for frames in 1..=6 {
                let all = expected(&tree, (&plain, &mono), frames, endings);
                assert_same(&ways(&tied, &graph, frames), &all, what);
                compared += all.len();
            }
            assert!(compared > 5, "{what}");
        }
    }
}

#[test]
fn triphones_see_the_right_neighbour_inside_words() {
    let plain = spec();
    for tree in trees(ContextKind::WordInternalTriphone) {
        let tied = tied(&tree);
        let pause = |symbol: &SymbolId| plain.optional().contains(symbol);
        let by_words = |symbols: &[SymbolId], carries: &[bool]| {
            vec![symbols.iter().zip(carries).map(|(symbol, carries)| *carries || pause(symbol)).collect()]
        };
        let (mono, graph) = (plain.transcript_of(&slots()).unwrap(), tied.transcript_of(&slots()).unwrap());
        for frames in 4..=8 {
            let all = expected(&tree, (&plain, &mono), frames, &by_words);
            assert!(!all.is_empty());
            assert_same(&ways(&tied, &graph, frames), &all, "transcript");
        }
    }
}

/// A graph without words has every cut into words.
#[test]
fn a_word_may_end_after_any_symbol_of_a_graph_without_words() {
    let plain = spec();
    let any = |symbols: &[SymbolId], _: &[bool]| {
        let pause = |symbol: SymbolId| spec().optional().contains(&symbol);
        let must = |at: usize| at + 1 == symbols.len() || pause(symbols[at]) || pause(symbols[at + 1]);
        let mut all: Vec<Vec<bool>> = vec![vec![]];
        for at in 0..symbols.len() {
            let choices = if must(at) { vec![true] } else { vec![true, false] };
            all = all.iter().flat_map(|cut| choices.iter().map(move |&last| [&cut[..], &[last]].concat())).collect();
        }
        all
    };
    for tree in trees(ContextKind::WordInternalTriphone) {
        let tied = tied(&tree);
        let lm = (&ngram(2), 0.7);
        let pairs = [
            (plain.compile().unwrap(), tied.compile().unwrap()),
            (plain.compile_with(Some(lm)).unwrap(), tied.compile_with(Some(lm)).unwrap()),
        ];
        for (mono, graph) in pairs {
            for frames in 1..=4 {
                let all = expected(&tree, (&plain, &mono), frames, &any);
                assert_same(&ways(&tied, &graph, frames), &all, "no words");
            }
        }
    }
}

#[test]
fn a_tree_with_a_leaf_a_state_is_the_monophone_graph() {
    let plain = spec();
    let leaf = |symbol| vec![vec![Step::Leaf]; plain.topology(symbol).states()];
    let states: Vec<_> = plain.symbols().ids().map(leaf).collect();
    for kind in ContextKind::ALL {
        let tied = tied(&Tree::new(kind, plain.symbols(), vec![], &states).unwrap());
        let lm = ngram(3);
        let parts = |spec: &GraphSpec| {
            let graphs = [spec.compile(), spec.compile_with(Some((&lm, 1.0))), spec.transcript_of(&slots())];
            graphs.map(|graph| {
                let graph = graph.unwrap();
                (graph.states().to_vec(), graph.all_arcs().to_vec(), graph.starts().to_vec(), graph.finals().to_vec())
            })
        };
        assert_eq!(parts(&tied), parts(&plain));
    }
}

#[test]
fn a_tree_of_another_graph_is_refused() {
    let tree = &trees(ContextKind::LeftBiphone)[0];
    let other = GraphSpec::parse(&spec().text().replace("states = 2", "states = 3")).unwrap();
    let error = other.with_units(Units::Tied(tree.clone().into())).unwrap_err();
    assert!(error.to_string().contains("different symbols or states"), "{error}");
}
