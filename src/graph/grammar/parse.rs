//! The text of an expression to the expression.
//!
//! ```text
//! either   = one ("|" one)*
//! one      = ["/" probability "/"] repeated+
//! repeated = single ("*" | "+")*
//! single   = word | '"' word '"' | "<" part ">" | "(" either ")" | "[" either "]"
//! ```

use super::expression::Expression;
use crate::Result;
use crate::graph::source::{Name, Source};

/// Brackets within brackets, at most: more are a slip, and each takes stack.
const MOST_BRACKETS: usize = 50;

/// What words are made of ends before these; between double quotes they may stand in a word.
const MARKS: [char; 10] = ['(', ')', '[', ']', '|', '*', '+', '<', '>', '/'];

/// A piece of the text.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Part(String),
    /// Natural log.
    Weight(f32),
    Mark(char),
}

/// Reads the expression `text` of `source`.
pub(super) fn expression(source: &Source, text: &Name) -> Result<Expression> {
    let places = source.places_within(text);
    let mut tokens = Lexer { source, text, places: &places }.tokens()?;
    tokens.reverse();
    let mut parser = Parser { source, tokens, end: places[text.text.len()], depth: 0 };
    let whole = parser.either()?;
    match parser.tokens.last() {
        None => Ok(whole),
        Some((token, at)) => {
            Err(source.error(*at, format!("{} closes nothing: leave it out, or write it in quotes", shown(token))))
        }
    }
}

/// Cuts the text into tokens.
struct Lexer<'a> {
    source: &'a Source,
    text: &'a Name,
    /// By byte of the text, its end included.
    places: &'a [usize],
}

impl Lexer<'_> {
    fn tokens(&self) -> Result<Vec<(Token, usize)>> {
        let text = self.text.text.as_str();
        let mut tokens = vec![];
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let (token, length) = match first {
                _ if first.is_whitespace() => {
                    at += first.len_utf8();
                    continue;
                }
                '"' => self.quoted(at)?,
                '<' => self.part(at)?,
                '/' => self.weight(at)?,
                _ if MARKS.contains(&first) => (Token::Mark(first), 1),
                _ => {
                    let ends = |c: char| c.is_whitespace() || c == '"' || MARKS.contains(&c);
                    let length = rest.find(ends).unwrap_or(rest.len());
                    (Token::Word(rest[..length].to_owned()), length)
                }
            };
            tokens.push((token, self.places[at]));
            at += length;
        }
        Ok(tokens)
    }

    /// A word in double quotes; a backslash before a quote or a backslash makes it part of the word.
    fn quoted(&self, at: usize) -> Result<(Token, usize)> {
        let mut word = String::new();
        let mut rest = self.text.text[at + 1..].char_indices();
        while let Some((place, character)) = rest.next() {
            match character {
                '"' if word.is_empty() || word.contains(char::is_whitespace) => {
                    return Err(self.error(at, format!("{word:?}: a word is not empty and holds no white space")));
                }
                '"' => return Ok((Token::Word(word), place + 2)),
                '\\' => match rest.next() {
                    Some((_, escaped @ ('"' | '\\'))) => word.push(escaped),
                    _ => {
                        return Err(
                            self.error(at + 1 + place, "a backslash stands before `\"` or another backslash".into())
                        );
                    }
                },
                _ => word.push(character),
            }
        }
        Err(self.error(at, "this word has no closing quote".into()))
    }

    fn part(&self, at: usize) -> Result<(Token, usize)> {
        let inside = self.enclosed(at, '>', "a part is written <name>")?;
        if inside.is_empty() || inside.contains(|c: char| c.is_whitespace() || MARKS.contains(&c)) {
            return Err(
                self.error(at, format!("`<{inside}>`: a part is written <name>, the name without spaces and brackets"))
            );
        }
        Ok((Token::Part(inside.to_owned()), inside.len() + 2))
    }

    fn weight(&self, at: usize) -> Result<(Token, usize)> {
        let rule = "a weight is a probability above 0 and at most 1, written /0.5/";
        let inside = self.enclosed(at, '/', rule)?;
        match inside.trim().parse::<f32>() {
            Ok(p) if p > 0.0 && p <= 1.0 => Ok((Token::Weight(p.ln()), inside.len() + 2)),
            _ => Err(self.error(at, format!("`/{inside}/`: {rule}; a `/` in a word needs quotes around the word"))),
        }
    }

    /// What stands between the mark at `at` and the next `end`.
    fn enclosed(&self, at: usize, end: char, rule: &str) -> Result<&str> {
        let after = &self.text.text[at + 1..];
        let length = after.find(end).ok_or_else(|| self.error(at, format!("no `{end}` follows: {rule}")))?;
        Ok(&after[..length])
    }

    fn error(&self, at: usize, reason: String) -> crate::Error {
        self.source.error(self.places[at], reason)
    }
}

/// Puts tokens together.
struct Parser<'a> {
    source: &'a Source,
    /// The next one last.
    tokens: Vec<(Token, usize)>,
    /// The byte at which the text ends.
    end: usize,
    /// Brackets that are open.
    depth: usize,
}

impl Parser<'_> {
    fn either(&mut self) -> Result<Expression> {
        let mut all = vec![self.one()?];
        while self.take('|') {
            all.push(self.one()?);
        }
        match &mut all[..] {
            [(0.0, _)] => Ok(all.remove(0).1),
            _ => Ok(Expression::Either(all)),
        }
    }

    fn one(&mut self) -> Result<(f32, Expression)> {
        let weight = match self.tokens.last() {
            Some(&(Token::Weight(weight), _)) => {
                self.tokens.pop();
                weight
            }
            _ => 0.0,
        };
        let mut all = vec![self.repeated()?];
        while !matches!(self.tokens.last(), None | Some((Token::Mark('|' | ')' | ']'), _))) {
            all.push(self.repeated()?);
        }
        let one = if all.len() == 1 { all.remove(0) } else { Expression::Sequence(all) };
        Ok((weight, one))
    }

    fn repeated(&mut self) -> Result<Expression> {
        let mut one = self.single()?;
        // More marks after the first change at most whether none is enough: (a+)* is a*.
        let (mut any, mut many) = (false, false);
        loop {
            match () {
                () if self.take('*') => any = true,
                () if self.take('+') => many = true,
                () => break,
            }
        }
        if any {
            one = Expression::Any(Box::new(one));
        } else if many {
            one = Expression::Many(Box::new(one));
        }
        Ok(one)
    }

    fn single(&mut self) -> Result<Expression> {
        let expected = "a word, <part>, `(` or `[`";
        let Some((token, at)) = self.tokens.pop() else {
            return Err(self.source.error(self.end, format!("the expression ends where {expected} is expected")));
        };
        match token {
            Token::Word(text) => Ok(Expression::Word(Name { text, at })),
            Token::Part(text) => Ok(Expression::Part(Name { text, at })),
            Token::Mark('(') => self.inside(at, '(', ')'),
            Token::Mark('[') => Ok(Expression::Optional(Box::new(self.inside(at, '[', ']')?))),
            Token::Weight(_) => {
                let reason = "a weight stands only before a whole alternative, after `|` or an opening bracket";
                Err(self.source.error(at, reason))
            }
            token => Err(self.source.error(at, format!("expected {expected}, found {}", shown(&token)))),
        }
    }

    /// The rest of a bracket that was opened at `at`.
    fn inside(&mut self, at: usize, open: char, close: char) -> Result<Expression> {
        self.depth += 1;
        if self.depth > MOST_BRACKETS {
            return Err(self
                .source
                .error(at, format!("more than {MOST_BRACKETS} brackets within each other: name parts instead")));
        }
        let inside = self.either()?;
        if !self.take(close) {
            return Err(self.source.error(at, format!("`{open}` has no `{close}`")));
        }
        self.depth -= 1;
        Ok(inside)
    }

    fn take(&mut self, mark: char) -> bool {
        let found = matches!(self.tokens.last(), Some((Token::Mark(next), _)) if *next == mark);
        if found {
            self.tokens.pop();
        }
        found
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Part(name) => format!("<{name}>"),
        Token::Weight(_) => "a weight".into(),
        Token::Mark(mark) => format!("`{mark}`"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parsed(toml: &str) -> std::result::Result<Expression, String> {
        let source = Source::new(Path::new("g.toml"), &format!("x = {toml}\n"));
        let top = source.top(&["x"]).unwrap();
        let text = source.name(top.get("x").unwrap(), "a string").unwrap();
        expression(&source, &text).map_err(|error| error.to_string())
    }

    /// As text, brackets around everything, words with their column or line.
    fn shape(expression: &Expression) -> String {
        let all = |list: Vec<String>, between: &str| format!("({})", list.join(between));
        match expression {
            Expression::Word(name) => format!("{}@{}", name.text, name.at),
            Expression::Part(name) => format!("<{}>@{}", name.text, name.at),
            Expression::Sequence(list) => all(list.iter().map(shape).collect(), " "),
            Expression::Either(list) => {
                all(list.iter().map(|(weight, one)| format!("{:.2} {}", weight.exp(), shape(one))).collect(), " | ")
            }
            Expression::Optional(one) => format!("[{}]", shape(one)),
            Expression::Any(one) => format!("{}*", shape(one)),
            Expression::Many(one) => format!("{}+", shape(one)),
        }
    }

    /// Places are bytes of the file, in which the string begins at byte 4.
    #[test]
    fn expressions_are_read_with_their_places() {
        for (toml, expected) in [
            ("'a b|c'", "(1.00 (a@5 b@7) | 1.00 c@9)"),
            ("'/0.25/ a b | /0.5/c'", "(0.25 (a@12 b@14) | 0.50 c@23)"),
            ("'(/0.5/ a)'", "(0.50 a@12)"),
            ("'a* (b c)+ [d|e]*'", "(a@5* (b@9 c@11)+ [(1.00 d@16 | 1.00 e@18)]*)"),
            ("'a+*++'", "a@5*"),
            ("'<part.1> don\"*\"t'", "(<part.1>@5 don@14 *@17 t@20)"),
            (r#"'"\"(\\" b'"#, "(\"(\\@5 b@13)"),
            (r#""\"+\" b""#, "(+@5 b@11)"),
            (r#""\u00e9t\u00E9 b""#, "(été@5 b@19)"),
            ("'''\n\n a\r\n b'''", "(a@10 b@14)"),
            ("\"\"\"\\\n   a \\\n  b\"\"\"", "(a@12 b@18)"),
        ] {
            assert_eq!(parsed(toml).map(|found| shape(&found)), Ok(expected.into()), "{toml}");
        }
    }

    #[test]
    fn slips_are_told_with_their_place() {
        for (toml, expected) in [
            ("''", "1:6: the expression ends where a word, <part>, `(` or `[` is expected"),
            ("'a |'", "1:9: the expression ends where a word, <part>, `(` or `[` is expected"),
            ("'| a'", "1:6: expected a word, <part>, `(` or `[`, found `|`"),
            ("'a ()'", "1:9: expected a word, <part>, `(` or `[`, found `)`"),
            ("'a (b [c)'", "1:11: `[` has no `]`"),
            ("'a (b'", "1:8: `(` has no `)`"),
            ("'a) b'", "1:7: `)` closes nothing: leave it out, or write it in quotes"),
            ("'* a'", "1:6: expected a word, <part>, `(` or `[`, found `*`"),
            ("'a > b'", "1:8: expected a word, <part>, `(` or `[`, found `>`"),
            ("'a <b c'", "1:8: no `>` follows: a part is written <name>"),
            ("'a <b c>'", "1:8: `<b c>`: a part is written <name>, the name without spaces and brackets"),
            ("'a /0.5/ b'", "1:8: a weight stands only before a whole alternative, after `|` or an opening bracket"),
            (
                "'/0/ a'",
                "1:6: `/0/`: a weight is a probability above 0 and at most 1, written /0.5/; a `/` in a word needs quotes around the word",
            ),
            ("'a | /b'", "1:10: no `/` follows: a weight is a probability above 0 and at most 1, written /0.5/"),
            (r#"'a "b'"#, "1:8: this word has no closing quote"),
            (r#"'a "b c"'"#, "1:8: \"b c\": a word is not empty and holds no white space"),
            (r#"'"\n"'"#, "1:7: a backslash stands before `\"` or another backslash"),
            ("'''\na\n  é )'''", "3:5: `)` closes nothing: leave it out, or write it in quotes"),
        ] {
            assert_eq!(parsed(toml).map(|found| shape(&found)), Err(format!("g.toml:{expected}")), "{toml}");
        }
        let deep = format!("'{}a{}'", "(".repeat(51), ")".repeat(51));
        assert_eq!(
            parsed(&deep).unwrap_err(),
            "g.toml:1:56: more than 50 brackets within each other: name parts instead"
        );
        assert!(parsed(&format!("'{}a{}'", "(".repeat(50), ")".repeat(50))).is_ok());
    }
}
