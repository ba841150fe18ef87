//! Flat start: a first alignment before there is a model, every state of one short path held equally long.
//!
//! Source: Kaldi's align-equal; HTK's HCompV begins likewise.

use crate::graph::{Boundary, Graph};
use crate::symbols::{StateId, SymbolId};
use crate::{Error, Result};

/// A legal path of `frames` states through `graph`: as few states as can be, with a symbol of `silence` at both ends where
/// the graph has one and there are frames enough, and equal dwelling in each state that has a self-loop.
///
/// # Errors
/// [`Error::NoPath`] when the shortest path has more than `frames` states; [`Error::Transcript`] when the frames cannot be filled
/// because no state on the path has a self-loop, or when there is no path.
pub(super) fn equal_path(graph: &Graph, silence: &[SymbolId], frames: usize) -> Result<Vec<StateId>> {
    let silent = |end: &&Boundary| silence.contains(&graph.state(end.state).symbol);
    let (starts, finals) = (all(graph.starts()), all(graph.finals()));
    let quiet_starts: Vec<StateId> = graph.starts().iter().filter(silent).map(|end| end.state).collect();
    let quiet_finals: Vec<StateId> = graph.finals().iter().filter(silent).map(|end| end.state).collect();
    let choices =
        [(&quiet_starts, &quiet_finals), (&quiet_starts, &finals), (&starts, &quiet_finals), (&starts, &finals)];
    let paths = choices.iter().filter_map(|(from, to)| shortest(graph, from, to));
    match (paths.into_iter().find(|path| path.len() <= frames), graph.shortest_path_frames()) {
        (Some(path), _) => stretch(graph, &path, frames),
        (None, Some(need_at_least)) => Err(Error::NoPath { frames, need_at_least }),
        (None, None) => Err(Error::Transcript { reason: "no start of its graph leads to an end".into() }),
    }
}

fn all(ends: &[Boundary]) -> Vec<StateId> {
    ends.iter().map(|end| end.state).collect()
}

/// The path of fewest states from one of `from` to one of `to`, breadth first, lowest state first.
fn shortest(graph: &Graph, from: &[StateId], to: &[StateId]) -> Option<Vec<StateId>> {
    let mut before: Vec<Option<StateId>> = vec![None; graph.len()];
    let mut front = from.to_vec();
    from.iter().for_each(|&state| before[state.index()] = Some(state));
    while !front.is_empty() {
        if let Some(&last) = front.iter().find(|state| to.contains(state)) {
            return Some(trace(&before, last));
        }
        let mut next = Vec::new();
        for &state in &front {
            for arc in graph.arcs(state) {
                if before[arc.to.index()].is_none() {
                    before[arc.to.index()] = Some(state);
                    next.push(arc.to);
                }
            }
        }
        front = next;
    }
    None
}

/// Walks back from `last` to the state that came before itself.
fn trace(before: &[Option<StateId>], last: StateId) -> Vec<StateId> {
    let mut path = vec![last];
    let mut state = last;
    while let Some(previous) = before[state.index()].filter(|&previous| previous != state) {
        path.push(previous);
        state = previous;
    }
    path.reverse();
    path
}

/// Spreads `frames` over `path`, evenly over the states with a self-loop.
fn stretch(graph: &Graph, path: &[StateId], frames: usize) -> Result<Vec<StateId>> {
    let spare = frames - path.len();
    let holds = |state: StateId| graph.arc(state, state).is_some();
    let holding = path.iter().filter(|&&state| holds(state)).count();
    if holding == 0 && spare > 0 {
        let reason = format!("{frames} search frames cannot be spread over {} states without self-loops", path.len());
        return Err(Error::Transcript { reason });
    }
    let mut states = Vec::with_capacity(frames);
    let mut held = 0;
    for &state in path {
        states.push(state);
        if holds(state) {
            let extra = spare * (held + 1) / holding - spare * held / holding;
            states.extend(std::iter::repeat_n(state, extra));
            held += 1;
        }
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GraphSpec;
    use crate::graph::toy::everything_goes;

    fn graph(optional: &str) -> Graph {
        let text = everything_goes(&["sil", "a", "b"], "states = 2\nmin_frames = 3\nself_loop = 0.5");
        let spec = GraphSpec::parse(&format!("optional = [{optional}]\n{text}")).unwrap();
        spec.transcript(&[SymbolId(1), SymbolId(2)]).unwrap()
    }

    fn symbols(graph: &Graph, path: &[StateId]) -> Vec<u32> {
        path.iter().map(|&state| graph.state(state).symbol.0).collect()
    }

    #[test]
    fn silence_stands_at_both_ends_and_not_between() {
        let graph = graph("\"sil\"");
        let path = equal_path(&graph, &[SymbolId(0)], 24).unwrap();
        let expected: Vec<u32> = [0, 1, 2, 0].iter().flat_map(|&symbol| [symbol; 6]).collect();
        assert_eq!(symbols(&graph, &path), expected);
        assert!(path.windows(2).all(|step| graph.arc(step[0], step[1]).is_some()));
    }

    #[test]
    fn short_utterances_go_without_silence_and_too_short_ones_are_refused() {
        let graph = graph("\"sil\"");
        let path = equal_path(&graph, &[SymbolId(0)], 6).unwrap();
        assert_eq!(symbols(&graph, &path), [1, 1, 1, 2, 2, 2]);
        let found = equal_path(&graph, &[SymbolId(0)], 5);
        assert!(matches!(found, Err(Error::NoPath { frames: 5, need_at_least: 6 })));
    }

    #[test]
    fn frames_that_nothing_can_hold_are_a_fault_of_the_transcript() {
        let text = "format = 1\n[classes]\nall = ['a']\n[boundary]\nstart = 'a'\nend = 'a'\n[[allow]]\nfrom = 'a'\nto = 'a'\n\
            [topology.default]\nstates = 2\nself_loop = false\n";
        let graph = GraphSpec::parse(text).unwrap().transcript(&[SymbolId(0)]).unwrap();
        assert_eq!(equal_path(&graph, &[], 2).unwrap().len(), 2);
        assert!(matches!(equal_path(&graph, &[], 1), Err(Error::NoPath { frames: 1, need_at_least: 2 })));
        let error = equal_path(&graph, &[], 3).unwrap_err();
        assert!(
            matches!(error, Error::Transcript { .. }) && error.to_string().starts_with("3 search frames"),
            "{error}"
        );
    }

    #[test]
    fn every_count_of_frames_is_filled_legally() {
        let graph = graph("");
        for frames in 6..40 {
            let path = equal_path(&graph, &[], frames).unwrap();
            assert_eq!(path.len(), frames);
            assert!(path.windows(2).all(|step| graph.arc(step[0], step[1]).is_some()));
            assert!(graph.starts().iter().any(|start| start.state == path[0]));
            assert!(graph.finals().iter().any(|end| end.state == path[frames - 1]));
        }
    }
}
