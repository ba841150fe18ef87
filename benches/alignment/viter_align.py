#!/usr/bin/env python3
"""Forced alignment by viter of a manifest with words, as CTM of phones or words, with the processor time that it takes.

    peers/bin/python benches/alignment/viter_align.py MANIFEST DICTIONARY OUT.ctm --model an4.viter [--tier words]
        [--train an4/train.tsv cmudict.dict]

With --train the model is trained first, from the words of that manifest with that dictionary; stress is dropped. The time is that of a whole run of `viter
align` on the processor, without making its folder of audio and text.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile

from common import RATE, Corpus, read_audio, read_manifest, write_ctm

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from pocketsphinx_words import without_stress  # noqa: E402

VITER = os.path.join(os.path.dirname(sys.executable), "viter")
TIER = re.compile(r'name = "([^"]*)"(.*?)(?=\bclass = |\Z)', re.DOTALL)
INTERVAL = re.compile(r'xmin = ([\d.]+)\s+xmax = ([\d.]+)\s+text = "([^"]*)"')
NO_PHONE = {"", "sil", "spn", "sp", "<eps>"}


def folder_of(manifest, folder):
    """Audio and text of a manifest in a folder for each speaker, and how many seconds there are."""
    corpus, heard = Corpus(folder), 0.0
    for row in read_manifest(manifest, "speaker", "words"):
        samples = read_audio(row["audio"])
        corpus.add(row["speaker"], row["utterance"], samples, row["words"].lower().split())
        heard += len(samples) / RATE
    return os.path.join(folder, "wav"), heard


def plain(dictionary, target):
    """Without stress, and without the numbers of further pronunciations."""
    without_stress(dictionary, target)
    with open(target, encoding="utf8") as lines:
        text = lines.read()
    with open(target, "w", encoding="utf8") as out:
        out.write(re.sub(r"^(\S+)\(\d+\)(?=\s)", r"\1", text, flags=re.MULTILINE))


def viter(*words):
    """Runs it; the processor time that it took, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        ran = subprocess.run([VITER, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf8", check=False)
    except OSError as error:
        raise SystemExit(f"{VITER}: {error.strerror}, install viter beside this Python") from error
    if ran.returncode != 0:
        raise SystemExit(f"viter {words[0]}: exit status {ran.returncode}: {ran.stdout.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def segments(grid, tier):
    """Start, end and label of what the tier of a TextGrid holds, without pauses; phones without their place in the word."""
    with open(grid, encoding="utf8") as text:
        tiers = dict(TIER.findall(text.read()))
    if tier not in tiers:
        raise SystemExit(f"{grid}: no tier {tier}, it has {', '.join(tiers)}")
    rows = [(float(start), float(end), label) for start, end, label in INTERVAL.findall(tiers[tier])]
    named = [(start, end, re.sub(r"_[BIES]$", "", label)) for start, end, label in rows]
    return [row for row in named if row[2] not in NO_PHONE]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("dictionary")
    arguments.add_argument("ctm")
    arguments.add_argument("--model", required=True)
    arguments.add_argument("--train", nargs=2, metavar=("MANIFEST", "DICTIONARY"))
    arguments.add_argument("--tier", default="phones", choices=["phones", "words"])
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dictionary, grids = (os.path.join(folder, name) for name in ("words.dict", "grids"))
        plain(arguments.dictionary, dictionary)
        if arguments.train:
            manifest, known = arguments.train[0], os.path.join(folder, "known.dict")
            plain(arguments.train[1], known)
            audio, heard = folder_of(manifest, os.path.join(folder, "train"))
            spent = viter("train", audio, "--dict", known, "-o", arguments.model, "--cpu")
            print(f"viter train: {heard:.0f} s of audio, {spent:.0f} s of processor time")
        audio, heard = folder_of(arguments.manifest, os.path.join(folder, "align"))
        spent = viter("align", audio, arguments.model, "--dict", dictionary, "-o", grids, "--cpu")
        rows, failed = [], 0
        for row in read_manifest(arguments.manifest, "speaker", "words"):
            grid = os.path.join(grids, row["speaker"], row["utterance"] + ".TextGrid")
            found = segments(grid, arguments.tier) if os.path.exists(grid) else []
            rows, failed = rows + [(row["utterance"], *segment) for segment in found], failed + (not found)
    write_ctm(arguments.ctm, rows)
    print(f"viter: {heard:.0f} s, {failed} without output, {spent / heard:.4f} of real time (processor)")


main()
