//! Names as a graph file writes them.

use crate::settings::quoted;

/// The least line that a list is broken at.
const LINE: usize = 110;

/// A symbol as a graph file writes it: a brace is doubled, for a single one would begin a variable.
pub(super) fn symbol(name: &str) -> String {
    quoted(&name.replace('{', "{{").replace('}', "}}"))
}

/// `names` as a list, broken into lines.
pub(super) fn list<S: AsRef<str>>(names: &[S]) -> String {
    let mut lines = vec![String::new()];
    for (place, name) in names.iter().enumerate() {
        let comma = if place + 1 < names.len() { "," } else { "" };
        let item = symbol(name.as_ref()) + comma;
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = item,
            Some(line) if line.chars().count() + item.chars().count() < LINE => *line += &format!(" {item}"),
            _ => lines.push(item),
        }
    }
    if lines.len() == 1 { format!("[{}]", lines[0]) } else { format!("[\n  {}\n]", lines.join("\n  ")) }
}

/// A name for the class of all `symbols`, which none of them has.
pub(super) fn class_name(wanted: &str, symbols: &[String]) -> String {
    let mut name = wanted.to_owned();
    while symbols.contains(&name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::super::GraphSpec;
    use super::*;

    #[test]
    fn names_are_read_as_they_were() {
        let names: Vec<String> = ["a", "{", "b}", "\"", "\\", "é", "#", "\u{1}", "'"].map(String::from).to_vec();
        let many: Vec<String> = names.iter().cloned().chain((0..50).map(|n| format!("symbol-{n}"))).collect();
        let text = format!(
            "format = 1\n[classes]\nall = {}\n[boundary]\nstart = '*'\nend = '*'\n[topology.default]\nstates = 1\n\
             self_loop = false\n",
            list(&many)
        );
        assert!(text.lines().all(|line| line.chars().count() <= LINE + 3));
        assert_eq!(GraphSpec::parse(&text).unwrap().symbols().names(), many);
        assert_eq!(class_name("all", &["all".into(), "b".into()]), "all_");
    }
}
