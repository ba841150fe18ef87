//! The rule of a grammar with all named parts, those of included files too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::expression::Expression;
use super::file::{GrammarFile, PartsFile, included};
use super::parse;
use crate::graph::source::{Name, Source};
use crate::graph::spec::beside;
use crate::{Error, Result};

/// Files that include each other in a row, at most.
const MOST_INCLUDES: usize = 16;

/// Expressions within each other, parts written out, at most: each takes stack.
const MOST_NESTED: usize = 300;

/// A rule and the parts that it may name.
#[derive(Debug)]
pub(super) struct Parts {
    /// The graph file, then what it includes.
    pub sources: Vec<Source>,
    /// What a sequence is.
    pub rule: Expression,
    /// By name.
    parts: BTreeMap<String, Part>,
    /// What was included, by its true path.
    files: BTreeSet<PathBuf>,
}

/// A named part.
#[derive(Debug)]
pub(super) struct Part {
    /// The file that has it, an index into [`Parts::sources`].
    pub source: usize,
    /// The byte at which its name stands.
    at: usize,
    pub expression: Expression,
}

impl Parts {
    /// Reads the grammar `file` of `source`.
    pub fn read(source: &Source, file: &GrammarFile) -> Result<Self> {
        let mut all = Self {
            sources: vec![source.clone()],
            rule: parse::expression(source, &file.rule)?,
            parts: BTreeMap::new(),
            files: BTreeSet::new(),
        };
        all.add(0, &file.parts)?;
        let mut chain: Vec<(PathBuf, String)> = vec![];
        if let Ok(path) = source.path.canonicalize() {
            chain.push((path, shown(&source.path)));
        }
        all.include((0, &file.parts.include), &mut chain)?;
        all.check()?;
        Ok(all)
    }

    /// The part that is named so.
    pub fn get(&self, name: &str) -> Option<&Part> {
        self.parts.get(name)
    }

    fn add(&mut self, source: usize, file: &PartsFile) -> Result<()> {
        for (name, text) in &file.parts {
            let from = &self.sources[source];
            if name.text.is_empty() || name.text.contains(|c: char| c.is_whitespace() || "<>()[]|*+/".contains(c)) {
                let reason = format!("{:?}: the name of a part has no spaces and no brackets or marks", name.text);
                return Err(from.error(name.at, reason));
            }
            if let Some(earlier) = self.parts.get(&name.text) {
                let first = &self.sources[earlier.source];
                let reason = format!(
                    "part `{}` is in line {} of {} already: rename one",
                    name.text,
                    first.place(earlier.at).0,
                    first.path.display()
                );
                return Err(from.error(name.at, reason));
            }
            let part = Part { source, at: name.at, expression: parse::expression(from, text)? };
            self.parts.insert(name.text.clone(), part);
        }
        Ok(())
    }

    /// Adds the parts of the files `names`, relative to the file that includes them; `chain` is that file and what led to it. A
    /// file that two others include is read once.
    fn include(&mut self, (from, names): (usize, &[Name]), chain: &mut Vec<(PathBuf, String)>) -> Result<()> {
        for name in names {
            let error = |reason: String| self.sources[from].error(name.at, reason);
            let path = beside(&self.sources[from].path, &name.text);
            let unreadable = |why: std::io::Error| error(format!("cannot read {}: {why}", path.display()));
            let file = path.canonicalize().map_err(unreadable)?;
            if let Some(first) = chain.iter().position(|(earlier, _)| *earlier == file) {
                let names: Vec<&str> = chain[first..].iter().map(|(_, name)| name.as_str()).collect();
                return Err(error(format!("files include each other: {} -> {}", names.join(" -> "), names[0])));
            }
            if chain.len() > MOST_INCLUDES {
                return Err(error(format!("more than {MOST_INCLUDES} files include each other in a row")));
            }
            if !self.files.insert(file.clone()) {
                continue;
            }
            let source = Source::read(&path).map_err(|fault| match fault {
                Error::Io { source: why, .. } => unreadable(why),
                other => other,
            })?;
            let parts = included(&source)?;
            self.sources.push(source);
            let number = self.sources.len() - 1;
            self.add(number, &parts)?;
            chain.push((file, shown(&path)));
            self.include((number, &parts.include), chain)?;
            chain.pop();
        }
        Ok(())
    }

    /// Every part that is named exists, none is part of itself, and nothing is nested too deeply.
    fn check(&self) -> Result<()> {
        let mut known = BTreeMap::new();
        for (name, part) in &self.parts {
            let mut chain = vec![name.as_str()];
            let depth = self.depth((part.source, &part.expression), &mut chain, &mut known)?;
            known.insert(name.as_str(), depth);
        }
        self.depth((0, &self.rule), &mut vec![], &mut known).map(|_| ())
    }

    /// How deep expressions are nested in one, parts written out; `chain` names the parts that it stands in.
    fn depth<'a>(
        &'a self,
        (source, expression): (usize, &'a Expression),
        chain: &mut Vec<&'a str>,
        known: &mut BTreeMap<&'a str, usize>,
    ) -> Result<usize> {
        let Expression::Part(name) = expression else {
            let children = expression.children().into_iter();
            let depths = children.map(|child| self.depth((source, child), chain, known));
            return Ok(1 + depths.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0));
        };
        let error = |reason: String| self.sources[source].error(name.at, reason);
        let unknown = || error(format!("part <{}> is not in [grammar.parts] nor in an included file", name.text));
        let (key, part) = self.parts.get_key_value(&name.text).ok_or_else(unknown)?;
        if let Some(first) = chain.iter().position(|earlier| *earlier == name.text) {
            let cycle = [&chain[first..], &[&name.text]].concat().join(" -> ");
            return Err(error(format!("part <{}> is part of itself: {cycle}; use `*` or `+` to repeat", name.text)));
        }
        let depth = match known.get(key.as_str()) {
            Some(&depth) => depth,
            None if chain.len() == MOST_NESTED => MOST_NESTED,
            None => {
                chain.push(key);
                let depth = self.depth((part.source, &part.expression), chain, known)?;
                chain.pop();
                known.insert(key, depth);
                depth
            }
        };
        match depth + 1 {
            deep if deep > MOST_NESTED => Err(error(format!("more than {MOST_NESTED} expressions within each other"))),
            depth => Ok(depth),
        }
    }
}

/// A file as a chain of includes names it.
fn shown(path: &std::path::Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::file;
    use super::*;

    /// Reads `g.toml` in a folder with `files`; errors name files without the folder.
    fn read(files: &[(&str, &str)]) -> std::result::Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        }
        let read = || {
            let source = Source::read(&folder.path().join("g.toml"))?;
            let top = source.top(&["grammar"])?;
            Parts::read(&source, &file::table(&source, top.need("grammar", "the file")?)?)
        };
        let named = |parts: Parts| parts.parts.into_keys().collect();
        read().map(named).map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    /// A graph file that includes `include` and whose rule is `rule`.
    fn graph(rule: &str, include: &str) -> String {
        format!("[grammar]\nrule = '{rule}'\ninclude = {include}\n")
    }

    #[test]
    fn parts_come_from_included_files_each_read_once() {
        let found = read(&[
            ("g.toml", &graph("<a> <b> <c>", "['sub/one.toml', 'two.toml']")),
            ("sub/one.toml", "include = '../two.toml'\n[parts]\na = 'x <c>'\nb = 'y'\n"),
            ("two.toml", "[parts]\nc = 'z'\n"),
        ]);
        assert_eq!(found, Ok(["a", "b", "c"].map(String::from).to_vec()));
    }

    #[test]
    fn slips_are_told_in_the_file_that_has_them() {
        let one = "include = 'one.toml'";
        let parts = |text: &str| format!("[grammar]\nrule = '<a>'\n[grammar.parts]\n{text}");
        for (files, expected) in [
            (
                vec![
                    ("g.toml", graph("a", "'one.toml'")),
                    ("one.toml", "include = 'two.toml'".into()),
                    ("two.toml", one.into()),
                ],
                "two.toml:1:11: files include each other: one.toml -> two.toml -> one.toml",
            ),
            (vec![("g.toml", graph("a", "'g.toml'"))], "g.toml:3:11: files include each other: g.toml -> g.toml"),
            (
                vec![("g.toml", graph("a", "'one.toml'"))],
                "g.toml:3:11: cannot read one.toml: No such file or directory (os error 2)",
            ),
            (
                vec![("g.toml", graph("a", "'one.toml'")), ("one.toml", "include = '.'".into())],
                "one.toml:1:11: cannot read .: Is a directory (os error 21)",
            ),
            (
                vec![
                    ("g.toml", graph("a", "['one.toml', 'two.toml']")),
                    ("one.toml", "[parts]\nx = 'a'".into()),
                    ("two.toml", "[parts]\ny = 'a'\nx = 'b'".into()),
                ],
                "two.toml:3:1: part `x` is in line 2 of one.toml already: rename one",
            ),
            (
                vec![("g.toml", graph("a", "'one.toml'")), ("one.toml", "[parts]\n x = 'a <none>'".into())],
                "one.toml:2:9: part <none> is not in [grammar.parts] nor in an included file",
            ),
            (
                vec![("g.toml", graph("a", "'one.toml'")), ("one.toml", "[parts]\nx = 'a | |'".into())],
                "one.toml:2:10: expected a word, <part>, `(` or `[`, found `|`",
            ),
            (
                vec![("g.toml", graph("a", "'one.toml'")), ("one.toml", "rule = 'a'".into())],
                "one.toml:1:1: unknown key `rule`, expected one of parts, include",
            ),
            (
                vec![("g.toml", parts("a = 'x <b>'\nb = '[<c>]'\nc = 'y | <a>'"))],
                "g.toml:6:10: part <a> is part of itself: a -> b -> c -> a; use `*` or `+` to repeat",
            ),
            (
                vec![("g.toml", parts("a = '<a> x'"))],
                "g.toml:4:6: part <a> is part of itself: a -> a; use `*` or `+` to repeat",
            ),
            (
                vec![("g.toml", parts("\"a b\" = 'x'"))],
                r#"g.toml:4:1: "a b": the name of a part has no spaces and no brackets or marks"#,
            ),
            (vec![("g.toml", "[grammar]\nparts = {}".into())], "g.toml:1:1: [grammar] has no `rule`"),
            (vec![("g.toml", "[grammar]\nrule = 3".into())], "g.toml:2:8: expected an expression in quotes, found 3"),
        ] {
            let files: Vec<(&str, &str)> =
                files.iter().map(|(name, text): &(&str, String)| (*name, text.as_str())).collect();
            assert_eq!(read(&files), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_long_row_of_includes_is_refused() {
        let text = |next: usize| format!("include = 'f{next}.toml'");
        let names: Vec<String> = (0..30).map(|file| format!("f{file}.toml")).collect();
        let texts: Vec<String> = (1..31).map(text).collect();
        let mut files: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
        let graph = graph("a", "'f0.toml'");
        files.push(("g.toml", &graph));
        assert_eq!(read(&files), Err("f15.toml:1:11: more than 16 files include each other in a row".into()));
    }
}
