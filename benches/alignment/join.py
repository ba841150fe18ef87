#!/usr/bin/env python3
"""Real words of one speaker joined without a gap: where one ends and the next begins is known.

    benches/alignment/join.py MANIFEST OUT [--sequences 200] [--units 4] [--phones]

Every utterance of one word in MANIFEST is one unit, cut where it gets 30 dB quieter than its loudest 10 ms; without any sound it is
left out. With --phones the units are those utterances that have phones and no words, as recorded syllables; what they say becomes a
word of OUT/words.dict, without tone; one that is quiet for 100 ms inside holds more than a syllable, and is left out. OUT/truth.ctm has the words.
"""

import argparse
import functools
import random
import re

import numpy

from common import RATE, Corpus, read_audio, read_manifest

FRAME = RATE // 100
QUIET_DB = 30.0
LONGEST_QUIET_FRAMES = 10


def loud_frames(samples):
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME).astype(float)
    power = (frames**2).mean(axis=1)
    return numpy.flatnonzero(power > power.max(initial=0) * 10 ** (-QUIET_DB / 10))


def loud_part(samples):
    """From the first frame that is loud to the last; nothing of silence."""
    loud = loud_frames(samples)
    return samples[loud[0] * FRAME : (loud[-1] + 1) * FRAME] if len(loud) else samples[:0]


def is_one_sound(samples):
    return numpy.diff(loud_frames(samples)).max(initial=0) <= LONGEST_QUIET_FRAMES


def word_of(row):
    return row["words"].lower() if len(row["words"].split()) == 1 else None


def syllable_of(corpus, row):
    phones = [re.sub(r"\d$", "", phone) for phone in row["phones"].split()]
    return corpus.word(phones) if phones and not row["words"].split() else None


def units(rows, name, is_whole):
    """By speaker, the samples and the word of each unit; `name` says the word of a row, if it is a unit, and `is_whole` if its samples are."""
    speakers = {}
    for row in rows:
        if word := name(row):
            samples = loud_part(read_audio(row["audio"]))
            if len(samples) and is_whole(samples):
                speakers.setdefault(row["speaker"], []).append((samples, word))
    return speakers


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("out")
    arguments.add_argument("--sequences", type=int, default=200)
    arguments.add_argument("--units", type=int, default=4)
    arguments.add_argument("--phones", action="store_true")
    arguments = arguments.parse_args()
    corpus, rng = Corpus(arguments.out), random.Random(1)
    rows = read_manifest(arguments.manifest, "speaker", "words", *(["phones"] if arguments.phones else []))
    syllable = functools.partial(syllable_of, corpus)
    found = units(rows, syllable, is_one_sound) if arguments.phones else units(rows, word_of, len)
    speakers = [(name, all_of) for name, all_of in found.items() if len(all_of) >= arguments.units]
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
