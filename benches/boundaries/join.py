#!/usr/bin/env python3
"""Real units (words or syllables) of one speaker joined without a gap: where one ends and the next begins is known.

    benches/boundaries/join.py MANIFEST OUT [--phones] [--sequences 200] [--units 4]

Every utterance of one word in MANIFEST is one unit, cut where it gets 30 dB quieter than its loudest 10 ms. OUT/truth.ctm has the
units: their words, or with --phones one word for the phones of each, as OUT/words.dict spells it.
"""

import argparse
import random

import numpy

from common import RATE, Corpus, read_audio, read_manifest

FRAME = RATE // 100
QUIET_DB = 30.0


def loud_part(samples):
    """From the first frame that is loud to the last."""
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME).astype(float)
    energy = 10 * numpy.log10(numpy.maximum((frames**2).mean(axis=1), 1e-3))
    loud = numpy.flatnonzero(energy > energy.max() - QUIET_DB)
    return samples[loud[0] * FRAME : (loud[-1] + 1) * FRAME]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("out")
    arguments.add_argument("--phones", action="store_true")
    arguments.add_argument("--sequences", type=int, default=200)
    arguments.add_argument("--units", type=int, default=4)
    arguments = arguments.parse_args()
    corpus, drawn, speakers = Corpus(arguments.out), random.Random(1), {}
    for row in read_manifest(arguments.manifest):
        if len(row["words"].split()) == 1:
            speakers.setdefault(row["speaker"], []).append((loud_part(read_audio(row["audio"])), row))
    many = [name for name, units in speakers.items() if len(units) >= arguments.units]
    for number in range(arguments.sequences):
        speaker = many[number % len(many)]
        units = drawn.sample(speakers[speaker], arguments.units)
        labels = [corpus.word(row["phones"].split()) if arguments.phones else row["words"].lower() for _, row in units]
        ends = numpy.cumsum([len(samples) for samples, _ in units]) / RATE
        utterance = f"{speaker}-{number:03}"
        corpus.add(speaker, utterance, numpy.concatenate([samples for samples, _ in units]), labels)
        corpus.truth += [(utterance, start, end, label) for start, end, label in zip([0.0, *ends], ends, labels)]
    corpus.finish(dictionary=arguments.phones)


main()
