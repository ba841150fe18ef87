#!/usr/bin/env python3
"""Does goodness of pronunciation tell a wrong phone from right ones? The area under the ROC curve of `senone align --gop`.

    benches/gop.py SENONE MANIFEST FOLDER [--model DIR]

In every utterance of MANIFEST, which has phones, one phone at random (seed 1) becomes another one of those in the manifest; senone
aligns the result. The swapped phones are the wrong ones, all others the right ones. The interval (95 %) is by bootstrap over
utterances.
"""

import argparse
import csv
import os
import random
import subprocess

import numpy


def swapped(manifest, target):
    """Writes the manifest with a wrong phone in each utterance; gives the wrong phone's place by utterance."""
    folder, drawn, places = os.path.dirname(os.path.abspath(manifest)), random.Random(1), {}
    with open(manifest, encoding="utf8") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if row["phones"]]
    names = sorted({phone for row in rows for phone in row["phones"].split()})
    with open(target, "w", encoding="utf8") as out:
        print("utterance", "audio", "phones", sep="\t", file=out)
        for row in rows:
            phones = row["phones"].split()
            place = places[row["utterance"]] = drawn.randrange(len(phones))
            phones[place] = drawn.choice([name for name in names if name != phones[place]])
            print(row["utterance"], os.path.join(folder, row["audio"]), " ".join(phones), sep="\t", file=out)
    return places


def fits(table, places):
    """By utterance, the fit of the wrong phone and those of the right ones; pauses are left out."""
    found = {}
    with open(table, encoding="utf8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["phone"] != "SIL":
                found.setdefault(row["utterance"], []).append(float(row["gop"]))
    return [(all_fits[places[name]], all_fits[: places[name]] + all_fits[places[name] + 1 :]) for name, all_fits in found.items()]


def area(utterances):
    """P(right > wrong) + P(right = wrong) / 2, by ranks (Mann and Whitney 1947)."""
    wrong = numpy.array([fit for fit, _ in utterances])
    right = numpy.sort(numpy.concatenate([fits for _, fits in utterances]))
    below, up_to = (numpy.searchsorted(right, wrong, side) for side in ("left", "right"))
    return float(numpy.mean(1 - (below + up_to) / 2 / len(right)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("senone")
    arguments.add_argument("manifest")
    arguments.add_argument("folder")
    arguments.add_argument("--model")
    arguments = arguments.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    wrong, table = (os.path.join(arguments.folder, name) for name in ("swapped.tsv", "swapped.gop"))
    places = swapped(arguments.manifest, wrong)
    model = ["--model", arguments.model] if arguments.model else []
    command = [arguments.senone, "align", wrong, "--format", "ctm", "--gop", table, *model]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    utterances = fits(table, places)
    drawn = numpy.random.default_rng(1)
    areas = [area([utterances[at] for at in drawn.integers(len(utterances), size=len(utterances))]) for _ in range(200)]
    low, high = numpy.percentile(areas, [2.5, 97.5])
    print(f"{len(utterances)} of {len(places)} utterances aligned; AUC {area(utterances):.3f} ({low:.3f} to {high:.3f})")


main()
