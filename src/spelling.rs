//! One spelling for what people write in several ways, so that words can be compared: case, composed and decomposed letters (NFC
//! and NFD), kinds of apostrophes and hyphens, the stress of phones. Combining marks, such as the vowels of Thai and Hindi, are part of the word.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What stands within words of some scripts and is not seen: the joiners of Persian and of Indian languages.
pub const JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];

/// Whether `c` is part of a word: a letter, a digit, or a mark (category M) on one.
pub fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// `text` without what is part of no word at both ends; a mark needs a letter before it.
pub fn bare(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric()).trim_end_matches(|c| !is_of_word(c))
}

/// `text` in lower case, letters and their marks composed (NFC).
pub fn lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase().nfc().collect() }
}

/// [`lower`] with one kind of apostrophe and one of hyphen; a dash is a space.
pub fn plain(text: &str) -> String {
    lower(text).chars().map(plain_mark).collect()
}

fn plain_mark(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{02bc}' | '\u{ff07}' | '`' | '\u{b4}' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        '\u{2012}'..='\u{2015}' => ' ',
        _ => c,
    }
}

/// `AH0` becomes `AH`; what is no upper-case ARPABET vowel with 0, 1 or 2 stays (`er2` is a syllable of pinyin).
pub fn without_stress(phone: &str) -> &str {
    const VOWELS: [&str; 19] = [
        "AA", "AE", "AH", "AO", "AW", "AX", "AXR", "AY", "EH", "ER", "EY", "IH", "IX", "IY", "OW", "OY", "UH", "UW",
        "UX",
    ];
    let stem = phone.strip_suffix(['0', '1', '2']).unwrap_or(phone);
    if VOWELS.contains(&stem) { stem } else { phone }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_and_decomposed_are_one() {
        for (one, other) in [
            ("Caf\u{e9}", "cafe\u{301}"),
            ("J\u{30c}", "\u{1f0}"),
            ("\u{130}", "I\u{307}"),
            ("한", "\u{1112}\u{1161}\u{11ab}"),
        ] {
            assert_eq!(lower(one), lower(other), "{one}");
        }
        assert_eq!(plain("It\u{2019}s RE\u{2011}do\u{2014}x"), "it's re-do x");
    }

    #[test]
    fn marks_belong_to_words() {
        assert!("ที่".chars().chain("हिन्दी".chars()).chain("e\u{301}".chars()).all(is_of_word));
        assert!(!JOINERS.into_iter().any(is_of_word) && !is_of_word('\'') && !is_of_word('।'));
        assert_eq!(bare("\u{301}«हिन्दी»।"), "हिन्दी");
        assert_eq!(bare("\u{301}"), "");
    }

    #[test]
    fn only_arpabet_stress_is_stripped() {
        let kept = ["er2", "AO3", "B1", "AN1", "a1", "1", "AH", "AH01"];
        assert_eq!(kept.map(without_stress), kept);
        assert_eq!(["AH0", "ER1", "AXR2"].map(without_stress), ["AH", "ER", "AXR"]);
    }
}
