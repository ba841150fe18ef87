#!/usr/bin/env python3
"""How far apart the starts of equal labels are, in milliseconds.

    benches/boundaries/compare.py TRUTH.ctm NAME=ALIGNED.ctm ... [--groups]

Pauses are dropped on both sides; utterances whose labels then differ in any of the alignments are left out of all, and counted. The
first start of an utterance is left out where it is 0. The interval is by bootstrap over utterances (95 %). With --groups a row, too,
for each part of the utterance names before `-`, as a voice.
"""

import argparse

import numpy

from common import read_ctm

PAUSES = {"SIL", "sil", "sp", "spn", "SPN", "<eps>", "<sil>", "pau", ""}


def said(rows):
    kept = [(start, label.rsplit("_", 1)[0].rstrip("012")) for start, _, label in rows if label not in PAUSES]
    return [start for start, _ in kept], [label for _, label in kept]


def differences(truth, other):
    """By utterance, hypothesis minus truth in milliseconds."""
    apart = {}
    for utterance, rows in truth.items():
        (starts, labels), (found, others) = said(rows), said(other.get(utterance, []))
        if labels == others:
            first = 1 if starts[0] == 0 else 0
            apart[utterance] = 1000 * (numpy.array(found[first:]) - numpy.array(starts[first:]))
    return apart


def interval(utterances):
    drawn = numpy.random.default_rng(1)
    sums = numpy.array([(numpy.abs(apart).sum(), len(apart)) for apart in utterances])
    samples = sums[drawn.integers(len(sums), size=(1000, len(sums)))].sum(axis=1)
    return numpy.percentile(samples[:, 0] / samples[:, 1], [2.5, 97.5])


def row(name, utterances):
    apart = numpy.concatenate(utterances)
    low, high = interval(utterances)
    within = [f"{100 * numpy.mean(numpy.abs(apart) <= limit):5.1f}" for limit in (10, 20, 50)]
    middle = numpy.median(numpy.abs(apart))
    print(f"{name:24} {len(apart):6} {numpy.abs(apart).mean():6.1f} ({low:.1f} to {high:.1f}) {middle:6.1f}", *within, f"{numpy.mean(apart):+6.1f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("truth")
    arguments.add_argument("aligned", nargs="+", metavar="NAME=CTM")
    arguments.add_argument("--groups", action="store_true")
    arguments = arguments.parse_args()
    truth = read_ctm(arguments.truth)
    found = {name: differences(truth, read_ctm(path)) for name, path in (pair.split("=", 1) for pair in arguments.aligned)}
    common = [utterance for utterance in truth if all(utterance in apart for apart in found.values())]
    if not common:
        raise SystemExit(f"{arguments.truth}: no utterance has the same labels in all alignments")
    print(f"{len(common)} of {len(truth)} utterances; labels equal in " + ", ".join(f"{name} {len(apart)}" for name, apart in found.items()))
    print(f"{'':24} {'starts':>6} mean ms (95 %)  median within 10, 20, 50 ms, mean signed")
    groups = sorted({utterance.split("-")[0] for utterance in common}) if arguments.groups else []
    for name, apart in found.items():
        row(name, [apart[utterance] for utterance in common])
        for group in groups:
            row(f"  {group}", [apart[utterance] for utterance in common if utterance.split("-")[0] == group])


main()
