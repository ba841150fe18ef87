#!/usr/bin/env python3
"""Networks in senone, PyTorch and ONNX Runtime, one thread, one after the other in turns.

    cargo bench --bench network --no-run      # says where the binary is
    benches/network.py BINARY [CASE...] [--rounds 5] [--runs 5] [--python python3]

Prints for each case the frames a second of processor time and the megabytes of memory of each (medians of the rounds), and
the median of the rounds' ratios. `--python` is one that has the modules of network_peers.py. Linux only.
"""

import argparse
import os
import statistics
import subprocess
import sys

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "network_peers.py")

# What each case is compared with.
CASES = {
    "bilstm_train": ["torch"],
    "bilstm_forward_1": ["torch", "onnx"],
    "bilstm_forward_8": ["torch", "onnx"],
    "tdnn_train": ["torch"],
    "tdnn_forward_1": ["torch", "onnx"],
    "tdnn_forward_8": ["torch", "onnx"],
    "shipped_train": ["torch"],
}


def measured(command):
    """Frames a second and megabytes, as the last line of a command's output says."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return tuple(float(word) for word in done.stdout.split()[-2:])


def compare(case, given):
    commands = {"senone": [given.binary, case, str(given.runs)]}
    commands |= {peer: [given.python, PEERS, peer, case, str(given.runs)] for peer in CASES[case]}
    rounds = [{name: measured(command) for name, command in commands.items()} for _ in range(given.rounds)]
    for name in commands:
        frames, memory = (statistics.median(found[name][column] for found in rounds) for column in (0, 1))
        line = f"{case:<18} {name:<7} {frames:8.0f} frames/s {memory:6.0f} MB"
        if name != "senone":
            ratios = sorted(found["senone"][0] / found[name][0] for found in rounds)
            line += f"   senone / {name}: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(line, flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("binary")
    arguments.add_argument("cases", nargs="*", default=list(CASES))
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--python", default=sys.executable)
    given = arguments.parse_args()
    for case in given.cases or CASES:
        compare(case, given)


if __name__ == "__main__":
    main()
