//! Files of a folder and of the folders in it.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

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
    for path in entries(folder)? {
        if path.is_dir() && !path.is_symlink() {
            walk(&path, is_wanted, files)?;
        } else if path.is_file() && is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// The first of the files that [`files`] would find, without looking further.
///
/// # Errors
/// [`Error::Io`] when a folder cannot be read.
pub(super) fn first(folder: &Path, is_wanted: fn(&Path) -> bool) -> Result<Option<PathBuf>> {
    for path in entries(folder)? {
        let found = match path.is_dir() && !path.is_symlink() {
            true => first(&path, is_wanted)?,
            false => Some(path).filter(|path| path.is_file() && is_wanted(path)),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What lies in `folder` itself, by name, without what is hidden.
///
/// # Errors
/// [`Error::Io`] when it cannot be read.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |source| Error::io("read", folder, source);
    let entries = std::fs::read_dir(folder).map_err(io)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(io)?;
    paths.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
    paths.sort();
    Ok(paths)
}

/// Whether the name of `path` ends with `ending` in any case; `ending` begins with its dot.
pub(super) fn ends_with(path: &Path, ending: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let start = name.len().checked_sub(ending.len());
    start.and_then(|start| name.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// The last part of `path` without its extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of the folder that `path` lies in.
pub(super) fn folder_name(path: &Path) -> String {
    path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads text, which must be UTF-8.
///
/// # Errors
/// [`Error::Io`] naming the file.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let text = crate::input::text(path)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
