//! Gaussian mixtures: log p(x | pdf) for a frame x, the acoustic model that needs no network.
//!
//! Frames `[T x D]` come in, [`Emissions`] `[T x P]` go out. Covariances are diagonal:
//!
//! ```text
//! log p(x | y) = log sum_g w_g N(x; m_g, v_g)
//! log w N(x; m, v) = c - sum_d (x_d - m_d)^2 / (2 v_d),   c = log w - (D log 2 pi + sum_d log v_d) / 2
//! ```
//!
//! Trained by EM: a [`MixtureAccumulator`] collects, [`MixtureAccumulator::update`] divides, [`DiagonalMixtures::split`]
//! doubles. The trainer that turns this into a monophone system is `learn::gmm`.

mod estimate;
mod kernel;

pub use estimate::{MixtureAccumulator, MixtureUpdate, SplitTarget};

use super::Emissions;
use crate::matrix::Matrix;
use crate::symbols::PdfId;
use crate::{Error, Result};
use kernel::{Block, LANES};

/// The numbers that a set of mixtures is made of, as they are stored. Gaussians lie pdf after pdf; G of them in all.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureParts {
    /// Gaussians of each pdf, `[P]`. A pdf without any is impossible in every frame.
    pub sizes: Vec<usize>,
    /// Weight of each Gaussian in its mixture, `[G]`, above 0; those of a pdf sum to one.
    pub weights: Vec<f32>,
    /// `[G x D]`.
    pub means: Matrix,
    /// `[G x D]`, above 0.
    pub variances: Matrix,
}

impl MixtureParts {
    fn empty(dim: usize) -> Self {
        Self { sizes: vec![], weights: vec![], means: Matrix::with_cols(dim), variances: Matrix::with_cols(dim) }
    }

    fn push(&mut self, weight: f32, mean: &[f32], variance: &[f32]) {
        self.weights.push(weight);
        self.means.push_row(mean);
        self.variances.push_row(variance);
    }

    fn check(&self) -> Result<()> {
        if self.sizes.is_empty() || self.means.cols() == 0 {
            return Err(Error::Other("mixtures need at least one pdf and frames of at least one dimension".into()));
        }
        let gaussians = self.sizes.iter().sum();
        let shape = |what, expected, found| match found == expected {
            true => Ok(()),
            false => Err(Error::Shape { what, expected, found }),
        };
        shape("weights of Gaussians", gaussians, self.weights.len())?;
        shape("means of Gaussians", gaussians, self.means.rows())?;
        shape("variances of Gaussians", gaussians, self.variances.rows())?;
        shape("dimensions of variances", self.means.cols(), self.variances.cols())?;
        // A smaller variance would have no finite inverse.
        let positive = |values: &[f32]| values.iter().all(|value| value.is_finite() && *value >= f32::MIN_POSITIVE);
        if !positive(&self.weights) || !positive(self.variances.as_slice()) || self.means.first_not_finite().is_some() {
            let reason = "a Gaussian has a weight or variance that is not above 0, or a mean that is not finite";
            return Err(Error::Other(reason.into()));
        }
        Ok(())
    }
}

/// For every pdf a mixture of Gaussians with diagonal covariance.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagonalMixtures {
    parts: MixtureParts,
    /// Where the Gaussians of each pdf begin, `[P + 1]`.
    first: Vec<usize>,
    /// c of the formula, `[G]`.
    constants: Vec<f32>,
    /// -1 / (2 v), `[G x D]`.
    scales: Matrix,
}

impl DiagonalMixtures {
    /// Takes stored numbers.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Other`] when they do not fit together or are out of range.
    pub fn new(parts: MixtureParts) -> Result<Self> {
        parts.check()?;
        let mut first = vec![0; parts.sizes.len() + 1];
        for (pdf, size) in parts.sizes.iter().enumerate() {
            first[pdf + 1] = first[pdf] + size;
        }
        let constant = |(&weight, variance): (&f32, &[f32])| {
            let log_det: f64 = variance.iter().map(|&v| (2.0 * std::f64::consts::PI * f64::from(v)).ln()).sum();
            (f64::from(weight).ln() - 0.5 * log_det) as f32
        };
        let constants = parts.weights.iter().zip(parts.variances.iter_rows()).map(constant).collect();
        let mut scales = parts.variances.clone();
        scales.as_mut_slice().iter_mut().for_each(|value| *value = -0.5 / *value);
        Ok(Self { parts, first, constants, scales })
    }

    /// `pdfs` mixtures of the one Gaussian with this `mean` and `variance` `[D]`: a flat start.
    ///
    /// # Errors
    /// As [`DiagonalMixtures::new`].
    pub fn flat(pdfs: usize, mean: &[f32], variance: &[f32]) -> Result<Self> {
        let mut parts = MixtureParts::empty(mean.len());
        (0..pdfs).for_each(|_| parts.push(1.0, mean, variance));
        parts.sizes = vec![1; pdfs];
        Self::new(parts)
    }

    /// The numbers to store.
    pub fn parts(&self) -> &MixtureParts {
        &self.parts
    }

    /// Number of pdfs, P.
    pub fn pdfs(&self) -> usize {
        self.parts.sizes.len()
    }

    /// Dimensions of a frame, D.
    pub fn dim(&self) -> usize {
        self.parts.means.cols()
    }

    /// Gaussians of all pdfs together, G.
    pub fn gaussians(&self) -> usize {
        self.parts.weights.len()
    }

    /// The rows of [`MixtureParts`] that hold the Gaussians of `pdf`.
    pub fn range(&self, pdf: PdfId) -> std::ops::Range<usize> {
        self.first[pdf.index()]..self.first[pdf.index() + 1]
    }

    /// log p(x | y) of every frame and pdf, `[T x P]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when frames are not of [`DiagonalMixtures::dim`] columns, [`Error::NotFinite`] on a NaN or infinity.
    pub fn emissions(&self, frames: &Matrix) -> Result<Emissions> {
        let all: Vec<PdfId> = (0..self.pdfs()).map(PdfId::from_index).collect();
        self.emissions_for(frames, &all)
    }

    /// As [`DiagonalMixtures::emissions`], but only the columns `used` are computed; the others are minus infinity. A
    /// transcript graph reads few of the pdfs.
    ///
    /// # Errors
    /// As [`DiagonalMixtures::emissions`], and [`Error::PdfCount`] when a used pdf is none of these.
    pub fn emissions_for(&self, frames: &Matrix, used: &[PdfId]) -> Result<Emissions> {
        self.check_frames(frames)?;
        let pdfs = self.pdfs();
        if let Some(pdf) = used.iter().find(|pdf| pdf.index() >= pdfs) {
            return Err(Error::PdfCount { network: pdfs, graph: pdf.index() + 1 });
        }
        let mut scores = vec![f32::NEG_INFINITY; frames.rows() * pdfs];
        let mut block = Block::new(self.dim());
        let mut components = Vec::new();
        for (rows, out) in frames.as_slice().chunks(LANES * self.dim()).zip(scores.chunks_mut(LANES * pdfs)) {
            block.load(rows);
            for pdf in used {
                let column = self.block_scores(*pdf, &block, &mut components);
                for (row, score) in out.chunks_exact_mut(pdfs).zip(column) {
                    row[pdf.index()] = score;
                }
            }
        }
        Emissions::new(Matrix::from_vec(frames.rows(), pdfs, scores)?)
    }

    /// Whether `frames` can be scored.
    fn check_frames(&self, frames: &Matrix) -> Result<()> {
        if frames.cols() != self.dim() {
            return Err(Error::Shape { what: "dimensions of a frame", expected: self.dim(), found: frames.cols() });
        }
        match frames.first_not_finite() {
            Some(frame) => Err(Error::NotFinite { what: "features", frame }),
            None => Ok(()),
        }
    }

    /// log p(x | `pdf`) of the frames of `block`. `components` is working space.
    fn block_scores(&self, pdf: PdfId, block: &Block, components: &mut Vec<[f32; LANES]>) -> [f32; LANES] {
        let gaussian = |row| block.gaussian(self.constants[row], self.parts.means.row(row), self.scales.row(row));
        let range = self.range(pdf);
        match range.len() {
            0 => [f32::NEG_INFINITY; LANES],
            1 => gaussian(range.start),
            _ => {
                components.clear();
                components.extend(range.map(gaussian));
                kernel::log_sum_exp(components)
            }
        }
    }

    /// log w N(x) of each Gaussian of `pdf` for one frame `[D]`, into `scores`.
    fn component_scores(&self, pdf: PdfId, frame: &[f32], scores: &mut Vec<f32>) {
        scores.clear();
        let gaussian =
            |row| self.constants[row] + kernel::distance(frame, self.parts.means.row(row), self.scales.row(row));
        scores.extend(self.range(pdf).map(gaussian));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Two pdfs in two dimensions: a mixture of two, and a single Gaussian.
    fn small() -> DiagonalMixtures {
        let matrix = |values: [f32; 6]| Matrix::from_vec(3, 2, values.to_vec()).unwrap();
        DiagonalMixtures::new(MixtureParts {
            sizes: vec![2, 1],
            weights: vec![0.25, 0.75, 1.0],
            means: matrix([0.0, 1.0, 2.0, -1.0, 0.5, 0.5]),
            variances: matrix([1.0, 4.0, 0.25, 1.0, 2.0, 0.5]),
        })
        .unwrap()
    }

    #[test]
    fn log_likelihoods_agree_with_numbers_worked_out_by_hand() {
        // python3: from math import *; n = lambda x, m, v: exp(-(x-m)**2/(2*v))/sqrt(2*pi*v)
        // log(.25*n(1,0,1)*n(0,1,4) + .75*n(1,2,.25)*n(0,-1,1)); log(n(1,.5,2)*n(0,.5,.5))
        let emissions = small().emissions(&Matrix::from_vec(1, 2, vec![1.0, 0.0]).unwrap()).unwrap();
        for (found, expected) in emissions.frame(0).iter().zip([-3.49842, -2.15038]) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn every_frame_of_a_partial_block_is_scored_and_unused_pdfs_are_impossible() {
        let mut random = Random::new(3);
        let frames: Vec<f32> = (0..2 * 37).map(|_| random.normal()).collect();
        let frames = Matrix::from_vec(37, 2, frames).unwrap();
        let all = small().emissions(&frames).unwrap();
        let one = small().emissions_for(&frames, &[PdfId(0)]).unwrap();
        for frame in 0..37 {
            let alone = small().emissions(&frames.slice_rows(frame..frame + 1)).unwrap();
            assert_eq!(alone.frame(0), all.frame(frame));
            assert_eq!(one.frame(frame)[0], all.frame(frame)[0]);
            assert_eq!(one.frame(frame)[1], f32::NEG_INFINITY);
        }
    }

    #[test]
    fn a_pdf_without_gaussians_is_impossible() {
        let mut parts = small().parts().clone();
        parts.sizes = vec![2, 0, 1];
        let emissions = DiagonalMixtures::new(parts).unwrap().emissions(&Matrix::zeros(2, 2)).unwrap();
        assert_eq!(emissions.frame(1)[1], f32::NEG_INFINITY);
        assert!(emissions.frame(1)[2].is_finite());
    }

    #[test]
    fn frames_that_cannot_be_scored_are_refused() {
        assert!(matches!(small().emissions(&Matrix::zeros(1, 3)), Err(Error::Shape { expected: 2, found: 3, .. })));
        let frames = Matrix::from_vec(2, 2, vec![0.0, 0.0, f32::NAN, 0.0]).unwrap();
        assert!(matches!(small().emissions(&frames), Err(Error::NotFinite { frame: 1, .. })));
        let unknown = small().emissions_for(&Matrix::zeros(1, 2), &[PdfId(2)]);
        assert!(matches!(unknown, Err(Error::PdfCount { network: 2, graph: 3 })));
        let far = Matrix::from_vec(1, 2, vec![3e38, 0.0]).unwrap();
        assert_eq!(small().emissions(&far).unwrap().frame(0), [f32::NEG_INFINITY; 2]);
    }

    #[test]
    fn parts_out_of_range_are_refused() {
        let broken = |change: fn(&mut MixtureParts)| {
            let mut parts = small().parts().clone();
            change(&mut parts);
            DiagonalMixtures::new(parts)
        };
        assert!(broken(|_| ()).is_ok());
        assert!(broken(|parts| parts.sizes[0] = 1).is_err());
        assert!(broken(|parts| parts.weights[0] = 0.0).is_err());
        assert!(broken(|parts| parts.variances.row_mut(1)[1] = 0.0).is_err());
        assert!(broken(|parts| parts.means.row_mut(1)[1] = f32::NAN).is_err());
    }
}
