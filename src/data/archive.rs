//! Features of a corpus in one file, mapped into memory: a training run that goes on finds them there, and reads what it needs.
//!
//! The file is safetensors, so that other programs can look at it: `frames/NAME` `[T x D]` f32 for each utterance and, where
//! training changes recordings, `audio/NAME` `[samples]` i16. It is written in two steps, since normalisation wants to have seen
//! everything: a [`Draft`] takes utterances one by one, [`Draft::finish`] normalises them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use safetensors::tensor::{Dtype, Metadata, SafeTensors, View};

use crate::matrix::Matrix;
use crate::mmap::{Mapped, MappedFloats};
use crate::{Error, Result};

/// Full scale of samples as integers.
const SCALE: f32 = 32_768.0;

/// Utterances as they come, on disk.
pub struct Draft {
    path: PathBuf,
    file: BufWriter<File>,
    length: usize,
    entries: Vec<Entry>,
}

/// Where an utterance's parts are in the draft.
struct Entry {
    name: String,
    frames: (usize, [usize; 2]),
    audio: Option<(usize, usize)>,
}

impl Draft {
    /// An empty draft at `path`, which is removed when the draft is done with.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|source| Error::io("write", path, source))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), length: 0, entries: Vec::new() })
    }

    /// Takes the frames `[T x D]` of an utterance and, where they are to be kept, its samples (-1 to 1).
    ///
    /// # Errors
    /// [`Error::Io`] when they cannot be written.
    pub fn push(&mut self, name: &str, frames: &Matrix, samples: Option<&[f32]>) -> Result<()> {
        let shape = [frames.rows(), frames.cols()];
        let frames = self.write(frames.as_slice().iter().flat_map(|value| value.to_ne_bytes()))?;
        let integer = |sample: &f32| (sample * SCALE).round().clamp(-SCALE, SCALE - 1.0) as i16;
        let audio = match samples {
            None => None,
            Some(samples) => {
                let even = samples.iter().map(integer).chain((samples.len() % 2 == 1).then_some(0));
                Some((self.write(even.flat_map(i16::to_ne_bytes))?, samples.len()))
            }
        };
        self.entries.push(Entry { name: name.to_owned(), frames: (frames, shape), audio });
        Ok(())
    }

    /// Appends `bytes`; gives the place of the first.
    fn write(&mut self, bytes: impl Iterator<Item = u8>) -> Result<usize> {
        let bytes: Vec<u8> = bytes.collect();
        self.file.write_all(&bytes).map_err(|source| Error::io("write", &self.path, source))?;
        self.length += bytes.len();
        Ok(self.length - bytes.len())
    }

    /// Writes the archive at `path`: every utterance's frames as `normalise` leaves them, and a text `about` it all, by which it can be
    /// known again.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written; what `normalise` says.
    pub fn finish(mut self, path: &Path, (about, normalise): (&str, Normalise<'_>)) -> Result<()> {
        self.file.flush().map_err(|source| Error::io("write", &self.path, source))?;
        let file = Arc::new(Mapped::open(&self.path)?);
        // One utterance is normalised before all, so that what fails does so before anything is written.
        let part = |entry: &Entry| Part::frames(&file, entry, normalise);
        self.entries.first().map(|entry| part(entry).values()).transpose()?;
        let frames = self.entries.iter().map(|entry| (format!("frames/{}", entry.name), part(entry)));
        let audio = self.entries.iter().filter_map(|entry| {
            let (place, samples) = entry.audio?;
            Some((format!("audio/{}", entry.name), Part::audio(&file, place, samples)))
        });
        let about = HashMap::from([("about".to_owned(), about.to_owned())]);
        let temporary = path.with_extension("tmp");
        safetensors::serialize_to_file(frames.chain(audio), Some(about), &temporary)
            .map_err(|error| Error::io("write", path, std::io::Error::other(error)))?;
        std::fs::rename(&temporary, path).map_err(|source| Error::io("write", path, source))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It is in nobody's way if it stays.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What is done to frames on their way from the draft.
type Normalise<'a> = &'a (dyn Fn(&mut Matrix) -> Result<()> + 'a);

/// One tensor of the archive, read from the draft when it is written.
struct Part<'a> {
    file: Arc<Mapped>,
    place: usize,
    shape: Vec<usize>,
    normalise: Option<Normalise<'a>>,
}

impl<'a> Part<'a> {
    fn frames(file: &Arc<Mapped>, entry: &Entry, normalise: Normalise<'a>) -> Self {
        let (place, shape) = entry.frames;
        Self { file: Arc::clone(file), place, shape: shape.to_vec(), normalise: Some(normalise) }
    }

    fn audio(file: &Arc<Mapped>, place: usize, samples: usize) -> Self {
        Self { file: Arc::clone(file), place, shape: vec![samples], normalise: None }
    }

    /// The values of frames, normalised.
    fn values(&self) -> Result<Matrix> {
        let values = MappedFloats::new(&self.file, self.place..self.place + self.data_len())?;
        let mut frames = Matrix::mapped(self.shape[0], self.shape[1], values)?;
        self.normalise.map_or(Ok(()), |normalise| normalise(&mut frames))?;
        Ok(frames)
    }
}

impl View for Part<'_> {
    fn dtype(&self) -> Dtype {
        if self.normalise.is_some() { Dtype::F32 } else { Dtype::I16 }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        if self.normalise.is_none() {
            return Cow::Borrowed(&self.file[self.place..self.place + self.data_len()]);
        }
        let frames =
            self.values().expect("normalising does not fail for one utterance when it went well for the first");
        Cow::Owned(frames.as_slice().iter().flat_map(|value| value.to_ne_bytes()).collect())
    }

    fn data_len(&self) -> usize {
        let size = if self.normalise.is_some() { 4 } else { 2 };
        size * self.shape.iter().product::<usize>()
    }
}

/// An archive, open.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    file: Arc<Mapped>,
    /// Where the tensors begin.
    start: usize,
    contents: Metadata,
}

impl Archive {
    /// Opens the archive at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read; [`Error::Config`] when it is no archive.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Mapped::open(path)?;
        let (header, contents) = SafeTensors::read_metadata(&file).map_err(|error| {
            let reason = format!("is no archive of features ({error}): remove it, and it will be made anew");
            Error::Config { path: path.to_owned(), reason }
        })?;
        Ok(Self { path: path.to_owned(), start: header + 8, file: Arc::new(file), contents })
    }

    /// The text about it, as [`Draft::finish`] was given it.
    pub fn about(&self) -> &str {
        self.contents.metadata().as_ref().and_then(|about| about.get("about")).map_or("", String::as_str)
    }

    /// The frames of an utterance `[T x D]`, which stay in the file.
    ///
    /// # Errors
    /// [`Error::Config`] when they are not there, or not what an archive holds.
    pub fn frames(&self, name: &str) -> Result<Matrix> {
        self.mapped(name).ok_or_else(|| {
            let reason =
                format!("the frames of {name} are missing or broken: remove the file, and it will be made anew");
            Error::Config { path: self.path.clone(), reason }
        })
    }

    fn mapped(&self, name: &str) -> Option<Matrix> {
        let tensor = self.contents.info(&format!("frames/{name}")).filter(|tensor| tensor.dtype == Dtype::F32)?;
        let (start, end) = tensor.data_offsets;
        let values = MappedFloats::new(&self.file, self.start + start..self.start + end).ok()?;
        let &[rows, cols] = tensor.shape.as_slice() else { return None };
        Matrix::mapped(rows, cols, values).ok()
    }

    /// The samples of an utterance, -1 to 1; `None` when they were not kept.
    pub fn samples(&self, name: &str) -> Option<Vec<f32>> {
        let tensor = self.contents.info(&format!("audio/{name}")).filter(|tensor| tensor.dtype == Dtype::I16)?;
        let (start, end) = tensor.data_offsets;
        let bytes = self.file.get(self.start + start..self.start + end)?;
        Some(bytes.as_chunks().0.iter().map(|&pair| f32::from(i16::from_ne_bytes(pair)) / SCALE).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(first: f32) -> Matrix {
        Matrix::from_vec(2, 3, (0..6).map(|at| first + at as f32).collect()).unwrap()
    }

    fn halve(frames: &mut Matrix) -> Result<()> {
        frames.as_mut_slice().iter_mut().for_each(|value| *value /= 2.0);
        Ok(())
    }

    #[test]
    fn what_is_put_in_comes_out_normalised() {
        let folder = tempfile::tempdir().unwrap();
        let (draft_path, path) = (folder.path().join("draft"), folder.path().join("all"));
        let mut draft = Draft::create(&draft_path).unwrap();
        draft.push("b c", &frames(2.0), Some(&[0.5, -1.0, 0.25])).unwrap();
        draft.push("a", &frames(-4.0), None).unwrap();
        draft.push("empty", &Matrix::with_cols(3), Some(&[])).unwrap();
        draft.finish(&path, ("about it\nall", &halve)).unwrap();
        assert!(!draft_path.exists());
        let archive = Archive::open(&path).unwrap();
        assert_eq!(archive.about(), "about it\nall");
        for (name, first) in [("b c", 2.0), ("a", -4.0)] {
            let mut expected = frames(first);
            halve(&mut expected).unwrap();
            assert_eq!(archive.frames(name).unwrap(), expected);
        }
        assert_eq!(archive.frames("empty").unwrap().rows(), 0);
        let missing = archive.frames("missing").unwrap_err().to_string();
        assert!(
            missing.ends_with(
                "all: the frames of missing are missing or broken: remove the file, and it will be made anew"
            )
        );
        assert_eq!(archive.samples("b c").unwrap(), [0.5, -1.0, 0.25]);
        assert_eq!(archive.samples("a"), None);
        // Frames outlive the archive, and change on their own.
        let mut taken = archive.frames("a").unwrap();
        drop(archive);
        taken.row_mut(0)[0] = 9.0;
        assert_eq!((taken.row(0)[0], Archive::open(&path).unwrap().frames("a").unwrap().row(0)[0]), (9.0, -2.0));
    }

    #[test]
    fn what_is_no_archive_is_refused_and_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let mut draft = Draft::create(&folder.path().join("draft")).unwrap();
        draft.push("a", &frames(0.0), None).unwrap();
        let refuse = |_: &mut Matrix| Err(Error::Other("no".into()));
        assert_eq!(draft.finish(&path, ("", &refuse)).unwrap_err().to_string(), "no");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for bytes in ["", "no archive of anything", "\u{8}\0\0\0\0\0\0\0{}      "] {
            std::fs::write(&path, bytes).unwrap();
            match Archive::open(&path) {
                Ok(archive) => assert!(archive.frames("a").is_err()),
                Err(error) => assert!(error.to_string().contains("is no archive of features"), "{error}"),
            }
        }
    }
}
