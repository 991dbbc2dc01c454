#!/usr/bin/env python3
"""Perplexity of transformers in f32 on the windows that `ingle perplexity --exact --save-logits` has kept, beside ingle's own.

Needs torch, transformers (5.24 was used) and gguf.

  ingle perplexity MODEL -f TEXT --chunks 32 --exact --save-logits exact.logits
  compare_perplexity.py MODEL exact.logits
"""

import math
import pathlib
import sys

import numpy
import torch
from compare_llama_cpp import read_logits
from transformers import AutoModelForCausalLM


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32)
    model.eval()
    ours, theirs, divergence, count = 0.0, 0.0, 0.0, 0
    for tokens, rows in read_logits(sys.argv[2]):
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0].double()
        first = len(tokens) - 1 - len(rows)
        logs = torch.log_softmax(logits[first:-1], dim=-1)
        kept = torch.log_softmax(torch.from_numpy(numpy.ascontiguousarray(rows)).double(), dim=-1)
        targets = torch.tensor(tokens[first + 1 :])
        theirs -= logs.gather(1, targets[:, None]).sum().item()
        ours -= kept.gather(1, targets[:, None]).sum().item()
        divergence += (logs.exp() * (logs - kept)).sum().item()
        count += len(rows)
    a, b = math.exp(theirs / count), math.exp(ours / count)
    print(f"perplexity: transformers {a:.5f}, ingle {b:.5f}: {100 * (b / a - 1):+.4f} %; "
          f"mean KL divergence {divergence / count:.3g} over {count} tokens")


if __name__ == "__main__":
    main()
