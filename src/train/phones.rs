//! The phone n-gram of a model: of the training utterances, of texts, or of both in a mixture.

use std::collections::BTreeSet;
use std::path::Path;

use super::config::{NgramConfig, TextConfig, TrainConfig};
use crate::data::sentences::{SentenceOptions, Sentences};
use crate::graph::GraphSpec;
use crate::graph::lexicon::Lexicon;
use crate::graph::ngram::Ngram;
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// The n-gram that `config` asks for over the symbols of `spec`; `sequences` are the phones of the training utterances. The lexicon
/// is read only where there is text; without one every token of a text is a phone.
pub(super) fn ngram(
    spec: &GraphSpec,
    (lexicon, config): (Option<&Path>, &NgramConfig),
    sequences: &[Vec<SymbolId>],
) -> Result<Ngram> {
    let own = Ngram::estimate(&config.options(), spec.symbols(), sequences)?;
    let mixed = match config.text.as_slice() {
        [] => own,
        texts => {
            let lexicon = lexicon.map(Lexicon::read).transpose()?;
            let of = |text: &TextConfig| {
                let sequences = sequences_of(spec, lexicon.as_ref(), &text.file)?;
                Ngram::estimate(&config.options(), spec.symbols(), &sequences)
            };
            let others = texts.iter().map(of).collect::<Result<Vec<Ngram>>>()?;
            let shared = others.iter().zip(texts).map(|(ngram, text)| (ngram, text.share));
            Ngram::mixed(&[(&own, config.own_share())].into_iter().chain(shared).collect::<Vec<_>>())?
        }
    };
    Ok(match config.max_histories {
        Some(histories) => mixed.pruned(histories),
        None => mixed,
    })
}

/// Whether the texts of all n-grams can be read and have no phone that `spec` lacks: better said at once than after hours.
///
/// # Errors
/// Those of [`ngram`] that do not depend on training.
pub(super) fn check(config: &TrainConfig, spec: &GraphSpec) -> Result<()> {
    let texts: BTreeSet<&Path> = config.texts().collect();
    if texts.is_empty() {
        return Ok(());
    }
    let lexicon = config.lexicon.as_deref().map(Lexicon::read).transpose()?;
    texts.into_iter().try_for_each(|text| sequences_of(spec, lexicon.as_ref(), text).map(drop))
}

/// What is said in the text `file`, as phones.
fn sequences_of(spec: &GraphSpec, lexicon: Option<&Lexicon>, file: &Path) -> Result<Vec<Vec<SymbolId>>> {
    let pause = spec.optional().first().map(|&symbol| spec.symbols().name(symbol));
    let sentences = Sentences::read(file, SentenceOptions { lexicon, pause })?;
    let symbol = |name: &String| {
        let reason = || format!("the phone {name:?}, which the text asks for, is no symbol of the graph");
        let error = || Error::TextFile { path: file.to_owned(), line: 1, reason: reason() };
        spec.symbols().get(name).ok_or_else(error)
    };
    let sequence = |names: &Vec<String>| names.iter().map(symbol).collect();
    sentences.sequences.iter().map(sequence).collect()
}
