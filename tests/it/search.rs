//! Whatever the input and the beam, search gives a legal sequence; without a beam it gives the best one.

use std::path::Path;
use std::sync::Arc;

use senone::Error;
use senone::dp::{
    BeamOptions, LogSum, Plan, PlanOptions, Search, SegmentSpan, counts, forward, search_widening, segments, viterbi,
};
use senone::emission::Emissions;
use senone::graph::GraphSpec;
use senone::matrix::Matrix;
use senone::random::Random;

/// One of the example graphs, compiled.
struct Example {
    spec: GraphSpec,
    plan: Arc<Plan>,
}

impl Example {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/graphs");
        let spec = GraphSpec::read(&folder.join(name)).expect("an example graph");
        let options = PlanOptions { insertion_penalty: -0.5 };
        let plan = Plan::new(&Arc::new(spec.compile().expect("a graph")), &spec.initial_weights(), &options);
        Self { spec, plan: Arc::new(plan.expect("weights of the graph")) }
    }

    fn all() -> [Self; 3] {
        ["bio.toml", "english.toml", "mandarin.toml"].map(Self::read)
    }

    /// What is wrong with `spans` by the rules of the graph file: neither states nor arcs are looked at.
    fn fault(&self, spans: &[SegmentSpan], frames: usize) -> Option<String> {
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Some("no segment".into()) };
        if first.start != 0 || last.end != frames || spans.windows(2).any(|pair| pair[0].end != pair[1].start) {
            return Some(format!("not all of {frames} frames once: {spans:?}"));
        }
        if !self.spec.starts().contains(&first.symbol) || !self.spec.ends().contains(&last.symbol) {
            return Some(format!("begins with {first:?}, ends with {last:?}"));
        }
        if let Some(pair) = spans.windows(2).find(|pair| !self.spec.follows(pair[0].symbol, pair[1].symbol)) {
            return Some(format!("{pair:?}"));
        }
        let lasts = |span: &SegmentSpan| {
            let topology = self.spec.topology(span.symbol);
            let frames = span.end - span.start;
            frames == topology.min_frames() || frames > topology.min_frames() && topology.self_loop().is_some()
        };
        spans.iter().find(|span| !lasts(span)).map(|span| format!("{span:?}"))
    }
}

/// Scores of `frames` frames: smooth or noisy, flat or steep, in one case of four with cells of minus infinity.
fn random_emissions(frames: usize, pdfs: usize, random: &mut Random) -> Emissions {
    let width = [0.1, 1.0, 5.0, 30.0][random.below(4)];
    let smooth = [0.0, 0.9][random.below(2)];
    let dead = [0.0, 0.0, 0.0, 0.05][random.below(4)];
    let mut cells: Vec<f32> = Vec::with_capacity(frames * pdfs);
    for cell in 0..frames * pdfs {
        let before = if cell < pdfs { 0.0 } else { cells[cell - pdfs].max(-100.0) };
        let score = smooth * before + (1.0 - smooth) * width * random.normal();
        cells.push(if random.uniform() < dead { f32::NEG_INFINITY } else { score });
    }
    Emissions::new(Matrix::from_vec(frames, pdfs, cells).expect("T x P values")).expect("no NaN")
}

#[test]
fn a_thousand_random_inputs_never_give_an_illegal_sequence() {
    let examples = Example::all();
    let (mut narrow, mut found, mut impossible) = (0, 0, 0);
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let example = &examples[seed as usize % 3];
        let frames = random.below(60);
        let emissions = random_emissions(frames, example.plan.graph().pdfs(), &mut random);
        let exact = viterbi(&example.plan, &emissions);
        for beam in [0.01, 1.0, 5.0, 20.0, f32::INFINITY] {
            let max_active = if beam.is_finite() { [1, 20, 1000][random.below(3)] } else { usize::MAX };
            let options = BeamOptions { beam, max_active };
            let mut search = Search::new(example.plan.clone(), options);
            match search.push(&emissions).and_then(|()| search.finish()) {
                Ok(spans) => assert_eq!(example.fault(&spans, frames), None, "seed {seed}, beam {beam}"),
                Err(Error::BeamTooNarrow { .. }) if beam.is_finite() => narrow += 1,
                Err(error) => assert!(exact.is_err(), "seed {seed}, beam {beam}: {error}"),
            }
            match (search_widening(&example.plan, &emissions, options), &exact) {
                (Ok((spans, _)), Ok(path)) => {
                    assert_eq!(example.fault(&spans, frames), None, "seed {seed}, beam {beam}");
                    if beam == f32::INFINITY {
                        assert_eq!(spans, segments(example.plan.graph(), &path.states), "seed {seed}");
                    }
                    found += 1;
                }
                (Err(search), Err(exact)) => {
                    assert_eq!(search.to_string(), exact.to_string());
                    impossible += 1;
                }
                (search, exact) => panic!("seed {seed}, beam {beam}: {search:?}, {exact:?}"),
            }
        }
    }
    assert!(narrow > 100 && found > 2000 && impossible > 100, "one-sided: {narrow} {found} {impossible}");
}

#[test]
fn the_slope_of_log_z_is_the_occupancy() {
    let mut random = Random::new(7);
    for example in Example::all() {
        let emissions = random_emissions(12, example.plan.graph().pdfs(), &mut random);
        let (total, counts) = counts(&example.plan, &emissions).unwrap();
        for row in counts.occupancy.iter_rows() {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
        let log_z = |cell: usize, step: f32| {
            let mut scores = emissions.matrix().clone();
            scores.as_mut_slice()[cell] += step;
            forward::<LogSum>(&example.plan, &Emissions::new(scores).unwrap()).unwrap().total()
        };
        assert!((log_z(0, 0.0) - total).abs() < 1e-9 * total.abs());
        for _ in 0..200 {
            let cell = random.below(counts.occupancy.as_slice().len());
            let slope = (log_z(cell, 0.01) - log_z(cell, -0.01)) / 0.02;
            assert!((slope - f64::from(counts.occupancy.as_slice()[cell])).abs() < 1e-4);
        }
    }
}
