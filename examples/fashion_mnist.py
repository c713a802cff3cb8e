"""Fashion-MNIST as NumPy arrays: 60,000 + 10,000 grey images of clothes, 28 x 28, in ten classes.

Debian ships it (package dataset-fashion-mnist, MIT licence, by Zalando SE) in the IDX format: a big-endian
header (two zero bytes, the type code, the number of dimensions, then each dimension as 32 bits) and the raw bytes.
"""
import gzip
import pathlib
import struct
import sys

import numpy

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")
UNSIGNED_BYTE = 0x08


def read_idx(path):
    with gzip.open(path) as file:
        _, kind, dimensions = struct.unpack(">HBB", file.read(4))
        if kind != UNSIGNED_BYTE:
            raise ValueError(f"{path}: holds type {kind:#04x}, not unsigned bytes")
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(shape)


def load(part):
    """(images, labels) of `part`, "train" or "t10k": uint8 of shape (n, 28, 28) and (n,)."""
    if not FOLDER.is_dir():
        sys.exit(f"{FOLDER} is not there. On Debian: apt-get install dataset-fashion-mnist")
    return read_idx(FOLDER / f"{part}-images-idx3-ubyte.gz"), read_idx(FOLDER / f"{part}-labels-idx1-ubyte.gz")
