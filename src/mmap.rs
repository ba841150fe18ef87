//! Read-only bytes of a file, mapped into memory; the one place that maps.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

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

/// Numbers of a mapped file, as this machine lays them out.
#[derive(Debug, Clone)]
pub struct MappedFloats {
    file: Arc<Mapped>,
    bytes: Range<usize>,
}

impl MappedFloats {
    /// The numbers in these `bytes` of `file`.
    ///
    /// # Errors
    /// [`Error::Shape`] for bytes beyond the file, or that are not whole numbers at places of numbers.
    pub fn new(file: &Arc<Mapped>, bytes: Range<usize>) -> Result<Self> {
        let found = floats(file.get(bytes.clone()).unwrap_or_default()).map_or(0, <[f32]>::len);
        match 4 * found == bytes.len() {
            true => Ok(Self { file: Arc::clone(file), bytes }),
            false => Err(Error::Shape { what: "numbers in a mapped file", expected: bytes.len() / 4, found }),
        }
    }
}

impl Deref for MappedFloats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        floats(&self.file[self.bytes.clone()]).expect("looked at when it was made")
    }
}

/// `bytes` as numbers; `None` where they do not lie as numbers must.
#[allow(unsafe_code)] // the standard library has no safe way to look at bytes as numbers
fn floats(bytes: &[u8]) -> Option<&[f32]> {
    // SAFETY: every four bytes are an `f32`, and `align_to` gives only those that lie at places of one.
    let (before, values, after) = unsafe { bytes.align_to::<f32>() };
    (before.is_empty() && after.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_where_they_lie_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let bytes: Vec<u8> = [1.5f32, -2.0, 3.0].iter().flat_map(|value| value.to_ne_bytes()).collect();
        std::fs::write(&path, bytes).unwrap();
        let file = Arc::new(Mapped::open(&path).unwrap());
        assert_eq!(&*MappedFloats::new(&file, 4..12).unwrap(), [-2.0, 3.0]);
        assert!(MappedFloats::new(&file, 0..0).unwrap().is_empty());
        for wrong in [0..3, 1..5, 8..16, 12..16] {
            assert!(MappedFloats::new(&file, wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
