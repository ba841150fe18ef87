//! Graph files for the tests of all modules.

/// A graph file in which each of `symbols` may begin, follow each, and end, and lasts as the lines of `topology` say. What is to
/// stand before its tables may be put before it.
pub fn everything_goes(symbols: &[&str], topology: &str) -> String {
    format!(
        "format = 1\n[classes]\nall = {symbols:?}\n[boundary]\nstart = '*'\nend = '*'\n[[allow]]\nfrom = '*'\nto = '*'\n\
         [topology.default]\n{topology}\n"
    )
}

/// The topology of tags: a frame each.
pub const ONE_FRAME: &str = "states = 1\nmin_frames = 1\nself_loop = false";
