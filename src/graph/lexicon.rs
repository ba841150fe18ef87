//! How words are pronounced.
//!
//! A dictionary in the format of the CMU Pronouncing Dictionary comes in; words of transcripts are looked up in it on their way
//! to a transcript graph, and all its words when a graph is over words. Possessives and plurals of its words are derived. Two
//! lexicons need no file: [`pinyin`] and its toned sister, whose words are the syllables of Mandarin.

pub mod pinyin;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::pinyin::Tones;
use crate::spelling::{self, JOINERS, bare, is_of_word, lower, without_stress};
use crate::symbols::{SymbolId, SymbolTable};
use crate::{Error, Result};

/// Words with their pronunciations. Words are in [one spelling](lower); looking one up ignores case and how letters are composed.
#[derive(Debug, Clone)]
pub struct Lexicon {
    path: PathBuf,
    phones: SymbolTable,
    entries: BTreeMap<String, Vec<Pronunciation>>,
    /// Known from the file's name or from the first entry on.
    columns: Option<Columns>,
    /// Whether words are pinyin, in any spelling, and are told apart by their tones.
    pinyin: Option<Tones>,
}

#[derive(Debug, Clone)]
struct Pronunciation {
    /// In the lexicon's own numbering.
    phones: Vec<SymbolId>,
    /// log P(pronunciation | word), natural; 0 where the dictionary has no probabilities.
    weight: f32,
    /// One-based.
    line: usize,
}

/// One way to say a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Its phones.
    pub phones: Vec<String>,
    /// log P(pronunciation | word), natural; 0 where the dictionary has no probabilities.
    pub weight: f32,
    /// The line of the dictionary, one-based, from which it comes.
    pub line: usize,
}

/// What stands in a line of a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// A word and its phones: the CMU dictionary, `lexicon.txt` of Kaldi.
    Plain,
    /// A word, the probability of its pronunciation, and its phones: `lexiconp.txt` of Kaldi.
    Weighed,
}

impl Lexicon {
    /// Reads the dictionary at `path`, see [`Lexicon::parse`]; the paths `pinyin` and `pinyin-toned` are [`Lexicon::pinyin`].
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read as UTF-8, and those of [`Lexicon::parse`].
    pub fn read(path: &Path) -> Result<Self> {
        if let Some(tones) = pinyin::named(path) {
            return Ok(Self::pinyin(tones));
        }
        let text = crate::input::text(path)?;
        Self::parse(path, &text)
    }

    /// Reads the `text` of a dictionary; `path` is for messages.
    ///
    /// A line is a word and its phones, with spaces or tabs between; or, if the file is called `lexiconp.txt` as Kaldi's is, or the
    /// first entry has a number with a point after its word, a word, the probability of the pronunciation and its phones. Further pronunciations
    /// are further lines, the word repeated as it is or as `word(2)`. `;;;` begins a comment line and ` # ` a comment after an
    /// entry. The stress digits of ARPABET vowels (`AH0`) are taken off, other digits (`ang4`) stay; pronunciations that are then
    /// equal are kept once, with the larger probability.
    ///
    /// # Errors
    /// [`Error::TextFile`] when a line has no word or no phones, or when there is no entry at all.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let (phones, entries) = (SymbolTable::new(), BTreeMap::new());
        let columns = path.file_name().filter(|name| *name == "lexiconp.txt").map(|_| Columns::Weighed);
        let mut lexicon = Self { path: path.to_owned(), phones, entries, columns, pinyin: None };
        for (text, line) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            lexicon.read_line(text, line)?;
        }
        if lexicon.entries.is_empty() {
            return Err(lexicon.error(1, "no entry: expected lines of a word and its phones".into()));
        }
        Ok(lexicon)
    }

    fn read_line(&mut self, text: &str, line: usize) -> Result<()> {
        let mut fields = text.split_whitespace();
        let Some(head) = fields.next().filter(|head| !head.starts_with(";;;") && *head != "#") else {
            return Ok(());
        };
        let word = lower(without_variant(head));
        let mut fields = fields.take_while(|field| !field.starts_with('#')).peekable();
        let columns = *self.columns.get_or_insert_with(|| Columns::of(fields.peek().copied()));
        let weight = match columns {
            Columns::Plain => 0.0,
            Columns::Weighed => self.log_probability(fields.next(), (head, line))?,
        };
        let phones: Vec<SymbolId> = fields.map(|phone| self.phones.intern(without_stress(phone))).collect();
        if word.is_empty() || phones.is_empty() {
            let missing = if word.is_empty() { "a word before it" } else { "its phones after it" };
            return Err(self.error(line, format!("found '{head}': expected {missing}")));
        }
        let known = self.entries.entry(word).or_default();
        match known.iter_mut().find(|other| other.phones == phones) {
            Some(other) => other.weight = other.weight.max(weight),
            None => known.push(Pronunciation { phones, weight, line }),
        }
        Ok(())
    }

    /// The natural log of the probability in `field`, which stands after `word`.
    fn log_probability(&self, field: Option<&str>, (word, line): (&str, usize)) -> Result<f32> {
        let number = field.and_then(|field| field.parse::<f32>().ok()).filter(|p| *p > 0.0 && *p <= 1.0);
        number.map(f32::ln).ok_or_else(|| {
            let found = field.map_or_else(|| "nothing".to_owned(), |field| format!("'{field}'"));
            let reason = "expected a probability above 0 and at most 1, as Kaldi's lexiconp.txt has in each line";
            self.error(line, format!("found {found} after '{word}': {reason}"))
        })
    }

    /// An error at a line of the dictionary.
    pub(super) fn error(&self, line: usize, reason: String) -> Error {
        Error::TextFile { path: self.path.clone(), line, reason }
    }

    /// Its file; `pinyin` or `pinyin-toned` for those that need none.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The dictionary's words in alphabetical order.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The phones that the dictionary uses, in order of first use.
    pub fn phones(&self) -> &[String] {
        self.phones.names()
    }

    /// Checks that every phone is one of the graph's `symbols`.
    ///
    /// # Errors
    /// [`Error::TextFile`] with word and phone at the first line that has another phone.
    pub fn check_symbols(&self, symbols: &SymbolTable) -> Result<()> {
        match self.first_without(|phone| symbols.get(phone).is_some()) {
            None => Ok(()),
            Some((line, word, phone)) => Err(self.unknown_phone(line, phone, word)),
        }
    }

    /// The first line with a phone that is not known, its word and the phone.
    pub(super) fn first_without(&self, is_known: impl Fn(&str) -> bool) -> Option<(usize, &str, &str)> {
        let missing: Vec<bool> = self.phones().iter().map(|phone| !is_known(phone)).collect();
        let stranger =
            |pronunciation: &Pronunciation| pronunciation.phones.iter().copied().find(|phone| missing[phone.index()]);
        let all =
            self.entries.iter().flat_map(|(word, all)| all.iter().map(move |pronunciation| (word, pronunciation)));
        let bad = all.filter_map(|(word, pronunciation)| Some((pronunciation.line, word, stranger(pronunciation)?)));
        let first = bad.min_by_key(|(line, ..)| *line);
        first.map(|(line, word, phone)| (line, word.as_str(), self.phones.name(phone)))
    }

    /// The error of a `phone` that the graph lacks; a number is rather a probability that is not right.
    pub(super) fn unknown_phone(&self, line: usize, phone: &str, word: &str) -> Error {
        self.error(line, match is_number(phone) {
            false => format!("the phone '{phone}' of '{word}' is not a symbol of the graph: add it there"),
            true => format!(
                "'{phone}' of '{word}' is no symbol of the graph; if it is a probability: expected one above 0 and at most 1, \
                 written with a point in the first entry (1.0)"
            ),
        })
    }

    /// The pronunciations of `word`, different from each other, in the dictionary's order; `None` when the word is unknown.
    ///
    /// A word that the dictionary lacks but whose stem it has is derived: `'s`, `s'`, `s`, `es` and `ies` after the English
    /// rule, IH Z after a sibilant (as the CMU dictionary writes it), S after another voiceless phone, else Z. Only a dictionary
    /// that has these three phones has derived words.
    pub fn pronunciations(&self, word: &str) -> Option<Vec<Vec<String>>> {
        Some(self.said(word)?.into_iter().map(|said| said.phones).collect())
    }

    /// As [`Lexicon::pronunciations`], with weights and lines.
    pub fn said(&self, word: &str) -> Option<Vec<Said>> {
        let word = lower(word);
        self.listed(&word).or_else(|| match self.pinyin {
            Some(tones) => {
                pinyin::pronunciation(&word, tones).map(|phones| vec![Said { phones, weight: 0.0, line: 1 }])
            }
            None => self.derived(&word),
        })
    }

    /// Whether `word` has a pronunciation, listed or derived.
    pub fn knows(&self, word: &str) -> bool {
        self.pronunciations(word).is_some()
    }

    fn listed(&self, word: &str) -> Option<Vec<Said>> {
        let name = |phone: &SymbolId| self.phones.name(*phone).to_owned();
        let said = |Pronunciation { phones, weight, line }: &Pronunciation| Said {
            phones: phones.iter().map(name).collect(),
            weight: *weight,
            line: *line,
        };
        Some(self.entries.get(word)?.iter().map(said).collect())
    }

    fn derived(&self, word: &str) -> Option<Vec<Said>> {
        if ["IH", "Z", "S"].iter().any(|phone| self.phones.get(phone).is_none()) {
            return None;
        }
        // The possessive of a plural sounds like the plural, listed or derived.
        if let Some(plural) = word.strip_suffix('\'').filter(|plural| plural.ends_with('s')) {
            return self.listed(plural).or_else(|| self.inflected(plural));
        }
        self.inflected(word)
    }

    /// The first stem that the dictionary lists, with its ending.
    fn inflected(&self, word: &str) -> Option<Vec<Said>> {
        let mut pronunciations = stems(word).into_iter().find_map(|stem| self.listed(&stem))?;
        for Said { phones, .. } in &mut pronunciations {
            let ending: &[&str] = match phones.last().map(String::as_str) {
                Some("S" | "Z" | "SH" | "ZH" | "CH" | "JH") => &["IH", "Z"],
                Some("P" | "T" | "K" | "F" | "TH") => &["S"],
                _ => &["Z"],
            };
            phones.extend(ending.iter().map(|&phone| phone.to_owned()));
        }
        Some(pronunciations)
    }

    /// The words of a transcript, lower case and written as the dictionary writes them where it has them.
    ///
    /// Typographic apostrophes become `'`; punctuation goes, also between words without a space, but for periods and apostrophes
    /// that belong to a known word (`a.m.`, `'tis`). A hyphenated word that is unknown is split. What has a digit stays in one
    /// piece. Unknown words are kept. Those of a text in pinyin are its syllables.
    pub fn words_of(&self, text: &str) -> Vec<String> {
        if let Some(tones) = self.pinyin {
            return pinyin::words_of(text, tones);
        }
        let mut words = vec![];
        spelling::plain(text).split_whitespace().for_each(|token| self.split(token, &mut words));
        words
    }

    /// Appends the words of `token`: itself if it is one, else those of its parts.
    fn split(&self, token: &str, words: &mut Vec<String>) {
        let bare = bare(token);
        if bare.is_empty() {
            return;
        }
        if let Some(known) = self.known_form(token) {
            words.push(known.to_owned());
            return;
        }
        let numeral = bare.contains(|c: char| c.is_numeric());
        let outside = |c: char| !(is_of_word(c) || JOINERS.contains(&c) || "'-.".contains(c));
        for separator in [&outside as &dyn Fn(char) -> bool, &|c| c == '-'] {
            if !numeral && bare.contains(separator) {
                return bare.split(separator).for_each(|part| self.split(part, words));
            }
        }
        words.push(bare.to_owned());
    }

    /// `token` without the punctuation around it that a known word does not have. A period at the end is more likely that of the
    /// sentence than that of an abbreviation, so a form without it is preferred; an apostrophe is rather one of the word.
    fn known_form<'a>(&self, token: &'a str) -> Option<&'a str> {
        let outer = |keep: &'static str| move |c: char| !(is_of_word(c) || keep.contains(c));
        let quoted = token.trim_matches(outer("'"));
        let first = quoted.trim_end_matches('\'');
        let forms = [
            quoted,
            first,
            quoted.trim_start_matches('\''),
            first.trim_start_matches('\''),
            token.trim_matches(outer(".")),
        ];
        forms.into_iter().find(|form| self.knows(form))
    }
}

impl Columns {
    /// By what stands after the word of the first entry: digits with a point among them are meant as a number.
    fn of(field: Option<&str>) -> Self {
        let of_numbers = |c: char| c.is_ascii_digit() || ".,+-eE".contains(c);
        let is_number = |field: &str| {
            field.contains('.') && field.contains(|c: char| c.is_ascii_digit()) && field.chars().all(of_numbers)
        };
        if field.is_some_and(is_number) { Self::Weighed } else { Self::Plain }
    }
}

/// Whether `field` is a number, also with a comma for the point.
pub(super) fn is_number(field: &str) -> bool {
    field.replace(',', ".").parse::<f32>().is_ok_and(f32::is_finite)
}

/// What `word` may be the possessive or plural of, the likeliest first.
fn stems(word: &str) -> Vec<String> {
    let consonant_before = |stem: &str| stem.ends_with(|c: char| c.is_alphabetic() && !"aeiou".contains(c));
    let takes_es = |stem: &str| ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| stem.ends_with(end));
    let takes_s = |stem: &str| stem.chars().count() > 1 && !stem.ends_with(['s', '\'']);
    if let Some(owner) = word.strip_suffix("'s") {
        return vec![owner.to_owned()];
    }
    let s = word.strip_suffix('s').filter(|stem| takes_s(stem)).map(str::to_owned);
    let es = word.strip_suffix("es").filter(|stem| takes_es(stem)).map(str::to_owned);
    let ies = word.strip_suffix("ies").filter(|stem| consonant_before(stem)).map(|stem| format!("{stem}y"));
    [s, es, ies].into_iter().flatten().collect()
}

/// `word` of `word(2)`.
fn without_variant(head: &str) -> &str {
    let variant = head.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match variant {
        Some((word, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => word,
        _ => head,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "\u{feff};;; a comment\n# another\na AH0\na(2) EY1\nHello\tHH AH0 L OW1\nhello(2) HH EH0 L OW1\r\n\
        hello(3) HH AH1 L OW0\n\naalborg AO1 L B AO0 R G # place, danish\n'em AH0 M\ncats K AE1 T S\ncat K AE1 T\n\
        bush B UH1 SH\njudge JH AH1 JH\ncity S IH1 T IY0\nhero HH IH1 R OW0\njames JH EY1 M Z\nboss B AO1 S\nbo B OW1\n\
        graph G R AE1 F\nrifle R AY1 F AH0 L\nshot SH AA1 T\nad-hoc AE1 D HH AA1 K\na.m. EY2 EH1 M\netc. EH2 T S EH1 T R AH0\n\
        it's IH1 T S\ni. AY1\ni AY1\nrouge R UW1 ZH\n";

    fn parse(text: &str) -> Result<Lexicon> {
        Lexicon::parse(Path::new("words.dict"), text)
    }

    fn said(word: &str) -> Vec<String> {
        let found = parse(SMALL).unwrap().pronunciations(word).unwrap_or_default();
        found.iter().map(|phones| phones.join(" ")).collect()
    }

    #[test]
    fn a_dictionary_is_read() {
        assert_eq!(said("a"), ["AH", "EY"]);
        assert_eq!(said("hello"), ["HH AH L OW", "HH EH L OW"], "the third is the first with another stress");
        assert_eq!(said("HELLO"), said("hello"));
        assert_eq!(said("aalborg"), ["AO L B AO R G"]);
        assert_eq!(said("nobody"), Vec::<String>::new());
        let lexicon = parse(SMALL).unwrap();
        assert_eq!(lexicon.words().len(), 23);
        assert_eq!(lexicon.phones()[..4], ["AH", "EY", "HH", "L"]);
        let tones = parse("安 aa an1\n").unwrap();
        assert_eq!(tones.pronunciations("安").unwrap(), [["aa", "an1"]], "a tone is no stress");
    }

    #[test]
    fn possessives_and_plurals_are_derived() {
        let cases = [
            ("bushes", "B UH SH IH Z"),
            ("bush's", "B UH SH IH Z"),
            ("rouges", "R UW ZH IH Z"),
            ("judges", "JH AH JH IH Z"),
            ("judges'", "JH AH JH IH Z"),
            ("cities", "S IH T IY Z"),
            ("heroes", "HH IH R OW Z"),
            ("rifles", "R AY F AH L Z"),
            ("james's", "JH EY M Z IH Z"),
            ("james'", "JH EY M Z"),
            ("cat's", "K AE T S"),
            ("cats'", "K AE T S"),
            ("graphs", "G R AE F S"),
            ("bosses", "B AO S IH Z"),
            ("a's", "AH Z"),
        ];
        for (word, phones) in cases {
            assert_eq!(said(word).first().map(String::as_str), Some(phones), "{word}");
        }
        assert_eq!(said("hello's").len(), 2);
        for unknown in ["as", "catss", "bo'", "'s", "s", "'", "", "cities's", "citys's", "as'"] {
            assert_eq!(said(unknown), Vec::<String>::new(), "{unknown}");
        }
        assert_eq!(parse("猫 m ao1\n").unwrap().pronunciations("猫s"), None, "not English");
    }

    #[test]
    fn transcripts_become_words() {
        let lexicon = parse(SMALL).unwrap();
        let cases = [
            ("Hello, CATS!", "hello cats"),
            ("  “Hello” (cat). ", "hello cat"),
            ("it\u{2019}s \u{2018}hello\u{2019} 'cat'", "it's hello cat"),
            ("'em, and ‘em’", "'em and 'em"),
            ("cats' bush's bushes'", "cats' bush's bushes'"),
            ("ad-hoc rifle-shot, re-cat", "ad-hoc rifle shot re cat"),
            ("ad\u{2011}hoc cat--hello cat – a—a -- ...", "ad-hoc cat hello cat a a"),
            ("10 a.m. etc. and a, I.", "10 a.m. etc. and a i"),
            ("A.M. or 1,000.50 cats/cat", "a.m. or 1,000.50 cats cat"),
            ("Xyzzy's zz-top.", "xyzzy's zz top"),
            ("设定二十九度", "设定二十九度"),
            ("", ""),
        ];
        for (text, words) in cases {
            assert_eq!(lexicon.words_of(text).join(" "), words, "{text}");
        }
    }

    #[test]
    fn marks_belong_to_words_however_letters_are_composed() {
        let lexicon = parse("cafe\u{301} k a f e\nÉté e t e\nहिन्दी h i n d i\nไม่ m a j\n").unwrap();
        for (text, words) in [
            ("Caf\u{e9}, CAFE\u{301}-e\u{301}t\u{e9}!", "caf\u{e9} caf\u{e9} \u{e9}t\u{e9}"),
            ("हिन्दी। (ไม่) ที่", "हिन्दी ไม่ ที่"),
        ] {
            assert_eq!(lexicon.words_of(text).join(" "), words, "{text}");
        }
        for word in ["CAF\u{c9}", "cafe\u{301}", "e\u{301}te\u{301}", "हिन्दी", "ไม่"] {
            assert!(lexicon.knows(word), "{word}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("a AH0\nb\n", "words.dict:2: found 'b': expected its phones after it"),
            ("a AH0\n\nb # B\n", "words.dict:3: found 'b': expected its phones"),
            ("(2) AH0\n", "words.dict:1: found '(2)': expected a word before it"),
            (";;; nothing\n", "words.dict:1: no entry"),
        ];
        for (text, message) in cases {
            let found = parse(text).unwrap_err().to_string();
            assert!(found.starts_with(message), "{found}");
        }
        assert!(
            Lexicon::read(Path::new("no/such.dict")).unwrap_err().to_string().starts_with("no/such.dict: cannot read")
        );
    }

    #[test]
    fn probabilities_are_weights() {
        let lexicon =
            parse("<UNK> 1.0 SPN\na 0.5 AH0\na 1 EY1\na 0.25 AH1\ncat 1e-1 K AE T\nis 1 IH Z\nsay 1 S EY\n").unwrap();
        let weights = |word| lexicon.said(word).unwrap().iter().map(|said| said.weight.exp()).collect::<Vec<_>>();
        assert_eq!(weights("A"), [0.5, 1.0], "of the same phones the more probable");
        assert!((weights("cat's")[0] - 0.1).abs() < 1e-6);
        assert_eq!(lexicon.said("a").unwrap()[1], Said { phones: vec!["EY".into()], weight: 0.0, line: 3 });
        assert_eq!(parse(SMALL).unwrap().said("a").unwrap()[1].weight, 0.0);
        for (line, found) in
            [("b", "nothing"), ("b B", "'B'"), ("b 0 B", "'0'"), ("b 1.5 B", "'1.5'"), ("b NaN B", "'NaN'")]
        {
            let error = parse(&format!("a 0.5 AH\n{line}\n")).unwrap_err().to_string();
            let expected =
                format!("words.dict:2: found {found} after 'b': expected a probability above 0 and at most 1");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_bad_first_probability_is_no_phone() {
        let first = parse("a 0.5.1 AH\n").unwrap_err().to_string();
        assert!(first.starts_with("words.dict:1: found '0.5.1' after 'a': expected a probability above 0"), "{first}");
        for bad in ["0,5", "1e", "half"] {
            let text = format!("a {bad} AH\nb 0.5 B\n");
            let named = Lexicon::parse(Path::new("dict/lexiconp.txt"), &text).unwrap_err().to_string();
            assert!(
                named.starts_with(&format!("dict/lexiconp.txt:1: found '{bad}' after 'a': expected a prob")),
                "{named}"
            );
        }
        let whole = Lexicon::parse(Path::new("dict/lexiconp.txt"), "a 1 AH\n").unwrap();
        assert_eq!(whole.said("a").unwrap()[0], Said { phones: vec!["AH".into()], weight: 0.0, line: 1 });
        for bad in ["1", "0,5"] {
            let lexicon = parse(&format!("a {bad} AH\n")).unwrap();
            let told = lexicon.check_symbols(&["AH"].into_iter().collect()).unwrap_err().to_string();
            assert!(
                told.starts_with(&format!("words.dict:1: '{bad}' of 'a' is no symbol of the graph; if it is a prob")),
                "{told}"
            );
        }
        assert!(parse("a . AH\nb x.1 AH\n").is_ok(), "phones with points");
    }

    #[test]
    fn phones_are_checked_against_the_graph() {
        let lexicon = parse("b B IY1\na AH0\na(2) EY1\n").unwrap();
        lexicon.check_symbols(&["SIL", "EY", "AH", "IY", "B"].into_iter().collect()).unwrap();
        let found = lexicon.check_symbols(&["SIL", "AH", "B", "IY"].into_iter().collect()).unwrap_err().to_string();
        assert_eq!(found, "words.dict:3: the phone 'EY' of 'a' is not a symbol of the graph: add it there");
        let found = lexicon.check_symbols(&SymbolTable::new()).unwrap_err().to_string();
        assert_eq!(found, "words.dict:1: the phone 'B' of 'b' is not a symbol of the graph: add it there");
    }
}
