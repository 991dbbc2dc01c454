#!/usr/bin/env python3
"""Perplexity of a model quantised by ingle and by llama.cpp from the same file, all measured by `ingle perplexity --exact`.

Needs gguf and llama-cpp-python (0.3.36 was used).

  compare_quantized_models.py SOURCE TEXT [--ingle PROGRAM] [--types q8_0,q4_k_m] [--ctx-size 512] [--chunks 16] [--imatrix FILE]

SOURCE is a GGUF file in F16 or F32. Prints a Markdown table: sizes, perplexities, and ours against theirs in per cent; how many
tensors have one type in both files, and how many of these the same bytes. Ends with status 1 where ours is worse by more than
0.2 %. With --imatrix FILE, which `ingle imatrix` wrote, both use it: llama.cpp gets mean squares, as its own tool makes them.
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np

TYPES = "q8_0,q6_k,q5_k_m,q4_k_m,q4_0,q3_k_m,q2_k,iq4_xs"
MOST_WORSE_PERCENT = 0.2


def importance_of(path):
    """By tensor; ones for a matrix that no row went to."""
    tensors = {t.name: t.data for t in gguf.GGUFReader(path).tensors}
    importance = {}
    for name in [n.removesuffix(".in_sum2") for n in tensors if n.endswith(".in_sum2")]:
        sums, counts = tensors[name + ".in_sum2"], tensors[name + ".counts"]
        mean = np.where(counts > 0, sums / np.maximum(counts, 1), 1)
        importance[name] = np.ascontiguousarray(mean.flatten(), np.float32)
    return importance


def by_llama(source, target, name, importance):
    import llama_cpp as lib

    log = lib.llama_log_callback(lambda level, text, data: None)
    lib.llama_log_set(log, ctypes.c_void_p(0))
    params = lib.llama_model_quantize_default_params()
    params.ftype = getattr(lib, "LLAMA_FTYPE_MOSTLY_" + name.upper())
    if importance:
        entries = (lib.llama_model_imatrix_data * (len(importance) + 1))()  # an empty one at the end
        for entry, (tensor, values) in zip(entries, importance.items()):
            entry.name, entry.size = tensor.encode(), values.size
            entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        params.imatrix = entries
    if lib.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(params)) != 0:
        sys.exit(f"llama.cpp cannot make {name} of {source}")


def alike(ours, theirs):
    """How many tensors have the same type, and how many of them the same bytes."""
    others = {t.name: t for t in gguf.GGUFReader(theirs).tensors}
    tensors = [(t, others[t.name]) for t in gguf.GGUFReader(ours).tensors]
    same_type = [(a, b) for a, b in tensors if a.tensor_type == b.tensor_type]
    return f"{len(same_type)} of {len(tensors)}", sum(bool((a.data == b.data).all()) for a, b in same_type)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("text")
    parser.add_argument("--ingle", default="ingle")
    parser.add_argument("--types", default=TYPES)
    parser.add_argument("--ctx-size", default="512")
    parser.add_argument("--chunks", default="16")
    parser.add_argument("--imatrix")
    args = parser.parse_args()

    def perplexity(file):
        out = subprocess.run([args.ingle, "perplexity", str(file), "-f", args.text, "--exact", "-c", args.ctx_size, "--chunks",
                              args.chunks, "--json"], check=True, capture_output=True, text=True).stdout
        return json.loads(out)["perplexity"]

    worse = []
    importance = importance_of(args.imatrix) if args.imatrix else {}
    print("| type | MB | ingle | llama.cpp | difference | same type | same bytes |\n|---|---:|---:|---:|---:|---:|---:|")
    print(f"| source | {pathlib.Path(args.source).stat().st_size / 1e6:.1f} | {perplexity(args.source):.4f} | | | | |", flush=True)
    for name in args.types.split(","):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = pathlib.Path(folder) / "ours.gguf", pathlib.Path(folder) / "theirs.gguf"
            with_importance = ["--imatrix", args.imatrix] if args.imatrix else []
            subprocess.run([args.ingle, "quantize", args.source, str(ours), "--type", name, *with_importance], check=True,
                           capture_output=True)
            by_llama(args.source, theirs, name, importance)
            size, a, b = ours.stat().st_size / 1e6, perplexity(ours), perplexity(theirs)
            same_type, same_bytes = alike(ours, theirs)
        difference = 100 * (a / b - 1)
        print(f"| {name} | {size:.1f} | {a:.4f} | {b:.4f} | {difference:+.2f} % | {same_type} | {same_bytes} |", flush=True)
        if difference > MOST_WORSE_PERCENT:
            worse.append(f"{name} by {difference:.2f} %")
    if worse:
        sys.exit("worse than llama.cpp's: " + ", ".join(worse))


if __name__ == "__main__":
    main()
