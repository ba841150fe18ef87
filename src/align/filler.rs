//! A filler for words without pronunciation: any speech at all, at a price.
//!
//! Emissions `[T x P]` come in, and go out with other scores for the pdfs of the filler's symbol.

use crate::Result;
use crate::emission::Emissions;
use crate::graph::GraphSpec;
use crate::symbols::{PdfId, SymbolId};

/// What a frame of filler costs, natural log before the acoustic scale: more than a phone that is said loses against the best of
/// all, less than one that is not.
const PENALTY: f32 = 1.5;

/// Scores a symbol as the best phone of each frame.
#[derive(Debug, Clone)]
pub(super) struct Filler {
    own: Vec<usize>,
    speech: Vec<usize>,
    penalty: f32,
}

impl Filler {
    /// The filler `symbol` of `spec`; scores are `acoustic_scale` times natural logs.
    pub(super) fn new(spec: &GraphSpec, symbol: SymbolId, acoustic_scale: f32) -> Self {
        let pdfs = |symbol| spec.pdfs_of(symbol).map(PdfId::index);
        let is_speech = |other: &SymbolId| *other != symbol && !spec.optional().contains(other);
        let speech = spec.symbols().ids().filter(is_speech).flat_map(pdfs).collect();
        Self { own: pdfs(symbol).collect(), speech, penalty: PENALTY * acoustic_scale }
    }

    /// Any phone in any frame, which is the free phone loop without its transitions:
    ///
    /// ```text
    /// emission'[t, filler] = max over pdfs p of speech of emission[t, p] - penalty
    /// ```
    pub(super) fn fill(&self, emissions: &Emissions) -> Result<Emissions> {
        let mut scores = emissions.matrix().clone();
        for frame in 0..scores.rows() {
            let row = scores.row_mut(frame);
            let best = self.speech.iter().map(|&pdf| row[pdf]).fold(f32::NEG_INFINITY, f32::max);
            self.own.iter().for_each(|&pdf| row[pdf] = best - self.penalty);
        }
        Emissions::new(scores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    #[test]
    fn the_filler_is_any_speech_at_a_price() {
        let text = "format = 1\noptional = ['sil']\n[classes]\nall = ['sil', 'a', 'b', 'spn']\n[boundary]\nstart = '*'\n\
            end = '*'\n[[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 1\nself_loop = 0.5\n";
        let spec = GraphSpec::parse(text).unwrap();
        let never = f32::NEG_INFINITY;
        let cells = vec![-0.5, -2.0, -3.0, never, -4.0, -5.0, -1.0, never];
        let emissions = Emissions::new(Matrix::from_vec(2, 4, cells).unwrap()).unwrap();
        let filled = Filler::new(&spec, SymbolId(3), 0.5).fill(&emissions).unwrap();
        assert_eq!(
            (filled.frame(0), filled.frame(1)),
            (&[-0.5, -2.0, -3.0, -2.75][..], &[-4.0, -5.0, -1.0, -1.75][..])
        );
    }
}
