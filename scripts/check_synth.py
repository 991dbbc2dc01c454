#!/usr/bin/env python3
"""Whether another engine reads what `ingle synth` writes, and computes the same from it.

Needs a Python with `llama-cpp-python` (0.3.36 was used) and numpy.

    scripts/check_synth.py [--ingle PROGRAM] [--folder DIR] [SHAPE:TYPE:MOST_KL ...]

For each: the file is written, a text is cut into tokens by both (which must agree), and llama.cpp's distributions are compared with those
of `ingle perplexity --exact`. Fails when llama.cpp cannot load a file, or the mean Kullback-Leibler divergence is above MOST_KL. Without
arguments, small shapes: in f32 and f16 little is left to differ (llama.cpp's cache is f16); in quantised types llama.cpp rounds activations
to 8 bits, which exact mode does not.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
from compare_llama_cpp import Llama, distributions

DEFAULT = ["smollm2-135m:f32:1e-5", "smollm2-135m:q8_0:0.01", "smollm2-135m:q4_0:0.01", "smollm2-135m:q4_k:0.01", "qwen3-0.6b:q4_0:0.01"]
WINDOW, WINDOWS = 64, 4


def words(count):
    """Numbered words of the made-up vocabulary, "w17 w4005", and some text it has no words for."""
    state, text = 1, []
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        text.append(f"w{(state >> 8) % 20000}" if i % 16 else "Hé?")
    return " ".join(text)


def tokenize(engine, text):
    data = text.encode()
    ids = (engine.lib.llama_token * (len(data) + 8))()
    vocab = engine.lib.llama_model_get_vocab(engine.model)
    return list(ids[: engine.lib.llama_tokenize(vocab, data, len(data), ids, len(ids), True, False)])


def compare(engine, logits):
    """Mean divergence of llama.cpp's distributions from the kept ones, and how often the likeliest token is the same."""
    divergences, same = [], 0
    for kept, logs, _ in distributions(engine, logits):
        divergences.append(float((numpy.exp(kept) * (kept - logs)).sum()))
        same += int(kept.argmax() == logs.argmax())
    return numpy.mean(divergences), same / len(divergences)


def check(args, spec, folder):
    shape, kind, most = spec.split(":")
    model, text, logits = (str(folder / name) for name in ("model.gguf", "text", "logits"))
    run = lambda *words: subprocess.run([args.ingle, *words], check=True, capture_output=True, text=True).stdout
    run("synth", shape, model, "--type", kind)
    sample = words(WINDOW * WINDOWS)
    pathlib.Path(text).write_text(sample)
    run("perplexity", model, "-f", text, "--exact", "-c", str(WINDOW), "--chunks", str(WINDOWS), "--save-logits", logits)
    engine = Llama(model, args.threads, 2048)
    ours, theirs = [int(id) for id in run("tokenize", model, "-f", text, "--ids").split()], tokenize(engine, sample)
    divergence, same = compare(engine, logits)
    good = ours == theirs and divergence <= float(most)
    print(f"{shape} {kind}: {len(ours)} tokens {'the same' if ours == theirs else 'NOT the same'}, KL divergence {divergence:.2e} "
          f"(at most {most}), same top token {100 * same:.1f} %: {'good' if good else 'FAILED'}", flush=True)
    engine.lib.llama_free(engine.handle)
    engine.lib.llama_model_free(engine.model)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", default=DEFAULT, metavar="SHAPE:TYPE:MOST_KL")
    parser.add_argument("--ingle", default="ingle")
    parser.add_argument("--folder", help="where the files are written for a while")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        results = [check(args, spec, pathlib.Path(folder)) for spec in args.specs]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
