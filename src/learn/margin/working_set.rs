//! Planes that were found and the shares that mix them: one set for all examples, or one for each of them.

use super::quadratic::{Programme, Solution};
use super::sparse::Sparse;

/// A lower bound of a hinge that is tight somewhere: offset + gradient . theta.
#[derive(Debug, Clone, Default)]
pub(super) struct Plane {
    pub gradient: Sparse,
    pub offset: f64,
}

impl Plane {
    /// Its height at `theta`.
    pub fn at(&self, theta: &[f64]) -> f64 {
        self.offset + self.gradient.dot(theta)
    }
}

/// Planes, their shares, and how long each has had none.
#[derive(Debug)]
pub(super) struct WorkingSet {
    planes: Vec<Plane>,
    idle: Vec<usize>,
    programme: Programme,
}

impl WorkingSet {
    /// With the plane of the right labelling itself, which bounds the hinge by 0.
    pub fn new() -> Self {
        let mut programme = Programme::default();
        programme.push(vec![0.0], 0.0);
        Self { planes: vec![Plane::default()], idle: vec![0], programme }
    }

    /// Takes in a plane, whose gradient is also `dense`, without a share.
    pub fn push(&mut self, plane: Plane, dense: &[f64], lambda: f64) {
        let offset = plane.offset;
        self.planes.push(plane);
        self.idle.push(0);
        self.programme.push(self.planes.iter().map(|plane| plane.gradient.dot(dense) / lambda).collect(), offset);
    }

    /// Planes and their shares.
    pub fn iter(&self) -> impl Iterator<Item = (&Plane, f64)> {
        self.planes.iter().zip(self.shares().iter().copied())
    }

    /// The shares, in the order of the planes.
    pub fn shares(&self) -> &[f64] {
        self.programme.shares()
    }

    /// The height of each plane at `theta`.
    pub fn heights(&self, theta: &[f64]) -> Vec<f64> {
        self.planes.iter().map(|plane| plane.at(theta)).collect()
    }

    /// The shares that make highest, to a gap of `enough`, the dual of a theta that this set alone mixes.
    pub fn mix(&mut self, enough: f64) -> Solution {
        self.programme.solve(enough)
    }

    /// The shares that make the dual highest where the planes are as high as `heights` at theta, all other sets staying as they
    /// are.
    pub fn mix_at(&mut self, heights: Vec<f64>, enough: f64) {
        // b_j = offset_j + psi_j . (theta without this set's part)
        let linear = heights.iter().zip(self.programme.loads()).map(|(height, load)| height + load);
        self.programme.set_linear(linear.collect());
        self.programme.solve(enough);
    }

    /// Forgets the planes that have had no share at more than `patience` calls in a row.
    pub fn forget(&mut self, patience: usize) {
        for (idle, &share) in self.idle.iter_mut().zip(self.programme.shares()) {
            *idle = if share > 0.0 { 0 } else { *idle + 1 };
        }
        let keep: Vec<bool> = self.idle.iter().map(|&idle| idle <= patience).collect();
        if keep.contains(&false) {
            self.programme.retain(&keep);
            retain(&mut self.planes, &keep);
            retain(&mut self.idle, &keep);
        }
    }
}

/// Keeps the items whose flag is set.
pub(super) fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    items.retain(|_| *keep.next().expect("a flag for each item"));
}
