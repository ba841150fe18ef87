#!/usr/bin/env python3
"""Forced alignment by PocketSphinx 5 of a manifest with words, as CTM of phones or words, with the time that it takes.

    peers/bin/python benches/alignment/pocketsphinx_align.py MANIFEST DICTIONARY OUT.ctm [--tier words]

The dictionary is in the format of the CMU dictionary; stress is dropped. Two passes, as PocketSphinx does it: words, then phones.
The time is that of alignment alone, without start and without reading audio.
"""

import argparse
import os
import re
import sys
import tempfile
import time

import pocketsphinx

from common import RATE, read_audio, read_manifest, write_ctm

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from pocketsphinx_words import without_stress  # noqa: E402

BEAM = 1e-48
FRAMES_PER_SECOND = 100


def run(engine, audio):
    engine.start_utt()
    engine.process_raw(audio, full_utt=True)
    engine.end_utt()


def aligned(engine, audio, words, tier):
    """Start and end in seconds, and label, of the phones or words; nothing where alignment fails."""
    try:
        engine.set_align_text(" ".join(words))
        run(engine, audio)
        if engine.hyp() is None:
            return []
        engine.set_alignment()
        run(engine, audio)
        found = engine.get_alignment()
    except RuntimeError:
        return []
    entries = found if tier == "words" else (phone for word in found for phone in word)
    rows = [(entry.start / FRAMES_PER_SECOND, (entry.start + entry.duration) / FRAMES_PER_SECOND, entry.name) for entry in entries]
    return [(start, end, re.sub(r"\(\d+\)$", "", name)) for start, end, name in rows if name[0] not in "<[+(" and name != "SIL"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("dictionary")
    arguments.add_argument("ctm")
    arguments.add_argument("--tier", default="phones", choices=["phones", "words"])
    arguments = arguments.parse_args()
    model = os.path.join(os.path.dirname(pocketsphinx.__file__), "model", "en-us", "en-us")
    with tempfile.TemporaryDirectory() as folder:
        dictionary = os.path.join(folder, "words.dict")
        without_stress(arguments.dictionary, dictionary)
        beams = dict(beam=BEAM, wbeam=BEAM, pbeam=BEAM)
        engine = pocketsphinx.Decoder(hmm=model, dict=dictionary, lm=None, bestpath=False, loglevel="FATAL", **beams)
    rows, spent, heard, failed = [], 0.0, 0.0, 0
    for row in read_manifest(arguments.manifest, "words"):
        audio = read_audio(row["audio"])
        begin = time.process_time()
        found = aligned(engine, audio.tobytes(), row["words"].lower().split(), arguments.tier)
        spent, heard, failed = spent + time.process_time() - begin, heard + len(audio) / RATE, failed + (not found)
        rows += [(row["utterance"], *segment) for segment in found]
    write_ctm(arguments.ctm, rows)
    print(f"PocketSphinx: {heard:.0f} s, {failed} without output, {spent / heard:.4f} of real time (processor)")


main()
