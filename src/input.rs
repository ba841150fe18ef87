//! Files that are read whole: graph files, dictionaries, n-grams, manifests, settings. What has no end, as a device or a pipe
//! may, is refused by name before it fills the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{Error, Result};

/// Most MiB of what does not say how long it is.
const MOST_MIB: u64 = 256;

/// The bytes of the file at `path`.
///
/// # Errors
/// [`Error::Io`] when it cannot be read, and when it is longer than it says, which may be nothing, and than 256 MiB.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    let read = || {
        let file = File::open(path)?;
        let stated = file.metadata()?.len();
        up_to(file, stated.max(MOST_MIB << 20))
    };
    read().map_err(|source| Error::io("read", path, source))
}

/// The text of the file at `path`, which must be UTF-8.
///
/// # Errors
/// As [`bytes`]; [`Error::Io`] when it is not UTF-8.
pub fn text(path: &Path) -> Result<String> {
    let not_utf8 = || io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes(path)?).map_err(|_| Error::io("read", path, not_utf8()))
}

fn up_to(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!(
            "it gives more than {} MiB and is no regular file: write what is meant to a file",
            most >> 20
        ))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        assert_eq!(up_to(io::repeat(b'a').take(9), 9).unwrap(), [b'a'; 9]);
        let endless = up_to(io::repeat(0), 1 << 20).unwrap_err().to_string();
        assert_eq!(endless, "it gives more than 1 MiB and is no regular file: write what is meant to a file");
    }

    #[test]
    fn files_are_read_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.txt");
        std::fs::write(&path, "é\n").unwrap();
        assert_eq!(text(&path).unwrap(), "é\n");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(text(&path).unwrap_err().to_string().ends_with("words.txt: cannot read: it is not UTF-8 text"));
        assert_eq!(bytes(&path).unwrap(), b"\xff");
        assert!(bytes(folder.path()).is_err() && bytes(&folder.path().join("none")).is_err());
    }
}
