#!/usr/bin/env python3
"""How far apart the starts of equal labels are, in milliseconds.

    benches/alignment/compare.py TRUTH.ctm NAME=ALIGNED.ctm ... [--by PART] [--rows PART]

Pauses are dropped on both sides; utterances whose labels then differ in any of the alignments are left out of all, and counted. The
first start of an utterance is left out where it is 0. The interval (95 %) is by bootstrap over utterances, or over those whose names
have the same PART, counted from 0 between hyphens: a speaker, a sentence. With --rows there is a row, too, for each value of that part.
"""

import argparse

import numpy

from common import read_ctm

PAUSES = {"SIL", "sil", "sp", "<eps>", "<sil>"}


def said(rows):
    kept = [(start, label) for start, _, label in rows if label not in PAUSES]
    return [start for start, _ in kept], [label for _, label in kept]


def differences(truth, other):
    """By utterance with equal labels, hypothesis minus truth in milliseconds."""
    apart = {}
    for utterance, rows in truth.items():
        (starts, labels), (found, others) = said(rows), said(other.get(utterance, []))
        if labels and labels == others:
            first = 1 if starts[0] == 0 else 0
            apart[utterance] = 1000 * (numpy.array(found[first:]) - numpy.array(starts[first:]))
    return apart


def part(utterance, index):
    return utterance if index is None else utterance.split("-")[index]


def interval(apart, by):
    """Of the mean distance, 95 %, all utterances with the same part drawn together."""
    groups = {}
    for utterance, distances in apart.items():
        total, count = groups.get(part(utterance, by), (0.0, 0))
        groups[part(utterance, by)] = (total + numpy.abs(distances).sum(), count + len(distances))
    sums = numpy.array(list(groups.values()))
    draws = numpy.random.default_rng(1).integers(len(sums), size=(1000, len(sums)))
    samples = sums[draws].sum(axis=1)
    return numpy.percentile(samples[:, 0] / samples[:, 1], [2.5, 97.5])


def row(name, apart, by):
    distances = numpy.concatenate(list(apart.values()))
    low, high = interval({name: one for name, one in apart.items() if len(one)}, by)
    within = [f"{100 * numpy.mean(numpy.abs(distances) <= limit):5.1f}" for limit in (10, 20, 50)]
    middle, mean = numpy.median(numpy.abs(distances)), numpy.abs(distances).mean()
    print(f"{name:24} {len(distances):6} {mean:6.1f} ({low:.1f} to {high:.1f}) {middle:6.1f}", *within, f"{distances.mean():+6.1f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("truth")
    arguments.add_argument("aligned", nargs="+", metavar="NAME=CTM")
    arguments.add_argument("--by", type=int, metavar="PART")
    arguments.add_argument("--rows", type=int, metavar="PART")
    arguments = arguments.parse_args()
    truth = read_ctm(arguments.truth)
    found = {name: differences(truth, read_ctm(path)) for name, _, path in (pair.partition("=") for pair in arguments.aligned)}
    common = [utterance for utterance in truth if all(utterance in apart for apart in found.values())]
    if not any(len(apart[utterance]) for apart in found.values() for utterance in common):
        raise SystemExit(f"{arguments.truth}: no start to compare in an utterance that has the same labels in all alignments")
    print(f"{len(common)} of {len(truth)} utterances; labels equal in " + ", ".join(f"{name} {len(apart)}" for name, apart in found.items()))
    print(f"{'':24} {'starts':>6} mean ms (95 %)  median within 10, 20, 50 ms, mean signed")
    values = sorted({part(utterance, arguments.rows) for utterance in common}) if arguments.rows is not None else []
    for name, apart in found.items():
        row(name, {utterance: apart[utterance] for utterance in common}, arguments.by)
        for value in values:
            # Within one value the groups are its utterances: the parts may be the same.
            row(f"  {value}", {utterance: apart[utterance] for utterance in common if part(utterance, arguments.rows) == value}, None)


main()
