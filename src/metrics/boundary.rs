//! How well boundaries are placed: the distance in milliseconds between two segmentations of the same labels.
//!
//! In come pairs of segment lists with equal labels (a reference, and an alignment to judge), out go the mean distance and
//! the shares within a tolerance.

use crate::alignment::Segment;
use crate::{Error, Result};

/// The absolute differences of all boundaries compared so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundaryErrors {
    /// In milliseconds, in the order in which they were added.
    pub errors_ms: Vec<f64>,
}

impl BoundaryErrors {
    /// Adds the boundaries of one utterance: the start of every segment but the first. Its outer ends are those of the
    /// recording and would flatter.
    ///
    /// # Errors
    /// When the labels differ.
    pub fn add(&mut self, reference: &[Segment], hypothesis: &[Segment], sample_rate: u32) -> Result<()> {
        if reference.len() != hypothesis.len() {
            let (expected, found) = (reference.len(), hypothesis.len());
            return Err(Error::Shape { what: "segments whose boundaries are compared", expected, found });
        }
        let pairs = || reference.iter().zip(hypothesis);
        if let Some((place, (expected, found))) = pairs().enumerate().find(|(_, (a, b))| a.label != b.label) {
            return Err(Error::Other(format!(
                "boundaries can be compared between equal labels only: segment {} is {} in the reference and {} in the hypothesis",
                place + 1,
                expected.label,
                found.label
            )));
        }
        let error_ms =
            |(a, b): (&Segment, &Segment)| 1000.0 * a.start.abs_diff(b.start) as f64 / f64::from(sample_rate);
        self.errors_ms.extend(pairs().skip(1).map(error_ms));
        Ok(())
    }

    /// Mean absolute difference in milliseconds; none without a boundary.
    pub fn mean_ms(&self) -> Option<f64> {
        let count = self.errors_ms.len();
        (count > 0).then(|| self.errors_ms.iter().sum::<f64>() / count as f64)
    }

    /// The share (0 to 1) of boundaries that differ by at most `tolerance_ms`; none without a boundary.
    pub fn share_within(&self, tolerance_ms: f64) -> Option<f64> {
        let count = self.errors_ms.len();
        let close = self.errors_ms.iter().filter(|&&error| error <= tolerance_ms).count();
        (count > 0).then(|| close as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(starts: &[u64], labels: &str) -> Vec<Segment> {
        let ends = starts.iter().skip(1).copied().chain([16000]);
        let bounds = starts.iter().zip(ends).zip(labels.chars());
        bounds.map(|((&start, end), label)| Segment { label: label.into(), start, end, confidence: None }).collect()
    }

    #[test]
    fn distances_are_those_of_the_inner_boundaries() {
        let mut errors = BoundaryErrors::default();
        // 0, 10 ms early, 20 ms late, 40 ms late; the first start does not count.
        let reference = segments(&[0, 1600, 3200, 4800, 8000], "abcab");
        let hypothesis = segments(&[16, 1600, 3040, 5120, 8640], "abcab");
        errors.add(&reference, &hypothesis, 16000).unwrap();
        assert_eq!(errors.errors_ms, [0.0, 10.0, 20.0, 40.0]);
        assert_eq!(errors.mean_ms(), Some(17.5));
        assert_eq!([10.0, 20.0, 50.0].map(|ms| errors.share_within(ms)), [Some(0.5), Some(0.75), Some(1.0)]);
    }

    #[test]
    fn other_labels_are_refused() {
        let mut errors = BoundaryErrors::default();
        let reference = segments(&[0, 100], "ab");
        let message = errors.add(&reference, &segments(&[0, 100], "ac"), 16000).unwrap_err().to_string();
        assert!(message.contains("segment 2 is b in the reference and c in the hypothesis"), "{message}");
        assert!(errors.add(&reference, &segments(&[0], "a"), 16000).is_err());
        assert_eq!((errors.mean_ms(), errors.share_within(10.0)), (None, None));
    }
}
