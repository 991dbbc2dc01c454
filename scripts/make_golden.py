#!/usr/bin/env python3
"""Tiny random models and their logits, computed by an independent implementation.

For each model of scripts/golden/: weights are drawn at random, put into the Hugging Face class, and written as GGUF. The
logits of every position of a few prompts are computed in float32 and must agree with float64. Output:
tests/models/golden/NAME.gguf, NAME.logits (float32, little-endian, rows of all prompts in order) and golden.json (prompts,
sizes, provenance; `offsets`, where present, are the positions of the prompts' first tokens, which see nothing before them).

Needs: torch, transformers, gguf, numpy. Run by hand; what it writes is committed.

    python scripts/make_golden.py [NAME...]
"""
import argparse
import json
import pathlib
import re

import numpy as np
import torch
import transformers

from golden import gemma, llama
from golden.tiny import VOCAB

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"

# Seeds follow from the order: new models go to the end.
MODELS = {name: (family, m) for family in (llama, gemma) for name, m in family.MODELS.items()}


def logits_of(model, prompt, offset):
    where = {} if offset == 0 else {"position_ids": torch.arange(offset, offset + len(prompt))[None]}
    return model(torch.tensor([prompt]), **where).logits[0].numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these models")
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    listing = OUT / "golden.json"
    golden = json.loads(listing.read_text()) if listing.exists() else {"models": {}}
    golden["made_by"] = (f"scripts/make_golden.py with torch {torch.__version__}, transformers {transformers.__version__}; "
                         "random weights, no training data")
    for index, (name, (family, m)) in enumerate(MODELS.items()):
        if args.names and name not in args.names:
            continue
        torch.manual_seed(0)
        model = family.build(m, seed=1000 + index)
        family.write_gguf(OUT / f"{name}.gguf", m, model)

        rng = np.random.default_rng(2000 + index)
        prompts = [rng.integers(3, VOCAB, size=n).tolist() for n in m["prompts"]]
        offsets = m.get("offsets", (0,) * len(prompts))
        with torch.no_grad():
            single = [logits_of(model, *p) for p in zip(prompts, offsets)]
            with family.in_float64(model):
                double = [logits_of(model, *p) for p in zip(prompts, offsets)]
        worst = max(float((np.abs(s - d).max(axis=1) / np.abs(d).max(axis=1)).max()) for s, d in zip(single, double))
        assert worst < family.FLOAT64_BOUND, (name, worst)
        rows = np.concatenate(single).astype("<f4")
        (OUT / f"{name}.logits").write_bytes(rows.tobytes())
        golden["models"][name] = {"prompts": prompts, "vocab": VOCAB, "window": m.get("window", 0),
                                  "float64_difference": worst}
        if "offsets" in m:
            golden["models"][name]["offsets"] = list(offsets)
        print(f"{name}: largest logit {np.abs(rows).max():.2f}, rms {np.sqrt((rows ** 2).mean()):.2f}, "
              f"float64 differs by {worst:.1e}")
    golden["models"] = {name: golden["models"][name] for name in MODELS if name in golden["models"]}
    text = json.dumps(golden, indent=1)
    # Each list of numbers on one line.
    text = re.sub(r"\[[\s\d,]+\]", lambda numbers: json.dumps(json.loads(numbers[0])), text)
    listing.write_text(text + "\n")


if __name__ == "__main__":
    main()
