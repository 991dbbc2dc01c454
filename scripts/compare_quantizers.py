#!/usr/bin/env python3
"""The error of every encoder beside those of llama.cpp and of the Python package gguf, on the same rows.

Needs numpy, gguf and llama-cpp-python (0.3.36 was used: its libggml-base is called directly).

  compare_quantizers.py [MODEL] [--ingle PROGRAM] [--imatrix FILE] [--rows 4096] [--types Q4_K,IQ2_XXS]

Gaussian rows of 1024, by default four million numbers; with MODEL (SmolLM2: a GGUF file that the package can decode) also all
matrices of three of its layers, cut into rows as long as those of its ffn_down, since most blocks are of 256 numbers and its other
rows are no multiple of that; with --imatrix (what `ingle imatrix MODEL` wrote) the ffn_down matrices once more with the importance of
their columns. Gaussian rows get a random one. --rows: how many Gaussian ones, and of a layer at most.
Error: root of the mean square of what rounding changed, as a share of the numbers' own; where importance is used, of squares
weighed by it. Prints a Markdown table, and ends with status 1 where ours is above llama.cpp's.
"""

import argparse
import ctypes
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np

TYPES = ("Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS IQ3_S IQ3_XXS IQ2_S IQ2_XS IQ2_XXS IQ1_M IQ1_S "
         "TQ2_0 TQ1_0 MXFP4").split()
NEED_IMPORTANCE = {"IQ2_XXS", "IQ2_XS", "IQ1_S"}  # llama.cpp has no encoder without
TOLERANCE = 1.0005  # the same bytes, but for ties
TENSOR = "blk.0.ffn_down.weight"


def library():
    import llama_cpp

    base = ctypes.CDLL(str(pathlib.Path(llama_cpp.__file__).parent / "lib" / "libggml-base.so"))
    floats = ctypes.POINTER(ctypes.c_float)
    base.ggml_quantize_chunk.restype = ctypes.c_size_t
    base.ggml_quantize_chunk.argtypes = [ctypes.c_int, floats, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                                         ctypes.c_int64, floats]
    return base


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


class Encoders:
    """Each gives the rows as they come back."""

    def __init__(self, program, folder):
        self.program, self.folder, self.base = program, pathlib.Path(folder), library()

    def ingle(self, rows, qtype, importance):
        writer = gguf.GGUFWriter(self.folder / "rows.gguf", "llama")
        writer.add_tensor(TENSOR, rows)
        close(writer)
        command = [self.program, "quantize", str(self.folder / "rows.gguf"), str(self.folder / "quantized.gguf"), "--tensor-type",
                   ".=" + qtype.name.lower()]
        if importance is not None:
            writer = gguf.GGUFWriter(self.folder / "imatrix.gguf", "imatrix")
            writer.add_type("imatrix")
            writer.add_tensor(TENSOR + ".in_sum2", importance[None])
            writer.add_tensor(TENSOR + ".counts", np.ones((1, 1), np.float32))
            close(writer)
            command += ["--imatrix", str(self.folder / "imatrix.gguf")]
        subprocess.run(command, check=True, capture_output=True)
        tensor = gguf.GGUFReader(self.folder / "quantized.gguf").tensors[0]
        assert tensor.tensor_type == qtype, (tensor.tensor_type, qtype)
        return gguf.quants.dequantize(tensor.data, qtype)

    def llama(self, rows, qtype, importance):
        elements, size = gguf.GGML_QUANT_SIZES[qtype]
        out = np.zeros((len(rows), rows.shape[1] // elements * size), np.uint8)
        self.base.ggml_quantize_chunk(qtype.value, pointer(rows), out.ctypes.data, 0, len(rows), rows.shape[1],
                                      pointer(importance))
        return gguf.quants.dequantize(out, qtype)

    def package(self, rows, qtype, importance):
        if importance is not None:
            return None
        try:
            return gguf.quants.dequantize(gguf.quants.quantize(rows, qtype), qtype)
        except NotImplementedError:
            return None


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def sets_of_rows(args):
    rng = np.random.default_rng(1)
    gaussian = rng.standard_normal((args.rows, 1024), dtype=np.float32)
    yield "Gaussian", gaussian, None
    yield "Gaussian, importance", gaussian, np.exp(rng.standard_normal(1024, dtype=np.float32))
    if not args.model:
        return
    tensors = {t.name: t for t in gguf.GGUFReader(args.model).tensors}
    last = max(int(name.split(".")[1]) for name in tensors if name.startswith("blk."))
    blocks = [f"blk.{layer}." for layer in (0, (last + 1) // 2, last)]

    def numbers(t):
        return gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)

    names = [block + "ffn_down.weight" for block in blocks]
    down = [numbers(tensors[name])[:args.rows] for name in names]
    layers = [[numbers(t) for name, t in tensors.items() if name.startswith(block) and len(t.shape) == 2] for block in blocks]
    width = down[0].shape[1]
    yield "model", [np.concatenate([matrix.reshape(-1, width) for matrix in layer])[:args.rows] for layer in layers], [None] * len(layers)
    if args.imatrix:
        sums = {t.name: t.data for t in gguf.GGUFReader(args.imatrix).tensors}
        yield "model, importance", down, [(sums[n + ".in_sum2"] / sums[n + ".counts"]).flatten().astype(np.float32)
                                          for n in names]


def error(encode, rows, qtype, importance):
    several = rows if isinstance(rows, list) else [rows]
    weights = importance if isinstance(rows, list) else [importance]
    lost = total = 0.0
    for r, w in zip(several, weights):
        back = encode(np.ascontiguousarray(r), qtype, w)
        if back is None:
            return None
        w = np.ones(r.shape[1]) if w is None else w.astype(np.float64)
        lost += float((w * (back.astype(np.float64) - r) ** 2).sum())
        total += float((w * r.astype(np.float64) ** 2).sum())
    return (lost / total) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--ingle", default="ingle")
    parser.add_argument("--imatrix")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--types", default=",".join(TYPES))
    args = parser.parse_args()
    worse = []
    with tempfile.TemporaryDirectory() as folder:
        encoders = Encoders(args.ingle, folder)
        sets = list(sets_of_rows(args))
        print("| type | " + " | ".join(f"{name}: ingle | llama.cpp | gguf" for name, *_ in sets) + " |")
        print("|---|" + "---:|" * (3 * len(sets)))
        for name in args.types.split(","):
            qtype = gguf.GGMLQuantizationType[name]
            cells = []
            for rows_name, rows, importance in sets:
                plain = importance is None or isinstance(importance, list) and importance[0] is None
                ours = error(encoders.ingle, rows, qtype, importance)
                theirs = None if plain and name in NEED_IMPORTANCE else error(encoders.llama, rows, qtype, importance)
                package = error(encoders.package, rows, qtype, importance) if plain else None
                cells += ["" if e is None else f"{100 * e:.3f}" for e in (ours, theirs, package)]
                if theirs is not None and ours > theirs * TOLERANCE:
                    worse.append(f"{name} ({rows_name}): {ours:.6f} against {theirs:.6f}")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if worse:
        sys.exit("above llama.cpp's: " + "; ".join(worse))


if __name__ == "__main__":
    main()
