//! NumPy's array file (`.npy`), as far as feature matrices need it: two dimensions, little-endian `f32`. Written rows first, read
//! in either order.
//!
//! The format is NumPy Enhancement Proposal 1: magic, version, a header that is a Python dictionary, then the values.

use std::io;
use std::path::Path;

use super::atomic;
use crate::matrix::Matrix;
use crate::{Error, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Values start at a multiple of this.
const ALIGNMENT: usize = 64;

/// Reads a `[rows x cols]` matrix; an array of one dimension becomes one row.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; [`Error::Config`] when it is no `.npy` file of version 1 to 3 with one or two
/// dimensions of little-endian `f32`.
pub fn read(path: &Path) -> Result<Matrix> {
    let bytes = std::fs::read(path).map_err(|cause| Error::io("read", path, cause))?;
    parse(&bytes).map_err(|reason| Error::Config { path: path.to_owned(), reason })
}

/// Writes `matrix` to `path`, whole or not at all.
///
/// # Errors
/// [`Error::Io`] when the file cannot be written.
pub fn write(path: &Path, matrix: &Matrix) -> Result<()> {
    atomic::write(path, |out| write_to(out, matrix))
}

/// Writes `matrix` as version 1 of the format.
fn write_to(out: &mut dyn io::Write, matrix: &Matrix) -> io::Result<()> {
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", matrix.rows(), matrix.cols());
    // Magic, version, length and the final line break stand around the header.
    let unpadded = MAGIC.len() + 2 + 2 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    header.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut values = Vec::with_capacity(matrix.as_slice().len() * 4);
    values.extend(matrix.as_slice().iter().flat_map(|value| value.to_le_bytes()));
    out.write_all(&values)
}

fn parse(bytes: &[u8]) -> std::result::Result<Matrix, String> {
    let (header, values) = split(bytes)?;
    let descr = field(header, "descr")?;
    if !descr.starts_with("'<f4'") {
        let found: String = descr.chars().take(8).collect();
        return Err(format!("values of type {found}..., expected little-endian f32 ('<f4')"));
    }
    let columns_first = field(header, "fortran_order")?.starts_with("True");
    let (rows, cols) = shape(field(header, "shape")?)?;
    let expected = rows.checked_mul(cols).and_then(|count| count.checked_mul(4));
    if expected != Some(values.len()) {
        return Err(format!("a shape of {rows} x {cols} with {} bytes of values", values.len()));
    }
    let value = |index: usize| {
        let place = if columns_first { index % cols * rows + index / cols } else { index };
        let bytes = &values[4 * place..];
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let data = (0..rows * cols).map(value).collect();
    Matrix::from_vec(rows, cols, data).map_err(|error| error.to_string())
}

/// The header text and the bytes of the values.
fn split(bytes: &[u8]) -> std::result::Result<(&str, &[u8]), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("not a .npy file: the magic bytes are missing")?;
    let cut = || "cut off within its header".to_owned();
    let (&version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(&length, rest)| (usize::from(u16::from_le_bytes(length)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(&length, rest)| (u32::from_le_bytes(length) as usize, rest)),
        other => return Err(format!("version {other} of the .npy format, expected 1, 2 or 3")),
    }
    .ok_or_else(cut)?;
    let (header, values) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "a header that is not text".to_owned())?;
    Ok((header, values))
}

/// What follows `'name':` in the header.
fn field<'a>(header: &'a str, name: &str) -> std::result::Result<&'a str, String> {
    let missing = || format!("a header without '{name}'");
    let (_, rest) = header.split_once(&format!("'{name}'")).ok_or_else(missing)?;
    let (_, value) = rest.split_once(':').ok_or_else(missing)?;
    Ok(value.trim_start())
}

fn shape(text: &str) -> std::result::Result<(usize, usize), String> {
    let wrong = || format!("a shape of {}, expected one or two dimensions", text.trim_end());
    let inner = text.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(wrong)?.0;
    let sizes: Vec<usize> = inner
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(|size| size.parse().map_err(|_| wrong()))
        .collect::<std::result::Result<_, _>>()?;
    match sizes[..] {
        [cols] => Ok((1, cols)),
        [rows, cols] => Ok((rows, cols)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `numpy.save` writes of `numpy.array([[1, -2, 0.5]], dtype="float32")`.
    fn by_numpy() -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        let mut header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }".to_vec();
        header.resize(117, b' ');
        header.push(b'\n');
        bytes.extend(header);
        for value in [1.0f32, -2.0, 0.5] {
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn what_numpy_wrote_is_read() {
        let matrix = parse(&by_numpy()).unwrap();
        assert_eq!((matrix.rows(), matrix.cols()), (1, 3));
        assert_eq!(matrix.as_slice(), [1.0, -2.0, 0.5]);
    }

    #[test]
    fn what_is_written_is_read_and_aligned() {
        let matrix = Matrix::from_vec(2, 3, vec![0.0, -1.5, f32::MAX, f32::MIN_POSITIVE, 4.0, 5.0]).unwrap();
        let mut bytes = Vec::new();
        write_to(&mut bytes, &matrix).unwrap();
        assert_eq!(parse(&bytes).unwrap(), matrix);
        assert_eq!((bytes.len() - 24) % ALIGNMENT, 0);
    }

    #[test]
    fn the_second_version_has_a_longer_length() {
        let mut bytes = by_numpy();
        bytes[6] = 2;
        bytes.splice(10..10, [0, 0]);
        assert_eq!(parse(&bytes).unwrap().as_slice(), [1.0, -2.0, 0.5]);
    }

    #[test]
    fn columns_may_be_stored_first() {
        let matrix = Matrix::from_vec(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let mut bytes = Vec::new();
        write_to(&mut bytes, &matrix).unwrap();
        let at = bytes.windows(5).position(|window| window == b"False").unwrap();
        bytes[at..at + 5].copy_from_slice(b"True ");
        assert_eq!(parse(&bytes).unwrap().as_slice(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn other_types_and_shapes_are_refused() {
        let replaced = |from: &[u8], to: &[u8]| {
            let mut bytes = by_numpy();
            let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
            bytes.splice(at..at + from.len(), to.iter().copied());
            parse(&bytes).unwrap_err()
        };
        assert!(replaced(b"<f4", b"<f8").contains("f8"));
        assert!(replaced(b"(1, 3)", b"(1, 4)").contains("1 x 4"));
        assert!(replaced(b"(1, 3)", b"(1,1,3)").contains("dimensions"));
    }

    #[test]
    fn no_prefix_of_a_file_panics() {
        let bytes = by_numpy();
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "a prefix of {length} bytes");
        }
    }
}
