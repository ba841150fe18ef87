//! `senone tag score`: tags against a reference.

use std::path::{Path, PathBuf};

use clap::Args;
use senone::data::{ColumnFile, Layout, Sequence};
use senone::metrics::{TagPair, TagScoreOptions, compare_tags, score_tags};
use senone::{Error, Result};

use super::open;

/// `senone tag score`
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// The right tags
    #[arg(value_name = "REF")]
    reference: PathBuf,

    /// The tags to be scored, for the same tokens
    #[arg(value_name = "HYP")]
    hypothesis: PathBuf,

    /// How many confusions to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    confusions: usize,

    /// Score these tags too, and print the paired 95 % intervals of the difference
    #[arg(long, value_name = "HYP")]
    against: Option<PathBuf>,
}

/// The text to print.
pub fn report(args: &ScoreArgs) -> Result<String> {
    let paths = [Some(&args.reference), Some(&args.hypothesis), args.against.as_ref()];
    if paths.into_iter().flatten().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Error::Other("standard input (-) can be read only once".into()));
    }
    let reference = tagged(&args.reference)?;
    let options = TagScoreOptions { top_confusions: args.confusions, ..TagScoreOptions::default() };
    let score = |path: &Path| score_tags(&pair_up(&reference, (&tagged(path)?, path))?, &options);
    let first = score(&args.hypothesis)?;
    let Some(against) = &args.against else { return Ok(first.to_string()) };
    let second = score(against)?;
    Ok(format!("{first}\nagainst {}:\n{second}\n{}", against.display(), compare_tags(&first, &second)?))
}

/// The sequences of a file, which must all be good.
fn tagged(path: &Path) -> Result<Vec<Sequence>> {
    ColumnFile::collect(path, open(path)?, Layout::Tags)?.whole()
}

/// The tags of each sequence on both sides, which must have the same tokens.
fn pair_up<'a>(reference: &'a [Sequence], (hypothesis, path): (&'a [Sequence], &Path)) -> Result<Vec<TagPair<'a>>> {
    let pairs = reference.iter().zip(hypothesis).map(|(reference, hypothesis)| pair(reference, hypothesis));
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    if reference.len() != hypothesis.len() {
        let (path, expected, found) = (path.display(), reference.len(), hypothesis.len());
        let reason = format!("{path}: sequences: {found}, in the reference: {expected}; expected as many");
        return Err(Error::Other(reason));
    }
    Ok(pairs)
}

fn pair<'a>(reference: &'a Sequence, hypothesis: &'a Sequence) -> Result<TagPair<'a>> {
    let lengths = [reference, hypothesis].map(|sequence| sequence.rows().len());
    if reference.columns() > 1 && hypothesis.columns() > 1 {
        let mut tokens = reference.column(0).into_iter().zip(hypothesis.column(0)).enumerate();
        if let Some((token, (expected, found))) = tokens.find(|(_, (expected, found))| expected != found) {
            let line = reference.line(token);
            let reason =
                format!("the token {found:?} is {expected:?} in line {line} of the reference: expected the same");
            return Err(hypothesis.fault(token, reason));
        }
    }
    if lengths[0] != lengths[1] {
        let ([expected, found], line) = (lengths, reference.line(0));
        let reason = format!("tokens: {found}, in the reference, from line {line}: {expected}; expected as many");
        return Err(hypothesis.fault(0, reason));
    }
    Ok(TagPair { reference: reference.tags(), hypothesis: hypothesis.tags() })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tempfile::TempDir;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        score: ScoreArgs,
    }

    /// What `senone tag score ref.tsv hyp.tsv` prints, with the words of `more` after it.
    fn printed(reference: &str, hypothesis: &str, more: &str) -> std::result::Result<String, String> {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("ref.tsv"), reference).unwrap();
        std::fs::write(path("hyp.tsv"), hypothesis).unwrap();
        let words = ["ref.tsv", "hyp.tsv"].into_iter().chain(more.split_whitespace());
        let full = |word: &str| if word.ends_with(".tsv") { path(word).into_os_string() } else { word.into() };
        let line = Line::parse_from(["score".into()].into_iter().chain(words.map(full)));
        let text = report(&line.score).map_err(|error| error.to_string());
        let place = format!("{}/", folder.path().display());
        text.map(|text| text.replace(&place, "")).map_err(|error| error.replace(&place, ""))
    }

    fn scored(reference: &str, hypothesis: &str) -> std::result::Result<String, String> {
        printed(reference, hypothesis, "")
    }

    const REF: &str = "the\tD\ndog\tN\n\nit\tN\nate\tV\n";

    #[test]
    fn what_a_hypothesis_holds_beside_the_tags_does_not_matter() {
        let expected = "tokens 4, right 3\nsequences 2, without error 1 (50.00 %)\n";
        for hypothesis in [
            "the\tD\ndog\tV\n\nit\tN\nate\tV\n",
            "the\tD\tD\ndog\tN\tV\n\nit\tN\tN\nate\tV\tV\n",
            "D\r\nV\r\n\r\nN\r\nV",
        ] {
            let text = scored(REF, hypothesis).unwrap();
            assert!(text.starts_with("accuracy 75.00 %, 95 % interval ") && text.contains(expected), "{text}");
            assert!(text.ends_with("most frequent confusions, reference > hypothesis:\n  N > V                         1   50.0 % of 2 N\n"), "{text}");
        }
    }

    #[test]
    fn a_single_sequence_and_a_tag_of_the_reference_only_are_scored() {
        let text = scored("it\tN\nate\tX\n", "it\tN\nate\tV").unwrap();
        assert!(text.starts_with("accuracy 50.00 %, no interval: it needs two sequences\n"), "{text}");
        assert!(text.ends_with("tags in the reference only: X\ntags in the hypothesis only: V\n"), "{text}");
    }

    #[test]
    fn two_taggers_are_compared() {
        let text = printed("a\tN\n\nb\tV\n", "a\tN\n\nb\tN\n", "--against ref.tsv --confusions 0").unwrap();
        assert!(!text.contains("confusions"), "{text}");
        assert!(text.contains("\nagainst ref.tsv:\naccuracy 100.00 %, "), "{text}");
        let difference = "accuracy 50.00 % against 100.00 %: -50.00 points, paired 95 % interval -100.00 to +0.00; ";
        assert!(text.contains(difference), "{text}");
    }

    #[test]
    fn files_that_do_not_fit_together_are_refused_with_their_line() {
        let cases = [
            ("", "hyp.tsv:1: the file has no sequence: expected one token a line, columns with tabs between"),
            ("the\tD\ndog\tN\n", "hyp.tsv: sequences: 1, in the reference: 2; expected as many"),
            (
                "the\tD\n\ndog\tN\n\nit\tN\nate\tV\n",
                "hyp.tsv:1: sequence 1: tokens: 1, in the reference, from line 1: 2; expected as many",
            ),
            (
                "the\tD\ndog\tN\n\nit\tN\nate\tV\n.\tP\n",
                "hyp.tsv:4: sequence 2: tokens: 3, in the reference, from line 4: 2; expected as many",
            ),
            (
                "the\tD\ndog\tN\n\nit\tN\nsat\tV\n",
                "hyp.tsv:5: sequence 2: the token \"sat\" is \"ate\" in line 5 of the reference: expected the same",
            ),
            (
                "the\tD\ndog\n\nit\tN\nate\tV\n",
                "hyp.tsv:2: sequence 1: 1 column here, but 2 columns in line 1: expected as many",
            ),
        ];
        for (hypothesis, message) in cases {
            assert_eq!(scored(REF, hypothesis).unwrap_err(), message);
        }
    }
}
