#!/usr/bin/env python3
"""Real words of one speaker joined without a gap: where one ends and the next begins is known.

    benches/alignment/join.py MANIFEST OUT [--sequences 200] [--units 4]

Every utterance of one word in MANIFEST is one unit, cut where it gets 30 dB quieter than its loudest 10 ms; without any sound it is
left out. OUT/truth.ctm has the words.
"""

import argparse
import random

import numpy

from common import RATE, Corpus, read_audio, read_manifest

FRAME = RATE // 100
QUIET_DB = 30.0


def loud_part(samples):
    """From the first frame that is loud to the last; nothing of silence."""
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME).astype(float)
    power = (frames**2).mean(axis=1)
    loud = numpy.flatnonzero(power > power.max(initial=0) * 10 ** (-QUIET_DB / 10))
    return samples[loud[0] * FRAME : (loud[-1] + 1) * FRAME] if len(loud) else samples[:0]


def units(manifest):
    """By speaker, the samples and the word of each unit."""
    speakers = {}
    for row in read_manifest(manifest, "speaker", "words"):
        if len(row["words"].split()) == 1:
            samples = loud_part(read_audio(row["audio"]))
            if len(samples):
                speakers.setdefault(row["speaker"], []).append((samples, row["words"].lower()))
    return speakers


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("out")
    arguments.add_argument("--sequences", type=int, default=200)
    arguments.add_argument("--units", type=int, default=4)
    arguments = arguments.parse_args()
    corpus, rng = Corpus(arguments.out), random.Random(1)
    speakers = [(name, all_of) for name, all_of in units(arguments.manifest).items() if len(all_of) >= arguments.units]
    if not speakers:
        raise SystemExit(f"{arguments.manifest}: no speaker has {arguments.units} utterances of one word")
    for number in range(arguments.sequences):
        speaker, all_of = speakers[number % len(speakers)]
        joined, words = zip(*rng.sample(all_of, arguments.units))
        ends = numpy.cumsum([len(samples) for samples in joined]) / RATE
        utterance = f"{speaker}-{number:03}"
        corpus.add(speaker, utterance, numpy.concatenate(joined), words)
        corpus.truth += [(utterance, start, end, word) for start, end, word in zip([0.0, *ends], ends, words)]
    corpus.finish()


main()
