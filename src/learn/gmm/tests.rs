use super::*;
use crate::random::Random;

const MEANS: [[f32; 2]; 4] = [[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [-3.0, -3.0]];

/// Silence and three phones; every pdf of the model is one Gaussian of deviation 0.5.
fn spec() -> GraphSpec {
    GraphSpec::parse(
        r#"
format = 1
optional = ["sil"]
[classes]
silence = ["sil"]
phone = ["a", "b", "c"]
[boundary]
start = ["silence", "phone"]
end = ["silence", "phone"]
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "silence"
to = "silence"
[topology.default]
states = 1
min_frames = 2
self_loop = 0.5
"#,
    )
    .unwrap()
}

struct Utterance {
    name: String,
    frames: Matrix,
    graph: Arc<Graph>,
    /// Symbol and end of each segment, silences included.
    truth: Vec<(SymbolId, usize)>,
}

impl Utterance {
    fn example(&self) -> GmmExample<'_> {
        GmmExample { name: &self.name, frames: &self.frames, graph: self.graph.clone() }
    }
}

fn speak(spec: &GraphSpec, random: &mut Random, name: String) -> Utterance {
    // Never the same phone twice in a row: no model could tell where one ends and the next begins.
    let mut phones = vec![SymbolId(1)];
    for _ in 0..2 + random.below(4) {
        let last = phones[phones.len() - 1].0;
        phones.push(SymbolId(1 + (last + random.below(2) as u32) % 3));
    }
    let mut said = vec![SymbolId(0)];
    said.extend(&phones);
    said.push(SymbolId(0));
    let mut frames = Matrix::with_cols(2);
    let mut truth = vec![];
    for symbol in said {
        for _ in 0..4 + random.below(8) {
            let mean = MEANS[symbol.index()];
            frames.push_row(&mean.map(|mean| mean + 0.5 * random.normal()));
        }
        truth.push((symbol, frames.rows()));
    }
    Utterance { name, frames, graph: Arc::new(spec.transcript(&phones).unwrap()), truth }
}

fn corpus(count: usize) -> Vec<Utterance> {
    let (spec, mut random) = (spec(), Random::new(5));
    (0..count).map(|number| speak(&spec, &mut random, format!("utterance-{number}"))).collect()
}

fn config(em: EmKind) -> GmmConfig {
    GmmConfig { em, iterations: 8, realign: (1..=8).collect(), gaussians: 4, last_split: 0, ..GmmConfig::default() }
}

fn train(config: GmmConfig, corpus: &[Utterance]) -> (TrainedGmm, Vec<EmProgress>) {
    let examples: Vec<GmmExample> = corpus.iter().map(Utterance::example).collect();
    let mut seen = vec![];
    let trainer = GmmTrainer::new(config, &spec()).unwrap();
    let trained = trainer.train(&examples, &mut |progress| seen.push(progress.clone())).unwrap();
    (trained, seen)
}

#[test]
fn means_and_boundaries_are_recovered() {
    let corpus = corpus(60);
    for em in [EmKind::Viterbi, EmKind::BaumWelch] {
        let (trained, _) = train(config(em), &corpus);
        for (found, expected) in trained.model.mixtures.parts().means.iter_rows().zip(MEANS) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 0.1, "{em:?}: {found} {expected}");
            }
        }
        assert!(trained.model.mixtures.parts().variances.as_slice().iter().all(|v| (v - 0.25).abs() < 0.05));
        for (utterance, alignment) in corpus.iter().zip(&trained.alignments) {
            let segments = &alignment.as_ref().unwrap().segments;
            assert_eq!(segments.len(), utterance.truth.len(), "{}", utterance.name);
            for (segment, &(symbol, end)) in segments.iter().zip(&utterance.truth) {
                assert_eq!(segment.symbol, symbol);
                assert!(segment.end.abs_diff(end) <= 1, "{} {segment:?} {end}", utterance.name);
            }
        }
    }
}

#[test]
fn self_loops_follow_the_durations() {
    let spec = spec();
    let role = crate::graph::TransitionRole::SelfLoop { symbol: SymbolId(1), position: 1 };
    let mut transitions = (0..spec.transitions()).map(crate::symbols::TransitionId::from_index);
    let stay = transitions.find(|&transition| spec.transition_role(transition) == role).unwrap();
    // 4 to 11 frames, 7.5 in the mean, of which the first is another position: 5.5 of 6.5 dwell.
    for em in [EmKind::Viterbi, EmKind::BaumWelch] {
        let (trained, _) = train(config(em), &corpus(60));
        let found = trained.model.weights.get(stay).exp();
        assert!((found - 5.5 / 6.5).abs() < 0.02, "{em:?}: {found}");
    }
}

#[test]
fn baum_welch_never_lowers_the_likelihood() {
    let mut config = config(EmKind::BaumWelch);
    (config.iterations, config.min_occupancy, config.variance_floor) = (20, 1e-3, 1e-6);
    let (_, seen) = train(config, &corpus(12));
    for pair in seen.windows(2) {
        let (before, after) = (pair[0].log_likelihood, pair[1].log_likelihood);
        assert!(after >= before - 1e-6, "{pair:?}");
    }
    assert!(seen[19].log_likelihood > seen[0].log_likelihood + 0.1);
}

#[test]
fn the_model_does_not_depend_on_the_number_of_threads() {
    let corpus = corpus(70);
    for em in [EmKind::Viterbi, EmKind::BaumWelch] {
        let config = GmmConfig { gaussians: 12, last_split: 5, min_occupancy: 3.0, ..config(em) };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(config.clone(), &corpus))
        };
        let (one, three) = (with(1), with(3));
        assert_eq!(one, three);
        assert!(one.0.model.mixtures.gaussians() > 8);
    }
}

#[test]
fn paths_that_are_kept_between_realignments_still_train() {
    let config = GmmConfig { realign: vec![1, 2, 4, 6], gaussians: 8, last_split: 6, ..config(EmKind::Viterbi) };
    let (trained, seen) = train(config, &corpus(60));
    assert!(trained.model.mixtures.gaussians() <= 8);
    assert_eq!(seen.iter().map(|progress| progress.iteration).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    assert!(seen[7].log_likelihood > seen[0].log_likelihood);
}

#[test]
fn utterances_that_cannot_be_aligned_are_named_and_skipped() {
    let mut corpus = corpus(20);
    corpus[3].frames = corpus[3].frames.slice_rows(0..3);
    corpus[7].frames.row_mut(5)[1] = f32::NAN;
    let (trained, seen) = train(config(EmKind::Viterbi), &corpus);
    let names: Vec<&str> = trained.skipped.iter().map(|skipped| skipped.name.as_str()).collect();
    assert_eq!(names, ["utterance-3", "utterance-7"]);
    assert!(trained.skipped[0].reason.contains("3 search frames given"), "{:?}", trained.skipped);
    assert!(trained.skipped[1].reason.contains("frame 5"), "{:?}", trained.skipped);
    assert!(trained.alignments[3].is_none() && trained.alignments[7].is_none() && trained.alignments[4].is_some());
    assert_eq!(seen[0].skipped, 2);
}

#[test]
fn a_pdf_without_frames_is_reported_and_stays_broad() {
    let (spec, mut random) = (spec(), Random::new(8));
    let mut corpus: Vec<Utterance> = (0..10).map(|n| speak(&spec, &mut random, n.to_string())).collect();
    let symbols = [SymbolId(1), SymbolId(2)];
    corpus.iter_mut().for_each(|utterance| utterance.graph = Arc::new(spec.transcript(&symbols).unwrap()));
    let (trained, _) = train(config(EmKind::Viterbi), &corpus);
    assert_eq!(trained.unseen, [PdfId(3)]);
    assert!(trained.model.mixtures.parts().variances.row(3)[0] > 1.0);
}

#[test]
fn nothing_to_train_on_is_an_error_with_its_cause() {
    let mut corpus = corpus(1);
    corpus[0].frames = corpus[0].frames.slice_rows(0..1);
    let examples = [corpus[0].example()];
    let trainer = GmmTrainer::new(config(EmKind::Viterbi), &spec()).unwrap();
    let found = trainer.train(&examples, &mut |_| ()).unwrap_err().to_string();
    assert!(found.starts_with("none of 1 utterances can be aligned; utterance-0: no legal path"), "{found}");
    assert!(trainer.train(&[], &mut |_| ()).is_err());
}

#[test]
fn features_beyond_any_likelihood_are_an_error() {
    let mut corpus = corpus(2);
    corpus.iter_mut().for_each(|utterance| utterance.frames.as_mut_slice().fill(1e30));
    let examples: Vec<GmmExample> = corpus.iter().map(Utterance::example).collect();
    let trainer = GmmTrainer::new(config(EmKind::Viterbi), &spec()).unwrap();
    let found = trainer.train(&examples, &mut |_| ()).unwrap_err().to_string();
    assert!(found.contains("too large to train on"), "{found}");
}

#[test]
fn settings_out_of_range_are_named() {
    assert!(GmmConfig::default().check().is_ok());
    let found = GmmConfig { variance_floor: 0.0, ..GmmConfig::default() }.check().unwrap_err().to_string();
    assert_eq!(found, "variance_floor = 0: expected a number above 0 and below 1");
    assert!(GmmConfig { iterations: 0, ..GmmConfig::default() }.check().is_err());
    assert!(GmmConfig { last_split: 24, ..GmmConfig::default() }.check().is_err());
    assert!(GmmConfig { gaussians: usize::MAX, ..GmmConfig::default() }.check().is_err());
}

/// The tied system of a tree that tells phones after silence from others begins with the alignment of the monophones; with a
/// leaf a state it is the monophone system.
#[test]
fn tied_states_go_on_from_the_monophone_alignment() {
    use crate::graph::tree::{Side, Step};
    use crate::graph::{ContextKind, Tree, Units};
    let (corpus, spec) = (corpus(40), spec());
    let (mono, _) = train(config(EmKind::Viterbi), &corpus);
    let first: Vec<&[PdfId]> = mono.alignments.iter().map(|alignment| &*alignment.as_ref().unwrap().pdfs).collect();
    let phone = vec![Step::Ask(Side::Left, 0), Step::Leaf, Step::Leaf];
    let split = [vec![vec![Step::Leaf]], vec![phone.clone()], vec![phone.clone()], vec![phone]];
    let whole = vec![vec![vec![Step::Leaf]]; 4];
    let trained = |states: &[Vec<Vec<Step>>], gaussians| {
        let sets = vec![vec![None, Some(SymbolId(0))]];
        let tree = Tree::new(ContextKind::LeftBiphone, spec.symbols(), sets, states).unwrap();
        let parts_of: Vec<PdfId> = (0..tree.pdfs()).map(|pdf| PdfId(tree.owner(PdfId::from_index(pdf)).0.0)).collect();
        let tied = spec.clone().with_units(Units::Tied(tree.into())).unwrap();
        let phones = |utterance: &Utterance| {
            let said = utterance.truth.iter().map(|(symbol, _)| *symbol);
            said.filter(|symbol| symbol.0 > 0).collect::<Vec<_>>()
        };
        let graphs: Vec<_> = corpus.iter().map(|one| Arc::new(tied.transcript(&phones(one)).unwrap())).collect();
        let example =
            |(one, graph): (&'_ Utterance, &Arc<Graph>)| (one.name.clone(), one.frames.clone(), graph.clone());
        let owned: Vec<_> = corpus.iter().zip(&graphs).map(example).collect();
        let examples: Vec<GmmExample> =
            owned.iter().map(|(name, frames, graph)| GmmExample { name, frames, graph: graph.clone() }).collect();
        let config = GmmConfig { realign: vec![], gaussians, ..config(EmKind::Viterbi) };
        let trainer = GmmTrainer::new(config, &tied).unwrap();
        trainer.train_from(&examples, (&first, &parts_of), &mut |_| {}).unwrap()
    };
    let (same, seven) = (trained(&whole, 4), trained(&split, 7));
    assert_eq!(seven.model.mixtures.pdfs(), 7);
    for (mono, same) in
        mono.model.mixtures.parts().means.as_slice().iter().zip(same.model.mixtures.parts().means.as_slice())
    {
        assert!((mono - same).abs() < 1e-3, "{mono} {same}");
    }
    for ((mono, same), seven) in mono.alignments.iter().zip(&same.alignments).zip(&seven.alignments) {
        let segments = |alignment: &Option<GmmAlignment>| alignment.as_ref().unwrap().segments.clone();
        assert_eq!(segments(mono), segments(same));
        assert_eq!(segments(mono).len(), segments(seven).len());
    }
    // Only `a` begins an utterance. Its two pdfs are of like frames here: their means are those of the phone.
    assert_eq!(seven.unseen, [PdfId(3), PdfId(5)]);
    for (pdf, of) in [(1, 1), (2, 1), (4, 2), (6, 3)] {
        for (found, expected) in seven.model.mixtures.parts().means.row(pdf).iter().zip(MEANS[of]) {
            assert!((found - expected).abs() < 0.2, "{pdf}: {found} {expected}");
        }
    }
}
