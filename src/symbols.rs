//! Names and numbers: typed indices, and the table that gives a symbol its name.

use std::collections::BTreeMap;
use std::fmt;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into a slice.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The number of an index into a slice.
            pub fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index_type!(
    /// A label of the graph: a phone when it is speech. Numbered in the order of the graph file.
    SymbolId
);
index_type!(
    /// A word of the lexicon or of one transcript.
    WordId
);
index_type!(
    /// A node of a compiled graph; it emits one pdf.
    StateId
);
index_type!(
    /// A column of the emission matrix.
    PdfId
);
index_type!(
    /// One transition parameter, shared by the arcs that carry it. [`TransitionId::NONE`] is "not trained, weight 0".
    TransitionId
);

impl TransitionId {
    /// An arc without a trained parameter: its weight is its `fixed` part alone.
    pub const NONE: TransitionId = TransitionId(u32::MAX);

    /// Whether this is a parameter.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// The names of symbols, in symbol order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolTable {
    names: Vec<String>,
    ids: BTreeMap<String, SymbolId>,
}

impl SymbolTable {
    /// A table without symbols.
    pub fn new() -> Self {
        Self::default()
    }

    /// The symbol named `name`, added at the end when it is new.
    pub fn intern(&mut self, name: &str) -> SymbolId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = SymbolId::from_index(self.names.len());
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// The symbol named `name`.
    pub fn get(&self, name: &str) -> Option<SymbolId> {
        self.ids.get(name).copied()
    }

    /// The name of `symbol`.
    ///
    /// # Panics
    /// When `symbol` is of another table.
    pub fn name(&self, symbol: SymbolId) -> &str {
        &self.names[symbol.index()]
    }

    /// Names in symbol order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of symbols.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no symbol.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All symbols in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = SymbolId> + use<> {
        (0..self.names.len()).map(SymbolId::from_index)
    }
}

impl<S: AsRef<str>> FromIterator<S> for SymbolTable {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut table = Self::new();
        for name in names {
            table.intern(name.as_ref());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut table: SymbolTable = ["SIL", "AA"].into_iter().collect();
        assert_eq!(table.intern("AA"), SymbolId(1));
        assert_eq!(table.intern("B"), SymbolId(2));
        assert_eq!(table.name(SymbolId(0)), "SIL");
        assert_eq!(table.get("ZZ"), None);
    }
}
