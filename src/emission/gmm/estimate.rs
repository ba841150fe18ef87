//! EM for mixtures: collect what each Gaussian was used for, divide, split.
//!
//! ```text
//! gamma_g(x) = w_g N(x; m_g, v_g) / sum_h w_h N(x; m_h, v_h)
//! w_g = N_g / sum_h N_h,  m_g = sum gamma x / N_g,  v_g = sum gamma x^2 / N_g - m_g^2,  N_g = sum gamma
//! ```

use super::{DiagonalMixtures, MixtureParts};
use crate::symbols::PdfId;
use crate::{Error, Result};

/// Shares of a frame below this are left out of the sums.
const LEAST_SHARE: f64 = 1e-8;

/// Sums over frames for every Gaussian of a [`DiagonalMixtures`].
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureAccumulator<'a> {
    mixtures: &'a DiagonalMixtures,
    /// N, `[G]`, in frames.
    occupancy: Vec<f64>,
    /// Sum of gamma x, `[G x D]`.
    first: Vec<f64>,
    /// Sum of gamma x^2, `[G x D]`.
    second: Vec<f64>,
    scores: Vec<f32>,
}

impl<'a> MixtureAccumulator<'a> {
    /// Empty sums for the Gaussians of `mixtures`.
    pub fn new(mixtures: &'a DiagonalMixtures) -> Self {
        let sums = vec![0.0; mixtures.gaussians() * mixtures.dim()];
        let occupancy = vec![0.0; mixtures.gaussians()];
        Self { mixtures, occupancy, first: sums.clone(), second: sums, scores: vec![] }
    }

    /// Adds `frame` `[D]`, of which the share `weight` (0 to 1) was emitted by `pdf`. Gives back log p(frame | pdf); when that
    /// is minus infinity nothing is added.
    pub fn add(&mut self, pdf: PdfId, frame: &[f32], weight: f64) -> f64 {
        let mut scores = std::mem::take(&mut self.scores);
        self.mixtures.component_scores(pdf, frame, &mut scores);
        let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if best == f32::NEG_INFINITY {
            self.scores = scores;
            return f64::NEG_INFINITY;
        }
        let shifted = |score: f32| f64::from(score - best).exp();
        let total: f64 = scores.iter().map(|&score| shifted(score)).sum();
        for (row, &score) in self.mixtures.range(pdf).zip(&scores) {
            let share = weight * shifted(score) / total;
            if share >= LEAST_SHARE {
                self.add_share(row, frame, share);
            }
        }
        self.scores = scores;
        f64::from(best) + total.ln()
    }

    fn add_share(&mut self, row: usize, frame: &[f32], share: f64) {
        self.occupancy[row] += share;
        let sums = self.columns(row);
        for ((first, second), &x) in self.first[sums.clone()].iter_mut().zip(&mut self.second[sums]).zip(frame) {
            let part = share * f64::from(x);
            *first += part;
            *second += part * f64::from(x);
        }
    }

    /// The sums of the Gaussian `row`.
    fn columns(&self, row: usize) -> std::ops::Range<usize> {
        row * self.mixtures.dim()..(row + 1) * self.mixtures.dim()
    }

    /// Adds the sums of `other`, made for the same mixtures.
    pub fn merge(&mut self, other: &Self) {
        let add = |into: &mut [f64], from: &[f64]| into.iter_mut().zip(from).for_each(|(sum, part)| *sum += part);
        add(&mut self.occupancy, &other.occupancy);
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
    }

    /// Frames of every pdf, `[P]`.
    pub fn pdf_occupancy(&self) -> Vec<f64> {
        let pdfs = (0..self.mixtures.pdfs()).map(PdfId::from_index);
        pdfs.map(|pdf| self.occupancy[self.mixtures.range(pdf)].iter().sum()).collect()
    }

    /// Mean and variance `[D]` of all frames together; `None` when there is none.
    pub fn pooled(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let (total, dim) = (self.occupancy.iter().sum::<f64>(), self.mixtures.dim());
        let column = |sums: &[f64], d: usize| sums[d..].iter().step_by(dim).sum::<f64>() / total;
        let mean: Vec<f64> = (0..dim).map(|d| column(&self.first, d)).collect();
        let variance = (0..dim).map(|d| (column(&self.second, d) - mean[d] * mean[d]) as f32).collect();
        (total > 0.0).then(|| (mean.iter().map(|&m| m as f32).collect(), variance))
    }

    /// The M step: new mixtures, their weights, means and variances from the sums.
    ///
    /// # Errors
    /// [`Error::Shape`] when the variance floor has another dimension.
    pub fn update(&self, options: &MixtureUpdate) -> Result<DiagonalMixtures> {
        let (expected, found) = (self.mixtures.dim(), options.variance_floor.len());
        if found != expected {
            return Err(Error::Shape { what: "dimensions of the variance floor", expected, found });
        }
        let mut parts = MixtureParts::empty(expected);
        for pdf in (0..self.mixtures.pdfs()).map(PdfId::from_index) {
            let before = parts.weights.len();
            self.update_pdf(pdf, options, &mut parts);
            parts.sizes.push(parts.weights.len() - before);
        }
        DiagonalMixtures::new(parts)
    }

    fn update_pdf(&self, pdf: PdfId, options: &MixtureUpdate, out: &mut MixtureParts) {
        let range = self.mixtures.range(pdf);
        let count = |row: &usize| self.occupancy[*row];
        let enough = |count: f64| count > 0.0 && count >= options.min_occupancy;
        if !enough(range.clone().map(|row| count(&row)).sum()) {
            let old = self.mixtures.parts();
            range.for_each(|row| out.push(old.weights[row], old.means.row(row), old.variances.row(row)));
            return;
        }
        let mut kept: Vec<usize> = range.clone().filter(|row| enough(count(row))).collect();
        if kept.is_empty() {
            kept.extend(range.max_by(|a, b| count(a).total_cmp(&count(b))));
        }
        let total: f64 = kept.iter().map(count).sum();
        for row in kept {
            let (mean, variance) = self.moments(row, &options.variance_floor);
            out.push((count(&row) / total) as f32, &mean, &variance);
        }
    }

    /// Mean and variance of one Gaussian, the variance not below `floor` `[D]`.
    fn moments(&self, row: usize, floor: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (sums, count) = (self.columns(row), self.occupancy[row]);
        let mean: Vec<f64> = self.first[sums.clone()].iter().map(|sum| sum / count).collect();
        let squares = self.second[sums].iter().zip(&mean).zip(floor);
        let variance = squares.map(|((sum, m), &floor)| ((sum / count - m * m) as f32).max(floor)).collect();
        (mean.iter().map(|&m| m as f32).collect(), variance)
    }
}

/// How [`MixtureAccumulator::update`] treats what was seen too little.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureUpdate {
    /// Least variance by dimension, `[D]`, above 0.
    pub variance_floor: Vec<f32>,
    /// A Gaussian with fewer frames is removed (the last of its pdf stays), and a pdf with fewer keeps its old numbers.
    pub min_occupancy: f64,
}

/// How [`DiagonalMixtures::split`] hands out Gaussians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitTarget {
    /// Gaussians of all pdfs together, at most.
    pub gaussians: usize,
    /// Pdfs get Gaussians in proportion to frames to this power, from 0 (all alike) to 1.
    pub power: f64,
    /// A pdf gets another Gaussian only if then each has more frames than this.
    pub min_occupancy: f64,
}

impl DiagonalMixtures {
    /// More Gaussians, up to a total, where there are frames to train them: `occupancy` `[P]` in frames.
    ///
    /// One after another, the pdf with the largest frames^power / Gaussians gets the next (as Kaldi's `gmm-est --mix-up
    /// --power` shares them out). Inside a pdf the heaviest Gaussian becomes two of half its weight, their means 0.2 standard
    /// deviations to either side (as HTK's HHEd does for `MU`). Existing Gaussians are never taken away.
    ///
    /// # Errors
    /// [`Error::Shape`] when `occupancy` has not a value for every pdf.
    pub fn split(&self, occupancy: &[f64], target: SplitTarget) -> Result<Self> {
        if occupancy.len() != self.pdfs() {
            return Err(Error::Shape { what: "occupancies of pdfs", expected: self.pdfs(), found: occupancy.len() });
        }
        let sizes = shares(occupancy, target);
        let mut parts = MixtureParts::empty(self.dim());
        for (pdf, size) in sizes.into_iter().enumerate() {
            let before = parts.weights.len();
            self.split_pdf(PdfId::from_index(pdf), size, &mut parts);
            parts.sizes.push(parts.weights.len() - before);
        }
        Self::new(parts)
    }

    fn split_pdf(&self, pdf: PdfId, size: usize, out: &mut MixtureParts) {
        let old = &self.parts;
        let mut mixture: Vec<(f32, Vec<f32>, &[f32])> = self
            .range(pdf)
            .map(|row| (old.weights[row], old.means.row(row).to_vec(), old.variances.row(row)))
            .collect();
        while !mixture.is_empty() && mixture.len() < size {
            let heaviest = (0..mixture.len()).fold(0, |best, g| if mixture[g].0 > mixture[best].0 { g } else { best });
            let (weight, mean, variance) = &mut mixture[heaviest];
            *weight *= 0.5;
            let moved = |sign: f32| mean.iter().zip(*variance).map(|(m, v)| m + sign * 0.2 * v.sqrt()).collect();
            let (up, down): (Vec<f32>, Vec<f32>) = (moved(1.0), moved(-1.0));
            *mean = up;
            let twin = (*weight, down, *variance);
            mixture.push(twin);
        }
        mixture.iter().for_each(|(weight, mean, variance)| out.push(*weight, mean, variance));
    }
}

/// How many of `target.gaussians` each pdf should have, `[P]`, at least one each.
fn shares(occupancy: &[f64], target: SplitTarget) -> Vec<usize> {
    let mut sizes = vec![1; occupancy.len()];
    let weight: Vec<f64> = occupancy.iter().map(|frames| frames.powf(target.power)).collect();
    for _ in occupancy.len()..target.gaussians {
        let room = |&pdf: &usize| occupancy[pdf] > (sizes[pdf] + 1) as f64 * target.min_occupancy;
        let need = |pdf: usize| weight[pdf] / sizes[pdf] as f64;
        let neediest = (0..sizes.len()).filter(room).max_by(|&a, &b| need(a).total_cmp(&need(b)).then(b.cmp(&a)));
        match neediest {
            Some(pdf) => sizes[pdf] += 1,
            None => break,
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::random::Random;

    const PDF: PdfId = PdfId(0);

    fn mixture(gaussians: &[(f32, f32, f32)]) -> DiagonalMixtures {
        let mut parts = MixtureParts::empty(1);
        gaussians.iter().for_each(|&(weight, mean, variance)| parts.push(weight, &[mean], &[variance]));
        parts.sizes = vec![gaussians.len()];
        DiagonalMixtures::new(parts).unwrap()
    }

    fn options(min_occupancy: f64) -> MixtureUpdate {
        MixtureUpdate { variance_floor: vec![1e-3], min_occupancy }
    }

    /// Half the frames around -3, half around 2, both with deviation 0.5.
    fn two_humps(frames: usize) -> Matrix {
        let mut random = Random::new(11);
        let value = |frame| random.normal() * 0.5 + if frame % 2 == 0 { -3.0 } else { 2.0 };
        Matrix::from_vec(frames, 1, (0..frames).map(value).collect()).unwrap()
    }

    fn expect<'a>(mixtures: &'a DiagonalMixtures, frames: &Matrix) -> (MixtureAccumulator<'a>, f64) {
        let mut sums = MixtureAccumulator::new(mixtures);
        let total = frames.iter_rows().map(|frame| sums.add(PDF, frame, 1.0)).sum();
        (sums, total)
    }

    #[test]
    fn one_gaussian_takes_the_mean_and_variance_of_its_frames() {
        let frames = Matrix::from_vec(3, 1, vec![1.0, 2.0, 6.0]).unwrap();
        let start = mixture(&[(1.0, 0.0, 1.0)]);
        let (sums, _) = expect(&start, &frames);
        let model = sums.update(&options(1.0)).unwrap();
        assert_eq!(model.parts().means.as_slice(), [3.0]);
        assert!((model.parts().variances.as_slice()[0] - 14.0 / 3.0).abs() < 1e-6);
        assert_eq!(sums.pooled().unwrap().0, [3.0]);
    }

    #[test]
    fn em_climbs_and_finds_both_humps() {
        let frames = two_humps(2000);
        let mut model = mixture(&[(0.5, -1.0, 4.0), (0.5, 1.0, 4.0)]);
        let mut last = f64::NEG_INFINITY;
        for _ in 0..30 {
            let (sums, total) = expect(&model, &frames);
            assert!(total >= last - 1e-3, "{last} -> {total}");
            last = total;
            model = sums.update(&options(1.0)).unwrap();
        }
        for (found, expected) in model.parts().means.as_slice().iter().zip([-3.0, 2.0]) {
            assert!((found - expected).abs() < 0.05, "{found}");
        }
        assert!(model.parts().variances.as_slice().iter().all(|v| (v - 0.25).abs() < 0.03));
        assert!(model.parts().weights.iter().all(|w| (w - 0.5).abs() < 0.01));
    }

    #[test]
    fn what_add_returns_is_what_emissions_say() {
        let model = mixture(&[(0.3, -1.0, 0.5), (0.7, 2.0, 2.0)]);
        let frames = two_humps(40);
        let emissions = model.emissions(&frames).unwrap();
        let mut sums = MixtureAccumulator::new(&model);
        for (t, frame) in frames.iter_rows().enumerate() {
            let found = sums.add(PDF, frame, 1.0);
            assert!((found - f64::from(emissions.frame(t)[0])).abs() < 1e-5);
        }
        assert!((sums.pdf_occupancy()[0] - 40.0).abs() < 1e-5);
    }

    #[test]
    fn a_split_halves_the_heaviest_and_keeps_the_mean() {
        let model = mixture(&[(0.4, 0.0, 1.0), (0.6, 5.0, 4.0)]);
        let target = SplitTarget { gaussians: 3, power: 0.25, min_occupancy: 1.0 };
        let split = model.split(&[100.0], target).unwrap();
        assert_eq!(split.parts().weights, [0.4, 0.3, 0.3]);
        for (found, expected) in split.parts().means.as_slice().iter().zip([0.0, 5.4, 4.6]) {
            assert!((found - expected).abs() < 1e-6);
        }
        assert_eq!(split.parts().variances.as_slice(), [1.0, 4.0, 4.0]);
    }

    #[test]
    fn gaussians_go_where_the_frames_are() {
        let target = |gaussians, power, min_occupancy| SplitTarget { gaussians, power, min_occupancy };
        assert_eq!(shares(&[100.0, 300.0], target(8, 1.0, 1.0)), [2, 6]);
        assert_eq!(shares(&[100.0, 300.0], target(8, 0.0, 1.0)), [4, 4]);
        assert_eq!(shares(&[0.0, 300.0], target(8, 0.0, 100.0)), [1, 2]);
        assert_eq!(shares(&[100.0, 300.0], target(1, 1.0, 1.0)), [1, 1]);
    }

    #[test]
    fn a_gaussian_with_too_few_frames_is_removed_but_the_last_stays() {
        let model = mixture(&[(0.5, 0.0, 1.0), (0.5, 100.0, 1.0)]);
        let near = Matrix::from_vec(4, 1, vec![-1.0, 0.0, 0.0, 1.0]).unwrap();
        let (sums, _) = expect(&model, &near);
        let kept = sums.update(&options(2.0)).unwrap();
        assert_eq!((kept.gaussians(), kept.parts().weights[0]), (1, 1.0));
        let halves = mixture(&[(0.5, 0.0, 1.0), (0.5, 0.0, 1.0)]);
        let (sums, _) = expect(&halves, &near);
        assert_eq!(sums.update(&options(3.0)).unwrap().gaussians(), 1);
        assert_eq!(sums.update(&options(5.0)).unwrap(), halves);
    }

    #[test]
    fn variances_stop_at_the_floor() {
        let model = mixture(&[(1.0, 0.0, 1.0)]);
        let (sums, _) = expect(&model, &Matrix::from_vec(3, 1, vec![2.0; 3]).unwrap());
        assert_eq!(sums.update(&options(1.0)).unwrap().parts().variances.as_slice(), [1e-3]);
    }

    #[test]
    fn an_impossible_frame_adds_nothing() {
        let model = mixture(&[(1.0, 0.0, 1.0)]);
        let mut sums = MixtureAccumulator::new(&model);
        assert_eq!(sums.add(PDF, &[3e38], 1.0), f64::NEG_INFINITY);
        assert_eq!(sums, MixtureAccumulator { scores: sums.scores.clone(), ..MixtureAccumulator::new(&model) });
    }
}
