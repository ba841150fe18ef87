#!/usr/bin/env python3
"""Manifests to try out what `senone align` doubts: the utterances of MANIFEST with their own transcripts (right.tsv), with the
transcript of another utterance that is at least 50 % phone edit distance away (wrong.tsv), without the second half of their
words (cut.tsv), and with the words of another utterance after their own (more.tsv).

    wrong.py MANIFEST DICTIONARY FOLDER
"""

import itertools
import random
import sys
from pathlib import Path


# Utterances that are drawn before all are looked through.
TRIES = 1000


def table(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    head = lines[0].split("\t")
    return [dict(zip(head, line.split("\t") + [""] * len(head))) for line in lines[1:]]


def dictionary(path):
    """The first pronunciation of each word, without stress."""
    said = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        word, *phones = line.split(" #")[0].split() or [""]
        if "(" not in word:
            said.setdefault(word, [phone.rstrip("012") for phone in phones])
    return said


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def main(manifest, lexicon, folder):
    said = dictionary(Path(lexicon))
    rows = table(Path(manifest))
    phones = [row.get("phones", "").split() or [p for w in row["words"].lower().split() for p in said.get(w, "?")] for row in rows]
    words = [row["words"].split() for row in rows]
    draw = random.Random(1)
    if len(rows) < 2:
        sys.exit(f"{manifest}: expected two utterances or more, whose words can be exchanged")

    def is_far(index, found):
        return distance(phones[index], phones[found]) >= 0.5 * max(1, len(phones[index]))

    def far_from(index):
        drawn = (draw.randrange(len(rows)) for _ in range(TRIES))
        for found in itertools.chain(drawn, range(len(rows))):
            if is_far(index, found):
                return words[found]
        sys.exit(f"{manifest}: no utterance is 50 % phone edit distance away from {rows[index]['utterance']}: give more of them")

    def other_than(index):
        found = draw.randrange(len(rows))
        return found if found != index else (index + 1) % len(rows)

    kinds = {
        "right": lambda index: words[index],
        "wrong": far_from,
        "cut": lambda index: words[index][: (len(words[index]) + 1) // 2],
        "more": lambda index: words[index] + words[other_than(index)],
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    for kind, text in kinds.items():
        with open(Path(folder) / f"{kind}.tsv", "w", encoding="utf-8") as out:
            print("utterance\tspeaker\taudio\twords", file=out)
            for index, row in enumerate(rows):
                audio = (Path(manifest).parent / row["audio"]).resolve()
                print(row["utterance"], row.get("speaker", ""), audio, " ".join(text(index)), sep="\t", file=out)


main(*sys.argv[1:])
