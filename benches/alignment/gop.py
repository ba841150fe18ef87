#!/usr/bin/env python3
"""Does goodness of pronunciation tell a wrong phone from right ones? The area under the ROC curve of `senone align --gop`.

    benches/alignment/gop.py SENONE MANIFEST FOLDER [--model DIR]

In every utterance of MANIFEST, which has phones, one phone at random (seed 1) becomes another one of those in the manifest; senone
aligns the result. The swapped phones are the wrong ones, all others the right ones. The interval (95 %) is by bootstrap over speakers.
"""

import argparse
import csv
import os
import random
import subprocess

import numpy

from common import read_manifest

PAUSE = "SIL"


def swapped(manifest, target):
    """Writes the manifest with a wrong phone in each utterance; by utterance, its speaker, its phones now, and the wrong one's place."""
    rows = [row for row in read_manifest(manifest, "speaker", "phones") if row["phones"].split()]
    names = sorted({phone for row in rows for phone in row["phones"].split()})
    if PAUSE in names or len(names) < 2:
        raise SystemExit(f"{manifest}: expected two phones or more, and no {PAUSE} among them")
    rng, told = random.Random(1), {}
    with open(target, "w", encoding="utf8") as out:
        print("utterance", "audio", "phones", sep="\t", file=out)
        for row in rows:
            phones = row["phones"].split()
            place = rng.randrange(len(phones))
            phones[place] = rng.choice([name for name in names if name != phones[place]])
            told[row["utterance"]] = (row["speaker"], phones, place)
            print(row["utterance"], row["audio"], " ".join(phones), sep="\t", file=out)
    return told


def align(senone, manifest, table, model):
    """Writes the table of fits. The status is not 0 where an utterance could not be aligned; those are counted."""
    if os.path.exists(table):
        os.remove(table)
    command = [senone, "align", manifest, "--format", "ctm", "--gop", table, *(["--model", model] if model else [])]
    try:
        ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf8", check=False)
    except OSError as error:
        raise SystemExit(f"{senone}: {error.strerror}") from error
    if not os.path.exists(table):
        raise SystemExit(f"{senone} left no table: {ran.stderr.strip()}")


def fits(table, told):
    """By speaker, the fits of the wrong phones and those of the right ones, and how many utterances there are; pauses are left out."""
    found, speakers = {}, {}
    with open(table, encoding="utf8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["phone"] != PAUSE:
                found.setdefault(row["utterance"], []).append((row["phone"], float(row["gop"])))
    for utterance, rows in found.items():
        speaker, phones, place = told[utterance]
        if [phone for phone, _ in rows] != phones:
            raise SystemExit(f"{table}: the phones of {utterance} are not those that were to be aligned")
        wrong, right = speakers.setdefault(speaker, ([], []))
        wrong.append(rows[place][1])
        right += [fit for at, (_, fit) in enumerate(rows) if at != place]
    return list(speakers.values()), len(found)


def area(speakers):
    """P(right > wrong) + P(right = wrong) / 2, by ranks (Mann and Whitney 1947)."""
    wrong = numpy.concatenate([wrong for wrong, _ in speakers])
    right = numpy.sort(numpy.concatenate([right for _, right in speakers]))
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
    manifest, table = (os.path.join(arguments.folder, name) for name in ("swapped.tsv", "swapped.gop"))
    told = swapped(arguments.manifest, manifest)
    align(arguments.senone, manifest, table, arguments.model)
    speakers, aligned = fits(table, told)
    if not any(right for _, right in speakers):
        raise SystemExit(f"{arguments.manifest}: no utterance of two phones or more was aligned")
    rng = numpy.random.default_rng(1)
    draws = rng.integers(len(speakers), size=(200, len(speakers)))
    low, high = numpy.percentile([area([speakers[at] for at in draw]) for draw in draws], [2.5, 97.5])
    print(f"{aligned} of {len(told)} utterances aligned; AUC {area(speakers):.3f} ({low:.3f} to {high:.3f}, {len(speakers)} speakers)")


main()
