//! Alignments written as files and read back by other means.

use std::collections::BTreeMap;

use senone::alignment::{Alignment, Segment, Tier};
use senone::formats::{self, Format, atomic, ctm, npy, text};
use senone::matrix::Matrix;

/// Two utterances; labels with all that makes trouble.
fn alignments() -> Vec<Alignment> {
    let segment = |label: &str, start, end, confidence| Segment { label: label.to_owned(), start, end, confidence };
    let phones = vec![
        segment("SIL", 0, 1234, None),
        segment("sh_4", 1234, 5000, Some(0.25)),
        segment("é\"", 5000, 43_999, Some(1.0)),
    ];
    let words = vec![segment("是 \\", 1234, 43_999, None)];
    let tiers = vec![Tier { name: "phones".into(), segments: phones }, Tier { name: "words".into(), segments: words }];
    let one = Alignment {
        utterance: "spk-1".into(),
        samples: 44_100,
        sample_rate: 22_050,
        tiers,
        slots: vec![],
        nbest: vec![],
    };
    let two = Alignment { utterance: "spk-2".into(), ..one.clone() };
    vec![one, two]
}

fn file_of(format: Format) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out").with_extension(format.extension());
    atomic::write(&path, |out| alignments().iter().try_for_each(|one| formats::write(one, format, out))).unwrap();
    (folder, path)
}

#[test]
fn ctm_comes_back_within_a_millisecond() {
    let (_folder, path) = file_of(Format::Ctm);
    let labels = ctm::read(&path).unwrap();
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["spk-1", "spk-2"]);
    for alignment in alignments() {
        let rows = &labels[&alignment.utterance];
        let segments = &alignment.tiers[0].segments;
        assert_eq!(rows.len(), segments.len());
        for (row, segment) in rows.iter().zip(segments) {
            assert_eq!((&row.label, row.confidence), (&segment.label, segment.confidence));
            assert!((row.start_seconds - alignment.seconds(segment.start)).abs() < 0.0006);
            assert!((row.end_seconds - alignment.seconds(segment.end)).abs() < 0.0011);
        }
    }
}

#[test]
fn a_bad_ctm_line_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.ctm");
    std::fs::write(&path, "a 1 0.0 0.5 x\na 1 0.5\n").unwrap();
    let error = ctm::read(&path).unwrap_err().to_string();
    assert!(error.contains("bad.ctm:2: 3 fields"), "{error}");
}

#[test]
fn json_is_one_object_a_line() {
    let (_folder, path) = file_of(Format::Json);
    let content = std::fs::read_to_string(path).unwrap();
    let lines: Vec<serde_json::Value> = content.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    for (line, alignment) in lines.iter().zip(alignments()) {
        assert_eq!(line["utterance"], alignment.utterance);
        assert_eq!((line["seconds"].as_f64(), line["sample_rate"].as_u64()), (Some(2.0), Some(22_050)));
        for tier in &alignment.tiers {
            let rows = line["tiers"][&tier.name].as_array().unwrap();
            assert_eq!(rows.len(), tier.segments.len());
            for (row, segment) in rows.iter().zip(&tier.segments) {
                assert_eq!(row["label"], segment.label);
                assert_eq!(row["start"].as_f64(), Some(alignment.seconds(segment.start)));
                assert_eq!(row["end"].as_f64(), Some(alignment.seconds(segment.end)));
                assert_eq!(row.get("confidence").is_some(), segment.confidence.is_some());
            }
        }
    }
}

/// A TextGrid as Praat understands it: after the header, each tier's numbers and quoted texts in their order.
#[test]
fn every_textgrid_tier_covers_the_whole_recording() {
    let mut out = Vec::new();
    formats::write(&alignments()[0], Format::TextGrid, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut tiers: BTreeMap<String, Vec<(f64, f64, String)>> = BTreeMap::new();
    let (mut name, mut xmin, mut xmax) = (String::new(), 0.0, 0.0);
    for line in text.lines() {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        let unquoted = || value.trim().trim_matches('"').replace("\"\"", "\"");
        match key.trim() {
            "name" => name = unquoted(),
            "xmin" => xmin = value.trim().parse().unwrap(),
            "xmax" => xmax = value.trim().parse().unwrap(),
            "text" => tiers.entry(name.clone()).or_default().push((xmin, xmax, value.trim().to_owned())),
            _ => {}
        }
    }
    assert_eq!(tiers.keys().collect::<Vec<_>>(), ["phones", "words"]);
    for intervals in tiers.values() {
        assert_eq!((intervals[0].0, intervals.last().unwrap().1), (0.0, 2.0));
        assert!(intervals.windows(2).all(|pair| pair[0].1 == pair[1].0), "{intervals:?}");
    }
    let labels = |tier: &str| tiers[tier].iter().map(|interval| interval.2.clone()).collect::<Vec<_>>();
    assert_eq!(labels("phones"), ["\"SIL\"", "\"sh_4\"", "\"é\"\"\"", "\"\""]);
    assert_eq!(labels("words"), ["\"\"", "\"是 \\\"", "\"\""]);
}

#[test]
fn text_of_several_utterances_has_their_names() {
    let mut out = Vec::new();
    for alignment in alignments() {
        text::write_heading(&alignment.utterance, &mut out).unwrap();
        formats::write(&alignment, Format::Text, &mut out).unwrap();
    }
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with(
            "spk-1:\n0.000  0.056  SIL\n0.056  0.227  sh_4  0.250  是 \\\n0.227  1.995  é\"    1.000\nspk-2:\n"
        ),
        "{text}"
    );
}

#[test]
fn a_matrix_comes_back_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.npy");
    let matrix = Matrix::from_vec(3, 2, vec![1.5, -0.0, 3e-38, 4.0, -5e30, 6.0]).unwrap();
    npy::write(&path, &matrix).unwrap();
    assert_eq!(npy::read(&path).unwrap(), matrix);
    std::fs::write(&path, "text").unwrap();
    assert!(npy::read(&path).unwrap_err().to_string().ends_with("m.npy: not a .npy file: the magic bytes are missing"));
}
