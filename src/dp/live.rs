//! The states that a beam search follows, as a trellis of their own: the base of posteriors, lattices and N-best lists.
//!
//! [`Column`]s are taken from a [`Search`] after each frame; going back over them, a [`LiveTrellis`] keeps the states and
//! steps on a path that scores within a beam of the best. Its size follows what is worth following, not the graph.

use super::beam::Search;
use super::plan::Plan;
use crate::Error;
use crate::symbols::StateId;

/// A state that was followed in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub state: StateId,
    /// The score of its pdf in the frame.
    pub emission: f32,
    /// Best way to here, the emission included, relative to the best of the frame: 0 or less.
    pub forward: f32,
    /// Best path through here, relative to the best path of all: 0 or less.
    pub through: f32,
}

/// The states that were followed in one frame, ascending.
pub(super) type Column = Vec<Cell>;

/// The states that `search` follows after its last frame, whose scores are `emissions`, if they score within `beam` of the best.
pub(super) fn column(plan: &Plan, search: &Search, (emissions, beam): (&[f32], f32)) -> Column {
    let cell = |(state, forward): (StateId, f32)| {
        let emission = emissions[plan.pdfs[state.index()] as usize];
        Cell { state, emission, forward, through: forward }
    };
    search.live().filter(|(_, score)| -score <= beam).map(cell).collect()
}

/// Most cells that a window or a recording keeps whatever they score.
const FEW_CELLS: usize = 1 << 23;

/// How far behind the best of its frame a cell may be that is kept, where `frames` of all states are too many: what is further behind
/// hardly ever catches up.
pub(super) fn keep_within(plan: &Plan, frames: usize) -> f32 {
    if plan.graph().len().saturating_mul(frames) <= FEW_CELLS { f32::INFINITY } else { FAR_BEHIND }
}

/// More than any search loses on purpose; natural log.
const FAR_BEHIND: f32 = 30.0;

/// Why no path is left of those that score within `keep` of the best of each frame.
pub(super) fn too_far_behind(keep: f32) -> Error {
    Error::Other(format!(
        "the best path that may end here is more than {keep} behind others, too far for posteriors and lattices of so large a graph: \
         leave them out, or use a smaller graph"
    ))
}

/// A step from a cell to one of the next column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// Place of the cell in its column.
    pub from: u32,
    /// Place of the other cell in the next column.
    pub to: u32,
    /// Weight, fixed part and insertion penalty, natural log.
    pub score: f32,
    /// What is lost by coming this way and not by the best: 0 or more, but for rounding.
    pub loss: f32,
}

/// How paths end in the last column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// In a final state: the utterance is over.
    Final,
    /// Anywhere: more frames follow.
    Open,
}

/// The cells and steps on paths that score within a beam of the best.
#[derive(Debug)]
pub(super) struct LiveTrellis {
    pub columns: Vec<Column>,
    /// The steps from each column to the next, by ascending source: one entry fewer than columns.
    pub steps: Vec<Vec<Step>>,
}

/// Which place a state has in a column; for all states of a graph, made once.
#[derive(Debug)]
pub(super) struct Places(Vec<u32>);

const NOWHERE: u32 = u32::MAX;

impl Places {
    pub fn new(plan: &Plan) -> Self {
        Self(vec![NOWHERE; plan.graph().len()])
    }
}

impl LiveTrellis {
    /// Goes back over `columns`, which are those of neighbouring frames:
    ///
    /// ```text
    /// back[T-1, s] = final(s), or 0 where the end is open
    /// back[t, s]   = max_r (arc(s -> r) + emission[t+1, r] + back[t+1, r])
    /// through      = forward + back, less the best of the frame
    /// ```
    ///
    /// Cells and steps whose best path loses more than `beam` are left out.
    pub fn new(plan: &Plan, columns: &[Column], (ending, beam): (Ending, f32), places: &mut Places) -> Self {
        let Some((last, before)) = columns.split_last() else { return Self { columns: vec![], steps: vec![] } };
        let mut kept = vec![ended(plan, last, ending, beam)];
        let mut steps = Vec::with_capacity(before.len());
        for column in before.iter().rev() {
            let (column, onward) = led_on(plan, column, (&kept[kept.len() - 1], beam), places);
            kept.push(column);
            steps.push(onward);
        }
        kept.reverse();
        steps.reverse();
        let mut trellis = Self { columns: kept, steps };
        (0..trellis.steps.len()).for_each(|frame| trellis.find_losses(frame));
        trellis
    }

    /// Whether a path leads through all columns.
    pub fn is_whole(&self) -> bool {
        self.columns.iter().all(|cells| !cells.is_empty())
    }

    /// `loss = max over the steps to the same cell of (forward + score) - (forward + score)`
    fn find_losses(&mut self, frame: usize) {
        let mut best = vec![f32::NEG_INFINITY; self.columns[frame + 1].len()];
        let column = &self.columns[frame];
        let reach = |step: &Step| column[step.from as usize].forward + step.score;
        self.steps[frame].iter().for_each(|step| best[step.to as usize] = best[step.to as usize].max(reach(step)));
        self.steps[frame].iter_mut().for_each(|step| step.loss = best[step.to as usize] - reach(step));
    }
}

/// The cells of the last column on paths that end there.
fn ended(plan: &Plan, column: &Column, ending: Ending, beam: f32) -> Column {
    let end = |cell: &Cell| match ending {
        Ending::Open => Some(0.0),
        Ending::Final => {
            let found = plan.finals.binary_search_by_key(&cell.state, |step| step.state).ok()?;
            Some(plan.finals[found].score)
        }
    };
    let ended = column.iter().filter_map(|cell| Some(Cell { through: cell.forward + end(cell)?, ..*cell }));
    within(ended.collect(), beam)
}

/// The `cells` whose path is possible and within `beam` of the best, relative to that.
fn within(mut cells: Column, beam: f32) -> Column {
    let best = cells.iter().map(|cell| cell.through).fold(f32::NEG_INFINITY, f32::max);
    cells.iter_mut().for_each(|cell| cell.through -= best);
    cells.retain(|cell| cell.through > f32::NEG_INFINITY && cell.through >= -beam);
    cells
}

/// The cells of `column` that lead to cells of `next`, and the steps that do.
fn led_on(plan: &Plan, column: &Column, (next, beam): (&Column, f32), places: &mut Places) -> (Column, Vec<Step>) {
    let Places(place) = places;
    next.iter().zip(0..).for_each(|(cell, at)| place[cell.state.index()] = at);
    let (mut cells, mut steps) = (Column::new(), vec![]);
    for cell in column {
        let first = steps.len();
        for arc in plan.outgoing.row(cell.state.index()) {
            let to = place[arc.state.index()];
            if to != NOWHERE {
                let onward = next[to as usize];
                // Until the best is known: the path's score, up to what all of the frame share.
                let loss = cell.forward + arc.score + onward.emission + (onward.through - onward.forward);
                steps.push(Step { from: cells.len() as u32, to, score: arc.score, loss });
            }
        }
        let best = steps[first..].iter().map(|step| step.loss).fold(f32::NEG_INFINITY, f32::max);
        if best > f32::NEG_INFINITY {
            cells.push(Cell { through: best, ..*cell });
        } else {
            steps.truncate(first);
        }
    }
    next.iter().for_each(|cell| place[cell.state.index()] = NOWHERE);
    pruned(cells, steps, beam)
}

/// `cells` and `steps` within `beam` of the best, those that are left numbered anew.
fn pruned(mut cells: Column, mut steps: Vec<Step>, beam: f32) -> (Column, Vec<Step>) {
    let best = cells.iter().map(|cell| cell.through).fold(f32::NEG_INFINITY, f32::max);
    let is_kept = |score: f32| score > f32::NEG_INFINITY && score - best >= -beam;
    let mut moved = Vec::with_capacity(cells.len());
    let mut kept = 0;
    for cell in &cells {
        moved.push(kept);
        kept += u32::from(is_kept(cell.through));
    }
    steps.retain(|step| is_kept(step.loss));
    steps.iter_mut().for_each(|step| step.from = moved[step.from as usize]);
    cells.retain(|cell| is_kept(cell.through));
    cells.iter_mut().for_each(|cell| cell.through -= best);
    (cells, steps)
}
