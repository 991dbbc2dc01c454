#!/usr/bin/env python3
"""What SmolLM2-135M-Instruct answers according to transformers, from the very GGUF file ingle reads.

transformers decodes the quantised weights to float32, so this is the exact answer for that file. For every prompt below: the ids
of the rendered conversation, 64 greedy tokens, and parts of two logits rows (that of the last prompt token and that of the last
generated one): the 20 largest, and 44 spread over the vocabulary.

Needs: torch, transformers, gguf. Takes some minutes. Output: tests/models/data/smollm2_expected.json, committed.

    python scripts/compare_smollm2.py [MODEL.gguf]
"""
import json
import os
import pathlib
import sys

import torch
import transformers

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "data" / "smollm2_expected.json"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
GENERATED = 64

CONVERSATIONS = [
    [("user", "What is the capital of France?")],
    [("user", "Write a haiku about the sea.")],
    [("system", "You answer in one short sentence."), ("user", "Why is the sky blue?")],
    [("user", "def fib(n):\n    if n < 2:\n        return n\n\nFinish this Python function.")],
    [("user", "Translate to German: I would like two cups of coffee, please.")],
    [("user", "List three prime numbers larger than 100.")],
    [("user", "My name is Ada."), ("assistant", "Nice to meet you, Ada! How can I help you today?"),
     ("user", "What is my name?")],
    [("user", "Erkläre kurz, was ein Regenbogen ist. Ünïcödé: 日本語 🌈")],
    [("user", "Summarise: The quick brown fox jumps over the lazy dog. The dog does not mind. The fox comes back every day, "
              "and after a week the two are friends, although neither would admit it to the cat.")],
    [("user", "1 + 1 = 2\n2 + 2 = 4\n3 + 3 =")],
]


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else CACHE / "ingle" / "models" / "smollm2-135m-instruct.gguf"
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name,
                                                              dtype=torch.float32).eval()
    answers = []
    for conversation in CONVERSATIONS:
        messages = [{"role": r, "content": c} for r, c in conversation]
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
        ids, cache, margins, rows = list(prompt), None, [], []
        feed = torch.tensor([prompt])
        with torch.no_grad():
            for step in range(GENERATED):
                out = model(feed, past_key_values=cache, use_cache=True)
                cache, logits = out.past_key_values, out.logits[0, -1]
                top = torch.topk(logits, 20)
                margins.append(float(top.values[0] - top.values[1]))
                if step in (0, GENERATED - 1):
                    spread = range(101, logits.shape[0], logits.shape[0] // 44)
                    picked = sorted(set(top.indices.tolist()) | set(list(spread)[:44]))
                    rows.append({"position": len(ids) - 1, "largest": float(logits.abs().max()),
                                 "ids": picked, "logits": [round(float(logits[i]), 6) for i in picked]})
                ids.append(int(top.indices[0]))
                feed = torch.tensor([[ids[-1]]])
        answers.append({"messages": messages, "prompt": prompt, "generated": ids[len(prompt):],
                        "smallest_margin": min(margins), "rows": rows})
        print(f"{conversation[-1][1][:40]!r}: margin {min(margins):.4f}: "
              f"{tokenizer.decode(ids[len(prompt):])[:90]!r}", flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    made_by = f"scripts/compare_smollm2.py with torch {torch.__version__}, transformers {transformers.__version__}"
    lines = ",\n".join(json.dumps(a, ensure_ascii=False, separators=(",", ":")) for a in answers)
    OUT.write_text('{"made_by": ' + json.dumps(made_by) + ',\n"file_bytes": ' + str(path.stat().st_size) +
                   ',\n"answers": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
