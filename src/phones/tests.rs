//! Tables against what stands in papers and dictionaries, and what is refused.

use std::collections::BTreeSet;

use super::*;

fn names(wanted: &str, labels: &str) -> std::result::Result<String, String> {
    let map = PhoneMap::new(&wanted.parse().unwrap(), labels.split_whitespace()).map_err(|error| error.to_string())?;
    Ok(labels.split_whitespace().map(|label| map.name(label)).collect::<Vec<_>>().join(" "))
}

#[test]
fn phones_are_named_as_dictionaries_have_them() {
    let cases = [
        ("ipa", "SIL DH AH0 K AE1 T S ER0 SIL", "SIL ð ə k æ t s ɚ SIL"),
        ("xsampa", "HH AW1 JH OY ZH", "h aU dZ OI Z"),
        ("arpabet", "AH0 K SIL ER1", "AH0 K SIL ER1"),
        ("timit39", "AO1 ZH AH0 HH SIL SPN", "aa sh ah hh sil sil"),
        ("timit39", "h# sh ix hv eh dcl jh q axr el ux pau ax-h", "sil sh ih hh eh sil jh  er l uw sil ah"),
        ("arpabet", "h# zh ix ao q en", "SIL ZH IH AO  N"),
        ("ipa", "h# sh ix tcl t en axr q", "h# ʃ ɨ t̚ t n̩ ɚ ʔ"),
        ("ipa", "sil zh ong1 g uo2 r en2 sil ii an3 d e5", "sil ʈʂ ʊŋ˥ k uo˧˥ ɻ ən˧˥ sil j an˨˩˦ t ɤ"),
        ("xsampa", "q v4 sh ix aa a b iao", "ts\\_h y_T_B s` r\\`= ? a p iau"),
    ];
    for (wanted, labels, expected) in cases {
        assert_eq!(names(wanted, labels).unwrap(), expected, "{wanted}: {labels}");
    }
}

#[test]
fn names_that_are_there_already_stay() {
    assert_eq!(names("ipa", "SIL DH ə K æ tʃ").unwrap(), "SIL ð ə k æ tʃ");
    assert_eq!(names("timit39", "AO aa ZH sil SIL ah").unwrap(), "aa aa sh sil sil ah");
}

#[test]
fn lee_and_hon_leave_39_classes() {
    let all: Vec<String> =
        ARPABET.iter().map(|row| row.0.to_lowercase()).filter(|phone| !phone.ends_with('0')).collect();
    let timit: Vec<&str> = all.iter().map(String::as_str).chain(TIMIT.iter().map(|(row, _)| row.0)).collect();
    // The 61 of the files, and cl, vcl, sil of the 48.
    assert_eq!(timit.len(), 64);
    let map = PhoneMap::new(&PhoneNames::Timit39, timit.iter().copied()).unwrap();
    let classes: BTreeSet<&str> = timit.iter().map(|label| map.name(label)).filter(|name| !name.is_empty()).collect();
    assert_eq!(classes.len(), 39, "{classes:?}");
    assert!(classes.iter().all(|class| map.name(class) == *class), "a class is its own");
}

#[test]
fn different_sounds_have_different_names() {
    let tables: [Vec<&Row>; 3] =
        [ARPABET.iter().collect(), FINALS.iter().chain(&APICAL).collect(), INITIALS[..21].iter().collect()];
    for rows in tables {
        for column in [|row: &Row| row.0, |row: &Row| row.1, |row: &Row| row.2] {
            assert_eq!(rows.iter().map(|row| column(row)).collect::<BTreeSet<_>>().len(), rows.len());
        }
        assert!(rows.iter().all(|row| row.2.is_ascii()));
    }
}

#[test]
fn unknown_phones_are_named() {
    let message = names("ipa", "AA B XX T").unwrap_err();
    assert!(message.starts_with("phone 'XX' has no name in IPA: it is not among the phones of ARPABET"), "{message}");
    assert!(names("ipa", "b a1 zh ong a7").unwrap_err().starts_with("phone 'a7' has no name"));
    assert!(names("timit39", "zh ong1 g uo2").unwrap_err().contains("has no name in TIMIT's 39"));
    assert!(names("none.map", "AA").unwrap_err().contains("none.map: cannot read"));
}

#[test]
fn a_file_says_it_for_any_set() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("own.map");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        PhoneMap::new(&PhoneNames::File(path.clone()), ["a"]).map_err(|error| error.to_string())
    };
    let map = read("\u{feff}a  x\n\nb\n").unwrap();
    assert_eq!(["a", "b", "c"].map(|label| map.name(label)), ["x", "", "c"]);
    assert!(read("a b c\n").unwrap_err().ends_with("own.map:1: 'a b c': expected two labels, or one to drop it"));
    assert!(read("a b\na c\n").unwrap_err().ends_with("own.map:2: 'a' is mapped to another label before"));
}
