//! The full graph: every legal sequence, each symbol once, or once for every history that an n-gram tells apart. Graphs of words
//! are [made elsewhere](super::vocabulary).

use super::Graph;
use super::lattice::{Lattice, Link, Place, Segment};
use super::ngram::Ngram;
use super::spec::GraphSpec;
use crate::symbols::SymbolId;
use crate::{Error, Result};

impl GraphSpec {
    /// The graph of every legal sequence: of the pair rules, `[grammar]` and `[[exclusive]]`, with the n-gram that `[lm]` names, if
    /// it names one; with a `[lexicon]`, the graph of every sequence of its words.
    ///
    /// # Errors
    /// Those of reading n-gram and dictionary; [`Error::GraphFile`] at `[lm]`, else at `[lexicon]`, else at `[topology.default]`,
    /// when the graph would be too large, the n-gram leaves no legal sequence, or words have no pronunciation;
    /// [`Error::TextFile`] at a pronunciation that the graph does not allow.
    pub fn compile(&self) -> Result<Graph> {
        self.compile_scaled(self.lm().map_or(1.0, |lm| lm.scale))
    }

    /// As [`GraphSpec::compile`], with `scale` in place of the one in `[lm]`; without an `[lm]` it weighs nothing.
    ///
    /// # Errors
    /// As [`GraphSpec::compile`]; [`Error::Setting`] when the scale is negative or not finite.
    pub fn compile_scaled(&self, scale: f32) -> Result<Graph> {
        let graph = match (self.lexicon(), self.lm()) {
            (Some(lexicon), _) => self.compile_words(lexicon, scale),
            (None, None) => self.compile_with(None),
            (None, Some(lm)) => {
                let text = crate::input::text(&lm.path)?;
                let ngram = Ngram::parse_arpa(&lm.path, &text, self.symbols())?;
                self.compile_with(Some((&ngram, scale)))
            }
        };
        graph.map_err(|error| match error {
            Error::Other(reason) => self.size_error(reason),
            other => other,
        })
    }

    /// The graph of every legal sequence, without `[lexicon]` and the n-gram of `[lm]` but with `lm`: an n-gram and the factor on its scores.
    ///
    /// Without an n-gram the states are in symbol order. With one, symbols are laid out once for each history after them:
    ///
    /// `fixed(b | h, a) = scale * log P(b | h)`, where `h` is the history that the n-gram keeps of all up to and with `a`;
    ///
    /// a start has the score after the n-gram's start, an end the score of its end. A symbol that the n-gram does not know (a
    /// pause, as a rule) leaves the history as it is and scores nothing. What the n-gram gives probability 0 is absent.
    ///
    /// # Errors
    /// [`Error::Other`] when the graph would have more than 50 million arcs, when the n-gram is over other symbols, or when it
    /// leaves no legal sequence; [`Error::Setting`] when the factor is negative or not finite.
    pub fn compile_with(&self, lm: Option<(&Ngram, f32)>) -> Result<Graph> {
        let Some((ngram, scale)) = lm else { return self.sequences()?.expand(self) };
        if ngram.symbols() != self.symbols() {
            return Err(Error::Other("the n-gram and the graph have different symbols".into()));
        }
        let none = || Error::Other("the n-gram gives every legal sequence of the graph probability 0".into());
        self.sequences()?.weighed((ngram, scale))?.ok_or_else(none)?.expand(self)
    }

    /// Every legal sequence before an n-gram weighs it: the pairs or the grammar, less what exclusive rules forbid.
    ///
    /// # Errors
    /// [`Error::Other`] when there is none or the net is too large; [`Error::GraphFile`] at the exclusive rule that leaves none.
    fn sequences(&self) -> Result<Lattice> {
        let net = match self.grammar_net() {
            Some(net) => net.clone(),
            None => self
                .legal_pairs_only()
                .trimmed()
                .ok_or_else(|| Error::Other("the rules of the graph leave no legal sequence".into()))?,
        };
        self.exclude((net, &[]), |rule| self.no_sequence(rule))
    }

    /// One segment a symbol: the last symbol is all the history there is.
    pub(super) fn legal_pairs_only(&self) -> Lattice {
        let mut net = Lattice::default();
        for symbol in self.symbols().ids() {
            let place = if self.optional().contains(&symbol) { Place::Last } else { Place::Open };
            net.segment(Segment { symbol, place, word: None });
        }
        for from in self.symbols().ids() {
            let link = |&(to, _): &(SymbolId, f32)| Link { from: from.index(), to: to.index(), fixed: 0.0 };
            net.links.extend(self.successors(from).iter().map(link));
        }
        net.starts = self.starts().iter().map(|symbol| (symbol.index(), 0.0)).collect();
        net.ends = self.ends().iter().map(|symbol| (symbol.index(), 0.0)).collect();
        net
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "format = 1\n[classes]\nall = ['a', 'b']\n[boundary]\nstart = 'a'\nend = 'b'\n\
        [[allow]]\nfrom = '*'\nto = '*'\n[topology.default]\nstates = 1\nself_loop = 0.5\n";

    fn arpa(spec: &GraphSpec, unigrams: &str) -> Ngram {
        let text = format!("\\data\\\nngram 1={}\n\\1-grams:\n{unigrams}\n\\end\\\n", unigrams.lines().count());
        Ngram::parse_arpa(Path::new("test.arpa"), &text, spec.symbols()).unwrap()
    }

    #[test]
    fn what_the_n_gram_excludes_is_absent() {
        let spec = GraphSpec::parse(TEXT).unwrap();
        let ends = arpa(&spec, "-0.3\t</s>\n-0.3\ta\n-0.3\tb");
        assert_eq!(spec.compile_with(Some((&ends, 1.0))).unwrap().len(), 4);
        let endless = arpa(&spec, "-99\t</s>\n-0.3\ta\n-0.3\tb");
        let error = spec.compile_with(Some((&endless, 1.0))).unwrap_err();
        assert!(error.to_string().contains("every legal sequence"), "{error}");
    }

    #[test]
    fn an_n_gram_must_fit() {
        let spec = GraphSpec::parse(TEXT).unwrap();
        let other = GraphSpec::parse(&TEXT.replace("['a', 'b']", "['b', 'a']")).unwrap();
        let ngram = arpa(&other, "-0.3\t</s>\n-0.3\ta\n-0.3\tb");
        assert!(spec.compile_with(Some((&ngram, 1.0))).is_err());
        for scale in [-1.0, f32::NAN, f32::INFINITY] {
            assert!(matches!(other.compile_with(Some((&ngram, scale))), Err(Error::Setting { .. })));
        }
    }
}
