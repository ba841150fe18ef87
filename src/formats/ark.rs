//! Kaldi's archives of matrices, binary and text, and its scripts: what its tools write as `ark:`, `ark,t:` and `scp:`.
//!
//! An archive is one entry after another: a name, white space, a value. Each value says by its first bytes what it is:
//!
//! | begins with | is |
//! |---|---|
//! | `[` | text: numbers, a row ends with a line break or `;`, the matrix with `]` |
//! | `\0BFM `, `\0BDM ` | `i32` rows and columns, each after a byte 4, then `f32` or `f64` cells, row by row |
//! | `\0BFV `, `\0BDV ` | a vector, read as a matrix of one row: `i32` length after a byte 4, then its values |
//! | `\0BCM `, `\0BCM2 `, `\0BCM3 ` | compressed: `f32` minimum and range, `i32` rows and columns, then codes |
//! | anything else | in a script, the place of the value: a path, perhaps with `:` and the byte at which it begins |
//!
//! All numbers are little-endian. Source: Kaldi's `src/util/kaldi-table.h` and `src/matrix/compressed-matrix.h`.

use std::io::{self, BufRead};
use std::path::PathBuf;

use super::numbers;
use crate::matrix::Matrix;

/// What is wrong with an entry, without the names of file and entry.
type Reasoned<T> = std::result::Result<T, String>;

/// One entry of an archive or a script.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// Its name, as a rule an utterance's; empty for a value that stands alone in its file.
    pub name: String,
    /// What it holds, or why that cannot be read.
    pub value: Reasoned<Value>,
}

/// What an entry holds.
#[derive(Debug, PartialEq)]
pub enum Value {
    /// The matrix `[rows x columns]` itself.
    Matrix(Matrix),
    /// The place of the matrix, in a script.
    Place(Place),
}

/// Where a script says that a matrix is.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the current folder, as Kaldi has it.
    pub path: PathBuf,
    /// The byte of the file at which the matrix begins.
    pub offset: u64,
}

/// Reads an archive or a script; one entry at a time is in memory.
///
/// A bad value in text is passed over. Behind a bad one in binary nothing can be found: it is the last entry.
#[derive(Debug)]
pub struct Archive<R> {
    input: R,
    is_over: bool,
}

impl<R: BufRead> Archive<R> {
    /// The archive or script that `input` holds.
    pub fn new(input: R) -> Self {
        Self { input, is_over: false }
    }
}

impl<R: BufRead> Iterator for Archive<R> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.is_over {
            return None;
        }
        let mut name = String::new();
        let value = match entry(&mut self.input, &mut name) {
            Ok(value) => value?,
            Err(fatal) => {
                self.is_over = true;
                Err(fatal)
            }
        };
        Some(Entry { name, value })
    }
}

/// Reads the one matrix of a file that is no archive, or the one at a [`Place`].
///
/// # Errors
/// A reason without the file's name: not a Kaldi matrix, of a type that is none, broken, cut off.
pub fn matrix(input: &mut impl BufRead) -> Reasoned<Matrix> {
    match after(input, u8::is_ascii_whitespace)? {
        Some(b'[') => text(input)?,
        Some(0) => binary(input),
        _ => Err(format!("not {EXPECTED}")),
    }
}

const EXPECTED: &str = "a Kaldi matrix in text or binary";

/// The next entry, if there is one; its name goes to `name`. The outer error is one behind which no entry can be found.
fn entry(input: &mut impl BufRead, name: &mut String) -> Reasoned<Option<Reasoned<Value>>> {
    match after(input, u8::is_ascii_whitespace)? {
        None => return Ok(None),
        Some(b'[' | 0) => {}
        Some(_) => *name = word(input)?,
    }
    let value = match after(input, is_blank)? {
        Some(b'[') => text(input)?.map(Value::Matrix),
        Some(0) => Ok(Value::Matrix(binary(input)?)),
        Some(b'\n') | None => Err(format!("nothing stands after the name: expected {EXPECTED}, or its place")),
        Some(_) => place(&until(input, |&byte| byte == b'\n')?).map(Value::Place),
    };
    Ok(Some(value))
}

/// A name: text up to white space.
fn word(input: &mut impl BufRead) -> Reasoned<String> {
    let bytes = until(input, u8::is_ascii_whitespace)?;
    let text = String::from_utf8(bytes).ok().filter(|name| !name.chars().any(char::is_control));
    text.ok_or_else(|| "not a Kaldi archive or script: where a name should stand is no text".into())
}

/// The place that the rest of a script's line names.
fn place(line: &[u8]) -> Reasoned<Place> {
    let text = std::str::from_utf8(line).map_err(|_| "its place is not UTF-8 text")?.trim();
    if text.ends_with('|') {
        return Err(format!("`{text}` is a command, which is not run: write what it prints into an archive"));
    }
    if text.ends_with(']') {
        return Err(format!("`{text}` is a part of a matrix, expected a path or path:byte: write it into an archive"));
    }
    let whole = || (text, Ok(0));
    let (path, offset) = text.rsplit_once(':').map_or_else(whole, |(path, offset)| (path, offset.parse()));
    match offset {
        Ok(offset) => Ok(Place { path: path.into(), offset }),
        Err(_) => Ok(Place { path: text.into(), offset: 0 }),
    }
}

/// A matrix in brackets and what stands after it on its line. The inner error is of a matrix whose end was found.
fn text(input: &mut impl BufRead) -> Reasoned<Reasoned<Matrix>> {
    input.consume(1);
    let mut rows = Rows::default();
    let mut fault = None;
    loop {
        let row = until(input, |byte| matches!(byte, b'\n' | b';' | b']'))?;
        if let Err(reason) = rows.push(&row) {
            fault.get_or_insert(reason);
        }
        match fill(input)?.first() {
            None => return Err(format!("cut off after row {}: no `]` ends the matrix", rows.count)),
            Some(b']') => break,
            Some(_) => input.consume(1),
        }
    }
    input.consume(1);
    let rest = until(input, |&byte| byte == b'\n')?;
    if !rest.iter().all(is_blank) {
        fault.get_or_insert("the line goes on after the `]` that ends the matrix".into());
    }
    Ok(fault.map_or_else(|| rows.matrix(), Err))
}

/// The rows of a matrix in text, as far as they are read.
#[derive(Default)]
struct Rows {
    count: usize,
    cells: Vec<f32>,
}

impl Rows {
    /// Takes the next row; a blank one is none.
    fn push(&mut self, text: &[u8]) -> Reasoned<()> {
        let before = self.cells.len();
        let row = self.count + 1;
        for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
            let shown = || String::from_utf8_lossy(&word[..word.len().min(20)]);
            self.cells.push(number.ok_or_else(|| format!("row {row}: `{}` is not a number", shown()))?);
        }
        let found = self.cells.len() - before;
        match before.checked_div(self.count) {
            _ if found == 0 => Ok(()),
            Some(cols) if found != cols => Err(format!("row {row} has {found} values, the first has {cols}")),
            _ => {
                self.count += 1;
                Ok(())
            }
        }
    }

    fn matrix(self) -> Reasoned<Matrix> {
        let cols = self.cells.len().checked_div(self.count).unwrap_or_default();
        Matrix::from_vec(self.count, cols, self.cells).map_err(|error| error.to_string())
    }
}

/// A matrix in binary.
fn binary(input: &mut impl BufRead) -> Reasoned<Matrix> {
    match kind(input)?.as_str() {
        "FM" => {
            let shape = (count(input)?, count(input)?);
            cells(input, shape, f32::from_le_bytes)
        }
        "DM" => {
            let shape = (count(input)?, count(input)?);
            cells(input, shape, |bytes| f64::from_le_bytes(bytes) as f32)
        }
        "FV" => {
            let shape = (1, count(input)?);
            cells(input, shape, f32::from_le_bytes)
        }
        "DV" => {
            let shape = (1, count(input)?);
            cells(input, shape, |bytes| f64::from_le_bytes(bytes) as f32)
        }
        "CM" => compressed_by_column(input),
        "CM2" => {
            let header = Compressed::read(input)?;
            cells(input, header.shape, |code| header.value(code))
        }
        "CM3" => {
            let header = Compressed::read(input)?;
            cells(input, header.shape, |[code]| header.min + f32::from(code) * (header.range / 255.0))
        }
        other => Err(format!("a value of Kaldi's type `{other}`, expected FM, DM, FV, DV, CM, CM2 or CM3")),
    }
}

/// The type that stands after the mark of binary.
fn kind(input: &mut impl BufRead) -> Reasoned<String> {
    if bytes(input)? != *b"\0B" {
        return Err(format!("not {EXPECTED}: a byte 0 without the B of binary after it"));
    }
    let mut kind = String::new();
    while kind.len() < 4 {
        match bytes(input)? {
            [b' '] => break,
            [byte] => kind.extend(std::ascii::escape_default(byte).map(char::from)),
        }
    }
    Ok(kind)
}

/// A number of rows, columns or values.
fn count(input: &mut impl BufRead) -> Reasoned<usize> {
    let [width, number @ ..] = bytes::<5>(input)?;
    let number = i32::from_le_bytes(number);
    match (width, usize::try_from(number)) {
        (4, Ok(count)) => Ok(count),
        _ => Err(format!("a size of {number} in {width} bytes, expected 0 or more in 4")),
    }
}

/// `N` bytes of a header.
fn bytes<const N: usize>(input: &mut impl BufRead) -> Reasoned<[u8; N]> {
    let mut bytes = [0; N];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Err("cut off within its header".to_owned()),
        Err(cause) => Err(unreadable(&cause)),
    }
}

/// Rows and columns.
type Shape = (usize, usize);

/// A matrix of `shape` from its cells, row by row.
fn cells<const N: usize>(input: &mut impl BufRead, shape: Shape, decode: impl Fn([u8; N]) -> f32) -> Reasoned<Matrix> {
    let cells = promised(input, shape, decode)?;
    Matrix::from_vec(shape.0, shape.1, cells).map_err(|error| error.to_string())
}

/// All values that the shape promises, in the order of the file.
fn promised<const N: usize, T>(
    input: &mut impl BufRead,
    (rows, cols): Shape,
    decode: impl Fn([u8; N]) -> T,
) -> Reasoned<Vec<T>> {
    let count = rows.saturating_mul(cols);
    let values = numbers::read(input, count, decode).map_err(|cause| unreadable(&cause))?;
    match values.len() {
        found if found < count => Err(format!("cut off: {rows} x {cols} values promised, {found} found")),
        _ => Ok(values),
    }
}

/// The header of a compressed matrix.
struct Compressed {
    min: f32,
    range: f32,
    shape: Shape,
}

impl Compressed {
    fn read(input: &mut impl BufRead) -> Reasoned<Self> {
        let (min, range) = (f32::from_le_bytes(bytes(input)?), f32::from_le_bytes(bytes(input)?));
        let (rows, cols) = (i32::from_le_bytes(bytes(input)?), i32::from_le_bytes(bytes(input)?));
        match (usize::try_from(rows), usize::try_from(cols)) {
            (Ok(rows), Ok(cols)) => Ok(Self { min, range, shape: (rows, cols) }),
            _ => Err(format!("a shape of {rows} x {cols}, expected 0 or more")),
        }
    }

    /// `min + code * range / 65535`
    fn value(&self, code: [u8; 2]) -> f32 {
        self.min + f32::from(u16::from_le_bytes(code)) * (self.range / 65535.0)
    }
}

/// The first compressed format: column by column, each with its minimum, quartiles and maximum in 16 bits, and a byte a cell.
fn compressed_by_column(input: &mut impl BufRead) -> Reasoned<Matrix> {
    let header = Compressed::read(input)?;
    let (rows, cols) = header.shape;
    let quartiles = promised(input, (1, cols), |codes: [u8; 8]| {
        let [a, b, c, d, e, f, g, h] = codes;
        [[a, b], [c, d], [e, f], [g, h]].map(|code| header.value(code))
    })?;
    let codes = promised(input, header.shape, |[code]| code)?;
    let mut matrix = Matrix::zeros(rows, cols);
    for (index, cell) in matrix.as_mut_slice().iter_mut().enumerate() {
        let (row, col) = (index / cols, index % cols);
        *cell = between(quartiles[col], codes[col * rows + row]);
    }
    Ok(matrix)
}

/// The value of `code` in a column: 0 to 64 go from the minimum to the lower quartile, on to the upper one at 192, to the
/// maximum at 255.
fn between([minimum, lower, upper, maximum]: [f32; 4], code: u8) -> f32 {
    let (from, to, share) = match code {
        0..=64 => (minimum, lower, f32::from(code) / 64.0),
        65..=192 => (lower, upper, f32::from(code - 64) / 128.0),
        193.. => (upper, maximum, f32::from(code - 192) / 63.0),
    };
    from + (to - from) * share
}

/// Longest name and longest row of text, in bytes: what is longer is no archive, and would take all memory.
const LONGEST: usize = 1 << 26;

/// Takes the bytes before the first one that `is_end` accepts, or before the end of `input`.
fn until(input: &mut impl BufRead, is_end: impl Fn(&u8) -> bool) -> Reasoned<Vec<u8>> {
    let mut taken = Vec::new();
    loop {
        let block = fill(input)?;
        let end = block.iter().position(&is_end);
        let length = end.unwrap_or(block.len());
        taken.extend_from_slice(&block[..length]);
        input.consume(length);
        if end.is_some() || length == 0 {
            return Ok(taken);
        }
        if taken.len() > LONGEST {
            return Err(format!("a name or a row of more than {LONGEST} bytes: this is no Kaldi archive"));
        }
    }
}

/// Passes over the bytes that `is_skipped` accepts; the byte behind them stays where it is.
fn after(input: &mut impl BufRead, is_skipped: impl Fn(&u8) -> bool) -> Reasoned<Option<u8>> {
    loop {
        let block = fill(input)?;
        let found = block.iter().position(|byte| !is_skipped(byte)).map(|at| (at, block[at]));
        let (length, byte) = found.map_or((block.len(), None), |(at, byte)| (at, Some(byte)));
        input.consume(length);
        if byte.is_some() || length == 0 {
            return Ok(byte);
        }
    }
}

/// Bytes to come, as many as are at hand; none at the end of `input`.
fn fill(input: &mut impl BufRead) -> Reasoned<&[u8]> {
    input.fill_buf().map_err(|cause| unreadable(&cause))
}

/// White space within a line.
fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn unreadable(cause: &io::Error) -> String {
    format!("cannot read: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries by name, matrices as rows.
    fn read(bytes: &[u8]) -> Vec<(String, Reasoned<Vec<Vec<f32>>>)> {
        let rows = |value| match value {
            Value::Matrix(matrix) => matrix.iter_rows().map(<[f32]>::to_vec).collect(),
            Value::Place(place) => panic!("a place: {place:?}"),
        };
        Archive::new(bytes).map(|entry| (entry.name, entry.value.map(rows))).collect()
    }

    fn reason(bytes: &[u8]) -> String {
        let entries = read(bytes);
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].1.clone().unwrap_err()
    }

    /// A header of sizes and the bytes of values, after `utt`, the marks of binary and the type.
    fn binary_entry(kind: &str, sizes: &[i32], values: &[u8]) -> Vec<u8> {
        let mut bytes = format!("utt \0B{kind} ").into_bytes();
        for size in sizes {
            bytes.push(4);
            bytes.extend(size.to_le_bytes());
        }
        bytes.extend(values);
        bytes
    }

    fn compressed_entry(kind: &str, (min, range): (f32, f32), (rows, cols): (i32, i32), codes: &[u8]) -> Vec<u8> {
        let mut bytes = format!("utt \0B{kind} ").into_bytes();
        bytes.extend([min, range].iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend([rows, cols].iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(codes);
        bytes
    }

    fn singles(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn named(name: &str, rows: &[&[f32]]) -> (String, Reasoned<Vec<Vec<f32>>>) {
        (name.to_owned(), Ok(rows.iter().map(|row| row.to_vec()).collect()))
    }

    #[test]
    fn text_is_read_as_kaldi_writes_it() {
        let bytes = b"u-1  [\n  -0.5 1e-3 \n  2 inf ]\nu_2 [ 1 2; 3 4 ]\n\nu3  [ ]\nu4\t[\r\n 7 ]\r\n";
        let expected = [
            named("u-1", &[&[-0.5, 1e-3], &[2.0, f32::INFINITY]]),
            named("u_2", &[&[1.0, 2.0], &[3.0, 4.0]]),
            named("u3", &[]),
            named("u4", &[&[7.0]]),
        ];
        assert_eq!(read(bytes), expected);
    }

    #[test]
    fn a_bad_matrix_in_text_is_passed_over() {
        let bytes = b"a [ 1 2\n 3 x4\n 5 6 ]\nb [ 1 2\n 3\n 4 5\n 6 ]\nc [ 1 ]\nd [ 1 ] [ 2 ]\ne\nf [ 5 ]\ng [ 1\n 2";
        let entries = read(bytes);
        let reason = |index: usize| entries[index].1.clone().unwrap_err();
        let names: Vec<&str> = entries.iter().map(|entry| entry.0.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(reason(0), "row 2: `x4` is not a number");
        assert_eq!(reason(1), "row 2 has 1 values, the first has 2");
        assert_eq!(entries[2], named("c", &[&[1.0]]));
        assert_eq!(reason(3), "the line goes on after the `]` that ends the matrix");
        assert!(reason(4).starts_with("nothing stands after the name"));
        assert_eq!(entries[5], named("f", &[&[5.0]]));
        assert_eq!(reason(6), "cut off after row 2: no `]` ends the matrix");
    }

    #[test]
    fn binary_follows_binary_and_text_may_stand_between() {
        let doubles: Vec<u8> = [0.25f64, -1e-50].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut bytes = binary_entry("FM", &[2, 3], &singles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        bytes.extend(binary_entry("DM", &[1, 2], &doubles));
        bytes.extend(b"text [ 0 10 ]\n");
        bytes.extend(binary_entry("FV", &[2], &singles(&[8.0, 9.0])));
        bytes.extend(binary_entry("DV", &[2], &doubles));
        bytes.extend(binary_entry("FM", &[0, 0], &[]));
        let expected = [
            named("utt", &[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]),
            named("utt", &[&[0.25, -0.0]]),
            named("text", &[&[0.0, 10.0]]),
            named("utt", &[&[8.0, 9.0]]),
            named("utt", &[&[0.25, -0.0]]),
            named("utt", &[]),
        ];
        assert_eq!(read(&bytes), expected);
    }

    /// By hand from the format: codes of 0 and of the largest value are the ends of the range.
    #[test]
    fn compressed_cells_are_shares_of_the_range() {
        let words: Vec<u8> = [0u16, 65535, 13107, 26214].iter().flat_map(|code| code.to_le_bytes()).collect();
        let two_bytes = compressed_entry("CM2", (-10.0, 10.0), (2, 2), &words);
        let one_byte = compressed_entry("CM3", (0.0, 1.0), (1, 3), &[0, 51, 255]);
        for (bytes, expected) in
            [(two_bytes, vec![vec![-10.0, 0.0], vec![-8.0, -6.0]]), (one_byte, vec![vec![0.0, 0.2, 1.0]])]
        {
            let rows = read(&bytes)[0].1.clone().unwrap();
            assert_eq!(rows.len(), expected.len());
            for (found, expected) in rows.concat().iter().zip(expected.concat()) {
                assert!((found - expected).abs() < 1e-5, "{rows:?}");
            }
        }
    }

    /// Two columns: one with quartiles of 0, 1, 3 and 4, one that is constant. Cells stand column by column.
    #[test]
    fn a_compressed_column_has_its_own_quartiles() {
        let share = |value: f32| ((value / 4.0 * 65535.0).round() as u16).to_le_bytes();
        let mut codes: Vec<u8> = [0.0, 1.0, 3.0, 4.0, 2.0, 2.0, 2.0, 2.0].into_iter().flat_map(share).collect();
        codes.extend([0, 32, 64, 128, 192, 255]);
        codes.extend([0, 64, 65, 192, 193, 255]);
        let entries = read(&compressed_entry("CM", (0.0, 4.0), (6, 2), &codes));
        let rows = entries[0].1.clone().unwrap();
        for (row, expected) in rows.iter().zip([0.0, 0.5, 1.0, 2.0, 3.0, 4.0]) {
            assert!((row[0] - expected).abs() < 1e-4 && (row[1] - 2.0).abs() < 1e-4, "{rows:?}");
        }
        assert_eq!(read(&compressed_entry("CM", (0.0, 0.0), (0, 0), &[])), [named("utt", &[])]);
    }

    #[test]
    fn a_lone_matrix_has_no_name() {
        let entry = binary_entry("FM", &[1, 2], &singles(&[1.0, 2.0]));
        assert_eq!(read(&entry[4..]), [named("", &[&[1.0, 2.0]])]);
        assert_eq!(read(b" [\n 1 2 ]\n"), [named("", &[&[1.0, 2.0]])]);
        assert_eq!(matrix(&mut &entry[4..]).unwrap().as_slice(), [1.0, 2.0]);
        assert_eq!(matrix(&mut b"utt [ 1 ]".as_slice()).unwrap_err(), "not a Kaldi matrix in text or binary");
    }

    #[test]
    fn a_script_names_places() {
        let bytes = b"a x/post.ark:127\nb post 1.mat\nc x.ark:12[0:9]\nd copy-feats x ark:- |\ne c:x\n";
        let places: Vec<_> = Archive::new(bytes.as_slice()).map(|entry| entry.value).collect();
        let place = |path: &str, offset| Ok(Value::Place(Place { path: path.into(), offset }));
        assert_eq!(places[0], place("x/post.ark", 127));
        assert_eq!(places[1], place("post 1.mat", 0));
        assert!(places[2].as_ref().unwrap_err().contains("`x.ark:12[0:9]` is a part of a matrix"));
        assert!(places[3].as_ref().unwrap_err().contains("`copy-feats x ark:- |` is a command, which is not run"));
        assert_eq!(places[4], place("c:x", 0));
    }

    #[test]
    fn what_is_broken_is_said_and_ends_the_archive() {
        let mut bytes = binary_entry("XM", &[1, 1], &[0; 4]);
        bytes.extend(b"next [ 1 ]\n");
        assert!(reason(&bytes).starts_with("a value of Kaldi's type `XM`, expected FM, DM, FV, DV, CM, CM2 or CM3"));
        assert_eq!(reason(&binary_entry("FM", &[-1, 4], &[])), "a size of -1 in 4 bytes, expected 0 or more in 4");
        assert_eq!(reason(b"utt \0BFM \x08aaaa"), "a size of 1633771873 in 8 bytes, expected 0 or more in 4");
        let promise = binary_entry("FM", &[i32::MAX, i32::MAX], &[0; 7]);
        assert_eq!(reason(&promise), "cut off: 2147483647 x 2147483647 values promised, 1 found");
        for kind in ["CM", "CM2", "CM3"] {
            let promise = compressed_entry(kind, (0.0, 1.0), (i32::MAX, i32::MAX), &[0; 8]);
            assert!(reason(&promise).starts_with("cut off: "));
            let negative = compressed_entry(kind, (0.0, 1.0), (3, -3), &[0; 8]);
            assert_eq!(reason(&negative), "a shape of 3 x -3, expected 0 or more");
        }
        let no_text = "not a Kaldi archive or script: where a name should stand is no text";
        assert_eq!(reason(b"RIFF\x24\x08\x00\x00WAVEfmt "), no_text);
        assert_eq!(reason(b"\xff\xfe [ 1 ]"), no_text);
        assert!(reason(b"utt \0C").contains("without the B of binary"));
        assert!(reason(b"utt").starts_with("nothing stands after the name"));
    }

    #[test]
    fn no_prefix_of_an_archive_panics() {
        let quartiles = [0; 8];
        let mut whole = binary_entry("FM", &[1, 2], &singles(&[1.0, 2.0]));
        whole.extend(compressed_entry("CM", (0.0, 1.0), (2, 1), &[quartiles.as_slice(), &[1, 2]].concat()));
        whole.extend(b"text [ 1 2\n 3 4 ]\n");
        for length in 0..whole.len() - 1 {
            let entries = read(&whole[..length]);
            assert!(entries.len() <= 3 && entries.iter().rev().skip(1).all(|entry| entry.1.is_ok()), "{entries:?}");
        }
    }

    /// A reader that hands out a byte at a time.
    #[test]
    fn blocks_may_end_anywhere() {
        let mut whole = b"text [ 1 2\n 3 4 ]\n".to_vec();
        whole.extend(binary_entry("FM", &[1, 2], &singles(&[1.0, 2.0])));
        let slow = io::BufReader::with_capacity(1, whole.as_slice());
        assert_eq!(Archive::new(slow).collect::<Vec<_>>(), Archive::new(whole.as_slice()).collect::<Vec<_>>());
    }
}
