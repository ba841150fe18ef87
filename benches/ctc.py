#!/usr/bin/env python3
"""What a user would train instead of models/en: a CTC network in PyTorch on the same recordings, decoded greedily.

    python3 -m venv peers && peers/bin/pip install numpy torch kaldi-native-fbank       # and ffmpeg
    peers/bin/python benches/ctc.py DATA OUT [--threads 2] [--epochs 16]

DATA holds the corpora of recipes/english. OUT/speechocean762.ctm and OUT/an4.ctm are what the network hears in the test sets, for

    senone score DATA/an4/test.tsv target/english/an4.ctm --against OUT/an4.ctm --lexicon DATA/lexicon-en/cmudict.dict

1.9 M parameters: residual dilated convolutions at 30 ms, batch normalisation, dropout; 40 log-mel bands, normalised over each
utterance; speed 0.9, 1.0 or 1.1 by interpolation of frames, masks over time and frequency; AdamW with one cycle. No development
set, nothing tuned; utterances with words that the dictionary lacks are left out of training. A run that was stopped goes on from
the last epoch in OUT.
"""

import argparse
import csv
import os
import random
import re
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor

import kaldi_native_fbank as knf
import numpy as np
import torch
from torch import nn

PHONES = (
    "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH".split()
)
TRAINING = ("speechocean762", "an4", "librispeech-mini", "kathleen")
TESTS = ("speechocean762", "an4")
BANDS = 40
STEP = 3
BATCH = 16
LONGEST = 1700


def read_lexicon(path):
    """The first pronunciation of each word, stress stripped."""
    lexicon = {}
    with open(path, encoding="utf8") as lines:
        for line in lines:
            word, *phones = line.split("#")[0].split() or [""]
            lexicon.setdefault(re.sub(r"\(\d+\)$", "", word).upper(), [phone.rstrip("012") for phone in phones])
    return lexicon


def pronounced(row, lexicon):
    """The phones of a manifest's row; none where a word is unknown."""
    if row.get("phones"):
        return [phone.rstrip("012") for phone in row["phones"].split()]
    words = re.findall(r"[A-Z']+", row["words"].upper())
    return [phone for word in words for phone in lexicon[word]] if all(word in lexicon for word in words) else []


def features(path):
    """Log-mel bands [frames x 40], each with mean 0 and deviation 1 over the utterance."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "s16le", "-ac", "1", "-ar", "16000", "-"]
    samples = np.frombuffer(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout, np.int16)
    options = knf.FbankOptions()
    options.frame_opts.dither = 0
    options.frame_opts.samp_freq = 16000
    options.mel_opts.num_bins = BANDS
    fbank = knf.OnlineFbank(options)
    fbank.accept_waveform(16000, samples.astype(np.float32).tolist())
    fbank.input_finished()
    frames = np.stack([fbank.get_frame(index) for index in range(fbank.num_frames_ready)])
    return (frames - frames.mean(0)) / (frames.std(0) + 1e-3)


def read_corpus(data, corpus, part, lexicon):
    """Utterances of a manifest: name, frames, phones as numbers from 1."""
    with open(os.path.join(data, corpus, f"{part}.tsv"), encoding="utf8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    numbers = {phone: index + 1 for index, phone in enumerate(PHONES)}
    phones = [[numbers[phone] for phone in pronounced(row, lexicon) if phone in numbers] for row in rows]
    wanted = [(row, said) for row, said in zip(rows, phones) if said or part == "test"]
    paths = [os.path.join(data, corpus, row["audio"]) for row, _ in wanted]
    with ProcessPoolExecutor() as pool:
        for (row, said), frames in zip(wanted, pool.map(features, paths, chunksize=16)):
            yield row["utterance"], frames.astype(np.float32), said


def convolution(inputs, outputs, width, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv1d(inputs, outputs, width, stride=stride, dilation=dilation, padding=dilation * (width // 2)),
        nn.BatchNorm1d(outputs),
        nn.ReLU(),
    )


class Network(nn.Module):
    """Scores [batch x 40 x rows] of blank and phones from bands [batch x 40 x frames], a row for three frames."""

    def __init__(self, width=384, narrow=128, dropout=0.15):
        super().__init__()
        drop = nn.Dropout(dropout)
        self.frames = nn.Sequential(convolution(BANDS, 192, 5), drop, convolution(192, width, 3, stride=STEP), drop)
        self.blocks = nn.ModuleList(
            nn.Sequential(convolution(width, narrow, 3, dilation=dilation), convolution(narrow, width, 1), drop)
            for dilation in (1, 1, 2, 2, 3, 3, 4, 4)
        )
        self.output = nn.Conv1d(width, len(PHONES) + 1, 1)

    def forward(self, bands):
        rows = self.frames(bands)
        for block in self.blocks:
            rows = rows + block(rows)
        return self.output(rows)


def faster(frames, speed):
    places = np.linspace(0, len(frames) - 1, int(len(frames) / speed))
    low = places.astype(int)
    share = (places - low)[:, None].astype(np.float32)
    return frames[low] * (1 - share) + frames[np.minimum(low + 1, len(frames) - 1)] * share


def masked(frames):
    frames = frames.copy()
    for _ in range(2):
        wide = random.randint(0, 8)
        low = random.randint(0, BANDS - wide)
        frames[:, low : low + wide] = 0
    for _ in range(max(1, len(frames) // 150)):
        long = random.randint(0, min(20, len(frames) // 5))
        first = random.randint(0, len(frames) - long)
        frames[first : first + long] = 0
    return frames


def stacked(frames):
    """Bands [batch x 40 x frames] padded with zeros, and the rows that each utterance has."""
    bands = np.zeros((len(frames), BANDS, max(map(len, frames))), np.float32)
    for index, each in enumerate(frames):
        bands[index, :, : len(each)] = each.T
    return torch.from_numpy(bands), torch.tensor([-(-len(each) // STEP) for each in frames])


def train_epoch(network, batches, optimiser, schedule):
    """The mean loss of a batch."""
    network.train()
    random.shuffle(batches)
    total = 0.0
    for batch in batches:
        changed = [masked(faster(frames, random.choice((0.9, 1.0, 1.1)))) for _, frames, _ in batch]
        bands, rows = stacked(changed)
        targets = torch.tensor([phone for _, _, phones in batch for phone in phones])
        lengths = torch.tensor([len(phones) for _, _, phones in batch])
        scores = network(bands).log_softmax(1).permute(2, 0, 1)
        loss = nn.functional.ctc_loss(scores, targets, rows, lengths, zero_infinity=True)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimiser.step()
        schedule.step()
        total += loss.item()
    return total / len(batches)


def train(network, utterances, epochs, checkpoint):
    utterances.sort(key=lambda utterance: len(utterance[1]))
    batches = [utterances[first : first + BATCH] for first in range(0, len(utterances), BATCH)]
    optimiser = torch.optim.AdamW(network.parameters(), 1e-3, weight_decay=1e-2)
    steps = epochs * len(batches)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2.5e-3, total_steps=steps, pct_start=0.2)
    parts = {"network": network, "optimiser": optimiser, "schedule": schedule}
    done = 0
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        done = saved["epoch"]
        for name, part in parts.items():
            part.load_state_dict(saved[name])
    started = time.time()
    for epoch in range(done + 1, epochs + 1):
        random.seed(epoch)
        torch.manual_seed(epoch)
        loss = train_epoch(network, batches, optimiser, schedule)
        print(f"epoch {epoch}/{epochs}: loss {loss:.3f}, {time.time() - started:.0f} s", flush=True)
        torch.save({"epoch": epoch} | {name: part.state_dict() for name, part in parts.items()}, checkpoint + ".part")
        os.replace(checkpoint + ".part", checkpoint)


def write_ctm(network, utterances, path):
    """The best symbol of each row, repeats and blanks dropped."""
    network.eval()
    with torch.no_grad(), open(path + ".part", "w", encoding="utf8") as ctm:
        for name, frames, _ in utterances:
            bands, _ = stacked([frames])
            best = network(bands)[0].argmax(0).tolist()
            for row, symbol in enumerate(best):
                if symbol and (row == 0 or best[row - 1] != symbol):
                    ctm.write(f"{name} 1 {row * 0.03:.2f} 0.03 {PHONES[symbol - 1]}\n")
    os.replace(path + ".part", path)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data")
    arguments.add_argument("out")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--epochs", type=int, default=16)
    arguments = arguments.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    lexicon = read_lexicon(os.path.join(arguments.data, "lexicon-en", "cmudict.dict"))
    network = Network()
    print(f"{sum(values.numel() for values in network.parameters())} parameters", flush=True)
    read = (each for corpus in TRAINING for each in read_corpus(arguments.data, corpus, "train", lexicon))
    # Rows must be left over for blanks, at any speed.
    usable = [each for each in read if len(each[1]) < LONGEST and len(each[1]) / 1.1 / STEP > len(each[2]) + 2]
    print(f"{len(usable)} utterances, {sum(len(frames) for _, frames, _ in usable) / 360000:.2f} h", flush=True)
    train(network, usable, arguments.epochs, os.path.join(arguments.out, "checkpoint.pt"))
    for test in TESTS:
        heard = read_corpus(arguments.data, test, "test", lexicon)
        write_ctm(network, heard, os.path.join(arguments.out, f"{test}.ctm"))


if __name__ == "__main__":
    main()
