//! The ARPA text format of back-off n-grams (SRILM's ngram-format(5)), base-10 logs: [`Ngram`] written and read.

use std::f64::consts::LN_10;
use std::fmt::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::{Ngram, Table, Token};
use crate::symbols::SymbolTable;
use crate::{Error, Result};

const START: &str = "<s>";
const END: &str = "</s>";
const UNKNOWN: [&str; 2] = ["<unk>", "<UNK>"];
/// What the format writes for the logarithm of zero.
const LOG10_ZERO: f64 = -99.0;
/// No back-off weight is larger.
const LOG10_LARGEST: f64 = 99.0;

impl Ngram {
    /// The model as an ARPA file. Entries are in symbol order; the same model gives the same bytes.
    pub fn to_arpa(&self) -> String {
        let sections: Vec<Vec<String>> = (1..=self.order()).map(|order| self.arpa_section(order)).collect();
        let mut text = String::from("\\data\\\n");
        for (section, order) in sections.iter().zip(1..) {
            writeln!(text, "ngram {order}={}", section.len()).expect("a string takes any text");
        }
        for (section, order) in sections.iter().zip(1..) {
            write!(text, "\n{}\n{}", Part::Section(order), section.concat()).expect("a string takes any text");
        }
        text + "\n\\end\\\n"
    }

    /// The lines of the entries of `order` tokens; the start of a sequence, which nothing predicts, is among the 1-grams.
    fn arpa_section(&self, order: usize) -> Vec<String> {
        let start = (order == 1).then(|| self.arpa_line(&[Token::Start], f32::NEG_INFINITY));
        let contexts = self.histories.iter().filter(|history| history.context.len() + 1 == order);
        let entries = contexts.flat_map(|history| {
            let context = history.context.as_slice();
            history.scores.iter().map(move |&(token, score)| self.arpa_line(&[context, &[token]].concat(), score))
        });
        start.into_iter().chain(entries).collect()
    }

    fn arpa_line(&self, tokens: &[Token], score: f32) -> String {
        let names: Vec<&str> = tokens.iter().map(|token| self.token_name(*token)).collect();
        let backoff = self.ids.get(tokens).map(|history| f64::from(self.histories[history.index()].backoff) / LN_10);
        let backoff = backoff.map_or(String::new(), |backoff| format!("\t{backoff:.7}"));
        format!("{:.7}\t{}{backoff}\n", (f64::from(score) / LN_10).max(LOG10_ZERO), names.join(" "))
    }

    fn token_name(&self, token: Token) -> &str {
        match token {
            Token::Start => START,
            Token::Symbol(symbol) => self.symbols().name(symbol),
            Token::End => END,
        }
    }

    /// The symbols of the 1-grams of an ARPA file, in the order of the `text`; `<unk>` is none.
    pub fn arpa_symbols(text: &str) -> SymbolTable {
        unigrams(text).filter(|name| !UNKNOWN.contains(name)).collect()
    }

    /// As [`Ngram::arpa_symbols`], with `<unk>` or `<UNK>` where the file has it.
    pub fn arpa_symbols_and_unknown(text: &str) -> SymbolTable {
        unigrams(text).collect()
    }

    /// Whether `name` is what an ARPA file calls all words that it does not list.
    pub fn is_unknown(name: &str) -> bool {
        UNKNOWN.contains(&name)
    }

    /// Reads the `text` of an ARPA file, over `symbols`. `path` is for messages.
    ///
    /// Entries with `<unk>` or `<UNK>` are left out unless it is one of the symbols: they score nothing that can happen.
    ///
    /// # Errors
    /// [`Error::TextFile`] with the line where a section, a count, a number or a symbol is not right.
    pub fn parse_arpa(path: &Path, text: &str, symbols: &Arc<SymbolTable>) -> Result<Self> {
        let mut reader =
            Reader { path, symbols, line: 0, part: Part::Before, declared: vec![], entries: 0, table: Table::new() };
        for line in text.trim_start_matches('\u{feff}').lines() {
            reader.line += 1;
            reader.read_line(line.trim())?;
        }
        if reader.part != Part::End {
            let expected = reader.next_part();
            return Err(reader.error(format!("the file ends after {}: expected {expected}", reader.part)));
        }
        let mut table = reader.table;
        table.retain(|_, next| !next.scores.is_empty() || next.backoff != 0.0);
        Ok(Self::from_table(symbols, reader.declared.len(), table))
    }
}

/// The names of the 1-grams of an ARPA file but for start and end.
fn unigrams(text: &str) -> impl Iterator<Item = &str> {
    let section = text.lines().map(str::trim).skip_while(|line| *line != "\\1-grams:").skip(1);
    let names = section.take_while(|line| !line.starts_with('\\')).filter_map(|line| line.split_whitespace().nth(1));
    names.filter(|name| ![START, END].contains(name))
}

/// Where in the file the reader is; displayed as the heading of that part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    Counts,
    Section(usize),
    End,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Before => write!(f, "its beginning"),
            Part::Counts => write!(f, "\\data\\"),
            Part::Section(order) => write!(f, "\\{order}-grams:"),
            Part::End => write!(f, "\\end\\"),
        }
    }
}

struct Reader<'a> {
    path: &'a Path,
    symbols: &'a SymbolTable,
    /// One-based; 0 before the first.
    line: usize,
    part: Part,
    /// How many entries `\data\` declares, by order.
    declared: Vec<usize>,
    /// Entries seen in this section so far.
    entries: usize,
    table: Table,
}

impl Reader<'_> {
    fn error(&self, reason: String) -> Error {
        Error::TextFile { path: self.path.to_owned(), line: self.line.max(1), reason }
    }

    fn read_line(&mut self, text: &str) -> Result<()> {
        match self.part {
            Part::Before if text == Part::Counts.to_string() => self.heading(text),
            Part::Before | Part::End => Ok(()),
            _ if text.is_empty() => Ok(()),
            _ if text.starts_with('\\') => self.heading(text),
            Part::Counts => self.count(text),
            Part::Section(order) => self.entry(order, text),
        }
    }

    fn next_part(&self) -> Part {
        match self.part {
            Part::Before => Part::Counts,
            Part::Counts => Part::Section(1),
            Part::Section(order) if order < self.declared.len() => Part::Section(order + 1),
            Part::Section(_) | Part::End => Part::End,
        }
    }

    /// A line that begins a part; the part before it must be complete.
    fn heading(&mut self, text: &str) -> Result<()> {
        self.check_complete()?;
        let next = self.next_part();
        if text != next.to_string() {
            return Err(self.error(format!("found '{text}' after {}: expected {next}", self.part)));
        }
        self.part = next;
        self.entries = 0;
        Ok(())
    }

    fn check_complete(&self) -> Result<()> {
        let can_end = || self.table.get([].as_slice()).is_some_and(|next| next.scores.contains_key(&Token::End));
        match self.part {
            Part::Counts if self.declared.is_empty() => {
                Err(self.error("\\data\\ declares no counts: expected 'ngram 1=COUNT'".into()))
            }
            Part::Section(order) if self.entries != self.declared[order - 1] => Err(self.error(format!(
                "{} has {} entries but \\data\\ declares {}: one of the two is wrong",
                self.part,
                self.entries,
                self.declared[order - 1]
            ))),
            Part::Section(1) if !can_end() => {
                Err(self.error(format!("no 1-gram is {END}: expected one, for no sequence could end")))
            }
            _ => Ok(()),
        }
    }

    /// `ngram ORDER=COUNT`
    fn count(&mut self, text: &str) -> Result<()> {
        let order = self.declared.len() + 1;
        let assignment = text.strip_prefix("ngram").and_then(|rest| rest.split_once('='));
        let count =
            assignment.filter(|(key, _)| key.trim() == order.to_string()).map(|(_, count)| count.trim().parse());
        match count {
            Some(Ok(count)) => self.declared.push(count),
            _ => {
                return Err(
                    self.error(format!("found '{text}': expected 'ngram {order}=COUNT' or {}", self.next_part()))
                );
            }
        }
        Ok(())
    }

    /// `LOG10 TOKEN.. [BACKOFF]`
    fn entry(&mut self, order: usize, text: &str) -> Result<()> {
        self.entries += 1;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let most = if order < self.declared.len() { order + 2 } else { order + 1 };
        if !(order + 1..=most).contains(&fields.len()) {
            let and = if order < self.declared.len() { " and perhaps a back-off weight" } else { "" };
            let found = fields.len();
            return Err(self.error(format!("{found} fields: expected a log10 probability, {order} symbols{and}")));
        }
        let score = self.natural_log(fields[0])?;
        if score > 0.0 {
            return Err(self.error(format!("the log10 probability {} is above 0", fields[0])));
        }
        let backoff = fields.get(order + 1).map(|field| self.natural_log(field)).transpose()?;
        let names = &fields[1..=order];
        if names.iter().any(|name| UNKNOWN.contains(name) && self.symbols.get(name).is_none()) {
            return Ok(());
        }
        let tokens = (0..order).map(|place| self.token(names, place));
        let tokens = tokens.collect::<Result<Vec<Token>>>()?;
        self.insert(tokens, score, backoff)
    }

    /// Stores P(last of `tokens` | the others), and the back-off weight of `tokens` as a context.
    fn insert(&mut self, tokens: Vec<Token>, score: f32, backoff: Option<f32>) -> Result<()> {
        let (&last, context) = tokens.split_last().expect("an entry has at least one symbol");
        if last != Token::Start {
            let followers = self.table.entry(context.to_vec()).or_default();
            if followers.scores.insert(last, score).is_some() {
                return Err(self.error("this n-gram is listed twice: keep one of the two".into()));
            }
        }
        if let Some(backoff) = backoff {
            self.table.entry(tokens).or_default().backoff = backoff;
        }
        Ok(())
    }

    /// The token that `names[place]` of an n-gram stands for.
    fn token(&self, names: &[&str], place: usize) -> Result<Token> {
        match (names[place], self.symbols.get(names[place])) {
            (START, _) if place == 0 => Ok(Token::Start),
            (START, _) => Err(self.error(format!("{START} can only be the first of an n-gram"))),
            (END, _) if place + 1 == names.len() => Ok(Token::End),
            (END, _) => Err(self.error(format!("{END} can only be the last of an n-gram"))),
            (_, Some(symbol)) => Ok(Token::Symbol(symbol)),
            (name, None) => Err(self.error(format!("unknown symbol '{name}': expected one of the graph's symbols"))),
        }
    }

    /// A base-10 logarithm as a natural one.
    fn natural_log(&self, field: &str) -> Result<f32> {
        match field.parse::<f64>() {
            Ok(log10) if log10 <= LOG10_ZERO => Ok(f32::NEG_INFINITY),
            Ok(log10) if log10 <= LOG10_LARGEST => Ok((log10 * LN_10) as f32),
            _ => {
                Err(self
                    .error(format!("'{field}' is not a number up to {LOG10_LARGEST}: expected a base-10 logarithm")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::HistoryId;
    use super::*;
    use crate::symbols::SymbolId;

    const SMALL: &str = "made by hand\n\n\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-99 <s> -0.25\n-0.60206 a -0.1\n\
        -0.60206\tb\n-0.30103 </s>\n\n\\2-grams:\n-0.1 <s> a\n-0.2 a b\n-0.5 a </s>\n\n\\end\\\nafterword\n";

    fn parse(text: &str) -> Result<Ngram> {
        Ngram::parse_arpa(Path::new("lm.arpa"), text, &Arc::new(["a", "b", "SIL"].into_iter().collect()))
    }

    #[test]
    fn a_file_made_by_hand_is_read() {
        let model = parse(SMALL).unwrap();
        let (a, b) = (SymbolId(0), SymbolId(1));
        let log10 = |score: f32| f64::from(score) / LN_10;
        let after_a = model.next(model.start(), a);
        assert_eq!((model.order(), model.histories()), (2, 3));
        assert!((log10(model.score(model.start(), a)) + 0.1).abs() < 1e-6);
        assert!((log10(model.score(model.start(), b)) + 0.25 + 0.60206).abs() < 1e-6);
        assert!((log10(model.end(after_a)) + 0.5).abs() < 1e-6);
        assert!((log10(model.score(after_a, a)) + 0.1 + 0.60206).abs() < 1e-6);
        assert_eq!(model.next(after_a, b), HistoryId::EMPTY, "b has no entries of its own");
        assert!(!model.knows(SymbolId(2)));
    }

    /// SRILM's pruned models may list "a b c" without "b c".
    #[test]
    fn a_missing_suffix_is_skipped() {
        let text = "\\data\\\nngram 1=4\nngram 2=1\nngram 3=1\n\\1-grams:\n-99 <s>\n-1 a -0.5\n-1 b -0.25\n-0.1 </s>\n\
            \\2-grams:\n-0.2 a b -0.125\n\\3-grams:\n-0.3 a b a\n\\end\\\n";
        let model = parse(text).unwrap();
        let after_ab = model.next(model.next(model.start(), SymbolId(0)), SymbolId(1));
        let score = f64::from(model.score(after_ab, SymbolId(1))) / LN_10;
        assert!((score + 0.125 + 0.25 + 1.0).abs() < 1e-6, "{score}");
    }

    #[test]
    fn unknown_words_of_the_model_are_left_out() {
        let text = SMALL.replace("ngram 1=4", "ngram 1=5").replace("-0.60206\tb", "-2 <unk> 0\n-0.60206\tb");
        assert_eq!(parse(&text).unwrap().to_arpa(), parse(SMALL).unwrap().to_arpa());
    }

    #[test]
    fn a_zero_probability_survives() {
        let model = parse(&SMALL.replace("-0.2 a b", "-99 a b")).unwrap();
        let again = parse(&model.to_arpa()).unwrap();
        let after_a = again.next(again.start(), SymbolId(0));
        assert_eq!(again.score(after_a, SymbolId(1)), f32::NEG_INFINITY);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            (SMALL.replace("1=4", "1=5"), "lm.arpa:13: \\1-grams: has 4 entries but \\data\\ declares 5"),
            (SMALL.replace("2=3", "2=2"), "lm.arpa:18: \\2-grams: has 3 entries but \\data\\ declares 2"),
            (SMALL.replace("a b\n", "a d\n"), "lm.arpa:15: unknown symbol 'd'"),
            (
                SMALL.replace("\\2-grams:\n", "\\3-grams:\n"),
                "lm.arpa:13: found '\\3-grams:' after \\1-grams:: expected \\2-gra",
            ),
            (SMALL.replace("\\end\\\nafterword\n", ""), "lm.arpa:17: the file ends after \\2-grams:: expected \\end\\"),
            (SMALL.replace("\\data\\", ""), "lm.arpa:19: the file ends after its beginning: expected \\data\\"),
            (String::new(), "lm.arpa:1: the file ends after its beginning: expected \\data\\"),
            (SMALL.replace("ngram 2", "ngram 3"), "lm.arpa:5: found 'ngram 3=3': expected 'ngram 2=COUNT'"),
            (SMALL.replace("ngram 1=4\nngram 2=3\n", ""), "lm.arpa:5: \\data\\ declares no counts"),
            (SMALL.replace("-0.2 a b", "-0.2 a b -1"), "lm.arpa:15: 4 fields: expected a log10 probability, 2 symbols"),
            (SMALL.replace("-0.2 a b", "-0.2 a"), "lm.arpa:15: 2 fields"),
            (SMALL.replace("-0.2 a b", "x a b"), "lm.arpa:15: 'x' is not a number"),
            (SMALL.replace("-0.2 a b", "NaN a b"), "lm.arpa:15: 'NaN' is not a number"),
            (SMALL.replace("a -0.1", "a 1e300"), "lm.arpa:9: '1e300' is not a number up to 99"),
            (SMALL.replace("-0.2 a b", "0.2 a b"), "lm.arpa:15: the log10 probability 0.2 is above 0"),
            (SMALL.replace("-0.5 a </s>", "-0.5 a b"), "lm.arpa:16: this n-gram is listed twice"),
            (SMALL.replace("-0.2 a b", "-0.2 a <s>"), "lm.arpa:15: <s> can only be the first"),
            (SMALL.replace("-0.2 a b", "-0.2 </s> b"), "lm.arpa:15: </s> can only be the last"),
            (SMALL.replace("-0.30103 </s>", "-0.30103 SIL"), "lm.arpa:13: no 1-gram is </s>"),
        ];
        for (text, message) in cases {
            let found = parse(&text).unwrap_err().to_string();
            assert!(found.starts_with(message), "found '{found}', expected '{message}'");
        }
    }
}
