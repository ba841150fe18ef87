//! A graph file from what a Kaldi user has: `phones.txt`, `lexicon.txt`, `words.txt`, an ARPA file.
//!
//! Kaldi's phones carry their place in the word (`AH_B`, `_I`, `_E`, `_S`), which is taken off, as stress digits of ARPABET are;
//! `<eps>` and the disambiguation symbols (`#0`) are no phones. Pauses may stand between words, and nothing else is forbidden:
//! what may follow what is left to the lexicon and the language model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::lexicon::Lexicon;
use super::spec::GraphSpec;
use super::written::{class_name, list, symbol};
use super::{check, lexicon};
use crate::settings::quoted;
use crate::spelling::{lower, without_stress};
use crate::{Error, Result};

/// The files, and what is known of them.
#[derive(Debug, Clone, Default)]
pub struct KaldiFiles {
    /// A table of phones: a name and a number a line.
    pub phones: PathBuf,
    /// Pronunciations: `lexicon.txt` or `lexiconp.txt`.
    pub lexicon: Option<PathBuf>,
    /// A table of words, which the lexicon must have.
    pub words: Option<PathBuf>,
    /// An n-gram: over words with a lexicon, else over phones.
    pub lm: Option<PathBuf>,
    /// The phones that are pauses; those of SIL, SPN and NSN, in any case, when none is named.
    pub pauses: Vec<String>,
}

/// Kaldi's usual names of phones that are no speech.
const PAUSES: [&str; 3] = ["SIL", "SPN", "NSN"];
/// The one that stands for words that nobody knows.
const UNKNOWN: &str = "SPN";

/// Words of `words.txt` that no lexicon has.
const SPECIAL_WORDS: [&str; 4] = ["<eps>", "<s>", "</s>", "#0"];

/// The text of a graph file, which has been compiled, as `senone graph check` does. Files stand in it as `files` names them.
///
/// # Errors
/// [`Error::Io`]; [`Error::TextFile`] with the line that has no name and number, a phone or word that its table lacks, no phones, or
/// what no graph file or dictionary may have; [`Error::Other`] when there is no phone or no pause that was named; [`Error::Config`]
/// when no graph can be made of it all.
pub fn graph_file(files: &KaldiFiles) -> Result<String> {
    let phones = phones(&files.phones)?;
    let pauses = pauses(files, &phones)?;
    if let Some(lexicon) = &files.lexicon {
        check_lexicon(lexicon, &phones, files.words.as_deref())?;
    }
    let text = written(files, &phones, &pauses);
    checked(files, &text)?;
    Ok(text)
}

/// Whether the graph file `text` is one of which a graph can be made.
fn checked(files: &KaldiFiles, text: &str) -> Result<()> {
    let spec = GraphSpec::parse_as(Path::new("graph.toml"), text);
    let report = spec.and_then(|spec| check::report(&spec));
    report.map(|_| ()).map_err(|error| match error {
        Error::GraphFile { reason, .. } => {
            let path = files.lm.as_ref().or(files.lexicon.as_ref()).unwrap_or(&files.phones);
            Error::Config { path: path.clone(), reason }
        }
        other => other,
    })
}

fn read(path: &Path) -> Result<String> {
    crate::input::text(path)
}

fn wrong(path: &Path, line: usize, reason: String) -> Error {
    Error::TextFile { path: path.to_owned(), line, reason }
}

/// The names of a table of names and numbers, with their lines.
fn table(path: &Path) -> Result<Vec<(usize, String)>> {
    let text = read(path)?;
    let lines = text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let name = |(line, number): (&str, usize)| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [name, id] if id.parse::<u64>().is_ok() => Ok((number, name.to_owned())),
        _ => Err(wrong(path, number, format!("expected a name and a number, found {line:?}"))),
    };
    lines.map(name).collect()
}

/// A phone without its place in the word and its stress.
fn folded(phone: &str) -> &str {
    let whole = ["_B", "_I", "_E", "_S"].iter().find_map(|place| phone.strip_suffix(place)).filter(|w| !w.is_empty());
    without_stress(whole.unwrap_or(phone))
}

fn is_phone(name: &str) -> bool {
    name != "<eps>" && !(name.len() > 1 && name.starts_with('#'))
}

/// The phones in the table's order, each once.
fn phones(path: &Path) -> Result<Vec<String>> {
    let mut phones: Vec<String> = vec![];
    let mut known = BTreeSet::new();
    for (line, name) in table(path)?.into_iter().filter(|(_, name)| is_phone(name)) {
        if folded(&name) == "*" {
            let reason = "a phone called * would stand for every phone in a graph file: give it another name, here and in the lexicon";
            return Err(wrong(path, line, reason.into()));
        }
        if known.insert(folded(&name).to_owned()) {
            phones.push(folded(&name).to_owned());
        }
    }
    match phones.is_empty() {
        true => Err(Error::Other(format!("{}: no phone: expected a name and a number a line", path.display()))),
        false => Ok(phones),
    }
}

/// The pauses among `phones`, in their order.
fn pauses(files: &KaldiFiles, phones: &[String]) -> Result<Vec<String>> {
    if let Some(missing) = files.pauses.iter().find(|pause| !phones.contains(pause)) {
        let path = files.phones.display();
        return Err(Error::Other(format!("the pause {missing} is not a phone of {path}")));
    }
    let usual = |phone: &String| match files.pauses.is_empty() {
        true => PAUSES.contains(&phone.to_uppercase().as_str()),
        false => files.pauses.contains(phone),
    };
    Ok(phones.iter().filter(|phone| usual(phone)).cloned().collect())
}

/// Every phone of the lexicon is known as the dictionary's reader has it, and every word of the table has a pronunciation.
fn check_lexicon(path: &Path, phones: &[String], words: Option<&Path>) -> Result<()> {
    let known: BTreeSet<&str> = phones.iter().map(String::as_str).collect();
    let dictionary = Lexicon::read(path)?;
    if let Some((line, word, phone)) = dictionary.first_without(|phone| known.contains(phone)) {
        return Err(match known.contains(folded(phone)) {
            true => wrong(
                path,
                line,
                format!("the phone {phone} of {word} has its place in the word at its end: {PLACELESS}"),
            ),
            false if lexicon::is_number(phone) => dictionary.unknown_phone(line, phone, word),
            false => wrong(path, line, format!("the phone {phone} of {word} is not in the table of phones")),
        });
    }
    let Some(words) = words else { return Ok(()) };
    let pronounced: BTreeSet<&str> = dictionary.words().collect();
    let special = |word: &str| SPECIAL_WORDS.contains(&word) || (word.len() > 1 && word.starts_with('#'));
    match table(words)?.into_iter().find(|(_, word)| !special(word) && !pronounced.contains(lower(word).as_str())) {
        Some((line, word)) => {
            Err(wrong(words, line, format!("word {word} is not in {}: add a pronunciation", path.display())))
        }
        None => Ok(()),
    }
}

/// What to do about `AA_B` in a lexicon.
const PLACELESS: &str = "bring the lexicon of data/local/dict, which has phones without _B, _I, _E and _S";

fn written(files: &KaldiFiles, phones: &[String], pauses: &[String]) -> String {
    let speech: Vec<&String> = phones.iter().filter(|phone| !pauses.contains(phone)).collect();
    let mut classes = String::new();
    let mut forbidden = String::new();
    let mut topology = String::new();
    let mut optional = String::new();
    if !pauses.is_empty() {
        let pause = class_name("pause", phones);
        classes += &format!("{pause} = {}\n", list(pauses));
        optional = format!("optional = [{}]\n", symbol(&pause));
        topology = format!("\n[topology.{pause}]\nstates = 5\nmin_frames = 5\nself_loop = 0.75\n");
        for phone in pauses.iter().map(|phone| symbol(phone)) {
            forbidden += &format!(
                "\n[[forbid]]                            # a pause lasts, it is not said twice\nfrom = {phone}\nto = {phone}\n"
            );
        }
    }
    if !speech.is_empty() {
        classes += &format!("{} = {}\n", class_name("speech", phones), list(&speech));
    }
    format!(
        "# Made by `senone graph kaldi`; files are looked for beside this one.\nformat = 1\nname = \"kaldi\"\n{optional}\n[classes]\n\
         {classes}\n[boundary]\nstart = \"*\"\nend = \"*\"\n\n[[allow]]\nfrom = \"*\"\nto = \"*\"\n{forbidden}\n[topology.default]\n\
         states = 3\nmin_frames = 3\nself_loop = 0.75\n{topology}{}",
        words(files, phones)
    )
}

/// `[lexicon]` and `[lm]`.
fn words(files: &KaldiFiles, phones: &[String]) -> String {
    let path = |path: &Path| quoted(&path.display().to_string());
    let mut text = String::new();
    if let Some(lexicon) = &files.lexicon {
        text += &format!("\n[lexicon]\nfile = {}\n", path(lexicon));
        if phones.iter().any(|phone| phone == UNKNOWN) {
            text += &format!("unknown = \"{UNKNOWN}\"\n");
        }
    }
    if let Some(lm) = &files.lm {
        text += &format!("\n[lm]\nfile = {}\n", path(lm));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::GraphSpec;
    use super::*;

    const PHONES: &str = "<eps> 0\nSIL 1\nSIL_B 2\nSIL_E 3\nSIL_I 4\nSIL_S 5\nSPN_S 6\nAH0_B 7\nAH1_E 8\nAH_I 9\nT_B 10\nT_S 11\n_B 12\n#0 13\n\
        #1 14\n";

    fn files(folder: &Path, named: &[(&str, &str)]) -> KaldiFiles {
        let mut files = KaldiFiles { phones: folder.join("phones.txt"), ..KaldiFiles::default() };
        for (name, text) in named {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            match *name {
                "lexicon.txt" => files.lexicon = Some(path),
                "words.txt" => files.words = Some(path),
                "lm.arpa" => files.lm = Some(path),
                _ => {}
            }
        }
        files
    }

    #[test]
    fn phones_are_folded_and_pauses_optional() {
        let folder = tempfile::tempdir().unwrap();
        let text = graph_file(&files(folder.path(), &[("phones.txt", PHONES)])).unwrap();
        let spec = GraphSpec::parse(&text).unwrap();
        assert_eq!(spec.symbols().names(), ["SIL", "SPN", "AH", "T", "_B"]);
        let id = |name: &str| spec.symbols().get(name).unwrap();
        assert_eq!(spec.optional(), [id("SIL"), id("SPN")]);
        for from in spec.symbols().ids() {
            for to in spec.symbols().ids() {
                let twice = from == to && spec.optional().contains(&from);
                assert_eq!(spec.follows(from, to), !twice);
            }
        }
        assert_eq!((spec.topology(id("SIL")).states(), spec.topology(id("AH")).states()), (5, 3));
        let named = KaldiFiles { pauses: vec!["T".into()], ..files(folder.path(), &[]) };
        let spec = GraphSpec::parse(&graph_file(&named).unwrap()).unwrap();
        assert_eq!(spec.optional().len(), 1);
        let bare = files(folder.path(), &[("phones.txt", "a 1\nspeech 2\n")]);
        assert!(GraphSpec::parse(&graph_file(&bare).unwrap()).unwrap().optional().is_empty());
    }

    #[test]
    fn lexicon_and_language_model_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let lexicon = "at AH0 T\nAT AH1 T T\n<UNK> SPN\n";
        let arpa = "\\data\\\nngram 1=4\n\\1-grams:\n-1 </s>\n-99 <s>\n-1 at\n-1 <UNK>\n\\end\\\n";
        let words = "<eps> 0\nat 1\n<UNK> 2\n#0 3\n<s> 4\n</s> 5\n";
        let all = [("phones.txt", PHONES), ("lexicon.txt", lexicon), ("words.txt", words), ("lm.arpa", arpa)];
        let text = graph_file(&files(folder.path(), &all)).unwrap();
        let path = |name: &str| quoted(&folder.path().join(name).display().to_string());
        let expected = format!(
            "\n[lexicon]\nfile = {}\nunknown = \"SPN\"\n\n[lm]\nfile = {}\n",
            path("lexicon.txt"),
            path("lm.arpa")
        );
        assert!(text.ends_with(&expected), "{text}");
    }

    #[test]
    fn faults_are_told_with_their_lines() {
        let refused = |named: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            let message = graph_file(&files(folder.path(), named)).unwrap_err().to_string();
            message.replace(&format!("{}/", folder.path().display()), "")
        };
        let phones = ("phones.txt", PHONES);
        assert_eq!(
            refused(&[("phones.txt", "SIL 1\nAH\n")]),
            "phones.txt:2: expected a name and a number, found \"AH\""
        );
        assert_eq!(refused(&[("phones.txt", "#0 1\n")]), "phones.txt: no phone: expected a name and a number a line");
        let stranger = refused(&[phones, ("lexicon.txt", "at AH T\nto T UW\n")]);
        assert_eq!(stranger, "lexicon.txt:2: the phone UW of to is not in the table of phones");
        assert_eq!(
            refused(&[phones, ("lexicon.txt", "at\n")]),
            "lexicon.txt:1: found 'at': expected its phones after it"
        );
        let lacking = refused(&[phones, ("lexicon.txt", "at AH T\n"), ("words.txt", "at 1\nto 2\n")]);
        assert_eq!(lacking, "words.txt:2: word to is not in lexicon.txt: add a pronunciation");
        let star = refused(&[("phones.txt", "SIL 1\n*_B 2\n")]);
        assert!(star.starts_with("phones.txt:2: a phone called * would stand for every phone"), "{star}");
        let folder = tempfile::tempdir().unwrap();
        let named = KaldiFiles { pauses: vec!["sp".into()], ..files(folder.path(), &[phones]) };
        assert!(graph_file(&named).unwrap_err().to_string().starts_with("the pause sp is not a phone of "));
    }

    /// What the reader of the graph file or of its dictionary would refuse is refused before it is written.
    #[test]
    fn what_is_written_can_be_read() {
        let refused = |lexicon: &str, lm: Option<&str>| {
            let folder = tempfile::tempdir().unwrap();
            let mut named = vec![("phones.txt", PHONES), ("lexicon.txt", lexicon)];
            named.extend(lm.map(|text| ("lm.arpa", text)));
            let message = graph_file(&files(folder.path(), &named)).unwrap_err().to_string();
            message.replace(&format!("{}/", folder.path().display()), "")
        };
        let placed = refused("at AH T\nto T_B AH_E\n", None);
        assert_eq!(
            placed,
            format!("lexicon.txt:2: the phone T_B of to has its place in the word at its end: {PLACELESS}")
        );
        let whole = refused("at 1 AH T\n", None);
        assert!(
            whole.starts_with("lexicon.txt:1: '1' of 'at' is no symbol of the graph; if it is a probability: "),
            "{whole}"
        );
        let mixed = refused("at AH T\nat 0.5 AH T T\n", None);
        assert!(mixed.starts_with("lexicon.txt:2: '0.5' of 'at' is no symbol"), "{mixed}");
        assert!(refused("\n;;; nothing\n", None).starts_with("lexicon.txt:1: no entry"));
        let pauses = refused("sil SIL\n", None);
        assert!(pauses.starts_with("lexicon.txt: no word of the dictionary is more than a pause"), "{pauses}");
        let arpa = "\\data\\\nngram 1=3\n\\1-grams:\n-1 </s>\n-99 <s>\n-1 to\n\\end\\\n";
        assert!(refused("at AH T\n", Some(&arpa.replace("=3", "=4"))).starts_with("lm.arpa:"));
        let repeated = refused("at AH SIL SIL\n", None);
        assert!(
            repeated.starts_with("lexicon.txt:1: the graph does not allow SIL -> SIL, which is in 'at'"),
            "{repeated}"
        );
    }
}
