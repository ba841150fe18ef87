//! Files that are there whole or not at all: written under a temporary name in the same folder, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Creates or replaces `path` with what `fill` writes. When anything fails, `path` is as it was before. A link stays, and the
/// file that it leads to is replaced; a device or a pipe is written to as it is.
///
/// # Errors
/// [`Error::Io`] when the folder does not exist, the file cannot be written or renamed, or `fill` fails.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => into_place(path, fill).map_err(|cause| Error::io("write", path, cause)),
        _ => stage(path, fill)?.commit(),
    }
}

/// A file that is written, and not yet in its place; where it never comes there, nothing is left of it.
#[derive(Debug)]
pub struct Staged {
    temporary: PathBuf,
    place: PathBuf,
    /// As whoever wrote it calls the place.
    path: PathBuf,
}

/// Writes beside `path` what `fill` writes: of several files that belong together the first is put in its place when all are
/// written. As with [`write()`], the place is that of the file which a link leads to.
///
/// # Errors
/// As [`write()`].
pub fn stage(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Staged> {
    let failed = |cause| Error::io("write", path, cause);
    let place = if path.exists() { fs::canonicalize(path).map_err(failed)? } else { path.to_owned() };
    let staged = Staged { temporary: temporary_name(&place), place, path: path.to_owned() };
    write_through(&staged.temporary, fill).map_err(failed)?;
    Ok(staged)
}

impl Staged {
    /// Removes the file that this one is to replace, if there is one.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be removed.
    pub fn vacate(&self) -> Result<()> {
        match fs::remove_file(&self.place) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Error::io("replace", &self.path, cause)),
            _ => Ok(()),
        }
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be renamed.
    pub fn commit(self) -> Result<()> {
        fs::rename(&self.temporary, &self.place).map_err(|cause| Error::io("write", &self.path, cause))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // It may not exist, or be in its place by now.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Removes from `folder` what writers that were killed have left half written. No writer may be at work there.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be read or such a file cannot be removed.
pub fn sweep(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|cause| Error::io("read", folder, cause))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_temporary(path)) {
        fs::remove_file(&path).map_err(|cause| Error::io("remove", &path, cause))?;
    }
    Ok(())
}

/// Whether [`temporary_name`] has made it.
fn is_temporary(path: &Path) -> bool {
    let numbered = |name: &str| {
        let (_, numbers) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
        let (process, write) = numbers.split_once('-')?;
        Some([process, write].iter().all(|number| number.parse::<u64>().is_ok()))
    };
    path.file_name().and_then(|name| numbered(name.to_str()?)).unwrap_or(false)
}

/// Writes to what cannot be replaced.
fn into_place(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut out)?;
    out.flush()
}

fn write_through(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create_new(path)?);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A hidden name beside `path` that no other writer of this or another process uses.
fn temporary_name(path: &Path) -> PathBuf {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        for text in ["old", "new"] {
            write(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let failed = write(&path, |out| {
            out.write_all(b"half of the new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ctm");
        write_through(&temporary_name(&path), |out| out.write_all(b"half")).unwrap();
        for name in [".a.tmp", "a.1-2.tmp", ".a.1-x.tmp", ".hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
        sweep(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        assert!(!temporary_name(&path).exists() && folder.path().join(".a.1-x.tmp").exists());
        assert!(sweep(&path).is_err());
    }

    #[test]
    fn staged_files_come_into_place_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
        fs::write(&a, "old").unwrap();
        let staged = stage(&a, |out| out.write_all(b"new")).unwrap();
        assert!(stage(&b, |_| Err(io::Error::other("disk full"))).is_err());
        assert_eq!(fs::read_to_string(&a).unwrap(), "old");
        drop(staged);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let both = [&a, &b].map(|path| stage(path, |out| out.write_all(b"new")).unwrap());
        both.into_iter().try_for_each(Staged::commit).unwrap();
        assert!([&a, &b].iter().all(|path| fs::read_to_string(path).unwrap() == "new"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.txt"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let staged = stage(&link, |out| out.write_all(b"newer")).unwrap();
        (0..2).for_each(|_| staged.vacate().unwrap());
        assert!(!file.exists());
        staged.commit().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "newer");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(write("/dev/full".as_ref(), |out| out.write_all(b"new")).is_err() || !Path::new("/dev/full").exists());
        assert!(write(folder.path(), |_| Ok(())).unwrap_err().to_string().contains("cannot write"));
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/a.txt");
        assert!(write(&path, |_| Ok(())).unwrap_err().to_string().contains("a.txt: cannot write"));
    }
}
