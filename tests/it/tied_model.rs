//! A model of tied states goes the way of one of monophones: trained by frames and by sequences, written, tuned, decoded, gone on
//! from.

use std::fs;

use super::journey::{SEQUENCES, phone_error, settings_without_passes};
use super::toy;
use super::util::Dir;

/// The toy corpus with settings that tie states by contexts of `kind`.
fn corpus(kind: &str) -> Dir {
    let dir = Dir::new();
    toy::corpus(&dir);
    let context = format!("[context]\nkind = \"{kind}\"\nleaves = 24\nmin_frames = 20\n");
    dir.edit("train.toml", "[features]\n", &format!("{context}[features]\n"));
    dir.edit("train.toml", "last_split = 6 }", "last_split = 6 }\nreport = true");
    dir.edit("train.toml", "[ngram]", &format!("{SEQUENCES}[ngram]"));
    dir
}

#[test]
fn tied_states_go_all_the_way() {
    let dir = corpus("left-biphone");
    let said = dir.senone("train train.toml --work work --output model").ok().stderr;
    println!("{said}");
    for line in [
        "Gaussian model, monophones: phone error ",
        "24 tied states for the Gaussian model, by left-biphone",
        "Gaussian model, left-biphone: phone error ",
        " tied states for the network, by left-biphone",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(phone_error(&dir, "model") < 20.0);
    let tree = dir.read("model/tree.txt");
    println!("{tree}");
    assert_eq!(tree, dir.read("work/tree.txt"));
    let pdfs = tree.lines().filter(|line| line.trim().starts_with("pdf ")).count();
    assert!((7..=24).contains(&pdfs), "{pdfs}");
    let info = dir.senone("info model").ok().stdout;
    assert!(info.contains(&format!("states             {pdfs} tied, by left-biphone\n")), "{info}");

    // The scales that tuning finds go into the same bundle.
    let tune = dir.senone("tune model").arg("work/development.tsv").arg("--lexicon").arg("words.dict");
    let said = tune.ok().stderr;
    assert!(said.contains(" utterances\nconfidence: expected calibration error 0."), "{said}");
    assert!(said.ends_with("\nmodel: written\n"), "{said}");
    assert!(phone_error(&dir, "model") < 20.0);

    // Sequence training from the model keeps its states; a model without its tree is none.
    dir.write("more.toml", settings_without_passes(&dir, SEQUENCES));
    // Where parts are links, the files that they lead to are replaced.
    #[cfg(unix)]
    for part in ["bundle.toml", "tree.txt"] {
        dir.write(&format!("elsewhere/{part}"), "old");
        fs::create_dir_all(dir.path("more-model")).unwrap();
        std::os::unix::fs::symlink(dir.path("elsewhere").join(part), dir.path("more-model").join(part)).unwrap();
    }
    dir.senone("train more.toml --work more --output more-model --from model").ok();
    assert_eq!(dir.read("more-model/tree.txt"), tree);
    assert!(phone_error(&dir, "more-model") < 20.0);
    fs::remove_file(dir.path("more-model/tree.txt")).unwrap();
    let message = dir.senone("info more-model").refused();
    let expected =
        format!("the acoustic model scores {pdfs} pdfs but the graph uses 6: they must be trained for each other");
    assert!(message.contains(&expected) && message.contains("has a tree.txt too"), "{message}");
    dir.edit("model/tree.txt", "context left-biphone", "context left");
    assert!(dir.senone("info model").refused().contains("tree.txt:2: context left: expected left-biphone"));
}

#[test]
fn triphones_inside_words_go_all_the_way_and_threads_change_no_byte() {
    let dir = corpus("word-internal-triphone");
    let parts = |model: &str| {
        let names = ["bundle.toml", "graph.toml", "tree.txt", "phones.arpa", "weights.safetensors"];
        names.map(|name| fs::read(dir.path(model).join(name)).unwrap())
    };
    dir.senone("--threads 1 train train.toml --work one --output one-model").ok();
    let said = dir.senone("--threads 3 train train.toml --work three --output three-model").ok().stderr;
    println!("{said}");
    assert!(parts("one-model") == parts("three-model"));
    assert!(phone_error(&dir, "one-model") < 25.0);
    assert!(dir.read("one-model/tree.txt").contains("  right "), "{}", dir.read("one-model/tree.txt"));

    // A run that lost the tree, and what came after it, makes the same one again.
    for file in ["tree.txt", "pass-1.safetensors"] {
        fs::remove_file(dir.path(&format!("one/{file}"))).unwrap();
    }
    dir.senone("train train.toml --work one --output again --resume").ok();
    assert!(parts("one-model") == parts("again"));

    // One that lost the alignment does not take the tree of another.
    dir.write("one/tree.txt", "of another alignment");
    fs::remove_file(dir.path("one/gmm.ctm")).unwrap();
    dir.senone("train train.toml --work one --output anew --resume").ok();
    assert!(parts("one-model") == parts("anew"));
}

#[test]
fn too_few_leaves_are_refused_before_anything_is_read() {
    let dir = corpus("left-biphone");
    dir.edit("train.toml", "leaves = 24", "leaves = 17");
    let message = dir.senone("train train.toml --work work --output model").refused();
    assert!(message.contains("leaves = 17: expected at least 18, one for each state of "), "{message}");
    assert!(!dir.path("work").exists());
}
