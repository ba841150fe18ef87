#!/usr/bin/env python3
"""Unpacks a dense chain data set (.npz with X, Y to train and Xt, Yt to test, sequences of one length) for the bench dense_chain.

    benches/dense_chain.py ARCHIVE.npz FOLDER
    DENSE_CHAIN=FOLDER cargo bench --no-default-features --bench dense_chain

Writes X.npy, Xt.npy [sequences * frames x dimensions] and Y.npy, Yt.npy [sequences x frames], all of 32-bit floats. Needs no NumPy.
"""

import array
import ast
import struct
import sys
import zipfile
from pathlib import Path

TYPES = {"<f8": "d", "<f4": "f", "<i8": "q", "<i4": "i"}


def read(data):
    """Shape and values of a .npy file, rows first."""
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode("latin-1"))
    assert data[6] == 1 and not header["fortran_order"], "a .npy file of version 1, rows first, is expected"
    values = array.array(TYPES[header["descr"]])
    values.frombytes(data[10 + length :])
    return header["shape"], values


def write(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
    path.write_bytes(start + header.encode("latin-1") + array.array("f", values).tobytes())


def main():
    archive, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as parts:
        for name in ["X", "Y", "Xt", "Yt"]:
            shape, values = read(parts.read(f"{name}.npy"))
            write(folder / f"{name}.npy", (len(values) // shape[-1], shape[-1]), values)


if __name__ == "__main__":
    main()
