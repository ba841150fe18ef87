#!/usr/bin/env python3
"""Times whole runs of `senone decode` on one thread, or as many as asked for, beside any other command in the same run.

    benches/decode.py MANIFEST... [--rounds 3] [--threads 1 2] [--senone target/release/senone] [--peer 'COMMAND with {manifest}']

Prints for each manifest and command the real-time factor (seconds of work for a second of audio; everything counts, loading
the model too) by wall clock and by CPU time, and the peak memory; median of the rounds, which alternate between commands.
"""

import argparse
import csv
import os
import shlex
import statistics
import subprocess
import sys

SPENT = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def audio_seconds(manifest):
    with open(manifest, encoding="utf-8") as lines:
        return sum(float(row["seconds"]) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def spent(command):
    """Wall seconds, CPU seconds and peak megabytes of one run."""
    words = subprocess.run([sys.executable, "-c", SPENT, *command], capture_output=True, text=True, check=True).stdout.split()
    if words[0] != "0":
        sys.exit(f"{shlex.join(command)}: exit status {words[0]}")
    return tuple(float(word) for word in words[1:])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("manifests", nargs="+")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, nargs="+", default=[1])
    arguments.add_argument("--senone", default="target/release/senone")
    arguments.add_argument("--peer", action="append", default=[])
    given = arguments.parse_args()
    print(f"{given.senone}: {os.path.getsize(given.senone) / 1e6:.1f} MB")
    for manifest in given.manifests:
        seconds = audio_seconds(manifest)
        command = [given.senone, "decode", "--format", "ctm", manifest, "--threads"]
        commands = {f"senone, {threads} threads": [*command, str(threads)] for threads in given.threads}
        commands |= {peer: [word.replace("{manifest}", manifest) for word in shlex.split(peer)] for peer in given.peer}
        runs = {name: [] for name in commands}
        for _ in range(given.rounds):
            for name, command in commands.items():
                runs[name].append(spent(command))
        print(f"{manifest}: {seconds:.0f} s of audio, median of {given.rounds}")
        for name, results in runs.items():
            wall, cpu, memory = (statistics.median(column) for column in zip(*results))
            print(f"  RTF {wall / seconds:.4f} wall {cpu / seconds:.4f} CPU, peak {memory:.0f} MB  {name}")


if __name__ == "__main__":
    main()
