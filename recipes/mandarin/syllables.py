#!/usr/bin/env python3
"""What a phone error rate does not say of decoded Mandarin: how many syllables are legal, and how many tones are right.

    syllables.py REFERENCE.tsv DECODED.ctm

An initial and a final after it are a syllable; every phone that is part of no such pair counts as one that is not legal. Tones are
compared where the best alignment of the syllables, without their tones, has the right syllable. Intervals are bootstraps over
utterances (1,000 draws, seed 1).
"""

import random
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "tests/data/mandarin-syllables.txt"
ROWS = [line.split() for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
INITIALS = {row[1] for row in ROWS}
FINALS = {row[2] for row in ROWS}
LEGAL = {(row[1], row[2]) for row in ROWS if row[3] == "common"}


def plain(phone):
    """The phone without its tone, and the tone."""
    stem = phone.rstrip("12345")
    return (stem, phone[len(stem):]) if stem in FINALS else (phone, "")


def syllables(phones):
    """Pairs of an initial and a final with its tone, and single phones that are in no pair, as a list of tuples."""
    phones = [phone for phone in phones if phone not in ("sil", "SIL")]
    found, place = [], 0
    while place < len(phones):
        pair = phones[place : place + 2]
        size = 2 if len(pair) == 2 and pair[0] in INITIALS and plain(pair[1])[0] in FINALS else 1
        found.append(tuple(phones[place : place + size]))
        place += size
    return found


def toneless(syllable):
    return tuple(plain(phone)[0] for phone in syllable)


def tone(syllable):
    return plain(syllable[-1])[1]


def matched(reference, decoded):
    """The pairs of equal syllables, tones aside, on a path of least edit distance."""
    a, b = [toneless(one) for one in reference], [toneless(one) for one in decoded]
    cost = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost[i][j] = min(cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]), cost[i - 1][j] + 1, cost[i][j - 1] + 1)
    i, j, pairs = len(a), len(b), []
    while i and j:
        if cost[i][j] == cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]):
            i, j = i - 1, j - 1
            if a[i] == b[j]:
                pairs.append((reference[i], decoded[j]))
        elif cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
    return pairs, cost[len(a)][len(b)]


def share(name, counts):
    """Prints the sum of the first numbers over the sum of the second, with its interval."""
    total = sum(of for _, of in counts)
    if not total:
        print(f"{name}: none")
        return
    rng, rates = random.Random(1), []
    for _ in range(1000):
        drawn = rng.choices(counts, k=len(counts))
        rates.append(100 * sum(one for one, _ in drawn) / max(1, sum(of for _, of in drawn)))
    rates.sort()
    percent = 100 * sum(one for one, _ in counts) / total
    print(f"{name}: {percent:.2f} % of {total}, 95 % interval {rates[25]:.2f} to {rates[974]:.2f}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
    utterance, phones = lines[0].index("utterance"), lines[0].index("phones")
    references = {line[utterance]: line[phones].split() for line in lines[1:] if len(line) > 1}
    decoded = {name: [] for name in references}
    for line in open(sys.argv[2], encoding="utf-8"):
        fields = line.split()
        if fields and fields[0] in decoded:
            decoded[fields[0]].append(fields[4])
    legal, wrong, tones = [], [], []
    for name, reference in references.items():
        reference, found = syllables(reference), syllables(decoded[name])
        pairs, errors = matched(reference, found)
        legal.append((sum(toneless(one) in LEGAL for one in found), len(found)))
        wrong.append((errors, len(reference)))
        toned = [(a, b) for a, b in pairs if tone(a) and tone(b)]
        tones.append((sum(tone(a) != tone(b) for a, b in toned), len(toned)))
    share("decoded syllables that are legal", legal)
    share("syllable error, tones aside", wrong)
    share("tone error given the right syllable", tones)


if __name__ == "__main__":
    main()
