#!/usr/bin/env python3
"""CPU time of CRF training by L-BFGS to the same objective, beside CRFsuite (needs: pip install python-crfsuite; Linux).

usage: crf_crfsuite.py TRAIN.tsv [--senone PATH] [--l2 1.0] [--rounds 3]

TRAIN.tsv has a word and a tag a line, a blank line after each sentence. Both get the same features: those of
recipes/pos-en/rich.toml, of each only the pairs with a tag that occur, every pair of tags, and what a sentence begins and ends
with (for CRFsuite, which has no such weights, as features of the first and the last token). Both use one thread and stop as
CRFsuite does when nothing is set. Its last loss and 0.1 % is the mark; counted are the CPU seconds of each until its loss is
below it. Those of senone include start, reading and features; CRFsuite's only its training.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import pycrfsuite

TEMPLATE = (
    'features = ["bias", "lower", "prefix:1..3", "suffix:1..3", "capital", "digit", "hyphen", "lower[-1]", "lower[1]"]\n'
)


def sentences(path):
    with open(path, encoding="utf-8") as file:
        blocks = file.read().split("\n\n")
    return [[line.split("\t") for line in block.split("\n") if line] for block in blocks if block.strip()]


def features(sentence, at):
    word = sentence[at][0]
    named = {"w": word.lower(), "U": word[0].isupper(), "D": any(c.isdigit() for c in word), "H": "-" in word}
    for length in (1, 2, 3):
        named |= {f"p{length}": word[:length], f"s{length}": word[-length:]}
    named |= {"-w": sentence[at - 1][0].lower()} if at else {"first": ""}
    named |= {"+w": sentence[at + 1][0].lower()} if at + 1 < len(sentence) else {"last": ""}
    return ["bias"] + [f"{name}={value}" for name, value in named.items()]


class Trainer(pycrfsuite.Trainer):
    """Notes CPU seconds and loss after each iteration."""

    def message(self, text):
        if self.logparser.feed(text) == "iteration":
            self.curve.append((time.process_time() - self.began, self.logparser.last_iteration["loss"]))


def crfsuite(data, l2):
    trainer = Trainer(verbose=False, algorithm="lbfgs")
    for sentence in data:
        trainer.append([features(sentence, at) for at in range(len(sentence))], [tag for _, tag in sentence])
    trainer.set_params({"c2": l2, "feature.possible_transitions": 1})
    trainer.curve, trainer.began = [], time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(os.path.join(folder, "model"))
    return trainer.curve


def cpu_seconds(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def senone(binary, path, l2):
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            return file.name

        command = [binary, "tag", "train", path, "--learner", "crf", "--output", os.path.join(folder, "model")]
        command += ["--template", write("template.toml", TEMPLATE)]
        command += ["--settings", write("settings.toml", f"pairs = \"observed\"\n[crf.l_bfgs]\nl2 = {l2}\n")]
        environment = os.environ | {"RAYON_NUM_THREADS": "1"}
        curve = []
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
            for line in process.stderr:
                if found := re.match(r"\d+: loss ([\d.]+)", line):
                    curve.append((cpu_seconds(process.pid), float(found.group(1))))
        if process.returncode:
            sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return curve


def until(curve, mark):
    """CPU seconds and iterations until the loss is at most `mark`."""
    return next(((seconds, number + 1) for number, (seconds, loss) in enumerate(curve) if loss <= mark), (float("inf"), 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("training")
    parser.add_argument("--senone", default="target/release/senone")
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    data = sentences(args.training)
    ratios = []
    for _ in range(args.rounds):
        theirs, ours = crfsuite(data, args.l2), senone(args.senone, args.training, args.l2)
        mark = 1.001 * theirs[-1][1]
        results = [("crfsuite", theirs, until(theirs, mark)), ("senone", ours, until(ours, mark))]
        for name, curve, (seconds, iterations) in results:
            end, loss = curve[-1]
            print(
                f"{name:<9} {seconds:7.2f} s CPU to loss {mark:.1f} in {iterations} iterations; "
                f"to its end {end:.2f} s, loss {loss:.3f}, {len(curve)} iterations",
                flush=True,
            )
        ratios.append(results[1][2][0] / results[0][2][0])
    print(f"senone / crfsuite, median of {args.rounds}: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
