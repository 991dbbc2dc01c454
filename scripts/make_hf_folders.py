#!/usr/bin/env python3
"""The golden models of make_golden.py as folders that transformers saved, for `ingle convert`.

Same weights, so a converted folder must give the logits of tests/models/golden/. Matrices whose numbers f16 holds exactly
are kept in f16, everything else in f32. Output: tests/convert/data/NAME/. Run by hand; what it writes is committed.

    python scripts/make_hf_folders.py [NAME...]

Needs: torch, transformers, tokenizers, safetensors.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.numpy import load_file, save_file

from golden import tiny
from make_golden import MODELS

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "convert" / "data"

# One of each kind that folders come in.
NAMES = ["llama_tied", "llama3_rope", "llama_yarn", "llama_biases", "mistral_window", "mixtral_tiny", "qwen2_tiny",
         "qwen3_tiny", "qwen3moe_tiny", "gemma4_ple", "gemma4_kv_equal", "gemma4_moe", "gemma2_tiny", "gemma3_tiny",
         "phi3_short", "olmo2_tiny", "granite_tiny", "granite_moe", "granite_shared", "glm4_tiny", "qwen2moe_tiny"]


def tokenizer():
    tokens, kinds, merges = tiny.vocabulary()
    model = tokenizers.models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges])
    t = tokenizers.Tokenizer(model)
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    t.add_special_tokens(tokens[:3])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, bos_token=tokens[1], eos_token=tokens[2])


def main():
    for name in sys.argv[1:] or NAMES:
        family, m = MODELS[name]
        torch.manual_seed(0)
        model = family.build(m, seed=1000 + list(MODELS).index(name))
        folder = OUT / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        model.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        weights = folder / "model.safetensors"
        kept = {}
        for key, t in load_file(weights).items():
            half = t.astype(np.float16)
            exact = t.ndim > 1 and np.array_equal(half.astype(np.float32), t)
            kept[key] = half if exact else t
        save_file(kept, weights, metadata={"format": "pt"})
        weights.chmod(0o644)
        size = sum(f.stat().st_size for f in folder.iterdir())
        print(f"{name}: {json.loads((folder / 'config.json').read_text())['architectures'][0]}, {size} bytes")


if __name__ == "__main__":
    main()
