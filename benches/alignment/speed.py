#!/usr/bin/env python3
"""Times whole runs of `senone align` on one thread, beside any other command in the same run.

    benches/alignment/speed.py MANIFEST DICTIONARY [--rounds 3] [--senone target/release/senone] [--peer 'COMMAND with {manifest}']

Prints the real-time factor (everything counts, loading the model too) by wall clock and by CPU time, and the peak memory: medians of
the rounds, which alternate between commands.
"""

import argparse
import os
import shlex
import statistics
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from decode import audio_seconds, spent  # noqa: E402


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifest")
    arguments.add_argument("dictionary")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--senone", default="target/release/senone")
    arguments.add_argument("--peer", action="append", default=[])
    given = arguments.parse_args()
    seconds = audio_seconds(given.manifest)
    senone = [given.senone, "--threads", "1", "align", given.manifest, "--lexicon", given.dictionary, "--format", "ctm"]
    commands = {"senone": senone}
    commands |= {peer: [word.replace("{manifest}", given.manifest) for word in shlex.split(peer)] for peer in given.peer}
    runs = {name: [] for name in commands}
    for _ in range(given.rounds):
        for name, command in commands.items():
            runs[name].append(spent(command))
    print(f"{given.manifest}: {seconds:.0f} s of audio, median of {given.rounds}")
    for name, results in runs.items():
        wall, cpu, memory = (statistics.median(column) for column in zip(*results))
        print(f"  RTF {wall / seconds:.4f} wall {cpu / seconds:.4f} CPU, peak {memory:.0f} MB  {name}")


main()
