#!/usr/bin/env python3
"""Tiny random models and their logits, computed by an independent implementation.

For each model of scripts/golden/: weights are drawn at random, put into the Hugging Face class, and written as GGUF. The
logits of every position of a few prompts are computed in float32 and must agree with float64. Output:
tests/models/golden/NAME.gguf, NAME.logits (float32, little-endian, rows of all prompts in order) and golden.json (prompts,
sizes, provenance). Prompts under `long`, where present, follow the others in NAME.logits; their tokens are given by a
formula (golden/tiny.py), and only the rows from `rows_from` on are kept.

Needs: torch, transformers, gguf, numpy. Run by hand; what it writes is committed.

    python scripts/make_golden.py [NAME...]
"""
import argparse
import importlib
import json
import pathlib
import re

import numpy as np
import torch
import transformers

from golden.tiny import VOCAB, long_prompt

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"

# The files of golden/, and what the models of each are counted from. Seeds follow from a model's number, its own or that of its
# place: a new model goes to the end of its family, a new family counts from anywhere.
FAMILIES = {
    "llama": 0,
    "gemma": 9,
    "mixtures": 15,
    "relatives": 19,
    "latent": 38,
}

MODELS, NUMBERS = {}, {}
for file, first in FAMILIES.items():
    family = importlib.import_module(f"golden.{file}")
    for number, (name, m) in enumerate(family.MODELS.items(), first):
        MODELS[name], NUMBERS[name] = (family, m), m.get("number", number)


def build(name):
    """The model with the weights of its file."""
    family, m = MODELS[name]
    return family.build(m, seed=1000 + NUMBERS[name])


def logits_of(model, prompt, rows_from):
    return model(torch.tensor([prompt]), logits_to_keep=len(prompt) - rows_from).logits[0].numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these models")
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    listing = OUT / "golden.json"
    golden = json.loads(listing.read_text()) if listing.exists() else {"models": {}}
    golden["made_by"] = (f"scripts/make_golden.py with torch {torch.__version__}, transformers {transformers.__version__}; "
                         "random weights, no training data")
    for name, (family, m) in MODELS.items():
        if args.names and name not in args.names:
            continue
        torch.manual_seed(0)
        model = build(name)
        family.write_gguf(OUT / f"{name}.gguf", m, model)

        rng = np.random.default_rng(2000 + NUMBERS[name])
        prompts = [rng.integers(3, VOCAB, size=n).tolist() for n in m["prompts"]]
        long = m.get("long", [])
        wanted = [(prompt, 0) for prompt in prompts]
        wanted += [(long_prompt(p["length"], p["seed"]), p["rows_from"]) for p in long]
        with torch.no_grad():
            single = [logits_of(model, *w) for w in wanted]
            with family.in_float64(model):
                double = [logits_of(model, *w) for w in wanted]
        worst = max(float((np.abs(s - d).max(axis=1) / np.abs(d).max(axis=1)).max()) for s, d in zip(single, double))
        assert worst < family.FLOAT64_BOUND, (name, worst)
        rows = np.concatenate(single).astype("<f4")
        (OUT / f"{name}.logits").write_bytes(rows.tobytes())
        golden["models"][name] = {"prompts": prompts, "vocab": VOCAB, "window": m.get("window", 0),
                                  "float64_difference": worst}
        if m.get("fp4_experts"):
            golden["models"][name]["quantized"] = True
        if long:
            golden["models"][name]["long"] = long
        print(f"{name}: largest logit {np.abs(rows).max():.2f}, rms {np.sqrt((rows ** 2).mean()):.2f}, "
              f"float64 differs by {worst:.1e}")
    golden["models"] = {name: golden["models"][name] for name in MODELS if name in golden["models"]}
    text = json.dumps(golden, indent=1)
    # What holds nothing but numbers on one line.
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda innermost: json.dumps(json.loads(innermost[0])), text)
    listing.write_text(text + "\n")


if __name__ == "__main__":
    main()
