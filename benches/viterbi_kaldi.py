#!/usr/bin/env python3
"""The FasterDecoder of kaldi-decoder on the phone graph of `models/en` and on full graphs: one thread, frames per second.

usage: viterbi_kaldi.py models/en/graph.toml [RUNS]   (needs: pip install numpy kaldi-decoder kaldifst)

What benches/viterbi.rs (`english`) and benches/forward_backward.rs (`best_path`) measure: random scores, log-softmax of normal numbers
times 2. A phone has a state in which it begins and one in which it goes on, so that it can follow itself, as the graph is compiled.
"""

import itertools
import math
import sys
import time
import tomllib

import kaldi_decoder
import kaldifst
import numpy as np

FRAMES, BEAM = 3000, 8.0


def phones(graph):
    """The symbols of all classes that are not made of classes, and the chance that each stays another frame."""
    classes = {name: members for name, members in graph["classes"].items() if not any(m in graph["classes"] for m in members)}
    topology = graph["topology"]
    stay = {name: topology.get(name, topology["default"])["self_loop"] for name in classes}
    return [(symbol, stay[name]) for name, members in classes.items() for symbol in members]


def fst_of(states, arcs):
    """Any of `states` (a pdf each, or None) may begin and end; `arcs` are (from, to, log-weight)."""
    fst = kaldifst.StdVectorFst()
    for _ in range(len(states) + 1):
        fst.add_state()
    fst.start = 0
    for state, (pdf, begins) in enumerate(states, 1):
        if begins:
            fst.add_arc(0, kaldifst.StdArc(pdf + 1, pdf + 1, 0.0, state))
        fst.set_final(state, 0.0)
    for source, target, weight in arcs:
        label = states[target][0] + 1
        fst.add_arc(source + 1, kaldifst.StdArc(label, label, -weight, target + 1))
    return fst


def english(path):
    with open(path, "rb") as file:
        graph = tomllib.load(file)
    symbols = phones(graph)
    count, silence = len(symbols), set(graph["optional"])
    states = [(pdf, True) for pdf in range(count)] + [(pdf, False) for pdf in range(count)]
    arcs = []
    for pdf, (symbol, stay) in enumerate(symbols):
        for source in (pdf, count + pdf):
            arcs.append((source, count + pdf, math.log(stay)))
            legal = [other for other, (name, _) in enumerate(symbols) if not (name == symbol and name in silence)]
            arcs += [(source, other, math.log(1 - stay)) for other in legal]
    return count, fst_of(states, arcs)


def full(count):
    weights = np.random.default_rng(count).standard_normal((count, count))
    weights -= np.log(np.exp(weights).sum(1, keepdims=True))
    pairs = itertools.product(range(count), repeat=2)
    return count, fst_of([(pdf, True) for pdf in range(count)], [(a, b, float(weights[a, b])) for a, b in pairs])


def report(name, runs, pdfs, fst):
    scores = 2 * np.random.default_rng(3).standard_normal((FRAMES, pdfs)).astype(np.float32)
    scores -= np.log(np.exp(scores).sum(1, keepdims=True))
    options = kaldi_decoder.FasterDecoderOptions()
    options.beam, options.max_active = BEAM, 2**31 - 1

    def decode():
        decoder = kaldi_decoder.FasterDecoder(fst, options)
        decoder.decode(kaldi_decoder.DecodableCtc(scores))
        found, _ = decoder.get_best_path()
        if not found:
            sys.exit(f"{name}: no path")

    seconds = []
    for _ in range(runs + 1):
        start = time.process_time()
        decode()
        seconds.append(time.process_time() - start)
    arcs = sum(fst.num_arcs(state) for state in range(fst.num_states))
    cpu = FRAMES / np.median(seconds[1:])
    print(f"kaldi-decoder, beam {BEAM:g}, {name}: {fst.num_states} states, {arcs} arcs, cpu {cpu:.0f} frames/s", flush=True)


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    report("English phones", runs, *english(sys.argv[1]))
    for count in (48, 144):
        report(f"full, {count}", runs, *full(count))


if __name__ == "__main__":
    main()
