//! Networks: frames a second forward (decoding) and forward and backward (training), on one thread and on two.
//!
//! `cargo bench --bench network`; the counter shows 10 ms frames.

use divan::Bencher;
use divan::counter::ItemsCount;
use rayon::prelude::*;
use senone::Result;
use senone::matrix::Matrix;
use senone::network::{Criterion, LstmConfig, Network, NetworkConfig};
use senone::random::Random;

const BANDS: usize = 40;
const PDFS: usize = 120;

fn main() {
    divan::main();
}

fn network() -> Network {
    Network::new(&NetworkConfig::default(), (BANDS, PDFS), &Random::new(1)).expect("the default settings are legal")
}

/// 4 layers of 320 cells in each direction, 80 bands to 144 pdfs, and 8 utterances of 5 seconds.
fn bilstm() -> (Network, Vec<Matrix>) {
    let config = LstmConfig { layers: 4, width: 320, subsampling: 1, dropout: 0.0 };
    let network = Network::new(&NetworkConfig::Bilstm(config), (80, 144), &Random::new(1)).expect("they are legal");
    let mut random = Random::new(2);
    let mut draw = |_| Matrix::from_vec(500, 80, (0..500 * 80).map(|_| random.normal()).collect());
    (network, (0..8).map(&mut draw).collect::<Result<_>>().expect("counts agree"))
}

/// Utterances of 1.5 to 6 seconds, about 4.
fn utterances(count: usize) -> Vec<Matrix> {
    let mut random = Random::new(2);
    let mut draw = |index: usize| {
        let rows = 150 + (index * 137) % 450;
        Matrix::from_vec(rows, BANDS, (0..rows * BANDS).map(|_| random.normal()).collect()).expect("counts agree")
    };
    (0..count).map(&mut draw).collect()
}

fn frames(utterances: &[Matrix]) -> usize {
    utterances.iter().map(Matrix::rows).sum()
}

/// Any gradient of the right shape.
struct Scaled;

impl Criterion for Scaled {
    fn differentiate(&mut self, scores: &mut Matrix) -> Result<()> {
        scores.as_mut_slice().iter_mut().for_each(|value| *value *= 1e-3);
        Ok(())
    }
}

#[divan::bench]
fn forward(bencher: Bencher) {
    let (network, utterances) = (network(), utterances(8));
    bencher
        .counter(ItemsCount::new(frames(&utterances)))
        .bench(|| utterances.iter().map(|frames| network.log_posteriors(frames)).collect::<Vec<_>>());
}

#[divan::bench(args = [1, 2])]
fn forward_backward(bencher: Bencher, threads: usize) {
    let (network, utterances) = (network(), utterances(12));
    let random = Random::new(3);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
    let shards: Vec<_> = utterances.chunks(3).map(<[Matrix]>::to_vec).collect();
    bencher.counter(ItemsCount::new(frames(&utterances))).bench(|| {
        let gradient = |shard: &Vec<Matrix>| network.gradient(shard, &mut Scaled, Some(&random));
        pool.install(|| shards.par_iter().map(gradient).collect::<Vec<_>>())
    });
}

#[divan::bench(sample_count = 5)]
fn bilstm_forward(bencher: Bencher) {
    let (network, utterances) = bilstm();
    bencher.counter(ItemsCount::new(frames(&utterances))).bench(|| network.log_posteriors_of(&utterances));
}

#[divan::bench(sample_count = 5)]
fn bilstm_forward_backward(bencher: Bencher) {
    let (network, utterances) = bilstm();
    bencher.counter(ItemsCount::new(frames(&utterances))).bench(|| network.gradient(&utterances, &mut Scaled, None));
}
