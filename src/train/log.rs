//! What a run tells, kept in its work folder: `log.txt`, the lines for people; `log.tsv`, a row for each epoch; `curves.svg`, the
//! same as a picture. Epochs that are done again after a break replace their rows.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Event, curves};
use crate::{Error, Result, formats};

/// Names of the files.
const LINES: &str = "log.txt";
const ROWS: &str = "log.tsv";
const CURVES: &str = "curves.svg";

/// One epoch of the network: a row of `log.tsv`.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochRow {
    /// The pass, or what comes after.
    pub stage: String,
    /// One-based epoch of the stage.
    pub epoch: usize,
    /// Learning rate of its last step.
    pub learning_rate: f32,
    /// Mean training loss of a frame, natural log.
    pub loss: f64,
    /// Training frames whose best pdf is the target, percent.
    pub frames_right_percent: f64,
    /// Mean loss of a development frame; none without such utterances.
    pub development_loss: Option<f64>,
    /// Development frames whose best pdf is the target, percent.
    pub development_frames_right_percent: Option<f64>,
    /// Phone error rate on the development set, percent, where its words are known.
    pub phone_error_percent: Option<f64>,
    /// Time that the epoch took, with its measurements.
    pub seconds: f64,
}

const COLUMNS: [&str; 9] = [
    "stage",
    "epoch",
    "learning_rate",
    "loss",
    "frames_right_percent",
    "development_loss",
    "development_frames_right_percent",
    "phone_error_percent",
    "seconds",
];

impl EpochRow {
    /// As a line of the table, without its end; what is not known is empty.
    fn line(&self) -> String {
        let known =
            |value: Option<f64>, decimals: usize| value.map_or(String::new(), |value| format!("{value:.decimals$}"));
        let fields = [
            self.stage.clone(),
            self.epoch.to_string(),
            format!("{:e}", self.learning_rate),
            format!("{:.6}", self.loss),
            format!("{:.3}", self.frames_right_percent),
            known(self.development_loss, 6),
            known(self.development_frames_right_percent, 3),
            known(self.phone_error_percent, 3),
            format!("{:.1}", self.seconds),
        ];
        fields.join("\t")
    }

    /// The row of a `line`; `None` when it is not one.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [stage, epoch, rate, loss, right, development_loss, development_right, phone_error, seconds] = fields[..]
        else {
            return None;
        };
        let known = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        Some(Self {
            stage: stage.to_owned(),
            epoch: epoch.parse().ok()?,
            learning_rate: rate.parse().ok()?,
            loss: loss.parse().ok()?,
            frames_right_percent: right.parse().ok()?,
            development_loss: known(development_loss)?,
            development_frames_right_percent: known(development_right)?,
            phone_error_percent: known(phone_error)?,
            seconds: seconds.parse().ok()?,
        })
    }
}

/// Puts `row` at the end of the table in the folder `work`, in place of that epoch and all that came after it, and draws the curves
/// anew. Both files are there whole at any time.
///
/// # Errors
/// [`Error::Io`] naming the file; [`Error::TextFile`] when the table is not one.
pub(super) fn record(work: &Path, row: EpochRow) -> Result<()> {
    let path = work.join(ROWS);
    let mut rows = read(&path)?;
    let again = rows.iter().position(|old| old.stage == row.stage && old.epoch >= row.epoch);
    rows.truncate(again.unwrap_or(rows.len()));
    rows.push(row);
    formats::atomic::write(&path, |file| {
        writeln!(file, "{}", COLUMNS.join("\t"))?;
        rows.iter().try_for_each(|row| writeln!(file, "{}", row.line()))
    })?;
    formats::atomic::write(&work.join(CURVES), |file| file.write_all(curves::draw(&rows).as_bytes()))
}

/// The rows of the table at `path`; none when it is not there.
fn read(path: &Path) -> Result<Vec<EpochRow>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::io("read", path, source)),
    };
    let mut lines = text.lines().zip(1..);
    let wrong = |line: usize, reason: String| Error::TextFile { path: path.to_owned(), line, reason };
    match lines.next() {
        Some((head, _)) if head == COLUMNS.join("\t") => {}
        _ => return Err(wrong(1, format!("expected the columns {}: remove the file", COLUMNS.join(" ")))),
    }
    let row = |(line, number): (&str, usize)| {
        EpochRow::parse(line).ok_or_else(|| wrong(number, "not a row of the training log: remove the file".into()))
    };
    lines.map(row).collect()
}

/// `log.txt` on its way: the lines that whoever watches sees, each with its time.
pub(super) struct Lines {
    path: PathBuf,
    clock: Instant,
    file: Option<File>,
    failed: Option<Error>,
}

impl Lines {
    /// Whether there can be one in the folder `work`: better said at once than after hours.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub(super) fn check(work: &Path) -> Result<()> {
        let path = work.join(LINES);
        open(&path).map(drop).map_err(|source| Error::io("write", &path, source))
    }

    /// In the folder `work`, which must exist by the first line; a run that goes on writes below what is there.
    pub(super) fn new(work: &Path) -> Self {
        Self { path: work.join(LINES), clock: Instant::now(), file: None, failed: None }
    }

    /// Writes a line; the first failure is kept for [`Lines::close`].
    pub(super) fn tell(&mut self, event: &Event) {
        if self.failed.is_none() {
            let line = event.at(self.clock.elapsed());
            self.failed = self.append(&line).err().map(|source| Error::io("write", &self.path, source));
        }
    }

    fn append(&mut self, line: &str) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        writeln!(file, "{line}")
    }

    /// Writes why the run has ended early, if it was under way.
    pub(super) fn stop(&mut self, error: &Error) {
        if self.file.is_some() {
            self.tell(&Event::Note(format!("stopped: {error}")));
        }
    }

    /// What went wrong with the file, if anything.
    pub(super) fn close(self) -> Option<Error> {
        self.failed
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    File::options().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stage: &str, epoch: usize, loss: f64) -> EpochRow {
        EpochRow {
            stage: stage.into(),
            epoch,
            learning_rate: 1.5e-3,
            loss,
            frames_right_percent: 61.25,
            development_loss: None,
            development_frames_right_percent: Some(50.5),
            phone_error_percent: None,
            seconds: 12.5,
        }
    }

    #[test]
    fn epochs_done_again_replace_their_rows_and_all_after_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ROWS);
        let told = [("pass 1", 1), ("pass 1", 2), ("pass 2", 1), ("pass 2", 2), ("pass 2", 2), ("pass 2", 3)];
        told.iter().for_each(|(stage, epoch)| record(folder.path(), row(stage, *epoch, 1.0)).unwrap());
        let epochs = |rows: Vec<EpochRow>| rows.into_iter().map(|row| (row.stage, row.epoch)).collect::<Vec<_>>();
        let expected = |rows: &[(&str, usize)]| rows.iter().map(|row| (row.0.to_owned(), row.1)).collect::<Vec<_>>();
        let rows = [("pass 1", 1), ("pass 1", 2), ("pass 2", 1), ("pass 2", 2), ("pass 2", 3)];
        assert_eq!(epochs(read(&path).unwrap()), expected(&rows));
        record(folder.path(), row("pass 1", 2, 0.5)).unwrap();
        let left = read(&path).unwrap();
        assert_eq!(left, [row("pass 1", 1, 1.0), row("pass 1", 2, 0.5)]);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("pass 1\t2\t1.5e-3\t0.500000\t61.250\t\t50.500\t\t12.5\n"), "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_table_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ROWS);
        for (text, message) in [("stage\n", ":1: expected the columns stage epoch"), ("\tx\n", ":2: not a row")] {
            let text = if text.starts_with('\t') { COLUMNS.join("\t") + "\n" + text } else { text.to_owned() };
            std::fs::write(&path, &text).unwrap();
            let found = record(folder.path(), row("pass 1", 1, 1.0)).unwrap_err().to_string();
            assert!(found.contains(&format!("{ROWS}{message}")), "{found}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn lines_go_below_those_of_the_run_before_and_a_failure_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["first", "second"] {
            let mut lines = Lines::new(folder.path());
            lines.tell(&Event::Note(text.into()));
            lines.stop(&Error::Other("why".into()));
            assert!(lines.close().is_none());
        }
        let text = std::fs::read_to_string(folder.path().join(LINES)).unwrap();
        let stopped = "[  0:00] stopped: why\n";
        assert_eq!(text, format!("[  0:00] first\n{stopped}[  0:00] second\n{stopped}"));
        let mut silent = Lines::new(folder.path());
        silent.stop(&Error::Other("refused, and no run of this one".into()));
        assert_eq!(std::fs::read_to_string(folder.path().join(LINES)).unwrap(), text);
        let none = folder.path().join("none");
        let mut nowhere = Lines::new(&none);
        nowhere.tell(&Event::Note("lost".into()));
        for found in [nowhere.close().unwrap(), Lines::check(&none).unwrap_err()] {
            assert!(found.to_string().contains("log.txt: cannot write"), "{found}");
        }
    }
}
