//! docs/graphs.md: every example file is compiled, every command is run and its output compared.
//!
//! A fenced block whose first line has a second word is a file of that name; `toml` is a graph file. In a `console` block a line
//! after `$ ` is a command, what follows is all that it says; `> FILE` at the end of one writes a file, which is compared with that
//! of the same name in docs/graphs, if there is one.

use std::path::Path;

use crate::util::Dir;

/// A fenced block: the words of its first line, and its lines.
struct Block<'a> {
    words: Vec<&'a str>,
    text: String,
}

fn docs(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = vec![];
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let text = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            blocks.push(Block { words: info.split_whitespace().collect(), text });
        }
    }
    blocks
}

/// Runs the commands of a `console` block; the number of them.
fn run(dir: &Dir, text: &str) -> usize {
    let mut commands = 0;
    for part in text.split("$ ").filter(|part| !part.is_empty()) {
        let (line, expected) = part.split_once('\n').unwrap();
        let arguments = line.strip_prefix("senone ").unwrap_or_else(|| panic!("not a command of senone: {line}"));
        let (arguments, file) = arguments.split_once(" > ").map_or((arguments, None), |(a, file)| (a, Some(file)));
        let ran = dir.senone(arguments).run();
        match file {
            Some(file) => {
                assert_eq!((ran.status, ran.stderr.as_str()), (0, expected), "{line}");
                if let Ok(kept) = std::fs::read_to_string(docs("graphs").join(file)) {
                    assert_eq!(ran.stdout, kept, "{line}: docs/graphs/{file} is not what the command makes");
                }
            }
            None => assert_eq!(format!("{}{}", ran.stderr, ran.stdout), expected, "{line}"),
        }
        commands += 1;
    }
    commands
}

#[test]
fn every_example_of_the_page_does_what_the_page_says() {
    let page = std::fs::read_to_string(docs("graphs.md")).unwrap();
    let blocks = blocks(&page);
    let dir = Dir::new();
    for block in &blocks {
        if let [_, name] = block.words[..] {
            dir.write(name, &block.text);
        }
    }
    let (mut graphs, mut commands) = (0, 0);
    for block in &blocks {
        match block.words[..] {
            ["toml", name] => {
                dir.senone(&format!("graph check {name}")).ok();
                graphs += 1;
            }
            ["console"] => commands += run(&dir, &block.text),
            ["text", _] => {}
            ref other => panic!("a block that nothing is done with: {other:?}"),
        }
    }
    assert!(graphs >= 8 && commands >= 15, "{graphs} graph files, {commands} commands");
}
