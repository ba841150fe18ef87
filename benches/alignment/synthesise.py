#!/usr/bin/env python3
"""Sentences spoken by flite, whose segment times are the truth, as a corpus for any aligner.

    benches/alignment/synthesise.py MANIFEST OUT [--voices kal16,awb,rms,slt] [--sentences 40]

The texts are the first distinct `words` of MANIFEST. The phones are those that flite says, cut into words of four (fewer before a
pause) that stand in OUT/words.dict, so that every aligner is given the same phones. OUT/truth.ctm has the phones without pauses.
"""

import argparse
import re
import subprocess
import tempfile

from common import Corpus, read_audio, read_manifest

PHONES = {"ax": "AH", "pau": None}
WORD_PHONES = 4


def spoken(voice, text):
    """The samples, and the phones with start and end in seconds; None is a pause."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as wav:
        command = ["flite", "-voice", voice, "-psdur", "-t", text, "-o", wav.name]
        told = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf8").stdout
        ends = [(phone, float(end)) for phone, end in re.findall(r"(\S+):([\d.]+)", told)]
        starts = [0.0] + [end for _, end in ends]
        names = [PHONES.get(phone, phone.upper()) for phone, _ in ends]
        return read_audio(wav.name), [(name, start, end) for name, start, (_, end) in zip(names, starts, ends)]


def words_of(corpus, phones):
    words, word = [], []
    for name in [*phones, None]:
        if name is None or len(word) == WORD_PHONES:
            words += [corpus.word(word)] if word else []
            word = []
        word += [name] if name else []
    return words


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("out")
    arguments.add_argument("--voices", default="kal16,awb,rms,slt")
    arguments.add_argument("--sentences", type=int, default=40)
    arguments = arguments.parse_args()
    voices = arguments.voices.split(",")
    known = subprocess.run(["flite", "-lv"], stdout=subprocess.PIPE, check=True, encoding="utf8").stdout.split()
    unknown = [voice for voice in voices if voice not in known]
    if unknown:
        raise SystemExit(f"flite has no voice {unknown[0]}, see flite -lv")
    corpus = Corpus(arguments.out)
    texts = list(dict.fromkeys(row["words"].lower() for row in read_manifest(arguments.manifest, "words")))[: arguments.sentences]
    for voice in voices:
        for number, text in enumerate(texts):
            utterance = f"{voice}-{number:03}"
            samples, phones = spoken(voice, text)
            corpus.add(voice, utterance, samples, words_of(corpus, [name for name, _, _ in phones]))
            corpus.truth += [(utterance, start, end, name) for name, start, end in phones if name]
    corpus.finish()


main()
