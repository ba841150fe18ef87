//! `senone decode --posteriors`: matrices that another program stored, with priors and a graph, to phones with times.

use std::fmt::Write;

use senone::data::posteriors::{NetworkOutput, open, read_priors};
use senone::formats::npy;
use senone::matrix::Matrix;
use senone::random::Random;

use super::util::Dir;

/// Three symbols of one pdf each, in this order; two frames at least.
const GRAPH: &str = r#"format = 1
name = "toy"
optional = ["sil"]
[classes]
pause = ["sil"]
speech = ["a", "b"]
[boundary]
start = "*"
end = "*"
[[allow]]
from = "*"
to = "*"
[[forbid]]
from = "sil"
to = "sil"
[topology.default]
states = 1
min_frames = 2
self_loop = 0.5
"#;

const DECODE: &str = "decode --graph graph.toml --prior-scale 0 --format ctm";

fn with_graph() -> Dir {
    let dir = Dir::new();
    dir.write("graph.toml", GRAPH);
    dir
}

/// Log-posteriors that are sure of these pdfs, frame by frame.
fn sure(pdfs: &[usize]) -> Matrix {
    let mut matrix = Matrix::with_cols(3);
    for &pdf in pdfs {
        let mut row = [0.02f32.ln(); 3];
        row[pdf] = 0.96f32.ln();
        matrix.push_row(&row);
    }
    matrix
}

fn sentence() -> Matrix {
    sure(&[0, 0, 1, 1, 1, 2, 2, 2, 0, 0])
}

/// The phones of [`sentence`], as CTM.
fn phones(utterance: &str) -> String {
    let rows = [("0.000 0.020", "sil"), ("0.020 0.030", "a"), ("0.050 0.030", "b"), ("0.080 0.020", "sil")];
    rows.map(|(times, phone)| format!("{utterance} 1 {times} {phone}\n")).concat()
}

fn map(matrix: &Matrix, change: impl Fn(usize, f32) -> f32) -> Matrix {
    let cells = matrix.as_slice().iter().enumerate().map(|(at, &cell)| change(at % matrix.cols(), cell)).collect();
    Matrix::from_vec(matrix.rows(), matrix.cols(), cells).unwrap()
}

/// An entry of a text archive, as `copy-matrix ark,t:-` prints it.
fn text_entry(name: &str, matrix: &Matrix) -> Vec<u8> {
    let mut text = format!("{name}  [");
    for row in matrix.iter_rows() {
        text += "\n ";
        row.iter().for_each(|cell| write!(text, " {cell}").unwrap());
    }
    (text + " ]\n").into_bytes()
}

/// An entry of a binary archive, of the type FM.
fn binary_entry(name: &str, matrix: &Matrix) -> Vec<u8> {
    let mut bytes = format!("{name} \0BFM ").into_bytes();
    for size in [matrix.rows(), matrix.cols()] {
        bytes.push(4);
        bytes.extend((size as i32).to_le_bytes());
    }
    bytes.extend(matrix.as_slice().iter().flat_map(|cell| cell.to_le_bytes()));
    bytes
}

/// `.npy` with `f64` in columns, as NumPy stores a transposed array.
fn npy_of_columns(matrix: &Matrix) -> Vec<u8> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let header = format!("{{'descr': '<f8', 'fortran_order': True, 'shape': ({rows}, {cols}), }}\n");
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.as_bytes());
    let columns = (0..cols).flat_map(|col| (0..rows).map(move |row| f64::from(matrix.row(row)[col])));
    bytes.extend(columns.flat_map(f64::to_le_bytes));
    bytes
}

fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/posteriors").join(name)
}

/// Cells of every compressed and plain type, as kaldiio wrote them, against what kaldiio reads of them.
#[test]
fn what_kaldiio_wrote_is_what_kaldiio_reads() {
    let read = |name| open(&fixture(name)).map(|NetworkOutput { utterance, matrix, .. }| (utterance, matrix.unwrap()));
    let (binary, text): (Vec<_>, Vec<_>) = (read("kaldiio.ark").collect(), read("kaldiio.text.ark").collect());
    assert_eq!((binary.len(), text.len()), (9, 9));
    for ((name, found), (expected_name, expected)) in binary.iter().zip(&text) {
        assert_eq!((name, found.rows(), found.cols()), (expected_name, 11, 3));
        for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
            assert!((found - expected).abs() < 2e-6, "{name}: {found}, expected {expected}");
        }
    }
}

mod storage {
    use super::*;

    #[test]
    fn every_way_to_store_a_matrix_gives_the_same_phones() {
        let dir = with_graph();
        npy::write(&dir.path("one.npy"), &sentence()).unwrap();
        dir.write("columns.npy", npy_of_columns(&sentence()));
        dir.write("text.ark", text_entry("u", &sentence()));
        dir.write("binary.ark", binary_entry("u", &sentence()));
        dir.write("lone.mat", &binary_entry("u", &sentence())[2..]);
        dir.write("script.scp", "u binary.ark:2\n");
        dir.write("npy.scp", "u one.npy\n");
        dir.write("misnamed.wav", binary_entry("u", &sentence()));
        let files = [
            ("one.npy", "one"),
            ("columns.npy", "columns"),
            ("text.ark", "u"),
            ("binary.ark", "u"),
            ("lone.mat", "lone"),
            ("script.scp", "u"),
            ("npy.scp", "u"),
            ("misnamed.wav", "u"),
        ];
        for (file, utterance) in files {
            let ran = dir.senone(&format!("{DECODE} --posteriors {file}")).ok();
            assert_eq!((ran.stdout, ran.stderr.as_str()), (phones(utterance), ""), "{file}");
            let bytes = std::fs::read(dir.path(file)).unwrap();
            let piped = dir.senone(&format!("{DECODE} --posteriors -")).input(bytes).ok().stdout;
            let lone = utterance != "u";
            assert_eq!(piped, phones(if lone { "stdin" } else { "u" }), "{file}");
        }
    }

    #[test]
    fn files_and_folders_are_decoded_in_their_order() {
        let dir = with_graph();
        let archive = ["u2", "u1"].map(|name| binary_entry(name, &sentence())).concat();
        dir.write("folder/b.ark", &archive);
        dir.write("folder/a.npy", npy_of_columns(&sentence()));
        dir.write("folder/notes.txt", "not looked at");
        dir.write("folder/.hidden.ark", "not looked at");
        dir.write("more/last.npy", npy_of_columns(&sentence()));
        let ran = dir.senone(&format!("{DECODE} --posteriors folder --posteriors more/last.npy")).ok();
        assert_eq!(ran.stdout, ["a", "u2", "u1", "last"].map(phones).concat());
        dir.write("empty/readme", "");
        let message = dir.senone(&format!("{DECODE} --posteriors empty")).refused();
        assert_eq!(message, "empty: no .npy or .ark files in this folder");
        let message = dir.senone(&format!("{DECODE} --posteriors - --posteriors -")).refused();
        assert_eq!(message, "standard input (-) can be read only once");
    }

    #[test]
    fn an_archive_of_many_is_decoded_in_order_by_any_number_of_threads() {
        let dir = with_graph();
        let mut random = Random::new(5);
        let names: Vec<String> = (0..150).map(|number| format!("u{number}")).collect();
        let mut archive = Vec::new();
        for name in &names {
            let pdfs: Vec<usize> = (0..10 + random.below(40)).map(|_| random.below(3)).collect();
            archive.extend(text_entry(name, &sure(&pdfs)));
        }
        dir.write("many.ark", archive);
        let decode =
            |threads: usize| dir.senone(&format!("--threads {threads} {DECODE} --posteriors many.ark")).ok().stdout;
        let one = decode(1);
        let mut found: Vec<&str> = one.lines().map(|line| line.split(' ').next().unwrap()).collect();
        found.dedup();
        assert_eq!(found, names);
        assert_eq!(decode(3), one);
    }

    /// `ni3 hao3` between pauses, in every format, spelling and tier; 30 ms a frame.
    #[test]
    fn phones_of_mandarin_are_printed_as_syllables() {
        let dir = Dir::new();
        dir.write("graph.toml", std::fs::read_to_string("recipes/mandarin/graph-tone.toml").unwrap());
        let spec = senone::graph::GraphSpec::read(&dir.path("graph.toml")).unwrap();
        let mut matrix = Matrix::with_cols(spec.pdfs());
        for phone in ["sil", "n", "i3", "i3", "h", "ao3", "ao3", "sil"] {
            let mut row = vec![-9.0; spec.pdfs()];
            let symbol = spec.symbols().get(phone).unwrap();
            row[spec.pdfs_of(symbol).next().unwrap().index()] = -0.1;
            matrix.push_row(&row);
        }
        npy::write(&dir.path("a.npy"), &matrix).unwrap();
        let line = "decode --graph graph.toml --prior-scale 0 --frame-shift-ms 30 --posteriors a.npy";
        let decode = |more: &str| dir.senone(&format!("{line} {more}")).ok().stdout;
        let rows = [("0.000 0.030", "sil"), ("0.030 0.090", "ni3"), ("0.120 0.090", "hao3"), ("0.210 0.030", "sil")];
        let ctm =
            |change: fn(&str) -> String| rows.map(|(times, one)| format!("a 1 {times} {}\n", change(one))).concat();
        assert_eq!(decode("--units syllable --format ctm"), ctm(str::to_owned));
        assert_eq!(decode("--units syllable --format ctm --toneless"), ctm(|one| one.replace('3', "")));
        let marked = |one: &str| one.replace("ni3", "nǐ").replace("hao3", "hǎo");
        assert_eq!(decode("--units syllable --format ctm --pinyin diacritics"), ctm(marked));
        let text =
            "0.000  0.030  sil   sil\n0.030  0.120  ni3   n i3\n0.120  0.210  hao3  h ao3\n0.210  0.240  sil   sil\n";
        assert_eq!(decode("--units syllable"), text);
        assert!(decode("--toneless").contains("  ao\n"));
        // Tones are left out before phones are named.
        let named = |line: &str, phones: [&str; 6]| {
            let found = decode(&format!("{line} --phones ipa"));
            assert_eq!(found.lines().map(|row| row.split_whitespace().last().unwrap()).collect::<Vec<_>>(), phones);
        };
        named("", ["sil", "n", "i˨˩˦", "x", "au˨˩˦", "sil"]);
        named("--toneless", ["sil", "n", "i", "x", "au", "sil"]);
        let json = decode("--units syllable --format json");
        assert!(json.contains(r#""syllables":[{"label":"sil","start":0.0,"end":0.03},{"label":"ni3","#), "{json}");
        assert!(json.contains(r#""phones":[{"label":"sil""#), "{json}");
        let grid = decode("--units syllable --format textgrid");
        assert!(grid.contains("name = \"syllables\"") && grid.contains("text = \"hao3\""), "{grid}");
        for tier in ["phones", "words"] {
            let refused = dir.senone(&format!("{line} --units syllable --tier {tier}")).refused();
            assert!(refused.starts_with("--tier phones or words, beside --units syllable: "), "{refused}");
        }
        // A graph of words, whose dictionary is built in wherever the file lies.
        dir.write("graphs/graph.toml", dir.read("graph.toml") + "\n[lexicon]\nfile = \"pinyin-toned\"\n");
        let words = |more: &str| {
            dir.senone(&line.replace("graph.toml", "graphs/graph.toml"))
                .args(&format!("--format ctm {more}"))
                .ok()
                .stdout
        };
        let spoken = |change: fn(&str) -> String| {
            rows[1..3].iter().map(|(times, one)| format!("a 1 {times} {}\n", change(one))).collect::<String>()
        };
        assert_eq!(words(""), spoken(str::to_owned));
        assert_eq!(words("--units syllable --pinyin diacritics"), ctm(marked));
    }

    #[test]
    fn outputs_are_those_of_recordings() {
        let dir = with_graph();
        dir.write("two.ark", ["x/1", "2"].map(|name| text_entry(name, &sentence())).concat());
        npy::write(&dir.path("one.npy"), &sentence()).unwrap();
        let decode = |rest: &str| dir.senone(&format!("decode --graph graph.toml --prior-scale 0 {rest}"));
        let rows = "0.000  0.020  sil\n0.020  0.050  a\n0.050  0.080  b\n0.080  0.100  sil\n";
        assert_eq!(decode("--posteriors one.npy").ok().stdout, rows);
        assert_eq!(decode("--posteriors two.ark").ok().stdout, format!("x/1:\n{rows}2:\n{rows}"));
        decode("--posteriors two.ark --output out").ok();
        assert_eq!(dir.list("out"), ["2.txt", "x_1.txt"]);
        assert_eq!(dir.read("out/2.txt"), rows);
        let json = decode("--posteriors one.npy --format json --frame-shift-ms 12.5").ok().stdout;
        assert!(json.starts_with(r#"{"utterance":"one","seconds":0.125,"#), "{json}");
        assert!(json.contains(r#"{"label":"a","start":0.025,"end":0.0625}"#), "{json}");
        let grid = decode("--posteriors one.npy --format textgrid").ok().stdout;
        assert!(grid.contains("xmax = 0.1 \n") && grid.contains("text = \"b\""), "{grid}");
        assert_eq!(
            decode("--posteriors two.ark --format textgrid").refused(),
            "a file of format textgrid holds one utterance, and there are several: add --output DIR to get a file for each"
        );
    }
}

mod meaning {
    use super::*;

    /// Posteriors without a clear winner, so that whatever is done to them changes the path.
    fn doubtful(frames: usize) -> Matrix {
        let mut random = Random::new(11);
        let mut matrix = Matrix::with_cols(3);
        for _ in 0..frames {
            let odds = [0, 1, 2].map(|_| random.normal().exp());
            let total: f32 = odds.iter().sum();
            matrix.push_row(&odds.map(|odd| (odd / total).ln()));
        }
        matrix
    }

    fn decode(dir: &Dir, rest: &str) -> String {
        let ran = dir.senone(&format!("decode --graph graph.toml --format ctm {rest}")).ok();
        assert_eq!(ran.stderr, "", "{rest}");
        ran.stdout.replace("likelihoods", "logs").replace("probabilities", "logs")
    }

    #[test]
    fn emissions_are_the_formula() {
        let dir = with_graph();
        let priors = [0.7f32, 0.1, 0.2];
        npy::write(&dir.path("logs.npy"), &doubtful(60)).unwrap();
        npy::write(&dir.path("probabilities.npy"), &map(&doubtful(60), |_, cell| cell.exp())).unwrap();
        let emission = |pdf: usize, cell: f32| 0.8 * (cell - 0.6 * priors[pdf].ln());
        npy::write(&dir.path("likelihoods.npy"), &map(&doubtful(60), emission)).unwrap();
        dir.write("priors", "0.7 0.1 0.2");
        let scales = "--acoustic-scale 0.8 --prior-scale 0.6 --priors priors";
        let decode = |dir: &Dir, rest: &str| decode(dir, &format!("--insertion-penalty -0.5 {rest}"));
        let expected = decode(&dir, "--posteriors likelihoods.npy --posterior-kind likelihood");
        assert_eq!(decode(&dir, &format!("--posteriors logs.npy {scales}")), expected);
        assert_eq!(decode(&dir, &format!("--posteriors probabilities.npy {scales}")), expected);
        assert_eq!(decode(&dir, &format!("--posteriors logs.npy --posterior-kind log {scales}")), expected);
        // Each of the scales matters here.
        for other in ["--acoustic-scale 0.2 --prior-scale 0.6", "--acoustic-scale 0.8 --prior-scale 0"] {
            assert_ne!(decode(&dir, &format!("--posteriors logs.npy --priors priors {other}")), expected);
        }
        assert_eq!(decode(&dir, &format!("--posteriors logs.npy {scales} --exact")), expected);
    }

    #[test]
    fn priors_come_in_many_forms() {
        let dir = with_graph();
        let vector = Matrix::from_vec(1, 3, vec![70.0, 10.0, 20.0]).unwrap();
        npy::write(&dir.path("npy"), &vector).unwrap();
        npy::write(&dir.path("column"), &Matrix::from_vec(3, 1, vec![0.7, 0.1, 0.2]).unwrap()).unwrap();
        dir.write("counts", " [ 70 10 20 ]\n");
        dir.write("lines", "7e3\n1e3\n2e3\n");
        dir.write("logs", "-0.35667494 -2.3025851 -1.6094379\n");
        let mut kaldi = b"\0BFV \x04\x03\0\0\0".to_vec();
        kaldi.extend(vector.as_slice().iter().flat_map(|value| value.to_le_bytes()));
        dir.write("kaldi", kaldi);
        for form in ["npy", "column", "counts", "lines", "logs", "kaldi"] {
            let priors = read_priors(&dir.path(form)).unwrap();
            for (found, expected) in priors.log().iter().zip([0.7f32, 0.1, 0.2]) {
                assert!((found - expected.ln()).abs() < 1e-6, "{form}: {found}");
            }
        }
    }

    #[test]
    fn wrong_priors_are_named() {
        let dir = with_graph();
        npy::write(&dir.path("one.npy"), &sentence()).unwrap();
        npy::write(&dir.path("square.npy"), &sentence()).unwrap();
        dir.write("four", "1 2 3 4");
        dir.write("word", "1 2\nthree\n");
        dir.write("log10", "-0.5 -0.5 -0.5");
        dir.write("mixed", "-0.5 0.5 1");
        dir.write("empty", "");
        dir.write("cut.npy", b"\x93NUMPY\x01");
        let cases = [
            ("four", "four: 4 priors, expected 3: one for each pdf of the graph"),
            ("word", "word:2: `three` is not a number: expected a number for each pdf"),
            ("log10", "log10: log-priors whose probabilities sum to 1.8196: expected 1, are they natural logs?"),
            ("mixed", "mixed: the log-prior of pdf 1 is 0.5: expected a number up to 0"),
            ("empty", "empty: no pdf has a frame aligned to it: align some utterances first"),
            ("square.npy", "square.npy: a matrix of 10 x 3: expected a vector with a prior for each pdf"),
            ("cut.npy", "cut.npy: cut off within its header"),
            ("none", "none: cannot read: No such file or directory (os error 2)"),
        ];
        for (priors, message) in cases {
            let line = format!("decode --posteriors one.npy --graph graph.toml --priors {priors}");
            assert_eq!(dir.senone(&line).refused(), message);
        }
    }

    #[test]
    fn a_pdf_without_frames_is_never_recognised_and_said() {
        let dir = with_graph();
        npy::write(&dir.path("one.npy"), &sentence()).unwrap();
        dir.write("priors", "5 0 5");
        let ran = dir.senone("decode --posteriors one.npy --graph graph.toml --priors priors").ok();
        assert_eq!(ran.stderr, "senone: priors: pdfs with a prior of 0, which are never recognised: 1\n");
        assert!(!ran.stdout.contains("  a\n") && ran.stdout.contains("  b\n"), "{}", ran.stdout);
    }

    #[test]
    fn without_priors_posteriors_are_used_as_they_are() {
        let dir = with_graph();
        npy::write(&dir.path("logs.npy"), &doubtful(60)).unwrap();
        let ran = dir.senone("decode --posteriors logs.npy --graph graph.toml --format ctm").ok();
        let notice = "senone: no --priors: posteriors are used as they are, with a prior scale of 0\n";
        assert_eq!(
            (ran.stderr.as_str(), &ran.stdout),
            (notice, &decode(&dir, "--posteriors logs.npy --prior-scale 0"))
        );
        let line = "decode --posteriors logs.npy --graph graph.toml --prior-scale 0.5";
        assert_eq!(dir.senone(line).refused(), "no priors that --prior-scale could weigh: add --priors FILE");
        let line = format!("{line} --posterior-kind likelihood");
        assert_eq!(dir.senone(&line).refused(), "no priors that --prior-scale could weigh: likelihoods take none");
        dir.write("priors", "1 1 1");
        let message = dir.senone(&line).arg("--priors").arg("priors").refused();
        assert_eq!(message, "priors: likelihoods take no priors: leave out --priors, or state another kind");
    }

    #[test]
    fn the_n_gram_of_the_graph_file_is_weighed() {
        let dir = with_graph();
        let arpa = "\\data\\\nngram 1=5\n\\1-grams:\n-99\t<s>\n-0.3\t</s>\n-0.1\tsil\n-4\ta\n-0.1\tb\n\\end\\\n";
        dir.write("lm/phones.arpa", arpa);
        dir.write("lm.toml", format!("{GRAPH}[lm]\nfile = \"lm/phones.arpa\"\nscale = 0\n"));
        npy::write(&dir.path("one.npy"), &sentence()).unwrap();
        let line = "decode --posteriors one.npy --prior-scale 0 --format ctm --graph";
        let decode = |rest: &str| dir.senone(&format!("{line} {rest}"));
        assert_eq!(decode("lm.toml").ok().stdout, phones("one"));
        assert_eq!(decode("lm.toml --lm-scale 0").ok().stdout, phones("one"));
        let weighed = decode("lm.toml --lm-scale 5").ok().stdout;
        assert!(!weighed.contains(" a\n"), "{weighed}");
        dir.edit("lm.toml", "scale = 0", "scale = 5");
        assert_eq!(decode("lm.toml").ok().stdout, weighed);
        assert_eq!(decode("graph.toml --lm-scale 5").refused(), "graph.toml: no [lm] that --lm-scale could weigh");
    }
}

mod bad_input {
    use super::*;

    #[test]
    fn what_cannot_be_decoded_is_named_and_the_others_are_decoded() {
        let dir = with_graph();
        let spoilt = |cell: f32| {
            let mut matrix = sentence();
            matrix.row_mut(4)[1] = cell;
            matrix
        };
        let wide = Matrix::from_vec(4, 2, vec![0.5; 8]).unwrap();
        let mut logits = sentence();
        logits.row_mut(2).iter_mut().for_each(|cell| *cell += 3.0);
        let entries = [
            ("first", sentence()),
            ("nan", spoilt(f32::NAN)),
            ("infinite", spoilt(f32::INFINITY)),
            ("empty", Matrix::zeros(0, 0)),
            ("narrow", wide),
            ("short", sure(&[1])),
            ("logits", logits),
            ("first", sentence()),
            ("dead", map(&sure(&[0, 0, 1, 1]), |_, _| f32::NEG_INFINITY)),
            ("last", sentence()),
        ];
        let reasons = [
            "nan: posteriors: a value in frame 4 is not a finite number",
            "infinite: posteriors: a value in frame 4 is not a finite number",
            "empty: the matrix is empty: expected a row of posteriors for each frame",
            "narrow: the acoustic model scores 2 pdfs but the graph uses 3: they must be trained for each other",
            "short: no legal path: 1 search frames given, the shortest legal sequence needs 2: the audio is too short",
            "logits: neither posteriors nor their natural logs: values lie from -3.912023 to 2.959178, and the exponentials \
             of frame 2 sum to 20.0855, not to 1: if that is as it should be, state the kind of posteriors",
            "first: an utterance of this name came before: names must differ",
            "dead: neither posteriors nor their natural logs: values lie from -inf to -inf, and the exponentials of frame 0 \
             sum to 0.0000, not to 1: if that is as it should be, state the kind of posteriors",
        ];
        for (file, write) in [("text.ark", text_entry as fn(&str, &Matrix) -> Vec<u8>), ("binary.ark", binary_entry)] {
            dir.write(file, entries.iter().flat_map(|(name, matrix)| write(name, matrix)).collect::<Vec<u8>>());
            let ran = dir.senone(&format!("{DECODE} --posteriors {file}")).run();
            assert_eq!((ran.status, ran.stdout), (1, phones("first") + &phones("last")));
            let said = reasons.map(|reason| format!("senone: {file}: utterance {reason}\n")).concat();
            assert_eq!(ran.stderr, said + "senone: 8 of 10 utterances failed\n");
        }
        let ran = dir.senone(&format!("{DECODE} --posteriors binary.ark --posterior-kind log")).run();
        assert!(ran.stdout.contains("\nlogits 1 "), "{}", ran.stdout);
        let reason =
            "utterance dead: no legal path is possible: by search frame 0 each has met a score of minus infinity";
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }

    #[test]
    fn a_broken_file_is_named_and_the_others_are_decoded() {
        let dir = with_graph();
        let whole = binary_entry("u", &sentence());
        let good = binary_entry("good", &sentence());
        dir.write("bad/cut.ark", [good.clone(), whole[..whole.len() - 1].to_vec()].concat());
        dir.write("bad/empty.npy", "");
        let mut huge = b"huge \0BFM \x04".to_vec();
        huge.extend(i32::MAX.to_le_bytes());
        huge.push(4);
        huge.extend(i32::MAX.to_le_bytes());
        dir.write("bad/huge.ark", huge);
        dir.write("bad/junk.npy", b"RIFF\x24\0\0\0WAVE");
        let mut three_dimensions = b"\x93NUMPY\x01\x00\x42\x00".to_vec();
        three_dimensions
            .extend(format!("{:65}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }").bytes());
        dir.write("bad/three.npy", three_dimensions);
        dir.write("bad/script.ark", "s1 none.ark:7\ns2 bad/cut.ark:5\ns3 bad/cut.ark:6\n");
        dir.write("bad/whole.npy", npy_of_columns(&sentence()));
        let ran = dir.senone(&format!("{DECODE} --posteriors none.npy --posteriors bad")).run();
        assert_eq!((ran.status, ran.stdout), (1, ["good", "s2", "whole"].map(phones).concat()));
        let said = [
            "none.npy: cannot read: No such file or directory (os error 2)",
            "bad/cut.ark: utterance u: cut off: 10 x 3 values promised, 29 found",
            "bad/empty.npy: holds no posteriors: the file is empty",
            "bad/huge.ark: utterance huge: cut off: 2147483647 x 2147483647 values promised, 0 found",
            "bad/junk.npy: not a Kaldi archive or script: where a name should stand is no text",
            "bad/script.ark: utterance s1: none.ark: cannot read: No such file or directory (os error 2)",
            "bad/script.ark: utterance s3: bad/cut.ark: not a Kaldi matrix in text or binary",
            "bad/three.npy: a shape of (1, 2, 3), expected one or two dimensions",
        ];
        let said: String = said.iter().map(|line| format!("senone: {line}\n")).collect();
        assert_eq!(ran.stderr, said + "senone: 8 of 11 utterances failed\n");
    }

    #[test]
    fn names_that_would_be_one_file_are_refused() {
        let dir = with_graph();
        let archive = ["x/a", "x_a", "y"].map(|name| text_entry(name, &sentence())).concat();
        dir.write("a.ark", archive);
        let ran = dir.senone("decode --graph graph.toml --prior-scale 0 --posteriors a.ark --output out").run();
        assert_eq!((ran.status, dir.list("out")), (1, vec!["x_a.txt".to_owned(), "y.txt".to_owned()]));
        assert!(ran.stderr.starts_with("senone: a.ark: utterance x_a: an utterance of this name came before"));
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let dir = with_graph();
        npy::write(&dir.path("one.npy"), &sentence()).unwrap();
        for (options, message) in [
            ("--frame-shift-ms 0", "frame shift = 0: expected 0.001 to 60000 milliseconds"),
            ("--frame-shift-ms nan", "frame shift = NaN: expected 0.001 to 60000 milliseconds"),
            ("--acoustic-scale 0", "acoustic scale = 0: expected a number above 0"),
            ("--beam -1", "beam = -1: expected a number above 0"),
        ] {
            assert_eq!(dir.senone(&format!("{DECODE} --posteriors one.npy {options}")).refused(), message);
        }
        let misused = |line: &str| dir.senone(line).misused();
        assert!(misused("decode --graph graph.toml").contains("required arguments were not provided"));
        assert!(misused("decode --posteriors one.npy --posterior-kind odds").contains("[possible values: log, "));
        let message = dir.senone("decode --posteriors one.npy --graph none.toml").refused();
        assert_eq!(message, "none.toml: cannot read: No such file or directory (os error 2)");
        assert!(!dir.path("out").exists());
    }
}

/// With a trained model: its graph, its priors, its frames.
#[cfg(feature = "neural")]
mod with_a_model {
    use std::path::Path;

    use senone::audio::{self, AudioOptions, Channel};
    use senone::bundle::Bundle;
    use senone::decode::posteriors;

    use super::super::toy::{self, TOY};
    use super::*;

    fn recording() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sense-and-sensibility.wav")
    }

    fn heard(bundle: &Bundle, path: &Path) -> Matrix {
        let sample_rate_hz = bundle.description.features.sample_rate_hz;
        let audio = audio::read(path, &AudioOptions { sample_rate_hz, channel: Channel::Mix }).unwrap();
        posteriors(bundle, &audio.samples).unwrap().0
    }

    /// Rows of a CTM: phone, start and end in milliseconds. The last ends with the recording, or with its last frame.
    fn rows(ctm: &str) -> Vec<(String, i64, i64)> {
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let milliseconds = |field: &str| (1000.0 * field.parse::<f64>().unwrap()).round() as i64;
            let start = milliseconds(fields[2]);
            (fields[4].to_owned(), start, start + milliseconds(fields[3]))
        };
        ctm.lines().map(row).collect()
    }

    #[test]
    fn posteriors_of_the_built_in_model_decode_as_its_recording_does() {
        let dir = Dir::new();
        let heard = heard(&Bundle::builtin().unwrap(), &recording());
        npy::write(&dir.path("u.npy"), &heard).unwrap();
        npy::write(&dir.path("probabilities.npy"), &map(&heard, |_, cell| cell.exp())).unwrap();
        dir.write("text.ark", text_entry("u", &heard));
        dir.write("binary.ark", binary_entry("u", &heard));
        for options in ["", "--acoustic-scale 1.5 --insertion-penalty -1 --prior-scale 0.5 --lm-scale 0.9 --beam 12"] {
            let direct = dir.senone(&format!("decode --format ctm {options}")).arg(recording()).ok().stdout;
            let mut expected = rows(&direct);
            let last = expected.last_mut().unwrap();
            assert_eq!((last.2, heard.rows()), (2990, 100));
            last.2 = 3000;
            for file in ["u.npy", "probabilities.npy", "text.ark", "binary.ark"] {
                let ran = dir.senone(&format!("decode --format ctm {options} --posteriors {file}")).ok();
                assert_eq!((rows(&ran.stdout), ran.stderr.as_str()), (expected.clone(), ""), "{file} {options}");
            }
        }
        let slow = dir.senone("decode --format ctm --frame-shift-ms 60 --posteriors u.npy").ok().stdout;
        assert_eq!(rows(&slow).last().unwrap().2, 6000);
    }

    #[test]
    fn a_model_gives_graph_priors_and_scales_but_its_graph_file_only_the_graph() {
        let dir = toy::with_model();
        let wav = TOY.utterance("test-5-0");
        npy::write(&dir.path("u.npy"), &heard(&Bundle::open(&dir.path("model")).unwrap(), &wav)).unwrap();
        let times = |ctm: String| rows(&ctm).into_iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
        let direct = times(dir.senone("decode --format ctm --model model").arg(&wav).ok().stdout);
        let decode = |rest: &str| dir.senone(&format!("decode --format ctm --posteriors u.npy {rest}"));
        assert_eq!(times(decode("--model model").ok().stdout), direct);
        let ran = decode("--graph model/graph.toml").ok();
        assert!(ran.stderr.starts_with("senone: no --priors"), "{}", ran.stderr);
        assert_eq!(times(ran.stdout).iter().map(|row| row.1 % 10).max(), Some(0));
        assert_eq!(
            times(decode("--model model --graph model/graph.toml --lm-scale 0").run().stdout).len(),
            0,
            "no [lm]"
        );
        let own = times(decode("--model model --graph model/graph.toml").ok().stdout);
        assert_eq!(
            own,
            times(dir.senone("decode --format ctm --model model --graph model/graph.toml").arg(&wav).ok().stdout)
        );
        let message = decode("--posterior-kind log").refused();
        assert!(
            message.starts_with("u.npy: utterance u: the acoustic model scores 6 pdfs but the graph uses "),
            "{message}"
        );
        dir.write("ones", "1 1 1 1 1 1");
        assert_ne!(
            decode("--model model --priors ones").ok().stdout,
            decode("--model model --prior-scale 3").ok().stdout
        );
    }

    #[test]
    fn audio_and_posteriors_do_not_mix() {
        let dir = toy::with_model();
        let said = dir.senone("decode --posteriors u.npy v.npy").refused();
        assert!(said.starts_with("v.npy: audio is not decoded together with posteriors"), "{said}");
        assert!(dir.senone("decode --posteriors u.npy --channel 1").misused().contains("cannot be used with"));
        assert!(dir.senone("decode a.wav --priors p").misused().contains("--posteriors <FILE>"));
    }
}
