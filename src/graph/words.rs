//! Words in a net, before they are pronounced: what a grammar or a word n-gram allows.
//!
//! A grammar and an n-gram both become a [`WordNet`]; one function says it in the phones of the lexicon, as the net of segments
//! from which states are made.
#![allow(dead_code, reason = "filled in by the next commits")]

use super::lattice::Link;
use crate::symbols::WordId;

/// A word as a graph knows it; a grammar may have the same text in many places, each a word of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it is printed.
    pub text: String,
    /// The named parts of the grammar that it stands in, outermost first.
    pub parts: Vec<Part>,
}

/// One place at which a grammar names a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Which of the places that name it, counted through the whole grammar.
    pub place: usize,
}

/// Words, and which may follow which.
#[derive(Debug, Clone, Default)]
pub(super) struct WordNet {
    /// What stands at each node.
    pub nodes: Vec<WordId>,
    /// Steps from node to node, with their weight: each is an arc of its own.
    pub links: Vec<Link>,
    /// Sets of nodes that are entered together, each node with its weight: one prefix tree over all their pronunciations.
    pub fans: Vec<Vec<(usize, f32)>>,
    /// Steps from a node to a fan.
    pub fan_links: Vec<Link>,
    /// Nodes that may come first.
    pub starts: Vec<(usize, f32)>,
    /// Fans that may come first.
    pub fan_starts: Vec<(usize, f32)>,
    /// Nodes that may come last.
    pub ends: Vec<(usize, f32)>,
    /// The weight of saying no word at all, where that is allowed.
    pub empty: Option<f32>,
}
