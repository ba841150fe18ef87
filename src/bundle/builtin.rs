//! The English model that is part of the program.

use super::Parts;

macro_rules! english_part {
    ($name:literal) => {
        ($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/en/", $name)).as_slice())
    };
}

static ENGLISH: [(&str, &[u8]); 5] = [
    english_part!("bundle.toml"),
    english_part!("graph.toml"),
    english_part!("phones.arpa"),
    english_part!("tree.txt"),
    english_part!("weights.safetensors"),
];

/// The parts of `models/en`.
pub(super) fn english() -> Parts {
    Parts::Memory(&ENGLISH)
}
