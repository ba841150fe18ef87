//! Context in training: the neighbours of aligned phones, and the tree of tied states of the network's graph.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;

use super::alignments::{Alignments, Placed, states};
use super::corpus::{Corpus, Example};
use super::{Event, Progress};
use crate::align::Words;
use crate::alignment::Tier;
use crate::formats;
use crate::graph::{Context, ContextKind, GraphSpec, Tree, Units};
use crate::learn::tree::{ContextStatistics, TreeConfig, grow};
use crate::symbols::SymbolId;
use crate::timing::FrameTiming;
use crate::{Error, Result};

/// Name of the file with the tree of the network's graph.
pub(super) const TREE: &str = "tree.txt";

/// The neighbours of each of `symbols`, pauses among them, as far as `kind` looks at them; `words` is what was said, which tells
/// where words end.
///
/// # Errors
/// [`Error::Transcript`] when the ends of words matter and `symbols` are not `words`.
pub(super) fn contexts(
    symbols: &[SymbolId],
    words: &Words,
    (spec, kind): (&GraphSpec, Option<ContextKind>),
) -> Result<Vec<Context>> {
    let last = match kind {
        Some(ContextKind::WordInternalTriphone) => word_ends(symbols, words, spec)?,
        Some(ContextKind::Triphone) => vec![false; symbols.len()],
        _ => vec![true; symbols.len()],
    };
    let left = |place: usize| place.checked_sub(1).map(|before| symbols[before]).filter(|_| kind.is_some());
    let right = |place: usize| symbols.get(place + 1).copied().filter(|_| !last[place]);
    Ok((0..symbols.len()).map(|place| Context { left: left(place), right: right(place) }).collect())
}

/// Which of `symbols` end a word; pauses do. Of two ways to cut the symbols into pronunciations the first holds.
fn word_ends(symbols: &[SymbolId], words: &Words, spec: &GraphSpec) -> Result<Vec<bool>> {
    let is_pause = |symbol: &SymbolId| spec.optional().contains(symbol);
    let spoken: Vec<usize> = (0..symbols.len()).filter(|&place| !is_pause(&symbols[place])).collect();
    let names: Vec<&str> = spoken.iter().map(|&place| spec.symbols().name(symbols[place])).collect();
    // For each word, the places at which it may end and where it then begins.
    let mut reached = vec![BTreeMap::from([(0, 0)])];
    for pronunciations in words {
        let mut next = BTreeMap::new();
        for &from in reached[reached.len() - 1].keys() {
            let is_next =
                |said: &&Vec<String>| names.get(from..from + said.len()).is_some_and(|names| names == &***said);
            for said in pronunciations.iter().filter(is_next) {
                next.entry(from + said.len()).or_insert(from);
            }
        }
        reached.push(next);
    }
    let mut ends: Vec<bool> = symbols.iter().map(is_pause).collect();
    let mut end = names.len();
    for word in reached[1..].iter().rev() {
        let reason = || "its alignment does not say its words: align it anew".to_owned();
        let from = *word.get(&end).ok_or_else(|| Error::Transcript { reason: reason() })?;
        ends[spoken[end - 1]] = true;
        end = from;
    }
    Ok(ends)
}

/// Parts of the data that are summed apart, so that the sum does not depend on the number of threads.
const SHARDS: usize = 32;

/// Sums over the Gaussian model's frames of `utterances`, which come with their alignments; `tell` makes of these the state of
/// each frame.
///
/// # Errors
/// Those of `tell`.
pub(super) fn statistics<A: Sync>(
    utterances: &[(&Example, &A)],
    tell: impl Fn(&Example, &A) -> Result<Vec<Placed>> + Sync,
) -> Result<ContextStatistics> {
    let dim = utterances.first().map_or(0, |(example, _)| example.gmm_frames.cols());
    let shard = |utterances: &[(&Example, &A)]| -> Result<ContextStatistics> {
        let mut sums = ContextStatistics::new(dim);
        for (example, alignment) in utterances {
            let states = tell(example, alignment)?;
            for (frame, (symbol, state, context)) in example.gmm_frames.iter_rows().zip(states) {
                sums.count_in((symbol, state), context, frame);
            }
        }
        Ok(sums)
    };
    let shards: Vec<_> = utterances.par_chunks(utterances.len().div_ceil(SHARDS).max(1)).map(shard).collect();
    let mut total = ContextStatistics::new(dim);
    for shard in shards {
        total.merge(shard?);
    }
    Ok(total)
}

/// The units of the network's graph `spec`, tied by the frames that the Gaussian model was trained on and their `alignments`;
/// from the work folder where an earlier run left them.
pub(super) fn units(
    config: &TreeConfig,
    (spec, corpus): (&GraphSpec, &Corpus),
    (alignments, timing): (&Alignments, FrameTiming),
    (work, progress): (&Path, &mut Progress<'_>),
) -> Result<Units> {
    let path = work.join(TREE);
    let tree = if path.exists() {
        let text = crate::input::text(&path)?;
        Tree::parse(&path, &text, spec.symbols())?
    } else {
        let aligned: Vec<_> =
            corpus.training.iter().filter_map(|example| Some((example, alignments.get(&example.name)?))).collect();
        let tell = |example: &Example, tier: &Tier| {
            let grid = (timing, example.gmm_frames.rows());
            states((tier, &example.words), (spec, Some(config.kind)), grid)
        };
        let tree = grow(config, spec, &statistics(&aligned, tell)?)?;
        formats::atomic::write(&path, |file| file.write_all(tree.to_text().as_bytes()))?;
        tree
    };
    progress(Event::Note(format!("{} tied states for the network, by {}", tree.pdfs(), tree.kind().name())));
    Ok(Units::Tied(tree.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::toy::everything_goes;

    fn spec() -> GraphSpec {
        let text = everything_goes(&["sil", "a", "b", "c"], "states = 2\nself_loop = 0.5");
        GraphSpec::parse(&format!("optional = ['sil']\n{text}")).unwrap()
    }

    fn ids(text: &str) -> Vec<SymbolId> {
        text.split_whitespace().map(|name| spec().symbols().get(name).unwrap()).collect()
    }

    fn words(text: &str) -> Words {
        let chain = |said: &str| said.split_whitespace().map(str::to_owned).collect();
        text.split(',').map(|word| word.split('|').map(chain).collect()).collect()
    }

    /// Neighbours by name, `-` for none.
    fn shown(kind: Option<ContextKind>, symbols: &str, said: &str) -> String {
        let (spec, symbols) = (spec(), ids(symbols));
        let name =
            |side: Option<SymbolId>| side.map_or("-".to_owned(), |symbol| spec.symbols().name(symbol).to_owned());
        let found = contexts(&symbols, &words(said), (&spec, kind)).unwrap();
        let shown = |context: &Context| name(context.left) + &name(context.right);
        found.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn neighbours_are_those_that_the_kind_looks_at() {
        let (left, inside) = (Some(ContextKind::LeftBiphone), Some(ContextKind::WordInternalTriphone));
        assert_eq!(shown(None, "sil a b", "a b"), "-- -- --");
        assert_eq!(shown(left, "sil a b", "a b"), "-- sil- a-");
        assert_eq!(shown(Some(ContextKind::Triphone), "sil a b", "a,b"), "-a silb a-");
        assert_eq!(shown(inside, "sil a b c sil a", "a b,c,a"), "-- silb a- b- c- sil-");
        assert_eq!(shown(inside, "a b c a", "a|a b,b c|c a"), "-b a- ba c-");
    }

    #[test]
    fn an_alignment_of_other_words_is_refused() {
        let inside = Some(ContextKind::WordInternalTriphone);
        assert!(contexts(&ids("a b"), &words("a,c"), (&spec(), inside)).is_err());
        assert!(contexts(&ids("a b"), &words("a"), (&spec(), inside)).is_err());
    }
}
