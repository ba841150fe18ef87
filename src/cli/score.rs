//! `senone score`: files to references and hypotheses, and the report as text.
//!
//! Which of the three layouts a file has is seen from its name and its first line: CTM by the ending `.ctm`, a table by a
//! header with the column `utterance`, else a line per utterance, its name first (Kaldi's `text`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
#[cfg(feature = "neural")]
use senone::bundle::{Bundle, Score};
use senone::data::manifest::{Manifest, Utterance};
use senone::formats::{ctm, lab};
use senone::graph::lexicon::Lexicon;
#[cfg(feature = "neural")]
use senone::metrics::ScoreReport;
use senone::metrics::{
    Calibration, Hypotheses, Rated, Reference, ScoreOptions, Transcript, Unit, compare, judge, score, words_of,
};
use senone::phones::{PAUSES, PhoneMap, PhoneNames};
use senone::pinyin::Tones;
use senone::{Error, Result};

use super::read_corpus;

/// Print the phone error rate of decoded phones, or the word error rate of words, against a reference
///
/// Files are read as CTM when they end in .ctm, as a master label file of HTK when in .mlf, as a tab-separated table when the first line names a column `utterance`, else as
/// one line per utterance: its name, then its labels. Before labels are compared, the stress digits of ARPABET vowels are
/// stripped, and with `--lexicon pinyin` the tones of Mandarin finals; then --phones and --fold apply, then silence is dropped. The interval
/// is a bootstrap over speakers.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// What was said: a manifest or a corpus of another layout, with phones or words, a CTM, an MLF, or lines of text
    pub reference: PathBuf,

    /// What was decoded: a CTM, an MLF, a table with the columns utterance and phones, or lines of text
    pub hypothesis: PathBuf,

    /// Pronunciations of the reference's words; the one that fits best counts. Lines and CTM then hold words, and so does a
    /// manifest where it has no phones. `pinyin` or `pinyin-toned`: syllables of Mandarin; with `pinyin` tones do not count
    #[arg(long, value_name = "FILE")]
    pub lexicon: Option<PathBuf>,

    /// Words of a manifest or corpus are phones already, one a token
    #[arg(long, conflicts_with = "lexicon")]
    pub words_are_phones: bool,

    /// Compare words: labels, and the words of a manifest, without case and punctuation
    #[arg(long, conflicts_with_all = ["lexicon", "words_are_phones", "phones"])]
    pub words: bool,

    /// Count phones by these names: ipa, arpabet, xsampa, timit39 (39 of Lee & Hon), or a file of lines `A B`; a line `A` drops A
    #[arg(long, value_name = "NAMES", value_parser = str::parse::<PhoneNames>)]
    pub phones: Option<PhoneNames>,

    /// Count phone A as B, whatever --phones says of it; with nothing after the sign, drop A. May be repeated
    #[arg(long, value_name = "A=B", value_parser = parse_fold)]
    pub fold: Vec<(String, String)>,

    /// Labels to drop on both sides, with commas between [default: what many toolkits call silence and noise; with --words
    /// <eps>, <sil>, <s>, </s>]
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub silence: Option<Vec<String>>,

    /// How many substitutions, deletions and insertions to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub confusions: usize,

    /// List every speaker, worst first
    #[arg(long)]
    pub speakers: bool,

    /// Say what the confidences of the hypotheses, a CTM, are worth: how far they are from the share that is right, and how well they
    /// tell right from wrong labels
    #[arg(long)]
    pub confidence: bool,

    /// Score these hypotheses too, and print the paired 95 % interval of the difference
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,

    /// Note the rate in the description of this model, under the name of --test
    #[cfg(feature = "neural")]
    #[arg(long, value_name = "MODEL", requires = "test", conflicts_with = "words")]
    pub record: Option<PathBuf>,

    /// What the test is called in the model's description
    #[cfg(feature = "neural")]
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,
}

fn parse_fold(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("expected A=B, two labels".to_owned()),
    }
}

/// The text to print.
///
/// # Errors
/// When a file cannot be read or the options contradict each other, and those of [`score()`] and [`compare()`].
pub fn run(args: &ScoreArgs) -> Result<String> {
    let lexicon = args.lexicon.as_deref().map(Lexicon::read).transpose()?;
    let spelling = match (&lexicon, args.words_are_phones) {
        (Some(lexicon), _) => Spelling::Pronounced(lexicon),
        _ if args.words => Spelling::Words,
        (None, true) => Spelling::Phones,
        (None, false) => Spelling::Unknown,
    };
    let references = read_references(&args.reference, spelling)?;
    let unit = if args.words { Unit::Word } else { Unit::Phone };
    let hypotheses = read_hypotheses(&args.hypothesis, unit)?;
    let against = args.against.as_deref().map(|path| Ok((path, read_hypotheses(path, unit)?))).transpose()?;
    let all = std::iter::once(&hypotheses).chain(against.iter().map(|(_, other)| other));
    let options = options((args, unit), lexicon.as_ref(), labels(&references, all))?;
    let first = score(&references, &hypotheses, &options)?;
    let mut text = first.to_string();
    #[cfg(feature = "neural")]
    if let (Some(model), Some(test)) = (&args.record, &args.test) {
        record(model, test, &first)?;
    }
    if args.confidence {
        let judged = judge(&references, &read_rated(&args.hypothesis, unit)?, &options);
        text += &Calibration::of(&judged).map_or_else(String::new, |calibration| format!("\n{calibration}"));
    }
    if args.speakers {
        text += &format!("\n{}", first.speaker_table());
    }
    if let Some((path, other)) = &against {
        let second = score(&references, other, &options)?;
        text += &format!("\nagainst {}:\n{second}\n{}", path.display(), compare(&first, &second)?);
    }
    Ok(text)
}

/// Puts the rate into the description of `model`, in place of an earlier one of the same test.
#[cfg(feature = "neural")]
fn record(model: &Path, test: &str, report: &ScoreReport) -> Result<()> {
    let percent = |rate: f64| (10_000.0 * rate).round() / 100.0;
    let interval = report.interval.map(|interval| [percent(interval.low), percent(interval.high)]);
    let mut bundle = Bundle::open(model)?;
    bundle.description.record(Score {
        test: test.to_owned(),
        phone_error_percent: percent(report.total.rate()),
        interval_percent: interval.ok_or_else(|| Error::Other("no interval: it needs two speakers".into()))?,
    });
    bundle.save_description(model)
}

fn options(
    (args, unit): (&ScoreArgs, Unit),
    lexicon: Option<&Lexicon>,
    labels: BTreeSet<&str>,
) -> Result<ScoreOptions> {
    let mut fold = BTreeMap::new();
    for (from, to) in &args.fold {
        match fold.insert(from.clone(), to.clone()) {
            Some(other) if other != *to => {
                return Err(Error::Other(format!("--fold maps {from} to {other} and to {to}: give one of them")));
            }
            _ => {}
        }
    }
    let default = match unit {
        Unit::Word => ScoreOptions::NO_WORDS.as_slice(),
        Unit::Phone => PAUSES.as_slice(),
    };
    let silence = match &args.silence {
        Some(labels) => labels.iter().cloned().collect(),
        None => default.iter().map(|&label| label.to_owned()).collect(),
    };
    let tones = lexicon.map_or(Tones::Kept, Lexicon::tones);
    let top_confusions = args.confusions;
    let mut options = ScoreOptions { unit, tones, fold, silence, top_confusions, ..ScoreOptions::default() };
    if let Some(names) = &args.phones {
        let labels: BTreeSet<&str> = labels.into_iter().map(|label| options.plain(label)).collect();
        for (from, to) in PhoneMap::new(names, labels)?.into_pairs() {
            options.fold.entry(from).or_insert(to);
        }
    }
    Ok(options)
}

/// All labels of both sides.
fn labels<'a>(references: &'a [Reference], hypotheses: impl Iterator<Item = &'a Hypotheses>) -> BTreeSet<&'a str> {
    let slots = references.iter().filter_map(|reference| match &reference.transcript {
        Transcript::Slots(slots) => Some(slots),
        Transcript::UnknownWords(_) => None,
    });
    let said = slots.flatten().flatten().flatten();
    let heard = hypotheses.flat_map(|rows| rows.values().flatten());
    said.chain(heard).map(String::as_str).collect()
}

/// What the words of a manifest are.
#[derive(Clone, Copy)]
enum Spelling<'a> {
    /// Words of this dictionary.
    Pronounced(&'a Lexicon),
    /// Phones.
    Phones,
    /// Words, compared as words.
    Words,
    /// Nobody said.
    Unknown,
}

/// How a file lists utterances.
enum Layout {
    Corpus,
    Ctm,
    Master,
    Table(String),
    Lines(String),
}

fn layout(path: &Path) -> Result<Layout> {
    if path.is_dir() {
        return Ok(Layout::Corpus);
    }
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ctm")) {
        return Ok(Layout::Ctm);
    }
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mlf")) {
        return Ok(Layout::Master);
    }
    let text = senone::input::text(path)?;
    let text = text.trim_start_matches('\u{feff}').to_owned();
    let header = text.lines().next().unwrap_or("");
    let is_table = header.split('\t').any(|column| column.trim() == "utterance");
    Ok(if is_table { Layout::Table(text) } else { Layout::Lines(text) })
}

fn read_references(path: &Path, spelling: Spelling<'_>) -> Result<Vec<Reference>> {
    let rows = match layout(path)? {
        Layout::Table(_) | Layout::Corpus => return manifest_references(&read_corpus(path)?, spelling),
        Layout::Ctm => read_ctm(path)?,
        Layout::Master => read_master(path)?,
        Layout::Lines(text) => read_lines(path, &text)?,
    };
    let transcript = |labels: &[String]| match spelling {
        Spelling::Pronounced(lexicon) => pronounce(&labels.join(" "), lexicon),
        Spelling::Words => Transcript::phones(&words_of(&labels.join(" "))),
        Spelling::Phones | Spelling::Unknown => Transcript::phones(labels),
    };
    let reference = |(name, labels): (String, Vec<String>)| {
        let transcript = transcript(&labels);
        Reference { name, speaker: None, transcript }
    };
    Ok(rows.into_iter().map(reference).collect())
}

fn manifest_references(manifest: &Manifest, spelling: Spelling<'_>) -> Result<Vec<Reference>> {
    let reference = |utterance: &Utterance| {
        let error = |reason: &str| utterance.place.error(format!("utterance {}: {reason}", utterance.name));
        let transcript = match (&utterance.phones, &utterance.words, spelling) {
            (_, Some(words), Spelling::Words) => Transcript::phones(&words_of(words)),
            (_, None, Spelling::Words) => return Err(error("no words: a reference of --words needs them")),
            (Some(phones), ..) => Transcript::phones(phones),
            (None, Some(words), Spelling::Pronounced(lexicon)) => pronounce(words, lexicon),
            (None, Some(words), Spelling::Phones) => Transcript::phones(&words.split_whitespace().collect::<Vec<_>>()),
            (None, Some(_), Spelling::Unknown) => {
                return Err(error(
                    "words without phones: give their pronunciations with --lexicon, say with --words-are-phones that they are phones, or compare words with --words",
                ));
            }
            (None, None, _) => return Err(error("neither phones nor words: a reference needs one of them")),
        };
        // The manifest makes an utterance without speaker its own speaker.
        let speaker = Some(&utterance.speaker).filter(|speaker| **speaker != utterance.name).cloned();
        Ok(Reference { name: one_field(&utterance.name), speaker, transcript })
    };
    manifest.utterances.iter().map(reference).collect()
}

fn pronounce(words: &str, lexicon: &Lexicon) -> Transcript {
    let words = lexicon.words_of(words);
    let unknown: Vec<String> = words.iter().filter(|word| !lexicon.knows(word)).cloned().collect();
    if !unknown.is_empty() {
        return Transcript::UnknownWords(unknown);
    }
    Transcript::Slots(words.iter().filter_map(|word| lexicon.pronunciations(word)).collect())
}

fn read_hypotheses(path: &Path, unit: Unit) -> Result<Hypotheses> {
    let read = match layout(path)? {
        Layout::Ctm => read_ctm(path),
        Layout::Master => read_master(path),
        Layout::Table(text) => read_table(path, &text, unit),
        Layout::Lines(text) => read_lines(path, &text),
        Layout::Corpus => Err(Error::Other(format!("{}: a folder, expected a file of hypotheses", path.display()))),
    }?;
    Ok(match unit {
        Unit::Phone => read,
        Unit::Word => read.into_iter().map(|(name, labels)| (name, words_of(&labels.join(" ")))).collect(),
    })
}

fn read_ctm(path: &Path) -> Result<Hypotheses> {
    let labels = |row: Vec<ctm::TimedLabel>| row.into_iter().map(|timed| timed.label).collect();
    Ok(ctm::read(path)?.into_iter().map(|(name, row)| (name, labels(row))).collect())
}

/// The labels of a CTM with their confidences.
fn read_rated(path: &Path, unit: Unit) -> Result<Rated> {
    if !matches!(layout(path)?, Layout::Ctm) {
        return Err(Error::Other(format!("{}: --confidence needs a CTM, named .ctm", path.display())));
    }
    let rated = |name: &str, timed: ctm::TimedLabel| match timed.confidence {
        None => Err(Error::Other(format!(
            "{}: {name} has {} without a confidence: decode with --confidence",
            path.display(),
            timed.label
        ))),
        Some(confidence) if confidence > 1.0 => Err(Error::Other(format!(
            "{}: {name} has a confidence of {confidence}, expected a number from 0 to 1",
            path.display()
        ))),
        Some(confidence) if unit == Unit::Word => {
            Ok(words_of(&timed.label).into_iter().map(|word| (word, confidence)).collect())
        }
        Some(confidence) => Ok(vec![(timed.label, confidence)]),
    };
    let row = |(name, row): (String, Vec<ctm::TimedLabel>)| {
        let labels: Result<Vec<Vec<(String, f32)>>> = row.into_iter().map(|timed| rated(&name, timed)).collect();
        Ok((name, labels?.concat()))
    };
    ctm::read(path)?.into_iter().map(row).collect()
}

fn read_master(path: &Path) -> Result<Hypotheses> {
    Ok(lab::read_master(path)?.into_iter().map(|(name, labels)| (one_field(&name), labels.into_names())).collect())
}

/// The columns `utterance` and `phones`, or `words`, of a table; others do not matter.
fn read_table(path: &Path, text: &str, unit: Unit) -> Result<Hypotheses> {
    let labels = format!("{}s", unit.noun());
    let header: Vec<&str> = text.lines().next().unwrap_or("").split('\t').map(str::trim).collect();
    let column = |name: &str| {
        let reason = || format!("the header has no column '{name}', expected the columns utterance and {labels}");
        header.iter().position(|&found| found == name).ok_or_else(|| text_error(path, 1, reason()))
    };
    let (utterance, labels) = (column("utterance")?, column(&labels)?);
    let mut rows = Hypotheses::new();
    for (line, number) in text.lines().zip(1..).skip(1).filter(|(line, _)| !line.is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields.len() != header.len() {
            let reason = format!("{} fields: expected {}, as in the header", fields.len(), header.len());
            return Err(text_error(path, number, reason));
        }
        insert(&mut rows, fields[utterance].trim(), fields[labels])
            .map_err(|reason| text_error(path, number, reason))?;
    }
    Ok(rows)
}

fn read_lines(path: &Path, text: &str) -> Result<Hypotheses> {
    let mut rows = Hypotheses::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let (name, labels) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        insert(&mut rows, name, labels).map_err(|reason| text_error(path, number, reason))?;
    }
    Ok(rows)
}

fn insert(rows: &mut Hypotheses, name: &str, labels: &str) -> std::result::Result<(), String> {
    match rows.insert(one_field(name), labels.split_whitespace().map(str::to_owned).collect()) {
        Some(_) => Err(format!("utterance {name} is given twice: names must differ")),
        None => Ok(()),
    }
}

/// A name as a CTM has it, without white space.
fn one_field(name: &str) -> String {
    name.replace(char::is_whitespace, "_")
}

fn text_error(path: &Path, line: usize, reason: String) -> Error {
    Error::TextFile { path: path.to_owned(), line, reason }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use clap::Parser;
    use tempfile::TempDir;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        score: ScoreArgs,
    }

    /// A folder with one corpus in every layout.
    fn folder() -> TempDir {
        let folder = TempDir::new().unwrap();
        let files = [
            (
                "ref.tsv",
                "utterance\taudio\tspeaker\twords\tphones\nu 1\ta.wav\tann\tThe cat.\t\nu2\tb.wav\tbob\tzzz\tB AH1 D\n",
            ),
            ("words.tsv", "utterance\taudio\tspeaker\twords\nu 1\ta.wav\tann\tThe cat.\nu2\tb.wav\tbob\tzzz cat\n"),
            ("bare.tsv", "utterance\taudio\nu1\ta.wav\n"),
            ("words.dict", "the DH AH0\nthe(2) DH IY0\ncat K AE1 T\n"),
            (
                "hyp.ctm",
                "u_1 1 0.0 0.1 SIL\nu_1 1 0.1 0.1 DH\nu_1 1 0.2 0.1 IY\nu_1 1 0.3 0.1 K\nu_1 1 0.4 0.1 AE\n\
                u2 1 0.0 0.1 B\nu2 1 0.1 0.1 AH\nu2 1 0.2 0.1 T\n",
            ),
            ("hyp.tsv", "phones\tutterance\nDH IY K AE T\tu 1\n\nB AH D\tu2\n"),
            ("ref.txt", "u_1 DH IY K AE T\nu2 B AH D\n"),
            ("phones.tsv", "utterance\taudio\twords\nu_1\ta.wav\tDH IY K AE T\nu2\tb.wav\tB AH D\n"),
            (
                "hyp.mlf",
                "#!MLF!#\n\"*/u_1.rec\"\n0 9 SIL\n9 10 DH\n10 20 IY\n20 30 K\n30 40 AE\n.\n\"*/u2.lab\"\nB\nAH\nT\n.\n",
            ),
            ("fold.map", "T D\n\nAE\n"),
            ("bad.map", "T D\nA B C\n"),
            ("ipa.txt", "u_1 ð i k æ t\nu2 b ʌ d\n"),
            ("twice.tsv", "utterance\taudio\tphones\nu_1\ta.wav\tDH QQ K\n"),
            ("words.txt", "u_1 the cat\n\nu2 cat\n"),
            ("twice.txt", "u_1 A\nu_1 B\n"),
            ("pinyin.txt", "u_1 liǎng hao3\nu2 shi4 de\n"),
            ("pinyin.hyp", "u_1 l iang4 h ao3\nu2 sh ix d e5\n"),
        ];
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    /// What `senone score` prints for `line`, whose words that name a file become paths.
    fn printed(folder: &TempDir, line: &str) -> std::result::Result<String, String> {
        let path = |word: &str| Some(folder.path().join(word)).filter(|path| path.exists());
        let words = line.split_whitespace().map(|word| path(word).unwrap_or_else(|| word.into()).into_os_string());
        let line = Line::try_parse_from([std::ffi::OsString::from("score")].into_iter().chain(words));
        run(&line.map_err(|error| error.to_string())?.score).map_err(|error| error.to_string())
    }

    #[test]
    fn every_layout_gives_the_same_score() {
        let folder = folder();
        for reference in ["ref.tsv --lexicon words.dict", "ref.txt"] {
            let text = printed(&folder, &format!("{reference} hyp.ctm")).unwrap();
            assert!(text.contains("PER 25.00 %") && text.contains("S 1 (12.50 %)  D 1 (12.50 %)"), "{text}");
            let text = printed(&folder, &format!("{reference} hyp.tsv")).unwrap();
            assert!(text.starts_with("PER 0.00 %"), "{text}");
        }
        for same in ["hyp.ctm hyp.ctm", "hyp.mlf hyp.ctm", "hyp.ctm hyp.mlf"] {
            assert!(printed(&folder, same).unwrap().starts_with("PER 0.00 %"), "{same}");
        }
        let words = printed(&folder, "words.txt hyp.ctm --lexicon words.dict").unwrap();
        assert!(words.contains("D 1 (12.50 %)") && words.contains("N 8"), "{words}");
    }

    #[test]
    fn unknown_words_leave_their_utterance_out() {
        let text = printed(&folder(), "words.tsv hyp.ctm --lexicon words.dict").unwrap();
        assert!(text.contains("N 5\n"), "{text}");
        assert!(text.contains("words of unknown pronunciation, left out (utterances: 1 of 2): u2 (zzz)"), "{text}");
    }

    #[test]
    fn words_are_compared_without_case_and_punctuation() {
        let folder = folder();
        let text = printed(&folder, "words.tsv words.txt --words").unwrap();
        assert!(
            text.starts_with("WER 25.00 %") && text.contains("S 0 (0.00 %)  D 1 (25.00 %)  I 0 (0.00 %)  N 4"),
            "{text}"
        );
        assert!(text.contains("; WER by speaker: lowest 0.00 % (ann)"), "{text}");
        let text = printed(&folder, "words.txt words.tsv --words --against words.txt --speakers").unwrap();
        assert!(text.starts_with("WER 33.33 %") && text.contains("WER 33.33 % against 0.00 %"), "{text}");
        assert!(text.contains("utterance\tWER %\tS\tD\tI\tN\tutterances\nu2\t100.00\t0\t0\t1\t1\t1\n"), "{text}");
        assert!(
            printed(&folder, "bare.tsv words.txt --words").unwrap_err().contains("no words: a reference of --words")
        );
        assert!(printed(&folder, "words.txt hyp.tsv --words").unwrap_err().contains("no column 'words'"));
    }

    #[test]
    fn options_are_heeded() {
        let folder = folder();
        let text = printed(&folder, "ref.txt hyp.ctm --fold T=D --fold AE= --silence SIL,K --speakers").unwrap();
        assert!(text.contains("folded: AE to nothing, T to D\ndropped as silence: K SIL\n"), "{text}");
        assert!(
            text.contains("\nutterance\tPER %\tS\tD\tI\tN\tutterances\nu_1\t33.33\t0\t1\t0\t3\t1\nu2\t0.00"),
            "{text}"
        );
        let mapped = printed(&folder, "ref.txt hyp.ctm --phones fold.map --silence SIL,K --speakers").unwrap();
        assert_eq!(mapped, text);
        let first = printed(&folder, "ref.txt hyp.ctm --phones fold.map --fold AE=AE").unwrap();
        assert!(first.contains("folded: AE to AE, T to D\n"), "{first}");
        let named = printed(&folder, "ref.txt ipa.txt --phones ipa --confusions 0").unwrap();
        assert!(named.starts_with("PER 0.00 %") && named.contains("AE to æ"), "{named}");
        let toneless = printed(&folder, "pinyin.txt pinyin.hyp --lexicon pinyin --phones ipa --confusions 0").unwrap();
        assert!(toneless.starts_with("PER 0.00 %") && toneless.contains("iang to iaŋ"), "{toneless}");
        let text = printed(&folder, "phones.tsv hyp.tsv --words-are-phones").unwrap();
        assert!(text.starts_with("PER 0.00 %"), "{text}");
        let text = printed(&folder, "ref.txt hyp.ctm --against hyp.tsv --confusions 0").unwrap();
        assert!(!text.contains("most frequent"), "{text}");
        assert!(text.contains("\nPER 25.00 % against 0.00 %: +25.00 points, paired 95 % interval +20.00 to"), "{text}");
    }

    #[test]
    fn errors_say_what_to_do() {
        let folder = folder();
        let cases = [
            (
                "words.tsv hyp.ctm",
                "words.tsv:2: utterance u 1: words without phones: give their pronunciations with --lexicon",
            ),
            ("bare.tsv hyp.ctm", "bare.tsv:2: utterance u1: neither phones nor words"),
            ("ref.txt twice.txt", "twice.txt:2: utterance u_1 is given twice"),
            ("ref.txt bare.tsv", "bare.tsv:1: the header has no column 'phones'"),
            ("ref.txt none.ctm", "none.ctm: cannot read"),
            ("ref.txt hyp.ctm --fold A=B --fold A=C", "--fold maps A to B and to C"),
            ("ref.txt hyp.ctm --fold A", "expected A=B"),
            ("ref.txt hyp.ctm --phones bad.map", "bad.map:2: 'A B C': expected two labels, or one to drop it"),
            ("twice.tsv hyp.ctm --phones ipa", "phone 'QQ' has no name in IPA"),
            ("phones.tsv hyp.ctm --words-are-phones --lexicon words.dict", "cannot be used with"),
        ];
        for (line, message) in cases {
            let found = printed(&folder, line).unwrap_err();
            assert!(found.contains(message), "{line}: {found}");
        }
    }
}
