//! How well each aligned phone fits its stretch of the recording, beside what the free phone loop makes of it.
//!
//! Segments of a transcript and emissions `[T x P]`, block by block, come in; a log-likelihood ratio for each phone goes out.
//! It is the goodness of pronunciation of Witt and Young (2000), with the best phone of each frame as the free loop.

use crate::dp::SegmentSpan;
use crate::emission::Emissions;
use crate::graph::GraphSpec;
use crate::symbols::{PdfId, SymbolId};

/// What an aligned symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A phone of the transcript.
    Phone,
    /// A pause, which may come between any words.
    Pause,
    /// A word whose phones nobody knows.
    Filler,
}

/// An aligned symbol and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The symbol.
    pub symbol: SymbolId,
    /// What it stands for.
    pub role: Role,
    /// The word of the transcript that it belongs to, from 0 on; none for a pause.
    pub item: Option<usize>,
    /// First search frame.
    pub start: usize,
    /// First search frame after it.
    pub end: usize,
    /// Log-likelihood ratio against the free phone loop, natural log, mean over the frames: 0 where nothing fits better, else less.
    pub ratio: f64,
}

impl Fit {
    /// Its length in search frames.
    pub fn frames(&self) -> usize {
        self.end - self.start
    }
}

/// Adds up the fits of segments while their emissions pass by.
#[derive(Debug)]
pub struct Fitting {
    /// The pdfs of each symbol, in any context.
    pdfs: Vec<Vec<usize>>,
    acoustic_scale: f64,
    fits: Vec<Fit>,
    /// The segment and the frame that come next.
    current: usize,
    frame: usize,
}

impl Fitting {
    /// The segments `spans` of a transcript over the symbols of `spec`; emissions are `acoustic_scale` times natural logs.
    pub fn new(spans: &[SegmentSpan], (spec, filler): (&GraphSpec, Option<SymbolId>), acoustic_scale: f32) -> Self {
        let pdfs = |symbol| spec.pdfs_of(symbol).map(PdfId::index).collect();
        let role = |symbol| match symbol {
            _ if spec.optional().contains(&symbol) => Role::Pause,
            _ if Some(symbol) == filler => Role::Filler,
            _ => Role::Phone,
        };
        let fit = |span: &SegmentSpan| {
            let item = span.word.map(|word| word.index());
            Fit { symbol: span.symbol, role: role(span.symbol), item, start: span.start, end: span.end, ratio: 0.0 }
        };
        let mut fits: Vec<Fit> = spans.iter().map(fit).collect();
        with_items(&mut fits);
        let pdfs = spec.symbols().ids().map(pdfs).collect();
        Self { pdfs, acoustic_scale: f64::from(acoustic_scale), fits, current: 0, frame: 0 }
    }

    /// Takes the next frames:
    ///
    /// ```text
    /// ratio(phone) = 1/n sum over its n frames t of (max over p of phone of emission[t, p] - max over p of emission[t, p]) / scale
    /// ```
    pub fn push(&mut self, emissions: &Emissions) {
        let best = |row: &[f32], pdfs: &[usize]| pdfs.iter().map(|&pdf| row[pdf]).fold(f32::NEG_INFINITY, f32::max);
        for row in emissions.matrix().iter_rows() {
            while self.fits.get(self.current).is_some_and(|fit| fit.end <= self.frame) {
                self.current += 1;
            }
            let Some(fit) = self.fits.get_mut(self.current) else { return };
            let free = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let own = best(row, &self.pdfs[fit.symbol.index()]);
            fit.ratio += f64::from(own - free) / self.acoustic_scale / fit.frames() as f64;
            self.frame += 1;
        }
    }

    /// The fits, when all emissions have passed.
    pub fn finish(self) -> Vec<Fit> {
        self.fits
    }
}

/// Tells the phones before the last of each word that they belong to it, as their last one says.
fn with_items(fits: &mut [Fit]) {
    let mut item = None;
    for fit in fits.iter_mut().rev() {
        item = fit.item.or(item.filter(|_| fit.role != Role::Pause));
        fit.item = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::symbols::WordId;

    const GRAPH: &str = "format = 1\noptional = ['sil']\n[classes]\nall = ['sil', 'a', 'spn']\n[boundary]\nstart = '*'\n\
        end = '*'\n[[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 2\nself_loop = 0.5\n";

    #[test]
    fn a_ratio_is_the_mean_difference_to_the_best_of_each_frame() {
        let spec = GraphSpec::parse(GRAPH).unwrap();
        let span = |symbol, word: Option<u32>, start, end| SegmentSpan {
            symbol: SymbolId(symbol),
            word: word.map(WordId),
            start,
            end,
        };
        // A word of two phones, a pause, an unknown word; two pdfs for each symbol.
        let spans = [span(1, None, 0, 1), span(1, Some(0), 1, 3), span(0, None, 3, 4), span(2, Some(1), 4, 5)];
        let row = |cells: [f32; 6]| Emissions::new(Matrix::from_vec(1, 6, cells.to_vec()).unwrap()).unwrap();
        let frames = [
            row([-9.0, -9.0, -1.0, -4.0, -9.0, -9.0]),
            row([-9.0, -9.0, -4.0, -3.0, -1.0, -9.0]),
            row([-2.0, -9.0, -5.0, -3.0, -9.0, -9.0]),
            row([-9.0, -6.0, -1.0, -9.0, -9.0, -9.0]),
            row([-9.0, -9.0, -1.0, -9.0, -9.0, -2.0]),
        ];
        let mut fitting = Fitting::new(&spans, (&spec, Some(SymbolId(2))), 0.5);
        frames.iter().for_each(|frame| fitting.push(frame));
        let fits = fitting.finish();
        let found: Vec<_> = fits.iter().map(|fit| (fit.role, fit.item, fit.frames(), fit.ratio)).collect();
        let expected = [
            (Role::Phone, Some(0), 1, 0.0),
            (Role::Phone, Some(0), 2, -3.0),
            (Role::Pause, None, 1, -10.0),
            (Role::Filler, Some(1), 1, -2.0),
        ];
        assert_eq!(found, expected);
    }
}
