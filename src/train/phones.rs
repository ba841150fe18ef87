//! The phone n-gram of a model: of the training utterances, of texts, or of both in a mixture.

use std::path::Path;

use super::config::{NgramConfig, TextConfig};
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
            let of = |text: &TextConfig| of_text(spec, (lexicon.as_ref(), config), &text.file);
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

fn of_text(spec: &GraphSpec, (lexicon, config): (Option<&Lexicon>, &NgramConfig), file: &Path) -> Result<Ngram> {
    let pause = spec.optional().first().map(|&symbol| spec.symbols().name(symbol));
    let sentences = Sentences::read(file, SentenceOptions { lexicon, pause })?;
    let symbol = |name: &String| {
        let reason = || format!("the phone {name:?}, which the text asks for, is no symbol of the graph");
        let error = || Error::TextFile { path: file.to_owned(), line: 1, reason: reason() };
        spec.symbols().get(name).ok_or_else(error)
    };
    let sequence = |names: &Vec<String>| names.iter().map(symbol).collect();
    let sequences = sentences.sequences.iter().map(sequence).collect::<Result<Vec<Vec<SymbolId>>>>()?;
    Ngram::estimate(&config.options(), spec.symbols(), &sequences)
}
