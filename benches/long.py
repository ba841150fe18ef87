#!/usr/bin/env python3
"""Long recordings: whether time is linear, memory flat, and nothing drifts.

    benches/long.py [WAV] [--minutes 6 60] [--senone target/release/senone] [--stream] [--packed flac]

Makes recordings of so many minutes by repeating WAV (mono, 16 bits; the last second of each minute is silence with a click in its middle),
decodes them on one thread, and prints the real-time factor, the peak memory, and from where to where the boundaries next to the
clicks lie in their minutes: two equal times say that nothing drifts. With --packed, ffmpeg makes a compressed file of the recording.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import wave

SPENT = """
import resource, subprocess, sys, time
start = time.perf_counter()
with open(sys.argv[1], "wb") as out:
    status = subprocess.run(sys.argv[2:], stdout=out, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
# Amplitude, and samples, of a click; where it begins in its minute.
CLICK, CLICK_SAMPLES, CLICK_SECOND = 12000, 800, 59.5


def minute(path):
    """Samples of one minute as bytes, and their rate."""
    with wave.open(path) as file:
        if (file.getnchannels(), file.getsampwidth()) != (1, 2):
            sys.exit(f"{path}: expected one channel of 16 bits")
        rate, speech = file.getframerate(), file.readframes(file.getnframes())
    speech_bytes, all_bytes = 2 * 59 * rate, 2 * 60 * rate
    samples = bytearray((speech * (speech_bytes // len(speech) + 1))[:speech_bytes].ljust(all_bytes, b"\0"))
    first = int(CLICK_SECOND * rate)
    for index in range(CLICK_SAMPLES):
        value = CLICK if index // 4 % 2 else -CLICK
        samples[2 * (first + index) : 2 * (first + index) + 2] = value.to_bytes(2, "little", signed=True)
    return bytes(samples), rate


def write(path, one, rate, minutes):
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", "not compressed"))
        for _ in range(minutes):
            file.writeframes(one)


def clicks(ctm, minutes):
    """For each minute the boundary that lies closest to its click, in seconds after the minute's begin."""
    with open(ctm, encoding="utf-8") as lines:
        starts = [float(line.split()[2]) for line in lines]
    return [min((start - 60 * n for start in starts), key=lambda at: abs(at - CLICK_SECOND)) for n in range(minutes)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("wav", nargs="?", default="tests/data/sense-and-sensibility.wav")
    arguments.add_argument("--minutes", type=int, nargs="+", default=[6, 60])
    arguments.add_argument("--senone", default="target/release/senone")
    arguments.add_argument("--stream", action="store_true")
    arguments.add_argument("--packed", choices=["flac", "ogg", "mp3"])
    given = arguments.parse_args()
    one, rate = minute(given.wav)
    with tempfile.TemporaryDirectory() as folder:
        audio, ctm = os.path.join(folder, "long.wav"), os.path.join(folder, "long.ctm")
        for minutes in given.minutes:
            write(audio, one, rate, minutes)
            if given.packed:
                packed = os.path.join(folder, f"long.{given.packed}")
                subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", audio, packed], check=True)
            recording = packed if given.packed else audio
            command = [given.senone, "--threads", "1", "decode", "--format", "ctm", recording] + ["--stream"] * given.stream
            run = [sys.executable, "-c", SPENT, ctm, *command]
            status, wall, cpu, memory = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
            if status != "0":
                sys.exit(f"senone: exit status {status}")
            found = clicks(ctm, minutes)
            seconds = 60 * minutes
            print(
                f"{minutes} min: RTF {float(wall) / seconds:.4f} wall {float(cpu) / seconds:.4f} CPU, peak {float(memory):.0f} MB, "
                f"boundaries next to clicks at {min(found):.3f} to {max(found):.3f} s of their minute"
            )


if __name__ == "__main__":
    main()
