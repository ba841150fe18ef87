//! `extends = "model"`: a graph file that only narrows the graph of a model.
//!
//! Symbols, classes, pairs, topology, pdfs and transition parameters are the model's, so that its trained weights stay valid; the
//! file forbids pairs and narrows what may begin and end a sequence.

use super::classes::Names;
use super::exclusive::{self, ExclusiveFile};
use super::file::{
    FORBID_KEYS, GraphFile, LexiconFile, LmFile, Rule, Side, boundary, check_format, lexicon, lm, rules,
};
use super::grammar::{self, GrammarFile};
use super::rules::forbidden;
use super::source::{Source, Table};
use super::spec::{GraphSpec, LmSpec, beside, lexicon_spec};
use crate::symbols::SymbolId;
use crate::{Error, Result};

/// What a file that extends a model may say.
pub(super) const EXTENSION_KEYS: [&str; 9] =
    ["format", "extends", "name", "boundary", "forbid", "exclusive", "grammar", "lm", "lexicon"];

/// The sections of a file that extends a model.
#[derive(Debug)]
pub(super) struct Extension {
    /// The byte at which it says so.
    pub at: usize,
    name: String,
    boundary: Option<[Side; 2]>,
    forbid: Vec<Rule>,
    exclusive: Vec<ExclusiveFile>,
    grammar: Option<GrammarFile>,
    pub lm: Option<LmFile>,
    pub lexicon: Option<LexiconFile>,
}

impl Extension {
    /// Reads the sections of `source` if it extends a model.
    pub fn read(source: &Source, top: &Table) -> Result<Option<Self>> {
        let Some(extends) = top.get("extends") else { return Ok(None) };
        if source.name(extends, "\"model\"")?.text != "model" {
            return Err(source.wrong(extends, "\"model\", the one thing that a graph file can extend"));
        }
        check_format(source, top)?;
        if let Some((key, _)) = top.entries.iter().find(|(key, _)| !EXTENSION_KEYS.contains(&key.text.as_str())) {
            let may = EXTENSION_KEYS[2..].join(", ");
            let reason = format!("`{}` is the model's: a file that extends it has {may}", key.text);
            return Err(source.error(key.at, reason));
        }
        Ok(Some(Self {
            at: extends.span().start,
            name: top.get("name").map_or(Ok(String::new()), |v| source.name(v, "a string").map(|name| name.text))?,
            boundary: top.get("boundary").map(|v| boundary(source, v)).transpose()?,
            forbid: rules(source, top.get("forbid"), "[[forbid]]", &FORBID_KEYS)?,
            exclusive: top.get("exclusive").map_or(Ok(vec![]), |v| exclusive::tables(source, v))?,
            grammar: top.get("grammar").map(|v| grammar::table(source, v)).transpose()?,
            lm: top.get("lm").map(|v| lm(source, v)).transpose()?,
            lexicon: top.get("lexicon").map(|v| lexicon(source, v)).transpose()?,
        }))
    }

    /// The graph of `model`, narrowed.
    ///
    /// # Errors
    /// [`Error::GraphFile`] where the file names what the model lacks, or allows what it does not.
    pub fn on(self, source: Source, model: &GraphSpec) -> Result<GraphSpec> {
        let base = GraphFile::read(&model.source)?;
        let names = Names::read(&model.source, &base)?.told_by(&source);
        let mut spec = model.clone();
        spec.name = self.name;
        let large = self.lm.as_ref().map(|lm| &lm.file).or(self.lexicon.as_ref().map(|lexicon| &lexicon.file));
        spec.size_at = large.map_or(self.at, |file| file.at);
        if let Some(lexicon) = &self.lexicon {
            spec.lexicon = Some(lexicon_spec(&source, lexicon, &names)?);
        }
        // What the model's n-gram weighs is said otherwise: by other words, or by a grammar over words.
        if self.lexicon.is_some() || self.grammar.is_some() && spec.lexicon.is_some() {
            spec.lm = None;
        }
        if let Some(lm) = &self.lm {
            spec.lm = Some(LmSpec { path: beside(&source.path, &lm.file.text), scale: lm.scale });
        }
        spec.source = source.clone();
        spec.exclusive.iter_mut().for_each(|rule| rule.told_at(self.at));
        if let Some([start, end]) = &self.boundary {
            spec.starts = narrowed(&source, &names, (start, model.starts()), "begin")?;
            spec.ends = narrowed(&source, &names, (end, model.ends()), "end")?;
        }
        let forbidden = forbidden(&names, &self.forbid)?;
        for (row, from) in spec.successors.iter_mut().zip(0..) {
            row.retain(|(to, _)| !forbidden[from * names.symbols.len() + to.index()]);
        }
        if let Some(grammar) = self.grammar.as_ref().filter(|_| model.grammar().is_some()) {
            return Err(source.error(grammar.at(), "the model that this file extends has a [grammar] of its own"));
        }
        spec.limited(&names, (self.grammar.as_ref(), &self.exclusive))
    }
}

/// The symbols of one list of `[boundary]`, all of which must be among those of the model.
fn narrowed(source: &Source, names: &Names, (side, model): (&Side, &[SymbolId]), verb: &str) -> Result<Vec<SymbolId>> {
    let symbols = names.all(&side.names)?;
    match symbols.iter().find(|symbol| !model.contains(symbol)) {
        Some(&symbol) => {
            let reason = format!(
                "`{}` may not {verb} a sequence of the model that this file extends",
                names.symbols.name(symbol)
            );
            Err(source.error(side.at, reason))
        }
        None if symbols.is_empty() => Err(source.error(side.at, format!("no symbol may {verb} a sequence"))),
        None => Ok(symbols),
    }
}

/// The error of a file that extends a model where there is none.
pub(super) fn no_model() -> Error {
    Error::Other(
        "this file extends a model, and there is none: name one with --model, or write all of the graph into the file"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::graph::TransitionRole;

    const MODEL: &str = r#"
format = 1
optional = ["sil"]
[vars]
tone = ["1", "2"]
[classes]
pause = ["sil"]
vowel = ["a{tone}"]
stop = ["p", "k"]
[boundary]
start = ["pause", "stop"]
end = "*"
[[allow]]
from = "*"
to = "*"
weight = -0.5
[[forbid]]
from = "pause"
to = "pause"
[topology.default]
states = 2
self_loop = 0.5
"#;

    fn narrowed(text: &str) -> Result<GraphSpec> {
        let source = Source::new(Path::new("commands.toml"), &format!("format = 1\nextends = \"model\"\n{text}"));
        let top = source.top(&super::super::file::TOP_KEYS)?;
        let extension = Extension::read(&source, &top)?.expect("the file extends a model");
        drop(top);
        extension.on(source.clone(), &GraphSpec::parse(MODEL)?)
    }

    /// What is left has the model's number for each pdf and parameter.
    #[test]
    fn a_file_that_extends_a_model_narrows_its_graph() {
        let model = GraphSpec::parse(MODEL).unwrap();
        let text = "name = 'c'\nboundary = { start = 'sil', end = ['pause', 'vowel'] }\n[[forbid]]\nfrom = 'a{tone}'\nto = 'a{tone}'\n";
        let spec = narrowed(text).unwrap();
        assert_eq!((spec.symbols(), spec.pdfs(), spec.name()), (model.symbols(), model.pdfs(), "c"));
        assert_eq!((spec.initial_weights(), spec.transitions()), (model.initial_weights(), model.transitions()));
        let pairs = |spec: &GraphSpec| spec.symbols().ids().map(|symbol| spec.successors(symbol).len()).sum::<usize>();
        assert_eq!((pairs(&model), pairs(&spec)), (24, 22));
        let graph = spec.compile().unwrap();
        let role = |arc: &crate::graph::Arc| model.transition_role(arc.transition);
        let mut steps = 0;
        for (position, arc) in graph.all_arcs().iter().enumerate() {
            if let TransitionRole::Pair { from, to } = role(arc) {
                let ends = [graph.source(position), arc.to].map(|state| graph.state(state).symbol);
                assert_eq!(ends, [from, to]);
                steps += 1;
            }
        }
        assert_eq!((steps, graph.starts().len(), graph.finals().len()), (22, 1, 3));
        // The model's graph as it is has the same arcs without the file's rules.
        assert_eq!(narrowed("").unwrap().compile().unwrap().all_arcs(), model.compile().unwrap().all_arcs());
        assert!(spec.text().starts_with("format = 1\nextends"));
    }

    #[test]
    fn grammars_and_exclusive_rules_are_over_the_symbols_of_the_model() {
        let spec = narrowed("[grammar]\nrule = '(p vowel)+'\n[[exclusive]]\na = 'a1'\nb = 'a2'\n").unwrap();
        let said = |text: &str| {
            let ids: Vec<SymbolId> = text.split(' ').map(|name| spec.symbols().get(name).unwrap()).collect();
            spec.transcript(&ids).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(said("p a1 p a1"), Ok(()));
        assert_eq!(
            said("p a1 p a2"),
            Err("a1 and a2 both occur, which [[exclusive]] in line 5 of the graph forbids".into())
        );
        assert_eq!(said("p a1 a1"), Err("a1 -> a1 is not allowed by the grammar".into()));
        assert_eq!(spec.compile().unwrap().transitions(), GraphSpec::parse(MODEL).unwrap().transitions());
    }

    /// The model's `[lexicon]` and `[lm]` hold alike, until the file has its own.
    #[test]
    fn words_and_n_gram_of_the_model_hold_where_the_file_has_none() {
        let model = |tables: &str| GraphSpec::parse_as(Path::new("m/graph.toml"), &format!("{MODEL}{tables}")).unwrap();
        let [lexicon, lm] = ["[lexicon]\nfile = 'words.dict'\n", "[lm]\nfile = 'words.arpa'\nscale = 2.0\n"];
        let grammar = "[grammar]\nrule = '(p vowel)+'\n";
        let found = |tables: &str, text: &str| {
            let source = Source::new(Path::new("own/g.toml"), &format!("format = 1\nextends = \"model\"\n{text}"));
            let extension =
                Extension::read(&source, &source.top(&super::super::file::TOP_KEYS).unwrap()).unwrap().unwrap();
            let spec = extension.on(source.clone(), &model(tables)).unwrap();
            let path = |path: &Path| path.display().to_string();
            [spec.lexicon().map(|lexicon| path(&lexicon.path)), spec.lm().map(|lm| path(&lm.path))]
                .map(Option::unwrap_or_default)
        };
        let both = format!("{lexicon}{lm}");
        assert_eq!(found(&both, ""), ["m/words.dict", "m/words.arpa"]);
        assert_eq!(found(lm, ""), ["", "m/words.arpa"]);
        assert_eq!(found(lm, grammar), ["", "m/words.arpa"], "both weigh symbols");
        assert_eq!(found(&both, lm), ["m/words.dict", "own/words.arpa"]);
        assert_eq!(found(&both, lexicon), ["own/words.dict", ""], "the n-gram is of other words");
        assert_eq!(
            found(&both, "[grammar]\nrule = 'pa'\n"),
            ["m/words.dict", ""],
            "the grammar says what follows what"
        );
        assert_eq!(found("", &both), ["own/words.dict", "own/words.arpa"]);
    }

    #[test]
    fn what_widens_the_model_is_refused() {
        for (text, expected) in [
            (
                "optional = ['p']",
                "3:1: `optional` is the model's: a file that extends it has name, boundary, forbid, exclusive, grammar, lm, lexicon",
            ),
            (
                "[[allow]]\nfrom = 'p'\nto = 'p'",
                "3:3: `allow` is the model's: a file that extends it has name, boundary, forbid, exclusive, grammar, lm, lexicon",
            ),
            (
                "[boundary]\nstart = ['p', 'vowel']\nend = 'p'",
                "4:9: `a1` may not begin a sequence of the model that this file extends",
            ),
            ("[boundary]\nstart = 'p'\nend = []", "5:7: no symbol may end a sequence"),
            ("[[forbid]]\nfrom = 'x'\nto = 'p'", "4:8: `x` is neither a symbol nor a class of [classes]"),
            ("[grammar]\nrule = 'p x'", "4:11: `x` is neither a symbol nor a class of [classes]"),
        ] {
            let error = narrowed(text).unwrap_err().to_string();
            assert_eq!(error, format!("commands.toml:{expected}"));
        }
        let alone = GraphSpec::parse("extends = 'model'\nformat = 1").unwrap_err().to_string();
        assert!(alone.starts_with("graph.toml:1:11: this file extends a model, and there is none"), "{alone}");
        let none = narrowed("[boundary]\nstart = 'p'\nend = 'k'\n[[forbid]]\nfrom = 'p'\nto = '*'").unwrap();
        let error = none.compile().unwrap_err().to_string();
        assert_eq!(error, "commands.toml:2:11: the rules of the graph leave no legal sequence");
    }
}
