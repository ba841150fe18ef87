//! Which letters stand for which phones: words and pronunciations to sequences of graphones.
//!
//! Each graphone has a probability; an entry is a sum over all ways to cut it. The probabilities are those under which the entries
//! are most probable, by expectation and maximisation: forward and backward over the grid of letters and phones. The best way to cut
//! each entry goes out.

use std::collections::HashMap;

use rayon::prelude::*;

use super::Entry;
use super::graphone::{Graphone, SIZES};
use crate::parallel::in_order;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// Entries cut into graphones.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned {
    /// All that are used.
    pub graphones: Vec<Graphone>,
    /// The graphones of each entry that can be cut, by number.
    pub sequences: Vec<Vec<SymbolId>>,
    /// Entries with too many phones for their letters, as abbreviations have.
    pub left_out: usize,
}

/// Rounds of expectation and maximisation at most.
const ROUNDS: usize = 15;
/// A round that gains less of the log-likelihood than this share is the last.
const LITTLE: f64 = 1e-3;
/// A graphone that stands for less than this many places of all entries is given up, if it is not all there is.
const RARE: f64 = 1e-3;

/// Cuts `entries` into graphones.
///
/// # Errors
/// [`Error::Other`] when none can be cut, or a phone has a name that no graphone may have.
pub(super) fn align(entries: &[Entry]) -> Result<Aligned> {
    let (lattices, graphones) = lattices(entries)?;
    if lattices.is_empty() {
        return Err(Error::Other(
            "no word has pronunciations of at most two phones a letter: nothing can be learnt".into(),
        ));
    }
    // At first a graphone of two letters or phones is as probable as two of one: else large ones would win.
    let size = |graphone: &Graphone| graphone.letters.len().max(graphone.phones.len()) as f64;
    let mut scores: Vec<f64> =
        graphones.iter().map(|graphone| -size(graphone) * (graphones.len() as f64).ln()).collect();
    let mut before = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let (counts, total) = expected(&lattices, &scores);
        let all: f64 = counts.iter().sum();
        scores = counts.iter().map(|count| (count.max(RARE) / all).ln()).collect();
        if total - before < LITTLE * total.abs() {
            break;
        }
        before = total;
    }
    let best: Vec<Vec<u32>> = lattices.par_iter().map(|lattice| lattice.best(&scores)).collect();
    Ok(used(graphones, &best, entries.len() - lattices.len()))
}

/// The graphones that `best` uses, numbered anew in their own order, and `best` in these numbers.
fn used(graphones: Vec<Graphone>, best: &[Vec<u32>], left_out: usize) -> Aligned {
    let mut kept: Vec<u32> = best.iter().flatten().copied().collect();
    kept.sort_unstable_by(|a, b| graphones[*a as usize].cmp(&graphones[*b as usize]));
    kept.dedup();
    let place: HashMap<u32, usize> = kept.iter().zip(0..).map(|(&old, new)| (old, new)).collect();
    let renumbered = |sequence: &Vec<u32>| sequence.iter().map(|old| SymbolId::from_index(place[old])).collect();
    let sequences = best.iter().map(renumbered).collect();
    Aligned { graphones: kept.iter().map(|&old| graphones[old as usize].clone()).collect(), sequences, left_out }
}

/// All ways to cut one entry: a grid of places (letters read, phones said), and the graphones between them.
#[derive(Debug)]
struct Lattice {
    /// The last place; the first is 0.
    end: usize,
    /// By ascending place in which they begin.
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    from: u16,
    to: u16,
    graphone: u32,
}

/// Longer words are left out: the grid of a longer one has more places than its steps can tell.
const MOST_SYMBOLS: usize = 200;

/// The lattices of the entries that can be cut, and all graphones in them.
fn lattices(entries: &[Entry]) -> Result<(Vec<Lattice>, Vec<Graphone>)> {
    let mut numbers: HashMap<Graphone, u32> = HashMap::new();
    let mut graphones: Vec<Graphone> = vec![];
    let mut lattices = vec![];
    for Entry { word, phones } in entries {
        if let Some(phone) = phones.iter().find(|phone| !Graphone::is_nameable(phone)) {
            return Err(Error::Other(format!(
                "the phone '{phone}' of '{word}' is a sign of graphones (| }} _): rename it"
            )));
        }
        let letters: Vec<char> = word.chars().collect();
        if phones.len() > 2 * letters.len() || letters.len() > MOST_SYMBOLS || phones.len() > MOST_SYMBOLS {
            continue;
        }
        let number = |graphone: Graphone| {
            *numbers.entry(graphone).or_insert_with_key(|graphone| {
                graphones.push(graphone.clone());
                (graphones.len() - 1) as u32
            })
        };
        lattices.extend(Lattice::new(&letters, phones, number));
    }
    Ok((lattices, graphones))
}

impl Lattice {
    /// None when there is no way.
    fn new(letters: &[char], phones: &[String], mut number: impl FnMut(Graphone) -> u32) -> Option<Self> {
        let columns = phones.len() + 1;
        let end = letters.len() * columns + phones.len();
        // Places from which the end can be reached; what remains to be said must fit into what remains to be read.
        let fits = |(read, said): (usize, usize)| phones.len() - said <= 2 * (letters.len() - read);
        let mut steps = vec![];
        let mut reached = vec![false; end + 1];
        reached[0] = fits((0, 0));
        for (read, said) in (0..=letters.len()).flat_map(|read| (0..columns).map(move |said| (read, said))) {
            let from = read * columns + said;
            if !reached[from] {
                continue;
            }
            for (more, sounds) in SIZES {
                let next = (read + more, said + sounds);
                if next.0 > letters.len() || next.1 > phones.len() || !fits(next) {
                    continue;
                }
                let letters = letters[read..next.0].to_vec();
                let graphone = number(Graphone { letters, phones: phones[said..next.1].to_vec() });
                let to = next.0 * columns + next.1;
                reached[to] = true;
                steps.push(Step { from: from as u16, to: to as u16, graphone });
            }
        }
        (reached[end] && end > 0).then_some(Self { end, steps })
    }

    /// `alpha[to] = log sum over steps from -> to of exp(alpha[from] + score)`
    fn forward(&self, scores: &[f64]) -> Vec<f64> {
        let mut alpha = vec![f64::NEG_INFINITY; self.end + 1];
        alpha[0] = 0.0;
        for step in &self.steps {
            let way = alpha[usize::from(step.from)] + scores[step.graphone as usize];
            alpha[usize::from(step.to)] = log_add(alpha[usize::from(step.to)], way);
        }
        alpha
    }

    /// Calls `count` with each graphone and how often it is expected; gives log P(entry).
    ///
    /// ```text
    /// beta[from]  = log sum over steps from -> to of exp(score + beta[to])
    /// count(step) = exp(alpha[from] + score + beta[to] - alpha[end])
    /// ```
    fn expected(&self, scores: &[f64], mut count: impl FnMut(u32, f64)) -> f64 {
        let alpha = self.forward(scores);
        let mut beta = vec![f64::NEG_INFINITY; self.end + 1];
        beta[self.end] = 0.0;
        for step in self.steps.iter().rev() {
            let onward = scores[step.graphone as usize] + beta[usize::from(step.to)];
            count(step.graphone, (alpha[usize::from(step.from)] + onward - alpha[self.end]).exp());
            beta[usize::from(step.from)] = log_add(beta[usize::from(step.from)], onward);
        }
        alpha[self.end]
    }

    /// The best way to cut the entry.
    fn best(&self, scores: &[f64]) -> Vec<u32> {
        let mut best = vec![(f64::NEG_INFINITY, usize::MAX); self.end + 1];
        best[0].0 = 0.0;
        for (at, step) in self.steps.iter().enumerate() {
            let score = best[usize::from(step.from)].0 + scores[step.graphone as usize];
            if score > best[usize::from(step.to)].0 {
                best[usize::from(step.to)] = (score, at);
            }
        }
        let mut place = self.end;
        let mut way = vec![];
        while place > 0 {
            let step = self.steps[best[place].1];
            way.push(step.graphone);
            place = usize::from(step.from);
        }
        way.reverse();
        way
    }
}

/// `log(exp(a) + exp(b))`
pub(super) fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Entries that are counted at once.
const BATCH: usize = 1024;

/// How often each graphone is expected in all `lattices`, and their log-probability; the same for any number of threads.
fn expected(lattices: &[Lattice], scores: &[f64]) -> (Vec<f64>, f64) {
    let counted = |batch: &[Lattice]| -> Result<(Vec<(u32, f64)>, f64)> {
        let mut counts = vec![];
        let total = batch
            .iter()
            .map(|lattice| lattice.expected(scores, |graphone, count| counts.push((graphone, count))))
            .sum();
        Ok((counts, total))
    };
    let (mut counts, mut total) = (vec![0.0; scores.len()], 0.0);
    // A few batches at a time, so that what they count need not all be in memory.
    for some in lattices.chunks(BATCH * rayon::current_num_threads().max(1)) {
        let batches = in_order(some.par_chunks(BATCH).map(counted)).unwrap_or_default();
        for (batch, log_probability) in batches {
            batch.into_iter().for_each(|(graphone, count): (u32, f64)| counts[graphone as usize] += count);
            total += log_probability;
        }
    }
    (counts, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> Entry {
        let mut fields = line.split(' ').map(str::to_owned);
        Entry { word: fields.next().unwrap(), phones: fields.collect() }
    }

    /// Every way to cut letters and phones, as graphones.
    fn ways(letters: &[char], phones: &[String]) -> Vec<Vec<Graphone>> {
        if letters.is_empty() && phones.is_empty() {
            return vec![vec![]];
        }
        let mut all = vec![];
        for (read, said) in SIZES.into_iter().filter(|&(read, said)| read <= letters.len() && said <= phones.len()) {
            let first = Graphone { letters: letters[..read].to_vec(), phones: phones[..said].to_vec() };
            let rest = ways(&letters[read..], &phones[said..]);
            all.extend(rest.into_iter().map(|rest| [vec![first.clone()], rest].concat()));
        }
        all
    }

    #[test]
    fn counts_are_those_of_all_ways_and_the_best_is_the_best_of_them() {
        for line in ["x K S", "this DH IH S", "axe AE K S", "a A", "bb B", "eight EY T"] {
            let entry = entry(line);
            let (lattices, graphones) = lattices(std::slice::from_ref(&entry)).unwrap();
            let scores: Vec<f64> = (0..graphones.len()).map(|g| -1.0 - (g as f64 * 0.7).sin()).collect();
            let number = |graphone: &Graphone| graphones.iter().position(|one| one == graphone).unwrap();
            let ways = ways(&entry.word.chars().collect::<Vec<_>>(), &entry.phones);
            let score = |way: &Vec<Graphone>| way.iter().map(|graphone| scores[number(graphone)]).sum::<f64>();
            let total: f64 = ways.iter().map(|way| score(way).exp()).sum();
            let mut expected = vec![0.0; graphones.len()];
            for way in &ways {
                way.iter().for_each(|graphone| expected[number(graphone)] += score(way).exp() / total);
            }
            let (counts, log_p) = super::expected(&lattices, &scores);
            assert!((log_p - total.ln()).abs() < 1e-9, "{line}");
            for (count, expected) in counts.iter().zip(&expected) {
                assert!((count - expected).abs() < 1e-9, "{line} {count} {expected}");
            }
            let best = ways.iter().map(&score).fold(f64::NEG_INFINITY, f64::max);
            let found: f64 = lattices[0].best(&scores).iter().map(|&graphone| scores[graphone as usize]).sum();
            assert!((found - best).abs() < 1e-9, "{line}");
        }
    }

    #[test]
    fn what_always_stands_together_is_found() {
        let lines = [
            "this DH IH S",
            "that DH AE T",
            "thin TH IH N",
            "sit S IH T",
            "hat HH AE T",
            "tin T IH N",
            "has HH AE S",
            "is IH S",
            "it IH T",
            "in IH N",
            "at AE T",
            "an AE N",
            "i IH",
            "a AE",
            "his HH IH S",
            "hit HH IH T",
        ];
        let aligned = align(&lines.map(entry)).unwrap();
        let names = |sequence: &[SymbolId]| {
            sequence.iter().map(|id| aligned.graphones[id.index()].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&aligned.sequences[0]), "t|h}DH i}IH s}S");
        assert_eq!(names(&aligned.sequences[4]), "h}HH a}AE t}T");
        assert_eq!(aligned.left_out, 0);
    }

    #[test]
    fn what_cannot_be_cut_is_left_out_and_bad_names_are_told() {
        let aligned = align(&[entry("w D AH B AH L Y UW"), entry("a A")]).unwrap();
        assert_eq!((aligned.left_out, aligned.sequences.len()), (1, 1));
        assert!(
            align(&[entry("w D AH B")]).unwrap_err().to_string().starts_with("no word has pronunciations of at most")
        );
        for phone in ["_", "A|B", "}"] {
            let error = align(&[entry(&format!("a {phone}"))]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the phone '{phone}' of 'a' is a sign")), "{error}");
        }
    }
}
