#!/usr/bin/env python3
"""Writes tests/runtime/data/imatrix_golden.json: what comes into each matrix of golden models, computed by transformers.

Every product of torch with a parameter (or with one expert's part of it) is caught, and the squares of its input are summed
up by column in f64. For a tensor NAME of the model's GGUF file: rows of each matrix, and sums [matrices, columns]. The
prompt is the model's first one in tests/models/golden/golden.json.

Needs torch, transformers, gguf, numpy (make_golden.py says more). Run by hand; what it writes is committed.
"""
import json
import pathlib
import re

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from make_golden import MODELS, build

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["llama_tied", "gemma2_tiny", "phi3_short", "qwen3moe_tiny", "gptoss_tiny"]
# Parts of a layer, by what their parameters are called. A fused matrix of two parts is named once for each tensor it is in.
PARTS = {
    r"self_attn\.qkv_proj\.weight": ["attn_qkv"], r"self_attn\.([qkv])_proj\.weight": [r"attn_\1"],
    r"self_attn\.o_proj\.weight": ["attn_output"],
    r"mlp\.gate_up_proj\.weight": ["ffn_up"], r"mlp\.(gate|up|down)_proj\.weight": [r"ffn_\1"],
    r"mlp\.(?:gate|router)\.weight": ["ffn_gate_inp"],
    r"mlp\.experts\.gate_up_proj": ["ffn_gate_exps", "ffn_up_exps"], r"mlp\.experts\.down_proj": ["ffn_down_exps"],
}


def tensors_of(parameter, tied):
    if parameter == "lm_head.weight" or (tied and parameter == "model.embed_tokens.weight"):
        return ["token_embd.weight" if tied else "output.weight"]
    layer = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", parameter)
    for pattern, parts in PARTS.items():
        if layer and (match := re.fullmatch(pattern, layer[2])):
            return [f"blk.{layer[1]}.{match.expand(part)}.weight" for part in parts]
    return []


class Inputs(TorchFunctionMode):
    """Sums of squares of what is multiplied with parameters."""

    def __init__(self, model):
        super().__init__()
        self.parameters = {name: p for name, p in model.named_parameters()}
        self.sums = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        operands = [a for a in args if isinstance(a, torch.Tensor)]
        if func in (torch.nn.functional.linear, torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.bmm):
            self.add(operands[0], operands[1])
        return func(*args, **(kwargs or {}))

    def add(self, x, w):
        with torch._C.DisableTorchFunction():
            at = w.data_ptr()
            for name, p in self.parameters.items():
                begin, stacked = p.data_ptr(), p.dim() == 3
                if not begin <= at < begin + 4 * p.numel():
                    continue
                matrices = p.shape[0] if stacked else 1
                index = (at - begin) // (4 * p.numel() // matrices)
                x = x.reshape(-1, x.shape[-1]).double()
                rows, squares = self.sums.setdefault(name, (np.zeros(matrices), np.zeros((matrices, x.shape[-1]))))
                rows[index] += len(x)
                squares[index] += (x ** 2).sum(0).numpy()


def main():
    golden = json.loads((ROOT / "tests/models/golden/golden.json").read_text())["models"]
    result = {}
    for name in MODELS:
        if name not in NAMES:
            continue
        torch.manual_seed(0)
        model = build(name)
        inputs = Inputs(model)
        with torch.no_grad(), inputs:
            model(torch.tensor([golden[name]["prompts"][0]]))
        result[name] = {}
        for parameter, (rows, squares) in inputs.sums.items():
            for tensor in tensors_of(parameter, model.config.tie_word_embeddings):
                result[name][tensor] = {"rows": rows.astype(int).tolist(),
                                        "squares": [float(f"{s:.6g}") for s in squares.flatten()]}
        print(name, len(result[name]), "tensors")
    text = json.dumps(result, indent=1)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda numbers: json.dumps(json.loads(numbers[0])), text)
    target = ROOT / "tests/runtime/data/imatrix_golden.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text + "\n")


if __name__ == "__main__":
    main()
