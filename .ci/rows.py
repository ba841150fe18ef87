#!/usr/bin/env python3
"""Checks who may use whom in src/: a module imports only from rows above its own and from itself, and an external crate
stays in its place.

    .ci/rows.py [ROOT]       exit 1 and one line per violation: file:line: what, and the rule
    .ci/rows.py --self-test  show that violations are found

Tests (items under #[cfg(test)] and the files they name) may import anything; comments and strings do not count.
"""

import re
import sys
import tempfile
from pathlib import Path

ROWS = [
    {"error", "input", "matrix", "timing", "symbols", "mmap", "parallel", "pinyin", "random", "settings", "spelling"},
    {"audio", "graph", "alignment", "phones"},
    {"features", "emission", "formats", "metrics", "syllables"},
    {"dp"},
    {"network", "search"},
    {"data", "bundle", "g2p"},
    {"decode"},
    {"align"},
    {"learn"},
    {"train", "tagging"},
    {"cli", "main"},
]
ROW_OF = {module: row for row, modules in enumerate(ROWS) for module in modules}

# External crate -> paths below src/ (a folder, or a file without its ending) that may name it; None: every module.
PLACES = {
    "candle_core": ["network", "learn/neural"],
    "candle_nn": ["network", "learn/neural"],
    "half": ["bundle", "tagging"],
    "safetensors": ["bundle", "data/archive", "tagging", "learn/neural"],
    "hound": ["audio"],
    "symphonia": ["audio"],
    "rubato": ["audio"],
    "rustfft": ["features"],
    "clap": ["cli", "main"],
    "indicatif": ["cli", "main"],
    "memmap2": ["mmap"],
    "thiserror": ["error"],
    "toml": ["graph", "bundle", "settings"],
    "unicode_normalization": ["spelling"],
    "serde_json": ["formats", "bundle", "cli"],
    "serde": None,
    "rayon": None,
}

TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | b?r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^\n']+|[^\\'\n])'""",
    re.S | re.X,
)


def blank(text):
    """`text` with comments and literals turned into spaces; offsets and line numbers stay."""
    return TOKENS.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def end_of_item(code, start):
    """Offset behind the item at `start`: its `;`, or the `}` that closes its first `{`."""
    depth = 0
    for offset in range(start, len(code)):
        depth += (code[offset] in "{([") - (code[offset] in "})]")
        if depth == 0 and code[offset] in ";}":
            return offset + 1
    return len(code)


def without_tests(path, text):
    """The code of a file without its test items, and the files that belong to test modules only."""
    code, files = blank(text), []
    for found in reversed(list(re.finditer(r"#\[cfg\(test\)\]", code))):
        start, end = found.end(), end_of_item(code, found.end())
        module = re.search(r"\bmod\s+(\w+)\s*;$", code[start:end])
        if module:
            named = re.search(r'#\[path\s*=\s*"([^"]+)"\]', text[start:end])
            own = path.parent if path.stem in ("mod", "lib", "main") else path.with_suffix("")
            name = module.group(1)
            files += [path.parent / named.group(1)] if named else [own / f"{name}.rs", own / name / "mod.rs"]
        code = code[: found.start()] + re.sub(r"[^\n]", " ", code[found.start() : end]) + code[end:]
    return code, files


def heads(tree):
    """First path segments of what follows `crate::`: of `{a::b, c}` a and c. Yields (offset, name)."""
    if not tree.startswith("{"):
        found = re.match(r"\w+", tree)
        return [(0, found.group())] if found else []
    names, depth = [], 0
    for found in re.finditer(r"[{},]|\w+", tree):
        token = found.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                break
        elif token != "," and depth == 1 and re.search(r"[{,]\s*$", tree[: found.start()]):
            names.append((found.start(), token))
    return names


def imports(code, depth):
    """What the code takes from the crate's root, as `crate::` or as `super::` from `depth` modules down: (offset, name)."""
    root = r"(?<![\w:])(?:crate\s*::|super\s*::" + r"\s*super\s*::" * (depth - 1) + r"(?!\s*super\b))\s*"
    for found in re.finditer(root, code):
        for offset, name in heads(code[found.end() :]):
            yield found.end() + offset, name


def crates(code):
    """External crates that the code names, in a path or a `use`: (offset, name)."""
    for found in re.finditer(r"(?<![\w:])(?<!: )(?:::)?(\w+)(?=\s*::)|\buse\s+(\w+)\s*(?:;|as\b)", code):
        yield found.start(), found.group(1) or found.group(2)


def within(place, path):
    return path == place or path.startswith(place + "/") or path.startswith(place + "_")


def check_file(path, code, depth, is_library):
    """Violations of one file, `path` being below src/ without its ending: (offset, what)."""
    module = path.split("/")[0]
    if module not in ROW_OF and module != "lib":
        yield 0, f"module {module} is in no row: add it to ROWS in .ci/rows.py"
        return
    own_modules = set(re.findall(r"\bmod\s+(\w+)", code)) | set(re.findall(r"\buse\s+(?:self|super)::(?:\w+::)*(\w+)\s*;", code))
    for offset, name in crates(code):
        places = PLACES.get(name)
        if places is not None and name not in own_modules and not any(within(place, path) for place in places):
            yield offset, f"{name} is named here, but belongs in {', '.join(places)} only"
    if not is_library or module == "lib":
        return
    for offset, name in imports(code, depth):
        if name == module or not name[0].islower():  # itself; Error and Result are of row 0
            continue
        if name not in ROW_OF:
            yield offset, f"crate::{name} is in no row: add it to ROWS in .ci/rows.py"
        elif ROW_OF[name] > 0 and ROW_OF[name] >= ROW_OF[module]:
            rows = f"{module} is in row {ROW_OF[module]}, {name} in row {ROW_OF[name]}"
            yield offset, f"{module} imports {name}: {rows}, and a module imports from the rows above it only"


def check(root):
    """All violations as lines of text."""
    source, lines = root / "src", []
    manifest = (root / "Cargo.toml").read_text(encoding="utf-8")
    table = re.search(r"^\[dependencies\]\n(.*?)(?=^\[|\Z)", manifest, re.S | re.M)
    for name in re.findall(r"^([\w-]+)\s*=", table.group(1) if table else "", re.M):
        if name.replace("-", "_") not in PLACES:
            lines.append(f"Cargo.toml: dependency {name} has no place: add it to PLACES in .ci/rows.py")
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.rs"))}
    cleaned = {path: without_tests(path, text) for path, text in texts.items()}
    tests = {file for _, files in cleaned.values() for file in files}
    for path, (code, _) in cleaned.items():
        parts = path.relative_to(source).with_suffix("").parts
        if any(path == file or file.with_suffix("") in path.parents for file in tests) or parts[0] == "bin":
            continue
        modules = parts[:-1] if parts[-1] == "mod" else parts
        is_library = modules[0] not in ("cli", "main")
        for offset, what in check_file("/".join(modules), code, len(modules), is_library):
            line = code.count("\n", 0, offset) + 1
            lines.append(f"{path.relative_to(root)}:{line}: {what}")
    return lines


CLEAN = {
    "lib.rs": "pub mod dp;\npub use error::Error;\n",
    "error.rs": "use thiserror::Error;\n",
    "matrix.rs": "use crate::error::Error;\nuse crate::{Result, symbols};\n",
    "graph/mod.rs": "use crate::symbols::A;\nuse toml::Value;\nuse super::matrix::Matrix;\n",
    "dp/mod.rs": "//! Like crate::network.\nuse crate::{Error, graph::{Graph, x::train}, emission::E};\n"
    'const A: &str = "crate::learn"; const Q: char = \'"\';\n'
    "#[cfg(test)]\nmod tests {\n use crate::learn::A;\n use clap::Parser;\n}\n"
    '#[cfg(test)]\n#[path = "far_tests.rs"]\nmod far;\n',
    "dp/far_tests.rs": "use crate::train::A;\n",
    "dp/beam.rs": "use super::Plan;\nuse crate::dp::Plan;\nuse super::super::graph::Graph;\n",
    "network/mod.rs": "use candle_core::Tensor;\nmod gemm;\n",
    "learn/neural.rs": "use candle_nn as nn;\nuse crate::network::N;\n",
    "cli/mod.rs": "use clap::Parser;\nuse crate::cli::score;\nuse senone::train::T;\n",
    "mmap.rs": "fn f() { memmap2::Mmap::map(); }\n",
}
BROKEN = {
    "dp/viterbi.rs": ("\nuse crate::learn::A;\n", "src/dp/viterbi.rs:2: dp imports learn"),
    "dp/beam.rs": ("fn f() {\n    crate::network::g();\n}\n", "src/dp/beam.rs:2: dp imports network"),
    "graph/mod.rs": ("use crate::{\n    symbols::A,\n    audio::{B, C},\n};\n", "src/graph/mod.rs:3: graph imports audio"),
    "metrics/mod.rs": ("#[cfg(test)]\nuse crate::train::T;\nuse super::data::M;\n", "src/metrics/mod.rs:3: metrics imports data"),
    "metrics/far.rs": ("use super::super::data::M;\n", "src/metrics/far.rs:1: metrics imports data"),
    "decode.rs": ("fn f() -> candle_core::Tensor {}\n", "src/decode.rs:1: candle_core is named here"),
    "formats/mod.rs": ("use hound::{WavReader};\n", "src/formats/mod.rs:1: hound is named here"),
    "lib.rs": ("use memmap2 as m;\n", "src/lib.rs:1: memmap2 is named here"),
    "learn/tree.rs": ("use candle_nn;\n", "src/learn/tree.rs:1: candle_nn is named here"),
    "matrix.rs": ("use crate::decode::D;\n", "src/matrix.rs:1: matrix imports decode"),
    "audio/mod.rs": ("use crate::nowhere::X;\n", "src/audio/mod.rs:1: crate::nowhere is in no row"),
    "strange.rs": ("\n", "src/strange.rs:1: module strange is in no row"),
}


def self_test():
    def run(files, dependencies="rayon = '1'\n"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "Cargo.toml").write_text(f"[dependencies]\n{dependencies}[dev-dependencies]\ntempfile = '3'\n")
            for name, text in files.items():
                path = root / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check(root)

    found = run(CLEAN)
    assert found == [], found
    for name, (text, expected) in BROKEN.items():
        found = run({**CLEAN, name: text})
        assert len(found) == 1 and found[0].startswith(expected), (expected, found)
    found = run(CLEAN, "rand = '1'\n")
    assert len(found) == 1 and "dependency rand has no place" in found[0], found
    print(f"{len(BROKEN) + 1} violations found, none invented")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = check(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parent.parent)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
