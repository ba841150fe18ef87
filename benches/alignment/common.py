"""What the scripts of this folder share: audio at 16 kHz, manifests, and CTM rows (utterance, start and end in seconds, label)."""

import csv
import os
import subprocess
import wave

import numpy

RATE = 16000


def read_audio(path):
    """The samples of a file, mixed and brought to 16 kHz by ffmpeg: int16."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "s16le", "-ac", "1", "-ar", str(RATE), "-"]
    return numpy.frombuffer(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout, dtype="<i2")


def write_audio(path, samples):
    with wave.open(path, "wb") as out:
        out.setparams((1, 2, RATE, len(samples), "NONE", ""))
        out.writeframes(samples.astype("<i2").tobytes())


def read_manifest(path, *columns):
    """Rows of a manifest as dictionaries; `audio` becomes a path of its own. A table without these columns or without rows is refused."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with open(path, encoding="utf8") as lines:
            table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows = list(table)
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from error
    missing = [name for name in ("utterance", "audio", *columns) if name not in (table.fieldnames or [])]
    if missing or not rows:
        raise SystemExit(f"{path}: no {f'column {missing[0]}' if missing else 'utterances'}, expected a manifest with {', '.join(columns)}")
    return [{**row, "audio": os.path.join(folder, row["audio"])} for row in rows]


def read_ctm(path):
    """By utterance, the rows (start, end, label) in their order."""
    rows = {}
    with open(path, encoding="utf8") as lines:
        for line in lines:
            utterance, _, start, duration, label = line.split()[:5]
            rows.setdefault(utterance, []).append((float(start), float(start) + float(duration), label))
    return rows


def write_ctm(path, rows):
    with open(path, "w", encoding="utf8") as out:
        for utterance, start, end, label in rows:
            print(utterance, 1, f"{start:.4f} {end - start:.4f}", label, file=out)


class Corpus:
    """A folder of utterances for any aligner: audio and text in a folder for each speaker, a manifest, the truth, and a dictionary of
    the words that were made up."""

    def __init__(self, folder):
        self.folder, self.rows, self.truth, self.words = folder, [], [], {}

    def word(self, phones):
        """A word with this pronunciation: the same word for the same phones, spelled with letters only."""
        number = self.words.setdefault(tuple(phones), len(self.words))
        letters = "bcdfghjklm"
        return "w" + "".join(letters[int(digit)] for digit in str(number))

    def add(self, speaker, utterance, samples, words):
        os.makedirs(os.path.join(self.folder, "wav", speaker), exist_ok=True)
        base = os.path.join("wav", speaker, utterance)
        write_audio(os.path.join(self.folder, base + ".wav"), samples)
        with open(os.path.join(self.folder, base + ".txt"), "w", encoding="utf8") as text:
            print(*words, file=text)
        self.rows.append((utterance, base + ".wav", speaker, " ".join(words)))

    def finish(self):
        with open(os.path.join(self.folder, "test.tsv"), "w", encoding="utf8") as manifest:
            print("utterance", "audio", "speaker", "words", sep="\t", file=manifest)
            for row in self.rows:
                print(*row, sep="\t", file=manifest)
        write_ctm(os.path.join(self.folder, "truth.ctm"), self.truth)
        with open(os.path.join(self.folder, "words.dict"), "w", encoding="utf8") as out:
            for phones in self.words:
                print(self.word(phones), *phones, file=out)
