//! NumPy's array file (`.npy`), as far as matrices of frames need it: two dimensions of little-endian `f32` or `f64`. Written
//! as `f32`, rows first; read in either order.
//!
//! The format is NumPy Enhancement Proposal 1: magic, version, a header that is a Python dictionary, then the values.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{atomic, numbers};
use crate::matrix::Matrix;
use crate::{Error, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Values start at a multiple of this.
const ALIGNMENT: usize = 64;

/// What is wrong with a file, without its name.
type Reasoned<T> = std::result::Result<T, String>;

/// Whether a file that begins with `bytes` (one at least) may be a `.npy` file: no text in UTF-8 begins so.
pub(crate) fn is_begun_by(bytes: &[u8]) -> bool {
    bytes.first() == MAGIC.first()
}

/// Reads a `[rows x cols]` matrix; an array of one dimension becomes one row.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; [`Error::Config`] when it is no `.npy` file of version 1 to 3 with one or two
/// dimensions of little-endian `f32` or `f64`.
pub fn read(path: &Path) -> Result<Matrix> {
    let file = File::open(path).map_err(|cause| Error::io("read", path, cause))?;
    read_from(&mut BufReader::new(file)).map_err(|reason| Error::Config { path: path.to_owned(), reason })
}

/// Reads a matrix as [`read`] does; the error is a reason without the file's name. The header's shape is not trusted: memory
/// grows with the values that are there.
pub(crate) fn read_from(input: &mut impl Read) -> Reasoned<Matrix> {
    let header = header(input)?;
    let (rows, cols) = shape(field(&header, "shape")?)?;
    let promised = rows.checked_mul(cols).ok_or_else(|| format!("a shape of {rows} x {cols}: too large"))?;
    let values = values(input, field(&header, "descr")?, promised)?;
    if values.len() < promised {
        return Err(format!("a shape of {rows} x {cols} with {} values: the file is cut off", values.len()));
    }
    if input.take(1).read_to_end(&mut Vec::new()).map_err(unreadable)? > 0 {
        return Err(format!("a shape of {rows} x {cols} with more than {promised} values: the file is not whole"));
    }
    let data = match field(&header, "fortran_order")?.starts_with("True") {
        true => (0..promised).map(|index| values[index % cols * rows + index / cols]).collect(),
        false => values,
    };
    Matrix::from_vec(rows, cols, data).map_err(|error| error.to_string())
}

/// At most `count` values of the type `descr`.
fn values(input: &mut impl Read, descr: &str, count: usize) -> Reasoned<Vec<f32>> {
    let read = match descr.get(..5) {
        Some("'<f4'") => numbers::read(input, count, f32::from_le_bytes),
        Some("'<f8'") => numbers::read(input, count, |bytes| f64::from_le_bytes(bytes) as f32),
        _ => {
            let found: String = descr.chars().take(8).collect();
            return Err(format!("values of type {found}..., expected little-endian f32 ('<f4') or f64 ('<f8')"));
        }
    };
    read.map_err(unreadable)
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

/// The header's text; what follows in `input` are the values.
fn header(input: &mut impl Read) -> Reasoned<String> {
    let cut = |cause: io::Error| match cause.kind() {
        io::ErrorKind::UnexpectedEof => "cut off within its header".to_owned(),
        _ => unreadable(cause),
    };
    let mut magic = Vec::new();
    input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(unreadable)?;
    if magic != MAGIC {
        return Err("not a .npy file: the magic bytes are missing".to_owned());
    }
    let mut version = [0; 2];
    input.read_exact(&mut version).map_err(cut)?;
    let mut length = [0; 4];
    match version[0] {
        1 => input.read_exact(&mut length[..2]),
        2 | 3 => input.read_exact(&mut length),
        other => return Err(format!("version {other} of the .npy format, expected 1, 2 or 3")),
    }
    .map_err(cut)?;
    let length = u32::from_le_bytes(length);
    let mut header = Vec::new();
    input.by_ref().take(u64::from(length)).read_to_end(&mut header).map_err(unreadable)?;
    if header.len() < length as usize {
        return Err("cut off within its header".to_owned());
    }
    String::from_utf8(header).map_err(|_| "a header that is not text".to_owned())
}

fn unreadable(cause: io::Error) -> String {
    format!("cannot read: {cause}")
}

/// What follows `'name':` in the header.
fn field<'a>(header: &'a str, name: &str) -> Reasoned<&'a str> {
    let missing = || format!("a header without '{name}'");
    let (_, rest) = header.split_once(&format!("'{name}'")).ok_or_else(missing)?;
    let (_, value) = rest.split_once(':').ok_or_else(missing)?;
    Ok(value.trim_start())
}

fn shape(text: &str) -> Reasoned<(usize, usize)> {
    let found = text.split_inclusive(')').next().unwrap_or_default();
    let wrong = || format!("a shape of {found}, expected one or two dimensions");
    let inner = found.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?;
    let sizes: Vec<usize> = inner
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(|size| size.parse().map_err(|_| wrong()))
        .collect::<Reasoned<_>>()?;
    match sizes[..] {
        [cols] => Ok((1, cols)),
        [rows, cols] => Ok((rows, cols)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Reasoned<Matrix> {
        read_from(&mut &*bytes)
    }

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
    fn doubles_become_singles() {
        let mut bytes = by_numpy();
        let at = bytes.windows(3).position(|window| window == b"<f4").unwrap();
        bytes[at + 2] = b'8';
        bytes.truncate(128);
        bytes.extend([1.0f64, -1e-300, 0.1].iter().flat_map(|value| value.to_le_bytes()));
        assert_eq!(parse(&bytes).unwrap().as_slice(), [1.0, -0.0, 0.1]);
    }

    /// Each of these headers promises more than any memory holds.
    #[test]
    fn a_header_is_not_trusted() {
        for (shape, part) in [
            ("(1000000000000, 1000)", "a shape of 1000000000000 x 1000 with 3 values: the file is cut off"),
            ("(9000000000000000000, 9000000000000000000)", "too large"),
            ("(99999999999999999999, 3)", "a shape of (99999999999999999999, 3)"),
        ] {
            let header = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': {shape}, }}\n");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.extend(header.as_bytes());
            bytes.extend([0; 12]);
            let reason = parse(&bytes).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
        let reason = parse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'").unwrap_err();
        assert_eq!(reason, "cut off within its header");
    }

    #[test]
    fn other_types_and_shapes_are_refused() {
        let replaced = |from: &[u8], to: &[u8]| {
            let mut bytes = by_numpy();
            let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
            bytes.splice(at..at + from.len(), to.iter().copied());
            parse(&bytes).unwrap_err()
        };
        assert!(replaced(b"<f4", b"<i4").contains("type '<i4'"));
        assert_eq!(replaced(b"(1, 3)", b"(1, 4)"), "a shape of 1 x 4 with 3 values: the file is cut off");
        assert!(replaced(b"(1, 3)", b"(1, 2)").contains("with more than 2 values"));
        assert!(replaced(b"(1, 3)", b"(1,1,3)").contains("a shape of (1,1,3), expected one or two"));
    }

    #[test]
    fn no_prefix_of_a_file_panics() {
        let bytes = by_numpy();
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "a prefix of {length} bytes");
        }
    }
}
