use super::*;
use crate::graph::Units;
use crate::graph::toy::everything_goes;
use crate::random::Random;
use crate::symbols::PdfId;

const SYMBOLS: [&str; 6] = ["sil", "a", "b", "c", "d", "e"];

/// A pause and five phones of two states each.
fn spec() -> GraphSpec {
    let text = everything_goes(&SYMBOLS, "states = 2\nself_loop = 0.5");
    GraphSpec::parse(&format!("optional = ['sil']\n{text}")).unwrap()
}

fn symbol(name: &str) -> SymbolId {
    spec().symbols().get(name).unwrap()
}

fn left(name: &str) -> Context {
    Context { left: (name != "edge").then(|| symbol(name)), right: None }
}

/// b and c sound alike, so do d and e. The first state of `a` is another thing after b and c, and yet another after silence; its
/// second state, and every other state, is what it is.
fn mean((of, state): (&str, usize), before: &str) -> [f32; 2] {
    match (of, state, before) {
        ("a", 0, "b" | "c") => [5.0, 0.0],
        ("a", 0, "sil" | "edge") => [0.0, 3.0],
        ("a", ..) => [0.0, 0.0],
        ("sil", ..) => [-9.0, -9.0],
        ("b" | "c", ..) => [9.0, 8.5 + f32::from(of == "c")],
        _ => [-5.5 + f32::from(of == "e"), 9.0],
    }
}

type Frame = ((SymbolId, usize), Context, [f32; 2]);

fn world(frames_each: usize) -> Vec<Frame> {
    let mut random = Random::new(2);
    let mut all = vec![];
    for of in SYMBOLS {
        for before in ["edge"].into_iter().chain(SYMBOLS) {
            for state in [0, 1] {
                for _ in 0..frames_each {
                    let frame = mean((of, state), before).map(|mean| mean + 0.5 * random.normal());
                    all.push(((symbol(of), state), left(before), frame));
                }
            }
        }
    }
    all
}

fn statistics(frames: &[Frame]) -> ContextStatistics {
    let mut statistics = ContextStatistics::new(2);
    frames.iter().for_each(|(state, context, frame)| statistics.count_in(*state, *context, frame));
    statistics
}

fn grown(leaves: usize, min_frames: f64, frames: &[Frame]) -> Tree {
    let config = TreeConfig { kind: ContextKind::LeftBiphone, leaves, min_frames };
    grow(&config, &spec(), &statistics(frames)).unwrap()
}

#[test]
fn the_splits_of_a_made_up_world_are_found() {
    let tree = grown(14, 20.0, &world(50));
    assert_eq!(tree.pdfs(), 14);
    let pdfs = |state: usize| {
        let of = |before| tree.pdf(symbol("a"), state, left(before));
        [of("b"), of("c"), of("sil"), of("edge"), of("d"), of("e"), of("a")]
    };
    let [b, c, sil, edge, d, e, a] = pdfs(0);
    assert_eq!((b, sil, d), (c, edge, e));
    assert_eq!(d, a);
    assert_eq!([b, sil, d].iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    assert!(pdfs(1).iter().all(|pdf| *pdf == pdfs(1)[0]));
    // One question, of all neighbours that sound alike, and not one of a single neighbour.
    assert!(tree.to_text().contains("inner b c\n"), "{}", tree.to_text());
    assert!(tree.to_text().contains("edge sil\n"), "{}", tree.to_text());
    assert_eq!(Tree::parse("tree.txt".as_ref(), &tree.to_text(), spec().symbols()).unwrap(), tree);
}

#[test]
fn pauses_and_rare_states_stay_whole() {
    let tree = grown(60, 20.0, &world(50));
    assert_eq!(spec().with_units(Units::Tied(tree.clone().into())).unwrap().pdfs_of(symbol("sil")).len(), 2);
    assert!(tree.pdfs() > 20);
    // 350 frames of each state: no leaf can have 176 of them beside another such.
    assert_eq!(grown(60, 176.0, &world(50)).pdfs(), 12);
    let error = grow(&TreeConfig { leaves: 11, ..TreeConfig::default() }, &spec(), &statistics(&world(1))).unwrap_err();
    assert_eq!(error.to_string(), "leaves = 11: expected at least 12, one for each state of graph.toml");
}

/// `log p` of frames under the Gaussian of their own mean and variance.
fn direct(frames: &[&[f32; 2]], floor: &[f64]) -> f64 {
    let count = frames.len() as f64;
    let mut total = 0.0;
    for d in 0..2 {
        let mean = frames.iter().map(|frame| f64::from(frame[d])).sum::<f64>() / count;
        let square = |frame: &&[f32; 2]| (f64::from(frame[d]) - mean).powi(2);
        let variance = (frames.iter().map(square).sum::<f64>() / count).max(floor[d]);
        let log_p =
            |frame: &&[f32; 2]| -0.5 * ((2.0 * std::f64::consts::PI * variance).ln() + square(frame) / variance);
        total += frames.iter().map(log_p).sum::<f64>();
    }
    total
}

/// Every subset of neighbours is tried on the frames themselves; the best of those that are questions is what was chosen, and it
/// gains what the frames say.
#[test]
fn the_first_split_is_the_best_of_all_questions() {
    let frames = world(12);
    let statistics = statistics(&frames);
    let likelihood = Likelihood::new(&statistics.total());
    let questions = Questions::new(ContextKind::LeftBiphone, (&spec(), &statistics), &likelihood);
    let config = TreeConfig { min_frames: 20.0, ..TreeConfig::default() };
    let splitter = Splitter { config: &config, questions: &questions, likelihood: &likelihood, dim: 2 };
    let neighbours: Vec<Neighbour> = std::iter::once(None).chain(spec().symbols().ids().map(Some)).collect();
    for state in [(symbol("a"), 0), (symbol("a"), 1), (symbol("d"), 0)] {
        let own: Vec<&Frame> = frames.iter().filter(|frame| frame.0 == state).collect();
        let log_p =
            |part: Vec<&Frame>| direct(&part.iter().map(|frame| &frame.2).collect::<Vec<_>>(), &likelihood.floor);
        let mut best: Option<(f64, Vec<Neighbour>)> = None;
        for subset in 1_u32..1 << neighbours.len() {
            let set: Vec<Neighbour> =
                (0..neighbours.len()).filter(|n| subset >> n & 1 == 1).map(|n| neighbours[n]).collect();
            if !questions.sets.contains(&set) {
                continue;
            }
            let (yes, no): (Vec<&Frame>, Vec<&Frame>) = own.iter().partition(|frame| set.contains(&frame.1.left));
            if yes.len().min(no.len()) < 20 {
                continue;
            }
            let gain = log_p(yes) + log_p(no) - log_p(own.clone());
            if best.as_ref().is_none_or(|(most, _)| gain > most + 1e-9) {
                best = Some((gain, set));
            }
        }
        let contexts: Frames = statistics.states[&state].iter().map(|(context, moments)| (*context, moments)).collect();
        let split = splitter.best(&contexts).unwrap();
        let (gain, set) = best.unwrap();
        assert!((split.gain - gain).abs() < 1e-6 * gain.abs().max(1.0), "{} {gain}", split.gain);
        let other = |set: &[Neighbour]| neighbours.iter().copied().filter(|one| !set.contains(one)).collect::<Vec<_>>();
        let found = &questions.sets[split.question.1];
        assert!(*found == set || *found == other(&set), "{found:?} {set:?}");
    }
}

/// Greedy growth by brute force: of all leaves and questions the best, again and again.
#[test]
fn the_tree_grows_where_most_is_gained() {
    let frames = world(8);
    let statistics = statistics(&frames);
    let likelihood = Likelihood::new(&statistics.total());
    let total = |tree: &Tree| -> f64 {
        let pdf = |frame: &Frame| tree.pdf(frame.0.0, frame.0.1, frame.1);
        let part =
            |leaf: usize| frames.iter().filter(|f| pdf(f) == PdfId::from_index(leaf)).map(|f| &f.2).collect::<Vec<_>>();
        (0..tree.pdfs()).map(|leaf| direct(&part(leaf), &likelihood.floor)).sum()
    };
    let totals: Vec<f64> = (12..=24).map(|leaves| total(&grown(leaves, 5.0, &frames))).collect();
    let gains: Vec<f64> = totals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gains.iter().all(|gain| *gain > 0.0), "{gains:?}");
    // The two splits of the first state of `a` dwarf all others.
    assert!(gains[0] > gains[1] && gains[1] > 10.0 * gains[2], "{gains:?}");
}

#[test]
fn a_triphone_tree_asks_on_both_sides() {
    let mut statistics = ContextStatistics::new(1);
    let mut random = Random::new(4);
    for after in [None, Some(symbol("b")), Some(symbol("d"))] {
        for before in [None, Some(symbol("c")), Some(symbol("e"))] {
            let context = Context { left: before, right: after };
            for _ in 0..40 {
                let mean = 4.0 * f32::from(after == Some(symbol("d"))) + 9.0 * f32::from(before.is_none());
                statistics.count_in((symbol("a"), 0), context, &[mean + 0.3 * random.normal()]);
            }
        }
    }
    let config = TreeConfig { kind: ContextKind::WordInternalTriphone, leaves: 15, min_frames: 20.0 };
    let tree = grow(&config, &spec(), &statistics).unwrap();
    let pdf = |before: &str, after: Option<&str>| {
        tree.pdf(symbol("a"), 0, Context { right: after.map(symbol), ..left(before) })
    };
    assert_eq!(tree.pdfs(), 15);
    assert_eq!(pdf("c", None), pdf("e", Some("b")));
    let four = [pdf("edge", None), pdf("edge", Some("d")), pdf("c", None), pdf("c", Some("d"))];
    assert_eq!(four.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
}

#[test]
fn settings_are_checked_by_name() {
    let wrong = |config: TreeConfig| config.check().unwrap_err().to_string();
    assert!(wrong(TreeConfig { leaves: 0, ..TreeConfig::default() }).starts_with("leaves = 0: expected"));
    assert!(wrong(TreeConfig { min_frames: 0.0, ..TreeConfig::default() }).starts_with("min_frames = 0: expected"));
}
