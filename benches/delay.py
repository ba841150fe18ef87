#!/usr/bin/env python3
"""How long after its end each phone comes out of `senone decode --stream`, of speech that arrives 30 ms at a time.

    benches/delay.py WAV... [--senone target/release/senone] [--pace 3] [-- OPTIONS OF DECODE]

WAVs are mono of 16 bits. Prints median and maximum of (audio that was sent when a phone was printed) - (its end); the phones after the
last audio are left out. Audio is sent `--pace` times as fast as it was spoken.
"""

import argparse
import statistics
import subprocess
import threading
import time
import wave

BLOCK_SECONDS = 0.03


def delays(path, command, pace):
    with wave.open(path) as file:
        rate, samples = file.getframerate(), file.readframes(file.getnframes())
    command = [*command, "--raw", str(rate), "-"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sent, found, ended = [0.0], [], threading.Event()

    def listen():
        for line in child.stdout:
            if not ended.is_set():
                found.append(sent[0] - float(line.split()[1]))

    listener = threading.Thread(target=listen)
    listener.start()
    time.sleep(3)  # the model is read
    step = 2 * int(BLOCK_SECONDS * rate)
    for first in range(0, len(samples), step):
        child.stdin.write(samples[first : first + step])
        child.stdin.flush()
        sent[0] += BLOCK_SECONDS
        time.sleep(BLOCK_SECONDS / pace)
    ended.set()
    child.stdin.close()
    listener.join()
    child.wait()
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("wavs", nargs="+")
    arguments.add_argument("--senone", default="target/release/senone")
    arguments.add_argument("--pace", type=float, default=3.0)
    given, options = arguments.parse_known_args()
    command = [given.senone, "--threads", "1", "decode", "--stream", *(word for word in options if word != "--")]
    found = [delay for path in given.wavs for delay in delays(path, command, given.pace)]
    print(f"{len(found)} phones, delay: median {statistics.median(found):.3f} s, most {max(found):.3f} s")


if __name__ == "__main__":
    main()
