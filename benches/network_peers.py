#!/usr/bin/env python3
"""What benches/network.rs measures, in PyTorch and ONNX Runtime: one thread, the same shapes and work.

usage: network_peers.py {torch,onnx} CASE [RUNS]     (needs: pip install torch onnx onnxruntime)

Prints one line: frames a second of processor time (median of the runs, after one that does not count), and megabytes of peak
memory above what the process had before it built the network.
"""
import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import statistics
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional


class Bilstm(nn.Module):
    """4 layers of 320 cells in each direction."""

    def __init__(self, bands=80, pdfs=144):
        super().__init__()
        self.lstm = nn.LSTM(bands, 320, num_layers=4, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * 320, pdfs)

    def forward(self, frames):
        return self.output(self.lstm(frames)[0])


class Tdnn(nn.Module):
    """7 layers of 512 that each see 3 rows."""

    def __init__(self, bands=80, pdfs=144):
        super().__init__()
        layers, inputs = [], bands
        for dilation in (1, 1, 2, 2, 3, 3, 3):
            convolution = nn.Conv1d(inputs, 512, 3, dilation=dilation, padding=dilation)
            layers += [convolution, nn.ReLU(), nn.BatchNorm1d(512)]
            inputs = 512
        self.hidden, self.output = nn.Sequential(*layers), nn.Conv1d(512, pdfs, 1)

    def forward(self, frames):
        return self.output(self.hidden(frames.transpose(1, 2))).transpose(1, 2)


def relu_renorm(x):
    z = functional.relu(x)
    return z * torch.rsqrt((z * z).mean(1, keepdim=True) + 1e-5)


class Shipped(nn.Module):
    """The network of models/en: two layers to every third frame, then narrow residual blocks; edge frames repeated."""

    DILATIONS = (1, 1, 1, 2, 2, 2, 3, 3)

    def __init__(self, bands=40, pdfs=41):
        super().__init__()
        self.frames, self.rows = nn.Conv1d(bands, 192, 5), nn.Conv1d(192, 384, 3, stride=3)
        self.narrow = nn.ModuleList(nn.Conv1d(384, 160, 3, dilation=dilation) for dilation in self.DILATIONS)
        self.wide = nn.ModuleList(nn.Conv1d(160, 384, 1) for _ in self.DILATIONS)
        self.output, self.drop = nn.Conv1d(384, pdfs, 1), nn.Dropout(0.15)

    def forward(self, frames):
        edge = 2 + 3 * sum(self.DILATIONS)
        x = functional.pad(frames.transpose(1, 2), (edge, edge), mode="replicate")
        x = self.drop(relu_renorm(self.frames(x)))
        x = self.drop(relu_renorm(self.rows(x)))
        for dilation, narrow, wide in zip(self.DILATIONS, self.narrow, self.wide):
            x = x[:, :, dilation:-dilation] + wide(self.drop(relu_renorm(narrow(x))))
        return self.output(x).transpose(1, 2)


# name: network, bands and pdfs, utterances and frames of each, work; the rows of benches/network.rs.
CASES = {
    "bilstm_train": (Bilstm, (80, 144), (8, 500), "gradient"),
    "bilstm_forward_1": (Bilstm, (80, 144), (1, 500), "forward"),
    "bilstm_forward_8": (Bilstm, (80, 144), (8, 500), "forward"),
    "tdnn_train": (Tdnn, (80, 144), (8, 500), "gradient"),
    "tdnn_forward_1": (Tdnn, (80, 144), (1, 500), "forward"),
    "tdnn_forward_8": (Tdnn, (80, 144), (8, 500), "forward"),
    "shipped_train": (Shipped, (40, 41), (12, 420), "step"),
}


def torch_work(network, frames, work):
    with torch.no_grad():
        rows, pdfs = network(frames).shape[1:]
    targets = torch.arange(len(frames) * rows) * 7 % pdfs
    adam = torch.optim.AdamW(network.parameters(), lr=1e-4, betas=(0.9, 0.98))

    def forward():
        with torch.inference_mode():
            network(frames).log_softmax(-1)

    def gradient():
        network.zero_grad()
        functional.cross_entropy(network(frames).flatten(0, 1), targets).backward()

    def step():
        gradient()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        adam.step()

    network.train(work != "forward")
    return {"forward": forward, "gradient": gradient, "step": step}[work]


def onnx_work(network, frames):
    import onnxruntime

    class LogPosteriors(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, frames):
            return self.network(frames).log_softmax(-1)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "network.onnx")
        torch.onnx.export(LogPosteriors().eval(), (frames,), path, input_names=["frames"], dynamo=False, opset_version=17)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    values = {"frames": frames.numpy()}
    return lambda: session.run(None, values)


def memory(key):
    with open("/proc/self/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def main():
    peer, case, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, (bands, pdfs), (utterances, length), work = CASES[case]
    before = memory("VmRSS:")
    frames = torch.randn(utterances, length, bands)
    model = network(bands, pdfs)
    run = torch_work(model, frames, work) if peer == "torch" else onnx_work(model, frames)
    run()
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    print(f"{case} {utterances * length / statistics.median(seconds):.0f} {memory('VmHWM:') - before:.0f}")


if __name__ == "__main__":
    main()
