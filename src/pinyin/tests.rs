use super::*;

/// The syllables of `text`, in marks of `marks`, with spaces.
fn spelled(text: &str, marks: Marks) -> String {
    let syllables = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    syllables.iter().map(|one| one.spelled(marks)).collect::<Vec<_>>().join(" ")
}

fn digits(text: &str) -> String {
    spelled(text, Marks::Digits)
}

/// The lines of the fixture: syllable, initial, final, tier.
fn listed() -> Vec<[String; 4]> {
    let text = include_str!("../../tests/data/mandarin-syllables.txt");
    let row = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// The characters of `text` taken apart: letter, then its marks.
fn decomposed(text: &str) -> String {
    let part = |c: char| match MARKED.iter().find(|(_, marks)| marks.contains(&c)) {
        Some((vowel, marks)) => {
            let mark = ['\u{304}', '\u{301}', '\u{30c}', '\u{300}'][marks.iter().position(|one| *one == c).unwrap()];
            format!("{vowel}{mark}").replace('ü', "u\u{308}")
        }
        None => c.to_string().replace('ü', "u\u{308}"),
    };
    text.chars().map(part).collect()
}

#[test]
fn every_syllable_in_every_spelling_comes_back() {
    for [name, initial, rime, _] in listed() {
        for tone in Tone::ALL {
            let toned = Syllable::of_phones(&initial, &format!("{rime}{tone}")).unwrap();
            assert_eq!(toned.phones(Tones::Kept), [initial.clone(), format!("{rime}{tone}")]);
            let digit = format!("{name}{tone}");
            assert_eq!(toned.spelled(Marks::Digits), digit.replace('v', "ü"));
            let mark = toned.spelled(Marks::Diacritics);
            let mut spellings = vec![digit.replace('v', "u:"), digit.replace('v', "ü"), digit.to_uppercase(), digit];
            spellings.extend([decomposed(&spellings[1]), toned.spelled(Marks::Digits)]);
            if tone != Tone::NEUTRAL {
                spellings.extend([decomposed(&mark), mark.to_uppercase(), mark]);
            } else {
                spellings.push(format!("{name}0"));
                assert_eq!(read(&mark).unwrap(), [Syllable { tone: None, ..toned }]);
            }
            for spelling in spellings {
                assert_eq!(read(&spelling).unwrap(), [toned], "{spelling}");
                let rhotic = Syllable { suffix: Suffix::R, ..toned };
                let ending = if spelling.ends_with(|c: char| c.is_ascii_digit()) { "r" } else { "-r" };
                assert_eq!(read(&format!("{spelling}{ending}")).unwrap(), [rhotic], "{spelling}{ending}");
            }
        }
        let plain = Syllable::of_phones(&initial, &rime).unwrap();
        assert_eq!((plain.tone(), plain.phones(Tones::Dropped)), (None, vec![initial, rime]));
        assert_eq!(read(&plain.spelled(Marks::None)).unwrap(), [plain]);
    }
}

#[test]
fn the_common_syllables_are_those_of_the_list() {
    let mut found: Vec<_> = Syllable::common().map(|one| (one.initial(), one.rime())).collect();
    let listed = listed();
    let mut expected: Vec<_> = listed.iter().filter(|row| row[3] == "common").map(|row| (&*row[1], &*row[2])).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!((found.len(), found), (412, expected));
}

#[test]
fn what_is_run_together_is_parted() {
    for (text, expected) in [
        ("zhongguo", "zhong guo"),
        ("Zhōngguó", "zhong1 guo2"),
        ("zhong1guo2", "zhong1 guo2"),
        ("Xi'an", "xi an"),
        ("Xī’ān", "xi1 an1"),
        ("xīān", "xi1 an1"),
        ("xian", "xian"),
        ("fangan", "fan gan"),
        ("fang'an", "fang an"),
        ("tian'anmen", "tian an men"),
        ("tiananmen", "tian an men"),
        ("nver", "nü er"),
        ("nǚ'ér", "nü3 er2"),
        ("Lu:shun4", "lü shun4"),
        ("lüe4", "lüe4"),
        ("lue4", "lüe4"),
        ("LYU", "lü"),
        ("yvan2", "yuan2"),
        ("wan2r", "wan2r"),
        ("wanr2", "wan2r"),
        ("wánr", "wan2r"),
        ("wan2 r5", "wan2r"),
        ("yīhuìr", "yi1 hui4r"),
        ("hua-r", "huar"),
        ("zher4", "zhe4r"),
        ("erzi", "er zi"),
        ("yingeryuan", "ying er yuan"),
        ("ma0 ma5 ma", "ma5 ma5 ma"),
        ("Nǐ hǎo, Běijīng!", "ni3 hao3 bei3 jing1"),
        ("ni3-hao3", "ni3 hao3"),
        ("zhu: ma", "zhu ma"),
        ("hăo", "hao3"),
        ("chuangwai", "chuang wai"),
        ("", ""),
    ] {
        assert_eq!(digits(text), expected, "{text}");
    }
    assert_eq!(
        spelled("nv3 lve4 guo2 jiu3 zhou1 hui4 lun2 ma5 xiong2 wanr2", Marks::Diacritics),
        "nǚ lüè guó jiǔ zhōu huì lún ma xióng wánr"
    );
}

/// Whatever is parted has the letters that were run together.
#[test]
fn syllables_run_together_keep_their_letters() {
    let mut random = crate::random::Random::new(3);
    let all: Vec<Syllable> = Syllable::common().collect();
    for _ in 0..2000 {
        let picked: Vec<Syllable> =
            (0..4).map(|_| all[random.below(all.len())].in_tone(Tone::ALL[random.below(5)])).collect();
        let of = |marks| picked.iter().map(|one| one.spelled(marks)).collect::<Vec<String>>();
        assert_eq!(read(&of(Marks::Digits).concat()).unwrap(), picked);
        let apart: Vec<String> =
            read(&of(Marks::None).concat()).unwrap().iter().map(|one| one.spelled(Marks::None)).collect();
        // Lu and e, say, are written as lüe is by many.
        let letters = |spelled: &[String]| spelled.concat().replace('ü', "u");
        assert_eq!(letters(&apart), letters(&of(Marks::None)));
        let apostrophes = read(&of(Marks::Diacritics).join("'")).unwrap();
        assert_eq!(
            apostrophes.iter().map(Syllable::rime).collect::<Vec<_>>(),
            picked.iter().map(Syllable::rime).collect::<Vec<_>>()
        );
    }
}

#[test]
fn erhua_is_a_syllable_of_its_own_in_phones() {
    assert_eq!(read("hui4r").unwrap()[0].phones(Tones::Kept), ["h", "ui4", "ee", "er5"]);
    assert_eq!(read("de").unwrap()[0].phones(Tones::Kept), ["d", "e5"]);
}

#[test]
fn what_is_no_pinyin_is_named() {
    for (text, found) in [
        (
            "ni3 hao3x",
            "\"x\" at character 9 of the text, in \"hao3x\": expected a syllable of pinyin, as in ni3, nǐ or ni",
        ),
        ("hao3 xi\tqux3 ma", "\"x3\" at character 11 of the text, in \"qux3\": expected"),
        ("ni x3 ma", "\"x3\" at character 4 of the text: expected a syllable"),
        ("ni3 haox", "\"x\" at character 8 of the text"),
        ("你好", "\"你好\" at character 1 of the text"),
        ("ni6", "\"6\" at character 3"),
        ("3", "\"3\" at character 1"),
        ("hello", "\"llo\" at character 3"),
        ("nǐ4", "\"nǐ4\" at character 1 of the text: expected one tone of a syllable"),
        ("r5", "\"r5\" at character 1"),
    ] {
        let error = read(text).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(found), "{text}: {error}");
    }
}

#[test]
fn tones_are_taken_off_finals_only() {
    assert_eq!(
        ["a1", "iong5", "er2", "b", "sil", "x1", "AH0", "e"].map(without_tone),
        ["a", "iong", "er", "b", "sil", "x1", "AH0", "e"]
    );
    assert!(Syllable::of_phones("b", "ueng").is_none() && Syllable::of_phones("sil", "a").is_none());
}
