//! How long a symbol lasts: its pdfs, their copies in time, and the self-loop.

use super::classes::Names;
use super::file::{Dwell, GraphFile, TopologyFile};
use super::source::Source;
use crate::Result;
use crate::symbols::SymbolId;

/// States and self-loop of one symbol.
///
/// A symbol of `states` pdfs that lasts `min_frames` at least is a chain of `min_frames` positions; position `k` reads pdf
/// `floor(k * states / min_frames)`, so that the extra frames are spread evenly, the earlier states first. A self-loop
/// stands at the last position of each pdf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Topology {
    states: usize,
    min_frames: usize,
    self_loop: Option<f32>,
}

impl Topology {
    /// One pdf that lasts one frame: a symbol a frame, as tags are.
    pub(super) const ONE_FRAME: Self = Self { states: 1, min_frames: 1, self_loop: None };

    /// Pdfs of the symbol.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The fewest frames that the symbol lasts, which is also the number of its positions.
    pub fn min_frames(&self) -> usize {
        self.min_frames
    }

    /// Probability of staying in a state for another frame, above 0 and below 1; `None` when each state lasts one frame.
    pub fn self_loop(&self) -> Option<f32> {
        self.self_loop
    }

    /// The pdf, counted within the symbol, that `position` reads.
    pub fn pdf(&self, position: usize) -> usize {
        position * self.states / self.min_frames
    }

    /// Whether `position` has a self-loop.
    pub fn dwells(&self, position: usize) -> bool {
        let last_copy = position + 1 == self.min_frames || self.pdf(position + 1) != self.pdf(position);
        self.self_loop.is_some() && last_copy
    }

    /// Initial weight of a self-loop: `log p`.
    pub(super) fn log_stay(&self) -> f32 {
        self.self_loop.map_or(f32::NEG_INFINITY, f32::ln)
    }

    /// Initial weight of leaving `position`: `log(1 - p)` where there is a self-loop, 0 elsewhere.
    pub(super) fn log_leave(&self, position: usize) -> f32 {
        match self.self_loop {
            Some(p) if self.dwells(position) => (-p).ln_1p(),
            _ => 0.0,
        }
    }
}

/// The topology of each symbol: `[topology.default]`, overridden value by value by the one table that names the symbol.
pub(super) fn read(source: &Source, file: &GraphFile, names: &Names) -> Result<Vec<Topology>> {
    let default = merge(source, &file.default_topology, &file.default_topology)?;
    let mut own: Vec<Option<(&TopologyFile, Topology)>> = vec![None; names.symbols.len()];
    for table in &file.topologies {
        let topology = merge(source, table, &file.default_topology)?;
        for symbol in names.all(std::slice::from_ref(&table.name))? {
            if let Some((earlier, _)) = own[symbol.index()] {
                return Err(twice(source, names, symbol, [earlier, table]));
            }
            own[symbol.index()] = Some((table, topology));
        }
    }
    Ok(own.into_iter().map(|own| own.map_or(default, |(_, topology)| topology)).collect())
}

fn twice(source: &Source, names: &Names, symbol: SymbolId, tables: [&TopologyFile; 2]) -> crate::Error {
    let [earlier, later] = tables.map(|table| &table.name);
    let symbol = names.symbols.name(symbol);
    let reason = format!("[topology.{}] and [topology.{}] both hold symbol `{symbol}`", earlier.text, later.text);
    source.error(later.at, reason)
}

fn merge(source: &Source, table: &TopologyFile, default: &TopologyFile) -> Result<Topology> {
    let title = format!("[topology.{}]", table.name.text);
    let missing = |key: &str| source.error(default.name.at, format!("[topology.default] has no `{key}`"));
    let states = table.states.or(default.states).ok_or_else(|| missing("states"))?;
    let dwell = table.dwell.or(default.dwell).ok_or_else(|| missing("self_loop"))?;
    let min_frames = table.min_frames.or(default.min_frames).unwrap_or(states);
    if min_frames < states {
        let reason = format!("{title}: min_frames = {min_frames} is less than states = {states}");
        return Err(source.error(table.name.at, reason));
    }
    let self_loop = match dwell {
        Dwell::Probability(p) => Some(p),
        Dwell::OneFrame if min_frames > states => {
            let reason = format!(
                "{title}: with self_loop = false each state lasts one frame, so min_frames = {min_frames} must equal states = {states}"
            );
            return Err(source.error(table.name.at, reason));
        }
        Dwell::OneFrame => None,
    };
    Ok(Topology { states, min_frames, self_loop })
}
