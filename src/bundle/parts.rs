//! Where the parts of a bundle come from: one function hands them out by name.

use std::ops::Deref;
use std::path::PathBuf;

use crate::mmap::Mapped;
use crate::{Error, Result};

/// A source of parts.
#[derive(Debug, Clone)]
pub enum Parts {
    /// Files of a folder, memory-mapped.
    Folder(PathBuf),
    /// Parts within the program, by name.
    Memory(&'static [(&'static str, &'static [u8])]),
}

/// The bytes of one part.
#[derive(Debug)]
pub enum Part {
    /// From a file.
    Mapped(Mapped),
    /// From the program.
    Memory(&'static [u8]),
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

impl Parts {
    /// How messages call this bundle.
    pub fn place(&self) -> PathBuf {
        match self {
            Self::Folder(path) => path.clone(),
            Self::Memory(_) => "built-in model".into(),
        }
    }

    /// Whether there is such a part.
    pub fn has(&self, part: &str) -> bool {
        match self {
            Self::Folder(path) => path.join(part).is_file(),
            Self::Memory(parts) => parts.iter().any(|(name, _)| *name == part),
        }
    }

    /// The bytes of `part`.
    ///
    /// # Errors
    /// [`Error::Bundle`] when there is no such part or it cannot be read.
    pub fn bytes(&self, part: &str) -> Result<Part> {
        let missing = |reason: String| Error::Bundle { path: self.place(), part: part.to_owned(), reason };
        match self {
            Self::Folder(path) if !path.join(part).is_file() => {
                Err(missing("is missing: copy the whole folder that training wrote".into()))
            }
            Self::Folder(path) => Ok(Part::Mapped(Mapped::open(&path.join(part))?)),
            Self::Memory(parts) => {
                let found = parts.iter().find(|(name, _)| *name == part);
                found.map(|(_, bytes)| Part::Memory(bytes)).ok_or_else(|| missing("is missing".into()))
            }
        }
    }

    /// `part` as text.
    ///
    /// # Errors
    /// As [`Parts::bytes`], and [`Error::Bundle`] when it is not UTF-8.
    pub fn text(&self, part: &str) -> Result<String> {
        String::from_utf8(self.bytes(part)?.to_vec()).map_err(|_| Error::Bundle {
            path: self.place(),
            part: part.to_owned(),
            reason: "is not UTF-8 text: the file is broken".into(),
        })
    }
}
