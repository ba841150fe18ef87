//! Text in pinyin to syllables.
//!
//! White space, hyphens, apostrophes and punctuation part syllables, and so does a tone digit. What is run together is parted as the
//! orthography has it: a syllable within a word begins with a, e or o only after an apostrophe, so `fangan` is fan gan and `fang'an` is
//! fang an. A reading without that rule, or with more syllables, is taken where there is no better one.

use super::table::written;
use super::{Body, MARKED, Suffix, Syllable, Tone};
use crate::{Error, Result};

/// Letters of the longest syllable, `zhuang`.
const LONGEST: usize = 6;

/// A letter a to z, `v` for ü.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Letter {
    base: char,
    mark: Option<Tone>,
    /// One-based character of the text.
    at: usize,
}

/// Letters that nothing parts, and the digit after them.
#[derive(Debug, Default)]
struct Run {
    letters: Vec<Letter>,
    digit: Option<Tone>,
}

/// The syllables of `text`: `ni3 hao3`, `nǐ hǎo`, `NI HAO`, `nihao`, `nv3`, `nu:3`, `nǚ`, `xi'an`, `wan2r`, `wanr2`, `wan2 r5`, `hua-r`;
/// the neutral tone is 5, 0 or not written. Letters may come with their marks as one character or as several.
///
/// # Errors
/// [`Error::Transcript`] naming what is no pinyin, its place in the text, and what was expected.
pub fn read(text: &str) -> Result<Vec<Syllable>> {
    let mut syllables: Vec<Syllable> = Vec::new();
    for run in runs(text)? {
        match (run.letters.as_slice(), syllables.last_mut()) {
            ([Letter { base: 'r', mark: None, .. }], Some(before))
                if before.suffix == Suffix::None && run.digit.is_none_or(|tone| tone == Tone::NEUTRAL) =>
            {
                before.suffix = Suffix::R;
            }
            _ => syllables.extend(parted(&run).map_err(|(at, reason)| wrong(text, at, &reason))?),
        }
    }
    Ok(syllables)
}

/// The error at the one-based character `at`.
fn wrong(text: &str, at: usize, expected: &str) -> Error {
    let part =
        |from: usize| -> String { text.chars().skip(from).take_while(|c| !c.is_whitespace()).take(20).collect() };
    let before: Vec<char> = text.chars().take(at - 1).collect();
    let begin = before.iter().rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1);
    let (found, word) = (part(at - 1), part(begin));
    let within = if word == found { String::new() } else { format!(", in {word:?}") };
    Error::Transcript { reason: format!("{found:?} at character {at} of the text{within}: expected {expected}") }
}

const SYLLABLE: &str = "a syllable of pinyin, as in ni3, nǐ or ni";

/// Cuts `text` where something parts syllables.
fn runs(text: &str) -> Result<Vec<Run>> {
    let (mut runs, mut run) = (Vec::new(), Run::default());
    for (c, at) in text.chars().flat_map(char::to_lowercase).zip(1..) {
        if let Some((base, mark)) = letter(c) {
            run.letters.push(Letter { base, mark, at });
        } else if changes(&mut run, c) {
            continue;
        } else if let Some(tone) = Tone::of_digit(c).filter(|_| !run.letters.is_empty()) {
            runs.push(Run { digit: Some(tone), ..std::mem::take(&mut run) });
        } else if c.is_alphanumeric() || combining(c).is_some() {
            return Err(wrong(text, at, SYLLABLE));
        } else {
            runs.push(std::mem::take(&mut run));
        }
    }
    runs.push(run);
    runs.retain(|run| !run.letters.is_empty());
    Ok(runs)
}

/// What `c` is as a letter, and the tone whose mark it has.
fn letter(c: char) -> Option<(char, Option<Tone>)> {
    let plain = |c| if c == 'ü' { 'v' } else { c };
    match c {
        'a'..='z' => Some((c, None)),
        'ü' => Some(('v', None)),
        'ɑ' => Some(('a', None)),
        'ɡ' => Some(('g', None)),
        // A breve is often set for the caron of the third tone.
        'ă' | 'ĕ' | 'ĭ' | 'ŏ' | 'ŭ' => {
            let vowel = ['a', 'e', 'i', 'o', 'u'][['ă', 'ĕ', 'ĭ', 'ŏ', 'ŭ'].iter().position(|one| *one == c)?];
            Some((vowel, Some(Tone(3))))
        }
        _ => MARKED.iter().find_map(|(vowel, marks)| {
            let tone = marks.iter().zip(Tone::ALL).find(|(marked, _)| **marked == c)?.1;
            Some((plain(*vowel), Some(tone)))
        }),
    }
}

/// A mark that stands after its letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combining {
    Umlaut,
    Tone(Tone),
}

fn combining(c: char) -> Option<Combining> {
    match c {
        '\u{308}' => Some(Combining::Umlaut),
        '\u{304}' => Some(Combining::Tone(Tone(1))),
        '\u{301}' => Some(Combining::Tone(Tone(2))),
        '\u{30c}' | '\u{306}' => Some(Combining::Tone(Tone(3))),
        '\u{300}' => Some(Combining::Tone(Tone(4))),
        _ => None,
    }
}

/// Whether `c` changes the last letter of `run`. A colon does where `u:` can be ü.
fn changes(run: &mut Run, c: char) -> bool {
    let is_umlaut = c == ':' && run.letters.iter().rev().nth(1).is_some_and(|before| "nljqxy".contains(before.base));
    let change = if is_umlaut { Some(Combining::Umlaut) } else { combining(c) };
    match (change, run.letters.last_mut()) {
        (Some(Combining::Umlaut), Some(letter)) if letter.base == 'u' => letter.base = 'v',
        (Some(Combining::Tone(tone)), Some(letter)) if "aeiouv".contains(letter.base) && letter.mark.is_none() => {
            letter.mark = Some(tone);
        }
        _ => return false,
    }
    true
}

/// How good a way to part letters is, the least being the best: breaches of the orthography, then syllables.
type Cost = (usize, usize);

/// The best way to part what follows a place.
#[derive(Debug, Clone, Copy)]
struct Way {
    cost: Cost,
    first: Body,
    suffix: Suffix,
    next: usize,
}

/// The syllables of a run, or the place that none reaches and what was expected there.
fn parted(run: &Run) -> std::result::Result<Vec<Syllable>, (usize, String)> {
    let letters = &run.letters;
    let mut ways: Vec<Option<Way>> = vec![None; letters.len()];
    for start in (0..letters.len()).rev() {
        ways[start] = best(letters, start, &ways);
    }
    let (mut syllables, mut start) = (Vec::new(), 0);
    while let Some(letter) = letters.get(start) {
        let Some(way) = ways[start] else {
            let at = furthest(letters).unwrap_or(letter.at);
            return Err((at, SYLLABLE.into()));
        };
        let tone = letters[start..way.next].iter().find_map(|letter| letter.mark);
        syllables.push(Syllable { body: way.first, tone, suffix: way.suffix });
        start = way.next;
    }
    if let (Some(last), Some(digit)) = (syllables.last_mut(), run.digit) {
        if last.tone.is_some_and(|tone| tone != digit) {
            return Err((letters[0].at, "one tone of a syllable, as a mark or as a digit".into()));
        }
        last.tone = Some(digit);
    }
    Ok(syllables)
}

/// The best way from `start` on, `ways` being known of all later places: the longest syllable first among equals.
fn best(letters: &[Letter], start: usize, ways: &[Option<Way>]) -> Option<Way> {
    let rest = |next: usize| if next == letters.len() { Some((0, 0)) } else { ways[next].map(|way| way.cost) };
    let mut best: Option<Way> = None;
    for end in (start + 1..=letters.len().min(start + LONGEST)).rev() {
        let Some(first) = syllable(&letters[start..end]) else { continue };
        let breach = usize::from(start > 0 && "aeo".contains(letters[start].base));
        let is_r = letters.get(end).is_some_and(|letter| letter.base == 'r');
        let suffixes = [(Suffix::None, end, 0), (Suffix::R, end + 1, 2)];
        for (suffix, next, penalty) in suffixes.into_iter().take(1 + usize::from(is_r)) {
            let Some((breaches, count)) = rest(next) else { continue };
            let cost = (breaches + breach + penalty, count + 1);
            if best.is_none_or(|best| cost < best.cost) {
                best = Some(Way { cost, first, suffix, next });
            }
        }
    }
    best
}

/// The one syllable of these letters, which have one mark at most.
fn syllable(letters: &[Letter]) -> Option<Body> {
    if letters.iter().filter(|letter| letter.mark.is_some()).count() > 1 {
        return None;
    }
    written(&letters.iter().map(|letter| letter.base).collect::<String>())
}

/// The character up to which syllables reach from the first on.
fn furthest(letters: &[Letter]) -> Option<usize> {
    let mut reached = vec![false; letters.len() + 1];
    reached[0] = true;
    for start in 0..letters.len() {
        for end in start + 1..=letters.len().min(start + LONGEST) {
            reached[end] |= reached[start] && syllable(&letters[start..end]).is_some();
        }
    }
    let last = (0..letters.len()).rev().find(|&place| reached[place])?;
    Some(letters[last].at)
}
