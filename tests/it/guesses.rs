//! `senone decode --confidence`, `--nbest`, `--lattice`, `--posteriorgram`, and `senone score --confidence`.

use senone::formats::npy;
use senone::matrix::Matrix;

use super::util::Dir;

/// Three symbols of one pdf each, in this order.
const GRAPH: &str = "format = 1\nname = 'toy'\noptional = ['sil']\n[classes]\npause = ['sil']\nspeech = ['a', 'b']\n\
    [boundary]\nstart = '*'\nend = '*'\n[[allow]]\nfrom = '*'\nto = '*'\n[[forbid]]\nfrom = 'sil'\nto = 'sil'\n\
    [[forbid]]\nfrom = 'a'\nto = 'a'\n[[forbid]]\nfrom = 'b'\nto = 'b'\n\
    [topology.default]\nstates = 1\nmin_frames = 2\nself_loop = 0.5\n";

const DECODE: &str = "decode --graph graph.toml --prior-scale 0 --posteriors x.npy";

/// Silence, `a`, what may be `a` or `b` in these shares, silence: two, three, three and two frames.
fn with_doubt(share: f32) -> Dir {
    let dir = Dir::new();
    dir.write("graph.toml", GRAPH);
    let mut matrix = Matrix::with_cols(3);
    let rest = 0.99 - share;
    let (pause, a) = ([0.98, 0.01, 0.01], [0.01, 0.98, 0.01]);
    for row in [pause, pause, a, a, a, [0.01, rest, share], [0.01, rest, share], [0.01, rest, share], pause, pause] {
        matrix.push_row(&row.map(f32::ln));
    }
    npy::write(&dir.path("x.npy"), &matrix).unwrap();
    dir
}

fn lines(dir: &Dir, options: &str) -> Vec<String> {
    dir.senone(&format!("{DECODE} {options}")).ok().stdout.lines().map(str::to_owned).collect()
}

fn confidences(dir: &Dir) -> Vec<(String, f32)> {
    let rows = lines(dir, "--format ctm --confidence");
    let row = |row: &String| {
        let fields: Vec<&str> = row.split(' ').collect();
        assert_eq!(fields.len(), 6, "{row}");
        (fields[4].to_owned(), fields[5].parse().unwrap())
    };
    rows.iter().map(row).collect()
}

#[test]
fn what_is_in_doubt_has_less_confidence() {
    let (sure, doubtful) = (confidences(&with_doubt(0.97)), confidences(&with_doubt(0.6)));
    for rows in [&sure, &doubtful] {
        assert_eq!(rows.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["sil", "a", "b", "sil"]);
        assert!(rows.iter().all(|(_, confidence)| (0.0..=1.0).contains(confidence)), "{rows:?}");
    }
    assert!(sure.iter().all(|(_, confidence)| *confidence > 0.9), "{sure:?}");
    assert!(doubtful[2].1 < 0.85 && doubtful[2].1 > 0.5 && doubtful[3].1 > 0.9, "{doubtful:?}");
    let dir = with_doubt(0.6);
    let json = lines(&dir, "--format json --confidence").concat();
    assert_eq!(json.matches("\"confidence\":0.").count(), 4, "{json}");
    let tsv = lines(&dir, "--format tsv --confidence");
    assert!(tsv[2].ends_with(&format!("\ta\t{:.3}", doubtful[1].1)), "{tsv:?}");
    assert!(lines(&dir, "--format ctm")[0].ends_with(" sil"));
}

#[test]
fn the_first_of_the_best_sequences_is_the_decoded_one() {
    let dir = with_doubt(0.6);
    let rows = lines(&dir, "--nbest 4");
    assert_eq!(rows.len(), 4);
    let fields: Vec<Vec<&str>> = rows.iter().map(|row| row.split("  ").collect()).collect();
    assert_eq!(fields.iter().map(|row| row[0]).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    assert_eq!(fields[0][2], "sil a b sil");
    let scores: Vec<f64> = fields.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let json: serde_json::Value = serde_json::from_str(&lines(&dir, "--nbest 2 --format json")[0]).unwrap();
    assert_eq!(json["nbest"].as_array().unwrap().len(), 2);
    assert_eq!(json["nbest"][0]["labels"], serde_json::json!(["sil", "a", "b", "sil"]));
    assert!((json["nbest"][1]["score"].as_f64().unwrap() - scores[1]).abs() < 1e-3);
    let refused = |options: &str| dir.senone(&format!("{DECODE} {options}")).run().stderr;
    assert!(refused("--nbest 2 --format ctm").contains("--nbest is printed as text or JSON"));
    assert!(refused("--nbest 2 --no-graph").contains("cannot be used with"));
    assert!(refused("--lattice l --lattice-beam nan").contains("lattice beam = NaN"));
}

#[test]
fn of_a_graph_of_words_sequences_are_of_words() {
    let dir = with_doubt(0.6);
    dir.write("words.dict", "one b a\ntwo a b\nthree a\n");
    dir.write("graph.toml", format!("{GRAPH}[lexicon]\nfile = 'words.dict'\n"));
    let rows = lines(&dir, "--nbest 3");
    assert!(rows[0].ends_with("  two"), "{rows:?}");
    assert!(lines(&dir, "--nbest 3 --tier phones")[0].ends_with("  sil a b sil"));
    let words = lines(&dir, "--format ctm --confidence");
    let confidence: f32 = words[0].rsplit(' ').next().unwrap().parse().unwrap();
    assert!(words.len() == 1 && words[0].contains(" two 0.") && confidence > 0.3 && confidence < 0.95, "{words:?}");
    lines(&dir, "--lattice l");
    let lattice = Slf::read(&dir.read("l/x.slf"));
    let (_, said) = lattice.best();
    let words: Vec<&str> = said.iter().map(|link| link.label.as_str()).filter(|label| *label != "!NULL").collect();
    assert_eq!(words, ["two"]);
    lines(&dir, "--lattice l --lattice-format openfst");
    assert_eq!(dir.list("l"), ["phones.txt", "words.txt", "x.fst.txt", "x.slf", "x.times.txt"]);
    assert!(dir.read("l/x.fst.txt").lines().any(|line| line.split('\t').nth(3) == Some("two")));
    assert!(dir.read("l/words.txt").contains("three\t"));
}

struct Link {
    from: usize,
    to: usize,
    label: String,
    acoustic: f64,
    graph: f64,
}

/// What a reader of HTK's lattices understands, no more.
struct Slf {
    times: Vec<f64>,
    links: Vec<Link>,
}

impl Slf {
    fn read(text: &str) -> Self {
        let value = |line: &str, key: &str| {
            let field = line.split(' ').find_map(|field| field.strip_prefix(key)?.strip_prefix('='));
            field.unwrap_or_else(|| panic!("{line} has no {key}")).to_owned()
        };
        let number = |line: &str, key: &str| -> f64 { value(line, key).parse().unwrap() };
        let sizes = text.lines().find(|line| line.starts_with("N=")).unwrap();
        let nodes = text.lines().filter(|line| line.starts_with("I="));
        let times: Vec<f64> = nodes.map(|line| number(line, "t")).collect();
        let links = text.lines().filter(|line| line.starts_with("J=")).map(|line| Link {
            from: number(line, "S") as usize,
            to: number(line, "E") as usize,
            label: value(line, "W"),
            acoustic: number(line, "a"),
            graph: number(line, "l"),
        });
        let links: Vec<Link> = links.collect();
        assert_eq!((number(sizes, "N") as usize, number(sizes, "L") as usize), (times.len(), links.len()));
        assert!(text.contains(&format!("\nstart=0 end={}\n", times.len() - 1)));
        Self { times, links }
    }

    /// The best way through, and what it scores.
    fn best(&self) -> (f64, Vec<&Link>) {
        let mut best: Vec<Option<(f64, Option<&Link>)>> = vec![None; self.times.len()];
        best[0] = Some((0.0, None));
        for link in &self.links {
            let Some((score, _)) = best[link.from] else { panic!("a node that nothing leads to") };
            let score = score + link.acoustic + link.graph;
            if best[link.to].is_none_or(|(known, _)| score > known) {
                best[link.to] = Some((score, Some(link)));
            }
        }
        let (score, mut last) = best[self.times.len() - 1].unwrap();
        let mut links = vec![];
        while let Some(link) = last {
            links.push(link);
            last = best[link.from].unwrap().1;
        }
        links.reverse();
        (score, links)
    }
}

#[test]
fn the_best_way_through_a_lattice_is_the_decoded_one() {
    let dir = with_doubt(0.6);
    let decoded = lines(&dir, "--format ctm --lattice l");
    let lattice = Slf::read(&dir.read("l/x.slf"));
    let (score, links) = lattice.best();
    let rows: Vec<String> = links
        .iter()
        .map(|link| {
            let (start, end) = (lattice.times[link.from], lattice.times[link.to]);
            format!("x 1 {start:.3} {:.3} {}", end - start, link.label)
        })
        .collect();
    assert_eq!(rows, decoded);
    let first = &lines(&dir, "--nbest 1")[0];
    let expected: f64 = first.split("  ").nth(1).unwrap().parse().unwrap();
    assert!((score - expected).abs() < 1e-3, "{score} {first}");
    assert!(lattice.links.len() > rows.len());
    // The acoustic part is that of the frames, at an acoustic scale of 1.
    let acoustic: f64 = links.iter().map(|link| link.acoustic).sum();
    let frames = 7.0 * 0.98f64.ln() + 3.0 * 0.6f64.ln();
    assert!((acoustic - frames).abs() < 1e-4, "{acoustic} {frames}");
    // A narrow beam leaves the best way only; costs of OpenFst are the scores.
    lines(&dir, "--lattice narrow --lattice-beam 0.001 --lattice-format openfst");
    let text = dir.read("narrow/x.fst.txt");
    assert_eq!(text.lines().count(), rows.len() + 1, "{text}");
    let costs: f64 = text
        .lines()
        .filter_map(|line| line.split('\t').nth(4))
        .flat_map(|weights| weights.split(','))
        .map(|cost| cost.parse::<f64>().unwrap())
        .sum();
    assert!((score + costs).abs() < 1e-3, "{score} {costs}");
    assert_eq!(dir.read("narrow/x.times.txt").lines().last().unwrap(), format!("{}\t0.100", rows.len()));
}

#[test]
fn scoring_says_what_confidences_are_worth() {
    let dir = Dir::new();
    dir.write("said", "u A B C\n");
    dir.write("heard.ctm", "u 1 0 1 A 0.9\nu 1 1 1 X 0.3\nu 1 2 1 C 0.8\nu 1 3 1 D 0.1\n");
    let text = dir.senone("score said heard.ctm --confidence").ok().stdout;
    let line = "confidence: expected calibration error 0.175, AUC of right from wrong 1.000 (4 labels, 50.0 % right)";
    assert!(text.contains(line), "{text}");
    dir.write("plain.ctm", "u 1 0 1 A\n");
    let error = dir.senone("score said plain.ctm --confidence").run().stderr;
    assert!(error.contains("plain.ctm: u has A without a confidence: decode with --confidence"), "{error}");
    dir.write("lines", "u A B C\n");
    assert!(dir.senone("score said lines --confidence").run().stderr.contains("--confidence needs a CTM"));
}

#[cfg(feature = "neural")]
mod recordings {
    use super::*;

    #[test]
    fn a_posteriorgram_is_decoded_to_the_same_phones() {
        let dir = Dir::new();
        let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sense-and-sensibility.wav");
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/models/en");
        let first = dir.senone("decode --confidence --posteriorgram out.npy").arg(recording).ok().stdout;
        let network = npy::read(&dir.path("out.npy")).unwrap();
        for row in network.iter_rows() {
            assert!((row.iter().map(|log| log.exp()).sum::<f32>() - 1.0).abs() < 1e-3);
        }
        let again = dir.senone("decode --confidence --posteriors out.npy --model").arg(model).ok().stdout;
        let columns = |text: &str| -> Vec<String> {
            let rows = text.lines().map(|row| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
            rows.flat_map(|row| [row[0].clone(), row[2].clone(), row[3].clone()]).collect()
        };
        assert_eq!(columns(&again), columns(&first));
        dir.senone("decode --nbest 2 --posteriorgram folder").arg(recording).ok();
        assert_eq!(dir.list("folder"), ["sense-and-sensibility.npy"]);
        let two = dir.senone("decode --posteriorgram out.npy").arg(recording).arg(recording).run().stderr;
        assert!(two.contains("--posteriorgram names one file"), "{two}");
    }
}
