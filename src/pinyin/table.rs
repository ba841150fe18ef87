//! Which initials and finals make a syllable, and how it is written without its tone.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Body;

/// Each initial with its finals: the 412 syllables of Mandarin.
pub(super) const LEGAL: [(&str, &str); 27] = [
    ("b", "a ai an ang ao ei en eng i ian iao ie in ing o u"),
    ("p", "a ai an ang ao ei en eng i ian iao ie in ing o ou u"),
    ("m", "a ai an ang ao e ei en eng i ian iao ie in ing iu o ou u"),
    ("f", "a an ang ei en eng iao o ou u"),
    ("d", "a ai an ang ao e ei en eng i ia ian iao ie ing iu ong ou u uan ui un uo"),
    ("t", "a ai an ang ao e eng i ian iao ie ing ong ou u uan ui un uo"),
    ("n", "a ai an ang ao e ei en eng i ian iang iao ie in ing iu ong ou u uan un uo v ve"),
    ("l", "a ai an ang ao e ei eng i ia ian iang iao ie in ing iu o ong ou u uan un uo v ve"),
    ("g", "a ai an ang ao e ei en eng ong ou u ua uai uan uang ui un uo"),
    ("k", "a ai an ang ao e ei en eng ong ou u ua uai uan uang ui un uo"),
    ("h", "a ai an ang ao e ei en eng ong ou u ua uai uan uang ui un uo"),
    ("j", "i ia ian iang iao ie in ing iong iu v van ve vn"),
    ("q", "i ia ian iang iao ie in ing iong iu v van ve vn"),
    ("x", "i ia ian iang iao ie in ing iong iu v van ve vn"),
    ("zh", "a ai an ang ao e ei en eng ix ong ou u ua uai uan uang ui un uo"),
    ("ch", "a ai an ang ao e en eng ix ong ou u ua uai uan uang ui un uo"),
    ("sh", "a ai an ang ao e ei en eng ix ou u ua uai uan uang ui un uo"),
    ("r", "an ang ao e en eng ix ong ou u ua uan ui un uo"),
    ("z", "a ai an ang ao e ei en eng iy ong ou u uan ui un uo"),
    ("c", "a ai an ang ao e en eng iy ong ou u uan ui un uo"),
    ("s", "a ai an ang ao e en eng iy ong ou u uan ui un uo"),
    ("aa", "a ai an ang ao"),
    ("ee", "e ei en eng er"),
    ("oo", "o ou"),
    ("ii", "i ia ian iang iao ie in ing io iong iu"),
    ("uu", "u ua uai uan uang ueng ui un uo"),
    ("vv", "v van ve vn"),
];

/// Syllables that dictionaries have and hardly anyone says: they are read, and no graph that ships admits them.
const RARE: [(&str, &str); 7] =
    [("b", "iang ong"), ("c", "ei"), ("d", "in"), ("l", "en"), ("n", "ia"), ("t", "ei"), ("oo", "ong")];

/// The pairs of a table.
pub(super) fn pairs(table: &'static [(&str, &str)]) -> impl Iterator<Item = Body> {
    table.iter().flat_map(|&(initial, finals)| finals.split(' ').map(move |rime| Body { initial, rime }))
}

/// The syllable of this initial and this final, legal or rare.
pub(super) fn body(initial: &str, rime: &str) -> Option<Body> {
    all().find(|body| body.initial == initial && body.rime == rime)
}

/// The final called `name`.
pub(super) fn rime(name: &str) -> Option<&'static str> {
    all().map(|body| body.rime).find(|rime| *rime == name)
}

fn all() -> impl Iterator<Item = Body> {
    pairs(&LEGAL).chain(pairs(&RARE))
}

/// The syllable that is written so: lower case, `v` for ü, no tone.
pub(super) fn written(letters: &str) -> Option<Body> {
    static WRITTEN: OnceLock<BTreeMap<String, Body>> = OnceLock::new();
    WRITTEN
        .get_or_init(|| all().flat_map(|body| spellings(body).into_iter().map(move |one| (one, body))).collect())
        .get(letters)
        .copied()
}

/// How `body` is written, the usual way first: ü after j, q, x and y is `u`, though some write it; `nue` and `lue` are written for
/// `nve` and `lve`, and passports have `nyu` and `lyu`.
pub(super) fn spellings(body: Body) -> Vec<String> {
    let usual = usual(body);
    let after = |from: &str, to: &str| usual.replacen(from, to, 1);
    let others = match (body.initial, body.rime) {
        ("n" | "l", "v") => vec![after("v", "yu")],
        ("n" | "l", "ve") => vec![after("v", "u"), after("v", "yu")],
        ("j" | "q" | "x" | "vv", "v" | "ve" | "van" | "vn") => vec![after("u", "v")],
        _ => vec![],
    };
    [vec![usual], others].concat()
}

fn usual(body: Body) -> String {
    let Body { initial, rime } = body;
    let rime = if matches!(rime, "ix" | "iy") { "i" } else { rime };
    match (initial, rime) {
        ("oo", "ong") => "wong".into(),
        ("aa" | "ee" | "oo", _) => rime.into(),
        ("ii", "i" | "in" | "ing") => format!("y{rime}"),
        ("ii", "iu") => "you".into(),
        ("ii", _) => format!("y{}", &rime[1..]),
        ("uu", "u") => "wu".into(),
        ("uu", "ui") => "wei".into(),
        ("uu", "un") => "wen".into(),
        ("uu", _) => format!("w{}", &rime[1..]),
        ("vv", _) => format!("y{}", rime.replace('v', "u")),
        ("j" | "q" | "x", _) => format!("{initial}{}", rime.replace('v', "u")),
        _ => format!("{initial}{rime}"),
    }
}
