//! The lexicons that need no file: syllables of Mandarin in pinyin, pronounced as initials and finals.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Lexicon, Pronunciation};
use crate::Result;
use crate::pinyin::{Marks, Syllable, Tone, Tones, read, without_tone};
use crate::spelling::without_stress;
use crate::symbols::SymbolTable;

/// The lexicon that stands in the place of a file of this name, by whether it tells tones apart. `./pinyin` is the file.
pub fn named(path: &Path) -> Option<Tones> {
    match path.to_str()? {
        "pinyin" => Some(Tones::Dropped),
        "pinyin-toned" => Some(Tones::Kept),
        _ => None,
    }
}

impl Lexicon {
    /// Syllables of Mandarin, see [`crate::pinyin`]. It lists the common ones, and knows every text that [`read`] reads.
    pub fn pinyin(tones: Tones) -> Self {
        let name = if tones == Tones::Kept { "pinyin-toned" } else { "pinyin" };
        let (path, entries) = (name.into(), BTreeMap::new());
        let mut lexicon = Self { path, phones: SymbolTable::new(), entries, columns: None, pinyin: Some(tones) };
        for syllable in Syllable::common() {
            let toned = Tone::ALL.map(|tone| syllable.in_tone(tone));
            for syllable in if tones == Tones::Kept { &toned } else { &toned[..1] } {
                let phones = syllable.phones(tones).iter().map(|phone| lexicon.phones.intern(phone)).collect();
                lexicon.entries.insert(word(syllable, tones), vec![Pronunciation { phones, weight: 0.0, line: 1 }]);
            }
        }
        lexicon
    }

    /// Whether the words are pinyin: then phones of a manifest are syllables whatever its words say.
    pub fn is_pinyin(&self) -> bool {
        self.pinyin.is_some()
    }

    /// `phone` of a manifest as the lexicon has it: without the stress of ARPABET, and where tones are not told apart, without tone.
    pub fn plain<'a>(&self, phone: &'a str) -> &'a str {
        match self.pinyin {
            Some(Tones::Dropped) => without_tone(phone),
            Some(Tones::Kept) => phone,
            None => without_stress(phone),
        }
    }

    /// Whether it tells tones apart, as all do but `pinyin`.
    pub fn tones(&self) -> Tones {
        self.pinyin.unwrap_or(Tones::Kept)
    }

    /// Whether all of `text` is pinyin, if the words are that.
    ///
    /// # Errors
    /// [`crate::Error::Transcript`] naming what is not, and the place.
    pub fn check(&self, text: &str) -> Result<()> {
        match self.pinyin {
            Some(_) => read(text).map(drop),
            None => Ok(()),
        }
    }
}

/// A syllable as the lexicon lists it.
fn word(syllable: &Syllable, tones: Tones) -> String {
    syllable.spelled(if tones == Tones::Kept { Marks::Digits } else { Marks::None })
}

/// The phones of `text`, if it is pinyin.
pub(super) fn pronunciation(text: &str, tones: Tones) -> Option<Vec<String>> {
    let syllables = read(text).ok()?;
    let phones: Vec<String> = syllables.iter().flat_map(|syllable| syllable.phones(tones)).collect();
    (!phones.is_empty()).then_some(phones)
}

/// The syllables of `text`; where it is not all pinyin, those of each token that is, and the other tokens as they are.
pub(super) fn words_of(text: &str, tones: Tones) -> Vec<String> {
    let words = |syllables: Vec<Syllable>| syllables.iter().map(|syllable| spoken(syllable, tones)).collect::<Vec<_>>();
    let of_token = |token: &str| read(token).map_or_else(|_| vec![token.to_owned()], words);
    read(text).map_or_else(|_| text.split_whitespace().flat_map(of_token).collect(), words)
}

/// As [`word`], a tone that is not written being the neutral one.
fn spoken(syllable: &Syllable, tones: Tones) -> String {
    word(&syllable.in_tone(syllable.tone().unwrap_or(Tone::NEUTRAL)), tones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_pinyin_is_syllables_and_these_are_phones() {
        let said = |text: &str, tones| {
            let lexicon = Lexicon::pinyin(tones);
            let all = |word: &String| lexicon.pronunciations(word).map(|all| all[0].join(" "));
            lexicon
                .words_of(text)
                .iter()
                .map(|word| all(word).unwrap_or(format!("({word})")))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let toned = "n i3, h ao3, n v3, ee er2, d e5";
        assert_eq!(said("Nǐhǎo, nu:3er2 de", Tones::Kept), toned);
        assert_eq!(said("ni3 hao3 nv3 er2 de5", Tones::Kept), toned);
        assert_eq!(said("nǐhǎo nǚ'ér de", Tones::Dropped), "n i, h ao, n v, ee er, d e");
        assert_eq!(said("wan2r", Tones::Kept), "uu uan2 ee er5");
        assert_eq!(said("wan2 r5 你好 ni", Tones::Dropped), "uu uan, (r5), (你好), n i");
        assert_eq!(said("cei4", Tones::Kept), "c ei4", "rare syllables are read");
    }

    #[test]
    fn it_lists_the_common_syllables() {
        let (plain, toned) = (Lexicon::pinyin(Tones::Dropped), Lexicon::pinyin(Tones::Kept));
        assert_eq!((plain.words().len(), toned.words().len()), (412, 5 * 412));
        assert_eq!((plain.phones().len(), toned.phones().len()), (27 + 39, 27 + 5 * 39));
        assert_eq!(plain.pronunciations("zhong"), plain.pronunciations("ZHŌNG"));
        assert_eq!(toned.pronunciations("de"), toned.pronunciations("de5"));
        for word in toned.words() {
            assert_eq!(toned.words_of(word), [word]);
        }
    }

    #[test]
    fn phones_of_manifests_are_as_the_lexicon_has_them() {
        let plain = |lexicon: &Lexicon| ["ang4", "sh", "AH0"].map(|phone| lexicon.plain(phone).to_owned());
        assert_eq!(plain(&Lexicon::pinyin(Tones::Dropped)), ["ang", "sh", "AH0"]);
        assert_eq!(plain(&Lexicon::pinyin(Tones::Kept)), ["ang4", "sh", "AH0"]);
        assert_eq!(plain(&Lexicon::parse(Path::new("l"), "a AH\n").unwrap()), ["ang4", "sh", "AH"]);
    }

    #[test]
    fn names_are_no_files() {
        assert_eq!(named(Path::new("pinyin")), Some(Tones::Dropped));
        assert_eq!(named(Path::new("pinyin-toned")), Some(Tones::Kept));
        assert_eq!(named(Path::new("./pinyin")), None);
        assert!(Lexicon::read(Path::new("pinyin-toned")).unwrap().is_pinyin());
        let error = Lexicon::pinyin(Tones::Kept).check("ni3 haox").unwrap_err().to_string();
        assert!(error.starts_with("\"x\" at character 8 of the text"), "{error}");
    }
}
