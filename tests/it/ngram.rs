//! `senone ngram` as a user runs it.

use crate::util::Dir;

#[test]
fn text_becomes_arpa_files_that_mix_and_shrink() {
    let dir = Dir::new();
    dir.write("left.txt", "a b a b a\nb a b\n");
    dir.write("right.txt", "a c c\nc a\n");
    dir.senone("ngram estimate left.txt --output left.arpa").ok();
    dir.senone("ngram estimate right.txt --smoothing kneser-ney --output right.arpa").ok();
    dir.senone("ngram mix left.arpa right.arpa --shares 0.7,0.3 --output both.arpa").ok();
    dir.senone("ngram prune both.arpa --histories 3 --output small.arpa").ok();
    let scored = dir.senone("ngram score both.arpa small.arpa --text left.txt").ok().stdout;
    let perplexity = |line: &str| line.split_whitespace().nth(2).unwrap().parse::<f64>().unwrap();
    let [both, small] = scored.lines().map(perplexity).collect::<Vec<_>>().try_into().unwrap();
    assert!(1.0 < both && both < small, "{scored}");
    assert!(scored.ends_with("histories 3\n"), "{scored}");
}

#[test]
fn words_become_phones_and_what_is_unknown_is_told() {
    let dir = Dir::new();
    dir.write("words.txt", "Hello, you!\nyou xyzzy\n");
    dir.write("dict", "hello HH AH L OW\nyou Y UW\n");
    let told = dir.senone("ngram estimate words.txt --lexicon dict --pause SIL --output m.arpa").ok().stderr;
    assert!(told.contains("words.txt: 1 words are not in the lexicon"), "{told}");
    let arpa = dir.read("m.arpa");
    assert!(arpa.contains("\tSIL HH AH\n") && !arpa.contains("xyzzy"), "{arpa}");
}

#[test]
fn what_is_wrong_is_said() {
    let dir = Dir::new();
    dir.write("a.txt", "a b\n");
    dir.write("empty.txt", "\n\n");
    dir.senone("ngram estimate a.txt --output a.arpa").ok();
    let refused = |line: &str| dir.senone(line).refused();
    assert!(refused("ngram estimate empty.txt --output x").contains("empty.txt"));
    assert!(refused("ngram estimate a.txt --order 17 --output x").contains("order = 17"));
    let shares = refused("ngram mix a.arpa a.arpa --shares 1 --output x");
    assert_eq!(shares, "1 --shares for 2 n-grams: expected one for each");
    assert!(refused("ngram mix a.arpa a.arpa --shares 0,1 --output x").contains("expected a number above 0"));
    assert!(refused("ngram score a.txt --text a.txt").starts_with("a.txt"));
    assert!(refused("ngram score a.arpa --text a.arpa.missing").contains("a.arpa.missing"));
    assert!(!dir.path("x").exists());
}
