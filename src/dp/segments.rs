//! From a state per frame to labelled stretches of frames.

use crate::emission::Emissions;
use crate::graph::Graph;
use crate::matrix::argmax;
use crate::symbols::{StateId, SymbolId, WordId};
use crate::{Error, Result};

/// A symbol and the search frames that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSpan {
    /// The label.
    pub symbol: SymbolId,
    /// The word that ends with this segment.
    pub word: Option<WordId>,
    /// First search frame.
    pub start: usize,
    /// First search frame after it (exclusive).
    pub end: usize,
}

/// Collapses the path `states`, one per search frame, to its segments: without gaps, in time order.
pub fn segments(graph: &Graph, states: &[StateId]) -> Vec<SegmentSpan> {
    let mut spans: Vec<SegmentSpan> = Vec::new();
    for (frame, &state) in states.iter().enumerate() {
        let (symbol, word) = (graph.state(state).symbol, graph.word(state));
        match spans.last_mut() {
            Some(span) if !graph.enters(states[frame - 1], state) => (span.end, span.word) = (frame + 1, word),
            _ => spans.push(SegmentSpan { symbol, word, start: frame, end: frame + 1 }),
        }
    }
    spans
}

/// The symbol of the best pdf of each frame, frames of one symbol together; the first of several that are equally good.
///
/// # Errors
/// [`Error::Impossible`] with the first frame in which every pdf scores minus infinity.
pub fn best_symbols(graph: &Graph, emissions: &Emissions) -> Result<Vec<SegmentSpan>> {
    let mut symbols = vec![SymbolId(0); graph.pdfs()];
    graph.states().iter().for_each(|state| symbols[state.pdf.index()] = state.symbol);
    let mut spans: Vec<SegmentSpan> = Vec::new();
    for (frame, row) in emissions.matrix().iter_rows().enumerate() {
        let best = argmax(row);
        if row[best] == f32::NEG_INFINITY {
            return Err(Error::Impossible { frame });
        }
        match spans.last_mut() {
            Some(span) if span.symbol == symbols[best] => span.end = frame + 1,
            _ => spans.push(SegmentSpan { symbol: symbols[best], word: None, start: frame, end: frame + 1 }),
        }
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc as Shared;

    use super::*;
    use crate::graph::{Boundary, GraphBuilder, State};
    use crate::matrix::Matrix;
    use crate::symbols::{PdfId, TransitionId};

    fn span(symbol: u32, word: Option<u32>, range: std::ops::Range<usize>) -> SegmentSpan {
        SegmentSpan { symbol: SymbolId(symbol), word: word.map(WordId), start: range.start, end: range.end }
    }

    #[test]
    fn a_segment_begins_where_the_graph_says() {
        let mut builder = GraphBuilder::new(Shared::new(["a", "b"].into_iter().collect()), 1, 0);
        let mut state = |symbol, entry, restarts, word: Option<u32>| {
            let (symbol, word) = (SymbolId(symbol), word.map(WordId));
            builder.state(State { pdf: PdfId(0), symbol, entry, restarts, word })
        };
        let (a1, a2) = (state(0, true, false, None), state(0, false, false, Some(7)));
        let b = state(1, true, true, None);
        let graph = builder.build().unwrap();

        assert_eq!(segments(&graph, &[]), []);
        assert_eq!(segments(&graph, &[a1, a1, a2, a1]), [span(0, Some(7), 0..3), span(0, None, 3..4)]);
        assert_eq!(
            segments(&graph, &[a1, a2, b, b]),
            [span(0, Some(7), 0..2), span(1, None, 2..3), span(1, None, 3..4)]
        );
    }

    #[test]
    fn frames_by_themselves_need_no_arc() {
        let mut builder = GraphBuilder::new(Shared::new(["a", "b"].into_iter().collect()), 3, 0);
        let mut state = |pdf, symbol| {
            builder.state(State { pdf: PdfId(pdf), symbol: SymbolId(symbol), entry: true, restarts: false, word: None })
        };
        let states = [(0, 0), (1, 1), (2, 0)].map(|(pdf, symbol)| state(pdf, symbol));
        let boundary = Boundary { state: states[0], transition: TransitionId::NONE, fixed: 0.0 };
        builder.start(boundary);
        builder.end(boundary);
        let graph = builder.build().unwrap();
        let best = |rows: [[f32; 3]; 4]| {
            best_symbols(&graph, &Emissions::new(Matrix::from_vec(4, 3, rows.concat()).unwrap()).unwrap())
        };
        let expected = [span(0, None, 0..2), span(1, None, 2..3), span(0, None, 3..4)];
        assert_eq!(best([[3., 1., 2.], [0., 1., 2.], [0., 2., 1.], [0.; 3]]).unwrap(), expected);
        let never = f32::NEG_INFINITY;
        let dead = best([[3., 1., 2.], [never, never, 2.], [never; 3], [0.; 3]]);
        assert!(matches!(dead, Err(Error::Impossible { frame: 2 })), "{dead:?}");
    }
}
