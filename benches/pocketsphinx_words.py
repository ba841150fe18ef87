#!/usr/bin/env python3
"""The words that PocketSphinx 5 hears with a dictionary and an n-gram or a grammar, as CTM, with the time that it takes.

    python3 -m venv peers && peers/bin/pip install numpy pocketsphinx                   # and ffmpeg
    peers/bin/python benches/pocketsphinx_words.py MANIFEST DICTIONARY OUT.ctm --lm ARPA      # or --grammar JSGF

DICTIONARY is in the format of the CMU dictionary; stress is dropped, which PocketSphinx's English model does not know. Audio becomes
16 kHz by ffmpeg beforehand; the time is that of decoding alone, without start and without reading audio. Settings are
PocketSphinx's own.
"""

import argparse
import csv
import os
import re
import subprocess
import tempfile
import time

import pocketsphinx


def read_audio(path):
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "s16le", "-ac", "1", "-ar", "16000", "-"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def without_stress(source, target):
    """Writes the dictionary without comments and stress marks."""
    with open(source, encoding="utf8") as lines, open(target, "w", encoding="utf8") as out:
        for line in lines:
            word, *phones = line.split("#")[0].split() or [""]
            if phones:
                print(word.lower(), *(re.sub("[012]$", "", phone) for phone in phones), file=out)


def decoder(dictionary, options):
    model = os.path.join(os.path.dirname(pocketsphinx.__file__), "model", "en-us", "en-us")
    return pocketsphinx.Decoder(hmm=model, dict=dictionary, loglevel="FATAL", **options)


def heard(engine, audio):
    """The words of one recording: begin and duration in seconds, and name."""
    engine.start_utt()
    engine.process_raw(audio, full_utt=True)
    engine.end_utt()
    if engine.hyp() is None:
        return
    for segment in engine.seg():
        word = re.sub(r"\(\d+\)$", "", segment.word)
        if word[0] not in "<[+(":
            yield segment.start_frame / 100, (segment.end_frame - segment.start_frame + 1) / 100, word


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("dictionary")
    arguments.add_argument("ctm")
    arguments.add_argument("--lm")
    arguments.add_argument("--grammar")
    arguments = arguments.parse_args()
    if (arguments.lm is None) == (arguments.grammar is None):
        raise SystemExit("give --lm or --grammar")
    options = {"lm": arguments.lm} if arguments.lm else {"jsgf": arguments.grammar, "lm": None}
    with open(arguments.manifest, encoding="utf8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    folder = os.path.dirname(arguments.manifest)
    recordings = [read_audio(os.path.join(folder, row["audio"])) for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        dictionary = os.path.join(scratch, "words.dict")
        without_stress(arguments.dictionary, dictionary)
        engine = decoder(dictionary, options)
    began = time.process_time()
    with open(arguments.ctm + ".part", "w", encoding="utf8") as ctm:
        for row, audio in zip(rows, recordings):
            for start, seconds, word in heard(engine, audio):
                print(row["utterance"], 1, f"{start:.2f}", f"{seconds:.2f}", word, file=ctm)
    os.replace(arguments.ctm + ".part", arguments.ctm)
    seconds = sum(map(len, recordings)) / 32000
    spent = time.process_time() - began
    print(f"{len(rows)} recordings, {seconds:.0f} s, {spent:.1f} s of processor time, real-time factor {spent / seconds:.4f}")


if __name__ == "__main__":
    main()
