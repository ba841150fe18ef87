//! `senone g2p`, and `senone align` with words that are said by their letters, as a user runs them.

use crate::util::Dir;

const DICTIONARY: &str = "cat K AE T\ncats K AE T S\nhat HH AE T\nhats HH AE T S\nsat S AE T\nthat DH AE T\nthis DH IH S\nhis HH IH Z\nsit S IH T\n\
     kit K IH T\nkits K IH T S\nit IH T\nat AE T\nis IH Z\na AH\n";

fn with_model() -> Dir {
    let dir = Dir::new();
    dir.write("words.dict", DICTIONARY);
    dir.senone("g2p train words.dict --order 3 --held-out 0 --output m.g2p").ok();
    dir
}

#[test]
fn a_dictionary_becomes_a_model_that_says_new_words() {
    let dir = with_model();
    let said = dir.senone("g2p apply m.g2p thit kats -").input(b"THAT\nhit\n".to_vec()).ok().stdout;
    assert_eq!(said, "thit DH IH T\nkats K AE T S\nTHAT DH AE T\nhit HH IH T\n");
    let best = dir.senone("g2p apply m.g2p this --nbest 3").ok().stdout;
    let rows: Vec<Vec<&str>> = best.lines().map(|line| line.split(' ').collect()).collect();
    assert!(rows.len() <= 3 && rows[0][0] == "this" && rows[0][2..] == ["DH", "IH", "S"], "{best}");
    let probabilities: Vec<f64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(probabilities[0] > 0.5 && probabilities.windows(2).all(|pair| pair[0] >= pair[1]), "{best}");
    // What it prints is a lexicon, with probabilities or without.
    dir.write("new.dict", said);
    dir.write("new/lexiconp.txt", best);
    dir.senone("g2p train new.dict --order 2 --held-out 0 --output again.g2p").ok();
    dir.senone("g2p train new/lexiconp.txt --order 2 --held-out 0 --output again.g2p").ok();
}

#[test]
fn errors_are_those_of_words_held_out_and_threads_change_no_byte() {
    let dir = with_model();
    let mut made = vec![];
    for threads in [1, 2, 8] {
        let line = format!("g2p train words.dict --order 3 --held-out 0.3 --seed 3 --threads {threads} --output n.g2p");
        made.push((dir.senone(&line).ok().stdout, dir.read("n.g2p")));
    }
    assert!(
        made[0].0.contains(" words held out: phone error ") && made[0].0.contains("; word error "),
        "{}",
        made[0].0
    );
    assert!(made.iter().all(|other| *other == made[0]));
    // The model is made of all words, whatever was held out.
    assert_eq!(made[0].1, dir.read("m.g2p"));
}

#[test]
fn what_is_wrong_is_said() {
    let dir = with_model();
    dir.write("empty.dict", "\n");
    dir.write("abbreviations.dict", "w D AH B AH L Y UW\n");
    dir.write("cut.g2p", &dir.read("m.g2p")[..200]);
    dir.write("phones.arpa", "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<s>\n-0.3\tAA\n-0.3\t</s>\n\n\\end\\\n");
    let refused = |line: &str| dir.senone(line).refused();
    assert!(refused("g2p train empty.dict --output x").starts_with("empty.dict"));
    let reason = refused("g2p train abbreviations.dict --held-out 0 --output x");
    assert!(reason.starts_with("abbreviations.dict: no word has pronunciations of at most two phones"), "{reason}");
    assert!(refused("g2p train words.dict --held-out 1 --output x").contains("held-out share = 1"));
    assert!(refused("g2p train words.dict --order 17 --output x").contains("order = 17"));
    assert!(refused("g2p apply cut.g2p hat").starts_with("cut.g2p"));
    let reason = refused("g2p apply phones.arpa hat");
    assert!(reason.starts_with("phones.arpa: 'AA' is no graphone, expected letters and phones"), "{reason}");
    // One word that cannot be said leaves the others.
    let ran = dir.senone("g2p apply m.g2p hat qat sit").run();
    assert_eq!((ran.status, ran.stdout.as_str()), (1, "hat HH AE T\nsit S IH T\n"));
    assert!(ran.stderr.contains("'qat': the model has learnt nothing of 'q'"), "{}", ran.stderr);
    assert!(!dir.path("x").exists());
}

#[cfg(feature = "neural")]
#[test]
fn words_that_the_lexicon_lacks_are_aligned_by_their_letters() {
    let dir = Dir::new();
    let sentence = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sense-and-sensibility.wav");
    dir.write(
        "words.dict",
        "he HH IY\nwas W AH Z\nnot N AA T\nan AE N\nill IH L\nyoung Y AH NG\nman M AE N\npan P AE N\nhot HH AA T\nfan F AE N\ntan T AE N\n",
    );
    dir.senone("g2p train words.dict --order 3 --held-out 0 --output m.g2p").ok();
    let line = "align --lexicon words.dict --tier words --format ctm --summary s.tsv --text";
    let text = "He was pot an ill fot young man.";
    let align = |options: &str| dir.senone(line).arg(text).arg(&sentence).args(options);
    let spelled = align("--unknown spell --g2p m.g2p").run();
    assert!(
        spelled
            .stderr
            .contains("not in the lexicon, said by their letters: 'pot' (word 3) as P AA T, 'fot' (word 6) as F AA T"),
        "{}",
        spelled.stderr
    );
    assert_eq!(spelled.stdout.lines().count(), 8);
    assert!(dir.read("s.tsv").lines().nth(1).unwrap().split('\t').any(|field| field == "2"), "{}", dir.read("s.tsv"));
    let refused = |options: &str| align(options).refused();
    assert!(align("--unknown spell").misused().contains("--g2p <MODEL>"));
    assert_eq!(refused("--g2p m.g2p"), "--g2p is for words that the lexicon lacks: add --unknown spell");
}
