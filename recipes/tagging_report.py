#!/usr/bin/env python3
"""From results.tsv of a tagging recipe (see tagging.sh) to tables, and a plot of error against training size.

    tagging_report.py RESULTS.tsv PLOT.svg accuracy|f1
"""

import pathlib
import sys

from plot import plot

HEADINGS = ["features", "learner", "dev accuracy %", "dev F1 %", "test accuracy %", "test F1 %"]


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in ("accuracy", "f1"):
        sys.exit("usage: tagging_report.py RESULTS.tsv PLOT.svg accuracy|f1")
    rows = [line.split("\t") for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    entities = any(row[4] != "-" for row in rows)
    shown = [0, 1, 2, 3, 4, 5] if entities else [0, 1, 2, 4]
    print("| " + " | ".join(HEADINGS[column] for column in shown) + " |")
    print("|---" * len(shown) + "|")
    for template, learner, size, *figures in rows:
        if size.startswith("all"):
            name = learner + size.removeprefix("all").replace("+dev", ", development set learnt too")
            print("| " + " | ".join([template, name, *figures][column] for column in shown) + " |")
    column, what = (5, "token error %") if sys.argv[3] == "accuracy" else (6, "100 - entity F1")
    curves = {}
    for row in rows:
        if row[2].isdigit() and row[column] != "-":
            curves.setdefault((row[0], row[1]), []).append((int(row[2]), 100.0 - float(row[column])))
    if curves:
        templates = {template for template, _ in curves}
        name = lambda key: key[1] if len(templates) == 1 else " ".join(key)
        series = {name(key): sorted(points) for key, points in curves.items()}
        plot(sys.argv[2], series, "Test error by training size", ("training sequences", what), lines=True, log_x=True)


if __name__ == "__main__":
    main()
