//! The graph files of the repository, and malformed ones with their messages.

use std::path::{Path, PathBuf};

use senone::graph::{GraphSpec, check, dot};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn smoke() {
    for name in ["english", "bio", "mandarin"] {
        let spec = GraphSpec::read(&root(&format!("tests/data/graphs/{name}.toml"))).unwrap();
        println!("{}\n", check::report(&spec).unwrap());
    }
    let spec = GraphSpec::read(&root("recipes/english/graph-10ms.toml")).unwrap();
    let ids: Vec<_> = ["HH", "AH", "T"].iter().map(|s| spec.symbols().get(s).unwrap()).collect();
    let g = spec.transcript(&ids).unwrap();
    let mut out = String::new();
    dot::write(&g, &spec.initial_weights(), &mut out).unwrap();
    println!("{out}");
    println!("{}", spec.transcript(&[ids[0], ids[2]]).unwrap_err());
}
