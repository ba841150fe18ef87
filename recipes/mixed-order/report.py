#!/usr/bin/env python3
"""From results.tsv (alpha, seed, learner, token accuracy in percent) to a table, sign tests and a scatter plot.

    report.py RESULTS.tsv PLOT.svg
"""

import collections
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from plot import plot

HALF = 0.5


def read(path):
    """Error in percent by (alpha, seed) and learner; models that lack a learner are left out and told."""
    errors = collections.defaultdict(dict)
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        alpha, seed, learner, accuracy = line.split("\t")
        errors[float(alpha), int(seed)][learner] = 100.0 - float(accuracy)
    learners = sorted({learner for row in errors.values() for learner in row}, key="hmm crf perceptron svm".split().index)
    whole = {key: row for key, row in errors.items() if len(row) == len(learners)}
    if len(whole) < len(errors):
        print(f"{len(errors) - len(whole)} models without all results are left out", file=sys.stderr)
    return learners, whole


def sign_test(wins, losses):
    """Two-sided p of so uneven a split, were both sides equally likely (exact binomial)."""
    n, extreme = wins + losses, max(wins, losses)
    tail = sum(math.comb(n, k) for k in range(extreme, n + 1)) / 2**n
    return min(1.0, 2.0 * tail)


def interval(values):
    """Mean and half of its 95 % interval, by the normal approximation."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, float("nan")
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, 1.96 * math.sqrt(variance / len(values))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: report.py RESULTS.tsv PLOT.svg")
    learners, errors = read(sys.argv[1])
    print("| alpha | models | " + " | ".join(f"{learner}, error %" for learner in learners) + " |")
    print("|---" * (len(learners) + 2) + "|")
    for alpha in sorted({alpha for alpha, _ in errors}):
        rows = [row for (a, _), row in errors.items() if a == alpha]
        cells = ["{:.2f} ± {:.2f}".format(*interval([row[learner] for row in rows])) for learner in learners]
        print(f"| {alpha:g} | {len(rows)} | " + " | ".join(cells) + " |")
    print("\n| side | against hmm | better | worse | sign test, two-sided p |\n|---|---|---|---|---|")
    sides = {"alpha < 1/2": lambda a: a < HALF, "alpha > 1/2": lambda a: a > HALF}
    for side, inside in sides.items():
        for learner in learners[1:]:
            gaps = [row["hmm"] - row[learner] for (a, _), row in errors.items() if inside(a)]
            wins, losses = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
            print(f"| {side} | {learner} | {wins} | {losses} | {sign_test(wins, losses):.2g} |")
    of = lambda inside: [(row["hmm"], row["crf"]) for (a, _), row in sorted(errors.items()) if inside(a)]
    series = {"alpha < 1/2": of(sides["alpha < 1/2"]), "alpha >= 1/2": of(lambda a: a >= HALF)}
    plot(sys.argv[2], series, "Each point is a random model", ("HMM, error %", "CRF, error %"), diagonal=True)


if __name__ == "__main__":
    main()
