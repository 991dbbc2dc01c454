#!/usr/bin/env python3
"""Tiny random encoders, and decoders that embed or rank, with what an independent implementation makes of a few texts.

For each model of scripts/golden/encoders.py: weights are drawn at random, put into the Hugging Face class, and written as
GGUF. The hidden rows of every text, and a classifier's scores of it, are computed in float32 and must agree with float64.
Output: tests/models/golden/NAME.gguf, NAME.rows (float32, little-endian: the rows of all texts in order, then the scores of
all texts) and encoders.json (texts, sizes, provenance).

Needs: torch, transformers, gguf, numpy. Run by hand; what it writes is committed.

    python scripts/make_encoder_golden.py [NAME...]
"""
import argparse
import json
import pathlib
import re

import numpy as np
import torch
import transformers

from golden import encoders

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these models")
    args = parser.parse_args()
    listing = OUT / "encoders.json"
    golden = json.loads(listing.read_text()) if listing.exists() else {"models": {}}
    golden["made_by"] = (f"scripts/make_encoder_golden.py with torch {torch.__version__}, transformers "
                         f"{transformers.__version__}; random weights, no training data")
    # Seeds follow from the order: new models go to the end.
    for index, (name, m) in enumerate(encoders.MODELS.items()):
        if args.names and name not in args.names:
            continue
        torch.manual_seed(0)
        model = encoders.build(m, seed=5000 + index)
        encoders.write_gguf(OUT / f"{name}.gguf", m, model)
        rng = np.random.default_rng(6000 + index)
        texts = [(rng.integers(5, encoders.vocab_of(m), size=text[0]).tolist(), text[1] if len(text) > 1 else 0)
                 for text in m["texts"]]
        pairs = m.get("pairs", ())
        texts += [(encoders.tokens_of_pair(m, *pair), 0) for pair in pairs]
        with torch.no_grad():
            single = [encoders.run(m, model, *text) for text in texts]
            model.double()
            double = [encoders.run(m, model, *text) for text in texts]
        rows = np.concatenate([hidden for hidden, _ in single])
        exact = np.concatenate([hidden for hidden, _ in double])
        worst = float((np.abs(rows - exact).max(axis=1) / np.abs(exact).max(axis=1)).max())
        assert worst < encoders.FLOAT64_BOUND, (name, worst)
        scores = [s for _, s in single if s is not None]
        numbers = np.concatenate([rows.ravel(), *scores]).astype("<f4")
        (OUT / f"{name}.rows").write_bytes(numbers.tobytes())
        entries = [{"second": second, "tokens": tokens} for tokens, second in texts]
        for entry, (query, document) in zip(entries[len(m["texts"]):], pairs):
            entry.update(query=query, document=document)
        golden["models"][name] = {"d": m["d"], "labels": m.get("labels", []), "pooling": m["pooling"],
                                  "texts": entries,
                                  "float64_difference": worst}
        print(f"{name}: rms {np.sqrt((rows ** 2).mean()):.2f}, scores {[s.tolist() for s in scores]}, "
              f"float64 differs by {worst:.1e}")
    golden["models"] = {name: golden["models"][name] for name in encoders.MODELS if name in golden["models"]}
    text = json.dumps(golden, indent=1)
    # What holds nothing but numbers and words on one line.
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda innermost: json.dumps(json.loads(innermost[0])), text)
    listing.write_text(text + "\n")


if __name__ == "__main__":
    main()
