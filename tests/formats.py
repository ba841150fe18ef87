#!/usr/bin/env python3
"""Whether other programs' parsers find in senone's files what its JSON says: praatio for TextGrids, pympi for EAF.

    python3 -m venv parsers && parsers/bin/pip install praatio pympi-ling
    parsers/bin/python tests/formats.py target/release/senone
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from praatio import textgrid
from pympi import Eaf

ROOT = Path(__file__).resolve().parents[1]
AUDIO = ROOT / "tests/data/sense-and-sensibility.wav"
GRAPH = """format = 1
extends = "model"
[lexicon]
file = "words.dict"
"""
# Labels with what makes trouble: quotes, angle brackets, an ampersand, letters beyond ASCII.
WORDS = 'he HH IY\n"was" W AH Z\n<not> N AA T\n&an AE N\nill-d\u00e9 IH L D\n'


def decoded(senone, folder, form):
    """The path of what senone writes in that form."""
    target = folder / form
    graph = folder / "graph.toml"
    command = [senone, "decode", "--graph", graph, "--format", form, "--output", target, AUDIO]
    subprocess.run(command, check=True)
    (path,) = target.iterdir()
    return path


def from_json(path):
    """Tiers as lists of (label, start, end) in seconds."""
    tiers = json.loads(path.read_text(encoding="utf8"))["tiers"]
    return {name: [(one["label"], one["start"], one["end"]) for one in rows] for name, rows in tiers.items()}


def from_textgrid(path):
    grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=False)
    return {
        name: [(one.label, float(one.start), float(one.end)) for one in grid.getTier(name).entries]
        for name in grid.tierNames
    }


def from_eaf(path):
    eaf = Eaf(str(path))
    return {
        name: sorted(((label, start / 1000, end / 1000) for start, end, label, *_ in eaf.get_annotation_data_for_tier(name)),
                     key=lambda row: row[1])
        for name in eaf.get_tier_names()
    }


def compare(name, found, expected, tolerance):
    assert list(found) == list(expected), f"{name}: tiers {list(found)}, expected {list(expected)}"
    for tier, rows in expected.items():
        assert len(found[tier]) == len(rows), f"{name}: {len(found[tier])} segments of {tier}, expected {len(rows)}"
        for (label, start, end), (other, first, last) in zip(rows, found[tier]):
            assert label == other, f"{name}: {other!r}, expected {label!r}"
            assert abs(start - first) <= tolerance and abs(end - last) <= tolerance, f"{name}: {first} to {last} for {label}"
    print(f"{name}: {sum(map(len, expected.values()))} segments as in JSON")


def main():
    (senone,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "graph.toml").write_text(GRAPH, encoding="utf8")
        (folder / "words.dict").write_text(WORDS, encoding="utf8")
        expected = from_json(decoded(senone, folder, "json"))
        assert len(expected["words"]) > 3, expected["words"]
        compare("TextGrid", from_textgrid(decoded(senone, folder, "textgrid")), expected, 1e-6)
        compare("short TextGrid", from_textgrid(decoded(senone, folder, "textgrid-short")), expected, 1e-6)
        compare("EAF", from_eaf(decoded(senone, folder, "eaf")), expected, 5.1e-4)


if __name__ == "__main__":
    main()
