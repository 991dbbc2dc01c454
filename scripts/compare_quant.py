#!/usr/bin/env python3
"""Writes tests/quant/data/gguf_python.bin: random blocks of every format the gguf package decodes, and what it makes of them.

usage: compare_quant.py OUTPUT_FOLDER        (needs the Python packages gguf and numpy; run by hand, output committed)

tests/quant/gguf_python_test.cpp decodes the same bytes and compares. The package is an implementation of the formats that
shares no code with this one. Layout of the file, little-endian, once per type:

    u32 type id, u32 elements, u32 bytes, the bytes, elements x f32

Blocks that decode to infinities or NaN are drawn again: what a format makes of them is not compared.
"""

import importlib.metadata
import pathlib
import struct
import sys

import gguf
import numpy as np

ELEMENTS = 1024
SEED = 20260829


def random_block(rng, qtype, size):
    while True:
        block = rng.integers(0, 256, size, dtype=np.uint8)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(block, qtype).astype(np.float32)
        if np.isfinite(values).all():
            return block, values


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(SEED)
    out = bytearray()
    names = []
    for qtype in sorted(gguf.quants._type_traits):
        elements, size = gguf.GGML_QUANT_SIZES[qtype]
        blocks, values = zip(*(random_block(rng, qtype, size) for _ in range(ELEMENTS // elements)))
        data = np.concatenate(blocks).tobytes()
        decoded = np.concatenate(values).astype("<f4")
        out += struct.pack("<III", qtype, decoded.size, len(data)) + data + decoded.tobytes()
        names.append(qtype.name)
    (folder / "gguf_python.bin").write_bytes(out)
    (folder / "gguf_python.txt").write_text(
        "gguf_python.bin: blocks of random bytes and the values the Python package gguf decodes them to.\n"
        "Written by scripts/compare_quant.py, which says how the file is laid out.\n\n"
        f"gguf {importlib.metadata.version('gguf')}, numpy {np.__version__}, seed {SEED}, "
        f"{ELEMENTS} elements of each of {len(names)} types:\n{' '.join(names)}\n"
    )


main()
