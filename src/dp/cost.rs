//! The Hamming cost of the margin criterion, laid onto the emissions: the best path under them is the worst violation.
//!
//! [`Emissions`] `[T x P]` and the right symbol of each frame come in, emissions `[T x P]` for any search go out.

use crate::emission::Emissions;
use crate::error::require;
use crate::graph::Graph;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// Adds `cost` to every cell whose pdf belongs to another symbol than `reference[t]`:
///
/// ```text
/// emission'[t, p] = emission[t, p] + (cost if no state of symbol reference[t] reads p, else 0)
/// ```
///
/// A path then scores F(x, y) + cost * (frames in which its symbol is wrong), so that [`viterbi`](super::viterbi) is the
/// cost-augmented search of a structured SVM (Tsochantaridis et al. 2005, margin rescaling). The cost is per symbol, not per
/// pdf: a state boundary that is shifted inside the right symbol is free. A pdf that several symbols share is free for each.
///
/// `cost` is in natural-log units, 0 or more; `reference` has one symbol per search frame.
///
/// # Errors
/// [`Error::Setting`] when `cost` is negative or not finite; [`Error::PdfCount`]; [`Error::Shape`] when there is not one
/// symbol per frame; [`Error::NotFinite`] when a score and the cost add up to more than an `f32` holds.
pub fn add_cost(emissions: &Emissions, reference: &[SymbolId], graph: &Graph, cost: f32) -> Result<Emissions> {
    require(cost >= 0.0 && cost.is_finite(), "cost", cost, "a finite number, 0 or more")?;
    if emissions.pdfs() != graph.pdfs() {
        return Err(Error::PdfCount { network: emissions.pdfs(), graph: graph.pdfs() });
    }
    if reference.len() != emissions.frames() {
        let (expected, found) = (emissions.frames(), reference.len());
        return Err(Error::Shape { what: "reference symbols of a sequence", expected, found });
    }
    let mut scores = emissions.matrix().clone();
    for (frame, &right) in reference.iter().enumerate() {
        let (row, plain) = (scores.row_mut(frame), emissions.frame(frame));
        row.iter_mut().for_each(|cell| *cell += cost);
        for state in graph.states().iter().filter(|state| state.symbol == right) {
            row[state.pdf.index()] = plain[state.pdf.index()];
        }
    }
    Emissions::new(scores)
}
