#!/usr/bin/env python3
"""llama.cpp opens what `ingle convert` and `ingle quantize` write, and gives the same tokens.

The tiny models of make_hf_folders.py are converted to f32 and, where a row has whole blocks, quantised once more. ingle
(--exact) continues a prompt with the likeliest token 32 times; llama.cpp reads the same tokens with an f32 cache, and at
each of them its likeliest must be ingle's. Where it is another one, the place counts as a tie when llama.cpp puts the two
closer together than it is to ingle anyway: twice the largest difference between the two engines' logits, which itself must
stay below a bound (f32: 1e-4 of the largest logit, with a GELU 1e-3, as llama.cpp looks it up by 16 bits; quantised: 0.1, as it
rounds activations to eight bits). What llama.cpp has no place for is taken out of config.json first: see CHANGES.

Needs a Python with `llama-cpp-python` (0.3.36 was used) and numpy. `ninja greedy_logits` builds what it asks ingle with.

    python scripts/check_converted.py [--build build/release] [--types q8_0,q4_0,mxfp4] [NAME...]
"""
import argparse
import ctypes
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "convert" / "data"
COUNT, BOUND, GELU_BOUND, QUANTIZED_BOUND = 32, 1e-4, 1e-3, 0.2

NO_WINDOW = {"sliding_window": None}  # of these llama.cpp sees everything, whatever the file says
NO_YARN = {"rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}}  # its ramp always ends at whole pairs
CHANGES = {"mistral_window": NO_WINDOW, "wrapped_mistral_window": NO_WINDOW, "phi3_short": NO_WINDOW,
           "gptoss_tiny": NO_YARN, "gptoss_fp4": NO_YARN,
           "deepseek2_groups": {"topk_method": "greedy"}}  # it judges groups as V3 does, by their two best
REFUSED = {"deepseek2_lite": "without a short row for queries it must have the 27 layers of the Lite model",
           "deepseek2_yarn": "without a short row for queries it must have the 27 layers of the Lite model",
           "deepseek3_flat": "without a short row for queries it must have the 27 layers of the Lite model",
           "gemma3n_tiny": "per-layer embeddings must be of 256 numbers",
           "gemma4_ple": "the last two layers with a cache of their own must be a sliding and a full one"}


def peer_rows(path, tokens, first, adapter=None):
    """llama.cpp's logits after each token from `first` on, computed in f32 where it can, with a LoRA adapter or without."""
    import llama_cpp as lib

    log = lib.llama_log_callback(lambda level, text, data: sys.stderr.write(text.decode(errors="replace")) if level >= 3 else None)
    lib.llama_log_set(log, ctypes.c_void_p(0))
    lib.llama_backend_init()
    model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
    if not model:
        sys.exit("llama.cpp cannot open it")
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_threads, params.n_threads_batch = 256, 256, 256, 2, 2
    params.flash_attn_type, params.type_k, params.type_v = 0, 0, 0  # off; f32
    context = lib.llama_init_from_model(model, params)
    if not context:
        sys.exit("llama.cpp cannot make a context")
    if adapter:
        opened = lib.llama_adapter_lora_init(model, adapter.encode())
        if not opened:
            sys.exit("llama.cpp cannot open the adapter")
        opened = ctypes.cast(opened, lib.llama_adapter_lora_p_ctypes)
        if lib.llama_set_adapters_lora(context, (lib.llama_adapter_lora_p_ctypes * 1)(opened), 1, (ctypes.c_float * 1)(1.0)) != 0:
            sys.exit("llama.cpp cannot use the adapter")
    vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    batch = lib.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, i, 1, 0, i >= first
    if lib.llama_decode(context, batch) != 0:
        sys.exit("llama_decode failed")
    rows = [numpy.ctypeslib.as_array(lib.llama_get_logits_ith(context, i), shape=(vocab,)).copy() for i in range(first, len(tokens))]
    return numpy.stack(rows)


def child(path, tokens, first, out, adapter=None):
    numpy.save(out, peer_rows(path, [int(t) for t in tokens.split(",")], int(first), adapter))


def prompt_of(vocab, length):
    state, tokens = 7, []
    for _ in range(length):
        state = (state * 1664525 + 1013904223) % 2**32
        tokens.append(3 + (state >> 16) % (vocab - 3))
    return tokens


class Failed(Exception):
    """One of the two engines said no."""


class Agreement(typing.NamedTuple):
    same: int  # of COUNT tokens
    ties: int
    difference: float  # the largest of all logits, as a share of the largest logit


def agreement(args, path, prompt, folder, adapter=None):
    """Of ingle's COUNT likeliest tokens after the prompt with what llama.cpp thinks of them."""
    ours_file, theirs_file = folder / "ours.f32", folder / "theirs.npy"
    asked = [args.build / "tests" / "greedy_logits", f"{path}+{adapter}" if adapter else path, COUNT, ours_file, *prompt]
    run = subprocess.run(list(map(str, asked)), capture_output=True, text=True)
    if run.returncode != 0:
        raise Failed(f"ingle: {run.stderr.strip()}")
    ids = [int(i) for i in run.stdout.split()]
    ours = numpy.fromfile(ours_file, dtype="<f4").reshape(COUNT, -1)
    read = prompt + ids[:-1]
    # A process of its own: llama.cpp ends the program where it finds something impossible.
    command = [sys.executable, __file__, "child", path, ",".join(map(str, read)), len(prompt) - 1, theirs_file]
    run = subprocess.run([*map(str, command), *([str(adapter)] if adapter else [])], capture_output=True, text=True)
    if run.returncode != 0:
        lines = run.stderr.strip().splitlines()
        raise Failed(f"llama.cpp: {' / '.join([line for line in lines if 'GGML_ASSERT' in line] or lines[-4:])}")
    theirs = numpy.load(theirs_file)
    difference, largest = float(numpy.abs(ours - theirs).max()), float(numpy.abs(theirs).max())
    best = [(row, int(row.argmax()), id) for row, id in zip(theirs, ids)]
    ties = sum(their != id and row[their] - row[id] <= 2 * difference for row, their, id in best)
    return Agreement(sum(their == id for _, their, id in best), ties, difference / largest)


def compare(args, path, prompt, folder, bound, adapter=None):
    """What is wrong, or None."""
    try:
        a = agreement(args, path, prompt, folder, adapter)
    except Failed as failed:
        return str(failed)
    text = f"{a.same} of {COUNT} tokens the same, {a.ties} ties, logits differ by {a.difference:.1e} of the largest"
    if a.same + a.ties != COUNT or not a.difference <= bound:
        return text
    print(f"  {path.stem}: {text}", flush=True)
    return None


def changed_copy(name, to):
    """The folder with CHANGES, under a name that tells llama.cpp nothing: it looks for known ones in general.name."""
    shutil.copytree(DATA / name, to)
    config = json.loads((to / "config.json").read_text())
    config.get("text_config", config).update(CHANGES.get(name, {}))
    (to / "config.json").write_text(json.dumps(config))


def check(args, name, folder):
    ingle = lambda *words: subprocess.run([str(args.build / "ingle"), *map(str, words)], check=True, capture_output=True)  # noqa: E731
    changed_copy(name, folder / "model")
    plain = folder / f"{name}.gguf"
    ingle("convert", folder / "model", plain, "--type", "f32")
    files = [(plain, QUANTIZED_BOUND if name.endswith("_fp4") else GELU_BOUND if "gemma" in name else BOUND)]
    for kind in filter(None, args.types.split(",")):
        files.append((folder / f"{name}-{kind}.gguf", QUANTIZED_BOUND))
        ingle("quantize", plain, files[-1][0], "--type", kind)
    good = True
    for path, bound in files:
        if wrong := compare(args, path, prompt_of(133, 20), folder, bound):
            print(f"  {path.stem}: FAILED: {wrong}", flush=True)
            good = False
    return good


def main():
    if sys.argv[1:2] == ["child"]:
        return child(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=sorted(f.name for f in DATA.iterdir()), metavar="NAME")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--types", default="q8_0")
    args = parser.parse_args()
    failed = []
    for name in args.names:
        print(name, flush=True)
        if name in REFUSED:
            print(f"  not opened by llama.cpp: {REFUSED[name]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            if not check(args, name, pathlib.Path(folder)):
                failed.append(name)
    print("all good" if not failed else f"FAILED: {', '.join(failed)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
