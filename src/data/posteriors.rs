//! What another program's network said: matrices of posteriors by utterance, and state priors.
//!
//! NumPy files, Kaldi archives and Kaldi scripts come in, told apart by their first bytes; named matrices `[T x P]` go out,
//! one at a time, to become [`LogPosteriors`](crate::emission::LogPosteriors).

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::iter;
use std::path::{Path, PathBuf};

use crate::emission::Priors;
use crate::formats::ark::{self, Archive, Entry, Place, Value};
use crate::formats::npy;
use crate::matrix::Matrix;
use crate::{Error, Result};

/// The network's output for one utterance.
#[derive(Debug)]
pub struct NetworkOutput {
    /// The file it was found in, or `-`.
    pub path: PathBuf,
    /// The utterance: as the archive names it, else the file's stem.
    pub utterance: String,
    /// `[T x P]`, as it was stored; or why it cannot be read.
    pub matrix: Result<Matrix>,
}

/// Matrices one after another, each read when it is asked for.
pub type NetworkOutputs = Box<dyn Iterator<Item = NetworkOutput>>;

/// The matrices of the file `path`: `.npy`, a Kaldi archive in text or binary, compressed or not, or a Kaldi script, whatever
/// its name. What cannot be read is an item too, and the others are not lost for it: behind a broken matrix in text, and in a
/// script, the next one is found.
pub fn open(path: &Path) -> NetworkOutputs {
    match File::open(path) {
        Ok(file) => read(path, BufReader::new(file)),
        Err(source) => alone(path, Err(Error::io("read", path, source))),
    }
}

/// The matrices of `input`, as [`open`] finds them in a file; `path` is for names and messages.
pub fn read(path: &Path, mut input: impl BufRead + 'static) -> NetworkOutputs {
    let wrong = |reason: String| Error::Config { path: path.to_owned(), reason };
    match input.fill_buf() {
        Err(source) => return alone(path, Err(Error::io("read", path, source))),
        Ok(bytes) if npy::is_begun_by(bytes) => return alone(path, npy::read_from(&mut input).map_err(wrong)),
        Ok(_) => {}
    }
    let mut entries = Archive::new(input).peekable();
    if entries.peek().is_none() {
        return alone(path, Err(wrong("holds no posteriors: the file is empty".into())));
    }
    let path = path.to_owned();
    Box::new(entries.map(move |entry| named(&path, entry)))
}

/// The one matrix of a file, named after it.
fn alone(path: &Path, matrix: Result<Matrix>) -> NetworkOutputs {
    Box::new(iter::once(NetworkOutput { path: path.to_owned(), utterance: stem(path), matrix }))
}

fn named(path: &Path, Entry { name, value }: Entry) -> NetworkOutput {
    let other = |reason: String| match name.is_empty() {
        true => Error::Config { path: path.to_owned(), reason },
        false => {
            Error::Utterance { path: path.to_owned(), utterance: name.clone(), source: Box::new(Error::Other(reason)) }
        }
    };
    let matrix = match value {
        Ok(Value::Matrix(matrix)) => Ok(matrix),
        Ok(Value::Place(place)) => at(&place).map_err(|error| other(error.to_string())),
        Err(reason) => Err(other(reason)),
    };
    let utterance = if name.is_empty() { stem(path) } else { name };
    NetworkOutput { path: path.to_owned(), utterance, matrix }
}

/// The name of the utterance whose file is `path`.
fn stem(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// The matrix at the place that a script names.
fn at(Place { path, offset }: &Place) -> Result<Matrix> {
    let io = |source| Error::io("read", path, source);
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    file.seek(SeekFrom::Start(*offset)).map_err(io)?;
    let matrix = match npy::is_begun_by(file.fill_buf().map_err(io)?) {
        true => npy::read_from(&mut file),
        false => ark::matrix(&mut file),
    };
    matrix.map_err(|reason| Error::Config { path: path.clone(), reason })
}

/// State priors from the file `path`: numbers in text (a Kaldi vector in brackets, or one a line), a Kaldi vector in binary,
/// or `.npy` of one dimension. What they are is as [`Priors::from_values`] says.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, [`Error::TextFile`] for a word that is no number, [`Error::Config`] when the
/// file is broken, holds no vector, or priors that make no sense.
pub fn read_priors(path: &Path) -> Result<Priors> {
    let wrong = |reason: String| Error::Config { path: path.to_owned(), reason };
    let bytes = crate::input::bytes(path)?;
    let values = match bytes.first() {
        Some(0) => vector(&ark::matrix(&mut bytes.as_slice()).map_err(wrong)?).map_err(wrong)?,
        Some(_) if npy::is_begun_by(&bytes) => {
            vector(&npy::read_from(&mut bytes.as_slice()).map_err(wrong)?).map_err(wrong)?
        }
        _ => numbers(&bytes).map_err(|(line, reason)| Error::TextFile { path: path.to_owned(), line, reason })?,
    };
    Priors::from_values(&values).map_err(|error| wrong(error.to_string()))
}

/// The values of a matrix of one row or one column.
fn vector(matrix: &Matrix) -> std::result::Result<Vec<f64>, String> {
    match (matrix.rows(), matrix.cols()) {
        (1, _) | (_, 1) => Ok(matrix.as_slice().iter().map(|&value| f64::from(value)).collect()),
        (rows, cols) => Err(format!("a matrix of {rows} x {cols}: expected a vector with a prior for each pdf")),
    }
}

/// The numbers of a text, brackets left out; an error is of a line.
fn numbers(bytes: &[u8]) -> std::result::Result<Vec<f64>, (usize, String)> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| (1, "not UTF-8 text: expected a number for each pdf".to_owned()))?;
    let mut values = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for word in line.split(|c: char| c.is_whitespace() || "[]".contains(c)).filter(|word| !word.is_empty()) {
            let wrong = |_| (number, format!("`{word}` is not a number: expected a number for each pdf"));
            values.push(word.parse().map_err(wrong)?);
        }
    }
    Ok(values)
}
