//! Files of a folder and of the folders in it.

use std::path::{Path, PathBuf};

use senone::{Error, Result};

/// The files below `folder` that `is_wanted` accepts, by name; hidden ones and links to folders are passed over.
///
/// # Errors
/// [`Error::Io`] when a folder cannot be read; [`Error::Other`] when there is no such file, which `what` names.
pub fn files(folder: &Path, is_wanted: fn(&Path) -> bool, what: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(folder, is_wanted, &mut files)?;
    match files.is_empty() {
        true => Err(Error::Other(format!("{}: no {what} in this folder", folder.display()))),
        false => Ok(files),
    }
}

fn walk(folder: &Path, is_wanted: fn(&Path) -> bool, files: &mut Vec<PathBuf>) -> Result<()> {
    let io = |source| Error::io("read", folder, source);
    let entries = std::fs::read_dir(folder).map_err(io)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(io)?;
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            walk(&path, is_wanted, files)?;
        } else if path.is_file() && is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}
