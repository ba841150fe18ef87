//! Pinyin: Mandarin syllables as people write them, and as the initials and finals that a model says.
//!
//! [`read`] takes text in any usual spelling. [`Syllable::phones`] gives an initial and a final in the spelling of the lexicons of
//! THCHS-30 and AISHELL-1, which [`Syllable::of_phones`] takes back: a syllable that begins with a vowel has a written initial (`aa`,
//! `ee`, `oo`, `ii`, `uu`, `vv`), `iu`, `ui`, `un` are short as in pinyin, the vowel of zhi is `ix` and that of zi is `iy`, ü is `v`, and
//! the tone follows the final. The `r` of an erhua syllable is the syllable `ee er5` after it.

mod read;
mod table;

pub use read::read;

/// A tone: 1 to 4, or 5, the neutral one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tone(u8);

impl Tone {
    /// The tone of what is said without stress.
    pub const NEUTRAL: Self = Self(5);
    /// All tones.
    pub const ALL: [Self; 5] = [Self(1), Self(2), Self(3), Self(4), Self::NEUTRAL];

    /// The tone that a digit stands for: 0 is the neutral one, as 5 is.
    pub fn of_digit(digit: char) -> Option<Self> {
        match digit {
            '0' | '5' => Some(Self::NEUTRAL),
            '1'..='4' => Some(Self(digit as u8 - b'0')),
            _ => None,
        }
    }
}

impl std::fmt::Display for Tone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Whether tones are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tones {
    /// They are: a final is one of five phones.
    Kept,
    /// They are not.
    Dropped,
}

/// How a syllable is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// `zhong1`, the neutral tone being 5.
    Digits,
    /// `zhōng`, the neutral tone without a mark.
    Diacritics,
    /// `zhong`.
    None,
}

/// What follows the final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    /// Nothing.
    None,
    /// The `r` of erhua.
    R,
}

/// Initial and final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Body {
    initial: &'static str,
    rime: &'static str,
}

/// A syllable of Mandarin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syllable {
    body: Body,
    tone: Option<Tone>,
    suffix: Suffix,
}

impl Syllable {
    /// The syllable of two phones, the final with its tone or without; `None` when they make none.
    pub fn of_phones(initial: &str, rime: &str) -> Option<Self> {
        let toneless = without_tone(rime);
        let tone = rime[toneless.len()..].chars().next().and_then(Tone::of_digit);
        Some(Self { body: table::body(initial, toneless)?, tone, suffix: Suffix::None })
    }

    /// The 412 syllables that are commonly said, without tones.
    pub fn common() -> impl Iterator<Item = Self> {
        table::pairs(&table::LEGAL).map(|body| Self { body, tone: None, suffix: Suffix::None })
    }

    /// The same syllable in this tone.
    pub fn in_tone(self, tone: Tone) -> Self {
        Self { tone: Some(tone), ..self }
    }

    /// Its initial.
    pub fn initial(&self) -> &'static str {
        self.body.initial
    }

    /// Its final, without tone.
    pub fn rime(&self) -> &'static str {
        self.body.rime
    }

    /// Its tone, if one is written.
    pub fn tone(&self) -> Option<Tone> {
        self.tone
    }

    /// What follows its final.
    pub fn suffix(&self) -> Suffix {
        self.suffix
    }

    /// Its phones; a syllable whose tone is not written has the neutral one.
    pub fn phones(&self, tones: Tones) -> Vec<String> {
        let toned = |rime: &str, tone: Tone| match tones {
            Tones::Kept => format!("{rime}{tone}"),
            Tones::Dropped => rime.to_owned(),
        };
        let mut phones = vec![self.body.initial.to_owned(), toned(self.body.rime, self.tone.unwrap_or(Tone::NEUTRAL))];
        if self.suffix == Suffix::R {
            phones.extend(["ee".to_owned(), toned("er", Tone::NEUTRAL)]);
        }
        phones
    }

    /// Its pinyin.
    pub fn spelled(&self, marks: Marks) -> String {
        let plain = table::spellings(self.body).swap_remove(0).replace('v', "ü");
        let suffix = if self.suffix == Suffix::R { "r" } else { "" };
        match (marks, self.tone) {
            (Marks::None, _) | (_, None) => plain + suffix,
            (Marks::Digits, Some(tone)) => format!("{plain}{tone}{suffix}"),
            (Marks::Diacritics, Some(tone)) => marked(&plain, tone) + suffix,
        }
    }
}

/// `phone` without its tone, where it is a final with one.
pub fn without_tone(phone: &str) -> &str {
    let stem = phone.strip_suffix(|c| Tone::of_digit(c).is_some()).unwrap_or(phone);
    if is_final(stem) { stem } else { phone }
}

/// Whether `phone` is a final, without tone.
pub fn is_final(phone: &str) -> bool {
    table::rime(phone).is_some()
}

/// Vowels with the marks of the tones 1 to 4.
const MARKED: [(char, [char; 4]); 6] = [
    ('a', ['ā', 'á', 'ǎ', 'à']),
    ('e', ['ē', 'é', 'ě', 'è']),
    ('i', ['ī', 'í', 'ǐ', 'ì']),
    ('o', ['ō', 'ó', 'ǒ', 'ò']),
    ('u', ['ū', 'ú', 'ǔ', 'ù']),
    ('ü', ['ǖ', 'ǘ', 'ǚ', 'ǜ']),
];

/// `plain` with the mark of `tone`: on a or e, else on the o of ou, else on the last vowel.
fn marked(plain: &str, tone: Tone) -> String {
    let place = plain.find(['a', 'e']).or_else(|| plain.find("ou")).or_else(|| plain.rfind(['i', 'o', 'u', 'ü']));
    let mark = |(at, c): (usize, char)| match MARKED.iter().find(|(vowel, _)| *vowel == c) {
        Some((_, marks)) if Some(at) == place => marks.get(usize::from(tone.0) - 1).copied().unwrap_or(c),
        _ => c,
    };
    plain.char_indices().map(mark).collect()
}

#[cfg(test)]
mod tests;
