#!/usr/bin/env python3
"""The CTC network in PyTorch that the English model is compared with: trains it with the baseline's own script, then writes
what it hears in the two test sets as CTM, for `senone score --against`.

    python benches/ctc_peer.py CTC_TORCH.PY OUT [THREADS [EPOCHS]]

CTC_TORCH.PY is the baseline's script; OUT/speechocean762.ctm and OUT/an4.ctm are written. Greedy decoding: the best symbol of
each row of 30 ms, repeats and blanks dropped, as the script's own error rate does.
"""
import os
import runpy
import sys

ROW_SECONDS = 0.03


def hypotheses(script, examples):
    """Yields the utterance and its phones with the rows they begin at."""
    import torch

    net, batch, phones = script["net"], script["batch"], script["P"]
    net.eval()
    with torch.no_grad():
        for first in range(0, len(examples), 16):
            group = examples[first : first + 16]
            features, lengths, _, _ = batch(group, False)
            best = net(features).argmax(1)
            for place, (utterance, *_rest) in enumerate(group):
                rows = best[place, : lengths[place]].tolist()
                heard = [(t, phones[c - 1]) for t, c in enumerate(rows) if c and (t == 0 or rows[t - 1] != c)]
                yield utterance, heard


def main():
    path, out, *rest = sys.argv[1:]
    threads, epochs = (rest + ["2", "16"][len(rest) :])[:2]
    sys.argv = [path, threads, epochs]
    script = runpy.run_path(path, run_name="ctc")
    os.makedirs(out, exist_ok=True)
    for test, name in (("so_test", "speechocean762"), ("an4_test", "an4")):
        target = os.path.join(out, f"{name}.ctm")
        with open(target + ".part", "w", encoding="utf8") as ctm:
            for utterance, heard in hypotheses(script, script["tests"][test]):
                for row, phone in heard:
                    ctm.write(f"{utterance} 1 {row * ROW_SECONDS:.3f} {ROW_SECONDS:.3f} {phone}\n")
        os.replace(target + ".part", target)


if __name__ == "__main__":
    main()
