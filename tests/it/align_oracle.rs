//! Alignment against all alignments: every pronunciation, every choice of pauses, every boundary, one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use senone::Result;
use senone::align::align;
use senone::dp::{BeamOptions, Blocks, Plan, PlanOptions, SegmentSpan, search_blocks};
use senone::emission::Emissions;
use senone::graph::{GraphSpec, Slot, TransitionRole, Weights};
use senone::matrix::Matrix;
use senone::random::Random;
use senone::symbols::{SymbolId, TransitionId, WordId};

const GRAPH: &str = r#"format = 1
optional = ["sil"]
[classes]
all = ["sil", "a", "b"]
[boundary]
start = ["*"]
end = ["*"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "sil"
to = "sil"
[topology.default]
states = 1
self_loop = 0.5
"#;

const FRAMES: usize = 7;

/// Scores of steps by what they stand for; every state has a pdf of its own, as every symbol has.
struct Scores<'a> {
    weights: BTreeMap<TransitionRole, f32>,
    emissions: &'a Emissions,
}

impl Scores<'_> {
    /// F(x, y) of `symbols` that begin at `starts`, by the formula.
    fn score(&self, symbols: &[SymbolId], starts: &[usize]) -> f64 {
        let weight = |role| f64::from(self.weights[&role]);
        let (first, last) = (symbols[0], symbols[symbols.len() - 1]);
        let mut score = weight(TransitionRole::Start { symbol: first }) + weight(TransitionRole::End { symbol: last });
        for (index, &symbol) in symbols.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(FRAMES);
            let stay = TransitionRole::SelfLoop { symbol, position: 0 };
            score += weight(stay) * (end - starts[index] - 1) as f64;
            score += (starts[index]..end).map(|t| f64::from(self.emissions.frame(t)[symbol.index()])).sum::<f64>();
            score += symbols.get(index + 1).map_or(0.0, |&to| weight(TransitionRole::Pair { from: symbol, to }));
        }
        score
    }

    /// The best way to spread `symbols` over the frames.
    fn best(&self, symbols: &[SymbolId]) -> (f64, Vec<usize>) {
        let mut all = vec![vec![0]];
        for _ in 1..symbols.len() {
            let longer = |starts: &Vec<usize>| {
                let (starts, from) = (starts.clone(), starts[starts.len() - 1] + 1);
                (from..FRAMES).map(move |start| [&starts[..], &[start]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        let scored = all.into_iter().map(|starts| (self.score(symbols, &starts), starts));
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NEG_INFINITY, vec![]))
    }
}

/// Every sequence of symbols that `slots` allow, with the word that ends with each symbol.
fn sequences(slots: &[Slot], pause: SymbolId) -> Vec<Vec<(SymbolId, Option<WordId>)>> {
    let gap = [vec![], vec![(pause, None)]];
    let mut all: Vec<Vec<(SymbolId, Option<WordId>)>> = gap.to_vec();
    for slot in slots {
        let said = |symbols: &Vec<SymbolId>| {
            let mut said: Vec<_> = symbols.iter().map(|&symbol| (symbol, None)).collect();
            said.last_mut().unwrap().1 = slot.word;
            said
        };
        let parts =
            slot.alternatives.iter().map(said).flat_map(|said| gap.clone().map(|gap| [&said[..], &gap].concat()));
        let parts: Vec<_> = parts.collect();
        all = all.iter().flat_map(|before| parts.iter().map(move |part| [&before[..], part].concat())).collect();
    }
    all
}

/// Emissions frame by frame, and how often they were asked for.
struct OneByOne<'a> {
    emissions: &'a Emissions,
    plays: usize,
}

impl<'a> OneByOne<'a> {
    fn of(emissions: &'a Emissions) -> Self {
        Self { emissions, plays: 0 }
    }
}

impl Blocks for OneByOne<'_> {
    fn play(&mut self, take: &mut dyn FnMut(&Emissions) -> Result<()>) -> Result<()> {
        self.plays += 1;
        let block = |frame| Emissions::new(self.emissions.matrix().slice_rows(frame..frame + 1));
        (0..self.emissions.frames()).try_for_each(|frame| take(&block(frame)?))
    }
}

#[test]
fn the_best_pronunciations_pauses_and_boundaries_are_found() {
    let spec = GraphSpec::parse(GRAPH).unwrap();
    let ids = |text: &str| text.split(' ').map(|name| spec.symbols().get(name).unwrap()).collect::<Vec<_>>();
    let slot = |word, said: &[&str]| Slot {
        word: Some(WordId(word)),
        alternatives: said.iter().map(|said| ids(said)).collect(),
    };
    let slots = [slot(0, &["a", "a b"]), slot(1, &["b", "a"])];
    let all = sequences(&slots, ids("sil")[0]);
    assert_eq!(all.len(), 32);
    let (mut variants, mut pauses, mut worse) = ([0; 2], 0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let weights = Weights((0..spec.transitions()).map(|_| -random.uniform()).collect());
        let cells = (0..FRAMES * 3).map(|_| 3.0 * random.normal()).collect();
        let emissions = Emissions::new(Matrix::from_vec(FRAMES, 3, cells).unwrap()).unwrap();
        let role = |id| (spec.transition_role(TransitionId::from_index(id)), weights.0[id]);
        let scores = Scores { weights: (0..spec.transitions()).map(role).collect(), emissions: &emissions };
        let symbols = |said: &[(SymbolId, Option<WordId>)]| said.iter().map(|(symbol, _)| *symbol).collect::<Vec<_>>();
        let scored = all.iter().map(|said| (scores.best(&symbols(said)), said));
        let ((best, _), said) = scored.max_by(|a, b| a.0.0.total_cmp(&b.0.0)).unwrap();
        // Where a symbol meets itself, the boundary between the two is free.
        let formula = |found: &[SegmentSpan]| {
            let sequence: Vec<_> = found.iter().map(|span| (span.symbol, span.word)).collect();
            let starts: Vec<usize> = found.iter().map(|span| span.start).collect();
            let score = scores.score(&symbols(&sequence), &starts);
            (sequence, score)
        };
        let check = |found: &[SegmentSpan]| {
            let (sequence, score) = formula(found);
            assert!(sequence == *said && (score - best).abs() < 1e-4, "seed {seed}: {found:?} {score}, not {best}");
        };
        check(&align((&spec, &weights), &slots, &emissions).unwrap());
        let graph = Arc::new(spec.transcript_of(&slots).unwrap());
        let plan = Arc::new(Plan::new(&graph, &weights, &PlanOptions { insertion_penalty: 0.0 }).unwrap());
        let (found, retries) = search_blocks(&plan, &mut OneByOne::of(&emissions), BeamOptions::EXACT).unwrap();
        assert!(retries.is_empty());
        check(&found);
        // A beam of next to nothing loses the way until it is wide enough for a legal path, which need not be the best.
        let narrow = BeamOptions { beam: 0.01, max_active: 1 };
        let (near, retries) = search_blocks(&plan, &mut OneByOne::of(&emissions), narrow).unwrap();
        let (sequence, score) = formula(&near);
        assert!(all.contains(&sequence) && score < best + 1e-4, "seed {seed}: {near:?} {score}, best {best}");
        if retries.last().is_some_and(|retry| retry.next.beam.is_infinite()) {
            check(&near);
        }
        worse += usize::from(score < best - 1e-4);
        variants[usize::from(found.len() > 2)] += 1;
        pauses += usize::from(said.iter().any(|(symbol, _)| *symbol == ids("sil")[0]));
    }
    assert!(variants.iter().all(|&count| count > 0) && pauses > 20, "{variants:?} {pauses}");
    assert!(worse > 0, "no beam was narrow");
}

#[test]
fn blocks_are_played_again_for_every_beam() {
    let spec = GraphSpec::parse(GRAPH).unwrap();
    let [a, b] = ["a", "b"].map(|name| spec.symbols().get(name).unwrap());
    let plan = |symbols: &[SymbolId]| {
        let graph = Arc::new(spec.transcript(symbols).unwrap());
        Arc::new(Plan::new(&graph, &spec.initial_weights(), &PlanOptions { insertion_penalty: 0.0 }).unwrap())
    };
    // `a` is better in every frame, but `b` has to end: until the beam has room for it, every path is lost.
    let cells = [-90.0, 0.0, -5.0].repeat(3);
    let emissions = Emissions::new(Matrix::from_vec(3, 3, cells).unwrap()).unwrap();
    let mut blocks = OneByOne::of(&emissions);
    let (found, retries) =
        search_blocks(&plan(&[a, b]), &mut blocks, BeamOptions { beam: 1.0, max_active: 9 }).unwrap();
    let found: Vec<_> = found.iter().map(|span| (span.symbol, span.start, span.end)).collect();
    assert_eq!(found, [(a, 0, 2), (b, 2, 3)]);
    let beams: Vec<(f32, usize)> = retries.iter().map(|retry| (retry.beam, retry.frame)).collect();
    assert_eq!((beams, blocks.plays), (vec![(1.0, 2), (2.0, 2), (4.0, 2)], 4));
    // Two frames cannot hold three symbols, however wide the beam is.
    let short = Emissions::new(Matrix::zeros(2, 3)).unwrap();
    let mut blocks = OneByOne::of(&short);
    let error = search_blocks(&plan(&[a; 3]), &mut blocks, BeamOptions { beam: 1.0, max_active: 2 }).unwrap_err();
    assert!(
        error.to_string().starts_with("no legal path: 2 search frames given, the shortest legal sequence needs 3"),
        "{error}"
    );
    assert_eq!(blocks.plays, 1);
}
