#!/usr/bin/env python3
"""What benches/forward_backward.rs measures, for other libraries: one thread, the same shapes, frames per second.

usage: crf_peers.py [RUNS]   (needs: pip install numpy torch pytorch-crf; hmmlearn, when it is there, for the best path)

The gradient of pytorch-crf is that of the negative log-likelihood by emissions and weights: log Z of 16 sequences of 300
frames and the score of the labelled paths, forward and backward.
"""
import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
import torch
from torchcrf import CRF

SEQUENCES, FRAMES, LONG = 16, 300, 3000


def report(name, frames, runs, run):
    run()
    wall, cpu = [], []
    for _ in range(runs):
        start, cpu_start = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    best, median, cpu = frames / min(wall), frames / np.median(wall), frames / np.median(cpu)
    print(f"{name:<36} fastest {best:9.0f}, median {median:9.0f}, cpu {cpu:9.0f} frames/s", flush=True)


def crf(states, runs):
    model = CRF(states, batch_first=True)
    scores = torch.randn(SEQUENCES, FRAMES, states, requires_grad=True)
    labels = torch.randint(0, states, (SEQUENCES, FRAMES))

    def gradient():
        scores.grad = None
        model.zero_grad()
        (-model(scores, labels)).backward()

    def total():
        with torch.no_grad():
            model(scores, labels)

    report(f"pytorch-crf log_z, {states}", SEQUENCES * FRAMES, runs, total)
    report(f"pytorch-crf log_z_and_gradient, {states}", SEQUENCES * FRAMES, runs, gradient)


def numpy_best_path(scores, arcs):
    """Viterbi with back-pointers, one frame at a time."""
    by_target = np.ascontiguousarray(arcs.T)
    best, pointers = scores[0], np.empty(scores.shape, dtype=np.int32)
    for frame in range(1, len(scores)):
        sums = by_target + best
        pointers[frame] = sums.argmax(1)
        best = sums[np.arange(len(best)), pointers[frame]] + scores[frame]
    path = [int(best.argmax())]
    for frame in range(len(scores) - 1, 0, -1):
        path.append(int(pointers[frame][path[-1]]))
    return path[::-1]


def best_path(states, runs):
    random = np.random.default_rng(1)
    scores = random.standard_normal((LONG, states)).astype(np.float32)
    arcs = random.standard_normal((states, states)).astype(np.float32)
    report(f"numpy best_path, {states}", LONG, runs, lambda: numpy_best_path(scores, arcs))
    try:
        from hmmlearn import _hmmc
    except ImportError:
        return
    probabilities = np.exp(arcs.astype(np.float64))
    probabilities /= probabilities.sum(1, keepdims=True)
    start, wide = np.full(states, 1 / states), scores.astype(np.float64)
    report(f"hmmlearn best_path, {states}", LONG, runs, lambda: _hmmc.viterbi(start, probabilities, wide))


def main():
    torch.set_num_threads(1)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for states in (48, 144):
        crf(states, runs)
    for states in (48, 144, 420):
        best_path(states, runs)


if __name__ == "__main__":
    main()
