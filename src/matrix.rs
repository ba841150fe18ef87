//! A dense row-major matrix of `f32`: frames are rows, what is measured of them are columns.
//!
//! The plain carrier between the stages of the journey; types that mean something (log-posteriors, emissions) wrap it.

use std::ops::Deref;

use crate::mmap::MappedFloats;
use crate::{Error, Result};

/// A `[rows x cols]` matrix, row-major, contiguous. Its values are in memory, or in a mapped file until they are changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Values,
}

/// Where the values are.
#[derive(Debug, Clone)]
enum Values {
    Owned(Vec<f32>),
    Mapped(MappedFloats),
}

impl Default for Values {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Self::Owned(values) => values,
            Self::Mapped(values) => values,
        }
    }
}

impl Values {
    /// The values in memory, copied there if they are not.
    fn owned(&mut self) -> &mut Vec<f32> {
        if let Self::Mapped(values) = self {
            *self = Self::Owned(values.to_vec());
        }
        match self {
            Self::Owned(values) => values,
            Self::Mapped(_) => unreachable!("just copied"),
        }
    }
}

impl Matrix {
    /// A `[rows x cols]` matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: Values::Owned(vec![0.0; rows * cols]) }
    }

    /// Takes `data`, row after row, as a `[rows x cols]` matrix.
    ///
    /// # Errors
    /// [`Error::Shape`] when `data` does not hold `rows * cols` values.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<f32>) -> Result<Self> {
        let expected = rows.saturating_mul(cols);
        if data.len() != expected {
            return Err(Error::Shape { what: "values in a matrix", expected, found: data.len() });
        }
        Ok(Self { rows, cols, data: Values::Owned(data) })
    }

    /// A matrix whose values, row after row, stay in a mapped file.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not `rows * cols` values.
    pub fn mapped(rows: usize, cols: usize, values: MappedFloats) -> Result<Self> {
        let (expected, found) = (rows.saturating_mul(cols), values.len());
        match expected == found {
            true => Ok(Self { rows, cols, data: Values::Mapped(values) }),
            false => Err(Error::Shape { what: "values in a matrix", expected, found }),
        }
    }

    /// An empty matrix of `cols` columns, to push rows onto.
    pub fn with_cols(cols: usize) -> Self {
        Self { rows: 0, cols, data: Values::default() }
    }

    /// Appends one row.
    ///
    /// # Panics
    /// When `row` has not [`Matrix::cols`] values.
    pub fn push_row(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.cols, "a row must have as many values as the matrix has columns");
        self.data.owned().extend_from_slice(row);
        self.rows += 1;
    }

    /// Appends all rows of `other`.
    ///
    /// # Panics
    /// When the column counts differ.
    pub fn append(&mut self, other: &Matrix) {
        assert_eq!(other.cols, self.cols, "matrices to stack must have the same number of columns");
        self.data.owned().extend_from_slice(&other.data);
        self.rows += other.rows;
    }

    /// Removes the first `count` rows.
    pub fn drop_front(&mut self, count: usize) {
        let count = count.min(self.rows);
        self.data.owned().drain(..count * self.cols);
        self.rows -= count;
    }

    /// A copy of the rows `range`.
    pub fn slice_rows(&self, range: std::ops::Range<usize>) -> Matrix {
        Matrix {
            rows: range.len(),
            cols: self.cols,
            data: Values::Owned(self.data[range.start * self.cols..range.end * self.cols].to_vec()),
        }
    }

    /// Number of rows (frames).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns (dimensions).
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `index`.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.data[index * self.cols..(index + 1) * self.cols]
    }

    /// Row `index`, to change.
    pub fn row_mut(&mut self, index: usize) -> &mut [f32] {
        &mut self.data.owned()[index * self.cols..(index + 1) * self.cols]
    }

    /// All rows in order.
    pub fn iter_rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        (0..self.rows).map(|index| self.row(index))
    }

    /// The values, row after row.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// The values, row after row, to change.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        self.data.owned()
    }

    /// Gives up the values, row after row.
    pub fn into_vec(self) -> Vec<f32> {
        match self.data {
            Values::Owned(values) => values,
            Values::Mapped(values) => values.to_vec(),
        }
    }

    /// The first row that holds a NaN or an infinity, if any.
    pub fn first_not_finite(&self) -> Option<usize> {
        self.iter_rows().position(|row| row.iter().any(|value| !value.is_finite()))
    }
}

/// The place of the largest value, the first of several; 0 in an empty row.
pub fn argmax(row: &[f32]) -> usize {
    row.iter().enumerate().fold(0, |best, (place, value)| if *value > row[best] { place } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_laid_one_after_another() {
        let mut matrix = Matrix::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        matrix.push_row(&[5.0, 6.0]);
        assert_eq!(matrix.row(2), [5.0, 6.0]);
        matrix.drop_front(1);
        assert_eq!(matrix.as_slice(), [3.0, 4.0, 5.0, 6.0]);
        assert_eq!(matrix.slice_rows(1..2).as_slice(), [5.0, 6.0]);
    }

    #[test]
    fn a_wrong_count_is_refused() {
        assert!(Matrix::from_vec(2, 2, vec![0.0; 3]).is_err());
        assert!(Matrix::from_vec(usize::MAX, 2, vec![]).is_err());
    }

    #[test]
    fn values_that_are_not_finite_are_found() {
        let mut matrix = Matrix::zeros(3, 2);
        assert_eq!(matrix.first_not_finite(), None);
        matrix.row_mut(1)[0] = f32::NAN;
        assert_eq!(matrix.first_not_finite(), Some(1));
    }
}
