//! Syllables of Mandarin in place of phones.

use clap::{Args, ValueEnum};
use senone::alignment::Alignment;
use senone::pinyin::{Marks, without_tone};
use senone::syllables::{are_mandarin, syllables, toneless};
use senone::symbols::SymbolTable;
use senone::{Error, Result};

/// What is printed of a model of Mandarin.
#[derive(Debug, Args)]
pub struct SyllableArgs {
    /// What to print: phones, or syllables of Mandarin in pinyin, with the phones beside them (and the words of a graph of words) where
    /// the format has room
    #[arg(long, value_enum, default_value_t = Units::Phone)]
    units: Units,
    /// How the tones of syllables are printed
    #[arg(long, value_enum, default_value_t = Pinyin::Digits)]
    pinyin: Pinyin,
    /// Leave out tones, of syllables and of phones
    #[arg(long)]
    toneless: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Units {
    Phone,
    Syllable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Pinyin {
    /// zhong1; the neutral tone is 5
    Digits,
    /// zhōng
    Diacritics,
}

impl SyllableArgs {
    /// Whether the phones of the model make syllables, where these are asked for.
    pub fn check(&self, symbols: &SymbolTable) -> Result<()> {
        if self.units == Units::Phone && !self.toneless || are_mandarin(symbols.names()) {
            return Ok(());
        }
        let option = if self.toneless { "--toneless" } else { "--units syllable" };
        Err(Error::Other(format!("{option}: the model has no finals of Mandarin, as recipes/mandarin names them")))
    }

    /// Whether syllables are to be printed.
    pub fn are_wanted(&self) -> bool {
        self.units == Units::Syllable
    }

    /// Whether phones are not printed as the model calls them, one by one.
    #[cfg(feature = "neural")]
    pub fn change_phones(&self) -> bool {
        self.are_wanted() || self.toneless
    }

    /// What a phone of the model is called before `--phones` applies.
    pub fn label<'a>(&self, phone: &'a str) -> &'a str {
        if self.toneless { without_tone(phone) } else { phone }
    }

    /// `alignment`, whose first tier is phones, as it is to be printed.
    pub fn applied(&self, mut alignment: Alignment) -> Alignment {
        let Some(phones) = alignment.tiers.first_mut() else { return alignment };
        if self.toneless {
            *phones = toneless(phones);
        }
        if self.are_wanted() {
            let marks = if self.pinyin == Pinyin::Digits { Marks::Digits } else { Marks::Diacritics };
            let tier = syllables(phones, marks);
            alignment.tiers.insert(0, tier);
        }
        alignment
    }
}
