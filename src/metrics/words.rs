//! Words as they are compared: without case and punctuation, on both sides alike.

use crate::spelling::{JOINERS, bare, is_of_word, plain};

/// The words of `text` in lower case, letters and their marks composed.
///
/// Typographic apostrophes become `'`. Punctuation goes at both ends of a word; inside it only apostrophes, periods between
/// letters or digits and commas between digits stay, anything else parts words. A mark in angle brackets (`<unk>`) stays in one piece.
pub fn words_of(text: &str) -> Vec<String> {
    plain(text).split_whitespace().flat_map(words_of_token).collect()
}

fn words_of_token(token: &str) -> Vec<String> {
    if token.starts_with('<') && token.ends_with('>') {
        return vec![token.to_owned()];
    }
    let numeral = token.contains(|c: char| c.is_numeric());
    let inside = |c: char| is_of_word(c) || JOINERS.contains(&c) || "'.".contains(c) || c == ',' && numeral;
    token.split(|c: char| !inside(c)).map(bare).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_punctuation_do_not_count() {
        let cases = [
            ("Hello, WORLD!", "hello world"),
            ("it\u{2019}s \u{2018}fine\u{2019} 'tis", "it's fine tis"),
            ("twenty-five a.m. U.S.", "twenty five a.m u.s"),
            ("1,000.5, a,b -- – ...", "1,000.5 a b"),
            ("<unk> <UNK>", "<unk> <unk>"),
            ("\u{5b89} Ünï", "\u{5b89} ünï"),
        ];
        for (text, words) in cases {
            assert_eq!(words_of(text).join(" "), words, "{text}");
        }
    }

    /// Thai tone marks, the virama of Hindi, a Persian joiner, and accents written after their letters.
    #[test]
    fn marks_are_part_of_the_word() {
        let cases = [
            ("ที่นี่ ดี, ไม่", "ที่นี่ ดี ไม่"),
            ("हिन्दी। क्या?", "हिन्दी क्या"),
            ("«می\u{200c}خواهم»", "می\u{200c}خواهم"),
            ("Cafe\u{301}, E\u{301}te\u{301}", "caf\u{e9} \u{e9}t\u{e9}"),
            ("\u{301} -\u{301}", ""),
        ];
        for (text, words) in cases {
            assert_eq!(words_of(text).join(" "), words, "{text}");
        }
    }
}
