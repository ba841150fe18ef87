//! Whether a sequence of symbols or words is legal, and if not, where it goes wrong first.

use std::collections::BTreeMap;

use super::GraphSpec;
use super::net::{Link, Unit};
use super::walk::Walk;
use crate::spelling::lower;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// What is said of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is legal.
    Legal {
        /// Its rules' weights and language model, natural log, of the best way to say it; not how long its symbols last.
        score: f32,
    },
    /// It is not.
    Illegal {
        /// The first symbol that cannot stand where it does, counted from 1; one after the last when the sequence cannot end.
        place: usize,
        /// Why, and what could stand there.
        reason: String,
    },
}

/// More names than a message lists.
const MOST_NAMES: usize = 12;

/// Judges the symbols or words `names` by `walk`, which goes through what `spec` compiles to.
///
/// # Errors
/// [`Error::Other`] when there is no name, or one that the graph does not have; as [`Walk::after`].
pub fn judge(spec: &GraphSpec, walk: &Walk, names: &[&str]) -> Result<Verdict> {
    let noun = walk.unit().noun();
    // Of words, the pair rules say nothing.
    let rules = Some(spec).filter(|_| walk.unit() == Unit::Symbol);
    let symbols = named(walk, names)?;
    if symbols.is_empty() {
        return Err(Error::Other(format!("the sequence is empty: expected at least one {noun}")));
    }
    // live(1) = starts of y_1; live(t) = places of y_t that some place of live(t - 1) leads to, each with its best score.
    let mut onward = walk.start()?;
    for (place, &symbol) in symbols.iter().enumerate() {
        let live = entered(walk, &onward.links, symbol);
        if live.is_empty() {
            let reason = why_not(rules, walk, &symbols[..=place], &onward.links);
            return Ok(Verdict::Illegal { place: place + 1, reason });
        }
        onward = walk.after(&live)?;
    }
    Ok(match onward.end {
        Some(score) => Verdict::Legal { score },
        None => {
            let reason = why_no_end(rules, walk, &symbols, &onward.links);
            Verdict::Illegal { place: symbols.len() + 1, reason }
        }
    })
}

/// The symbols or words that are called so; words in any case, their letters composed or not.
fn named(walk: &Walk, names: &[&str]) -> Result<Vec<SymbolId>> {
    let spelled: BTreeMap<String, SymbolId> = match walk.unit() {
        Unit::Symbol => BTreeMap::new(),
        Unit::Word => walk.symbols().ids().map(|word| (lower(walk.symbols().name(word)), word)).collect(),
    };
    let known = |(place, name): (usize, &&str)| {
        let noun = walk.unit().noun();
        let unknown = || Error::Other(format!("`{name}`, at place {}, is not a {noun} of the graph", place + 1));
        walk.symbols().get(name).or_else(|| spelled.get(&lower(name)).copied()).ok_or_else(unknown)
    };
    names.iter().enumerate().map(known).collect()
}

/// The places of `symbol` among those `offered`, each with its best score.
fn entered(walk: &Walk, offered: &[Link], symbol: SymbolId) -> Vec<Link> {
    let mut live: BTreeMap<usize, f32> = BTreeMap::new();
    for link in offered.iter().filter(|link| walk.symbol(link.to) == symbol) {
        let best = live.entry(link.to).or_insert(link.score);
        *best = best.max(link.score);
    }
    live.into_iter().map(|(to, score)| Link { to, score }).collect()
}

fn why_not(rules: Option<&GraphSpec>, walk: &Walk, said: &[SymbolId], offered: &[Link]) -> String {
    let name = |symbol: SymbolId| walk.symbols().name(symbol);
    let could = listed(walk, offered);
    match *said {
        [only] => format!("no sequence may begin with `{}`, only with {could}", name(only)),
        [.., from, to] if rules.is_some_and(|rules| rules.follows(from, to)) => format!(
            "`{} -> {}` is an allowed pair, but not after what comes before it: here may follow {could}",
            name(from),
            name(to)
        ),
        [.., from, to] => {
            format!("`{} -> {}` is not allowed: here may follow {could}", name(from), name(to))
        }
        [] => String::new(),
    }
}

fn why_no_end(rules: Option<&GraphSpec>, walk: &Walk, said: &[SymbolId], offered: &[Link]) -> String {
    let last = said[said.len() - 1];
    let why = match rules.is_none_or(|rules| rules.ends().contains(&last)) {
        true => "the sequence may not end here".to_owned(),
        false => format!("no sequence may end with `{}`", walk.symbols().name(last)),
    };
    format!("{why}: here may follow {}", listed(walk, offered))
}

/// The symbols that `links` lead to, in file order, as far as a message has room.
fn listed(walk: &Walk, links: &[Link]) -> String {
    let mut symbols: Vec<SymbolId> = links.iter().map(|link| walk.symbol(link.to)).collect();
    symbols.sort_unstable();
    symbols.dedup();
    let shown: Vec<&str> = symbols.iter().take(MOST_NAMES).map(|&symbol| walk.symbols().name(symbol)).collect();
    match symbols.len() - shown.len() {
        _ if symbols.is_empty() => "nothing".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::net::Net;
    use super::super::net::tests::{MIXED, SPOKEN, sequences, spoken};
    use super::super::{Arc, Boundary, GraphBuilder, State};
    use super::*;
    use crate::symbols::{PdfId, StateId, TransitionId};

    /// Every string of up to 5 symbols is judged as the enumeration of the net says.
    #[test]
    fn verdicts_are_those_of_enumeration() {
        let spec = GraphSpec::parse(MIXED).unwrap();
        let graph = spec.compile().unwrap();
        let (net, walk) = (Net::new(&spec, &graph), Walk::new(&spec, &graph));
        let legal: BTreeMap<Vec<SymbolId>, f32> = sequences(&net, 5).into_iter().collect();
        let mut all: Vec<Vec<SymbolId>> = vec![vec![]];
        let mut judged = [0, 0];
        for _ in 0..5 {
            all = all.iter().flat_map(|s| spec.symbols().ids().map(move |t| [&s[..], &[t]].concat())).collect();
            for said in &all {
                let names: Vec<&str> = said.iter().map(|&symbol| net.symbols().name(symbol)).collect();
                let verdict = judge(&spec, &walk, &names).unwrap();
                match legal.get(said) {
                    Some(&score) => assert_eq!(verdict, Verdict::Legal { score }),
                    None => assert!(matches!(verdict, Verdict::Illegal { .. }), "{names:?}"),
                }
                judged[usize::from(legal.contains_key(said))] += 1;
            }
        }
        assert!(judged[0] > 100 && judged[1] > 30, "{judged:?}");
    }

    /// Two places of a lead to one of b, and the better one counts.
    #[test]
    fn the_best_of_several_ways_is_weighed() {
        let spec = GraphSpec::parse(MIXED).unwrap();
        let mut builder = GraphBuilder::new(spec.symbols().clone(), 1, 0);
        let transition = TransitionId::NONE;
        for symbol in [0, 0, 1].map(SymbolId) {
            builder.state(State { pdf: PdfId(0), symbol, entry: true, restarts: false, word: None });
        }
        for (from, fixed) in [(0, -2.0), (1, -1.0)] {
            builder.start(Boundary { state: StateId(from), transition, fixed: 0.0 });
            builder.arc(StateId(from), Arc { to: StateId(2), transition, fixed });
        }
        builder.end(Boundary { state: StateId(2), transition, fixed: -0.5 });
        let walk = Walk::new(&spec, &builder.build().unwrap());
        assert_eq!(judge(&spec, &walk, &["a", "b"]).unwrap(), Verdict::Legal { score: -1.5 });
        let reason = "`a -> a` is an allowed pair, but not after what comes before it: here may follow b".into();
        assert_eq!(judge(&spec, &walk, &["a", "a"]).unwrap(), Verdict::Illegal { place: 2, reason });
        let reason = "no sequence may end with `a`: here may follow b".into();
        assert_eq!(judge(&spec, &walk, &["a"]).unwrap(), Verdict::Illegal { place: 2, reason });
    }

    #[test]
    fn the_first_fault_is_named_with_its_place() {
        let spec = GraphSpec::parse(MIXED).unwrap();
        let walk = Walk::new(&spec, &spec.compile().unwrap());
        let told = |text: &str| match judge(&spec, &walk, &text.split(' ').collect::<Vec<_>>()).unwrap() {
            Verdict::Illegal { place, reason } => format!("{place}: {reason}"),
            Verdict::Legal { score } => format!("legal {score}"),
        };
        assert_eq!(told("a a b c"), "legal -2.5");
        assert_eq!(told("b c"), "1: no sequence may begin with `b`, only with a, c");
        assert_eq!(told("a b b c b"), "3: `b -> b` is not allowed: here may follow a, c");
        assert_eq!(told("c a"), "3: no sequence may end with `a`: here may follow a, b");
        let error = judge(&spec, &walk, &["a", "x"]).unwrap_err();
        assert_eq!(error.to_string(), "`x`, at place 2, is not a symbol of the graph");
        assert!(judge(&spec, &walk, &[]).is_err());
    }

    #[test]
    fn words_are_judged_in_any_spelling() {
        let (folder, spec) = spoken(&SPOKEN.replace("abc", "d\u{e9}j\u{e0}"));
        std::fs::write(folder.path().join("words.dict"), "ab a b\nde\u{301}ja\u{300} a b c\nc c\n").unwrap();
        let walk = Walk::new(&spec, &spec.compile().unwrap());
        for said in [["AB", "c"], ["d\u{e9}j\u{e0}", "c"], ["De\u{301}ja\u{300}", "C"]] {
            assert!(matches!(judge(&spec, &walk, &said), Ok(Verdict::Legal { .. })), "{said:?}");
        }
        let reason = "`c -> ab` is not allowed: here may follow c".to_owned();
        assert_eq!(judge(&spec, &walk, &["ab", "c", "ab"]).unwrap(), Verdict::Illegal { place: 3, reason });
    }
}
