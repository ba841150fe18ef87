#!/usr/bin/env python3
"""What benches/fbank.rs measures, for torchaudio and kaldi-native-fbank: one thread, 600 s of the same speech.

usage: fbank_peers.py [WAV]   (needs: pip install numpy torch torchaudio kaldi-native-fbank)
"""
import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import wave
from pathlib import Path

import kaldi_native_fbank as knf
import numpy as np
import torch
from torchaudio.compliance import kaldi

SECONDS, RATE, RUNS = 600, 16000, 9
CHUNK_SECONDS = 10


def speech(path):
    """The file repeated to SECONDS, on the scale of 16-bit integers."""
    with wave.open(str(path)) as reader:
        samples = np.frombuffer(reader.readframes(reader.getnframes()), dtype="<i2").astype(np.float32)
    return np.resize(samples, SECONDS * RATE)


def native(maker, options, chunks):
    """kaldi-native-fbank, CHUNK_SECONDS at a time, each a stream of its own: one long stream is slower by far."""
    for chunk in chunks:
        stream = maker(options)
        stream.accept_waveform(RATE, chunk)
        stream.input_finished()
        np.stack([stream.get_frame(index) for index in range(stream.num_frames_ready)])


def report(name, run):
    run()
    wall, cpu = [], []
    for _ in range(RUNS):
        start, cpu_start = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    wall, cpu = (np.median(seconds) * 3600 / SECONDS for seconds in (wall, cpu))
    print(f"{name:<28} median per hour of audio: cpu {cpu:7.3f} s, wall {wall:7.3f} s", flush=True)


def main():
    here = Path(__file__).resolve().parent
    samples = speech(sys.argv[1] if len(sys.argv) > 1 else here / "../tests/data/sense-and-sensibility.wav")
    torch.set_num_threads(1)
    tensor = torch.from_numpy(samples)[None]
    chunks = np.split(samples, SECONDS // CHUNK_SECONDS)
    fbank, mfcc = knf.FbankOptions(), knf.MfccOptions()
    fbank.frame_opts.dither = mfcc.frame_opts.dither = 0
    fbank.mel_opts.num_bins = 80
    report("torchaudio fbank-80", lambda: kaldi.fbank(tensor, num_mel_bins=80, dither=0.0))
    report("torchaudio mfcc-13", lambda: kaldi.mfcc(tensor, num_ceps=13, use_energy=True, dither=0.0))
    report("kaldi-native-fbank fbank-80", lambda: native(knf.OnlineFbank, fbank, chunks))
    report("kaldi-native-fbank mfcc-13", lambda: native(knf.OnlineMfcc, mfcc, chunks))


if __name__ == "__main__":
    main()
