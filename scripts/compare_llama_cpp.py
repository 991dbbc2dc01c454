#!/usr/bin/env python3
"""Speed and accuracy beside llama.cpp, on the same file in the same run.

Needs a Python with `llama-cpp-python` (0.3.36 was used; build it with CMAKE_ARGS=-DGGML_NATIVE=ON) and numpy.

  compare_llama_cpp.py speed MODEL [--ingle PROGRAM] [--ingle-arguments=--all-rows] [--threads 1,2] [--prompt 128,512,2048]
                             [--generate 128] [--rounds 5]
      One round runs every test once in each engine, in ABBA order; a Markdown table of medians and quartiles is printed.
      llama.cpp at its best settings here: flash attention on, its own weight repacking, f16 cache, micro-batch 512.

  compare_llama_cpp.py kl MODEL LOGITS [--threads 2]
      LOGITS is what `ingle perplexity MODEL -f TEXT --exact --save-logits LOGITS` has kept. Reads the same windows with llama.cpp and
      prints its perplexity and its mean KL divergence from the exact distributions, for comparison with
      `ingle perplexity MODEL --kl LOGITS`.

  compare_llama_cpp.py answers MODEL [--threads 2]
      llama.cpp's mean KL divergence from transformers (float32, on the same file; needs torch and transformers) over the 640 tokens of the
      ten answers in tests/models/data/smollm2_expected.json. ingle's is asserted by models_test,
      SmolLm2.DefaultPrecisionStaysCloserToExactThanThePeer, which records it in its XML output.
"""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time


def open_llama(path, threads, context):
    import llama_cpp as lib

    log = lib.llama_log_callback(lambda level, text, data: None)
    lib.llama_log_set(log, ctypes.c_void_p(0))
    lib.llama_backend_init()
    model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
    if not model:
        sys.exit(f"llama.cpp cannot open {path}")
    params = lib.llama_context_default_params()
    params.n_ctx = context
    params.n_batch = 2048
    params.n_ubatch = 512
    params.n_threads = threads
    params.n_threads_batch = threads
    params.flash_attn_type = 1
    params.no_perf = True
    handle = lib.llama_init_from_model(model, params)
    if not handle:
        sys.exit("llama.cpp cannot make a context")
    return lib, model, handle, log


class Llama:
    """Appends tokens to one sequence."""

    def __init__(self, path, threads, context):
        self.lib, self.model, self.handle, self.log = open_llama(path, threads, context)
        self.vocab = self.lib.llama_vocab_n_tokens(self.lib.llama_model_get_vocab(self.model))
        self.batch = self.lib.llama_batch_init(2048, 0, 1)
        self.position = 0

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.handle), True)
        self.position = 0

    def read(self, tokens, wanted="last"):
        b = self.batch
        b.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            b.token[i] = token
            b.pos[i] = self.position + i
            b.n_seq_id[i] = 1
            b.seq_id[i][0] = 0
            b.logits[i] = wanted == "all" or i == len(tokens) - 1
        if self.lib.llama_decode(self.handle, b) != 0:
            sys.exit("llama_decode failed")
        self.lib.llama_synchronize(self.handle)
        self.position += len(tokens)

    def row(self, index):
        import numpy

        pointer = self.lib.llama_get_logits_ith(self.handle, index)
        return numpy.ctypeslib.as_array(pointer, shape=(self.vocab,)).astype(numpy.float64)


def llama_child(args):
    """Times one list of tests; run as a process of its own so that no engine's threads disturb the other's."""
    engine = Llama(args.model, args.child_threads, 4096)
    state = 12345

    def token():
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 8) % engine.vocab

    engine.read([token() for _ in range(64)])  # warm-up
    for test in args.tests.split(","):
        kind, count = test[:2], int(test[2:])
        engine.clear()
        tokens = [token() for _ in range(count)]
        start = time.perf_counter()
        if kind == "pp":
            engine.read(tokens)
        else:
            for t in tokens:
                engine.read([t])
        print(json.dumps({"test": test, "tokens_per_second": count / (time.perf_counter() - start)}), flush=True)


def run_llama(args, threads, tests):
    command = [sys.executable, __file__, "child", args.model, "--child-threads", str(threads), "--tests", ",".join(tests)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {r["test"]: r["tokens_per_second"] for r in map(json.loads, lines)}


def run_ingle(args, threads):
    command = [args.ingle, "bench", args.model, "-p", args.prompt, "-n", args.generate, "-t", str(threads), "-r", "1", "-o", "jsonl", "--no-ceilings"]
    command += args.ingle_arguments.split()
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {r["test"]: r["tokens_per_second"] for r in map(json.loads, lines) if "test" in r}


def quartiles(values):
    if len(values) < 2:
        return f"{values[0]:.0f}"
    q = statistics.quantiles(values, n=4, method="inclusive")
    return f"{q[1]:.0f} ({q[0]:.0f}-{q[2]:.0f})"


def speed(args):
    sizes = [("pp", n) for n in args.prompt.split(",")] + [("tg", n) for n in args.generate.split(",")]
    tests = [kind + n for kind, n in sizes if int(n) > 0]
    samples = {}
    for threads in map(int, args.threads.split(",")):
        for round_ in range(args.rounds):
            order = ["ingle", "llama.cpp"] if round_ % 2 == 0 else ["llama.cpp", "ingle"]
            for engine in order:
                result = run_ingle(args, threads) if engine == "ingle" else run_llama(args, threads, tests)
                for test, rate in result.items():
                    samples.setdefault((threads, test, engine), []).append(rate)
            print(f"threads {threads}: round {round_ + 1} of {args.rounds}", file=sys.stderr)
    print("| threads | test | ingle, tokens/s | llama.cpp, tokens/s | ratio of medians |\n|---|---|---|---|---|")
    for threads in map(int, args.threads.split(",")):
        for test in tests:
            ours, theirs = samples[threads, test, "ingle"], samples[threads, test, "llama.cpp"]
            ratio = statistics.median(ours) / statistics.median(theirs)
            print(f"| {threads} | {test} | {quartiles(ours)} | {quartiles(theirs)} | {ratio:.2f} |")


def read_logits(path):
    """The file `ingle perplexity --save-logits` writes (its layout: ingle perplexity --help), window by window."""
    import numpy

    with open(path, "rb") as file:
        if file.read(8) != b"INGLELP1":
            sys.exit(f"{path}: not a file of ingle perplexity --save-logits")
        vocabulary, window, first, windows = numpy.fromfile(file, "<u4", 4)
        tokens = numpy.fromfile(file, "<i4", int(windows) * int(window)).reshape(windows, window)
        row = numpy.dtype([("lowest", "<f4"), ("step", "<f4"), ("top", "<i4"), ("code", "<u2", int(vocabulary))])
        for ids in tokens:
            rows = numpy.fromfile(file, row, int(window) - 1 - int(first))
            yield ids.tolist(), rows["lowest"][:, None] + rows["step"][:, None] * rows["code"].astype(numpy.float32)


def distributions(engine, path):
    """Log-probabilities, row by row: those kept in the file, llama.cpp's, and the token that came next."""
    import numpy

    for tokens, rows in read_logits(path):
        engine.clear()
        engine.read(tokens, wanted="all")
        first = len(tokens) - 1 - len(rows)
        for i, kept in enumerate(rows):
            row = engine.row(first + i)
            row -= row.max()
            kept = kept.astype(numpy.float64)
            yield kept - numpy.log(numpy.exp(kept).sum()), row - numpy.log(numpy.exp(row).sum()), tokens[first + i + 1]


def kl(args):
    import numpy

    engine = Llama(args.model, int(args.threads.split(",")[0]), 4096)
    divergences, losses, same = [], [], 0
    for kept, logs, token in distributions(engine, args.logits):
        divergences.append(float((numpy.exp(kept) * (kept - logs)).sum()))
        losses.append(-logs[token])
        same += int(kept.argmax() == logs.argmax())
    d = numpy.array(divergences)
    print(f"llama.cpp: perplexity {numpy.exp(numpy.mean(losses)):.4f}, KL divergence mean {d.mean():.6f} +/- "
          f"{d.std() / len(d) ** 0.5:.6f}, median {numpy.median(d):.6f}, 99 % {numpy.quantile(d, 0.99):.6f}, "
          f"same top token {100 * same / len(d):.2f} %")


def answers(args):
    import pathlib

    import numpy
    import torch
    import transformers

    path = pathlib.Path(args.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32).eval()
    listing = pathlib.Path(__file__).resolve().parent.parent / "tests/models/data/smollm2_expected.json"
    engine = Llama(args.model, int(args.threads.split(",")[0]), 4096)
    divergences = []
    for answer in json.loads(listing.read_text())["answers"]:
        tokens = answer["prompt"] + answer["generated"][:-1]
        with torch.no_grad():
            exact = torch.log_softmax(model(torch.tensor([tokens])).logits[0].double(), dim=-1).numpy()
        engine.clear()
        engine.read(tokens, wanted="all")
        for i in range(len(answer["prompt"]) - 1, len(tokens)):
            row = engine.row(i)
            row -= row.max()
            logs = row - numpy.log(numpy.exp(row).sum())
            divergences.append(float((numpy.exp(exact[i]) * (exact[i] - logs)).sum()))
    d = numpy.array(divergences)
    print(f"llama.cpp: {len(d)} tokens, KL divergence mean {d.mean():.6f} +/- {d.std() / len(d) ** 0.5:.6f}, median "
          f"{numpy.median(d):.6f}, 99 % {numpy.quantile(d, 0.99):.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "kl", "answers", "child"])
    parser.add_argument("model")
    parser.add_argument("logits", nargs="?")
    parser.add_argument("--ingle", default="ingle")
    parser.add_argument("--ingle-arguments", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--prompt", default="128,512,2048")
    parser.add_argument("--generate", default="128")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child-threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--tests", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.what == "kl" and not args.logits:
        parser.error("kl needs the file of ingle perplexity --save-logits")
    {"speed": speed, "kl": kl, "answers": answers, "child": llama_child}[args.what](args)


if __name__ == "__main__":
    main()
