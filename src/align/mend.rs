//! Wider searches for an alignment in doubt, which may be in doubt only because the first beam was too narrow.
//!
//! What one search found comes in with a way to search again; what is believed in the end goes out.

use super::fit::Fit;
use super::refine::Boundaries;
use super::verdict::Verdict;
use crate::Result;
use crate::dp::{BeamRetry, SegmentSpan};

/// A factor on the beam of an alignment in doubt.
const WIDER: f32 = 4.0;
/// The widest beam that is tried before exact search.
const WIDEST: f32 = 1000.0;
/// Recordings that last longer are not searched exactly for a doubt: it takes too long.
const EXACT_SECONDS: f64 = 600.0;
/// A beam from here on that finds what a narrower one has found ends the search.
const SETTLED: f32 = 200.0;

/// What one search found.
pub(super) struct Found {
    pub(super) spans: Vec<SegmentSpan>,
    pub(super) fits: Vec<Fit>,
    pub(super) boundaries: Boundaries,
    pub(super) verdict: Verdict,
    pub(super) retries: Vec<BeamRetry>,
    /// The beam that found it.
    pub(super) beam: f32,
}

/// `found` in a recording of `seconds`, or what a wider `search` finds in its place while that is in doubt.
pub(super) fn mended(mut found: Found, seconds: f64, mut search: impl FnMut(f32) -> Result<Found>) -> Result<Found> {
    let mut beam = found.beam;
    while let (Verdict::Doubtful(_), Some(next)) = (&found.verdict, next_beam(beam, seconds)) {
        let wider = search(next)?;
        beam = wider.beam;
        if wider.spans != found.spans {
            found = Found { retries: found.retries, ..wider };
        } else if beam >= SETTLED {
            break;
        }
    }
    Ok(found)
}

/// The beam to try after `beam` in a recording of `seconds`; none where no wider one is to be tried.
fn next_beam(beam: f32, seconds: f64) -> Option<f32> {
    match WIDER * beam {
        wider if wider <= WIDEST => Some(wider),
        _ if beam.is_finite() && seconds <= EXACT_SECONDS => Some(f32::INFINITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Doubt, Reason};
    use super::*;
    use crate::symbols::SymbolId;

    /// A path that is known by its end; one of an odd end is in doubt.
    fn found(end: usize, beam: f32) -> Found {
        let spans = vec![SegmentSpan { symbol: SymbolId(0), word: None, start: 0, end }];
        let reason = Reason::Stretched { most_seconds: 1.0 };
        let doubt = Doubt { start_seconds: 0.0, end_seconds: 1.0, what: "a".into(), reason };
        let verdict = if end % 2 == 1 { Verdict::Doubtful(doubt) } else { Verdict::Widened { beam } };
        Found { spans, fits: vec![], boundaries: Boundaries::default(), verdict, retries: vec![], beam }
    }

    /// The beams that are tried after `beam`, which found the path of `ends[0]`, and the end that is believed.
    fn tried(beam: f32, seconds: f64, ends: &[usize]) -> (Vec<f32>, usize) {
        let mut tried = vec![];
        let mended = mended(found(ends[0], beam), seconds, |beam| {
            tried.push(beam);
            Ok(found(ends[tried.len()], beam))
        });
        let end = mended.unwrap().spans[0].end;
        (tried, end)
    }

    #[test]
    fn what_is_in_doubt_is_searched_with_wider_beams() {
        assert_eq!(tried(200.0, 5.0, &[2]), (vec![], 2));
        assert_eq!(tried(200.0, 5.0, &[1, 2]), (vec![800.0], 2));
        assert_eq!(tried(200.0, 5.0, &[1, 3, 5]), (vec![800.0, f32::INFINITY], 5));
        assert_eq!(tried(f32::INFINITY, 5.0, &[1]), (vec![], 1));
    }

    #[test]
    fn the_same_path_again_ends_the_search_unless_the_beam_is_narrow() {
        assert_eq!(tried(200.0, 5.0, &[1, 1]), (vec![800.0], 1));
        assert_eq!(tried(8.0, 5.0, &[1, 1, 1, 2]), (vec![32.0, 128.0, 512.0], 2));
        assert_eq!(tried(8.0, 5.0, &[1, 1, 1, 1]), (vec![32.0, 128.0, 512.0], 1));
    }

    #[test]
    fn a_long_recording_is_not_searched_exactly_for_a_doubt() {
        assert_eq!(tried(200.0, 600.5, &[1, 3]), (vec![800.0], 3));
        assert_eq!(tried(900.0, 600.5, &[1]), (vec![], 1));
    }
}
