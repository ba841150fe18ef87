//! Read-only bytes of a file, mapped into memory; the one place that maps.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::{Error, Result};

/// The bytes of a file. An empty file is an empty slice.
#[derive(Debug)]
pub struct Mapped(Option<Mmap>);

impl Mapped {
    /// Maps `path`.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be opened or mapped.
    #[allow(unsafe_code)] // memmap2 offers no safe way to map a file
    pub fn open(path: &Path) -> Result<Self> {
        let io = |source| Error::io("read", path, source);
        let file = File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the map is read-only and private to this value. It is assumed that nobody shrinks the file meanwhile:
        // senone replaces files by rename, which leaves a mapped one as it was.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        Ok(Self(Some(map)))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
