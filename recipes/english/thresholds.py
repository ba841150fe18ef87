#!/usr/bin/env python3
"""Where the thresholds of `senone align` could be, from its tables of `--gop`: for each measure the value below which 0.3, 1 and
2 % of the right utterances fall, and the share of other tables that then does.

    thresholds.py RIGHT.gop OTHER.gop ...

The measures are those of src/align/verdict.rs, but for the second: the mean of all phones, the least mean of any 8 phones in a row
(verdict.rs takes whole words, as many as have 8 phones), and the worst pause from 0.6 s on.
"""

import sys
from pathlib import Path


def utterances(path):
    found = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines()[1:]:
        name, word, _, start, end, gop = line.split("\t")
        found.setdefault(name, []).append((word, float(end) - float(start), float(gop)))
    return list(found.values())


def measures(rows):
    phones = [max(gop, -5.0) for word, _, gop in rows if word]
    pauses = [gop for word, seconds, gop in rows if not word and seconds > 0.599]
    in_a_row = [sum(phones[at : at + 8]) / 8 for at in range(len(phones) - 7)]
    return {
        "all phones": sum(phones) / max(1, len(phones)),
        "8 in a row": min(in_a_row, default=0.0),
        "pause": min(pauses, default=0.0),
    }


def main(right, *others):
    right = [measures(rows) for rows in utterances(right)]
    tables = [(Path(path).stem, [measures(rows) for rows in utterances(path)]) for path in others]
    for measure in right[0]:
        values = sorted(row[measure] for row in right)
        for share in (0.003, 0.01, 0.02):
            limit = values[int(share * len(values))]
            told = (f"{name} {100 * sum(row[measure] < limit for row in rows) / len(rows):.1f} %" for name, rows in tables)
            print(f"{measure:10}  {limit:6.2f}  right {100 * share:.1f} %  ", "  ".join(told))


main(*sys.argv[1:])
