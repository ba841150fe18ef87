//! The work folder: what the stages leave there, and whether a run may go on from it.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::config::TrainConfig;
use super::sequences::SEQUENCES;
use super::{Event, Progress, context, gaussian, log, start};
use crate::network::Device;
use crate::{Error, Result, formats};

/// Name of the file that a run holds locked.
const LOCK: &str = "lock";

/// Folder for intermediate results, and what computes them.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// The folder; it is made when it is not there.
    pub folder: &'a Path,
    /// What happens when it holds results of the same run.
    pub earlier: Earlier,
    /// What the gradients of the network are computed by.
    pub device: &'a Device,
}

/// What to do about results that a run of the same settings has left in the work folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// They are an error, so that nobody goes on from them without knowing.
    Refused,
    /// The run goes on from them; on the CPU to the very same model as one that was never stopped.
    Resumed,
}

/// Keeps other runs out of the work `folder`, which must be there, until the file is dropped or the process ends, however it does.
/// The file itself stays: with its removal two runs could each hold one of the same name.
///
/// # Errors
/// [`Error::Config`] when another run is at work there; [`Error::Io`] when the file cannot be made or locked.
pub(super) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let failed = |source| Error::io("lock", &path, source);
    let file = File::options().append(true).create(true).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(source)) => Err(failed(source)),
        Err(TryLockError::WouldBlock) => {
            let reason = "another run is at work in this folder: wait until it ends, or name another work folder";
            Err(Error::Config { path: folder.to_owned(), reason: reason.into() })
        }
    }
}

/// Names of the files of a run of `config`, in the order in which they are made; each is made from those before.
pub(super) fn stages(config: &TrainConfig) -> Vec<String> {
    let pass = |pass: usize| [checkpoint_of(pass), alignment_after(pass)];
    let first = [gaussian::ALIGNMENT, context::TREE, start::ALIGNMENT].map(str::to_owned);
    first.into_iter().chain((1..=config.pass.len()).flat_map(pass)).chain([SEQUENCES.to_owned()]).collect()
}

/// Removes `file` and what an earlier run of `config` made after it from `folder`.
///
/// # Errors
/// [`Error::Io`] naming the file.
pub(super) fn forget_from(file: &str, config: &TrainConfig, folder: &Path) -> Result<()> {
    let later = stages(config).into_iter().skip_while(|made| made != file);
    for path in later.map(|name| folder.join(name)).filter(|path| path.exists()) {
        std::fs::remove_file(&path).map_err(|source| Error::io("remove", &path, source))?;
    }
    Ok(())
}

/// The checkpoint of the one-based `pass`.
pub(super) fn checkpoint_of(pass: usize) -> String {
    format!("pass-{pass}.safetensors")
}

/// The alignment that follows it.
pub(super) fn alignment_after(pass: usize) -> String {
    format!("pass-{pass}.ctm")
}

impl Work<'_> {
    /// Whether a run of `config`, to whose settings the folder belongs, may begin or go on; clears what a killed one half wrote.
    ///
    /// # Errors
    /// [`Error::Config`] when there are results that are not to be gone on from; [`Error::Io`] when nothing can be written there.
    pub(super) fn admit(self, config: &TrainConfig, progress: &mut Progress<'_>) -> Result<()> {
        let results = stages(config).iter().any(|name| self.folder.join(name).exists());
        match (self.earlier, results) {
            (Earlier::Refused, true) => {
                let reason = "holds results of this run: --resume goes on from them, another work folder begins anew";
                return Err(Error::Config { path: self.folder.to_owned(), reason: reason.into() });
            }
            (Earlier::Resumed, false) => {
                let folder = self.folder.display();
                progress(Event::Note(format!("nothing to resume in {folder}: training begins")));
            }
            _ => {}
        }
        formats::atomic::sweep(self.folder)?;
        log::Lines::check(self.folder)
    }
}
